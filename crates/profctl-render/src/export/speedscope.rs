//! The file format of speedscope: a profile a thread, entries and exits in order.
//!
//! Times are ticks of the trace, under the name of their unit where speedscope has one. They are wall
//! times, and the name of the file says so: speedscope has no place for time off the CPU.

use std::io::{self, Write};

use profctl_model::{FuncId, ThreadId, Tick, TickUnit};

use super::json::quoted;
use super::{Call, Calls, Header};

/// Writes a trace. Threads without calls are omitted.
pub fn write(header: &Header<'_>, calls: &mut Calls<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
          \"exporter\":\"profctl\",\"name\":\"wall time, time off the CPU included\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[",
    )?;
    for (index, func) in header.names.funcs.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let file = func.module.as_deref().map(|module| format!(",\"file\":{}", quoted(module)));
        write!(out, "{comma}\n{{\"name\":{}{}}}", quoted(&func.name), file.unwrap_or_default())?;
    }
    out.write_all(b"\n]},\"profiles\":[")?;
    let mut of_thread: Option<(ThreadId, Events)> = None;
    for call in calls {
        let call = call?;
        let events = match &mut of_thread {
            Some((thread, events)) if *thread == call.thread => events,
            other => {
                let comma = match other {
                    Some((_, events)) => {
                        events.end(out)?;
                        ","
                    }
                    None => "",
                };
                writeln!(out, "{comma}")?;
                begin_profile(header, call.thread, out)?;
                &mut other.insert((call.thread, Events::default())).1
            }
        };
        events.call(&call, out)?;
    }
    if let Some((_, events)) = &mut of_thread {
        events.end(out)?;
    }
    out.write_all(b"\n]}\n")
}

/// The name of the unit of a tick.
fn unit(header: &Header<'_>) -> &'static str {
    match header.meta.timebase.unit {
        TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 } => "nanoseconds",
        TickUnit::Seconds { numerator: 1, denominator: 1_000_000 } => "microseconds",
        TickUnit::Seconds { numerator: 1, denominator: 1_000 } => "milliseconds",
        TickUnit::Seconds { numerator: 1, denominator: 1 } => "seconds",
        _ => "none",
    }
}

fn begin_profile(header: &Header<'_>, id: ThreadId, out: &mut dyn Write) -> io::Result<()> {
    let name = quoted(&header.names.threads[id].label());
    let (unit, first, last) = (unit(header), header.meta.first.0, header.meta.last.0);
    write!(
        out,
        "{{\"type\":\"evented\",\"name\":{name},\"unit\":\"{unit}\",\"startValue\":{first},\
         \"endValue\":{last},\"events\":["
    )
}

/// The events of one thread.
#[derive(Default)]
struct Events {
    /// The calls whose exits are still to be written.
    open: Vec<(FuncId, Tick)>,
    is_begun: bool,
}

impl Events {
    fn call(&mut self, call: &Call, out: &mut dyn Write) -> io::Result<()> {
        self.close(call.depth as usize, out)?;
        self.open.push((call.func, call.end));
        self.event('O', call.func, call.start, out)
    }

    /// Writes the exits of all calls but the `depth` outermost.
    fn close(&mut self, depth: usize, out: &mut dyn Write) -> io::Result<()> {
        while self.open.len() > depth
            && let Some((func, end)) = self.open.pop()
        {
            self.event('C', func, end, out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.close(0, out)?;
        out.write_all(b"\n]}")
    }

    fn event(&mut self, kind: char, func: FuncId, at: Tick, out: &mut dyn Write) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.is_begun, true) { "," } else { "" };
        let (frame, at) = (func.index(), at.0);
        write!(out, "{comma}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}")
    }
}
