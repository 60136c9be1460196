//! Where a stack begins and ends: gaps, the end of the input, the window that was asked for.

use profctl_model::diag::codes;
use profctl_model::{CpuId, Fidelity, SpanSink, ThreadId, Tick};

use super::{Exit, Stack};
use crate::stitch::orphans::Below;
use crate::stitch::shared::Core;

impl Stack {
    /// Ends everything that is open because records are missing behind it.
    pub(in crate::stitch) fn end_segment<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        thread: ThreadId,
    ) {
        self.ghosts = self.frames.iter().map(|frame| (frame.depth, frame.func)).collect();
        let fidelity = Fidelity { end_inferred: true, at_gap: true, ..Fidelity::EXACT };
        self.close_all(core, thread, self.reached.max(self.last), fidelity);
        self.beside.clear();
        self.orphans.clear();
        self.headless.clear();
        self.interrupts.clear();
        self.off_since = None;
        self.begin = None;
    }

    fn close_all<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        thread: ThreadId,
        end: Tick,
        fidelity: Fidelity,
    ) {
        let at = Exit { thread, cpu: self.cpu, time: end, offset: 0 };
        while !self.frames.is_empty() {
            self.close(core, at, None, fidelity, None);
        }
    }

    /// Ends the input for this thread.
    pub(in crate::stitch) fn finish<S: SpanSink>(&mut self, core: &mut Core<S>, thread: ThreadId) {
        if self.left || self.frames.is_empty() {
            return;
        }
        if let Some(from) = core.window.from
            && !self.entered
        {
            self.cut(from);
        }
        core.diags.count(&codes::UNCLOSED_ENTRY, self.frames.len() as u64);
        let fidelity = Fidelity { end_inferred: true, ..Fidelity::EXACT };
        self.close_all(core, thread, self.reached.max(self.last), fidelity);
    }

    /// Begins a segment if none has begun, and says whether `time` is to be taken at all.
    pub(in crate::stitch) fn open_window<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        (thread, cpu): (ThreadId, Option<CpuId>),
        time: Tick,
    ) -> bool {
        if self.begin.is_none() {
            self.begin = Some(time);
            self.off_at_begin = self.off_total;
        }
        if self.left {
            return false;
        }
        if let Some(until) = core.window.until
            && time > until
        {
            self.left = true;
            self.cpu = cpu;
            let fidelity = Fidelity { end_inferred: true, ..Fidelity::EXACT };
            self.close_all(core, thread, until, fidelity);
            return false;
        }
        if let Some(from) = core.window.from
            && !self.entered
            && time >= from
        {
            self.cut(from);
        }
        true
    }

    /// Begins the window: open calls begin here.
    fn cut(&mut self, from: Tick) {
        self.entered = true;
        for frame in &mut self.frames {
            frame.start = from.max(frame.start);
            frame.below = Below::default();
            frame.off_base = self.off_total;
            frame.clipped = true;
            frame.is_usual = false;
        }
        self.beside.clear();
        self.orphans.clear();
        self.begin = Some(from);
        self.off_at_begin = self.off_total;
        self.off_since = self.off_since.map(|since| since.max(from));
    }
}
