//! Single calls of one function, few enough to be drawn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use profctl_model::{
    CpuId, Fidelity, FuncId, IdVec, Names, Record, SelectThreads, Span, SpanSink, ThreadId, Tick,
    Ticks, Trace,
};

use crate::find;

/// At most so many calls are sampled.
const SAMPLED_MAX: usize = 20_000;
/// So many of the slowest are always there.
const SLOWEST: usize = 1_000;

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Point {
    /// From entry to exit, less the time off the CPU.
    pub elapsed: Ticks,
    /// When it began.
    pub start: Tick,
    /// Its place among the calls.
    number: u64,
    /// Of it, what it spent itself.
    pub net: Ticks,
    /// The thread.
    pub thread: ThreadId,
    /// The CPU, if the trace says.
    pub cpu: Option<CpuId>,
}

/// What is looked at of a call.
struct Call {
    fidelity: Fidelity,
    elapsed: Ticks,
    start: Tick,
    net: Ticks,
    thread: ThreadId,
    cpu: Option<CpuId>,
}

/// Collects the calls of one function: one of every so many, by their order, and the slowest.
#[derive(Debug)]
pub struct Points {
    function: String,
    /// By function: whether it is the one. Grows with the names of the trace.
    is_it: IdVec<FuncId, bool>,
    sampled: Vec<Point>,
    slowest: BinaryHeap<Reverse<Point>>,
    every: u64,
    calls: u64,
    incomplete: u64,
}

/// What was collected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Calls by start.
    pub points: Vec<Point>,
    /// One call of so many is there, besides the slowest.
    pub every: u64,
    /// Complete calls in all.
    pub calls: u64,
    /// Calls whose entry or exit was not recorded. They are not among the points.
    pub incomplete: u64,
}

impl Points {
    /// For the function of that name.
    pub fn new(function: &str) -> Self {
        Self {
            function: function.to_owned(),
            is_it: IdVec::default(),
            sampled: Vec::new(),
            slowest: BinaryHeap::new(),
            every: 1,
            calls: 0,
            incomplete: 0,
        }
    }

    /// The calls of a function in a trace. Fails, naming similar functions, if it has none of that
    /// name.
    pub fn of(trace: &Trace, function: &str) -> Result<Sample, String> {
        let mut points = Self::new(function);
        let spans = &trace.spans;
        for id in spans.ids() {
            let row = id.index();
            let call = Call {
                fidelity: spans.fidelity[row],
                elapsed: spans.elapsed(id),
                start: spans.start[row],
                net: spans.net[row],
                thread: spans.thread[row],
                cpu: spans.cpu[row],
            };
            points.call(spans.func[id], &call, &trace.names);
        }
        points.finish(&trace.names)
    }

    /// What was collected. Fails, naming similar functions, if the trace has none of that name.
    pub fn finish(self, names: &Names) -> Result<Sample, String> {
        find::functions(names, &self.function)?;
        let mut points = self.sampled;
        points.extend(self.slowest.into_iter().map(|Reverse(point)| point));
        points.sort_unstable_by_key(|point| (point.start, point.number));
        points.dedup();
        let Self { every, calls, incomplete, .. } = self;
        Ok(Sample { points, every, calls, incomplete })
    }

    fn call(&mut self, func: FuncId, call: &Call, names: &Names) {
        while self.is_it.len() <= func.index() {
            let next = names.funcs.iter().nth(self.is_it.len());
            self.is_it.push(next.is_some_and(|func| func.name == self.function));
        }
        if !self.is_it[func] {
            return;
        }
        let &Call { fidelity, elapsed, start, net, thread, cpu } = call;
        if fidelity.start_inferred || fidelity.end_inferred {
            self.incomplete += 1;
            return;
        }
        let number = self.calls;
        self.calls += 1;
        self.take(Point { elapsed, start, number, net, thread, cpu });
    }

    fn take(&mut self, point: Point) {
        if point.number.is_multiple_of(self.every) {
            if self.sampled.len() >= SAMPLED_MAX {
                self.every *= 2;
                let every = self.every;
                self.sampled.retain(|kept| kept.number.is_multiple_of(every));
            }
            if point.number.is_multiple_of(self.every) {
                self.sampled.push(point);
            }
        }
        self.slowest.push(Reverse(point));
        if self.slowest.len() > SLOWEST {
            self.slowest.pop();
        }
    }
}

impl SpanSink for Points {
    fn span(&mut self, span: &Span, names: &Names) {
        let &Span { fidelity, start, net, thread, cpu, .. } = span;
        let call = Call { fidelity, elapsed: span.elapsed(), start, net, thread, cpu };
        self.call(span.func, &call, names);
    }

    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

impl SelectThreads for Points {
    fn separate_threads(&mut self) {}

    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.sampled.retain(|point| keep(point.thread));
        self.slowest.retain(|Reverse(point)| keep(point.thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_slowest_and_one_of_every_so_many() {
        let mut points = Points::new("f");
        let n = 5 * SAMPLED_MAX as u64;
        for number in 0..n {
            // The slowest are spread over all calls.
            let elapsed = if number.is_multiple_of(100) { 1_000_000 + number } else { number % 97 };
            points.take(Point {
                elapsed: Ticks(elapsed),
                start: Tick(number * 10),
                number,
                net: Ticks(elapsed),
                thread: ThreadId::from_index(0),
                cpu: None,
            });
        }
        assert_eq!(points.every, 8);
        let slowest: Vec<u64> = (0..n).step_by(100).collect();
        let kept: std::collections::BTreeSet<u64> =
            points.slowest.iter().map(|Reverse(point)| point.number).collect();
        assert_eq!(kept, slowest.into_iter().collect());
        assert!(points.sampled.iter().all(|point| point.number.is_multiple_of(8)));
        assert_eq!(points.sampled.len() as u64, n / 8);
    }
}
