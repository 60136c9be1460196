//! A schedule as a document: `profctl.sched/1`, described in `docs/schemas/sched-1.md`.

use profctl_model::{RunState, ThreadId, Tick, Ticks, Trace};
use serde_json::{Value, json};

use super::{Rows, Schedule, ThreadRow};
use crate::summarize::quality_json;

impl Schedule {
    /// The document. Integers are nanoseconds, or counts where the clock counts something else.
    pub fn to_json(&self, trace: &Trace, rows: Rows<'_>) -> String {
        let timebase = &trace.meta.timebase;
        let length = |ticks: Ticks| timebase.reported(ticks);
        let time = |tick: Tick| timebase.reported(Ticks(tick.0));
        let threads =
            self.threads.iter().filter(|row| (rows.thread)(&trace.names.threads[row.thread]));
        let cpus = self.cpus.iter().filter(|row| (rows.cpu)(row.number)).map(|row| {
            json!({
                "cpu": row.number,
                "busy": length(row.busy),
                "idle": length(row.idle),
                "unknown": length(row.unknown),
                "irq": length(row.irq),
                "softirq": length(row.softirq),
                "switches": row.switches,
            })
        });
        let document = json!({
            "schema": "profctl.sched/1",
            "timebase": {"unit": timebase.unit_name()},
            "window": {"start": time(self.start), "end": time(self.end)},
            "threads": threads.map(|row| thread(trace, row)).collect::<Vec<_>>(),
            "cpus": cpus.collect::<Vec<_>>(),
            "quality": quality_json(&trace.meta.diags),
        });
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn thread(trace: &Trace, row: &ThreadRow) -> Value {
    let timebase = &trace.meta.timebase;
    let length = |ticks: Ticks| timebase.reported(ticks);
    let time = |tick: Tick| timebase.reported(Ticks(tick.0));
    let of = |state| length(row.sums.of(state));
    let named = &trace.names.threads[row.thread];
    let tid = |thread: ThreadId| trace.names.threads[thread].tid;
    let latency = &row.latency;
    json!({
        "tid": named.tid,
        "pid": named.pid,
        "name": named.name,
        "names": named.former_names.iter().chain([&named.name]).collect::<Vec<_>>(),
        "parent": row.parent.and_then(tid),
        "start": time(row.start),
        "end": time(row.end),
        "complete": row.complete,
        "run": of(RunState::Running),
        "runnable": length(row.sums.runnable()),
        "runnable_woken": of(RunState::RunnableWoken),
        "runnable_preempted": of(RunState::RunnablePreempted),
        "runnable_new": of(RunState::RunnableNew),
        "sleeping": of(RunState::Sleeping),
        "uninterruptible": of(RunState::Uninterruptible),
        "stopped": of(RunState::Stopped),
        "unknown": of(RunState::Unknown),
        "irq": length(row.irq),
        "switches_voluntary": row.voluntary,
        "switches_involuntary": row.involuntary,
        "wakeups": row.wakeups,
        "redundant_wakings": row.redundant,
        "migrations": row.migrations,
        "latency": {
            "count": latency.count(),
            "sum": length(latency.sum()),
            "min": latency.min().map(length),
            "avg": latency.avg().map(length),
            "p50": latency.percentile(50).map(length),
            "p99": latency.percentile(99).map(length),
            "max": latency.max().map(length),
        },
    })
}
