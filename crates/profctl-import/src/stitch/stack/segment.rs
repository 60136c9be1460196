//! Where an interval without losses begins and ends: gaps, the end of the input.

use profctl_model::diag::codes;
use profctl_model::{Fidelity, SpanSink, ThreadId, Tick};

use super::{Moment, Stack};
use crate::stitch::shared::Core;

impl Stack {
    /// Begins a segment at the first record of a thread, or the first after a gap.
    #[cold]
    pub(in crate::stitch) fn begin_segment<S: SpanSink>(&mut self, core: &Core<S>, time: Tick) {
        self.begin = Some(time);
        // Until an exit shows otherwise.
        self.keeps_recent = core.is_recorded();
        self.unseen_above = if core.setup.quirks.exits_are_paired { 0 } else { u32::MAX };
    }

    /// See [`profctl_model::Progress::open_from`].
    pub(in crate::stitch) fn open_from(&self) -> Option<Tick> {
        // Calls that were open when the segment began may still exit.
        let since = self.begin.filter(|_| self.unseen_above > 0);
        let first = self.frames.first().map(|frame| frame.start);
        let orphan = (!self.orphans.is_empty()).then_some(self.last);
        [since, first, orphan].into_iter().flatten().min()
    }

    /// Ends everything that is open because records are missing after it.
    pub(in crate::stitch) fn end_segment<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        thread: ThreadId,
    ) {
        self.ghosts = self.frames.iter().map(|frame| (frame.depth, frame.func)).collect();
        let fidelity = Fidelity { end_inferred: true, at_gap: true, ..Fidelity::EXACT };
        self.close_all(core, thread, fidelity);
        self.recent.clear();
        self.orphans.clear();
        self.watched.clear();
        self.by_name = false;
        self.forced.clear();
        self.interrupts.clear();
        self.off_since = None;
        self.begin = None;
    }

    fn close_all<S: SpanSink>(&mut self, core: &mut Core<S>, thread: ThreadId, fidelity: Fidelity) {
        let time = self.latest();
        let at = Moment { thread, cpu: self.cpu, time, offset: 0 };
        while !self.frames.is_empty() {
            self.close(core, at, None, fidelity, None);
        }
        // What comes after a loss comes after that.
        self.last = time;
    }

    /// Ends the input for this thread: what is open is cut where the thread was last seen.
    pub(in crate::stitch) fn finish<S: SpanSink>(&mut self, core: &mut Core<S>, thread: ThreadId) {
        if self.frames.is_empty() {
            return;
        }
        core.diags.count(&codes::UNCLOSED_ENTRY, self.frames.len() as u64);
        let fidelity = Fidelity { end_inferred: true, ..Fidelity::EXACT };
        self.close_all(core, thread, fidelity);
    }
}
