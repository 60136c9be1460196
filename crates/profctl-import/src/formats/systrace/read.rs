//! Lines as events.

use std::sync::Arc;

use profctl_model::diag::codes::CUT_RECORD;
use profctl_model::hash::FastSet;

use super::mark::{self, Mark};
use crate::emit::{At, Emitter, LaneKey, ThreadKey, ThreadName};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::line::{self, EventLine, Stamp};
use crate::kernel_events::text as event_text;
use crate::kernel_events::{Applier, IrqNames, Place, Scope, Task};
use crate::text;

/// Reads lines. Lines that are not events (markup, lists of processes) are skipped.
pub(crate) struct Lines {
    applier: Applier,
    /// Threads of this block whose process was said.
    described: FastSet<u64>,
}

impl Lines {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { applier: Applier::new(scope), described: FastSet::default() }
    }

    /// One for another worker.
    pub(crate) fn forked(&self) -> Self {
        Self { applier: self.applier.fork(), described: FastSet::default() }
    }

    /// Begins a block: `irqs` are the interrupts named in those before.
    pub(crate) fn begin(&mut self, irqs: &IrqNames) {
        self.applier.set_irqs(irqs);
        self.described.clear();
    }

    /// The interrupts that were named up to here.
    pub(crate) fn irqs(&self) -> &IrqNames {
        self.applier.irqs()
    }

    /// Reads a line, from byte `offset` of the block on; `ended` if it is whole.
    pub(crate) fn line(&mut self, line: &[u8], ended: bool, offset: usize, out: &mut Emitter) {
        // Old pages have the text as a string of JavaScript, whose lines end with this.
        let line = line.strip_suffix(br"\n\").unwrap_or(line);
        match line::parse(line) {
            Some(_) if !ended => {
                out.records += 1;
                out.diag(&CUT_RECORD, offset, || "the last line is truncated".into());
            }
            Some(event) => self.event(&event, offset, out),
            None => {
                if let Some(lost) = line::lost(line.trim_ascii()) {
                    out.records += 1;
                    let lane = out.lane(LaneKey { cpu: lost.cpu, thread: ThreadKey::Unstated });
                    out.lost(At { time: None, lane, offset }, lost.events);
                }
            }
        }
    }
}

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(self.forked())
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<IrqNames>().cloned().unwrap_or_default();
        self.begin(&before);
        for line in text::lines(block.bytes) {
            out.lines += 1;
            self.line(line.text, line.ended, line.offset, out);
        }
        let after = self.irqs();
        (*after != before).then(|| Arc::new(after.clone()) as State)
    }
}

impl Lines {
    fn event(&mut self, event: &EventLine<'_>, offset: usize, out: &mut Emitter) {
        out.records += 1;
        let name = if event.task == b"<...>" { b"" } else { event.task };
        let lane = self.applier.lane(Some(event.cpu), Task { tid: event.tid, name }, out);
        let (Stamp::Nanos(time) | Stamp::Count(time) | Stamp::SinceStart(time)) = event.time;
        let at = At { time: Some(time), lane, offset };
        let printed = event_text::printed(event.body);
        if time == 0 && printed.arguments.trim_ascii().starts_with(b"trace_event_clock_sync:") {
            // Old pages end with how their clock relates to another one. It is no time of the trace.
            return;
        }
        let Some(mark) = mark::of(printed.name, printed.arguments) else {
            let place = Place {
                time: Some(time),
                cpu: Some(event.cpu),
                lane,
                context: event.context,
                offset,
            };
            if !self.applier.apply(&printed.event, &place, out) {
                let name: &[u8] = match printed.name {
                    b"" => b"event",
                    b"0" => b"tracing_mark_write",
                    name => name,
                };
                let detail = String::from_utf8_lossy(printed.arguments);
                self.applier.mark(name, detail.trim(), at, out);
            }
            return;
        };
        let process = match mark {
            Mark::Begin { process, .. } => event.pid.or(process),
            _ => event.pid,
        };
        if let Some(pid) = process
            && event.tid != 0
            && self.described.insert(event.tid)
        {
            let name = ThreadName { tid: Some(event.tid), pid: Some(pid), idle: false };
            out.name_thread(lane, offset, name);
        }
        mark.say(at, out);
    }
}
