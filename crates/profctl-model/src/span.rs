//! Calls and other records of a trace, and the sinks that consume them.

use std::sync::Arc;

use crate::id::{CpuId, FuncId, ThreadId};
use crate::meta::TraceMeta;
use crate::names::{Names, NewIds};
use crate::sched::{ThreadLife, ThreadState, Wake};
use crate::time::{Tick, Ticks, Timebase};

/// Which ends of a call were recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Fidelity {
    /// Its entry was not recorded; `start` is the earliest time from which it was watched.
    pub start_inferred: bool,
    /// Its exit was not recorded; `end` is the time at which it was last known to be open.
    pub end_inferred: bool,
    /// It was cut short because the recorder lost events.
    pub at_gap: bool,
}

impl Fidelity {
    /// Both ends were recorded.
    pub const EXACT: Self = Self { start_inferred: false, end_inferred: false, at_gap: false };

    /// Whether it counts as `partial` (SPEC §1).
    pub fn is_partial(self) -> bool {
        self.start_inferred || self.end_inferred
    }
}

/// One call of a function, from entry to exit, emitted by the stitcher when it ends.
///
/// `start` and `end` place it on the timeline; the lengths are what is summed. Where the input
/// states durations, `wall` is the stated one and may differ from `end - start` by the clock's
/// rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The function.
    pub func: FuncId,
    /// The thread.
    pub thread: ThreadId,
    /// The CPU on which it ended, if the input says.
    pub cpu: Option<CpuId>,
    /// Entry.
    pub start: Tick,
    /// Exit, never before `start`.
    pub end: Tick,
    /// Exit minus entry.
    pub wall: Ticks,
    /// The part of `wall` in which the thread was switched out; at most `wall`.
    pub off_cpu: Ticks,
    /// Net time: `elapsed` minus the elapsed of its direct callees.
    pub net: Ticks,
    /// Elapsed of the interrupts that interrupted it directly.
    pub stolen: Ticks,
    /// Direct callees, interrupts included.
    pub callees: u32,
    /// All calls below it, interrupts included.
    pub descendants: u64,
    /// Calls that were passed on before it and come after it.
    pub late: Late,
    /// Whether no call of the same function is open below it on the same stack. Some calls turn out
    /// to be otherwise later: see [`Enclosed`].
    pub outermost: bool,
    /// Whether it ran as an interrupt: its function is one, or it was called from an interrupt's
    /// entry.
    pub interrupt: bool,
    /// What of it was seen.
    pub fidelity: Fidelity,
}

impl Span {
    /// `wall − off_cpu`.
    #[inline]
    pub fn elapsed(&self) -> Ticks {
        self.wall - self.off_cpu
    }
}

/// Calls that ended between the end of a call and the record of that end: an interrupt that hit in
/// that moment. They are not its callees; they follow it, and have its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Late {
    /// How many.
    pub roots: u32,
    /// The same with all calls below them.
    pub calls: u64,
}

impl Late {
    /// None.
    pub const NONE: Self = Self { roots: 0, calls: 0 };
}

/// Events that the recorder lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The last time known before the loss.
    pub time: Tick,
    /// The CPU whose events are missing; all CPUs if unknown.
    pub cpu: Option<CpuId>,
    /// How many, if the recorder says.
    pub lost: Option<u64>,
}

/// Something that happened at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// When.
    pub time: Tick,
    /// What; of kind [`crate::FuncKind::Mark`].
    pub func: FuncId,
    /// On which thread.
    pub thread: ThreadId,
    /// How many calls of that thread were open.
    pub depth: u32,
    /// What the record says besides: the arguments of an event, the value of a counter.
    pub detail: Option<Arc<str>>,
}

/// What an input that holds sums, and no single call, says of one function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FuncTotals {
    /// Which function.
    pub func: FuncId,
    /// The thread.
    pub thread: ThreadId,
    /// How often it was called; 0 if it was running when the recording began.
    pub calls: u64,
    /// Time in it and in all it called, recursion counted once; at least `net`.
    pub elapsed: Ticks,
    /// Net time.
    pub net: Ticks,
}

/// Anything that a trace says besides calls.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A thread left a state.
    State(&'a ThreadState),
    /// A thread was woken.
    Wake(&'a Wake),
    /// All that is known of a thread's beginning and end; after its last state.
    Life(&'a ThreadLife),
    /// Events were lost.
    Gap(&'a Gap),
    /// An instant.
    Mark(&'a Mark),
    /// All calls of a function in one sum.
    Total(&'a FuncTotals),
    /// Calls turned out not to be outermost. Only sinks that sum outermost calls incrementally need
    /// it.
    Enclosed(&'a Enclosed),
    /// Calls turned out to be outermost: those around them came [`Late`], likewise.
    Outermost(&'a Enclosed),
    /// What is known of an input that is still being read, for who asked for it.
    SoFar(&'a TraceMeta),
}

/// Calls that were passed on as outermost, and lie, as turned out later, in a call of the same
/// function whose entry is missing. Their lengths are part of the length of that call, so a caller that
/// adds up outermost calls takes them away again. Or the other way around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enclosed {
    /// Their function.
    pub func: FuncId,
    /// Their thread.
    pub thread: ThreadId,
    /// The CPU on which they ended.
    pub cpu: Option<CpuId>,
    /// Whether they ran as interrupts.
    pub interrupt: bool,
    /// How many there were.
    pub calls: u64,
    /// The sum of their [`Span::wall`].
    pub wall: Ticks,
    /// The sum of their [`Span::off_cpu`].
    pub off_cpu: Ticks,
    /// The sum of their [`Span::descendants`].
    pub descendants: u64,
}

/// How far stitching has come, after a record of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The thread.
    pub thread: ThreadId,
    /// `None` if no call of the thread is open, and none that ended can get a caller any more. Else
    /// the earliest time at which one that is open, or that can, may begin.
    pub open_from: Option<Tick>,
    /// The latest time so far; on a synthetic timeline, that of the CPU that is furthest behind.
    pub now: Tick,
    /// The clock.
    pub timebase: Timebase,
}

/// Where a stitched trace flows: a streaming summary, or a [`crate::TraceBuilder`].
///
/// Spans of a thread come in the order in which their ends are recorded, so a call comes after all
/// its callees. Of the thread's latest parentless spans, `span.late.roots` follow it, and
/// `span.callees` before those are its own.
///
/// A sink that has no use for some kind of record says so: neither [`Self::span`] nor
/// [`Self::record`] has a default.
pub trait SpanSink {
    /// A call ended.
    fn span(&mut self, span: &Span, names: &Names);
    /// Something that is not a call.
    fn record(&mut self, record: Record<'_>, names: &Names);
    /// Whether [`Self::progress`] is called. Every record of a call then takes the stitcher's general
    /// path, so that it is called at the same places however the input is read.
    const WATCHES_PROGRESS: bool = false;
    /// A record of a call was stitched, and what followed from it was passed on.
    fn progress(&mut self, _progress: &Progress, _names: &Names) {}
    /// An empty sink of this kind for the records of some threads, to be passed to [`Self::join`]
    /// at the end; `None` if this sink needs the records of all threads in time order.
    fn part(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
    /// Adds the contents of a part. `names` are the names of this sink, and `ids` its ids by those
    /// of the part.
    fn join(&mut self, _part: Self, _ids: &NewIds, _names: &Names)
    where
        Self: Sized,
    {
        debug_assert!(false, "no part was given out");
    }
}

/// Two sinks of one stream. Three are a sink and two.
impl<A: SpanSink, B: SpanSink> SpanSink for (A, B) {
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn span(&mut self, span: &Span, names: &Names) {
        self.0.span(span, names);
        self.1.span(span, names);
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        self.0.record(record, names);
        self.1.record(record, names);
    }
    const WATCHES_PROGRESS: bool = A::WATCHES_PROGRESS || B::WATCHES_PROGRESS;
    fn progress(&mut self, progress: &Progress, names: &Names) {
        self.0.progress(progress, names);
        self.1.progress(progress, names);
    }
    fn part(&self) -> Option<Self> {
        Some((self.0.part()?, self.1.part()?))
    }
    fn join(&mut self, part: Self, ids: &NewIds, names: &Names) {
        self.0.join(part.0, ids, names);
        self.1.join(part.1, ids, names);
    }
}

#[inline(never)]
fn pass<S: SpanSink>(sink: &mut S, span: Span, names: &Names) {
    sink.span(&span, names);
}

/// A sink that may not be wanted.
impl<S: SpanSink> SpanSink for Option<S> {
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn span(&mut self, span: &Span, names: &Names) {
        if let Some(sink) = self {
            // A copy: without a sink, the span need not be in memory.
            pass(sink, *span, names);
        }
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        if let Some(sink) = self {
            sink.record(record, names);
        }
    }
    const WATCHES_PROGRESS: bool = S::WATCHES_PROGRESS;
    fn progress(&mut self, progress: &Progress, names: &Names) {
        if let Some(sink) = self {
            sink.progress(progress, names);
        }
    }
    fn part(&self) -> Option<Self> {
        match self {
            Some(sink) => sink.part().map(Some),
            None => Some(None),
        }
    }
    fn join(&mut self, part: Self, ids: &NewIds, names: &Names) {
        if let (Some(sink), Some(part)) = (self, part) {
            sink.join(part, ids, names);
        }
    }
}

/// A sink from which the records of single threads can be taken out again.
///
/// The names of threads are final only at the end of an input: recorders truncate them, or write
/// them last. So a selection of threads lets everything pass, and other threads are dropped at the
/// end. What a sink holds until then is bounded by functions times threads if it holds sums.
pub trait SelectThreads: SpanSink {
    /// From here on, what is of different threads is kept apart. Called before anything else.
    fn separate_threads(&mut self);
    /// Drops calls of threads that `keep` denies, and sums of them. Called once, after the last
    /// record. Other records are few and can be filtered by the caller.
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool);
}

impl<A: SelectThreads, B: SelectThreads> SelectThreads for (A, B) {
    fn separate_threads(&mut self) {
        self.0.separate_threads();
        self.1.separate_threads();
    }
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.0.keep_threads(keep);
        self.1.keep_threads(keep);
    }
}

impl<S: SelectThreads> SelectThreads for Option<S> {
    fn separate_threads(&mut self) {
        if let Some(sink) = self {
            sink.separate_threads();
        }
    }
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        if let Some(sink) = self {
            sink.keep_threads(keep);
        }
    }
}
