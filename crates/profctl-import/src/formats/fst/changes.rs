//! A block of changes: for each signal a chain of them, each with the number of timestamps since
//! the one before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use profctl_model::hash::FastMap;

use super::blocks::Width;
use super::pack::{Allowance, Fields, Wrong};

/// A change of a watched signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// When.
    pub(super) time: u64,
    pub(super) source: usize,
    pub(super) value: u64,
    /// Bits that are neither 0 nor 1.
    pub(super) unknown: u64,
}

/// The changes of the watched signals in a block, in time order.
pub(super) struct Changes {
    pub(super) start: u64,
    /// The levels at the start: source, bits, and those that are neither 0 nor 1.
    pub(super) frame: Vec<(usize, u64, u64)>,
    /// The timestamps: packed, how many were read, the latest.
    times: Box<[u8]>,
    times_at: usize,
    n_times: u64,
    time: u64,
    chains: Vec<Followed>,
    /// The chains that go on, by the row of the timestamp of their next change.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

/// Where the chain of a handle is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chain {
    None,
    /// The same as that of another handle.
    Same(u64),
    /// From here to the next chain.
    At(u64),
}

/// Reads the changes of `watched`, pairs of handle and source, in a block of that kind.
pub(super) fn read(
    (kind, block): (u8, &[u8]),
    widths: &[Width],
    watched: &[(u32, usize)],
    allowance: &mut Allowance,
) -> Result<Changes, Wrong> {
    let mut fields = Fields { rest: block };
    let (start, _end, _memory) = (fields.long()?, fields.long()?, fields.long()?);
    let (length, packed, _handles) = (fields.varint()?, fields.varint()?, fields.varint()?);
    let frame = allowance.zlib_or_plain(fields.bytes(packed)?, length)?;
    let _handles = fields.varint()?;
    // Places of chains count from here on, from the byte that says how they are packed.
    let chains = fields.rest;
    let packing = fields.byte()?;

    let (body, times, n_times) = times(chains, allowance)?;
    let (lengths, index_length) = body.split_at(body.len().checked_sub(8).ok_or("no index")?);
    let index_length = crate::bytes::big(index_length);
    let data_end = (lengths.len() as u64).checked_sub(index_length).ok_or("an index too long")?;
    let index = &lengths[data_end as usize..];
    let index = match kind {
        8 => index_with_signs(index, widths.len())?,
        _ => index_without(index, widths.len(), kind == 5)?,
    };
    // By where they begin, so that each ends where the next does.
    let mut starts: Vec<u64> = index
        .iter()
        .filter_map(|chain| match chain {
            Chain::At(at) => Some(*at),
            Chain::None | Chain::Same(_) => None,
        })
        .collect();
    starts.push(data_end);
    starts.sort_unstable();

    let mut found = Changes {
        start,
        frame: levels(&frame, widths, watched),
        times,
        times_at: 0,
        n_times: 0,
        time: 0,
        chains: Vec::new(),
        next: BinaryHeap::new(),
    };
    let mut unpacked: FastMap<u64, Arc<[u8]>> = FastMap::default();
    for &(handle, source) in watched {
        let (Some(&Width::Bits(width)), Some(&chain)) =
            (widths.get(handle as usize), index.get(handle as usize))
        else {
            continue;
        };
        let chain = match chain {
            Chain::Same(other) => usize::try_from(other).ok().and_then(|other| index.get(other)),
            Chain::None | Chain::At(_) => Some(&chain),
        };
        let Some(&Chain::At(at)) = chain else { continue };
        let bytes = if let Some(known) = unpacked.get(&at) {
            Arc::clone(known)
        } else {
            let end = starts[starts.partition_point(|&other| other <= at).min(starts.len() - 1)];
            let bytes = lengths.get(at as usize..end as usize);
            let bytes = unpack(bytes.ok_or("a chain outside its block")?, packing, allowance)?;
            unpacked.entry(at).or_insert(bytes.into()).clone()
        };
        found.follow(Followed { bytes, at: 0, row: 0, width, source }, n_times)?;
    }
    Ok(found)
}

impl Changes {
    /// Adds a chain, once all of it makes sense.
    fn follow(&mut self, chain: Followed, n_times: u64) -> Result<(), Wrong> {
        let mut ahead = chain.clone();
        let mut first = None;
        while let Some((row, ..)) = ahead.next()? {
            if row >= n_times {
                return Err("a change after the last timestamp");
            }
            first = first.or(Some(row));
        }
        if let Some(row) = first {
            self.next.push(Reverse((row, self.chains.len())));
            self.chains.push(chain);
        }
        Ok(())
    }

    /// The time of a row; rows are asked for in order.
    fn time(&mut self, row: u64) -> Result<u64, Wrong> {
        while self.n_times <= row {
            let mut fields = Fields { rest: &self.times[self.times_at..] };
            self.time = self.time.saturating_add(fields.varint()?);
            self.times_at = self.times.len() - fields.rest.len();
            self.n_times += 1;
        }
        Ok(self.time)
    }

    /// The next change; of those of one time, that of the first watched signal.
    pub(super) fn next(&mut self) -> Result<Option<Change>, Wrong> {
        let Some(Reverse((row, number))) = self.next.pop() else { return Ok(None) };
        let time = self.time(row)?;
        let chain = &mut self.chains[number];
        let source = chain.source;
        let Some((_, value, unknown)) = chain.next()? else { return Ok(None) };
        if let Some((row, ..)) = chain.clone().next()? {
            self.next.push(Reverse((row, number)));
        }
        Ok(Some(Change { time, source, value, unknown }))
    }
}

/// What is before the timestamps at the end of a block, those, and how many there are.
type Times<'b> = (&'b [u8], Box<[u8]>, u64);

fn times<'b>(block: &'b [u8], allowance: &mut Allowance) -> Result<Times<'b>, Wrong> {
    let (before, mut fields) = match block.len().checked_sub(24) {
        Some(at) => (&block[..at], Fields { rest: &block[at..] }),
        None => return Err("no timestamps"),
    };
    let (length, packed, n) = (fields.long()?, fields.long()?, fields.long()?);
    let at = (before.len() as u64).checked_sub(packed).ok_or("more timestamps than bytes")?;
    let (before, packed) = before.split_at(at as usize);
    let bytes = allowance.zlib_or_plain(packed, length)?.into_owned();
    let mut fields = Fields { rest: &bytes };
    for _ in 0..n {
        fields.varint()?;
    }
    Ok((before, bytes.into(), n))
}

/// Puts `chain` at the end of `index` until it is `n` long at most.
fn extend(index: &mut Vec<Chain>, chain: Chain, times: u64, n: usize) -> Result<(), Wrong> {
    let length = (index.len() as u64).saturating_add(times);
    if length > n as u64 {
        return Err("more chains than signals");
    }
    index.resize(length as usize, chain);
    Ok(())
}

/// The index of a block of type 8: an odd number is a step to the next chain, or another handle if
/// it is negative, or the same other handle once more if it is zero; an even one is a run of
/// handles without changes.
fn index_with_signs(bytes: &[u8], n: usize) -> Result<Vec<Chain>, Wrong> {
    let mut fields = Fields { rest: bytes };
    let (mut index, mut at, mut same) = (Vec::new(), 0_u64, Chain::None);
    while let Some(&first) = fields.rest.first() {
        if first & 1 == 0 {
            let run = fields.varint()? >> 1;
            extend(&mut index, Chain::None, run, n)?;
            continue;
        }
        let step = fields.signed()? >> 1;
        let chain = match step {
            1.. => {
                at = at.saturating_add(step.unsigned_abs());
                Chain::At(at)
            }
            0 => same,
            _ => {
                same = Chain::Same(step.unsigned_abs() - 1);
                same
            }
        };
        extend(&mut index, chain, 1, n)?;
    }
    Ok(index)
}

/// The index of the older blocks: the same without signs. Zero precedes another handle, if the
/// block has them.
fn index_without(bytes: &[u8], n: usize, has_aliases: bool) -> Result<Vec<Chain>, Wrong> {
    let mut fields = Fields { rest: bytes };
    let (mut index, mut at) = (Vec::new(), 0_u64);
    while !fields.rest.is_empty() {
        let number = fields.varint()?;
        if number == 0 && has_aliases {
            let other = fields.varint()?.checked_sub(1).ok_or("a reference to a missing chain")?;
            extend(&mut index, Chain::Same(other), 1, n)?;
        } else if number & 1 == 1 {
            at = at.saturating_add(number >> 1);
            extend(&mut index, Chain::At(at), 1, n)?;
        } else {
            extend(&mut index, Chain::None, number >> 1, n)?;
        }
    }
    Ok(index)
}

fn unpack(chain: &[u8], packing: u8, allowance: &mut Allowance) -> Result<Vec<u8>, Wrong> {
    let mut fields = Fields { rest: chain };
    match (fields.varint()?, packing) {
        (0, _) => Ok(fields.rest.to_vec()),
        (length, b'4') => allowance.lz4(fields.rest, length),
        (length, b'F') => allowance.fastlz(fields.rest, length),
        (length, _) => allowance.zlib(fields.rest, length),
    }
}

/// How far the chain of a signal was followed.
#[derive(Clone)]
struct Followed {
    bytes: Arc<[u8]>,
    at: usize,
    row: u64,
    width: u32,
    source: usize,
}

impl Followed {
    /// The next change: the row of its timestamp, its bits, those that are neither 0 nor 1.
    fn next(&mut self) -> Result<Option<(u64, u64, u64)>, Wrong> {
        let mut fields = Fields { rest: &self.bytes[self.at..] };
        if fields.rest.is_empty() {
            return Ok(None);
        }
        let head = fields.varint()?;
        let width = self.width;
        let (step, value, unknown) = match (width, head & 1) {
            (1, 0) => (head >> 2, head >> 1 & 1, 0),
            (1, _) => {
                let (value, unknown) = level(b"xzhuwl-?"[(head >> 1 & 7) as usize]);
                (head >> 4, value, unknown)
            }
            (_, 0) => {
                let packed = fields.bytes(u64::from(width.div_ceil(8)))?;
                (head >> 1, two_state(packed, width), 0)
            }
            (_, _) => {
                let (value, unknown) = characters(fields.bytes(width.into())?);
                (head >> 1, value, unknown)
            }
        };
        self.row = self.row.saturating_add(step);
        self.at = self.bytes.len() - fields.rest.len();
        Ok(Some((self.row, value, unknown)))
    }
}

/// The lowest 64 of `width` bits, of which the first is the highest of the first byte.
fn two_state(packed: &[u8], width: u32) -> u64 {
    let bit = |at: u32| u64::from(packed[at as usize / 8] >> (7 - at % 8) & 1);
    (width.saturating_sub(64)..width).fold(0, |value, at| value << 1 | bit(at))
}

/// The lowest 64 of the levels that stand as characters.
fn characters(text: &[u8]) -> (u64, u64) {
    text[text.len().saturating_sub(64)..].iter().fold((0, 0), |(value, unknown), &byte| {
        let (bit, odd) = level(byte);
        (value << 1 | bit, unknown << 1 | odd)
    })
}

fn level(byte: u8) -> (u64, u64) {
    match byte {
        b'0' | b'l' | b'L' => (0, 0),
        b'1' | b'h' | b'H' => (1, 0),
        _ => (0, 1),
    }
}

/// The levels that a block begins with, of the watched signals.
fn levels(frame: &[u8], widths: &[Width], watched: &[(u32, usize)]) -> Vec<(usize, u64, u64)> {
    let mut at = 0_u64;
    let mut places = Vec::with_capacity(widths.len());
    for width in widths {
        places.push(at);
        at = at.saturating_add(width.in_frame());
    }
    let of = |&(handle, source): &(u32, usize)| {
        let start = usize::try_from(*places.get(handle as usize)?).ok()?;
        let length = widths[handle as usize].in_frame() as usize;
        let (value, unknown) = characters(frame.get(start..start.checked_add(length)?)?);
        Some((source, value, unknown))
    };
    watched.iter().filter_map(of).collect()
}
