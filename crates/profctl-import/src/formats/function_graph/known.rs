//! Tables from the bytes of names and of columns to what the general path read in them.

use super::wide::{same, word};
use crate::emit::NameRef;

/// Words of most names, and of nearly all others; still longer ones are not remembered.
const SHORT: usize = 4;
const LONG: usize = 8;
/// Places at first; always a power of two.
const FIRST: usize = 1 << 8;
/// Places for each name at least: then three of four names are found where they are sought first.
const SPARE: usize = 4;

#[derive(Debug, Default)]
pub(in crate::formats) struct Known {
    short: Table<SHORT>,
    long: Table<LONG>,
}

impl Known {
    /// The reference of `name`, which is what `text` begins with.
    #[inline]
    pub(super) fn get(&self, text: &[u8; 8 * SHORT], name: &[u8]) -> Option<NameRef> {
        if name.len() < 8 * SHORT {
            return self.short.get(text, name.len());
        }
        self.get_long(name)
    }

    #[inline(never)]
    fn get_long(&self, name: &[u8]) -> Option<NameRef> {
        self.long.get(&padded::<{ 8 * LONG }>(name)?, name.len())
    }

    /// Remembers a name, if it is not known yet and means the same wherever it stands.
    pub(in crate::formats) fn insert(&mut self, name: &[u8], known: NameRef) {
        if !is_plain(name) {
            return;
        }
        if let Some(text) = padded::<{ 8 * SHORT }>(name) {
            self.short.insert(&text, name.len(), known);
        } else if let Some(text) = padded::<{ 8 * LONG }>(name) {
            self.long.insert(&text, name.len(), known);
        }
    }
}

/// Whether a name means the same wherever it stands: before a parenthesis and in the comment of a
/// closing brace, of which only the first word, or a word and a module, is the name.
fn is_plain(name: &[u8]) -> bool {
    let word = |word: &[u8]| {
        let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"_.$:-".contains(&byte);
        word.iter().all(plain)
    };
    match memchr::memmem::find(name, b" [") {
        None => word(name),
        Some(at) => name[at + 2..].strip_suffix(b"]").is_some_and(word) && word(&name[..at]),
    }
}

/// `name` with zeros after it, if there is space for one at least.
fn padded<const N: usize>(name: &[u8]) -> Option<[u8; N]> {
    let mut text = [0; N];
    (name.len() < N).then(|| {
        text[..name.len()].copy_from_slice(name);
        text
    })
}

/// Names of less than `8 * WORDS` bytes.
///
/// What is looked at for every line should be in the nearest cache, so there are no holes but in
/// the table of places, which is small.
#[derive(Debug)]
struct Table<const WORDS: usize> {
    /// By hash: a row, counted from 1; 0 is a free place.
    places: Vec<u32>,
    /// By how much a hash is shifted down to a place.
    shift: u32,
    /// The names, padded with zeros, and what they mean. The last byte is the length, so that two
    /// names of different lengths differ whatever is in their bytes.
    rows: Vec<([u64; WORDS], NameRef)>,
}

impl<const WORDS: usize> Default for Table<WORDS> {
    fn default() -> Self {
        let shift = u64::BITS - FIRST.trailing_zeros();
        Self { places: vec![0; FIRST], shift, rows: Vec::new() }
    }
}

impl<const WORDS: usize> Table<WORDS> {
    /// The name in the first `length` bytes of `text`, which has space for one more.
    #[expect(clippy::inline_always, reason = "the text stays in registers")]
    #[inline(always)]
    fn get<const N: usize>(&self, text: &[u8; N], length: usize) -> Option<NameRef> {
        let words = words_of::<WORDS, N>(text, length);
        let mut at = self.first_place(&words);
        loop {
            let row = (self.places[at] as usize).wrapping_sub(1);
            // There always is a free place.
            let (known, name) = self.rows.get(row)?;
            // Said word by word: compared as arrays they would be stored, and loaded again sixteen
            // bytes at a time before the stores are through.
            let different = (0..WORDS).fold(0, |bits, n| bits | (known[n] ^ words[n]));
            if different == 0 {
                return Some(*name);
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    fn insert<const N: usize>(&mut self, text: &[u8; N], length: usize, name: NameRef) {
        if length == 0 || self.get(text, length).is_some() {
            return;
        }
        self.rows.push((words_of::<WORDS, N>(text, length), name));
        if self.rows.len() * SPARE > self.places.len() {
            self.places = vec![0; 2 * self.places.len()];
            self.shift -= 1;
            (0..self.rows.len()).for_each(|row| self.place(row));
        } else {
            self.place(self.rows.len() - 1);
        }
    }

    fn place(&mut self, row: usize) {
        let mut at = self.first_place(&self.rows[row].0);
        while self.places[at] != 0 {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = row as u32 + 1;
    }

    #[inline]
    fn first_place(&self, words: &[u64; WORDS]) -> usize {
        // Only the high bits of a product depend on all bits of its factors.
        let half = |from: usize, factor: u64| {
            let words = &words[from..from + WORDS / 2];
            let mixed = words.iter().fold(0_u64, |mixed, word| mixed.rotate_left(25) ^ word);
            mixed.wrapping_mul(factor)
        };
        let hash = half(0, 0x9E37_79B9_7F4A_7C15) ^ half(WORDS / 2, 0xD6E8_FEB8_6659_FD93);
        (hash >> self.shift) as usize
    }
}

/// A table of fixed size from strings shorter than `8 * WORDS` bytes, such as the columns that
/// identify a lane, to their meaning. A new entry replaces the one in its slot; a line with a replaced
/// one is read slowly, which adds it again.
#[derive(Debug)]
pub(in crate::formats) struct Repeated<const WORDS: usize, T>(Vec<([u64; WORDS], T)>);

/// Slots of [`Repeated`].
const SLOTS: usize = 1024;

impl<const WORDS: usize, T: Copy> Repeated<WORDS, T> {
    /// An empty table; its slots hold `nothing`.
    pub(in crate::formats) fn new(nothing: T) -> Self {
        Self(vec![([0; WORDS], nothing); SLOTS])
    }

    #[inline]
    pub(in crate::formats) fn get(&self, words: [u64; WORDS]) -> Option<T> {
        let (known, meaning) = &self.0[Self::slot(words)];
        same(known, &words).then_some(*meaning)
    }

    pub(in crate::formats) fn insert(&mut self, words: [u64; WORDS], meaning: T) {
        self.0[Self::slot(words)] = (words, meaning);
    }

    pub(in crate::formats) fn clear(&mut self) {
        for (words, _) in &mut self.0 {
            *words = [0; WORDS];
        }
    }

    #[inline]
    fn slot(words: [u64; WORDS]) -> usize {
        let mixed = words.iter().fold(0_u64, |mixed, word| mixed.rotate_left(17) ^ word);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SLOTS.trailing_zeros())) as usize
    }
}

/// Which bits of its words a name of each length has.
static MASKS: [[u64; LONG]; 8 * LONG] = {
    let mut masks = [[0; LONG]; 8 * LONG];
    let mut length = 0;
    while length < 8 * LONG {
        let mut byte = 0;
        while byte < length {
            masks[length][byte / 8] |= 0xFF << (8 * (byte % 8));
            byte += 1;
        }
        length += 1;
    }
    masks
};

/// The first `length` bytes of `text`, padded with zeros. The last byte is the length.
#[inline]
pub(in crate::formats) fn words_of<const WORDS: usize, const N: usize>(
    text: &[u8; N],
    length: usize,
) -> [u64; WORDS] {
    let masks = &MASKS[length];
    let mut words = std::array::from_fn(|n| word(text, 8 * n) & masks[n]);
    words[WORDS - 1] |= (length as u64) << 56;
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(known: &Known, name: &[u8]) -> Option<NameRef> {
        let mut text = [b'x'; 8 * SHORT];
        let length = name.len().min(text.len());
        text[..length].copy_from_slice(&name[..length]);
        known.get(&text, name)
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        let mut known = Known::default();
        let name = |n: usize| {
            let stem = "a_kernel_function_of_any_length_that_somebody_might_think_of";
            format!("{}_{n}{}", &stem[..n % 57], n % 7)
        };
        let extended = |n: usize| format!("{}\0", name(n));
        for n in 0..5_000 {
            assert_eq!(find(&known, name(n).as_bytes()), None, "{n}");
            known.insert(name(n).as_bytes(), NameRef(n as u32 + 1));
        }
        for n in 0..5_000 {
            assert_eq!(find(&known, name(n).as_bytes()), Some(NameRef(n as u32 + 1)), "{n}");
            assert_eq!(find(&known, extended(n).as_bytes()), None, "{n}");
        }
        for unknown in [&b""[..], &[b'a'; 63], &[b'a'; 64], &[b'a'; 300]] {
            assert_eq!(find(&known, unknown), None);
        }
        known.insert(b"", NameRef(9));
        known.insert(&[b'a'; 64], NameRef(9));
        known.insert(b"two words", NameRef(9));
        assert_eq!(find(&known, b"two words"), None);
        assert_eq!(find(&known, b""), None);
        assert_eq!(find(&known, &[b'a'; 64]), None);
    }
}
