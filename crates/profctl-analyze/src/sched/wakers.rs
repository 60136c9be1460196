//! Who wakes whom, how often, and how long the woken wait for a CPU.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profctl_model::{Cell, Column, Role, RunState, Table, ThreadId, Trace, WakeEffect, Waker};

use super::threads::Latency;
use super::{Rows, by_thread, notes, source, waker_thread};

/// The label of a waker.
pub(crate) fn name(waker: &Waker, trace: &Trace) -> String {
    match (waker_thread(waker, &trace.names), source(waker, &trace.names)) {
        (Some(thread), _) => trace.names.threads[thread].label(),
        (None, Some(source)) => source,
        (None, None) => "unknown".into(),
    }
}

/// Pairs of wakers and woken threads, those that took most of the latency first.
pub fn wakers(trace: &Trace, rows: Rows<'_>) -> Table {
    let mut pairs: BTreeMap<(String, ThreadId), (u64, Vec<u64>)> = BTreeMap::new();
    for wake in trace.wakes.iter().filter(|wake| wake.effect == WakeEffect::Redundant) {
        pairs.entry((name(&wake.waker, trace), wake.woken)).or_default().0 += 1;
    }
    for states in by_thread(&trace.states) {
        for (index, state) in states.iter().enumerate() {
            let is_wait = matches!(state.state, RunState::RunnableWoken | RunState::RunnableNew);
            if !is_wait || !state.start_seen {
                continue;
            }
            let Some(waker) = &state.waker else { continue };
            let pair = pairs.entry((name(waker, trace), state.thread)).or_default();
            let runs = states.get(index + 1).is_some_and(|next| next.state == RunState::Running);
            if runs && state.end_seen {
                pair.1.push(state.length().0);
            } else {
                // It was woken, and never seen to run.
                pair.1.push(u64::MAX);
            }
        }
    }
    let mut rows: Vec<_> = pairs
        .into_iter()
        .filter(|((_, woken), _)| {
            let thread = &trace.names.threads[*woken];
            !thread.idle && (rows.thread)(thread)
        })
        .map(|((waker, woken), (redundant, lengths))| {
            let wakeups = lengths.len() as u64;
            let seen = lengths.into_iter().filter(|length| *length != u64::MAX).collect();
            (waker, woken, wakeups, redundant, Latency::new(seen))
        })
        .collect();
    rows.sort_by_key(|(_, _, wakeups, _, latency)| (Reverse(latency.sum()), Reverse(*wakeups)));
    let mut table = Table::new(
        "profctl.sched-wakers/1",
        trace.meta.timebase,
        vec![
            Column::new("waker", "waker", Role::Name),
            Column::new("woken", "woken", Role::Text),
            Column::new("wakeups", "# wakeups", Role::Count),
            Column::new("redundant", "# redundant", Role::Count),
            Column::new("latency", "latency", Role::Time),
            Column::new("latency_avg", "avg", Role::Time),
            Column::new("latency_max", "max", Role::Time),
        ],
    );
    table.left_out_first = &["redundant"];
    for (waker, woken, wakeups, redundant, latency) in rows {
        let cell = |time: Option<_>| time.map_or(Cell::Null, Cell::Time);
        table.push(vec![
            Cell::Text(waker),
            Cell::Text(trace.names.threads[woken].label()),
            Cell::Count(wakeups),
            Cell::Count(redundant),
            Cell::Time(latency.sum()),
            cell(latency.avg()),
            cell(latency.max()),
        ]);
    }
    table.notes = notes(trace);
    table
}
