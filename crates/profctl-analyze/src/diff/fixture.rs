//! What tests of comparisons are made of: sides of lines of calls, and functions, results of tests and
//! comparisons with given numbers.

use profctl_model::SpanSink as _;

use super::align;
use super::callers::Callers;
use super::seen::RunRows;
use super::series::{Series, SeriesSink};
use super::stats::{self, Design, Row, Tested};
use super::types::{Entry, Function, Interval, Pairing};
use super::{Comparison, Measure, Options, Parts, Run, Side, SideStats, Verdict, compare};
use crate::summarize::{FuncStats, Profile};
use crate::testing::Calls;

/// A run of calls on a line.
pub(super) fn run(name: &str, line: &str) -> Run {
    let profile = Calls::parse(line).profile();
    Run { name: name.into(), block: None, profile, facts: Vec::new(), series: None, paths: None }
}

/// The blocks of the functions of a run.
pub(super) fn series(line: &str) -> Series {
    let calls = Calls::parse(line);
    let mut sink = SeriesSink::default();
    calls.spans.iter().for_each(|span| sink.span(span, &calls.names));
    sink.finish(&calls.names, &calls.meta.timebase)
}

/// Rows of functions before anything is tested, in nanoseconds: lines count microseconds.
pub(super) struct Rows {
    pub(super) sides: [Side; 2],
    pub(super) merged: [Profile; 2],
    pub(super) pairings: Vec<Pairing>,
    pub(super) functions: Vec<Function>,
}

impl Rows {
    /// Of a line per run and side.
    pub(super) fn of(before: &[&str], after: &[&str]) -> Self {
        let side = |lines: &[&str]| {
            let runs = lines.iter().enumerate();
            let runs = runs.map(|(at, line)| run(&format!("r{at}"), line)).collect();
            Side { name: String::new(), runs, skipped: 0 }
        };
        Self::of_sides([side(before), side(after)])
    }

    pub(super) fn of_sides(mut sides: [Side; 2]) -> Self {
        let merged = sides.each_mut().map(|side| {
            side.settle();
            side.merged().expect("runs of one clock")
        });
        let entries = merged.each_ref().map(|profile| -> Vec<Entry> {
            let entry = |row: &crate::summarize::Row| Entry {
                name: row.name.clone(),
                module: row.module.clone(),
                calls: 0.0,
                cost: 0.0,
                callees: 0.0,
                caller: None,
            };
            profile.rows.iter().map(entry).collect()
        });
        let (pairings, _) = align::align(&entries[0], &entries[1], &[], false);
        let functions = {
            let seen = RunRows::new(sides.each_ref(), &merged);
            pairings.iter().map(|pairing| seen.function(pairing)).collect()
        };
        Self { sides, merged, pairings, functions }
    }

    pub(super) fn seen(&self) -> RunRows<'_> {
        RunRows::new(self.sides.each_ref(), &self.merged)
    }

    pub(super) fn callers(&self) -> Callers {
        Callers::new(self.merged.each_ref(), &self.pairings, &self.functions)
            .expect("profiles with their callers")
    }

    /// Where a function is, by its name.
    pub(super) fn at(&self, name: &str) -> usize {
        self.functions.iter().position(|function| function.name == name).expect("a function")
    }
}

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
