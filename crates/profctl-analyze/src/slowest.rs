//! The slowest calls of every function, collected while a trace is read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use profctl_model::hash::FastMap;
use profctl_model::{
    CpuId, FuncId, Names, Record, SelectThreads, Span, SpanSink, ThreadId, Tick, Ticks,
};

use crate::neighbors::Function;

/// How many calls of a function are kept.
pub const KEPT: usize = 100;

/// A call. The slower is the greater; of equals the earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Call {
    /// From entry to exit, less the time off the CPU.
    pub elapsed: Ticks,
    order: Reverse<(Tick, u64)>,
    /// When it ended.
    pub end: Tick,
    /// Of its elapsed time, what it spent itself.
    pub net: Ticks,
    /// Calls below it.
    pub descendants: u64,
    /// The function.
    pub func: FuncId,
    /// The thread.
    pub thread: ThreadId,
    /// The CPU on which it ended, if the trace says.
    pub cpu: Option<CpuId>,
}

impl Call {
    /// The `number`th of all calls.
    pub(crate) fn of(span: &Span, number: u64) -> Self {
        let &Span { start, end, net, descendants, func, thread, cpu, .. } = span;
        let (elapsed, order) = (span.elapsed(), Reverse((start, number)));
        Self { elapsed, order, end, net, descendants, func, thread, cpu }
    }

    /// When it began.
    pub fn start(&self) -> Tick {
        self.order.0.0
    }

    /// Whether `span` is this call. Of two that agree in everything, each is the other.
    pub fn is(&self, span: &Span) -> bool {
        self.func == span.func
            && self.thread == span.thread
            && (self.start(), self.end) == (span.start, span.end)
            && (self.elapsed, self.net) == (span.elapsed(), span.net)
            && self.descendants == span.descendants
    }
}

/// Collects complete calls, [`KEPT`] per function.
#[derive(Clone, Debug, Default)]
pub struct Slowest {
    /// By function, and by thread where threads are kept apart.
    calls: FastMap<(Option<ThreadId>, FuncId), BinaryHeap<Reverse<Call>>>,
    number: u64,
    separate: bool,
}

impl Slowest {
    /// The slowest calls of a function, the slowest first.
    pub fn of(&self, function: &Function, names: &Names) -> Vec<Call> {
        let wanted = function.ids(names);
        let heaps =
            self.calls.iter().filter(|((_, func), _)| wanted.get(*func).copied().unwrap_or(false));
        let mut calls: Vec<Call> =
            heaps.flat_map(|(_, heap)| heap.iter().map(|Reverse(call)| *call)).collect();
        calls.sort_unstable_by_key(|call| Reverse(*call));
        calls.truncate(KEPT);
        calls
    }
}

impl SpanSink for Slowest {
    fn span(&mut self, span: &Span, _names: &Names) {
        if span.fidelity.is_partial() {
            return;
        }
        self.number += 1;
        let thread = self.separate.then_some(span.thread);
        let heap = self.calls.entry((thread, span.func)).or_default();
        let elapsed = span.elapsed();
        let is_full = heap.len() >= KEPT;
        // Of equals, the earlier was kept.
        if is_full && heap.peek().is_some_and(|Reverse(least)| elapsed < least.elapsed) {
            return;
        }
        heap.push(Reverse(Call::of(span, self.number)));
        if is_full {
            heap.pop();
        }
    }

    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

impl SelectThreads for Slowest {
    fn separate_threads(&mut self) {
        self.separate = true;
    }

    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.calls.retain(|(thread, _), _| thread.is_none_or(keep));
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::testing::Calls;

    #[test]
    fn the_slowest_are_kept_in_order_and_the_earlier_of_equals() {
        let mut line = String::new();
        for number in 0..1000_u64 {
            let start = number * 100;
            write!(line, "{start} f( {} ) ", start + (number * 7) % 50).unwrap();
        }
        line.push_str("200000 f( 300000 ~) 300001 g( 300002 )");
        let calls = Calls::parse(&line);
        let mut slowest = Slowest::default();
        calls.spans.iter().for_each(|span| slowest.span(span, &calls.names));
        let f = Function { name: "f".into(), module: None };
        let kept = slowest.of(&f, &calls.names);
        let mut expected: Vec<(Reverse<u64>, u64)> =
            (0..1000_u64).map(|n| (Reverse((n * 7) % 50), n * 100)).collect();
        expected.sort_unstable();
        expected.truncate(KEPT);
        let found: Vec<_> =
            kept.iter().map(|call| (Reverse(call.elapsed.0), call.start().0)).collect();
        assert_eq!(found, expected);
        assert!(kept[0].is(calls.spans.iter().find(|span| kept[0].start() == span.start).unwrap()));
    }

    #[test]
    fn calls_of_threads_that_are_not_kept_displace_none() {
        let mut line = String::from("@a 0 f( 1 ) @b ");
        for number in 1..200_u64 {
            write!(line, "{} f( {} ) ", number * 100, number * 100 + 50).unwrap();
        }
        let calls = Calls::parse(&line);
        let mut slowest = Slowest::default();
        slowest.separate_threads();
        calls.spans.iter().for_each(|span| slowest.span(span, &calls.names));
        slowest.keep_threads(&|thread| thread == ThreadId::from_index(0));
        let f = Function { name: "f".into(), module: None };
        let found: Vec<u64> =
            slowest.of(&f, &calls.names).iter().map(|call| call.elapsed.0).collect();
        assert_eq!(found, [1]);
    }
}
