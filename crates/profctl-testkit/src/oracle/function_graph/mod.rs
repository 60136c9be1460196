//! What a Linux function_graph text says about its functions, by brute force.
//!
//! A file is held in memory and processed in three steps: lines become records ([`columns`],
//! [`body`]), records are assigned to tasks ([`tasks`]), and each task's records become a forest of
//! calls whose sums are taken by walking it ([`forest`]). The readers do all of this at once, block
//! by block; where the two agree, both methods would have to be wrong in the same way.
//!
//! What happens to the *times* of a call whose entry or exit is missing is not asked here: such
//! calls are counted, and the functions whose sums they touch are marked.

mod body;
mod columns;
mod forest;
mod tasks;

use std::collections::BTreeMap;

pub use columns::Layout;

/// A function as the text names it: name and module.
pub type Function = (String, Option<String>);

/// The sums of one function, times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Complete calls.
    pub calls: u64,
    /// Calls whose entry or exit was not recorded.
    pub partial: u64,
    /// Elapsed of the outermost complete calls.
    pub elapsed: u64,
    /// Net of the complete calls.
    pub net: u64,
    /// Whether an incomplete call is a direct callee of a complete call of this function, so that
    /// its net depends on what is known of that incomplete call.
    pub partial_below: bool,
    /// Whether a call of it ran after another call of it had ended but before the exit of that was
    /// written: by the times both are outermost, by the order of records one is nested.
    pub interleaved: bool,
}

impl Totals {
    /// Whether `elapsed` is the complete elapsed time of this function.
    pub fn elapsed_is_exact(&self) -> bool {
        self.partial == 0 && !self.interleaved
    }
    /// Whether `net` is the complete net time of this function.
    pub fn net_is_exact(&self) -> bool {
        self.partial == 0 && !self.partial_below
    }
}

/// What a whole text says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// By function, in the order of names.
    pub functions: BTreeMap<Function, Totals>,
    /// Exits whose entry was not open at their depth.
    pub unmatched_exits: u64,
    /// Those of them that do not even say which function they left.
    pub anonymous_exits: u64,
    /// Entries whose exit is missing although the task went on at their depth or above it.
    pub lost_exits: u64,
    /// Entries still open at the end of the text.
    pub unclosed: u64,
    /// Entries closed because the recorder lost events.
    pub closed_by_loss: u64,
    /// `LOST` lines.
    pub gaps: u64,
    /// Events that those lines count.
    pub lost_events: u64,
    /// Lines that are no record of this tracer.
    pub unread_lines: u64,
    /// Calls whose net would be below zero.
    pub clamped: u64,
    /// Whether the text states durations; if not, all times here are 0.
    pub has_durations: bool,
    /// Whether the lines say on which CPU or on which task they are; if not, stacks may be mixed
    /// and only counts of lines mean anything.
    pub has_tasks: bool,
    /// Whether timed switch records give the time off the CPU.
    pub knows_off_cpu: bool,
}

/// Evaluates `text`.
pub fn evaluate(text: &[u8]) -> Report {
    let records = columns::records(text);
    let mut report = Report::default();
    for record in &records.all {
        if let body::What::Lost(n) = record.what {
            report.gaps += 1;
            report.lost_events += n.unwrap_or(0);
        }
    }
    report.unread_lines = records.unread;
    report.has_durations = records.has_durations;
    report.has_tasks = records.has_tasks;
    let returns_only = returns_only(&records.all);
    for items in tasks::deal(&records.all).into_values() {
        report.knows_off_cpu |= items.iter().any(|item| matches!(item, tasks::Item::On(_)));
        forest::evaluate(&items, returns_only, &mut report);
    }
    report
}

/// A text recorded with `tracing_thresh` has a line for each return that took long enough, and no
/// entries at all: there a return is a whole call.
fn returns_only(records: &[columns::Record]) -> bool {
    let mut returns = records.iter().filter(|r| matches!(r.what, body::What::Exit { .. }));
    let enters =
        |r: &columns::Record| matches!(r.what, body::What::Enter(_) | body::What::Leaf { .. });
    returns.all(|r| matches!(r.what, body::What::Exit { name: Some(_), .. }))
        && !records.iter().any(enters)
}

#[cfg(test)]
mod tests;
