//! Trace events in JSON, for Perfetto, chrome://tracing and whatever else reads them.
//!
//! Every call is a complete event (`X`), in the order of entry, thread by thread; times are
//! microseconds with three decimals. A tick that is a count is shown as a nanosecond. Kinds other
//! than plain functions are categories; the CPU and the module are in `args`, where viewers show
//! them. `docs/export.md` says what is lost.

use std::collections::BTreeSet;
use std::io::{self, Write};

use profctl_model::{CpuId, Func, FuncId, FuncKind, IdVec, Mark, Names, ThreadId, Tick, Timebase};

use super::json::quoted;
use super::{Call, Calls, Header};

/// Writes a trace.
pub fn write(header: &Header<'_>, calls: &mut Calls<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, is_first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let Header { names, meta, .. } = *header;
    let threads = numbers(names);
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
    /// A member of `args`.
    module: Option<String>,
}

fn tail(func: &Func) -> Tail {
    let module = func.module.as_deref().map(|module| format!("\"module\":{}", quoted(module)));
    Tail { category: category(func), name: quoted(&func.name), module }
}

impl Writer<'_> {
    fn calls(&self, calls: &mut Calls<'_>, events: &mut Events<'_>) -> io::Result<()> {
        let mut marks: Vec<&Mark> = self.header.marks.iter().collect();
        marks.sort_by_key(|mark| (mark.thread, mark.time));
        let mut marks = marks.into_iter().peekable();
        for call in calls {
            let call = call?;
            let here = (call.thread, call.start);
            while let Some(mark) = marks.next_if(|mark| (mark.thread, mark.time) < here) {
                self.mark(mark, events)?;
            }
            self.call(&call, events)?;
        }
        marks.try_for_each(|mark| self.mark(mark, events))
    }

    fn call(&self, call: &Call, events: &mut Events<'_>) -> io::Result<()> {
        let (from, to) = (self.scale.nanos(call.start), self.scale.nanos(call.end));
        let (pid, tid) = self.threads[call.thread];
        let Tail { category, name, .. } = &self.tails[call.func];
        let args = self.args(call.func, call.cpu, None);
        let (ts, dur) = (Micros(from), Micros(to - from));
        events.event(format_args!(
            "\"ph\":\"X\",\"ts\":{ts},\"dur\":{dur},\"pid\":{pid},\"tid\":{tid},\
             {category}\"name\":{name}{args}"
        ))
    }

    fn mark(&self, mark: &Mark, events: &mut Events<'_>) -> io::Result<()> {
        let (pid, tid) = self.threads[mark.thread];
        let name = &self.tails[mark.func].name;
        let ts = Micros(self.scale.nanos(mark.time));
        let args = self.args(mark.func, None, mark.detail.as_deref());
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

    /// What viewers show beside an event: the member `args`, if there are any.
    fn args(&self, func: FuncId, cpu: Option<CpuId>, detail: Option<&str>) -> String {
        let cpu = cpu.map(|cpu| format!("\"cpu\":{}", self.header.names.cpus[cpu]));
        let module = self.tails[func].module.clone();
        let detail = detail.map(|detail| format!("\"detail\":{}", quoted(detail)));
        let args: Vec<String> = [cpu, module, detail].into_iter().flatten().collect();
        if args.is_empty() { String::new() } else { format!(",\"args\":{{{}}}", args.join(",")) }
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
