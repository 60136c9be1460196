//! Stacks with a weight, as calls: what sampling profilers and aggregated profiles hold.
//!
//! A sample says what was open and tells of no entry and no exit, so the calls made of it count as
//! partial: their sums are right, and how often or how long single calls ran stays unknown.

use profctl_model::Fidelity;

use crate::emit::{Account, Emitter, Event, EventKind, LaneRef, NO_DEPTH, NameRef, UNSTATED};

const UNSEEN: Account = Account {
    wall: None,
    off_cpu: None,
    net: None,
    stolen: None,
    outermost: None,
    fidelity: Fidelity { start_inferred: true, end_inferred: true, at_gap: false },
};

/// The calls that are open from one sample to the next.
#[derive(Debug)]
pub struct Samples {
    lane: LaneRef,
    open: Vec<NameRef>,
    account: u64,
}

impl Samples {
    /// No call is open on `lane`.
    pub fn new(lane: LaneRef, out: &mut Emitter) -> Self {
        Self { lane, open: Vec::new(), account: out.account(UNSEEN) }
    }

    /// From `time` on (or [`UNSTATED`], on a synthetic timeline) `stack` is open, the outermost call
    /// first; what is open already and the same from the outermost on goes on. `offset` is the place
    /// of the sample.
    pub fn are(&mut self, stack: &[NameRef], time: u64, offset: usize, out: &mut Emitter) {
        let same = self.open.iter().zip(stack).take_while(|(a, b)| a == b).count();
        let said = Event {
            time,
            duration: UNSTATED,
            extra: UNSTATED,
            name: NameRef::ANONYMOUS,
            lane: self.lane,
            offset: offset as u32,
            depth: NO_DEPTH,
            kind: EventKind::Enter,
        };
        while self.open.len() > same {
            let name = self.open.pop().unwrap_or(NameRef::ANONYMOUS);
            out.push(Event { kind: EventKind::Settle, extra: self.account, name, ..said });
        }
        for &name in &stack[same..] {
            self.open.push(name);
            out.push(Event { name, ..said });
        }
    }

    /// The clock goes on by `weight`, on a synthetic timeline.
    pub fn last(&self, weight: u64, offset: usize, out: &mut Emitter) {
        out.push(Event {
            time: UNSTATED,
            duration: weight,
            extra: UNSTATED,
            name: NameRef::ANONYMOUS,
            lane: self.lane,
            offset: offset as u32,
            depth: NO_DEPTH,
            kind: EventKind::Pass,
        });
    }
}
