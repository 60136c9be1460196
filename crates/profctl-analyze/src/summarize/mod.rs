//! The flat profile: where the time went, one row per function (or a module, a thread, a CPU, a
//! kind).
//!
//! [`Summary`] takes spans as they end and keeps sums only, so a trace of any length needs memory
//! for its functions and no more. The result, a [`Profile`], has names instead of ids, so it can be
//! saved, read back and merged with those of other traces.

mod call_graph;
mod histogram;
mod interrupts;
mod json;
#[cfg(test)]
mod merging;
mod of_trace;
mod pending;
mod profile;
mod quality;
mod run_paths;
mod stats;
mod table;
#[cfg(test)]
mod tests;

use profctl_model::hash::{FastMap, FastSet};
use profctl_model::{
    CpuId, Enclosed, FuncId, FuncKind, FuncTotals, IdVec, Names, NewIds, Record, SelectThreads,
    Span, SpanSink, ThreadId, TraceMeta,
};

pub(crate) use call_graph::Key;
#[cfg(test)]
pub(crate) use call_graph::WAITING_MAX;
pub use call_graph::{CallGraph, CallGraphSink, CallSums};
pub use histogram::Histogram;
pub(crate) use json::{DiagnosticFile, quality_json};
pub use profile::{Profile, Row, SavedRun, Source};
pub(crate) use quality::count;
pub use quality::{Diagnostic, NO_CALLS, NO_DURATIONS, Quality};
pub use run_paths::{PathSums, RunPaths};
pub(crate) use run_paths::{RunNode, Sums};
pub use stats::{FuncStats, Lengths};
pub use table::{Matching, TableOptions, is_percentile};

use interrupts::Interrupts;
use pending::Pending;
use stats::{Lasted, Usual};

/// What the rows of a profile are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// A function a row.
    #[default]
    Function,
    /// A module or library a row.
    Module,
    /// One thread per row.
    Thread,
    /// A CPU a row: the one on which a call ended.
    Cpu,
    /// A kind of function a row.
    Kind,
}

impl By {
    const ALL: [Self; 5] = [Self::Function, Self::Module, Self::Thread, Self::Cpu, Self::Kind];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Module => "module",
            Self::Thread => "thread",
            Self::Cpu => "cpu",
            Self::Kind => "kind",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }
}

/// What to collect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Whether to keep the histograms from which percentiles are taken.
    pub percentiles: bool,
    /// What a row is. The spans' `outermost` must be meant by the same.
    pub by: By,
    /// Whether to keep who calls whom; only by function.
    pub call_graph: bool,
}

/// The rows of a profile by kind.
const KINDS: [FuncKind; 6] = [
    FuncKind::Function,
    FuncKind::Syscall,
    FuncKind::Interrupt,
    FuncKind::Idle,
    FuncKind::Switch,
    FuncKind::Mark,
];

/// The row of [`FuncKind::Interrupt`].
const INTERRUPTS: usize = 2;

/// Pairs of functions that call one another in a profile. A kernel has some ten thousand.
const PAIRS_MAX: usize = 1 << 17;

/// The name of the row of functions that live in no module, and of calls on no known CPU.
const NO_MODULE: &str = "(no module)";
const NO_CPU: &str = "cpu ?";

/// The histograms of a row.
const HISTOGRAMS: usize = 3;
const LEAVES: usize = 0;
const NET: usize = 1;
const ELAPSED: usize = 2;

/// Adds up spans as they come.
#[derive(Clone, Debug)]
pub struct Summary {
    options: Options,
    /// Usual calls by row, and all others.
    usual: Vec<Usual>,
    others: Vec<FuncStats>,
    /// Three histograms a row: of usual leaves, of net and of elapsed times.
    pending: Pending,
    /// The interrupts that calls are around.
    interrupts: Interrupts,
    /// By function, where rows are something else.
    funcs: IdVec<FuncId, Option<FuncInfo>>,
    /// The modules that have a row, in the order of their rows.
    modules: Vec<Option<String>>,
    /// Which threads made calls.
    threads: IdVec<ThreadId, bool>,
    last_thread: Option<ThreadId>,
    /// By row: what was passed on as outermost and is not.
    enclosed: Vec<FuncStats>,
    /// Where threads are kept apart, so that some can be dropped.
    separate: Option<Separate>,
    /// Who calls whom, if that is kept.
    call_graph: Option<CallGraphSink>,
    /// Whether rows are functions, and nothing but them is kept.
    is_plain: bool,
}

/// Rows by thread: what each of the summary's rows stands for.
#[derive(Clone, Debug, Default)]
struct Separate {
    rows: FastMap<(ThreadId, usize), usize>,
    /// The thread of each row, and its row in the profile.
    keys: Vec<(ThreadId, usize)>,
    /// Which functions each thread called, where rows are something else.
    called: FastSet<(ThreadId, FuncId)>,
    /// Which threads are kept.
    kept: IdVec<ThreadId, bool>,
}

impl Separate {
    fn row(&mut self, thread: ThreadId, row: usize) -> usize {
        let keys = &mut self.keys;
        *self.rows.entry((thread, row)).or_insert_with(|| {
            keys.push((thread, row));
            keys.len() - 1
        })
    }

    fn keeps(&self, thread: ThreadId) -> bool {
        self.kept.get(thread).copied().unwrap_or(false)
    }
}

/// Properties of a function that a group needs.
#[derive(Clone, Copy, Debug)]
struct FuncInfo {
    /// Its row, when rows are modules or kinds.
    row: usize,
    idle: bool,
}

impl Summary {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        let by_function = options.by == By::Function;
        Self {
            options,
            usual: Vec::new(),
            others: Vec::new(),
            pending: Pending::default(),
            interrupts: Interrupts::default(),
            funcs: IdVec::default(),
            modules: Vec::new(),
            threads: IdVec::default(),
            last_thread: None,
            enclosed: Vec::new(),
            separate: None,
            call_graph: (options.call_graph && by_function)
                .then(|| CallGraphSink::of_at_most(PAIRS_MAX)),
            is_plain: by_function && !options.call_graph,
        }
    }

    /// The profile of the trace that was passed on, now that its names and quality are known.
    pub fn finish(mut self, names: &Names, meta: &TraceMeta, source: Source) -> Profile {
        let by = self.options.by;
        let stats = self.settle();
        let Self { separate, modules, call_graph, .. } = self;
        let is_kept = |thread: ThreadId| separate.as_ref().is_none_or(|apart| apart.keeps(thread));
        let n_threads =
            self.threads.pairs().filter(|&(thread, &seen)| seen && is_kept(thread)).count() as u64;
        let rows: Vec<Row> = stats
            .into_iter()
            .enumerate()
            .filter(|(_, stats)| !stats.is_empty())
            .filter_map(|(index, stats)| match &separate {
                None => Some((index, stats)),
                Some(apart) => {
                    let (thread, row) = apart.keys[index];
                    apart.keeps(thread).then_some((row, stats))
                }
            })
            .map(|(index, stats)| name_row(by, index, stats, names, &modules))
            .collect();
        let rows = profile::collapse(rows);
        let n_functions = match (by, &separate) {
            (By::Function, _) => rows.len(),
            (_, None) => self.funcs.iter().flatten().count(),
            (_, Some(apart)) => {
                let kept = apart.called.iter().filter(|(thread, _)| apart.keeps(*thread));
                kept.map(|(_, func)| *func).collect::<FastSet<_>>().len()
            }
        };
        let lanes = names.cpus.len().max(1) as u64;
        let real = meta.real().0;
        Profile {
            sources: vec![source],
            timebase: meta.timebase,
            by,
            real,
            lanes,
            capacity: real.saturating_mul(lanes),
            events: meta.events,
            n_functions: n_functions as u64,
            n_threads,
            knows_off_cpu: meta.knows_off_cpu,
            has_percentiles: self.options.percentiles,
            quality: Quality::of(&meta.diags),
            runs: None,
            paths: None,
            call_graph: call_graph.and_then(|calls| calls.finish(names)),
            rows,
        }
    }

    /// All that was added, by row.
    fn settle(&mut self) -> Vec<FuncStats> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.close();
        let mut enclosed = std::mem::take(&mut self.enclosed).into_iter();
        let others = std::mem::take(&mut self.others).into_iter();
        let usual = std::mem::take(&mut self.usual).into_iter();
        others
            .zip(usual)
            .enumerate()
            .map(|(index, (mut stats, usual))| {
                usual.add_to(&mut stats);
                stats.take_away(&enclosed.next().unwrap_or_default());
                let leaves = pending.take(HISTOGRAMS * index + LEAVES);
                for (lengths, which) in
                    [(&mut stats.net_of_calls, NET), (&mut stats.elapsed_of_calls, ELAPSED)]
                {
                    lengths.histogram.merge(&leaves);
                    lengths.histogram.merge(&pending.take(HISTOGRAMS * index + which));
                }
                stats
            })
            .collect()
    }

    /// Adds a call of whatever kind, to whatever row.
    #[inline(never)]
    fn add_any(&mut self, span: Span, names: &Names) {
        let interrupted = self.interrupts.inside(&span);
        let (mut index, mut idle) = (span.func.index(), false);
        if !self.is_plain {
            if let Some(calls) = &mut self.call_graph {
                calls.span(&span, names);
            }
            (index, idle) = self.row_of(span.func, span.interrupt, span.thread, span.cpu, names);
        }
        if index >= self.usual.len() {
            self.widen(index);
        }
        if Usual::takes(&span) {
            let lasted = self.usual[index].add(&span);
            self.note(index, lasted);
        } else {
            self.add_other(index, &span);
        }
        if interrupted > 0 {
            self.others[index].add_interrupted(span.fidelity, interrupted);
        }
        if idle && self.options.by != By::Function {
            self.others[index].add_idle(span.net);
        }
    }

    /// Notes how long a usual call lasted, for percentiles.
    #[expect(clippy::inline_always, reason = "what kind of call it is would be looked at again")]
    #[inline(always)]
    fn note(&mut self, index: usize, lasted: Lasted) {
        if !self.options.percentiles {
            return;
        }
        let histogram = HISTOGRAMS * index;
        match lasted {
            Lasted::Leaf(length) => self.pending.record(histogram + LEAVES, length),
            Lasted::Both(net, elapsed) => {
                self.pending.record(histogram + NET, net);
                self.pending.record(histogram + ELAPSED, elapsed);
            }
        }
    }

    #[cold]
    fn widen(&mut self, index: usize) {
        self.usual.resize_with(index + 1, Usual::default);
        self.others.resize_with(index + 1, FuncStats::default);
        if self.options.percentiles {
            self.pending.cover(HISTOGRAMS * (index + 1));
        }
    }

    fn add_other(&mut self, index: usize, span: &Span) {
        let stats = &mut self.others[index];
        stats.add(span);
        if !self.options.percentiles || span.fidelity.is_partial() {
            return;
        }
        for (which, length) in [(NET, span.net), (ELAPSED, span.elapsed())] {
            self.pending.record_any(HISTOGRAMS * index + which, length.0);
        }
    }

    /// The row of a call, and whether it idles.
    fn row_of(
        &mut self,
        func: FuncId,
        interrupt: bool,
        thread: ThreadId,
        cpu: Option<CpuId>,
        names: &Names,
    ) -> (usize, bool) {
        let info = match self.funcs.get(func) {
            Some(Some(info)) => *info,
            _ => self.new_info(func, names),
        };
        let row = match self.options.by {
            By::Function => func.index(),
            By::Thread => thread.index(),
            By::Cpu => cpu.map_or(0, |cpu| cpu.index() + 1),
            By::Kind if interrupt => INTERRUPTS,
            By::Module | By::Kind => info.row,
        };
        let idle = info.idle && !interrupt;
        match &mut self.separate {
            None => (row, idle),
            Some(apart) => {
                if self.options.by != By::Function {
                    apart.called.insert((thread, func));
                }
                (apart.row(thread, row), idle)
            }
        }
    }

    #[cold]
    fn new_info(&mut self, func: FuncId, names: &Names) -> FuncInfo {
        let described = &names.funcs[func];
        let row = match self.options.by {
            By::Kind => KINDS.iter().position(|&kind| kind == described.kind).unwrap_or(0),
            By::Module => self.row_of_module(described.module.as_deref()),
            By::Function | By::Thread | By::Cpu => 0,
        };
        let info = FuncInfo { row, idle: described.kind == FuncKind::Idle };
        *self.funcs.grow_to(func) = Some(info);
        info
    }

    fn row_of_module(&mut self, module: Option<&str>) -> usize {
        let known = self.modules.iter().position(|known| known.as_deref() == module);
        known.unwrap_or_else(|| {
            self.modules.push(module.map(Into::into));
            self.modules.len() - 1
        })
    }
}

impl SpanSink for Summary {
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn span(&mut self, span: &Span, names: &Names) {
        if self.last_thread != Some(span.thread) {
            self.last_thread = Some(span.thread);
            *self.threads.grow_to(span.thread) = true;
        }
        let index = span.func.index();
        // The copy is for the other calls only: of the usual ones, the span need not be in memory.
        match self.usual.get_mut(index) {
            Some(usual)
                if self.is_plain && Usual::takes(span) && !self.interrupts.may_be_inside(span) =>
            {
                let lasted = usual.add(span);
                self.note(index, lasted);
            }
            _ => self.add_any(*span, names),
        }
    }

    fn record(&mut self, record: Record<'_>, names: &Names) {
        match record {
            Record::Total(totals) => self.add_total(totals, names),
            Record::Enclosed(enclosed) => self.take_away(enclosed, names),
            Record::Outermost(calls) => self.add_outermost(calls, names),
            // The profile is of calls.
            Record::State(_)
            | Record::Wake(_)
            | Record::Life(_)
            | Record::Gap(_)
            | Record::Mark(_)
            | Record::SoFar(_) => {}
        }
    }

    fn part(&self) -> Option<Self> {
        let separate = self.separate.is_some().then(Separate::default);
        let mut part = Self { separate, is_plain: self.is_plain, ..Self::new(self.options) };
        part.call_graph = self.call_graph.as_ref().and_then(SpanSink::part);
        Some(part)
    }

    fn join(&mut self, mut part: Self, ids: &NewIds, names: &Names) {
        for (thread, _) in part.threads.pairs().filter(|&(_, &seen)| seen) {
            *self.threads.grow_to(ids.threads[thread]) = true;
        }
        for (func, _) in part.funcs.pairs().filter(|(_, info)| info.is_some()) {
            self.new_info(ids.funcs[func], names);
        }
        if let (Some(ours), Some(theirs)) = (&mut self.call_graph, part.call_graph.take()) {
            ours.join(theirs, ids, names);
        }
        let stats = part.settle();
        let called = part.separate.iter().flat_map(|apart| &apart.called);
        let called = called.map(|&(thread, func)| (ids.threads[thread], ids.funcs[func]));
        if let Some(apart) = &mut self.separate {
            apart.called.extend(called);
        }
        for (index, stats) in stats.into_iter().enumerate().filter(|(_, stats)| !stats.is_empty()) {
            let (thread, row) = match &part.separate {
                None => (None, index),
                Some(apart) => (Some(ids.threads[apart.keys[index].0]), apart.keys[index].1),
            };
            let row = match self.options.by {
                By::Function => ids.funcs[FuncId::from_index(row)].index(),
                By::Thread => ids.threads[ThreadId::from_index(row)].index(),
                By::Cpu if row == 0 => 0,
                By::Cpu => ids.cpus[CpuId::from_index(row - 1)].index() + 1,
                By::Kind => row,
                By::Module => self.row_of_module(part.modules[row].as_deref()),
            };
            let row = match (&mut self.separate, thread) {
                (Some(apart), Some(thread)) => apart.row(thread, row),
                _ => row,
            };
            if row >= self.usual.len() {
                self.widen(row);
            }
            self.others[row].merge(&stats);
        }
    }
}

impl Summary {
    #[cold]
    fn take_away(&mut self, enclosed: &Enclosed, names: &Names) {
        let Enclosed { func, interrupt, thread, cpu, .. } = *enclosed;
        let (index, _) = self.row_of(func, interrupt, thread, cpu, names);
        if index >= self.enclosed.len() {
            self.enclosed.resize_with(index + 1, FuncStats::default);
        }
        self.enclosed[index].add_enclosed(enclosed);
    }

    #[cold]
    fn add_outermost(&mut self, calls: &Enclosed, names: &Names) {
        let Enclosed { func, interrupt, thread, cpu, .. } = *calls;
        let (index, _) = self.row_of(func, interrupt, thread, cpu, names);
        if index >= self.usual.len() {
            self.widen(index);
        }
        self.others[index].add_outermost(calls);
    }

    fn add_total(&mut self, totals: &FuncTotals, names: &Names) {
        *self.threads.grow_to(totals.thread) = true;
        let (index, idle) = self.row_of(totals.func, false, totals.thread, None, names);
        // Which functions of a group call one another is not known, so their elapsed times cannot
        // be added: only the net time of the group is known.
        let elapsed = if self.options.by == By::Function { totals.elapsed } else { totals.net };
        if index >= self.usual.len() {
            self.widen(index);
        }
        let others = &mut self.others[index];
        others.add_total(totals, elapsed);
        if idle && self.options.by != By::Function {
            others.add_idle(totals.net);
        }
    }
}

impl SelectThreads for Summary {
    fn separate_threads(&mut self) {
        self.separate = Some(Separate::default());
        self.is_plain = false;
        if let Some(calls) = &mut self.call_graph {
            calls.separate_threads();
        }
    }
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        if let Some(apart) = &mut self.separate {
            let ids = (0..self.threads.len()).map(ThreadId::from_index);
            apart.kept = ids.map(keep).collect();
        }
        if let Some(calls) = &mut self.call_graph {
            calls.keep_threads(keep);
        }
    }
}

/// Says what the row at `index` is about.
fn name_row(
    by: By,
    index: usize,
    mut stats: FuncStats,
    names: &Names,
    modules: &[Option<String>],
) -> Row {
    let group = |name: String, kind| Row { name, module: None, kind, stats: FuncStats::default() };
    let mut row = match by {
        By::Function => {
            let func = &names.funcs[FuncId::from_index(index)];
            if func.kind == FuncKind::Idle {
                stats.idle = stats.net;
            }
            let row = group(func.name.clone(), Some(func.kind));
            Row { module: func.module.clone(), ..row }
        }
        By::Module => group(modules[index].clone().unwrap_or_else(|| NO_MODULE.into()), None),
        By::Thread => group(names.threads[ThreadId::from_index(index)].label(), None),
        By::Cpu => {
            let number = index.checked_sub(1).map(|cpu| names.cpus.as_slice()[cpu]);
            group(number.map_or_else(|| NO_CPU.into(), |number| format!("cpu {number}")), None)
        }
        By::Kind => {
            let kind = KINDS[index];
            group(kind.name().into(), Some(kind))
        }
    };
    row.stats = stats;
    row
}
