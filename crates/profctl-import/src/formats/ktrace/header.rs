//! One record at a time: its header, and whether there is a record at all.

use super::dialect::{Dialect, Field, Record, Version};

/// The longest valid payload, bytes. Kernels cut what a program reads or writes into records of a
/// page; anything beyond this is garbage.
pub(super) const PAYLOAD_MAX: u64 = 1 << 20;

/// The bytes in which a command is kept, NULs after it.
pub(super) type Comm = [u8; 24];

/// A header as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) record: Record,
    /// Whether the kernel had to drop records before this one.
    pub(super) dropped: bool,
    /// The number of the record's type.
    pub(super) kind: u32,
    /// Bytes of the payload.
    pub(super) length: usize,
    pub(super) pid: u32,
    /// Nanoseconds since the epoch.
    pub(super) time: u64,
}

/// The largest valid time in seconds: the start of the year 2100.
const SECONDS_MAX: u64 = 4_102_444_800;
/// The start of 1985, before which there was no ktrace.
pub(super) const SECONDS_MIN: u64 = 473_385_600;

const DROPPED: u32 = 0x8000;
const VERSIONED: u32 = 0x4000;
const KIND_MAX: u32 = 31;
/// The type of the mark at the start of OpenBSD's traces, whatever the byte order.
const START: [u8; 4] = *b"KTR\0";

impl Dialect {
    /// The header at the start of `bytes`, or nothing if no record of this dialect begins there.
    /// `bytes` hold at least a header.
    #[inline]
    pub(super) fn header<const BIG: bool>(&self, bytes: &[u8]) -> Option<Header> {
        let layout = &self.layout;
        let bytes = bytes.get(..layout.size)?;
        let length = unsigned::<BIG>(bytes, layout.length);
        if length > PAYLOAD_MAX {
            return None;
        }
        let kind = unsigned::<BIG>(bytes, layout.kind) as u32;
        let is_start = layout.kind.width == 4 && bytes[..4] == START;
        let mut plain = kind;
        match self.version {
            Version::None if layout.kind.width == 4 => {}
            Version::Number(wanted) => {
                if layout.version.is_some_and(|at| unsigned::<BIG>(bytes, at) != wanted) {
                    return None;
                }
            }
            Version::None => {
                plain &= !DROPPED;
            }
            Version::Flagged => {
                let version = layout.version.map_or(0, |at| unsigned::<BIG>(bytes, at));
                if kind & VERSIONED == 0 || version == 0 {
                    return None;
                }
                plain &= !(DROPPED | VERSIONED);
            }
        }
        let fraction = unsigned::<BIG>(bytes, layout.fraction);
        let seconds = unsigned::<BIG>(bytes, layout.seconds);
        let (scale, end) = if self.nanos { (1, 1_000_000_000) } else { (1_000, 1_000_000) };
        if fraction >= end || seconds >= SECONDS_MAX {
            return None;
        }
        let time = seconds * 1_000_000_000 + fraction * scale;
        let pid = unsigned::<BIG>(bytes, layout.pid) as u32;
        let dropped = plain != kind && kind & DROPPED != 0;
        if is_start {
            let start = Header { record: Record::Start, dropped, kind, length: 0, pid: 0, time };
            return (length == 0).then_some(start);
        }
        if plain == 0 || plain > KIND_MAX || pid > i32::MAX as u32 {
            return None;
        }
        let comm = &bytes[layout.comm.at..layout.comm.at + layout.comm.width];
        if !is_command(comm) {
            return None;
        }
        let record = self.record(plain);
        Some(Header { record, dropped, kind: plain, length: length as usize, pid, time })
    }

    /// The command in a header.
    #[inline]
    pub(super) fn comm(&self, header: &[u8]) -> Comm {
        let mut comm = [0; 24];
        let Field { at, width } = self.layout.comm;
        comm[..width].copy_from_slice(&header[at..at + width]);
        comm
    }

    /// The number of the thread, sign and all, if this dialect has one.
    #[inline]
    pub(super) fn thread<const BIG: bool>(&self, header: &[u8]) -> Option<i64> {
        self.layout.thread.map(|at| signed::<BIG>(header, at))
    }

    /// The CPU, if this dialect has it.
    #[inline]
    pub(super) fn cpu<const BIG: bool>(&self, header: &[u8]) -> Option<u32> {
        let cpu = signed::<BIG>(header, self.layout.cpu?);
        u32::try_from(cpu).ok().filter(|cpu| *cpu < CPUS_MAX)
    }
}

/// More CPUs than any machine has; larger numbers are invalid.
const CPUS_MAX: u32 = 1 << 14;

/// Whether `field` holds a command: not empty, ended by a NUL, without control characters.
#[inline]
fn is_command(field: &[u8]) -> bool {
    for (at, &byte) in field.iter().enumerate() {
        match byte {
            0 => return at > 0,
            1..0x20 | 0x7f => return false,
            _ => {}
        }
    }
    false
}

/// The unsigned integer of one field.
#[inline]
pub(super) fn unsigned<const BIG: bool>(bytes: &[u8], Field { at, width }: Field) -> u64 {
    match width {
        2 => u64::from(u16::from_ne_bytes(array::<2, BIG>(bytes, at))),
        4 => u64::from(u32::from_ne_bytes(array::<4, BIG>(bytes, at))),
        _ => u64::from_ne_bytes(array::<8, BIG>(bytes, at)),
    }
}

#[inline]
fn signed<const BIG: bool>(bytes: &[u8], field: Field) -> i64 {
    let value = unsigned::<BIG>(bytes, field);
    match field.width {
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value as i64,
    }
}

/// The bytes at `at` in the order of this machine.
#[inline]
fn array<const N: usize, const BIG: bool>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array: [u8; N] = bytes[at..at + N].try_into().expect("N bytes");
    if BIG != cfg!(target_endian = "big") {
        array.reverse();
    }
    array
}
