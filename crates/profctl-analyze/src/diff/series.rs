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
        if let Some(threads) = self.threads {
            let mut all = Series::default();
            for thread in threads.into_items() {
                for (name, blocks) in thread.finish(names, timebase).funcs {
                    all.funcs.entry(name).or_default().extend(blocks);
                }
            }
            return all;
        }
        let block = |calls: u64, net: u64| {
            let sum = timebase.reported(Ticks(net)) as f64;
            Block { calls: calls as f64, sum }
        };
        let activations = self.activations.finish();
        let mut funcs: BTreeMap<_, Vec<Block>> = BTreeMap::new();
        for (id, batches) in self.funcs.pairs() {
            let func = &names.funcs[id];
            let blocks = funcs.entry((func.name.clone(), func.module.clone())).or_default();
            match activations.get(id) {
                Some(entries) if entries.len() >= ACTIVATIONS_MIN => {
                    blocks.extend(entries.iter().map(|entry| block(entry.calls, entry.net)));
                }
                _ => {
                    let calls = 1 << batches.doublings;
                    blocks.extend(batches.sums.iter().map(|&sum| block(calls, sum)));
                }
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
    use super::*;

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
}
