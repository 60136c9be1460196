//! A block of calls as bytes, about twenty a call: differences where values are alike, each number
//! without its leading zero bytes.
//!
//! A call begins with a word whose low bits are yes or no, and whose upper ones say how many bytes each
//! number takes, four bits a number. So reading and writing takes no branch that depends on a value.
//! What few calls have follows behind a word of its own.

use std::io;

use super::{SpanRow, damaged};
use crate::id::{CpuId, FuncId, ThreadId};
use crate::span::{Fidelity, Late, Span};
use crate::time::{Tick, Ticks};

/// The yes-or-no of a call.
mod bit {
    pub(super) const START_INFERRED: u64 = 1;
    pub(super) const END_INFERRED: u64 = 1 << 1;
    pub(super) const AT_GAP: u64 = 1 << 2;
    pub(super) const OUTERMOST: u64 = 1 << 3;
    pub(super) const INTERRUPT: u64 = 1 << 4;
    pub(super) const PARENT: u64 = 1 << 5;
    /// Whether any of [`super::RARE`] is not zero.
    pub(super) const RARE: u64 = 1 << 6;
    pub(super) const COUNT: usize = 8;
}

/// Numbers of every call, and those that follow in few of them.
const USUAL: usize = 11;
const RARE: usize = 5;
/// Bytes of the word before the numbers of each kind.
const WORD: usize = 8;
/// Bytes of the number of calls, before them; and bytes behind them, because every number is written
/// and read as eight bytes, of which the next one takes those that it does not need.
const HEAD: usize = 8;
const TAIL: usize = 8;
/// Bytes of the largest call.
const LARGEST: usize = 2 * WORD + 8 * (USUAL + RARE);

/// What a call is written as a difference from: the call before it.
#[derive(Default)]
struct Previous {
    end: u64,
    id: u64,
}

/// The bytes of calls, at the beginning of a buffer that is used again.
pub(super) fn pack<'a>(rows: &[SpanRow], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let most = HEAD + rows.len() * LARGEST + TAIL;
    if buffer.len() < most {
        buffer.resize(most, 0);
    }
    put(buffer, 0, rows.len() as u64);
    let mut at = HEAD;
    let mut previous = Previous::default();
    for row in rows {
        at = pack_row(row, &mut previous, buffer, at);
    }
    put(buffer, at, 0);
    &buffer[..at + TAIL]
}

/// Writes a call to where it begins, and says where it ends.
#[inline]
fn pack_row(row: &SpanRow, previous: &mut Previous, bytes: &mut [u8], at: usize) -> usize {
    let SpanRow { id, parent, depth, span } = row;
    let length = (span.end - span.start).0;
    let rare = [
        span.off_cpu.0,
        span.stolen.0,
        span.wall.0.wrapping_sub(length),
        u64::from(span.late.roots),
        span.late.calls,
    ];
    let has_rare = rare.iter().fold(0, |any, number| any | number) != 0;
    let flags = [
        (span.fidelity.start_inferred, bit::START_INFERRED),
        (span.fidelity.end_inferred, bit::END_INFERRED),
        (span.fidelity.at_gap, bit::AT_GAP),
        (span.outermost, bit::OUTERMOST),
        (span.interrupt, bit::INTERRUPT),
        (parent.is_some(), bit::PARENT),
        (has_rare, bit::RARE),
    ];
    let flags = flags.iter().fold(0, |flags, &(is, bit)| flags | if is { bit } else { 0 });
    let usual = [
        span.func.index() as u64,
        span.thread.index() as u64,
        span.cpu.map_or(0, |cpu| cpu.index() as u64 + 1),
        change(previous.end, span.end.0),
        length,
        change(previous.id, *id),
        u64::from(*depth),
        span.elapsed().0.wrapping_sub(span.net.0),
        u64::from(span.callees),
        span.descendants,
        parent.map_or(0, |parent| id.wrapping_sub(parent)),
    ];
    *previous = Previous { end: span.end.0, id: *id };
    let at = pack_numbers(usual, (flags, bit::COUNT), bytes, at);
    if has_rare { pack_numbers(rare, (0, 0), bytes, at) } else { at }
}

/// Writes numbers behind a word, of which the lowest bits are given.
#[inline]
fn pack_numbers<const N: usize>(
    numbers: [u64; N],
    (low, low_bits): (u64, usize),
    bytes: &mut [u8],
    at: usize,
) -> usize {
    let mut word = low;
    let mut end = at + WORD;
    for (n, number) in numbers.into_iter().enumerate() {
        let width = 8 - number.leading_zeros() as usize / 8;
        word |= (width as u64) << (low_bits + 4 * n);
        put(bytes, end, number);
        end += width;
    }
    put(bytes, at, word);
    end
}

/// Writes a number into a buffer that [`pack`] made large enough.
#[inline]
fn put(bytes: &mut [u8], at: usize, number: u64) {
    debug_assert!(at + 8 <= bytes.len());
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = number.to_le_bytes();
    }
}

/// Reads calls into `rows`, whatever was there before. Fails on what [`pack`] did not write: the disk
/// gave back other bytes than it was given.
pub(super) fn unpack(bytes: &[u8], rows: &mut Vec<SpanRow>) -> io::Result<()> {
    rows.clear();
    let mut input = Input { at: HEAD, end: bytes.len().checked_sub(TAIL).ok_or_else(damaged)? };
    let count = take(bytes, 0).and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| count <= bytes.len() / WORD).ok_or_else(damaged)?;
    rows.reserve(count);
    let mut previous = Previous::default();
    for _ in 0..count {
        rows.push(input.row(bytes, &mut previous).ok_or_else(damaged)?);
    }
    if input.at == input.end { Ok(()) } else { Err(damaged()) }
}

/// Where in the bytes of a block the next number is, and where the last one ends.
struct Input {
    at: usize,
    end: usize,
}

impl Input {
    #[inline]
    fn row(&mut self, bytes: &[u8], previous: &mut Previous) -> Option<SpanRow> {
        let (flags, usual) = self.numbers::<USUAL>(bytes, bit::COUNT)?;
        let [func, thread, cpu, end, length, id, depth, below, callees, descendants, above] = usual;
        let has = |wanted: u64| flags & wanted != 0;
        let rare = if has(bit::RARE) { self.numbers(bytes, 0)?.1 } else { [0; RARE] };
        let [off_cpu, stolen, longer, roots, late_calls] = rare;
        let index = |value: u64| u32::try_from(value).ok().filter(|&index| index < u32::MAX);
        let (end, id) = (changed(previous.end, end), changed(previous.id, id));
        *previous = Previous { end, id };
        let wall = Ticks(length.wrapping_add(longer));
        let off_cpu = Ticks(off_cpu);
        let span = Span {
            func: FuncId::from_index(index(func)? as usize),
            thread: ThreadId::from_index(index(thread)? as usize),
            cpu: match cpu.checked_sub(1) {
                Some(cpu) => Some(CpuId::from_index(index(cpu)? as usize)),
                None => None,
            },
            start: Tick(end.checked_sub(length)?),
            end: Tick(end),
            wall,
            off_cpu,
            net: Ticks((wall - off_cpu).0.wrapping_sub(below)),
            stolen: Ticks(stolen),
            callees: u32::try_from(callees).ok()?,
            descendants,
            late: Late { roots: u32::try_from(roots).ok()?, calls: late_calls },
            outermost: has(bit::OUTERMOST),
            interrupt: has(bit::INTERRUPT),
            fidelity: Fidelity {
                start_inferred: has(bit::START_INFERRED),
                end_inferred: has(bit::END_INFERRED),
                at_gap: has(bit::AT_GAP),
            },
        };
        let parent = has(bit::PARENT).then(|| id.wrapping_sub(above));
        Some(SpanRow { id, parent, depth: u32::try_from(depth).ok()?, span })
    }

    /// What [`pack_numbers`] wrote: the lowest bits, and the numbers.
    #[inline]
    fn numbers<const N: usize>(
        &mut self,
        bytes: &[u8],
        low_bits: usize,
    ) -> Option<(u64, [u64; N])> {
        let word = take(bytes, self.at)?;
        self.at += WORD;
        let mut widths = word >> low_bits;
        let mut numbers = [0; N];
        for number in &mut numbers {
            let width = (widths & 0xf) as usize;
            widths >>= 4;
            let mask = *MASKS.get(width)?;
            *number = take(bytes, self.at)? & mask;
            self.at += width;
        }
        (self.at <= self.end).then_some((word & ((1 << low_bits) - 1), numbers))
    }
}

/// The bits of a number of so many bytes.
const MASKS: [u64; 9] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, (1 << 40) - 1, (1 << 48) - 1, (1 << 56) - 1, !0];

#[inline]
fn take(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// A step up or down: the sign in the lowest bit, so that small steps either way are short.
#[inline]
fn change(from: u64, to: u64) -> u64 {
    let change = to.wrapping_sub(from) as i64;
    ((change << 1) ^ (change >> 63)) as u64
}

#[inline]
fn changed(from: u64, change: u64) -> u64 {
    from.wrapping_add((change >> 1) ^ 0_u64.wrapping_sub(change & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(rows: &[SpanRow]) -> Vec<u8> {
        pack(rows, &mut vec![0xff; 50]).to_vec()
    }

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<SpanRow>> {
        let mut rows = Vec::new();
        unpack(bytes, &mut rows).map(|()| rows)
    }

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
        assert_eq!(unpacked(&packed(&rows)).unwrap(), rows);
        assert_eq!(unpacked(&packed(&[])).unwrap(), []);
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
        let row = SpanRow { id: 7, parent: None, depth: 0, span };
        for span in [span, Span { stolen: Ticks(1 << 63), ..span }] {
            let whole = packed(&[row, SpanRow { span, ..row }]);
            for cut in 0..whole.len() {
                assert!(unpacked(&whole[..cut]).is_err(), "cut after {cut}");
            }
            assert!(unpacked(&[whole, vec![0]].concat()).is_err());
        }
        assert!(unpacked(&[0xff; 40]).is_err());
    }
}
