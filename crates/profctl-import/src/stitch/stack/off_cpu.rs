//! When a thread was off the CPU.

use profctl_model::{Tick, Ticks};

use super::Stack;
use crate::stitch::shared::Core;

/// An interval in which the thread was off the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Off {
    middle: Tick,
    length: Ticks,
    /// What of it lies within the window.
    inside: Ticks,
    /// How many calls were open.
    open: usize,
}

/// Intervals that are kept. How long the thread was off the CPU before them is not asked for, unless
/// by the exit of a call that began then and whose entry is missing.
const KEPT: usize = 512;

impl Stack {
    pub(in crate::stitch) fn switched_out(&mut self, time: Tick) {
        self.still_there(time);
        self.off_since = Some(time.max(self.last));
    }

    pub(in crate::stitch) fn switched_in<S>(&mut self, core: &Core<S>, time: Tick) {
        self.still_there(time);
        let Some(start) = self.off_since.take() else { return };
        if self.offs.len() >= KEPT {
            self.offs.drain(..KEPT / 2);
        }
        let (length, overlap) = (time - start, core.window.overlap(start, time));
        let inside = overlap.map_or(Ticks(0), |(start, end)| end - start);
        let (middle, open) = (start + Ticks(length.0 / 2), self.frames.len());
        self.offs.push(Off { middle, length, inside, open });
        self.off_total += length;
        self.off_inside += inside;
    }

    /// Whether it is on a CPU is not known any more.
    pub(in crate::stitch) fn lost_track(&mut self) {
        self.off_since = None;
    }

    /// How long the thread had been off the CPU when a call began at `time`: in all, and within the
    /// window. That does not happen off the CPU, so what looks like it, because stamps are rougher
    /// than lengths, happened at the edge that is nearer.
    pub(super) fn off_before(&self, time: Tick) -> (Ticks, Ticks) {
        self.off_but(|off| off.middle >= time, |_| false)
    }

    /// The same when a call ended, at `time` by its start and length. Its start may be stamped too
    /// early, so intervals behind that count as well where one of its callees was open, unless these
    /// came late, from `late` on. `open` calls were open with it.
    pub(super) fn off_until(&self, time: Tick, open: usize, late: Option<Tick>) -> (Ticks, Ticks) {
        let is_within = |off: &Off| off.open > open && late.is_none_or(|late| off.middle < late);
        self.off_but(|off| off.middle >= time, is_within)
    }

    /// All time off the CPU without the latest intervals that are `later`, but for those of these that
    /// count.
    fn off_but(
        &self,
        later: impl Fn(&Off) -> bool,
        counts: impl Fn(&Off) -> bool,
    ) -> (Ticks, Ticks) {
        let latest = self.offs.iter().rev().take_while(|off| later(off));
        latest
            .filter(|off| !counts(off))
            .fold((self.off_total, self.off_inside), |(total, inside), off| {
                (total - off.length, inside - off.inside)
            })
    }
}
