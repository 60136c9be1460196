//! Work that changed its place: a function that went because its caller took it in, one that came
//! because it was cut out of its caller, and cost that moved between two functions that stayed.
//!
//! Such a move shows in figures that have to agree: what one function won, another lost, and the
//! time of a whole call of the caller stays the same. Then nothing became slower.

use super::stats;
use super::types::{Function, Moved};
use super::{Measure, SideStats, Verdict};

/// Calls in a run below which figures agree by chance.
const CALLS_MIN: f64 = 20.0;
/// How far the caller's fewer callees may be from what is expected, as a part of the calls.
const CALLS_TOLERANCE: f64 = 0.02;
/// The part of the function's net time that the caller's has to grow by, at least and at most. A
/// call less also saves the call.
const NET_RANGE: (f64, f64) = (0.3, 1.5);
/// How far the elapsed time per call of the caller may have changed.
const ELAPSED_MAX: f64 = 1.25;
/// By how much what one function won may differ from what another lost.
const SHIFT_TOLERANCE: f64 = 0.25;

/// Finds such moves, in the order of `functions`; none if the caller, or the function, is
/// ambiguous.
pub(super) fn find(functions: &[Function]) -> Vec<Moved> {
    let mut found = Vec::new();
    for one in functions {
        let inlined = match one.verdict {
            Verdict::Gone => true,
            Verdict::New => false,
            _ => continue,
        };
        let gone = if inlined { &one.before } else { &one.after };
        if gone.calls_per_run() < CALLS_MIN || gone.net == 0 {
            continue;
        }
        let mut callers = functions.iter().filter(|caller| {
            let (with, without) = ends(caller, inlined);
            took_over(with, without, gone)
        });
        if let (Some(caller), None) = (callers.next(), callers.next()) {
            found.push(Moved {
                callee: one.name.clone(),
                caller: caller.name.clone(),
                inlined,
                net: gone.net,
                caller_delta: caller.parts.delta_net,
            });
        }
    }
    let callers: Vec<String> = found.iter().map(|moved: &Moved| moved.caller.clone()).collect();
    found.retain(|moved| callers.iter().filter(|&caller| *caller == moved.caller).count() == 1);
    found
}

/// A caller on the side that has the function, and on the one that has not.
fn ends(caller: &Function, inlined: bool) -> (&SideStats, &SideStats) {
    if inlined { (&caller.before, &caller.after) } else { (&caller.after, &caller.before) }
}

fn per_run(side: &SideStats, sum: u64) -> f64 {
    sum as f64 / f64::from(side.of_runs.max(1))
}

fn took_over(with: &SideStats, without: &SideStats, gone: &SideStats) -> bool {
    if !with.is_there() || !without.is_there() {
        return false;
    }
    let calls = gone.calls_per_run();
    // It calls the function no more, and by itself what the function called.
    let expected = calls - per_run(gone, gone.total.callees);
    let fewer = per_run(with, with.total.callees) - per_run(without, without.total.callees);
    let grown = without.net as f64 - with.net as f64;
    let share = grown / gone.net as f64;
    let (Some(a), Some(b)) = (with.inclusive_avg(), without.inclusive_avg()) else {
        return false;
    };
    let (a, b) = (a as f64, b as f64);
    per_run(with, with.total.callees) >= (1.0 - CALLS_TOLERANCE) * calls
        && (fewer - expected).abs() <= CALLS_TOLERANCE * calls
        && (NET_RANGE.0..=NET_RANGE.1).contains(&share)
        && a.max(b) <= ELAPSED_MAX * a.min(b)
}

/// Takes back what was said of functions whose own time changed because work moved into them or out
/// of them, where the time of whole calls did not change.
pub(super) fn explain(functions: &mut [Function], moves: &[Moved]) {
    for moved in moves {
        let caller = functions.iter_mut().find(|function| function.name == moved.caller);
        if let Some(caller) = caller {
            explain_one(caller, moved);
        }
    }
    for (up, down) in shifts(functions) {
        let (name_up, name_down) = (functions[up].name.clone(), functions[down].name.clone());
        settle(&mut functions[up], name_down);
        functions[down].moved = Some(name_up);
    }
}

/// The same of one function, or path, of the caller.
pub(super) fn explain_one(caller: &mut Function, moved: &Moved) {
    caller.moved = Some(moved.callee.clone());
    let was = caller.verdict;
    let slower = matches!(was, Verdict::Regressed | Verdict::Suspect);
    if slower && moved.inlined && is_level(caller) {
        settle(caller, moved.callee.clone());
    } else if was == Verdict::Improved && !moved.inlined && caller.measure != Measure::Elapsed {
        let elapsed = caller.tests[Measure::Elapsed.index()].as_ref();
        if elapsed.is_none_or(|tested| tested.verdict != stats::Verdict::Improved) {
            caller.verdict = Verdict::Inconclusive;
        }
    }
}

/// Whether a whole call takes no longer than before.
fn is_level(function: &Function) -> bool {
    let elapsed = function.tests[Measure::Elapsed.index()].as_ref();
    elapsed.is_some_and(|tested| {
        tested.verdict == stats::Verdict::Equivalent || tested.ci_high <= tested.margin
    })
}

/// Makes the verdict one on whole calls.
fn settle(function: &mut Function, other: String) {
    function.moved = Some(other);
    function.verdict = Verdict::Equivalent;
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

/// Pairs of functions on both sides of which one won what the other lost, while a whole call of the
/// one that calls the other takes as long as before.
fn shifts(functions: &[Function]) -> Vec<(usize, usize)> {
    let own = |function: &Function, verdict: stats::Verdict| {
        [Measure::Net, Measure::Total].into_iter().any(|measure| {
            let tested = function.tests[measure.index()].as_ref();
            tested.is_some_and(|tested| tested.verdict == verdict)
        })
    };
    let with = |verdict| -> Vec<usize> {
        (0..functions.len()).filter(|&at| own(&functions[at], verdict)).collect()
    };
    let (up, down) = (with(stats::Verdict::Regressed), with(stats::Verdict::Improved));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for &winner in &up {
        let mut partners =
            down.iter().filter(|&&loser| moved_between(&functions[winner], &functions[loser]));
        if let (Some(&loser), None) = (partners.next(), partners.next()) {
            pairs.push((winner, loser));
        }
    }
    let losers: Vec<usize> = pairs.iter().map(|pair| pair.1).collect();
    pairs.retain(|pair| losers.iter().filter(|&&loser| loser == pair.1).count() == 1);
    pairs
}

fn moved_between(up: &Function, down: &Function) -> bool {
    let (won, lost) = (up.parts.delta_net as f64, -down.parts.delta_net as f64);
    if won <= 0.0 || lost <= 0.0 || (won - lost).abs() > SHIFT_TOLERANCE * won.min(lost) {
        return false;
    }
    let contains = |caller: &Function, callee: &Function| {
        is_level(caller)
            && [(&caller.before, &callee.before), (&caller.after, &callee.after)].into_iter().all(
                |(caller, callee)| {
                    caller.elapsed >= callee.elapsed
                        && caller.total.callees >= callee.total.calls.min(caller.total.calls)
                        && caller.total.callees > 0
                },
            )
    };
    // Of a callee that won, whole calls won as much and no more.
    let grown = up.after.elapsed as f64 - up.before.elapsed as f64;
    contains(up, down) || contains(down, up) && grown <= won * (1.0 + SHIFT_TOLERANCE)
}

/// The function on both sides that calls one of one side, as far as its figures tell: it makes as
/// many calls more, or fewer, and the one with the shortest time is the nearest.
pub(super) fn caller_of(functions: &[Function], one: &Function) -> Option<String> {
    let is_new = one.after.is_there();
    let own = if is_new { &one.after } else { &one.before };
    let calls = own.calls_per_run();
    let fits = |caller: &&Function| {
        let (before, after) = (&caller.before, &caller.after);
        if !before.is_there() || !after.is_there() {
            return false;
        }
        let (with, without) = if is_new { (after, before) } else { (before, after) };
        let more = per_run(with, with.total.callees) - per_run(without, without.total.callees);
        let longer = with.elapsed as f64 - without.elapsed as f64;
        (more - calls).abs() <= CALLS_TOLERANCE * calls && longer >= 0.5 * own.elapsed as f64
    };
    let nearest = functions.iter().filter(fits).min_by_key(|caller| caller.after.elapsed);
    nearest.map(|caller| caller.name.clone())
}
