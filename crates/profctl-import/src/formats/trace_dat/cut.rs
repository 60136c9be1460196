//! Files of version 7 that are cut. The list of options with the descriptions is before the records,
//! the one that says where the records of each CPU are is behind them.

use super::data::CpuData;
use super::input::Cursor;
use crate::bytes::Endian;
use crate::files::ReadAt;

/// Kind, flags, description and size of a section.
const HEADER: u64 = 16;
/// The kind of sections with records.
const RECORDS: u16 = 3;
const COMPRESSED: u16 = 1;
const CPUS_MAX: u32 = 1 << 12;

/// Where the section at `offset` ends, if the file has all of it.
pub(super) fn whole_section(source: &dyn ReadAt, offset: u64, endian: Endian) -> Option<u64> {
    let mut cursor = Cursor::new(source, offset.checked_add(8)?, endian);
    let end = offset.checked_add(HEADER)?.checked_add(cursor.u64().ok()?)?;
    (end <= source.len()).then_some(end)
}

/// The records of the buffer whose section is at `offset`, as far as the file has them, with what
/// is missing of the section in the last range. CPUs are counted.
pub(super) fn buffer(
    source: &dyn ReadAt,
    offset: u64,
    endian: Endian,
    page: u32,
) -> Option<Vec<CpuData>> {
    let mut cursor = Cursor::new(source, offset, endian);
    let (kind, flags) = (cursor.u16().ok()?, cursor.u16().ok()?);
    cursor.u32().ok()?;
    let end = cursor.at.checked_add(8)?.checked_add(cursor.u64().ok()?)?;
    if kind != RECORDS || page == 0 {
        return None;
    }
    let cpus = match flags & COMPRESSED {
        0 => plain(&mut cursor, end, page.into()),
        _ => compressed(&mut cursor, end, page),
    }?;
    (!cpus.is_empty()).then_some(cpus)
}

/// Pages. The pages of a CPU are in time order: one that is earlier than the page before it is
/// the first of the next CPU.
fn plain(cursor: &mut Cursor<'_>, end: u64, page: u64) -> Option<Vec<CpuData>> {
    let mut cpus: Vec<CpuData> = Vec::new();
    let mut before = 0;
    cursor.at = cursor.at.next_multiple_of(page);
    while cursor.at < end
        && let Ok(time) = cursor.u64()
    {
        let place = cursor.at - 8;
        if cpus.is_empty() || time < before {
            if let Some(last) = cpus.last_mut() {
                last.range.end = place;
            }
            let cpu = cpus.len() as u32;
            if cpu == CPUS_MAX {
                return None;
            }
            cpus.push(CpuData { cpu, range: place..end, compressed: false });
        }
        before = time;
        cursor.at = place.checked_add(page)?;
    }
    Some(cpus)
}

/// Each CPU begins with a page and with the number of its chunks.
fn compressed(cursor: &mut Cursor<'_>, end: u64, page: u32) -> Option<Vec<CpuData>> {
    let mut cpus = Vec::new();
    for cpu in 0..CPUS_MAX {
        cursor.at = cursor.at.next_multiple_of(page.into());
        if cursor.at >= end {
            break;
        }
        let start = cursor.at.checked_add(4)?;
        let chunks = cursor.u32().ok().and_then(|count| chunks_end(cursor, count));
        // What is missing is the rest of the section.
        let range = start..chunks.unwrap_or(end);
        cpus.push(CpuData { cpu, range, compressed: true });
        if chunks.is_none() {
            break;
        }
    }
    Some(cpus)
}

/// The end of so many chunks, if the file has all of them.
fn chunks_end(cursor: &mut Cursor<'_>, count: u32) -> Option<u64> {
    let length = cursor.length();
    for _ in 0..count {
        let packed = cursor.u32().ok()?;
        cursor.u32().ok()?;
        cursor.at = cursor.at.checked_add(packed.into()).filter(|&at| at <= length)?;
    }
    Some(cursor.at)
}
