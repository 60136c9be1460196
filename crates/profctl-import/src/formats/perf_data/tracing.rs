//! The feature section with the formats of tracepoints, as `trace.dat` has it too.
//!
//! ```text
//! 17 08 44 "tracing" · version, NUL · byte order u8 · size of a long u8 · size of a page u32 ·
//! "header_page" NUL, size u64, text · "header_event" NUL, size u64, text ·
//! number u32 of formats of ftrace, each: size u64, text ·
//! number u32 of systems, each: name NUL, number u32 of formats, each: size u64, text · …
//! ```

use crate::bytes::Endian;
use crate::kernel_events::format::EventFormat;

use super::head::number;

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    endian: Endian,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        let value = number(self.bytes, self.at, size, self.endian)?;
        self.at += size;
        Some(value)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = memchr::memchr(0, self.bytes.get(self.at..)?)?;
        let text = self.take(length)?;
        self.at += 1;
        Some(text)
    }

    /// A size and that many bytes.
    fn sized(&mut self) -> Option<&'a [u8]> {
        let size = self.number(8)?;
        self.take(usize::try_from(size).ok()?)
    }
}

/// The formats in a section, as far as it can be read.
pub(super) fn formats(section: &[u8]) -> Vec<EventFormat> {
    let mut formats = Vec::new();
    // What was read before the section ends is worth something.
    let _ = read(section, &mut formats);
    formats
}

fn read(section: &[u8], formats: &mut Vec<EventFormat>) -> Option<()> {
    let mut cursor = Cursor { bytes: section, at: 0, endian: Endian::Little };
    if cursor.take(10)? != b"\x17\x08\x44tracing" {
        return None;
    }
    cursor.text()?;
    cursor.endian = if cursor.take(1)? == [0] { Endian::Little } else { Endian::Big };
    cursor.take(1 + 4)?;
    for name in [&b"header_page"[..], b"header_event"] {
        if cursor.text()? != name {
            return None;
        }
        cursor.sized()?;
    }
    for _ in 0..cursor.number(4)? {
        let text = cursor.sized()?;
        formats.extend(EventFormat::parse("ftrace", &String::from_utf8_lossy(text)));
    }
    for _ in 0..cursor.number(4)? {
        let system = String::from_utf8_lossy(cursor.text()?).into_owned();
        for _ in 0..cursor.number(4)? {
            let text = cursor.sized()?;
            formats.extend(EventFormat::parse(&system, &String::from_utf8_lossy(text)));
        }
    }
    Some(())
}
