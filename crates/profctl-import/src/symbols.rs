//! Which function an address belongs to, according to an `nm` listing, a `System.map` or an ELF
//! file.
//!
//! Only code counts, but data that is after a function without a size still ends it.

use profctl_model::hash::FastMap;

mod demangle;
mod elf;
mod nm;
#[cfg(test)]
mod tests;

pub use demangle::demangled;

/// How far the last function reaches if nothing says where it ends, bytes.
const REACH_OF_THE_LAST: u64 = 64 << 10;

/// The functions of a program, by address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols {
    /// By address; no two begin at the same.
    symbols: Vec<Symbol>,
    by_name: FastMap<String, u64>,
}

/// A function and where it lies.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Symbol {
    start: u64,
    /// The first address after it.
    end: u64,
    name: String,
}

/// A line of a symbol table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    address: u64,
    /// Bytes, if the table says.
    size: Option<u64>,
    /// How good a name it is for its address: the lowest wins. Nothing for what is not a code.
    rank: Option<u8>,
    name: String,
}

impl Symbols {
    /// Reads an `nm` listing (in any format, sorted or not) or an ELF file. Fails with what was
    /// found and what was expected if there is no function in it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let entries =
            if bytes.starts_with(b"\x7fELF") { elf::entries(bytes)? } else { nm::entries(bytes)? };
        if entries.iter().all(|entry| entry.rank.is_none()) {
            return Err(
                "no functions, expected an ELF file with symbols or the output of nm".into()
            );
        }
        Ok(Self::of(entries))
    }

    /// The same as the user asked for it: with C++ and Rust names demangled, unless disabled.
    pub fn read(bytes: &[u8], keeps_mangled: bool) -> Result<Self, String> {
        let mut symbols = Self::parse(bytes)?;
        if !keeps_mangled {
            for symbol in &mut symbols.symbols {
                symbol.name = demangled(&symbol.name);
            }
        }
        Ok(symbols)
    }

    fn of(mut entries: Vec<Entry>) -> Self {
        entries.sort_by(|a, b| {
            let rank = |entry: &Entry| entry.rank.unwrap_or(u8::MAX);
            a.address.cmp(&b.address).then(rank(a).cmp(&rank(b))).then_with(|| a.name.cmp(&b.name))
        });
        let mut by_name = FastMap::default();
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut ends: Vec<Option<u64>> = Vec::new();
        for entry in &entries {
            let Some(_) = entry.rank else { continue };
            by_name.entry(entry.name.clone()).or_insert(entry.address);
            let end = entry.size.map(|size| entry.address.saturating_add(size));
            match symbols.last() {
                // An alias, which may be the one with the size.
                Some(known) if known.start == entry.address => {
                    let known = ends.last_mut().expect("as many ends as symbols");
                    *known = known.or(end);
                }
                _ => {
                    symbols.push(Symbol { start: entry.address, end: 0, name: entry.name.clone() });
                    ends.push(end);
                }
            }
        }
        let starts: Vec<u64> = entries.iter().map(|entry| entry.address).collect();
        for (symbol, end) in symbols.iter_mut().zip(ends) {
            let behind = starts.partition_point(|&start| start <= symbol.start);
            let next = starts.get(behind).copied();
            symbol.end =
                end.or(next).unwrap_or_else(|| symbol.start.saturating_add(REACH_OF_THE_LAST));
        }
        Self { symbols, by_name }
    }

    /// The function in which `address` lies, and how many bytes after its start.
    pub fn lookup(&self, address: u64) -> Option<(&str, u64)> {
        let behind = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = &self.symbols[behind.checked_sub(1)?];
        (address < symbol.end).then(|| (symbol.name.as_str(), address - symbol.start))
    }

    /// Where the function of that name begins; the lowest address if there are several.
    pub fn start_of(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    /// How many functions there are, aliases not counted.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

/// Whether `name` marks a place for the assembler rather than a function: the mapping symbols of
/// ARM and RISC-V (`$a`, `$x.12`, `$xrv64i2p1`).
pub(crate) fn is_mapping(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next() == Some('$')
        && matches!(letters.next(), Some('a' | 'd' | 't' | 'x'))
        && (matches!(letters.next(), None | Some('.')) || name.starts_with("$xrv"))
}
