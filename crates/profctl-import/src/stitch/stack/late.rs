//! Callees that came late.
//!
//! The kernel takes the time of a return, and writes the record of it a moment later. An interrupt
//! that hits between the two is printed inside the call that it did not interrupt: at that call's
//! depth, or one deeper.
//!
//! ```text
//!  100.000 |               |  read() {
//!  100.001 |               |    verify() {
//!  100.002 |   1.000 us    |      check();
//!  100.040 |  40.000 us    |      irq_exit();         began when verify had returned
//!  100.081 |   4.000 us    |    }
//!  100.082 |  81.000 us    |  }
//! ```
//!
//! So where the stated times of callees exceed that of their caller, those that came late belong to
//! the caller's caller. By its timestamp a callee is late if it began after the caller's stated end;
//! without timestamps, if it is an interrupt and nothing but interrupts followed it.

use profctl_model::{Span, SpanSink, Tick, Ticks};

use super::Stack;
use crate::stitch::orphans::{Below, Ended};
use crate::stitch::shared::Core;

/// A callee that may have come late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recent {
    /// The number of open frames when it ended, its caller included.
    pub(super) level: usize,
    start: Tick,
    elapsed: Ticks,
    /// What of `elapsed` lies in the window.
    inside: Ticks,
    interrupt: bool,
    /// Whether it is shown at the depth of its caller.
    beside: bool,
}

/// Callees that are kept. Late ones are the last of an open call, so old ones can be forgotten.
const KEPT: usize = 512;

impl Stack {
    /// Notes a callee of the top frame.
    #[inline]
    pub(super) fn note_recent(&mut self, span: &Span, ended: Ended, beside: bool) {
        let level = self.frames.len();
        if self.keeps_recent || beside || span.interrupt {
            let (elapsed, inside) = (ended.all.elapsed, ended.inside.elapsed);
            let Span { start, interrupt, .. } = *span;
            self.recent.push(Recent { level, start, elapsed, inside, interrupt, beside });
            self.forget_old();
        } else {
            while self.recent.pop_if(|last| last.level >= level && !last.beside).is_some() {}
        }
    }

    /// The same for a usual callee.
    #[inline]
    pub(super) fn note_usual(&mut self, level: usize, start: Tick, elapsed: Ticks) {
        let inside = Ticks(0);
        let (interrupt, beside) = (false, false);
        self.recent.push(Recent { level, start, elapsed, inside, interrupt, beside });
        self.forget_old();
    }

    #[inline]
    fn forget_old(&mut self) {
        if self.recent.len() >= KEPT {
            self.recent.drain(..KEPT / 2);
        }
    }

    /// Decides about the callees of a call that was just taken off the stack. `limit` is its stated
    /// end, if its callees exceed its time. All that came late go: an interrupt is several calls.
    #[cold]
    pub(super) fn settle_recent<S: SpanSink>(
        &mut self,
        core: &Core<S>,
        limit: Option<Tick>,
        below: &mut Below,
        inside: &mut Below,
    ) {
        let level = self.frames.len() + 1;
        let is_recorded = core.is_recorded();
        // Timestamps are printed in microseconds where durations are printed finer.
        let step = if core.setup.quirks.leaf_ends_are_stamps { Ticks(0) } else { core.microsecond };
        let mut limit = limit;
        while let Some(recent) = self.recent.pop_if(|recent| recent.level >= level) {
            let Some(end) = limit.filter(|_| recent.level == level) else { continue };
            let began_late = is_recorded && recent.start + step > end;
            let did_not_fit = !is_recorded && recent.interrupt;
            if !(recent.beside || began_late || did_not_fit) {
                // Those before it came before it.
                limit = None;
                continue;
            }
            let stolen = |part: Ticks| if recent.interrupt { part } else { Ticks(0) };
            let moved = Below {
                elapsed: recent.elapsed,
                stolen: stolen(recent.elapsed),
                ..Below::default()
            };
            let moved_inside =
                Below { elapsed: recent.inside, stolen: stolen(recent.inside), ..Below::default() };
            below.remove(moved);
            inside.remove(moved_inside);
            if let Some(top) = self.frames.last_mut() {
                top.below.add(moved);
            }
            if let Some(top) = self.inside.last_mut() {
                top.below.add(moved_inside);
            }
        }
    }

    /// Drops the callees of a call that is taken off the stack with so many frames below it.
    #[inline]
    pub(super) fn forget_recent(&mut self, level: usize) {
        while self.recent.pop_if(|recent| recent.level > level).is_some() {}
    }
}
