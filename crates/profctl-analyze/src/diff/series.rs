//! How the calls of each function came one after the other, in a few hundred numbers each.
//!
//! Neighbouring calls share caches, frequency and load. What a single trace can say of its own
//! noise has to keep them together, so calls are summed in batches of neighbours: as many to a
//! batch as keep the number of batches bounded.

use std::collections::BTreeMap;

use profctl_model::{FuncId, IdVec, Names, Span, SpanSink, Ticks, Timebase};

/// Batches kept of one function; at this number, neighbours are joined in pairs.
const BATCHES_MAX: usize = 1024;

/// Collects the net times of complete calls, in the order in which they end.
#[derive(Clone, Debug, Default)]
pub struct SeriesSink {
    funcs: IdVec<FuncId, Batches>,
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

impl SpanSink for SeriesSink {
    fn span(&mut self, span: &Span, _names: &Names) {
        if !span.fidelity.is_partial() {
            self.funcs.grow_to(span.func).add(span.net.0);
        }
    }
}

/// The batches of every function, by name and module.
#[derive(Clone, Debug, Default)]
pub struct Series {
    funcs: BTreeMap<(String, Option<String>), Vec<f64>>,
}

impl SeriesSink {
    /// What was collected, now that the names and the clock are known.
    pub fn finish(self, names: &Names, timebase: &Timebase) -> Series {
        let mut funcs = BTreeMap::new();
        for (id, batches) in self.funcs.pairs() {
            let func = &names.funcs[id];
            let calls = (1_u64 << batches.doublings) as f64;
            let reported = |sum: u64| timebase.reported(Ticks(sum)) as f64;
            let means = batches.sums.iter().map(|&sum| reported(sum) / calls).collect();
            funcs.insert((func.name.clone(), func.module.clone()), means);
        }
        Series { funcs }
    }
}

impl Series {
    /// The mean net time of a call in each batch of a function, in reported units.
    pub(super) fn of(&self, name: &str, module: Option<&str>) -> &[f64] {
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
