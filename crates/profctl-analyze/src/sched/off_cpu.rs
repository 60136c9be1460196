//! Where threads were when they left the CPU.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profctl_model::{Cell, Column, IdVec, Role, SpanId, Table, ThreadId, Tick, Ticks, Trace};

use super::{Rows, Sums, by_thread, notes};

/// Finds the calls that are open on a thread at a time.
pub(crate) struct OpenCalls {
    rows: IdVec<ThreadId, std::ops::Range<usize>>,
}

impl OpenCalls {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut rows: IdVec<ThreadId, std::ops::Range<usize>> = IdVec::default();
        let mut start = 0;
        for group in trace.spans.thread.chunk_by(|a, b| a == b) {
            *rows.grow_to(group[0]) = start..start + group.len();
            start += group.len();
        }
        Self { rows }
    }

    /// The rows of the calls of a thread.
    pub(crate) fn rows(&self, thread: ThreadId) -> Option<std::ops::Range<usize>> {
        self.rows.get(thread).cloned().filter(|rows| !rows.is_empty())
    }

    /// The innermost call of `thread` that was entered at or before `time` and left after it.
    pub(crate) fn innermost(&self, trace: &Trace, thread: ThreadId, time: Tick) -> Option<SpanId> {
        let rows = self.rows(thread)?;
        let spans = &trace.spans;
        let latest = spans.start[rows.clone()].partition_point(|start| *start <= time);
        let mut row = Some(SpanId::from_index(rows.start + latest.checked_sub(1)?));
        while let Some(id) = row {
            let index = id.index();
            if spans.end[index] > time {
                return Some(id);
            }
            row = spans.parent[index];
        }
        None
    }

    /// The names of the calls open at `time`, the outermost first, parted by `;`.
    fn path(&self, trace: &Trace, thread: ThreadId, time: Tick) -> Option<String> {
        let mut names = Vec::new();
        let mut call = self.innermost(trace, thread, time);
        while let Some(id) = call {
            names.push(trace.names.funcs[trace.spans.func[id]].name.as_str());
            call = trace.spans.parent[id.index()];
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join(";"))
    }
}

/// Time off the CPU by the calls that were open when the thread left it, the longest first.
pub fn off_cpu(trace: &Trace, rows: Rows<'_>) -> Table {
    let open = OpenCalls::of(trace);
    let mut places: BTreeMap<(String, String), (Sums, u64, Ticks)> = BTreeMap::new();
    for states in by_thread(&trace.states) {
        let thread = &trace.names.threads[states[0].thread];
        if thread.idle || !(rows.thread)(thread) {
            continue;
        }
        let mut place = None;
        for state in states {
            let is_off = state.state.is_blocked() || state.state.is_runnable();
            if !is_off {
                place = None;
                continue;
            }
            // Being runnable after a wait belongs to the wait.
            let is_first = place.is_none();
            let place = place.get_or_insert_with(|| {
                let path = open.path(trace, state.thread, state.start);
                let inner = state.wait_reason.map(|func| trace.names.funcs[func].name.clone());
                let last = path.as_deref().and_then(|path| path.rsplit(';').next());
                let name = inner.or_else(|| last.map(str::to_owned));
                (name.unwrap_or_else(|| "-".into()), path.unwrap_or_default())
            });
            let entry = places.entry(place.clone()).or_default();
            entry.0.add(state.state, state.length());
            entry.1 += u64::from(is_first);
            entry.2 = entry.2.max(state.length());
        }
    }
    let mut rows: Vec<_> = places.into_iter().collect();
    rows.sort_by_key(|(_, (sums, ..))| Reverse(sums.blocked() + sums.runnable()));
    let mut table = Table::new(
        "profctl.sched-off-cpu/1",
        trace.meta.timebase,
        vec![
            Column::new("off_cpu", "off CPU", Role::Time),
            Column::new("blocked", "blocked", Role::Time),
            Column::new("runnable", "runnable", Role::Time),
            Column::new("count", "# times", Role::Count),
            Column::new("max", "max", Role::Time),
            Column::new("function", "function", Role::Name),
            Column::new("path", "calls", Role::Text),
        ],
    );
    table.left_out_first = &["max", "path"];
    for ((name, path), (sums, count, max)) in rows {
        table.push(vec![
            Cell::Time(sums.blocked() + sums.runnable()),
            Cell::Time(sums.blocked()),
            Cell::Time(sums.runnable()),
            Cell::Count(count),
            Cell::Time(max),
            Cell::Text(name),
            if path.is_empty() { Cell::Null } else { Cell::Text(path) },
        ]);
    }
    table.notes = notes(trace);
    table
}
