//! The event of a track, as its packet spells it.

use super::wire::{Fields, Value};

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Begin,
    End,
    /// As long as it states.
    Complete,
    Instant,
    Counter,
    Other,
}

/// What an event says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    pub(super) kind: Kind,
    pub(super) name: Option<&'a [u8]>,
    pub(super) name_id: Option<u64>,
    pub(super) track: Option<u64>,
    /// The time in the older way: as such, or since the event before.
    pub(super) microseconds: Option<i64>,
    pub(super) microseconds_later: Option<i64>,
    /// How long a complete event lasted, in nanoseconds.
    pub(super) length: u64,
}

impl<'a> Said<'a> {
    /// Reads an event; nothing if it is invalid.
    pub(super) fn read(event: &'a [u8]) -> Option<Self> {
        let mut said = Self {
            kind: Kind::Other,
            name: None,
            name_id: None,
            track: None,
            microseconds: None,
            microseconds_later: None,
            length: 0,
        };
        let (mut kind, mut legacy) = (0, Legacy::default());
        let mut fields = Fields::of(event);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (9, Value::Number(number)) => kind = number,
                (10, Value::Number(id)) => said.name_id = Some(id),
                (23, Value::Bytes(name)) => said.name = Some(name),
                (11, Value::Number(track)) => said.track = Some(track),
                (1, Value::Number(n)) => said.microseconds_later = Some(n as i64),
                (16, Value::Number(n)) => said.microseconds = Some(n as i64),
                (6, Value::Bytes(bytes)) => legacy = Legacy::of(bytes),
                _ => {}
            }
        }
        said.name_id = said.name_id.or(legacy.name_id);
        said.length = legacy.microseconds.unwrap_or(0).saturating_mul(1000);
        said.kind = match (legacy.phase, kind) {
            (b'B', _) | (0, 1) => Kind::Begin,
            (b'E', _) | (0, 2) => Kind::End,
            (b'X', _) if legacy.microseconds.is_some() => Kind::Complete,
            (b'I' | b'i', _) | (0, 3) => Kind::Instant,
            (b'C', _) | (0, 4) => Kind::Counter,
            _ => Kind::Other,
        };
        (!fields.is_wrong()).then_some(said)
    }
}

/// An event in the notation of Chrome's JSON.
#[derive(Clone, Copy, Debug, Default)]
struct Legacy {
    name_id: Option<u64>,
    /// Its letter; 0 if its kind says what it is.
    phase: u8,
    microseconds: Option<u64>,
}

impl Legacy {
    fn of(bytes: &[u8]) -> Self {
        let mut legacy = Self::default();
        for (number, value) in Fields::of(bytes) {
            match (number, value) {
                (1, Value::Number(number)) => legacy.name_id = Some(number),
                (2, Value::Number(number)) => {
                    legacy.phase = u8::try_from(number).unwrap_or(u8::MAX);
                }
                (3, Value::Number(number)) => legacy.microseconds = Some(number),
                _ => {}
            }
        }
        legacy
    }
}

/// The track and the clock that a packet sets for those after it on its sequence.
pub(super) fn defaults(defaults: &[u8]) -> (Option<u64>, Option<u32>) {
    let (mut track, mut clock) = (None, None);
    for (number, value) in Fields::of(defaults) {
        match (number, value) {
            (58, Value::Number(id)) => clock = u32::try_from(id).ok(),
            (11, Value::Bytes(of_events)) => {
                let field = Fields::of(of_events).find(|(number, _)| *number == 11);
                track = field.and_then(|(_, value)| value.number()).or(track);
            }
            _ => {}
        }
    }
    (track, clock)
}

/// The time in microseconds that a descriptor of a thread counts from.
pub(super) fn reference(descriptor: &[u8]) -> i64 {
    let field = Fields::of(descriptor).find(|(number, _)| *number == 6);
    field.and_then(|(_, value)| value.number()).unwrap_or_default() as i64
}
