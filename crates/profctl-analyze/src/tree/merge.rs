//! Calls merged by path, for traces with more paths than fit in memory: paths are merged in memory
//! up to some number, written out depth first, and what was written is joined as it is read back.

use std::io;

use profctl_model::spool::OpenCalls;
use profctl_model::{CallTree, FuncId, IdVec, NodeId, PathOrder, PathRow, SpanRow, ThreadId};

use super::add;

/// Merges calls that come one by one, a caller before its callees.
#[derive(Debug)]
pub struct Merger {
    order: PathOrder,
    keeps_threads: bool,
    /// One, or one per thread.
    trees: IdVec<ThreadId, CallTree>,
    /// Per thread: the calls that are open.
    open: IdVec<ThreadId, Open>,
    /// How often paths were taken out.
    taken: u32,
    /// Paths that came since.
    paths: usize,
}

/// The open calls of a thread.
#[derive(Debug, Default)]
struct Open {
    calls: OpenCalls<FuncId>,
    /// The nodes of the first of them.
    nodes: Vec<NodeId>,
    /// In which tree these are.
    taken: u32,
}

impl Merger {
    /// Nothing yet.
    pub fn new(order: PathOrder, keeps_threads: bool) -> Self {
        let (trees, open) = (IdVec::default(), IdVec::default());
        Self { order, keeps_threads, trees, open, taken: 0, paths: 0 }
    }

    /// Takes the next call.
    pub fn add(&mut self, row: &SpanRow) {
        let span = &row.span;
        let open = self.open.grow_to(span.thread);
        let place = if self.keeps_threads { span.thread } else { ThreadId::from_index(0) };
        let tree = self.trees.grow_to(place);
        if open.taken != self.taken {
            open.taken = self.taken;
            open.nodes.clear();
        }
        let depth = row.depth as usize;
        open.calls.end_from(depth, |_, _| ());
        open.nodes.truncate(depth);
        // Paths that were taken out and are still open come again, without their sums.
        for &func in &open.calls.calls()[open.nodes.len()..] {
            open.nodes.push(tree.child(open.nodes.last().copied(), func));
        }
        let before = tree.len();
        let func = self.order.frame[span.func];
        let node = tree.child(open.nodes.last().copied(), func);
        self.paths += tree.len() - before;
        let same = open.calls.begin(func, span.late.calls, |_, _| ());
        open.nodes.truncate(same);
        let whole = !span.fidelity.is_partial();
        add(tree.node_mut(node), whole, span.elapsed(), span.net);
    }

    /// How many paths were added since paths were taken out.
    pub fn paths(&self) -> usize {
        self.paths
    }

    /// The order of paths.
    pub fn into_order(self) -> PathOrder {
        self.order
    }

    /// The paths that came since paths were taken out, of all threads if these are not kept apart,
    /// else of the first.
    pub fn into_tree(mut self) -> CallTree {
        std::mem::take(self.trees.grow_to(ThreadId::from_index(0)))
    }

    /// Takes all paths out, depth first.
    pub fn take(&mut self) -> Vec<PathRow> {
        self.taken += 1;
        self.paths = 0;
        let trees = std::mem::take(&mut self.trees);
        let mut rows = Vec::with_capacity(trees.iter().map(CallTree::len).sum());
        for (thread, tree) in trees.pairs() {
            let thread = self.keeps_threads.then_some(thread);
            rows.extend(tree.depth_first(thread, &self.order.rank));
        }
        rows
    }
}

/// Sequences of paths, each depth first and in one order, as one such sequence: what several say of
/// a path is added up.
#[derive(Debug)]
pub struct Joined<I> {
    rank: IdVec<FuncId, u32>,
    parts: Vec<Part<I>>,
    /// The parts that have the current path, after each of its levels; all of them at first.
    levels: Vec<Vec<usize>>,
    /// Levels to be used again.
    spare: Vec<Vec<usize>>,
    is_started: bool,
}

#[derive(Debug)]
struct Part<I> {
    next: Option<PathRow>,
    rest: I,
}

impl<I: Iterator<Item = io::Result<PathRow>>> Part<I> {
    fn advance(&mut self) -> io::Result<()> {
        self.next = self.rest.next().transpose()?;
        Ok(())
    }
}

impl<I: Iterator<Item = io::Result<PathRow>>> Joined<I> {
    /// Nothing is read yet.
    pub fn new(order: PathOrder, parts: impl IntoIterator<Item = I>) -> Self {
        let parts: Vec<_> = parts.into_iter().map(|rest| Part { next: None, rest }).collect();
        let levels = vec![(0..parts.len()).collect()];
        Self { rank: order.rank, parts, levels, spare: Vec::new(), is_started: false }
    }

    fn advance(&mut self) -> io::Result<Option<PathRow>> {
        if !std::mem::replace(&mut self.is_started, true) {
            self.parts.iter_mut().try_for_each(Part::advance)?;
        }
        loop {
            let depth = self.levels.len() - 1;
            let key = |part: &Part<I>| {
                let next = part.next.filter(|row| row.depth as usize == depth)?;
                Some((next.thread, self.rank[next.func]))
            };
            let least = self.levels[depth].iter().filter_map(|&part| key(&self.parts[part])).min();
            let Some(least) = least else {
                if depth == 0 {
                    return Ok(None);
                }
                self.spare.extend(self.levels.pop());
                continue;
            };
            let mut with = self.spare.pop().unwrap_or_default();
            with.clear();
            let all = self.levels[depth].iter().copied();
            with.extend(all.filter(|&part| key(&self.parts[part]) == Some(least)));
            let mut sum: Option<PathRow> = None;
            for &part in &with {
                let row = self.parts[part].next.take();
                self.parts[part].advance()?;
                sum = match (sum, row) {
                    (Some(sum), Some(row)) => Some(joined(sum, &row)),
                    (sum, row) => sum.or(row),
                };
            }
            self.levels.push(with);
            return Ok(sum);
        }
    }
}

impl<I: Iterator<Item = io::Result<PathRow>>> Iterator for Joined<I> {
    type Item = io::Result<PathRow>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

fn joined(a: PathRow, b: &PathRow) -> PathRow {
    let elapsed_min = match (a.calls, b.calls) {
        (0, _) => b.elapsed_min,
        (_, 0) => a.elapsed_min,
        _ => a.elapsed_min.min(b.elapsed_min),
    };
    PathRow {
        calls: a.calls + b.calls,
        partial: a.partial + b.partial,
        elapsed: a.elapsed + b.elapsed,
        net: a.net + b.net,
        elapsed_min,
        elapsed_max: a.elapsed_max.max(b.elapsed_max),
        ..a
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calls, random_calls};
    use crate::tree::build;

    fn rows(calls: &Calls, most: usize, keeps_threads: bool) -> Vec<PathRow> {
        let mut merger = Merger::new(PathOrder::by_name(&calls.names), keeps_threads);
        let mut parts: Vec<Vec<PathRow>> = Vec::new();
        calls.callers_first(|row| {
            merger.add(row);
            if merger.paths() >= most {
                parts.push(merger.take());
            }
        });
        parts.push(merger.take());
        let parts = parts.into_iter().map(|part| part.into_iter().map(Ok));
        Joined::new(merger.into_order(), parts).map(Result::unwrap).collect()
    }

    #[test]
    fn paths_come_depth_first_by_name() {
        let calls = Calls::parse("0 m( 1 g( 5 ) 5 f( 6 g( 8 ) 9 ) 10 f( 11 ) 20 )");
        for most in 1..6 {
            let rows = rows(&calls, most, false);
            let shown = |row: &PathRow| {
                let name = &calls.names.funcs[row.func].name;
                format!("{}{name} {}x{}", "-".repeat(row.depth as usize), row.calls, row.net.0)
            };
            let shown: Vec<_> = rows.iter().map(shown).collect();
            assert_eq!(shown, ["m 1x11", "-f 2x3", "--g 1x2", "-g 1x4"], "{most}");
        }
    }

    proptest! {
        #[test]
        fn the_tree_is_that_of_the_trace(calls in random_calls()) {
            let order = PathOrder::by_name(&calls.names);
            let mut merger = Merger::new(order.clone(), false);
            calls.callers_first(|row| merger.add(row));
            let rows = |tree: &CallTree| tree.depth_first(None, &order.rank).collect::<Vec<_>>();
            prop_assert_eq!(rows(&merger.into_tree()), rows(&build(&calls.trace())));
        }

        #[test]
        fn paths_are_the_same_however_many_fit_in_memory(
            calls in random_calls(),
            most in 1..20_usize,
        ) {
            for keeps_threads in [false, true] {
                let all = rows(&calls, usize::MAX, keeps_threads);
                prop_assert_eq!(&rows(&calls, most, keeps_threads), &all);
                let sum = |take: fn(&PathRow) -> u64| all.iter().map(take).sum::<u64>();
                let nodes = build(&calls.trace());
                let of_nodes = nodes.nodes().fold((0, 0, 0), |sum, (_, node)| {
                    (sum.0 + node.calls, sum.1 + node.partial, sum.2 + node.net.0)
                });
                let of_rows = (sum(|row| row.calls), sum(|row| row.partial), sum(|row| row.net.0));
                prop_assert_eq!(of_rows, of_nodes);
                if !keeps_threads {
                    prop_assert_eq!(all.len(), nodes.len());
                }
            }
        }
    }
}
