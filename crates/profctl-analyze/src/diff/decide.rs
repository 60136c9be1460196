//! From the test results of a function to its verdict.

use std::cmp::Reverse;

use super::side::{SideStats, counts};
use super::types::{Function, Interval};
use super::{Measure, Options, Verdict, stats};
use crate::summarize::Profile;

/// The change that would be seen 8 times in 10 by a measure: the median over functions.
pub(super) fn sensitivity(functions: &[Function], measure: Measure) -> Option<f64> {
    let mde = |function: &Function| function.tests[measure.index()].as_ref().map(|t| t.mde);
    let mut changes: Vec<f64> =
        functions.iter().filter_map(mde).filter(|mde| mde.is_finite()).collect();
    changes.sort_by(f64::total_cmp);
    (!changes.is_empty()).then(|| stats::median(&changes).exp2() - 1.0)
}

/// Makes one verdict of those of the measures: the worst, and of equals the first.
pub(super) fn decide(
    function: &mut Function,
    interval: Interval,
    testable: bool,
    measures: &[Measure],
    selected_level: f64,
) {
    let (before, after) = (function.before.is_there(), function.after.is_there());
    let ratio = |measure: Measure| {
        let (from, to) = (measure.of(&function.before.total), measure.of(&function.after.total));
        let runs = f64::from(function.before.of_runs) / f64::from(function.after.of_runs);
        let scale = if measure == Measure::Total { runs } else { 1.0 };
        Some((to - from).exp2() * scale).filter(|ratio| ratio.is_finite())
    };
    function.measure = measures[0];
    function.verdict = match (before, after) {
        (false, _) => Verdict::New,
        (_, false) => Verdict::Gone,
        _ if !testable => Verdict::NotTested,
        _ if interval == Interval::WithinTrace => Verdict::Inconclusive,
        _ => {
            let said = measures.iter().filter_map(|&measure| {
                let tested = function.tests[measure.index()].as_ref()?;
                let verdict = Verdict::from(tested.verdict);
                Some((severity(verdict), measure, verdict))
            });
            // The measures come in the order in which they are shown.
            match said.min_by_key(|&(severity, ..)| severity) {
                Some((_, measure, verdict)) => {
                    function.measure = measure;
                    verdict
                }
                None => Verdict::NotTested,
            }
        }
    };
    let tested = function.tested().filter(|tested| tested.estimate.is_finite());
    if let Some(tested) = tested.filter(|_| interval != Interval::WithinTrace)
        && tested.verdict != stats::Verdict::NotTested
    {
        let tested = *tested;
        show(function, &tested, selected_level);
        return;
    }
    function.ratio = if before && after { ratio(function.measure) } else { None };
}

/// Shows the change that was found by the measure of the verdict. The interval of what was picked out of
/// the others is wider.
pub(super) fn show(function: &mut Function, tested: &stats::Tested, selected_level: f64) {
    let picked = [Verdict::Regressed, Verdict::Suspect, Verdict::Improved];
    let ends = if picked.contains(&function.verdict) {
        tested.interval(selected_level)
    } else {
        (tested.ci_low, tested.ci_high)
    };
    let ends = (ends.0.exp2(), ends.1.exp2());
    function.ratio = Some(tested.estimate.exp2());
    function.interval = Some(ends).filter(|ends| ends.0.is_finite() && ends.1.is_finite());
}

/// Which verdict outweighs which, where measures differ: a change does, whatever the others say, and
/// nothing is known to be the same unless every measure says so.
fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Regressed => 0,
        Verdict::Suspect => 1,
        Verdict::Improved => 2,
        Verdict::Inconclusive | Verdict::New | Verdict::Gone => 3,
        Verdict::Equivalent => 4,
        Verdict::NotTested => 5,
    }
}

/// Where a function is among the others: by verdict, own time before that of callees, then by size.
/// Callers of something slow are many, and the further away the more diluted: the largest factor is
/// nearest to it. What one side has in some runs only comes after what it has in all.
pub(super) fn order(function: &Function) -> (Verdict, bool, bool, Reverse<u64>) {
    let Function { before, after, .. } = function;
    let elapsed = function.measure == Measure::Elapsed;
    let by_chance = match function.verdict {
        Verdict::New => after.runs < after.of_runs,
        Verdict::Gone => before.runs < before.of_runs,
        _ => false,
    };
    let size = match function.ratio.filter(|&ratio| elapsed && ratio > 0.0) {
        Some(ratio) => (ratio.log2().abs() * 1e9) as u64,
        // What the verdict is about, which is not always the larger part of the change.
        None if function.measure == Measure::Net && function.was_tested() => {
            function.parts.from_cost.unsigned_abs()
        }
        None => function.weight(),
    };
    (function.verdict, elapsed, by_chance, Reverse(size))
}

/// Which functions, or paths, are tested.
pub(super) struct Asking {
    /// Net time of either side that is not idle.
    busy: [f64; 2],
    calls_min: f64,
    share_min: f64,
}

impl Asking {
    pub(super) fn new(merged: [&Profile; 2], options: &Options<'_>) -> Self {
        let busy = merged.map(|profile| profile.busy().max(1) as f64);
        Self { busy, calls_min: options.calls_min, share_min: options.share_min }
    }

    pub(super) fn asks(&self, function: &Function) -> bool {
        let (before, after) = (&function.before, &function.after);
        let calls = f64::midpoint(before.calls_per_run(), after.calls_per_run());
        let share = |side: &SideStats, busy: f64| 100.0 * side.total.net as f64 / busy;
        let share = f64::midpoint(share(before, self.busy[0]), share(after, self.busy[1]));
        counts(function.kind)
            && before.is_there()
            && after.is_there()
            && calls >= self.calls_min
            && share >= self.share_min
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{function, side, tested};
    use super::super::stats::Verdict as Of;
    use super::*;

    #[test]
    fn the_change_that_can_be_seen_is_that_of_the_middle_function() {
        let of = |mdes: &[f64]| {
            let one = |&mde: &f64| {
                let net = stats::Tested { mde, ..tested(Of::Inconclusive, 0.0, 0.1) };
                Function { tests: [Some(net), None, None], ..function("f", [(1, [1, 1, 1]); 2]) }
            };
            let functions: Vec<Function> = mdes.iter().map(one).collect();
            assert_eq!(sensitivity(&functions, Measure::Total), None);
            sensitivity(&functions, Measure::Net)
        };
        // In binary logarithms: 2, 1.5 and 1.1 times the time. What is not known does not count.
        let (most, middle, least) = (1.0, 1.5_f64.log2(), 1.1_f64.log2());
        assert!((of(&[most, least, f64::NAN, middle]).unwrap() - 0.5).abs() < 1e-12);
        assert!((of(&[f64::INFINITY, most]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(of(&[f64::NAN]), None);
    }

    #[test]
    fn functions_are_in_the_order_in_which_they_are_looked_at() {
        let names = |functions: Vec<Function>| {
            let mut functions = functions;
            functions.sort_by_key(order);
            functions.into_iter().map(|one| one.name).collect::<Vec<_>>().join(" ")
        };
        let there = |verdict, name: &str, calls: [u64; 2], net: [u64; 2]| Function {
            verdict,
            ..function(name, [0, 1].map(|side| (1, [calls[side], net[side], net[side]])))
        };
        // Of one side: what all runs have, then by size.
        for (side, verdict) in [(1, Verdict::New), (0, Verdict::Gone)] {
            let only = |name: &str, runs: u32, net: u64| {
                let mut sides = [(3, [0, 0, 0]); 2];
                sides[side] = (3, [3, net, net]);
                let mut one = Function { verdict, ..function(name, sides) };
                let side = if side == 1 { &mut one.after } else { &mut one.before };
                side.runs = runs;
                one
            };
            assert_eq!(
                names(vec![only("some", 2, 90), only("all", 3, 30), only("most", 3, 60)]),
                "most all some"
            );
        }
        // On both sides, no matter how many runs have it.
        let mut large = there(Verdict::Regressed, "large", [9, 9], [100, 300]);
        large.before.runs = 0;
        large.after.runs = 0;
        let small = there(Verdict::Regressed, "small", [9, 9], [100, 200]);
        assert_eq!(names(vec![small, large]), "large small");
        // Own time before that of callees, and these by factor, in either direction.
        let elapsed = |name: &str, ratio: f64, net: [u64; 2]| Function {
            measure: Measure::Elapsed,
            ratio: Some(ratio),
            ..there(Verdict::Regressed, name, [9, 9], net)
        };
        let own = there(Verdict::Regressed, "own", [9, 9], [100, 101]);
        assert_eq!(
            names(vec![elapsed("some", 1.4, [0, 900]), elapsed("more", 0.5, [0, 9]), own]),
            "own more some"
        );
        // A ratio of nothing is no factor, and the size stands for it.
        let nothing = elapsed("nothing", 0.0, [100, 300]);
        assert_eq!(order(&nothing).3, Reverse(200));
        assert_eq!(order(&elapsed("twice", 2.0, [0, 9])).3, Reverse(1_000_000_000));
        // By net time per call: the change that is not in the number of calls. 20 calls of 10 became
        // 40 of 11: 240 more, of which Δa·c̄ = 1 · 30.
        let mut both = there(Verdict::Regressed, "both", [20, 40], [200, 440]);
        assert_eq!(order(&both).3, Reverse(240));
        both.tests[0] = Some(tested(Of::Regressed, 0.1, 0.01));
        assert_eq!(order(&both).3, Reverse(30));
        both.measure = Measure::Total;
        assert_eq!(order(&both).3, Reverse(240));
    }

    #[test]
    fn what_is_tested_has_the_calls_and_the_share_of_both_sides_on_average() {
        // Busy for 3 times 9 on either side.
        let merged = [side("0 f( 9 )").merged().unwrap(), side("0 f( 9 )").merged().unwrap()];
        let asks = |calls_min, share_min, sides| {
            let options = Options { calls_min, share_min, ..Options::default() };
            Asking::new(merged.each_ref(), &options).asks(&function("f", sides))
        };
        // 10 and 20 calls per run; 2 and 4 of 27 are 11.11 %.
        let sides = [(3, [30, 2, 2]), (2, [40, 4, 4])];
        assert!(asks(15.0, 11.0, sides));
        assert!(!asks(15.5, 11.0, sides));
        assert!(!asks(15.0, 11.2, sides));
        // Of one side, and on both with a kind that is no cost.
        assert!(!asks(0.0, 0.0, [(3, [30, 2, 2]), (3, [0, 0, 0])]));
        assert!(!asks(0.0, 0.0, [(3, [0, 0, 0]), (3, [30, 2, 2])]));
    }

    #[test]
    fn an_interval_within_traces_or_without_ends_is_not_that_of_a_test() {
        let shown = |interval, reach| {
            let sides = [(1, [10, 80, 80]), (1, [10, 160, 160])];
            let net = tested(Of::Equivalent, 3.0, reach);
            let mut one = Function { tests: [Some(net), None, None], ..function("f", sides) };
            decide(&mut one, interval, true, &[Measure::Net], 0.95);
            (one.ratio, one.interval)
        };
        assert_eq!(shown(Interval::BetweenRuns, 1.0), (Some(8.0), Some((4.0, 16.0))));
        assert_eq!(shown(Interval::BetweenRuns, f64::INFINITY), (Some(8.0), None));
        assert_eq!(shown(Interval::BetweenRuns, 2e3), (Some(8.0), None));
        assert_eq!(shown(Interval::WithinTrace, 1.0), (Some(2.0), None));
    }
}
