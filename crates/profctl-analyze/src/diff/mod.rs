//! What changed between two builds, function by function.
//!
//! A side is one run or many; a run is one measurement, however many calls it holds. Functions are
//! matched by name ([`MatchedBy`] says how where the names differ), every change of net time is cut
//! into more calls and slower calls ([`Parts`]), and each function gets a [`Verdict`]. With one
//! trace per side, noise cannot be distinguished from change, and there are no verdicts.

pub mod gate;
pub mod paths;
pub mod stats;

mod activations;
mod align;
mod calibration;
mod callers;
mod canonical;
mod charged;
mod compact;
mod comparability;
mod compare;
mod decide;
mod decompose;
#[cfg(test)]
mod fixture;
mod json;
mod json_fields;
mod measure;
mod moved;
mod notes;
mod odd;
#[cfg(test)]
mod planted;
mod renamed;
mod report;
mod seen;
pub mod self_test;
mod series;
mod side;
mod table;
mod tails;
#[cfg(test)]
mod tests;
mod types;
mod whole;

pub use align::Rule;
pub use calibration::Calibration;
pub use compact::compact;
pub use comparability::Warning;
pub use compare::{compare, compare_with_paths};
pub use decompose::Parts;
pub use measure::Measure;
pub use odd::{Odd, natural_order};
pub use paths::{Found, PathComparison};
pub use series::{Series, SeriesSink};
pub(crate) use side::counts;
pub use side::{Run, Side, SideStats};
pub use table::Shown;
pub use types::{
    Cause, Charged, Comparison, Function, Interval, Matched, MatchedBy, Moved, Rename, SideSummary,
    Tail, WholeRun, Why,
};
pub use whole::WHOLE_RUN;

/// The margin of a function, by its name, where it has one of its own.
pub type Margins<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// Whether a block of the side before counts for a function, by their names.
pub type Since<'a> = &'a dyn Fn(&str, &str) -> bool;

/// How to compare.
pub struct Options<'a> {
    /// Margin, error rates and correction.
    pub stats: stats::Options,
    /// What is tested of a function: the worst verdict of them is the function's.
    pub measures: Vec<Measure>,
    /// Whether run *i* (or block *i*) of both sides was measured together.
    pub paired: bool,
    /// Calls in a run, on average over both sides, below which a function is not tested.
    pub calls_min: f64,
    /// Share of all net time, in percent and on average over both sides, below which a function is
    /// not tested.
    pub share_min: f64,
    /// Share of events lost, of calls incomplete, or of records skipped in any run above which
    /// there is no verdict.
    pub loss_max: f64,
    /// Whether a function under a likely new name is treated as the old one.
    pub renames: bool,
    /// New names for functions, tried in this order before anything else.
    pub rules: Vec<&'a Rule<'a>>,
    /// How much runs of the baseline vary, for sides of a single run.
    pub calibration: Option<&'a Calibration>,
    /// The margin of a function, by its name, where it has one of its own.
    pub margins: Option<Margins<'a>>,
    /// Whether a block of the side before counts for a function, by their names: where the side is a
    /// history, those before the function's last change do not.
    pub since: Option<Since<'a>>,
}

impl Options<'_> {
    /// The margin of a function that has one of its own.
    fn margin_of(&self, name: &str) -> Option<f64> {
        self.margins.and_then(|margins| margins(name))
    }

    /// Whether a run before counts for a function.
    fn counts(&self, name: &str, run: &Run) -> bool {
        match (self.since, &run.block) {
            (Some(since), Some(block)) => since(name, block),
            _ => true,
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            stats: stats::Options::default(),
            measures: Measure::DEFAULT.into(),
            paired: false,
            calls_min: 10.0,
            share_min: 0.0,
            loss_max: 0.01,
            renames: true,
            rules: Vec::new(),
            calibration: None,
            margins: None,
            since: None,
        }
    }
}

/// What a function is known by from build to build: its name without what a compiler appends.
pub(crate) fn function_key(name: &str) -> String {
    let canonical = canonical::canonical(name);
    match canonical.fragment {
        Some(fragment) => format!("{}.{fragment}", canonical.base),
        None => canonical.base.to_owned(),
    }
}

/// What is said of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Slower by more than the margin.
    Regressed,
    /// Slower, with an estimate beyond the margin.
    Suspect,
    /// Faster by more than the margin.
    Improved,
    /// Called only after.
    New,
    /// Called only before.
    Gone,
    /// Too much noise.
    Inconclusive,
    /// Too few runs or calls to test.
    NotTested,
    /// Not changed by more than the margin.
    Equivalent,
}

impl Verdict {
    /// Every verdict, in the order in which reports list them.
    pub const ALL: [Self; 8] = [
        Self::Regressed,
        Self::Suspect,
        Self::Improved,
        Self::New,
        Self::Gone,
        Self::Inconclusive,
        Self::NotTested,
        Self::Equivalent,
    ];

    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Suspect => "suspect",
            Self::Improved => "improved",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Inconclusive => "inconclusive",
            Self::NotTested => "not-tested",
            Self::Equivalent => "equivalent",
        }
    }
}

impl From<stats::Verdict> for Verdict {
    fn from(verdict: stats::Verdict) -> Self {
        match verdict {
            stats::Verdict::Regressed => Self::Regressed,
            stats::Verdict::Suspect => Self::Suspect,
            stats::Verdict::Improved => Self::Improved,
            stats::Verdict::Equivalent => Self::Equivalent,
            stats::Verdict::Inconclusive => Self::Inconclusive,
            stats::Verdict::NotTested => Self::NotTested,
        }
    }
}
