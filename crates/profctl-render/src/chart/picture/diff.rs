//! A comparison as a picture: both sides in one graph, on one scale.
//!
//! A frame is as wide as both sides need, so that each path is in one place. Below it are two bars
//! on the same scale: what the path took before, and after. Nothing is stretched to fit, so bars
//! compare across the whole picture, and a path of only one side has one bar. The hue shows the
//! ratio; a gray frame was not tested, a hatched one is not significant.

use profctl_model::{PairedTree, PathCost, Ticks, Timebase};

use super::super::axis;
use super::super::frames::{self, PairedFrame};
use super::super::graph::{self, Content, Node};
use super::super::palette::{Paint, STEPS};
use super::super::timeline::PIXEL;
use super::chart::TICKS_APART;
use super::words::{Words, merged_note};
use super::{BAR, Band, Bars, Drawn, Edge, MARGIN, Picture, ROW, Scale, Sign};
use crate::number::{self, TimeUnit};

/// How to draw a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct DiffOptions {
    /// What is above it.
    pub title: String,
    /// What the sides are called.
    pub sides: [String; 2],
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
    /// Notes.
    pub notes: Vec<String>,
}

/// From one row to the next: a box, two bars, and a gap.
const DIFF_ROW: u32 = ROW + 2 * BAR + 2;

/// What is narrower has no edge, in hundredths of a pixel: its bars show that it is new or gone.
const EDGED_MIN: u64 = 8 * PIXEL;

/// Draws a comparison, whose times are in the unit of reports: nanoseconds, or what `timebase`
/// counts.
pub fn diff(tree: &PairedTree, timebase: &Timebase, options: &DiffOptions) -> Picture {
    let words = Words { timebase: *timebase, unit: options.unit };
    let frames = frames::paired(tree);
    let width = options.width.saturating_sub(2 * MARGIN).max(1);
    let nodes: Vec<_> = frames
        .iter()
        .map(|frame| Node { parent: frame.parent, own: frame.own, name: &frame.name, merged: None })
        .collect();
    let layout = graph::Options {
        width,
        levels: options.levels,
        narrowest: options.narrowest,
        budget: options.budget,
    };
    let laid = graph::lay_out(&nodes, &layout);
    let totals = [0, 1].map(|side| {
        let roots = frames.iter().filter(|frame| frame.parent.is_none());
        roots.fold(0_u64, |sum, frame| sum.saturating_add(frame.widths[side]))
    });
    let tested = frames.iter().any(|frame| is_tested(frame.verdict));
    let tell = Tell { words, totals };
    let about = format!(
        "before: {}, {}; after: {}, {} ({})",
        options.sides[0],
        words.length(Ticks(totals[0])),
        options.sides[1],
        words.length(Ticks(totals[1])),
        relative(totals),
    );
    let mut picture =
        Picture::begin(&options.title, about, options.width, &legend(&frames, tested));
    picture.upward = options.upward;
    let whole = Ticks(u64::try_from(laid.total).unwrap_or(u64::MAX));
    let scale = u64::from(width) * PIXEL;
    picture.ticks = axis::ticks(whole, scale, TICKS_APART, timebase, options.unit);
    picture.scale = Scale {
        total: timebase.reported(whole) as f64,
        units: axis::units(timebase, options.unit),
    };
    let height = (laid.levels.max(1) * DIFF_ROW).saturating_sub(3);
    picture.plot.width = width;
    picture.plot.height = height;
    picture.bands.push(Band { y: picture.plot.top, height, ..Band::default() });
    let on_scale =
        |length: u64| (u128::from(length) * u128::from(scale) / laid.total.max(1)) as u64;
    for item in &laid.items {
        let row = if options.upward { laid.levels - 1 - item.level } else { item.level };
        let (sides, one) = match &item.content {
            Content::Frame(place) => (frames[*place].widths, Some(&frames[*place])),
            Content::Block(block) => (
                [0, 1].map(|side| block.iter().map(|&place| frames[place].widths[side]).sum()),
                None,
            ),
        };
        let change = change_of(sides);
        let mut drawn = Drawn {
            x0: item.x0,
            x1: item.x1,
            y: picture.plot.top + row * DIFF_ROW,
            height: ROW - 1,
            band: 0,
            paint: Paint::Merged,
            hatched: false,
            edge: Edge::Plain,
            label: String::new(),
            merged: one.is_none(),
            tip: Vec::new(),
            bars: Some(Bars {
                before: on_scale(sides[0]),
                after: on_scale(sides[1]),
                paint: change,
            }),
        };
        if let Some(frame) = one {
            drawn.label.clone_from(&frame.name);
            (drawn.paint, drawn.hatched) = match frame.verdict.filter(|v| is_tested(Some(v))) {
                None => (Paint::Untested, false),
                Some(verdict) => (change, !is_significant(verdict)),
            };
            drawn.edge = match frame.sides {
                _ if item.x1 - item.x0 < EDGED_MIN => Edge::Plain,
                [None, Some(_)] => Edge::Solid,
                [Some(_), None] => Edge::Dashed,
                [_, _] => Edge::Plain,
            };
            drawn.tip = tell.frame(frame);
        } else if let Content::Block(block) = &item.content {
            let paths = block.iter().map(|&place| laid.paths[place]).sum();
            drawn.label = number::count(paths, "path", "paths");
            drawn.tip = tell.sides(sides);
        }
        picture.boxes.push(drawn);
    }
    let mut notes = options.notes.clone();
    if !tested {
        notes.push("not tested: verdicts need several runs per side".to_owned());
    }
    if picture.boxes.iter().any(|drawn| drawn.merged) {
        notes.push(merged_note("paths", laid.narrowest, layout.narrowest.max(PIXEL)));
    }
    picture.end(notes);
    picture
}

/// Whether a comparison had enough to judge a path by.
fn is_tested(verdict: Option<&str>) -> bool {
    verdict.is_some_and(|verdict| verdict != "not-tested")
}

/// Whether a verdict claims a change.
fn is_significant(verdict: &str) -> bool {
    matches!(verdict, "regressed" | "improved" | "new" | "gone")
}

fn change_of([before, after]: [u64; 2]) -> Paint {
    match (before, after) {
        (0, 0) => Paint::Change(0),
        (0, _) => Paint::Change(STEPS),
        (before, after) => Paint::of_ratio(after as f64 / before as f64),
    }
}

/// `+12.34%`.
fn relative([before, after]: [u64; 2]) -> String {
    match (before, after) {
        (0, 0) => "unchanged".to_owned(),
        (0, _) => "new".to_owned(),
        (_, 0) => "gone".to_owned(),
        (before, after) => {
            let percent = (after as f64 - before as f64) / before as f64 * 100.0;
            format!("{percent:+.2}%")
        }
    }
}

/// Tooltips.
struct Tell {
    words: Words,
    /// What all paths of either side take up.
    totals: [u64; 2],
}

impl Tell {
    fn frame(&self, frame: &PairedFrame) -> Vec<String> {
        let mut tip = Vec::new();
        if let Some(old) = &frame.renamed_from {
            tip.push(format!("before: called {old}"));
        }
        match frame.sides {
            [None, Some(_)] => tip.push("new: path only in after".to_owned()),
            [Some(_), None] => tip.push("gone: path only in before".to_owned()),
            [_, _] => {}
        }
        tip.extend(self.sides(frame.widths));
        let of = |side: Option<PathCost>, what: fn(&PathCost) -> u64| side.as_ref().map_or(0, what);
        let [before, after] = frame.sides;
        let net = |side| self.words.length(Ticks(of(side, |cost| cost.net)));
        tip.push(format!("net: {} before, {} after", net(before), net(after)));
        let calls = |side| of(side, |cost| cost.calls);
        tip.push(format!("calls: {} before, {} after", calls(before), calls(after)));
        tip.push(match frame.verdict {
            None | Some("not-tested") => "not tested".to_owned(),
            Some(verdict) => format!("verdict: {verdict}"),
        });
        tip
    }

    /// Each side's time with its share of that side's total, then the change in all three ways.
    fn sides(&self, sides: [u64; 2]) -> Vec<String> {
        let share = |side: usize| match self.totals[side] {
            0 => 0.0,
            total => sides[side] as f64 / total as f64 * 100.0,
        };
        let line = |name: &str, side: usize| {
            let time = self.words.length(Ticks(sides[side]));
            format!("{name}: {time}, {} of all {name}", number::percent(share(side)))
        };
        let change = i128::from(sides[1]) - i128::from(sides[0]);
        let change = i64::try_from(change).unwrap_or(if change < 0 { i64::MIN } else { i64::MAX });
        let Words { timebase, unit } = &self.words;
        vec![
            line("before", 0),
            line("after", 1),
            format!(
                "change: {} {}, relative {}, share {:+.2} points",
                number::change(change, timebase, *unit),
                unit.label(timebase),
                relative(sides),
                share(1) - share(0),
            ),
        ]
    }
}

fn legend(frames: &[PairedFrame], tested: bool) -> Vec<(Sign, &'static str)> {
    let mut legend = vec![(Sign::Before, "before"), (Sign::After, "after")];
    let ends = [(-STEPS, "less than ¼ of it"), (STEPS, "more than 4 times it")];
    legend.push((Sign::Fill(Paint::Change(ends[0].0)), ends[0].1));
    legend.extend(
        [(-3, "¼–½"), (-2, "½–0.8"), (-1, "0.8–0.95")]
            .map(|(step, words)| (Sign::Fill(Paint::Change(step)), words)),
    );
    legend.push((Sign::Fill(Paint::Change(0)), "same within 5%"));
    legend.extend(
        [(1, "1.05–1.25"), (2, "1.25–2"), (3, "2–4")]
            .map(|(step, words)| (Sign::Fill(Paint::Change(step)), words)),
    );
    legend.push((Sign::Fill(Paint::Change(ends[1].0)), ends[1].1));
    legend.push((Sign::Fill(Paint::Untested), "not tested"));
    if tested {
        legend.push((Sign::Hatched(Paint::Change(2)), "tested, not significant"));
    }
    let any = |is: fn(&PairedFrame) -> bool| frames.iter().any(is);
    if any(|frame| frame.sides[0].is_none()) {
        legend.push((Sign::Edged(Paint::Untested, Edge::Solid), "new"));
    }
    if any(|frame| frame.sides[1].is_none()) {
        legend.push((Sign::Edged(Paint::Untested, Edge::Dashed), "gone"));
    }
    legend
}
