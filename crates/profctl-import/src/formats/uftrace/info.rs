//! The `info` file: a header of 40 bytes, then lines `key:value`.

use crate::bytes::{self, Endian};
use crate::text;

/// The first bytes of an `info` file.
pub(super) const MAGIC: &[u8; 8] = b"Ftrace!\0";
/// Bytes of the header that every version has.
const HEADER: usize = 40;
/// The versions of the header that are read. Later ones would have to be looked at first.
const VERSIONS: std::ops::RangeInclusive<u64> = 3..=4;

/// What the recording holds, as bits of the header's feature mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// Arguments behind records of entries.
    Argument = 3,
    /// Return values after records of exits.
    Retval = 4,
    /// Symbol files count addresses from the start of their mapping.
    RelativeSymbols = 5,
    /// Arguments that the recorder knew of by itself.
    AutoArgs = 9,
    /// Exits are estimated from the next entry.
    EstimatedReturn = 11,
}

/// A parsed `info` file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Info {
    /// The byte order of all binary files.
    pub(super) endian: Endian,
    /// Bytes of a pointer in the traced program.
    pub(super) word: usize,
    /// The version of the layout.
    pub(super) version: u64,
    features: u64,
    /// The lines, in order. A key may come more than once.
    lines: Vec<(String, String)>,
}

impl Info {
    /// Parses the file. Fails with what was found and what was expected.
    pub(super) fn parse(file: &[u8]) -> Result<Self, String> {
        if !file.starts_with(MAGIC) {
            return Err("found no `Ftrace!` at the start of `info`".into());
        }
        let Some(header) = file.get(..HEADER) else {
            return Err(format!("found {} bytes of `info`, expected at least 40", file.len()));
        };
        let endian = match header[14] {
            1 => Endian::Little,
            2 => Endian::Big,
            other => return Err(format!("found byte order {other} in `info`, expected 1 or 2")),
        };
        let word = match header[15] {
            1 => 4,
            2 => 8,
            other => return Err(format!("found ELF class {other} in `info`, expected 1 or 2")),
        };
        let field = |offset, width| bytes::integer(header, offset, width, endian).unwrap_or(0);
        let version = field(8, 4);
        if !VERSIONS.contains(&version) {
            return Err(format!("found version {version} of uftrace's layout, expected 3 or 4"));
        }
        // The size is there so that a later version may have more after the 40 bytes.
        let size = usize::try_from(field(12, 2)).unwrap_or(HEADER).max(HEADER);
        let line = |line: text::Line<'_>| {
            let line = String::from_utf8_lossy(line.text).into_owned();
            let (key, value) = line.split_once(':')?;
            Some((key.to_owned(), value.to_owned()))
        };
        let lines = text::lines(file.get(size..).unwrap_or_default()).filter_map(line).collect();
        Ok(Self { endian, word, version, features: field(16, 8), lines })
    }

    /// Whether the recording has this.
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.features >> feature as u32 & 1 == 1
    }

    /// The value of the first line of this key, if it says anything.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let found = self.lines.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The value after `KEY:NAME=`.
    pub(super) fn member(&self, key: &str, name: &str) -> Option<&str> {
        let mut lines = self.lines.iter().filter(|(found, _)| found == key);
        let value = lines.find_map(|(_, value)| value.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim().trim_matches('"')).filter(|value| !value.is_empty())
    }

    /// The specifications of arguments (`argspec`, `argauto`) or return values (`retspec`,
    /// `retauto`), without the line that counts them.
    pub(super) fn specs(&self, key: &str) -> impl Iterator<Item = &str> {
        let lines = self.lines.iter().filter(move |(found, _)| found == key);
        lines.map(|(_, value)| value.as_str()).filter(|value| !value.starts_with("lines="))
    }

    /// The version of the program that recorded, such as `v0.13`.
    pub(super) fn recorder(&self) -> Option<&str> {
        self.value("uftrace_version")?.split_whitespace().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(endian: u8, class: u8) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        let four = |n: u32| if endian == 1 { n.to_le_bytes() } else { n.to_be_bytes() };
        let two = |n: u16| if endian == 1 { n.to_le_bytes() } else { n.to_be_bytes() };
        let eight = |n: u64| if endian == 1 { n.to_le_bytes() } else { n.to_be_bytes() };
        header.extend(four(4));
        header.extend(two(40));
        header.extend([endian, class]);
        header.extend(eight(0x363));
        header.extend(eight(0x3bff));
        header.extend(two(1024));
        header.extend([0; 6]);
        header
    }

    #[test]
    fn both_orders_and_classes_say_the_same() {
        for (endian, class) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            let mut file = header(endian, class);
            file.extend(
                b"exename:/bin/a\nargspec:lines=3\nargspec:f@arg1\nosinfo:kernel=Linux 6\n",
            );
            file.extend(b"uftrace_version:v0.13 ( x86_64 )\nodd line\n");
            let info = Info::parse(&file).unwrap();
            assert_eq!((info.version, info.word), (4, usize::from(class) * 4));
            assert!(info.has(Feature::RelativeSymbols) && !info.has(Feature::Argument));
            assert_eq!(info.value("exename"), Some("/bin/a"));
            assert_eq!(info.member("osinfo", "kernel"), Some("Linux 6"));
            assert_eq!(info.specs("argspec").collect::<Vec<_>>(), ["f@arg1"]);
            assert_eq!(info.recorder(), Some("v0.13"));
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let whole = header(1, 2);
        for cut in 0..whole.len() {
            assert!(Info::parse(&whole[..cut]).is_err(), "{cut} bytes");
        }
        for (at, byte, part) in [(8, 9, "version 9"), (14, 3, "byte order 3"), (15, 0, "class 0")] {
            let mut wrong = whole.clone();
            wrong[at] = byte;
            let error = Info::parse(&wrong).unwrap_err();
            assert!(error.contains(part) && error.contains("expected"), "{error}");
        }
    }
}
