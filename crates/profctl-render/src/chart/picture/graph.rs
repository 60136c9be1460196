//! The graph as a picture: frames as wide as their time.

use profctl_model::{FuncKind, Ticks, Timebase};

use super::super::axis;
use super::super::frames::{Cost, Frame, Frames, NAMED, Visible};
use super::super::graph::{self, Content, Graph, Node};
use super::super::palette::Paint;
use super::super::timeline::PIXEL;
use super::chart::TICKS_APART;
use super::words::{Words, calls_of, merged_note};
use super::{Band, Drawn, Edge, MARGIN, Picture, ROW, Scale, Sign};
use crate::number::{self, TimeUnit};

/// How to draw a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct GraphOptions {
    /// What is above it.
    pub title: String,
    /// The width of the picture, in pixels.
    pub width: u32,
    /// Levels that are drawn.
    pub levels: u32,
    /// What is narrower is merged, in hundredths of a pixel.
    pub narrowest: u64,
    /// Boxes at most.
    pub budget: usize,
    /// The unit of times.
    pub unit: TimeUnit,
    /// Whether callers are below their callees.
    pub upward: bool,
    /// Whether the paths lead from functions to their callers.
    pub turned: bool,
    /// Notes.
    pub notes: Vec<String>,
}

impl GraphOptions {
    /// Which frames can be drawn one by one, if all paths take up `total`.
    pub fn visible(&self, total: u128) -> Visible {
        Visible {
            total,
            width: u64::from(self.plot_width()) * PIXEL,
            narrowest: self.narrowest.max(PIXEL),
            levels: self.levels,
        }
    }

    fn plot_width(&self) -> u32 {
        self.width.saturating_sub(2 * MARGIN).max(1)
    }
}

/// Draws frames, whose times are of `timebase`.
pub fn graph(frames: &Frames, timebase: &Timebase, options: &GraphOptions) -> Picture {
    let words = Words { timebase: *timebase, unit: options.unit };
    let width = options.plot_width();
    let nodes: Vec<_> = frames
        .frames
        .iter()
        .map(|frame| Node {
            parent: frame.parent,
            own: frame.own,
            name: &frame.name,
            merged: frame.merged.as_ref().map(|merged| merged.paths),
        })
        .collect();
    let layout = graph::Options {
        width,
        levels: options.levels,
        narrowest: options.narrowest,
        budget: options.budget,
    };
    let laid = graph::lay_out(&nodes, &layout);
    let total = Ticks(u64::try_from(laid.total).unwrap_or(u64::MAX));
    let about = format!(
        "{}: {}, {} in all",
        if options.turned { "graph of callers by net time" } else { "graph" },
        number::count(frames.paths, "path", "paths"),
        words.length(total),
    );
    let mut picture = Picture::begin(
        &options.title,
        about,
        options.width,
        &legend(frames, &laid, options.turned),
    );
    let places = Places { top: picture.plot.top, levels: laid.levels, row: ROW, options };
    picture.upward = options.upward;
    picture.ticks =
        axis::ticks(total, u64::from(width) * PIXEL, TICKS_APART, timebase, options.unit);
    picture.scale = Scale {
        total: timebase.reported(total) as f64,
        units: axis::units(timebase, options.unit),
    };
    let height = (laid.levels.max(1) * ROW).saturating_sub(1);
    picture.plot.width = width;
    picture.plot.height = height;
    picture.bands.push(Band { y: picture.plot.top, height, ..Band::default() });
    for item in &laid.items {
        let drawn = match &item.content {
            Content::Frame(place) => {
                let frame = &frames.frames[*place];
                Drawn {
                    hatched: frame.cost.calls == 0 && frame.cost.partial > 0,
                    paint: Paint::named(frame.kind, &frame.name, frame.module.as_deref()),
                    label: frame.name.clone(),
                    tip: words.frame(frame, laid.total, options.turned),
                    ..places.drawn(item)
                }
            }
            Content::Block(block) => {
                let paths = block.iter().map(|&place| laid.paths[place]).sum();
                Drawn {
                    merged: true,
                    label: number::count(paths, "path", "paths"),
                    tip: block_tip(frames, block, &words, laid.total),
                    ..places.drawn(item)
                }
            }
        };
        picture.boxes.push(drawn);
    }
    let mut notes = options.notes.clone();
    if picture.boxes.iter().any(|drawn| drawn.merged) {
        notes.push(merged_note("paths", laid.narrowest, layout.narrowest.max(PIXEL)));
    }
    picture.end(notes);
    picture
}

/// Where rows are.
struct Places<'a> {
    top: u32,
    levels: u32,
    row: u32,
    options: &'a GraphOptions,
}

impl Places<'_> {
    fn drawn(&self, item: &graph::Item) -> Drawn {
        let row = if self.options.upward { self.levels - 1 - item.level } else { item.level };
        Drawn {
            x0: item.x0,
            x1: item.x1,
            y: self.top + row * self.row,
            height: ROW - 1,
            band: 0,
            paint: Paint::Merged,
            hatched: false,
            edge: Edge::Plain,
            label: String::new(),
            merged: false,
            tip: Vec::new(),
            bars: None,
        }
    }
}

fn block_tip(frames: &Frames, block: &[usize], words: &Words, total: u128) -> Vec<String> {
    let mut sum = Cost::default();
    for &place in block {
        let cost = &frames.frames[place].cost;
        sum.calls += cost.calls;
        sum.partial += cost.partial;
        sum.elapsed += cost.elapsed;
    }
    let frames_of =
        |&place: &usize| frames.frames[place].merged.as_ref().map_or(1, |merged| merged.frames);
    let all: u64 = block.iter().map(frames_of).sum();
    let of = number::count(all, "callee", "callees");
    // Frames that were merged before come last and name the widest of them.
    let names = block.iter().flat_map(|&place| frames.frames[place].names());
    let names: Vec<&str> = names.take(NAMED).map(String::as_str).collect();
    let more = if all > NAMED as u64 { ", …" } else { "" };
    vec![
        format!("{of} too narrow to be drawn: {}{more}", names.join(", ")),
        calls_of(&sum),
        words.share(sum.elapsed, total),
    ]
}

fn legend(frames: &Frames, laid: &Graph, turned: bool) -> Vec<(Sign, &'static str)> {
    let mut drawn: Vec<&Frame> = Vec::new();
    let mut merged = false;
    for item in &laid.items {
        match &item.content {
            Content::Frame(place) => drawn.push(&frames.frames[*place]),
            Content::Block(_) => merged = true,
        }
    }
    let has = |kind: FuncKind| drawn.iter().any(|frame| frame.kind == kind);
    let partial = drawn.iter().any(|frame| frame.cost.calls == 0 && frame.cost.partial > 0);
    let middle = Paint::Function { hue: 6, shade: 1 };
    let functions = if frames.has_modules { "function, by module" } else { "function, by name" };
    [
        (has(FuncKind::Mark), Sign::Fill(Paint::Mark), "thread"),
        (has(FuncKind::Function), Sign::Fill(middle), functions),
        (has(FuncKind::Syscall), Sign::Fill(Paint::Syscall { shade: 1 }), "system call"),
        (has(FuncKind::Interrupt), Sign::Fill(Paint::Interrupt { shade: 1 }), "interrupt"),
        (has(FuncKind::Idle), Sign::Fill(Paint::Idle), "idle"),
        (merged, Sign::Fill(Paint::Merged), "several paths, merged"),
        (partial && !turned, Sign::Hatched(middle), "no complete call"),
    ]
    .into_iter()
    .filter(|&(is_there, ..)| is_there)
    .map(|(_, sign, words)| (sign, words))
    .collect()
}
