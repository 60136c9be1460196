//! Puts events in order that an input holds in any other: calls written when they ended, threads
//! one after the other, buffers flushed late. It is between the readers of such formats and the
//! stitcher, and decides nothing but the order.
//!
//! Events are buffered until so many more have come that none is expected to belong before them
//! ([`Order::Nearly`]), or until all have come ([`Order::Any`]). Then they are sorted by time,
//! those of one time as they were written, and passed on thread by thread:
//!
//! - [`EventKind::Complete`] becomes a leaf, or an entry and an exit around what lies within it;
//! - of complete calls that begin together the longer one is the caller;
//! - where the order of entries and exits at one instant does not nest as written, but another
//!   order does, that one is taken ([`ties`]).

mod ties;

use profctl_model::hash::FastMap;
use profctl_model::{Code, Func, Severity};

use crate::emit::{
    At, BlockEvents, Emitter, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, ThreadKey,
    UNSTATED, place,
};
use crate::identity::{Identity, PerThread};

/// How the events of an input are ordered in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// As they happened: nothing is sorted.
    #[default]
    AsWritten,
    /// By thread nearly as they happened: what is out of order is so by [`HELD`] events at most.
    Nearly,
    /// In any order: everything is held in memory until the input ends.
    Any,
}

/// How many events are buffered; about 6 MB.
pub const HELD: usize = 1 << 17;
/// Events that are passed on at once.
const BATCH: usize = 1 << 11;
/// Events of one thread and one instant that are looked at together.
const TIED: usize = 1 << 12;

/// An event that lay too far from its place.
pub static LATE_EVENT: Code = Code {
    name: "sort/late-event",
    severity: Severity::Warning,
    help: "an event is farther out of order than the sort buffer reaches: it was moved after \
           later events of its thread; `--dialect unsorted` sorts everything in memory",
};

/// An event with its place in the input.
#[derive(Clone, Copy, Debug)]
struct Held {
    event: Event,
    at: u64,
}

/// A call that is open, as far as order goes.
#[derive(Clone, Copy, Debug)]
struct Open {
    name: NameRef,
    lane: LaneRef,
    /// When it ends; [`UNTIL_EXIT`] if it follows from an exit.
    end: u64,
    /// The earliest end of this call and those below it on the stack.
    earliest: u64,
    at: u64,
}

const UNTIL_EXIT: u64 = u64::MAX;

/// One thread.
#[derive(Debug, Default)]
struct Row {
    /// The time of its latest event.
    time: u64,
    /// Its events of that time.
    held: Vec<Held>,
    open: Vec<Open>,
}

/// The names and lanes of one worker, and how the sorter calls those that were used: what stood in
/// blocks that were read in vain has no place among them.
#[derive(Debug, Default)]
struct Known {
    names: Vec<Func>,
    name_refs: Vec<Option<NameRef>>,
    lanes: Vec<LaneKey>,
    lane_refs: Vec<Option<LaneRef>>,
}

/// Sorts the events of one input.
#[derive(Debug)]
pub struct Sorter {
    order: Order,
    /// Calls that outlive their caller by no more than this, ticks, do so by rounding.
    tolerance: u64,
    workers: Vec<Known>,
    held: Vec<Held>,
    in_order: bool,
    /// How many of `held` are sorted and may be passed on.
    ready: usize,
    done: usize,
    details: FastMap<u64, Box<str>>,
    n_details: u64,
    /// Lanes without a row so far.
    lanes: Vec<LaneKey>,
    /// By number of a thread, the first process that has one.
    processes: FastMap<u64, u64>,
    row_of_thread: PerThread<usize>,
    row_of_lane: Vec<usize>,
    rows: Vec<Row>,
    out: Emitter,
    /// Where the offsets of `out` count from.
    base: u64,
    finished: bool,
}

impl Sorter {
    /// A sorter for one input. Calls that outlive their caller by up to `tolerance` ticks are
    /// assumed to end with it.
    pub fn new(order: Order, tolerance: u64) -> Self {
        Self {
            order,
            tolerance,
            workers: Vec::new(),
            held: Vec::new(),
            in_order: true,
            ready: 0,
            done: 0,
            details: FastMap::default(),
            n_details: 0,
            lanes: Vec::new(),
            processes: FastMap::default(),
            row_of_thread: PerThread::default(),
            row_of_lane: Vec::new(),
            rows: Vec::new(),
            out: Emitter::default(),
            base: 0,
            finished: false,
        }
    }

    /// Learns the names and lanes that a block of `worker` brings.
    pub fn learn(&mut self, worker: usize, block: &BlockEvents) {
        if worker >= self.workers.len() {
            self.workers.resize_with(worker + 1, Known::default);
        }
        let known = &mut self.workers[worker];
        if known.names.is_empty() && !block.names.is_empty() {
            known.name_refs.push(Some(NameRef::ANONYMOUS));
        }
        known.names.extend_from_slice(&block.names);
        known.name_refs.resize(known.names.len(), None);
        known.lanes.extend_from_slice(&block.lanes);
        known.lane_refs.resize(known.lanes.len(), None);
    }

    #[inline]
    fn name(&mut self, worker: usize, name: NameRef) -> NameRef {
        let known = self.workers[worker].name_refs[name.0 as usize];
        known.unwrap_or_else(|| self.new_name(worker, name))
    }

    #[cold]
    fn new_name(&mut self, worker: usize, name: NameRef) -> NameRef {
        let known = &mut self.workers[worker];
        let func = &known.names[name.0 as usize];
        let module = func.module.as_deref().unwrap_or("\0");
        let spelling = [func.name.as_bytes(), b"\0", module.as_bytes()].concat();
        let sorted = self.out.name(&spelling, |_| func.clone());
        known.name_refs[name.0 as usize] = Some(sorted);
        sorted
    }

    #[inline]
    fn lane(&mut self, worker: usize, lane: u32) -> LaneRef {
        let known = self.workers[worker].lane_refs[lane as usize];
        known.unwrap_or_else(|| self.new_lane(worker, lane))
    }

    #[cold]
    fn new_lane(&mut self, worker: usize, lane: u32) -> LaneRef {
        let known = &mut self.workers[worker];
        let key = &known.lanes[lane as usize];
        let row = lane as usize;
        let lane = self.out.lane(key.clone());
        known.lane_refs[row] = Some(lane);
        if lane.0 as usize == self.row_of_lane.len() + self.lanes.len() {
            if let ThreadKey::Member { pid, tid, .. } = key.thread
                && *self.processes.entry(tid).or_insert(pid) != pid
            {
                self.row_of_thread.share(tid);
                // The stitcher meets threads in time order, not in file order, and could otherwise
                // merge what has two rows here.
                self.out.share(At { time: None, lane, offset: 0 }, tid);
            }
            self.lanes.push(key.clone());
        }
        lane
    }

    /// Assigns rows to the lanes read so far, all of them if the input has ended.
    fn add_rows(&mut self) {
        let rows = &mut self.rows;
        for key in self.lanes.drain(..) {
            let row = self.row_of_thread.get_or_insert_with(Identity::of(&key), || {
                rows.push(Row::default());
                rows.len() - 1
            });
            self.row_of_lane.push(row);
        }
    }

    /// Takes the events of the next block, which begins `offset` bytes into the input and was read
    /// by `worker`. The block keeps the rest.
    pub fn take(&mut self, worker: usize, block: &mut BlockEvents, offset: u64) {
        self.learn(worker, block);
        let mut last = self.held.last().map_or(0, |held| held.event.time);
        self.held.reserve(block.events.len());
        for mut event in block.events.drain(..) {
            let extra = usize::try_from(event.extra).unwrap_or(usize::MAX);
            match event.kind {
                EventKind::Switch | EventKind::Wake | EventKind::Fork | EventKind::RunsNow
                    if extra < self.workers[worker].lanes.len() =>
                {
                    event.extra = u64::from(self.lane(worker, extra as u32).0);
                }
                EventKind::Mark => {
                    if let Some(detail) = block.details.get_mut(extra) {
                        event.extra = self.n_details;
                        self.details.insert(self.n_details, std::mem::take(detail));
                        self.n_details += 1;
                    }
                }
                _ => {}
            }
            event.name = self.name(worker, event.name);
            event.lane = self.lane(worker, event.lane.0);
            if event.kind == EventKind::Share {
                self.row_of_thread.share(event.duration);
            }
            if matches!(event.kind, EventKind::Describe | EventKind::Pass | EventKind::Share) {
                // These are not about when.
                self.out.push(event);
                continue;
            }
            self.in_order &= event.time >= last;
            last = event.time;
            self.held.push(Held { event, at: place(offset, event.offset) });
        }
        block.details.clear();
    }

    /// What may be passed on now, with the offset that its offsets count from; nothing if more must
    /// come first. At the end of the input everything is passed on, bit by bit.
    pub fn next(&mut self, at_end: bool) -> Option<(BlockEvents, u64)> {
        if self.done == self.ready && !self.sort(at_end) {
            return (at_end && !self.finished).then(|| self.finish());
        }
        let end = self.ready.min(self.done + BATCH);
        let last = self.held[self.done..end].iter().map(|held| held.at).max().unwrap_or(0);
        self.base = last.saturating_sub(u64::from(u32::MAX / 2));
        for index in self.done..end {
            self.hand_on(self.held[index]);
        }
        self.done = end;
        Some((self.out.take(), self.base))
    }

    /// Passes on what waited for something to follow it.
    fn finish(&mut self) -> (BlockEvents, u64) {
        self.finished = true;
        for row in 0..self.rows.len() {
            self.place(row, None);
            self.end_calls(row, UNTIL_EXIT - 1);
        }
        (self.out.take(), self.base)
    }

    /// Takes back a buffer for the next batch.
    pub(crate) fn reuse(&mut self, events: Vec<Event>) {
        self.out.reuse(events);
    }

    /// Sorts what is held if it is time to; says whether there is something to pass on.
    fn sort(&mut self, at_end: bool) -> bool {
        if self.done > 0 {
            self.held.drain(..self.done);
            (self.done, self.ready) = (0, 0);
        }
        let wanted = self.order == Order::Nearly && self.held.len() >= HELD;
        if self.held.is_empty() || !(wanted || at_end) {
            return false;
        }
        if !self.in_order {
            self.held.sort_by_key(|held| held.event.time);
            self.in_order = true;
        }
        self.add_rows();
        self.ready = if at_end { self.held.len() } else { self.held.len() / 2 };
        true
    }

    fn offset(&self, at: u64) -> u32 {
        u32::try_from(at.saturating_sub(self.base)).unwrap_or(u32::MAX)
    }

    #[inline]
    fn hand_on(&mut self, mut held: Held) {
        let row = self.row_of_lane[held.event.lane.0 as usize];
        match held.event.kind {
            EventKind::Enter | EventKind::Exit | EventKind::Complete => {
                let time = self.rows[row].time;
                if held.event.time < time {
                    self.late(&mut held, time);
                }
                let state = &mut self.rows[row];
                if (held.event.time > state.time && !state.held.is_empty())
                    || state.held.len() >= TIED
                {
                    self.place(row, Some(&held));
                }
                let state = &mut self.rows[row];
                state.time = held.event.time;
                state.held.push(held);
                return;
            }
            EventKind::Gap => {
                for row in 0..self.rows.len() {
                    self.settle(row, &held);
                }
            }
            EventKind::Switch | EventKind::Wake | EventKind::Fork => {
                let other = usize::try_from(held.event.extra).ok();
                if let Some(&other) = other.and_then(|lane| self.row_of_lane.get(lane)) {
                    self.settle(other, &held);
                }
                self.settle(row, &held);
            }
            _ => self.settle(row, &held),
        }
        if held.event.kind == EventKind::Mark
            && let Some(detail) = self.details.remove(&held.event.extra)
        {
            let details = self.out.details_mut();
            held.event.extra = details.len() as u64;
            details.push(detail);
        }
        let offset = self.offset(held.at);
        self.out.push(Event { offset, ..held.event });
    }

    /// Passes on what happened on a thread before `now`.
    fn settle(&mut self, row: usize, now: &Held) {
        if self.rows[row].time < now.event.time {
            self.place(row, Some(now));
            self.end_calls(row, now.event.time);
        }
    }

    #[cold]
    fn late(&mut self, held: &mut Held, time: u64) {
        let event = &mut held.event;
        let offset = self.offset(held.at);
        let step = time - event.time;
        self.out.diag(&LATE_EVENT, offset as usize, || {
            format!("an event {step} ticks before a processed one of its thread")
        });
        if event.kind == EventKind::Complete {
            event.duration = event.duration.saturating_sub(step);
        }
        event.time = time;
    }

    /// Passes on the events of a thread that are of one time; `next` is what follows them.
    fn place(&mut self, row: usize, next: Option<&Held>) {
        let state = &mut self.rows[row];
        let mut group = std::mem::take(&mut state.held);
        if group.len() > 1 {
            ties::arrange(&mut group, &state.open, next);
        }
        for (index, held) in group.iter().enumerate() {
            match held.event.kind {
                EventKind::Complete => self.complete(row, held, group.get(index + 1).or(next)),
                EventKind::Enter => self.enter(row, held),
                _ => self.exit(row, held),
            }
        }
        group.clear();
        self.rows[row].held = group;
    }

    /// A complete call; `next` is the event of its thread that follows.
    fn complete(&mut self, row: usize, held: &Held, next: Option<&Held>) {
        let Event { time, depth, .. } = held.event;
        let mut end = time.saturating_add(held.event.duration).min(UNTIL_EXIT - 1);
        if depth == NO_DEPTH {
            self.end_calls(row, time);
            // What ends after its caller by no more than a step of the clock was rounded; so was
            // what begins before its neighbor has ended.
            while let Some(&top) = self.rows[row].open.last()
                && top.end < end
            {
                if end - top.end <= self.tolerance {
                    end = top.end;
                } else if top.end - time <= self.tolerance {
                    self.end_top(row, time);
                } else {
                    break;
                }
            }
        } else {
            while self.rows[row].open.len() > usize::from(depth)
                && let Some(&top) = self.rows[row].open.last()
                && top.end <= time
            {
                self.end_top(row, top.end);
            }
        }
        let offset = self.offset(held.at);
        let open = &self.rows[row].open;
        let crosses = open.last().is_some_and(|top| top.earliest < end);
        let is_caller = next.is_some_and(|Held { event, .. }| {
            let is_deeper = event.depth != NO_DEPTH && usize::from(event.depth) > open.len();
            event.time < end || is_deeper
        });
        if !is_caller && !crosses {
            let duration = end - time;
            let kind = EventKind::Leaf;
            let extra = UNSTATED;
            self.out.push(Event { kind, duration, extra, offset, depth: NO_DEPTH, ..held.event });
            return;
        }
        let Event { name, lane, .. } = held.event;
        self.open(row, Open { name, lane, end, earliest: end, at: held.at });
        let (kind, duration, extra) = (EventKind::Enter, UNSTATED, UNSTATED);
        self.out.push(Event { kind, duration, extra, offset, depth: NO_DEPTH, ..held.event });
    }

    fn enter(&mut self, row: usize, held: &Held) {
        self.end_calls(row, held.event.time);
        let Event { name, lane, .. } = held.event;
        let (end, at) = (UNTIL_EXIT, held.at);
        self.open(row, Open { name, lane, end, earliest: end, at });
        let offset = self.offset(held.at);
        self.out.push(Event { offset, ..held.event });
    }

    fn open(&mut self, row: usize, open: Open) {
        let stack = &mut self.rows[row].open;
        let below = stack.last().map_or(UNTIL_EXIT, |top| top.earliest);
        stack.push(Open { earliest: open.end.min(below), ..open });
    }

    fn exit(&mut self, row: usize, held: &Held) {
        let Event { time, name, .. } = held.event;
        while let Some(&top) = self.rows[row].open.last()
            && top.end <= time
        {
            self.end_top(row, top.end);
        }
        self.end_calls(row, time.saturating_sub(1));
        let stack = &mut self.rows[row].open;
        let ends = |open: &Open| {
            open.end == UNTIL_EXIT && (name == NameRef::ANONYMOUS || name == open.name)
        };
        if let Some(level) = stack.iter().rposition(ends) {
            stack.truncate(level);
        }
        let offset = self.offset(held.at);
        self.out.push(Event { offset, ..held.event });
    }

    /// Ends the complete calls whose end is at `time` or before. What is still open above one of
    /// them crosses its end: the stitcher sees to that.
    #[inline]
    fn end_calls(&mut self, row: usize, time: u64) {
        while let Some(&top) = self.rows[row].open.last()
            && top.earliest <= time
        {
            if top.end == top.earliest {
                self.end_top(row, top.end);
                continue;
            }
            let ends = |open: &Open| open.end == top.earliest;
            let level = self.rows[row].open.iter().rposition(ends).unwrap_or(0);
            let crossed = self.rows[row].open[level];
            self.rows[row].open.truncate(level);
            self.push_end(crossed, top.earliest);
        }
    }

    fn end_top(&mut self, row: usize, time: u64) {
        let Some(top) = self.rows[row].open.pop() else { return };
        self.push_end(top, time);
    }

    fn push_end(&mut self, open: Open, time: u64) {
        let Open { name, lane, at, .. } = open;
        let (offset, kind) = (self.offset(at), EventKind::Exit);
        let (duration, extra, depth) = (UNSTATED, UNSTATED, NO_DEPTH);
        self.out.push(Event { time, duration, extra, name, lane, offset, depth, kind });
    }
}
