//! `sid-*.map` and `*.sym`: which function an address is in.

use super::tasks::base;
use crate::text;

/// A mapping of a program or library, from the start of its first to the end of its last segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) path: String,
    pub(super) build_id: Option<String>,
}

/// Parses a file of mappings, as in `/proc/PID/maps`, with a build id after the path.
pub(super) fn mappings(file: &[u8]) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text::lines(file) {
        let line = String::from_utf8_lossy(line.text);
        let Some(next) = mapping(&line) else { continue };
        match mappings.last_mut() {
            // Segments of one file follow one another; addresses count from the first.
            Some(last) if last.path == next.path => last.end = next.end,
            _ => mappings.push(next),
        }
    }
    mappings.sort_by_key(|mapping| mapping.start);
    mappings
}

/// `55cf6ac3a000-55cf6ac75000 r-xp 00000000 00:00 0    /usr/bin/xz build-id:3056…`.
fn mapping(line: &str) -> Option<Mapping> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let path = rest.find('/').map(|at| &rest[at..])?;
    let (path, build_id) = match path.rsplit_once(" build-id:") {
        Some((path, id)) => (path, Some(id.trim().to_owned())),
        None => (path, None),
    };
    let (start, end, path) = (hexadecimal(start)?, hexadecimal(end)?, path.trim().to_owned());
    Some(Mapping { start, end, path, build_id })
}

/// Which table a file of symbols belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Owner {
    pub(super) path: Option<String>,
    pub(super) build_id: Option<String>,
}

/// What kind of function a symbol is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Linkage {
    /// It is in that file.
    Own,
    /// It is called through that file's linkage table and lies in another one.
    Other,
}

/// A function and where it lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Symbol {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) linkage: Linkage,
    pub(super) name: String,
}

/// A parsed `.sym` file: functions by address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table {
    pub(super) owner: Owner,
    symbols: Vec<Symbol>,
}

impl Table {
    /// Parses the file. Other lines are skipped.
    pub(super) fn parse(file: &[u8]) -> Self {
        let mut table = Self::default();
        let mut entries = Vec::new();
        for line in text::lines(file) {
            let line = String::from_utf8_lossy(line.text);
            if let Some(said) = line.strip_prefix('#') {
                let value =
                    |key| said.trim().strip_prefix(key).map(|value: &str| value.trim().to_owned());
                table.owner.path = table.owner.path.or_else(|| value("path name:"));
                table.owner.build_id = table.owner.build_id.or_else(|| value("build-id:"));
            } else if let Some(entry) = entry(&line) {
                entries.push(entry);
            }
        }
        // Of several names of one address the first of the file counts, as in uftrace.
        entries.sort_by_key(|entry| entry.address);
        for (index, entry) in entries.iter().enumerate() {
            let Some(linkage) = entry.linkage else { continue };
            let known = table.symbols.last().is_some_and(|last| last.start == entry.address);
            if known {
                continue;
            }
            let next = entries[index..].iter().find(|next| next.address > entry.address);
            let next = next.map_or(entry.address + 1, |next| next.address);
            let end = entry.size.map_or(next, |size| entry.address.saturating_add(size));
            let name = entry.name.clone();
            table.symbols.push(Symbol { start: entry.address, end, linkage, name });
        }
        table
    }

    /// The function in which `address` lies.
    pub(super) fn find(&self, address: u64) -> Option<&Symbol> {
        let behind = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = &self.symbols[behind.checked_sub(1)?];
        (address < symbol.end).then_some(symbol)
    }

    /// How many functions there are.
    pub(super) fn len(&self) -> usize {
        self.symbols.len()
    }
}

struct Entry {
    address: u64,
    size: Option<u64>,
    /// Nothing for what is not a function, or only marks an end.
    linkage: Option<Linkage>,
    name: String,
}

/// `ADDRESS [SIZE] TYPE NAME`; sizes begin with a digit, types do not.
fn entry(line: &str) -> Option<Entry> {
    let (address, rest) = line.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (size, rest) = match rest.as_bytes().first()? {
        digit if digit.is_ascii_digit() => {
            let (size, rest) = rest.split_once(' ')?;
            (Some(u64::from_str_radix(size, 16).ok()?), rest)
        }
        _ => (None, rest),
    };
    let (kind, name) = rest.split_once(' ')?;
    let is_end = matches!(name, "__sym_end" | "__dynsym_end" | "__func_end");
    let linkage = match kind {
        _ if is_end => None,
        "T" | "t" | "w" | "K" => Some(Linkage::Own),
        "P" => Some(Linkage::Other),
        "?" | "D" | "d" | "v" | "u" => None,
        _ => return None,
    };
    // Kernel symbols have their module after a tab.
    let name = name.split('\t').next().unwrap_or(name);
    let size = size.filter(|&size| size > 0);
    Some(Entry { address, size, linkage, name: name.to_owned() })
}

/// Whether `table` is that of the file which is mapped: by path and build id, as far as both say.
pub(super) fn belongs(owner: &Owner, mapping: &Mapping) -> bool {
    let same = |ours: &Option<String>, theirs: Option<&str>| match (ours.as_deref(), theirs) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => true,
    };
    same(&owner.build_id, mapping.build_id.as_deref())
        && same(&owner.path.as_deref().map(|path| base(path).to_owned()), Some(base(&mapping.path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_a_file_are_one_mapping() {
        let maps = b"# a comment\n\
            400000-401000 r--p 00000000 00:00 0   /bin/a build-id:12ab\n\
            401000-402000 r-xp 00000000 00:00 0   /bin/a build-id:12ab\n\
            7f00-7f10 r-xp 00000000 00:00 0       /lib/a library.so\n\
            7ffe-7fff rw-p 00000000 00:00 0       [stack]\n";
        let found = mappings(maps);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].start, found[0].path.as_str()), (0x7f00, "/lib/a library.so"));
        assert_eq!((found[1].start, found[1].end), (0x40_0000, 0x40_2000));
        assert_eq!(found[1].build_id.as_deref(), Some("12ab"));
        for cut in 0..maps.len() {
            mappings(&maps[..cut]);
        }
    }

    #[test]
    fn both_forms_of_symbol_files() {
        let old = b"# symbols: 5\n# path name: /bin/a\n# build-id: 12ab\n\
            0000000000001000 P free\n0000000000001010 P puts\n0000000000001020 ? __dynsym_end\n\
            0000000000001100 t helper\n0000000000001100 w alias\n0000000000001140 T main\n\
            0000000000001150 ? __sym_end\n0000000000002000 d table\nodd line\n";
        let new =
            b"1000 10 P free\n1010 10 P puts\n1100 40 t helper\n1140 10 T main\n2000 8 d table\n";
        for (file, is_old) in [(&old[..], true), (&new[..], false)] {
            let table = Table::parse(file);
            let found = |address| table.find(address).map(|symbol| symbol.name.as_str());
            assert_eq!(found(0x1000), Some("free"));
            assert_eq!(found(0x101f), Some("puts"));
            assert_eq!(found(0x1020), None);
            assert_eq!(found(0x113f), Some("helper"));
            assert_eq!(found(0x114f), Some("main"));
            assert_eq!((found(0x1150), found(0x2000), found(0xfff)), (None, None, None));
            assert_eq!(table.len(), 4);
            assert_eq!(table.find(0x1000).unwrap().linkage, Linkage::Other);
            assert_eq!(table.owner.build_id.is_some(), is_old);
        }
        for cut in 0..old.len() {
            Table::parse(&old[..cut]);
        }
    }

    #[test]
    fn a_table_of_another_build_is_not_taken() {
        let mapping = |build_id: Option<&str>| Mapping {
            start: 0,
            end: 1,
            path: "/usr/lib/a.so".into(),
            build_id: build_id.map(str::to_owned),
        };
        let owner = Owner { path: Some("/lib/a.so".into()), build_id: Some("1".into()) };
        assert!(belongs(&owner, &mapping(Some("1"))) && belongs(&owner, &mapping(None)));
        assert!(!belongs(&owner, &mapping(Some("2"))));
        assert!(!belongs(&Owner { path: Some("/b.so".into()), build_id: None }, &mapping(None)));
    }
}
