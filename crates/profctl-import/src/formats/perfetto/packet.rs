//! Packets: where each is in the file, and what it holds.
//!
//! A trace is nothing but packets, each after the byte `0x0a` and its length.

use super::wire::{Fields, VARINT_MAX, Value, Wrong, varint};
use crate::blocks::RECORD_MAX;

/// The first byte of every packet: field 1, which has a length.
pub(super) const TAG: u8 = 0x0a;
/// The most bytes that a packet may have: more than fit a block are no packet.
const LENGTH_MAX: u64 = RECORD_MAX as u64 / 2;

/// What is at a place in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item<'a> {
    /// A packet, without tag and length.
    Packet(&'a [u8]),
    /// A byte that begins no packet.
    Stray,
    /// A packet that goes on after the end.
    Cut,
}

/// What is at the beginning of `bytes`, which are some, and how many bytes it takes.
pub(super) fn item(bytes: &[u8]) -> (Item<'_>, usize) {
    if bytes[0] != TAG {
        return (Item::Stray, 1);
    }
    match varint(&bytes[1..]) {
        Ok((size, _)) if size > LENGTH_MAX => (Item::Stray, 1),
        Ok((size, length)) => {
            let (start, end) = (1 + length, 1 + length + size as usize);
            match bytes.get(start..end) {
                Some(packet) => (Item::Packet(packet), end),
                None => (Item::Cut, bytes.len()),
            }
        }
        Err(Wrong::Nonsense) => (Item::Stray, 1),
        Err(Wrong::Cut) => (Item::Cut, bytes.len()),
    }
}

/// Where the last item ends that is whole, and before which all bytes stand that show what the items
/// are: a tag is a stray byte because of the length behind it.
pub(super) fn boundary(bytes: &[u8]) -> usize {
    let (mut at, mut shown, mut boundary) = (0, 0, 0);
    while at < bytes.len() {
        let (item, length) = item(&bytes[at..]);
        match item {
            Item::Cut => break,
            Item::Stray if bytes[at] == TAG => shown = at + 1 + VARINT_MAX,
            Item::Packet(_) | Item::Stray => {}
        }
        at += length;
        if at >= shown {
            boundary = at;
        }
    }
    boundary
}

/// A packet's fields, as far as they matter here.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Packet<'a> {
    pub(super) timestamp: Option<u64>,
    pub(super) clock: Option<u32>,
    pub(super) sequence: u32,
    pub(super) state_cleared: bool,
    pub(super) needs_state: bool,
    /// Whether packets before it on its sequence were lost.
    pub(super) after_loss: bool,
    pub(super) defaults: Option<&'a [u8]>,
    pub(super) interned: Option<&'a [u8]>,
    pub(super) payload: Payload<'a>,
}

/// What a packet is about; one thing at most.
#[derive(Clone, Copy, Default, Debug)]
pub(super) enum Payload<'a> {
    /// Nothing, or something that only says how the trace was made.
    #[default]
    None,
    Event(&'a [u8]),
    Track(&'a [u8]),
    /// A thread that the events of the sequence belong to, in the older way.
    Thread(&'a [u8]),
    Clocks(&'a [u8]),
    Ftrace(&'a [u8]),
    Deflated(&'a [u8]),
    Zstd(&'a [u8]),
    /// Which processes and threads there are.
    Processes(&'a [u8]),
    /// What the machine is.
    System(&'a [u8]),
    /// What was to be recorded.
    Config(&'a [u8]),
    /// Samples, counters, statistics.
    Other,
}

/// Fields of a packet that say how the trace was made, or where it may be cut.
const ABOUT_THE_TRACE: [u32; 9] = [34, 35, 36, 43, 51, 69, 78, 89, 124];
/// Fields of a packet that hold no message.
const NUMBERS: [u32; 10] = [3, 8, 10, 13, 41, 42, 58, 79, 87, 98];

impl<'a> Packet<'a> {
    /// Reads a packet; nothing if it is invalid.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut packet = Self::default();
        let mut fields = Fields::of(bytes);
        for (number, value) in fields.by_ref() {
            match value {
                Value::Bytes(bytes) => packet.message(number, bytes)?,
                Value::Number(value) => packet.number(number, value)?,
                Value::Fixed(_) if NUMBERS.contains(&number) => return None,
                Value::Fixed(_) => {}
            }
        }
        (!fields.is_wrong()).then_some(packet)
    }

    fn number(&mut self, number: u32, value: u64) -> Option<()> {
        match number {
            8 => self.timestamp = Some(value),
            58 => self.clock = Some(u32::try_from(value).ok()?),
            10 => self.sequence = u32::try_from(value).ok()?,
            13 => {
                self.state_cleared |= value & 1 != 0;
                self.needs_state |= value & 2 != 0;
            }
            41 => self.state_cleared |= value != 0,
            42 => self.after_loss = value != 0,
            1 | 2 | 4 | 5 | 6 | 7 | 9 | 11 | 12 | 36 | 44 | 50 | 59 | 60 | 133 => return None,
            _ => {}
        }
        Some(())
    }

    fn message(&mut self, number: u32, bytes: &'a [u8]) -> Option<()> {
        self.payload = match number {
            12 => {
                self.interned = Some(bytes);
                return Some(());
            }
            59 => {
                self.defaults = Some(bytes);
                return Some(());
            }
            11 => Payload::Event(bytes),
            60 => Payload::Track(bytes),
            44 => Payload::Thread(bytes),
            6 => Payload::Clocks(bytes),
            1 => Payload::Ftrace(bytes),
            2 => Payload::Processes(bytes),
            45 => Payload::System(bytes),
            33 => Payload::Config(bytes),
            50 => Payload::Deflated(bytes),
            133 => Payload::Zstd(bytes),
            _ if NUMBERS.contains(&number) => return None,
            _ if ABOUT_THE_TRACE.contains(&number) => return Some(()),
            _ => Payload::Other,
        };
        Some(())
    }

    /// Whether it holds anything that a trace of Perfetto would.
    pub(super) fn is_known(&self) -> bool {
        self.timestamp.is_some()
            || self.sequence != 0
            || !matches!(self.payload, Payload::None | Payload::Config(_) | Payload::Other)
    }
}

/// The packets in the bytes of a compressed one.
pub(super) fn packets(mut bytes: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let (item, length) = item(bytes);
        match item {
            Item::Packet(packet) => {
                bytes = &bytes[length..];
                Some(Some(packet))
            }
            Item::Stray | Item::Cut => {
                bytes = &[];
                Some(None)
            }
        }
    })
}
