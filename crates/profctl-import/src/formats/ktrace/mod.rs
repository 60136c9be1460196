//! What the kernels of the BSDs write when a process is traced with ktrace(1): system calls,
//! context switches, page faults, signals, and what programs say with utrace(2).
//!
//! There is no header and no magic number. Each system, each word size and each byte order has its
//! own record; which one it is comes out of following the records ([`detect`]).

use profctl_model::{Ticks, Timebase};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::bytes::{Endian, little};
use crate::files::Files;

mod detect;
mod dialect;
#[cfg(test)]
mod encode;
mod header;
mod names;
mod payload;
#[cfg(test)]
mod properties;
mod records;
mod syscalls;
#[cfg(test)]
mod tests;

use dialect::{Dialect, System};
use records::{Before, Records};

/// The importer of `ktrace`.
pub struct Ktrace;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "ktrace",
    about: "system calls of FreeBSD, NetBSD, OpenBSD, 4.4BSD or old macOS (ktrace.out)",
    recognized: "by records that follow each other in one of its dialects; `--dialect` names one",
    codes: &[&records::UNKNOWN_RECORD],
    ..Descriptor::PLAIN
};

impl Importer for Ktrace {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if is_kdebug(head) {
            return Recognition::Neighbor(
                "is a kdebug file, which the ktrace of today's macOS writes, not a ktrace.out of \
                 a BSD: record with `dtrace -F` instead"
                    .into(),
            );
        }
        match detect::best(head, true) {
            None => Recognition::No,
            Some(found) => {
                let what = describe(&found.dialect, found.endian);
                match found.records {
                    1 => Recognition::Maybe(format!("a record of {what}")),
                    n => Recognition::Yes(format!("{n} records of {what} follow each other")),
                }
            }
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let (dialect, endian) = match &options.dialect {
            Some(name) => detect::forced(name, head)?,
            None => match detect::best(head, true).or_else(|| detect::best(head, false)) {
                Some(found) => (found.dialect, found.endian),
                None => {
                    return Err(ImportError::whole(format!(
                        "no record of ktrace.out begins here; `--dialect NAME` forces one of {}",
                        dialect::names()
                    )));
                }
            },
        };
        let resolution = if dialect.nanos { Ticks(1) } else { Ticks(1_000) };
        Ok(Opened::records(
            Timebase { resolution, ..Timebase::NANOSECONDS },
            Box::new(Records::new(dialect, endian)),
        )
        .with_facts(vec![("dialect", describe(&dialect, endian))])
        .with_state(std::sync::Arc::new(Before::default())))
    }
}

/// The dialect in words, its name first.
fn describe(dialect: &Dialect, endian: Endian) -> String {
    let system = match dialect.system {
        System::FreeBsd => "FreeBSD",
        System::NetBsd => "NetBSD",
        System::OpenBsd => "OpenBSD",
        System::OldOpenBsd => "OpenBSD before 5.5",
        System::Bsd44 => "4.4BSD",
        System::MacOs => "macOS before 10.5",
    };
    let order = match endian {
        Endian::Little => "little-endian",
        Endian::Big => "big-endian",
    };
    format!("{} ({system}, {} bits, {order})", dialect.full_name(endian), dialect.word * 8)
}

/// Whether `head` is that of a file of macOS's kernel trace facility, in any of its versions.
fn is_kdebug(head: &[u8]) -> bool {
    let word = |at: usize| head.get(at..at + 4).map_or(0, little);
    match word(0) {
        0x55aa_0101 | 0x55aa_0200 => true,
        // The newest has a weak mark; the ratio of its clock is one of few.
        0x1000 => matches!((word(16), word(20)), (1, 1) | (125, 3)),
        _ => false,
    }
}
