//! New functions are charged to the function that calls them: there is nothing to compare a new one
//! with, but its caller was there before, and its own time together with that of its new callee can be
//! compared with what it took alone. Code that only moved out of the caller costs nothing.

use super::moved::{CALLS_MIN, caller_of};
use super::stats;
use super::types::Function;
use crate::summarize::FuncStats;

/// A new function and its caller, by their places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    pub(super) new: usize,
    pub(super) caller: usize,
    /// Where the caller is among the functions that are tested.
    pub(super) tested: usize,
}

/// New functions and their callers, as far as these are tested; none of those that only some runs
/// have.
pub(super) fn find(functions: &[Function], tested: &[usize]) -> Vec<Charge> {
    let is_new = |one: &Function| {
        let Function { before, after, .. } = one;
        !before.is_there() && after.runs == after.of_runs && after.calls_per_run() >= CALLS_MIN
    };
    let charge = |(new, one): (usize, &Function)| {
        let caller = caller_of(functions, one)?;
        let tested = tested.iter().position(|&at| at == caller)?;
        Some(Charge { new, caller, tested })
    };
    functions.iter().enumerate().filter(|(_, one)| is_new(one)).filter_map(charge).collect()
}

/// The row to test: that of the caller, with the net time of its new callee added after, per call of the
/// caller. `after` holds both functions in each run after.
pub(super) fn row(
    caller: &stats::Row,
    [after, new]: &[Vec<FuncStats>; 2],
    margin: Option<f64>,
) -> stats::Row {
    let per_call = |(caller, new): (&FuncStats, &FuncStats)| {
        new.net as f64 / caller.calls.saturating_add(caller.partial) as f64
    };
    let more: Vec<f64> = after.iter().zip(new).map(per_call).collect();
    let mut row = stats::Row { margin, ..caller.clone() };
    for values in [&mut row.after, &mut row.within.without_largest[1]] {
        for (value, more) in values.iter_mut().zip(&more) {
            *value = (value.exp2() + more).log2();
        }
    }
    row
}
