//! The calls of each function in time order, in blocks for resampling.
//!
//! Neighboring calls share caches, frequency and load, and those of one system call or request
//! still more. An estimate of noise from a single trace must keep correlated calls together: by
//! activation, where the trace has enough of them, else in batches of neighbors, as many to a batch
//! as keep the number of batches bounded.

use std::collections::BTreeMap;

use profctl_model::{
    FuncId, IdVec, Names, Record, SelectThreads, Span, SpanSink, ThreadId, Ticks, Timebase,
};

use super::activations::Activations;
use super::stats::Block;

/// Batches kept of one function; at this number, neighbors are joined in pairs.
const BATCHES_MAX: usize = 1024;

/// Activations in which a function must have been called for them to be its blocks. With fewer,
/// calls are grouped in batches.
const ACTIVATIONS_MIN: usize = 30;

/// Collects the net times of complete calls, in the order in which they end.
#[derive(Clone, Debug, Default)]
pub struct SeriesSink {
    funcs: IdVec<FuncId, Batches>,
    activations: Activations,
    /// The same by thread, where they are kept apart: nothing is in the others then.
    threads: Option<IdVec<ThreadId, SeriesSink>>,
}

#[derive(Clone, Debug, Default)]
struct Batches {
    sums: Vec<u64>,
    /// Calls in each of `sums`: `1 << doublings`.
    doublings: u32,
    open: u64,
    open_calls: u64,
}

impl Batches {
    fn add(&mut self, net: u64) {
        self.open = self.open.saturating_add(net);
        self.open_calls += 1;
        if self.open_calls < 1 << self.doublings {
            return;
        }
        self.sums.push(self.open);
        (self.open, self.open_calls) = (0, 0);
        if self.sums.len() == BATCHES_MAX {
            let pairs = self.sums.chunks_exact(2);
            self.sums = pairs.map(|pair| pair[0].saturating_add(pair[1])).collect();
            self.doublings += 1;
        }
    }
}

impl SeriesSink {
    fn add(&mut self, span: &Span) {
        if !span.fidelity.is_partial() {
            self.funcs.grow_to(span.func).add(span.net.0);
        }
        self.activations.add(span);
    }
}

impl SpanSink for SeriesSink {
    fn span(&mut self, span: &Span, _names: &Names) {
        match &mut self.threads {
            Some(threads) => threads.grow_to(span.thread).add(span),
            None => self.add(span),
        }
    }
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

impl SelectThreads for SeriesSink {
    fn separate_threads(&mut self) {
        self.threads = Some(IdVec::default());
    }
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        let threads = self.threads.take().unwrap_or_default().into_items();
        let kept = threads.into_iter().enumerate();
        self.threads = Some(
            kept.filter(|(index, _)| keep(ThreadId::from_index(*index)))
                .map(|(_, thread)| thread)
                .collect(),
        );
    }
}

/// The blocks of every function, by name and module.
#[derive(Clone, Debug, Default)]
pub struct Series {
    funcs: BTreeMap<(String, Option<String>), Vec<Block>>,
}

impl SeriesSink {
    /// What was collected, now that the names and the clock are known.
    pub fn finish(self, names: &Names, timebase: &Timebase) -> Series {
        let sinks = match self.threads {
            Some(threads) => threads.into_items(),
            None => vec![self],
        };
        let block = |calls: u64, net: u64| {
            let sum = timebase.reported(Ticks(net)) as f64;
            Block { calls: calls as f64, sum }
        };
        let mut activations = Activations::default();
        let mut batches: BTreeMap<FuncId, Vec<Block>> = BTreeMap::new();
        for sink in sinks {
            activations.append(sink.activations);
            for (id, of_func) in sink.funcs.pairs() {
                let calls = 1 << of_func.doublings;
                let sums = of_func.sums.iter();
                batches.entry(id).or_default().extend(sums.map(|&sum| block(calls, sum)));
            }
        }
        let activations = activations.finish();
        let mut funcs: BTreeMap<_, Vec<Block>> = BTreeMap::new();
        for (id, batches) in batches {
            let func = &names.funcs[id];
            let blocks = funcs.entry((func.name.clone(), func.module.clone())).or_default();
            // Of all threads together: a few of each can be many.
            match activations.get(id) {
                Some(entries) if entries.len() >= ACTIVATIONS_MIN => {
                    blocks.extend(entries.iter().map(|entry| block(entry.calls, entry.net)));
                }
                _ => blocks.extend(batches),
            }
        }
        Series { funcs }
    }
}

impl Series {
    /// The blocks of a function in the order of their time, in reported units.
    pub(super) fn of(&self, name: &str, module: Option<&str>) -> &[Block] {
        let key = (name.to_owned(), module.map(str::to_owned));
        self.funcs.get(&key).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::diff::fixture::series;
    use crate::testing::Calls;

    #[test]
    fn batches_are_bounded_and_keep_the_mean() {
        let mut batches = Batches::default();
        for call in 0..10_000 {
            batches.add(call);
        }
        assert!(batches.sums.len() < BATCHES_MAX, "{}", batches.sums.len());
        assert_eq!(1 << batches.doublings, 16);
        let covered = (batches.sums.len() as u64) * 16;
        assert_eq!(batches.sums.iter().sum::<u64>(), (0..covered).sum::<u64>());
    }

    /// Calls of `f` by turns on threads that are kept apart or not, and blocks of them, as
    /// `calls×sum`: each call takes a tick more than the one before.
    fn blocks(calls: u64, threads: u64, apart: bool, drop: Option<usize>) -> Vec<(f64, f64)> {
        let mut line = String::new();
        for call in 0..calls {
            let at = 1000 * call;
            write!(line, "@t{} {at} s( f( {} ) {} ) ", call % threads, at + call, at + 999)
                .unwrap();
        }
        let calls = Calls::parse(&line);
        let mut sink = SeriesSink::default();
        if apart {
            sink.separate_threads();
        }
        calls.spans.iter().for_each(|span| sink.span(span, &calls.names));
        if let Some(drop) = drop {
            sink.keep_threads(&|thread| thread.index() != drop);
        }
        let series = sink.finish(&calls.names, &calls.meta.timebase);
        assert_eq!(series.of("f", Some("m")), []);
        series.of("f", None).iter().map(|block| (block.calls, block.sum)).collect()
    }

    #[test]
    fn activations_are_in_the_order_of_time_whether_or_not_threads_are_kept_apart() {
        let expected: Vec<(f64, f64)> =
            (0..36).map(|call| (1.0, 1000.0 * f64::from(call))).collect();
        assert_eq!(blocks(36, 1, false, None), expected);
        // No thread alone has thirty of them.
        assert_eq!(blocks(36, 3, false, None), expected);
        assert_eq!(blocks(36, 3, true, None), expected);
        let kept = |call: &usize| call % 3 != 1;
        let expected: Vec<_> = (0..36).filter(kept).map(|call| expected[call]).collect();
        let mut found = blocks(36, 3, true, Some(1));
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(found, expected, "too few activations are as many batches");
    }

    #[test]
    fn a_function_of_fewer_than_thirty_activations_is_cut_in_batches() {
        let of = |calls: u64| {
            let each = |call: u64| format!("{call} f( {} ) ", call + 1);
            let inner: String = (0..calls).map(each).collect();
            series(&format!("0 s( {inner} )")).of("f", None).to_vec()
        };
        // One activation: two calls to a batch from 1024 of them on.
        let found = of(1030);
        assert_eq!(found.len(), 515);
        assert!(found.iter().all(|block| (block.calls, block.sum) == (2.0, 2000.0)));
        assert!(of(1023).iter().all(|block| (block.calls, block.sum) == (1.0, 1000.0)));
    }
}
