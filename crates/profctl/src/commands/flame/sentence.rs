//! The sentence on top of a page, and the functions that a verdict is about.

use profctl_analyze::diff::gate::Judgement;
use profctl_analyze::diff::{Comparison, Function, Measure, WholeRun, Why};
use profctl_analyze::summarize::Profile;
use profctl_model::FuncKind;
use profctl_render::number::{self, TimeUnit};

/// Functions that are named at most.
const NAMED_MAX: usize = 3;
/// The part of the busy time after which no more are named.
const MOST: u64 = 2;

/// Where most of the time of a profile went.
pub(crate) fn of_profile(profile: &Profile) -> Option<String> {
    let busy = profile.busy();
    let mut rows: Vec<(&str, u64)> = profile
        .rows
        .iter()
        .filter(|row| row.kind != Some(FuncKind::Idle))
        .map(|row| (row.name.as_str(), row.stats.net.saturating_sub(row.stats.idle)))
        .filter(|(_, net)| *net > 0)
        .collect();
    rows.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    let mut named = Vec::new();
    let mut sum = 0_u64;
    for (name, net) in rows.iter().take(NAMED_MAX) {
        named.push(*name);
        sum = sum.saturating_add(*net);
        if sum.saturating_mul(MOST) > busy {
            break;
        }
    }
    if busy == 0 || named.is_empty() {
        return None;
    }
    let share = sum as f64 / busy as f64 * 100.0;
    Some(format!("{share:.0}% of busy time is in {}", listed(&named)))
}

/// How a run changed, and by what.
pub(crate) fn of_comparison(comparison: &Comparison) -> Option<String> {
    let WholeRun { busy: [before, after], causes, .. } = &comparison.whole;
    if *before == 0 || before == after {
        return None;
    }
    let change = (*after as f64 / *before as f64 - 1.0) * 100.0;
    if change.abs() < 0.5 {
        return Some("Busy time is unchanged (within 0.5%)".to_owned());
    }
    let more = if after > before { "more" } else { "less" };
    let named: Vec<String> = causes
        .iter()
        .take(NAMED_MAX)
        .map(|cause| format!("{} ({})", cause.name, why(cause.why)))
        .collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let most = if named.is_empty() {
        String::new()
    } else {
        format!(", most of it in {}", listed(&named))
    };
    Some(format!("A run takes {:.0}% {more} busy time{most}", change.abs()))
}

/// The functions that fail a gate, those first that cost most.
pub(crate) fn top(comparison: &Comparison, judgement: &Judgement, unit: TimeUnit) -> Vec<String> {
    let line = |function: &Function| {
        let ratio = function.ratio.map_or_else(String::new, |ratio| {
            format!("{} {}, ", measure(function.measure), number::ratio(ratio))
        });
        let delta = number::change_with_unit(function.parts.delta_net, &comparison.timebase, unit);
        format!("{}: {ratio}{delta} per run", function.name)
    };
    failing(comparison, judgement).into_iter().take(NAMED_MAX).map(line).collect()
}

fn failing<'a>(comparison: &'a Comparison, judgement: &Judgement) -> Vec<&'a Function> {
    let offending = judgement.offending.iter().map(|&at| &comparison.functions[at]);
    by_cost(offending.collect())
}

/// Functions of which a page draws plots.
const PLOTTED_MAX: usize = 6;

/// The functions to look at: those that fail the gate; if there are none, those that changed most.
pub(crate) fn most_changed<'a>(
    comparison: &'a Comparison,
    judgement: &Judgement,
) -> Vec<&'a Function> {
    let mut functions = failing(comparison, judgement);
    if functions.is_empty() {
        let on_both = |function: &&Function| function.ratio.is_some_and(|ratio| ratio > 0.0);
        functions = by_cost(comparison.changed().filter(on_both).collect());
    }
    functions.truncate(PLOTTED_MAX);
    functions
}

fn by_cost(mut functions: Vec<&Function>) -> Vec<&Function> {
    let cost = |function: &Function| function.parts.delta_net.unsigned_abs();
    functions.sort_by(|a, b| cost(b).cmp(&cost(a)).then_with(|| a.name.cmp(&b.name)));
    functions
}

fn measure(measure: Measure) -> &'static str {
    match measure {
        Measure::Net => "net time of a call",
        Measure::Total => "net time of a run",
        Measure::Elapsed => "elapsed time of a call",
    }
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Slower => "slower per call",
        Why::Faster => "faster per call",
        Why::MoreCalls => "more calls",
        Why::FewerCalls => "fewer calls",
        Why::New => "new",
        Why::Gone => "gone",
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
