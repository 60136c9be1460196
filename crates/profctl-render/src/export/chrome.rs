//! Trace events in JSON, for Perfetto, chrome://tracing and whatever else reads them.
//!
//! Every call is a complete event (`X`), in the order of entry, thread by thread; times are
//! microseconds with three decimals. A tick that is a count is shown as a nanosecond. Kinds other
//! than plain functions are categories; the CPU and the module stand in `args`, where viewers show
//! them. `docs/export.md` says what is lost.

use std::collections::BTreeSet;
use std::io::{self, Write};

use profctl_model::{CpuId, Func, FuncKind, Mark, SpanId, ThreadId, Tick, Timebase, Trace};

use super::json::quoted;

/// Writes a trace.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, is_first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let threads = numbers(trace);
    for (thread, &(pid, tid)) in trace.names.threads.iter().zip(&threads) {
        let name = quoted(if thread.name.is_empty() { "?" } else { &thread.name });
        events.event(format_args!(
            "\"ph\":\"M\",\"ts\":0,\"pid\":{pid},\"tid\":{tid},\"name\":\"thread_name\",\
             \"args\":{{\"name\":{name}}}"
        ))?;
    }
    let mut writer = Writer {
        trace,
        threads,
        scale: Scale(trace.meta.timebase),
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

/// Ticks as nanoseconds: the nearest, where a tick is no whole number of them.
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
        let spans = &self.trace.spans;
        for id in spans.ids() {
            let here = (spans.thread[id.index()], spans.start[id.index()]);
            while let Some(mark) = marks.next_if(|mark| (mark.thread, mark.time) < here) {
                self.mark(mark, events)?;
            }
            self.call(id, events)?;
        }
        marks.try_for_each(|mark| self.mark(mark, events))
    }

    fn call(&self, id: SpanId, events: &mut Events<'_>) -> io::Result<()> {
        let (spans, row) = (&self.trace.spans, id.index());
        let func = &self.trace.names.funcs[spans.func[id]];
        let (from, to) = (self.scale.nanos(spans.start[row]), self.scale.nanos(spans.end[row]));
        let thread = self.thread(spans.thread[row]);
        let (cat, name) = (category(func), &self.names[spans.func[id].index()]);
        let args = joined(&self.args(func, spans.cpu[row]));
        let (ts, dur) = (Micros(from), Micros(to - from));
        events.event(format_args!(
            "\"ph\":\"X\",\"ts\":{ts},\"dur\":{dur},{thread},{cat}\"name\":{name}{args}"
        ))
    }

    fn mark(&self, mark: &Mark, events: &mut Events<'_>) -> io::Result<()> {
        let func = &self.trace.names.funcs[mark.func];
        let (thread, name) = (self.thread(mark.thread), &self.names[mark.func.index()]);
        let mut args = self.args(func, None);
        if let Some(detail) = &mark.detail {
            args.push(format!("\"detail\":{}", quoted(detail)));
        }
        let (ts, args) = (Micros(self.scale.nanos(mark.time)), joined(&args));
        events.event(format_args!(
            "\"ph\":\"i\",\"s\":\"t\",\"ts\":{ts},{thread},\"name\":{name}{args}"
        ))
    }

    fn gaps(&self, events: &mut Events<'_>) -> io::Result<()> {
        for gap in &self.trace.gaps {
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

    /// What viewers show beside a call.
    fn args(&self, func: &Func, cpu: Option<CpuId>) -> Vec<String> {
        let cpu = cpu.map(|cpu| format!("\"cpu\":{}", self.trace.names.cpus[cpu]));
        let module = func.module.as_deref().map(|module| format!("\"module\":{}", quoted(module)));
        cpu.into_iter().chain(module).collect()
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

/// The member `args`, if there are any.
fn joined(args: &[String]) -> String {
    if args.is_empty() { String::new() } else { format!(",\"args\":{{{}}}", args.join(",")) }
}

/// Nanoseconds, written as microseconds with three decimals.
struct Micros(u128);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}
