//! The lines of a code trace while the trace is read.
//!
//! The line of a call is where it begins, and states times that are known only when it ends. So it
//! waits until the call and all its callers have ended, and until no other thread is in a call that
//! began earlier. The earliest such begin is the *watermark*: lines before it are final. Memory
//! grows with what ends after a long call, not with the trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use profctl_model::{IdVec, Numbering, Progress, Span, SpanRow, ThreadId, Tick, Ticks};

use super::Line;
use super::keyed::{Keyed, LeastFirst};

/// Enough that visiting all threads for them is a small part of the work.
const BATCH: usize = 256;

/// Calls whose lines are not shown yet.
#[derive(Debug)]
pub struct Early {
    /// Final calls of which lines are made at once.
    batch: usize,
    threads: IdVec<ThreadId, Kept>,
    /// Calls of all threads.
    kept: usize,
    /// Those of them that became final since lines were made.
    settled: usize,
    /// The next line on top.
    ready: Lines,
    numbering: Option<Numbering>,
}

/// Calls of one thread, in the order in which they ended.
#[derive(Debug, Default)]
struct Kept {
    spans: Vec<Span>,
    /// The first so many are final, and the last of them ends then.
    settled: usize,
    settled_end: Tick,
    /// A time before which none of the others begins; nothing if there are none, and none is open.
    open_from: Option<Tick>,
    /// Calls whose lines were made, and when the last of them ends.
    done: u64,
    done_end: Tick,
}

/// Lines in their order.
type Lines = LeastFirst<(u64, u32, u64), Line>;

impl Default for Early {
    fn default() -> Self {
        Self::with_batch(BATCH)
    }
}

impl Early {
    fn with_batch(batch: usize) -> Self {
        Self {
            batch,
            threads: IdVec::default(),
            kept: 0,
            settled: 0,
            ready: BinaryHeap::new(),
            numbering: None,
        }
    }

    /// A call ended.
    pub fn span(&mut self, span: &Span) {
        self.threads.grow_to(span.thread).spans.push(*span);
        self.kept += 1;
    }

    /// Takes the progress of a thread. Returns the watermark where there may be new lines before it.
    pub fn progress(&mut self, progress: &Progress) -> Option<Tick> {
        let kept = self.threads.grow_to(progress.thread);
        match progress.open_from {
            Some(from) => {
                kept.open_from = Some(kept.open_from.map_or(from, |known| known.min(from)));
            }
            None => {
                kept.open_from = None;
                let new = &kept.spans[kept.settled..];
                self.settled += new.len();
                let end = new.iter().map(|span| span.end).max();
                kept.settled_end = kept.settled_end.max(end.unwrap_or_default());
                kept.settled = kept.spans.len();
            }
        }
        (self.settled >= self.batch.max(self.threads.len())).then(|| self.settle(progress))
    }

    /// Makes lines of final calls; returns the watermark.
    fn settle(&mut self, progress: &Progress) -> Tick {
        let step = progress.timebase.microsecond();
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(step));
        self.settled = 0;
        let mut until = progress.now;
        for kept in &mut self.threads {
            until = until.min(kept.open_from.unwrap_or(Tick(u64::MAX)));
            if kept.settled == 0 {
                continue;
            }
            if kept.settled_end > progress.now {
                // It may have to be cut off where the next call begins.
                let first = kept.spans[..kept.settled].iter().map(|span| span.start).min();
                until = until.min(first.unwrap_or(until));
                continue;
            }
            let spans = kept.spans.drain(..kept.settled);
            self.kept -= spans.len();
            let rows = spans.map(unplaced).collect();
            kept.make_lines(rows, numbering, &mut self.ready);
            kept.settled = 0;
        }
        until
    }

    /// Whether there is a line before `until`.
    pub fn has_before(&self, until: Tick) -> bool {
        self.ready.peek().is_some_and(|Reverse(next)| next.item.time < until.0)
    }

    /// The next line, if it is before `until`.
    pub fn next_before(&mut self, until: Tick) -> Option<Line> {
        if self.has_before(until) { self.next() } else { None }
    }

    /// Makes lines of all calls that are left, at the end of the trace.
    pub fn finish(&mut self, step: Ticks) {
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(step));
        for kept in &mut self.threads {
            let spans = std::mem::take(&mut kept.spans);
            kept.make_lines(spans.into_iter().map(unplaced).collect(), numbering, &mut self.ready);
        }
        (self.kept, self.settled) = (0, 0);
    }

    /// Calls and lines that are kept.
    pub fn waiting(&self) -> usize {
        self.kept + self.ready.len()
    }

    /// Takes out all calls of which no lines were made, those of a thread in the order in which they
    /// ended.
    pub fn take_calls(&mut self, mut take: impl FnMut(&Span)) {
        self.kept = 0;
        self.settled = 0;
        for kept in &mut self.threads {
            std::mem::take(&mut kept.spans).iter().for_each(&mut take);
            kept.settled = 0;
        }
    }

    /// Drops the calls of threads that `keep` denies.
    pub fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        for (thread, kept) in self.threads.iter_mut().enumerate() {
            if !keep(ThreadId::from_index(thread)) {
                *kept = Kept::default();
            }
        }
        self.kept = self.threads.iter().map(|kept| kept.spans.len()).sum();
    }

    /// How many calls of each thread have lines.
    pub fn done(&self) -> IdVec<ThreadId, u64> {
        self.threads.iter().map(|kept| kept.done).collect()
    }
}

/// The next line of those that were made.
impl Iterator for Early {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.ready.pop().map(|Reverse(next)| next.item)
    }
}

fn unplaced(span: Span) -> SpanRow {
    SpanRow { id: 0, parent: None, depth: 0, span }
}

impl Kept {
    fn make_lines(&mut self, mut rows: Vec<SpanRow>, numbering: &mut Numbering, ready: &mut Lines) {
        numbering.place(&mut rows, self.done_end);
        for row in &rows {
            let (line, exit) = Line::of(row, self.done + row.id);
            let lines = [Some(line), exit].into_iter().flatten();
            ready.extend(lines.map(|line| Reverse(Keyed { key: line.key(), item: line })));
            self.done_end = self.done_end.max(row.span.end);
        }
        self.done += rows.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use profctl_model::Timebase;
    use proptest::prelude::*;

    use super::super::{Options, Rows, table};
    use super::*;
    use crate::testing::{Calls, random_calls, show};

    const NO_STEP: Timebase = Timebase { resolution: Ticks(1), ..Timebase::NANOSECONDS };

    /// The rows of a trace in two parts: those that were there before its end, and all.
    fn rows(calls: &Calls, batch: usize) -> (usize, String) {
        let trace = calls.trace();
        let spans = &trace.spans;
        let outermost = spans.ids().filter(|id| spans.depth[id.index()] == 0);
        let mut roots: Vec<_> = outermost
            .map(|id| (spans.start[id.index()], spans.end[id.index()], spans.thread[id.index()]))
            .collect();
        roots.sort_unstable();
        let mut early = Early::with_batch(batch);
        let mut rows = Rows::new(calls.meta.timebase, true, None, None);
        let mut table = rows.table();
        let mut begun = 0;
        let mut progress = |early: &mut Early, thread, open_from, now| {
            let until = early.progress(&Progress { thread, open_from, now, timebase: NO_STEP });
            while let Some(line) = until.and_then(|until| early.next_before(until)) {
                rows.add(&line, &calls.names, &mut table);
            }
        };
        for span in &calls.spans {
            while let Some((start, _, thread)) =
                roots.get(begun).copied().filter(|root| root.0 <= span.end)
            {
                progress(&mut early, thread, Some(start), start);
                begun += 1;
            }
            early.span(span);
            let is_outermost = |root: &&(Tick, Tick, ThreadId)| {
                (root.0, root.1, root.2) == (span.start, span.end, span.thread)
            };
            // Of several that begin and end at once, only the last to end is certain to have no
            // caller: what is held for longer changes nothing.
            let alike = calls.spans.iter().filter(|other| {
                (other.start, other.end, other.thread) == (span.start, span.end, span.thread)
            });
            let is_final = roots.iter().find(is_outermost).is_some() && alike.count() == 1;
            let open_from = (!is_final).then_some(span.start);
            progress(&mut early, span.thread, open_from, span.end);
            let next = roots[..begun].iter().filter(|&&(start, end, thread)| {
                thread == span.thread && start >= span.end && end > span.end
            });
            for root in next {
                progress(&mut early, span.thread, Some(root.0), span.end);
            }
        }
        let shown = table.rows.len();
        early.finish(Ticks(0));
        for line in early {
            rows.add(&line, &calls.names, &mut table);
        }
        rows.finish(&calls.names, &mut table);
        (shown, show(&table))
    }

    fn whole(calls: &Calls) -> String {
        let mut whole = table(&calls.trace(), &Options::default()).unwrap();
        whole.notes.clear();
        show(&whole)
    }

    #[test]
    fn lines_come_when_nothing_can_be_before_them() {
        // While b is in a call, nothing that began later is shown.
        let line = "0 @a f( 1 ) 2 @b g( 3 @a f( h( 4 ) 5 ) 6 f( 7 ) 8 @b ) 9 @a f( 10 )";
        let calls = Calls::parse(line);
        let (shown, rows) = rows(&calls, 1);
        assert_eq!(rows, whole(&calls));
        // The first f, g, f with h and f again: the last f ends with the trace.
        assert_eq!(shown, 6);
    }

    proptest! {
        #[test]
        fn all_lines_in_the_end(calls in random_calls(), batch in 1..5_usize) {
            prop_assert_eq!(rows(&calls, batch).1, whole(&calls));
        }
    }
}
