//! The lanes of a chart: one a thread, and one a CPU where the input says who ran there.
//!
//! A lane borrows nothing and repeats no call: it names rows of [`Trace::spans`], which are grouped
//! by thread. Calls of interrupts are rows of the thread that they interrupted, as everywhere.

use std::cmp::Reverse;
use std::ops::Range;

use profctl_model::{CpuId, Gap, IdVec, Mark, RunState, ThreadId, Tick, Ticks, Trace, Turn, sched};

/// Everything that a chart shows, in the order in which it shows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lanes {
    /// Threads that made calls, the busiest first, idle ones last; then those that only ran.
    pub threads: Vec<ThreadLane>,
    /// CPUs by number; empty unless the input says who ran where.
    pub cpus: Vec<CpuLane>,
}

/// What one thread did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadLane {
    /// Whose lane it is.
    pub thread: ThreadId,
    /// What it is called: `name-id`.
    pub label: String,
    /// The numbers of the CPUs that its calls ended on and that it ran on, ascending.
    pub cpus: Vec<u32>,
    /// Whether it is an idle task.
    pub idle: bool,
    /// Its calls, by their rows in [`Trace::spans`]: in the order of entry, callers first.
    pub spans: Range<usize>,
    /// Levels of calls: the deepest call's number of callers, and one.
    pub levels: u32,
    /// Elapsed time of its outermost calls.
    pub elapsed: Ticks,
    /// When it ran, in order; empty where the input does not say.
    pub ran: Vec<Turn>,
    /// When it was known to be switched out.
    pub away: Vec<Stretch>,
    /// Losses that concern it, in order: of a CPU of its own, or of an unknown one.
    pub gaps: Vec<Gap>,
    /// Its instants, in order.
    pub marks: Vec<Mark>,
    /// Whether the input says what it was doing.
    pub has_states: bool,
}

impl ThreadLane {
    /// The CPUs in words: `CPU 0`, `CPUs 0, 2`, nothing if none is known.
    pub fn cpus_label(&self) -> Option<String> {
        let numbers: Vec<_> = self.cpus.iter().map(u32::to_string).collect();
        match numbers.as_slice() {
            [] => None,
            [only] => Some(format!("CPU {only}")),
            several => Some(format!("CPUs {}", several.join(", "))),
        }
    }
}

/// Who ran on one CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuLane {
    /// Which.
    pub cpu: CpuId,
    /// Its number.
    pub number: u32,
    /// Who ran there, in order.
    pub ran: Vec<Turn>,
}

/// An interval of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stretch {
    /// From.
    pub start: Tick,
    /// To; after `start`.
    pub end: Tick,
}

impl Lanes {
    /// The lanes of a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut threads: Vec<ThreadLane> = rows_by_thread(trace)
            .into_iter()
            .map(|(thread, rows)| thread_lane(trace, thread, rows))
            .collect();
        threads.extend(only_ran(trace));
        let mut place_of: IdVec<ThreadId, Option<usize>> = IdVec::default();
        for (place, lane) in threads.iter().enumerate() {
            *place_of.grow_to(lane.thread) = Some(place);
        }
        // Threads that neither made a call nor ran have no lane.
        let place_of = |thread| place_of.get(thread).copied().flatten();
        let turns = sched::turns(&trace.states);
        for turn in &turns {
            if let Some(place) = place_of(turn.thread) {
                threads[place].ran.push(*turn);
            }
        }
        for mark in &trace.marks {
            if let Some(place) = place_of(mark.thread) {
                threads[place].marks.push(mark.clone());
            }
        }
        for lane in &mut threads {
            finish(lane, trace);
        }
        threads.sort_by_key(|lane| {
            let ran = lane.ran.iter().fold(Ticks(0), |sum, turn| sum + (turn.end - turn.start));
            let has_calls = !lane.spans.is_empty();
            let busy = if has_calls { lane.elapsed } else { ran };
            (!has_calls, lane.idle, Reverse(busy), lane.thread)
        });
        Self { threads, cpus: cpu_lanes(trace, &turns) }
    }

    /// Calls in all lanes.
    pub fn calls(&self) -> usize {
        self.threads.iter().map(|lane| lane.spans.len()).sum()
    }
}

/// The rows of each thread that has any: they lie together.
fn rows_by_thread(trace: &Trace) -> Vec<(ThreadId, Range<usize>)> {
    let threads = &trace.spans.thread;
    let mut start = 0;
    let groups = threads.chunk_by(|a, b| a == b);
    groups
        .map(|group| {
            let rows = start..start + group.len();
            start = rows.end;
            (group[0], rows)
        })
        .collect()
}

/// Lanes of threads that made no call, but for idle tasks.
fn only_ran(trace: &Trace) -> Vec<ThreadLane> {
    let mut has_calls: IdVec<ThreadId, bool> = IdVec::default();
    for group in trace.spans.thread.chunk_by(|a, b| a == b) {
        *has_calls.grow_to(group[0]) = true;
    }
    let mut lanes = Vec::new();
    for states in trace.states.chunk_by(|a, b| a.thread == b.thread) {
        let thread = states[0].thread;
        let ran = states.iter().any(|state| state.state == RunState::Running);
        let is_new = !has_calls.get(thread).copied().unwrap_or(false);
        if ran && is_new && !trace.names.threads[thread].idle {
            lanes.push(thread_lane(trace, thread, 0..0));
        }
    }
    lanes
}

fn thread_lane(trace: &Trace, thread: ThreadId, spans: Range<usize>) -> ThreadLane {
    let table = &trace.spans;
    let mut cpus = Vec::new();
    let (mut levels, mut elapsed) = (0, Ticks(0));
    for row in spans.clone() {
        levels = levels.max(table.depth[row] + 1);
        if table.depth[row] == 0 {
            elapsed += table.wall[row] - table.off_cpu[row];
        }
        let cpu = table.cpu[row].map(|cpu| trace.names.cpus[cpu]);
        cpus.extend(cpu.filter(|cpu| !cpus.contains(cpu)));
    }
    let named = &trace.names.threads[thread];
    ThreadLane {
        thread,
        label: named.label(),
        cpus,
        idle: named.idle,
        spans,
        levels,
        elapsed,
        ran: Vec::new(),
        away: Vec::new(),
        gaps: Vec::new(),
        marks: Vec::new(),
        has_states: !named.idle && !trace.states_of(thread).is_empty(),
    }
}

/// What follows from the turns and the CPUs of a lane.
fn finish(lane: &mut ThreadLane, trace: &Trace) {
    let ran_on = lane.ran.iter().filter_map(|turn| turn.cpu);
    lane.cpus.extend(ran_on.map(|cpu| trace.names.cpus[cpu]));
    lane.cpus.sort_unstable();
    lane.cpus.dedup();
    for state in trace.states_of(lane.thread) {
        if !(state.state.is_runnable() || state.state.is_blocked()) || state.start == state.end {
            continue;
        }
        match lane.away.last_mut() {
            Some(last) if last.end == state.start => last.end = state.end,
            _ => lane.away.push(Stretch { start: state.start, end: state.end }),
        }
    }
    let concerns =
        |gap: &&Gap| gap.cpu.is_none_or(|cpu| lane.cpus.contains(&trace.names.cpus[cpu]));
    lane.gaps = trace.gaps.iter().filter(concerns).copied().collect();
    lane.gaps.sort_by_key(|gap| gap.time);
    lane.marks.sort_by_key(|mark| mark.time);
}

fn cpu_lanes(trace: &Trace, turns: &[Turn]) -> Vec<CpuLane> {
    let mut lanes: Vec<CpuLane> = trace
        .names
        .cpus
        .pairs()
        .map(|(cpu, &number)| CpuLane { cpu, number, ran: Vec::new() })
        .collect();
    for turn in turns {
        if let Some(cpu) = turn.cpu {
            lanes[cpu.index()].ran.push(*turn);
        }
    }
    lanes.retain(|lane| !lane.ran.is_empty());
    lanes.sort_by_key(|lane| lane.number);
    lanes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chart::testing::{random_trace, trace};

    #[test]
    fn the_busiest_thread_comes_first_and_idleness_last() {
        let trace =
            trace("@idle 0 idle( 100 ) @a 0 #1 f( 5 g( 9 ) 10 ) @b 0 f( 20 ) 20 #0 g( 21 ~)");
        let lanes = Lanes::of(&trace);
        let shown: Vec<_> = lanes
            .threads
            .iter()
            .map(|lane| (lane.label.as_str(), lane.spans.len(), lane.levels, lane.elapsed.0))
            .collect();
        assert_eq!(shown, [("b", 2, 1, 21), ("a", 2, 2, 10), ("idle", 1, 1, 100)]);
        let cpus: Vec<_> = lanes.threads.iter().map(ThreadLane::cpus_label).collect();
        assert_eq!(cpus, [Some("CPUs 0, 1".into()), Some("CPU 1".into()), None]);
        assert_eq!(lanes.calls(), trace.spans.len());
    }

    #[test]
    fn absences_gaps_and_marks_stand_in_their_lanes() {
        let trace = trace(
            "@a #0 0 f( 40 ) @b #1 0 f( 40 ) run:a:0:0-10 off:a:10-30 run:b:0:10-20 run:a:1:30-40 gap:1:25 \
             gap:0:7 gap:?:3 mark:b:12",
        );
        let lanes = Lanes::of(&trace);
        let of = |label: &str| lanes.threads.iter().find(|lane| lane.label == label).unwrap();
        assert_eq!(of("a").away, [Stretch { start: Tick(10), end: Tick(30) }]);
        assert_eq!(of("b").away, []);
        let times = |lane: &ThreadLane| lane.gaps.iter().map(|gap| gap.time.0).collect::<Vec<_>>();
        assert_eq!(times(of("a")), [3, 7, 25], "it ran on both CPUs");
        assert_eq!(times(of("b")), [3, 7, 25]);
        assert_eq!((of("a").marks.len(), of("b").marks.len()), (0, 1));
        let on: Vec<_> = lanes.cpus.iter().map(|lane| (lane.number, lane.ran.len())).collect();
        assert_eq!(on, [(0, 2), (1, 1)]);
    }

    proptest! {
        #[test]
        fn every_call_is_in_the_lane_of_its_thread(trace in random_trace()) {
            let lanes = Lanes::of(&trace);
            let mut rows: Vec<usize> = Vec::new();
            for lane in &lanes.threads {
                prop_assert!(lane.spans.clone().all(|row| trace.spans.thread[row] == lane.thread));
                rows.extend(lane.spans.clone());
            }
            rows.sort_unstable();
            prop_assert!(rows.into_iter().eq(0..trace.spans.len()));
        }
    }
}
