//! The events that nearly all events are, in as few steps as they take.
//!
//! An entry, a leaf or an exit is usual if it is where it is expected: directly below the open
//! call, or at the end of that call, with nothing pending on this level (orphans, late calls,
//! announced interrupts), no lengths stated in advance, no window, no time off the CPU since the
//! call began. What the rules in [`super`] come to is then plain. The loop here does the whole of
//! what they would do, for one thread on one CPU, or stops before an event without having changed
//! anything for it.

use profctl_model::{Fidelity, FuncId, Late, Span, SpanSink, Tick, Ticks};

use super::{Frame, Stack};
use crate::emit::{Event, EventKind, NO_DEPTH, NameRef, UNSTATED};
use crate::stitch::clock::ReadClock;
use crate::stitch::orphans::Below;
use crate::stitch::outermost::{Call, Table, one_call};
use crate::stitch::shared::Core;
use crate::stitch::{Caller, depth_at};

/// That many events of one thread are a long run. In shorter ones, most sums of outermost calls are
/// not in the cache when they are needed, so they are summed up later.
const LONG: usize = 1024;

/// No depth: what is called at this level is to be looked at.
const NONE: u32 = u32::MAX;

/// From how many open frames on nothing unusual is pending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsualFrom {
    /// For calls that begin.
    calls: usize,
    /// For the exit of the top frame.
    exits: usize,
}

impl Stack {
    /// Finds out from which level on events can be usual; to be called after every one that was not.
    pub(in crate::stitch) fn review(&mut self) {
        let above = |level: Option<usize>| level.map_or(0, |level| level + 1);
        // Where not all callees are kept, the next one at the level of one that may have come late says
        // whether it did: neither an entry nor an exit to that level is usual.
        let recent = self.recent.last().filter(|_| !self.keeps_recent);
        let recent = recent.map(|recent| recent.level as usize);
        let calls = above(self.orphans.level())
            .max(above(recent))
            .max(above(self.interrupts.last().copied()))
            .max(usize::from(self.unseen_above > 0));
        self.usual_from =
            UsualFrom { calls, exits: calls.max(above(recent.map(|level| level + 1))) };
    }

    /// Takes the first of `events`, as many as are usual, and says how many those are.
    #[inline(never)]
    pub(in crate::stitch) fn usual<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        events: &[Event],
        caller: Caller,
        clock: &mut impl ReadClock,
        funcs: &[Option<FuncId>],
    ) -> usize {
        if self.begin.is_none() || core.is_windowed {
            return 0;
        }
        let level = self.frames.len();
        let expected = self.frames.last().map_or(0, |top| top.depth + 1);
        let watches = !self.watched.is_empty();
        let is_long = events.get(LONG).is_some_and(|event| event.lane == caller.lane);
        let mut run = Run {
            expected: if level < self.usual_from.calls { NONE } else { expected },
            takes_any_depth: self.by_name && depth_at(NO_DEPTH, level) == expected,
            last: self.last,
            reached: self.reached,
            notes_all: self.keeps_recent || watches,
            watches,
            keeps: self.keeps_recent,
            is_long,
            outermost: Table::default(),
            notes_nested: self.may_come_late(core),
            stack: self,
            core,
            caller,
        };
        if watches && is_long {
            run.borrow_table();
        }
        let ends_are_stamps = run.core.setup.quirks.leaf_ends_are_stamps;
        let mut clock_now = *clock;
        let mut taken = 0;
        while let Some(event) = events.get(taken) {
            let Some(time) = clock_now.peek(event.time) else { break };
            if event.lane != caller.lane || (!is_laid(clock) && time < run.last) {
                break;
            }
            let func = funcs[event.name.0 as usize];
            let end = match event.kind {
                EventKind::Leaf => {
                    let Some(func) = func else { break };
                    if event.duration == UNSTATED
                        || !run.expects(event.depth)
                        || run.core.role(func).is_special()
                    {
                        break;
                    }
                    let length = Ticks(event.duration);
                    run.leaf(func, time, time + length, length);
                    time + length
                }
                EventKind::Exit => {
                    let knows = func.is_some() || event.name == NameRef::ANONYMOUS;
                    if !knows || !run.is_exit(event, func) || !run.states(event, is_laid(clock)) {
                        break;
                    }
                    let Some(end) = run.exit(event, time, is_laid(clock)) else { break };
                    end
                }
                EventKind::Enter => {
                    let Some(func) = func else { break };
                    if event.duration & event.extra != UNSTATED
                        || !run.expects(event.depth)
                        || run.core.role(func).is_special()
                    {
                        break;
                    }
                    clock_now.commit(event.time, time, time, false);
                    run.reach(time, time);
                    taken += 1;
                    // An entry with its exit right after it is a leaf in two records.
                    let exit = events.get(taken).filter(|exit| run.is_exit_of(exit, event));
                    let exit = exit.filter(|exit| run.states(exit, is_laid(clock)));
                    let left = exit.and_then(|exit| Some((exit, clock_now.peek(exit.time)?)));
                    let Some((exit, left)) = left.filter(|(_, left)| *left >= time) else {
                        run.enter(func, time);
                        continue;
                    };
                    let (end, length) = lasted(exit, time, left, is_laid(clock));
                    run.leaf(func, time, end, length);
                    clock_now.commit(exit.time, left, end, false);
                    run.reach(left, end);
                    taken += 1;
                    continue;
                }
                _ => break,
            };
            let is_stamp = ends_are_stamps && event.kind == EventKind::Leaf;
            clock_now.commit(event.time, time, end, is_stamp);
            run.reach(time, end);
            taken += 1;
        }
        if watches && is_long {
            run.return_table();
        }
        let (last, reached) = (run.last, run.reached);
        if taken > 0 {
            *clock = clock_now;
            (self.last, self.reached, self.cpu) = (last, reached, caller.cpu);
        }
        taken
    }
}

fn is_laid<C: ReadClock>(_clock: &C) -> bool {
    C::IS_LAID
}

/// When a call that was entered at `start` and left at `time` ended, and how long it took. If
/// `is_laid`, the clock advanced by the callees only, and the net time of the call is laid after
/// them.
#[inline]
fn lasted(exit: &Event, start: Tick, time: Tick, is_laid: bool) -> (Tick, Ticks) {
    let stated = Ticks(exit.duration);
    match (exit.duration, is_laid) {
        (UNSTATED, _) => (time, time - start),
        (_, true) => (time.max(start + stated), stated),
        (_, false) => (time, stated),
    }
}

/// A stack while usual events come in.
struct Run<'a, S> {
    stack: &'a mut Stack,
    core: &'a mut Core<S>,
    caller: Caller,
    /// The depth of a callee of the top frame, or [`NONE`].
    expected: u32,
    /// Whether a call whose depth is not shown is such a callee. It is for all frames of a run or for
    /// none, because usual frames are one level apart.
    takes_any_depth: bool,
    last: Tick,
    reached: Tick,
    /// Whether not only nested calls are noted, for one of the two reasons that follow.
    notes_all: bool,
    /// Whether outermost calls are noted, because one of them may get a caller.
    watches: bool,
    /// Whether callees are noted, because they may have come late; and those that are nested in one
    /// of their function.
    keeps: bool,
    notes_nested: bool,
    /// Whether many calls of one thread follow each other.
    is_long: bool,
    /// If so, the sums of outermost calls on this CPU.
    outermost: Table,
}

impl<S: SpanSink> Run<'_, S> {
    /// Whether a call at `depth` is a callee of the top frame, and nothing else is to be done.
    #[expect(
        clippy::inline_always,
        reason = "its state is kept in registers only within one function"
    )]
    #[inline(always)]
    fn expects(&self, depth: u16) -> bool {
        match depth {
            NO_DEPTH => self.takes_any_depth && self.expected != NONE,
            depth => u32::from(depth) == self.expected,
        }
    }

    /// Whether an exit is that of the top frame, and nothing else is to be done.
    #[inline]
    fn is_exit(&self, exit: &Event, func: Option<FuncId>) -> bool {
        let stack = &*self.stack;
        stack.frames.last().is_some_and(|top| {
            top.is_usual
                && match exit.depth {
                    NO_DEPTH => stack.by_name,
                    depth => u32::from(depth) == top.depth,
                }
                && func.is_none_or(|func| func == top.func)
                && top.off_base == stack.off_total
                && stack.frames.len() >= stack.usual_from.exits
        })
    }

    /// Whether an exit states its length if those before it did; else the rules for callees that
    /// come late change.
    #[inline]
    fn states(&self, exit: &Event, is_laid: bool) -> bool {
        is_laid || (exit.duration != UNSTATED) == self.keeps
    }

    /// Whether an event is the exit that belongs to `enter`, the event before it.
    #[inline]
    fn is_exit_of(&self, exit: &Event, enter: &Event) -> bool {
        exit.kind == EventKind::Exit
            && exit.lane == enter.lane
            && (exit.name == enter.name || exit.name == NameRef::ANONYMOUS)
            && match exit.depth {
                NO_DEPTH => self.stack.by_name,
                depth => u32::from(depth) == self.expected,
            }
    }

    #[expect(
        clippy::inline_always,
        reason = "its state is kept in registers only within one function"
    )]
    #[inline(always)]
    fn enter(&mut self, func: FuncId, time: Tick) {
        let stack = &mut *self.stack;
        let group = self.core.role(func).group;
        stack.groups.push(group, &stack.frames, Frame::group);
        stack.frames.push(Frame {
            func,
            depth: self.expected,
            start: time,
            off_base: stack.off_total,
            below: Below::default(),
            group,
            noted: stack.recent.count(),
            unseen: 0,
            interrupt: false,
            has_stated: false,
            is_usual: true,
        });
        self.expected += 1;
    }

    #[expect(
        clippy::inline_always,
        reason = "its state is kept in registers only within one function"
    )]
    #[inline(always)]
    fn leaf(&mut self, func: FuncId, start: Tick, end: Tick, length: Ticks) {
        let stack = &mut *self.stack;
        let role = self.core.role(func);
        if let Some(caller) = stack.frames.last_mut() {
            caller.below.add_call(length, 1);
        }
        let span = Span {
            func,
            thread: self.caller.thread,
            cpu: self.caller.cpu,
            start,
            end,
            wall: length,
            off_cpu: Ticks(0),
            net: length,
            stolen: Ticks(0),
            callees: 0,
            descendants: 0,
            late: Late::NONE,
            outermost: stack.is_outermost(role.group),
            interrupt: false,
            fidelity: Fidelity::EXACT,
        };
        self.core.sink.span(&span, &self.core.names);
        self.note(&span, role.group);
    }

    /// Notes what may turn out to be another's.
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn note(&mut self, span: &Span, group: u32) {
        if span.outermost && !self.notes_all {
            return;
        }
        if self.watches && span.outermost {
            let Span { func, wall, descendants, .. } = *span;
            if !self.outermost.add(func, wall, descendants) {
                self.add_outermost(func, wall, descendants);
            }
        }
        if self.keeps {
            let calls = span.descendants.saturating_add(1);
            self.stack.note_usual(self.stack.frames.len(), span.start, span.wall, calls);
        }
        if !span.outermost && self.notes_nested {
            self.stack.note_nested(group, span.start, one_call(span));
        }
    }

    /// Adds an outermost call of a function that is not in the table, or where there is none.
    #[inline(never)]
    fn add_outermost(&mut self, func: FuncId, wall: Ticks, descendants: u64) {
        if self.is_long {
            self.return_table();
        }
        if let Some(watched) = self.stack.watched.last_mut() {
            let call = Call::new(func, self.caller.cpu, wall, descendants);
            watched.outermost.add_usual(call);
        }
        if self.is_long {
            self.borrow_table();
        }
    }

    fn borrow_table(&mut self) {
        if let Some(watched) = self.stack.watched.last_mut() {
            self.outermost = watched.outermost.lend(self.caller.cpu);
        }
    }

    fn return_table(&mut self) {
        if let Some(watched) = self.stack.watched.last_mut() {
            watched.outermost.put_back(self.caller.cpu, std::mem::take(&mut self.outermost));
        }
    }

    /// Leaves the top frame, and says when it ended; nothing if its callees exceed it.
    #[expect(
        clippy::inline_always,
        reason = "its state is kept in registers only within one function"
    )]
    #[inline(always)]
    fn exit(&mut self, exit: &Event, time: Tick, is_laid: bool) -> Option<Tick> {
        let stack = &mut *self.stack;
        let (top, callers) = stack.frames.split_last_mut()?;
        let Frame { func, start, below, group, depth, noted, .. } = *top;
        let (end, wall) = lasted(exit, start, time, is_laid);
        if below.elapsed > wall {
            return None;
        }
        if let Some(caller) = callers.last_mut() {
            caller.below.add_call(wall, below.descendants.saturating_add(1));
        }
        let level = callers.len();
        stack.frames.truncate(level);
        stack.groups.pop(group);
        if self.keeps {
            stack.recent.truncate(noted);
        }
        self.expected = if level < stack.usual_from.calls { NONE } else { depth };
        let span = Span {
            func,
            thread: self.caller.thread,
            cpu: self.caller.cpu,
            start,
            end: end.max(start),
            wall,
            off_cpu: Ticks(0),
            net: wall - below.elapsed,
            stolen: below.stolen,
            callees: below.callees,
            descendants: below.descendants,
            late: Late::NONE,
            outermost: stack.is_outermost(group),
            interrupt: false,
            fidelity: Fidelity::EXACT,
        };
        self.core.sink.span(&span, &self.core.names);
        self.stack.forget_nested(level);
        self.note(&span, group);
        Some(end)
    }

    /// A record was taken at `time`, and something lasted until `end`.
    #[inline]
    fn reach(&mut self, time: Tick, end: Tick) {
        self.last = time;
        self.reached = self.reached.max(end);
    }
}

impl Below {
    /// Adds one callee, which made `calls` with its own.
    #[inline]
    fn add_call(&mut self, elapsed: Ticks, calls: u64) {
        self.elapsed += elapsed;
        self.callees = self.callees.saturating_add(1);
        self.descendants = self.descendants.saturating_add(calls);
    }
}
