//! Names that a recording carries: of addresses (kallsyms, printk formats) and of threads.

use profctl_model::hash::FastMap;

/// The functions of a kernel by address: an index over the text of `/proc/kallsyms`, which is kept
/// as it is.
#[derive(Debug, Default)]
pub(super) struct Kallsyms {
    text: Vec<u8>,
    /// Address, and where the name begins in the text.
    symbols: Vec<(u64, u32)>,
}

impl Kallsyms {
    /// Lines such as `ffffffff8f0b5b60 T vfs_read` or `ffffffffc0001000 t f [module]`. Data and
    /// symbols without an address are omitted.
    pub(super) fn new(text: Vec<u8>) -> Self {
        let mut symbols = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            if let Some((address, name)) = symbol(&text[at..end])
                && let Ok(start) = u32::try_from(at + name)
            {
                symbols.push((address, start));
            }
            at = end + 1;
        }
        // Stable: of several names of one address the kernel uses the first of its table.
        symbols.sort_by_key(|(address, _)| *address);
        symbols.dedup_by_key(|(address, _)| *address);
        Self { text, symbols }
    }

    /// The function that `address` lies in, with its module: `name` or `name [module]`.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        let behind = self.symbols.partition_point(|(start, _)| *start <= address);
        let (start, at) = *self.symbols.get(behind.checked_sub(1)?)?;
        if address - start > FUNCTION_MAX {
            return None;
        }
        let rest = self.text.get(at as usize..)?;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        Some(rest[..end].trim_ascii_end())
    }
}

/// No function is longer; an address further from any symbol belongs to none.
const FUNCTION_MAX: u64 = 1 << 20;

/// The address of a line, and where in it the name begins.
fn symbol(line: &[u8]) -> Option<(u64, usize)> {
    let space = memchr::memchr(b' ', line)?;
    let mut address = 0_u64;
    for byte in &line[..space] {
        address = address.checked_mul(16)? | u64::from((*byte as char).to_digit(16)?);
    }
    let is_code = matches!(line.get(space + 1)?, b't' | b'T' | b'w' | b'W');
    let name = space + 3;
    (is_code && address != 0 && line.get(space + 2) == Some(&b' ') && line.len() > name)
        .then_some((address, name))
}

/// The name of a function and its module as `function_graph` prints them; kallsyms puts a tab
/// between them.
pub(super) fn spelling(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    let (name, rest) = match memchr::memchr2(b'\t', b' ', name) {
        Some(at) => (&name[..at], name[at + 1..].trim_ascii()),
        None => (name, &[][..]),
    };
    let module = rest.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    (name, module)
}

/// The texts of `printk_formats`: lines such as `0xffffffff8f2b : "%s: x\n"`.
pub(super) fn printk(text: &[u8]) -> FastMap<u64, String> {
    let mut found = FastMap::default();
    for line in crate::text::lines(text) {
        let Some(at) = memchr::memmem::find(line.text, b" : ") else { continue };
        let Some(address) = crate::text::integer(line.text[..at].trim_ascii()) else { continue };
        let quoted = line.text[at + 3..].trim_ascii();
        let inside = quoted.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        let text = String::from_utf8_lossy(inside.unwrap_or(quoted));
        found.insert(address, text.trim_end_matches("\\n").to_owned());
    }
    found
}

/// The texts of `saved_cmdlines`: lines such as `369 workload`.
pub(super) fn cmdlines(text: &[u8]) -> FastMap<u64, Box<[u8]>> {
    let mut found = FastMap::default();
    for line in crate::text::lines(text) {
        let Some(at) = memchr::memchr(b' ', line.text) else { continue };
        if let Some(pid) = crate::text::decimal(&line.text[..at], 0) {
            found.insert(pid, line.text[at + 1..].into());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_first_name_of_theirs() {
        let text = b"0000000000000000 T hidden\nffff0000 T b\nffff0000 t alias\nfffe0000 T a\n\
                     ffff0100 D data\nffff0080 t c.isra.0\nffff0200 t m\t[ext4]\nbad line\nffff0300 T ";
        let symbols = Kallsyms::new(text.to_vec());
        let name = |address| symbols.name(address).map(|name| String::from_utf8_lossy(name));
        assert_eq!(name(0xffff_0000).as_deref(), Some("b"));
        assert_eq!(name(0xffff_007f).as_deref(), Some("b"));
        assert_eq!(name(0xfffe_0004).as_deref(), Some("a"));
        assert_eq!(name(0xffff_0084).as_deref(), Some("c.isra.0"));
        assert_eq!(name(0xffff_0204).as_deref(), Some("m\t[ext4]"));
        assert_eq!((name(0xfffd_ffff), name(0xffff_ffff_ffff)), (None, None));
        assert_eq!(spelling(b"m\t[ext4]"), (&b"m"[..], Some(&b"ext4"[..])));
        assert_eq!(spelling(b"m"), (&b"m"[..], None));
    }

    #[test]
    fn texts_and_names_of_threads() {
        let printk = printk(b"0xffff0000 : \"hello %d\\n\"\nodd\n0xzz : \"x\"\n");
        assert_eq!(printk.len(), 1);
        assert_eq!(printk[&0xffff_0000], "hello %d");
        let names = cmdlines(b"369 workload\n7 a b\n-1 x\n12\n");
        assert_eq!((&*names[&369], &*names[&7], names.len()), (&b"workload"[..], &b"a b"[..], 2));
    }
}
