//! Pages and events.
//!
//! A file is `MMPD` and a version, then pages: a tag (1 byte), a length (4), content. Pages of one
//! tag are one stream, which begins with a header of its own. All numbers are little endian.

use crate::bytes::little;

/// Bytes of the header of a file and of each stream.
pub(super) const HEADER: usize = 8;
/// Bytes of the head of a page.
pub(super) const PAGE_HEAD: usize = 5;
/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"MMPD";
/// The second value of an event that has no end.
const INSTANT: u64 = 0xffff_ffff_ffff;
/// The second value of an event that is a number.
const INTEGER: u64 = INSTANT - 1;

/// A version of the layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    /// Ids of 4 bytes.
    V8,
    /// Ids of 8 bytes.
    V9,
}

impl Version {
    /// The version of the file that begins with `head`, or the number of one that is not read.
    /// Nothing if it is another kind of file.
    pub(super) fn of(head: &[u8]) -> Option<Result<Self, u64>> {
        if !head.starts_with(MAGIC) || head.len() < HEADER {
            return None;
        }
        Some(match little(&head[4..HEADER]) {
            8 => Ok(Self::V8),
            9 => Ok(Self::V9),
            other => Err(other),
        })
    }

    /// Bytes of the id of a string.
    pub(super) fn id_bytes(self) -> usize {
        match self {
            Self::V8 => 4,
            Self::V9 => 8,
        }
    }

    /// Bytes of an event.
    pub(super) fn event_bytes(self) -> usize {
        2 * self.id_bytes() + 16
    }

    /// The number of the version.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::V8 => 8,
            Self::V9 => 9,
        }
    }

    /// The event that `bytes` are, as many as [`Self::event_bytes`] says.
    #[inline]
    pub(super) fn event(self, bytes: &[u8]) -> Event {
        let (kind, label, words): (_, _, [u8; 16]) = match self {
            Self::V8 => {
                let bytes: [u8; 24] = array(bytes, 0);
                let id = |at| u32::from_le_bytes(array(&bytes, at)).into();
                (id(0), id(4), array(&bytes, 8))
            }
            Self::V9 => {
                let bytes: [u8; 32] = array(bytes, 0);
                let id = |at| u64::from_le_bytes(array(&bytes, at));
                (id(0), id(8), array(&bytes, 16))
            }
        };
        let word = |n: usize| u32::from_le_bytes(array(&words, 4 * n));
        let upper = u64::from(word(3));
        let first = u64::from(word(1)) | upper >> 16 << 32;
        let second = u64::from(word(2)) | (upper & 0xffff) << 32;
        Event {
            kind,
            label,
            thread: word(0),
            payload: match second {
                INSTANT => Payload::Instant(first),
                INTEGER => Payload::Integer(first),
                end => Payload::Interval { start: first, end },
            },
        }
    }
}

/// The bytes at a place; zeros if they are not there.
#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    /// The id of the string that says what kind it is.
    pub(super) kind: u64,
    /// The id of the string that names it.
    pub(super) label: u64,
    pub(super) thread: u32,
    pub(super) payload: Payload,
}

/// What an event says; times in ticks of the counter since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Payload {
    Interval { start: u64, end: u64 },
    Instant(u64),
    Integer(u64),
}

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Page {
    Events,
    Strings,
    Index,
}

/// The head of a page: what it holds (nothing for an unknown tag) and its length.
pub(super) fn page(head: &[u8]) -> (Option<Page>, u64) {
    let page = match head[0] {
        0 => Some(Page::Events),
        1 => Some(Page::Strings),
        2 => Some(Page::Index),
        _ => None,
    };
    (page, little(&head[1..PAGE_HEAD]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_both_versions() {
        for version in [Version::V8, Version::V9] {
            let width = version.id_bytes();
            let event = |first: u64, second: u64| {
                let mut bytes = 5_u64.to_le_bytes()[..width].to_vec();
                bytes.extend(&6_u64.to_le_bytes()[..width]);
                bytes.extend(7_u32.to_le_bytes());
                bytes.extend((first as u32).to_le_bytes());
                bytes.extend((second as u32).to_le_bytes());
                bytes.extend(((first >> 32 << 16 | second >> 32) as u32).to_le_bytes());
                assert_eq!(bytes.len(), version.event_bytes());
                version.event(&bytes)
            };
            let (start, end) = (0x1234_5678_9abc, 0x2234_5678_9abc);
            let expected =
                Event { kind: 5, label: 6, thread: 7, payload: Payload::Interval { start, end } };
            assert_eq!(event(start, end), expected);
            assert_eq!(event(start, INSTANT).payload, Payload::Instant(start));
            assert_eq!(event(start, INTEGER).payload, Payload::Integer(start));
        }
    }

    #[test]
    fn versions_are_told() {
        assert_eq!(Version::of(b"MMPD\x08\0\0\0"), Some(Ok(Version::V8)));
        assert_eq!(Version::of(b"MMPD\x09\0\0\0"), Some(Ok(Version::V9)));
        assert_eq!(Version::of(b"MMPD\x0a\0\0\0"), Some(Err(10)));
        assert_eq!((Version::of(b"MMPD\x09"), Version::of(b"MMES\x09\0\0\0")), (None, None));
        assert_eq!(page(&[1, 4, 1, 0, 0]), (Some(Page::Strings), 260));
        assert_eq!(page(&[9, 0, 0, 0, 0]), (None, 0));
    }
}
