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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::diff::fixture::{Rows, tested};

    /// A run in which `f` is called 100 times and calls `callee` in so many of them for 10, and `g`
    /// calls it so often for 30.
    fn line(callee: &str, by_f: usize, by_g: usize) -> String {
        let (mut line, mut now) = (String::new(), 0);
        for call in 0..100 {
            let below =
                if call < by_f { format!("{callee}( {} )", now + 10) } else { String::new() };
            write!(line, "{now} f( {below} {} ) ", now + 15).unwrap();
            now += 15;
        }
        for _ in 0..by_g {
            write!(line, "{now} g( {callee}( {} ) ) ", now + 30).unwrap();
            now += 30;
        }
        write!(line, "{now} g( {} )", now + 5).unwrap();
        line
    }

    /// A run per pair of numbers of calls of `c` by `f` and by `g`.
    fn rows(before: &[(&str, usize, usize)], after: &[(&str, usize, usize)]) -> Rows {
        let lines = |side: &[(&str, usize, usize)]| -> Vec<String> {
            side.iter().map(|&(callee, by_f, by_g)| line(callee, by_f, by_g)).collect()
        };
        let [before, after] = [lines(before), lines(after)];
        let [before, after] = [&before, &after]
            .map(|side| -> Vec<&str> { side.iter().map(String::as_str).collect() });
        Rows::of(&before, &after)
    }

    fn charged_to_f(rows: &Rows) -> Option<Charge> {
        let charges = find(&rows.functions, &rows.callers(), &[rows.at("f")]);
        charges.into_iter().next()
    }

    #[test]
    fn a_callee_that_is_called_fifty_times_less_is_charged_to_the_caller() {
        for (before, after, expected) in [
            (&[20][..], &[0][..], true),
            (&[19], &[0], false),
            (&[50], &[1], true),
            (&[50], &[2], false),
            // Of a run, on the average.
            (&[15, 15], &[0], false),
            (&[100], &[1, 3], true),
        ] {
            let of =
                |calls: &[usize]| calls.iter().map(|&by_f| ("c", by_f, 20)).collect::<Vec<_>>();
            let charge = charged_to_f(&rows(&of(before), &of(after)));
            assert_eq!(charge.is_some(), expected, "{before:?}, {after:?}");
            let Some(charge) = charge else { continue };
            // What `f` spent in it, in nanoseconds.
            let spent = before.iter().sum::<usize>() as f64 * 10_000.0;
            assert!((charge.sum(0) - spent).abs() < 1e-6, "{} {spent}", charge.sum(0));
            assert!(charge.sum(1).abs() < 1e-6, "{}", charge.sum(1));
        }
    }

    #[test]
    fn a_caller_is_tested_with_what_is_charged_to_it() {
        // In the first run after, `f` spends 200 of 800 in the new function, in the second 400.
        let rows = rows(&[("old", 0, 0)], &[("new", 20, 20), ("new", 40, 20)]);
        let charge = charged_to_f(&rows).unwrap();
        assert_eq!(charge.largest(1), Some(rows.at("new")));
        let caller = stats::Row {
            before: vec![15_000_f64.log2()],
            after: vec![13_000_f64.log2(), 11_000_f64.log2()],
            within: stats::WithinRuns {
                without_largest: [
                    vec![14_000_f64.log2()],
                    vec![12_000_f64.log2(), 10_000_f64.log2()],
                ],
                ..stats::WithinRuns::default()
            },
            ..stats::Row::default()
        };
        let row = charge.row(&caller, &rows.seen(), &rows.pairings, Some(0.1));
        // 600 of 1800 are in calls by `f` in both runs together: a third of the 800 and 1000 of each
        // is added to its calls.
        let per_call =
            |values: &[f64]| -> Vec<f64> { values.iter().map(|log| log.exp2()).collect() };
        let near = |values: &[f64], expected: &[f64]| {
            let found = per_call(values);
            let off = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
            assert!(off.fold(0.0, f64::max) < 1e-6, "{found:?}, {expected:?}");
        };
        let more = [800_000.0 / 3.0 / 100.0, 1_000_000.0 / 3.0 / 100.0];
        near(&row.before, &[15_000.0]);
        near(&row.after, &[13_000.0 + more[0], 11_000.0 + more[1]]);
        near(&row.within.without_largest[0], &[14_000.0]);
        near(&row.within.without_largest[1], &[12_000.0 + more[0], 10_000.0 + more[1]]);
        assert_eq!(row.margin, Some(0.1));
    }

    #[test]
    fn a_new_function_is_noted_at_the_caller_that_is_slower_or_else_calls_most_of_it() {
        let rows = rows(&[("old", 0, 0)], &[("new", 20, 20)]);
        let [f, g, new] = ["f", "g", "new"].map(|name| rows.at(name));
        let noted = |callers: &[(usize, f64, bool)]| {
            let charge = |&(caller, net, slower): &(usize, f64, bool)| {
                let mut charge = Charge::new(caller, 0);
                charge.callees[1].insert(new, net);
                let verdict =
                    if slower { stats::Verdict::Regressed } else { stats::Verdict::Equivalent };
                (charge, Some(tested(verdict, 0.0, 0.1)))
            };
            let charges: Vec<_> = callers.iter().map(charge).collect();
            let mut functions = rows.functions.clone();
            note(&mut functions, &charges);
            functions[new].charged.as_ref().map(|charged| charged.caller.clone())
        };
        for (of_f, of_g, expected) in [
            ((3.0, false), (4.0, false), "g"),
            ((4.0, false), (3.0, false), "f"),
            ((3.0, true), (4.0, true), "g"),
            ((4.0, true), (3.0, true), "f"),
            ((3.0, true), (4.0, false), "f"),
            ((4.0, false), (3.0, true), "g"),
            // Of equals, the first.
            ((4.0, true), (4.0, true), "f"),
        ] {
            let found = noted(&[(f, of_f.0, of_f.1), (g, of_g.0, of_g.1)]);
            assert_eq!(found.as_deref(), Some(expected), "{of_f:?}, {of_g:?}");
        }
    }

    #[test]
    fn a_callee_is_named_for_a_tenth_of_what_is_charged() {
        let rows = rows(&[("old", 0, 0)], &[("new", 20, 20)]);
        let [f, g, new] = ["f", "g", "new"].map(|name| rows.at(name));
        let tested = tested(stats::Verdict::Equivalent, 0.0, 0.1);
        let is_noted = |net: f64| {
            let mut charge = Charge::new(f, 0);
            charge.callees[1] = BTreeMap::from([(new, net), (g, 100.0 - net)]);
            let mut functions = rows.functions.clone();
            note(&mut functions, &[(charge, Some(tested))]);
            functions[new].charged.is_some()
        };
        assert!(is_noted(10.5) && !is_noted(9.5));
    }
}
