//! Functions, results of tests and comparisons with given numbers, for tests of what is made of them.

pub(super) use super::fixture::run;
use super::stats::{self, Design, Row, Tested};
use super::types::{Function, Interval};
use super::{Comparison, Measure, Options, Parts, Side, SideStats, Verdict, compare};
use crate::summarize::FuncStats;

/// A side of so many runs: calls, net and elapsed time of all of them together.
pub(super) type Sums = (u32, [u64; 3]);

fn side_stats((runs, [calls, net, elapsed]): Sums) -> SideStats {
    let total = FuncStats { calls, counted: calls, net, elapsed, ..FuncStats::default() };
    SideStats::new(runs, if calls > 0 { runs } else { 0 }, total)
}

/// A function that was not tested.
pub(super) fn function(name: &str, sides: [Sums; 2]) -> Function {
    let [before, after] = sides.map(side_stats);
    let parts = Parts::of(&before, &after);
    let verdict = match (before.is_there(), after.is_there()) {
        (false, _) => Verdict::New,
        (_, false) => Verdict::Gone,
        _ => Verdict::NotTested,
    };
    Function {
        name: name.into(),
        module: None,
        kind: None,
        matched: None,
        before,
        after,
        parts,
        tests: [None, None, None],
        measure: Measure::Net,
        ratio: None,
        interval: None,
        verdict,
        moved: None,
        charged: None,
        tail: None,
    }
}

/// A change of `estimate` within `reach`, with 10 degrees of freedom and a margin of 0.07.
pub(super) fn tested(verdict: stats::Verdict, estimate: f64, reach: f64) -> Tested {
    let design = Design { before: vec![0, 1, 2], after: vec![0, 1, 2], paired: false };
    let row = Row { before: vec![1.0; 3], after: vec![1.0; 3], ..Row::default() };
    let known = stats::test(&design, &[row], &stats::Options::default()).rows[0];
    // `scipy.stats.t.isf(0.025, 10)`
    let se = reach / 2.228_138_852;
    let (ci_low, ci_high) = (estimate - reach, estimate + reach);
    Tested { verdict, estimate, ci_low, ci_high, se, df: 10.0, margin: 0.07, ..known }
}

/// Three runs of calls on a line.
pub(super) fn side(line: &str) -> Side {
    let runs = ["1", "2", "3"].map(|name| run(name, line)).into();
    Side { name: String::new(), runs, skipped: 0 }
}

/// A comparison of several runs per side with these functions, and a margin of 5 %.
pub(super) fn comparison(functions: Vec<Function>) -> Comparison {
    let mut known = compare(side("0 f( 9 )"), side("0 f( 9 )"), &Options::default()).unwrap();
    (known.functions, known.interval, known.margin) = (functions, Interval::BetweenRuns, 0.05);
    known
}
