//! The file format of speedscope: a profile a thread, entries and exits in order.
//!
//! Times are ticks of the trace, under the name of their unit where speedscope has one. What an
//! entry and an exit cannot say stands beside the exit under `profctl`.

use std::io::{self, Write};

use profctl_model::{FuncKind, SpanId, ThreadId, TickUnit, Trace};

use super::stated::{self, Calls, Members, quoted};

/// Writes a trace. Threads without calls are left out.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let header = stated::of_trace(trace).as_member().unwrap_or_default();
    write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",{header},\
         \"exporter\":\"profctl\",\"activeProfileIndex\":0,\"shared\":{{\"frames\":["
    )?;
    for (index, func) in trace.names.funcs.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let mut frame = Members::default();
        frame.push_text("name", &func.name);
        if let Some(module) = &func.module {
            frame.push_text("file", module);
        }
        let more = stated::of_func(func, FuncKind::Function).as_member();
        let more = more.map_or(String::new(), |more| format!(",{more}"));
        write!(out, "{comma}\n{{{}{more}}}", frame.0)?;
    }
    out.write_all(b"\n]},\"profiles\":[")?;
    let calls = Calls::new(trace);
    let mut ids = trace.spans.ids().peekable();
    let mut comma = "";
    while let Some(first) = ids.peek() {
        let thread = trace.spans.thread[first.index()];
        writeln!(out, "{comma}")?;
        comma = ",";
        begin_profile(trace, thread, out)?;
        let mut events = Events { trace, out: &mut *out, open: Vec::new(), is_first: true };
        while let Some(id) = ids.next_if(|id| trace.spans.thread[id.index()] == thread) {
            events.call(id, calls.call(id))?;
        }
        events.close(0)?;
        out.write_all(b"\n]}")?;
    }
    out.write_all(b"\n]}\n")
}

/// The name of the unit of a tick.
fn unit(trace: &Trace) -> &'static str {
    match trace.meta.timebase.unit {
        TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 } => "nanoseconds",
        TickUnit::Seconds { numerator: 1, denominator: 1_000_000 } => "microseconds",
        TickUnit::Seconds { numerator: 1, denominator: 1_000 } => "milliseconds",
        TickUnit::Seconds { numerator: 1, denominator: 1 } => "seconds",
        _ => "none",
    }
}

fn begin_profile(trace: &Trace, id: ThreadId, out: &mut dyn Write) -> io::Result<()> {
    let thread = &trace.names.threads[id];
    let mut more = Members::default();
    more.push_text("name", &thread.name);
    for (key, value) in [("tid", thread.tid), ("pid", thread.pid)] {
        if let Some(value) = value {
            more.push(key, value);
        }
    }
    if thread.idle {
        more.push("idle", true);
    }
    let (name, more) = (quoted(&thread.label()), more.as_member().unwrap_or_default());
    let (unit, first, last) = (unit(trace), trace.meta.first.0, trace.meta.last.0);
    write!(
        out,
        "{{\"type\":\"evented\",\"name\":{name},{more},\"unit\":\"{unit}\",\"startValue\":{first},\
         \"endValue\":{last},\"events\":["
    )
}

/// The events of one thread.
struct Events<'a> {
    trace: &'a Trace,
    out: &'a mut dyn Write,
    /// The calls whose exits are still to be written, with what is to be said of each.
    open: Vec<(SpanId, Members)>,
    is_first: bool,
}

impl Events<'_> {
    fn call(&mut self, id: SpanId, mut stated: Members) -> io::Result<()> {
        let spans = &self.trace.spans;
        self.close(spans.depth[id.index()] as usize)?;
        if let Some(cpu) = spans.cpu[id.index()] {
            stated.push("cpu", self.trace.names.cpus[cpu]);
        }
        self.open.push((id, stated));
        self.event('O', id, spans.start[id.index()].0, None)
    }

    /// Writes the exits of all calls but the `depth` outermost.
    fn close(&mut self, depth: usize) -> io::Result<()> {
        while self.open.len() > depth
            && let Some((id, stated)) = self.open.pop()
        {
            self.event('C', id, self.trace.spans.end[id.index()].0, stated.as_member())?;
        }
        Ok(())
    }

    fn event(&mut self, kind: char, id: SpanId, at: u64, more: Option<String>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        let frame = self.trace.spans.func[id].index();
        let more = more.map_or(String::new(), |more| format!(",{more}"));
        write!(self.out, "{comma}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}{more}}}")
    }
}
