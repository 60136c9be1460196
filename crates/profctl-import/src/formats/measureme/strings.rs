//! The string table: strings by id, made of pieces of text and of other strings.

use profctl_model::hash::FastMap;

use super::layout::{HEADER, Version};
use crate::bytes::little;

/// The highest id that the program itself gives a string; higher ones are offsets in the data.
const OWN_MAX: u64 = 100_000_000;
/// The id of the description of the recording.
const METADATA: u64 = OWN_MAX + 1;
/// The id that stands for the first place in the data.
const FIRST_PLACE: u64 = OWN_MAX + 3;
/// Ends a string.
const END: u8 = 0xff;
/// Comes before the id of another string.
const REFERENCE: u8 = 0xfe;
/// How deep strings may be made of strings, and how long they may get.
const NESTED_MAX: usize = 32;
const LENGTH_MAX: usize = 64 << 10;
/// What is between a label and its arguments.
const SEPARATOR: u8 = 0x1e;

/// The strings of a recording.
#[derive(Debug, Default)]
pub(super) struct Strings {
    data: Vec<u8>,
    places: FastMap<u64, u64>,
    /// Bytes of an id.
    width: usize,
}

impl Strings {
    /// `data` and `index` are the two streams, with their headers.
    pub(super) fn new(data: Vec<u8>, index: &[u8], version: Version) -> Self {
        let width = version.id_bytes();
        let entries = index.get(HEADER..).unwrap_or_default().chunks_exact(2 * width);
        let places = entries.map(|entry| (little(&entry[..width]), little(&entry[width..])));
        Self { data, places: places.collect(), width }
    }

    /// The description of the recording: a JSON object.
    pub(super) fn metadata(&self) -> Option<Vec<u8>> {
        self.get(METADATA)
    }

    /// The string of that id; nothing if there is none, or it has no end.
    pub(super) fn get(&self, id: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        self.append(id, 0, &mut text).then_some(text)
    }

    fn append(&self, id: u64, depth: usize, text: &mut Vec<u8>) -> bool {
        let place = match id {
            ..=METADATA => self.places.get(&id).copied(),
            _ => id.checked_sub(FIRST_PLACE),
        };
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else { return false };
        let Some(mut rest) = self.data.get(place..) else { return false };
        while let Some(end) = memchr::memchr2(END, REFERENCE, rest) {
            text.extend_from_slice(&rest[..end]);
            if rest[end] == END {
                return true;
            }
            let Some(id) = rest.get(end + 1..end + 1 + self.width) else { return false };
            if depth == NESTED_MAX || text.len() > LENGTH_MAX {
                return false;
            }
            if !self.append(little(id), depth + 1, text) {
                text.extend_from_slice(b"<unknown>");
            }
            rest = &rest[end + 1 + self.width..];
        }
        false
    }

    /// The label of an event, without its arguments.
    pub(super) fn label(&self, id: u64) -> String {
        let text = self.get(id).unwrap_or_else(|| b"<unknown>".to_vec());
        let label = text.split(|&byte| byte == SEPARATOR).next().unwrap_or_default();
        String::from_utf8_lossy(label).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(version: Version, pieces: &[&[u8]], places: &[(u64, u64)]) -> Strings {
        let width = version.id_bytes();
        let mut index = vec![0; HEADER];
        for (id, place) in places {
            index.extend(&id.to_le_bytes()[..width]);
            index.extend(&place.to_le_bytes()[..width]);
        }
        Strings::new([&[0; HEADER][..], &pieces.concat()].concat(), &index, version)
    }

    #[test]
    fn strings_are_made_of_pieces() {
        for version in [Version::V8, Version::V9] {
            let first = FIRST_PLACE + 8;
            let width = version.id_bytes();
            let reference = [&[REFERENCE][..], &first.to_le_bytes()[..width]].concat();
            let pieces = [&b"typeck\xff"[..], b"in ", &reference, b"!\x1earg\xff"];
            let strings = strings(version, &pieces, &[(7, 15), (METADATA, 8)]);
            assert_eq!(strings.get(first).unwrap(), b"typeck");
            assert_eq!(strings.metadata().unwrap(), b"typeck");
            assert_eq!(strings.label(7), "in typeck!");
            assert_eq!(strings.get(7).unwrap(), b"in typeck!\x1earg");
            assert_eq!(strings.label(8), "<unknown>");
            assert_eq!(strings.get(u64::MAX), None);
        }
    }

    #[test]
    fn strings_that_hold_themselves_end() {
        let own = FIRST_PLACE + 8;
        let piece = [&[REFERENCE][..], &own.to_le_bytes(), b"\xff"].concat();
        let strings = strings(Version::V9, &[&piece], &[]);
        assert!(strings.get(own).unwrap().len() < LENGTH_MAX);
        assert_eq!(Strings::default().get(own), None);
    }
}
