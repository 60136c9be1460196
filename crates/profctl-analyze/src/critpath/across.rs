//! Reports on the path across threads.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profctl_model::{Cell, Column, Role, Table, ThreadId, Ticks, Trace};

use super::chain::{Chain, Link, Wait, slack};
use super::share;
use crate::sched::waker_name;
use crate::summarize::Quality;

/// The intervals of the path, in time order.
pub(super) fn table(trace: &Trace, chain: &Chain) -> Table {
    let mut table = Table::new(
        "profctl.critical-path-segments/2",
        trace.meta.timebase,
        vec![
            Column::new("from", "from", Role::Time),
            Column::new("length", "length", Role::Time),
            Column::new("share", "% of path", Role::Percent),
            Column::new("thread", "thread", Role::Text),
            Column::new("state", "state", Role::Text),
            Column::new("cpu", "CPU", Role::Count),
            Column::new("what", "function or source", Role::Name),
            Column::new("waker", "woken by", Role::Text),
        ],
    );
    table.left_out_first = &["cpu", "waker", "share"];
    let whole = chain.end - chain.start;
    for link in &chain.links {
        let waker = link.waker.map(|waker| Cell::Text(waker_name(&waker, trace)));
        table.push(vec![
            Cell::Time(link.start - chain.start),
            Cell::Time(link.length()),
            share(link.length(), whole),
            Cell::Text(trace.names.threads[link.thread].label()),
            link.wait.name().into(),
            link.cpu.map_or(Cell::Null, |cpu| Cell::Count(u64::from(trace.names.cpus[cpu]))),
            what(trace, link).map_or(Cell::Null, Cell::Text),
            waker.unwrap_or(Cell::Null),
        ]);
    }
    table.notes = notes(trace, chain);
    table
}

/// What an interval is about: what was waited for, or the innermost call.
fn what(trace: &Trace, link: &Link) -> Option<String> {
    let function = link.function.map(|func| trace.names.funcs[func].name.clone());
    link.source.clone().or(function)
}

/// The path summed by thread, with the slack of threads beside it.
pub(super) fn by_thread(trace: &Trace, chain: &Chain) -> Table {
    let time = |name: &str| Column::new(name, name, Role::Time);
    let mut table = Table::new(
        "profctl.critical-path-threads/2",
        trace.meta.timebase,
        vec![
            Column::new("thread", "thread", Role::Name),
            time("total"),
            Column::new("share", "% of path", Role::Percent),
            time("running"),
            time("runnable"),
            time("interrupt"),
            time("blocked"),
            time("unknown"),
            time("slack"),
        ],
    );
    table.left_out_first = &["unknown", "blocked", "share"];
    let whole = chain.end - chain.start;
    for (thread, sums) in sums_by_thread(chain) {
        let total = sums.iter().fold(Ticks(0), |sum, part| sum + *part);
        let mut row = vec![
            Cell::Text(trace.names.threads[thread].label()),
            Cell::Time(total),
            share(total, whole),
        ];
        row.extend(sums.map(Cell::Time));
        row.push(Cell::Time(Ticks(0)));
        table.push(row);
    }
    for (thread, slack) in slack(trace, chain) {
        let mut row = vec![Cell::Text(trace.names.threads[thread].label())];
        row.extend([Cell::Time(Ticks(0)), Cell::Percent(0.0)]);
        row.extend([Ticks(0); Wait::ALL.len()].map(Cell::Time));
        row.push(Cell::Time(slack));
        table.push(row);
    }
    table.notes = notes(trace, chain);
    table
}

/// Times of each kind of wait, by thread, the longest first.
pub(super) fn sums_by_thread(chain: &Chain) -> Vec<(ThreadId, [Ticks; Wait::ALL.len()])> {
    let mut sums: BTreeMap<ThreadId, [Ticks; Wait::ALL.len()]> = BTreeMap::new();
    for link in &chain.links {
        sums.entry(link.thread).or_default()[link.wait as usize] += link.length();
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    let total = |sums: &[Ticks]| sums.iter().fold(Ticks(0), |sum, part| sum + *part);
    sums.sort_by_key(|(thread, sums)| (Reverse(total(sums)), *thread));
    sums
}

/// A line of the path as it is summed and compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) thread: String,
    pub(super) state: Wait,
    pub(super) what: Option<String>,
}

/// Time and intervals by thread, state and what it is about. `label` names a thread.
pub(super) fn sums_by_place(
    trace: &Trace,
    chain: &Chain,
    label: impl Fn(ThreadId) -> String,
) -> BTreeMap<Place, (Ticks, u64)> {
    let mut sums: BTreeMap<Place, (Ticks, u64)> = BTreeMap::new();
    for link in &chain.links {
        let thread = label(link.thread);
        let place = Place { thread, state: link.wait, what: what(trace, link) };
        let sum = sums.entry(place).or_default();
        sum.0 += link.length();
        sum.1 += 1;
    }
    sums
}

/// The path summed by thread, state and function or source, the longest first.
pub(super) fn by_function(trace: &Trace, chain: &Chain) -> Table {
    let mut table = Table::new(
        "profctl.critical-path-functions/2",
        trace.meta.timebase,
        vec![
            Column::new("length", "length", Role::Time),
            Column::new("share", "% of path", Role::Percent),
            Column::new("segments", "# segments", Role::Count),
            Column::new("thread", "thread", Role::Text),
            Column::new("state", "state", Role::Text),
            Column::new("what", "function or source", Role::Name),
        ],
    );
    let whole = chain.end - chain.start;
    let label = |thread| trace.names.threads[thread].label();
    let mut sums: Vec<_> = sums_by_place(trace, chain, label).into_iter().collect();
    sums.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    for (place, (length, segments)) in sums {
        table.push(vec![
            Cell::Time(length),
            share(length, whole),
            Cell::Count(segments),
            Cell::Text(place.thread),
            place.state.name().into(),
            place.what.map_or(Cell::Null, Cell::Text),
        ]);
    }
    table.notes = notes(trace, chain);
    table
}

/// What of the path changed between two traces: by thread name, state and function or source, the
/// largest change first.
pub(super) fn diff(before: (&Trace, &Chain), after: (&Trace, &Chain)) -> Table {
    let sums = |(trace, chain): (&Trace, &Chain)| {
        sums_by_place(trace, chain, |thread| trace.names.threads[thread].name.clone())
    };
    let (old, mut new) = (sums(before), sums(after));
    let mut rows: Vec<(Place, Option<Ticks>, Option<Ticks>)> = Vec::new();
    for (place, (length, _)) in old {
        let after = new.remove(&place).map(|(length, _)| length);
        rows.push((place, Some(length), after));
    }
    rows.extend(new.into_iter().map(|(place, (length, _))| (place, None, Some(length))));
    let change = |before: Option<Ticks>, after: Option<Ticks>| {
        let signed = |length: Option<Ticks>| i64::try_from(length.unwrap_or_default().0);
        signed(after).unwrap_or(i64::MAX).saturating_sub(signed(before).unwrap_or(i64::MAX))
    };
    rows.sort_by(|a, b| {
        let (a_change, b_change) = (change(a.1, a.2), change(b.1, b.2));
        b_change.unsigned_abs().cmp(&a_change.unsigned_abs()).then_with(|| a.0.cmp(&b.0))
    });
    let mut table = Table::new(
        "profctl.critical-path-diff/2",
        after.0.meta.timebase,
        vec![
            Column::new("before", "before", Role::Time),
            Column::new("after", "after", Role::Time),
            Column::new("change", "change", Role::Time),
            Column::new("what_happened", "", Role::Text),
            Column::new("thread", "thread", Role::Text),
            Column::new("state", "state", Role::Text),
            Column::new("what", "function or source", Role::Name),
        ],
    );
    let cell = |length: Option<Ticks>| length.map_or(Cell::Null, Cell::Time);
    for (place, before, after) in rows {
        let happened = match (before, after) {
            (None, _) => "entered",
            (_, None) => "left",
            (Some(before), Some(after)) if after > before => "grew",
            (Some(before), Some(after)) if after < before => "shrank",
            _ => "same",
        };
        table.push(vec![
            cell(before),
            cell(after),
            Cell::Change(change(before, after)),
            happened.into(),
            Cell::Text(place.thread),
            place.state.name().into(),
            place.what.map_or(Cell::Null, Cell::Text),
        ]);
    }
    table.notes = vec![format!(
        "path: {} before, {} after",
        before.0.names.threads[before.1.thread].label(),
        after.0.names.threads[after.1.thread].label()
    )];
    table
}

fn notes(trace: &Trace, chain: &Chain) -> Vec<String> {
    let thread = trace.names.threads[chain.thread].label();
    let mut notes = vec![format!("path: of {thread}, traced back from its end")];
    let unknown = |wait: Wait| {
        let links = chain.links.iter().filter(|link| link.wait == wait);
        links.fold(Ticks(0), |sum, link| sum + link.length())
    };
    if unknown(Wait::Blocked).0 > 0 {
        notes.push(
            "blocked: the wakeup is not recorded; record `-e sched:sched_waking` on all CPUs"
                .into(),
        );
    }
    notes.extend(Quality::of(&trace.meta.diags).notes(trace.meta.timebase.timeline));
    notes
}
