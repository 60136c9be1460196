//! The quality of a trace: what was repaired, lost and skipped.

use profctl_model::diag::{SAMPLES_KEPT, Sample, codes};
use profctl_model::{Code, DiagLog, Severity, Timeline};

/// Said where calls were only counted.
pub const NO_DURATIONS: &str = "no durations in this trace: only the numbers of calls are known";

/// Said where a table has no rows.
pub const NO_CALLS: &str =
    "no calls: entries without exits, or other events only (see `profctl info`)";

/// The quality of one trace, or of several together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quality {
    /// Events that the recorder lost; nothing if it did not always say how many.
    pub lost_events: Option<u64>,
    /// Places where events are missing.
    pub gaps: u64,
    /// Exits without an entry.
    pub unmatched_exits: u64,
    /// Entries without an exit.
    pub unclosed_entries: u64,
    /// Calls closed by the exit of their caller.
    pub forced_exits: u64,
    /// Records that could not be read.
    pub skipped_records: u64,
    /// Steps back of the clock.
    pub backwards: u64,
    /// Negative net times clamped to 0.
    pub clamped: u64,
    /// Inputs that end within a record.
    pub cut_records: u64,
    /// Inputs that could not be read to their end.
    pub damaged: u64,
    /// Everything found, worst first, then by code.
    pub diagnostics: Vec<Diagnostic>,
}

/// A diagnostic code and its count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// `area/what`.
    pub code: String,
    /// How bad.
    pub severity: Severity,
    /// How often.
    pub count: u64,
    /// The first few.
    pub samples: Vec<Sample>,
}

impl Diagnostic {
    /// What it is, with its number.
    fn note(&self) -> String {
        if self.code == codes::STATED_MISMATCH.name {
            return match self.count {
                1 => "1 stated net time disagrees with its callees".to_owned(),
                n => format!("{n} stated net times disagree with their callees"),
            };
        }
        format!("{} {}", self.count, self.code)
    }

    /// What is missing, as far as that was kept.
    fn loss(&self) -> String {
        let mut said: Vec<String> = self.samples.iter().map(|one| one.message.clone()).collect();
        let more = self.count.saturating_sub(said.len() as u64);
        if more > 0 {
            said.push(format!("{more} more (see `profctl info`)"));
        }
        format!("{}: {}", self.code, said.join("; "))
    }
}

impl Quality {
    /// The quality of a trace with these diagnostics.
    pub fn of(diags: &DiagLog) -> Self {
        let entries = diags.sorted();
        let is_record = |entry: &&&profctl_model::diag::Entry| {
            entry.code.severity == Severity::Error && entry.code.name != codes::DAMAGED.name
        };
        let errors = entries.iter().filter(is_record);
        let sized = diags.count_of(&codes::LOST_UNKNOWN) == 0;
        Self {
            lost_events: sized.then(|| diags.count_of(&codes::LOST_EVENTS)),
            gaps: diags.count_of(&codes::GAP),
            unmatched_exits: diags.count_of(&codes::UNMATCHED_EXIT),
            unclosed_entries: diags.count_of(&codes::UNCLOSED_ENTRY),
            forced_exits: diags.count_of(&codes::FORCED_EXIT),
            skipped_records: errors.fold(0, |sum: u64, entry| sum.saturating_add(entry.count)),
            backwards: diags.count_of(&codes::BACKWARDS),
            clamped: diags.count_of(&codes::CLAMPED),
            cut_records: diags.count_of(&codes::CUT_RECORD),
            damaged: diags.count_of(&codes::DAMAGED),
            diagnostics: entries
                .iter()
                .map(|entry| Diagnostic {
                    code: entry.code.name.into(),
                    severity: entry.code.severity,
                    count: entry.count,
                    samples: entry.samples.clone(),
                })
                .collect(),
        }
    }

    /// Whether nothing is missing: no lost events, no incomplete calls, no skipped records.
    pub fn is_complete(&self) -> bool {
        let incomplete = [
            self.gaps,
            self.unmatched_exits,
            self.unclosed_entries,
            self.forced_exits,
            self.skipped_records,
            self.cut_records,
            self.damaged,
        ];
        self.lost_events == Some(0) && incomplete.iter().all(|&count| count == 0)
    }

    /// Adds the quality of another trace. The order of additions does not matter.
    pub(super) fn merge(&mut self, other: Self) {
        self.lost_events = match (self.lost_events, other.lost_events) {
            (Some(ours), Some(theirs)) => Some(ours.saturating_add(theirs)),
            (None, _) | (_, None) => None,
        };
        for (ours, theirs) in [
            (&mut self.gaps, other.gaps),
            (&mut self.unmatched_exits, other.unmatched_exits),
            (&mut self.unclosed_entries, other.unclosed_entries),
            (&mut self.forced_exits, other.forced_exits),
            (&mut self.skipped_records, other.skipped_records),
            (&mut self.backwards, other.backwards),
            (&mut self.clamped, other.clamped),
            (&mut self.cut_records, other.cut_records),
            (&mut self.damaged, other.damaged),
        ] {
            *ours = ours.saturating_add(theirs);
        }
        for theirs in other.diagnostics {
            self.add(theirs);
        }
        self.sort();
    }

    fn add(&mut self, theirs: Diagnostic) {
        match self.diagnostics.iter_mut().find(|ours| ours.code == theirs.code) {
            Some(ours) => {
                ours.count = ours.count.saturating_add(theirs.count);
                ours.severity = ours.severity.max(theirs.severity);
                // Which samples are kept must not depend on the order of the profiles.
                ours.samples.extend(theirs.samples);
                ours.samples.sort_by(|a, b| place_of(a).cmp(&place_of(b)));
                ours.samples.truncate(SAMPLES_KEPT);
            }
            None => self.diagnostics.push(theirs),
        }
    }

    /// Puts the diagnostics in order.
    pub(super) fn sort(&mut self) {
        self.diagnostics
            .sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
    }

    /// Warnings and losses that no field above counts: those of single formats.
    fn others(&self) -> impl Iterator<Item = &Diagnostic> {
        let counted = [
            &codes::LOST_EVENTS,
            &codes::LOST_UNKNOWN,
            &codes::GAP,
            &codes::UNMATCHED_EXIT,
            &codes::UNCLOSED_ENTRY,
            &codes::FORCED_EXIT,
            &codes::BACKWARDS,
            &codes::CLAMPED,
            &codes::CUT_RECORD,
            &codes::DAMAGED,
        ];
        self.diagnostics.iter().filter(move |diagnostic| {
            matches!(diagnostic.severity, Severity::Warning | Severity::DataLoss)
                && counted.iter().all(|code| code.name != diagnostic.code)
        })
    }

    fn diagnostic(&self, code: &Code) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.code == code.name)
    }

    /// Which inputs end within a record. One that has a buffer for each CPU may do so in several.
    fn truncated(&self) -> Option<String> {
        let samples = self.diagnostic(&codes::CUT_RECORD).map(|cut| &cut.samples);
        let samples = samples.into_iter().flatten();
        let mut sources: Vec<&str> = samples.map(|one| one.place.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        Some(match (self.cut_records, sources.len()) {
            (0, _) => return None,
            (1, _) => "truncated: the input ends within a record".to_owned(),
            (n, 1) => format!("truncated: the input ends within a record in {n} places"),
            (n, _) => format!("truncated: inputs end within a record in {n} places"),
        })
    }

    /// Notes for a report, one line each.
    pub fn notes(&self, timeline: Timeline) -> Vec<String> {
        let mut notes = Vec::new();
        if timeline == Timeline::Synthetic {
            notes.push("timeline: synthetic".to_owned());
        }
        let lost = match self.lost_events {
            None => Some("an unknown number of events".to_owned()),
            Some(0) => None,
            Some(n) => Some(count(n, "event", "events")),
        };
        let gaps = (self.gaps > 0).then(|| count(self.gaps, "gap", "gaps"));
        match (lost, gaps) {
            (Some(lost), Some(gaps)) => notes.push(format!("lost: {lost} in {gaps}")),
            (Some(only), None) | (None, Some(only)) => notes.push(format!("lost: {only}")),
            (None, None) => {}
        }
        let repairs: Vec<_> = [
            (self.unmatched_exits, "unmatched exit", "unmatched exits"),
            (self.unclosed_entries, "unclosed entry", "unclosed entries"),
            (self.forced_exits, "forced exit", "forced exits"),
            (self.backwards, "backward clock step", "backward clock steps"),
            (self.clamped, "negative net time clamped to 0", "negative net times clamped to 0"),
        ]
        .into_iter()
        .filter(|&(n, ..)| n > 0)
        .map(|(n, one, many)| count(n, one, many))
        .collect();
        if !repairs.is_empty() {
            notes.push(format!("repaired: {}", repairs.join(", ")));
        }
        let (losses, others): (Vec<_>, Vec<_>) =
            self.others().partition(|one| one.severity == Severity::DataLoss);
        notes.extend(losses.into_iter().map(Diagnostic::loss));
        let others: Vec<String> = others.into_iter().map(Diagnostic::note).collect();
        if !others.is_empty() {
            notes.push(format!("{} (see `profctl info`)", others.join(", ")));
        }
        if self.skipped_records > 0 {
            notes.push(format!("skipped: {}", count(self.skipped_records, "record", "records")));
        }
        notes.extend(self.truncated());
        if let Some(damaged) = self.diagnostic(&codes::DAMAGED) {
            let places = damaged.samples.iter();
            notes.extend(places.map(|one| format!("damaged: {}: {}", one.place, one.message)));
        }
        if let Some(remedy) = self.diagnostic(&codes::NO_SWITCHES).and_then(|d| d.samples.first()) {
            notes.push(remedy.message.clone());
        }
        notes
    }
}

/// The sort key of a sample: its input, its place in it, and its message.
fn place_of(sample: &Sample) -> (&str, u64, Option<u64>, &str) {
    let place = &sample.place;
    (&place.source, place.offset, place.line, &sample.message)
}

/// `1 gap`, `2 gaps`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
