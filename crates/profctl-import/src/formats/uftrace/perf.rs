//! Records of `perf-cpuN.dat`: those of Linux's perf events that uftrace asks for, as the kernel
//! wrote them. Each begins with its type (4 bytes), flags (2) and size (2).

use crate::bytes::{self, Endian};

/// Bytes of the head of a record.
const HEAD: usize = 8;
/// Bytes of the process, thread and time that end a record.
const SAMPLE_ID: usize = 16;
const LOST: u64 = 2;
const COMM: u64 = 3;
const EXIT: u64 = 4;
const FORK: u64 = 7;
const SWITCH: u64 = 14;
/// The thread left the CPU.
const OUT: u64 = 1 << 13;
/// It would have gone on running.
const PREEMPTED: u64 = 1 << 14;

/// The contents of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    SwitchIn,
    SwitchOut {
        preempted: bool,
    },
    /// The thread has this name from now on.
    Name(String),
    /// The thread was created by that one.
    Fork {
        parent: u64,
    },
    Exit,
    /// The ring buffer overflowed; so many records are missing.
    Lost(u64),
    /// Another type, which uftrace does not ask for.
    Other,
}

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    /// Nanoseconds of the clock of the tasks' files.
    pub(super) time: u64,
    pub(super) pid: u64,
    pub(super) tid: u64,
    pub(super) kind: Kind,
}

/// The bytes of the record at the start of `bytes`, if its head is whole; 0 if it is not a record.
pub(super) fn size(bytes: &[u8], endian: Endian) -> Option<usize> {
    let size = bytes::integer(bytes, 6, 2, endian)? as usize;
    Some(if size < HEAD || !size.is_multiple_of(8) { 0 } else { size })
}

/// The record that `bytes` are.
pub(super) fn record(bytes: &[u8], endian: Endian) -> Option<Record> {
    let field = |offset, width| bytes::integer(bytes, offset, width, endian);
    let (kind, flags) = (field(0, 4)?, field(4, 2)?);
    let tail = bytes.len().checked_sub(SAMPLE_ID).filter(|&tail| tail >= HEAD)?;
    let (pid, tid, time) = (field(tail, 4)?, field(tail + 4, 4)?, field(tail + 8, 8)?);
    let own = || Some((field(HEAD, 4)?, field(HEAD + 4, 4)?));
    let (pid, tid, kind) = match kind {
        SWITCH if flags & OUT == 0 => (pid, tid, Kind::SwitchIn),
        SWITCH => (pid, tid, Kind::SwitchOut { preempted: flags & PREEMPTED != 0 }),
        COMM => {
            let name = bytes.get(HEAD + 8..tail)?;
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            let (pid, tid) = own()?;
            (pid, tid, Kind::Name(String::from_utf8_lossy(name).into_owned()))
        }
        FORK | EXIT => {
            let (pid, _) = own()?;
            let (tid, parent) = (field(HEAD + 8, 4)?, field(HEAD + 12, 4)?);
            let kind = if kind == FORK { Kind::Fork { parent } } else { Kind::Exit };
            return Some(Record { time: field(HEAD + 16, 8)?, pid, tid, kind });
        }
        LOST => (pid, tid, Kind::Lost(field(HEAD + 8, 8)?)),
        _ => (pid, tid, Kind::Other),
    };
    Some(Record { time, pid, tid, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64], endian: Endian) -> Vec<u8> {
        let spell = |&word: &u64| match endian {
            Endian::Little => word.to_le_bytes(),
            Endian::Big => word.to_be_bytes(),
        };
        words.iter().flat_map(spell).collect()
    }

    /// A head of type, flags and size, as a word.
    fn head(kind: u64, flags: u64, size: u64, endian: Endian) -> u64 {
        match endian {
            Endian::Little => kind | flags << 32 | size << 48,
            Endian::Big => kind << 32 | flags << 16 | size,
        }
    }

    fn pair(first: u64, second: u64, endian: Endian) -> u64 {
        if endian == Endian::Little { first | second << 32 } else { first << 32 | second }
    }

    #[test]
    fn every_type_in_both_orders() {
        for endian in [Endian::Little, Endian::Big] {
            let id = [pair(10, 11, endian), 77];
            let read = |kind, flags, words: &[u64]| {
                let size = 8 * (words.len() as u64 + 1);
                let bytes = bytes(&[&[head(kind, flags, size, endian)], words].concat(), endian);
                assert_eq!(super::size(&bytes, endian), Some(bytes.len()));
                for cut in 0..bytes.len() {
                    record(&bytes[..cut], endian);
                }
                record(&bytes, endian).unwrap()
            };
            let said = |kind| Record { time: 77, pid: 10, tid: 11, kind };
            assert_eq!(read(SWITCH, 0, &id), said(Kind::SwitchIn));
            let out = |preempted| said(Kind::SwitchOut { preempted });
            assert_eq!(read(SWITCH, 0x2000, &id), out(false));
            assert_eq!(read(SWITCH, 0x6000, &id), out(true));
            let task = [pair(10, 9, endian), pair(11, 8, endian), 55, pair(10, 11, endian), 77];
            let fork = Record { time: 55, pid: 10, tid: 11, kind: Kind::Fork { parent: 8 } };
            assert_eq!(read(FORK, 0, &task), fork);
            assert_eq!(read(EXIT, 0, &task), Record { kind: Kind::Exit, ..fork });
            let name = match endian {
                Endian::Little => 0x7a78,
                Endian::Big => 0x787a << 48,
            };
            let name = [pair(20, 21, endian), name, id[0], id[1]];
            let named = Record { time: 77, pid: 20, tid: 21, kind: Kind::Name("xz".into()) };
            assert_eq!(read(COMM, 0x2000, &name), named);
            assert_eq!(read(LOST, 0, &[1, 42, id[0], id[1]]), said(Kind::Lost(42)));
            assert_eq!(read(99, 0, &id), said(Kind::Other));
        }
    }

    #[test]
    fn what_has_no_size_is_no_record() {
        assert_eq!(size(&[0; 8], Endian::Little), Some(0));
        assert_eq!(size(&[0, 0, 0, 0, 0, 0, 13, 0], Endian::Little), Some(0));
        assert_eq!(size(&[0; 7], Endian::Little), None);
    }
}
