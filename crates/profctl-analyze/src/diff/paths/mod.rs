//! What changed on which path of calls: the calling-context trees of both sides, joined at every
//! level, each path tested as functions are.
//!
//! A function that became dearer is dearer wherever it is called from, unless it is not: paths tell
//! which. They are a family of tests of their own, larger than that of functions and each on fewer
//! calls, so they find less; what they find, they place.

mod join;
mod table;
#[cfg(test)]
mod tests;

use profctl_model::hash::FastMap;
use profctl_model::{CallTree, NodeId, PairedTree, Timebase, Trace};

use super::compare::{Function, Interval};
use super::{Measure, Parts, Verdict};
use crate::summarize::{FuncStats, Lengths};

pub(super) use join::{Ground, compare};
pub use table::Shown;

/// The calling-context tree of one run.
#[derive(Clone, Debug, Default)]
pub struct RunPaths {
    /// Functions by name and module.
    funcs: Vec<(String, Option<String>)>,
    /// A parent comes before its children.
    nodes: Vec<RunNode>,
}

#[derive(Clone, Debug)]
struct RunNode {
    /// Place in `funcs`.
    func: u32,
    parent: Option<u32>,
    sums: Sums,
}

/// The calls on one path, in reported units. Sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sums {
    calls: u64,
    partial: u64,
    elapsed: u64,
    net: u64,
    /// The same two, of complete calls only.
    elapsed_of_calls: u64,
    net_of_calls: u64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        for (ours, theirs) in [
            (&mut self.calls, other.calls),
            (&mut self.partial, other.partial),
            (&mut self.elapsed, other.elapsed),
            (&mut self.net, other.net),
            (&mut self.elapsed_of_calls, other.elapsed_of_calls),
            (&mut self.net_of_calls, other.net_of_calls),
        ] {
            *ours = ours.saturating_add(theirs);
        }
    }

    /// As the sums of a function that is called on this path only.
    fn stats(&self) -> FuncStats {
        let lengths = |sum| Lengths { sum, ..Lengths::default() };
        FuncStats {
            calls: self.calls,
            partial: self.partial,
            elapsed: self.elapsed,
            net: self.net,
            net_of_calls: lengths(self.net_of_calls),
            elapsed_of_calls: lengths(self.elapsed_of_calls),
            ..FuncStats::default()
        }
    }
}

impl RunPaths {
    /// The tree of a trace.
    pub fn of(trace: &Trace) -> Self {
        let (spans, timebase) = (&trace.spans, &trace.meta.timebase);
        let mut tree = CallTree::default();
        let mut sums: Vec<Sums> = Vec::new();
        let mut node_of: Vec<NodeId> = Vec::with_capacity(spans.len());
        for id in spans.ids() {
            let row = id.index();
            // Parents come before children, so the caller's node is known.
            let parent = spans.parent[row].map(|parent| node_of[parent.index()]);
            let node = tree.child(parent, spans.func[id]);
            node_of.push(node);
            sums.resize(tree.len(), Sums::default());
            let (elapsed, net) = (spans.elapsed(id).0, spans.net[row].0);
            let one = if spans.fidelity[row].is_partial() {
                Sums { partial: 1, elapsed, net, ..Sums::default() }
            } else {
                let (elapsed_of_calls, net_of_calls) = (elapsed, net);
                Sums { calls: 1, partial: 0, elapsed, net, elapsed_of_calls, net_of_calls }
            };
            sums[node.index()].add(&one);
        }
        let mut paths = Self::default();
        let mut place_of: FastMap<(String, Option<String>), u32> = FastMap::default();
        for ((_, node), sums) in tree.nodes().zip(sums) {
            let func = &trace.names.funcs[node.func];
            let key = (func.name.clone(), func.module.clone());
            let func = *place_of.entry(key).or_insert_with_key(|key| {
                paths.funcs.push(key.clone());
                paths.funcs.len() as u32 - 1
            });
            let parent = node.parent.map(|parent| parent.index() as u32);
            paths.nodes.push(RunNode { func, parent, sums: reported(&sums, timebase) });
        }
        paths
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

fn reported(sums: &Sums, timebase: &Timebase) -> Sums {
    let reported = |ticks| timebase.reported(profctl_model::Ticks(ticks));
    Sums {
        calls: sums.calls,
        partial: sums.partial,
        elapsed: reported(sums.elapsed),
        net: reported(sums.net),
        elapsed_of_calls: reported(sums.elapsed_of_calls),
        net_of_calls: reported(sums.net_of_calls),
    }
}

/// What was found of one path.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The change of the net time at its end in a run, in two parts.
    pub parts: Parts,
    /// The measure that decided the verdict.
    pub measure: Measure,
    /// How much of what it was it is now, by that measure; nothing if it was not there.
    pub ratio: Option<f64>,
    /// The ends of the 95 % interval of it.
    pub interval: Option<(f64, f64)>,
    /// The chance of such a change where nothing changed, and the same corrected for the number of
    /// paths, as they are given for functions.
    pub p: Option<f64>,
    /// See `p`.
    pub q: Option<f64>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Whether all runs of both sides have the same of it.
    pub is_unchanged: bool,
}

impl Found {
    fn of(function: &Function, is_unchanged: bool) -> Self {
        let (p, q) = super::table::chances(function);
        Self {
            parts: function.parts,
            measure: function.measure,
            ratio: function.ratio,
            interval: function.interval,
            p,
            q,
            verdict: function.verdict,
            is_unchanged,
        }
    }
}

/// Two sides by path.
#[derive(Clone, Debug)]
pub struct PathComparison {
    /// Every path that either side has. Siblings are in the order of their functions' names.
    pub tree: PairedTree,
    /// What was found of each, by its row.
    pub found: Vec<Found>,
    /// The clock of all times in here: nanoseconds or counts.
    pub timebase: Timebase,
    /// What intervals and verdicts are about.
    pub interval: Interval,
    /// How many paths were tested, unchanged ones included.
    pub tested: u64,
}

impl PathComparison {
    /// How many of the paths that differ in anything have that verdict.
    pub fn count(&self, verdict: Verdict) -> u64 {
        let differs = |found: &&Found| !found.is_unchanged && found.verdict == verdict;
        self.found.iter().filter(differs).count() as u64
    }

    /// How many paths differ in nothing.
    pub fn unchanged(&self) -> u64 {
        self.found.iter().filter(|found| found.is_unchanged).count() as u64
    }
}
