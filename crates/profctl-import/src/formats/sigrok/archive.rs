//! A zip archive from its beginning: each member behind the header that stands before it.
//!
//! The directory at the end is not looked at, so an archive whose copy stopped still gives what it
//! has. Members whose length stands behind them are not read; sigrok writes none.

use std::io::Read;

use crate::bytes::little;

/// Bytes of a header before the name.
const HEADER: usize = 30;
/// How a header begins.
const MAGIC: &[u8] = b"PK\x03\x04";
/// The flag of a member whose length stands behind it.
const LENGTH_FOLLOWS: u64 = 1 << 3;
/// A length that stands in the extra field instead.
const IN_EXTRA: u64 = 0xffff_ffff;

/// A file in the archive.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    /// Where its header begins.
    pub(super) offset: usize,
    is_deflated: bool,
    packed: &'a [u8],
    /// Whether all of it is there.
    pub(super) is_whole: bool,
}

impl<'a> Member<'a> {
    /// Its content.
    pub(super) fn content(&self) -> Box<dyn Read + 'a> {
        if self.is_deflated {
            Box::new(flate2::bufread::DeflateDecoder::new(self.packed))
        } else {
            Box::new(self.packed)
        }
    }
}

/// The members of `archive` in order; the last may be why reading stops.
pub(super) fn members(archive: &[u8]) -> impl Iterator<Item = Result<Member<'_>, &'static str>> {
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let offset = at.take()?;
        let rest = &archive[offset..];
        if !rest.starts_with(MAGIC) {
            // The directory comes behind the last member.
            let ends_well = rest.starts_with(b"PK\x01\x02") || rest.starts_with(b"PK\x05\x06");
            return (!ends_well).then_some(Err("the archive stops before its directory"));
        }
        let member = member(rest, offset);
        if let Ok((member, length)) = &member
            && member.is_whole
        {
            at = Some(offset + length);
        }
        Some(member.map(|(member, _)| member))
    })
}

/// The member whose header `rest` begins with, and its length with the header.
fn member(rest: &[u8], offset: usize) -> Result<(Member<'_>, usize), &'static str> {
    let field = |at: usize, width: usize| rest.get(at..at + width).map(little);
    let cut = "the archive stops in the header of a member";
    let (flags, method) = field(6, 2).zip(field(8, 2)).ok_or(cut)?;
    let (packed, name) = field(18, 4).zip(field(26, 2)).ok_or(cut)?;
    let extra = field(28, 2).ok_or(cut)? as usize;
    let name_end = HEADER + name as usize;
    let start = name_end + extra;
    let name = rest.get(HEADER..name_end).ok_or(cut)?;
    let extra = rest.get(name_end..start).ok_or(cut)?;
    let packed = match packed {
        IN_EXTRA => long_length(extra).ok_or("a member does not say how long it is")?,
        length => length,
    };
    if flags & LENGTH_FOLLOWS != 0 {
        return Err("a member says how long it is only behind it, which is not read");
    }
    let is_deflated = match method {
        0 => false,
        8 => true,
        _ => return Err("a member is packed by another method than deflate"),
    };
    let length = usize::try_from(packed).unwrap_or(usize::MAX);
    let there = rest.len() - start;
    let is_whole = length <= there;
    let packed = &rest[start..start + length.min(there)];
    let name = std::str::from_utf8(name).unwrap_or("\u{fffd}");
    let member = Member { name, offset, is_deflated, packed, is_whole };
    Ok((member, start + packed.len()))
}

/// The packed length in an extra field of archives past 4 GiB: it stands behind the unpacked one.
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
