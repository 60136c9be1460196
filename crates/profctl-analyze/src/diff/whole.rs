//! The whole run as a row of its own: what all functions cost together, and why that changed.
//!
//! Functions are judged by what a call costs, and new ones by nothing at all, as there is nothing to
//! compare them with. The sum accounts for all of it: of work done twice, of a new function, of one that
//! came back under another name.

use super::callers::Callers;
use super::side::{counts, rounded};
use super::stats::{self, Design, Row, Tested};
use super::types::{Cause, Function, Interval, WholeRun, Why};
use super::{Options, Side, Verdict};

/// Functions that are named as causes.
const CAUSES_MAX: usize = 5;

/// The part of a change that a function must make to be named.
const CAUSE_MIN: f64 = 0.02;

impl WholeRun {
    /// Tests the sums of both sides.
    pub(super) fn of(
        sides: [&Side; 2],
        design: &Design,
        interval: Interval,
        (functions, callers): (&[Function], Option<&Callers>),
        options: &Options<'_>,
    ) -> Self {
        let mean = |of: &dyn Fn(&super::Run) -> u64| {
            sides.map(|side| {
                let sum = side.runs.iter().fold(0_u64, |sum, run| sum.saturating_add(of(run)));
                rounded(sum, side.runs.len() as u64)
            })
        };
        let busy_of = |run: &super::Run| run.profile.busy();
        let calls_of = |run: &super::Run| {
            let rows = run.profile.rows.iter().filter(|row| counts(row.kind));
            rows.fold(0_u64, |sum, row| {
                sum.saturating_add(row.stats.calls).saturating_add(row.stats.partial)
            })
        };
        let (busy, calls) = (mean(&busy_of), mean(&calls_of));
        let test = |of: &dyn Fn(&super::Run) -> u64| -> Option<Tested> {
            if interval != Interval::BetweenRuns {
                return None;
            }
            let values = |side: &Side, is_before: bool| -> Vec<f64> {
                let log = |run: &super::Run| match of(run) {
                    0 => f64::NAN,
                    _ if is_before && !options.counts(WHOLE_RUN, run) => f64::NAN,
                    sum => (sum as f64).log2(),
                };
                side.runs.iter().map(log).collect()
            };
            let (before, after) = (values(sides[0], true), values(sides[1], false));
            let margin = options.margin_of(WHOLE_RUN);
            let row = Row { before, after, intensity: f64::NAN, margin, ..Row::default() };
            let asked = stats::Options { normalize: false, ..options.stats };
            let tested = stats::test(design, &[row], &asked).rows.pop()?;
            (tested.verdict != stats::Verdict::NotTested).then_some(tested)
        };
        let (busy_tested, calls_tested) = (test(&busy_of), test(&calls_of));
        let decides = if busy[0] > 0 { &busy_tested } else { &calls_tested };
        let verdict = match (decides, interval) {
            (Some(tested), _) => Verdict::from(tested.verdict),
            (None, Interval::BetweenRuns) => Verdict::NotTested,
            (None, Interval::Calibrated | Interval::WithinTrace) => Verdict::Inconclusive,
        };
        let busy_tested = if busy[0] > 0 { busy_tested } else { None };
        let delta = i128::from(busy[1]) - i128::from(busy[0]);
        let causes = causes(functions, callers, delta);
        Self { busy, calls, busy_tested, calls_tested, verdict, causes }
    }
}

/// What the whole run is called in policies and reports.
pub const WHOLE_RUN: &str = "whole run";

/// The functions that make most of the change, in its direction.
fn causes(functions: &[Function], callers: Option<&Callers>, delta: i128) -> Vec<Cause> {
    let mut parts: Vec<(usize, i64)> = functions
        .iter()
        .enumerate()
        .filter(|(_, function)| counts(function.kind))
        .map(|(at, function)| (at, function.parts.delta_net))
        .filter(|&(_, part)| part != 0 && (part > 0) == (delta > 0))
        .filter(|&(_, part)| part.unsigned_abs() as f64 >= CAUSE_MIN * delta.unsigned_abs() as f64)
        .collect();
    parts.sort_by(|&(a, of_a), &(b, of_b)| {
        let by_name = || functions[a].name.cmp(&functions[b].name);
        of_b.unsigned_abs().cmp(&of_a.unsigned_abs()).then_with(by_name)
    });
    parts.truncate(CAUSES_MAX);
    let cause = |(at, delta): (usize, i64)| {
        let function = &functions[at];
        let why = why(function);
        let callers = callers.filter(|_| matches!(why, Why::New | Why::Gone));
        let caller = callers
            .and_then(|callers| callers.main_of(at, functions))
            .map(|at| functions[at].name.clone());
        Cause { name: function.name.clone(), why, delta, caller }
    };
    parts.into_iter().map(cause).collect()
}

/// How a function came to cost more, or less.
pub(super) fn why(function: &Function) -> Why {
    let parts = &function.parts;
    match (function.before.is_there(), function.after.is_there()) {
        (false, _) => Why::New,
        (_, false) => Why::Gone,
        _ => {
            let by_calls = parts.from_calls.unsigned_abs() > parts.from_cost.unsigned_abs();
            match (by_calls, parts.delta_net > 0) {
                (true, true) => Why::MoreCalls,
                (true, false) => Why::FewerCalls,
                (false, true) => Why::Slower,
                (false, false) => Why::Faster,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{function, side};
    use super::*;

    #[test]
    fn a_function_costs_more_by_its_calls_or_by_their_time() {
        let why_of = |calls: [u64; 2], net: [u64; 2]| {
            why(&function("f", [0, 1].map(|side| (1, [calls[side], net[side], net[side]]))))
        };
        assert_eq!(why_of([0, 10], [0, 100]), Why::New);
        assert_eq!(why_of([10, 0], [100, 0]), Why::Gone);
        // Δc·ā and Δa·c̄: 10 · 10.5 and 1 · 15; 1 · 11 and 2 · 10.5.
        assert_eq!(why_of([10, 20], [100, 220]), Why::MoreCalls);
        assert_eq!(why_of([20, 10], [220, 100]), Why::FewerCalls);
        assert_eq!(why_of([10, 11], [100, 132]), Why::Slower);
        assert_eq!(why_of([11, 10], [132, 100]), Why::Faster);
        // As much by either is not for its calls: 10 · 15 and 10 · 15.
        assert_eq!(why_of([10, 20], [100, 400]), Why::Slower);
        // Nothing is more.
        assert_eq!(why_of([10, 10], [100, 100]), Why::Faster);
    }

    #[test]
    fn causes_go_the_way_of_the_whole_and_make_a_fiftieth_of_it() {
        let of = |name: &str, net: [u64; 2]| function(name, net.map(|net| (1, [10, net, net])));
        let functions = [
            of("a", [1000, 1500]),
            of("b", [1000, 400]),
            of("c", [1000, 1020]),
            of("d", [1000, 1019]),
            of("same", [1000, 1000]),
            of("e", [1000, 980]),
        ];
        let named = |delta| {
            let causes = causes(&functions, None, delta).into_iter();
            causes.map(|cause| (cause.name, cause.delta)).collect::<Vec<_>>()
        };
        let all = |all: &[(&str, i64)]| {
            all.iter().map(|&(name, by)| (name.to_owned(), by)).collect::<Vec<_>>()
        };
        assert_eq!(named(1000), all(&[("a", 500), ("c", 20)]));
        assert_eq!(named(-1000), all(&[("b", -600), ("e", -20)]));
        // No change has no direction but down, and nothing has no part in it.
        assert_eq!(named(0), all(&[("b", -600), ("e", -20)]));
    }

    #[test]
    fn the_whole_run_is_judged_by_its_busy_time_or_else_its_calls() {
        let whole = |before: &str, after: &str, options: &Options<'_>| {
            let sides = [side(before), side(after)];
            let numbers = || vec![0, 1, 2];
            let design = Design { before: numbers(), after: numbers(), paired: false };
            let functions = [function("f", [(1, [1, 1000, 0]), (1, [1, 3000, 0])])];
            let sides = sides.each_ref();
            WholeRun::of(sides, &design, Interval::BetweenRuns, (&functions, None), options)
        };
        let options = Options::default();
        let slower = whole("0 f( 9 )", "0 f( 27 )", &options);
        // In nanoseconds only once the sides are settled.
        assert_eq!((slower.busy, slower.calls), ([9, 27], [1, 1]));
        assert_eq!(slower.verdict, Verdict::Regressed);
        assert!((slower.ratio().unwrap() - 3.0).abs() < 1e-12);
        assert_eq!(slower.causes.len(), 1);
        assert_eq!(whole("0 f( 27 )", "0 f( 9 )", &options).causes, []);
        // Of calls that take no time, only how many there are is known.
        let calls = whole("5 f( 5 )", "5 f( 5 ) 5 f( 5 )", &options);
        assert_eq!((calls.busy, calls.calls), ([0, 0], [1, 2]));
        assert_eq!((calls.verdict, calls.busy_tested), (Verdict::Regressed, None));
        assert!((calls.ratio().unwrap() - 2.0).abs() < 1e-12);
        // Nothing at all is no number.
        assert_eq!(whole("", "", &options).verdict, Verdict::NotTested);
    }

    #[test]
    fn runs_before_the_last_change_do_not_count() {
        let (mut before, after) = (side("0 f( 9 )"), side("0 f( 27 )"));
        before.runs.extend(side("0 f( 27 )").runs);
        for (at, run) in before.runs.iter_mut().enumerate() {
            run.block = Some(if at < 3 { "old" } else { "new" }.into());
        }
        let design = Design { before: (0..6).collect(), after: vec![0, 1, 2], paired: false };
        let found = |since: &dyn Fn(&str, &str) -> bool| {
            let options = Options { since: Some(since), ..Options::default() };
            let of = (&[][..], None);
            let whole =
                WholeRun::of([&before, &after], &design, Interval::BetweenRuns, of, &options);
            whole.ratio().unwrap()
        };
        assert!((found(&|name, block| name != WHOLE_RUN || block != "old") - 1.0).abs() < 1e-12);
        // The geometric mean of 9 and 27 is `27 / 3 ** 0.5`.
        assert!((found(&|_, _| true) - 3_f64.sqrt()).abs() < 1e-12);
    }
}
