//! States of threads and wakings as tables.

use profctl_model::spool::Others;
use profctl_model::tables::{STATES, WAKES};
use profctl_model::{Cell, Names, Table, ThreadId, Waker};

use super::{RunName, cpu, filled, flag, thread_labels};
use crate::sched::{source, waker_thread};

/// Every state, thread by thread, in time order.
pub fn states(others: &Others, names: &Names, run: RunName<'_>) -> Table {
    let labels = thread_labels(names);
    let thread = |id: ThreadId| Cell::Text(labels[id].clone());
    let mut order: Vec<_> = others.states.iter().collect();
    order.sort_by_key(|state| (state.thread, state.start, state.end));
    let rows = order.into_iter().map(|state| {
        let [waker, context, source] = waker_cells(state.waker.as_ref(), names, &thread);
        let function = state.wait_reason.map(|func| names.funcs[func].name.as_str().into());
        vec![
            run.cell(),
            thread(state.thread),
            state.state.name().into(),
            run.time(state.start.0),
            run.time(state.end.0),
            state.cpu.map_or(Cell::Null, |id| cpu(id, names)),
            function.unwrap_or(Cell::Null),
            waker,
            context,
            source,
            flag(state.start_seen),
            flag(state.end_seen),
        ]
    });
    filled(&STATES, rows)
}

/// Every waking, in time order.
pub fn wakes(others: &Others, names: &Names, run: RunName<'_>) -> Table {
    let labels = thread_labels(names);
    let thread = |id: ThreadId| Cell::Text(labels[id].clone());
    let mut order: Vec<_> = others.wakes.iter().collect();
    order.sort_by_key(|wake| (wake.time, wake.woken));
    let rows = order.into_iter().map(|wake| {
        let [waker, context, source] = waker_cells(Some(&wake.waker), names, &thread);
        vec![
            run.cell(),
            run.time(wake.time.0),
            thread(wake.woken),
            waker,
            context,
            source,
            wake.waker.cpu.map_or(Cell::Null, |id| cpu(id, names)),
            wake.effect.name().into(),
        ]
    });
    filled(&WAKES, rows)
}

/// The thread that woke, in what context, and what it was if it was no thread.
fn waker_cells(
    waker: Option<&Waker>,
    names: &Names,
    thread: &dyn Fn(ThreadId) -> Cell,
) -> [Cell; 3] {
    let Some(waker) = waker else { return [Cell::Null, Cell::Null, Cell::Null] };
    [
        waker_thread(waker, names).map_or(Cell::Null, thread),
        waker.context.name().into(),
        source(waker, names).map_or(Cell::Null, Cell::Text),
    ]
}
