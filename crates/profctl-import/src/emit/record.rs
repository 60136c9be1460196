//! Records as they were said, from their packed form: for writers.

use profctl_model::Fidelity;

use super::event::{Event, EventKind, NO_DEPTH, UNSTATED, unseen};
use super::{At, LaneRef, NameRef, PrevState, Stated, ThreadName, Waking};

/// A record; each is what the verb of [`super::Emitter`] of that name took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the verbs document them")]
pub enum Record<'a> {
    Enter { name: NameRef, stated: Stated },
    Exit { name: Option<NameRef>, stated: Stated },
    Leaf { name: NameRef, stated: Stated },
    Returned { name: NameRef, stated: Stated },
    Complete { name: NameRef, wall: u64, depth: Option<u16> },
    Instant { name: NameRef, detail: Option<&'a str> },
    Within { name: NameRef, depth: Option<u16> },
    Lost { events: Option<u64> },
    RunsNow { before: Option<LaneRef> },
    SchedSwitch { prev: Option<LaneRef>, prev_state: PrevState },
    Waking { target: LaneRef, waking: Waking },
    Fork { child: LaneRef },
    ThreadExit,
    IrqEnter,
    IrqExit,
    NameThread(ThreadName),
    Share { tid: u64 },
    SwitchTag { name: NameRef, entered: bool },
    PartialEnd { name: NameRef, entry_seen: bool },
    Incomplete(Fidelity),
    Covers,
    Advance { ticks: u64 },
}

impl Record<'_> {
    /// The function that it is about.
    pub fn name(&self) -> Option<NameRef> {
        match *self {
            Self::Enter { name, .. }
            | Self::Leaf { name, .. }
            | Self::Returned { name, .. }
            | Self::Complete { name, .. }
            | Self::Instant { name, .. }
            | Self::Within { name, .. }
            | Self::SwitchTag { name, .. }
            | Self::PartialEnd { name, .. } => Some(name),
            Self::Exit { name, .. } => name,
            _ => None,
        }
    }
}

/// The records of a block, in file order; `details` are its texts.
pub(super) fn said<'a>(
    events: &'a [Event],
    details: &'a [Box<str>],
) -> impl ExactSizeIterator<Item = (At, Record<'a>)> + DoubleEndedIterator {
    events.iter().map(|event| (event.at(), event.record(details)))
}

impl Event {
    /// When and on whom it happened.
    fn at(&self) -> At {
        At { time: stated(self.time), lane: self.lane, offset: self.offset as usize }
    }

    /// What was said; `details` are those of its block.
    fn record<'a>(&self, details: &'a [Box<str>]) -> Record<'a> {
        let name = self.name;
        let depth = (self.depth != NO_DEPTH).then_some(self.depth);
        let lane = stated(self.extra).map(|lane| LaneRef(lane as u32));
        let other = lane.unwrap_or(self.lane);
        let said = Stated { depth, wall: stated(self.duration), net: stated(self.extra) };
        match self.kind {
            EventKind::Enter => Record::Enter { name, stated: said },
            EventKind::Exit => {
                let name = (name != NameRef::ANONYMOUS).then_some(name);
                Record::Exit { name, stated: said }
            }
            EventKind::Leaf => Record::Leaf { name, stated: said },
            EventKind::Return => Record::Returned { name, stated: said },
            EventKind::Complete => Record::Complete { name, wall: self.duration, depth },
            EventKind::Mark => {
                let row = usize::try_from(self.extra).ok();
                let detail = row.and_then(|row| details.get(row)).map(|detail| &**detail);
                Record::Instant { name, detail }
            }
            EventKind::Within => Record::Within { name, depth },
            EventKind::Gap => Record::Lost { events: said.wall },
            EventKind::RunsNow => Record::RunsNow { before: lane },
            EventKind::Switch => {
                Record::SchedSwitch { prev: lane, prev_state: PrevState::unpack(self.duration) }
            }
            EventKind::Wake => {
                Record::Waking { target: other, waking: Waking::unpack(self.duration) }
            }
            EventKind::Fork => Record::Fork { child: other },
            EventKind::ThreadExit => Record::ThreadExit,
            EventKind::InterruptEnter => Record::IrqEnter,
            EventKind::InterruptExit => Record::IrqExit,
            EventKind::Describe => {
                let (tid, pid) = (said.wall, said.net);
                Record::NameThread(ThreadName { tid, pid, idle: self.depth == 1 })
            }
            EventKind::Share => Record::Share { tid: self.duration },
            EventKind::SwitchTagEnter => Record::SwitchTag { name, entered: true },
            EventKind::SwitchTagExit => Record::SwitchTag { name, entered: false },
            EventKind::PartialEnd => {
                Record::PartialEnd { name, entry_seen: stated(self.extra).is_some() }
            }
            EventKind::Incomplete => Record::Incomplete(Fidelity {
                start_inferred: self.extra & u64::from(unseen::ENTRY) != 0,
                end_inferred: self.extra & u64::from(unseen::EXIT) != 0,
                at_gap: self.extra & u64::from(unseen::AT_GAP) != 0,
            }),
            EventKind::Pass => match said.wall {
                Some(ticks) => Record::Advance { ticks },
                None => Record::Covers,
            },
        }
    }
}

fn stated(packed: u64) -> Option<u64> {
    (packed != UNSTATED).then_some(packed)
}
