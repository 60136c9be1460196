//! The file format of speedscope: a profile a thread, entries and exits in order.
//!
//! Times are ticks of the trace, under the name of their unit where speedscope has one.

use std::io::{self, Write};

use profctl_model::{SpanId, ThreadId, TickUnit, Trace};

use super::json::quoted;

/// Writes a trace. Threads without calls are left out.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
          \"exporter\":\"profctl\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[",
    )?;
    for (index, func) in trace.names.funcs.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let file = func.module.as_deref().map(|module| format!(",\"file\":{}", quoted(module)));
        write!(out, "{comma}\n{{\"name\":{}{}}}", quoted(&func.name), file.unwrap_or_default())?;
    }
    out.write_all(b"\n]},\"profiles\":[")?;
    let mut ids = trace.spans.ids().peekable();
    let mut comma = "";
    while let Some(first) = ids.peek() {
        let thread = trace.spans.thread[first.index()];
        writeln!(out, "{comma}")?;
        comma = ",";
        begin_profile(trace, thread, out)?;
        let mut events = Events { trace, out: &mut *out, open: Vec::new(), is_first: true };
        while let Some(id) = ids.next_if(|id| trace.spans.thread[id.index()] == thread) {
            events.call(id)?;
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
    let name = quoted(&trace.names.threads[id].label());
    let (unit, first, last) = (unit(trace), trace.meta.first.0, trace.meta.last.0);
    write!(
        out,
        "{{\"type\":\"evented\",\"name\":{name},\"unit\":\"{unit}\",\"startValue\":{first},\
         \"endValue\":{last},\"events\":["
    )
}

/// The events of one thread.
struct Events<'a> {
    trace: &'a Trace,
    out: &'a mut dyn Write,
    /// The calls whose exits are still to be written.
    open: Vec<SpanId>,
    is_first: bool,
}

impl Events<'_> {
    fn call(&mut self, id: SpanId) -> io::Result<()> {
        let spans = &self.trace.spans;
        self.close(spans.depth[id.index()] as usize)?;
        self.open.push(id);
        self.event('O', id, spans.start[id.index()].0)
    }

    /// Writes the exits of all calls but the `depth` outermost.
    fn close(&mut self, depth: usize) -> io::Result<()> {
        while self.open.len() > depth
            && let Some(id) = self.open.pop()
        {
            self.event('C', id, self.trace.spans.end[id.index()].0)?;
        }
        Ok(())
    }

    fn event(&mut self, kind: char, id: SpanId, at: u64) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        let frame = self.trace.spans.func[id].index();
        write!(self.out, "{comma}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}")
    }
}
