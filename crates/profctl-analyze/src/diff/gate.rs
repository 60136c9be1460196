//! The gate: applies a policy to a comparison.

use super::stats;
use super::types::{Comparison, Function, Interval};
use super::{Side, SideStats, Verdict};

/// What fails the gate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Policy {
    /// Whether a suspect function is as bad as a regressed one.
    pub strict: bool,
    /// Upper limits of functions.
    pub budgets: Vec<Budget>,
}

/// An upper limit of one function.
#[derive(Clone, PartialEq, Debug)]
pub struct Budget {
    /// Its name.
    pub function: String,
    /// What of it.
    pub what: What,
    /// How much.
    pub limit: Limit,
}

/// A figure of a function after, over all runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum What {
    /// Elapsed time of a call, on average.
    #[default]
    ElapsedAvg,
    /// The slowest call.
    ElapsedMax,
    /// Elapsed time of a run.
    Elapsed,
    /// Net time of a call, on average.
    NetAvg,
    /// The largest net time of a call.
    NetMax,
    /// A percentile of net.
    NetPercentile(u8),
    /// A percentile of elapsed.
    ElapsedPercentile(u8),
    /// Net time of a run.
    Net,
    /// Calls in a run.
    Calls,
}

/// The most that a figure may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Nanoseconds, or a count of what the clock counts.
    Time(u64),
    /// Calls.
    Calls(u64),
    /// So much of what it was.
    Ratio(f64),
}

impl What {
    /// Every figure.
    pub const ALL: [Self; 13] = [
        Self::ElapsedAvg,
        Self::ElapsedMax,
        Self::Elapsed,
        Self::NetAvg,
        Self::NetMax,
        Self::NetPercentile(50),
        Self::NetPercentile(90),
        Self::NetPercentile(99),
        Self::ElapsedPercentile(50),
        Self::ElapsedPercentile(90),
        Self::ElapsedPercentile(99),
        Self::Net,
        Self::Calls,
    ];

    /// The name on the command line and in JSON, that of the column of a summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::ElapsedAvg => "elapsed_avg",
            Self::ElapsedMax => "elapsed_max",
            Self::Elapsed => "elapsed",
            Self::NetAvg => "net_avg",
            Self::NetMax => "net_max",
            Self::NetPercentile(..=50) => "net_p50",
            Self::NetPercentile(..=90) => "net_p90",
            Self::NetPercentile(_) => "net_p99",
            Self::ElapsedPercentile(..=50) => "elapsed_p50",
            Self::ElapsedPercentile(..=90) => "elapsed_p90",
            Self::ElapsedPercentile(_) => "elapsed_p99",
            Self::Net => "net",
            Self::Calls => "calls",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }

    /// Whether it needs histograms.
    pub fn is_percentile(self) -> bool {
        matches!(self, Self::NetPercentile(_) | Self::ElapsedPercentile(_))
    }

    /// The figure of one side; nothing if there was no such call.
    fn of(self, side: &SideStats) -> Option<u64> {
        let total = &side.total;
        let seen = |value: u64| (total.measured() > 0).then_some(value);
        match self {
            Self::ElapsedAvg => side.elapsed_avg(),
            Self::ElapsedMax => seen(total.elapsed_of_calls.max),
            Self::Elapsed => Some(side.elapsed),
            Self::NetAvg => side.net_avg(),
            Self::NetMax => seen(total.net_of_calls.max),
            Self::NetPercentile(p) => total.net_of_calls.percentile(p.into()),
            Self::ElapsedPercentile(p) => total.elapsed_of_calls.percentile(p.into()),
            Self::Net => Some(side.net),
            Self::Calls => Some(side.calls),
        }
    }
}

/// What became of a budget.
#[derive(Clone, PartialEq, Debug)]
pub struct Spent {
    /// The budget.
    pub budget: Budget,
    /// The figure before.
    pub before: Option<u64>,
    /// The figure after.
    pub after: Option<u64>,
    /// Whether it was kept.
    pub state: State,
}

/// Whether a budget was kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It was.
    Kept,
    /// It was not.
    Exceeded,
    /// The function was not called: a misspelled name must not pass.
    Unknown,
}

impl State {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exceeded => "exceeded",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No regression and no budget exceeded.
    Pass,
    /// Something became slower, or a budget was exceeded.
    Regressed,
    /// Too little data.
    Inconclusive,
}

impl Answer {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The answer and what it rests on.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// The answer.
    pub answer: Answer,
    /// Why, a sentence each, without a full stop.
    pub reasons: Vec<String>,
    /// The functions that fail the gate, as indices into [`Comparison::functions`].
    pub offending: Vec<usize>,
    /// What became of the budgets, in the order of the policy.
    pub budgets: Vec<Spent>,
}

/// Judges a comparison.
pub fn judge(comparison: &Comparison, policy: &Policy) -> Judgement {
    let stands_against = |function: &Function| match function.verdict {
        Verdict::Regressed => true,
        Verdict::Suspect => policy.strict,
        Verdict::Improved
        | Verdict::New
        | Verdict::Gone
        | Verdict::Inconclusive
        | Verdict::NotTested
        | Verdict::Equivalent => false,
    };
    let functions = comparison.functions.iter().enumerate();
    let offending: Vec<usize> =
        functions.filter(|(_, function)| stands_against(function)).map(|(at, _)| at).collect();
    let budgets: Vec<Spent> =
        policy.budgets.iter().map(|budget| spend(comparison, budget)).collect();
    let with = |state: State| budgets.iter().filter(|spent| spent.state == state).count() as u64;
    let (exceeded, unknown) = (with(State::Exceeded), with(State::Unknown));
    let (answer, reasons) = answer(comparison, &offending, exceeded, unknown, &budgets);
    Judgement { answer, reasons, offending, budgets }
}

fn answer(
    comparison: &Comparison,
    offending: &[usize],
    exceeded: u64,
    unknown: u64,
    budgets: &[Spent],
) -> (Answer, Vec<String>) {
    use crate::summarize::count;
    let vetoes = comparison.warnings.iter().filter(|warning| warning.veto);
    let vetoes: Vec<String> = vetoes.map(|warning| warning.message.clone()).collect();
    if !vetoes.is_empty() {
        return (Answer::Inconclusive, vetoes);
    }
    let mut reasons = Vec::new();
    if !offending.is_empty() {
        let functions = count(offending.len() as u64, "function", "functions");
        reasons.push(format!("{functions} slower by more than the margin"));
    }
    if exceeded > 0 {
        reasons.push(format!("{} exceeded", count(exceeded, "budget", "budgets")));
    }
    if !reasons.is_empty() {
        return (Answer::Regressed, reasons);
    }
    if unknown > 0 {
        let missing = budgets.iter().filter(|spent| spent.state == State::Unknown);
        let reasons = missing.map(|spent| {
            let name = &spent.budget.function;
            format!("budget: no function `{name}` in the trace")
        });
        return (Answer::Inconclusive, reasons.collect());
    }
    if comparison.tested > 0 {
        let functions = count(comparison.tested, "function", "functions");
        return (
            Answer::Pass,
            vec![format!("{functions} tested, none slower by more than the margin")],
        );
    }
    if !budgets.is_empty() {
        return (Answer::Pass, vec!["all budgets kept; nothing else was tested".into()]);
    }
    (Answer::Inconclusive, vec![untested(comparison)])
}

/// Why nothing was tested.
fn untested(comparison: &Comparison) -> String {
    let runs = [&comparison.before, &comparison.after].map(|side| side.runs.len());
    if comparison.interval == Interval::WithinTrace {
        return "one run per side cannot show run-to-run noise: record at least 3 per side (better 5), \
                or use --calibration or --budget"
            .into();
    }
    let least = stats::Options::default().runs_min;
    if runs.iter().any(|&runs| runs < least) {
        return format!(
            "{} runs before and {} after cannot show run-to-run noise: record at least {least} per \
             side",
            runs[0], runs[1]
        );
    }
    "no function is called often enough on both sides to be tested".into()
}

fn spend(comparison: &Comparison, budget: &Budget) -> Spent {
    let function = comparison.functions.iter().find(|one| one.name == budget.function);
    let before = function.and_then(|function| budget.what.of(&function.before));
    let after = function.and_then(|function| budget.what.of(&function.after));
    let kept = match (budget.limit, before, after) {
        (Limit::Time(most) | Limit::Calls(most), _, Some(after)) => Some(after <= most),
        (Limit::Ratio(most), Some(before), Some(after)) if before > 0 => {
            Some(after as f64 <= most * before as f64)
        }
        _ => None,
    };
    let is_called = function.is_some_and(|function| function.after.is_there());
    let state = match kept {
        Some(true) if is_called => State::Kept,
        Some(false) => State::Exceeded,
        Some(true) | None => State::Unknown,
    };
    Spent { budget: budget.clone(), before, after, state }
}

/// The function into which a self-test puts its regression: the slowest of those that are known not
/// to have changed, else the slowest of those that were tested, else one with a budget.
pub fn victim<'a>(comparison: &'a Comparison, policy: &Policy) -> Option<&'a Function> {
    let dearest = |wanted: &dyn Fn(&Function) -> bool| {
        let functions = comparison.functions.iter().filter(|function| wanted(function));
        functions.max_by_key(|function| function.after.net)
    };
    let calm = |function: &Function| function.verdict == Verdict::Equivalent;
    let budgeted =
        |function: &Function| policy.budgets.iter().any(|budget| budget.function == function.name);
    dearest(&calm).or_else(|| dearest(&Function::was_tested)).or_else(|| dearest(&budgeted))
}

/// Makes every call of a function take `factor` times as long, in all runs of a side.
pub fn inject(side: &mut Side, names: &[&str], module: Option<&str>, factor: u64) {
    for run in &mut side.runs {
        for row in &mut run.profile.rows {
            if !names.contains(&row.name.as_str()) || row.module.as_deref() != module {
                continue;
            }
            let stats = &mut row.stats;
            let more = stats.net.saturating_mul(factor - 1);
            stats.net = stats.net.saturating_add(more);
            stats.wall = stats.wall.saturating_add(more);
            stats.elapsed = stats.elapsed.saturating_add(more);
            let more = stats.net_of_calls.sum.saturating_mul(factor - 1);
            stats.elapsed_of_calls.sum = stats.elapsed_of_calls.sum.saturating_add(more);
            for length in [&mut stats.net_of_calls.sum, &mut stats.net_of_calls.max] {
                *length = length.saturating_mul(factor);
            }
            let longest = stats.net_of_calls.max.max(stats.elapsed_of_calls.max);
            stats.elapsed_of_calls.max = longest;
        }
    }
}
