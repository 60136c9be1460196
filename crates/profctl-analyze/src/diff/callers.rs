//! Who calls whom on both sides of a comparison.

use std::collections::BTreeMap;

use profctl_model::hash::FastMap;

use super::types::{Function, Pairing};
use crate::summarize::{CallGraph, Key, Profile};

/// How many callers of one side a way to one of both sides leads through at most.
const STEPS_MAX: usize = 16;
/// The part of a function's net time below which a caller does not matter.
const PART_MIN: f64 = 0.01;

/// The callers of each row of a comparison, by side.
#[derive(Debug)]
pub(super) struct Callers([Vec<Vec<Caller>>; 2]);

/// A function that calls another one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Caller {
    /// Its row.
    pub(super) at: usize,
    /// Calls by it, over all runs.
    pub(super) calls: u64,
    /// The part of the net time of the callee that is in calls by it, recursion aside.
    pub(super) part: f64,
}

impl Callers {
    /// Looks up who calls whom; nothing if a side does not say. `functions` are the rows of
    /// `pairings`.
    pub(super) fn new(
        merged: [&Profile; 2],
        pairings: &[Pairing],
        functions: &[Function],
    ) -> Option<Self> {
        let of = |side: usize| {
            let graph = merged[side].call_graph.as_ref()?;
            let mut rows: FastMap<(&str, Option<&str>), usize> = FastMap::default();
            for (at, pairing) in pairings.iter().enumerate() {
                for &member in [&pairing.before, &pairing.after][side] {
                    let row = &merged[side].rows[member];
                    rows.insert((row.name.as_str(), row.module.as_deref()), at);
                }
            }
            let mut sums: Vec<BTreeMap<usize, [u64; 2]>> = vec![BTreeMap::new(); functions.len()];
            for (caller, callee, between) in graph.iter() {
                if let (Some(&caller), Some(&callee)) = (rows.get(&caller), rows.get(&callee)) {
                    let [calls, net] = sums[callee].entry(caller).or_default();
                    *calls = calls.saturating_add(between.calls);
                    *net = net.saturating_add(between.net);
                }
            }
            let callers = functions.iter().zip(sums).enumerate().map(|(at, (function, mut by))| {
                let own = by.remove(&at).unwrap_or_default();
                let total = &[&function.before, &function.after][side].total;
                let all = [total.calls.saturating_add(total.partial), total.net];
                let of_others = |of: usize| all[of].saturating_sub(own[of]) as f64;
                // What takes no time is divided by calls.
                let of = usize::from(of_others(1) > 0.0);
                let part = |sums: [u64; 2]| (sums[of] as f64 / of_others(of)).min(1.0);
                let caller =
                    |(at, sums): (usize, [u64; 2])| Caller { at, calls: sums[0], part: part(sums) };
                by.into_iter().map(caller).collect()
            });
            Some(callers.collect())
        };
        Some(Self([of(0)?, of(1)?]))
    }

    /// The callers of a function on a side.
    pub(super) fn of(&self, side: usize, at: usize) -> &[Caller] {
        &self.0[side][at]
    }

    /// The part of a function's net time that is in calls by `caller`; 0 if that does not call it.
    pub(super) fn part(&self, side: usize, caller: usize, callee: usize) -> f64 {
        let found = self.of(side, callee).iter().find(|one| one.at == caller);
        found.map_or(0.0, |one| one.part)
    }

    /// The ways from a function of one side to the nearest callers that are there on both: its
    /// callers may be new themselves.
    pub(super) fn ways(&self, side: usize, at: usize, functions: &[Function]) -> Vec<Way> {
        let mut found: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let mut open = BTreeMap::from([(at, 1.0)]);
        for _ in 0..STEPS_MAX {
            let mut further: BTreeMap<usize, f64> = BTreeMap::new();
            for (callee, of) in open {
                for caller in self.of(side, callee) {
                    let part = if functions[caller.at].is_on_both_sides() {
                        found.entry((caller.at, callee)).or_default()
                    } else {
                        further.entry(caller.at).or_default()
                    };
                    *part += of * caller.part;
                }
            }
            open = further;
        }
        let ways = found.into_iter().map(|((caller, callee), part)| Way { caller, callee, part });
        ways.filter(|way| way.part >= PART_MIN).collect()
    }

    /// The nearest caller on both sides that most of a function's time is in.
    pub(super) fn main_of(&self, at: usize, functions: &[Function]) -> Option<usize> {
        let side = usize::from(functions[at].after.is_there());
        let ways = self.ways(side, at, functions).into_iter();
        ways.max_by(|a, b| a.part.total_cmp(&b.part)).map(|way| way.caller)
    }
}

/// How a function of one side is called by one that is on both.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Way {
    /// The nearest caller that is on both sides.
    pub(super) caller: usize,
    /// Its callee on the way: the function, or what calls it.
    pub(super) callee: usize,
    /// The part of the function's net time that is in calls on this way.
    pub(super) part: f64,
}

/// The caller that makes most of the calls of each function of a profile, other than itself.
pub(super) fn main_callers(profile: &Profile) -> FastMap<Key<'_>, &str> {
    let mut most: FastMap<Key<'_>, (u64, &str)> = FastMap::default();
    for (caller, callee, between) in profile.call_graph.iter().flat_map(CallGraph::iter) {
        let (calls, name) = most.entry(callee).or_default();
        if caller != callee && between.calls > *calls {
            (*calls, *name) = (between.calls, caller.0);
        }
    }
    most.into_iter().filter(|(_, (calls, _))| *calls > 0).map(|(of, (_, by))| (of, by)).collect()
}

#[cfg(test)]
mod tests {
    use crate::diff::fixture::Rows;

    /// After, `a` calls the new `n` for 30 and `b` for 10, beside 5 in itself; `n` calls `m`.
    fn rows() -> Rows {
        let after = "0 a( n( 15 m( 20 ) 30 n( 35 ) 35 ) 40 ) 40 b( 40 n( 50 m( 56 ) ) 60 ) \
                     60 top( 70 )";
        Rows::of(&["0 a( 40 ) 40 b( 60 ) 60 top( 70 )"], &[after])
    }

    #[test]
    fn a_caller_has_the_part_of_the_net_time_that_is_in_its_calls() {
        let (rows, near) = (rows(), |found: f64, part: f64| (found - part).abs() < 1e-12);
        let (callers, [a, b, n, m]) = (rows.callers(), ["a", "b", "n", "m"].map(|of| rows.at(of)));
        // 25 of the 35 that `n` takes, less the 5 of the call in itself; 5 of the 11 of `m`.
        assert!(near(callers.part(1, a, n), 25.0 / 35.0), "{:?}", callers.of(1, n));
        assert!(near(callers.part(1, b, n), 10.0 / 35.0));
        assert!(near(callers.part(1, n, m), 1.0));
        assert!(near(callers.part(1, a, m), 0.0) && near(callers.part(0, a, n), 0.0));
    }

    #[test]
    fn ways_to_new_functions_lead_through_new_ones_part_by_part() {
        let rows = rows();
        let (callers, [a, b, n, m]) = (rows.callers(), ["a", "b", "n", "m"].map(|of| rows.at(of)));
        for (of, expected) in [(n, [25.0 / 35.0, 10.0 / 35.0]), (m, [25.0 / 35.0, 10.0 / 35.0])] {
            let ways = callers.ways(1, of, &rows.functions);
            let found: Vec<_> = ways.iter().map(|way| (way.caller, way.callee)).collect();
            assert_eq!(found, [(a, n), (b, n)]);
            for (way, part) in ways.iter().zip(expected) {
                assert!((way.part - part).abs() < 1e-12, "{way:?}, {part}");
            }
            assert_eq!(callers.main_of(of, &rows.functions), Some(a));
        }
        assert_eq!(callers.main_of(rows.at("top"), &rows.functions), None);
    }
}
