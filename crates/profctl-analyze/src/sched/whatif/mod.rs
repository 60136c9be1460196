//! What another scheduler would have done with the same threads.
//!
//! Each thread becomes a [`Program`], taken from a recording or described by hand; [`run`] lets
//! them compete under a round robin scheduler. What comes of a recording is worth as much as the
//! model reproduces the recorded run itself, so that comparison comes first.
//!
//! Not in the model: caches, priorities, and whatever a thread would have done had it got the CPU
//! earlier. Computations and waits for timers and devices keep their recorded lengths.

mod json;
mod program;
mod simulate;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use profctl_model::hash::FastMap;
use profctl_model::{Cell, Column, CpuId, Role, RunState, Table, ThreadState, Tick, Ticks, Trace};

pub use json::document;
pub use program::{Program, Recorded, Step, Workload};
pub use simulate::{Outcome, Policy, WakeTo, run};

use super::Rows;

/// A policy as far as it is given; the rest is as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// How long a thread may run while others wait.
    pub quantum: Option<Ticks>,
    /// Where a thread enters the queue.
    pub wake: Option<WakeTo>,
    /// What a switch takes.
    pub cost: Option<Ticks>,
    /// CPUs. Threads are then not kept to those on which they were recorded.
    pub cpus: Option<usize>,
}

/// A policy and what came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The policy.
    pub policy: Policy,
    /// What came of it.
    pub outcome: Outcome,
}

/// A recording, the model of it and variants.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// The threads.
    pub workload: Workload,
    /// The model of the recorded run; nothing if there is none.
    pub model: Option<Scenario>,
    /// When the last thread of the recording was done that ends.
    pub recorded: Ticks,
    /// Quanta that were seen to expire, from whose lengths that of the model is estimated.
    pub expired: usize,
    /// The variants.
    pub variants: Vec<Scenario>,
}

/// Threads that a table shows if none are selected.
const SHOWN: usize = 6;

/// The variants of a recording.
pub fn of_recording(trace: &Trace, wanted: &[Wanted]) -> Result<WhatIf, String> {
    let workload = Workload::of(trace);
    let mut lengths = expired(trace);
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).map(|median| Ticks(*median));
    let mut best: Option<(u64, Scenario)> = None;
    for (wake, quantum) in WakeTo::ALL.into_iter().flat_map(|wake| [(wake, median), (wake, None)]) {
        let cpus = workload.cpus;
        let policy = Policy { quantum, wake, cost: Ticks(0), cpus, pinned: true };
        let outcome = run(&workload, &policy)?;
        let off = distance(&workload, &outcome);
        if best.as_ref().is_none_or(|(least, _)| off < *least) {
            best = Some((off, Scenario { policy, outcome }));
        }
    }
    let Some((_, model)) = best else { return Err("nothing ran".into()) };
    let ends = workload.programs.iter().filter(|program| !program.is_endless());
    let recorded = ends.map(|program| program.recorded.finish).max().unwrap_or_default();
    let variants = variants(&workload, Some(model.policy), wanted)?;
    let expired = lengths.len();
    Ok(WhatIf { workload, model: Some(model), recorded, expired, variants })
}

/// How long threads ran before they had to leave a CPU to one that had waited for it all that time:
/// their quanta. Who leaves to a thread that was just woken has not used up a quantum.
fn expired(trace: &Trace) -> Vec<u64> {
    // Who got a CPU at a time, and since when it had waited.
    let mut began: FastMap<(CpuId, Tick), Tick> = FastMap::default();
    let of_one = |pair: &&[ThreadState]| pair[0].thread == pair[1].thread;
    for pair in trace.states.windows(2).filter(of_one) {
        let runs = pair[1].state == RunState::Running && pair[0].state.is_runnable();
        if let Some(cpu) = pair[1].cpu.filter(|_| runs) {
            began.insert((cpu, pair[1].start), pair[0].start);
        }
    }
    let mut lengths = Vec::new();
    for pair in trace.states.windows(2).filter(of_one) {
        let (run, next) = (&pair[0], &pair[1]);
        let left = run.state == RunState::Running && next.state == RunState::RunnablePreempted;
        let Some(cpu) = run.cpu.filter(|_| left && run.start_seen) else { continue };
        if began.get(&(cpu, run.end)).is_some_and(|since| *since <= run.start) {
            lengths.push(run.length().0);
        }
    }
    lengths
}

/// The variants of threads that were described.
pub fn of_description(workload: Workload, wanted: &[Wanted]) -> Result<WhatIf, String> {
    let variants = variants(&workload, None, wanted)?;
    Ok(WhatIf { workload, model: None, recorded: Ticks(0), expired: 0, variants })
}

fn variants(
    workload: &Workload,
    recorded: Option<Policy>,
    wanted: &[Wanted],
) -> Result<Vec<Scenario>, String> {
    let scenario = |wanted: &Wanted| {
        let policy = Policy {
            quantum: wanted.quantum.or(recorded.and_then(|recorded| recorded.quantum)),
            wake: wanted.wake.or(recorded.map(|recorded| recorded.wake)).unwrap_or(WakeTo::Tail),
            cost: wanted.cost.unwrap_or_default(),
            cpus: wanted.cpus.unwrap_or(workload.cpus),
            pinned: wanted.cpus.is_none(),
        };
        Ok(Scenario { policy, outcome: run(workload, &policy)? })
    };
    wanted.iter().map(scenario).collect()
}

/// How far the ends of threads are from the recorded ones, together.
fn distance(workload: &Workload, outcome: &Outcome) -> u64 {
    let pairs = workload.programs.iter().zip(&outcome.threads);
    pairs
        .filter(|(program, _)| !program.is_endless())
        .map(|(program, thread)| program.recorded.finish.0.abs_diff(thread.finish.0))
        .fold(0, u64::saturating_add)
}

/// By how much the second is off the first, in percent of the first.
fn error_pct(recorded: Ticks, model: Ticks) -> Option<f64> {
    (recorded.0 > 0).then(|| (model.0 as f64 - recorded.0 as f64) / recorded.0 as f64 * 100.0)
}

impl Scenario {
    /// `quantum=18ms,wake=head,cost=0,cpus=1`, with lengths as `length` writes them.
    pub fn name(&self, length: &impl Fn(Ticks) -> String) -> String {
        let Policy { quantum, wake, cost, cpus, .. } = self.policy;
        let quantum = quantum.map_or("none".into(), length);
        let cost = match cost {
            Ticks(0) => String::new(),
            cost => format!(",cost={}", length(cost)),
        };
        format!("quantum={quantum},wake={}{cost},cpus={cpus}", wake.name())
    }
}

impl WhatIf {
    /// The threads that rows are about: those of `rows`; of all, those that ran most.
    fn shown(&self, trace: Option<&Trace>, rows: Option<Rows<'_>>) -> Vec<usize> {
        let programs = &self.workload.programs;
        let mut shown: Vec<usize> = (0..programs.len()).collect();
        match (trace, rows) {
            (Some(trace), Some(rows)) => shown.retain(|place| {
                let thread = programs[*place].thread;
                thread.is_some_and(|thread| (rows.thread)(&trace.names.threads[thread]))
            }),
            _ => {
                shown.sort_by_key(|place| Reverse(programs[*place].recorded.run));
                shown.truncate(SHOWN);
                shown.sort_unstable();
            }
        }
        shown
    }

    /// As a table: the recorded run, the model of it, and the variants, each with a row for all
    /// threads and one for each. `rows` selects threads of `trace`; `length` writes lengths.
    pub fn table(
        &self,
        trace: Option<&Trace>,
        rows: Option<Rows<'_>>,
        length: &impl Fn(Ticks) -> String,
    ) -> Table {
        let time = |name: &str, heading: &str| Column::new(name, heading, Role::Time);
        let mut table = Table::new(
            "profctl.sched-whatif/1",
            self.workload.timebase,
            vec![
                Column::new("scenario", "scenario", Role::Text),
                Column::new("thread", "thread", Role::Name),
                time("finish", "finish"),
                Column::new("off", "% off", Role::Ratio),
                time("run", "run"),
                time("runnable", "runnable"),
                time("blocked", "blocked"),
                time("response_avg", "response avg"),
                time("response_max", "max"),
                Column::new("switches", "# switches", Role::Count),
                Column::new("lost_pct", "% lost", Role::Percent),
                Column::new("fairness", "fairness", Role::Ratio),
            ],
        );
        table.left_out_first = &["blocked", "fairness", "run", "response_max", "lost_pct"];
        let shown = self.shown(trace, rows);
        if self.model.is_some() {
            let all = Recorded {
                finish: self.recorded,
                switches: self.workload.programs.iter().map(|p| p.recorded.switches).sum(),
                ..Recorded::default()
            };
            push_all(&mut table, "recorded", &all, Cell::Null, [Cell::Null, Cell::Null]);
            for &place in &shown {
                let program = &self.workload.programs[place];
                push(&mut table, "recorded", &program.name, &program.recorded, Cell::Null);
            }
        }
        let model = self.model.iter().map(|model| ("model of it".to_owned(), model));
        let variants = self.variants.iter().map(|variant| (variant.name(length), variant));
        for (name, scenario) in model.chain(variants) {
            let off = |recorded: Ticks, now: Ticks| match self.model {
                Some(_) => error_pct(recorded, now).map_or(Cell::Null, Cell::Number),
                None => Cell::Null,
            };
            let outcome = &scenario.outcome;
            let makespan = outcome.makespan;
            let wanted = makespan.0 as f64 * scenario.policy.cpus as f64;
            let lost = Cell::Percent(outcome.lost.0 as f64 / wanted.max(1.0) * 100.0);
            let fairness = outcome.fairness().map_or(Cell::Null, Cell::Number);
            let all =
                Recorded { finish: makespan, switches: outcome.switches, ..Recorded::default() };
            let is_off = off(self.recorded, makespan);
            push_all(&mut table, &name, &all, is_off, [lost, fairness]);
            for &place in &shown {
                let (program, thread) = (&self.workload.programs[place], &outcome.threads[place]);
                let off = if program.is_endless() {
                    Cell::Null
                } else {
                    off(program.recorded.finish, thread.finish)
                };
                push(&mut table, &name, &program.name, thread, off);
            }
        }
        table.notes = self.notes(length);
        table
    }

    fn notes(&self, length: &impl Fn(Ticks) -> String) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(model) = &self.model {
            let error = error_pct(self.recorded, model.outcome.makespan).unwrap_or(0.0);
            notes.push(format!(
                "model of the recorded run: {} instead of {}, {error:+.1}% off; fits best: {}",
                length(model.outcome.makespan),
                length(self.recorded),
                model.name(length),
            ));
            notes.push(match self.expired {
                0 => "no quantum expired".into(),
                n => format!("{n} quanta expired"),
            });
        }
        let endless: Vec<&str> = self
            .workload
            .programs
            .iter()
            .filter(|program| program.is_endless())
            .map(|program| program.name.as_str())
            .collect();
        if !endless.is_empty() && self.model.is_some() {
            notes.push(format!("never blocked, modeled as CPU-bound: {}", endless.join(", ")));
        }
        let released = self.model.iter().chain(&self.variants).map(|s| s.outcome.released).max();
        if released.is_some_and(|released| released > 0) {
            notes.push("some waits were ended because no thread of the model ended them".into());
        }
        notes.push("not modeled: caches, priorities".into());
        notes
    }
}

fn push_all(table: &mut Table, name: &str, all: &Recorded, off: Cell, rest: [Cell; 2]) {
    let [lost, fairness] = rest;
    let mut row = vec![name.into(), "(all)".into(), Cell::Time(all.finish), off];
    row.extend(vec![Cell::Null; 5]);
    row.extend([Cell::Count(all.switches), lost, fairness]);
    table.push(row);
}

fn push(table: &mut Table, name: &str, thread: &str, sums: &Recorded, off: Cell) {
    let average = sums.response.0.checked_div(sums.bursts).map(Ticks);
    table.push(vec![
        name.into(),
        thread.into(),
        Cell::Time(sums.finish),
        off,
        Cell::Time(sums.run),
        Cell::Time(sums.runnable),
        Cell::Time(sums.blocked),
        average.map_or(Cell::Null, Cell::Time),
        Cell::Time(sums.response_max),
        Cell::Count(sums.switches),
        Cell::Null,
        Cell::Null,
    ]);
}
