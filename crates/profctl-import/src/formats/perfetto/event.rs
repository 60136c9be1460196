//! The event of a track, as its packet spells it.

use super::wire::{Fields, Value};

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Begin,
    End,
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
        };
        let (mut kind, mut phase) = (0, 0);
        let mut fields = Fields::of(event);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (9, Value::Number(number)) => kind = number,
                (10, Value::Number(id)) => said.name_id = Some(id),
                (23, Value::Bytes(name)) => said.name = Some(name),
                (11, Value::Number(track)) => said.track = Some(track),
                (1, Value::Number(n)) => said.microseconds_later = Some(n as i64),
                (16, Value::Number(n)) => said.microseconds = Some(n as i64),
                (6, Value::Bytes(legacy)) => {
                    let (id, letter) = legacy_event(legacy);
                    said.name_id = said.name_id.or(id);
                    phase = letter;
                }
                _ => {}
            }
        }
        said.kind = match (kind, phase as u8) {
            (1, _) | (0, b'B') => Kind::Begin,
            (2, _) | (0, b'E') => Kind::End,
            (3, _) | (0, b'I' | b'i') => Kind::Instant,
            (4, _) | (0, b'C') => Kind::Counter,
            _ => Kind::Other,
        };
        (!fields.is_wrong()).then_some(said)
    }
}

/// The name and the phase of an event in the notation of Chrome's JSON.
fn legacy_event(legacy: &[u8]) -> (Option<u64>, u64) {
    let (mut id, mut phase) = (None, 0);
    for (number, value) in Fields::of(legacy) {
        match (number, value) {
            (1, Value::Number(number)) => id = Some(number),
            (2, Value::Number(number)) => phase = number,
            _ => {}
        }
    }
    (id, phase)
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
