//! Work that changed its place: a function that went because its caller took it in, one that came
//! because it was cut out of its caller, and cost that moved between two functions that stayed.
//!
//! Such a move shows in figures that have to agree: what one function won, another lost, and both
//! together take no longer than before, or a whole call of the caller does not. Then nothing became
//! slower.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::callers::Callers;
use super::charged::Charge;
use super::decide::show;
use super::stats::{self, Tested};
use super::types::{Function, Moved};
use super::{Measure, SideStats, Verdict};

/// The part of its callees' net time that the caller's has to grow by, at least and at most. A
/// call less also saves the call.
const NET_RANGE: RangeInclusive<f64> = 0.3..=1.5;
/// The level of the interval that has to lie below no change for a function to have become shorter.
const LOSS_LEVEL: f64 = 0.99;
/// What one function lost, as a part of what another won.
const SHIFT_RANGE: RangeInclusive<f64> = 0.67..=1.5;

/// Functions that were probably inlined or outlined, in the order of `functions`.
pub(super) fn find(functions: &[Function], charges: &[(Charge, Option<Tested>)]) -> Vec<Moved> {
    let mut found: BTreeMap<usize, Moved> = BTreeMap::new();
    for (charge, tested) in charges {
        let caller = &functions[charge.caller];
        for (side, inlined) in [(0, true), (1, false)] {
            let Some(at) = charge.largest(side) else { continue };
            let (with, without) = ends(caller, inlined);
            let won = per_call(without, without.total.net) - per_call(with, with.total.net);
            let share = won * with.calls_per_run() * f64::from(with.of_runs) / charge.sum(side);
            if own_time_changed(caller, inlined) && NET_RANGE.contains(&share) {
                found.insert(at, moved(functions, charge, at, inlined, tested.as_ref()));
            }
        }
    }
    found.into_values().collect()
}

fn moved(
    functions: &[Function],
    charge: &Charge,
    at: usize,
    inlined: bool,
    tested: Option<&Tested>,
) -> Moved {
    let (callee, caller) = (&functions[at], &functions[charge.caller]);
    Moved {
        callee: callee.name.clone(),
        caller: caller.name.clone(),
        inlined,
        net: if inlined { callee.before.net } else { callee.after.net },
        caller_delta: caller.parts.delta_net,
        no_slower: tested.is_some_and(is_no_slower),
    }
}

/// Whether the net time of a call became longer, or else shorter, as far as it was tested.
fn own_time_changed(caller: &Function, longer: bool) -> bool {
    let net = caller.tests[Measure::Net.index()].as_ref().filter(|net| net.estimate.is_finite());
    net.is_none_or(|net| if longer { net.ci_low > 0.0 } else { net.ci_high < 0.0 })
}

/// A caller on the side that has the function, and on the one that has not.
fn ends(caller: &Function, inlined: bool) -> (&SideStats, &SideStats) {
    if inlined { (&caller.before, &caller.after) } else { (&caller.after, &caller.before) }
}

/// `sum` of a side per call of a function.
fn per_call(of: &SideStats, sum: u64) -> f64 {
    sum as f64 / of.calls_per_run().max(f64::MIN_POSITIVE) / f64::from(of.of_runs.max(1))
}

/// Takes back what was said of functions whose own time changed because work moved into them or out
/// of them, where all of it together takes no longer.
pub(super) fn explain(
    functions: &mut [Function],
    charges: &[(Charge, Option<Tested>)],
    selected_level: f64,
) {
    let improved = |tested: &Tested| tested.verdict == stats::Verdict::Improved;
    for (charge, tested) in charges {
        for (side, inlined) in [(0, true), (1, false)] {
            let Some(at) = charge.largest(side) else { continue };
            let is_faster = !inlined && tested.as_ref().is_some_and(improved);
            if own_time_changed(&functions[charge.caller], inlined) && !is_faster {
                let moved = moved(functions, charge, at, inlined, tested.as_ref());
                explain_one(&mut functions[charge.caller], &moved, selected_level);
            }
        }
    }
}

/// The same of one function, or path, of the caller.
pub(super) fn explain_one(caller: &mut Function, moved: &Moved, selected_level: f64) {
    caller.moved = Some(moved.callee.clone());
    let was = caller.verdict;
    if is_slower(was)
        && moved.inlined
        && (is_level(caller) || moved.no_slower && !is_longer(caller))
    {
        let growth = growth(caller);
        settle(caller, moved.callee.clone(), growth, selected_level);
    } else if was == Verdict::Improved && !moved.inlined && caller.measure != Measure::Elapsed {
        let elapsed = caller.tests[Measure::Elapsed.index()].as_ref();
        if elapsed.is_none_or(|tested| tested.verdict != stats::Verdict::Improved) {
            caller.verdict = Verdict::Inconclusive;
        }
    }
}

fn is_slower(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Regressed | Verdict::Suspect)
}

/// Whether a caller is no slower with what it is charged with.
fn is_no_slower(tested: &Tested) -> bool {
    !matches!(
        tested.verdict,
        stats::Verdict::Regressed | stats::Verdict::Suspect | stats::Verdict::NotTested
    )
}

/// Whether a whole call takes no longer than before.
fn is_level(function: &Function) -> bool {
    let elapsed = function.tests[Measure::Elapsed.index()].as_ref();
    elapsed.is_some_and(|tested| {
        tested.verdict == stats::Verdict::Equivalent || tested.ci_high <= tested.margin
    })
}

/// Whether a whole call takes longer for sure.
fn is_longer(function: &Function) -> bool {
    let elapsed = function.tests[Measure::Elapsed.index()].as_ref();
    elapsed.is_some_and(|tested| is_slower(Verdict::from(tested.verdict)))
}

/// By how much the time of a function in a run grew besides what moved, as a binary logarithm: by its
/// calls, less what a whole call became shorter by.
fn growth(function: &Function) -> f64 {
    let calls = (function.after.calls_per_run() / function.before.calls_per_run()).log2();
    let elapsed = function.tests[Measure::Elapsed.index()].as_ref();
    calls + elapsed.map_or(0.0, |tested| tested.estimate.min(0.0))
}

/// Makes the verdict one on whole calls, as far as there is one. What moved explains a change per call,
/// not more calls: a function that is slower by those alone stays so.
fn settle(function: &mut Function, other: String, growth: f64, selected_level: f64) {
    function.moved = Some(other);
    function.verdict = Verdict::Inconclusive;
    let of = |measure: Measure| function.tests[measure.index()];
    let (total, elapsed) = (of(Measure::Total), of(Measure::Elapsed));
    let left = total.and_then(|total| Some((total, left_of(&total, growth)?)));
    let whole = elapsed.filter(|_| is_level(function));
    if let Some((tested, verdict)) = left {
        (function.measure, function.verdict) = (Measure::Total, verdict);
        show(function, &tested, selected_level);
    } else if let Some(tested) = whole {
        (function.measure, function.verdict) = (Measure::Elapsed, Verdict::from(tested.verdict));
        show(function, &tested, selected_level);
    }
}

/// The verdict on a slower function if only `growth` is left of the change, with the interval of all of
/// it.
fn left_of(total: &Tested, growth: f64) -> Option<Verdict> {
    let low = growth - (total.estimate - total.ci_low);
    match total.verdict {
        stats::Verdict::Regressed if low > total.margin => Some(Verdict::Regressed),
        stats::Verdict::Regressed | stats::Verdict::Suspect
            if low > 0.0 && growth > total.margin =>
        {
            Some(Verdict::Suspect)
        }
        _ => None,
    }
}

/// Two functions of which one won what the other lost.
#[derive(Debug)]
pub(super) struct Shift {
    up: usize,
    down: usize,
    /// Of the one that calls the other: with the other's time on both sides.
    pub(super) both: Charge,
}

/// Pairs of functions on both sides of which one won what the other lost, where one calls the other.
/// `tested` are the places of functions that are tested.
pub(super) fn shifts(functions: &[Function], callers: &Callers, tested: &[usize]) -> Vec<Shift> {
    let won = |function: &Function| is_slower(function.verdict) && own_time_changed(function, true);
    let mut found: Vec<(f64, Shift)> = Vec::new();
    for up in (0..functions.len()).filter(|&at| won(&functions[at])) {
        let above = callers.of(0, up).iter().map(|caller| (caller.at, up));
        let calls = |callee: &usize| callers.part(0, up, *callee) > 0.0;
        let below = (0..functions.len()).filter(calls).map(|callee| (up, callee));
        for (caller, callee) in above.chain(below) {
            let down = if caller == up { callee } else { caller };
            let parts = [0, 1].map(|side| callers.part(side, caller, callee));
            let Ok(place) = tested.binary_search(&caller) else { continue };
            // A callee that is not called any more was inlined, if anything: see `find`. Recursion
            // needs no condition: what became longer did not become shorter.
            if parts[1] == 0.0 || !became_shorter(&functions[down]) {
                continue;
            }
            let share = shared([&functions[caller], &functions[callee]], parts, caller == up);
            if SHIFT_RANGE.contains(&share) && !is_longer(&functions[caller]) {
                let mut both = Charge::new(caller, place);
                for (side, part) in parts.into_iter().enumerate() {
                    both.add(side, (callee, part), callee, functions);
                }
                found.push((share.ln().abs(), Shift { up, down, both }));
            }
        }
    }
    found.sort_by(|(a, of_a), (b, of_b)| {
        a.total_cmp(b).then((of_a.up, of_a.down).cmp(&(of_b.up, of_b.down)))
    });
    // What one function lost, another won once.
    let mut chosen: Vec<Shift> = Vec::new();
    for (_, shift) in found {
        if chosen.iter().all(|other| other.up != shift.up && other.down != shift.down) {
            chosen.push(shift);
        }
    }
    chosen
}

/// Takes back what was said of the one that won, where both together take no longer.
pub(super) fn explain_shift(
    functions: &mut [Function],
    shift: &Shift,
    both: &Tested,
    selected_level: f64,
) {
    if is_no_slower(both) {
        // The sum of both was tested per call of the caller.
        let growth = growth(&functions[shift.both.caller]);
        let (name_up, name_down) =
            (functions[shift.up].name.clone(), functions[shift.down].name.clone());
        settle(&mut functions[shift.up], name_down, growth, selected_level);
        functions[shift.down].moved = Some(name_up);
    }
}

/// What one of a caller and its callee lost, as a part of what the other won: per call of the caller, so
/// that a longer run is not taken for a slower one. `parts` of the callee's time are in calls of the
/// caller.
fn shared([caller, callee]: [&Function; 2], parts: [f64; 2], caller_won: bool) -> f64 {
    let of = |side: usize| {
        let [caller, callee] = [caller, callee].map(|of| [&of.before, &of.after][side]);
        (per_call(caller, caller.total.net), parts[side] * per_call(caller, callee.total.net))
    };
    let (before, after) = (of(0), of(1));
    let changed = (after.0 - before.0, after.1 - before.1);
    let (won, lost) = if caller_won { changed } else { (changed.1, changed.0) };
    if won > 0.0 { -lost / won } else { 0.0 }
}

/// Whether the net time of a call became shorter for sure: of the callers and callees of a function, some
/// are always faster by chance.
fn became_shorter(function: &Function) -> bool {
    let net = function.tests[Measure::Net.index()].as_ref();
    net.is_some_and(|net| net.interval(LOSS_LEVEL).1 < 0.0)
}

#[cfg(test)]
mod tests;
