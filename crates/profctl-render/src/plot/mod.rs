//! Plots: points, lines, bars and intervals over two axes, as SVG and PNG. plotters draws them, with
//! the font that pictures have.

mod draw;
mod scale;
#[cfg(test)]
mod tests;

use profctl_model::{Tick, Ticks, Timebase};

pub use draw::{inline, png, style, svg};

/// A plot.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// Lines below it: how many values there are, what was omitted.
    pub caption: Vec<String>,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// What is drawn, the first at the bottom.
    pub series: Vec<Series>,
    /// Lines across the plot.
    pub guides: Vec<Guide>,
}

/// An axis. Its ends are in the units of [`Values`].
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What it counts, without the unit.
    pub label: String,
    /// How its values are written.
    pub values: Values,
    /// Whether equal lengths are equal ratios. Both ends must then be above 0.
    pub log: bool,
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
}

/// What the values of an axis are.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Nanoseconds.
    Times,
    /// Numbers of something: cycles, calls.
    Counts,
    /// One thing over another: 1.05x.
    Ratios,
    /// Parts of a whole: 1 is 100 %.
    Shares,
    /// Things with names, at 0, 1, 2 and so on.
    Names(Vec<String>),
}

/// Things of one color, with an entry in the legend.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name in the legend; without one it has no entry.
    pub name: String,
    /// Its color.
    pub color: Color,
    /// What is drawn.
    pub shape: Shape,
}

/// A color by its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// The n-th of things that have nothing but to be distinct. They repeat after [`COLORS`].
    Number(usize),
    /// Things that are not distinguished.
    Other,
    /// A CPU runs threads.
    Running,
    /// A CPU serves interrupts.
    Interrupt,
    /// A CPU has nothing to do.
    Idle,
    /// Slower.
    Worse,
    /// Faster.
    Better,
}

/// How many distinct colors there are.
pub const COLORS: usize = 8;

/// What is drawn of a series: places are x and y.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// Points joined by straight lines.
    Line(Vec<(f64, f64)>),
    /// Dots.
    Dots(Vec<(f64, f64)>),
    /// Filled rectangles.
    Bars(Vec<Bar>),
    /// Intervals from left to right around a dot.
    Across(Vec<Interval>),
    /// Intervals from bottom to top around a dot.
    Upright(Vec<Interval>),
}

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bar {
    /// Left edge.
    pub from: f64,
    /// Right edge.
    pub to: f64,
    /// Lower edge.
    pub base: f64,
    /// Upper edge.
    pub top: f64,
}

/// An interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Where it is on the other axis.
    pub at: f64,
    /// The lower end.
    pub low: f64,
    /// The dot.
    pub middle: f64,
    /// The upper end.
    pub high: f64,
}

/// A line across the plot, or a band if it has two ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Guide {
    /// What it marks.
    pub label: String,
    /// Whether it is upright, at a place of the x axis.
    pub upright: bool,
    /// Where it is.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its color; that of the caption unless it belongs to a series.
    pub color: Option<Color>,
    /// On which line its label is, from the top: labels of several series would cover each other.
    pub row: usize,
}

impl Guide {
    /// A line of no series.
    pub fn line(label: impl Into<String>, upright: bool, at: f64) -> Self {
        Self { label: label.into(), upright, from: at, to: at, color: None, row: 0 }
    }
}

/// Whether the surroundings are light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    /// Dark ink on white.
    Light,
    /// Light ink on a dark ground.
    Dark,
}

/// A length in the units of an axis: nanoseconds, or what the clock counts.
pub fn value_of(length: Ticks, timebase: &Timebase) -> f64 {
    let (above, below) = timebase.ratio();
    length.0 as f64 * above as f64 / below as f64
}

/// A time in the units of an axis, from the first time of the trace on.
pub fn time_of(time: Tick, first: Tick, timebase: &Timebase) -> f64 {
    value_of(Ticks(time.0.saturating_sub(first.0)), timebase)
}

/// What lengths of this clock are on an axis.
pub fn values_of(timebase: &Timebase) -> Values {
    if timebase.is_time() { Values::Times } else { Values::Counts }
}

impl Axis {
    /// An axis from 0 to a little more than `largest`.
    pub fn from_zero(label: impl Into<String>, values: Values, largest: f64) -> Self {
        let to = if largest > 0.0 { largest * 1.05 } else { 1.0 };
        Self { label: label.into(), values, log: false, from: 0.0, to }
    }

    /// A logarithmic axis around values above 0. Those at 0 are drawn at its lower end.
    pub fn log(label: impl Into<String>, values: Values, all: impl Iterator<Item = f64>) -> Self {
        let (mut from, mut to) = (f64::INFINITY, 0.0_f64);
        for value in all.filter(|value| *value > 0.0 && value.is_finite()) {
            (from, to) = (from.min(value), to.max(value));
        }
        if from > to {
            (from, to) = (1.0, 10.0);
        }
        // Room at both ends, and something between them where all values are equal.
        let room = (0.04 * (to.ln() - from.ln())).exp().clamp(1.1, 10.0);
        Self { label: label.into(), values, log: true, from: from / room, to: to * room }
    }

    /// An axis of things with names.
    pub fn of_names(label: impl Into<String>, names: Vec<String>) -> Self {
        let to = names.len() as f64 - 0.5;
        let values = Values::Names(names);
        Self { label: label.into(), values, log: false, from: -0.5, to: to.max(0.5) }
    }
}

/// How high a plot of that width is: one with names at its side as high as they need.
pub fn height(plot: &Plot, width: u32) -> u32 {
    match &plot.y.values {
        Values::Names(names) => 150 + 20 * names.len().max(4) as u32,
        _ => (width * 3 / 5).min(1_200),
    }
}
