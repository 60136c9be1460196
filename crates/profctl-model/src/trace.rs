//! A whole trace in memory: columns of spans, parents before children.
//!
//! The streaming summary never builds one; whatever needs the order of calls does.

use crate::id::{CpuId, FuncId, IdVec, SpanId, ThreadId};
use crate::meta::TraceMeta;
use crate::names::Names;
use crate::sched::{ThreadLife, ThreadState, Wake};
use crate::span::{Fidelity, Gap, Mark, Record, SelectThreads, Span, SpanSink};
use crate::time::{Tick, Ticks};

/// One trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Clock, span of time, quality.
    pub meta: TraceMeta,
    /// Functions, threads, CPUs.
    pub names: Names,
    /// The calls: by thread, then in the order of entry; parents before children.
    pub spans: Spans,
    /// What threads were doing: by thread, then in time order. Empty where the input does not say.
    pub states: Vec<ThreadState>,
    /// Who woke whom, in time order.
    pub wakes: Vec<Wake>,
    /// Beginnings and ends of threads that have states, by thread.
    pub lives: Vec<ThreadLife>,
    /// What was lost.
    pub gaps: Vec<Gap>,
    /// Instants.
    pub marks: Vec<Mark>,
}

impl Trace {
    /// The states of one thread, in time order.
    pub fn states_of(&self, thread: ThreadId) -> &[ThreadState] {
        let first = self.states.partition_point(|state| state.thread < thread);
        let count = self.states[first..].partition_point(|state| state.thread == thread);
        &self.states[first..first + count]
    }

    /// The beginning and end of a thread that has states.
    pub fn life_of(&self, thread: ThreadId) -> Option<&ThreadLife> {
        let after = self.lives.partition_point(|life| life.thread <= thread);
        self.lives[..after].last().filter(|life| life.thread == thread)
    }
}

/// Calls in columns; all of one length.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// What was called.
    pub func: IdVec<SpanId, FuncId>,
    /// On whose stack.
    pub thread: Vec<ThreadId>,
    /// Where it ended.
    pub cpu: Vec<Option<CpuId>>,
    /// The caller.
    pub parent: Vec<Option<SpanId>>,
    /// Number of callers.
    pub depth: Vec<u32>,
    /// Entry.
    pub start: Vec<Tick>,
    /// Exit.
    pub end: Vec<Tick>,
    /// See [`Span::wall`].
    pub wall: Vec<Ticks>,
    /// See [`Span::off_cpu`].
    pub off_cpu: Vec<Ticks>,
    /// See [`Span::net`].
    pub net: Vec<Ticks>,
    /// See [`Span::stolen`].
    pub stolen: Vec<Ticks>,
    /// See [`Span::fidelity`].
    pub fidelity: Vec<Fidelity>,
    /// Whether no caller, or caller of a caller, is of the same function.
    pub outermost: Vec<bool>,
    /// Number of calls below it, which are the rows that follow it.
    pub below: Vec<u32>,
    /// See [`Span::interrupt`].
    pub interrupt: Vec<bool>,
}

impl Spans {
    /// Number of calls.
    pub fn len(&self) -> usize {
        self.func.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.func.is_empty()
    }
    /// All ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = SpanId> + use<> {
        (0..self.len()).map(SpanId::from_index)
    }
    /// `wall − off_cpu` of one call.
    pub fn elapsed(&self, id: SpanId) -> Ticks {
        self.wall[id.index()] - self.off_cpu[id.index()]
    }
    /// The direct callees of one call, in the order of entry.
    pub fn children(&self, id: SpanId) -> impl Iterator<Item = SpanId> + '_ {
        let end = id.index() + 1 + self.below[id.index()] as usize;
        let next = move |row: usize| (row < end).then_some(row);
        let sibling = move |&row: &usize| next(row + 1 + self.below[row] as usize);
        std::iter::successors(next(id.index() + 1), sibling).map(SpanId::from_index)
    }

    fn push(&mut self, span: &Span, parent: Option<SpanId>, depth: u32) -> SpanId {
        let id = self.func.push(span.func);
        self.thread.push(span.thread);
        self.cpu.push(span.cpu);
        self.parent.push(parent);
        self.depth.push(depth);
        self.start.push(span.start);
        self.end.push(span.end);
        self.wall.push(span.wall);
        self.off_cpu.push(span.off_cpu);
        self.net.push(span.net);
        self.stolen.push(span.stolen);
        self.fidelity.push(span.fidelity);
        self.outermost.push(span.outermost);
        self.below.push(0);
        self.interrupt.push(span.interrupt);
        id
    }
}

/// Collects a stitched stream into a [`Trace`].
#[derive(Debug, Default)]
pub struct TraceBuilder {
    threads: IdVec<ThreadId, Forest>,
    states: Vec<ThreadState>,
    wakes: Vec<Wake>,
    lives: Vec<ThreadLife>,
    gaps: Vec<Gap>,
    marks: Vec<Mark>,
    has_totals: bool,
}

/// The spans of one thread as they end (children first), with the number of descendants each, by
/// which the order of entry is found again.
#[derive(Debug, Default)]
struct Forest {
    spans: Vec<Span>,
    /// The indices in `spans` of those that have no parent yet.
    roots: Vec<u32>,
    /// For each span, its direct callees, stored as first-child and next-sibling links, `u32::MAX`
    /// for none.
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Forest {
    fn push(&mut self, span: &Span) {
        let index = u32::try_from(self.spans.len()).expect("a trace in memory has < 2^32 calls");
        let followed = self.roots.len().saturating_sub(span.late.roots as usize);
        let adopted = followed.saturating_sub(span.callees as usize);
        let children = &self.roots[adopted..followed];
        for pair in children.windows(2) {
            self.next_sibling[pair[0] as usize] = pair[1];
        }
        self.first_child.push(children.first().copied().unwrap_or(NONE));
        self.next_sibling.push(NONE);
        if followed == self.roots.len() {
            self.roots.truncate(adopted);
            self.roots.push(index);
        } else {
            self.roots.splice(adopted..followed, [index]);
        }
        self.spans.push(*span);
    }

    /// Appends all spans to `out`, parents before children.
    fn drain_into(mut self, step: Ticks, out: &mut Spans) {
        let start = out.len();
        let roots = std::mem::take(&mut self.roots);
        self.place(&roots, (Tick(0), Tick(u64::MAX)), step);
        let mut path = Path::default();
        let mut left: Vec<_> = roots.iter().rev().map(|&root| (root, None::<SpanId>)).collect();
        while let Some((index, parent)) = left.pop() {
            let mut span = self.spans[index as usize];
            let depth = parent.map_or(0, |p| out.depth[p.index()] + 1);
            span.outermost = path.enter(depth as usize, span.func);
            let id = out.push(&span, parent, depth);
            let children = self.children(index);
            self.place(&children, (span.start, span.end), step);
            left.extend(children.iter().rev().map(|&child| (child, Some(id))));
        }
        // Callees are after their callers, so all of a call is counted when its turn comes.
        for row in (start..out.len()).rev() {
            if let Some(parent) = out.parent[row] {
                out.below[parent.index()] += out.below[row] + 1;
            }
        }
    }

    fn children(&self, index: u32) -> Vec<u32> {
        let some = |index: u32| (index != NONE).then_some(index);
        let first = some(self.first_child[index as usize]);
        std::iter::successors(first, |&child| some(self.next_sibling[child as usize])).collect()
    }

    /// Puts siblings between two times, one after the other: see [`place`].
    fn place(&mut self, siblings: &[u32], (earliest, latest): (Tick, Tick), step: Ticks) {
        // What came late to a call has its place between that call and the next.
        let mut waiting = vec![(siblings, (earliest, latest))];
        while let Some((siblings, (earliest, mut latest))) = waiting.pop() {
            let mut groups = Vec::with_capacity(siblings.len());
            let mut rest = siblings;
            while let Some((&first, after)) = rest.split_first() {
                let late = self.spans[first as usize].late.roots as usize;
                let (late, next) = after.split_at(late.min(after.len()));
                groups.push((first, late));
                rest = next;
            }
            for (index, late) in groups.into_iter().rev() {
                let span = &mut self.spans[index as usize];
                place(span, (earliest, latest), step);
                if !late.is_empty() {
                    waiting.push((late, (span.end, latest)));
                }
                latest = span.start;
            }
        }
    }
}

/// Gives a call its place on the timeline, between two times. Siblings are placed from the last to
/// the first, each before the one after it.
///
/// Timestamps are coarser than stated durations, so a call may stick out of its caller, or into its
/// neighbor, by less than `step`: that is cut off. And where a recorder was kept from writing an
/// entry after it had taken the time, the call began long before its timestamp: it is moved back as
/// far as there is space.
pub(crate) fn place(span: &mut Span, (earliest, latest): (Tick, Tick), step: Ticks) {
    span.end = span.end.min(latest).max(earliest);
    if span.wall > (span.end - span.start) + step {
        span.start = span.end - span.wall;
    }
    span.start = span.start.clamp(earliest, span.end);
}

/// The functions on the way from the outermost call to the current one.
#[derive(Debug, Default)]
struct Path {
    funcs: Vec<FuncId>,
    /// How often each function is on the way.
    open: IdVec<FuncId, u32>,
}

impl Path {
    /// Enters a call of `func` at `depth`; says whether no other call of it is open there.
    fn enter(&mut self, depth: usize, func: FuncId) -> bool {
        for left in self.funcs.drain(depth.min(self.funcs.len())..) {
            self.open[left] -= 1;
        }
        self.funcs.push(func);
        let open = self.open.grow_to(func);
        *open += 1;
        *open == 1
    }
}

impl SpanSink for TraceBuilder {
    fn span(&mut self, span: &Span, _names: &Names) {
        self.threads.grow_to(span.thread).push(span);
    }
    fn record(&mut self, record: Record<'_>, _names: &Names) {
        match record {
            Record::State(state) => self.states.push(*state),
            Record::Wake(wake) => self.wakes.push(*wake),
            Record::Life(life) => self.lives.push(*life),
            Record::Gap(gap) => self.gaps.push(*gap),
            Record::Mark(mark) => self.marks.push(mark.clone()),
            Record::Total(_) => self.has_totals = true,
            // Which calls are outermost is seen from the whole.
            Record::Enclosed(_) | Record::Outermost(_) | Record::SoFar(_) => {}
        }
    }
}

impl SelectThreads for TraceBuilder {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        let threads = std::mem::take(&mut self.threads).into_items();
        let kept = threads.into_iter().enumerate().map(|(index, forest)| {
            if keep(ThreadId::from_index(index)) { forest } else { Forest::default() }
        });
        self.threads = kept.collect();
    }
}

impl TraceBuilder {
    /// Whether all that came were sums of functions: there is no call to order then.
    pub fn holds_only_sums(&self) -> bool {
        self.has_totals && self.threads.iter().all(|forest| forest.spans.is_empty())
    }

    /// The trace, once everything was passed on.
    pub fn finish(self, meta: TraceMeta, names: Names) -> Trace {
        let mut spans = Spans::default();
        let Self { threads, mut states, mut wakes, mut lives, gaps, marks, .. } = self;
        states.sort_by_key(|state| (state.thread, state.start));
        wakes.sort_by_key(|wake| wake.time);
        lives.sort_by_key(|life| life.thread);
        for forest in threads.into_items() {
            forest.drain_into(meta.timebase.microsecond(), &mut spans);
        }
        Trace { meta, names, spans, states, wakes, lives, gaps, marks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::DiagLog;
    use crate::names::Func;
    use crate::span::Late;
    use crate::time::Timebase;

    /// Calls nested `depth` deep, each with two leaves before it, take a moment, and their callees
    /// are who they were made by.
    #[test]
    #[cfg_attr(miri, ignore = "takes hours there")]
    fn children_cost_no_more_than_they_are() {
        const DEPTH: u32 = 100_000;
        let mut names = Names::default();
        let func = names.func(Func::default());
        let mut builder = TraceBuilder::default();
        let mut call = |start: u64, end: u64, callees: u32| {
            let span = Span {
                func,
                thread: ThreadId::from_index(0),
                cpu: None,
                start: Tick(start),
                end: Tick(end),
                wall: Ticks(end - start),
                off_cpu: Ticks(0),
                net: Ticks(0),
                stolen: Ticks(0),
                callees,
                descendants: 0,
                late: Late::NONE,
                outermost: true,
                interrupt: false,
                fidelity: Fidelity::EXACT,
            };
            builder.span(&span, &names);
        };
        // As they end: the leaves of every level on the way down, then the levels from the inside.
        for level in 0..u64::from(DEPTH) {
            call(3 * level, 3 * level + 1, 0);
            call(3 * level + 1, 3 * level + 2, 0);
        }
        for level in (0..u64::from(DEPTH)).rev() {
            let callees = if level + 1 == u64::from(DEPTH) { 2 } else { 3 };
            call(3 * level, 6 * u64::from(DEPTH) - level, callees);
        }
        let meta = TraceMeta {
            timebase: Timebase::NANOSECONDS,
            first: Tick(0),
            last: Tick(6 * u64::from(DEPTH)),
            events: 0,
            knows_off_cpu: false,
            diags: DiagLog::default(),
        };
        let spans = builder.finish(meta, names).spans;
        assert_eq!(spans.len() as u32, 3 * DEPTH);
        let mut n_children = 0;
        for id in spans.ids() {
            for child in spans.children(id) {
                assert_eq!(spans.parent[child.index()], Some(id));
                n_children += 1;
            }
        }
        assert_eq!(n_children, 3 * DEPTH - 1);
    }
}
