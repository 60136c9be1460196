//! Lines, decimals and units: what the readers of text formats have in common.

use profctl_model::TickUnit;

/// One line of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// Byte offset of its first character in the block.
    pub offset: usize,
    /// What it says, without its line end (`\n` or `\r\n`).
    pub text: &'a [u8],
    /// Whether a `\n` ended it; only the last line of an input may lack one.
    pub ended: bool,
}

/// The lines of `block`, in order.
pub fn lines(block: &[u8]) -> Lines<'_> {
    Lines { block, offset: 0 }
}

/// See [`lines`].
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    block: &'a [u8],
    offset: usize,
}

impl Lines<'_> {
    /// Where the next line begins.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Goes on with the line that begins at `offset`.
    pub fn skip_to(&mut self, offset: usize) {
        self.offset = offset;
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let rest = &self.block[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let offset = self.offset;
        let end = memchr::memchr(b'\n', rest);
        let text = &rest[..end.unwrap_or(rest.len())];
        self.offset += text.len() + usize::from(end.is_some());
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Some(Line { offset, text, ended: end.is_some() })
    }
}

/// The position after the last line end in `bytes`; 0 if there is none.
pub fn last_line_boundary(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)
}

/// The number that `text` spells in decimal, times 10 to the power of `digits`: `12.5` with three
/// digits is 12500. Nothing if it is no such number, has more decimals than that, or does not fit.
pub fn decimal(text: &[u8], digits: u32) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    let missing = digits.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    if whole.is_empty() || (fraction.is_empty() && whole.len() != text.len()) {
        return None;
    }
    let mut value = 0_u64;
    for &byte in whole.iter().chain(fraction) {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    value.checked_mul(10_u64.checked_pow(missing)?)
}

/// The number that `text` spells in decimal or, after `0x`, in hexadecimal.
pub fn integer(text: &[u8]) -> Option<u64> {
    let Some(hex) = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) else {
        return decimal(text, 0);
    };
    // `from_str_radix` would take a sign.
    if !hex.first()?.is_ascii_hexdigit() {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

/// The length of a tick that `text` names: `ns`, `1us`, `250ns`, `16MHz`, `cycles`,
/// `instructions`.
pub fn tick_unit(text: &str) -> Option<TickUnit> {
    match text {
        "cycles" => return Some(TickUnit::Cycles),
        "instructions" => return Some(TickUnit::Instructions),
        _ => {}
    }
    let letters = text.find(|c: char| !c.is_ascii_digit())?;
    let (count, unit) = text.split_at(letters);
    let count = if count.is_empty() { 1 } else { count.parse().ok()? };
    if count == 0 {
        return None;
    }
    let period = |parts| Some(TickUnit::Seconds { numerator: count, denominator: parts });
    let rate =
        |times| Some(TickUnit::Seconds { numerator: 1, denominator: count.checked_mul(times)? });
    match unit {
        "s" => period(1),
        "ms" => period(1_000),
        "us" | "µs" => period(1_000_000),
        "ns" => period(1_000_000_000),
        "ps" => period(1_000_000_000_000),
        "Hz" => rate(1),
        "kHz" => rate(1_000),
        "MHz" => rate(1_000_000),
        "GHz" => rate(1_000_000_000),
        _ => None,
    }
}

/// Whether `head` can be the beginning of a text: no NUL, and hardly a control character.
pub fn looks_like_text(head: &[u8]) -> bool {
    if memchr::memchr(0, head).is_some() {
        return false;
    }
    let odd = |&&byte: &&u8| byte.is_ascii_control() && !b"\t\n\r\x0c\x1b".contains(&byte);
    head.iter().filter(odd).count() * 50 <= head.len()
}

/// Where `head` begins after the mark that some systems put before UTF-8.
pub fn after_byte_order_mark(head: &[u8]) -> usize {
    if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// The most bytes that an excerpt is made of.
pub const EXCERPT_MAX: usize = 240;

/// The beginning of `text` as a diagnostic shows it: on one line, cut if it is long.
pub fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = EXCERPT_MAX / 4;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(EXCERPT_MAX)]);
    let mut shown: String = lossy
        .trim()
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if lossy.trim().chars().count() > SHOWN {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_place_and_their_end() {
        let found: Vec<_> = lines(b"a\r\n\nbc").map(|l| (l.offset, l.text, l.ended)).collect();
        assert_eq!(found, [(0, &b"a"[..], true), (3, b"", true), (4, b"bc", false)]);
        assert_eq!(lines(b"").count(), 0);
        assert_eq!(lines(b"\n").count(), 1);
        assert_eq!(last_line_boundary(b"a\nbc"), 2);
        assert_eq!(last_line_boundary(b"abc"), 0);
    }

    #[test]
    fn decimals_stay_integers() {
        let cases: &[(&str, u32, Option<u64>)] = &[
            ("123.456", 3, Some(123_456)),
            ("123.4", 3, Some(123_400)),
            ("123", 3, Some(123_000)),
            ("0.000001", 6, Some(1)),
            ("123.4567", 3, None),
            ("7", 0, Some(7)),
            ("7.", 0, None),
            ("7.", 3, None),
            (".5", 3, None),
            ("1.2.3", 3, None),
            ("", 3, None),
            ("-1", 3, None),
            ("1795297311.807064123", 9, Some(1_795_297_311_807_064_123)),
            ("18446744073709551615", 0, Some(u64::MAX)),
            ("18446744073709551616", 0, None),
            ("18446744073709551615", 1, None),
            ("1", 20, None),
        ];
        for &(text, digits, expected) in cases {
            assert_eq!(decimal(text.as_bytes(), digits), expected, "{text} {digits}");
        }
    }

    #[test]
    fn integers_in_both_bases() {
        assert_eq!(integer(b"502"), Some(502));
        assert_eq!(integer(b"0x1F6"), Some(502));
        assert_eq!(integer(b"0xfffffffffffffffff"), None);
        for wrong in [&b"0x"[..], b"0x+1", b"1f6", b"", b"0xg"] {
            assert_eq!(integer(wrong), None, "{}", excerpt(wrong));
        }
    }

    #[test]
    fn ticks() {
        let seconds = |numerator, denominator| Some(TickUnit::Seconds { numerator, denominator });
        assert_eq!(tick_unit("us"), seconds(1, 1_000_000));
        assert_eq!(tick_unit("250ns"), seconds(250, 1_000_000_000));
        assert_eq!(tick_unit("16MHz"), seconds(1, 16_000_000));
        assert_eq!(tick_unit("cycles"), Some(TickUnit::Cycles));
        for wrong in ["", "0us", "3", "5 us", "-1us", "fortnight", "99999999999999999999s"] {
            assert_eq!(tick_unit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn text_and_not_text() {
        assert!(looks_like_text(b"   2:394 270 -> ISAINTR (26 us)\n"));
        assert!(looks_like_text("µs\n".as_bytes()));
        assert!(!looks_like_text(b"abc\0def"));
        assert!(!looks_like_text(&[1, 2, 3, 4]));
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"  a\tb\x07 "), "a\u{fffd}b\u{fffd}");
        assert_eq!(excerpt("é".repeat(100).as_bytes()), format!("{}…", "é".repeat(60)));
    }
}
