//! Whether a gate can fail: a function is made worse, and the gate has to say so.

use super::gate::Policy;
use super::types::{Comparison, Function};
use super::{Measure, Side, Verdict};

/// The function into which a self-test puts its regression: the costliest of those that are known not
/// to have changed and in which a change of twice the margin shows, else the costliest of those that
/// were tested, else one with a budget.
pub fn victim<'a>(comparison: &'a Comparison, policy: &Policy) -> Option<&'a Function> {
    let dearest = |wanted: &dyn Fn(&Function) -> bool| {
        let functions = comparison.functions.iter().filter(|function| wanted(function));
        functions.max_by_key(|function| function.after.net)
    };
    let excused = |function: &Function| {
        policy.standings.get(&function.name).is_some_and(|standing| standing.excuse.is_some())
    };
    let calm = |function: &Function| function.verdict == Verdict::Equivalent && !excused(function);
    let sharp = |function: &Function| {
        let seen = function.tests[Measure::Net.index()].as_ref().map(|tested| tested.mde);
        calm(function) && seen.is_some_and(|mde| mde <= (1.0 + 2.0 * comparison.margin).log2())
    };
    let tested = |function: &Function| function.was_tested() && !excused(function);
    let budgeted =
        |function: &Function| policy.budgets.iter().any(|budget| budget.function == function.name);
    dearest(&sharp)
        .or_else(|| dearest(&calm))
        .or_else(|| dearest(&tested))
        .or_else(|| dearest(&budgeted))
}

/// The change that a self-test makes of a function: twice the margin, or what shows for sure where
/// that does not.
pub fn injected(function: &Function, margin: f64) -> f64 {
    let seen = function.tests[Measure::Net.index()].as_ref().map_or(f64::NAN, |tested| tested.mde);
    let twice = 1.0 + 2.0 * margin;
    if seen.is_finite() { twice.max((1.25 * seen).exp2()) } else { twice.max(2.0) }
}

/// What a self-test makes worse.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Injection {
    /// Every call takes so many times as long.
    Slower(f64),
    /// It is called so many times.
    Calls(u64),
}

/// Makes a function worse, in all runs of a side: its times, their histograms, its calls.
pub fn inject(side: &mut Side, names: &[&str], module: Option<&str>, what: Injection) {
    for run in &mut side.runs {
        for row in &mut run.profile.rows {
            if names.contains(&row.name.as_str()) && row.module.as_deref() == module {
                worsen(&mut row.stats, what);
            }
        }
    }
}

fn worsen(stats: &mut crate::summarize::FuncStats, what: Injection) {
    match what {
        Injection::Slower(factor) => {
            let scaled = |time: u64| (time as f64 * factor).round() as u64;
            let more = scaled(stats.net).saturating_sub(stats.net);
            stats.net = stats.net.saturating_add(more);
            stats.wall = stats.wall.saturating_add(more);
            stats.elapsed = stats.elapsed.saturating_add(more);
            let net = &mut stats.net_of_calls;
            let more = scaled(net.sum).saturating_sub(net.sum);
            let longest = scaled(net.max).saturating_sub(net.max);
            net.sum = net.sum.saturating_add(more);
            net.max = net.max.saturating_add(longest);
            net.squares = (net.squares as f64 * factor * factor) as u128;
            let ratio = ((factor * 1e6).round() as u128, 1_000_000);
            net.histogram = net.histogram.scaled(ratio);
            let elapsed = &mut stats.elapsed_of_calls;
            // How much of each call was its own is not kept: all calls grow by the same part.
            let all = (elapsed.sum.saturating_add(more)) as f64 / elapsed.sum.max(1) as f64;
            elapsed.sum = elapsed.sum.saturating_add(more);
            elapsed.max = elapsed.max.saturating_add(longest).max(net.max);
            elapsed.squares = (elapsed.squares as f64 * all * all) as u128;
            elapsed.histogram = elapsed.histogram.scaled(((all * 1e6).round() as u128, 1_000_000));
        }
        Injection::Calls(times) => {
            let mut one = stats.clone();
            // The calls are whole ones: incomplete ones are not repeated.
            one.partial = 0;
            for _ in 1..times {
                stats.merge(&one);
            }
        }
    }
}
