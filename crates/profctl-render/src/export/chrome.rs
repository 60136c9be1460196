//! Trace events in JSON, for Perfetto, chrome://tracing and whatever else reads them.
//!
//! Every call is a pair of events (`B`, `E`), thread by thread; times are microseconds with three
//! decimals. A complete event (`X`) would be shorter, but readers add its length to its start in
//! binary fractions, and calls that end together then end in the wrong order. A tick that is a count is
//! shown as a nanosecond. Kinds other than plain functions are categories. Calls have no `args`:
//! speedscope makes them a part of the name, and a function on two CPUs two functions.
//! `docs/export.md` says what is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::iter::Peekable;
use std::vec::IntoIter;

use profctl_model::{Func, FuncId, FuncKind, IdVec, Mark, Names, ThreadId, Tick, Timebase};

use super::json::quoted;
use super::{Call, Calls, Header};

/// Writes a trace.
pub fn write(header: &Header<'_>, calls: &mut Calls<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, is_first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let Header { names, meta, .. } = *header;
    let threads = numbers(names);
    for (pid, name) in processes(names) {
        let name = quoted(name);
        events.event(format_args!(
            "\"ph\":\"M\",\"ts\":0,\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}"
        ))?;
    }
    for (thread, &(pid, tid)) in names.threads.iter().zip(&threads) {
        let name = quoted(if thread.name.is_empty() { "?" } else { &thread.name });
        events.event(format_args!(
            "\"ph\":\"M\",\"ts\":0,\"pid\":{pid},\"tid\":{tid},\"name\":\"thread_name\",\
             \"args\":{{\"name\":{name}}}"
        ))?;
    }
    let writer = Writer {
        header,
        threads,
        scale: Scale(meta.timebase),
        tails: names.funcs.iter().map(tail).collect(),
    };
    writer.calls(calls, &mut events)?;
    writer.gaps(&mut events)?;
    events.out.write_all(b"\n]}\n")
}

/// Events, with the commas between them.
struct Events<'a> {
    out: &'a mut dyn Write,
    is_first: bool,
}

impl Events<'_> {
    fn event(&mut self, members: std::fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        write!(self.out, "{comma}\n{{{members}}}")
    }
}

/// The thread ids for viewers: those of the system, where it gave any and no two threads share
/// them.
fn numbers(names: &Names) -> IdVec<ThreadId, (u64, u64)> {
    /// The process of threads without one.
    const SOME_PROCESS: u64 = 1;
    const NOT_OF_SYSTEM: u64 = 1_000_000_000;
    let mut taken = BTreeSet::new();
    let mut next = NOT_OF_SYSTEM;
    let known = names.threads.iter().map(|thread| {
        let pid = thread.pid.unwrap_or(SOME_PROCESS);
        let mut number = (pid, thread.tid.filter(|_| !thread.idle).unwrap_or(next));
        while !taken.insert(number) {
            next += 1;
            number = (pid, next);
        }
        number
    });
    known.collect()
}

/// The names of processes: each has that of its first thread.
fn processes(names: &Names) -> BTreeMap<u64, &str> {
    let mut processes = BTreeMap::new();
    for thread in names.threads.iter().filter(|thread| !thread.name.is_empty()) {
        let Some(pid) = thread.pid else { continue };
        if thread.tid == Some(pid) {
            processes.insert(pid, thread.name.as_str());
        } else {
            processes.entry(pid).or_insert(&thread.name);
        }
    }
    processes
}

/// Ticks as nanoseconds: the nearest, where a tick is not a whole number of them.
struct Scale(Timebase);

impl Scale {
    fn nanos(&self, tick: Tick) -> u128 {
        let ticks = u128::from(tick.0);
        match self.0.ratio() {
            (numerator, 1) => ticks * numerator,
            _ => self.0.reported_wide(ticks),
        }
    }
}

struct Writer<'a> {
    header: &'a Header<'a>,
    threads: IdVec<ThreadId, (u64, u64)>,
    scale: Scale,
    /// What every call of a function says.
    tails: IdVec<FuncId, Tail>,
}

/// What every event of a function says, as JSON.
struct Tail {
    /// The category, with a comma.
    category: String,
    name: String,
}

fn tail(func: &Func) -> Tail {
    Tail { category: category(func), name: quoted(&func.name) }
}

impl Writer<'_> {
    fn calls(&self, calls: &mut Calls<'_>, events: &mut Events<'_>) -> io::Result<()> {
        let mut marks: Vec<&Mark> = self.header.marks.iter().collect();
        marks.sort_by_key(|mark| (mark.thread, mark.time));
        let mut marks = marks.into_iter().peekable();
        let mut open: Vec<Call> = Vec::new();
        for call in calls {
            let call = call?;
            // What ended before, of this thread or of the one before it.
            while let Some(last) =
                open.pop_if(|last| last.thread != call.thread || last.depth >= call.depth)
            {
                self.until((last.thread, last.end), &mut marks, events)?;
                self.end(&last, events)?;
            }
            self.until((call.thread, call.start), &mut marks, events)?;
            self.begin(&call, events)?;
            open.push(call);
        }
        while let Some(last) = open.pop() {
            self.until((last.thread, last.end), &mut marks, events)?;
            self.end(&last, events)?;
        }
        marks.try_for_each(|mark| self.mark(mark, events))
    }

    /// Writes the instants before a moment of a thread.
    fn until(
        &self,
        here: (ThreadId, Tick),
        marks: &mut Peekable<IntoIter<&Mark>>,
        events: &mut Events<'_>,
    ) -> io::Result<()> {
        while let Some(mark) = marks.next_if(|mark| (mark.thread, mark.time) < here) {
            self.mark(mark, events)?;
        }
        Ok(())
    }

    fn begin(&self, call: &Call, events: &mut Events<'_>) -> io::Result<()> {
        let ts = Micros(self.scale.nanos(call.start));
        let (pid, tid) = self.threads[call.thread];
        let Tail { category, name } = &self.tails[call.func];
        events.event(format_args!(
            "\"ph\":\"B\",\"ts\":{ts},\"pid\":{pid},\"tid\":{tid},{category}\"name\":{name}"
        ))
    }

    /// The end has the name, too: speedscope finds the call by it.
    fn end(&self, call: &Call, events: &mut Events<'_>) -> io::Result<()> {
        let ts = Micros(self.scale.nanos(call.end));
        let (pid, tid) = self.threads[call.thread];
        let name = &self.tails[call.func].name;
        events.event(format_args!(
            "\"ph\":\"E\",\"ts\":{ts},\"pid\":{pid},\"tid\":{tid},\"name\":{name}"
        ))
    }

    fn mark(&self, mark: &Mark, events: &mut Events<'_>) -> io::Result<()> {
        let (pid, tid) = self.threads[mark.thread];
        let name = &self.tails[mark.func].name;
        let ts = Micros(self.scale.nanos(mark.time));
        let args = mark
            .detail
            .as_deref()
            .map_or(String::new(), |detail| format!(",\"args\":{{\"detail\":{}}}", quoted(detail)));
        events.event(format_args!(
            "\"ph\":\"i\",\"s\":\"t\",\"ts\":{ts},\"pid\":{pid},\"tid\":{tid},\"name\":{name}{args}"
        ))
    }

    fn gaps(&self, events: &mut Events<'_>) -> io::Result<()> {
        for gap in self.header.gaps {
            let ts = Micros(self.scale.nanos(gap.time));
            let lost =
                gap.lost.map_or(String::new(), |lost| format!(",\"args\":{{\"lost\":{lost}}}"));
            events.event(format_args!(
                "\"ph\":\"i\",\"s\":\"g\",\"ts\":{ts},\"pid\":1,\"tid\":0,\
                 \"name\":\"lost events\"{lost}"
            ))?;
        }
        Ok(())
    }
}

/// What viewers filter by, for what is not a plain function.
fn category(func: &Func) -> String {
    match func.kind {
        FuncKind::Function => String::new(),
        kind => format!("\"cat\":\"{}\",", kind.name()),
    }
}

/// Nanoseconds, written as microseconds with three decimals.
struct Micros(u128);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}
