//! `ktrace.out`: system calls, what a program announces with utrace(2), and switches, of which each
//! thread writes its own half.

use super::{kernel, tid};
use crate::execution::{Execution, Leaves, What};

/// Whose records they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ktrace {
    /// FreeBSD from 14 on, 64 bits.
    FreeBsd {
        /// The first byte is the highest.
        big_endian: bool,
    },
    /// NetBSD from 5 on, 64 bits.
    NetBsd,
    /// OpenBSD from 5.5 on, 64 bits; it has no switches.
    OpenBsd,
}

const PROCESS: u64 = 100;
const EPOCH: u64 = 1_700_000_000;
const CALL: u64 = 1;
const RETURN: u64 = 2;
const SWITCH: u64 = 6;

/// Records in the making.
struct Records {
    system: Ktrace,
    out: Vec<u8>,
    /// What was dropped before the next record.
    dropped: bool,
}

impl Records {
    fn numbers(&self, numbers: &[(u64, usize)]) -> Vec<u8> {
        let is_big = matches!(self.system, Ktrace::FreeBsd { big_endian: true });
        let bytes = |&(value, width): &(u64, usize)| {
            if is_big {
                value.to_be_bytes()[8 - width..].to_vec()
            } else {
                value.to_le_bytes()[..width].to_vec()
            }
        };
        numbers.iter().flat_map(bytes).collect()
    }

    fn record(&mut self, kind: u64, thread: u64, cpu: usize, time: u64, payload: &[u8]) {
        let (seconds, nanos) = (EPOCH + time / 1_000_000_000, time % 1_000_000_000);
        let length = payload.len() as u64;
        let comm = |size: usize| {
            let mut comm = b"made".to_vec();
            comm.resize(size, 0);
            comm
        };
        match self.system {
            Ktrace::FreeBsd { .. } => {
                let dropped = if std::mem::take(&mut self.dropped) { 0x8000 } else { 0 };
                let head = [(length, 4), (kind | 0x4000 | dropped, 2), (1, 2), (PROCESS, 4)];
                self.out.extend(self.numbers(&head));
                self.out.extend(comm(20));
                let rest = [(seconds, 8), (nanos, 8), (thread, 8), (cpu as u64, 4), (0, 4)];
                self.out.extend(self.numbers(&rest));
            }
            Ktrace::NetBsd => {
                let head = [(length, 4), (kind, 2), (2, 2), (PROCESS, 4)];
                self.out.extend(self.numbers(&head));
                self.out.extend(comm(20));
                let rest = [(seconds, 8), (nanos, 8), (thread, 4), (0, 4)];
                self.out.extend(self.numbers(&rest));
            }
            Ktrace::OpenBsd => {
                let head = [(kind, 4), (PROCESS, 4), (thread, 4), (0, 4), (seconds, 8), (nanos, 8)];
                self.out.extend(self.numbers(&head));
                self.out.extend(comm(24));
                self.out.extend(self.numbers(&[(length, 8)]));
            }
        }
        self.out.extend(payload);
    }

    /// A system call, of which these BSDs have the same numbers.
    fn call(&self, number: u64) -> Vec<u8> {
        match self.system {
            Ktrace::FreeBsd { .. } => self.numbers(&[(number, 2), (1, 2), (0, 4), (7, 8)]),
            Ktrace::NetBsd | Ktrace::OpenBsd => self.numbers(&[(number, 4), (8, 4), (7, 8)]),
        }
    }

    fn returned(&self, number: u64) -> Vec<u8> {
        match self.system {
            Ktrace::FreeBsd { .. } => self.numbers(&[(number, 2), (0, 2), (0, 4), (3, 8)]),
            Ktrace::NetBsd => self.numbers(&[(number, 2), (0, 2), (0, 4), (3, 8), (0, 8)]),
            Ktrace::OpenBsd => self.numbers(&[(number, 4), (0, 4), (3, 8)]),
        }
    }

    fn announcement(&self, is_entry: bool, name: &str) -> (u64, Vec<u8>) {
        let text = format!("pf{}{name}", if is_entry { '>' } else { '<' });
        let mut payload = match self.system {
            Ktrace::FreeBsd { .. } => Vec::new(),
            Ktrace::NetBsd | Ktrace::OpenBsd => b"profctl\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        };
        payload.extend(text.into_bytes());
        let kind = match self.system {
            Ktrace::FreeBsd { .. } => 7,
            Ktrace::NetBsd => 8,
            Ktrace::OpenBsd => 9,
        };
        (kind, payload)
    }
}

/// The records, and the execution with the names of the system calls. Calls without callees are
/// system calls if `has_syscalls`, else all are functions that the program announces.
pub fn ktrace(execution: &Execution, system: Ktrace, has_syscalls: bool) -> (Vec<u8>, Execution) {
    let mut named = execution.clone();
    if has_syscalls {
        kernel::bsd_calls(&mut named);
    }
    let mut records = Records { system, out: Vec::new(), dropped: false };
    let thread = |thread: usize| 100_000 + tid(thread) as u64;
    let mut was_there = vec![false; execution.n_threads];
    if let (Ktrace::FreeBsd { .. }, Some(first)) = (system, execution.records.first()) {
        // That it is a program of FreeBSD, from the time when it was made; nothing happened then.
        let flags = records.numbers(&[(0x109, 4)]);
        records.record(10, thread(0), first.cpu, 0, &flags);
    }
    for record in &execution.records {
        let Execution { calls, .. } = execution;
        match record.what {
            What::Enter(call) | What::Exit(call) => {
                let is_entry = matches!(record.what, What::Enter(_));
                was_there[calls[call].thread] = true;
                let (kind, payload) = if has_syscalls {
                    let number = kernel::BSD_NUMBERS[calls[call].function].0;
                    if is_entry {
                        (CALL, records.call(number))
                    } else {
                        (RETURN, records.returned(number))
                    }
                } else {
                    records.announcement(is_entry, execution.name(call))
                };
                let of = thread(calls[call].thread);
                records.record(kind, of, record.cpu, record.time, &payload);
            }
            What::Switch { prev, leaves, next } if system != Ktrace::OpenBsd => {
                if let Some(prev) = prev {
                    let user = u64::from(leaves == Leaves::Runnable);
                    let out = records.numbers(&[(1, 4), (user, 4)]);
                    records.record(SWITCH, thread(prev), record.cpu, record.time, &out);
                    was_there[prev] = true;
                }
                // The first time, a thread does not come back from a switch.
                if let Some(next) = next.filter(|next| was_there[*next]) {
                    let back = records.numbers(&[(0, 4), (0, 4)]);
                    records.record(SWITCH, thread(next), record.cpu, record.time, &back);
                }
            }
            What::Lost(_) => records.dropped = true,
            What::Switch { .. } | What::Wake(_) => {}
        }
    }
    (records.out, named)
}
