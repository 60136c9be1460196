//! The gate: applies a policy to a comparison.

use std::collections::BTreeMap;

use profctl_model::report::Answer;

use super::stats;
use super::types::Why;
use super::types::{Comparison, Function, Interval};
use super::whole::{WHOLE_RUN, why};
use super::{Charged, Measure, SideStats, Verdict};

/// What fails the gate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Policy {
    /// Whether a suspect function is as bad as a regressed one.
    pub strict: bool,
    /// Whether to give a verdict where the sides differ in more than the build.
    pub allow_confounded: bool,
    /// The only function to judge, where one is asked for.
    pub only: Option<String>,
    /// What functions may cost at most.
    pub budgets: Vec<Budget>,
    /// What is known of single functions, and of the whole run, by name.
    pub standings: BTreeMap<String, Standing>,
}

/// What a policy says of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// Who answers for it.
    pub owner: Option<String>,
    /// Why it does not fail a build, whatever is found of it.
    pub excuse: Option<Excuse>,
}

/// Why a function that became slower does not fail a build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Excuse {
    /// A user accepted the change, and gave this reason.
    Accepted(String),
    /// It is known to flip between states: it is shown, not judged.
    Quarantined,
    /// It takes longer because of another function, whose change was accepted.
    Calls(String),
}

impl Excuse {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Quarantined => "quarantined",
            Self::Calls(_) => "calls-accepted",
        }
    }

    /// For readers.
    pub fn text(&self) -> String {
        match self {
            Self::Accepted(reason) => format!("accepted: {reason}"),
            Self::Quarantined => "in quarantine".into(),
            Self::Calls(name) => format!("because of {name}, which is accepted"),
        }
    }
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

/// The answer and what it rests on.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// The answer.
    pub answer: Answer,
    /// Why, a sentence each, without a full stop.
    pub reasons: Vec<String>,
    /// Whether the whole run fails it.
    pub whole: bool,
    /// The functions that fail it, as places in [`Comparison::functions`]: causes before
    /// their callers.
    pub offending: Vec<usize>,
    /// Functions that became slower and do not fail it, and why not.
    pub excused: Vec<(usize, Excuse)>,
    /// New functions that make up for much of what became slower, as places likewise.
    pub new: Vec<usize>,
    /// What became of the budgets, in the order of the policy.
    pub budgets: Vec<Spent>,
}

/// Judges a comparison.
pub fn judge(comparison: &Comparison, policy: &Policy) -> Judgement {
    let counts_as_slower = |verdict: Verdict| match verdict {
        Verdict::Regressed => true,
        Verdict::Suspect => policy.strict,
        Verdict::Improved
        | Verdict::New
        | Verdict::Gone
        | Verdict::Inconclusive
        | Verdict::NotTested
        | Verdict::Equivalent => false,
    };
    let is_asked =
        |function: &Function| policy.only.as_ref().is_none_or(|only| *only == function.name);
    let functions = &comparison.functions;
    let makes_slower = |function: &Function| {
        let is_charged = function.charged.as_ref().is_some_and(Charged::is_regressed);
        is_charged || counts_as_slower(function.verdict)
    };
    let slower: Vec<usize> = (0..functions.len())
        .filter(|&at| makes_slower(&functions[at]) && is_asked(&functions[at]))
        .collect();
    let mut excused: Vec<(usize, Excuse)> = slower
        .iter()
        .filter_map(|&at| {
            let standing = policy.standings.get(&functions[at].name)?;
            Some((at, standing.excuse.clone()?))
        })
        .collect();
    let direct: Vec<usize> = excused.iter().map(|(at, _)| *at).collect();
    for &at in &slower {
        if !direct.contains(&at)
            && let Some(cause) = because_of(&functions[at], functions, &direct)
        {
            excused.push((at, Excuse::Calls(cause)));
        }
    }
    excused.sort_by_key(|(at, _)| *at);
    let mut offending = slower;
    offending.retain(|at| excused.iter().all(|(other, _)| other != at));
    let whole = policy.only.is_none()
        && (counts_as_slower(comparison.whole.verdict) || run_wide(comparison))
        && !is_excused(comparison, policy, &excused);
    let is_red = whole || !offending.is_empty();
    let new = if is_red { new_functions(comparison, &offending) } else { Vec::new() };
    let budgets: Vec<Spent> =
        policy.budgets.iter().map(|budget| spend(comparison, budget)).collect();
    let mut judgement = Judgement {
        answer: Answer::Inconclusive,
        reasons: Vec::new(),
        whole,
        offending,
        excused,
        new,
        budgets,
    };
    (judgement.answer, judgement.reasons) = answer(comparison, policy, &judgement);
    judgement
}

/// Whether all functions became slower by the same factor.
fn run_wide(comparison: &Comparison) -> bool {
    comparison.interval == Interval::BetweenRuns
        && !comparison.has_veto()
        && comparison.global.is_some_and(|global| global.verdict == stats::Verdict::Regressed)
}

/// By how much a function with its callees became slower, ticks per run.
fn grown(function: &Function) -> f64 {
    function.after.elapsed as f64 - function.before.elapsed as f64
}

/// The part of what a caller takes longer that accepted functions must make up for.
const EXPLAINED_MIN: f64 = 0.8;

/// The accepted function that makes a caller of it slower, if that is all there is to it.
fn because_of(one: &Function, functions: &[Function], accepted: &[usize]) -> Option<String> {
    if one.measure != Measure::Elapsed {
        return None;
    }
    let wanted = EXPLAINED_MIN * grown(one);
    let all: f64 = accepted.iter().map(|&at| grown(&functions[at]).max(0.0)).sum();
    let largest = accepted
        .iter()
        .max_by(|&&a, &&b| grown(&functions[a]).total_cmp(&grown(&functions[b])).then(b.cmp(&a)))?;
    (all >= wanted).then(|| functions[*largest].name.clone())
}

/// Whether what the whole run takes longer is accepted: by name, or because accepted functions make
/// up for what is beyond the margin.
fn is_excused(comparison: &Comparison, policy: &Policy, excused: &[(usize, Excuse)]) -> bool {
    if policy.standings.get(WHOLE_RUN).is_some_and(|standing| standing.excuse.is_some()) {
        return true;
    }
    let accepted: f64 = excused
        .iter()
        .filter(|(_, excuse)| matches!(excuse, Excuse::Accepted(_)))
        .map(|(at, _)| comparison.functions[*at].parts.delta_net.max(0) as f64)
        .sum();
    let [before, after] = comparison.whole.busy.map(|busy| busy as f64);
    accepted > 0.0 && after - accepted <= before * (1.0 + comparison.margin)
}

/// The part of the busy time that a new function must take to be named.
const NEW_MIN: f64 = 0.005;

/// Or its elapsed time, as a part of the growth of a failing function's elapsed time.
const NEW_SHARE: std::ops::RangeInclusive<f64> = 0.5..=1.25;

fn new_functions(comparison: &Comparison, offending: &[usize]) -> Vec<usize> {
    let busy = comparison.whole.busy[1] as f64;
    let functions = &comparison.functions;
    let callers: Vec<f64> = offending
        .iter()
        .map(|&at| &functions[at])
        .filter(|function| function.measure == Measure::Elapsed)
        .map(grown)
        .filter(|grown| *grown > 0.0)
        .collect();
    let is_one = |(at, function): (usize, &Function)| {
        let is_large = function.after.net as f64 >= NEW_MIN * busy;
        let elapsed = function.after.elapsed as f64;
        let explains = || callers.iter().any(|grown| NEW_SHARE.contains(&(elapsed / grown)));
        let is_new = function.verdict == Verdict::New && !offending.contains(&at);
        (is_new && (is_large || explains())).then_some(at)
    };
    functions.iter().enumerate().filter_map(is_one).collect()
}

fn answer(
    comparison: &Comparison,
    policy: &Policy,
    judgement: &Judgement,
) -> (Answer, Vec<String>) {
    use crate::summarize::count;
    let Judgement { offending, budgets, .. } = judgement;
    let with = |state: State| budgets.iter().filter(|spent| spent.state == state).count() as u64;
    let (exceeded, unknown) = (with(State::Exceeded), with(State::Unknown));
    let stands =
        |warning: &&super::Warning| warning.veto || warning.confounds && !policy.allow_confounded;
    let vetoes: Vec<String> =
        comparison.warnings.iter().filter(stands).map(|warning| warning.message.clone()).collect();
    if !vetoes.is_empty() {
        return (Answer::Inconclusive, vetoes);
    }
    let mut reasons = Vec::new();
    if judgement.whole {
        reasons.push(whole_reason(comparison));
    }
    if !offending.is_empty() {
        let number = |is_one: fn(&Function) -> bool| {
            offending.iter().filter(|&&at| is_one(&comparison.functions[at])).count() as u64
        };
        let new = number(|function| function.verdict == Verdict::New);
        let slower = offending.len() as u64 - new;
        if new > 0 {
            let functions = count(new, "new function", "new functions");
            let its = if new == 1 { "makes its caller" } else { "make their callers" };
            reasons.push(format!("{functions} {its} slower by more than the margin"));
        }
        if slower > 0 {
            let functions = count(slower, "function", "functions");
            let callers = match number(|function| function.measure == Measure::Elapsed) {
                0 => String::new(),
                n => format!(" ({n} of them including callees)"),
            };
            reasons.push(format!("{functions} slower by more than the margin{callers}"));
        }
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
    if let Some(only) = &policy.only {
        return answer_on(comparison, only);
    }
    if comparison.tested > 0 {
        let functions = count(comparison.tested, "function", "functions");
        let mut reasons = vec![format!("{functions} tested, none slower by more than the margin")];
        if !judgement.excused.is_empty() {
            let excused = count(judgement.excused.len() as u64, "function", "functions");
            reasons[0] = format!("{functions} tested, {excused} slower and excused by the policy");
        }
        return (Answer::Pass, reasons);
    }
    if !budgets.is_empty() {
        return (Answer::Pass, vec!["all budgets kept; nothing else was tested".into()]);
    }
    (Answer::Inconclusive, vec![untested(comparison)])
}

/// The answer on a single function that did not become slower for sure.
fn answer_on(comparison: &Comparison, only: &str) -> (Answer, Vec<String>) {
    let Some(function) = comparison.functions.iter().find(|function| function.name == *only) else {
        return (Answer::Inconclusive, vec![format!("no function `{only}` in the trace")]);
    };
    let reason = vec![format!("{only}: {}", function.verdict.name())];
    match function.verdict {
        Verdict::Equivalent | Verdict::Improved | Verdict::Gone => (Answer::Pass, reason),
        _ if function.is_unchanged() => (Answer::Pass, vec![format!("{only}: unchanged")]),
        _ => (Answer::Inconclusive, reason),
    }
}

/// What the whole run does more, and which function most of that is.
fn whole_reason(comparison: &Comparison) -> String {
    let whole = &comparison.whole;
    let percent = |ratio: f64| format!("{:+.1}%", (ratio - 1.0) * 100.0);
    let ratio = whole.ratio().unwrap_or(1.0);
    // Where no time is known, the calls decide.
    let what = if whole.busy[0] > 0 { "busy time" } else { "calls" };
    let is_slower = whole.verdict == Verdict::Regressed || whole.verdict == Verdict::Suspect;
    let mut text = if is_slower {
        format!("whole run: {what} {}", percent(ratio))
    } else {
        let factor = comparison.global.map_or(1.0, |global| global.factor.exp2());
        format!("run-wide: net time per call of the median function {}", percent(factor))
    };
    let [before, after] = whole.calls.map(|calls| calls as f64);
    let says_calls = is_slower && whole.busy[0] == 0;
    if !says_calls && before > 0.0 && (after / before - 1.0).abs() > comparison.margin {
        text.push_str(", calls ");
        text.push_str(&percent(after / before));
    }
    if let Some(cause) = whole.causes.first() {
        text.push_str("; most of it: ");
        text.push_str(&cause.text());
    }
    text
}

impl super::Cause {
    /// The function and what it does, for readers.
    pub fn text(&self) -> String {
        let what = match self.why {
            Why::Slower => "slower",
            Why::Faster => "faster",
            Why::MoreCalls => "called more often",
            Why::FewerCalls => "called less often",
            Why::New => "new",
            Why::Gone => "gone",
        };
        let caller = self.caller.as_ref().map(|caller| format!(", called by {caller}"));
        format!("{} ({what}{})", self.name, caller.unwrap_or_default())
    }
}

/// Something to look at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspicion {
    /// Its place in [`Comparison::functions`].
    pub at: usize,
    /// What it does.
    pub why: Why,
}

impl Judgement {
    /// What fails the build, causes before callers: new functions and those that became
    /// slower themselves or are called more often, then those that take longer with what they call.
    pub fn in_order(&self, comparison: &Comparison) -> Vec<Suspicion> {
        let functions = &comparison.functions;
        let mut all: Vec<Suspicion> = self
            .offending
            .iter()
            .chain(&self.new)
            .map(|&at| Suspicion { at, why: functions[at].why() })
            .collect();
        all.sort_by_key(|one| {
            let function = &functions[one.at];
            let is_caller = function.measure == Measure::Elapsed;
            (is_caller, std::cmp::Reverse(function.weight()), one.at)
        });
        all
    }
}

impl Function {
    /// What it adds to a run: its own time, or where it is called more often, that of all it calls
    /// too, since its callees are then called more often because of it.
    pub(super) fn weight(&self) -> u64 {
        let own = self.parts.delta_net.unsigned_abs();
        match self.why() {
            Why::MoreCalls | Why::FewerCalls | Why::New | Why::Gone => {
                own.max(self.after.elapsed.abs_diff(self.before.elapsed))
            }
            Why::Slower | Why::Faster => own,
        }
    }

    /// How its net time in a run changed.
    pub fn why(&self) -> Why {
        why(self)
    }
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

#[cfg(test)]
mod tests;
