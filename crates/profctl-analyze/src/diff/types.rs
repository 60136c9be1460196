//! What a comparison is made of: the functions of both sides, how they were matched and what was
//! found.

use profctl_model::{FuncKind, Timebase};

use super::comparability::{LOSS, Warning};
use super::measure::Measure;
use super::odd::Odd;
use super::side::SideStats;
use super::stats::{self, Components, Global, Plan, Replicate, Tested};
use super::{Parts, Verdict};
use crate::summarize::Profile;

/// A function of one side.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) module: Option<String>,
    /// Calls in a run.
    pub(super) calls: f64,
    /// Net time of a call.
    pub(super) cost: f64,
    /// Direct callees of a call.
    pub(super) callees: f64,
    /// The function that makes most of its calls, if that is known and has another name.
    pub(super) caller: Option<String>,
}

/// How two functions of different names were found to be one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MatchedBy {
    /// A rule that the user gave.
    Rule,
    /// The name is the same, the module is not.
    Module,
    /// They differ in a suffix that a compiler made.
    Suffix,
    /// A gone and a new function are similar in name, calls and cost.
    Rename,
}

impl MatchedBy {
    /// Every way, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Rule, Self::Module, Self::Suffix, Self::Rename];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Module => "module",
            Self::Suffix => "suffix",
            Self::Rename => "rename",
        }
    }
}

/// One row of a comparison: the functions of each side that it is about, by their index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pairing {
    pub(super) name: String,
    pub(super) module: Option<String>,
    pub(super) before: Vec<usize>,
    pub(super) after: Vec<usize>,
    pub(super) by: Option<MatchedBy>,
}

/// A possible rename that is not certain enough to match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rename {
    /// The gone function.
    pub before: String,
    /// The similar new function.
    pub after: String,
}

/// What intervals and verdicts are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// Several runs per side: what more runs would show.
    BetweenRuns,
    /// A trace per side, and a baseline that says how much runs vary.
    Calibrated,
    /// A trace per side: how much calls vary inside these two traces, and nothing else.
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
    pub skipped: u64,
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
    /// Its module.
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
    /// The function that was probably inlined into it or outlined from it.
    pub moved: Option<String>,
    /// What its caller takes with its new callees, if it is one of them.
    pub charged: Option<Charged>,
    /// Its 99th percentiles, if all runs have histograms.
    pub tail: Option<Tail>,
}

impl Function {
    /// What was found by the deciding measure.
    pub fn tested(&self) -> Option<&Tested> {
        self.tests[self.measure.index()].as_ref()
    }

    /// Whether the interval within two single traces lies beyond the margin: nothing is proven by
    /// that, and nothing better is known of two single traces.
    pub fn is_beyond(&self, margin: f64) -> bool {
        let above = 1.0 + margin;
        self.interval.is_some_and(|(low, high)| low > above || high < above.recip())
    }

    /// Whether any measure could be tested.
    pub(super) fn was_tested(&self) -> bool {
        let tested = |test: &Tested| test.verdict != stats::Verdict::NotTested;
        self.tests.iter().flatten().any(tested)
    }

    /// Whether it was called on both sides.
    pub(super) fn is_on_both_sides(&self) -> bool {
        self.before.is_there() && self.after.is_there()
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

/// A comparison of two sides.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The side before.
    pub before: SideSummary,
    /// The side after.
    pub after: SideSummary,
    /// The clock of all times in here: nanoseconds or counts.
    pub timebase: Timebase,
    /// What all functions cost together.
    pub whole: WholeRun,
    /// What moved all functions alike; nothing if there is no function to tell it from.
    pub global: Option<Global>,
    /// What intervals are about.
    pub interval: Interval,
    /// What was counted as one measurement.
    pub replicate: Replicate,
    /// Whether each side has one block only, so that blocks and builds cannot be distinguished.
    pub confounded: bool,
    /// Where the variance is, where blocks of several runs are compared.
    pub components: Option<Components>,
    /// Differences that affect how to read the comparison.
    pub warnings: Vec<Warning>,
    /// The functions, by verdict, then by how much they differ.
    pub functions: Vec<Function>,
    /// How many of them do not differ in anything; no report lists them.
    pub unchanged: u64,
    /// How many functions were tested, unchanged ones included.
    pub tested: u64,
    /// Minimum detectable change at a power of 80 %, as a ratio minus 1: median over the tested
    /// functions, of net time per call.
    pub sensitivity: Option<f64>,
    /// The same of each measure, as [`Measure::ALL`] lists them.
    pub sensitivities: [Option<f64>; 3],
    /// What more measurements would show.
    pub plan: Option<Plan>,
    /// Runs that are unlike the others of their side.
    pub odd: Vec<Odd>,
    /// New names that were not sure enough.
    pub renames: Vec<Rename>,
    /// Inlined and outlined functions.
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

    /// Functions that would have been called changed by a measure, had not permuting the runs shown
    /// such changes by chance.
    pub fn retracted(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| {
            let taken_back = function.tests.iter().flatten().any(|tested| tested.retracted);
            let claimed = matches!(
                function.verdict,
                Verdict::Regressed | Verdict::Suspect | Verdict::Improved
            );
            taken_back && !claimed
        })
    }

    /// Whether something fails any verdict.
    pub fn has_veto(&self) -> bool {
        self.warnings.iter().any(|warning| warning.veto)
    }

    /// Whether more is missing of a side than a verdict may rest on.
    pub fn is_incomplete(&self) -> bool {
        self.warnings.iter().any(|warning| warning.veto && warning.code == LOSS)
    }
}

/// What the caller of a new function takes with its new callees.
#[derive(Clone, PartialEq, Debug)]
pub struct Charged {
    /// The function that calls it.
    pub caller: String,
    /// The net time of a call of the caller and of all that is new below it, against that of the caller
    /// and of all that is gone, before.
    pub tested: Tested,
}

impl Charged {
    /// Whether the caller became slower by more than the margin by it.
    pub fn is_regressed(&self) -> bool {
        self.tested.verdict == stats::Verdict::Regressed
    }
}

/// A function that was probably inlined or outlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The function that went, or came.
    pub callee: String,
    /// Its caller.
    pub caller: String,
    /// Whether the caller took it in; else it was cut out.
    pub inlined: bool,
    /// Net time of a run in the function that went or came.
    pub net: u64,
    /// Net time of a run that its caller won or lost.
    pub caller_delta: i64,
    /// Whether the caller is no slower where its callees of one side are counted with it.
    pub no_slower: bool,
}

/// The 99th percentile of the net time of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Tail {
    /// Of each run before, in the order of the runs.
    pub before: Vec<u64>,
    /// Of each run after.
    pub after: Vec<u64>,
    /// After ÷ before, of the geometric means over runs.
    pub ratio: f64,
    /// The 95 % interval of it, from 8 runs per side.
    pub interval: Option<(f64, f64)>,
}

/// What all functions of a run cost together.
#[derive(Clone, PartialEq, Debug)]
pub struct WholeRun {
    /// Net time of a run that is not idle, before and after.
    pub busy: [u64; 2],
    /// Calls of a run, likewise.
    pub calls: [u64; 2],
    /// What was found of the busy time.
    pub busy_tested: Option<Tested>,
    /// What was found of the number of calls; it decides only where there is no time.
    pub calls_tested: Option<Tested>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Why the busy time changed, what did most first.
    pub causes: Vec<Cause>,
}

/// A function that changed what a run costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// The function.
    pub name: String,
    /// What it does.
    pub why: Why,
    /// Net time of a run that it adds.
    pub delta: i64,
    /// For a function of one side: the caller on both sides that it seems to be called by.
    pub caller: Option<String>,
}

/// How a function changes what a run costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A call takes longer.
    Slower,
    /// A call takes less time.
    Faster,
    /// It is called more often.
    MoreCalls,
    /// It is called less often.
    FewerCalls,
    /// It is called only after.
    New,
    /// It is called only before.
    Gone,
}

impl Why {
    /// The name in JSON and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::MoreCalls => "more-calls",
            Self::FewerCalls => "fewer-calls",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

impl WholeRun {
    /// What decides: busy time, or calls where time is not known.
    pub fn tested(&self) -> Option<&Tested> {
        self.busy_tested.as_ref().or(self.calls_tested.as_ref())
    }

    /// After ÷ before: of geometric means over runs where it was tested, else of the sums.
    pub fn ratio(&self) -> Option<f64> {
        let of_sums = |[before, after]: [u64; 2]| after as f64 / before as f64;
        let tested = self.tested().map(|tested| tested.estimate.exp2());
        let ratio = tested.unwrap_or_else(|| match self.busy {
            [0, _] => of_sums(self.calls),
            busy => of_sums(busy),
        });
        Some(ratio).filter(|ratio| ratio.is_finite())
    }
}
