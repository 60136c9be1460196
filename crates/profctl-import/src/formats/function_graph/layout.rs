//! Which columns are before the function: identified by the header, or by the lines themselves.

use crate::text;

/// The columns of a capture, in their fixed order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// `funcgraph-abstime`, or the relative time that latency tracers print.
    pub(super) time: Time,
    /// `funcgraph-cpu`, on unless switched off.
    pub(super) cpu: bool,
    /// `funcgraph-proc`.
    pub(super) task: bool,
    /// `latency-format`.
    pub(super) flags: bool,
    /// `funcgraph-duration`, on unless switched off.
    pub(super) duration: bool,
}

/// The time column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Time {
    None,
    /// Seconds with six decimals.
    Absolute,
    /// Whole microseconds since the start of the latency that was traced.
    Relative,
}

impl Layout {
    pub(super) const DEFAULT: Self =
        Self { time: Time::None, cpu: true, task: false, flags: false, duration: true };

    /// Reads the header line that names the columns.
    pub(super) fn from_header(header: &[u8]) -> Option<Self> {
        let has = |word: &[u8]| memchr::memmem::find(header, word).is_some();
        has(b"FUNCTION CALLS").then(|| Self {
            time: match (has(b"REL TIME"), has(b"TIME")) {
                (true, _) => Time::Relative,
                (false, true) => Time::Absolute,
                (false, false) => Time::None,
            },
            cpu: has(b"CPU"),
            task: has(b"TASK/PID"),
            flags: has(b"||"),
            duration: has(b"DURATION"),
        })
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = [
            (self.time == Time::Absolute, "time"),
            (self.time == Time::Relative, "relative time"),
            (self.cpu, "cpu"),
            (self.task, "task"),
            (self.flags, "flags"),
            (self.duration, "duration"),
        ];
        let shown: Vec<_> =
            columns.iter().filter(|(shown, _)| *shown).map(|(_, name)| *name).collect();
        if shown.is_empty() { f.write_str("none") } else { f.write_str(&shown.join(", ")) }
    }
}

/// The line that names columns, in the header: the lines of `#` before all others. A text about
/// traces may quote such a line further down.
pub(super) fn find_header(head: &[u8]) -> Option<&[u8]> {
    text::lines(head)
        .map(|line| line.text)
        .take_while(|line| line.starts_with(b"#"))
        .find(|line| Layout::from_header(line).is_some())
}
