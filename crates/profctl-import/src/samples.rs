//! Stacks with a weight, as calls: what sampling profilers and aggregated profiles hold.
//!
//! A sample has the open calls and no entries or exits, so its calls count as incomplete: their
//! sums are right, and how often or how long single calls ran stays unknown.

use crate::emit::{At, Emitter, LaneRef, NameRef, Stated};

/// The calls that are open from one sample to the next.
#[derive(Debug)]
pub struct Samples {
    lane: LaneRef,
    open: Vec<NameRef>,
}

impl Samples {
    /// No call is open on `lane`.
    pub fn new(lane: LaneRef) -> Self {
        Self { lane, open: Vec::new() }
    }

    /// From `time` on (nothing on a synthetic timeline) `stack` is open, the outermost call first;
    /// what is open already and the same from the outermost on goes on. `offset` is the place of
    /// the sample.
    pub fn are(&mut self, stack: &[NameRef], time: Option<u64>, offset: usize, out: &mut Emitter) {
        let at = At { time, lane: self.lane, offset };
        let same = self.open.iter().zip(stack).take_while(|(a, b)| a == b).count();
        for name in self.open.drain(same..).rev() {
            out.partial_end(at, name, false);
        }
        for &name in &stack[same..] {
            self.open.push(name);
            out.enter(at, name, Stated::NOTHING);
        }
    }

    /// The clock goes on by `weight`, on a synthetic timeline.
    pub fn last(&self, weight: u64, offset: usize, out: &mut Emitter) {
        out.advance(At { time: None, lane: self.lane, offset }, weight);
    }
}
