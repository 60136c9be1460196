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
        let picked = [Verdict::Regressed, Verdict::Suspect, Verdict::Improved];
        let ends = if picked.contains(&function.verdict) {
            tested.interval(selected_level)
        } else {
            (tested.ci_low, tested.ci_high)
        };
        let ends = (ends.0.exp2(), ends.1.exp2());
        function.ratio = Some(tested.estimate.exp2());
        function.interval = Some(ends).filter(|ends| ends.0.is_finite() && ends.1.is_finite());
        return;
    }
    function.ratio = if before && after { ratio(function.measure) } else { None };
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
