//! One HTML file that holds a picture, tables and everything that they need: no network, no
//! framework, opens from a disk.
//!
//! The scripts, the style and the outline of the data are first, so that a picture is there while
//! the browser still reads the rest. Data go in as compressed columns ([`pack`]); static content
//! (tables, notes) is plain HTML that needs no script.

mod calls;
mod data;
mod graph;
mod html;
mod pack;
#[cfg(test)]
mod tests;

use profctl_model::{CallTree, PairedTree, Table, ThreadId, Timebase, Trace};

use crate::chart::picture::PathStep;
use crate::number::TimeUnit;
use crate::plot::Plot;

/// A page.
pub struct Page<'a> {
    /// What is above it and in the browser's list of windows.
    pub title: String,
    /// What matters most, in one sentence.
    pub sentence: Option<String>,
    /// What is known of the whole, a name and a value each.
    pub facts: Vec<(String, String)>,
    /// Notes: losses, repairs.
    pub notes: Vec<String>,
    /// The unit of times.
    pub unit: TimeUnit,
    /// What can be looked at.
    pub picture: Option<Picture<'a>>,
    /// What else there is, in this order; a page without is one large picture.
    pub sections: Vec<Section<'a>>,
}

/// Something of a report.
pub enum Section<'a> {
    /// An answer, before anything else is read.
    Verdict {
        /// `pass`, `regressed` or `inconclusive`.
        answer: &'static str,
        /// Why, a sentence each.
        reasons: Vec<String>,
        /// The functions that matter most for it, at most three.
        top: Vec<String>,
    },
    /// Where the picture goes.
    Picture {
        /// What it is called.
        heading: String,
    },
    /// A table that can be sorted and filtered.
    Table {
        /// What it is called.
        heading: String,
        /// The rows; the column of role name is shown first.
        table: &'a Table,
        /// The column that it comes sorted by, from the largest.
        sorted_by: Option<&'a str>,
        /// Whether the names are functions of the picture and the histograms.
        names_functions: bool,
    },
    /// Plots, next to each other if there is space.
    Plots {
        /// What they are about.
        heading: String,
        /// What to draw.
        plots: Vec<Plot>,
    },
    /// How long the calls of a function took.
    Histograms(Histograms),
    /// Sentences.
    Text {
        /// What they are about.
        heading: String,
        /// A line each.
        lines: Vec<String>,
    },
}

/// The lengths of calls, function by function.
pub struct Histograms {
    /// The clock whose ticks were counted.
    pub timebase: Timebase,
    /// What the sides are called: one, or before and after.
    pub sides: Vec<String>,
    /// The functions, in the order in which they are offered.
    pub functions: Vec<HistogramRow>,
}

/// The lengths of the calls of one function.
pub struct HistogramRow {
    /// The function.
    pub name: String,
    /// By side; nothing where it was not called.
    pub sides: Vec<Option<HistogramText>>,
}

/// Histograms in the text form of saved profiles.
pub struct HistogramText {
    /// Of net times.
    pub net: String,
    /// Of elapsed times.
    pub elapsed: String,
}

/// What is drawn.
pub struct Picture<'a> {
    /// Calls in order, and merged.
    pub calls: Option<Calls<'a>>,
    /// Two sides joined.
    pub paired: Option<Paired<'a>>,
    /// Which of the kinds is shown first.
    pub first: Kind,
    /// The initial view.
    pub begin: Begin,
}

/// What is switched on when a page is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Begin {
    /// Graphs lead from functions to their callers.
    pub callers: bool,
    /// Callers are below their callees.
    pub upwards: bool,
    /// The critical path is marked.
    pub path: bool,
}

/// A kind of picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Calls in time order.
    Chart,
    /// Calls merged by their path.
    Graph,
    /// Two sides.
    Diff,
}

/// The calls of a trace.
pub struct Calls<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The paths of its threads.
    pub trees: &'a [(ThreadId, CallTree)],
    /// What is known of all calls of a function, for tips: columns of numbers, `module`, `name`.
    pub functions: &'a Table,
    /// The critical path, if it can be marked.
    pub path: &'a [PathStep],
    /// Maximum number of calls in the page; the shortest are merged first.
    pub calls_max: usize,
}

/// A page of a few million calls is as much as a browser moves with ease.
pub const CALLS_MAX: usize = 3_000_000;

/// The paths of two sides.
pub struct Paired<'a> {
    /// The joined trees, in nanoseconds or counts.
    pub tree: &'a PairedTree,
    /// What its ticks are.
    pub timebase: Timebase,
    /// What the earlier side is called.
    pub before: &'a str,
    /// What the later side is called.
    pub after: &'a str,
}

/// The page as one file.
pub fn write(page: &Page<'_>) -> String {
    html::page(page)
}
