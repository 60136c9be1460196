//! What is known of a trace besides its calls.

use crate::diag::DiagLog;
use crate::time::{Tick, Ticks, Timebase, Timeline};

/// What is known of a trace besides its calls.
#[derive(Clone, Debug)]
pub struct TraceMeta {
    /// The clock.
    pub timebase: Timebase,
    /// The first and the last time in it; equal if it is empty.
    pub first: Tick,
    /// See `first`.
    pub last: Tick,
    /// Records read.
    pub events: u64,
    /// Whether any record said when a thread was switched out, so that `off_cpu` is known.
    pub knows_off_cpu: bool,
    /// What was repaired, lost and skipped.
    pub diags: DiagLog,
}

impl TraceMeta {
    /// Last timestamp minus first timestamp.
    pub fn real(&self) -> Ticks {
        self.last - self.first
    }

    /// Whether the input says how long anything took. A synthetic timeline of no length is one of
    /// calls that were only counted.
    pub fn knows_lengths(&self) -> bool {
        self.timebase.timeline == Timeline::Recorded || self.real() > Ticks(0)
    }
}
