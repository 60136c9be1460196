//! One row per thread.

use std::cmp::Reverse;

use profctl_model::{
    Cell, Column, CpuId, IdVec, Role, RunState, Table, ThreadId, ThreadState, Tick, Ticks, Trace,
};

use super::{Interrupt, Rows, Schedule, Sums, by_thread, notes, percent};

/// Times from wakings to switches, the shortest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latency(Vec<u64>);

impl Latency {
    pub(super) fn new(mut lengths: Vec<u64>) -> Self {
        lengths.sort_unstable();
        Self(lengths)
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// All in one.
    pub fn sum(&self) -> Ticks {
        Ticks(self.0.iter().fold(0, |sum: u64, length| sum.saturating_add(*length)))
    }

    /// The shortest.
    pub fn min(&self) -> Option<Ticks> {
        self.0.first().copied().map(Ticks)
    }

    /// The longest.
    pub fn max(&self) -> Option<Ticks> {
        self.0.last().copied().map(Ticks)
    }

    /// The mean, rounded down.
    pub fn avg(&self) -> Option<Ticks> {
        self.sum().0.checked_div(self.count()).map(Ticks)
    }

    /// The smallest length that at least `percent` of all do not exceed (nearest rank).
    pub fn percentile(&self, percent: u64) -> Option<Ticks> {
        let rank = (self.count() * percent).div_ceil(100).max(1);
        self.0.get(rank as usize - 1).copied().map(Ticks)
    }
}

/// What one thread did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadRow {
    /// Who.
    pub thread: ThreadId,
    /// Who created it, if that was seen.
    pub parent: Option<ThreadId>,
    /// The beginning of its first state and the end of its last but for [`RunState::Dead`].
    pub start: Tick,
    /// See `start`.
    pub end: Tick,
    /// Whether its creation and its last switch were seen.
    pub complete: bool,
    /// Time in each state.
    pub sums: Sums,
    /// The part of running in which interrupts were served.
    pub irq: Ticks,
    /// Switches out to wait, the last one included.
    pub voluntary: u64,
    /// Switches out while it could have run on.
    pub involuntary: u64,
    /// Times that it was woken from a wait.
    pub wakeups: u64,
    /// Wakings that changed nothing.
    pub redundant: u64,
    /// Runs that began on another CPU than the one before.
    pub migrations: u64,
    /// From wakings to runs.
    pub latency: Latency,
    /// The longest interval runnable: when it began and how long it was.
    pub longest_wait: Option<(Tick, Ticks)>,
}

pub(super) fn rows(trace: &Trace, interrupts: &[Interrupt]) -> Vec<ThreadRow> {
    let mut irq: IdVec<ThreadId, Ticks> = IdVec::default();
    for interrupt in interrupts.iter().filter(|interrupt| !interrupt.is_inner) {
        *irq.grow_to(interrupt.thread) += interrupt.elapsed;
    }
    let mut rows: Vec<ThreadRow> = by_thread(&trace.states)
        .filter(|states| !trace.names.threads[states[0].thread].idle)
        .map(|states| {
            let irq = irq.get(states[0].thread).copied().unwrap_or_default();
            row(trace, states, irq)
        })
        .collect();
    rows.sort_by_key(|row| (Reverse(row.sums.of(RunState::Running)), row.thread));
    rows
}

fn row(trace: &Trace, states: &[ThreadState], irq: Ticks) -> ThreadRow {
    let thread = states[0].thread;
    let life = trace.life_of(thread);
    let alive = || states.iter().filter(|state| state.state != RunState::Dead);
    let end = alive().map(|state| state.end).max().unwrap_or(states[0].start);
    let has_died = states.iter().any(|state| state.state == RunState::Dead && state.start_seen);
    let mut row = ThreadRow {
        thread,
        parent: life.and_then(|life| life.parent),
        start: states[0].start,
        end,
        complete: life.is_some_and(|life| life.created.is_some()) && has_died,
        sums: Sums::default(),
        irq,
        voluntary: 0,
        involuntary: 0,
        wakeups: 0,
        redundant: life.map_or(0, |life| life.redundant_wakings),
        migrations: 0,
        latency: Latency::default(),
        longest_wait: None,
    };
    let mut latencies = Vec::new();
    let mut ran_on: Option<CpuId> = None;
    for (index, state) in states.iter().enumerate() {
        let next = states.get(index + 1);
        if state.state != RunState::Dead {
            row.sums.add(state.state, state.length());
        }
        match state.state {
            RunState::Running => {
                let moved = ran_on.zip(state.cpu).is_some_and(|(before, now)| before != now);
                row.migrations += u64::from(moved);
                ran_on = state.cpu.or(ran_on);
                match next.filter(|_| state.end_seen).map(|next| next.state) {
                    Some(RunState::RunnablePreempted) => row.involuntary += 1,
                    Some(_) => row.voluntary += 1,
                    None => {}
                }
            }
            RunState::RunnableWoken => {
                row.wakeups += u64::from(state.start_seen);
                let runs = next.is_some_and(|next| next.state == RunState::Running);
                if runs && state.start_seen && state.end_seen {
                    latencies.push(state.length().0);
                }
            }
            _ => {}
        }
        if state.state.is_runnable() {
            let wait = (state.start, state.length());
            let is_longer = row.longest_wait.is_none_or(|(_, longest)| wait.1 > longest);
            if is_longer {
                row.longest_wait = Some(wait);
            }
        }
    }
    row.latency = Latency::new(latencies);
    row
}

impl Schedule {
    /// The threads as a table.
    pub fn threads(&self, trace: &Trace, rows: Rows<'_>) -> Table {
        let time = |name: &str, heading: &str| Column::new(name, heading, Role::Time);
        let count = |name: &str, heading: &str| Column::new(name, heading, Role::Count);
        let mut table = Table::new(
            "profctl.sched-threads/1",
            trace.meta.timebase,
            vec![
                Column::new("thread", "thread", Role::Name),
                time("run", "run"),
                time("runnable", "runnable"),
                time("sleeping", "sleeping"),
                time("uninterruptible", "disk sleep"),
                time("stopped", "stopped"),
                time("unknown", "unknown"),
                time("irq", "irq"),
                Column::new("cpu_pct", "% CPU", Role::Percent),
                count("switches_voluntary", "# vol"),
                count("switches_involuntary", "# invol"),
                count("wakeups", "# wakeups"),
                count("redundant_wakings", "# redundant"),
                count("migrations", "# migr"),
                time("latency_avg", "lat avg"),
                time("latency_p50", "lat p50"),
                time("latency_p99", "lat p99"),
                time("latency_max", "lat max"),
                time("latency_min", "lat min"),
                time("preempted", "preempted"),
                time("longest_wait", "longest wait"),
                time("longest_wait_at", "at"),
            ],
        );
        table.left_out_first = &[
            "longest_wait_at",
            "redundant_wakings",
            "stopped",
            "latency_min",
            "latency_p50",
            "latency_p99",
            "longest_wait",
            "preempted",
            "irq",
            "migrations",
            "unknown",
            "cpu_pct",
            "wakeups",
            "latency_avg",
        ];
        let cell = |time: Option<Ticks>| time.map_or(Cell::Null, Cell::Time);
        let wanted = |row: &&ThreadRow| (rows.thread)(&trace.names.threads[row.thread]);
        for row in self.threads.iter().filter(wanted) {
            let of = |state| Cell::Time(row.sums.of(state));
            table.push(vec![
                Cell::Text(trace.names.threads[row.thread].label()),
                of(RunState::Running),
                Cell::Time(row.sums.runnable()),
                of(RunState::Sleeping),
                of(RunState::Uninterruptible),
                of(RunState::Stopped),
                of(RunState::Unknown),
                Cell::Time(row.irq),
                percent(row.sums.of(RunState::Running), self.end - self.start),
                Cell::Count(row.voluntary),
                Cell::Count(row.involuntary),
                Cell::Count(row.wakeups),
                Cell::Count(row.redundant),
                Cell::Count(row.migrations),
                cell(row.latency.avg()),
                cell(row.latency.percentile(50)),
                cell(row.latency.percentile(99)),
                cell(row.latency.max()),
                cell(row.latency.min()),
                of(RunState::RunnablePreempted),
                cell(row.longest_wait.map(|(_, length)| length)),
                cell(row.longest_wait.map(|(at, _)| at - self.start)),
            ]);
        }
        table.notes = notes(trace);
        table
    }
}
