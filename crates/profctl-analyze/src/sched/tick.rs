//! What accounting by a clock tick would have reported.
//!
//! A kernel with tick-based accounting charges a full period to the thread that runs at the tick.
//! Which period boundaries that are depends on the phase of the clock, so all phases are tried at
//! once: the ticks that hit an interval of length `l` are `floor(l / p)` or one more, and the more
//! are those phases that the rest of the interval covers. Over all phases the expectation is the
//! exact time.

use profctl_model::{Cell, Column, FuncKind, Role, RunState, Table, Tick, Ticks, Trace};

use super::{Rows, Schedule, notes};

/// How many ticks hit some intervals, by the phase of the clock.
#[derive(Debug, Default)]
struct Hits {
    /// At every phase.
    always: u64,
    /// Changes by phase: from there on, so many more.
    changes: Vec<(u64, i64)>,
    exact: Ticks,
}

impl Hits {
    /// Adds an interval whose beginning is `start` after the beginning of the window.
    fn add(&mut self, start: Ticks, length: Ticks, period: u64) {
        self.exact += length;
        self.always += length.0 / period;
        let rest = length.0 % period;
        if rest == 0 {
            return;
        }
        let from = start.0 % period;
        let until = from + rest;
        self.changes.push((from, 1));
        if until <= period {
            self.changes.push((until, -1));
        } else {
            self.changes.extend([(0, 1), (until - period, -1)]);
        }
    }

    /// The fewest and the most.
    fn bounds(mut self, period: u64) -> (u64, u64) {
        self.changes.sort_unstable_by_key(|change| change.0);
        let (mut depth, mut low, mut high) = (0_i64, i64::MAX, i64::MIN);
        let mut at = 0;
        for group in self.changes.chunk_by(|a, b| a.0 == b.0) {
            if group[0].0 > at {
                (low, high) = (low.min(depth), high.max(depth));
            }
            depth += group.iter().map(|change| change.1).sum::<i64>();
            at = group[0].0;
        }
        if at < period {
            (low, high) = (low.min(depth), high.max(depth));
        }
        let of = |extra: i64| self.always.saturating_add_signed(extra);
        (of(low), of(high))
    }
}

/// Exact times beside what a clock of that period would have charged: per thread, then for all CPUs
/// together as system, user and idle time, if the trace has system calls.
pub fn sampled(trace: &Trace, schedule: &Schedule, period: Ticks, rows: Rows<'_>) -> Table {
    let period = period.0.max(1);
    let mut table = Table::new(
        "profctl.sched-tick/1",
        trace.meta.timebase,
        vec![
            Column::new("thread", "thread", Role::Name),
            Column::new("exact", "exact", Role::Time),
            Column::new("min", "sampled min", Role::Time),
            Column::new("expected", "expected", Role::Time),
            Column::new("max", "sampled max", Role::Time),
        ],
    );
    let mut row = |name: String, hits: Hits| {
        let exact = hits.exact;
        let (low, high) = hits.bounds(period);
        let charged = |ticks: u64| Cell::Time(Ticks(ticks.saturating_mul(period)));
        table.push(vec![
            Cell::Text(name),
            Cell::Time(exact),
            charged(low),
            Cell::Time(exact),
            charged(high),
        ]);
    };
    let of_window = |time: Tick| time - schedule.start;
    for thread in &schedule.threads {
        let named = &trace.names.threads[thread.thread];
        if !(rows.thread)(named) {
            continue;
        }
        let mut hits = Hits::default();
        for state in trace.states_of(thread.thread) {
            if state.state == RunState::Running {
                hits.add(of_window(state.start), state.length(), period);
            }
        }
        row(named.label(), hits);
    }
    let (mut user, mut system, mut idle) = (Hits::default(), Hits::default(), Hits::default());
    for states in super::by_thread(&trace.states) {
        let is_idle = trace.names.threads[states[0].thread].idle;
        let inside = inside_kernel(trace, states[0].thread);
        for state in states.iter().filter(|state| state.state == RunState::Running) {
            if is_idle {
                idle.add(of_window(state.start), state.length(), period);
                continue;
            }
            let mut now = state.start;
            for &(start, end) in &inside {
                let (start, end) = (start.max(now), end.min(state.end));
                if start < end {
                    user.add(of_window(now), start - now, period);
                    system.add(of_window(start), end - start, period);
                    now = end;
                }
            }
            user.add(of_window(now), state.end - now, period);
        }
    }
    let has_syscalls = trace.names.funcs.iter().any(|func| func.kind == FuncKind::Syscall);
    if has_syscalls {
        row("(user)".into(), user);
        row("(system)".into(), system);
    }
    row("(idle)".into(), idle);
    table.notes = notes(trace);
    if !has_syscalls {
        table.notes.push(
            "no system calls in this trace: user and system time are not separated; record `-e \
             raw_syscalls`"
                .into(),
        );
    }
    table
}

/// When a thread was in a system call or served an interrupt, in order.
fn inside_kernel(trace: &Trace, thread: profctl_model::ThreadId) -> Vec<(Tick, Tick)> {
    let spans = &trace.spans;
    let mut inside: Vec<(Tick, Tick)> = Vec::new();
    let rows = spans.ids().filter(|id| spans.thread[id.index()] == thread);
    for id in rows {
        let kind = trace.names.funcs[spans.func[id]].kind;
        let (start, end) = (spans.start[id.index()], spans.end[id.index()]);
        let is_new = inside.last().is_none_or(|last| start >= last.1);
        if matches!(kind, FuncKind::Syscall | FuncKind::Interrupt) && is_new && start < end {
            inside.push((start, end));
        }
    }
    inside
}
