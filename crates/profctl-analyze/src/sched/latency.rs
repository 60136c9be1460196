//! How wakeup latencies are distributed.

use profctl_model::{Cell, Column, Role, RunState, Table, Ticks, Trace};

use super::{Rows, by_thread, notes};

/// Wakeup latencies in classes that double: a row for each from the lowest to the highest one used.
pub fn histogram(trace: &Trace, rows: Rows<'_>) -> Table {
    let mut classes = [0_u64; 65];
    for states in by_thread(&trace.states) {
        let thread = &trace.names.threads[states[0].thread];
        if thread.idle || !(rows.thread)(thread) {
            continue;
        }
        for pair in states.windows(2) {
            let is_latency = pair[0].state == RunState::RunnableWoken
                && pair[1].state == RunState::Running
                && pair[0].start_seen
                && pair[0].end_seen;
            if is_latency {
                let length = pair[0].length().0;
                classes[(u64::BITS - length.leading_zeros()) as usize] += 1;
            }
        }
    }
    let mut table = Table::new(
        "profctl.sched-latency/1",
        trace.meta.timebase,
        vec![
            Column::new("from", "from", Role::Time),
            Column::new("below", "below", Role::Time),
            Column::new("count", "# wakeups", Role::Count),
            Column::new("share", "% of all", Role::Percent),
            Column::new("bar", "", Role::Name),
        ],
    );
    let all: u64 = classes.iter().sum();
    let most = classes.iter().copied().max().unwrap_or(0);
    let used = |class: &usize| classes[*class] > 0;
    let bounds = (0..classes.len()).find(used).zip((0..classes.len()).rfind(used));
    if let Some((lowest, highest)) = bounds {
        let shown = classes.iter().enumerate().take(highest + 1).skip(lowest);
        for (class, &count) in shown {
            // Class 0 holds nothing but 0; class n from 2^(n-1) to below 2^n.
            let from = class.checked_sub(1).map_or(0, |power| 1_u64 << power);
            let below = 1_u64.checked_shl(class as u32).unwrap_or(u64::MAX);
            let length = (count * 40).div_ceil(most.max(1)) as usize;
            table.push(vec![
                Cell::Time(Ticks(from)),
                Cell::Time(Ticks(below)),
                Cell::Count(count),
                Cell::Percent(count as f64 / all as f64 * 100.0),
                Cell::Text("#".repeat(length)),
            ]);
        }
    }
    table.notes = notes(trace);
    table
}
