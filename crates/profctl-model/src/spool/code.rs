//! A block of calls as bytes, about twenty a call: numbers of seven bits per byte, differences
//! where neighbors are alike, and nothing where a value follows from the others.

use std::io;

use super::{SpanRow, damaged};
use crate::id::{CpuId, FuncId, ThreadId};
use crate::span::{Fidelity, Late, Span};
use crate::time::{Tick, Ticks};

/// What of a call is written, and the yes-or-no of it: bits of the first number.
mod bit {
    pub(super) const START_INFERRED: u64 = 1;
    pub(super) const END_INFERRED: u64 = 1 << 1;
    pub(super) const AT_GAP: u64 = 1 << 2;
    pub(super) const OUTERMOST: u64 = 1 << 3;
    pub(super) const OFF_CPU: u64 = 1 << 4;
    pub(super) const STOLEN: u64 = 1 << 5;
    /// Of another length than from entry to exit.
    pub(super) const WALL: u64 = 1 << 6;
    /// Not all of the elapsed time.
    pub(super) const NET: u64 = 1 << 7;
    pub(super) const CALLEES: u64 = 1 << 8;
    pub(super) const PARENT: u64 = 1 << 9;
    pub(super) const INTERRUPT: u64 = 1 << 10;
    pub(super) const LATE: u64 = 1 << 11;
}

/// What a call is identified by its difference from.
#[derive(Default)]
struct Previous {
    end: u64,
    id: u64,
}

pub(super) fn pack(rows: &[SpanRow]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.len() * 24);
    let mut previous = Previous::default();
    put(&mut bytes, rows.len() as u64);
    for row in rows {
        pack_row(row, &mut previous, &mut bytes);
    }
    bytes
}

fn pack_row(row: &SpanRow, previous: &mut Previous, bytes: &mut Vec<u8>) {
    let span = &row.span;
    let length = span.end - span.start;
    let flags = [
        (span.fidelity.start_inferred, bit::START_INFERRED),
        (span.fidelity.end_inferred, bit::END_INFERRED),
        (span.fidelity.at_gap, bit::AT_GAP),
        (span.outermost, bit::OUTERMOST),
        (span.interrupt, bit::INTERRUPT),
        (span.off_cpu.0 > 0, bit::OFF_CPU),
        (span.stolen.0 > 0, bit::STOLEN),
        (span.wall != length, bit::WALL),
        (span.net != span.elapsed(), bit::NET),
        (span.callees > 0 || span.descendants > 0, bit::CALLEES),
        (row.parent.is_some(), bit::PARENT),
        (span.late != Late::NONE, bit::LATE),
    ];
    let flags = flags.iter().filter(|(set, _)| *set).fold(0, |flags, (_, bit)| flags | bit);
    put(bytes, flags);
    put(bytes, span.func.index() as u64);
    put(bytes, span.thread.index() as u64);
    put(bytes, span.cpu.map_or(0, |cpu| cpu.index() as u64 + 1));
    put_change(bytes, previous.end, span.end.0);
    put(bytes, length.0);
    put_change(bytes, previous.id, row.id);
    put(bytes, u64::from(row.depth));
    for (wanted, value) in [
        (bit::OFF_CPU, span.off_cpu.0),
        (bit::STOLEN, span.stolen.0),
        (bit::WALL, span.wall.0),
        (bit::NET, span.net.0),
        (bit::CALLEES, u64::from(span.callees)),
        (bit::CALLEES, span.descendants),
        (bit::PARENT, row.parent.unwrap_or(0)),
        (bit::LATE, u64::from(span.late.roots)),
        (bit::LATE, span.late.calls),
    ] {
        if flags & wanted != 0 {
            put(bytes, value);
        }
    }
    *previous = Previous { end: span.end.0, id: row.id };
}

/// Fails on what [`pack`] did not write: the disk gave back other bytes than it was given.
pub(super) fn unpack(bytes: &[u8]) -> io::Result<Vec<SpanRow>> {
    let mut rest = bytes;
    let count = take(&mut rest).and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| count <= bytes.len()).ok_or_else(damaged)?;
    let mut rows = Vec::with_capacity(count);
    let mut previous = Previous::default();
    for _ in 0..count {
        rows.push(unpack_row(&mut rest, &mut previous).ok_or_else(damaged)?);
    }
    Ok(rows)
}

fn unpack_row(rest: &mut &[u8], previous: &mut Previous) -> Option<SpanRow> {
    let flags = take(rest)?;
    let has = |wanted: u64| flags & wanted != 0;
    let index = |value: u64| u32::try_from(value).ok().filter(|&index| index < u32::MAX);
    let func = index(take(rest)?)?;
    let thread = index(take(rest)?)?;
    let cpu = take(rest)?;
    let end = take_change(rest, previous.end)?;
    let length = take(rest)?;
    let id = take_change(rest, previous.id)?;
    let depth = u32::try_from(take(rest)?).ok()?;
    let mut optional = |wanted: u64| if has(wanted) { take(rest).map(Some) } else { Some(None) };
    let off_cpu = Ticks(optional(bit::OFF_CPU)?.unwrap_or(0));
    let stolen = Ticks(optional(bit::STOLEN)?.unwrap_or(0));
    let wall = Ticks(optional(bit::WALL)?.unwrap_or(length));
    let net = optional(bit::NET)?.map_or(wall - off_cpu, Ticks);
    let callees = u32::try_from(optional(bit::CALLEES)?.unwrap_or(0)).ok()?;
    let descendants = optional(bit::CALLEES)?.unwrap_or(0);
    let parent = optional(bit::PARENT)?;
    let roots = u32::try_from(optional(bit::LATE)?.unwrap_or(0)).ok()?;
    let late = Late { roots, calls: optional(bit::LATE)?.unwrap_or(0) };
    *previous = Previous { end, id };
    let span = Span {
        func: FuncId::from_index(func as usize),
        thread: ThreadId::from_index(thread as usize),
        cpu: match cpu.checked_sub(1) {
            Some(cpu) => Some(CpuId::from_index(index(cpu)? as usize)),
            None => None,
        },
        start: Tick(end.checked_sub(length)?),
        end: Tick(end),
        wall,
        off_cpu,
        net,
        stolen,
        callees,
        descendants,
        late,
        outermost: has(bit::OUTERMOST),
        interrupt: has(bit::INTERRUPT),
        fidelity: Fidelity {
            start_inferred: has(bit::START_INFERRED),
            end_inferred: has(bit::END_INFERRED),
            at_gap: has(bit::AT_GAP),
        },
    };
    Some(SpanRow { id, parent, depth, span })
}

/// Seven bits per byte, the lowest first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A step up or down: the sign in the lowest bit, so that small steps either way are short.
fn put_change(bytes: &mut Vec<u8>, from: u64, to: u64) {
    let change = to.wrapping_sub(from) as i64;
    put(bytes, ((change << 1) ^ (change >> 63)) as u64);
}

fn take_change(rest: &mut &[u8], from: u64) -> Option<u64> {
    let coded = take(rest)?;
    let change = (coded >> 1) ^ 0_u64.wrapping_sub(coded & 1);
    Some(from.wrapping_add(change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back() {
        let extremes = [0, 1, 127, 128, u64::from(u32::MAX), 1 << 63, u64::MAX];
        let mut rows = Vec::new();
        for (n, &value) in extremes.iter().enumerate() {
            for (m, &other) in extremes.iter().enumerate() {
                let end = value.max(other);
                rows.push(SpanRow {
                    id: other,
                    parent: (n % 2 == 0).then_some(value),
                    depth: value as u32,
                    span: Span {
                        func: FuncId::from_index(n * 1000),
                        thread: ThreadId::from_index(m),
                        cpu: (m > 2).then(|| CpuId::from_index(m)),
                        start: Tick(value.min(other)),
                        end: Tick(end),
                        wall: Ticks(if m == 3 { end } else { end - value.min(other) }),
                        off_cpu: Ticks(if n == 4 { end / 2 } else { 0 }),
                        net: Ticks(other),
                        stolen: Ticks(value),
                        callees: other as u32,
                        descendants: value,
                        late: Late {
                            roots: (m == 2).into(),
                            calls: if m == 2 { value } else { 0 },
                        },
                        outermost: n > m,
                        interrupt: n < m,
                        fidelity: Fidelity {
                            start_inferred: n == 1,
                            end_inferred: m == 1,
                            at_gap: n == m,
                        },
                    },
                });
            }
        }
        assert_eq!(unpack(&pack(&rows)).unwrap(), rows);
        assert_eq!(unpack(&pack(&[])).unwrap(), []);
    }

    #[test]
    fn damage_is_an_error() {
        let span = Span {
            func: FuncId::from_index(300),
            thread: ThreadId::from_index(0),
            cpu: None,
            start: Tick(5),
            end: Tick(9),
            wall: Ticks(4),
            off_cpu: Ticks(0),
            net: Ticks(4),
            stolen: Ticks(0),
            callees: 0,
            descendants: 0,
            late: Late::NONE,
            outermost: true,
            interrupt: false,
            fidelity: Fidelity::EXACT,
        };
        let whole = pack(&[SpanRow { id: 7, parent: None, depth: 0, span }]);
        for cut in 0..whole.len() {
            assert!(unpack(&whole[..cut]).is_err(), "cut after {cut}");
        }
        assert!(unpack(&[0xff; 40]).is_err());
    }
}
