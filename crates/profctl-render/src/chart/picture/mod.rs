//! What a writer draws: boxes, lines and words with their places, and nothing of traces.
//!
//! Places from left to right are hundredths of a pixel from the left edge of the plot; heights are
//! whole pixels from the top of the picture.

mod chart;
mod diff;
mod graph;
mod threads;
mod words;

pub use chart::{ChartOptions, PathPlace, PathStep, chart};
pub use diff::{DiffOptions, diff};
pub use graph::{GraphOptions, graph};

use super::axis::{AxisTick, AxisUnit};
use super::palette::Paint;
use super::text;

/// The size of labels, in pixels.
pub const FONT: u32 = 11;
/// The size of the title.
pub const TITLE_FONT: u32 = 16;
/// From one row of boxes to the next; a box is a pixel lower.
pub const ROW: u32 = 18;
/// Free space at every edge.
pub const MARGIN: u32 = 14;
/// What a label keeps off the edges of its box, in hundredths of a pixel.
pub const PADDING: u64 = 400;
/// Baseline of the title, from the top.
pub const TITLE_BASE: u32 = 26;
/// Baseline of the line below it.
pub const ABOUT_BASE: u32 = 45;
/// Baseline of the first row of the legend.
const LEGEND_BASE: u32 = 68;
/// From one row of words to the next.
pub const LINE: u32 = 17;
/// What the words of the scale take up.
const AXIS: u32 = 20;
/// The side of a swatch of the legend.
pub const SWATCH: u32 = 11;
/// Between a swatch and its words, and between entries.
pub const SWATCH_GAP: u32 = 5;
const ENTRY_GAP: u32 = 16;

/// A picture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Picture {
    /// What it is of.
    pub title: String,
    /// What it shows, in a line.
    pub about: String,
    /// Its size.
    pub width: u32,
    /// See `width`.
    pub height: u32,
    /// Where boxes are.
    pub plot: Area,
    /// What the scale counts, its whole length and its units; for writers that make another one
    /// when the picture is zoomed.
    pub scale: Scale,
    /// The lines of the scale.
    pub ticks: Vec<AxisTick>,
    /// The lanes, from top to bottom.
    pub bands: Vec<Band>,
    /// The boxes: each lane apart, hosts before what they hold.
    pub boxes: Vec<Drawn>,
    /// Where a thread was switched out, over the boxes.
    pub veils: Vec<Veil>,
    /// Losses and instants.
    pub uprights: Vec<Upright>,
    /// What threads were doing.
    pub states: Vec<StateBox>,
    /// Who woke whom.
    pub arrows: Vec<Arrow>,
    /// The critical path; nothing if it is not drawn.
    pub path: Vec<PathLine>,
    /// What the colors mean.
    pub legend: Vec<Entry>,
    /// Notes: losses, repairs, what was merged.
    pub notes: Vec<String>,
    /// Whether callers are below their callees.
    pub upward: bool,
}

/// A rectangle of the picture, in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    /// Left edge.
    pub left: u32,
    /// Upper edge.
    pub top: u32,
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// What a length in the plot means.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scale {
    /// Nanoseconds, or counts, over the whole width.
    pub total: f64,
    /// The units of its labels, the largest first.
    pub units: Vec<AxisUnit>,
}

/// A lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Band {
    /// Upper edge.
    pub y: u32,
    /// Its height.
    pub height: u32,
    /// Its name, as it stands beside it; nothing where there is only one.
    pub label: Option<String>,
    /// A second line.
    pub detail: Option<String>,
    /// Both, uncut.
    pub tip: String,
}

/// How the edge of a box looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Edge {
    /// None.
    #[default]
    Plain,
    /// A line: new.
    Solid,
    /// A broken line: gone.
    Dashed,
}

/// A box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// Left edge.
    pub x0: u64,
    /// Right edge.
    pub x1: u64,
    /// Upper edge.
    pub y: u32,
    /// Its height.
    pub height: u32,
    /// Its lane, by its place.
    pub band: usize,
    /// Its fill.
    pub paint: Paint,
    /// Whether it is hatched: its entry or exit was not recorded, or its change is not significant.
    pub hatched: bool,
    /// Its edge.
    pub edge: Edge,
    /// What it is called.
    pub label: String,
    /// Whether it stands for several things.
    pub merged: bool,
    /// What else is known, a line each.
    pub tip: Vec<String>,
    /// Bars below the box, of a comparison: how long before and after are, and the paint of the
    /// latter.
    pub bars: Option<Bars>,
}

/// The bars of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bars {
    /// Length of the earlier side.
    pub before: u64,
    /// Length of the later side.
    pub after: u64,
    /// Fill of the later side.
    pub paint: Paint,
}

/// The height of one bar.
pub const BAR: u32 = 4;

/// A hatched interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Veil {
    /// Left edge.
    pub x0: u64,
    /// Right edge.
    pub x1: u64,
    /// Upper edge.
    pub y: u32,
    /// Its height.
    pub height: u32,
}

/// How a state of a thread looks. Only what ran is drawn solid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StateLook {
    /// It ran.
    Running,
    /// It waited for a CPU.
    Runnable,
    /// It was blocked, and a signal would have ended that.
    Sleeping,
    /// It was blocked, and no signal would have ended that; or stopped.
    Uninterruptible,
    /// Unknown.
    Unknown,
    /// Several of these, too short to distinguish.
    Mixed,
}

impl StateLook {
    /// Every one, in the order of a legend.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Runnable,
        Self::Sleeping,
        Self::Uninterruptible,
        Self::Unknown,
        Self::Mixed,
    ];
}

/// A state of a thread, in the strip of its lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateBox {
    /// Left edge.
    pub x0: u64,
    /// Right edge.
    pub x1: u64,
    /// Upper edge.
    pub y: u32,
    /// Its height.
    pub height: u32,
    /// How it looks.
    pub look: StateLook,
    /// What is known of it.
    pub tip: String,
}

/// A waking: an arrow straight up or down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// Where.
    pub x: u64,
    /// Where it begins.
    pub y0: u32,
    /// Where its head is.
    pub y1: u32,
    /// What is known of it.
    pub tip: String,
}

/// A part of the critical path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathLine {
    /// Its corners.
    pub points: Vec<(u64, u32)>,
    /// Whether the thread on the path waits: a broken line.
    pub waits: bool,
}

/// What an upright line means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UprightKind {
    /// Events were lost.
    Gap,
    /// Something happened.
    Mark,
}

/// An upright line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upright {
    /// Where.
    pub x: u64,
    /// Its upper end.
    pub y: u32,
    /// Its height.
    pub height: u32,
    /// What it means.
    pub kind: UprightKind,
    /// What is known of it.
    pub tip: String,
}

/// A sign of the legend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// A fill.
    Fill(Paint),
    /// A hatched fill.
    Hatched(Paint),
    /// A fill with an edge.
    Edged(Paint, Edge),
    /// The bar of the earlier side.
    Before,
    /// The bar of the later side.
    After,
    /// Hatching over boxes.
    Veil,
    /// The line of a loss.
    Gap,
    /// The line of an instant.
    Mark,
    /// The line of the critical path.
    Path,
    /// A state of a thread.
    State(StateLook),
    /// The arrow of a waking.
    Arrow,
}

/// An entry of the legend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The left edge of its sign, in pixels.
    pub x: u32,
    /// The baseline of its words.
    pub y: u32,
    /// The sign.
    pub sign: Sign,
    /// What it means.
    pub words: String,
}

impl Picture {
    /// Begins a picture: heading, legend and space for the scale, so that the plot can follow.
    fn begin(title: &str, about: String, width: u32, legend: &[(Sign, &str)]) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut x, mut y) = (MARGIN, LEGEND_BASE);
        for &(sign, words) in legend {
            let length = SWATCH + SWATCH_GAP + pixels(text::width(words, FONT));
            if x > MARGIN && x + length + MARGIN > width {
                (x, y) = (MARGIN, y + LINE);
            }
            entries.push(Entry { x, y, sign, words: words.to_owned() });
            // The steps of one scale stand close together.
            x += length + if words.is_empty() { 0 } else { ENTRY_GAP };
        }
        Self {
            title: title.to_owned(),
            about,
            width,
            plot: Area { left: MARGIN, top: y + LINE + AXIS, width: 0, height: 0 },
            legend: entries,
            ..Self::default()
        }
    }

    /// Ends it: the height follows from what is in it.
    fn end(&mut self, notes: Vec<String>) {
        let notes_height = notes.len() as u32 * LINE;
        let gap = if notes.is_empty() { 0 } else { LINE };
        self.notes = notes;
        self.height = self.plot.top + self.plot.height + gap + notes_height + MARGIN;
    }

    /// The baseline of a note.
    pub fn note_base(&self, n: usize) -> u32 {
        self.plot.top + self.plot.height + (n as u32 + 1) * LINE + 6
    }

    /// The label of a box as it fits, and where it begins: at the left edge of what is seen.
    pub fn fitted(drawn: &Drawn) -> Option<String> {
        let room = (drawn.x1 - drawn.x0).checked_sub(2 * PADDING)?;
        text::cut(&drawn.label, room, FONT)
    }
}

/// Hundredths of a pixel, rounded up to pixels.
pub(crate) fn pixels(place: u64) -> u32 {
    u32::try_from(place.div_ceil(super::timeline::PIXEL)).unwrap_or(u32::MAX)
}
