//! A zip archive from its beginning: each member after the header that is before it.
//!
//! The directory at the end is not looked at, so an archive whose copy stopped still gives what it
//! has. Members whose length is behind them are not read; sigrok writes none.

use std::io::{BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::little;
use crate::files::{InOrder, ReadAt};

/// Bytes of a header before the name.
const HEADER: usize = 30;
/// How a header begins.
const MAGIC: &[u8] = b"PK\x03\x04";
/// The flag of a member whose length is after it.
const LENGTH_FOLLOWS: u64 = 1 << 3;
/// A length that is in the extra field instead.
const IN_EXTRA: u64 = 0xffff_ffff;

/// A file in the archive.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its header begins.
    pub(super) offset: u64,
    is_deflated: bool,
    /// Where its content is.
    packed: Range<u64>,
    /// Whether all of it is there.
    pub(super) is_whole: bool,
}

impl Member {
    /// Its content.
    pub(super) fn content(&self, archive: &Arc<dyn ReadAt>) -> Box<dyn Read> {
        let packed = InOrder::within(Arc::clone(archive), self.packed.clone());
        if self.is_deflated {
            Box::new(flate2::read::DeflateDecoder::new(packed))
        } else {
            Box::new(BufReader::new(packed))
        }
    }
}

/// The members of `archive` in order; the last may be why reading stops.
pub(super) fn members(
    archive: &dyn ReadAt,
) -> impl Iterator<Item = Result<Member, &'static str>> + '_ {
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let offset = at.take()?;
        let head = archive.bytes_at(offset, HEADER).unwrap_or_default();
        if !head.starts_with(MAGIC) {
            // The directory comes after the last member.
            let ends_well = head.starts_with(b"PK\x01\x02") || head.starts_with(b"PK\x05\x06");
            return (!ends_well).then_some(Err("the archive ends before its directory"));
        }
        let member = member(archive, &head, offset);
        if let Ok(member) = &member
            && member.is_whole
        {
            at = Some(member.packed.end);
        }
        Some(member)
    })
}

/// The member whose header `head` is.
fn member(archive: &dyn ReadAt, head: &[u8], offset: u64) -> Result<Member, &'static str> {
    let field = |at: usize, width: usize| head.get(at..at + width).map(little);
    let cut = "the archive ends in the header of a member";
    let (flags, method) = field(6, 2).zip(field(8, 2)).ok_or(cut)?;
    let (packed, n_name) = field(18, 4).zip(field(26, 2)).ok_or(cut)?;
    let n_extra = field(28, 2).ok_or(cut)?;
    let more = archive.bytes_at(offset + HEADER as u64, (n_name + n_extra) as usize);
    let more = more.ok().filter(|more| more.len() as u64 == n_name + n_extra).ok_or(cut)?;
    let (name, extra) = more.split_at(n_name as usize);
    let packed = match packed {
        IN_EXTRA => long_length(extra).ok_or("a member does not state its length")?,
        length => length,
    };
    if flags & LENGTH_FOLLOWS != 0 {
        return Err("a member states its length only after its data, which is not read");
    }
    let is_deflated = match method {
        0 => false,
        8 => true,
        _ => return Err("a member is compressed with a method other than deflate"),
    };
    let start = offset + HEADER as u64 + n_name + n_extra;
    let end = start.saturating_add(packed);
    let name = String::from_utf8_lossy(name).into_owned();
    let is_whole = end <= archive.len();
    Ok(Member { name, offset, is_deflated, packed: start..end.min(archive.len()), is_whole })
}

/// The packed length in an extra field of archives past 4 GiB: it is after the unpacked one.
fn long_length(mut extra: &[u8]) -> Option<u64> {
    loop {
        let (kind, length) = (little(extra.get(..2)?), little(extra.get(2..4)?) as usize);
        let field = extra.get(4..4 + length)?;
        if kind == 1 {
            return field.get(8..16).map(little);
        }
        extra = &extra[4 + length..];
    }
}
