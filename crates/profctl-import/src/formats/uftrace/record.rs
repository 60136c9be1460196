//! Records of a task's file `TID.dat`: 16 bytes each, then data where the record says so.
//!
//! The second word holds, from its lowest bit: kind (2 bits), whether data follows (1), the number
//! 5 (3), depth (10), address (48). Recorders that filled it as a bit field on a big-endian machine
//! have the same fields from its highest bit.

use crate::bytes::{Endian, big, little};

/// Bytes of a record without its data.
pub(super) const RECORD: usize = 16;
/// What the magic field of every record holds.
const MAGIC: u64 = 5;
/// Bytes of data after a record at most: uftrace keeps arguments in a buffer of 1 KiB.
const DATA_MAX: usize = 1 << 10;
/// How far apart two records of a task may be before the bytes count as no record, ns: 26 days.
const SPAN_MAX: u64 = 1 << 51;
/// Bytes from which the layout is detected.
const LOOKED_AT: usize = 64 * RECORD;
/// Bits of the depth.
const DEPTH_BITS: u32 = 10;
/// Bits of the address.
const ADDRESS_BITS: u32 = 48;

/// The contents of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Entry,
    Exit,
    /// Records were lost; the address is how many.
    Lost,
    /// The address is the number of the event.
    Event,
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    /// Nanoseconds of the recorder's clock; 0 for [`Kind::Lost`].
    pub(super) time: u64,
    pub(super) kind: Kind,
    /// Whether data follows.
    pub(super) has_data: bool,
    /// Callers above it.
    pub(super) depth: u16,
    /// Of the function.
    pub(super) address: u64,
}

/// How the words of records are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Layout {
    pub(super) endian: Endian,
    /// Whether fields begin at the highest bit of their word.
    pub(super) from_top: bool,
}

/// What follows the bytes that are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// More bytes of the file, which are not here yet.
    More,
    /// Another block: the bytes end after a record whose end is certain.
    Block,
    /// Nothing.
    End,
}

/// What is at some place of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A record, with the bytes that it and its data take, and whether a block may end after it:
    /// reading it alone must find the same end.
    Record(Record, usize, bool),
    /// More bytes are needed.
    Short,
    /// That many bytes that are no record.
    Damaged(usize),
}

impl Layout {
    /// The layout of a file that begins with `bytes`.
    pub(super) fn of(endian: Endian, bytes: &[u8]) -> Self {
        let layout = |from_top| Self { endian, from_top };
        let hits = |from_top| {
            let starts = (0..bytes.len().min(LOOKED_AT)).step_by(RECORD);
            starts.filter(|&at| layout(from_top).record(bytes, at).is_some()).count()
        };
        layout(endian == Endian::Big && hits(true) > hits(false))
    }

    /// The record at `at`, if there is one.
    #[inline]
    pub(super) fn record(self, bytes: &[u8], at: usize) -> Option<Record> {
        let bytes = bytes.get(at..at + RECORD)?;
        let word = |bytes| if self.endian == Endian::Little { little(bytes) } else { big(bytes) };
        let (time, word) = (word(&bytes[..8]), word(&bytes[8..]));
        let field = |from: u32, bits: u32| {
            let shift = if self.from_top { u64::BITS - from - bits } else { from };
            word >> shift & ((1 << bits) - 1)
        };
        if field(3, 3) != MAGIC {
            return None;
        }
        let kind = match field(0, 2) {
            0 => Kind::Entry,
            1 => Kind::Exit,
            2 => Kind::Lost,
            _ => Kind::Event,
        };
        Some(Record {
            time,
            kind,
            has_data: field(2, 1) == 1,
            depth: field(6, DEPTH_BITS) as u16,
            address: field(16, ADDRESS_BITS),
        })
    }

    /// What is at `at`. `size` says how many bytes of data a record has, if that is known. Depends
    /// on nothing but the bytes from there on, so that blocks can be read alone.
    #[inline]
    pub(super) fn step(
        self,
        bytes: &[u8],
        at: usize,
        behind: Behind,
        size: impl FnOnce(&Record, &[u8]) -> Option<usize>,
    ) -> Step {
        if bytes.len() - at < RECORD {
            return Step::Short;
        }
        match self.record(bytes, at) {
            Some(record) if record.has_data => {
                let data = &bytes[at + RECORD..];
                self.with_data(record, data, behind, size(&record, data))
            }
            // What follows a loss shows when it was.
            Some(record) => Step::Record(record, RECORD, record.kind != Kind::Lost),
            None => self.resume(&bytes[at..], behind),
        }
    }

    fn with_data(self, record: Record, data: &[u8], behind: Behind, size: Option<usize>) -> Step {
        if let Some(size) = size {
            let fits = match self.record(data, size) {
                Some(next) => may_follow(&record, &next),
                None => data.len() == size && behind != Behind::More,
            };
            if fits {
                return Step::Record(record, RECORD + size, record.kind != Kind::Lost);
            }
        }
        if behind == Behind::More && data.len() < DATA_MAX + RECORD {
            return Step::Short;
        }
        // It is not known how long the data is: decided by the next record.
        let next = (8..=DATA_MAX.min(data.len())).step_by(8).find(|&at| {
            self.record(data, at).is_some_and(|next| follows(&record, &next))
                || (behind == Behind::End && at == data.len())
        });
        match next {
            Some(found) => Step::Record(record, RECORD + found, false),
            None => Step::Damaged(RECORD),
        }
    }

    /// Looks for the next record after bytes that are none: two in a row that fit.
    fn resume(self, rest: &[u8], behind: Behind) -> Step {
        if behind == Behind::More && rest.len() < DATA_MAX + 2 * RECORD {
            return Step::Short;
        }
        let fits = |&at: &usize| {
            let Some(first) = self.record(rest, at).filter(|first| !first.has_data) else {
                return false;
            };
            match self.record(rest, at + RECORD) {
                Some(second) => follows(&first, &second),
                None => behind != Behind::More && at + RECORD == rest.len(),
            }
        };
        let last = DATA_MAX.min(rest.len());
        Step::Damaged((8..last).step_by(8).find(fits).unwrap_or(last))
    }
}

/// Whether `next` may be the record after `record`, going by its time.
fn may_follow(record: &Record, next: &Record) -> bool {
    next.kind == Kind::Lost
        || record.kind == Kind::Lost
        || next.time.checked_sub(record.time).is_some_and(|gone| gone < SPAN_MAX)
}

/// Whether `next` is what one expects after `record`.
fn follows(record: &Record, next: &Record) -> bool {
    let depth = match (record.kind, next.kind) {
        (Kind::Entry, Kind::Entry) => next.depth == record.depth + 1,
        (Kind::Entry, Kind::Exit) | (Kind::Exit, Kind::Entry) => next.depth == record.depth,
        (Kind::Exit, Kind::Exit) => next.depth + 1 == record.depth,
        (_, Kind::Event) => next.depth <= record.depth + 1 && next.address < 1 << 24,
        (Kind::Event | Kind::Lost, _) => true,
        (_, Kind::Lost) => next.time == 0,
    };
    depth && may_follow(record, next)
}

/// The bytes of data of an event: a length of two bytes, then that many, to the next multiple of 8.
pub(super) fn event_size(data: &[u8], endian: Endian) -> Option<usize> {
    let length = crate::bytes::integer(data, 0, 2, endian)?;
    usize::try_from(length + 2).ok().map(|size| size.next_multiple_of(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Record = Record {
        time: 100,
        kind: Kind::Entry,
        has_data: false,
        depth: 3,
        address: 0x5566_7788_99aa,
    };

    fn spell(layout: Layout, record: &Record) -> Vec<u8> {
        let kind = match record.kind {
            Kind::Entry => 0,
            Kind::Exit => 1,
            Kind::Lost => 2,
            Kind::Event => 3,
        };
        let mut word = 0;
        let fields = [
            (kind, 0, 2),
            (u64::from(record.has_data), 2, 1),
            (5, 3, 3),
            (u64::from(record.depth), 6, 10),
            (record.address, 16, 48),
        ];
        for (value, from, bits) in fields {
            word |= value << if layout.from_top { 64 - from - bits } else { from };
        }
        let bytes = |n: u64| match layout.endian {
            Endian::Little => n.to_le_bytes(),
            Endian::Big => n.to_be_bytes(),
        };
        [bytes(record.time), bytes(word)].concat()
    }

    const LAYOUTS: [Layout; 3] = [
        Layout { endian: Endian::Little, from_top: false },
        Layout { endian: Endian::Big, from_top: false },
        Layout { endian: Endian::Big, from_top: true },
    ];

    #[test]
    fn every_layout_is_told_from_its_first_record() {
        for layout in LAYOUTS {
            let mut bytes = Vec::new();
            for (n, kind) in
                [Kind::Entry, Kind::Exit, Kind::Lost, Kind::Event].into_iter().enumerate()
            {
                let record =
                    Record { kind, depth: 1023, address: ENTRY.address + n as u64, ..ENTRY };
                bytes.extend(spell(layout, &record));
                assert_eq!(layout.record(&bytes, n * RECORD), Some(record));
            }
            bytes.extend(spell(layout, &Record { address: 0x5566_7788_99b1, ..ENTRY }));
            assert_eq!(Layout::of(layout.endian, &bytes), layout);
        }
    }

    #[test]
    fn data_is_as_long_as_said_or_reaches_to_the_next_record() {
        let exit = Record { time: 200, kind: Kind::Exit, ..ENTRY };
        for layout in LAYOUTS {
            let with_data = spell(layout, &Record { has_data: true, ..ENTRY });
            for size in [8, 24, 1024] {
                let data = vec![0x2d; size];
                let bytes = [with_data.clone(), data, spell(layout, &exit)].concat();
                for known in [None, Some(size), Some(8)] {
                    let step = layout.step(&bytes, 0, Behind::End, |_, _| known);
                    let Step::Record(record, length, _) = step else { panic!("{step:?}") };
                    assert!(record.has_data);
                    assert_eq!(length, RECORD + size, "{known:?}");
                }
            }
        }
    }

    #[test]
    fn a_record_is_told_alike_once_enough_bytes_are_there() {
        let layout = LAYOUTS[0];
        let mut bytes = spell(layout, &Record { has_data: true, ..ENTRY });
        bytes.extend([7; 40]);
        bytes.extend(spell(layout, &Record { time: 150, kind: Kind::Exit, ..ENTRY }));
        bytes.extend([9; 2048]);
        let whole = layout.step(&bytes, 0, Behind::End, |_, _| None);
        for cut in 0..bytes.len() {
            let step = layout.step(&bytes[..cut], 0, Behind::More, |_, _| None);
            assert!(step == Step::Short || step == whole, "{cut}: {step:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_record_are_passed_over() {
        let layout = LAYOUTS[0];
        let exit = Record { time: 200, kind: Kind::Exit, ..ENTRY };
        let bytes = [vec![0; 24], spell(layout, &ENTRY), spell(layout, &exit)].concat();
        assert_eq!(layout.step(&bytes, 0, Behind::End, |_, _| None), Step::Damaged(24));
        assert_eq!(layout.step(&[0; 40], 0, Behind::End, |_, _| None), Step::Damaged(40));
    }
}
