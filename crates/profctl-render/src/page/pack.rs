//! Numbers and text made small enough to live in a page: columns of variable-length integers,
//! deflated, in base64.
//!
//! Base64 is what makes names from traces harmless: no byte of them can end a script, an attribute
//! or a comment. A column of zeros is omitted.

use std::io::{BufWriter, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

/// Columns that are filled value by value, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Columns {
    columns: Vec<Packed>,
}

/// One column on its way into a block.
#[derive(Debug)]
pub(super) struct Packed {
    name: &'static str,
    signed: bool,
    n: usize,
    is_zero: bool,
    bytes: Vec<u8>,
}

impl Packed {
    /// A column of numbers from 0 up.
    pub(super) fn unsigned(name: &'static str) -> Self {
        Self { name, signed: false, n: 0, is_zero: true, bytes: Vec::new() }
    }

    /// A column of numbers of either sign.
    pub(super) fn signed(name: &'static str) -> Self {
        Self { signed: true, ..Self::unsigned(name) }
    }

    /// Appends a number to an unsigned column.
    pub(super) fn push(&mut self, mut value: u64) {
        self.n += 1;
        self.is_zero &= value == 0;
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Appends a number to a signed column: small ones of either sign stay small.
    pub(super) fn push_signed(&mut self, value: i64) {
        self.push(((value << 1) ^ (value >> 63)) as u64);
    }
}

impl Columns {
    /// Adds a finished column.
    pub(super) fn add(&mut self, column: Packed) {
        if !column.is_zero {
            self.columns.push(column);
        }
    }

    /// The block: `head`, which gets a list of the columns, and the columns.
    pub(super) fn block(self, mut head: Value) -> String {
        let listed = self
            .columns
            .iter()
            .map(|one| json!([one.name, one.n, one.bytes.len(), one.signed]))
            .collect::<Vec<_>>();
        head["columns"] = listed.into();
        let head = head.to_string();
        let length = u32::try_from(head.len()).expect("the head of a block is small");
        let mut deflated = deflater();
        for bytes in [&length.to_le_bytes()[..], head.as_bytes()] {
            deflated.write_all(bytes).expect("memory takes what is written to it");
        }
        for column in &self.columns {
            deflated.write_all(&column.bytes).expect("memory takes what is written to it");
        }
        base64(&deflated.finish().expect("memory takes what is written to it"))
    }
}

/// A block that is one JSON value.
pub(super) fn json_block(value: &Value) -> String {
    // For each write, however small, the encoder clears all its free space.
    let mut buffered = BufWriter::with_capacity(1 << 16, deflater());
    serde_json::to_writer(&mut buffered, value).expect("memory takes what is written to it");
    let deflated = buffered.into_inner().expect("memory takes what is written to it");
    base64(&deflated.finish().expect("memory takes what is written to it"))
}

fn deflater() -> ZlibEncoder<Vec<u8>> {
    ZlibEncoder::new(Vec::new(), Compression::new(5))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let letter = |shift: u32| LETTERS[(bits >> shift & 63) as usize];
        text.extend([letter(18), letter(12), letter(6), letter(0)]);
        let missing = 3 - three.len();
        let end = text.len();
        text[end - missing..].fill(b'=');
    }
    String::from_utf8(text).expect("base64 is ASCII")
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::io::Read as _;

    use super::*;

    fn bytes_of(text: &str) -> Vec<u8> {
        let value = |letter: u8| match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => panic!("{other} is not a base64 character"),
        };
        let mut bytes = Vec::new();
        for four in text.trim_end_matches('=').as_bytes().chunks(4) {
            let bits =
                four.iter().fold(0_u32, |bits, &letter| bits << 6 | u32::from(value(letter)))
                    << (6 * (4 - four.len()));
            bytes.extend(&bits.to_be_bytes()[1..four.len()]);
        }
        bytes
    }

    /// What a page would make of a block: its head and its columns.
    pub(in crate::page) fn unpacked(block: &str) -> (Value, BTreeMap<String, Vec<i64>>) {
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes_of(block)[..]).read_to_end(&mut bytes).unwrap();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        let mut rest = &bytes[4 + length..];
        let mut columns = BTreeMap::new();
        for column in head["columns"].as_array().unwrap() {
            let size = column[2].as_u64().unwrap() as usize;
            let (mut own, other) = rest.split_at(size);
            rest = other;
            let mut values = Vec::new();
            while !own.is_empty() {
                let end = own.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
                let value = own[..end]
                    .iter()
                    .rev()
                    .fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
                let is_signed = column[3].as_bool().unwrap();
                let signed = (value >> 1) as i64 ^ -((value & 1) as i64);
                values.push(if is_signed { signed } else { value as i64 });
                own = &own[end..];
            }
            assert_eq!(values.len() as u64, column[1].as_u64().unwrap());
            columns.insert(column[0].as_str().unwrap().to_owned(), values);
        }
        (head, columns)
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(bytes_of(text), bytes.as_bytes());
        }
    }

    #[test]
    fn numbers_of_every_size_come_back() {
        let mut columns = Columns::default();
        let (mut up, mut both) = (Packed::unsigned("up"), Packed::signed("both"));
        let values = [0, 1, 127, 128, 16_383, 16_384, (1 << 53) - 1];
        for value in values {
            up.push(value);
            both.push_signed(-(value as i64));
        }
        let mut zero = Packed::signed("zero");
        zero.push_signed(0);
        for column in [up, both, zero] {
            columns.add(column);
        }
        let (head, columns) = unpacked(&columns.block(json!({ "n": 7 })));
        assert_eq!(head["n"], 7);
        assert_eq!(columns["up"], values.map(|value| value as i64));
        assert_eq!(columns["both"], values.map(|value| -(value as i64)));
        assert!(!columns.contains_key("zero"));
    }
}
