//! Inlining and outlining: a function that is gone because it was inlined into its caller, or new
//! because it was outlined from it.
//!
//! Such a move shows in three figures that have to agree: the caller calls fewer functions, by as
//! many as the other was called; its own time grows by about what the other took; and its elapsed
//! time per call stays about the same.

use super::types::{Function, Moved};
use super::{SideStats, Verdict};

/// Calls in a run below which figures agree by chance.
const CALLS_MIN: f64 = 20.0;
/// How far the caller's fewer callees may be from the calls of the function.
const CALLS_TOLERANCE: f64 = 0.02;
/// The part of the function's net time that the caller's has to grow by, at least and at most. A
/// call less also saves the call.
const NET_RANGE: (f64, f64) = (0.3, 1.5);
/// How far the elapsed time per call of the caller may have changed.
const ELAPSED_MAX: f64 = 1.25;

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
        let (gone, calls) = if inlined {
            (&one.before, one.before.calls_per_run())
        } else {
            (&one.after, one.after.calls_per_run())
        };
        if calls < CALLS_MIN || gone.net == 0 {
            continue;
        }
        let mut callers = functions.iter().filter(|caller| {
            let (with, without) = ends(caller, inlined);
            took_over(with, without, calls, gone.net)
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

fn took_over(with: &SideStats, without: &SideStats, calls: f64, net: u64) -> bool {
    let per_run = |side: &SideStats, sum: u64| sum as f64 / f64::from(side.of_runs.max(1));
    if !with.is_there() || !without.is_there() {
        return false;
    }
    let fewer = per_run(with, with.total.callees) - per_run(without, without.total.callees);
    let grown = without.net as f64 - with.net as f64;
    let share = grown / net as f64;
    let (Some(a), Some(b)) = (with.elapsed_avg(), without.elapsed_avg()) else {
        return false;
    };
    let (a, b) = (a as f64, b as f64);
    (fewer - calls).abs() <= CALLS_TOLERANCE * calls
        && (NET_RANGE.0..=NET_RANGE.1).contains(&share)
        && a.max(b) <= ELAPSED_MAX * a.min(b)
}
