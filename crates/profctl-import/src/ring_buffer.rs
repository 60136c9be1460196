//! Pages of the kernel's ring buffer, as `trace_pipe_raw` gives them; trace.dat and uftrace keep them.
//!
//! A page is a timestamp, a commit word (how many bytes of records follow, and whether records were
//! lost before them), and the records. A record begins with a word of 5 bits type or length and 27
//! bits time since the record before. Sources: `include/linux/ring_buffer.h` and
//! `kernel/trace/ring_buffer.c` of Linux 6.1, the file `events/header_page`.

use crate::bytes::{self, Endian};

/// What `header_page` says of the pages of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageLayout {
    /// The byte order.
    pub(crate) endian: Endian,
    /// Bytes of a page.
    pub(crate) size: usize,
    /// Bytes of the commit word: the size of a long integer of the kernel.
    pub(crate) word: usize,
    /// Where the records begin.
    pub(crate) data: usize,
}

/// Where the commit word stands: after the timestamp.
const COMMIT_AT: usize = 8;
/// The bits of the commit word that are a size.
const SIZE_MASK: u64 = (1 << 20) - 1;
/// Records were lost before this page.
const MISSED: u64 = 1 << 31;
/// How many is after the last record.
const MISSED_STORED: u64 = 1 << 30;

impl PageLayout {
    /// Reads `header_page`. Nothing if it describes pages that are not read here.
    ///
    /// ```text
    ///     field: u64 timestamp;    offset:0;    size:8;    signed:0;
    ///     field: local_t commit;    offset:8;    size:8;    signed:1;
    ///     field: int overwrite;    offset:8;    size:1;    signed:1;
    ///     field: char data;    offset:16;    size:4080;    signed:1;
    /// ```
    pub(crate) fn parse(text: &str, endian: Endian) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find(|line| {
                line.split(';').next().is_some_and(|declared| declared.ends_with(name))
            })?;
            let number = |key: &str| {
                let rest = &line[line.find(key)? + key.len()..];
                rest[..rest.find(';')?].trim().parse::<usize>().ok()
            };
            Some((number("offset:")?, number("size:")?))
        };
        let (timestamp, eight) = field(" timestamp")?;
        let (commit, word) = field(" commit")?;
        let (data, length) = field(" data")?;
        let usual = timestamp == 0 && eight == 8 && commit == COMMIT_AT && data == COMMIT_AT + word;
        let size = data.checked_add(length)?;
        (usual && matches!(word, 4 | 8) && size <= PAGE_MAX && length >= 16).then_some(Self {
            endian,
            size,
            word,
            data,
        })
    }

    /// The layout of a kernel with long integers of 8 bytes.
    pub(crate) fn usual(endian: Endian, size: usize) -> Self {
        Self { endian, size, word: 8, data: 16 }
    }
}

/// The largest page (64 KiB pages, sixteen of them as one sub-buffer).
const PAGE_MAX: usize = 1 << 20;

/// Events that were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lost {
    /// Their number, if stated.
    pub(crate) events: Option<u64>,
}

/// A page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Page<'a> {
    /// The time that the first record counts from.
    pub(crate) start: u64,
    /// Events that were lost before the page, if any were.
    pub(crate) lost: Option<Lost>,
    /// The records.
    pub(crate) records: Records<'a>,
}

/// Reads a page. Nothing if its size is not that of a page, or the commit word says more than the
/// page has.
pub(crate) fn page<'a>(bytes: &'a [u8], layout: &PageLayout) -> Option<Page<'a>> {
    let start = bytes::integer(bytes, 0, 8, layout.endian)?;
    let commit = bytes::integer(bytes, COMMIT_AT, layout.word, layout.endian)?;
    let length = (commit & SIZE_MASK) as usize;
    let data = bytes.get(layout.data..)?;
    let records = data.get(..length)?;
    let lost = (commit & MISSED != 0).then(|| {
        let stored = commit & MISSED_STORED != 0;
        let stored = stored.then(|| bytes::integer(data, length, layout.word, layout.endian));
        Lost { events: stored.flatten() }
    });
    let records = Records { endian: layout.endian, data: records, at: 0, time: start };
    Some(Page { start, lost, records })
}

/// A record of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record<'a> {
    /// When, in ticks of the clock of the buffer.
    pub(crate) time: u64,
    /// Bytes from the first record of the page.
    pub(crate) offset: usize,
    /// What was recorded.
    pub(crate) data: &'a [u8],
}

/// The records of a page, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Records<'a> {
    endian: Endian,
    data: &'a [u8],
    at: usize,
    time: u64,
}

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const DELTA_BITS: u32 = 27;
/// The bits of a time that an absolute timestamp has no space for.
const TIME_HIGH: u64 = 0xF8 << 56;

impl<'a> Records<'a> {
    #[inline]
    fn word(&self, at: usize) -> Option<u32> {
        let word = self.data.get(at..at + 4)?;
        let word = [word[0], word[1], word[2], word[3]];
        Some(match self.endian {
            Endian::Little => u32::from_le_bytes(word),
            Endian::Big => u32::from_be_bytes(word),
        })
    }

    /// The next record; an error says where the rest of the page is invalid.
    #[inline]
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'a>>, usize> {
        loop {
            let at = self.at;
            if at >= self.data.len() {
                return Ok(None);
            }
            let header = self.word(at).ok_or(at)?;
            // The five bits are those that a C compiler puts first: the lowest or the highest.
            let (kind, delta) = match self.endian {
                Endian::Little => (header & 31, header >> 5),
                Endian::Big => (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1)),
            };
            let delta = u64::from(delta);
            let (from, length) = match kind {
                1..=28 => (at + 4, kind as usize * 4),
                0 => {
                    // The length counts itself.
                    let length = self.word(at + 4).ok_or(at)? as usize;
                    (at + 8, length.checked_sub(4).ok_or(at)?.next_multiple_of(4))
                }
                TIME_EXTEND => {
                    let high = u64::from(self.word(at + 4).ok_or(at)?);
                    self.time = self.time.wrapping_add(high << DELTA_BITS | delta);
                    self.at = at + 8;
                    continue;
                }
                TIME_STAMP => {
                    let high = u64::from(self.word(at + 4).ok_or(at)?);
                    self.set_time(high << DELTA_BITS | delta);
                    self.at = at + 8;
                    continue;
                }
                // `PADDING`: nothing until the end of the page, or a record that was taken back.
                _ if delta == 0 => {
                    self.at = self.data.len();
                    return Ok(None);
                }
                _ => {
                    let length = self.word(at + 4).ok_or(at)? as usize;
                    self.time = self.time.wrapping_add(delta);
                    self.at = (at + 4).checked_add(length).ok_or(at)?.max(at + 8);
                    continue;
                }
            };
            debug_assert!(kind <= PADDING);
            let end = from.checked_add(length).ok_or(at)?;
            let data = self.data.get(from..end).ok_or(at)?;
            self.time = self.time.wrapping_add(delta);
            self.at = end;
            return Ok(Some(Record { time: self.time, offset: at, data }));
        }
    }

    /// An absolute timestamp has 59 bits; the others are those of the time before, unless the
    /// clock has just passed the end of the 59.
    fn set_time(&mut self, low: u64) {
        let time = low | self.time & TIME_HIGH;
        self.time = if time < self.time { time.wrapping_add(1 << 59) } else { time };
    }
}

/// Pages that are checked before a file without any header is treated as pages.
const CHECKED: usize = 4;

/// Whether `bytes` begin with pages of that layout: times that grow, records that fill what the
/// commit words say.
pub(crate) fn looks_like_pages(bytes: &[u8], layout: &PageLayout) -> bool {
    let mut before = 0;
    let mut filled = 0;
    for bytes in bytes.chunks_exact(layout.size).take(CHECKED) {
        let Some(mut page) = page(bytes, layout) else { return false };
        if page.start < before || page.start == 0 {
            return false;
        }
        before = page.start;
        loop {
            match page.records.next_record() {
                // Every record begins with the number and flags of its event.
                Ok(Some(record)) if record.data.len() >= 8 => filled += 1,
                Ok(None) => break,
                _ => return false,
            }
        }
    }
    filled > 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
";

    fn put(out: &mut Vec<u8>, value: u64, size: usize, endian: Endian) {
        match endian {
            Endian::Little => out.extend_from_slice(&value.to_le_bytes()[..size]),
            Endian::Big => out.extend_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }

    fn header(kind: u32, delta: u32, endian: Endian) -> u64 {
        u64::from(match endian {
            Endian::Little => kind | delta << 5,
            Endian::Big => kind << 27 | delta,
        })
    }

    /// A page with one record of each kind.
    fn sample(endian: Endian, lost: Option<Lost>) -> Vec<u8> {
        let mut data = Vec::new();
        put(&mut data, header(2, 10, endian), 4, endian);
        data.extend_from_slice(b"eight by");
        put(&mut data, header(TIME_EXTEND, 1, endian), 4, endian);
        put(&mut data, 2, 4, endian);
        put(&mut data, header(0, 3, endian), 4, endian);
        put(&mut data, 4 + 5, 4, endian);
        data.extend_from_slice(b"five!\0\0\0");
        put(&mut data, header(PADDING, 7, endian), 4, endian);
        put(&mut data, 8, 4, endian);
        data.extend_from_slice(b"gone");
        put(&mut data, header(TIME_STAMP, 5, endian), 4, endian);
        put(&mut data, 1 << 20, 4, endian);
        put(&mut data, header(1, 1, endian), 4, endian);
        data.extend_from_slice(b"last");
        put(&mut data, header(PADDING, 0, endian), 4, endian);
        let mut page = Vec::new();
        put(&mut page, 1000, 8, endian);
        let mut commit = data.len() as u64;
        if let Some(Lost { events: lost }) = lost {
            commit |= MISSED | if lost.is_some() { MISSED_STORED } else { 0 };
            put(&mut data, lost.unwrap_or(0), 8, endian);
        }
        put(&mut page, commit, 8, endian);
        page.extend_from_slice(&data);
        page.resize(4096, 0xAA);
        page
    }

    #[test]
    fn the_layout_is_read_from_its_description() {
        let layout = PageLayout::parse(HEADER, Endian::Big);
        assert_eq!(layout, Some(PageLayout::usual(Endian::Big, 4096)));
        let of_32 = HEADER.replace("offset:8;\tsize:8", "offset:8;\tsize:4");
        assert_eq!(PageLayout::parse(&of_32, Endian::Little), None, "data must follow");
        let of_32 = of_32.replace("offset:16;\tsize:4080", "offset:12;\tsize:4084");
        let layout = PageLayout::parse(&of_32, Endian::Little).unwrap();
        assert_eq!((layout.word, layout.data, layout.size), (4, 12, 4096));
        for wrong in ["", "field: u64 timestamp;", &HEADER.replace("4080", "99999999")] {
            assert_eq!(PageLayout::parse(wrong, Endian::Little), None);
        }
    }

    #[test]
    fn every_kind_of_record_in_both_byte_orders() {
        for endian in [Endian::Little, Endian::Big] {
            let layout = PageLayout::usual(endian, 4096);
            for lost in [None, Some(Lost { events: None }), Some(Lost { events: Some(17) })] {
                let bytes = sample(endian, lost);
                let mut page = page(&bytes, &layout).unwrap();
                assert_eq!((page.start, page.lost), (1000, lost));
                let mut found = Vec::new();
                while let Some(record) = page.records.next_record().unwrap() {
                    found.push((record.time, record.data));
                }
                let extended = 1010 + (2 << 27 | 1) + 3;
                let absolute = (1 << 47 | 5) + 1;
                let expected: [(u64, &[u8]); 3] =
                    [(1010, b"eight by"), (extended, b"five!\0\0\0"), (absolute, b"last")];
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn absolute_times_keep_the_bits_that_they_lack() {
        let records = |time| Records { endian: Endian::Little, data: &[], at: 0, time };
        let mut high = records(0x1800_0000_0000_0010);
        high.set_time(0x20);
        assert_eq!(high.time, 0x1800_0000_0000_0020);
        // Past the end of the 59 bits.
        high.set_time(0x1F);
        assert_eq!(high.time, 0x2000_0000_0000_001F);
    }

    #[test]
    fn damaged_pages_end_where_the_damage_is() {
        let layout = PageLayout::usual(Endian::Little, 4096);
        let good = sample(Endian::Little, None);
        assert_eq!(page(&good[..15], &layout), None);
        let mut long = good.clone();
        long[8..12].copy_from_slice(&4081_u32.to_le_bytes());
        assert_eq!(page(&long, &layout), None);
        // A length of its own of zero, or one that reaches over the end.
        for length in [0_u32, 3, 5000, u32::MAX] {
            let mut bad = good.clone();
            bad[40..44].copy_from_slice(&length.to_le_bytes());
            let mut records = page(&bad, &layout).unwrap().records;
            assert!(records.next_record().unwrap().is_some());
            assert_eq!(records.next_record(), Err(20));
        }
    }

    proptest! {
        #[test]
        fn nothing_that_a_page_may_hold_is_read_for_ever(
            start: u64,
            commit in 0_u64..5000,
            data in prop::collection::vec(any::<u8>(), 0..4080),
            big: bool,
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let mut bytes = Vec::new();
            put(&mut bytes, start, 8, endian);
            put(&mut bytes, commit, 8, endian);
            bytes.extend_from_slice(&data);
            bytes.resize(4096, 0);
            if let Some(mut page) = page(&bytes, &PageLayout::usual(endian, 4096)) {
                let mut n = 0;
                while let Ok(Some(record)) = page.records.next_record() {
                    prop_assert!(record.data.len() <= 4080);
                    n += 1;
                    prop_assert!(n <= 1020);
                }
            }
        }
    }
}
