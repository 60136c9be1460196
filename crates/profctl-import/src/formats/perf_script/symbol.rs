//! Code as perf prints it: an address, a symbol, a file.

/// Code: a symbol in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Symbol<'a> {
    pub(super) address: u64,
    pub(super) name: &'a [u8],
    /// How far behind the start of the symbol, if that was printed.
    pub(super) offset: Option<u64>,
    /// The file, if that was printed.
    pub(super) object: &'a [u8],
}

/// The first word, and what is after it without the space in front.
pub(super) fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// `ffffffff821cfeae mas_prev+0x6e ([kernel.kallsyms])`: the file may be missing, a symbol may hold
/// spaces.
pub(super) fn frame(text: &[u8]) -> Option<Symbol<'_>> {
    let (address, rest) = first_word(text);
    let rest = rest.trim_ascii_end();
    if rest.is_empty() {
        return None;
    }
    let address = hex(address)?;
    let (symbol, object) = match rest.strip_suffix(b")") {
        Some(inner) => match memchr::memmem::rfind(inner, b" (") {
            Some(at) => (&rest[..at], &inner[at + 2..]),
            // `(inlined)` and files without a symbol.
            None => (&b"[unknown]"[..], inner.strip_prefix(b"(")?),
        },
        None => (rest, &b""[..]),
    };
    let (name, offset) = with_offset(symbol.trim_ascii());
    Some(Symbol { address, name, offset, object })
}

/// `name+0x6e`.
fn with_offset(symbol: &[u8]) -> (&[u8], Option<u64>) {
    match memchr::memmem::rfind(symbol, b"+0x") {
        Some(at) => match hex(&symbol[at + 3..]) {
            Some(offset) => (&symbol[..at], Some(offset)),
            None => (symbol, None),
        },
        None => (symbol, None),
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
