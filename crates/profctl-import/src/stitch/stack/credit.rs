//! Whose time a call that ended was part of: its caller's, or that of a caller which is not there.

use profctl_model::{Span, SpanSink, Ticks};

use super::{Beside, Stack};
use crate::stitch::orphans::Below;
use crate::stitch::shared::Core;

impl Stack {
    /// Adds a call that ended to its caller, and to the orphans if a caller between is missing.
    #[inline]
    pub(super) fn credit<S: SpanSink>(&mut self, core: &Core<S>, span: &Span, depth: u32) {
        let elapsed = span.elapsed();
        let stolen = if core.role(span.func).is_interrupt { elapsed } else { Ticks(0) };
        let below =
            Below { elapsed, stolen, callees: 1, descendants: span.descendants.saturating_add(1) };
        let nearest = match self.frames.last_mut() {
            Some(top) => {
                top.below.add(below);
                if depth == top.depth {
                    let level = self.frames.len();
                    self.beside.push(Beside { level, elapsed, stolen });
                    return;
                }
                top.depth + 1
            }
            None => 0,
        };
        if depth > nearest {
            self.orphans.add(self.frames.len(), depth, below);
        }
    }

    /// A call at `depth` proves that what ended deeper had its callers end before it.
    pub(super) fn settle_orphans(&mut self, depth: u32) {
        let level = self.frames.len();
        let nearest = self.frames.last().map_or(0, |top| top.depth + 1);
        let settled = self.orphans.take_deeper(level, depth);
        if depth > nearest && settled.callees > 0 {
            self.orphans.add(level, depth, settled);
        }
    }

    /// Takes the orphans deeper than `depth` away from where they were credited.
    pub(super) fn adopt(&mut self, depth: u32) -> Below {
        let adopted = self.orphans.take_deeper(self.frames.len(), depth);
        if let Some(top) = self.frames.last_mut() {
            top.below.remove(adopted);
        }
        adopted
    }

    /// Gives what nobody adopted back to where it was credited.
    pub(super) fn give_back(&mut self, depth: u32, below: Below) {
        if below.callees == 0 {
            return;
        }
        if let Some(top) = self.frames.last_mut() {
            top.below.add(below);
        }
        let nearest = self.frames.last().map_or(0, |top| top.depth + 1);
        if depth > nearest {
            self.orphans.add(self.frames.len(), depth, below);
        }
    }

    /// Decides about what hit a call on its way out: what does not fit into the call's stated
    /// length came after it, and is its caller's.
    #[cold]
    pub(super) fn settle_beside(&mut self, below: &mut Below, fits: bool) {
        let level = self.frames.len() + 1;
        while let Some(beside) = self.beside.pop_if(|beside| beside.level >= level) {
            if fits || beside.level > level {
                continue;
            }
            below.elapsed = below.elapsed - beside.elapsed;
            below.stolen = below.stolen - beside.stolen;
            if let Some(top) = self.frames.last_mut() {
                top.below.elapsed += beside.elapsed;
                top.below.stolen += beside.stolen;
            }
        }
    }
}
