//! Trace events in JSON, for Perfetto, chrome://tracing and whatever else reads them.
//!
//! Every call is a complete event (`X`), in the order of entry, thread by thread; times are
//! microseconds with three decimals. A tick that is a count is shown as a nanosecond. What these
//! fields cannot say stands in `args` under `profctl`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use profctl_model::{Func, FuncKind, Mark, SpanId, ThreadId, Tick, Timebase, Trace};

use super::stated::{self, Calls, Members, quoted};

/// Writes a trace.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, is_first: true };
    let header = stated::of_trace(trace).as_member().unwrap_or_default();
    write!(events.out, "{{{header},\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let threads = numbers(trace);
    for (thread, &(pid, tid)) in trace.names.threads.iter().zip(&threads) {
        let mut args = Members::default();
        args.push_text("name", &thread.name);
        let more = stated::of_thread(thread, pid, tid).as_member();
        let more = more.map_or(String::new(), |more| format!(",{more}"));
        events.event(format_args!(
            "\"ph\":\"M\",\"ts\":0,\"pid\":{pid},\"tid\":{tid},\"name\":\"thread_name\",\
             \"args\":{{{}{more}}}",
            args.0
        ))?;
    }
    let mut writer = Writer {
        trace,
        threads,
        scale: Scale::of(&trace.meta.timebase),
        names: trace.names.funcs.iter().map(|func| quoted(&func.name)).collect(),
    };
    writer.calls(&mut events)?;
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

/// The numbers by which viewers know the threads: those of the system, where it gave any and no two
/// threads share them.
fn numbers(trace: &Trace) -> Vec<(u64, u64)> {
    /// The process of threads without one.
    const SOME_PROCESS: u64 = 1;
    const NOT_OF_SYSTEM: u64 = 1_000_000_000;
    let mut taken = BTreeSet::new();
    let mut next = NOT_OF_SYSTEM;
    let known = trace.names.threads.iter().map(|thread| {
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

/// How ticks become nanoseconds.
enum Scale {
    /// So many nanoseconds a tick.
    Whole(u128),
    /// A tick is no whole number of nanoseconds: the nearest is shown, the tick stands beside it.
    Nearest(Timebase),
}

impl Scale {
    fn of(timebase: &Timebase) -> Self {
        match timebase.ratio() {
            (numerator, 1) => Self::Whole(numerator),
            _ => Self::Nearest(*timebase),
        }
    }

    /// The time in nanoseconds, and whether it says all.
    fn nanos(&self, tick: Tick) -> (u128, bool) {
        let ticks = u128::from(tick.0);
        match self {
            Self::Whole(length) => {
                let nanos = ticks * length;
                (nanos, nanos <= u128::from(u64::MAX))
            }
            Self::Nearest(timebase) => (timebase.reported_wide(ticks), tick.0 == 0),
        }
    }
}

struct Writer<'a> {
    trace: &'a Trace,
    threads: Vec<(u64, u64)>,
    scale: Scale,
    /// The names of functions as JSON.
    names: Vec<String>,
}

impl Writer<'_> {
    fn calls(&mut self, events: &mut Events<'_>) -> io::Result<()> {
        let mut marks: Vec<&Mark> = self.trace.marks.iter().collect();
        marks.sort_by_key(|mark| (mark.thread, mark.time));
        let mut marks = marks.into_iter().peekable();
        let calls = Calls::new(self.trace);
        let spans = &self.trace.spans;
        for id in spans.ids() {
            let here = (spans.thread[id.index()], spans.start[id.index()]);
            while let Some(mark) = marks.next_if(|mark| (mark.thread, mark.time) < here) {
                self.mark(mark, events)?;
            }
            let stated = calls.call(id);
            self.call(id, &stated, events)?;
        }
        marks.try_for_each(|mark| self.mark(mark, events))
    }

    fn call(&self, id: SpanId, stated: &Members, events: &mut Events<'_>) -> io::Result<()> {
        let (spans, row) = (&self.trace.spans, id.index());
        let func = &self.trace.names.funcs[spans.func[id]];
        let mut more = stated::of_func(func, FuncKind::Function);
        if !stated.0.is_empty() {
            let comma = if more.0.is_empty() { "" } else { "," };
            more.0.extend([comma, &stated.0]);
        }
        if let Some(cpu) = spans.cpu[row] {
            more.push("cpu", self.trace.names.cpus[cpu]);
        }
        let (start, end) = (spans.start[row], spans.end[row]);
        if start == end {
            // Whose callee it is does not follow from when it was.
            more.push("depth", spans.depth[row]);
        }
        let ((from, from_is_exact), (to, to_is_exact)) =
            (self.scale.nanos(start), self.scale.nanos(end));
        if !(from_is_exact && to_is_exact) {
            more.push("ts", start.0);
            more.push("dur", (end - start).0);
        }
        let thread = self.thread(spans.thread[row]);
        let (cat, name, args) = (category(func), &self.names[spans.func[id].index()], args(&more));
        let (ts, dur) = (Micros(from), Micros(to - from));
        events.event(format_args!(
            "\"ph\":\"X\",\"ts\":{ts},\"dur\":{dur},{thread},{cat}\"name\":{name}{args}"
        ))
    }

    fn mark(&self, mark: &Mark, events: &mut Events<'_>) -> io::Result<()> {
        let func = &self.trace.names.funcs[mark.func];
        let mut more = stated::of_func(func, FuncKind::Mark);
        let (nanos, is_exact) = self.scale.nanos(mark.time);
        if !is_exact {
            more.push("ts", mark.time.0);
        }
        if let Some(detail) = &mark.detail {
            more.push_text("detail", detail);
        }
        let (thread, name) = (self.thread(mark.thread), &self.names[mark.func.index()]);
        let (ts, args) = (Micros(nanos), args(&more));
        events.event(format_args!(
            "\"ph\":\"i\",\"s\":\"t\",\"ts\":{ts},{thread},\"name\":{name}{args}"
        ))
    }

    fn gaps(&self, events: &mut Events<'_>) -> io::Result<()> {
        for gap in &self.trace.gaps {
            let mut more = Members::default();
            more.push("gap", true);
            if let Some(cpu) = gap.cpu {
                more.push("cpu", self.trace.names.cpus[cpu]);
            }
            if let Some(lost) = gap.lost {
                more.push("lost", lost);
            }
            more.push("ts", gap.time.0);
            let (ts, args) = (Micros(self.scale.nanos(gap.time).0), args(&more));
            events.event(format_args!(
                "\"ph\":\"i\",\"s\":\"g\",\"ts\":{ts},\"pid\":1,\"tid\":0,\
                 \"name\":\"lost events\"{args}"
            ))?;
        }
        Ok(())
    }

    fn thread(&self, thread: ThreadId) -> String {
        let (pid, tid) = self.threads[thread.index()];
        format!("\"pid\":{pid},\"tid\":{tid}")
    }
}

/// What viewers filter by, for what is no plain function.
fn category(func: &Func) -> String {
    match func.kind {
        FuncKind::Function => String::new(),
        kind => format!("\"cat\":\"{}\",", kind.name()),
    }
}

fn args(more: &Members) -> String {
    more.as_member().map_or(String::new(), |more| format!(",\"args\":{{{more}}}"))
}

/// Nanoseconds, written as microseconds with three decimals.
struct Micros(u128);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}
