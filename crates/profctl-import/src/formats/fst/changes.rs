//! A block of changes: for each signal a chain of them, each with the number of timestamps since
//! the one before.

use super::blocks::{Section, Width};
use super::pack::{Fields, Wrong, fastlz, lz4, zlib, zlib_or_plain};

/// A change of a watched signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// The row of its time in [`Found::times`].
    pub(super) row: usize,
    pub(super) source: usize,
    pub(super) value: u64,
    /// Bits that are neither 0 nor 1.
    pub(super) unknown: u64,
}

/// What a block says of the watched signals.
pub(super) struct Found {
    pub(super) start: u64,
    pub(super) times: Vec<u64>,
    /// In the order of time.
    pub(super) changes: Vec<Change>,
    /// The levels at the start: source, bits, and those that are neither 0 nor 1.
    pub(super) frame: Vec<(usize, u64, u64)>,
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

/// Reads the changes of `watched`: pairs of handle and source.
pub(super) fn read(
    section: &Section<'_>,
    widths: &[Width],
    watched: &[(u32, usize)],
) -> Result<Found, Wrong> {
    let mut fields = Fields { rest: section.bytes };
    let (start, _end, _memory) = (fields.long()?, fields.long()?, fields.long()?);
    let (length, packed, _handles) = (fields.varint()?, fields.varint()?, fields.varint()?);
    let frame = zlib_or_plain(fields.bytes(packed)?, length)?;
    let _handles = fields.varint()?;
    // Places of chains count from here on, from the byte that says how they are packed.
    let chains = fields.rest;
    let packing = fields.byte()?;

    let (body, times) = times(chains)?;
    let (lengths, index_length) = body.split_at(body.len().checked_sub(8).ok_or("no index")?);
    let index_length = crate::bytes::big(index_length);
    let data_end = (lengths.len() as u64).checked_sub(index_length).ok_or("an index too long")?;
    let index = &lengths[data_end as usize..];
    let index = match section.kind {
        8 => index_with_signs(index, widths.len())?,
        _ => index_without(index, widths.len(), section.kind == 5)?,
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

    let mut changes = Vec::new();
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
        let end = starts[starts.partition_point(|&other| other <= at).min(starts.len() - 1)];
        let bytes = lengths.get(at as usize..end as usize).ok_or("a chain outside its block")?;
        let bytes = unpack(bytes, packing)?;
        follow(&bytes, width, source, times.len(), &mut changes)?;
    }
    changes.sort_by_key(|change: &Change| change.row);
    Ok(Found { start, times, changes, frame: levels(&frame, widths, watched) })
}

/// The timestamps at the end of a block, and what stands before them.
fn times(block: &[u8]) -> Result<(&[u8], Vec<u64>), Wrong> {
    let (before, mut fields) = match block.len().checked_sub(24) {
        Some(at) => (&block[..at], Fields { rest: &block[at..] }),
        None => return Err("no timestamps"),
    };
    let (length, packed, n) = (fields.long()?, fields.long()?, fields.long()?);
    let at = (before.len() as u64).checked_sub(packed).ok_or("more timestamps than bytes")?;
    let (before, packed) = before.split_at(at as usize);
    let bytes = zlib_or_plain(packed, length)?;
    let mut fields = Fields { rest: &bytes };
    let (mut time, mut times) = (0_u64, Vec::new());
    while (times.len() as u64) < n {
        time = time.saturating_add(fields.varint()?);
        times.push(time);
    }
    Ok((before, times))
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

/// The index of the older blocks: the same without signs. Zero stands before another handle, if the
/// block knows of them.
fn index_without(bytes: &[u8], n: usize, has_aliases: bool) -> Result<Vec<Chain>, Wrong> {
    let mut fields = Fields { rest: bytes };
    let (mut index, mut at) = (Vec::new(), 0_u64);
    while !fields.rest.is_empty() {
        let number = fields.varint()?;
        if number == 0 && has_aliases {
            let other = fields.varint()?.checked_sub(1).ok_or("a chain like that of none")?;
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

fn unpack(chain: &[u8], packing: u8) -> Result<Vec<u8>, Wrong> {
    let mut fields = Fields { rest: chain };
    match (fields.varint()?, packing) {
        (0, _) => Ok(fields.rest.to_vec()),
        (length, b'4') => lz4(fields.rest, length),
        (length, b'F') => fastlz(fields.rest, length),
        (length, _) => zlib(fields.rest, length),
    }
}

/// Follows the chain of a signal.
fn follow(
    bytes: &[u8],
    width: u32,
    source: usize,
    n_times: usize,
    changes: &mut Vec<Change>,
) -> Result<(), Wrong> {
    let mut fields = Fields { rest: bytes };
    let mut row = 0_u64;
    while !fields.rest.is_empty() {
        let head = fields.varint()?;
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
        row = row.saturating_add(step);
        if row >= n_times as u64 {
            return Err("a change after the last timestamp");
        }
        changes.push(Change { row: row as usize, source, value, unknown });
    }
    Ok(())
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
