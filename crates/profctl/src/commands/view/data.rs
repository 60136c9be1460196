//! What the view shows: sums of what was read so far, and single calls that were read again.

use profctl_analyze::neighbors::{self, Function, Neighborhood};
use profctl_analyze::replay::Found;
use profctl_analyze::slowest::{Call, Slowest};
use profctl_analyze::summarize::{CallGraphSink, CallSums, Profile};
use profctl_model::{Names, Ticks};

use crate::exit::Failure;

/// A trace, as far as it was read.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) profile: Profile,
    pub(super) names: Names,
    /// Callers and callees, and slow calls; nothing where rows are not functions, or no calls are
    /// known.
    pub(super) calls: Option<(CallGraphSink, Slowest)>,
}

impl Snapshot {
    /// The callers and callees of a function.
    pub(super) fn around(&self, function: &Function) -> Option<Neighborhood> {
        let (calls, _) = self.calls.as_ref()?;
        let is_it = |row: &&profctl_analyze::summarize::Row| {
            row.name == function.name && row.module == function.module
        };
        let stats = &self.profile.rows.iter().find(is_it)?.stats;
        let elapsed = Ticks(stats.elapsed);
        let own = CallSums {
            calls: stats.calls,
            partial: stats.partial,
            elapsed,
            outermost: elapsed,
            net: Ticks(stats.net),
        };
        Some(neighbors::around(calls, function, &own, &self.names, self.profile.timebase))
    }

    /// The slowest calls of a function.
    pub(super) fn slowest(&self, function: &Function) -> Option<Vec<Call>> {
        let (_, slowest) = self.calls.as_ref()?;
        Some(slowest.of(function, &self.names))
    }
}

/// A call that was read again; nothing if it is no longer in the input.
pub(super) type Opened = Result<Option<Box<Found>>, Failure>;

/// What happens while a trace is read.
pub(super) enum Message {
    /// What is known so far.
    SoFar(Box<Snapshot>),
    /// All is read.
    Read(Result<Box<Snapshot>, Failure>),
    /// A call was read again.
    Opened(Call, Opened),
}
