//! The text of `perf trace`: system calls with their lengths.
//!
//! A call that something else interrupts is printed twice, when it is interrupted and when it ends,
//! both times with the time of its beginning; a beginning that perf has forgotten is `?`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::{FuncKind, Ticks, Timebase};

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State, head,
};
use crate::emit::{At, Emitter, LaneKey, Stated, ThreadKey};
use crate::files::Files;
use crate::text;

mod line;
#[cfg(test)]
mod tests;

use line::{Head, Line, What};

/// The importer of `perf_trace`.
pub struct PerfTrace;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "perf_trace",
    about: "text of perf trace: system calls with durations, tracepoints",
    recognized: "lines `TIME ( LENGTH ms): COMMAND/TID NAME(…) = RESULT`",
    ..Descriptor::PLAIN
};

/// From this many records on, a text is surely perf's.
const RECORDS_SURE: usize = 3;

/// Records and other lines.
fn survey(head: &[u8]) -> (usize, usize) {
    let (mut records, mut others) = (0, 0);
    for line in text::lines(head).filter(|line| line.ended) {
        match line::parse(line.text) {
            // Without a column for lengths a line may be anything.
            Line::Record(_, What::Event { .. }) | Line::Lost(_) | Line::Aside => {}
            Line::Record(..) => records += 1,
            Line::Other => others += 1,
        }
    }
    (records, others)
}

impl Importer for PerfTrace {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if !text::looks_like_text(probe.head) {
            return Recognition::No;
        }
        match survey(probe.head) {
            (0, _) => Recognition::No,
            (records, others) if others * 4 > records => Recognition::No,
            (records, _) if records < RECORDS_SURE => {
                Recognition::Maybe(format!("{records} record(s) of perf trace"))
            }
            _ => Recognition::Yes("lines `TIME ( LENGTH ms): NAME(…) = RESULT`".into()),
        }
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        if survey(&head(files)?.bytes).0 == 0 {
            return Err(ImportError::whole(
                "not a perf trace line, expected `TIME ( LENGTH ms): COMMAND/TID NAME(…) = \
                 RESULT`",
            ));
        }
        let timebase = Timebase { resolution: Ticks(1_000), ..Timebase::NANOSECONDS };
        Ok(Opened::lines(timebase, Box::new(Lines)))
    }
}

/// Reads lines.
struct Lines;

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<Latest>().cloned().unwrap_or_default();
        let mut latest = before.clone();
        for line in text::lines(block.bytes) {
            out.lines += 1;
            match line::parse(line.text) {
                Line::Record(head, what) if line.ended => {
                    out.records += 1;
                    record(&head, &what, line.offset, &mut latest, out);
                }
                Line::Aside => {}
                Line::Lost(events) => {
                    out.records += 1;
                    let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
                    out.lost(At { time: None, lane, offset: line.offset }, Some(events));
                }
                _ => {
                    out.records += 1;
                    let shown = text::excerpt(line.text);
                    if line.ended {
                        out.diag(&SKIPPED_RECORD, line.offset, || {
                            format!(
                                "found `{shown}`, expected `TIME ( LENGTH ms): NAME(…) = RESULT`"
                            )
                        });
                    } else {
                        out.diag(&CUT_RECORD, line.offset, || {
                            format!("the last line stops at `{shown}`")
                        });
                    }
                }
            }
        }
        (latest != before).then(|| Arc::new(latest) as State)
    }
}

/// The latest time of each thread, nanoseconds: when calls end of which perf has forgotten when they
/// began. Lines of several threads may be out of order, so those of others say nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Latest(BTreeMap<Option<u64>, u64>);

fn record(head: &Head<'_>, what: &What<'_>, offset: usize, latest: &mut Latest, out: &mut Emitter) {
    let thread = match head.tid {
        Some(tid) => ThreadKey::Tid(tid, lossy(head.name).into_owned()),
        None => ThreadKey::Unstated,
    };
    let lane = out.lane(LaneKey { cpu: None, thread });
    let latest = latest.0.entry(head.tid).or_default();
    let start = head.time.unwrap_or(*latest);
    *latest = start.saturating_add(head.length.unwrap_or(0)).max(*latest);
    let at = At { time: Some(start), lane, offset };
    let stated = Stated { wall: head.length, ..Stated::NOTHING };
    match *what {
        What::Call { name, .. } => {
            let name = syscall(name, out);
            out.leaf(at, name, stated);
        }
        What::Open { name } => {
            let name = syscall(name, out);
            out.enter(at, name, Stated::NOTHING);
        }
        What::Continued { name, .. } => {
            let name = syscall(name, out);
            let end = start.saturating_add(head.length.unwrap_or(0));
            out.exit(At { time: Some(end), ..at }, Some(name), stated);
        }
        What::Event { name, arguments } => {
            let name = out.func(&lossy(name), FuncKind::Mark);
            out.instant_with(at, name, &lossy(arguments));
        }
    }
}

fn syscall(name: &[u8], out: &mut Emitter) -> crate::emit::NameRef {
    out.func(&lossy(name), FuncKind::Syscall)
}

fn lossy(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}
