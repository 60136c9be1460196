//! How much of a call's elapsed time went to the interrupts that hit it, or hit anything below it.
//!
//! Calls of a thread come in the order in which they end, so whatever lies in a call came before it
//! and began no earlier: the interrupts in it are the last ones on the list of its thread.

use profctl_model::{IdVec, Span, ThreadId, Tick};

/// Interrupts kept of a thread; beyond that, old neighbors are joined.
const KEPT_MAX: usize = 1 << 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Interrupts {
    threads: IdVec<ThreadId, Vec<Entry>>,
    /// When the latest interrupt of each thread began. Calls that began later hold none.
    latest: IdVec<ThreadId, Tick>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: Tick,
    /// Elapsed time of this interrupt and of all before it on the list.
    sum: u64,
}

impl Interrupts {
    /// Whether [`Self::inside`] may have something to say or to keep.
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    pub(super) fn may_be_inside(&self, span: &Span) -> bool {
        let is_later = || self.latest.get(span.thread).is_none_or(|latest| *latest < span.start);
        span.interrupt || (span.callees > 0 && !is_later())
    }

    /// The interrupt time inside a call that ended; 0 for what itself ran as an interrupt.
    pub(super) fn inside(&mut self, span: &Span) -> u64 {
        if !self.may_be_inside(span) {
            return 0;
        }
        let entries = self.threads.grow_to(span.thread);
        if span.interrupt {
            let latest = self.latest.grow_to(span.thread);
            *latest = span.start.max(*latest);
            note(entries, span);
            return 0;
        }
        match entries.last() {
            Some(last) if last.start >= span.start => {
                let sum_before = |time: Tick| {
                    let n = entries.partition_point(|entry| entry.start < time);
                    n.checked_sub(1).map_or(0, |at| entries[at].sum)
                };
                // What began after its stated end came late, and is its caller's.
                let sum = sum_before(span.start + span.wall) - sum_before(span.start);
                sum.min(span.elapsed().0)
            }
            _ => 0,
        }
    }
}

#[cold]
fn note(entries: &mut Vec<Entry>, span: &Span) {
    // What the handler called has ended before it and is part of it.
    while entries.pop_if(|entry| entry.start >= span.start).is_some() {}
    if entries.len() >= KEPT_MAX {
        let joined = entries
            .chunks(2)
            .map(|pair| Entry { start: pair[0].start, sum: pair[pair.len() - 1].sum });
        *entries = joined.collect();
    }
    let before = entries.last().map_or(0, |entry| entry.sum);
    entries.push(Entry { start: span.start, sum: before.saturating_add(span.elapsed().0) });
}

#[cfg(test)]
mod tests {
    use crate::testing::Calls;

    #[test]
    fn interrupts_count_for_every_caller_around_them() {
        let profile = Calls::parse(
            "0 main( 10 f( 20 g( 30 irq( 35 h( 40 ) 50 ) 60 ) 70 ) 80 f( 90 ) 100 irq( 103 ) 110 )",
        )
        .profile();
        let of = |name: &str| {
            let row = profile.rows.iter().find(|row| row.name == name).unwrap();
            row.stats.interrupted
        };
        assert_eq!(["main", "f", "g", "irq", "h"].map(of), [23, 20, 20, 0, 0]);
    }
}
