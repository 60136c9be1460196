//! Threads as programs: what each computes, whom it wakes and what it waits for, in order.

use profctl_model::{
    CpuId, IdVec, RunState, ThreadId, ThreadState, Tick, Ticks, Timebase, Trace, WakeEffect,
};

use crate::sched::{by_thread, waker_thread};

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Uses a CPU for so long.
    Compute(Ticks),
    /// Uses a CPU for as long as it gets one.
    ComputeForever,
    /// Wakes the thread of that number. A thread that does not wait takes note of it.
    Wake(usize),
    /// Waits for a timer or a device.
    BlockFor(Ticks),
    /// Waits until a thread wakes it, unless one has done so already.
    BlockUntilWoken,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its id, if it was recorded.
    pub tid: Option<u64>,
    /// The thread in the recording.
    pub thread: Option<ThreadId>,
    /// What it does.
    pub steps: Vec<Step>,
    /// The CPUs on which it may run, by their place; any if there are none.
    pub cpus: Vec<usize>,
    /// What it did in the recording.
    pub recorded: Recorded,
}

/// What a thread did in the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    /// When it first ran, after the beginning of the window.
    pub first_run: Option<Ticks>,
    /// When it last ran or wanted to.
    pub finish: Ticks,
    /// Time on a CPU.
    pub run: Ticks,
    /// Time waiting for one.
    pub runnable: Ticks,
    /// Time blocked before `finish`.
    pub blocked: Ticks,
    /// Runs.
    pub switches: u64,
    /// Stretches from becoming runnable to blocking.
    pub bursts: u64,
    /// Their lengths together.
    pub response: Ticks,
    /// The longest.
    pub response_max: Ticks,
}

/// The threads of a recording, or of a description.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// They become runnable in this order where they do so at once.
    pub programs: Vec<Program>,
    /// CPUs.
    pub cpus: usize,
    /// What ticks are.
    pub timebase: Timebase,
}

impl Program {
    /// Whether it never ends.
    pub fn is_endless(&self) -> bool {
        self.steps.contains(&Step::ComputeForever)
    }
}

impl Workload {
    /// The threads that ran in a recording, by their first run.
    pub fn of(trace: &Trace) -> Self {
        let mut cpus: Vec<CpuId> = trace.states.iter().filter_map(|state| state.cpu).collect();
        cpus.sort_by_key(|cpu| trace.names.cpus[*cpu]);
        cpus.dedup();
        let mut threads: Vec<(Tick, &[ThreadState])> = by_thread(&trace.states)
            .filter(|states| !trace.names.threads[states[0].thread].idle)
            .filter_map(|states| Some((first_run(states)?, states)))
            .collect();
        threads.sort_by_key(|(first, states)| (*first, states[0].thread));
        let mut places: IdVec<ThreadId, Option<usize>> = IdVec::default();
        for (place, (_, states)) in threads.iter().enumerate() {
            *places.grow_to(states[0].thread) = Some(place);
        }
        let wakes = wakes(trace, &places);
        let waited = waited_for(trace, &places, threads.len());
        let endless: Vec<bool> = threads
            .iter()
            .zip(&waited)
            .zip(&wakes)
            .map(|(((_, states), waited), wakes)| is_endless(states, *waited, wakes))
            .collect();
        let programs = threads.iter().enumerate().map(|(place, (_, states))| {
            let thread = &trace.names.threads[states[0].thread];
            let by = |state: &ThreadState| {
                let waker = waker_thread(&state.waker?, &trace.names)?;
                places.get(waker).copied().flatten().filter(|waker| !endless[*waker])
            };
            let steps = if endless[place] {
                let begin = begin(states, trace.meta.first, &by);
                begin.into_iter().chain([Step::ComputeForever]).collect()
            } else {
                steps(states, &wakes[place], trace.meta.first, by)
            };
            let mut ran_on: Vec<CpuId> = states
                .iter()
                .filter(|state| state.state == RunState::Running)
                .filter_map(|state| state.cpu)
                .collect();
            ran_on.sort_unstable();
            ran_on.dedup();
            Program {
                name: thread.label(),
                tid: thread.tid,
                thread: Some(states[0].thread),
                steps,
                cpus: ran_on
                    .iter()
                    .filter_map(|cpu| cpus.iter().position(|known| known == cpu))
                    .collect(),
                recorded: recorded(states, trace.meta.first),
            }
        });
        let programs = programs.collect();
        Self { programs, cpus: cpus.len().max(1), timebase: trace.meta.timebase }
    }
}

fn first_run(states: &[ThreadState]) -> Option<Tick> {
    states.iter().find(|state| state.state == RunState::Running).map(|state| state.start)
}

/// Whom each thread woke, and when.
fn wakes(trace: &Trace, places: &IdVec<ThreadId, Option<usize>>) -> Vec<Vec<(Tick, usize)>> {
    let n = places.iter().flatten().count();
    let mut wakes: Vec<Vec<(Tick, usize)>> = vec![Vec::new(); n];
    let place = |thread: ThreadId| places.get(thread).copied().flatten();
    for wake in trace.wakes.iter().filter(|wake| wake.effect != WakeEffect::Redundant) {
        let by = waker_thread(&wake.waker, &trace.names).and_then(place);
        if let (Some(by), Some(woken)) = (by, place(wake.woken)) {
            wakes[by].push((wake.time, woken));
        }
    }
    for wakes in &mut wakes {
        wakes.sort_unstable();
    }
    wakes
}

/// The longest time for which another thread waited until each one woke it.
fn waited_for(trace: &Trace, places: &IdVec<ThreadId, Option<usize>>, n: usize) -> Vec<Ticks> {
    let mut waited = vec![Ticks(0); n];
    for pair in trace.states.windows(2) {
        // What is not known of a thread that is woken then was a wait.
        let is_wait = pair[0].thread == pair[1].thread
            && (pair[0].state.is_blocked() || pair[0].state == RunState::Unknown);
        let by = pair[1].waker.filter(|_| is_wait).and_then(|w| waker_thread(&w, &trace.names));
        if let Some(place) = by.and_then(|by| places.get(by).copied().flatten()) {
            waited[place] = waited[place].max(pair[0].length());
        }
    }
    waited
}

/// Whether a thread is taken to want the CPU without end: it was never blocked, woke no thread before
/// its last run, and no thread waited for it through most of its life.
fn is_endless(states: &[ThreadState], waited: Ticks, wakes: &[(Tick, usize)]) -> bool {
    let known = |state: &&ThreadState| !matches!(state.state, RunState::Unknown | RunState::Dead);
    let was_blocked = states.iter().any(|state| state.state.is_blocked());
    let lived = states.iter().filter(known).fold(Ticks(0), |sum, state| sum + state.length());
    let preempted = states.iter().any(|state| state.state == RunState::RunnablePreempted);
    let last_run = states.iter().rfind(|state| state.state == RunState::Running);
    let last_run = last_run.map_or(Tick(0), |state| state.start);
    let served = wakes.iter().any(|(time, _)| *time < last_run);
    !was_blocked && preempted && !served && waited.0 < lived.0 / 2
}

/// What a thread waits for before it first runs.
fn begin(
    states: &[ThreadState],
    first: Tick,
    by: &impl Fn(&ThreadState) -> Option<usize>,
) -> Option<Step> {
    (states[0].start > first).then(|| match by(&states[0]) {
        Some(_) => Step::BlockUntilWoken,
        None => Step::BlockFor(states[0].start - first),
    })
}

fn steps(
    states: &[ThreadState],
    wakes: &[(Tick, usize)],
    first: Tick,
    by: impl Fn(&ThreadState) -> Option<usize>,
) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let compute = |steps: &mut Vec<Step>, length: Ticks| match steps.last_mut() {
        _ if length == Ticks(0) => {}
        Some(Step::Compute(sum)) => *sum += length,
        _ => steps.push(Step::Compute(length)),
    };
    let mut wakes = wakes.iter().copied().peekable();
    steps.extend(begin(states, first, &by));
    for (n, state) in states.iter().enumerate() {
        match state.state {
            RunState::Running => {
                let mut now = state.start;
                while let Some((time, woken)) = wakes.next_if(|(time, _)| *time <= state.end) {
                    let time = time.max(now);
                    compute(&mut steps, time - now);
                    steps.push(Step::Wake(woken));
                    now = time;
                }
                compute(&mut steps, state.end - now);
            }
            state_now if state_now.is_runnable() => {}
            // Blocked, or unknown; or dead, and its number was used again.
            _ => match states.get(n + 1) {
                Some(next) if by(next).is_some() => steps.push(Step::BlockUntilWoken),
                Some(_) => steps.push(Step::BlockFor(state.length())),
                None => {}
            },
        }
    }
    steps.extend(wakes.map(|(_, woken)| Step::Wake(woken)));
    steps
}

fn recorded(states: &[ThreadState], first: Tick) -> Recorded {
    let wants = |state: &ThreadState| state.state == RunState::Running || state.state.is_runnable();
    let last = states.iter().rposition(wants).map_or(0, |last| last + 1);
    let mut sums =
        Recorded { first_run: first_run(states).map(|at| at - first), ..Recorded::default() };
    let mut burst = Ticks(0);
    for (n, state) in states[..last].iter().enumerate() {
        let length = state.length();
        sums.finish = state.end - first;
        if wants(state) {
            burst += length;
            let ends = states.get(n + 1).is_none_or(|next| !wants(next));
            if state.state == RunState::Running {
                sums.run += length;
                sums.switches += u64::from(state.start_seen);
            } else {
                sums.runnable += length;
            }
            if ends {
                sums.bursts += 1;
                sums.response += burst;
                sums.response_max = sums.response_max.max(burst);
                burst = Ticks(0);
            }
        } else if state.state.is_blocked() {
            sums.blocked += length;
        }
    }
    sums
}
