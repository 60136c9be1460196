//! All calls of a trace, each with its place among the others, in memory that does not grow with
//! the trace.
//!
//! Calls come in the order in which they end, callees before callers, so who called a call and how
//! deep it is are known only later. [`Spool`] packs calls into blocks and puts these on a stack
//! that may lie on disk. Once all is read, the stack is taken down: read backwards, every call
//! comes before its callees, and one stack per thread is all it takes to number them. The numbered
//! blocks go on a second stack, which turns them around again: [`Rows`] gives the calls in the
//! order in which they ended.

mod code;
mod figures;
mod open;

use std::io;

use crate::id::{FuncId, IdVec, ThreadId};
use crate::names::Names;
use crate::sched::{ThreadLife, ThreadState, Wake};
use crate::span::{Gap, Mark, Record, SelectThreads, Span, SpanSink};
use crate::time::{Tick, Ticks};
use crate::trace::place;
pub use figures::{Figure, FigureBlock, FigureBlocks, FigureSpool, Values};
pub use open::OpenCalls;

/// One call with its place among the calls of its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanRow {
    /// Its number, from 0: by thread, then in the order of entry. It is the row that the call has
    /// in a [`crate::Trace`].
    pub id: u64,
    /// The number of its caller.
    pub parent: Option<u64>,
    /// Number of callers.
    pub depth: u32,
    /// The call. It lies within its caller and beside its neighbors: where the clock is coarser
    /// than stated durations, what sticks out is cut off its end.
    pub span: Span,
}

/// Where blocks are put, last in, first out: memory, or a file of the caller.
pub trait BlockStack {
    /// Puts a block on top.
    fn push(&mut self, block: &[u8]) -> io::Result<()>;
    /// Takes the topmost block off; nothing if there is none.
    fn pop(&mut self) -> io::Result<Option<Vec<u8>>>;
}

impl BlockStack for Vec<Vec<u8>> {
    fn push(&mut self, block: &[u8]) -> io::Result<()> {
        Vec::push(self, block.to_vec());
        Ok(())
    }
    fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(Vec::pop(self))
    }
}

/// Calls in a block: few enough that they stay in the cache from one step to the next.
const BLOCK_ROWS: usize = 1 << 11;

/// Collects what a trace says.
#[derive(Debug)]
pub struct Spool<B> {
    ended: B,
    rows: Vec<SpanRow>,
    block_rows: usize,
    /// Where blocks are packed.
    buffer: Vec<u8>,
    keeps_calls: bool,
    /// Calls so far.
    of_thread: IdVec<ThreadId, u64>,
    other: Others,
    /// Threads whose calls are omitted when they are numbered.
    dropped: IdVec<ThreadId, bool>,
    /// The first failure to put a block away; what comes after it is dropped.
    broken: Option<io::Error>,
}

/// What a trace says besides calls, each in the order in which it came.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// How many calls each thread made.
    pub calls: IdVec<ThreadId, u64>,
    /// What threads were doing.
    pub states: Vec<ThreadState>,
    /// Who woke whom.
    pub wakes: Vec<Wake>,
    /// Beginnings and ends of threads that have states.
    pub lives: Vec<ThreadLife>,
    /// What was lost.
    pub gaps: Vec<Gap>,
    /// Instants.
    pub marks: Vec<Mark>,
}

impl<B: BlockStack> Spool<B> {
    /// Nothing yet; blocks will go to `stack`.
    pub fn new(stack: B) -> Self {
        Self::with_block_rows(stack, BLOCK_ROWS)
    }

    /// The same with so many calls in a block.
    pub fn with_block_rows(stack: B, block_rows: usize) -> Self {
        Self {
            ended: stack,
            rows: Vec::new(),
            block_rows: block_rows.max(1),
            buffer: Vec::new(),
            keeps_calls: true,
            of_thread: IdVec::default(),
            other: Others::default(),
            dropped: IdVec::default(),
            broken: None,
        }
    }

    /// The same without the calls themselves, which are only counted.
    #[must_use]
    pub fn without_calls(mut self) -> Self {
        self.keeps_calls = false;
        self
    }

    /// Numbers the calls on the way from the stack of this spool to `numbered`, an empty one. `step`
    /// is what timestamps may be coarser than stated durations.
    pub fn finish(self, mut numbered: B, step: Ticks) -> io::Result<(Rows<B>, Others)> {
        let mut buffer = Vec::new();
        let (calls, others) =
            self.each_block_backwards(step, |rows| numbered.push(code::pack(rows, &mut buffer)))?;
        Ok((Rows { blocks: numbered, calls, block: Vec::new() }, others))
    }

    /// Passes every call to `take`, a caller before its callees and the last of a thread first.
    pub fn callers_first(self, step: Ticks, mut take: impl FnMut(&SpanRow)) -> io::Result<Others> {
        let (_, others) = self.each_block_backwards(step, |rows| {
            rows.iter().rev().for_each(&mut take);
            Ok(())
        })?;
        Ok(others)
    }

    /// Numbers the calls of each block, from the last to the first; says how many there are.
    fn each_block_backwards(
        mut self,
        step: Ticks,
        mut take: impl FnMut(&[SpanRow]) -> io::Result<()>,
    ) -> io::Result<(u64, Others)> {
        self.close()?;
        let mut first = 0;
        let mut threads = Vec::with_capacity(self.of_thread.len());
        for &calls in &self.of_thread {
            first += calls;
            threads.push(Below::new(first, step));
        }
        let mut rows = std::mem::take(&mut self.rows);
        while let Some(block) = self.ended.pop()? {
            code::unpack(&block, &mut rows)?;
            if self.dropped.iter().any(|&is_out| is_out) {
                rows.retain(|row| self.dropped.get(row.span.thread) != Some(&true));
            }
            for row in rows.iter_mut().rev() {
                threads[row.span.thread.index()].place(row);
            }
            take(&rows)?;
        }
        self.other.calls = self.of_thread;
        Ok((first, self.other))
    }

    /// Puts the last block away; fails if one could not be.
    fn close(&mut self) -> io::Result<()> {
        self.put_away();
        self.broken.take().map_or(Ok(()), Err)
    }

    #[cold]
    fn put_away(&mut self) {
        if self.broken.is_none() && !self.rows.is_empty() {
            self.broken = self.ended.push(code::pack(&self.rows, &mut self.buffer)).err();
        }
        self.rows.clear();
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a spilled block is damaged")
}

impl<B: BlockStack> SpanSink for Spool<B> {
    #[inline]
    fn span(&mut self, span: &Span, _names: &Names) {
        *self.of_thread.grow_to(span.thread) += 1;
        if !self.keeps_calls {
            return;
        }
        self.rows.push(SpanRow { id: 0, parent: None, depth: 0, span: *span });
        if self.rows.len() >= self.block_rows {
            self.put_away();
        }
    }
    fn record(&mut self, record: Record<'_>, _names: &Names) {
        match record {
            Record::State(state) => self.other.states.push(*state),
            Record::Wake(wake) => self.other.wakes.push(*wake),
            Record::Life(life) => self.other.lives.push(*life),
            Record::Gap(gap) => self.other.gaps.push(*gap),
            Record::Mark(mark) => self.other.marks.push(mark.clone()),
            // Sums of functions are no rows; a caller that wants them has a summary beside this.
            Record::Total(_) | Record::Enclosed(_) | Record::Outermost(_) | Record::SoFar(_) => {}
        }
    }
}

impl<B: BlockStack> SelectThreads for Spool<B> {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        let ids = (0..self.of_thread.len()).map(ThreadId::from_index);
        self.dropped = ids.map(|thread| !keep(thread)).collect();
        let calls = std::mem::take(&mut self.of_thread).into_items();
        let kept = calls.into_iter().zip(&self.dropped);
        self.of_thread = kept.map(|(calls, &is_out)| if is_out { 0 } else { calls }).collect();
    }
}

/// Numbers calls without a spool: all those of one thread from one moment to another at which none
/// was open.
#[derive(Debug)]
pub struct Numbering(Below);

impl Numbering {
    /// `step` is what timestamps may be coarser than stated durations.
    pub fn new(step: Ticks) -> Self {
        Self(Below::new(0, step))
    }

    /// Gives calls, in the order in which they ended, their places, numbered from 0. None of them
    /// begins before `earliest`.
    pub fn place(&mut self, rows: &mut [SpanRow], earliest: Tick) {
        let below = &mut self.0;
        (below.ids_end, below.earliest) = (rows.len() as u64, earliest);
        below.latest = Tick(u64::MAX);
        for row in rows.iter_mut().rev() {
            below.place(row);
        }
        // What is left on the stack are calls all of whose callees were placed.
        for caller in below.open.drain(..).filter(|caller| caller.is_counted) {
            below.open_funcs[caller.func] -= 1;
        }
    }
}

/// What of a thread is still to come when its calls are read backwards.
#[derive(Debug)]
struct Below {
    /// Numbers from here on are given away.
    ids_end: u64,
    /// The time from which on calls are placed, and before which none is.
    latest: Tick,
    earliest: Tick,
    /// Calls whose callees are still to come, the innermost last.
    open: Vec<Caller>,
    /// How many of those are of each function.
    open_funcs: IdVec<FuncId, u32>,
    step: Ticks,
}

#[derive(Debug)]
struct Caller {
    func: FuncId,
    id: u64,
    depth: u32,
    callees_left: u32,
    start: Tick,
    /// As in [`Below`], of its callees.
    ids_end: u64,
    latest: Tick,
    late: Followers,
    /// Whether it is among [`Below::open_funcs`]: calls that follow it are not below it.
    is_counted: bool,
}

/// What came late to a call: it is read before the callees of that call.
#[derive(Debug)]
struct Followers {
    left: u32,
    /// As in [`Below`].
    ids_end: u64,
    latest: Tick,
    /// When that call ended.
    earliest: Tick,
    parent: Option<u64>,
}

impl Below {
    fn new(ids_end: u64, step: Ticks) -> Self {
        Self {
            ids_end,
            latest: Tick(u64::MAX),
            earliest: Tick(0),
            open: Vec::new(),
            open_funcs: IdVec::default(),
            step,
        }
    }

    /// Says where the call that ended before all those placed so far belongs.
    fn place(&mut self, row: &mut SpanRow) {
        while let Some(top) = self.open.last_mut().filter(|top| top.late.left == 0) {
            if !std::mem::replace(&mut top.is_counted, true) {
                *self.open_funcs.grow_to(top.func) += 1;
            }
            if top.callees_left > 0 {
                break;
            }
            self.open_funcs[top.func] -= 1;
            self.open.pop();
        }
        let span = &mut row.span;
        span.outermost = self.open_funcs.get(span.func).is_none_or(|&n| n == 0);
        let taken = span.late.roots.saturating_add(1);
        let mut earliest = self.earliest;
        let (ids_end, latest) = match self.open.last_mut() {
            Some(Caller { late, depth, .. }) if late.left > 0 => {
                late.left = late.left.saturating_sub(taken);
                row.parent = late.parent;
                row.depth = *depth;
                earliest = late.earliest;
                (&mut late.ids_end, &mut late.latest)
            }
            Some(caller) => {
                caller.callees_left = caller.callees_left.saturating_sub(taken);
                row.parent = Some(caller.id);
                row.depth = caller.depth.saturating_add(1);
                earliest = caller.start;
                (&mut caller.ids_end, &mut caller.latest)
            }
            None => {
                row.depth = 0;
                (&mut self.ids_end, &mut self.latest)
            }
        };
        let (whole, until) = (*ids_end, *latest);
        let own = whole.saturating_sub(span.late.calls);
        row.id = own.saturating_sub(span.descendants.saturating_add(1));
        *ids_end = row.id;
        place(span, (earliest, until), self.step);
        *latest = span.start;
        if span.callees > 0 || span.late.roots > 0 {
            self.open.push(Caller {
                func: span.func,
                id: row.id,
                depth: row.depth,
                callees_left: span.callees,
                start: span.start,
                ids_end: own,
                latest: span.end,
                late: Followers {
                    left: span.late.roots,
                    ids_end: whole,
                    latest: until,
                    earliest: span.end,
                    parent: row.parent,
                },
                is_counted: false,
            });
        }
    }
}

/// The calls of a trace.
#[derive(Debug)]
pub struct Rows<B> {
    blocks: B,
    calls: u64,
    block: Vec<SpanRow>,
}

impl<B: BlockStack> Rows<B> {
    /// How many there were when none was taken yet.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The next of them, in the order in which they ended; nothing after the last.
    pub fn next_block(&mut self) -> io::Result<Option<&mut [SpanRow]>> {
        let Some(block) = self.blocks.pop()? else { return Ok(None) };
        code::unpack(&block, &mut self.block)?;
        Ok(Some(&mut self.block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{Fidelity, Late};

    fn span(thread: usize, start: u64, end: u64, callees: u32, descendants: u64) -> Span {
        Span {
            func: FuncId::from_index(0),
            thread: ThreadId::from_index(thread),
            cpu: None,
            start: Tick(start),
            end: Tick(end),
            wall: Tick(end) - Tick(start),
            off_cpu: Ticks(0),
            net: Ticks(1),
            stolen: Ticks(0),
            callees,
            descendants,
            late: Late::NONE,
            outermost: true,
            interrupt: false,
            fidelity: Fidelity::EXACT,
        }
    }

    /// Number, caller, depth, entry and exit of each call.
    type Placed = (u64, Option<u64>, u32, u64, u64);

    fn placed(spans: &[Span], block_rows: usize) -> Vec<Placed> {
        let mut spool = Spool::with_block_rows(Vec::new(), block_rows);
        for span in spans {
            spool.span(span, &Names::default());
        }
        let (mut rows, _) = spool.finish(Vec::new(), Ticks(2)).unwrap();
        assert_eq!(rows.calls(), spans.len() as u64);
        let mut all = Vec::new();
        while let Some(block) = rows.next_block().unwrap() {
            assert!(block.len() <= block_rows);
            all.extend(
                block
                    .iter()
                    .map(|row| (row.id, row.parent, row.depth, row.span.start.0, row.span.end.0)),
            );
        }
        all
    }

    #[test]
    fn calls_that_ended_get_the_numbers_of_the_order_of_entry() {
        // main( f( g() ) h() ) on one thread, k() before and after it on another.
        let spans = [
            span(1, 0, 1, 0, 0),
            span(0, 3, 4, 0, 0),
            span(0, 2, 5, 1, 1),
            span(0, 6, 7, 0, 0),
            span(1, 6, 8, 0, 0),
            span(0, 1, 9, 2, 3),
        ];
        let expected = [
            (4, None, 0, 0, 1),
            (2, Some(1), 2, 3, 4),
            (1, Some(0), 1, 2, 5),
            (3, Some(0), 1, 6, 7),
            (5, None, 0, 6, 8),
            (0, None, 0, 1, 9),
        ];
        for block_rows in 1..8 {
            assert_eq!(placed(&spans, block_rows), expected, "{block_rows} a block");
        }
    }

    #[test]
    fn calls_of_dropped_threads_have_no_numbers() {
        let spans = [span(0, 2, 3, 0, 0), span(1, 3, 4, 0, 0), span(0, 1, 5, 1, 1)];
        for block_rows in 1..4 {
            let mut spool = Spool::with_block_rows(Vec::new(), block_rows);
            for span in &spans {
                spool.span(span, &Names::default());
            }
            spool.keep_threads(&|thread| thread.index() == 0);
            let (mut rows, others) = spool.finish(Vec::new(), Ticks(0)).unwrap();
            assert_eq!(rows.calls(), 2);
            assert_eq!(others.calls.into_items(), [2, 0]);
            let mut all = Vec::new();
            while let Some(block) = rows.next_block().unwrap() {
                all.extend(block.iter().map(|row| (row.id, row.span.start, row.span.end)));
            }
            assert_eq!(all, [(1, Tick(2), Tick(3)), (0, Tick(1), Tick(5))], "{block_rows} a block");
        }
    }

    #[test]
    fn what_sticks_out_is_cut_off_its_end() {
        // A stated duration reaches into the next call, another past the end of the caller.
        let spans = [span(0, 2, 6, 0, 0), span(0, 5, 12, 0, 0), span(0, 1, 10, 2, 2)];
        let expected = [(1, Some(0), 1, 2, 5), (2, Some(0), 1, 5, 10), (0, None, 0, 1, 10)];
        assert_eq!(placed(&spans, 2), expected);
    }

    #[test]
    fn what_began_before_its_timestamp_is_moved_back() {
        // The second callee took 6 and was stamped 2 before its caller ended.
        let spans = [span(0, 2, 3, 0, 0), span(0, 8, 14, 0, 0), span(0, 1, 10, 2, 2)];
        let expected = [(1, Some(0), 1, 2, 3), (2, Some(0), 1, 4, 10), (0, None, 0, 1, 10)];
        assert_eq!(placed(&spans, 2), expected);
    }

    #[test]
    fn what_came_late_follows() {
        // f( a() ) then the interrupts irq( g() ) and soft() before the exit of f() was recorded,
        // all below main(). A late call may itself have late calls.
        let late = |roots, calls, span: Span| Span { late: Late { roots, calls }, ..span };
        let spans = [
            span(0, 2, 3, 0, 0),
            span(0, 6, 7, 0, 0),
            span(0, 5, 8, 1, 1),
            span(0, 9, 10, 0, 0),
            late(2, 3, span(0, 1, 4, 1, 1)),
            span(0, 0, 12, 3, 5),
        ];
        let expected = [
            (2, Some(1), 2, 2, 3),
            (4, Some(3), 2, 6, 7),
            (3, Some(0), 1, 5, 8),
            (5, Some(0), 1, 9, 10),
            (1, Some(0), 1, 1, 4),
            (0, None, 0, 0, 12),
        ];
        for block_rows in 1..8 {
            assert_eq!(placed(&spans, block_rows), expected, "{block_rows} a block");
        }
    }

    #[derive(Debug)]
    struct Full;

    impl BlockStack for Full {
        fn push(&mut self, _block: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
            Ok(None)
        }
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let mut spool = Spool::with_block_rows(Full, 1);
        spool.span(&span(0, 0, 1, 0, 0), &Names::default());
        spool.span(&span(0, 1, 2, 0, 0), &Names::default());
        assert_eq!(spool.finish(Full, Ticks(0)).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
