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
//! the caller's caller, and follow the caller. By its timestamp a callee is late if it began after
//! the caller's stated end; without timestamps, if it is an interrupt and nothing but interrupts
//! followed it. What is shown at the depth of its caller began when that had returned, and so did
//! all that came behind it.

use profctl_model::{Enclosed, Late, Record, Span, SpanSink, Tick, Ticks};

use super::{Frame, Moment, Stack};
use crate::stitch::orphans::{Below, Ended};
use crate::stitch::outermost::Outermost;
use crate::stitch::shared::Core;

/// A callee that may have come late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recent {
    /// The number of open frames when it ended, its caller included.
    pub(super) level: u32,
    interrupt: bool,
    /// Whether it is shown at the depth of its caller, or came behind one that is.
    beside: bool,
    start: Tick,
    elapsed: Ticks,
    /// It and all calls below it.
    calls: u64,
}

impl Recent {
    fn below(self) -> Below {
        let stolen = if self.interrupt { self.elapsed } else { Ticks(0) };
        Below { elapsed: self.elapsed, stolen, callees: 1, descendants: self.calls }
    }
}

/// Callees that may have come late, the deepest last.
#[derive(Debug, Default)]
pub(super) struct Recents {
    list: Vec<Recent>,
    /// If there is a window: what of each was passed on.
    inside: Vec<Below>,
    /// How many were forgotten because there were too many.
    forgotten: usize,
}

impl Recents {
    #[inline]
    pub(super) fn last(&self) -> Option<&Recent> {
        self.list.last()
    }

    /// Whether the next callee at `level` comes behind one that is shown at the depth of its caller.
    #[inline]
    fn is_behind(&self, level: u32) -> bool {
        self.last().is_some_and(|last| last.beside && last.level == level)
    }

    #[inline]
    fn push(&mut self, recent: Recent) {
        self.list.push(recent);
        if self.list.len() >= KEPT {
            self.forget_first();
        }
    }

    #[cold]
    fn forget_first(&mut self) {
        self.list.drain(..KEPT / 2);
        self.inside.drain(..self.inside.len().min(KEPT / 2));
        self.forgotten += KEPT / 2;
    }

    /// How many there were so far, as [`Self::truncate`] takes it.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.forgotten + self.list.len()
    }

    /// Drops those that came after there were `count`: the callees of a call that began then. In
    /// one step, because how many those are cannot be predicted. Not where there is a window.
    #[inline]
    pub(super) fn truncate(&mut self, count: usize) {
        self.list.truncate(count.saturating_sub(self.forgotten));
    }

    #[inline]
    fn pop_if(&mut self, is_wanted: impl Fn(&Recent) -> bool) -> Option<(Recent, Option<Below>)> {
        let recent = self.list.pop_if(|last| is_wanted(last))?;
        Some((recent, self.inside.pop()))
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.inside.clear();
    }
}

/// Callees that are kept, and nested calls of each level. Late ones are the last of an open call, so old
/// ones can be forgotten.
const KEPT: usize = 512;

/// A call that was passed on as nested in one of its function (or whatever calls are grouped by).
#[derive(Clone, Copy, Debug)]
pub(super) struct Nested {
    start: Tick,
    call: Enclosed,
}

/// Callees of a call that came late to it, the first of them first.
#[derive(Debug, Default)]
pub(super) struct Moved {
    recents: Vec<(Recent, Option<Below>)>,
}

impl Moved {
    /// When the first of them began.
    pub(super) fn start(&self) -> Option<Tick> {
        self.recents.first().map(|(first, _)| first.start)
    }

    /// What of them was passed on.
    pub(super) fn late(&self) -> Late {
        self.recents.iter().fold(Late::NONE, |late, (recent, inside)| {
            let Below { callees, descendants, .. } = inside.unwrap_or(recent.below());
            Late {
                roots: late.roots.saturating_add(callees),
                calls: late.calls.saturating_add(descendants),
            }
        })
    }
}

impl Stack {
    /// Notes a callee of the top frame.
    #[inline]
    pub(super) fn note_recent<S>(
        &mut self,
        core: &Core<S>,
        span: &Span,
        ended: Ended,
        beside: bool,
    ) {
        let level = self.frames.len() as u32;
        let beside = beside || self.recent.is_behind(level);
        if self.keeps_recent || beside || span.interrupt {
            let Span { start, interrupt, .. } = *span;
            let (elapsed, calls) = (ended.all.elapsed, ended.all.descendants);
            if core.is_windowed {
                self.recent.inside.push(ended.inside);
            }
            self.recent.push(Recent { level, interrupt, beside, start, elapsed, calls });
        } else {
            while self.recent.pop_if(|last| last.level >= level && !last.beside).is_some() {}
        }
    }

    /// The same for a usual callee, which made `calls` with its own.
    #[inline]
    pub(super) fn note_usual(&mut self, level: usize, start: Tick, elapsed: Ticks, calls: u64) {
        let (level, interrupt) = (level as u32, false);
        let beside = self.recent.is_behind(level);
        self.recent.push(Recent { level, interrupt, beside, start, elapsed, calls });
    }

    /// Whether a callee of the top frame may turn out to have come late.
    #[inline]
    pub(super) fn may_come_late<S: SpanSink>(&self, core: &Core<S>) -> bool {
        self.keeps_recent || core.setup.quirks.exits_may_be_late || !core.is_recorded()
    }

    /// Notes a call that was passed on as nested, if what is around it may come to be elsewhere.
    #[cold]
    pub(super) fn note_nested(&mut self, group: u32, start: Tick, call: Enclosed) {
        let Some(level) = self.frames.iter().rposition(|frame| frame.group == group) else {
            return;
        };
        if self.nested.len() <= level {
            self.nested.resize_with(level + 1, Vec::new);
        }
        let nested = &mut self.nested[level];
        nested.push(Nested { start, call });
        if nested.len() >= KEPT {
            nested.drain(..KEPT / 2);
        }
    }

    /// Decides about the callees of a call that was just taken off the stack. `limit` is its stated
    /// end and how long it took, if its callees exceed that. All that came late go, unless the
    /// caller has no time for them: an interrupt is several calls.
    #[cold]
    pub(super) fn settle_recent<S: SpanSink>(
        &mut self,
        core: &Core<S>,
        at: Moment,
        limit: Option<(Tick, Ticks)>,
        below: &mut Below,
        inside: &mut Below,
    ) -> Moved {
        let level = self.frames.len() as u32 + 1;
        let is_recorded = core.is_recorded();
        // Timestamps are printed in microseconds where durations are printed finer.
        let step = if core.setup.quirks.leaf_ends_are_stamps { Ticks(0) } else { core.microsecond };
        let mut room = Ticks(u64::MAX);
        if let (Some(top), Some((_, elapsed)), true) = (self.frames.last(), limit, is_recorded) {
            let off_cpu = self.off_total - top.off_base;
            room = (at.time - top.start) + step - off_cpu - top.below.elapsed - elapsed;
        }
        let mut limit = limit.map(|(end, _)| end);
        let mut moved = Moved::default();
        while let Some((recent, part)) = self.recent.pop_if(|recent| recent.level >= level) {
            let Some(end) = limit.filter(|_| recent.level == level) else { continue };
            let began_late = is_recorded && recent.start + step > end;
            let did_not_fit = !is_recorded && recent.interrupt;
            let is_late = recent.beside || began_late || did_not_fit;
            if !is_late || recent.elapsed > room {
                // Those before it came before it.
                limit = None;
                continue;
            }
            room = room - recent.elapsed;
            below.remove(recent.below());
            inside.remove(part.unwrap_or_default());
            if let Some(top) = self.frames.last_mut() {
                top.below.add(recent.below());
            }
            if let (Some(top), Some(part)) = (self.inside.last_mut(), part) {
                top.below.add(part);
            }
            moved.recents.push((recent, part));
        }
        moved.recents.reverse();
        moved
    }

    /// What came late to `frame`, which was passed on, is the new top frame's.
    #[cold]
    pub(super) fn follow<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        frame: &Frame,
        moved: Moved,
    ) {
        let Some(start) = moved.start() else { return };
        let level = self.frames.len();
        // A caller whose entry was not recorded may claim them later.
        let mut ended = Ended::default();
        for (recent, inside) in &moved.recents {
            ended.all.add(recent.below());
            ended.inside.add(inside.unwrap_or_default());
        }
        self.keep_outermost(ended, frame.depth, Outermost::default());
        if level > 0 {
            let level = level as u32;
            let beside = self.recent.is_behind(level);
            for (recent, inside) in moved.recents {
                self.recent.inside.extend(inside);
                self.recent.push(Recent { level, beside, ..recent });
            }
        }
        if !self.is_outermost(frame.group) {
            return;
        }
        let mut outermost = Outermost::default();
        let nested = self.nested.get(level).map_or(&[][..], |nested| nested);
        for nested in nested.iter().filter(|nested| nested.start >= start) {
            outermost.add_call(&nested.call);
        }
        for calls in outermost.take(at.thread, |_| true) {
            core.sink.record(Record::Outermost(&calls), &core.names);
        }
    }

    /// Drops the callees of a call that is taken off the stack with so many frames below it.
    #[inline]
    pub(super) fn forget_recent(&mut self, level: usize) {
        while self.recent.pop_if(|recent| recent.level as usize > level).is_some() {}
    }

    /// Forgets which calls were nested in a call that is taken off the stack, with so many frames
    /// below it.
    #[inline]
    pub(super) fn forget_nested(&mut self, level: usize) {
        if let Some(nested) = self.nested.get_mut(level) {
            nested.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_callees_are_kept_and_all_are_counted() {
        let mut recents = Recents::default();
        let callee = Recent {
            level: 1,
            interrupt: false,
            beside: false,
            start: Tick(0),
            elapsed: Ticks(0),
            calls: 1,
        };
        for n in 1..=5 * KEPT {
            recents.inside.push(Below::default());
            recents.push(Recent { start: Tick(n as u64), ..callee });
            assert_eq!(recents.count(), n);
            assert!(recents.list.len() < KEPT);
            assert_eq!(recents.inside.len(), recents.list.len());
        }
        recents.truncate(5 * KEPT - 3);
        assert_eq!(recents.last().map(|last| last.start), Some(Tick(5 * KEPT as u64 - 3)));
    }
}
