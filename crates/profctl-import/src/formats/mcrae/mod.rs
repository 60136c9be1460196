//! The code trace of McRae's 1993 hardware profiler, and of `profctl replay`: one line an entry
//! with net and total time stated in advance, one anonymous line an exit, depth by indentation.
//!
//! A call without callees is a single line, so the number of arrows is not the number of calls.

use profctl_model::{Func, FuncKind, Timebase};

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State,
};
use crate::emit::{At, Emitter, LaneKey, NameRef, Stated, ThreadKey};
use crate::files::Files;
use crate::text;

mod line;
#[cfg(test)]
mod tests;

use line::{Arrow, Record};

/// The importer of `mcrae`.
pub struct CodeTrace;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "mcrae",
    about: "code trace text: McRae's profiler (1993), `profctl replay`",
    recognized: "at least three lines `S:MMM UUU -> name (N us)` or `S:MMM UUU <-`",
    ..Descriptor::PLAIN
};

/// From this many lines on, a text is a code trace.
const LINES_SURE: usize = 3;

impl Importer for CodeTrace {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(head) = probe.text() else { return Recognition::No };
        let records = text::lines(head).filter(|line| line::parse(line.text).is_ok()).count();
        match records {
            0 => Recognition::No,
            1..LINES_SURE => Recognition::Maybe(format!("{records} line(s) of a code trace")),
            _ => Recognition::Yes("lines `S:MMM UUU -> name (N us)` of a code trace".into()),
        }
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let fine = text::lines(head)
            .filter_map(|line| line::parse(line.text).ok())
            .any(|record| record.has_decimals);
        Ok(Opened::lines(
            if fine { Timebase::NANOSECONDS } else { Timebase::MICROSECONDS },
            Box::new(Lines { fine }),
        )
        .with_facts(vec![("digits", if fine { "nanoseconds" } else { "microseconds" }.into())]))
    }
}

struct Lines {
    /// Whether ticks are nanoseconds rather than microseconds.
    fine: bool,
}

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { fine: self.fine })
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        for line in text::lines(block) {
            out.lines += 1;
            // `replay` ends with notes.
            if line.text.trim_ascii().is_empty() || line.text.starts_with(b"note: ") {
                continue;
            }
            out.records += 1;
            match line::parse(line.text).and_then(|record| self.in_ticks(record)) {
                Ok(record) => emit(&record, line.offset, out),
                // A last line that begins as no record does was not cut.
                Err(expected) => {
                    let ended = line.ended || !line::begins_like_record(line.text);
                    out.refuse(&text::Line { ended, ..line }, expected);
                }
            }
        }
        None
    }
}

impl Lines {
    fn in_ticks<'a>(&self, record: Record<'a>) -> Result<Record<'a>, &'static str> {
        if self.fine {
            return Ok(record);
        }
        if record.has_decimals {
            return Err("whole microseconds, as on the lines before");
        }
        let micros = |nanos: u64| nanos / 1_000;
        let arrow = match record.arrow {
            Arrow::Enter { name, net, total } => {
                Arrow::Enter { name, net: micros(net), total: total.map(micros) }
            }
            arrow @ (Arrow::Exit | Arrow::Mark(_)) => arrow,
        };
        Ok(Record { time: micros(record.time), arrow, ..record })
    }
}

fn emit(record: &Record<'_>, offset: usize, out: &mut Emitter) {
    let thread = record.thread.map_or(ThreadKey::Unstated, thread_of);
    let lane = out.lane(LaneKey { cpu: record.cpu, thread });
    let at = At { time: Some(record.time), lane, offset };
    let stated = Stated::depth(record.depth);
    let is_whole = !record.fidelity.is_partial();
    match record.arrow {
        Arrow::Enter { name, net, total: None } if is_whole => {
            let name = named(name, out);
            out.leaf(at, name, Stated { wall: Some(net), ..stated });
        }
        Arrow::Enter { name, net, total } => {
            let name = named(name, out);
            let wall = Some(total.unwrap_or(net));
            out.enter(at, name, Stated { wall, net: Some(net), ..stated });
            if !is_whole {
                out.incomplete(at, record.fidelity);
            }
            if total.is_none() {
                out.exit(at, None, stated);
                out.covers(At { time: Some(record.time.saturating_add(net)), ..at });
            }
        }
        Arrow::Exit => out.exit(at, None, stated),
        Arrow::Mark(name) => {
            let name = out.func(&String::from_utf8_lossy(name), FuncKind::Mark);
            out.instant(at, name);
        }
    }
}

/// The thread with a label of [`profctl_model::Thread::label`].
fn thread_of(label: &[u8]) -> ThreadKey {
    let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let at = label.iter().rposition(|&byte| byte == b'-');
    let (name, id) = at.map_or((&label[..0], label), |at| (&label[..at], &label[at + 1..]));
    match text::decimal(id, 0) {
        Some(id) => ThreadKey::Tid(id, lossy(name)),
        None if label == b"?" => ThreadKey::Unstated,
        None => ThreadKey::Named(lossy(label)),
    }
}

fn named(name: &[u8], out: &mut Emitter) -> NameRef {
    out.name(name, |name| Func {
        name: String::from_utf8_lossy(name).into_owned(),
        kind: kind_of(name),
        ..Func::default()
    })
}

/// The trace does not say what is an interrupt. These stubs of the 386BSD are entered by the
/// hardware only; what they call (`hardclock`, `weintr`) has other callers too and is therefore
/// left an ordinary function below them.
fn kind_of(name: &[u8]) -> FuncKind {
    if name.starts_with(b"ISAINTR") || name.starts_with(b"Xintr") {
        FuncKind::Interrupt
    } else {
        FuncKind::Function
    }
}
