//! Probes without thread ids: stacks distinguished at the switch tag.
//!
//! When the switch function is entered, the running stack is put aside; until the switch function
//! is left, records belong to the switch itself (idling, interrupts). Which stack comes back is not
//! recorded: it follows from the next exits. So events are buffered until an exit finds no entry
//! among them; then the suspended stacks whose open calls fit that exit (and the next ones, if
//! several fit) are the candidates.
//!
//! ```text
//! A: syscall > read > sleep   switch >   ... idle, interrupts ...   switch <   ? splx  ? <sleep
//!                             A put aside                           held back   fits A: A is back
//! ```

use profctl_model::{Code, CpuId, FuncId, RunState, Severity, SpanSink, ThreadId, Tick};

use super::lanes::Lane;
use super::sched::Stamp;
use super::{BlockView, Stitcher};
use crate::emit::{Event, EventKind, LaneKey, ThreadKey, place};

/// More than one suspended stack fitted the exits after a switch.
pub static AMBIGUOUS_SWITCH: Code = Code {
    name: "stitch/ambiguous-switch",
    severity: Severity::Warning,
    help: "several suspended stacks fitted the exits after a context switch; the one that had \
           waited longest was resumed",
};

/// Events buffered at most, before a stack that nothing identifies is treated as a new one.
const HELD_MAX: usize = 1 << 16;

/// An event with its function and its time.
type At<'e> = (&'e Event, Option<FuncId>, Tick);

#[derive(Debug, Default)]
pub(super) struct SwitchTags {
    state: State,
    /// Stacks put aside, the one that waits longest first.
    suspended: Vec<ThreadId>,
    /// Stacks made so far.
    stacks: u32,
    /// The pseudo-thread of the switch itself.
    switcher: Option<ThreadId>,
}

#[derive(Debug, Default)]
enum State {
    /// No switch tag was met: the reader's lanes are right.
    #[default]
    Unused,
    Running(ThreadId),
    Switching,
    Returning(Held),
}

/// What happened since a switch was left, on a stack that is not known yet.
#[derive(Debug)]
struct Held {
    since: Tick,
    cpu: Option<CpuId>,
    events: Vec<HeldEvent>,
    /// Calls that were entered since and are open.
    open: Vec<Option<FuncId>>,
    /// Exits that found no entry.
    exits: usize,
    candidates: Vec<ThreadId>,
}

/// An event that waits for its stack to be found out.
#[derive(Debug)]
struct HeldEvent {
    event: Event,
    func: Option<FuncId>,
    time: Tick,
    place: HeldPlace,
}

/// Where a record stands, once the block that it is in is gone.
#[derive(Clone, Copy, Debug)]
struct HeldPlace {
    stream: usize,
    source: usize,
    offset: u64,
}

impl HeldPlace {
    fn new(event: &Event, view: BlockView<'_>) -> Self {
        let BlockView { stream, source, offset, .. } = view;
        Self { stream, source, offset: place(offset, event.offset) }
    }

    /// What a record at byte 0 of it is at. To know its line, lines would have to be counted for
    /// every record that waits.
    fn view(self) -> BlockView<'static> {
        let Self { stream, source, offset } = self;
        BlockView { bytes: &[], stream, source, offset, lines: None }
    }
}

/// The running thread, according to switch tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Running {
    /// No switch tag was met: the thread of the lane.
    OfLane,
    Thread(ThreadId),
    /// The switch itself, or a stack that is still to be found out.
    Unknown,
}

impl SwitchTags {
    #[inline]
    pub(super) fn are_used(&self) -> bool {
        !matches!(self.state, State::Unused)
    }

    /// Who makes the next call.
    pub(super) fn running(&self) -> Running {
        match self.state {
            State::Unused => Running::OfLane,
            State::Running(thread) => Running::Thread(thread),
            State::Switching | State::Returning(_) => Running::Unknown,
        }
    }

    /// After a gap, suspended stacks cannot be identified.
    pub(super) fn forget(&mut self) {
        self.suspended.clear();
    }
}

/// A switch tag was entered or left.
pub(super) fn switch<S: SpanSink>(
    stitcher: &mut Stitcher<S>,
    at: (&Event, FuncId, Tick),
    lane: Lane,
    view: BlockView<'_>,
) {
    let (event, func, time) = at;
    let switcher = switcher(stitcher);
    stitcher.core.knows_off_cpu = true;
    if event.kind == EventKind::SwitchTagEnter {
        match std::mem::take(&mut stitcher.tags.state) {
            State::Unused => {
                let thread = stitcher.lanes.runs_on(lane.cpu, &mut stitcher.core.names);
                suspend(stitcher, thread, Stamp { time, cpu: lane.cpu });
            }
            State::Running(thread) => suspend(stitcher, thread, Stamp { time, cpu: lane.cpu }),
            State::Switching => {}
            State::Returning(held) => {
                let thread = settle(stitcher, &held);
                suspend(stitcher, thread, Stamp { time, cpu: lane.cpu });
            }
        }
        stitcher.tags.state = State::Switching;
        let enter = Event { kind: EventKind::Enter, ..*event };
        stitcher.call(&enter, Some(func), switcher, lane.cpu, time, view);
        return;
    }
    let exit = Event { kind: EventKind::Exit, ..*event };
    match std::mem::take(&mut stitcher.tags.state) {
        // The capture began inside the switch, or its entry was lost.
        State::Running(thread) => suspend(stitcher, thread, Stamp { time, cpu: lane.cpu }),
        State::Returning(held) => {
            let thread = settle(stitcher, &held);
            suspend(stitcher, thread, Stamp { time, cpu: lane.cpu });
        }
        State::Unused | State::Switching => {}
    }
    stitcher.call(&exit, Some(func), switcher, lane.cpu, time, view);
    let still_inside = stitcher.stacks[switcher].open_funcs().any(|open| open == func);
    stitcher.tags.state = if still_inside {
        State::Switching
    } else {
        let candidates = stitcher.tags.suspended.clone();
        State::Returning(Held {
            since: time,
            cpu: lane.cpu,
            events: Vec::new(),
            open: Vec::new(),
            exits: 0,
            candidates,
        })
    };
}

/// A call event while switch tags are in use.
pub(super) fn call<S: SpanSink>(
    stitcher: &mut Stitcher<S>,
    (event, func, time): At<'_>,
    lane: Lane,
    view: BlockView<'_>,
) {
    let thread = match &mut stitcher.tags.state {
        State::Unused => stitcher.lanes.runs_on(lane.cpu, &mut stitcher.core.names),
        State::Running(thread) => *thread,
        State::Switching => switcher(stitcher),
        State::Returning(held) => {
            let place = HeldPlace::new(event, view);
            held.events.push(HeldEvent { event: *event, func, time, place });
            let mut decided = held.events.len() >= HELD_MAX;
            match event.kind {
                EventKind::Enter => held.open.push(func),
                EventKind::Exit => {
                    let found = held.open.iter().rposition(|open| func.is_none() || *open == func);
                    match found {
                        Some(level) => held.open.truncate(level),
                        None => {
                            let nth = held.exits;
                            held.exits += 1;
                            held.open.clear();
                            let stacks = &stitcher.stacks;
                            let fits = |thread: &ThreadId| {
                                stacks.get(*thread).and_then(|stack| stack.open_funcs().nth(nth))
                                    == func
                            };
                            if held.candidates.iter().any(fits) {
                                held.candidates.retain(fits);
                                decided |= held.candidates.len() == 1;
                            } else {
                                if nth == 0 {
                                    held.candidates.clear();
                                }
                                decided = true;
                            }
                        }
                    }
                }
                _ => {}
            }
            if decided && let State::Returning(held) = std::mem::take(&mut stitcher.tags.state) {
                let thread = settle(stitcher, &held);
                stitcher.tags.state = State::Running(thread);
            }
            return;
        }
    };
    stitcher.call(event, func, thread, lane.cpu, time, view);
}

/// Decides whose the held events are, and replays them there.
fn settle<S: SpanSink>(stitcher: &mut Stitcher<S>, held: &Held) -> ThreadId {
    let fitting = if held.exits == 0 { &[][..] } else { &held.candidates[..] };
    let thread = match fitting.first() {
        Some(&thread) => thread,
        None => new_stack(stitcher),
    };
    if let ([_, _, ..], Some(last)) = (fitting, held.events.last()) {
        let n = fitting.len();
        stitcher.core.complain(&AMBIGUOUS_SWITCH, last.place.view(), 0, || {
            format!("{n} suspended stacks fit the exits after this switch")
        });
    }
    stitcher.tags.suspended.retain(|suspended| *suspended != thread);
    let switcher = switcher(stitcher);
    let at = Stamp { time: held.since, cpu: held.cpu };
    let (sched, mut out) = stitcher.scheduler();
    sched.switch(at, Some((switcher, RunState::Sleeping)), Some(thread), &mut out);
    for &HeldEvent { event, func, time, place } in &held.events {
        let event = Event { offset: 0, ..event };
        stitcher.call(&event, func, thread, held.cpu, time, place.view());
    }
    thread
}

/// Ends the input: buffered events are assigned.
pub(super) fn finish<S: SpanSink>(stitcher: &mut Stitcher<S>) {
    if let State::Returning(held) = std::mem::take(&mut stitcher.tags.state)
        && !held.events.is_empty()
    {
        settle(stitcher, &held);
    }
}

/// The probe does not say whether a thread that switches waits or was made to.
fn suspend<S: SpanSink>(stitcher: &mut Stitcher<S>, thread: ThreadId, at: Stamp) {
    let switcher = switcher(stitcher);
    let (sched, mut out) = stitcher.scheduler();
    sched.switch(at, Some((thread, RunState::Sleeping)), Some(switcher), &mut out);
    stitcher.tags.suspended.push(thread);
}

fn named<S: SpanSink>(stitcher: &mut Stitcher<S>, name: String) -> ThreadId {
    let key = LaneKey { cpu: None, thread: ThreadKey::Named(name) };
    let lane = stitcher.lanes.resolve(&key, &mut stitcher.core.names);
    lane.thread.expect("a named lane has a thread")
}

fn new_stack<S: SpanSink>(stitcher: &mut Stitcher<S>) -> ThreadId {
    stitcher.tags.stacks += 1;
    let name = format!("stack{}", stitcher.tags.stacks);
    named(stitcher, name)
}

fn switcher<S: SpanSink>(stitcher: &mut Stitcher<S>) -> ThreadId {
    if let Some(known) = stitcher.tags.switcher {
        return known;
    }
    let thread = named(stitcher, "switch".into());
    stitcher.core.names.threads[thread].idle = true;
    stitcher.tags.switcher = Some(thread);
    thread
}
