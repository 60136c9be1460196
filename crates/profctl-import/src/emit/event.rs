//! The packed form of a record between the emitter, the sort stage and the stitcher. Formats never
//! see it: they say what a record is with the verbs of [`super::Emitter`].

use super::{LaneRef, NameRef};

/// A time or duration that the record does not state.
pub(crate) const UNSTATED: u64 = u64::MAX;
/// A depth that the format does not show: exits are then paired by name.
pub(crate) const NO_DEPTH: u16 = u16::MAX;
/// The largest depth that can be stated.
pub const DEPTH_MAX: u16 = NO_DEPTH - 1;
/// The latest time and the longest duration that can be stated.
pub const TIME_MAX: u64 = UNSTATED - 1;

/// What of a call was not seen, as bits.
pub(crate) mod unseen {
    /// Its entry.
    pub(crate) const ENTRY: u8 = 1;
    /// Its exit.
    pub(crate) const EXIT: u8 = 1 << 1;
    /// What came before or behind it, because records were lost.
    pub(crate) const AT_GAP: u8 = 1 << 2;
    /// Its lengths are stated nevertheless.
    pub(crate) const STATED: u8 = 1 << 3;
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    /// A call began. `duration` and `extra` may state its wall and net time in advance.
    Enter,
    /// A call ended. `duration` may state its wall time.
    Exit,
    /// A call without callees, at its entry time; `duration` is its wall time.
    Leaf,
    /// A call whose entry is not a record of its own, at its exit time, after its callees;
    /// `duration` is its wall time.
    Return,
    /// An instant. `extra` is the row of its detail text, if it has one.
    Mark,
    /// The lane's thread is in function `name`, whatever came before: if none of its calls is open,
    /// this one is, and began before the trace.
    Within,
    /// The recorder lost `duration` events ([`UNSTATED`]: unknown how many) on the lane's CPU, or
    /// anywhere if it has none.
    Gap,
    /// From here on the lane's thread runs on the lane's CPU. Carries no net time. `extra` is the
    /// lane of the thread that ran before, or [`UNSTATED`].
    RunsNow,
    /// At `time` the lane's thread got the lane's CPU from the thread of lane `extra`;
    /// `duration` is a packed [`super::PrevState`].
    Switch,
    /// The lane's thread made the thread of lane `extra` runnable; `duration` is a packed
    /// [`super::Waking`].
    Wake,
    /// The lane's thread created the thread of lane `extra`.
    Fork,
    /// The lane's thread ended.
    ThreadExit,
    /// What the lane's thread calls next is an interrupt handler.
    InterruptEnter,
    /// The interrupt handler has returned.
    InterruptExit,
    /// A probe's switch tag was entered: the running thread leaves the CPU in function `name`.
    SwitchTagEnter,
    /// A probe's switch tag was left: a thread comes back, and the exits that follow show which.
    SwitchTagExit,
    /// A call from `time` on, `duration` long, that may hold others and stands anywhere among them.
    /// Only from readers whose events are sorted (see [`crate::sort`]), which makes entries and
    /// exits of it.
    Complete,
    /// The innermost open call ends here for all that is known, and when it was left was not seen;
    /// nor was when it was entered, unless `extra` is stated.
    PartialEnd,
    /// The call that the lane's thread entered last is incomplete: `extra` is made of the bits of
    /// [`unseen`], and the lengths that its entry states are those of what was seen of it.
    Incomplete,
    /// What the lane's thread is: named as in the lane; `duration` is its id and `extra` its
    /// process, if they have such; `depth` is 1 for an idle task. Takes no time.
    Describe,
    /// Threads of several processes have the number `duration`: a record that states no process is of
    /// none of them, whatever its own lane is.
    Share,
    /// The clock was at `time`, or went on by `duration` where the timeline is synthetic; nothing
    /// happened.
    Pass,
}

/// One record, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    /// Ticks of the trace's clock (or the raw counter, if it wraps); [`UNSTATED`] if the format
    /// has durations only.
    pub time: u64,
    /// A stated length in ticks, or what the kind says; else [`UNSTATED`].
    pub duration: u64,
    /// What the kind says; else [`UNSTATED`].
    pub extra: u64,
    /// The function.
    pub name: NameRef,
    /// Where and on whom.
    pub lane: LaneRef,
    /// Byte offset of the record in its block.
    pub offset: u32,
    /// Number of callers as the format shows it, or [`NO_DEPTH`].
    pub depth: u16,
    /// What happened.
    pub kind: EventKind,
}
