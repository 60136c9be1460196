//! Writes `ktrace.out` for the tests: the headers are declared here field by field as the kernels'
//! C structures, and laid out by the rules of each machine, so that the offsets which the reader
//! holds have something to be wrong against.

use super::dialect::{Dialect, System};
use crate::bytes::Endian;

/// What a record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    Call { number: u16, arguments: usize },
    Return { number: u16, failed: bool },
    Path(String),
    Data(Vec<u8>),
    Signal(u32),
    Switch { out: bool, preempted: bool },
    Fault,
    FaultEnd,
    User(String),
    Emulation(&'static str),
    Abi(u32),
    ProcessEnd,
    Start,
}

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    pub(super) what: What,
    pub(super) pid: u32,
    pub(super) thread: u32,
    pub(super) cpu: u32,
    pub(super) comm: &'static str,
    /// Nanoseconds; a dialect that counts microseconds drops the rest.
    pub(super) time: u64,
    pub(super) dropped: bool,
}

/// A member of a C structure.
enum C {
    Short(i64),
    Int(i64),
    /// 64 bits.
    Wide(i64),
    /// As wide as a register.
    Long(i64),
    Chars(Vec<u8>, usize),
    Struct(Vec<C>),
}

/// The rules of a machine.
#[derive(Clone, Copy)]
struct Machine {
    word: usize,
    /// How 64-bit integers are aligned.
    wide_align: usize,
    endian: Endian,
}

impl Machine {
    fn integer(self, value: i64, width: usize) -> Vec<u8> {
        match self.endian {
            Endian::Little => value.to_le_bytes()[..width].to_vec(),
            Endian::Big => value.to_be_bytes()[8 - width..].to_vec(),
        }
    }

    /// The bytes of a structure, padded, and its alignment.
    fn lay(self, members: &[C]) -> (Vec<u8>, usize) {
        let (mut bytes, mut align) = (Vec::new(), 1);
        for member in members {
            let (laid, own) = match member {
                C::Short(value) => (self.integer(*value, 2), 2),
                C::Int(value) => (self.integer(*value, 4), 4),
                C::Wide(value) => (self.integer(*value, 8), self.wide_align),
                C::Long(value) => (self.integer(*value, self.word), self.word),
                C::Chars(text, size) => {
                    let mut field = text.clone();
                    field.resize(*size, 0);
                    (field, 1)
                }
                C::Struct(members) => self.lay(members),
            };
            bytes.resize(bytes.len().next_multiple_of(own), 0);
            bytes.extend(laid);
            align = align.max(own);
        }
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        (bytes, align)
    }
}

/// Whether `dialect` has records that say this.
pub(super) fn can_say(dialect: &Dialect, what: &What) -> bool {
    match what {
        What::Fault | What::FaultEnd | What::Abi(_) | What::ProcessEnd => {
            dialect.system == System::FreeBsd
        }
        What::Switch { .. } => dialect.system != System::OpenBsd,
        What::User(_) => dialect.system != System::OldOpenBsd,
        What::Emulation(_) => matches!(dialect.system, System::NetBsd | System::OldOpenBsd),
        What::Start => dialect.system == System::OpenBsd,
        _ => true,
    }
}

/// The records as a machine of that byte order writes them.
pub(super) fn encode(dialect: &Dialect, endian: Endian, records: &[Said]) -> Vec<u8> {
    records.iter().flat_map(|said| record(dialect, endian, said)).collect()
}

fn record(dialect: &Dialect, endian: Endian, said: &Said) -> Vec<u8> {
    let is_wide = dialect.word == 8 || dialect.name.ends_with("aligned");
    let machine = Machine {
        word: dialect.word,
        wide_align: if is_wide || dialect.name.ends_with("time64") { 8 } else { 4 },
        endian,
    };
    let (kind, payload) = payload(dialect, machine, &said.what);
    let mut bytes = header(dialect, machine, said, kind, payload.len());
    bytes.extend(payload);
    bytes
}

fn header(dialect: &Dialect, machine: Machine, said: &Said, kind: i64, length: usize) -> Vec<u8> {
    let name = dialect.name;
    let length = length as i64;
    let (pid, thread) = (i64::from(said.pid), i64::from(said.thread));
    let seconds = (said.time / 1_000_000_000) as i64;
    let nanos = (said.time % 1_000_000_000) as i64;
    let micros = nanos / 1_000;
    let comm = |size| C::Chars(said.comm.as_bytes().to_vec(), size);
    let pointer = C::Long(0x17e3_be90); // as a kernel leaves it there
    if dialect.system == System::OpenBsd {
        let is_start = said.what == What::Start;
        let size = if name.ends_with("comm17") { 17 } else { 24 };
        let (pid, thread) = if is_start { (-1, -1) } else { (pid, thread) };
        let comm = if is_start { C::Chars(Vec::new(), size) } else { comm(size) };
        let time = C::Struct(vec![C::Wide(seconds), C::Long(nanos)]);
        let kind = if is_start { C::Chars(b"KTR\0".to_vec(), 4) } else { C::Int(kind) };
        return machine.lay(&[kind, C::Int(pid), C::Int(thread), time, comm, C::Long(length)]).0;
    }
    let mut flags = if said.dropped { 0x8000 } else { 0 };
    let time_t = |seconds| {
        if name.ends_with("time64") { C::Wide(seconds) } else { C::Long(seconds) }
    };
    // The padding after the type is intentionally garbage.
    let (first, second, size, rest) = match name {
        _ if name.starts_with("freebsd-v1") => {
            flags |= 0x4000;
            let time = C::Struct(vec![time_t(seconds), C::Long(nanos)]);
            let rest = vec![time, C::Long(thread), C::Int(i64::from(said.cpu))];
            (kind | flags, 1, 20, rest)
        }
        _ if name.starts_with("freebsd-v0") => {
            let time = C::Struct(vec![time_t(seconds), C::Long(micros)]);
            (kind | flags, 0x40, 20, vec![time, C::Long(thread)])
        }
        _ if name.starts_with("netbsd") => {
            let (version, body) = match &name[..9] {
                "netbsd-v0" => {
                    let time = C::Struct(vec![C::Int(seconds), C::Long(micros)]);
                    (0, vec![time, pointer])
                }
                "netbsd-v1" => {
                    let time = C::Struct(vec![C::Int(seconds), C::Long(nanos)]);
                    (1, vec![time, C::Int(thread)])
                }
                _ => {
                    let time = C::Struct(vec![C::Wide(seconds), C::Long(nanos)]);
                    (2, vec![time, C::Int(thread)])
                }
            };
            let (first, second) = match machine.endian {
                Endian::Little => (kind, version),
                Endian::Big => (version, kind),
            };
            (first, second, 17, vec![C::Struct(body)])
        }
        _ => {
            let time = C::Struct(vec![C::Long(seconds), C::Long(micros)]);
            (kind, 0x40, 17, vec![time, pointer])
        }
    };
    let mut members = vec![C::Int(length), C::Short(first), C::Short(second), C::Int(pid)];
    members.push(comm(size));
    members.extend(rest);
    machine.lay(&members).0
}

fn payload(dialect: &Dialect, machine: Machine, what: &What) -> (i64, Vec<u8>) {
    let system = dialect.system;
    let is_net_or_open = matches!(system, System::NetBsd | System::OpenBsd | System::OldOpenBsd);
    let lay = |members: &[C]| machine.lay(members).0;
    match what {
        What::Call { number, arguments } => {
            let number = i64::from(*number);
            let argument = if system == System::MacOs { 8 } else { machine.word };
            let size = (arguments * argument) as i64;
            let mut bytes = if is_net_or_open {
                lay(&[C::Int(number), C::Int(size)])
            } else if system == System::MacOs {
                lay(&[C::Short(number), C::Short(*arguments as i64)])
            } else {
                // The array of arguments aligns the structure.
                let members = [C::Short(number), C::Short(*arguments as i64), C::Long(0)];
                let mut bytes = lay(&members);
                bytes.truncate(bytes.len() - machine.word);
                bytes
            };
            bytes.extend((0..*arguments).flat_map(|at| machine.integer(at as i64 + 1, argument)));
            (1, bytes)
        }
        What::Return { number, failed } => {
            let (number, error) = (i64::from(*number), if *failed { 2 } else { 0 });
            let mut members = if system == System::OpenBsd {
                vec![C::Int(number), C::Int(error)]
            } else {
                vec![C::Short(number), C::Short(0), C::Int(error)]
            };
            match system {
                System::OpenBsd if *failed => {}
                System::NetBsd => members.extend([C::Long(3), C::Long(0)]),
                _ => members.push(C::Long(3)),
            }
            (2, lay(&members))
        }
        What::Path(path) => (3, path.clone().into_bytes()),
        What::Data(data) => {
            let mut bytes = lay(&[C::Int(3), C::Int(0)]);
            bytes.extend(data);
            (4, bytes)
        }
        What::Signal(number) => {
            (5, lay(&[C::Int(i64::from(*number)), C::Long(0), C::Int(0), C::Chars(Vec::new(), 16)]))
        }
        What::Switch { out, preempted } => {
            (6, lay(&[C::Int(i64::from(*out)), C::Int(i64::from(*preempted))]))
        }
        What::Fault => (13, lay(&[C::Long(0x1000), C::Int(1)])),
        What::FaultEnd => (14, lay(&[C::Int(0)])),
        What::User(text) => {
            let text = C::Chars(text.clone().into_bytes(), text.len());
            match system {
                System::NetBsd => (8, lay(&[C::Chars(b"profctl".to_vec(), 20), text])),
                System::OpenBsd => (9, lay(&[C::Chars(b"profctl".to_vec(), 20), text])),
                _ => (7, lay(&[text])),
            }
        }
        What::Emulation(name) => (7, name.as_bytes().to_vec()),
        What::Abi(flags) => (10, lay(&[C::Int(i64::from(*flags))])),
        What::ProcessEnd => (11, Vec::new()),
        What::Start => (0, Vec::new()),
    }
}
