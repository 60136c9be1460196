//! The entries, exits, instants and losses of a trace in the order of time, for forms that are
//! streams of them.
//!
//! Within a thread everything nests, also where times are equal: a call is left after all that it
//! called.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use profctl_model::{SpanId, ThreadId, Tick, Trace};

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Enter(SpanId),
    Exit(SpanId),
    /// A row of [`Trace::marks`].
    Mark(usize),
    /// A row of [`Trace::gaps`].
    Gap(usize),
}

/// Everything that happened, with its time.
pub(super) fn moments(trace: &Trace) -> impl Iterator<Item = (Tick, What)> + '_ {
    let mut lanes = lanes(trace);
    let gaps = lanes.len();
    let mut next_gap = 0;
    let time_of_gap = |gap: usize| trace.gaps.get(gap).map(|gap| gap.time);
    let mut waiting = BinaryHeap::new();
    for (row, lane) in lanes.iter().enumerate() {
        waiting.extend(lane.next(trace).map(|(time, _)| Reverse((time, row))));
    }
    // A loss comes after whatever it cut short at the same time.
    waiting.extend(time_of_gap(0).map(|time| Reverse((time, gaps))));
    std::iter::from_fn(move || {
        let Reverse((time, row)) = waiting.pop()?;
        if row == gaps {
            next_gap += 1;
            let next = time_of_gap(next_gap).map(|next| Reverse((next.max(time), gaps)));
            waiting.extend(next);
            return Some((time, What::Gap(next_gap - 1)));
        }
        let lane = &mut lanes[row];
        let (_, what) = lane.next(trace)?;
        lane.step(what);
        waiting.extend(lane.next(trace).map(|(next, _)| Reverse((next.max(time), row))));
        Some((time, what))
    })
}

/// A thread, and how far it was gone through.
struct Lane {
    /// The next call to be entered, and the first that is another thread's.
    span: usize,
    end: usize,
    open: Vec<SpanId>,
    /// Rows of instants, in the order of time.
    marks: Vec<usize>,
    mark: usize,
}

fn lanes(trace: &Trace) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = (0..trace.names.threads.len())
        .map(|_| Lane { span: 0, end: 0, open: Vec::new(), marks: Vec::new(), mark: 0 })
        .collect();
    let of_thread = |thread: ThreadId| thread.index();
    let mut row = 0;
    for calls in trace.spans.thread.chunk_by(|a, b| a == b) {
        let lane = &mut lanes[of_thread(calls[0])];
        (lane.span, lane.end) = (row, row + calls.len());
        row += calls.len();
    }
    for (row, mark) in trace.marks.iter().enumerate() {
        lanes[of_thread(mark.thread)].marks.push(row);
    }
    for lane in &mut lanes {
        lane.marks.sort_by_key(|&row| trace.marks[row].time);
    }
    lanes
}

impl Lane {
    /// What comes next, and when.
    fn next(&self, trace: &Trace) -> Option<(Tick, What)> {
        let spans = &trace.spans;
        let top = self.open.last().copied();
        let is_next = self.span < self.end && spans.parent[self.span] == top;
        let call = if is_next {
            Some((spans.start[self.span], What::Enter(SpanId::from_index(self.span))))
        } else {
            top.map(|top| (spans.end[top.index()], What::Exit(top)))
        };
        let mark = self.marks.get(self.mark).map(|&row| (row, &trace.marks[row]));
        match (call, mark) {
            (call, None) => call,
            (None, Some((row, mark))) => Some((mark.time, What::Mark(row))),
            (Some((time, what)), Some((row, mark))) => {
                // At one time, the number of open calls says where it belongs.
                let is_here = mark.depth as usize == self.open.len();
                if mark.time < time || (mark.time == time && is_here) {
                    Some((mark.time, What::Mark(row)))
                } else {
                    Some((time, what))
                }
            }
        }
    }

    fn step(&mut self, what: What) {
        match what {
            What::Enter(span) => {
                self.open.push(span);
                self.span += 1;
            }
            What::Exit(_) => {
                self.open.pop();
            }
            What::Mark(_) | What::Gap(_) => self.mark += 1,
        }
    }
}
