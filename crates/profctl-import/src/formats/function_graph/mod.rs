//! The text of Linux's `function_graph` tracer, with whatever columns its options add.
//!
//! Durations are stated and win over timestamps; timestamps, if there are any, place the calls.
//! [`layout`] detects the columns, [`line`] reads one line of any layout, [`fast`] reads the usual
//! lines of the usual layouts and leaves everything else to [`line`].

pub(crate) mod classify;
pub(in crate::formats) mod columns;
mod fast;
mod head;
mod infer;
pub(in crate::formats) mod known;
mod layout;
pub(crate) mod line;
mod read;
pub(in crate::formats) mod wide;

use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
use head::Head;

/// The importer of `function_graph`.
pub struct FunctionGraph;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "function_graph",
    about: "Linux ftrace, tracer function_graph: trace, trace_pipe and per-CPU files as text",
    recognized: "its header, or lines of its form where there is none (trace_pipe)",
    codes: &[&read::FOREIGN_LINE, &read::OVERRUNS],
    ..Descriptor::PLAIN
};

impl Importer for FunctionGraph {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if let Some(header) = layout::find_header(head) {
            let columns = String::from_utf8_lossy(header.trim_ascii());
            return Recognition::Yes(format!("the header `{columns}`"));
        }
        match head::tracer(head) {
            Some(b"function_graph") => {
                return Recognition::Yes("the header `# tracer: function_graph`".into());
            }
            // Other tracers have lines of another form (see `ftrace`).
            Some(_) => return Recognition::No,
            None => {}
        }
        match infer::infer(head) {
            Some((layout, fitting, lines)) => Recognition::Yes(format!(
                "{fitting} of the first {lines} lines are graph lines with the columns {layout}"
            )),
            None => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let known = layout::find_header(head).and_then(layout::Layout::from_header);
        let layout = match known {
            Some(layout) => layout,
            None => match infer::infer(head) {
                Some((layout, ..)) => layout,
                None if head::tracer(head) == Some(b"function_graph") => layout::Layout::DEFAULT,
                None => {
                    return Err(ImportError::whole(
                        "has no function graph line in its first megabyte",
                    ));
                }
            },
        };
        let Head { initial, clock, returns_only, release } = head::look(head, layout);
        let timeline = if clock.tells_time() { Timeline::Recorded } else { Timeline::Synthetic };
        let mut facts = vec![("columns", layout.to_string())];
        if let Some(release) = release {
            facts.push(("kernel", release));
        }
        if returns_only {
            facts.push(("recorded", "returns only (tracing_thresh)".into()));
        }
        if let Some(why) = clock.why_not() {
            facts.push(("timeline", why.into()));
        }
        let mut opened = Opened::lines(
            Timebase {
                unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
                resolution: Ticks(1),
                timeline,
            },
            Box::new(read::GraphReader::new(returns_only, clock.tells_time())),
        )
        .with_facts(facts)
        .with_state(Arc::new(layout));
        opened.quirks.leaf_ends_are_stamps = false;
        opened.quirks.exits_may_be_late = true;
        opened.quirks.initial = initial;
        Ok(opened)
    }
}
