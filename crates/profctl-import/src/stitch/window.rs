//! The interval of time that was asked for, and what of a call lies in it.
//!
//! A trace is stitched as a whole, whatever the window: what is repaired, and how, does not depend
//! on it. Only what is passed on is clipped. A call takes its length from its start on, so that the
//! parts of it in windows that partition the trace sum to the whole.

use profctl_model::{Span, Tick, Ticks};

use super::orphans::Below;

/// The interval of time that was asked for: from its first tick up to, but not including, its last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) from: Option<Tick>,
    pub(super) until: Option<Tick>,
}

impl Window {
    /// Whether `time` was asked for.
    pub(super) fn holds(self, time: Tick) -> bool {
        self.from.is_none_or(|from| time >= from) && self.until.is_none_or(|until| time < until)
    }

    /// What of the interval between two times was asked for; nothing if none of it.
    pub(super) fn overlap(self, start: Tick, end: Tick) -> Option<(Tick, Tick)> {
        let start = self.from.map_or(start, |from| from.max(start));
        let end = self.until.map_or(end, |until| until.min(end));
        (start < end).then_some((start, end))
    }

    /// What of a call was asked for. `below` is what of its callees was, `off_cpu` how long its
    /// thread was switched out meanwhile.
    pub(super) fn clip(self, span: &Span, below: Below, off_cpu: Ticks) -> Option<Span> {
        let end = span.start + span.wall;
        let ends_inside = self.until.is_none_or(|until| end.max(span.end) <= until);
        if self.holds(span.start) && ends_inside {
            // A callee that took no time at the end of the window is not in it.
            let Below { callees, descendants, .. } = below;
            return Some(Span { callees, descendants, ..*span });
        }
        let (start, clipped_end) = self.overlap(span.start, end)?;
        let wall = clipped_end - start;
        let off_cpu = off_cpu.min(wall);
        let mut fidelity = span.fidelity;
        fidelity.start_inferred |= start > span.start;
        fidelity.end_inferred |= clipped_end < end;
        Some(Span {
            start,
            // The exit may have been recorded after the stated end.
            end: self.until.map_or(span.end, |until| until.min(span.end)).max(start),
            wall,
            off_cpu,
            net: wall - off_cpu - below.elapsed,
            stolen: below.stolen,
            callees: below.callees,
            descendants: below.descendants,
            fidelity,
            ..*span
        })
    }
}
