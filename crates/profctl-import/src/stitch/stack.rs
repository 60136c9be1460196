//! The stack of one thread: frames that are open, and what became of them.
//!
//! A *segment* is an interval in which nothing was lost: it begins with the first record of a
//! thread (or the first after a gap) and bounds what is credited to calls whose entry was not
//! recorded.

mod close;
mod credit;
mod late;
mod off_cpu;
mod segment;
mod unmatched;
mod usual;

use profctl_model::diag::codes;
use profctl_model::hash::FastMap;
use profctl_model::{CpuId, Fidelity, FuncId, Late, Span, SpanSink, ThreadId, Tick, Ticks};

use super::groups::OpenGroups;
use super::orphans::{Below, Orphans};
use super::outermost::Outermost;
use super::shared::Core;
use super::{BlockView, depth_at};
use crate::emit::{Event, NO_DEPTH, UNSTATED, unseen};
use late::{Nested, Recents};
use off_cpu::Off;
use usual::UsualFrom;

/// Where and when something happens on a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) thread: ThreadId,
    pub(super) cpu: Option<CpuId>,
    pub(super) time: Tick,
    pub(super) offset: u32,
}

/// An open call.
#[derive(Clone, Copy, Debug)]
struct Frame {
    func: FuncId,
    depth: u32,
    start: Tick,
    /// `Stack::off_total` at its entry.
    off_base: Ticks,
    below: Below,
    /// The group that was opened for it.
    group: u32,
    /// How many callees were noted when it began, see [`Recents::count`].
    noted: usize,
    /// Bits of [`unseen`].
    unseen: u8,
    /// Whether it runs as an interrupt.
    interrupt: bool,
    /// Whether its entry stated lengths: the last of `Stack::stated` are of the top such frame.
    has_stated: bool,
    /// Whether its caller is the frame below and nothing about it is special, see [`usual`].
    is_usual: bool,
}

impl Frame {
    fn group(&self) -> u32 {
        self.group
    }
}

/// What of an open call lies in the window that was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    below: Below,
    /// `Stack::off_inside` at its entry.
    off_base: Ticks,
}

/// What an entry stated in advance, or [`UNSTATED`].
#[derive(Clone, Copy, Debug)]
struct Stated {
    wall: u64,
    net: u64,
}

/// What was passed on as outermost below an open call that may get callers; see [`Outermost`].
#[derive(Debug)]
struct Watched {
    /// The number of frames below that call.
    level: usize,
    outermost: Outermost,
}

/// The stack of one thread.
#[derive(Debug, Default)]
pub(super) struct Stack {
    frames: Vec<Frame>,
    /// One a frame, if there is a window.
    inside: Vec<Inside>,
    groups: OpenGroups,
    /// Of the frames whose entries stated something, in their order.
    stated: Vec<Stated>,
    orphans: Orphans,
    /// Of the open calls that are orphans, in their order. Where depths are not shown, the first is
    /// of everything that ended in this segment, unless all exits are paired.
    watched: Vec<Watched>,
    /// Callees that may have come late; the deepest last.
    recent: Recents,
    /// Calls that were passed on as nested in an open one, while that may turn out otherwise; by the
    /// number of frames below the innermost such one.
    nested: Vec<Vec<Nested>>,
    /// Whether all callees are kept there: so it is while the times of callees are recorded, and
    /// exits state lengths.
    keeps_recent: bool,
    /// Whether the input shows no depths, so that exits are paired by name.
    by_name: bool,
    /// By name: calls that were ended by force in this segment, and whose exits may still come.
    forced: FastMap<FuncId, u32>,
    /// Names by depth of what a gap ended: an exit without a name belongs to them.
    ghosts: Vec<(u32, FuncId)>,
    /// By depth: no call at this depth or above it was seen in this segment but those that were open
    /// at its beginning. 0 once nothing can be open from there.
    unseen_above: u32,
    /// The beginning of the segment.
    pub(super) begin: Option<Tick>,
    /// The time of the latest record.
    pub(super) last: Tick,
    /// The latest time known to lie within the open calls.
    reached: Tick,
    pub(super) cpu: Option<CpuId>,
    /// All time off the CPU so far; the same within the window; the latest intervals of it; and since
    /// when it is off.
    off_total: Ticks,
    off_inside: Ticks,
    offs: Vec<Off>,
    off_since: Option<Tick>,
    /// Levels at which an interrupt entry was announced.
    interrupts: Vec<usize>,
    usual_from: UsualFrom,
}

impl Stack {
    pub(super) fn depth(&self) -> u32 {
        self.frames.len() as u32
    }

    /// Functions of the open calls, the latest first.
    pub(super) fn open_funcs(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.frames.iter().rev().map(|frame| frame.func)
    }

    /// The top call began before it was seen.
    pub(super) fn began_before(&mut self) {
        if let Some(top) = self.frames.last_mut() {
            top.unseen |= unseen::ENTRY;
            top.is_usual = false;
        }
    }

    /// The top call is incomplete.
    pub(super) fn incomplete(&mut self, bits: u8) {
        if let Some(top) = self.frames.last_mut() {
            top.unseen |= bits;
            top.is_usual = false;
        }
    }

    pub(super) fn interrupt_enter(&mut self) {
        self.interrupts.push(self.frames.len());
        self.review();
    }

    pub(super) fn interrupt_exit(&mut self) {
        self.interrupts.pop();
        self.review();
    }

    /// The latest time at which the thread was seen.
    pub(super) fn latest(&self) -> Tick {
        self.reached.max(self.last)
    }

    /// A record of the thread that is not a call: what is open was still open then.
    pub(super) fn still_there(&mut self, time: Tick) {
        self.reached = self.reached.max(time);
    }

    /// What every entry does first: frames at its depth or deeper have lost their exit. But where
    /// exits may be late, what is shown at the depth of the top frame hit it on its way out (an
    /// interrupt, a preemption), and its exit is still to come.
    #[inline]
    fn make_room<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        depth: u16,
        view: BlockView<'_>,
    ) -> u32 {
        if depth == NO_DEPTH {
            self.pair_by_name(core);
        } else {
            let room = u32::from(depth) + u32::from(core.setup.quirks.exits_may_be_late);
            while self.frames.last().is_some_and(|top| top.depth >= room) {
                self.force(core, at, view);
            }
        }
        let depth = depth_at(depth, self.frames.len());
        if !self.orphans.is_empty() {
            self.settle_orphans(depth);
        }
        self.unseen_above = self.unseen_above.min(depth);
        depth
    }

    /// The input shows no depths.
    fn pair_by_name<S>(&mut self, core: &Core<S>) {
        if self.by_name {
            return;
        }
        self.by_name = true;
        self.watched.clear();
        if !core.setup.quirks.exits_are_paired {
            self.watched.push(Watched { level: 0, outermost: Outermost::default() });
        }
    }

    /// Whether a call that begins now is called straight from the entry of an interrupt.
    #[inline]
    fn is_entry(&self) -> bool {
        self.interrupts.last() == Some(&self.frames.len())
    }

    #[inline]
    pub(super) fn enter<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        func: FuncId,
        event: &Event,
        view: BlockView<'_>,
    ) {
        let is_entry = self.is_entry();
        let depth = self.make_room(core, at, event.depth, view);
        let has_stated = event.duration != UNSTATED || event.extra != UNSTATED;
        if has_stated {
            self.stated.push(Stated { wall: event.duration, net: event.extra });
        }
        let interrupt = core.is_interrupt(func, is_entry);
        let group = core.group(func, interrupt);
        let expected = self.frames.last().map_or(0, |top| top.depth + 1);
        if depth > expected && !self.by_name {
            let level = self.frames.len();
            self.watched.push(Watched { level, outermost: Outermost::default() });
        }
        if core.is_windowed {
            self.inside.push(Inside { below: Below::default(), off_base: self.off_inside });
        }
        self.groups.push(group, &self.frames, Frame::group);
        self.frames.push(Frame {
            func,
            depth,
            start: at.time,
            off_base: self.off_total,
            below: Below::default(),
            group,
            noted: self.recent.count(),
            unseen: 0,
            interrupt,
            has_stated,
            is_usual: depth == expected && !has_stated && !interrupt,
        });
        self.reached = self.reached.max(at.time);
    }

    #[inline]
    fn is_outermost(&self, group: u32) -> bool {
        self.groups.is_outermost(group, &self.frames, Frame::group)
    }

    #[inline]
    pub(super) fn leaf<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        func: FuncId,
        depth: u16,
        length: Ticks,
        view: BlockView<'_>,
    ) {
        let is_entry = self.is_entry();
        let depth = self.make_room(core, at, depth, view);
        let interrupt = core.is_interrupt(func, is_entry);
        let span = Span {
            func,
            thread: at.thread,
            cpu: at.cpu,
            start: at.time,
            end: at.time + length,
            wall: length,
            off_cpu: Ticks(0),
            net: length,
            stolen: Ticks(0),
            callees: 0,
            descendants: 0,
            late: Late::NONE,
            outermost: self.is_outermost(core.group(func, interrupt)),
            interrupt,
            fidelity: Fidelity::EXACT,
        };
        let inside = (Below::default(), Ticks(0));
        self.hand_on(core, &span, inside, depth, Outermost::default());
        self.reached = self.reached.max(span.end);
    }

    #[inline]
    pub(super) fn exit<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        func: Option<FuncId>,
        depth: u16,
        stated: Option<Ticks>,
        view: BlockView<'_>,
    ) {
        self.reached = self.reached.max(at.time);
        self.keeps_recent = stated.is_some() && core.is_recorded();
        if depth == NO_DEPTH {
            self.exit_by_name(core, at, func, stated, view);
            return;
        }
        let depth = u32::from(depth);
        while self.frames.last().is_some_and(|top| top.depth > depth) {
            self.force(core, at, view);
        }
        match self.frames.last() {
            Some(top) if top.depth == depth => {
                if func.is_none_or(|func| func == top.func) {
                    self.close(core, at, stated, Fidelity::EXACT, Some(view));
                } else {
                    self.force(core, at, view);
                    self.unmatched(core, at, func, depth, stated, view);
                }
            }
            _ => self.unmatched(core, at, func, depth, stated, view),
        }
    }

    fn exit_by_name<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        func: Option<FuncId>,
        stated: Option<Ticks>,
        view: BlockView<'_>,
    ) {
        self.pair_by_name(core);
        let found = match func {
            None => self.frames.len().checked_sub(1),
            Some(func) => self.frames.iter().rposition(|frame| frame.func == func),
        };
        match found {
            Some(level) if core.setup.quirks.entries_may_tie && self.is_tied(level) => {
                self.raise(level);
                self.close(core, at, stated, Fidelity::EXACT, Some(view));
            }
            Some(level) => {
                while self.frames.len() > level + 1 {
                    if let Some(top) = self.frames.last() {
                        *self.forced.entry(top.func).or_default() += 1;
                    }
                    self.force(core, at, view);
                }
                self.close(core, at, stated, Fidelity::EXACT, Some(view));
            }
            None if func.is_some_and(|func| self.is_late(func)) => {
                let name = func.map(|func| core.name_of(func).to_owned()).unwrap_or_default();
                core.complain(&codes::LATE_EXIT, view, at.offset, || {
                    format!("exit of {name}, which had ended with its caller")
                });
            }
            // Among the callees of an open call, or around all that ended so far.
            None => {
                let depth = self.frames.last().map_or(0, |top| top.depth + 1);
                self.unmatched(core, at, func, depth, stated, view);
            }
        }
    }

    /// Whether nothing tells a frame from those above it but the order of their records: all were
    /// entered at once, and nothing ended between.
    fn is_tied(&self, level: usize) -> bool {
        let [first, .., top] = &self.frames[level..] else { return false };
        first.start == top.start
            && self.frames[level..self.frames.len() - 1]
                .iter()
                .all(|frame| frame.below.callees == 0)
    }

    /// Makes a frame that is tied with those above it the top one, which is to be closed. What ended
    /// below the top one was below all of them.
    fn raise(&mut self, level: usize) {
        for above in level + 1..self.frames.len() {
            let (lower, upper) = self.frames.split_at_mut(above);
            let (one, two) = (&mut lower[above - 1], &mut upper[0]);
            std::mem::swap(&mut one.func, &mut two.func);
            std::mem::swap(&mut one.group, &mut two.group);
            std::mem::swap(&mut one.interrupt, &mut two.interrupt);
            std::mem::swap(&mut one.unseen, &mut two.unseen);
            one.is_usual &= !one.interrupt && one.unseen == 0;
        }
    }

    /// Whether an exit is the late one of a call that was ended by force.
    fn is_late(&mut self, func: FuncId) -> bool {
        match self.forced.get_mut(&func) {
            Some(n) if *n > 0 => {
                *n -= 1;
                true
            }
            _ => false,
        }
    }

    /// The end that a synthetic timeline gives to the call which an exit at `depth` ends.
    #[inline]
    pub(super) fn synthetic_end(&self, laid: Tick, depth: u16, stated: Option<Ticks>) -> Tick {
        let Some(stated) = stated else { return laid };
        let open = match self.frames.last() {
            Some(top) if depth == NO_DEPTH || top.depth == u32::from(depth) => Some(top),
            _ => self.frames.iter().rfind(|frame| frame.depth == u32::from(depth)),
        };
        open.map_or(laid, |frame| laid.max(frame.start + stated))
    }
}
