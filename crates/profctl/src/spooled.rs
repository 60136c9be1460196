//! A trace whose calls wait on disk, for commands that need all of them and not at once: memory
//! grows with functions, threads and the depth of calls, not with the trace.

use std::path::Path;
use std::sync::Arc;

use profctl_analyze::replay::{Event, Line};
use profctl_analyze::summarize::{PathSums, RunPaths};
use profctl_analyze::tree::{Joined, Merger};
use profctl_model::spool::Others;
use profctl_model::{
    CallTree, CpuId, FuncId, IdVec, Names, PathOrder, PathRow, Record as TraceRecord,
    SelectThreads, Span, SpanRow, SpanSink, Spool, ThreadId, Tick, Ticks, TraceMeta,
};
use profctl_render::export::{Call, CallEnd, Header};

use crate::args::Selection;
use crate::exit::Failure;
use crate::input::session::{Read, Session};
use crate::runs::no_room;
use crate::sorted::{Record, Run, Runs, Sortable, Sorted, Sorter};
use crate::spill::{Spill, Temporary};

/// How much of a trace stays in memory; more waits in files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of calls.
    bytes: usize,
    /// Calls, or ends of calls, that are sorted at once.
    records: usize,
    /// Paths of calls.
    paths: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 << 20, records: 1 << 18, paths: 1 << 17 }
    }
}

impl Limits {
    /// About that many calls.
    pub(crate) fn of_calls(calls: u64) -> Self {
        let calls = usize::try_from(calls).unwrap_or(usize::MAX);
        Self { bytes: calls.saturating_mul(20), records: calls, paths: calls }
    }
}

/// Where calls of several traces wait.
#[derive(Default)]
pub(crate) struct Waiting(Arc<Temporary>);

impl Waiting {
    /// None yet, of one more trace.
    pub(crate) fn calls(&self) -> Calls {
        Calls::within(Arc::clone(&self.0), Limits::default())
    }
}

/// Calls that wait on disk, and whatever else a trace says.
pub(crate) struct Calls {
    spool: Spool<Spill>,
    temporary: Arc<Temporary>,
    limits: Limits,
}

impl Calls {
    /// None yet.
    pub(crate) fn new(limits: Limits) -> Self {
        Self::within(Arc::default(), limits)
    }

    fn within(temporary: Arc<Temporary>, limits: Limits) -> Self {
        let spool = Spool::new(Spill::new(limits.bytes, Arc::clone(&temporary)));
        Self { spool, temporary, limits }
    }

    /// Passes every call to `take`, a caller before its callees.
    fn callers_first(
        self,
        meta: &TraceMeta,
        take: impl FnMut(&SpanRow),
    ) -> Result<Others, Failure> {
        let step = meta.timebase.microsecond();
        self.spool.callers_first(step, take).map_err(|error| no_room(&error))
    }

    /// The calls merged by path, as a profile keeps them.
    pub(crate) fn run_paths(self, names: &Names, meta: &TraceMeta) -> Result<RunPaths, Failure> {
        let mut sums = PathSums::default();
        self.callers_first(meta, |row| sums.add(row))?;
        Ok(sums.finish(names, &meta.timebase))
    }
}

impl SpanSink for Calls {
    #[inline]
    fn span(&mut self, span: &Span, names: &Names) {
        self.spool.span(span, names);
    }
    fn record(&mut self, record: TraceRecord<'_>, names: &Names) {
        self.spool.record(record, names);
    }
}

impl SelectThreads for Calls {
    fn separate_threads(&mut self) {
        self.spool.separate_threads();
    }
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.spool.keep_threads(keep);
    }
}

/// A trace that was read.
pub(crate) struct Spooled<'a> {
    calls: Calls,
    names: Names,
    meta: TraceMeta,
    selection: &'a Selection,
}

/// A trace whose calls come in some order.
pub(crate) struct Ordered<I> {
    /// The calls.
    pub(crate) rows: I,
    /// The rest.
    pub(crate) about: About,
}

/// What is known of a trace besides its calls.
pub(crate) struct About {
    /// What else there was.
    pub(crate) others: Others,
    /// Functions, threads, CPUs.
    pub(crate) names: Names,
    /// Clock, span of time, quality.
    pub(crate) meta: TraceMeta,
    /// The net time of all calls.
    pub(crate) net: u128,
    /// Where calls wait.
    _temporary: Arc<Temporary>,
}

impl About {
    /// What exports want of it.
    pub(crate) fn header(&self) -> Header<'_> {
        let Self { others, names, meta, .. } = self;
        let (marks, gaps, calls) = (&others.marks, &others.gaps, &others.calls);
        Header { names, meta, marks, gaps, calls, states: &others.states }
    }
}

impl<'a> Spooled<'a> {
    /// Reads one trace of calls.
    pub(crate) fn read(
        trace: &Path,
        session: &mut Session<'a>,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let Read { sink: (calls, sums), names, meta, .. } =
            session.one(trace, (Calls::new(limits), Sums::default()))?;
        if sums.is_all() {
            return Err(Failure::of_sums(trace));
        }
        Ok(Self { calls, names, meta, selection: session.selection })
    }

    /// Of calls that were collected elsewhere.
    pub(crate) fn of(
        calls: Calls,
        names: Names,
        meta: TraceMeta,
        selection: &'a Selection,
    ) -> Self {
        Self { calls, names, meta, selection }
    }

    /// Clock, span of time, quality.
    pub(crate) fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    fn ordered<I>(self, rows: I, mut others: Others, net: u128) -> Ordered<I> {
        let Self { names, meta, calls: Calls { temporary, .. }, selection } = self;
        selection.keep_marks(&mut others.marks, &names);
        selection.keep_gaps(&mut others.gaps, &names);
        let about = About { others, names, meta, net, _temporary: temporary };
        Ordered { rows, about }
    }

    /// The calls, numbered, sorted by what `record` makes of them and of their numbers among the
    /// calls of their thread, together with `more`.
    fn sorted<T: Sortable>(
        mut self,
        more: impl Iterator<Item = T>,
        mut record: impl FnMut(&SpanRow, u64) -> [Option<T>; 2],
    ) -> Result<Ordered<Sorted<T>>, Failure> {
        let full = |error| no_room(&error);
        let step = self.meta.timebase.microsecond();
        let (spool, temporary) = self.take_spool();
        let spill = Spill::new(self.calls.limits.bytes, Arc::clone(&temporary));
        let (mut rows, others) = spool.finish(spill, step).map_err(full)?;
        let mut first: IdVec<ThreadId, u64> = IdVec::default();
        let mut calls = 0;
        for &of_thread in &others.calls {
            first.push(calls);
            calls += of_thread;
        }
        let mut sorter = Sorter::new(self.calls.limits.records);
        for record in more {
            sorter.push(record, &temporary).map_err(full)?;
        }
        let mut net = 0_u128;
        while let Some(block) = rows.next_block().map_err(full)? {
            for row in block.iter() {
                net += u128::from(row.span.net.0);
                let local = row.id.saturating_sub(first[row.span.thread]);
                for record in record(row, local).into_iter().flatten() {
                    sorter.push(record, &temporary).map_err(full)?;
                }
            }
        }
        drop(rows);
        let sorted = sorter.finish().map_err(full)?;
        Ok(self.ordered(sorted, others, net))
    }

    /// Takes the spool out, and leaves an empty one.
    fn take_spool(&mut self) -> (Spool<Spill>, Arc<Temporary>) {
        let Calls { spool, temporary, .. } = &mut self.calls;
        let empty = Spool::new(Spill::new(0, Arc::clone(temporary)));
        (std::mem::replace(spool, empty), Arc::clone(temporary))
    }

    /// The lines of a code trace, in order, `more` of them among these. `before` says how many calls
    /// of each thread were made before.
    pub(crate) fn lines(
        self,
        more: impl Iterator<Item = Line>,
        before: &IdVec<ThreadId, u64>,
    ) -> Result<Ordered<Sorted<Line>>, Failure> {
        self.sorted(more, |row, local| {
            let before = before.get(row.span.thread).copied().unwrap_or(0);
            let (line, exit) = Line::of(row, before + local);
            [Some(line), exit]
        })
    }

    /// Entries and exits in time order.
    pub(crate) fn ends(self) -> Result<Ordered<Sorted<Line>>, Failure> {
        self.sorted(std::iter::empty(), |row, local| Line::ends(row, local).map(Some))
    }

    /// Calls by thread, then in the order of entry.
    pub(crate) fn entries(self) -> Result<Ordered<Sorted<Entry>>, Failure> {
        self.sorted(std::iter::empty(), |row, _| [Some(Entry::of(row)), None])
    }

    /// The calls merged by path, all paths in memory.
    pub(crate) fn tree(self) -> Result<(CallTree, Names, TraceMeta), Failure> {
        let Self { calls, names, meta, .. } = self;
        let mut merger = Merger::new(PathOrder::by_name(&names), false);
        calls.callers_first(&meta, |row| merger.add(row))?;
        Ok((merger.into_tree(), names, meta))
    }

    /// The calls merged by path, depth first.
    pub(crate) fn paths(
        mut self,
        order: fn(&Names) -> PathOrder,
        keeps_threads: bool,
    ) -> Result<Ordered<Joined<Run<PathRow>>>, Failure> {
        let (spool, temporary) = self.take_spool();
        let mut merger = Merger::new(order(&self.names), keeps_threads);
        let mut runs = Runs::new();
        let mut pushed = Ok(());
        let mut net = 0_u128;
        let step = self.meta.timebase.microsecond();
        let others = spool.callers_first(step, |row| {
            net += u128::from(row.span.net.0);
            merger.add(row);
            if merger.paths() >= self.calls.limits.paths && pushed.is_ok() {
                pushed = runs.push(&merger.take(), &temporary);
            }
        });
        let others = others.and_then(|others| pushed.map(|()| others));
        let others = others.map_err(|error| no_room(&error))?;
        let mut parts = runs.read();
        parts.push(Run::of(merger.take()));
        let paths = Joined::new(merger.into_order(), parts);
        Ok(self.ordered(paths, others, net))
    }
}

/// A call as exports want it, with its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    id: u64,
    /// The call.
    pub(crate) call: Call,
}

impl Entry {
    fn of(row: &SpanRow) -> Self {
        let span = &row.span;
        let call = Call {
            thread: span.thread,
            depth: row.depth,
            func: span.func,
            cpu: span.cpu,
            start: span.start,
            end: span.end,
        };
        Self { id: row.id, call }
    }
}

/// One end of a call, for exports.
pub(crate) fn call_end(line: &Line) -> CallEnd {
    let func = FuncId::from_index(line.func as usize);
    let cpu = line.cpu.map(|cpu| CpuId::from_index(cpu as usize));
    CallEnd {
        time: Tick(line.time),
        thread: ThreadId::from_index(line.thread as usize),
        entered: (line.event != Event::Exit).then_some((func, cpu)),
    }
}

/// An id, or none, in four bytes.
fn number(index: Option<usize>) -> [u8; 4] {
    index.map_or(0, |index| index as u32 + 1).to_le_bytes()
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn index(bytes: &[u8], at: usize) -> Option<usize> {
    short(bytes, at)?.checked_sub(1).map(|index| index as usize)
}

impl Record for Entry {
    const BYTES: usize = 40;

    fn append_to(&self, bytes: &mut Vec<u8>) {
        let Call { thread, depth, func, cpu, start, end } = self.call;
        bytes.extend(self.id.to_le_bytes());
        bytes.extend(start.0.to_le_bytes());
        bytes.extend(end.0.to_le_bytes());
        bytes.extend(depth.to_le_bytes());
        bytes.extend(number(Some(thread.index())));
        bytes.extend(number(Some(func.index())));
        bytes.extend(number(cpu.map(CpuId::index)));
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let call = Call {
            thread: ThreadId::from_index(index(bytes, 28)?),
            depth: short(bytes, 24)?,
            func: FuncId::from_index(index(bytes, 32)?),
            cpu: index(bytes, 36).map(CpuId::from_index),
            start: Tick(long(bytes, 8)?),
            end: Tick(long(bytes, 16)?),
        };
        Some(Self { id: long(bytes, 0)?, call })
    }
}

impl Sortable for Entry {
    type Key = u64;
    fn key(&self) -> u64 {
        self.id
    }
}

impl Record for PathRow {
    const BYTES: usize = 60;

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(number(self.thread.map(ThreadId::index)));
        bytes.extend(self.depth.to_le_bytes());
        bytes.extend(number(Some(self.func.index())));
        let sums = [self.elapsed, self.net, self.elapsed_min, self.elapsed_max];
        for sum in [self.calls, self.partial].into_iter().chain(sums.map(|ticks| ticks.0)) {
            bytes.extend(sum.to_le_bytes());
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            thread: index(bytes, 0).map(ThreadId::from_index),
            depth: short(bytes, 4)?,
            func: FuncId::from_index(index(bytes, 8)?),
            calls: long(bytes, 12)?,
            partial: long(bytes, 20)?,
            elapsed: Ticks(long(bytes, 28)?),
            net: Ticks(long(bytes, 36)?),
            elapsed_min: Ticks(long(bytes, 44)?),
            elapsed_max: Ticks(long(bytes, 52)?),
        })
    }
}

/// Whether an input holds sums of functions and no single call.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    has_calls: bool,
    has_totals: bool,
}

impl Sums {
    /// Whether there are sums and nothing else.
    pub(crate) fn is_all(&self) -> bool {
        self.has_totals && !self.has_calls
    }
}

impl SpanSink for Sums {
    fn span(&mut self, _: &Span, _: &Names) {
        self.has_calls = true;
    }
    fn record(&mut self, record: TraceRecord<'_>, _: &Names) {
        self.has_totals |= matches!(record, TraceRecord::Total(_));
    }
}

impl SelectThreads for Sums {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, _: &dyn Fn(ThreadId) -> bool) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let mut bytes = Vec::new();
        for cpu in [None, Some(CpuId::from_index(7))] {
            let call = Call {
                thread: ThreadId::from_index(3),
                depth: 70_000,
                func: FuncId::from_index(0),
                cpu,
                start: Tick(1 << 40),
                end: Tick(u64::MAX),
            };
            bytes.clear();
            Entry { id: 1 << 33, call }.append_to(&mut bytes);
            assert_eq!(bytes.len(), Entry::BYTES);
            let back = Entry::from_bytes(&bytes).unwrap();
            assert_eq!((back.id, back.call), (1 << 33, call));
        }
        for thread in [None, Some(ThreadId::from_index(0))] {
            let row = PathRow {
                thread,
                depth: 2,
                func: FuncId::from_index(9),
                calls: 1,
                partial: 2,
                elapsed: Ticks(3),
                net: Ticks(4),
                elapsed_min: Ticks(5),
                elapsed_max: Ticks(u64::MAX),
            };
            bytes.clear();
            row.append_to(&mut bytes);
            assert_eq!(bytes.len(), PathRow::BYTES);
            assert_eq!(PathRow::from_bytes(&bytes), Some(row));
        }
    }
}
