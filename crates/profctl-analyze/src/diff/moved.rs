//! Work that changed its place: a function that went because its caller took it in, one that came
//! because it was cut out of its caller, and cost that moved between two functions that stayed.
//!
//! Such a move shows in figures that have to agree: what one function won, another lost, and both
//! together take no longer than before, or a whole call of the caller does not. Then nothing became
//! slower.

use std::ops::RangeInclusive;

use super::stats;
use super::types::{Function, Moved};
use super::{Measure, SideStats, Verdict};

/// Calls in a run below which figures agree by chance.
pub(super) const CALLS_MIN: f64 = 20.0;
/// How far the calls that the caller makes may be from what is expected, as a part of those of the
/// function.
const CALLS_TOLERANCE: f64 = 0.02;
/// The same as a part of all calls that the caller makes: which way it takes differs between runs.
const CALLEES_TOLERANCE: f64 = 0.03;
/// The part of the function's net time that the caller's has to grow by, at least and at most. A
/// call less also saves the call.
const NET_RANGE: RangeInclusive<f64> = 0.3..=1.5;
/// How far the elapsed time per call of the caller may have changed.
const ELAPSED_MAX: f64 = 1.25;
/// What one function lost, as a part of what another won.
const SHIFT_RANGE: RangeInclusive<f64> = 0.67..=1.5;

/// Finds functions that were inlined or outlined, in the order of `functions`; none if the caller, or
/// the function, is ambiguous. `margin` is the change that does not matter, as a ratio less 1.
pub(super) fn find(functions: &[Function], margin: f64) -> Vec<Moved> {
    let mut found = Vec::new();
    for one in functions {
        let Some(inlined) = is_inlined(one) else { continue };
        let gone = if inlined { &one.before } else { &one.after };
        if gone.calls_per_run() < CALLS_MIN || gone.net == 0 {
            continue;
        }
        let mut callers = functions.iter().filter(|caller| {
            let (with, without) = ends(caller, inlined);
            own_time_changed(caller, inlined) && took_over(with, without, gone)
        });
        if let (Some(caller), None) = (callers.next(), callers.next()) {
            let before = per_call(&caller.before, one.before.total.net);
            let after = per_call(&caller.after, one.after.total.net);
            found.push(Moved {
                callee: one.name.clone(),
                caller: caller.name.clone(),
                inlined,
                net: gone.net,
                caller_delta: caller.parts.delta_net,
                level: is_plain(caller, one, inlined) && after <= before * (1.0 + margin),
            });
        }
    }
    let callers: Vec<String> = found.iter().map(|moved: &Moved| moved.caller.clone()).collect();
    found.retain(|moved| callers.iter().filter(|&caller| *caller == moved.caller).count() == 1);
    found
}

/// Whether a function is all but gone; else whether it is new, as far as calls tell.
fn is_inlined(one: &Function) -> Option<bool> {
    let [before, after] = [one.before.calls_per_run(), one.after.calls_per_run()];
    let is_gone = after <= CALLS_TOLERANCE * before;
    (is_gone || before <= CALLS_TOLERANCE * after).then_some(is_gone)
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

/// Net time of a caller and `more` beside, per call of the caller.
fn per_call(caller: &SideStats, more: u64) -> f64 {
    part(caller, caller.total.net.saturating_add(more))
}

/// `sum` per call of a function.
fn part(of: &SideStats, sum: u64) -> f64 {
    sum as f64 / of.calls_per_run().max(f64::MIN_POSITIVE) / f64::from(of.of_runs.max(1))
}

/// Calls of a function, per call of its caller.
fn calls_in(caller: &SideStats, callee: &SideStats) -> f64 {
    callee.calls_per_run() / caller.calls_per_run().max(f64::MIN_POSITIVE)
}

/// How many calls more a call of the caller makes with a function than without it, and how far that is
/// uncertain.
fn more_callees(with: &SideStats, without: &SideStats) -> (f64, f64) {
    let [a, b] = [with, without].map(|side| part(side, side.total.callees));
    (a - b, CALLEES_TOLERANCE * a.max(b))
}

/// Whether the calls that the caller makes fewer, or more, are too many for chance.
fn is_plain(caller: &Function, one: &Function, inlined: bool) -> bool {
    let (with, without) = ends(caller, inlined);
    let gone = if inlined { &one.before } else { &one.after };
    let expected = calls_in(with, gone) - part(with, gone.total.callees);
    expected.abs() > 2.0 * (CALLS_TOLERANCE * calls_in(with, gone) + more_callees(with, without).1)
}

fn took_over(with: &SideStats, without: &SideStats, gone: &SideStats) -> bool {
    if !with.is_there() || !without.is_there() {
        return false;
    }
    let calls = calls_in(with, gone);
    // It calls the function no more, and by itself what the function called.
    let expected = calls - part(with, gone.total.callees);
    let (fewer, uncertain) = more_callees(with, without);
    let share = (per_call(without, 0) - per_call(with, 0)) / part(with, gone.total.net);
    let (Some(a), Some(b)) = (with.inclusive_avg(), without.inclusive_avg()) else {
        return false;
    };
    let (a, b) = (a as f64, b as f64);
    part(with, with.total.callees) >= (1.0 - CALLS_TOLERANCE) * calls
        && (fewer - expected).abs() <= CALLS_TOLERANCE * calls + uncertain
        && NET_RANGE.contains(&share)
        && a.max(b) <= ELAPSED_MAX * a.min(b)
}

/// Takes back what was said of functions whose own time changed because work moved into them or out
/// of them, where all of it together takes no longer.
pub(super) fn explain(functions: &mut [Function], moves: &[Moved], margin: f64) {
    for moved in moves {
        let caller = functions.iter_mut().find(|function| function.name == moved.caller);
        if let Some(caller) = caller {
            explain_one(caller, moved);
        }
    }
    for (up, down) in shifts(functions, margin) {
        let (name_up, name_down) = (functions[up].name.clone(), functions[down].name.clone());
        settle(&mut functions[up], name_down);
        functions[down].moved = Some(name_up);
    }
}

/// The same of one function, or path, of the caller.
pub(super) fn explain_one(caller: &mut Function, moved: &Moved) {
    caller.moved = Some(moved.callee.clone());
    let was = caller.verdict;
    if is_slower(was) && moved.inlined && (is_level(caller) || moved.level && !is_longer(caller)) {
        settle(caller, moved.callee.clone());
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

/// Makes the verdict one on whole calls, as far as there is one.
fn settle(function: &mut Function, other: String) {
    function.moved = Some(other);
    function.verdict = Verdict::Inconclusive;
    if !is_level(function) {
        return;
    }
    if let Some(tested) = &function.tests[Measure::Elapsed.index()] {
        function.verdict = Verdict::from(tested.verdict);
        function.measure = Measure::Elapsed;
        function.ratio = Some(tested.estimate.exp2());
        function.interval = Some((tested.ci_low.exp2(), tested.ci_high.exp2()));
    }
}

/// Pairs of functions on both sides of which one won what the other lost, where one calls the other.
fn shifts(functions: &[Function], margin: f64) -> Vec<(usize, usize)> {
    let won = |function: &Function| is_slower(function.verdict) && own_time_changed(function, true);
    // Among hundreds of functions, some lose as much by chance.
    let lost = |function: &Function| {
        [Measure::Net, Measure::Total].into_iter().any(|measure| {
            let tested = function.tests[measure.index()].as_ref();
            tested.is_some_and(|tested| tested.verdict == stats::Verdict::Improved)
        })
    };
    let those = |is_one: &dyn Fn(&Function) -> bool| -> Vec<usize> {
        (0..functions.len()).filter(|&at| is_one(&functions[at])).collect()
    };
    let (up, down) = (those(&won), those(&lost));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for &winner in &up {
        let mut partners = down
            .iter()
            .filter(|&&loser| moved_between(&functions[winner], &functions[loser], margin));
        if let (Some(&loser), None) = (partners.next(), partners.next()) {
            pairs.push((winner, loser));
        }
    }
    let losers: Vec<usize> = pairs.iter().map(|pair| pair.1).collect();
    pairs.retain(|pair| losers.iter().filter(|&&loser| loser == pair.1).count() == 1);
    pairs
}

fn moved_between(up: &Function, down: &Function, margin: f64) -> bool {
    // Which of them calls which is not recorded: that whole calls of one stay the same although its own
    // time does not, is what tells.
    let may_call = |caller: &Function, callee: &Function| {
        is_level(caller)
            && [(&caller.before, &callee.before), (&caller.after, &callee.after)].into_iter().all(
                |(caller, callee)| {
                    caller.elapsed >= callee.elapsed
                        && caller.total.callees >= callee.total.calls.min(caller.total.calls)
                        && caller.total.callees > 0
                },
            )
    };
    // Per call of the caller, so that a longer run is not taken for a slower one.
    let won = |caller: &Function| {
        let own = |of: &Function| {
            part(&caller.after, of.after.total.net) - part(&caller.before, of.before.total.net)
        };
        let together = [
            part(&caller.before, sum(&up.before, &down.before)),
            part(&caller.after, sum(&up.after, &down.after)),
        ];
        let won = own(up);
        let is_as_much = won > 0.0 && SHIFT_RANGE.contains(&(-own(down) / won));
        (is_as_much && together[1] <= together[0] * (1.0 + margin)).then_some(won)
    };
    if may_call(up, down) && won(up).is_some() {
        return true;
    }
    // The callee did: its whole calls won as much and no more.
    let inclusive = |caller: &SideStats, callee: &SideStats| {
        callee.inclusive_avg().unwrap_or(0) as f64 * calls_in(caller, callee)
    };
    let before = inclusive(&down.before, &up.before);
    let after = inclusive(&down.after, &up.after);
    may_call(down, up) && won(down).is_some_and(|won| after - won <= before * (1.0 + margin))
}

fn sum(one: &SideStats, other: &SideStats) -> u64 {
    one.total.net.saturating_add(other.total.net)
}

/// The function on both sides that calls one of one side, as far as its figures tell: a call of it
/// makes as many calls more, or fewer, and takes longer; the one with the shortest time is the
/// nearest.
pub(super) fn caller_of(functions: &[Function], one: &Function) -> Option<usize> {
    let is_new = one.after.is_there();
    let own = if is_new { &one.after } else { &one.before };
    let fits = |caller: &Function| {
        let (with, without) = ends(caller, !is_new);
        if !with.is_there() || !without.is_there() {
            return false;
        }
        let calls = calls_in(with, own);
        let (more, uncertain) = more_callees(with, without);
        let longer = part(with, with.total.elapsed) - part(without, without.total.elapsed);
        let uncertain = CALLS_TOLERANCE * calls + uncertain;
        (more - calls).abs() <= uncertain
            && calls > 2.0 * uncertain
            && longer >= 0.5 * part(with, own.total.elapsed)
    };
    let all = (0..functions.len()).filter(|&at| fits(&functions[at]));
    all.min_by_key(|&at| functions[at].after.elapsed)
}
