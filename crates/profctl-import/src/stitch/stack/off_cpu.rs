//! When a thread was off the CPU.

use profctl_model::{Tick, Ticks};

use super::Stack;
use crate::stitch::shared::Core;

/// An interval in which the thread was off the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Off {
    middle: Tick,
    /// All time off the CPU before it, and the same within the window.
    total: Ticks,
    inside: Ticks,
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
        let length = time - start;
        if self.offs.len() >= KEPT {
            self.offs.drain(..KEPT / 2);
        }
        let middle = start + Ticks(length.0 / 2);
        self.offs.push(Off { middle, total: self.off_total, inside: self.off_inside });
        self.off_total += length;
        if let Some((start, end)) = core.window.overlap(start, time) {
            self.off_inside += end - start;
        }
    }

    /// Whether it is on a CPU is not known any more.
    pub(in crate::stitch) fn lost_track(&mut self) {
        self.off_since = None;
    }

    /// How long the thread had been off the CPU when a call began or ended at `time`: in all, and
    /// within the window. Neither happens off the CPU, so what looks like it, because stamps are
    /// rougher than lengths, happened at the edge that is nearer.
    pub(super) fn off_until(&self, time: Tick) -> (Ticks, Ticks) {
        let later = self.offs.iter().rev().take_while(|off| off.middle >= time).last();
        later.map_or((self.off_total, self.off_inside), |off| (off.total, off.inside))
    }
}
