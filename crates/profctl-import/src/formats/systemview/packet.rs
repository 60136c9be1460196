//! Packets: an id, parameters, and what passed since the packet before.

use crate::formats::Input;

/// Something was lost: how many packets.
pub(super) const OVERFLOW: u32 = 1;
/// An interrupt was entered: its number.
pub(super) const ISR_ENTER: u32 = 2;
/// It was left.
pub(super) const ISR_EXIT: u32 = 3;
/// A task runs: its id.
pub(super) const TASK_START_EXEC: u32 = 4;
/// The running task ended.
pub(super) const TASK_STOP_EXEC: u32 = 5;
/// A task can run: its id.
pub(super) const TASK_START_READY: u32 = 6;
/// A task waits: its id and for what.
pub(super) const TASK_STOP_READY: u32 = 7;
/// A task: its id, its priority, its name.
pub(super) const TASK_INFO: u32 = 9;
/// Recording began.
pub(super) const TRACE_START: u32 = 10;
/// A description of the system: a string.
pub(super) const SYSTEM: u32 = 14;
/// A user's marker began: its number.
pub(super) const MARK_START: u32 = 15;
/// It ended.
pub(super) const MARK_STOP: u32 = 16;
/// Nothing runs.
pub(super) const IDLE: u32 = 17;
/// An interrupt was left for the scheduler.
pub(super) const ISR_TO_SCHEDULER: u32 = 18;
/// A timer's function was entered: the timer's id.
pub(super) const TIMER_ENTER: u32 = 19;
/// It was left.
pub(super) const TIMER_EXIT: u32 = 20;
/// What a module calls its events: its number, the first of its ids, a string.
pub(super) const MODULE: u32 = 22;
/// The clocks: of timestamps, of the processor, and how ids are shortened.
pub(super) const INIT: u32 = 24;
/// The name of a timer, a queue or the like: its id, a string.
pub(super) const RESOURCE: u32 = 25;
/// An API call ended: the id of the event that began it.
pub(super) const END_CALL: u32 = 28;
/// One of several newer events: which, and its parameters.
pub(super) const EXTENDED: u32 = 31;
/// The one of those that names a user's marker: its number, a string.
pub(super) const NAME_OF_MARKER: u32 = 1;
/// From here on ids are those of API calls.
pub(super) const FIRST_OF_API: u32 = 32;

/// From here on a length is after the id.
const FIRST_WITH_LENGTH: u32 = 24;
/// No packet is longer, bytes: two strings and a few numbers.
const PACKET_MAX: usize = 1 << 18;
/// Zero bytes that synchronize.
pub(super) const SYNC: &[u8] = &[0; 10];
/// The line of the head that says that ids carry the number of a core.
const CORES: &[u8] = b"; ESP_Extension";

/// What is next in a recording.
pub(super) enum Packet<'a> {
    /// Nothing; so is every two bytes of a synchronization.
    Nop,
    Said(Said<'a>),
    /// Bytes that are no packet; what follows the next synchronization may be one.
    Nonsense,
    /// The recording ends within a packet.
    Cut,
}

/// A packet that says something.
pub(super) struct Said<'a> {
    pub(super) id: u32,
    pub(super) core: u32,
    /// The time after the first packet, in ticks.
    pub(super) time: u64,
    pub(super) numbers: Numbers<'a>,
}

/// Parameters.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// The next number: seven bits per byte, the least significant first. Nothing at the end.
    pub(super) fn number(&mut self) -> Option<u32> {
        let (value, length) = number(self.rest).ok()?;
        self.rest = &self.rest[length..];
        Some(value)
    }

    /// The next string.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let (text, length) = string(self.rest).ok()?;
        self.rest = &self.rest[length..];
        Some(text)
    }
}

/// Why a packet cannot be read.
enum Wrong {
    /// It goes on after the end.
    Cut,
    /// It is invalid.
    Nonsense,
}

fn number(bytes: &[u8]) -> Result<(u32, usize), Wrong> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return u32::try_from(value).map(|value| (value, at + 1)).map_err(|_| Wrong::Nonsense);
        }
    }
    Err(if bytes.len() < 5 { Wrong::Cut } else { Wrong::Nonsense })
}

/// A length in a byte, or in two after 255, and the text.
fn string(bytes: &[u8]) -> Result<(&[u8], usize), Wrong> {
    let (start, length) = match bytes {
        [0xff, low, high, ..] => (3, usize::from(*low) | usize::from(*high) << 8),
        [0xff, ..] | [] => return Err(Wrong::Cut),
        [length, ..] => (1, usize::from(*length)),
    };
    let text = bytes.get(start..start + length).ok_or(Wrong::Cut)?;
    Ok((text, start + length))
}

/// Where the zeros begin that synchronize: after the lines of the head, if it has any.
pub(super) fn start(recording: &[u8]) -> Option<usize> {
    let mut at = 0;
    while recording.get(at) == Some(&b';') {
        at += memchr::memchr(b'\n', &recording[at..])? + 1;
    }
    recording[at..].starts_with(SYNC).then_some(at)
}

/// Whether ids carry the number of a core.
pub(super) fn has_cores(recording: &[u8]) -> bool {
    let head = &recording[..start(recording).unwrap_or(0)];
    memchr::memmem::find(head, CORES).is_some()
}

/// Tells the packets of a recording apart.
pub(super) struct Packets {
    time: u64,
    has_cores: bool,
}

impl Packets {
    /// Goes to the first packet after the head of a recording, which is `head` or begins with it.
    pub(super) fn new(head: &[u8], input: &mut Input<'_>) -> Self {
        let start = start(head).unwrap_or(0);
        input.fill(start);
        input.consume(start);
        Self { time: 0, has_cores: has_cores(head) }
    }

    /// What comes next, and how many bytes it takes; nothing at the end.
    pub(super) fn next<'i>(&mut self, input: &'i mut Input<'_>) -> Option<(Packet<'i>, usize)> {
        let rest = input.fill(PACKET_MAX);
        if rest.is_empty() {
            return None;
        }
        Some(match self.packet(rest) {
            Ok(packet) => packet,
            Err(Wrong::Cut) if rest.len() < PACKET_MAX => (Packet::Cut, rest.len()),
            Err(Wrong::Cut | Wrong::Nonsense) => (Packet::Nonsense, 1),
        })
    }

    fn packet<'i>(&mut self, rest: &'i [u8]) -> Result<(Packet<'i>, usize), Wrong> {
        let (id, core, mut length) = self.id(rest)?;
        let parameters = if id >= FIRST_WITH_LENGTH {
            let (n, more) = number(&rest[length..])?;
            length += more;
            n as usize
        } else {
            fixed(id, &rest[length..])?
        };
        let end = length.checked_add(parameters).ok_or(Wrong::Nonsense)?;
        let numbers = Numbers { rest: rest.get(length..end).ok_or(Wrong::Cut)? };
        let (delta, more) = number(&rest[end..])?;
        self.time = self.time.saturating_add(delta.into());
        let packet = match id {
            0 => Packet::Nop,
            id => Packet::Said(Said { id, core, time: self.time, numbers }),
        };
        Ok((packet, end + more))
    }

    /// Id, core and how many bytes they take.
    fn id(&self, rest: &[u8]) -> Result<(u32, u32, usize), Wrong> {
        if !self.has_cores {
            return number(rest).map(|(id, length)| (id, 0, length));
        }
        // The core is the highest bit but one of the byte that ends the id.
        let (low, high, length) = match rest {
            [byte, ..] if byte & 0x80 == 0 => (0, *byte, 1),
            [low, high, ..] => (u32::from(low & 0x7f), *high, 2),
            [_] | [] => return Err(Wrong::Cut),
        };
        let shift = 7 * (length - 1) as u32;
        Ok((u32::from(high & 0x3f) << shift | low, u32::from(high >> 6 & 1), length))
    }
}

/// How many bytes the parameters of an id take that has no length.
fn fixed(id: u32, rest: &[u8]) -> Result<usize, Wrong> {
    let (n_numbers, has_string) = match id {
        0 | ISR_EXIT | TASK_STOP_EXEC | TRACE_START | 11 | IDLE | ISR_TO_SCHEDULER | TIMER_EXIT => {
            (0, false)
        }
        OVERFLOW | ISR_ENTER | TASK_START_EXEC | TASK_START_READY | 8 | 12 | MARK_START
        | MARK_STOP | TIMER_ENTER => (1, false),
        TASK_STOP_READY | 13 | 23 => (2, false),
        21 => (4, false),
        SYSTEM => (0, true),
        TASK_INFO | MODULE => (2, true),
        _ => return Err(Wrong::Nonsense),
    };
    let mut length = 0;
    for _ in 0..n_numbers {
        length += number(&rest[length..])?.1;
    }
    if has_string {
        length += string(&rest[length..])?.1;
    }
    Ok(length)
}
