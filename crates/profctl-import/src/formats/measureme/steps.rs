//! What the events of a thread in one part come to, step by step in time order.

use super::layout::{Event, Payload};
use super::open_calls::OpenCall;
use crate::emit::NameRef;

/// What a step is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Enter,
    Exit,
    /// A call without callees, so many ticks long.
    Leaf(u64),
    Instant,
}

/// A call begins or ends, or an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) time: u64,
    /// The event, from the start of the block.
    pub(super) row: u32,
    pub(super) name: NameRef,
    pub(super) what: What,
}

/// The steps of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ThreadSteps {
    pub(super) thread: u32,
    pub(super) steps: Vec<Step>,
}

/// An interval or an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) kind: u64,
    pub(super) label: u64,
    pub(super) thread: u32,
    /// Else it is an instant.
    pub(super) is_call: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether it ends in a later part.
    pub(super) goes_on: bool,
    /// The event, from the start of the block; those of one time are nested as they ended.
    pub(super) row: u32,
}

impl Piece {
    /// What an event is; nothing if it is a number.
    #[inline]
    pub(super) fn of(event: &Event, row: u32) -> Option<Self> {
        let Event { kind, label, thread, payload } = *event;
        let (is_call, start, end) = match payload {
            Payload::Interval { start, end } => (true, start, end),
            Payload::Instant(time) => (false, time, time),
            Payload::Integer(_) => return None,
        };
        Some(Self { kind, label, thread, is_call, start, end, goes_on: false, row })
    }

    /// A call that ends in a later part than the one that begins with `row`.
    pub(super) fn begun(call: &OpenCall, row: u32) -> Self {
        let OpenCall { event: Event { kind, label, thread, .. }, start, end } = *call;
        Self { kind, label, thread, is_call: true, start, end, goes_on: true, row }
    }

    #[inline]
    pub(super) fn labels(&self) -> Labels {
        (self.kind, self.label, self.is_call)
    }
}

/// What kind of event it is, what names it, and whether it is an interval.
pub(super) type Labels = (u64, u64, bool);
