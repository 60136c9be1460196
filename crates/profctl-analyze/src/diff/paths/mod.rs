//! What changed on which path of calls: the calling-context trees of both sides, joined at every
//! level, each path tested as functions are.
//!
//! Paths show from which callers a function became slower. They are a separate family of tests,
//! larger than that of functions and with fewer calls each, so the tests have less power but
//! localize a change.

mod join;
mod table;
#[cfg(test)]
mod tests;

use profctl_model::{PairedTree, Timebase};

use super::types::{Function, Interval};
use super::{Measure, Parts, Verdict};

pub(super) use join::{FunctionResults, compare};
pub use table::Shown;

/// What was found of one path.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The change of the net time at its end in a run, in two parts.
    pub parts: Parts,
    /// The measure that decided the verdict.
    pub measure: Measure,
    /// How much of what it was it is now, by that measure; nothing if it was not there.
    pub ratio: Option<f64>,
    /// The ends of the 95 % interval of it.
    pub interval: Option<(f64, f64)>,
    /// The chance of such a change where nothing changed, and the same corrected for the number of
    /// paths, as they are given for functions.
    pub p: Option<f64>,
    /// See `p`.
    pub q: Option<f64>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Whether all runs of both sides have the same of it.
    pub is_unchanged: bool,
}

impl Found {
    fn of(function: &Function, is_unchanged: bool) -> Self {
        let (p, q) = super::table::chances(function);
        Self {
            parts: function.parts,
            measure: function.measure,
            ratio: function.ratio,
            interval: function.interval,
            p,
            q,
            verdict: function.verdict,
            is_unchanged,
        }
    }
}

/// Two sides by path.
#[derive(Clone, Debug)]
pub struct PathComparison {
    /// Every path that either side has. Siblings are in the order of their functions' names.
    pub tree: PairedTree,
    /// What was found of each, by its row.
    pub found: Vec<Found>,
    /// The clock of all times in here: nanoseconds or counts.
    pub timebase: Timebase,
    /// What intervals and verdicts are about.
    pub interval: Interval,
    /// How many paths were tested, unchanged ones included.
    pub tested: u64,
}

impl PathComparison {
    /// How many of the paths that differ in anything have that verdict.
    pub fn count(&self, verdict: Verdict) -> u64 {
        let differs = |found: &&Found| !found.is_unchanged && found.verdict == verdict;
        self.found.iter().filter(differs).count() as u64
    }

    /// How many paths differ in nothing.
    pub fn unchanged(&self) -> u64 {
        self.found.iter().filter(|found| found.is_unchanged).count() as u64
    }
}
