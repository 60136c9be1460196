//! The steps of a part whose intervals stand in the order of their ends, as they are written, and
//! are nested.
//!
//! Read from the last event to the first, an interval is met before all that lie in it: the part
//! says its own steps, from the last to the first, and nothing needs to be sorted.
//!
//! ```text
//! events in the file   b  c  a  d          a calls b and c, then comes d
//! read backwards       d<  a< c< >c b< >b >a  >d
//! ```

use std::cmp::Reverse;

use super::rows::Rows;
use super::steps::{Piece, Step, ThreadSteps, What};
use crate::emit::NameRef;

/// A call that was left, and is still to be entered.
#[derive(Clone, Copy, Debug)]
struct Left {
    start: u64,
    end: u64,
    name: NameRef,
    row: u32,
    /// How many steps there were behind its exit, if that is in this part.
    exit: usize,
    /// Whether it began in an earlier part, and whether it ends in a later one.
    has_begun: bool,
    goes_on: bool,
}

/// A thread while its events are read.
#[derive(Debug, Default)]
struct Thread {
    /// What it does, from the last step on.
    of: ThreadSteps,
    /// How many pieces there were when its latest one was met.
    first: usize,
    /// The latest end in the parts before, and the earliest one so far in this.
    before: u64,
    end: u64,
    /// The time of the instant that was met last.
    instant: Option<u64>,
    left: Vec<Left>,
}

/// Reads parts.
#[derive(Debug, Default)]
pub(super) struct Backwards {
    /// Those of this part, and others whose memory is used again.
    threads: Vec<Thread>,
    n: usize,
    rows: Rows,
    /// Pieces of all parts so far.
    n_pieces: usize,
}

impl Backwards {
    /// Begins with another part.
    pub(super) fn begin(&mut self) {
        self.n = 0;
        self.rows.clear();
    }

    /// Takes a piece of a part, the last one first. Says whether it is in order with those behind it;
    /// if it is not, all must be sorted. `before` says the latest end of a thread in the parts
    /// before.
    #[expect(clippy::inline_always, reason = "a call would pass the piece through memory")]
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        piece: &Piece,
        before: impl Fn(u32) -> Option<u64>,
        name: impl FnMut(&Piece) -> NameRef,
    ) -> bool {
        self.n_pieces += 1;
        let n = self.n_pieces;
        let thread = self.thread(piece.thread, before);
        thread.first = n;
        thread.add(piece, name)
    }

    /// Says that all pieces of a part were taken.
    pub(super) fn finish(&mut self) {
        for thread in &mut self.threads[..self.n] {
            while let Some(left) = thread.left.pop() {
                thread.enter(&left);
            }
        }
        // The one that was met last in this direction is the first in the other.
        self.threads[..self.n].sort_unstable_by_key(|thread| Reverse(thread.first));
    }

    /// The threads in the order in which they are met; the last step of each is the first.
    pub(super) fn threads(&self) -> impl Iterator<Item = &ThreadSteps> {
        self.threads[..self.n].iter().map(|thread| &thread.of)
    }

    #[expect(clippy::inline_always, reason = "once for each event")]
    #[inline(always)]
    fn thread(&mut self, number: u32, before: impl Fn(u32) -> Option<u64>) -> &mut Thread {
        let row = self.rows.of(number);
        if row == self.n {
            self.add_thread(number, before(number).unwrap_or(0));
        }
        &mut self.threads[row]
    }

    #[inline(never)]
    fn add_thread(&mut self, number: u32, before: u64) {
        if self.n == self.threads.len() {
            self.threads.push(Thread::default());
        }
        self.threads[self.n].begin(number, before);
        self.n += 1;
    }
}

impl Thread {
    /// Begins with another thread, whose latest end in the parts before is given.
    fn begin(&mut self, number: u32, before: u64) {
        self.of.thread = number;
        self.of.steps.clear();
        self.left.clear();
        (self.before, self.end, self.instant) = (before, u64::MAX, None);
    }

    /// Adds the piece before all others so far. Says whether it is in order.
    #[expect(clippy::inline_always, reason = "a call would pass the piece through memory")]
    #[inline(always)]
    fn add(&mut self, piece: &Piece, mut name: impl FnMut(&Piece) -> NameRef) -> bool {
        let Piece { is_call, start, end, goes_on, row, .. } = *piece;
        let has_begun = start < self.before;
        if start > end || end > self.end || end < self.before {
            return false;
        }
        if has_begun && (goes_on || !is_call) || start == end && self.instant == Some(start) {
            return false;
        }
        self.end = end;
        // What begins where this one ends comes behind it; without a length it lies in what begins
        // with it.
        while let Some(left) = self.left.pop_if(|left| left.start >= end && left.start > start) {
            self.enter(&left);
        }
        if let Some(around) = self.left.last() {
            let is_same = around.start == start && around.end == end;
            if around.start > start || around.end <= start || is_same && around.goes_on {
                return false;
            }
        }
        let name = name(piece);
        if !is_call {
            self.of.steps.push(Step { time: start, row, name, what: What::Instant });
            self.instant = Some(start);
            return true;
        }
        if !goes_on {
            self.of.steps.push(Step { time: end, row, name, what: What::Exit });
        }
        let exit = self.of.steps.len();
        self.left.push(Left { start, end, name, row, exit, has_begun, goes_on });
        true
    }

    #[inline]
    fn enter(&mut self, left: &Left) {
        let Left { start, end, row, name, .. } = *left;
        if left.has_begun {
            return;
        }
        if !left.goes_on
            && left.exit == self.of.steps.len()
            && let Some(exit) = self.of.steps.last_mut()
        {
            // Nothing lies in it.
            *exit = Step { time: start, row, name, what: What::Leaf(end - start) };
            return;
        }
        self.of.steps.push(Step { time: start, row, name, what: What::Enter });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::measureme::sorted;

    /// Pieces of two threads in the order in which they stand in the file, and those of the calls
    /// that end later.
    fn pieces(numbers: &[(u32, u64, u64, u8)], is_ordered: bool) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &(thread, start, length, kind) in numbers {
            let (is_call, goes_on) = (kind > 0, kind > 5);
            let end = if goes_on { start + 100 + length } else { start + length };
            let end = if is_call { end } else { start };
            let (kind, label) = (1, pieces.len() as u64);
            pieces.push(Piece { kind, label, thread, is_call, start, end, goes_on, row: 0 });
        }
        pieces.sort_by_key(|piece| (piece.goes_on, if is_ordered { piece.end } else { 0 }));
        for (row, piece) in pieces.iter_mut().enumerate() {
            piece.row = if piece.goes_on { 0 } else { row as u32 };
        }
        pieces
    }

    fn backwards(pieces: &[Piece], before: Option<u64>) -> Option<Vec<ThreadSteps>> {
        let mut reader = Backwards::default();
        let name = |piece: &Piece| NameRef(piece.label as u32);
        // Nothing of the part before is left.
        reader.begin();
        let _ = pieces.iter().all(|piece| reader.take(piece, |_| None, name));
        reader.begin();
        let is_in_order = pieces.iter().rev().all(|piece| reader.take(piece, |_| before, name));
        reader.finish();
        let turned = |of: &ThreadSteps| {
            let (thread, mut steps) = (of.thread, of.steps.clone());
            steps.reverse();
            ThreadSteps { thread, steps }
        };
        is_in_order.then(|| reader.threads().map(turned).collect())
    }

    proptest! {
        #[test]
        fn either_way_says_the_same(
            numbers in prop::collection::vec((0..2_u32, 0..12_u64, 0..6_u64, 0..7_u8), 0..8),
            before in prop::option::of(0..6_u64),
            is_ordered in prop::bool::weighted(0.9),
        ) {
            let pieces = pieces(&numbers, is_ordered);
            if let Some(found) = backwards(&pieces, before) {
                let name = |piece: &Piece| NameRef(piece.label as u32);
                prop_assert_eq!(found, sorted::steps(pieces.iter().copied(), |_| before, name));
            }
        }
    }

    #[test]
    fn nested_calls_need_no_sorting() {
        // b and c in a, then d; b in an instant before it; one that ends later.
        let numbers = [
            (1, 11, 2, 1),
            (1, 14, 0, 0),
            (1, 15, 3, 1),
            (1, 10, 10, 1),
            (1, 20, 5, 1),
            (1, 9, 0, 6),
        ];
        let pieces = pieces(&numbers, true);
        let steps = backwards(&pieces, Some(5)).expect("it is in order");
        // The last one, a, b, the instant, c, the end of a, d.
        assert_eq!(steps[0].steps.len(), 7);
    }
}
