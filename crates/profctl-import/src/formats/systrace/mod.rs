//! Systrace: what Android's `atrace` collects, as text or inside the HTML page that `systrace` made
//! of it. Lines of ftrace, among them what programs wrote to `trace_marker`:
//!
//! ```text
//! RenderThread-21621 (21620) [000] ...1. 7042.175904: tracing_mark_write: B|21620|DrawFrame
//! RenderThread-21621 (21620) [000] ...1. 7042.176304: tracing_mark_write: E|21620
//! ```

use profctl_model::{Ticks, Timebase};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, head};
use crate::files::Files;
use crate::kernel_events::syscalls::Machine;
use crate::kernel_events::{Scope, line, text as event_text};
use crate::text;

pub(crate) mod mark;
pub(crate) mod read;
#[cfg(test)]
mod tests;

use mark::Mark;

/// The importer of `systrace`.
pub struct Systrace;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "systrace",
    about: "systrace HTML, text of Android's atrace: slices, counters, scheduler events",
    recognized: "`tracing_mark_write: B|…` in ftrace text, or the trace data of a systrace page",
    ..Descriptor::PLAIN
};

const PAGE: &[u8] = b"class=\"trace-data\"";

const COMPRESSED: &str = "compressed output of `atrace -z`: record without -z, or convert it \
                          with `systrace --from-file FILE`";

/// Whether a slice begins or ends on one of the lines, and whether system calls are recorded twice.
fn survey(head: &[u8]) -> (usize, bool) {
    let (mut slices, mut has_raw_syscalls) = (0, false);
    for line in text::lines(head).filter(|line| line.ended) {
        let Some(event) = line::parse(line.text) else { continue };
        let printed = event_text::printed(event.body);
        let mark = mark::of(printed.name, printed.arguments);
        slices += usize::from(matches!(mark, Some(Mark::Begin { .. })));
        has_raw_syscalls |= matches!(printed.name, b"sys_enter" | b"sys_exit");
    }
    (slices, has_raw_syscalls)
}

impl Importer for Systrace {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if head.starts_with(b"TRACE:\n\x78") || head.starts_with(b"TRACE:\r\n\x78") {
            return Recognition::Neighbor(format!("is {COMPRESSED}"));
        }
        if !text::looks_like_text(head) {
            return Recognition::No;
        }
        let is_page = head.trim_ascii_start().starts_with(b"<");
        if is_page && memchr::memmem::find(head, b"Android System Trace").is_some() {
            return Recognition::Yes("a page of systrace".into());
        }
        if is_page && memchr::memmem::find(head, PAGE).is_none() {
            return Recognition::No;
        }
        // Slices among the calls of functions: those are read by depth.
        let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
        if has(b"# tracer: function_graph") || has(b"funcgraph_entry:") {
            return Recognition::No;
        }
        match survey(head) {
            (0, _) => Recognition::No,
            _ => Recognition::Yes("`tracing_mark_write: B|…` in ftrace text".into()),
        }
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let (_, has_raw_syscalls) = survey(&head(files)?.bytes);
        // Phones are 64-bit ARM.
        let scope = Scope { has_raw_syscalls, machine: Machine::Generic, ..Scope::default() };
        let timebase = Timebase { resolution: Ticks(1_000), ..Timebase::NANOSECONDS };
        Ok(Opened::lines(timebase, Box::new(read::Lines::new(scope))))
    }
}
