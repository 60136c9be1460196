//! Calls that are known only at their end: exits whose entry was not recorded, and records that
//! state a whole call when it returns.

use profctl_model::diag::codes;
use profctl_model::{Fidelity, FuncId, Late, Record, Span, SpanSink, Ticks};

use super::{Moment, Stack};
use crate::emit::NO_DEPTH;
use crate::stitch::orphans::Ended;
use crate::stitch::outermost::{Key, Outermost};
use crate::stitch::shared::Core;
use crate::stitch::{BlockView, depth_at};

/// A call that never was a frame.
struct Known {
    func: FuncId,
    depth: u32,
    wall: Ticks,
    ended: Ended,
    outermost: Outermost,
    fidelity: Fidelity,
}

impl Stack {
    /// A call whose record is at its end, after its callees.
    pub(in crate::stitch) fn returned<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        func: FuncId,
        depth: u16,
        length: Ticks,
        view: BlockView<'_>,
    ) {
        self.reached = self.reached.max(at.time);
        if depth == NO_DEPTH {
            self.pair_by_name(core);
        } else {
            while self.frames.last().is_some_and(|top| top.depth >= u32::from(depth)) {
                self.force(core, at, view);
            }
        }
        let depth = depth_at(depth, self.frames.len());
        self.unseen_above = self.unseen_above.min(depth);
        // Without depths its callees are not known.
        let (ended, outermost) = if self.by_name { Default::default() } else { self.adopt(depth) };
        let fidelity = Fidelity::EXACT;
        let known = Known { func, depth, wall: length, ended, outermost, fidelity };
        self.complete(core, at, known);
    }

    /// The elapsed time of what a return at `depth` will adopt.
    pub(in crate::stitch) fn callees_of_return(&self, depth: u16) -> Ticks {
        let level = self.frames.len();
        self.orphans.elapsed_deeper(level, depth_at(depth, level))
    }

    fn ghost(&self, depth: u32) -> Option<FuncId> {
        self.ghosts.iter().find(|(at, _)| *at == depth).map(|(_, func)| *func)
    }

    /// An exit whose entry is not open. It was open from the beginning of the segment, or its entry
    /// was lost.
    #[cold]
    pub(super) fn unmatched<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        func: Option<FuncId>,
        depth: u32,
        stated: Option<Ticks>,
        view: BlockView<'_>,
    ) {
        let is_around_all = self.by_name && self.frames.is_empty();
        let func = match func {
            None if is_around_all => self.ghosts.pop().map(|(_, func)| func),
            None => self.ghost(depth),
            some => some,
        };
        let name = func.map(|func| core.name_of(func).to_owned());
        core.complain(&codes::UNMATCHED_EXIT, view, at.offset, || match name {
            Some(name) => format!("exit of {name} without entry"),
            None => "exit without a name, and no call is open at its depth".into(),
        });
        let (ended, outermost) = self.adopt(depth);
        // Calls that were open at the beginning end from the inside out. Without depths, whatever is
        // left on an empty stack was open then, and is around all that ended so far.
        let was_open = self.frames.is_empty() && (self.by_name || depth < self.unseen_above);
        // The next one to be left on an empty stack is around this one.
        let depth = if is_around_all { 1 } else { depth };
        self.unseen_above = self.unseen_above.min(depth);
        let Some(func) = func else {
            // No call to credit: its callees stay with its caller.
            self.give_back(depth, ended, outermost);
            return;
        };
        let earliest = match self.frames.last() {
            Some(top) => top.start,
            None => self.begin.unwrap_or(at.time),
        };
        let seen = at.time - earliest;
        // It was open when the first of its callees began.
        let at_least = ended.since.map_or(Ticks(0), |since| at.time - since);
        let wall = match stated {
            Some(stated) => stated.min(seen),
            None if was_open => seen,
            None => at_least,
        };
        let wall = wall.max(at_least);
        let fidelity = Fidelity { start_inferred: true, ..Fidelity::EXACT };
        self.complete(core, at, Known { func, depth, wall, ended, outermost, fidelity });
    }

    /// Passes on a call that never was a frame.
    fn complete<S: SpanSink>(&mut self, core: &mut Core<S>, at: Moment, known: Known) {
        let Known { func, depth, wall, ended, mut outermost, fidelity } = known;
        let below = ended.all;
        let start = at.time - wall;
        let (off_before, off_inside_before) = self.off_before(start);
        let off_cpu = (self.off_total - off_before).min(wall - below.elapsed);
        let elapsed = wall - off_cpu;
        if below.elapsed > elapsed {
            core.diags.count(&codes::CLAMPED, 1);
        }
        let interrupt = core.role(func).is_interrupt;
        let group = core.group(func, interrupt);
        let is_outermost = self.is_outermost(group);
        if is_outermost {
            let is_enclosed = |key: Key| core.group(key.func, key.interrupt) == group;
            for enclosed in outermost.take(at.thread, is_enclosed) {
                core.sink.record(Record::Enclosed(&enclosed), &core.names);
            }
        }
        let span = Span {
            func,
            thread: at.thread,
            cpu: at.cpu,
            start,
            end: at.time,
            wall,
            off_cpu,
            net: elapsed - below.elapsed,
            stolen: below.stolen,
            callees: below.callees,
            descendants: below.descendants,
            late: Late::NONE,
            outermost: is_outermost,
            interrupt,
            fidelity,
        };
        self.settle_orphans(depth);
        let off_inside = (self.off_inside - off_inside_before).min(off_cpu);
        self.hand_on(core, &span, (ended.inside, off_inside), depth, outermost);
    }
}
