//! A trace whose calls wait on disk, for commands that need all of them and not at once: memory
//! grows with functions, threads and paths, not with the trace.

use std::path::Path;
use std::sync::Arc;

use profctl_analyze::tree::Merger;
use profctl_model::spool::{Others, Rows};
use profctl_model::{
    CallTree, IdVec, Names, Record, SelectThreads, Span, SpanSink, Spool, ThreadId, TraceMeta,
};

use crate::exit::Failure;
use crate::input::session::{Read, Session};
use crate::runs::no_room;
use crate::spill::{Spill, Temporary};

/// Bytes of calls that stay in memory; more wait in a file.
const IN_MEMORY: usize = 16 << 20;

/// The merged calls of each thread that has some, with what is known of the trace besides.
type ThreadTrees = (Vec<(ThreadId, CallTree)>, Names, TraceMeta);

/// A trace that was read.
pub(crate) struct Spooled {
    spool: Spool<Spill>,
    /// Functions, threads, CPUs.
    pub(crate) names: Names,
    /// Clock, span of time, quality.
    pub(crate) meta: TraceMeta,
    /// Where calls wait.
    pub(crate) temporary: Arc<Temporary>,
}

impl Spooled {
    /// Reads one trace of calls.
    pub(crate) fn read(trace: &Path, session: &mut Session<'_>) -> Result<Self, Failure> {
        let temporary = Arc::new(Temporary::new().map_err(|error| no_room(&error))?);
        let spool = Spool::new(Spill::new(IN_MEMORY, Arc::clone(&temporary)));
        let Read { sink: (spool, sums), names, meta, .. } =
            session.one(trace, (spool, Sums::default()))?;
        if sums.is_all() {
            return Err(Failure::of_sums(trace));
        }
        Ok(Self { spool, names, meta, temporary })
    }

    /// The calls, numbered, in the order in which they ended, and what else there was.
    pub(crate) fn rows(self) -> Result<(Rows<Spill>, Others, Names, TraceMeta), Failure> {
        let spill = Spill::new(IN_MEMORY, Arc::clone(&self.temporary));
        let step = self.meta.timebase.microsecond();
        let (rows, others) = self.spool.finish(spill, step).map_err(|error| no_room(&error))?;
        Ok((rows, others, self.names, self.meta))
    }

    /// The calls merged by path.
    pub(crate) fn tree(self) -> Result<(CallTree, Names, TraceMeta), Failure> {
        let mut merger = Merger::default();
        let step = self.meta.timebase.microsecond();
        let taken = self.spool.callers_first(step, |row| merger.add(row));
        taken.map_err(|error| no_room(&error))?;
        Ok((merger.finish(), self.names, self.meta))
    }

    /// The same for each thread apart, those without calls left out.
    pub(crate) fn trees(self) -> Result<ThreadTrees, Failure> {
        let mut mergers: IdVec<ThreadId, Merger> = IdVec::default();
        let step = self.meta.timebase.microsecond();
        let taken = self.spool.callers_first(step, |row| mergers.grow_to(row.span.thread).add(row));
        taken.map_err(|error| no_room(&error))?;
        let trees = mergers.into_items().into_iter().map(Merger::finish).enumerate();
        let trees = trees.map(|(thread, tree)| (ThreadId::from_index(thread), tree));
        let trees = trees.filter(|(_, tree)| !tree.is_empty()).collect();
        Ok((trees, self.names, self.meta))
    }
}

/// Whether an input holds sums of functions and no single call.
#[derive(Debug, Default)]
struct Sums {
    has_calls: bool,
    has_totals: bool,
}

impl Sums {
    fn is_all(&self) -> bool {
        self.has_totals && !self.has_calls
    }
}

impl SpanSink for Sums {
    fn span(&mut self, _: &Span, _: &Names) {
        self.has_calls = true;
    }
    fn record(&mut self, record: Record<'_>, _: &Names) {
        self.has_totals |= matches!(record, Record::Total(_));
    }
}

impl SelectThreads for Sums {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, _: &dyn Fn(ThreadId) -> bool) {}
}
