//! The dialects: where the fields of a record's header lie, and what the numbers of records mean.
//!
//! Headers and payloads follow each other without padding, so nothing is aligned; a field is read
//! where its kernel's compiler put it.

use crate::bytes::Endian;

/// What a record is about, as far as this reader cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    /// A system call was entered.
    Call,
    /// A system call was left.
    Return,
    /// A path was looked up.
    Path,
    /// A signal was delivered.
    Signal,
    /// The thread left its CPU or came back to one.
    Switch,
    /// The program said something with utrace(2); an identifier of so many bytes is before it.
    User {
        /// Bytes of the identifier.
        id: usize,
    },
    /// The process now makes the system calls of the system named.
    Emulation,
    /// The same in the flags of FreeBSD.
    Abi,
    /// The process is gone.
    ProcessEnd,
    /// A page fault began.
    Fault,
    /// The end of a page fault.
    FaultEnd,
    /// Nothing that has to do with time: data read and written, structures, arguments.
    Silent,
    /// The mark that OpenBSD puts at the start of a trace.
    Start,
    /// A number that is in no list.
    Unknown,
}

impl Record {
    /// Whether FreeBSD writes it for readers only (`PROCCTOR`, `PROCDTOR`): it has a time, but
    /// nothing happened then.
    pub(super) fn is_bookkeeping(self) -> bool {
        matches!(self, Self::Abi | Self::ProcessEnd)
    }
}

/// A field of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    /// Byte offset in the header.
    pub(super) at: usize,
    /// 2, 4 or 8 bytes.
    pub(super) width: usize,
}

const fn field(at: usize, width: usize) -> Field {
    Field { at, width }
}

/// Where everything is in a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Bytes of a header.
    pub(super) size: usize,
    /// Bytes of the payload.
    pub(super) length: Field,
    /// What the record is about, with flags.
    pub(super) kind: Field,
    /// The version of the record, where one is kept.
    pub(super) version: Option<Field>,
    /// The process.
    pub(super) pid: Field,
    /// The command, ended by a NUL within so many bytes.
    pub(super) comm: Field,
    /// Seconds since the epoch.
    pub(super) seconds: Field,
    /// The rest of the time, see [`Dialect::nanos`].
    pub(super) fraction: Field,
    /// The thread; absent where the field held a kernel's pointer.
    pub(super) thread: Option<Field>,
    /// The CPU.
    pub(super) cpu: Option<Field>,
}

/// Whose records they are: numbers of records and of system calls, and the layout of payloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum System {
    FreeBsd,
    NetBsd,
    OpenBsd,
    /// Before 5.5, when its header was that of 4.4BSD.
    OldOpenBsd,
    /// 4.4BSD itself and what stayed close to it.
    Bsd44,
    MacOs,
}

/// How a record says its version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    /// It does not; what lies there may be garbage.
    None,
    /// By a flag in the type, and a number from 1 on.
    Flagged,
    /// By a number.
    Number(u64),
}

/// One way to write a `ktrace.out`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dialect {
    /// What `--dialect` calls it, without the byte order.
    pub(super) name: &'static str,
    pub(super) system: System,
    pub(super) layout: Layout,
    pub(super) version: Version,
    /// Whether the fraction of a second counts nanoseconds, else microseconds.
    pub(super) nanos: bool,
    /// Bytes of a register of the kernel.
    pub(super) word: usize,
}

/// The header of 4.4BSD: 44 bytes with 32-bit words, 56 with 64-bit ones.
const fn classic(word: usize, comm: usize) -> Layout {
    Layout {
        size: 32 + 3 * word,
        length: field(0, 4),
        kind: field(4, 2),
        version: None,
        pid: field(8, 4),
        comm: field(12, comm),
        seconds: field(32, word),
        fraction: field(32 + word, word),
        thread: None,
        cpu: None,
    }
}

const fn freebsd_v0(word: usize) -> Layout {
    Layout { thread: Some(field(32 + 2 * word, word)), ..classic(word, 20) }
}

/// `time` is the width of seconds, and of the space that the fraction takes.
const fn freebsd_v1(word: usize, time: usize) -> Layout {
    let behind = 32 + 2 * time;
    Layout {
        size: behind + 2 * word,
        version: Some(field(6, 2)),
        seconds: field(32, time),
        fraction: field(32 + time, word),
        thread: Some(field(behind, word)),
        cpu: Some(field(behind + word, 4)),
        ..classic(word, 20)
    }
}

/// Version 0 where the time has 64 bits and registers 32, as on ARM.
const fn freebsd_v0_time64() -> Layout {
    Layout { size: 56, version: None, cpu: None, ..freebsd_v1(4, 8) }
}

/// Versions 0 and 1, whose seconds have 32 bits everywhere.
const fn netbsd_old(word: usize, has_thread: bool) -> Layout {
    Layout {
        version: Some(field(6, 2)),
        seconds: field(32, 4),
        thread: if has_thread { Some(field(32 + 2 * word, 4)) } else { None },
        ..classic(word, 17)
    }
}

/// `space` is what the fraction takes with its padding.
const fn netbsd_v2(word: usize, space: usize) -> Layout {
    Layout {
        size: 40 + 2 * space,
        version: Some(field(6, 2)),
        seconds: field(32, 8),
        fraction: field(40, word),
        thread: Some(field(40 + space, 4)),
        ..classic(word, 17)
    }
}

/// `time` is where the time lies, `space` what its fraction takes with its padding.
const fn openbsd(word: usize, time: usize, space: usize, comm: usize) -> Layout {
    let length = (time + 8 + space + comm).next_multiple_of(word);
    Layout {
        size: (length + word).next_multiple_of(space),
        length: field(length, word),
        kind: field(0, 4),
        version: None,
        pid: field(4, 4),
        comm: field(time + 8 + space, comm),
        seconds: field(time, 8),
        fraction: field(time + 8, word),
        thread: Some(field(8, 4)),
        cpu: None,
    }
}

const fn dialect(
    name: &'static str,
    system: System,
    layout: Layout,
    version: Version,
    nanos: bool,
    word: usize,
) -> Dialect {
    Dialect { name, system, layout, version, nanos, word }
}

/// Every dialect. Where two fit equally well, the earlier one is taken.
pub(super) static DIALECTS: &[Dialect] = {
    use System::{Bsd44, FreeBsd, MacOs, NetBsd, OldOpenBsd, OpenBsd};
    use Version::{Flagged, None, Number};
    &[
        dialect("freebsd-v1-64", FreeBsd, freebsd_v1(8, 8), Flagged, true, 8),
        dialect("freebsd-v1-32", FreeBsd, freebsd_v1(4, 4), Flagged, true, 4),
        dialect("freebsd-v1-32-time64", FreeBsd, freebsd_v1(4, 8), Flagged, true, 4),
        dialect("freebsd-v0-64", FreeBsd, freebsd_v0(8), None, false, 8),
        dialect("freebsd-v0-32", FreeBsd, freebsd_v0(4), None, false, 4),
        dialect("freebsd-v0-32-time64", FreeBsd, freebsd_v0_time64(), None, false, 4),
        dialect("netbsd-v2-64", NetBsd, netbsd_v2(8, 8), Number(2), true, 8),
        dialect("netbsd-v2-32", NetBsd, netbsd_v2(4, 4), Number(2), true, 4),
        dialect("netbsd-v2-32-aligned", NetBsd, netbsd_v2(4, 8), Number(2), true, 4),
        dialect("netbsd-v1-64", NetBsd, netbsd_old(8, true), Number(1), true, 8),
        dialect("netbsd-v1-32", NetBsd, netbsd_old(4, true), Number(1), true, 4),
        dialect("netbsd-v0-64", NetBsd, netbsd_old(8, false), Number(0), false, 8),
        dialect("netbsd-v0-32", NetBsd, netbsd_old(4, false), Number(0), false, 4),
        dialect("openbsd-64", OpenBsd, openbsd(8, 16, 8, 24), None, true, 8),
        dialect("openbsd-32", OpenBsd, openbsd(4, 12, 4, 24), None, true, 4),
        dialect("openbsd-32-comm17", OpenBsd, openbsd(4, 12, 4, 17), None, true, 4),
        dialect("openbsd-32-aligned", OpenBsd, openbsd(4, 16, 8, 24), None, true, 4),
        dialect("macos-32", MacOs, classic(4, 17), None, false, 4),
        dialect("bsd44-32", Bsd44, classic(4, 17), None, false, 4),
        dialect("bsd44-64", Bsd44, classic(8, 17), None, false, 8),
        dialect("openbsd-old-32", OldOpenBsd, classic(4, 17), None, false, 4),
        dialect("openbsd-old-64", OldOpenBsd, classic(8, 17), None, false, 8),
    ]
};

impl Dialect {
    /// The dialect as a machine of that byte order writes it. NetBSD keeps version and type in one
    /// 32-bit word, so they change places.
    pub(super) fn on(self, endian: Endian) -> Self {
        let mut layout = self.layout;
        if self.system == System::NetBsd && endian == Endian::Big {
            layout.version = Some(field(4, 2));
            layout.kind = field(6, 2);
        }
        Self { layout, ..self }
    }

    /// The full name: the byte order is stated where it is the rarer one.
    pub(super) fn full_name(&self, endian: Endian) -> String {
        match endian {
            Endian::Little => self.name.to_owned(),
            Endian::Big => format!("{}-be", self.name),
        }
    }

    /// What a record of this number is.
    #[inline]
    pub(super) fn record(&self, kind: u32) -> Record {
        match (kind, self.system) {
            (1, _) => Record::Call,
            (2, _) => Record::Return,
            (3, _) => Record::Path,
            (5, _) => Record::Signal,
            (4, _)
            | (6..=8 | 10..=13, System::OpenBsd)
            | (8 | 9 | 12 | 15..=19, System::FreeBsd)
            | (10 | 11 | 13..=15, System::NetBsd)
            | (8, System::OldOpenBsd) => Record::Silent,
            (6, _) => Record::Switch,
            (7, System::NetBsd | System::OldOpenBsd) => Record::Emulation,
            (7, System::FreeBsd | System::MacOs | System::Bsd44) => Record::User { id: 0 },
            (8, System::NetBsd) | (9, System::OpenBsd) => Record::User { id: 20 },
            (10, System::FreeBsd) => Record::Abi,
            (11, System::FreeBsd) => Record::ProcessEnd,
            (13, System::FreeBsd) => Record::Fault,
            (14, System::FreeBsd) => Record::FaultEnd,
            _ => Record::Unknown,
        }
    }
}

/// Every name that `--dialect` takes, in the order of the list.
pub(super) fn names() -> String {
    let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    format!("{}; `-le` or `-be` after it sets the byte order", names.join(", "))
}

/// The dialect of a name, and the byte order if the name states it.
pub(super) fn by_name(name: &str) -> Option<(&'static Dialect, Option<Endian>)> {
    let (name, endian) = match (name.strip_suffix("-be"), name.strip_suffix("-le")) {
        (Some(name), _) => (name, Some(Endian::Big)),
        (_, Some(name)) => (name, Some(Endian::Little)),
        _ => (name, None),
    };
    DIALECTS.iter().find(|dialect| dialect.name == name).map(|found| (found, endian))
}
