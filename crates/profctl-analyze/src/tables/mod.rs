//! Traces as the tables of SQL and of Parquet, but for the calls themselves: those are too many to
//! hold and go row by row.

mod run_head;
mod threads;
mod unit;

use profctl_model::hash::FastMap;
use profctl_model::spool::Others;
use profctl_model::tables::{EVENTS, FUNCTIONS, GAPS, QUALITY, RUNS, THREADS, TableSchema};
use profctl_model::{Cell, CpuId, FuncId, IdVec, Names, Table, ThreadId, sched};

use crate::summarize::{FuncStats, Lengths, Profile};
pub use run_head::RunHead;
pub use threads::{states, wakes};
pub use unit::{LARGEST, Scale, Unit};

/// What a run is called in the column `run` of every table, and how its times get into them.
#[derive(Clone, Copy, Debug)]
pub struct RunName<'a> {
    /// Its name.
    pub name: &'a str,
    /// Of its clock.
    pub scale: Scale,
}

impl RunName<'_> {
    fn cell(&self) -> Cell {
        self.name.into()
    }
    fn time(&self, ticks: u64) -> Cell {
        Cell::Count(self.scale.apply(ticks))
    }
    fn some_time(&self, ticks: Option<u64>) -> Cell {
        ticks.map_or(Cell::Null, |ticks| self.time(ticks))
    }
}

fn count(n: u64) -> Cell {
    Cell::Count(n.min(LARGEST))
}

fn some_count(n: Option<u64>) -> Cell {
    n.map_or(Cell::Null, count)
}

fn flag(yes: bool) -> Cell {
    Cell::Count(u64::from(yes))
}

fn some_text(text: Option<&str>) -> Cell {
    text.map_or(Cell::Null, Into::into)
}

fn filled(schema: &TableSchema, rows: impl Iterator<Item = Vec<Cell>>) -> Table {
    let mut table = schema.empty();
    rows.for_each(|row| table.push(row));
    table
}

/// What a thread is called in the tables: its label, with a number after it where others have the
/// same.
pub fn thread_labels(names: &Names) -> IdVec<ThreadId, String> {
    let mut taken: FastMap<String, u32> = FastMap::default();
    names
        .threads
        .iter()
        .map(|thread| {
            let label = thread.label();
            let times = taken.entry(label.clone()).or_default();
            *times += 1;
            if *times == 1 { label } else { format!("{label}#{times}") }
        })
        .collect()
}

/// The figures of every function, by net.
pub fn functions(profile: &Profile, run: RunName<'_>) -> Table {
    let busy = profile.busy();
    // As in a saved profile: six decimals distinguish any two functions.
    let percent = |share: Option<f64>| {
        share.map_or(Cell::Null, |share| Cell::Percent((share * 1e6).round() / 1e6))
    };
    let row = |row: &crate::summarize::Row| {
        let stats: &FuncStats = &row.stats;
        let (net, elapsed) = (&stats.net_of_calls, &stats.elapsed_of_calls);
        let measured = stats.measured();
        let of_calls = |ticks: u64| run.some_time((measured > 0).then_some(ticks));
        let percentile = |of: &Lengths, percent| {
            run.some_time(of.percentile(percent).filter(|_| profile.has_percentiles))
        };
        let off_cpu = profile.knows_off_cpu.then_some(stats.off_cpu);
        vec![
            run.cell(),
            row.name.as_str().into(),
            some_text(row.module.as_deref()),
            some_text(row.kind.map(profctl_model::FuncKind::name)),
            count(stats.calls),
            count(stats.partial),
            run.time(stats.wall),
            run.some_time(off_cpu),
            run.time(stats.elapsed),
            run.time(stats.net),
            run.time(stats.stolen),
            of_calls(net.min),
            run.some_time(net.avg(measured)),
            of_calls(net.max),
            run.some_time(net.stddev(measured)),
            percentile(net, 50.0),
            percentile(net, 90.0),
            percentile(net, 99.0),
            of_calls(elapsed.min),
            run.some_time(elapsed.avg(measured)),
            of_calls(elapsed.max),
            percentile(elapsed, 50.0),
            percentile(elapsed, 90.0),
            percentile(elapsed, 99.0),
            percent(profile.real_pct(row)),
            percent(profile.net_pct(row, busy)),
        ]
    };
    filled(&FUNCTIONS, profile.rows.iter().map(row))
}

/// Every thread, in the order of first appearance. `calls` has how many calls each made.
pub fn threads(names: &Names, calls: &IdVec<ThreadId, u64>, run: RunName<'_>) -> Table {
    let labels = thread_labels(names);
    let rows = names.threads.pairs().map(|(id, thread)| {
        vec![
            run.cell(),
            labels[id].as_str().into(),
            thread.name.as_str().into(),
            some_count(thread.tid),
            some_count(thread.pid),
            flag(thread.idle),
            count(calls.get(id).copied().unwrap_or(0)),
        ]
    });
    filled(&THREADS, rows)
}

/// Slices, then wakeups, then marks, each in the order of the trace.
pub fn events(others: &Others, names: &Names, run: RunName<'_>) -> Table {
    let labels = thread_labels(names);
    let thread = |id: ThreadId| Cell::Text(labels[id].clone());
    let turns = sched::turns(&others.states);
    let slices = turns.iter().map(|slice| {
        vec![
            run.cell(),
            "slice".into(),
            run.time(slice.start.0),
            run.time(slice.end.0),
            thread(slice.thread),
            slice.cpu.map_or(Cell::Null, |id| cpu(id, names)),
            Cell::Null,
            Cell::Null,
            slice.then.map_or(Cell::Null, |then| flag(then.is_runnable())),
            Cell::Null,
        ]
    });
    let wakes = others.wakes.iter().map(|wake| {
        vec![
            run.cell(),
            "wake".into(),
            run.time(wake.time.0),
            run.time(wake.time.0),
            thread(wake.woken),
            Cell::Null,
            Cell::Null,
            wake.waker.thread.map_or(Cell::Null, thread),
            Cell::Null,
            Cell::Null,
        ]
    });
    let marks = others.marks.iter().map(|mark| {
        let func: FuncId = mark.func;
        vec![
            run.cell(),
            "mark".into(),
            run.time(mark.time.0),
            run.time(mark.time.0),
            thread(mark.thread),
            Cell::Null,
            names.funcs[func].name.as_str().into(),
            Cell::Null,
            Cell::Null,
            mark.detail.as_deref().map_or(Cell::Null, Cell::from),
        ]
    });
    filled(&EVENTS, slices.chain(wakes).chain(marks))
}

fn cpu(id: CpuId, names: &Names) -> Cell {
    Cell::Count(u64::from(names.cpus[id]))
}

/// Every loss, in the order of the trace.
pub fn gaps(others: &Others, names: &Names, run: RunName<'_>) -> Table {
    let rows = others.gaps.iter().map(|gap| {
        vec![
            run.cell(),
            run.time(gap.time.0),
            gap.cpu.map_or(Cell::Null, |id| cpu(id, names)),
            some_count(gap.lost),
        ]
    });
    filled(&GAPS, rows)
}

/// Every diagnostic code that was met, worst first.
pub fn quality(profile: &Profile, run: RunName<'_>) -> Table {
    let rows = profile.quality.diagnostics.iter().map(|diagnostic| {
        vec![
            run.cell(),
            diagnostic.code.as_str().into(),
            diagnostic.severity.name().into(),
            count(diagnostic.count),
        ]
    });
    filled(&QUALITY, rows)
}

/// The one row of a run. A saved profile of several traces is one run.
pub fn run(profile: &Profile, unit: Unit, run: RunName<'_>) -> Table {
    let joined = |of: fn(&crate::summarize::Source) -> &String| {
        let mut texts: Vec<&str> =
            profile.sources.iter().map(|source| of(source).as_str()).collect();
        texts.dedup();
        texts.join(", ")
    };
    let bytes = profile.sources.iter().fold(0, |sum: u64, source| sum.saturating_add(source.bytes));
    let row = vec![
        run.cell(),
        Cell::Text(joined(|source| &source.path)),
        Cell::Text(joined(|source| &source.format)),
        count(bytes),
        Cell::Text(unit.name()),
        profile.timebase.timeline.name().into(),
        run.time(profile.timebase.resolution.0),
        run.time(profile.real),
        count(profile.lanes),
        run.time(profile.busy()),
        run.time(profile.idle()),
        count(profile.calls()),
        count(profile.partial()),
        count(profile.events),
        count(profile.n_functions),
        count(profile.n_threads),
        flag(profile.quality.is_complete()),
        some_count(profile.quality.lost_events),
    ];
    filled(&RUNS, std::iter::once(row))
}
