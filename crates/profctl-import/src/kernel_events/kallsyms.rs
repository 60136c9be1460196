//! The functions of a kernel by address, as `/proc/kallsyms` lists them.

/// The functions of a kernel by address: an index over the text of `/proc/kallsyms`, which is kept
/// as it is.
#[derive(Debug, Default)]
pub(crate) struct Kallsyms {
    text: Vec<u8>,
    /// Address, and where the name begins in the text.
    symbols: Vec<(u64, u32)>,
}

impl Kallsyms {
    /// Lines such as `ffffffff8f0b5b60 T vfs_read` or `ffffffffc0001000 t f [module]`. Data and
    /// symbols without an address are ignored.
    pub(crate) fn new(text: Vec<u8>) -> Self {
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
    pub(crate) fn name(&self, address: u64) -> Option<&[u8]> {
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
pub(crate) fn spelling(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    let (name, rest) = match memchr::memchr2(b'\t', b' ', name) {
        Some(at) => (&name[..at], name[at + 1..].trim_ascii()),
        None => (name, &[][..]),
    };
    let module = rest.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    (name, module)
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
}
