//! The one place that pairs entries with exits and decides what an unpaired event means.
//!
//! Importers say what records say; here it becomes calls. Events come in the order of the input;
//! every thread has a stack ([`stack`]), who runs on which CPU is kept in [`lanes`], and a probe
//! without thread ids has its stacks distinguished in [`switch_tags`]. What cannot be paired is
//! repaired by fixed rules, counted, and marks the calls that it touched:
//!
//! - an exit whose entry was not recorded is an incomplete call, seen from the first record of its
//!   thread;
//! - such exits nest in one another: the later one is around all that ended on its thread so far;
//! - an exit of a call that was ended by force is its own, late, and no other call's;
//! - an entry whose exit was not recorded is an incomplete call, seen until the last record of its
//!   thread;
//! - an exit of a deeper frame ends the frames above it (a non-local exit);
//! - a gap ends every call of the threads it concerns; nothing is paired across it;
//! - a clock that steps back is clamped to the last time of the thread.

mod clock;
mod ending;
mod found;
mod groups;
mod lanes;
mod orphans;
mod outermost;
mod quirks;
mod sched;
mod shared;
mod stack;
mod stated;
mod switch_tags;
mod window;

use std::sync::Arc;

use profctl_model::diag::codes;
use profctl_model::{
    CpuId, Func, FuncId, FuncTotals, Gap, IdVec, Mark, Names, Progress, Record, SpanSink, ThreadId,
    Tick, Ticks, Timebase, TraceMeta,
};

use crate::emit::{
    BlockEvents, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, PrevState, Total, UNSTATED,
};
use clock::{Clock, LocalClock};
use found::Found;
use lanes::{Lane, Lanes};
pub use quirks::Quirks;
use sched::{Sched, Serving, Stamp, state_after};
use shared::Core;
use stack::{Moment, Stack};
pub use switch_tags::AMBIGUOUS_SWITCH;
use switch_tags::{Running, SwitchTags};

/// By what a call counts as outermost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grouping {
    /// By its function: the flat profile.
    #[default]
    Function,
    /// By its module.
    Module,
    /// By its kind.
    Kind,
    /// By its stack: only calls without a caller are outermost (threads, CPUs).
    Stack,
}

/// Properties of an input that the stitcher needs before its first event.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What diagnostics call the sources of blocks: the files of the input.
    pub sources: Arc<[String]>,
    /// The clock.
    pub timebase: Timebase,
    /// Bits of the counter that events carry, if it wraps.
    pub counter_bits: Option<u32>,
    /// What is unusual about its records.
    pub quirks: Quirks,
    /// By what a call is outermost.
    pub grouping: Grouping,
    /// Only from this time on.
    pub from: Option<Bound>,
    /// Only until this time.
    pub until: Option<Bound>,
}

/// Where the window that was asked for begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// So long after the first timestamp.
    After(Ticks),
    /// A time of the trace's own clock.
    At(Tick),
}

impl Bound {
    fn tick(self, first: Tick) -> Tick {
        match self {
            Self::After(length) => first + length,
            Self::At(time) => time,
        }
    }
}

/// An input that was stitched.
pub struct Stitched<S> {
    /// The sink, filled.
    pub sink: S,
    /// Functions, threads and CPUs.
    pub names: Names,
    /// Clock, span of time, quality.
    pub meta: TraceMeta,
    /// The first and the last time of the input, whatever window was asked for; nothing if it has
    /// no times.
    pub bounds: Option<(Tick, Tick)>,
}

/// The names and lanes of a worker, with the ids that they have in the trace once they were used.
/// The ids are apart because every event looks at them.
#[derive(Debug, Default)]
pub struct WorkerIds {
    names: Vec<Func>,
    func_ids: Vec<Option<FuncId>>,
    lanes: Vec<LaneKey>,
    lane_ids: Vec<Option<Lane>>,
}

impl WorkerIds {
    /// The functions of the worker; a reference is a row.
    pub fn names(&self) -> &[Func] {
        &self.names
    }

    /// The lanes of the worker; a reference is a row.
    pub fn lanes(&self) -> &[LaneKey] {
        &self.lanes
    }

    /// Takes over the names and lanes that a block brings.
    pub fn learn(&mut self, block: &mut BlockEvents) {
        self.names.append(&mut block.names);
        self.func_ids.resize(self.names.len(), None);
        self.lanes.append(&mut block.lanes);
        self.lane_ids.resize(self.lanes.len(), None);
    }
}

/// The bytes after a block of events, to find the offset of a diagnostic.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    /// The block.
    pub bytes: &'a [u8],
    /// The stream that it is of.
    pub stream: usize,
    /// The row of its file in [`Setup::sources`].
    pub source: usize,
    /// Bytes of the input before it.
    pub offset: u64,
    /// Lines of the input before it, if that is known.
    pub lines: Option<u64>,
}

/// Who makes the calls of a lane, until something other than a usual call happens.
#[derive(Clone, Copy, Debug)]
struct Caller {
    lane: LaneRef,
    thread: ThreadId,
    cpu: Option<CpuId>,
}

/// Pairs entries and exits of one input and passes calls to a sink.
pub struct Stitcher<S> {
    core: Core<S>,
    stacks: IdVec<ThreadId, Stack>,
    lanes: Lanes,
    tags: SwitchTags,
    sched: Sched,
    serving: Serving,
    clock: Clock,
    /// The texts of its marks.
    details: Vec<Box<str>>,
    found: Found,
}

impl<S: SpanSink> Stitcher<S> {
    /// A stitcher for one input.
    pub fn new(setup: Setup, sink: S) -> Self {
        let clock = Clock::new(&setup);
        let mut core = Core::new(setup, sink);
        let mut lanes = Lanes::default();
        for key in std::mem::take(&mut core.setup.quirks.initial) {
            let lane = lanes.resolve(&key, &mut core.names);
            lanes.runs_now(lane, None, &mut core.names);
        }
        Self {
            core,
            stacks: IdVec::default(),
            lanes,
            tags: SwitchTags::default(),
            sched: Sched::default(),
            serving: Serving::default(),
            clock,
            details: Vec::new(),
            found: Found::default(),
        }
    }

    /// Takes the events of the next block.
    pub fn take(&mut self, block: &mut BlockEvents, ids: &mut WorkerIds, view: BlockView<'_>) {
        ids.learn(block);
        self.details = std::mem::take(&mut block.details);
        self.core.events = self.core.events.saturating_add(block.records);
        self.found.take(&self.core.setup, block, view);
        for total in &block.totals {
            self.total(total, ids);
        }
        let mut events = &block.events[..];
        while let Some(event) = events.first() {
            let mut usual = 0;
            if !S::WATCHES_PROGRESS
                && let Some(caller) = self.find(event, ids)
            {
                usual = self.usual(events, caller, ids);
            }
            if usual == 0 {
                self.any(event, ids, view);
                usual = 1;
            }
            events = &events[usual..];
        }
    }

    /// Does what the first events say, as far as they are usual; see [`stack`]. Says how many.
    fn usual(&mut self, events: &[Event], caller: Caller, ids: &WorkerIds) -> usize {
        let Self { core, stacks, clock, .. } = self;
        let Some(mut local) = clock.local(caller.cpu) else { return 0 };
        let stack = &mut stacks[caller.thread];
        let funcs = &ids.func_ids[..];
        let taken = match &mut local {
            LocalClock::Laid(clock) => stack.usual(core, events, caller, clock, funcs),
            LocalClock::Stamped(clock) => stack.usual(core, events, caller, clock, funcs),
            LocalClock::Counted(clock) => stack.usual(core, events, caller, clock, funcs),
        };
        if taken > 0 {
            clock.update(caller.cpu, local, stack.last);
        }
        taken
    }

    /// Who makes a call, if it is one and that is plain.
    fn find(&mut self, event: &Event, ids: &mut WorkerIds) -> Option<Caller> {
        if !matches!(event.kind, EventKind::Enter | EventKind::Exit | EventKind::Leaf) {
            return None;
        }
        let Lane { cpu, thread } = self.lane(ids, event.lane.0 as usize);
        let thread = match self.tags.running() {
            Running::OfLane => self.thread_of(Lane { cpu, thread }),
            Running::Thread(running) => running,
            Running::Unknown => return None,
        };
        self.stacks.grow_to(thread);
        Some(Caller { lane: event.lane, thread, cpu })
    }

    /// Does what an event says, whatever it is.
    #[inline(never)]
    fn any(&mut self, event: &Event, ids: &mut WorkerIds, view: BlockView<'_>) {
        if event.kind == EventKind::Share {
            self.lanes.share(event.duration);
            return;
        }
        let lane = self.lane(ids, event.lane.0 as usize);
        self.core.newest = None;
        let func = match ids.func_ids[event.name.0 as usize] {
            Some(func) => Some(func),
            None if event.name == NameRef::ANONYMOUS => None,
            None => Some(self.new_func(ids, event)),
        };
        let is_call = matches!(
            event.kind,
            EventKind::Enter | EventKind::Exit | EventKind::Leaf | EventKind::Return
        );
        if !is_call {
            self.other(event, lane, func, ids, view);
            return;
        }
        let time = self.time(event, lane.cpu);
        if self.tags.are_used() {
            switch_tags::call(self, (event, func, time), lane, view);
            return;
        }
        let thread = self.thread_of(lane);
        self.call(event, func, thread, lane.cpu, time, view);
    }

    /// The time of an event. The first one shows where the window begins.
    fn time(&mut self, event: &Event, cpu: Option<CpuId>) -> Tick {
        let time = self.clock.time(event, cpu);
        if self.core.window_is_unset() {
            self.core.set_window(self.clock.span.map_or(Tick(0), |(first, _)| first));
        }
        time
    }

    /// Counts `bytes` of a record that was too long to be read.
    pub fn skipped(&mut self, bytes: u64, view: BlockView<'_>) {
        self.found.skipped(&self.core.setup, bytes, view);
    }

    fn lane(&mut self, ids: &mut WorkerIds, row: usize) -> Lane {
        let key = &ids.lanes[row];
        *ids.lane_ids[row].get_or_insert_with(|| self.lanes.resolve(key, &mut self.core.names))
    }

    #[cold]
    fn new_func(&mut self, ids: &mut WorkerIds, event: &Event) -> FuncId {
        let row = event.name.0 as usize;
        let func = &ids.names[row];
        *ids.func_ids[row].get_or_insert_with(|| self.core.func(func))
    }

    /// An event that is neither an entry nor an exit.
    #[inline(never)]
    fn other(
        &mut self,
        event: &Event,
        lane: Lane,
        func: Option<FuncId>,
        ids: &mut WorkerIds,
        view: BlockView<'_>,
    ) {
        match event.kind {
            EventKind::Enter
            | EventKind::Exit
            | EventKind::Leaf
            | EventKind::Return
            | EventKind::Complete
            | EventKind::Share => {}
            EventKind::Mark => {
                let time = self.time(event, lane.cpu);
                let thread = self.thread_of(lane);
                self.notice(thread, Stamp { time, cpu: lane.cpu });
                let row = usize::try_from(event.extra).unwrap_or(usize::MAX);
                if let Some(func) = func {
                    let detail = self.details.get(row).map(|detail| &**detail);
                    let named = (func, &self.core.names.funcs[func]);
                    let begun = self.serving.mark(named, lane.cpu, detail);
                    if let (Some(begun), Some(cpu)) = (begun, lane.cpu) {
                        let interrupt = self.core.func(&begun);
                        self.serving.enter(cpu, interrupt);
                    }
                }
                let stack = self.stacks.grow_to(thread);
                if let Some(func) = func
                    && self.core.window.holds(time)
                {
                    let depth = stack.depth();
                    let detail = self.details.get_mut(row).map(std::mem::take).map(Arc::from);
                    let mark = Mark { time, func, thread, depth, detail };
                    self.core.sink.record(Record::Mark(&mark), &self.core.names);
                }
            }
            EventKind::Within => self.seen(event, lane, func, view),
            EventKind::Gap => self.gap(event, lane),
            EventKind::PartialEnd => self.partial_end(event, lane, view),
            EventKind::Incomplete => {
                let thread = self.thread_of(lane);
                self.stacks.grow_to(thread).incomplete(event.extra as u8);
            }
            EventKind::Describe => self.describe(event, lane, ids),
            EventKind::Pass => self.pass(event, lane),
            EventKind::RunsNow => {
                let row = usize::try_from(event.extra).ok();
                let before = row.and_then(|row| ids.lanes.get(row));
                self.lanes.runs_now(lane, before, &mut self.core.names);
            }
            EventKind::Switch => {
                let time = self.time(event, lane.cpu);
                let before = self.other_lane(event.extra, ids);
                let state = state_after(PrevState::unpack(event.duration));
                self.switch(time, lane, before.map(|before| (before, state)));
            }
            EventKind::Wake => {
                let time = self.time(event, lane.cpu);
                let woken = self.other_lane(event.extra, ids);
                if let Some(woken) = woken.and_then(|lane| lane.thread) {
                    self.wake(Stamp { time, cpu: lane.cpu }, lane, woken, event.duration);
                }
            }
            EventKind::Fork => {
                let at = Stamp { time: self.time(event, lane.cpu), cpu: lane.cpu };
                let parent = self.thread_of(lane);
                self.notice(parent, at);
                let child = self.other_lane(event.extra, ids);
                if let Some(child) = child.and_then(|lane| lane.thread) {
                    let (sched, mut out) = self.scheduler();
                    sched.fork(at, Some(parent), child, &mut out);
                }
            }
            EventKind::ThreadExit => {
                let at = Stamp { time: self.time(event, lane.cpu), cpu: lane.cpu };
                let thread = self.thread_of(lane);
                self.notice(thread, at);
                let (sched, mut out) = self.scheduler();
                sched.exit(at, thread, &mut out);
            }
            EventKind::InterruptEnter => {
                let thread = self.thread_of(lane);
                self.stacks.grow_to(thread).interrupt_enter();
            }
            EventKind::InterruptExit => {
                let thread = self.thread_of(lane);
                self.stacks.grow_to(thread).interrupt_exit();
            }
            EventKind::SwitchTagEnter | EventKind::SwitchTagExit => {
                let time = self.time(event, lane.cpu);
                if let Some(func) = func {
                    switch_tags::switch(self, (event, func, time), lane, view);
                }
            }
        }
    }

    fn thread_of(&mut self, lane: Lane) -> ThreadId {
        lane.thread.unwrap_or_else(|| self.lanes.runs_on(lane.cpu, &mut self.core.names))
    }

    fn other_lane(&mut self, lane: u64, ids: &mut WorkerIds) -> Option<Lane> {
        let row = usize::try_from(lane).ok().filter(|row| *row < ids.lanes.len())?;
        Some(self.lane(ids, row))
    }

    /// One entry, exit, leaf or return on a thread that is known.
    fn call(
        &mut self,
        event: &Event,
        func: Option<FuncId>,
        thread: ThreadId,
        cpu: Option<CpuId>,
        time: Tick,
        view: BlockView<'_>,
    ) {
        self.pair(event, func, thread, cpu, time, view);
        self.stacks[thread].review();
        self.report(thread);
    }

    /// Reports the progress of a thread to a sink that watches it.
    fn report(&mut self, thread: ThreadId) {
        if S::WATCHES_PROGRESS {
            let open_from = self.stacks[thread].open_from();
            let (now, timebase) = (self.clock.progress(), self.core.setup.timebase);
            let progress = Progress { thread, open_from, now, timebase };
            self.core.sink.progress(&progress, &self.core.names);
        }
    }

    fn pair(
        &mut self,
        event: &Event,
        func: Option<FuncId>,
        thread: ThreadId,
        cpu: Option<CpuId>,
        time: Tick,
        view: BlockView<'_>,
    ) {
        let core = &mut self.core;
        if thread.index() >= self.stacks.len() {
            self.stacks.grow_to(thread);
        }
        let stack = &mut self.stacks[thread];
        let mut time = time;
        // On a synthetic timeline a thread that moved to a CPU which has come less far starts
        // there: its own past is laid on another CPU's axis.
        if time < stack.last && !self.clock.synthetic {
            core.backwards(stack.last - time, event.offset, view);
            time = stack.last;
        }
        if stack.begin.is_none() {
            stack.begin_segment(core, time);
        }
        stack.last = time;
        stack.cpu = cpu;
        let at = Moment { thread, cpu, time, offset: event.offset };
        match event.kind {
            EventKind::Enter => {
                let Some(func) = func else { return };
                stack.enter(core, at, func, event, view);
            }
            EventKind::Leaf => {
                let Some(func) = func else { return };
                let length = Ticks(if event.duration == UNSTATED { 0 } else { event.duration });
                stack.leaf(core, at, func, event.depth, length, view);
                self.clock.lay(cpu, time + length);
                if core.setup.quirks.leaf_ends_are_stamps {
                    self.clock.reach(time + length);
                }
            }
            EventKind::Exit => {
                let stated = (event.duration != UNSTATED).then_some(Ticks(event.duration));
                let end = if self.clock.synthetic {
                    // The clock advanced by the callees only: what the call itself took is laid
                    // behind.
                    stack.synthetic_end(time, event.depth, stated)
                } else {
                    time
                };
                stack.exit(core, Moment { time: end, ..at }, func, event.depth, stated, view);
                self.clock.lay(cpu, end);
            }
            EventKind::Return => {
                let Some(func) = func else { return };
                let length = Ticks(if event.duration == UNSTATED { 0 } else { event.duration });
                let own = length - stack.callees_of_return(event.depth);
                let end = if self.clock.synthetic { time + own } else { time };
                stack.returned(core, Moment { time: end, ..at }, func, event.depth, length, view);
                self.clock.lay(cpu, end);
            }
            _ => {}
        }
    }

    /// A thread is known to be in `func`, which it entered before it was watched if no call is open.
    #[cold]
    fn seen(&mut self, event: &Event, lane: Lane, func: Option<FuncId>, view: BlockView<'_>) {
        let time = self.time(event, lane.cpu);
        let thread = self.thread_of(lane);
        let stack = self.stacks.grow_to(thread);
        if stack.depth() > 0 {
            stack.last = stack.last.max(time);
            return;
        }
        let enter = Event { kind: EventKind::Enter, ..*event };
        self.call(&enter, func, thread, lane.cpu, time, view);
        self.stacks[thread].began_before();
    }

    /// Passes on a sum. Their own times laid end to end are the length of the trace.
    #[cold]
    fn total(&mut self, total: &Total, ids: &mut WorkerIds) {
        let lane = self.lane(ids, total.lane.0 as usize);
        let thread = self.thread_of(lane);
        let func = self.core.func(&ids.names[total.name.0 as usize]);
        let (calls, elapsed, net) = (total.calls, Ticks(total.elapsed), Ticks(total.net));
        let (first, last) = self.clock.span.unwrap_or((Tick(0), Tick(0)));
        self.clock.span = Some((first, last + net));
        let total = FuncTotals { func, thread, calls, elapsed, net };
        self.core.sink.record(Record::Total(&total), &self.core.names);
    }

    /// Events were lost: nothing is paired across it.
    fn gap(&mut self, event: &Event, lane: Lane) {
        // What is recorded of other CPUs in the meantime says nothing about this one.
        let here = self.stacks.iter().filter(|stack| stack.cpu.is_some() && stack.cpu == lane.cpu);
        let of_stacks = here.map(Stack::latest).max();
        let time = self.clock.before_loss(event, lane.cpu, of_stacks);
        let core = &mut self.core;
        let lost = (event.duration != UNSTATED).then_some(event.duration);
        core.diags.count(&codes::GAP, 1);
        match lost {
            Some(n) => core.diags.count(&codes::LOST_EVENTS, n),
            None => core.diags.count(&codes::LOST_UNKNOWN, 1),
        }
        self.serving.clear(lane.cpu);
        let gap = Gap { time, cpu: lane.cpu, lost };
        if core.window.holds(time) {
            core.sink.record(Record::Gap(&gap), &core.names);
        }
        for index in 0..self.stacks.len() {
            let core = &mut self.core;
            let thread = ThreadId::from_index(index);
            let stack = &mut self.stacks[thread];
            let concerned = match (lane.cpu, lane.thread) {
                (None, Some(only)) => thread == only,
                (None, None) => true,
                (cpu, _) => stack.cpu.is_none() || stack.cpu == cpu,
            };
            if concerned {
                stack.end_segment(core, thread);
                self.report(thread);
            }
        }
        self.tags.forget();
        if lane.cpu.is_none() && lane.thread.is_some() {
            // What one thread recorded is missing, not what the scheduler did.
            return;
        }
        let (sched, mut out) = self.scheduler();
        sched.gap(Stamp { time, cpu: lane.cpu }, &mut out);
    }
}

/// The depth of an event, for a stack that holds `level` frames.
#[inline]
fn depth_at(depth: u16, level: usize) -> u32 {
    if depth == NO_DEPTH { level as u32 + 1 } else { u32::from(depth) }
}
