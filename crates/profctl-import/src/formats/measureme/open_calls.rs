//! Which calls are open where a part of the events begins: intervals stand in the file in the order
//! of their ends, so the callers of what a part tells stand in later ones.
//!
//! ```text
//! events in the file   a.b  a.c  | d.e  a  | d       a part has two events here
//! open at its end      a         | d       |         d began in the second part: it has ended later
//! ```
//!
//! On each thread a part reaches from the end of its last interval in the parts before to the end of
//! its last one in this. Intervals that begin in one part and end in a later one are few: as many as
//! calls are nested, for each part.

use super::layout::{Event, Payload};
use super::rows::Rows;

/// Events of a part.
pub(super) const PART: usize = 4096;

/// An interval that began in an earlier part than it ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenCall {
    pub(super) event: Event,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Calls that begin in one part and end in a later one.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    threads: Vec<Thread>,
    rows: Rows,
    /// Intervals that may have begun in earlier parts than that in which they ended.
    ended: Vec<(usize, OpenCall)>,
    /// By part: those that begin in it and end later.
    begun: Vec<Vec<OpenCall>>,
    n: usize,
}

/// A thread with intervals.
#[derive(Debug, Default)]
struct Thread {
    /// The latest end so far, by part with intervals of the thread.
    ends: Vec<(usize, u64)>,
    /// The latest part with such, and the latest end so far.
    part: usize,
    latest: u64,
    /// The latest end in the parts before; 0 if there is none.
    before: u64,
}

impl Thread {
    fn end_part(&mut self) {
        self.ends.push((self.part, self.latest));
        self.before = self.latest;
    }
}

impl OpenCalls {
    /// Takes the next event of the file.
    pub(super) fn take(&mut self, event: &Event) {
        let part = self.n / PART;
        self.n += 1;
        let Payload::Interval { start, end } = event.payload else { return };
        let row = self.rows.of(event.thread);
        if row == self.threads.len() {
            self.threads.push(Thread { part, ..Thread::default() });
        }
        let thread = &mut self.threads[row];
        if thread.part != part {
            thread.end_part();
            thread.part = part;
        }
        if start < thread.before {
            self.ended.push((part, OpenCall { event: *event, start, end }));
        }
        thread.latest = thread.latest.max(end.max(start));
    }

    /// Says that all events were taken.
    pub(super) fn finish(&mut self) {
        for thread in &mut self.threads {
            thread.end_part();
        }
        let mut all = vec![Vec::new(); self.n.div_ceil(PART)];
        for (_, call) in std::mem::take(&mut self.ended) {
            let Some(ends) = self.of(call.event.thread) else { continue };
            // What begins when another one ends comes behind it.
            let row = ends.partition_point(|(_, end)| *end <= call.start);
            if let Some(begun) = ends.get(row).and_then(|(part, _)| all.get_mut(*part)) {
                begun.push(call);
            }
        }
        self.begun = all;
    }

    fn of(&self, thread: u32) -> Option<&[(usize, u64)]> {
        Some(&self.threads[self.rows.get(thread)?].ends)
    }

    /// The intervals that begin in a part and end in a later one.
    pub(super) fn begun_in(&self, part: usize) -> &[OpenCall] {
        self.begun.get(part).map_or(&[], Vec::as_slice)
    }

    /// The latest end of a thread before a part.
    pub(super) fn before(&self, part: usize, thread: u32) -> Option<u64> {
        let ends = self.of(thread)?;
        let row = ends.partition_point(|(of, _)| *of < part);
        row.checked_sub(1).map(|row| ends[row].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(thread: u32, start: u64, end: u64) -> Event {
        Event { kind: 1, label: 2, thread, payload: Payload::Interval { start, end } }
    }

    #[test]
    fn calls_are_told_where_they_begin() {
        let mut found = OpenCalls::default();
        // Two parts of leaves of thread 1, each as long as its number, in calls that reach over
        // the boundary of the parts.
        let leaf = |n: usize| interval(1, 10 * n as u64 + 1, 10 * n as u64 + 5);
        for n in 0..PART + 10 {
            found.take(&leaf(n));
        }
        let last = 10 * (PART as u64 + 10);
        found.take(&interval(1, 10 * (PART as u64 - 3), last));
        found.take(&interval(1, 0, last + 1));
        // Begins where the last leaf of the first part ends.
        found.take(&interval(1, 10 * (PART as u64 - 1) + 5, last + 2));
        found.take(&interval(2, 7, 9));
        found.finish();
        let begun = |part| -> Vec<u64> { found.begun_in(part).iter().map(|it| it.start).collect() };
        assert_eq!(begun(0), [10 * (PART as u64 - 3), 0]);
        assert_eq!((begun(1), begun(2)), (vec![], vec![]));
        assert_eq!(found.before(1, 1), Some(10 * (PART as u64 - 1) + 5));
        assert_eq!(
            (found.before(0, 1), found.before(1, 2), found.before(2, 2)),
            (None, None, Some(9))
        );
    }
}
