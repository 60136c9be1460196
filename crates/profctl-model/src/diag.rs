//! Diagnostics: problems of the input, counted by code, the first few with their place.
//!
//! There are three outcomes: *repaired*, *lost by the recorder* and *skipped* (SPEC §4).

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// For information; no number depends on it.
    Info,
    /// Repaired: numbers are valid, some calls count as incomplete.
    Warning,
    /// The recorder lost events; numbers are lower bounds.
    DataLoss,
    /// Input that could not be read was skipped.
    Error,
}

impl Severity {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::DataLoss => "data-loss",
            Self::Error => "error",
        }
    }
}

/// A kind of diagnostic. Codes are `static`, compared by name and never renamed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code {
    /// `area/what`, stable.
    pub name: &'static str,
    /// The severity.
    pub severity: Severity,
    /// One sentence for the user: what it means and what to do about it.
    pub help: &'static str,
}

/// Where in an input something was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The path (or `-`) of the input.
    pub source: String,
    /// Bytes from the start of the (decompressed) input.
    pub offset: u64,
    /// Line, counted from 1, for formats that have lines.
    pub line: Option<u64>,
}

impl std::fmt::Display for Place {
    /// `path:line` or `path:+offset`; the path alone at the very start.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{}", self.source, line),
            None if self.offset == 0 => f.write_str(&self.source),
            None => write!(f, "{}:+{}", self.source, self.offset),
        }
    }
}

/// One occurrence with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Where.
    pub place: Place,
    /// What was found, as a lowercase fragment.
    pub message: String,
}

/// All occurrences of one code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The code.
    pub code: Code,
    /// How often.
    pub count: u64,
    /// The first few.
    pub samples: Vec<Sample>,
}

/// How many occurrences of a code are kept with their place.
pub const SAMPLES_KEPT: usize = 8;

/// The diagnostics of one input, or of several merged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiagLog {
    entries: Vec<Entry>,
}

impl DiagLog {
    /// Counts `n` occurrences; `sample` is called only while samples are still kept.
    #[cold]
    pub fn add(&mut self, code: &Code, n: u64, sample: impl FnOnce() -> Sample) {
        let entry = self.entry(code);
        entry.count = entry.count.saturating_add(n);
        if entry.samples.len() < SAMPLES_KEPT {
            entry.samples.push(sample());
        }
    }

    /// Counts `n` occurrences that have no place.
    #[cold]
    pub fn count(&mut self, code: &Code, n: u64) {
        let entry = self.entry(code);
        entry.count = entry.count.saturating_add(n);
    }

    fn entry(&mut self, code: &Code) -> &mut Entry {
        let found = self.entries.iter().position(|entry| entry.code.name == code.name);
        let index = found.unwrap_or_else(|| {
            self.entries.push(Entry { code: *code, count: 0, samples: Vec::new() });
            self.entries.len() - 1
        });
        &mut self.entries[index]
    }

    /// How often `code` occurred.
    pub fn count_of(&self, code: &Code) -> u64 {
        self.entries.iter().find(|entry| entry.code.name == code.name).map_or(0, |e| e.count)
    }

    /// Adds what another log holds.
    pub fn merge(&mut self, other: &DiagLog) {
        for theirs in &other.entries {
            let ours = self.entry(&theirs.code);
            ours.count = ours.count.saturating_add(theirs.count);
            let room = SAMPLES_KEPT.saturating_sub(ours.samples.len());
            ours.samples.extend(theirs.samples.iter().take(room).cloned());
        }
    }

    /// Everything, worst first, then by name.
    pub fn sorted(&self) -> Vec<&Entry> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by(|a, b| {
            b.code.severity.cmp(&a.code.severity).then(a.code.name.cmp(b.code.name))
        });
        entries
    }
}

/// The codes that more than one importer, or the stitcher, raises. A format's own codes live in
/// its folder.
pub mod codes {
    use super::{Code, Severity};

    /// The count is the number of events lost, not of places.
    pub static LOST_EVENTS: Code = Code {
        name: "stitch/lost-events",
        severity: Severity::DataLoss,
        help: "the recorder lost this many events: use a larger buffer, or trace fewer functions",
    };
    /// A loss of unknown size.
    pub static LOST_UNKNOWN: Code = Code {
        name: "stitch/lost-unknown",
        severity: Severity::DataLoss,
        help: "the recorder lost events and does not state how many: use a larger buffer, or \
               trace fewer functions",
    };
    /// A place where events are missing.
    pub static GAP: Code = Code {
        name: "stitch/gap",
        severity: Severity::DataLoss,
        help: "events are missing here: open calls were closed as incomplete, and nothing is \
               inferred beyond this point",
    };
    /// An exit without an entry.
    pub static UNMATCHED_EXIT: Code = Code {
        name: "stitch/unmatched-exit",
        severity: Severity::Warning,
        help: "exit without matching entry, as when recording starts inside the function: the \
               call counts as incomplete",
    };
    /// An entry without an exit.
    pub static UNCLOSED_ENTRY: Code = Code {
        name: "stitch/unclosed-entry",
        severity: Severity::Warning,
        help: "entry without matching exit, as when the trace ends inside the function: the call \
               counts as incomplete",
    };
    /// A call closed by the exit of one of its callers.
    pub static FORCED_EXIT: Code = Code {
        name: "stitch/forced-exit",
        severity: Severity::Warning,
        help: "the caller returned while this call was open (a long jump, an unwound exception, \
               a tail call): the call was closed with it and counts as incomplete",
    };
    /// The exit of a call that had been ended because its caller was left.
    pub static LATE_EXIT: Code = Code {
        name: "stitch/late-exit",
        severity: Severity::Warning,
        help: "the exit of a call comes after that of its caller: the calls overlap, and the \
               call counts as incomplete",
    };
    /// A timestamp before the one that precedes it.
    pub static BACKWARDS: Code = Code {
        name: "stitch/backwards",
        severity: Severity::Warning,
        help: "the clock stepped back: the event was given the latest time before it",
    };
    /// A net time that would have been negative.
    pub static CLAMPED: Code = Code {
        name: "stitch/clamped",
        severity: Severity::Warning,
        help: "the stated times of the callees exceed that of their caller, by rounding or by \
               the tracer's overhead: the negative net time of the caller was clamped to 0",
    };
    /// A stated net time that the callees contradict.
    pub static STATED_MISMATCH: Code = Code {
        name: "stitch/stated-mismatch",
        severity: Severity::Warning,
        help: "the stated net time disagrees with the elapsed time minus that of the callees, \
               some of which may have been removed from the trace: the stated time was used",
    };
    /// A context switch that contradicts those before it.
    pub static SWITCH_MISMATCH: Code = Code {
        name: "stitch/switch-mismatch",
        severity: Severity::Warning,
        help: "a context switch contradicts an earlier one: it switches out a thread that was \
               not running there, or switches in one that runs elsewhere; the state of that \
               thread since its last switch counts as unknown",
    };
    /// A record that cannot be parsed.
    pub static SKIPPED_RECORD: Code = Code {
        name: "input/skipped-record",
        severity: Severity::Error,
        help: "a record could not be parsed and was skipped: see the place named, or force the \
               format with --input-format",
    };
    /// The end of the input within a record.
    pub static CUT_RECORD: Code = Code {
        name: "input/cut-record",
        severity: Severity::Warning,
        help: "the input ends within a record, as when a copy was interrupted: the record was \
               ignored",
    };
    /// An input that could not be read to its end.
    pub static DAMAGED: Code = Code {
        name: "input/damaged",
        severity: Severity::Error,
        help: "reading stopped before the end: a compressed file was cut short or fails its \
               checksum, or the disk failed. Data after that offset was not used; after a failed \
               checksum, data before it may be wrong too",
    };
    /// A kernel trace without context switches.
    pub static NO_SWITCHES: Code = Code {
        name: "input/no-switches",
        severity: Severity::Info,
        help: "a kernel trace without context switches: what threads did off the CPU is unknown",
    };
    /// A line longer than is read.
    pub static SKIPPED_LINE_TOO_LONG: Code = Code {
        name: "input/line-too-long",
        severity: Severity::Error,
        help: "a line is longer than any trace record and was skipped: the input may be damaged \
               or binary",
    };

    /// Every code above, in the order of a trace's life: lost, repaired, skipped.
    pub static ALL: &[&Code] = &[
        &LOST_EVENTS,
        &LOST_UNKNOWN,
        &GAP,
        &UNMATCHED_EXIT,
        &UNCLOSED_ENTRY,
        &FORCED_EXIT,
        &LATE_EXIT,
        &BACKWARDS,
        &CLAMPED,
        &STATED_MISMATCH,
        &SWITCH_MISMATCH,
        &SKIPPED_RECORD,
        &CUT_RECORD,
        &DAMAGED,
        &NO_SWITCHES,
        &SKIPPED_LINE_TOO_LONG,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_distinct_names() {
        let mut names: Vec<_> = codes::ALL.iter().map(|code| code.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), codes::ALL.len());
        assert!(codes::ALL.iter().all(|code| code.name.contains('/') && !code.help.is_empty()));
    }

    #[test]
    fn a_merged_log_counts_all_and_keeps_the_first_few() {
        let sample = |n: u64| Sample {
            place: Place { offset: n, ..Place::default() },
            message: String::new(),
        };
        let (mut first, mut second) = (DiagLog::default(), DiagLog::default());
        for n in 0..6 {
            first.add(&codes::GAP, 1, || sample(n));
            second.add(&codes::GAP, 2, || sample(100 + n));
        }
        second.count(&codes::SKIPPED_RECORD, 1);
        first.merge(&second);
        let sorted = first.sorted();
        assert_eq!(sorted[0].code, codes::SKIPPED_RECORD);
        assert_eq!((sorted[1].count, first.count_of(&codes::GAP)), (18, 18));
        let offsets: Vec<_> = sorted[1].samples.iter().map(|sample| sample.place.offset).collect();
        assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 100, 101]);
    }
}
