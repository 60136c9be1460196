//! The sentence on top of a page, and the functions that a verdict is about.

use profctl_analyze::diff::gate::Judgement;
use profctl_analyze::diff::{Comparison, Function, WholeRun, Why};
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
    let mut failing: Vec<&Function> =
        judgement.offending.iter().map(|&at| &comparison.functions[at]).collect();
    failing.sort_by(|a, b| {
        let cost = |function: &Function| function.parts.delta_net.unsigned_abs();
        cost(b).cmp(&cost(a)).then_with(|| a.name.cmp(&b.name))
    });
    let line = |function: &&Function| {
        let ratio = function.ratio.map_or_else(String::new, |ratio| {
            format!("{} of {}, ", number::ratio(ratio), function.measure.name())
        });
        let delta = number::change_with_unit(function.parts.delta_net, &comparison.timebase, unit);
        format!("{}: {ratio}{delta} net per run", function.name)
    };
    failing.iter().take(NAMED_MAX).map(line).collect()
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
