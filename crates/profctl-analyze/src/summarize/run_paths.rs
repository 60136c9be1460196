//! The call paths of one run.

use std::cmp::Reverse;

use profctl_model::hash::FastMap;
use profctl_model::spool::OpenCalls;
use profctl_model::{CallTree, IdVec, Names, NodeId, SpanRow, ThreadId, Tick, Timebase};

use super::{FuncStats, Lengths};

/// The calling-context tree of one run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunPaths {
    /// Functions by name and module.
    pub(crate) funcs: Vec<(String, Option<String>)>,
    /// A parent comes before its children.
    pub(crate) nodes: Vec<RunNode>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RunNode {
    /// Place in `funcs`.
    pub(crate) func: u32,
    pub(crate) parent: Option<u32>,
    pub(crate) sums: Sums,
}

/// The calls on one path, in reported units. Sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) calls: u64,
    pub(crate) partial: u64,
    pub(crate) elapsed: u64,
    pub(crate) net: u64,
    /// The same two, of complete calls only.
    pub(crate) elapsed_of_calls: u64,
    pub(crate) net_of_calls: u64,
    /// Elapsed time of the interrupts inside complete calls, as [`FuncStats::interrupted`].
    pub(crate) interrupted: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        for (ours, theirs) in [
            (&mut self.calls, other.calls),
            (&mut self.partial, other.partial),
            (&mut self.elapsed, other.elapsed),
            (&mut self.net, other.net),
            (&mut self.elapsed_of_calls, other.elapsed_of_calls),
            (&mut self.net_of_calls, other.net_of_calls),
            (&mut self.interrupted, other.interrupted),
        ] {
            *ours = ours.saturating_add(theirs);
        }
    }

    /// As the sums of a function that is called on this path only.
    pub(crate) fn stats(&self) -> FuncStats {
        let lengths = |sum| Lengths { sum, ..Lengths::default() };
        FuncStats {
            calls: self.calls,
            partial: self.partial,
            elapsed: self.elapsed,
            net: self.net,
            net_of_calls: lengths(self.net_of_calls),
            elapsed_of_calls: lengths(self.elapsed_of_calls),
            interrupted: self.interrupted,
            ..FuncStats::default()
        }
    }
}

impl RunPaths {
    /// Adds the calls of another tree. The result is in one order, callees by name and module below
    /// their callers, so it does not depend on the order in which trees are added.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut tree = Merged::default();
        tree.add(self);
        tree.add(other);
        *self = tree.in_order();
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

/// Merges the calls of a run by path, as [`profctl_model::Spool::callers_first`] passes them.
#[derive(Debug, Default)]
pub struct PathSums {
    tree: CallTree,
    /// By node.
    sums: Vec<Sums>,
    open: IdVec<ThreadId, OpenCalls<Call>>,
}

/// A call whose callees are still to come.
#[derive(Debug)]
struct Call {
    node: NodeId,
    /// When it ended as it states.
    end: Tick,
    elapsed: u64,
    is_partial: bool,
    interrupt: bool,
    /// The elapsed time of the interrupts in it, however deep.
    interrupted: u64,
}

impl PathSums {
    /// Takes the next call.
    pub fn add(&mut self, row: &SpanRow) {
        let Self { tree, sums, open } = self;
        let (span, open) = (&row.span, open.grow_to(row.span.thread));
        open.end_from(row.depth as usize, |call, callers| ended(sums, &call, callers));
        let node = tree.child(open.calls().last().map(|caller| caller.node), span.func);
        sums.resize(tree.len(), Sums::default());
        let (elapsed, net) = (span.elapsed().0, span.net.0);
        let is_partial = span.fidelity.is_partial();
        let of_calls = |length| if is_partial { 0 } else { length };
        sums[node.index()].add(&Sums {
            calls: u64::from(!is_partial),
            partial: u64::from(is_partial),
            elapsed,
            net,
            elapsed_of_calls: of_calls(elapsed),
            net_of_calls: of_calls(net),
            interrupted: 0,
        });
        if span.interrupt {
            // What began after the stated end of a call came late, and is its caller's.
            let around = open.calls_mut().iter_mut().rfind(|call| span.start < call.end);
            if let Some(call) = around {
                call.interrupted = call.interrupted.saturating_add(elapsed);
            }
        }
        let end = span.start + span.wall;
        let interrupt = span.interrupt;
        let call = Call { node, end, elapsed, is_partial, interrupt, interrupted: 0 };
        open.begin(call, span.late.calls, |call, callers| ended(sums, &call, callers));
    }

    /// The paths, in the units that reports have.
    pub fn finish(mut self, names: &Names, timebase: &Timebase) -> RunPaths {
        let sums = &mut self.sums;
        for open in &mut self.open {
            open.end(|call, callers| ended(sums, &call, callers));
        }
        let mut paths = RunPaths::default();
        let mut place_of: FastMap<Key<'_>, u32> = FastMap::default();
        for ((_, node), sums) in self.tree.nodes().zip(&self.sums) {
            let func = &names.funcs[node.func];
            let key = (func.name.as_str(), func.module.as_deref());
            let func = *place_of.entry(key).or_insert_with(|| {
                paths.funcs.push((key.0.to_owned(), key.1.map(str::to_owned)));
                paths.funcs.len() as u32 - 1
            });
            let parent = node.parent.map(|parent| parent.index() as u32);
            paths.nodes.push(RunNode { func, parent, sums: reported(sums, timebase) });
        }
        let mut merged = Merged::default();
        merged.add(&paths);
        merged.in_order()
    }
}

/// Passes the interrupts in a call that ended to its caller. Those in an interrupt are part of it.
fn ended(sums: &mut [Sums], call: &Call, callers: &mut [Call]) {
    if call.interrupt {
        return;
    }
    if let Some(caller) = callers.last_mut() {
        caller.interrupted = caller.interrupted.saturating_add(call.interrupted);
    }
    if !call.is_partial {
        let interrupted = call.interrupted.min(call.elapsed);
        sums[call.node.index()].add(&Sums { interrupted, ..Sums::default() });
    }
}

/// Trees put together, in any order.
#[derive(Default)]
struct Merged<'a> {
    funcs: Vec<Key<'a>>,
    place_of: FastMap<Key<'a>, u32>,
    nodes: Vec<RunNode>,
    /// By parent and function.
    node_of: FastMap<(Option<u32>, u32), u32>,
}

/// A function: its name and module.
type Key<'a> = (&'a str, Option<&'a str>);

impl<'a> Merged<'a> {
    fn add(&mut self, paths: &'a RunPaths) {
        let mut funcs = Vec::with_capacity(paths.funcs.len());
        for (name, module) in &paths.funcs {
            let key = (name.as_str(), module.as_deref());
            let next = self.funcs.len() as u32;
            let place = *self.place_of.entry(key).or_insert(next);
            if place == next {
                self.funcs.push(key);
            }
            funcs.push(place);
        }
        let mut here: Vec<u32> = Vec::with_capacity(paths.nodes.len());
        for node in &paths.nodes {
            let func = funcs[node.func as usize];
            let parent = node.parent.map(|parent| here[parent as usize]);
            let next = self.nodes.len() as u32;
            let place = *self.node_of.entry((parent, func)).or_insert(next);
            if place == next {
                self.nodes.push(RunNode { func, parent, sums: Sums::default() });
            }
            self.nodes[place as usize].sums.add(&node.sums);
            here.push(place);
        }
    }

    /// The tree with a caller before its callees, and those by name and module.
    fn in_order(&self) -> RunPaths {
        let mut roots = Vec::new();
        let mut callees: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            let list = match node.parent {
                Some(parent) => &mut callees[parent as usize],
                None => &mut roots,
            };
            list.push(place as u32);
        }
        // The last is taken first.
        let key_of = |place: &u32| Reverse(self.funcs[self.nodes[*place as usize].func as usize]);
        for list in callees.iter_mut().chain([&mut roots]) {
            list.sort_unstable_by_key(key_of);
        }
        let mut ordered = RunPaths::default();
        let mut func_of: FastMap<u32, u32> = FastMap::default();
        let mut to_do: Vec<(Option<u32>, u32)> = roots.iter().map(|&root| (None, root)).collect();
        while let Some((parent, place)) = to_do.pop() {
            let node = &self.nodes[place as usize];
            let func = *func_of.entry(node.func).or_insert_with(|| {
                let (name, module) = self.funcs[node.func as usize];
                ordered.funcs.push((name.to_owned(), module.map(str::to_owned)));
                ordered.funcs.len() as u32 - 1
            });
            let here = ordered.nodes.len() as u32;
            ordered.nodes.push(RunNode { func, parent, sums: node.sums });
            to_do.extend(callees[place as usize].iter().map(|&callee| (Some(here), callee)));
        }
        ordered
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
        interrupted: reported(sums.interrupted),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use profctl_model::Ticks;
    use proptest::prelude::*;

    use super::*;
    use crate::summarize::Profile;
    use crate::testing::{Calls, random_calls};

    proptest! {
        #[test]
        fn merging_is_associative_and_commutative(
            a in random_calls(), b in random_calls(), c in random_calls()
        ) {
            let mut sum = with_paths(&a);
            sum.merge(with_paths(&b)).unwrap();
            sum.merge(with_paths(&c)).unwrap();
            let mut right = with_paths(&b);
            right.merge(with_paths(&c)).unwrap();
            let mut nested = with_paths(&a);
            nested.merge(right).unwrap();
            prop_assert_eq!(&sum.paths, &nested.paths);
            let mut reverse = with_paths(&c);
            reverse.merge(with_paths(&b)).unwrap();
            reverse.merge(with_paths(&a)).unwrap();
            prop_assert_eq!(&sum.paths, &reverse.paths);
            let mut known: BTreeMap<Vec<String>, u64> = BTreeMap::new();
            for calls in [&a, &b, &c] {
                for (path, n) in paths_of(calls) {
                    *known.entry(path).or_default() += n;
                }
            }
            prop_assert_eq!(named(sum.paths.as_ref().unwrap()), known);
        }

        /// The profile finds the interrupts in a call by their times, in the order of exits.
        #[test]
        fn interrupts_are_those_of_the_profile(calls in random_calls()) {
            let profile = with_paths(&calls);
            let paths = profile.paths.as_ref().unwrap();
            for row in &profile.rows {
                let is_it = |node: &&RunNode| paths.funcs[node.func as usize].0 == row.name;
                let of_paths = paths.nodes.iter().filter(is_it).map(|node| node.sums.interrupted);
                let of_row = profile.timebase.reported(Ticks(row.stats.interrupted));
                prop_assert_eq!(of_paths.sum::<u64>(), of_row, "{}", row.name);
            }
        }

        #[test]
        fn paths_of_a_part_are_not_those_of_all(a in random_calls(), b in random_calls()) {
            let mut sum = with_paths(&a);
            sum.merge(b.profile()).unwrap();
            prop_assert_eq!(sum.paths.is_some(), b.spans.is_empty());
        }
    }

    fn with_paths(calls: &Calls) -> Profile {
        Profile { paths: Some(calls.run_paths()), ..calls.profile() }
    }

    /// The calls on each path, found by walking from every call to its callers.
    fn paths_of(calls: &Calls) -> BTreeMap<Vec<String>, u64> {
        let trace = calls.trace();
        let mut found = BTreeMap::new();
        for id in trace.spans.ids() {
            let mut path = Vec::new();
            let mut at = Some(id);
            while let Some(call) = at {
                path.push(trace.names.funcs[trace.spans.func[call]].name.clone());
                at = trace.spans.parent[call.index()];
            }
            *found.entry(path).or_default() += 1;
        }
        found
    }

    /// The same of merged paths.
    fn named(paths: &RunPaths) -> BTreeMap<Vec<String>, u64> {
        let mut names: Vec<Vec<String>> = Vec::new();
        let mut found = BTreeMap::new();
        for node in &paths.nodes {
            let mut path = vec![paths.funcs[node.func as usize].0.clone()];
            path.extend(node.parent.iter().flat_map(|&parent| names[parent as usize].clone()));
            let is_new = found.insert(path.clone(), node.sums.calls + node.sums.partial).is_none();
            assert!(is_new, "{path:?} is listed twice");
            names.push(path);
        }
        found
    }
}
