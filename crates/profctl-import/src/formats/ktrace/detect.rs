//! Detection of the dialect: every one is tried from the start of the input, and those under which
//! the records chain are compared by what lies in their payloads.
//!
//! The first record alone says nothing: padding holds whatever the kernel's stack held, and equal
//! headers carry different payloads.

use super::dialect::{DIALECTS, Dialect, Record, System, by_name, names};
use super::header::{Header, SECONDS_MIN, unsigned};
use super::payload::{self, Shape};
use crate::bytes::Endian;
use crate::formats::ImportError;

/// How much of an input is looked at.
pub(super) const LOOKED_AT: usize = 64 << 10;
/// This many consecutive records are accepted even if something else follows.
const BELIEVED: usize = 16;
/// Thread numbers are given out from 100,000 on and used again: what is far beyond is a pointer.
const THREADS_MAX: i64 = 10_000_000;

/// A dialect that fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) dialect: Dialect,
    pub(super) endian: Endian,
    /// Records that chain.
    pub(super) records: usize,
    /// Payloads that are as they must be, less those that are not.
    score: i64,
}

/// The dialect that fits `head` best. With `strict`, the match must be convincing without
/// `--input-format`.
pub(super) fn best(head: &[u8], strict: bool) -> Option<Found> {
    let endians = [Endian::Little, Endian::Big];
    let candidates = DIALECTS.iter().flat_map(|dialect| endians.map(|endian| (dialect, endian)));
    pick(candidates, head, strict)
}

/// The dialect that `name` forces; the byte order is found out unless the name states it.
pub(super) fn forced(name: &str, head: &[u8]) -> Result<(Dialect, Endian), ImportError> {
    let Some((dialect, endian)) = by_name(name) else {
        return Err(ImportError::whole(format!(
            "unknown dialect `{name}`, expected one of {}",
            names()
        )));
    };
    let found = pick([Endian::Little, Endian::Big].map(|endian| (dialect, endian)), head, false);
    let endian = endian.or(found.map(|found| found.endian)).unwrap_or_default();
    Ok((dialect.on(endian), endian))
}

fn pick<'a>(
    candidates: impl IntoIterator<Item = (&'a Dialect, Endian)>,
    head: &[u8],
    strict: bool,
) -> Option<Found> {
    let head = &head[..head.len().min(LOOKED_AT)];
    let mut best: Option<Found> = None;
    for (dialect, endian) in candidates {
        let dialect = dialect.on(endian);
        let Some(found) = survey(dialect, endian, head, strict) else { continue };
        if best.is_none_or(|best| (found.score, found.records) > (best.score, best.records)) {
            best = Some(found);
        }
    }
    best
}

/// Follows the records of one dialect, if they chain.
fn survey(dialect: Dialect, endian: Endian, head: &[u8], strict: bool) -> Option<Found> {
    let mut found = Found { dialect, endian, records: 0, score: 0 };
    let mut rest = head;
    while rest.len() >= dialect.layout.size {
        let header = match endian {
            Endian::Little => dialect.header::<false>(rest),
            Endian::Big => dialect.header::<true>(rest),
        };
        let is_old = |header: &Header| header.time / 1_000_000_000 < SECONDS_MIN;
        let Some(header) = header.filter(|header| !(strict && is_old(header))) else {
            if strict && found.records < BELIEVED {
                return None;
            }
            break;
        };
        let end = dialect.layout.size + header.length;
        let Some(payload) = rest.get(dialect.layout.size..end) else { break };
        found.records += 1;
        found.score += match endian {
            Endian::Little => judge::<false>(&dialect, &header, rest, payload),
            Endian::Big => judge::<true>(&dialect, &header, rest, payload),
        };
        rest = &rest[end..];
    }
    (found.records > 0 && !(strict && found.score < 0)).then_some(found)
}

/// 1 if payload and thread are as this dialect has them, -1 for either that is not, 0 if they say
/// nothing.
fn judge<const BIG: bool>(dialect: &Dialect, header: &Header, bytes: &[u8], payload: &[u8]) -> i64 {
    let is_pointer = dialect.system == System::FreeBsd
        && dialect.thread::<BIG>(bytes).is_some_and(|tid| !(0..THREADS_MAX).contains(&tid));
    let word = dialect.word;
    let shape = match header.record {
        Record::Call => Shape::of(payload::is_call::<BIG>(dialect, payload)),
        Record::Return => {
            let lengths: &[usize] = match dialect.system {
                System::NetBsd => &[8 + 2 * word],
                System::OpenBsd => &[8, 8 + word, 16],
                _ => &[8 + word],
            };
            Shape::of(lengths.contains(&payload.len()))
        }
        Record::Switch => Shape::of(matches!(payload.len(), 8 | 16)),
        Record::Emulation => Shape::of(
            (1..=32).contains(&payload.len()) && payload.iter().all(u8::is_ascii_alphanumeric),
        ),
        Record::Signal => {
            let number = super::dialect::Field { at: 0, width: 4 };
            let is_signal =
                payload.len() >= 8 && (1..=128).contains(&unsigned::<BIG>(payload, number));
            Shape::of(is_signal)
        }
        _ => Shape::Silent,
    };
    shape.weight() - i64::from(is_pointer)
}
