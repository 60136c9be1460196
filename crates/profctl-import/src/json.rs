//! A pull scanner for JSON: the caller says what it expects next and skips what it does not want;
//! nothing is built. For records by the million, of which a few fields matter.
//!
//! It is lenient where producers are: control characters may be in strings, and what is skipped is
//! checked for its brackets and strings only.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use crate::emit::Emitter;
use crate::text::excerpt;

/// Why a value could not be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The text ends in the middle of it.
    End,
    /// Something else is there; what was expected.
    Expected(&'static str),
}

impl Stop {
    /// Counts a document that could not be read from byte `at` of `bytes` on.
    #[cold]
    pub fn report(self, bytes: &[u8], at: usize, out: &mut Emitter) {
        match self {
            Self::End => out.diag(&CUT_RECORD, at, || "the file ends before its last brace".into()),
            Self::Expected(expected) => out.diag(&SKIPPED_RECORD, at, || {
                let found = excerpt(&bytes[at.min(bytes.len())..]);
                format!("found `{found}`, expected {expected}: the rest was not read")
            }),
        }
    }
}

/// A string as it stands between its quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'a> {
    /// The bytes, escapes and all.
    pub raw: &'a [u8],
    /// Whether there is an escape in it.
    pub escaped: bool,
}

impl<'a> Text<'a> {
    /// What it says. An escape that is none, or half a surrogate pair, becomes U+FFFD.
    pub fn unescape(self) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// What it says, as characters.
    pub fn to_string_lossy(self) -> String {
        String::from_utf8_lossy(&self.unescape()).into_owned()
    }
}

#[cold]
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&letter, after)) = rest.split_first() else { break };
        rest = after;
        let said = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (said, length) = code_point(rest);
                rest = &rest[length..];
                said
            }
            _ => char::REPLACEMENT_CHARACTER,
        };
        out.extend_from_slice(said.encode_utf8(&mut [0; 4]).as_bytes());
    }
    out.extend_from_slice(rest);
    out
}

/// The character that the digits after `\u` stand for, and how many bytes spell it.
fn code_point(rest: &[u8]) -> (char, usize) {
    const LOST: char = char::REPLACEMENT_CHARACTER;
    let Some(first) = hex(rest) else { return (LOST, 0) };
    let low = || rest.get(4..).and_then(|rest| rest.strip_prefix(b"\\u")).and_then(hex);
    match first {
        0xd800..=0xdbff => match low() {
            Some(low @ 0xdc00..=0xdfff) => {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or(LOST), 10)
            }
            _ => (LOST, 4),
        },
        _ => (char::from_u32(first).unwrap_or(LOST), 4),
    }
}

fn hex(rest: &[u8]) -> Option<u32> {
    let digits = rest.get(..4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?))
}

/// A place in a text.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    /// The next byte.
    pub at: usize,
}

/// Whether `byte` may be between values.
#[inline]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

impl<'a> Scanner<'a> {
    /// A scanner that is at byte `at`.
    #[inline]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// What stands from `start` to the current place.
    #[inline]
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    /// What is still to come.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is not a space, which stays.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, Stop> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_space(byte) {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Stop::End)
    }

    /// Takes `byte` if it is the next that is not a space.
    #[inline]
    pub fn take(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        Ok(found)
    }

    /// Takes `byte`, which must come next.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Stop> {
        if self.take(byte)? { Ok(()) } else { Err(Stop::Expected(expected)) }
    }

    /// Takes a string.
    #[inline]
    pub fn string(&mut self) -> Result<Text<'a>, Stop> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let mut at = start;
        // Most keys and names end within a few words.
        while let Some(word) = self.bytes.get(at..at + 8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            let found = has_byte(word, b'"') | has_byte(word, b'\\');
            if found != 0 {
                let at = at + (found.trailing_zeros() / 8) as usize;
                if self.bytes[at] == b'"' {
                    self.at = at + 1;
                    return Ok(Text { raw: &self.bytes[start..at], escaped: false });
                }
                return self.string_end(start, at);
            }
            at += 8;
        }
        self.string_end(start, at)
    }

    /// The rest of a string that has escapes, or is at the very end.
    #[cold]
    fn string_end(&mut self, start: usize, mut at: usize) -> Result<Text<'a>, Stop> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            at += memchr2(b'"', b'\\', rest).ok_or(Stop::End)?;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(Text { raw: &self.bytes[start..at], escaped });
            }
            escaped = true;
            at += 2;
        }
    }

    /// Takes a number, `true`, `false` or `null`, as it is spelled.
    #[inline]
    pub fn scalar(&mut self) -> Result<&'a [u8], Stop> {
        self.peek()?;
        let start = self.at;
        let ends = |&byte: &u8| ENDS_SCALAR[usize::from(byte)];
        let length = self.bytes[start..].iter().position(ends).ok_or(Stop::End)?;
        if length == 0 || matches!(self.bytes[start], b'{' | b'[') {
            return Err(Stop::Expected("a value"));
        }
        self.at = start + length;
        Ok(self.since(start))
    }

    /// Takes a number or a string and says what it spells. Ids and times come as both.
    #[inline]
    pub fn spelled(&mut self) -> Result<&'a [u8], Stop> {
        if self.peek()? == b'"' { Ok(self.string()?.raw) } else { self.scalar() }
    }

    /// Takes any value.
    pub fn skip(&mut self) -> Result<(), Stop> {
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b'{' | b'[' => self.skip_nested(),
            _ => self.scalar().map(|_| ()),
        }
    }

    fn skip_nested(&mut self) -> Result<(), Stop> {
        let mut depth = 0_usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(Stop::End)
    }

    /// Takes an object and shows each key to `member`, which must take its value.
    #[inline]
    pub fn object<F>(&mut self, mut member: F) -> Result<(), Stop>
    where
        F: FnMut(&mut Self, Text<'a>) -> Result<(), Stop>,
    {
        self.expect(b'{', "an object")?;
        if self.take(b'}')? {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':', "a colon after the key")?;
            member(self, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Stop::Expected("a comma, or the end of the object")),
            }
            // A comma too many is forgiven.
            if self.take(b'}')? {
                return Ok(());
            }
        }
    }

    /// Takes an array and has `element` take each of its values.
    pub fn array<F>(&mut self, mut element: F) -> Result<(), Stop>
    where
        F: FnMut(&mut Self) -> Result<(), Stop>,
    {
        self.expect(b'[', "an array")?;
        loop {
            if self.take(b']')? {
                return Ok(());
            }
            element(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {}
                _ => return Err(Stop::Expected("a comma, or the end of the array")),
            }
        }
    }
}

/// By byte: whether it ends a number or a word.
static ENDS_SCALAR: [bool; 256] = {
    let mut ends = [false; 256];
    let enders = b",}]:\" \n\t\r";
    let mut at = 0;
    while at < enders.len() {
        ends[enders[at] as usize] = true;
        at += 1;
    }
    ends
};

/// The top bit of each byte of `word` that is `wanted`; above the first of them it may err.
#[inline]
fn has_byte(word: u64, wanted: u8) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let zero_where_found = word ^ (ONES * u64::from(wanted));
    zero_where_found.wrapping_sub(ONES) & !zero_where_found & (ONES << 7)
}

/// The number that `text` spells (a sign, a fraction and an exponent as JSON has them), times 10 to
/// the power of `digits`, rounded to the nearest whole, halves up. Nothing if it is not a number,
/// is below zero or does not fit.
#[inline]
pub fn scaled(text: &[u8], digits: u32) -> Option<u64> {
    let (mut value, n_whole) = leading_digits(text);
    let mut n_decimals = 0;
    if let Some((&point, decimals)) = text[n_whole..].split_first() {
        // What is finer than a tick rounds.
        if point != b'.' || decimals.is_empty() || decimals.len() > digits as usize {
            return scaled_slow(text, digits);
        }
        for &byte in decimals {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return scaled_slow(text, digits);
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        n_decimals = decimals.len();
    }
    let missing = digits as usize - n_decimals;
    // 19 digits always fit.
    if n_whole == 0 || n_whole + n_decimals + missing > 19 {
        return scaled_slow(text, digits);
    }
    Some(value * POWERS[missing])
}

/// The number that the first digits of `text` spell, modulo 2^64, and how many they are.
#[inline]
fn leading_digits(text: &[u8]) -> (u64, usize) {
    let mut value = 0_u64;
    let mut n = 0;
    while let Some(eight) = text.get(n..n + 8).and_then(|word| eight_digits(word.try_into().ok()?))
    {
        value = value.wrapping_mul(100_000_000).wrapping_add(eight);
        n += 8;
    }
    for &byte in &text[n..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        n += 1;
    }
    (value, n)
}

/// The number that eight digits spell: pairs of digits are joined, then pairs of pairs, then both
/// halves.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let digits = u64::from_le_bytes(text) ^ (ONES * u64::from(b'0'));
    // Adding 118 to a byte above 9 reaches the top bit, or the byte has that bit already.
    if (digits.wrapping_add(ONES * 118) | digits) & (ONES << 7) != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

#[cold]
fn scaled_slow(text: &[u8], digits: u32) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Digits before this place count, the one after it rounds.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + i64::from(digits);
    let mut value = 0_u64;
    let mut up = false;
    let mut n = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        if n < point {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if n == point {
            up = digit >= 5;
        }
        n += 1;
    }
    let missing = u32::try_from((point - n).max(0)).ok()?;
    if value > 0 {
        value = value.checked_mul(10_u64.checked_pow(missing)?)?;
    }
    value = value.checked_add(u64::from(up))?;
    (!negative || value == 0).then_some(value)
}

/// Whether `head` can be the beginning of a JSON text that is an object or an array.
pub fn looks_like_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    matches!(head.trim_ascii_start(), [b'{' | b'[', ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_rounded_to_the_digit_asked_for() {
        let cases: &[(&str, u32, Option<u64>)] = &[
            ("0", 3, Some(0)),
            ("919349681.854", 3, Some(919_349_681_854)),
            ("1.5", 3, Some(1_500)),
            ("1.", 3, Some(1_000)),
            ("1.2344", 3, Some(1_234)),
            ("1.2345", 3, Some(1_235)),
            ("1.23449999", 3, Some(1_234)),
            ("0.9996", 3, Some(1_000)),
            ("1e3", 3, Some(1_000_000)),
            ("1.25E-2", 3, Some(13)),
            ("1.5e+2", 0, Some(150)),
            ("9e-9", 3, Some(0)),
            ("-0.0001", 3, Some(0)),
            ("-1", 3, None),
            ("", 3, None),
            (".", 3, None),
            ("1.2.3", 3, None),
            ("null", 3, None),
            ("1e99", 3, None),
            ("0e99", 3, Some(0)),
            ("1e-99999", 3, Some(0)),
            ("1e99999999999", 3, None),
            ("18446744073709551615", 0, Some(u64::MAX)),
            ("18446744073709551616", 0, None),
            ("18446744073709551615", 1, None),
            ("1700000000000000.125", 3, Some(1_700_000_000_000_000_125)),
        ];
        for &(text, digits, expected) in cases {
            assert_eq!(scaled(text.as_bytes(), digits), expected, "{text} {digits}");
        }
    }

    /// What a whole JSON parser makes of a string, and of the text after a value.
    #[test]
    fn strings_say_what_a_json_parser_reads() {
        for spelled in [
            r#""""#,
            r#""plain""#,
            r#""a much longer string than a word of eight bytes""#,
            r#""quote \" backslash \\ slash \/ \b\f\n\r\t""#,
            r#""seven b\"""#,
            r#""\u00e9 \ud83d\ude00 é 😀""#,
        ] {
            let mut scanner = Scanner::new(spelled.as_bytes(), 0);
            let expected: String = serde_json::from_str(spelled).unwrap();
            assert_eq!(scanner.string().unwrap().to_string_lossy(), expected, "{spelled}");
            assert_eq!(scanner.at, spelled.len());
            for cut in 0..spelled.len() {
                let mut scanner = Scanner::new(&spelled.as_bytes()[..cut], 0);
                assert_eq!(scanner.string(), Err(Stop::End), "{spelled} cut at {cut}");
            }
        }
        let lost = Text { raw: br"\ud83d \q \u12", escaped: true };
        assert_eq!(lost.to_string_lossy(), "\u{fffd} \u{fffd} \u{fffd}12");
    }

    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<i32>().prop_map(|n| (f64::from(n) / 8.0).into()),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_value_is_skipped_to_its_end(value in any_value(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let followed = format!(" {text} , 1");
            let mut scanner = Scanner::new(followed.as_bytes(), 0);
            scanner.skip().unwrap();
            prop_assert_eq!(scanner.at, text.len() + 1);
        }

        #[test]
        fn members_are_those_of_a_json_parser(value in any_value()) {
            let object = serde_json::json!({ "a": value, "b\n": [value] });
            let text = object.to_string();
            let mut found = serde_json::Map::new();
            let mut scanner = Scanner::new(text.as_bytes(), 0);
            scanner.object(|scanner, key| {
                scanner.peek()?;
                let start = scanner.at;
                scanner.skip()?;
                let value = serde_json::from_slice(scanner.since(start)).unwrap();
                found.insert(key.to_string_lossy(), value);
                Ok(())
            }).unwrap();
            prop_assert_eq!(serde_json::Value::Object(found), object);
        }

        #[test]
        fn times_are_what_was_written(nanos in 0..u64::MAX, zeros in 0_usize..3) {
            let text = format!("{}.{:03}{}", nanos / 1000, nanos % 1000, "0".repeat(zeros));
            prop_assert_eq!(scaled(text.as_bytes(), 3), Some(nanos));
        }

        #[test]
        fn no_text_stops_the_scanner(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut scanner = Scanner::new(&bytes, 0);
            while scanner.skip().is_ok() {}
            let _ = scaled(&bytes, 3);
        }
    }
}
