//! Properties of the records of a format that the stitcher needs.

use crate::emit::LaneKey;

/// What is unusual about the records of a format; the stitcher must know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quirks {
    /// Whether places in this format are lines.
    pub has_lines: bool,
    /// Whether times are stated as finely as durations, so that the end of a leaf is as good as a
    /// timestamp.
    pub leaf_ends_are_stamps: bool,
    /// Whether a call may be shown at the depth of one whose exit is still to come, because it
    /// interrupted that one on its way out.
    pub exits_may_be_late: bool,
    /// Whether calls that are entered at one time may stand in any order, as wires that rise together
    /// do: the one that is left first is the inner one.
    pub entries_may_tie: bool,
    /// Whether every exit has its entry before it, so that no call turns up around those that ended.
    pub exits_are_paired: bool,
    /// Who runs where at the start, if the head of the input told it.
    pub initial: Vec<LaneKey>,
}
