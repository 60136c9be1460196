//! What `trace-cmd report` prints of a trace.dat: the lines of tracefs, but that functions of
//! `function_graph` are events among the others and that some events are printed by
//! libtraceevent's own rules.

#[cfg(test)]
mod tests;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, ftrace};
use crate::files::Files;

/// The importer of `trace_cmd_report`.
pub struct Report;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "trace_cmd_report",
    about: "text of trace-cmd report",
    recognized: "its first line `cpus=N`, or lines of its form",
    ..Descriptor::PLAIN
};

/// How much of the head is looked at to recognize lines.
const SNIFFED: usize = 64 << 10;

impl Importer for Report {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if ftrace::is_tracefs(probe.head) {
            return Recognition::No;
        }
        let counted = ftrace::count(&probe.head[..probe.head.len().min(SNIFFED)]);
        let sure = counted.is_report || counted.graph_lines > 0;
        if !sure || counted.events * 2 < counted.lines || counted.events == 0 {
            return Recognition::No;
        }
        Recognition::Yes(format!(
            "{} of the first {} lines are events of trace-cmd report",
            counted.events, counted.lines
        ))
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        ftrace::open(files, options, true)
    }
}
