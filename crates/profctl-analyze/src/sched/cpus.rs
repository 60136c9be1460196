//! One row per CPU, and the depth of run queues.

use profctl_model::{Cell, Column, CpuId, IdVec, Role, RunState, Table, Tick, Ticks, Trace};

use super::{Interrupt, Rows, Schedule, notes, percent};

/// What one CPU did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuRow {
    /// Which.
    pub cpu: CpuId,
    /// Its number.
    pub number: u32,
    /// Time in threads that are no idle tasks.
    pub busy: Ticks,
    /// Time in its idle task.
    pub idle: Ticks,
    /// The rest of the window.
    pub unknown: Ticks,
    /// Time in hardware interrupts.
    pub irq: Ticks,
    /// Time in software interrupts.
    pub softirq: Ticks,
    /// Switches seen.
    pub switches: u64,
    /// The area below the length of its run queue: threads × ticks.
    pub queued: Ticks,
    /// The largest length of its run queue.
    pub queue_max: u64,
}

pub(super) fn rows(trace: &Trace, interrupts: &[Interrupt]) -> Vec<CpuRow> {
    let window = trace.meta.real();
    let mut rows: IdVec<CpuId, CpuRow> = trace
        .names
        .cpus
        .pairs()
        .map(|(cpu, &number)| CpuRow {
            cpu,
            number,
            busy: Ticks(0),
            idle: Ticks(0),
            unknown: Ticks(0),
            irq: Ticks(0),
            softirq: Ticks(0),
            switches: 0,
            queued: Ticks(0),
            queue_max: 0,
        })
        .collect();
    for state in &trace.states {
        let Some(cpu) = state.cpu else { continue };
        let row = &mut rows[cpu];
        if state.state == RunState::Running {
            let is_idle = trace.names.threads[state.thread].idle;
            let sum = if is_idle { &mut row.idle } else { &mut row.busy };
            *sum += state.length();
            row.switches += u64::from(state.start_seen);
        } else if state.state.is_runnable() {
            row.queued += state.length();
        }
    }
    for interrupt in interrupts {
        if let Some(cpu) = interrupt.cpu {
            let row = &mut rows[cpu];
            let sum = if interrupt.is_soft { &mut row.softirq } else { &mut row.irq };
            *sum += interrupt.elapsed;
        }
    }
    for row in &mut rows {
        row.unknown = window - row.busy - row.idle;
        let only = |cpu| cpu == Some(row.cpu);
        row.queue_max = queue(trace, only).iter().map(|step| step.1).max().unwrap_or(0);
    }
    let mut rows: Vec<CpuRow> = rows.into_items();
    rows.retain(|row| row.busy.0 + row.idle.0 + row.queued.0 + row.switches > 0);
    rows.sort_by_key(|row| row.number);
    rows
}

/// How many threads are runnable from each time on, on CPUs that `on` takes.
fn queue(trace: &Trace, on: impl Fn(Option<CpuId>) -> bool) -> Vec<(Tick, u64)> {
    let waits = trace.states.iter().filter(|state| {
        state.state.is_runnable()
            && state.start < state.end
            && on(state.cpu)
            && !trace.names.threads[state.thread].idle
    });
    let mut changes: Vec<(Tick, i64)> =
        waits.flat_map(|state| [(state.start, 1), (state.end, -1)]).collect();
    changes.sort_unstable();
    let mut depth = 0_i64;
    let mut steps: Vec<(Tick, u64)> = Vec::new();
    for (time, change) in changes {
        depth += change;
        let depth = u64::try_from(depth).unwrap_or(0);
        match steps.last_mut() {
            Some(last) if last.0 == time => last.1 = depth,
            _ => steps.push((time, depth)),
        }
    }
    steps
}

impl Schedule {
    /// The CPUs as a table.
    pub fn cpus(&self, trace: &Trace, rows: Rows<'_>) -> Table {
        let time = |name: &str, heading: &str| Column::new(name, heading, Role::Time);
        let mut table = Table::new(
            "profctl.sched-cpus/1",
            trace.meta.timebase,
            vec![
                Column::new("cpu", "CPU", Role::Name),
                time("busy", "busy"),
                Column::new("busy_pct", "% busy", Role::Percent),
                time("idle", "idle"),
                time("unknown", "unknown"),
                time("irq", "irq"),
                time("softirq", "softirq"),
                Column::new("switches", "# switches", Role::Count),
                Column::new("queue_avg", "queue avg", Role::Ratio),
                Column::new("queue_max", "queue max", Role::Count),
            ],
        );
        let window = self.end - self.start;
        for row in self.cpus.iter().filter(|row| (rows.cpu)(row.number)) {
            let average = match window.0 {
                0 => Cell::Null,
                window => Cell::Number(row.queued.0 as f64 / window as f64),
            };
            table.push(vec![
                Cell::Text(row.number.to_string()),
                Cell::Time(row.busy),
                percent(row.busy, window),
                Cell::Time(row.idle),
                Cell::Time(row.unknown),
                Cell::Time(row.irq),
                Cell::Time(row.softirq),
                Cell::Count(row.switches),
                average,
                Cell::Count(row.queue_max),
            ]);
        }
        table.notes = notes(trace);
        table
    }
}

/// The number of threads that wait for a CPU of `rows`, over `steps` equal parts of the window.
pub fn depth(trace: &Trace, steps: u64, rows: Rows<'_>) -> Table {
    let mut table = Table::new(
        "profctl.sched-queue/1",
        trace.meta.timebase,
        vec![
            Column::new("from", "from", Role::Time),
            Column::new("length", "length", Role::Time),
            Column::new("avg", "queue avg", Role::Ratio),
            Column::new("max", "queue max", Role::Count),
        ],
    );
    let (first, window) = (trace.meta.first, trace.meta.real().0);
    let queue = queue(trace, |cpu| cpu.is_none_or(|cpu| (rows.cpu)(trace.names.cpus[cpu])));
    let steps = steps.clamp(1, window.max(1));
    let bound = |step: u64| {
        Tick(first.0 + (u128::from(window) * u128::from(step) / u128::from(steps)) as u64)
    };
    for step in 0..steps {
        let (start, end) = (bound(step), bound(step + 1));
        let before = queue.partition_point(|change| change.0 <= start);
        let mut depth = before.checked_sub(1).map_or(0, |index| queue[index].1);
        let (mut now, mut area, mut max) = (start, 0_u128, depth);
        for &(time, next) in queue[before..].iter().take_while(|change| change.0 < end) {
            area += u128::from((time - now).0) * u128::from(depth);
            (now, depth) = (time, next);
            max = max.max(depth);
        }
        area += u128::from((end - now).0) * u128::from(depth);
        let length = end - start;
        let average = match length.0 {
            0 => Cell::Null,
            length => Cell::Number(area as f64 / length as f64),
        };
        table.push(vec![Cell::Time(start - first), Cell::Time(length), average, Cell::Count(max)]);
    }
    table.notes = notes(trace);
    table
}
