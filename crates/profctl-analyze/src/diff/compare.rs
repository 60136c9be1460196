//! Two sides in, a row a function out.

use profctl_model::{FuncKind, Timebase};

use super::align::{self, Entry, MatchedBy, Rename};
use super::comparability::{self, Warning};
use super::decide::{decide, explain, order, sensitivity};
use super::measure::Measure;
use super::moved::{self, Moved};
use super::paths::{self, PathComparison};
use super::seen::Seen;
use super::side::{Run, Side, SideStats, counts};
use super::stats::{self, Components, Global, Replicate, Tested};
use super::tails::Tail;
use super::{Options, Parts, Verdict};
use crate::summarize::{Profile, Row};

/// What intervals and verdicts are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// Several runs a side: what more runs would show.
    BetweenRuns,
    /// A trace a side, and a baseline that says how much runs vary.
    Calibrated,
    /// A trace a side: how much calls vary inside these two traces, and nothing else.
    WithinTrace,
}

impl Interval {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::BetweenRuns => "between-runs",
            Self::Calibrated => "calibrated",
            Self::WithinTrace => "within-trace",
        }
    }
}

/// What one side is, all runs together.
#[derive(Clone, Debug)]
pub struct SideSummary {
    /// What the user called it.
    pub name: String,
    /// Its runs, each with its block.
    pub runs: Vec<(String, Option<String>)>,
    /// How many blocks these are; as many as runs where there are none.
    pub n_blocks: u32,
    /// Files of it that are no trace.
    pub passed_over: u64,
    /// Everything in it.
    pub profile: Profile,
}

/// How a row came by functions of other names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matched {
    /// How they were found to be one.
    pub by: MatchedBy,
    /// Their names before.
    pub before: Vec<String>,
    /// Their names after.
    pub after: Vec<String>,
}

/// One function, on both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name: after, if it is there and has one only.
    pub name: String,
    /// Where it lives.
    pub module: Option<String>,
    /// What kind of function it is.
    pub kind: Option<FuncKind>,
    /// How it was matched, unless by its name.
    pub matched: Option<Matched>,
    /// What it was.
    pub before: SideStats,
    /// What it is.
    pub after: SideStats,
    /// The change of its net time in a run, in two parts.
    pub parts: Parts,
    /// What was found, a measure each, as [`Measure::ALL`] lists them.
    pub tests: [Option<Tested>; 3],
    /// The measure that decided the verdict.
    pub measure: Measure,
    /// How much of what it was it is now, by that measure; nothing if it was not there.
    pub ratio: Option<f64>,
    /// The ends of the 95 % interval of it.
    pub interval: Option<(f64, f64)>,
    /// What is said of it.
    pub verdict: Verdict,
    /// The function whose work it seems to have taken in or given away.
    pub moved: Option<String>,
    /// How long its slowest calls were, where all runs know.
    pub tail: Option<Tail>,
}

impl Function {
    /// What was found by the deciding measure.
    pub fn tested(&self) -> Option<&Tested> {
        self.tests[self.measure.index()].as_ref()
    }

    /// Whether any measure could be tested.
    pub(super) fn was_tested(&self) -> bool {
        let tested = |test: &Tested| test.verdict != stats::Verdict::NotTested;
        self.tests.iter().flatten().any(tested)
    }

    /// Whether nothing at all is different.
    pub fn is_unchanged(&self) -> bool {
        // A saved profile may be without histograms, and is the same all the same.
        let figures = |side: &SideStats| {
            let total = &side.total;
            let lengths = [&total.net_of_calls, &total.elapsed_of_calls];
            let lengths = lengths.map(|of| (of.sum, of.squares, of.min, of.max));
            (side.of_runs, total.calls, total.partial, total.net, total.elapsed, lengths)
        };
        figures(&self.before) == figures(&self.after)
    }
}

/// A comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was.
    pub before: SideSummary,
    /// What is.
    pub after: SideSummary,
    /// The clock of all times in here: nanoseconds or counts.
    pub timebase: Timebase,
    /// What moved all functions alike; nothing if there is no function to tell it from.
    pub global: Option<Global>,
    /// What intervals are about.
    pub interval: Interval,
    /// What was counted as one measurement.
    pub replicate: Replicate,
    /// Whether each side has one block only, so that blocks and builds cannot be told apart.
    pub confounded: bool,
    /// Where the variance is, where blocks of several runs are compared.
    pub components: Option<Components>,
    /// What to know before the figures.
    pub warnings: Vec<Warning>,
    /// The functions, by verdict, then by how much they differ.
    pub functions: Vec<Function>,
    /// How many of them do not differ in anything; no report lists them.
    pub unchanged: u64,
    /// How many functions were tested, unchanged ones included.
    pub tested: u64,
    /// The change that would be seen 8 times in 10, as a ratio less 1: the median over the tested
    /// functions, of net time per call.
    pub sensitivity: Option<f64>,
    /// New names that were not sure enough.
    pub renames: Vec<Rename>,
    /// Work that changed its place.
    pub moved: Vec<Moved>,
    /// The margin, as a ratio less 1.
    pub margin: f64,
    /// How many of the reported changes may be false, as a share.
    pub fdr: f64,
}

impl Comparison {
    /// The functions that differ in anything.
    pub fn changed(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| !function.is_unchanged())
    }

    /// How many of those that differ have that verdict.
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.changed().filter(|function| function.verdict == verdict).count() as u64
    }

    /// Rows that were matched that way, and how many names are in them.
    pub fn n_matched(&self, by: MatchedBy) -> (u64, u64) {
        let matched = self.functions.iter().filter_map(|function| function.matched.as_ref());
        let names = matched
            .filter(|matched| matched.by == by)
            .map(|matched| (matched.before.len() + matched.after.len()) as u64);
        names.fold((0, 0), |(rows, all), names| (rows + 1, all + names))
    }

    /// Whether something stands against any verdict.
    pub fn has_veto(&self) -> bool {
        self.warnings.iter().any(|warning| warning.veto)
    }
}

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
    let seen = Seen::new(sides, &merged);
    let mut functions: Vec<Function> =
        pairings.iter().map(|pairing| seen.function(pairing)).collect();

    let warnings = comparability::check(
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
    // What decides looks at both sides together, so it cannot favour one.
    let asking = Asking::new(merged.each_ref(), options);
    let testable: Vec<usize> =
        (0..functions.len()).filter(|&index| asking.asks(&functions[index])).collect();
    let design = design(sides, options);
    let mut outcome = None;
    for &measure in &options.measures {
        let rows: Vec<stats::Row> =
            testable.iter().map(|&index| seen.values(&pairings[index], measure)).collect();
        let tested = stats::test(&design, &rows, &options.stats);
        let judged = match (interval, options.calibration) {
            (Interval::Calibrated, Some(calibration)) => {
                let asked = testable.iter().map(|&index| {
                    let function = &functions[index];
                    let se = seen.se_within(&pairings[index], function, measure);
                    (&function.name, &function.module, se)
                });
                calibration.judge(measure, asked, &rows, &options.stats)
            }
            _ => tested.rows.clone(),
        };
        for (&index, tested) in testable.iter().zip(judged) {
            functions[index].tests[measure.index()] = Some(tested);
        }
        outcome.get_or_insert(tested);
    }
    for (pairing, function) in pairings.iter().zip(&mut functions) {
        let is_testable = function.tests.iter().any(Option::is_some);
        decide(function, interval, is_testable, &options.measures);
        if interval == Interval::WithinTrace
            && function.before.is_there()
            && function.after.is_there()
        {
            function.interval = seen.within(pairing).map(|within| (within.low, within.high));
        }
    }
    let outcome = outcome.ok_or("no measure, expected net, total or elapsed")?;
    let knows_lengths = merged.iter().all(|profile| profile.has_percentiles);
    for &index in testable.iter().filter(|_| knows_lengths) {
        let runs = [0, 1].map(|side| seen.in_runs(&pairings[index], side));
        functions[index].tail = Tail::of(runs, outcome.replicate == Replicate::Runs);
    }
    let moved = moved::find(&functions);
    for moved in &moved {
        explain(&mut functions, moved);
    }
    let veto = warnings.iter().any(|warning| warning.veto);
    let mut timebase = merged[0].timebase;
    timebase.resolution = timebase.resolution.min(merged[1].timebase.resolution);
    let ground = paths::Ground {
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
        }
    }
    let tested = functions.iter().filter(|function| function.was_tested()).count() as u64;
    let sensitivity = sensitivity(&functions);
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
        renames,
        moved,
        margin: options.stats.margin,
        fdr: options.stats.fdr,
    };
    Ok((comparison, paths))
}

fn entries(profile: &Profile, runs: usize) -> Vec<Entry> {
    let runs = runs.max(1) as f64;
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
        }
    };
    profile.rows.iter().map(entry).collect()
}

fn summary(side: &Side, profile: Profile) -> SideSummary {
    SideSummary {
        name: side.name.clone(),
        runs: side.runs.iter().map(|run| (run.name.clone(), run.block.clone())).collect(),
        n_blocks: side.blocks().1,
        passed_over: side.passed_over,
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
