//! New and gone functions are charged to the function that calls them: there is nothing to compare them
//! with, but their caller is there on both sides, and its own time together with theirs can be
//! compared. Code that only moved out of the caller, or into it, costs nothing.

use std::collections::BTreeMap;

use super::callers::{Callers, Way};
use super::seen::RunRows;
use super::stats::{self, Tested};
use super::types::{Charged, Function, Pairing};
use crate::summarize::FuncStats;

/// Calls in a run below which a function of one side is one by chance.
const CALLS_MIN: f64 = 20.0;

/// The part of the calls of a function by another that may be left where it was inlined.
const LEFT_MAX: f64 = 0.02;

/// The part of what is charged that a callee has to make to be named for it.
const NAMED_MIN: f64 = 0.1;

/// A caller, and what is charged to it.
#[derive(Clone, Debug)]
pub(super) struct Charge {
    /// Its row.
    pub(super) caller: usize,
    /// Where it is among the functions that are tested.
    pub(super) tested: usize,
    /// By side: functions that it calls on no other, and what these call, each with the part of its
    /// net time that is charged.
    parts: [Vec<(usize, f64)>; 2],
    /// By side: which of its callees these are below, and their net time in all runs.
    callees: [BTreeMap<usize, f64>; 2],
}

/// Whether a function is there in every run of one side, and not on the other.
fn side_of(one: &Function) -> Option<usize> {
    let sides = [&one.before, &one.after];
    let is_only = |&side: &usize| {
        let own = sides[side];
        !sides[1 - side].is_there() && own.runs == own.of_runs && own.calls_per_run() >= CALLS_MIN
    };
    (0..2).find(is_only)
}

/// What is charged to functions that are tested.
pub(super) fn find(functions: &[Function], callers: &Callers, tested: &[usize]) -> Vec<Charge> {
    let mut charges: BTreeMap<usize, Charge> = BTreeMap::new();
    let mut charge = |Way { caller, callee, part }: Way, side: usize, at: usize| {
        if let Ok(tested) = tested.binary_search(&caller) {
            let charge = charges.entry(caller).or_insert_with(|| Charge::new(caller, tested));
            charge.add(side, (at, part), callee, functions);
        }
    };
    for (at, one) in functions.iter().enumerate() {
        if let Some(side) = side_of(one) {
            for way in callers.ways(side, at, functions) {
                charge(way, side, at);
            }
        }
        // A function may be inlined in one place and still be called in others.
        if one.is_on_both_sides() {
            let before = callers.of(0, at).iter();
            for caller in before.filter(|caller| functions[caller.at].is_on_both_sides()) {
                let after = callers.of(1, at).iter().find(|after| after.at == caller.at);
                let runs = [&one.before, &one.after].map(|side| f64::from(side.of_runs.max(1)));
                let before = caller.calls as f64 / runs[0];
                let after = after.map_or(0, |after| after.calls) as f64 / runs[1];
                if before >= CALLS_MIN && after <= LEFT_MAX * before {
                    charge(Way { caller: caller.at, callee: at, part: caller.part }, 0, at);
                }
            }
        }
    }
    charges.into_values().collect()
}

impl Charge {
    /// A caller without a charge; `tested` is its place among those that are tested.
    pub(super) fn new(caller: usize, tested: usize) -> Self {
        Self { caller, tested, parts: Default::default(), callees: Default::default() }
    }

    /// Charges a part of a function that is called below `callee`.
    pub(super) fn add(
        &mut self,
        side: usize,
        (at, part): (usize, f64),
        callee: usize,
        functions: &[Function],
    ) {
        let of = [&functions[at].before, &functions[at].after][side];
        self.parts[side].push((at, part));
        *self.callees[side].entry(callee).or_default() += part * of.total.net as f64;
    }

    /// The row to test: that of the caller, with the net time of what is charged to it added on either
    /// side, per call of the caller.
    pub(super) fn row(
        &self,
        caller: &stats::Row,
        seen: &RunRows<'_>,
        pairings: &[Pairing],
        margin: Option<f64>,
    ) -> stats::Row {
        let mut row = stats::Row { margin, ..caller.clone() };
        for (side, parts) in self.parts.iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
            let own = seen.in_runs(&pairings[self.caller], side);
            let mut more = vec![0.0; own.len()];
            for &(at, part) in parts {
                for (more, run) in more.iter_mut().zip(seen.in_runs(&pairings[at], side)) {
                    *more += part * run.net as f64;
                }
            }
            let calls = |run: &FuncStats| run.calls.saturating_add(run.partial) as f64;
            let values = if side == 0 { &mut row.before } else { &mut row.after };
            for values in [values, &mut row.within.without_largest[side]] {
                for (value, (more, run)) in values.iter_mut().zip(more.iter().zip(&own)) {
                    *value = (value.exp2() + more / calls(run)).log2();
                }
            }
        }
        row
    }

    /// The net time that is charged on a side, in all runs.
    pub(super) fn sum(&self, side: usize) -> f64 {
        self.callees[side].values().sum()
    }

    /// The callee of a side that most is charged of.
    pub(super) fn largest(&self, side: usize) -> Option<usize> {
        let all = self.callees[side].iter();
        all.max_by(|a, b| a.1.total_cmp(b.1)).map(|(&at, _)| at)
    }
}

/// Says of the new functions that a caller calls what it takes with them: of the caller that became
/// slower, or else of the one that calls most of it.
pub(super) fn note(functions: &mut [Function], charges: &[(Charge, Option<Tested>)]) {
    let mut found: BTreeMap<usize, (bool, f64, Charged)> = BTreeMap::new();
    for (charge, tested) in charges {
        let Some(tested) = tested else { continue };
        let all = charge.sum(1);
        for (&new, &net) in charge.callees[1].iter().filter(|(_, net)| **net >= NAMED_MIN * all) {
            let caller = functions[charge.caller].name.clone();
            let charged = Charged { caller, tested: *tested };
            let slower = charged.is_regressed();
            let is_better = |&(known, most, _): &(bool, f64, Charged)| {
                slower && !known || slower == known && net > most
            };
            if found.get(&new).is_none_or(is_better) {
                found.insert(new, (slower, net, charged));
            }
        }
    }
    for (new, (.., charged)) in found {
        functions[new].charged = Some(charged);
    }
}
