//! The stack of one thread: frames that are open, and what became of them.
//!
//! A *segment* is a stretch in which nothing was lost: it begins with the first record of a thread
//! (or the first after a gap) and bounds what is credited to calls whose entry was not seen.

mod credit;
mod segment;
mod settle;
mod usual;

use profctl_model::diag::codes;
use profctl_model::{CpuId, Fidelity, FuncId, Span, SpanSink, ThreadId, Tick, Ticks};

use super::groups::OpenGroups;
use super::orphans::{Below, Orphans};
use super::shared::Core;
use super::{BlockView, depth_at};
use crate::emit::{Event, NO_DEPTH, UNSTATED};

/// Where and when a call ends (or begins).
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
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
    /// Whether it began before the window that was asked for, or before it was seen.
    clipped: bool,
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

/// What an entry stated in advance, or [`UNSTATED`].
#[derive(Clone, Copy, Debug)]
struct Stated {
    wall: u64,
    net: u64,
}

/// Time of callees that are shown at the depth of their caller: they hit it on its way out, and
/// may have done so after its stated end.
#[derive(Clone, Copy, Debug)]
struct Beside {
    /// The number of open frames, the caller included.
    level: usize,
    elapsed: Ticks,
    stolen: Ticks,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stack {
    frames: Vec<Frame>,
    groups: OpenGroups,
    /// Of the frames whose entries stated something, in their order.
    stated: Vec<Stated>,
    orphans: Orphans,
    /// Rarely any; the deepest last.
    beside: Vec<Beside>,
    /// Names by depth of what a gap ended: an exit without a name belongs to them.
    ghosts: Vec<(u32, FuncId)>,
    /// Groups that were credited from the beginning of the segment.
    headless: Vec<u32>,
    /// The beginning of the segment.
    pub(super) begin: Option<Tick>,
    /// The time of the latest record.
    pub(super) last: Tick,
    /// The latest time known to lie within the open calls.
    reached: Tick,
    pub(super) cpu: Option<CpuId>,
    /// All time off the CPU so far, and since when it is off.
    off_total: Ticks,
    off_at_begin: Ticks,
    off_since: Option<Tick>,
    /// Levels at which an interrupt entry was announced.
    interrupts: Vec<usize>,
    /// Whether the window that was asked for has begun and ended here.
    entered: bool,
    left: bool,
    /// From how many open frames on nothing unusual is pending, see [`usual`].
    usual_from: usize,
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
            top.clipped = true;
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

    pub(super) fn switched_out(&mut self, time: Tick) {
        self.off_since = Some(time.max(self.last));
    }

    pub(super) fn switched_in(&mut self, time: Tick) {
        if let Some(since) = self.off_since.take() {
            self.off_total += time - since;
        }
    }

    /// Whether it is on a CPU is not known any more.
    pub(super) fn lost_track(&mut self) {
        self.off_since = None;
    }

    #[inline]
    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.groups.pop(frame.group);
        if !self.orphans.is_empty() {
            self.orphans.forget_above(self.frames.len());
        }
        Some(frame)
    }

    /// What every entry does first: frames at its depth or deeper have lost their exit. But where
    /// exits may be late, what is shown at the depth of the top frame hit it on its way out (an
    /// interrupt, a preemption), and its exit is still to come.
    #[inline]
    fn make_room<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        depth: u16,
        view: BlockView<'_>,
    ) -> u32 {
        if depth != NO_DEPTH {
            let room = u32::from(depth) + u32::from(core.setup.quirks.exits_may_be_late);
            while self.frames.last().is_some_and(|top| top.depth >= room) {
                self.force(core, at, view);
            }
        }
        let depth = depth_at(depth, self.frames.len());
        if !self.orphans.is_empty() {
            self.settle_orphans(depth);
        }
        depth
    }

    #[inline]
    pub(super) fn enter<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        func: FuncId,
        event: &Event,
        view: BlockView<'_>,
    ) {
        if self.interrupts.last() == Some(&self.frames.len()) {
            core.is_interrupt(func);
        }
        let depth = self.make_room(core, at, event.depth, view);
        let has_stated = event.duration != UNSTATED || event.extra != UNSTATED;
        if has_stated {
            self.stated.push(Stated { wall: event.duration, net: event.extra });
        }
        self.open(core, func, depth, at.time, has_stated);
        self.reached = self.reached.max(at.time);
    }

    /// Puts a frame on top.
    #[inline]
    fn open<S: SpanSink>(
        &mut self,
        core: &Core<S>,
        func: FuncId,
        depth: u32,
        start: Tick,
        has_stated: bool,
    ) {
        let group = core.role(func).group;
        let expected = self.frames.last().map_or(0, |top| top.depth + 1);
        self.groups.push(group, &self.frames, Frame::group);
        self.frames.push(Frame {
            func,
            depth,
            start,
            off_base: self.off_total,
            below: Below::default(),
            group,
            clipped: false,
            has_stated,
            is_usual: depth == expected && !has_stated,
        });
    }

    #[inline]
    fn is_outermost(&self, group: u32) -> bool {
        self.groups.is_outermost(group, &self.frames, Frame::group)
    }

    #[inline]
    pub(super) fn leaf<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        func: FuncId,
        depth: u16,
        length: Ticks,
        view: BlockView<'_>,
    ) {
        if self.interrupts.last() == Some(&self.frames.len()) {
            core.is_interrupt(func);
        }
        let depth = self.make_room(core, at, depth, view);
        let end = at.time + length;
        let mut span = Span {
            func,
            thread: at.thread,
            cpu: at.cpu,
            start: at.time,
            end,
            wall: length,
            off_cpu: Ticks(0),
            net: length,
            stolen: Ticks(0),
            callees: 0,
            descendants: 0,
            outermost: self.is_outermost(core.role(func).group),
            fidelity: Fidelity::EXACT,
        };
        if core.window.until.is_some_and(|until| end > until) {
            span.end = core.window.until.unwrap_or(end);
            span.wall = span.end - span.start;
            span.net = span.wall;
            span.fidelity.end_inferred = true;
        }
        self.credit(core, &span, depth);
        if let Some(from) = core.window.from
            && !self.entered
            && end > from
        {
            span.start = from;
            span.wall = end - from;
            span.net = span.wall;
            span.fidelity.start_inferred = true;
            core.emit(&span);
        }
        self.emit(core, &span);
        self.reached = self.reached.max(span.end);
    }

    #[inline]
    pub(super) fn exit<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        func: Option<FuncId>,
        depth: u16,
        stated: Option<Ticks>,
        view: BlockView<'_>,
    ) {
        self.reached = self.reached.max(at.time);
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
        at: Exit,
        func: Option<FuncId>,
        stated: Option<Ticks>,
        view: BlockView<'_>,
    ) {
        let found = match func {
            None => self.frames.len().checked_sub(1),
            Some(func) => self.frames.iter().rposition(|frame| frame.func == func),
        };
        match found {
            Some(level) => {
                while self.frames.len() > level + 1 {
                    self.force(core, at, view);
                }
                self.close(core, at, stated, Fidelity::EXACT, Some(view));
            }
            None => {
                let depth = self.frames.len() as u32;
                self.unmatched(core, at, func, depth, stated, view);
            }
        }
    }

    /// A call whose record stands at its end, behind its callees.
    pub(super) fn returned<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        func: FuncId,
        depth: u16,
        length: Ticks,
        view: BlockView<'_>,
    ) {
        self.reached = self.reached.max(at.time);
        if depth != NO_DEPTH {
            while self.frames.last().is_some_and(|top| top.depth >= u32::from(depth)) {
                self.force(core, at, view);
            }
        }
        let depth = depth_at(depth, self.frames.len());
        let below = self.adopt(depth);
        let outermost = self.is_outermost(core.role(func).group);
        self.complete(core, at, func, depth, length, below, outermost, Fidelity::EXACT);
    }

    /// The elapsed time of what a return at `depth` will adopt.
    pub(super) fn callees_of_return(&self, depth: u16) -> Ticks {
        let level = self.frames.len();
        self.orphans.elapsed_deeper(level, depth_at(depth, level))
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

    /// An exit whose entry is not open. It was open from the beginning of the segment, or its
    /// entry was lost.
    #[cold]
    fn unmatched<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        func: Option<FuncId>,
        depth: u32,
        stated: Option<Ticks>,
        view: BlockView<'_>,
    ) {
        let func = func.or_else(|| self.ghost(depth));
        let name = func.map(|func| core.name_of(func).to_owned());
        core.complain(&codes::UNMATCHED_EXIT, view, at.offset, || match name {
            Some(name) => format!("exit of {name} whose entry was not seen"),
            None => "exit without a name, and no call is open at its depth".into(),
        });
        let below = self.adopt(depth);
        let Some(func) = func else {
            // Nobody to credit: what it called stays with its caller.
            self.give_back(depth, below);
            return;
        };
        let group = core.role(func).group;
        let headless = self.frames.is_empty() && !self.headless.contains(&group);
        let since = match self.frames.last() {
            Some(top) => top.start,
            None => self.begin.unwrap_or(at.time),
        };
        let seen = at.time - since;
        let wall = match stated {
            Some(stated) => stated.min(seen),
            None if headless => seen,
            None => below.elapsed,
        };
        let outermost = headless && self.is_outermost(group);
        if self.frames.is_empty() && headless {
            self.headless.push(group);
        }
        let fidelity = Fidelity { start_inferred: true, ..Fidelity::EXACT };
        self.complete(core, at, func, depth, wall.max(below.elapsed), below, outermost, fidelity);
    }

    /// Emits a call that never was a frame.
    #[expect(clippy::too_many_arguments, reason = "a call has that many sides")]
    fn complete<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        func: FuncId,
        depth: u32,
        wall: Ticks,
        below: Below,
        outermost: bool,
        fidelity: Fidelity,
    ) {
        let off_base = self.frames.last().map_or(self.off_at_begin, |top| top.off_base);
        let off_cpu = (self.off_total - off_base).min(wall - below.elapsed);
        let elapsed = wall - off_cpu;
        if below.elapsed > elapsed {
            core.diags.count(&codes::CLAMPED, 1);
        }
        let span = Span {
            func,
            thread: at.thread,
            cpu: at.cpu,
            start: at.time - wall,
            end: at.time,
            wall,
            off_cpu,
            net: elapsed - below.elapsed,
            stolen: below.stolen,
            callees: below.callees,
            descendants: below.descendants,
            outermost,
            fidelity,
        };
        self.settle_orphans(depth);
        self.credit(core, &span, depth);
        self.emit(core, &span);
    }

    /// Ends the top frame.
    #[inline]
    fn close<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        stated: Option<Ticks>,
        fidelity: Fidelity,
        view: Option<BlockView<'_>>,
    ) {
        let Some(frame) = self.pop() else { return };
        let mut fidelity = fidelity;
        fidelity.start_inferred |= frame.clipped;
        let seen = at.time - frame.start;
        let advance = if frame.has_stated { self.stated.pop() } else { None };
        let advance = advance.unwrap_or(Stated { wall: UNSTATED, net: UNSTATED });
        let stated = stated.or((advance.wall != UNSTATED).then_some(Ticks(advance.wall)));
        let wall = match stated {
            Some(stated) if fidelity.is_partial() => stated.min(seen),
            Some(stated) => stated,
            None => seen,
        };
        let off_cpu = (self.off_total - frame.off_base).min(wall);
        let elapsed = wall - off_cpu;
        let mut below = frame.below;
        if !self.beside.is_empty() {
            let fits = fidelity.is_partial() || below.elapsed <= elapsed;
            self.settle_beside(&mut below, fits);
        }
        let mut net = elapsed - below.elapsed;
        if advance.net != UNSTATED && !fidelity.is_partial() {
            if net.0 != advance.net
                && let Some(view) = view
            {
                let name = core.name_of(frame.func).to_owned();
                core.complain(&codes::STATED_MISMATCH, view, at.offset, || {
                    format!(
                        "{name} states a net time of {}, its callees leave {}",
                        advance.net, net.0
                    )
                });
            }
            net = Ticks(advance.net).min(elapsed);
        } else if below.elapsed > elapsed {
            core.diags.count(&codes::CLAMPED, 1);
        }
        let span = Span {
            func: frame.func,
            thread: at.thread,
            cpu: at.cpu,
            start: frame.start,
            end: at.time.max(frame.start),
            wall,
            off_cpu,
            net,
            stolen: below.stolen,
            callees: below.callees,
            descendants: below.descendants,
            outermost: self.is_outermost(core.role(frame.func).group),
            fidelity,
        };
        self.credit(core, &span, frame.depth);
        self.emit(core, &span);
    }

    /// Ends the top frame because something further out ends or begins.
    #[cold]
    fn force<S: SpanSink>(&mut self, core: &mut Core<S>, at: Exit, view: BlockView<'_>) {
        if let Some(top) = self.frames.last() {
            let name = core.name_of(top.func).to_owned();
            core.complain(&codes::FORCED_EXIT, view, at.offset, || {
                format!("{name} is ended here: its own exit was not seen")
            });
        }
        let fidelity = Fidelity { end_inferred: true, ..Fidelity::EXACT };
        self.close(core, at, None, fidelity, None);
    }

    fn ghost(&self, depth: u32) -> Option<FuncId> {
        self.ghosts.iter().find(|(at, _)| *at == depth).map(|(_, func)| *func)
    }

    /// Hands a call on, unless it ends before the window.
    #[inline]
    fn emit<S: SpanSink>(&self, core: &mut Core<S>, span: &Span) {
        if core.window.from.is_none() || self.entered {
            core.emit(span);
        }
    }
}
