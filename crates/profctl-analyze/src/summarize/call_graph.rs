//! The call graph: sums of calls by caller and callee.
//!
//! A call is counted when its caller ends, because only then it is known who that is. Memory grows
//! with the pairs of functions that call one another, and with the calls that wait for their caller,
//! of which only the latest are kept one by one.

use profctl_model::hash::FastMap;
use profctl_model::{
    FuncId, IdVec, Late, Names, NewIds, Record, SelectThreads, Span, SpanSink, ThreadId, Ticks,
};

/// Calls of a thread that wait one by one for their caller.
pub(crate) const WAITING_MAX: usize = 1 << 16;

/// Sums of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallSums {
    /// Complete calls.
    pub calls: u64,
    /// Calls without entry or exit.
    pub partial: u64,
    /// Elapsed of all.
    pub elapsed: Ticks,
    /// Elapsed of those that no call of the same function is around.
    pub outermost: Ticks,
    /// Net of all.
    pub net: Ticks,
}

impl CallSums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.partial += other.partial;
        self.elapsed += other.elapsed;
        self.outermost += other.outermost;
        self.net += other.net;
    }
}

/// One call, until its caller ends.
#[derive(Clone, Copy, Debug)]
struct Call {
    func: FuncId,
    is_partial: bool,
    is_outermost: bool,
    elapsed: Ticks,
    net: Ticks,
}

impl Call {
    fn sums(&self) -> CallSums {
        CallSums {
            calls: u64::from(!self.is_partial),
            partial: u64::from(self.is_partial),
            elapsed: self.elapsed,
            outermost: if self.is_outermost { self.elapsed } else { Ticks(0) },
            net: self.net,
        }
    }
}

/// A caller and a callee; of one thread where threads are kept apart. Two words, as one is looked up
/// for every call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Pair {
    functions: u64,
    /// Counted from 1; 0 where threads are not kept apart.
    thread: u64,
}

impl Pair {
    fn new(thread: Option<ThreadId>, caller: FuncId, callee: FuncId) -> Self {
        Self {
            functions: (caller.index() as u64) << 32 | callee.index() as u64,
            thread: thread.map_or(0, |thread| thread.index() as u64 + 1),
        }
    }

    fn thread(self) -> Option<ThreadId> {
        self.thread.checked_sub(1).map(|index| ThreadId::from_index(index as usize))
    }

    /// Caller and callee.
    fn functions(self) -> (FuncId, FuncId) {
        let [caller, callee] = [self.functions >> 32, self.functions & u64::from(u32::MAX)];
        (FuncId::from_index(caller as usize), FuncId::from_index(callee as usize))
    }
}

/// Collects who calls whom.
#[derive(Clone, Debug)]
pub struct CallGraphSink {
    waiting: IdVec<ThreadId, Waiting>,
    pairs: FastMap<Pair, CallSums>,
    /// Calls whose caller is not known because too many waited for it.
    lost: u64,
    separate: bool,
    /// More pairs than this, and nothing is kept.
    most: usize,
    gave_up: bool,
}

impl Default for CallGraphSink {
    fn default() -> Self {
        Self::of_at_most(usize::MAX)
    }
}

/// Calls of a thread without a caller so far.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// The latest.
    calls: Vec<Call>,
    /// Those before, in sums.
    earlier: FastMap<FuncId, CallSums>,
    n_earlier: u64,
}

impl Waiting {
    fn push(&mut self, call: Call) {
        if self.calls.len() >= WAITING_MAX {
            for call in self.calls.drain(..WAITING_MAX / 2) {
                self.earlier.entry(call.func).or_default().add(&call.sums());
                self.n_earlier += 1;
            }
        }
        self.calls.push(call);
    }
}

impl SpanSink for CallGraphSink {
    fn span(&mut self, span: &Span, _names: &Names) {
        if self.gave_up {
            return;
        }
        let Self { waiting, pairs, lost, separate, .. } = self;
        let waiting = waiting.grow_to(span.thread);
        let call = Call {
            func: span.func,
            is_partial: span.fidelity.is_partial(),
            is_outermost: span.outermost,
            elapsed: span.elapsed(),
            net: span.net,
        };
        if span.callees == 0 && span.late == Late::NONE {
            waiting.push(call);
            return;
        }
        let thread = separate.then_some(span.thread);
        let late = waiting.calls.len().saturating_sub(span.late.roots as usize);
        let callees = span.callees as usize;
        let first = late.saturating_sub(callees);
        let pair = |callee: FuncId| Pair::new(thread, span.func, callee);
        for callee in waiting.calls.drain(first..late) {
            pairs.entry(pair(callee.func)).or_default().add(&callee.sums());
        }
        let missing = (callees - (late - first)) as u64;
        if missing > 0 && waiting.n_earlier > 0 {
            if missing >= waiting.n_earlier {
                let earlier: Vec<_> = waiting.earlier.drain().collect();
                for (func, sums) in earlier {
                    pairs.entry(pair(func)).or_default().add(&sums);
                }
                waiting.n_earlier = 0;
            } else {
                *lost += missing;
                waiting.n_earlier -= missing;
            }
        }
        // What is late follows the call.
        let followers = waiting.calls.split_off(first);
        waiting.push(call);
        for call in followers {
            waiting.push(call);
        }
        self.check();
    }

    /// Which calls are outermost may turn out later; the sums of a function's callers then differ
    /// from its own by these calls.
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}

    fn part(&self) -> Option<Self> {
        Some(Self { separate: self.separate, ..Self::of_at_most(self.most) })
    }

    #[expect(clippy::iter_over_hash_type, reason = "sums are added, in any order")]
    fn join(&mut self, part: Self, ids: &NewIds, _names: &Names) {
        for (pair, sums) in part.pairs {
            let thread = pair.thread().map(|thread| ids.threads[thread]);
            let (caller, callee) = pair.functions();
            let pair = Pair::new(thread, ids.funcs[caller], ids.funcs[callee]);
            self.pairs.entry(pair).or_default().add(&sums);
        }
        for (thread, waiting) in part.waiting.into_items().into_iter().enumerate() {
            if waiting.calls.is_empty() && waiting.n_earlier == 0 {
                continue;
            }
            let ours = self.waiting.grow_to(ids.threads[ThreadId::from_index(thread)]);
            for (func, sums) in waiting.earlier {
                ours.earlier.entry(ids.funcs[func]).or_default().add(&sums);
            }
            ours.n_earlier += waiting.n_earlier;
            for call in waiting.calls {
                ours.push(Call { func: ids.funcs[call.func], ..call });
            }
        }
        self.lost += part.lost;
        self.gave_up |= part.gave_up;
        self.check();
    }
}

impl SelectThreads for CallGraphSink {
    fn separate_threads(&mut self) {
        self.separate = true;
    }

    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.pairs.retain(|pair, _| pair.thread().is_none_or(keep));
        let waiting = std::mem::take(&mut self.waiting).into_items().into_iter().enumerate();
        let kept = waiting.map(|(index, waiting)| {
            if keep(ThreadId::from_index(index)) { waiting } else { Waiting::default() }
        });
        self.waiting = kept.collect();
    }
}

impl CallGraphSink {
    /// None so far. If more pairs than `most` call one another, none is kept: generated programs may
    /// have one per call.
    pub(super) fn of_at_most(most: usize) -> Self {
        Self {
            waiting: IdVec::default(),
            pairs: FastMap::default(),
            lost: 0,
            separate: false,
            most,
            gave_up: false,
        }
    }

    fn check(&mut self) {
        if self.gave_up || self.pairs.len() > self.most {
            *self = Self { gave_up: true, ..Self::of_at_most(self.most) };
        }
    }

    /// Callers, callees and the calls between them, in no order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (FuncId, FuncId, &CallSums)> {
        self.pairs.iter().map(|(pair, sums)| {
            let (caller, callee) = pair.functions();
            (caller, callee, sums)
        })
    }

    /// Calls without a caller, in no order.
    pub(crate) fn without_caller(&self) -> impl Iterator<Item = (FuncId, CallSums)> {
        self.waiting.iter().flat_map(|waiting| {
            let earlier = waiting.earlier.iter().map(|(func, sums)| (*func, *sums));
            waiting.calls.iter().map(|call| (call.func, call.sums())).chain(earlier)
        })
    }

    /// Calls whose caller is not known because too many waited for it.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The graph, with names; nothing if it was too large.
    pub(super) fn finish(self, names: &Names) -> Option<CallGraph> {
        if self.gave_up {
            return None;
        }
        let funcs = names.funcs.iter();
        let funcs: Vec<Key<'_>> =
            funcs.map(|func| (func.name.as_str(), func.module.as_deref())).collect();
        let edges = self.pairs().map(|(caller, callee, sums)| {
            let between = Between { calls: sums.calls + sums.partial, net: sums.net.0 };
            (caller.index(), callee.index(), between)
        });
        Some(CallGraph::new(&funcs, edges.collect()))
    }
}

/// A function: its name and module.
pub(crate) type Key<'a> = (&'a str, Option<&'a str>);

/// The calls of one function by another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Between {
    /// How many, incomplete ones included.
    pub(crate) calls: u64,
    /// Their net time, ticks of the profile.
    pub(crate) net: u64,
}

impl Between {
    fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.net = self.net.saturating_add(other.net);
    }
}

/// Who calls whom in a profile, known by names so that it outlives its trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallGraph {
    /// Functions by name and module, in that order; each of them is in an edge.
    pub(crate) funcs: Vec<(String, Option<String>)>,
    /// In order.
    pub(crate) edges: Vec<Edge>,
}

/// A caller and a callee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    /// Place in `funcs`.
    pub(crate) caller: u32,
    /// Place in `funcs`.
    pub(crate) callee: u32,
    pub(crate) between: Between,
}

impl CallGraph {
    /// The graph of calls between `funcs`, by their places, in any order; sums of the same pair are
    /// added.
    pub(super) fn new(funcs: &[Key<'_>], mut edges: Vec<(usize, usize, Between)>) -> Self {
        let mut is_used = vec![false; funcs.len()];
        for &(caller, callee, _) in &edges {
            is_used[caller] = true;
            is_used[callee] = true;
        }
        let mut order: Vec<usize> = (0..funcs.len()).filter(|&at| is_used[at]).collect();
        order.sort_unstable_by_key(|&at| funcs[at]);
        let mut places = vec![0_usize; funcs.len()];
        let mut names: Vec<(String, Option<String>)> = Vec::with_capacity(order.len());
        for at in order {
            let (name, module) = funcs[at];
            let is_known = names
                .last()
                .is_some_and(|(last, of)| (last.as_str(), of.as_deref()) == (name, module));
            if !is_known {
                names.push((name.to_owned(), module.map(str::to_owned)));
            }
            places[at] = names.len() - 1;
        }
        for (caller, callee, _) in &mut edges {
            (*caller, *callee) = (places[*caller], places[*callee]);
        }
        edges.sort_unstable_by_key(|&(caller, callee, _)| (caller, callee));
        let mut kept: Vec<Edge> = Vec::with_capacity(edges.len());
        for (caller, callee, between) in edges {
            let (caller, callee) = (caller as u32, callee as u32);
            match kept.last_mut() {
                Some(last) if (last.caller, last.callee) == (caller, callee) => {
                    last.between.add(between);
                }
                _ => kept.push(Edge { caller, callee, between }),
            }
        }
        Self { funcs: names, edges: kept }
    }

    /// Callers, callees and the calls between them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key<'_>, Key<'_>, Between)> {
        let key = |place: u32| {
            let (name, module) = &self.funcs[place as usize];
            (name.as_str(), module.as_deref())
        };
        self.edges.iter().map(move |edge| (key(edge.caller), key(edge.callee), edge.between))
    }

    /// Functions, each with its place, and the calls between them.
    fn parts(&self) -> (Vec<Key<'_>>, Vec<(usize, usize, Between)>) {
        let funcs = self.funcs.iter().map(|(name, module)| (name.as_str(), module.as_deref()));
        let edges = self.edges.iter();
        let edges = edges.map(|edge| (edge.caller as usize, edge.callee as usize, edge.between));
        (funcs.collect(), edges.collect())
    }

    /// Adds the calls of another graph. The order in which graphs are added cannot be seen.
    pub(super) fn merge(&mut self, other: &Self) {
        let (mut funcs, mut edges) = self.parts();
        let (more, others) = other.parts();
        let ours = funcs.len();
        funcs.extend(more);
        edges.extend(others.into_iter().map(|(a, b, between)| (a + ours, b + ours, between)));
        *self = Self::new(&funcs, edges);
    }

    /// The same without the functions that `keep` rejects.
    pub(super) fn of_those(&self, keep: &dyn Fn(Key<'_>) -> bool) -> Self {
        let (funcs, mut edges) = self.parts();
        let kept: Vec<bool> = funcs.iter().map(|&func| keep(func)).collect();
        edges.retain(|&(caller, callee, _)| kept[caller] && kept[callee]);
        Self::new(&funcs, edges)
    }

    /// Makes times other ticks.
    pub(super) fn convert(&mut self, ticks: &dyn Fn(u64) -> u64) {
        for edge in &mut self.edges {
            edge.between.net = ticks(edge.between.net);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::random_calls;

    proptest! {
        /// What callers call is what the profile says of calls made, and no function has more time
        /// in its callers' calls than it has at all.
        #[test]
        fn it_agrees_with_the_flat_profile(calls in random_calls()) {
            let profile = calls.profile();
            let graph = profile.call_graph.as_ref().unwrap();
            for row in &profile.rows {
                let own = (row.name.as_str(), row.module.as_deref());
                let made: u64 = (graph.iter().filter(|(caller, ..)| *caller == own))
                    .map(|(.., between)| between.calls).sum();
                prop_assert_eq!(made, row.stats.callees, "{}", row.name);
                let within: u64 = (graph.iter().filter(|(_, callee, _)| *callee == own))
                    .map(|(.., between)| between.net).sum();
                prop_assert!(within <= row.stats.net, "{}", row.name);
            }
        }
    }
}
