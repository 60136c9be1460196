//! The text of tracefs whatever the tracer, `function_graph` aside: `nop` with events, `function`,
//! the latency tracers, `osnoise` and `timerlat`.
//!
//! [`crate::kernel_events::line`] reads lines, [`crate::kernel_events::text`] reads events; the
//! reader here is shared with `trace-cmd report`, whose usual lines [`fast`] reads.

mod fast;
mod head;
pub(crate) mod read;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
use crate::kernel_events::IrqNames;
use crate::kernel_events::syscalls::Machine;
pub(crate) use head::count;
use head::{Head, look};

pub use read::{FOREIGN_LINE, NO_EXITS, RAW_LINE};

/// The importer of `ftrace`.
pub struct TracefsText;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "ftrace",
    about: "Linux ftrace text of events and of every tracer but function_graph",
    recognized: "its header `# tracer:`, or lines of its form where there is none (trace_pipe)",
    codes: &[&FOREIGN_LINE, &RAW_LINE, &NO_EXITS],
    ..Descriptor::PLAIN
};

/// How much of the head is looked at to recognize lines.
const SNIFFED: usize = 64 << 10;

impl Importer for TracefsText {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        // The same text with slices is that of atrace.
        if memchr::memmem::find(probe.head, b"tracing_mark_write: B|").is_some() {
            return Recognition::No;
        }
        let sniffed = &probe.head[..probe.head.len().min(SNIFFED)];
        let counted = count(sniffed);
        // Latency tracers may show their functions as `function_graph` does.
        let is_graph = memchr::memmem::find(sniffed, b"  FUNCTION CALLS\n").is_some();
        if counted.is_report || counted.graph_lines > 0 || is_graph {
            return Recognition::No;
        }
        if let Some(tracer) = head::tracer(probe.head)
            && tracer != b"function_graph"
        {
            let tracer = String::from_utf8_lossy(tracer);
            return Recognition::Yes(format!("the header `# tracer: {tracer}`"));
        }
        if counted.events == 0 {
            return Recognition::No;
        }
        let reason = format!(
            "{} of the first {} lines are events of tracefs",
            counted.events, counted.lines
        );
        // Some lines are of no event: losses, stacks, notes.
        match counted.events * 2 >= counted.lines {
            true if counted.events > 1 => Recognition::Yes(reason),
            true => Recognition::Maybe(reason),
            false => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        open(files, options, false)
    }
}

/// Whether the text begins as tracefs does.
pub(crate) fn is_tracefs(head: &[u8]) -> bool {
    head::tracer(head).is_some()
}

/// Opens the text of tracefs, or of a report.
pub(crate) fn open(
    files: &dyn Files,
    options: &ImportOptions,
    is_report: bool,
) -> Result<Opened, ImportError> {
    let machine = Machine::chosen(options.dialect.as_deref()).map_err(ImportError::whole)?;
    let head = super::head(files)?;
    let Head { timebase, facts, scope, tracer, has_graph_lines } = look(&head.bytes, machine);
    let reader = read::EventReader::new(scope, tracer, is_report || has_graph_lines);
    let mut opened = Opened::lines(timebase, Box::new(reader)).with_facts(facts);
    opened.state = Arc::new(IrqNames::default());
    opened.quirks.leaf_ends_are_stamps = false;
    opened.quirks.exits_may_be_late = scope.has_graph;
    Ok(opened)
}
