//! The loop over records.
//!
//! A block is read alone but for two things that a record may say of those after it: a process that
//! uses the numbers of another system, and bytes that are no record and reach past the block.

use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::{Code, Severity};

use super::dialect::{Dialect, Record};
use super::header::Header;
use super::names::{self, Interned};
use super::payload;
use super::syscalls::Abi;
use crate::bytes::Endian;
use crate::emit::{At, CallPart, Emitter, LaneRef, PrevState, Stated};
use crate::formats::{Block, Reader, State};

/// A type of record that is in no list.
pub(super) static UNKNOWN_RECORD: Code = Code {
    name: "ktrace/unknown-record",
    severity: Severity::Info,
    help: "a record has an unknown type, as from a newer kernel, and was skipped; calls are not \
           affected",
};

/// What must be known of the blocks before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Before {
    /// Whether the block ended among bytes that are no record.
    is_lost: bool,
    /// Processes that do not use the numbers of their kernel.
    foreign: BTreeMap<u32, Abi>,
}

/// Reads records of one dialect.
pub(super) struct Records {
    dialect: Dialect,
    endian: Endian,
    interned: Interned,
}

impl Records {
    pub(super) fn new(dialect: Dialect, endian: Endian) -> Self {
        Self { dialect, endian, interned: Interned::default() }
    }
}

impl Reader for Records {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::new(self.dialect, self.endian))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        match self.endian {
            Endian::Little => last_end::<false>(&self.dialect, bytes),
            Endian::Big => last_end::<true>(&self.dialect, bytes),
        }
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let &Block { bytes: block, at_end, .. } = block;
        let before = state.downcast_ref::<Before>().cloned().unwrap_or_default();
        let mut after = before.clone();
        match self.endian {
            Endian::Little => self.read_as::<false>(block, at_end, &mut after, out),
            Endian::Big => self.read_as::<true>(block, at_end, &mut after, out),
        }
        (after != before).then(|| Arc::new(after) as State)
    }
}

/// Where the last whole record ends. Bytes that are no record end where one could still begin.
fn last_end<const BIG: bool>(dialect: &Dialect, bytes: &[u8]) -> usize {
    let size = dialect.layout.size;
    let mut at = 0;
    while bytes.len() - at >= size {
        match dialect.header::<BIG>(&bytes[at..]) {
            Some(header) => {
                let end = at + size + header.length;
                if end > bytes.len() {
                    return at;
                }
                at = end;
            }
            None => match next_record::<BIG>(dialect, bytes, at + 1) {
                Some(next) => at = next,
                None => return bytes.len() - (size - 1),
            },
        }
    }
    at
}

/// The first place from `at` on where a record begins.
#[cold]
fn next_record<const BIG: bool>(dialect: &Dialect, bytes: &[u8], at: usize) -> Option<usize> {
    let last = bytes.len().checked_sub(dialect.layout.size)?;
    (at..=last).find(|&at| dialect.header::<BIG>(&bytes[at..]).is_some())
}

impl Records {
    fn read_as<const BIG: bool>(
        &mut self,
        block: &[u8],
        at_end: bool,
        after: &mut Before,
        out: &mut Emitter,
    ) {
        let size = self.dialect.layout.size;
        let mut at = 0;
        while at < block.len() {
            let rest = &block[at..];
            // Less than a header in the middle of the input is the end of what is not a record.
            if rest.len() < size && (at_end || after.is_lost) {
                if !after.is_lost {
                    cut(at, rest.len(), out);
                }
                return;
            }
            let Some(header) = self.dialect.header::<BIG>(rest) else {
                if !after.is_lost {
                    out.records += 1;
                    out.diag(&SKIPPED_RECORD, at, || {
                        format!("no record begins here, expected one of {}", self.dialect.name)
                    });
                }
                after.is_lost = true;
                at = next_record::<BIG>(&self.dialect, block, at + 1).unwrap_or(block.len());
                continue;
            };
            let Some(payload) = rest.get(size..size + header.length) else {
                cut(at, rest.len(), out);
                return;
            };
            after.is_lost = false;
            // What only says how a process makes its calls is not an event, nor does kdump print
            // it.
            out.records += u64::from(!header.record.is_bookkeeping());
            self.record::<BIG>(&header, (rest, payload), at, after, out);
            at += size + header.length;
        }
    }

    /// Says what one record says. Its bytes are those from its header on, and its payload.
    #[inline]
    fn record<const BIG: bool>(
        &mut self,
        header: &Header,
        (bytes, payload): (&[u8], &[u8]),
        at: usize,
        after: &mut Before,
        out: &mut Emitter,
    ) {
        let on = |lane: LaneRef| At { time: Some(header.time), lane, offset: at };
        if header.dropped {
            let lane = names::nobody(None, out);
            out.lost(on(lane), None);
        }
        let system = self.dialect.system;
        match header.record {
            Record::Silent | Record::Start => {}
            Record::Call | Record::Return => {
                let is_call = header.record == Record::Call;
                let number = if is_call {
                    payload::call::<BIG>(system, payload)
                } else {
                    payload::returned::<BIG>(system, payload)
                };
                let Some(number) = number else { return short(header, at, out) };
                let abi = if after.foreign.is_empty() {
                    Abi::Native
                } else {
                    after.foreign.get(&header.pid).copied().unwrap_or(Abi::Native)
                };
                let Some(name) = self.interned.call(system, abi, number, out) else { return };
                let part = if is_call { CallPart::Enter } else { CallPart::Exit };
                let lane = self.lane::<BIG>(header, bytes, out);
                out.call(part, on(lane), Some(name), Stated::NOTHING);
            }
            Record::Switch => {
                let Some((left, runnable)) = payload::switch::<BIG>(payload) else {
                    return short(header, at, out);
                };
                // The record does not say who got the CPU, or from whom.
                let other = names::nobody(self.dialect.cpu::<BIG>(bytes), out);
                let own = self.lane::<BIG>(header, bytes, out);
                let (lane, from) = if left { (other, own) } else { (own, other) };
                let was_preempted = left && runnable;
                let state = if was_preempted { PrevState::Runnable } else { PrevState::Sleeping };
                out.sched_switch(on(lane), Some(from), state, Some(lane));
            }
            Record::Fault | Record::FaultEnd => {
                let is_begin = header.record == Record::Fault;
                let part = if is_begin { CallPart::Enter } else { CallPart::Exit };
                let name = self.interned.fault(out);
                let lane = self.lane::<BIG>(header, bytes, out);
                out.call(part, on(lane), Some(name), Stated::NOTHING);
            }
            Record::Path => {
                let name = self.interned.path(out);
                let lane = self.lane::<BIG>(header, bytes, out);
                out.instant(on(lane), name);
            }
            Record::Signal => {
                let Some(number) = payload::first::<BIG>(payload) else {
                    return short(header, at, out);
                };
                let name = names::signal(number, out);
                let lane = self.lane::<BIG>(header, bytes, out);
                out.instant(on(lane), name);
            }
            Record::User { id } => {
                let lane = self.lane::<BIG>(header, bytes, out);
                if let Some((part, name)) = payload::announcement(payload, id) {
                    let name = self.interned.function(name, out);
                    out.call(part, on(lane), Some(name), Stated::NOTHING);
                } else {
                    let name = self.interned.user(out);
                    out.instant(on(lane), name);
                }
            }
            Record::Emulation => {
                let end = payload.iter().position(|byte| *byte == 0).unwrap_or(payload.len());
                let abi = Abi::of_emulation(&payload[..end], self.dialect.word);
                set_abi(after, header.pid, abi);
            }
            Record::Abi => {
                let Some(flags) = payload::first::<BIG>(payload) else {
                    return short(header, at, out);
                };
                set_abi(after, header.pid, Abi::of_flags(flags));
            }
            Record::ProcessEnd => set_abi(after, header.pid, Abi::Native),
            Record::Unknown => out.diag(&UNKNOWN_RECORD, at, || {
                format!("a record of type {}, {} bytes", header.kind, header.length)
            }),
        }
    }

    #[inline]
    fn lane<const BIG: bool>(
        &mut self,
        header: &Header,
        bytes: &[u8],
        out: &mut Emitter,
    ) -> LaneRef {
        let thread = self.dialect.thread::<BIG>(bytes);
        let cpu = self.dialect.cpu::<BIG>(bytes);
        let comm = self.dialect.comm(bytes);
        self.interned.lane(self.dialect.system, (header.pid, thread), cpu, &comm, out)
    }
}

/// Most processes use the numbers of their kernel, and are not listed.
fn set_abi(after: &mut Before, pid: u32, abi: Abi) {
    if abi != Abi::Native {
        after.foreign.insert(pid, abi);
    } else if !after.foreign.is_empty() {
        after.foreign.remove(&pid);
    }
}

#[cold]
fn cut(at: usize, bytes: usize, out: &mut Emitter) {
    out.records += 1;
    out.diag(&CUT_RECORD, at, || format!("the input ends after {bytes} bytes of a record"));
}

#[cold]
fn short(header: &Header, at: usize, out: &mut Emitter) {
    out.diag(&SKIPPED_RECORD, at, || {
        format!("a record of type {} with {} bytes, expected more", header.kind, header.length)
    });
}
