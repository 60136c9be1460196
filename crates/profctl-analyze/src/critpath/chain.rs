//! The critical path across threads: the threads that had to run, and the events that had to
//! happen, before a thread could continue.
//!
//! Walked backwards from the end of the window. While the thread runs, the time is its own; while
//! it is runnable, it waits for a CPU. Where it was blocked from `b` until a thread `W` woke it at
//! `w`, the time from `b` to `w` belongs to `W` and, where `W` itself was blocked within it, to the
//! waker of `W`, and so on; before `b` the thread itself goes on:
//!
//! ```text
//! main    |--run--|b. . . . . . . . . . . . . . . .w|wait|--run--|
//! worker     |run-|. . blocked . . v|wait|---run---|
//! helper  |----------run-----------|
//! path    |--main--|----helper------|wk  |--worker-|main |-main--|
//! ```
//!
//! This is the rule of Perfetto's critical path library. It never returns to a thread that is being
//! waited for, because that one is blocked for as long as the path is with others. A wait that an
//! interrupt ended is a wait for a timer or a device; the interrupted thread is not its cause. A
//! wait that ended without a known waker stays blocked.

use std::collections::BTreeMap;

use profctl_model::{
    CpuId, FuncId, RunState, ThreadId, ThreadState, Tick, Ticks, Trace, Waker, WakerContext,
};

use crate::sched::{OpenCalls, source_of_wait, waker_thread};

/// What an interval of the path is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Wait {
    /// A thread ran.
    Running,
    /// It waited for a CPU.
    Runnable,
    /// It waited for a timer or a device.
    Interrupt,
    /// It was blocked, and who ended that is not known.
    Blocked,
    /// What it did is not known.
    Unknown,
}

impl Wait {
    /// Every kind, in the order of tables.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Runnable, Self::Interrupt, Self::Blocked, Self::Unknown];

    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Runnable => "runnable",
            Self::Interrupt => "interrupt",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
        }
    }
}

/// An interval of the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The thread.
    pub thread: ThreadId,
    /// The state.
    pub wait: Wait,
    /// From.
    pub start: Tick,
    /// To.
    pub end: Tick,
    /// Running: where. Runnable: where it ran next.
    pub cpu: Option<CpuId>,
    /// [`Wait::Interrupt`]: what was waited for.
    pub source: Option<String>,
    /// Running: the innermost call. Else the one that it waits in.
    pub function: Option<FuncId>,
    /// Off the CPU: who ended it.
    pub waker: Option<Waker>,
}

impl Link {
    /// How long it is.
    pub fn length(&self) -> Ticks {
        self.end - self.start
    }
}

/// The path that bounds when a thread was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The thread.
    pub thread: ThreadId,
    /// The window.
    pub start: Tick,
    /// See `start`.
    pub end: Tick,
    /// In time order; they cover the window once.
    pub links: Vec<Link>,
}

/// One thread on the way back.
struct Walk {
    thread: ThreadId,
    /// Not beyond here.
    since: Tick,
    /// How far it has come.
    now: Tick,
}

/// The path of `thread` through a window.
pub fn walk(trace: &Trace, thread: ThreadId, start: Tick, end: Tick) -> Chain {
    let mut links = Vec::new();
    // The threads that the chain of wakers of the present wait has left.
    let mut left: Vec<ThreadId> = Vec::new();
    let mut open = vec![Walk { thread, since: start, now: end.max(start) }];
    while let Some(at) = open.last_mut() {
        if at.now <= at.since {
            open.pop();
            left.clear();
            continue;
        }
        let (thread, since, now) = (at.thread, at.since, at.now);
        let states = trace.states_of(thread);
        let index = states.partition_point(|state| state.start < now);
        let found = index.checked_sub(1).map(|index| (index, &states[index]));
        let link = |wait, start| Link {
            thread,
            wait,
            start,
            end: now,
            cpu: None,
            source: None,
            function: None,
            waker: None,
        };
        let Some((index, state)) = found.filter(|(_, state)| state.end >= now) else {
            // Before its first state, or after its last one.
            let known = found.map_or(since, |(_, state)| state.end.max(since));
            let creator = states
                .get(index)
                .filter(|state| state.state == RunState::RunnableNew && state.start == now);
            let creator = creator.and_then(|state| waker_thread(&state.waker?, &trace.names));
            match creator.filter(|by| *by != thread && !left.contains(by)) {
                Some(creator) => {
                    left.push(thread);
                    follow(&mut open, creator, known);
                }
                None => {
                    at.now = known;
                    links.push(link(Wait::Unknown, known));
                }
            }
            continue;
        };
        let from = state.start.max(since);
        at.now = from;
        match state.state {
            RunState::Running => {
                links.push(Link { cpu: state.cpu, ..link(Wait::Running, from) });
            }
            state_now if state_now.is_runnable() => {
                let next = states.get(index + 1).filter(|next| next.state == RunState::Running);
                let cpu = next.and_then(|next| next.cpu).or(state.cpu);
                let (waker, function) = (state.waker, state.wait_reason);
                links.push(Link { cpu, function, waker, ..link(Wait::Runnable, from) });
            }
            state_now if state_now.is_blocked() => {
                let blocked = Link { function: state.wait_reason, ..link(Wait::Blocked, from) };
                let waker = (now == state.end).then(|| woken_by(states, index)).flatten();
                let Some(waker) = waker else {
                    links.push(blocked);
                    continue;
                };
                let by = waker_thread(&waker, &trace.names)
                    .filter(|by| *by != thread && !left.contains(by));
                if let Some(by) = by {
                    left.push(thread);
                    if let Some(at) = open.last_mut() {
                        at.now = now;
                    }
                    follow(&mut open, by, from);
                    continue;
                }
                let source = source_of_wait(&waker, state.wait_reason, &trace.names);
                let wait = if source.is_some() { Wait::Interrupt } else { Wait::Blocked };
                links.push(Link { wait, source, waker: Some(waker), ..blocked });
            }
            _ => links.push(link(Wait::Unknown, from)),
        }
    }
    links.reverse();
    Chain { thread, start, end: end.max(start), links: by_call(trace, links) }
}

/// Goes on with `waker`: beside the thread itself down to `from`, where that one goes on; or in the
/// place of another waker, to which the path does not return.
fn follow(open: &mut Vec<Walk>, waker: ThreadId, from: Tick) {
    if let [root] = open.as_mut_slice() {
        let now = std::mem::replace(&mut root.now, from);
        open.push(Walk { thread: waker, since: from, now });
    } else if let Some(at) = open.last_mut() {
        at.thread = waker;
    }
}

/// The waker that ended the blocked state at `index`; the thread is runnable after it.
fn woken_by(states: &[ThreadState], index: usize) -> Option<Waker> {
    let next = states.get(index + 1).filter(|next| next.state == RunState::RunnableWoken)?;
    next.waker.filter(|waker| waker.context != WakerContext::Unknown || waker.thread.is_some())
}

/// Cuts the running links where calls begin and end.
fn by_call(trace: &Trace, links: Vec<Link>) -> Vec<Link> {
    if trace.spans.is_empty() {
        return links;
    }
    let open = OpenCalls::of(trace);
    let spans = &trace.spans;
    let mut cut = Vec::with_capacity(links.len());
    for link in links {
        if link.wait != Wait::Running {
            cut.push(link);
            continue;
        }
        let Some(rows) = open.rows(link.thread) else {
            cut.push(link);
            continue;
        };
        let mut now = link.start;
        while now < link.end {
            let call = open.innermost(trace, link.thread, now);
            let ended = call.map_or(link.end, |call| spans.end[call.index()]);
            let next =
                rows.start + spans.start[rows.clone()].partition_point(|start| *start <= now);
            let begun = if next < rows.end { spans.start[next] } else { link.end };
            let until = ended.min(begun).min(link.end);
            let function = call.map(|call| spans.func[call]);
            match cut.last_mut() {
                Some(Link { wait: Wait::Running, thread, end, function: last, cpu, .. })
                    if *thread == link.thread
                        && *end == now
                        && now > link.start
                        && (*last, *cpu) == (function, link.cpu) =>
                {
                    *end = until;
                }
                _ => cut.push(Link { start: now, end: until, function, ..link.clone() }),
            }
            now = until;
        }
    }
    cut
}

/// The window of a thread: from its creation, or the first that is known of it, until it asked to
/// exit, or the last that is known.
pub fn life(trace: &Trace, thread: ThreadId) -> Option<(Tick, Tick)> {
    let states = trace.states_of(thread);
    let known = |state: &&ThreadState| !matches!(state.state, RunState::Unknown | RunState::Dead);
    let start = states.iter().find(known)?.start;
    let end = states.iter().rfind(known)?.end;
    let exited = trace.life_of(thread).and_then(|life| life.exited);
    Some((start, exited.filter(|exited| (start..=end).contains(exited)).unwrap_or(end)))
}

/// The thread to look at where none is named: the longest-lived of those recorded from creation to
/// exit; else the one that ran most. Never an idle task.
pub fn default_thread(trace: &Trace) -> Option<ThreadId> {
    let mut best: Option<(bool, Ticks, ThreadId)> = None;
    for states in crate::sched::by_thread(&trace.states) {
        let thread = states[0].thread;
        if trace.names.threads[thread].idle {
            continue;
        }
        let ran = states.iter().filter(|state| state.state == RunState::Running);
        let ran = ran.fold(Ticks(0), |sum, state| sum + state.length());
        let whole = trace
            .life_of(thread)
            .is_some_and(|life| life.created.is_some() && life.exited.is_some());
        let lived = life(trace, thread).map_or(Ticks(0), |(start, end)| end - start);
        let rank = (whole, if whole { lived } else { ran }, thread);
        if ran.0 > 0 && best.is_none_or(|best| (rank.0, rank.1) > (best.0, best.1)) {
            best = Some(rank);
        }
    }
    best.map(|(.., thread)| thread)
}

/// Who ran on the CPUs for which threads on the path waited, and for how long.
pub fn held_by(trace: &Trace, chain: &Chain) -> Vec<(ThreadId, Ticks)> {
    let mut on_cpu: BTreeMap<CpuId, Vec<&ThreadState>> = BTreeMap::new();
    for state in trace.states.iter().filter(|state| state.state == RunState::Running) {
        if let Some(cpu) = state.cpu {
            on_cpu.entry(cpu).or_default().push(state);
        }
    }
    for states in on_cpu.values_mut() {
        states.sort_by_key(|state| (state.start, state.end));
    }
    let mut sums: BTreeMap<ThreadId, Ticks> = BTreeMap::new();
    for link in chain.links.iter().filter(|link| link.wait == Wait::Runnable) {
        let Some(states) = link.cpu.and_then(|cpu| on_cpu.get(&cpu)) else { continue };
        let first = states.partition_point(|state| state.end <= link.start);
        for state in states[first..].iter().take_while(|state| state.start < link.end) {
            let length = state.end.min(link.end) - state.start.max(link.start);
            *sums.entry(state.thread).or_default() += length;
        }
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, sum)| sum.0 > 0).collect();
    sums.sort_by_key(|&(thread, sum)| (std::cmp::Reverse(sum), thread));
    sums
}

/// How much later a thread could have woken the threads on the path without delaying it: the
/// shortest time that one of them, woken by it, still waited for a CPU. A lower bound; threads on
/// the path have none.
pub fn slack(trace: &Trace, chain: &Chain) -> BTreeMap<ThreadId, Ticks> {
    let mut slack: BTreeMap<ThreadId, Ticks> = BTreeMap::new();
    let mut on_path: Vec<ThreadId> = chain.links.iter().map(|link| link.thread).collect();
    on_path.sort_unstable();
    on_path.dedup();
    for &thread in &on_path {
        for state in trace.states_of(thread) {
            let inside = state.start >= chain.start && state.end <= chain.end;
            if state.state != RunState::RunnableWoken || !inside {
                continue;
            }
            let by = state.waker.and_then(|waker| waker_thread(&waker, &trace.names));
            if let Some(by) = by.filter(|by| !on_path.contains(by)) {
                let least = slack.entry(by).or_insert(state.length());
                *least = (*least).min(state.length());
            }
        }
    }
    slack
}
