//! Properties of a log, from its head.

use super::clock::Clock;
use super::leader::StampKind;
use super::line::{Line, What, parse};
use crate::kernel_events::syscalls::is_linux_syscall;
use crate::text;

/// Stamps of seconds from here on count from 1970: 2001-09-09. Uptimes and differences are less.
const EPOCH_NANOS: u64 = 1_000_000_000 * 1_000_000_000;

/// What the head of a log holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Survey {
    /// Lines that are records.
    pub(crate) records: usize,
    /// Lines that are nothing of a log.
    pub(crate) others: usize,
    /// Of the calls: those that have the name of a Linux system call.
    pub(crate) syscalls: usize,
    /// Those that have not.
    pub(crate) functions: usize,
    /// Lines that only ltrace writes.
    pub(crate) of_ltrace: usize,
    /// What the stamps count from, if there are any.
    pub(crate) clock: Option<Clock>,
    /// Most digits after the point of a stamp.
    pub(crate) decimals: Option<u8>,
    /// Most digits after the point of a length.
    pub(crate) length_decimals: Option<u8>,
    /// Whether any call states its length.
    pub(crate) has_lengths: bool,
    /// Whether any line says who made it.
    pub(crate) has_ids: bool,
    /// The process that was there first, in output that names processes only while there are
    /// several.
    pub(crate) root: Option<u64>,
}

/// Looks through `head`; the last line may be cut and is omitted unless it is all there is.
pub(crate) fn survey(head: &[u8]) -> Survey {
    let mut found = Survey::default();
    let mut attached = Vec::new();
    for line in text::lines(head).filter(|line| line.ended) {
        let (leader, what) = match parse(line.text) {
            Line::Record(leader, what) => (leader, what),
            Line::Attached(tid) => {
                attached.push(tid);
                continue;
            }
            Line::Aside | Line::Torn => continue,
            Line::Other => {
                found.others += 1;
                continue;
            }
        };
        found.records += 1;
        if let Some(tid) = leader.who.tid {
            found.has_ids = true;
            if leader.who.is_labeled && found.root.is_none() && !attached.contains(&tid) {
                found.root = Some(tid);
            }
        }
        if let Some(stamp) = leader.stamp {
            found.decimals = found.decimals.max(Some(stamp.decimals));
            found.clock.get_or_insert(match stamp.kind {
                StampKind::TimeOfDay => Clock::TimeOfDay,
                StampKind::Seconds if stamp.nanos >= EPOCH_NANOS => Clock::Absolute,
                StampKind::Seconds => Clock::Relative,
            });
        }
        let name = match what {
            What::Call { name, length, result, .. } | What::Resumed { name, length, result } => {
                found.length(length);
                found.of_ltrace += usize::from(result == b"<void>");
                name
            }
            What::Open { name, .. } => {
                found.of_ltrace += usize::from(line.text.ends_with(b"<no return ...>"));
                name
            }
            What::Exit { text } => {
                found.of_ltrace += usize::from(text.starts_with(b"exited (status"));
                continue;
            }
            What::Signal { .. } => continue,
        };
        let is_syscall = is_linux_syscall(name) || name.starts_with(b"syscall_0x");
        found.syscalls += usize::from(is_syscall);
        found.functions += usize::from(!is_syscall && !name.is_empty());
        let of_ltrace = name.starts_with(b"SYS_") || memchr::memmem::find(name, b"->").is_some();
        found.of_ltrace += usize::from(of_ltrace);
    }
    found
}

impl Survey {
    fn length(&mut self, length: Option<super::line::Length>) {
        if let Some(length) = length {
            self.has_lengths = true;
            self.length_decimals = self.length_decimals.max(Some(length.decimals));
        }
    }

    /// Whether the head looks like a log of either tool at all.
    pub(crate) fn is_log(&self) -> bool {
        self.records > 0 && self.others * 4 <= self.records
    }

    /// Whether it is ltrace's: something only ltrace writes, or names that are no system calls.
    pub(crate) fn is_ltrace(&self) -> bool {
        self.of_ltrace > 0 || self.functions > self.syscalls
    }
}
