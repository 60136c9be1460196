//! Two sides in, one row per function out.

use super::align;
use super::callers::{self, Callers};
use super::charged::{self, Charge};
use super::comparability;
use super::decide::{Asking, decide, order, sensitivity};
use super::moved::{self, Shift};
use super::odd;
use super::paths::{self, PathComparison};
use super::seen::RunRows;
use super::side::{Run, Side, counts};
use super::stats::{self, Replicate};
use super::types::WholeRun;
use super::types::{Comparison, Entry, Function, Interval, SideSummary, Tail};
use super::{Measure, Options, Verdict};
use crate::summarize::{Profile, Row};

/// Compares two sides. Fails if the runs of one side do not count the same thing.
pub fn compare(before: Side, after: Side, options: &Options<'_>) -> Result<Comparison, String> {
    both(before, after, options, false).map(|(comparison, _)| comparison)
}

/// The same, and paths of calls besides functions. Fails also if a run has no paths.
pub fn compare_with_paths(
    before: Side,
    after: Side,
    options: &Options<'_>,
) -> Result<(Comparison, PathComparison), String> {
    let (comparison, paths) = both(before, after, options, true)?;
    Ok((comparison, paths.expect("they were asked for")))
}

fn both(
    mut before: Side,
    mut after: Side,
    options: &Options<'_>,
    with_paths: bool,
) -> Result<(Comparison, Option<PathComparison>), String> {
    before.settle();
    after.settle();
    let merged = [before.merged()?, after.merged()?];
    let sides = [&before, &after];
    let entries = [0, 1].map(|side| entries(&merged[side], sides[side].runs.len()));
    let (pairings, renames) =
        align::align(&entries[0], &entries[1], &options.rules, options.renames);
    let seen = RunRows::new(sides, &merged);
    let mut functions: Vec<Function> =
        pairings.iter().map(|pairing| seen.function(pairing)).collect();

    let mut warnings = comparability::check(
        sides,
        merged.each_ref(),
        [common(&functions, false), common(&functions, true)],
        options,
    );
    let single = before.runs.len() == 1 && after.runs.len() == 1;
    let interval = match (single, options.calibration) {
        (true, Some(_)) => Interval::Calibrated,
        (true, None) => Interval::WithinTrace,
        (false, _) => Interval::BetweenRuns,
    };
    // What decides looks at both sides together, so it cannot favor one.
    let asking = Asking::new(merged.each_ref(), options);
    let testable: Vec<usize> =
        (0..functions.len()).filter(|&index| asking.asks(&functions[index])).collect();
    let design = design(sides, options);
    if options.measures.is_empty() {
        return Err("no measure, expected net, total or elapsed".into());
    }
    let mut rows: Vec<Vec<stats::Row>> = options.measures.iter().map(|_| Vec::new()).collect();
    for &index in &testable {
        let values =
            seen.values(&pairings[index], &functions[index].name, &options.measures, options);
        rows.iter_mut().zip(values).for_each(|(rows, row)| rows.push(row));
    }
    let net = options.measures.iter().position(|&measure| measure == Measure::Net);
    let callers = Callers::new(merged.each_ref(), &pairings, &functions);
    let charges = callers
        .as_ref()
        .map_or_else(Vec::new, |callers| charged::find(&functions, callers, &testable));
    if let Some(net) = net.filter(|_| interval == Interval::BetweenRuns) {
        for charge in &charges {
            let named = charge.largest(1).unwrap_or(charge.caller);
            let margin = options.margin_of(&functions[named].name);
            let row = charge.row(&rows[net][charge.tested], &seen, &pairings, margin);
            rows[net].push(row);
        }
    }
    let mut outcomes = stats::test_together(&design, &rows, &options.stats);
    let mut all_tested = Vec::new();
    let mut charged_rows = Vec::new();
    for ((&measure, rows), outcome) in options.measures.iter().zip(&rows).zip(&mut outcomes) {
        if let (Interval::Calibrated, Some(calibration)) = (interval, options.calibration) {
            let asked = testable.iter().map(|&index| {
                let function = &functions[index];
                let se = seen.se_within(&pairings[index], function, measure);
                (&function.name, &function.module, se)
            });
            outcome.rows = calibration.judge(measure, asked, rows, &options.stats);
        }
        for (&index, tested) in testable.iter().zip(&outcome.rows) {
            functions[index].tests[measure.index()] = Some(*tested);
        }
        all_tested.extend(outcome.rows.iter().copied());
        if measure == Measure::Net {
            charged_rows = outcome.rows.split_off(testable.len());
        }
    }
    for rows in &mut rows {
        rows.truncate(testable.len());
    }
    let selected_level = stats::selected_level(&all_tested);
    for (pairing, function) in pairings.iter().zip(&mut functions) {
        let is_testable = function.tests.iter().any(Option::is_some);
        decide(function, interval, is_testable, &options.measures, selected_level);
        if interval == Interval::WithinTrace
            && function.before.is_there()
            && function.after.is_there()
        {
            function.interval = seen.within(pairing).map(|within| (within.low, within.high));
        }
    }
    let odd = if interval == Interval::BetweenRuns {
        let least = (1.0 + options.stats.margin).log2();
        comparability::order_of_runs(sides, &rows[0], least, &mut warnings);
        odd::find(sides, &rows[0], least / 2.0)
    } else {
        Vec::new()
    };
    let outcome = outcomes.swap_remove(0);
    let knows_lengths = merged.iter().all(|profile| profile.has_percentiles);
    for &index in testable.iter().filter(|_| knows_lengths) {
        let runs = [0, 1].map(|side| seen.in_runs(&pairings[index], side));
        functions[index].tail = Tail::of(runs, outcome.replicate == Replicate::Runs);
    }
    let tested = charged_rows.into_iter().map(Some).chain(std::iter::repeat(None));
    let charges: Vec<_> = charges.into_iter().zip(tested).collect();
    charged::note(&mut functions, &charges);
    let moved = moved::find(&functions, &charges);
    if let Some(callers) = &callers {
        moved::explain(&mut functions, &charges, selected_level);
        let shifts = moved::shifts(&functions, callers, &testable);
        if let Some(net) = net.filter(|_| interval == Interval::BetweenRuns && !shifts.is_empty()) {
            let row = |shift: &Shift| {
                let Charge { caller, tested, .. } = shift.both;
                let margin = options.margin_of(&functions[caller].name);
                shift.both.row(&rows[net][tested], &seen, &pairings, margin)
            };
            let more: Vec<_> = shifts.iter().map(row).collect();
            rows[net].extend(more);
            let tested = stats::test_together(&design, &rows, &options.stats).swap_remove(net);
            for (shift, both) in shifts.iter().zip(&tested.rows[testable.len()..]) {
                moved::explain_shift(&mut functions, shift, both, selected_level);
            }
            rows[net].truncate(testable.len());
        }
    }
    let mut whole = WholeRun::of(sides, &design, interval, (&functions, callers.as_ref()), options);
    if outcome.confounded && !single {
        warnings.push(comparability::one_block());
    }
    let veto = warnings.iter().any(|warning| warning.veto);
    let mut timebase = merged[0].timebase;
    timebase.resolution = timebase.resolution.min(merged[1].timebase.resolution);
    let ground = paths::FunctionResults {
        sides,
        merged: merged.each_ref(),
        pairings: &pairings,
        functions: &functions,
        moved: &moved,
        design: &design,
        interval,
        veto,
        timebase,
    };
    let paths = with_paths.then(|| paths::compare(&ground, options)).transpose()?;
    if veto {
        for function in &mut functions {
            if !matches!(function.verdict, Verdict::New | Verdict::Gone | Verdict::NotTested) {
                function.verdict = Verdict::Inconclusive;
            }
            function.charged = None;
        }
        if whole.verdict != Verdict::NotTested {
            whole.verdict = Verdict::Inconclusive;
        }
    }
    let tested = functions.iter().filter(|function| function.was_tested()).count() as u64;
    let sensitivities = Measure::ALL.map(|measure| sensitivity(&functions, measure));
    let sensitivity = sensitivities[options.measures[0].index()];
    let unchanged = functions.iter().filter(|function| function.is_unchanged()).count() as u64;
    functions.sort_by(|a, b| {
        let by_name = || (&a.name, &a.module).cmp(&(&b.name, &b.module));
        order(a).cmp(&order(b)).then_with(by_name)
    });
    let [before_profile, after_profile] = merged;
    let comparison = Comparison {
        before: summary(&before, before_profile),
        after: summary(&after, after_profile),
        timebase,
        whole,
        global: Some(outcome.global).filter(|global| global.factor.is_finite()),
        interval,
        replicate: outcome.replicate,
        confounded: outcome.confounded && !single,
        components: outcome.components,
        warnings,
        functions,
        unchanged,
        tested,
        sensitivity,
        sensitivities,
        plan: outcome.plan,
        odd,
        renames,
        moved,
        margin: options.stats.margin,
        fdr: options.stats.fdr,
    };
    Ok((comparison, paths))
}

fn entries(profile: &Profile, runs: usize) -> Vec<Entry> {
    let runs = runs.max(1) as f64;
    let callers = callers::main_callers(profile);
    let entry = |row: &Row| {
        let stats = &row.stats;
        let calls = stats.calls.saturating_add(stats.partial);
        let per_call = |sum: u64| if calls == 0 { 0.0 } else { sum as f64 / calls as f64 };
        Entry {
            name: row.name.clone(),
            module: row.module.clone(),
            calls: calls as f64 / runs,
            cost: per_call(stats.net),
            callees: per_call(stats.callees),
            caller: callers
                .get(&(row.name.as_str(), row.module.as_deref()))
                .map(|&name| name.into()),
        }
    };
    profile.rows.iter().map(entry).collect()
}

fn summary(side: &Side, profile: Profile) -> SideSummary {
    SideSummary {
        name: side.name.clone(),
        runs: side.runs.iter().map(|run| (run.name.clone(), run.block.clone())).collect(),
        n_blocks: side.blocks().1,
        skipped: side.skipped,
        profile,
    }
}

/// The part of a side's net time that is in functions of both sides.
fn common(functions: &[Function], after: bool) -> f64 {
    let of = |function: &Function| {
        let side = if after { &function.after } else { &function.before };
        if counts(function.kind) { side.net as f64 } else { 0.0 }
    };
    let all: f64 = functions.iter().map(of).sum();
    let both: f64 = functions
        .iter()
        .filter(|function| function.before.is_there() && function.after.is_there())
        .map(of)
        .sum();
    if all > 0.0 { both / all } else { 1.0 }
}

fn design(sides: [&Side; 2], options: &Options<'_>) -> stats::Design {
    let [before, after] =
        if options.paired { sides.map(ranks) } else { sides.map(|side| side.blocks().0) };
    stats::Design { before, after, paired: options.paired }
}

/// A number for each run that its partner on the other side has too: of its block, by name, or its
/// own.
fn ranks(side: &Side) -> Vec<u32> {
    let key = |run: &Run| run.block.clone().unwrap_or_else(|| run.name.clone());
    let mut keys: Vec<String> = side.runs.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    let rank = |run: &Run| keys.binary_search(&key(run)).map_or(u32::MAX, |rank| rank as u32);
    side.runs.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::fixture::{Rows, run};

    #[test]
    fn names_are_matched_by_what_a_call_is_and_how_often_it_is_in_a_run() {
        // Two calls and an incomplete one, of 3, 6 and 5 ticks, in two runs; the first has two callees.
        let line = "0 main( 1 f( 2 g( 3 ) 4 g( 5 ) 7 ) 8 f( 14 ) 20 ) 30 ~f( 35 )";
        let found = entries(&run("r", line).profile, 2);
        let f = found.iter().find(|entry| entry.name == "f").unwrap();
        assert_eq!(f.calls.to_bits(), 1.5_f64.to_bits());
        assert!((f.cost - 5.0).abs() < 1e-9, "{}", f.cost);
        assert!((f.callees - 2.0 / 3.0).abs() < 1e-12, "{}", f.callees);
        assert_eq!(f.caller.as_deref(), Some("main"));
    }

    #[test]
    fn what_both_sides_have_in_common_is_a_part_of_the_time_that_counts() {
        let rows = Rows::of(
            &["0 f( 30 ) 30 old( 40 ) 40 idle( 900 )"],
            &["0 f( 10 ) 10 new( 40 ) 40 idle( 90 )"],
        );
        let found = [false, true].map(|after| common(&rows.functions, after));
        assert!((found[0] - 0.75).abs() < 1e-12 && (found[1] - 0.25).abs() < 1e-12, "{found:?}");
        let nothing = Rows::of(&["0 idle( 900 )"], &["0 idle( 900 )"]);
        assert!((common(&nothing.functions, false) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn runs_are_partners_by_block_or_else_by_name() {
        let run = |name: &str, block: Option<&str>| Run {
            block: block.map(str::to_owned),
            ..run(name, "")
        };
        let runs = vec![run("c", None), run("x", Some("b")), run("a", None), run("y", Some("b"))];
        let side = Side { name: String::new(), runs, skipped: 0 };
        assert_eq!(ranks(&side), [2, 1, 0, 1]);
    }

    /// So many runs, which are of `block`, of 40 calls of `f`; each run takes `drift` longer for one
    /// than the one before, and `open` of its calls have no recorded end.
    fn side_of(n: u64, block: Option<&str>, drift: u64, open: usize) -> Side {
        let one = |at: u64| {
            let cost = 1000 + at * drift + at % 2;
            let call = |call: u64| {
                let end = if (call as usize) < open { "~)" } else { ")" };
                format!("{} f( {} {end} ", call * 2000, call * 2000 + cost)
            };
            let line: String = (0..40).map(call).collect();
            Run { block: block.map(str::to_owned), ..run(&format!("r{at}"), &line) }
        };
        Side { name: String::new(), runs: (0..n).map(one).collect(), skipped: 0 }
    }

    fn compared(n: u64, block: Option<&str>, drift: u64, open: usize) -> Comparison {
        let side = || side_of(n, block, drift, open);
        compare(side(), side(), &Options::default()).unwrap()
    }

    #[test]
    fn sides_of_one_block_are_confounded_if_they_have_several_runs() {
        for (n, block, expected) in
            [(1, None, false), (1, Some("b"), false), (6, None, false), (6, Some("b"), true)]
        {
            let found = compared(n, block, 0, 0);
            let said = found.warnings.contains(&comparability::one_block());
            assert_eq!((found.confounded, said), (expected, expected), "{n}, {block:?}");
        }
    }

    #[test]
    fn only_a_run_on_either_side_is_compared_within_the_trace() {
        let of = |before, after| {
            let [before, after] = [before, after].map(|n| side_of(n, Some("b"), 0, 0));
            let found = compare(before, after, &Options::default()).unwrap();
            (found.interval, found.confounded)
        };
        assert_eq!(of(1, 1), (Interval::WithinTrace, false));
        for (before, after) in [(1, 6), (6, 1), (6, 6)] {
            assert_eq!(of(before, after), (Interval::BetweenRuns, true), "{before}, {after}");
        }
    }

    #[test]
    fn percentiles_have_an_interval_where_runs_are_what_is_compared() {
        let side = |runs_per_block: usize| {
            let one = |at: usize| {
                let call = |call: usize| format!("{} f( {} ) ", call * 20, call * 20 + 9 + at % 3);
                let line: String = (0..100).map(call).collect();
                let block = (runs_per_block > 1).then(|| format!("b{}", at / runs_per_block));
                Run { block, ..run(&format!("r{at}"), &line) }
            };
            Side { name: String::new(), runs: (0..16).map(one).collect(), skipped: 0 }
        };
        let has_interval = |runs_per_block| {
            let [before, after] = [side(runs_per_block), side(runs_per_block)];
            let found = compare(before, after, &Options::default()).unwrap();
            found.functions[0].tail.as_ref().unwrap().interval.is_some()
        };
        assert!(has_interval(1) && !has_interval(2));
    }

    #[test]
    fn a_drift_is_said_beyond_the_margin() {
        let n_warnings = |drift| compared(6, None, drift, 0).warnings.len();
        // Of six runs after six, 1 % per run would be 6 %, and 0.6 % 3.6 %.
        assert_eq!([n_warnings(0), n_warnings(6), n_warnings(10)], [0, 0, 1]);
    }

    #[test]
    fn where_runs_are_not_comparable_nothing_that_was_tested_has_a_verdict() {
        for (n, open, whole, f) in [
            (6, 0, Verdict::Equivalent, Verdict::Equivalent),
            (6, 20, Verdict::Inconclusive, Verdict::Inconclusive),
            (2, 20, Verdict::NotTested, Verdict::NotTested),
        ] {
            let found = compared(n, None, 0, open);
            assert_eq!(
                (found.whole.verdict, found.functions[0].verdict),
                (whole, f),
                "{n}, {open}"
            );
        }
    }
}
