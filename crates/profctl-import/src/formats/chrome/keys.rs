//! Which field comes next: a producer writes the keys of its events in one order, with the same
//! spaces, a million times.
//!
//! What stood between two values is remembered with the field that it led to. If the same bytes are
//! there again, it is the same field; if not, the key is read, and remembered.

/// A field of an event that matters, or the beginning of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Start,
    Phase,
    Time,
    Duration,
    Process,
    Thread,
    ThreadDuration,
    Name,
    Arguments,
    Other,
}

const KEYS: usize = Key::Other as usize + 1;

impl Key {
    /// The field that a key names.
    pub(super) fn of(spelling: &[u8]) -> Self {
        match spelling {
            b"ph" => Self::Phase,
            b"ts" => Self::Time,
            b"dur" => Self::Duration,
            b"pid" => Self::Process,
            b"tid" => Self::Thread,
            b"tdur" => Self::ThreadDuration,
            b"name" => Self::Name,
            b"args" => Self::Arguments,
            _ => Self::Other,
        }
    }
}

/// Bytes of what is between two values, at most; longer ones are not remembered.
const WIDTH: usize = size_of::<u128>();
/// Ways on from a field that are remembered.
const WAYS: usize = 4;

/// What stood between two values.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The bytes, and zeros behind them.
    bytes: u128,
    mask: u128,
    length: u8,
    to: Key,
}

/// The ways on from each field.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ways: [[Option<Way>; WAYS]; KEYS],
    /// How many were remembered: the next takes the place of the oldest.
    made: [u8; KEYS],
}

impl Keys {
    /// The field whose value follows, and how many bytes are before that, if `rest`, which begins
    /// after the value of `from`, begins as it did before.
    #[inline]
    pub(super) fn next(&self, from: Key, rest: &[u8]) -> Option<(Key, usize)> {
        let bytes = u128::from_le_bytes(*rest.first_chunk::<WIDTH>()?);
        let mut ways = self.ways[from as usize].iter().map_while(Option::as_ref);
        let way = ways.find(|way| bytes & way.mask == way.bytes)?;
        Some((way.to, usize::from(way.length)))
    }

    /// Remembers that `between` stood before the value of `to`.
    #[cold]
    pub(super) fn learn(&mut self, from: Key, between: &[u8], to: Key) {
        if between.len() > WIDTH {
            return;
        }
        let mut bytes = [0; WIDTH];
        let mut mask = [0; WIDTH];
        bytes[..between.len()].copy_from_slice(between);
        mask[..between.len()].fill(u8::MAX);
        let way = Way {
            bytes: u128::from_le_bytes(bytes),
            mask: u128::from_le_bytes(mask),
            length: between.len() as u8,
            to,
        };
        let made = &mut self.made[from as usize];
        self.ways[from as usize][usize::from(*made) % WAYS] = Some(way);
        *made = (*made + 1) % WAYS as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_known_by_all_its_bytes() {
        let mut keys = Keys::default();
        keys.learn(Key::Start, b"{\"ph\":", Key::Phase);
        keys.learn(Key::Time, b",\"pid\":", Key::Process);
        keys.learn(Key::Time, b",\"dur\": ", Key::Duration);
        keys.learn(Key::Time, b", \"a key that is long\": ", Key::Other);
        let next = |from, rest: &str| keys.next(from, format!("{rest:16}").as_bytes());
        assert_eq!(next(Key::Start, "{\"ph\":\"B\""), Some((Key::Phase, 6)));
        assert_eq!(next(Key::Start, "{\"pi\":\"B\""), None);
        assert_eq!(next(Key::Time, ",\"pid\":1"), Some((Key::Process, 7)));
        assert_eq!(next(Key::Time, ",\"dur\": 1"), Some((Key::Duration, 8)));
        assert_eq!(next(Key::Time, ",\"dur\":1"), None);
        assert_eq!(next(Key::Time, ", \"a key that is long\": 1"), None);
        assert_eq!(next(Key::Phase, ",\"pid\":1"), None);
        assert_eq!(keys.next(Key::Time, b",\"pid\":1"), None, "too near the end to look");
    }

    #[test]
    fn the_oldest_way_is_forgotten() {
        let mut keys = Keys::default();
        for n in 0..=WAYS {
            keys.learn(Key::Name, format!(",\"{n}\":").as_bytes(), Key::Other);
        }
        let known = |n: usize| keys.next(Key::Name, format!(",\"{n}\":{:16}", "").as_bytes());
        assert_eq!(known(0), None);
        assert_eq!(known(1), Some((Key::Other, 5)));
        assert_eq!(known(WAYS), Some((Key::Other, 5)));
    }
}
