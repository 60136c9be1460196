//! `profctl flame`: the trace, or what changed, as a picture.

use std::io;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use profctl_analyze::summarize::{By, NO_DURATIONS, Quality};
use profctl_model::{PathOrder, PathRow, Trace, TraceMeta};
use profctl_render::chart::frames::Frames;
use profctl_render::chart::lanes::Lanes;
use profctl_render::chart::picture::{
    self, ChartOptions, DiffOptions, GraphOptions, PathStep, Picture,
};
use profctl_render::chart::{png, svg};

use super::convert::viewers;
use super::diff;
use super::diff::settings::{Comparing, Settings};
use super::diff::sides::Keep;
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::outputs::{self, Picture as Format};
use crate::runs::no_room;
use crate::spooled::{Limits, Ordered, Spooled};
use crate::{input, output};

pub(crate) mod html;
pub(crate) mod sentence;

const EXAMPLES: &str = "\
Examples:
  profctl flame trace.txt -o graph.html            interactive flame graph
  profctl flame --kind chart --from 1s --until 1.1s trace.txt -o chart.svg
  profctl flame --diff before/ after/ -o diff.html";

/// Draw a flame graph, a flame chart, or what changed
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("of_graphs").multiple(true))]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE", required_unless_present = "diff", conflicts_with = "diff")]
    trace: Option<PathBuf>,
    /// Draw what changed between two traces or directories of runs
    #[arg(
        long,
        num_args = 2,
        value_names = ["BEFORE", "AFTER"],
        conflicts_with_all = ["kind", "of_graphs", "critical_path"]
    )]
    diff: Option<Vec<PathBuf>>,
    /// What to draw [default: graph]
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
    /// Invert: from functions up to their callers
    #[arg(long, group = "of_graphs")]
    reverse: bool,
    /// Draw callers above their callees (the default)
    #[arg(long, conflicts_with = "flame")]
    icicle: bool,
    /// Draw callers below their callees
    #[arg(long)]
    flame: bool,
    /// Draw the graph of each thread separately; a page has a switch for it
    #[arg(long, group = "of_graphs")]
    per_thread: bool,
    /// Mark the critical path in a chart: of a thread, across threads, or of the slowest call of FUNC
    #[arg(
        long,
        value_name = "FUNC",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "of_graphs"
    )]
    critical_path: Option<String>,
    /// Title [default: the name of the trace]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Draw at most N levels; the last row counts deeper calls. A page draws all
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// Merge boxes narrower than this. A page follows its zoom
    #[arg(long, value_name = "PIXELS", default_value = "1", value_parser = hundredths)]
    min_width: u64,
    #[command(flatten)]
    comparing: Comparing,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Calls in time order, a lane per thread
    Chart,
    /// Calls merged by path
    Graph,
}

impl Args {
    /// What to draw. A critical path is one of calls in time order.
    fn kind(&self) -> Result<Kind, Failure> {
        let is_of_graphs = self.reverse || self.per_thread;
        match self.kind {
            Some(Kind::Graph) if self.critical_path.is_some() => {
                Err(Failure::usage("--critical-path is for --kind chart"))
            }
            Some(Kind::Chart) if is_of_graphs => {
                Err(Failure::usage("--reverse and --per-thread are for --kind graph"))
            }
            None if self.critical_path.is_some() => Ok(Kind::Chart),
            kind => Ok(kind.unwrap_or(Kind::Graph)),
        }
    }
}

/// What a picture is drawn on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paper {
    Svg,
    Png,
}

impl Paper {
    /// Maximum number of boxes: browsers are slow with more SVG elements.
    fn budget(self, elements_per_box: usize) -> usize {
        match self {
            Self::Svg => 16_000 / elements_per_box,
            Self::Png => 200_000,
        }
    }
}

/// Pixels from left to right, unless `--width` says otherwise.
const WIDTH: usize = 1200;
const WIDTH_MIN: usize = 300;
const WIDTH_MAX: usize = 20_000;

/// Parses a number of pixels, as hundredths.
fn hundredths(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(pixels) if (1.0..=1000.0).contains(&pixels) => Ok((pixels * 100.0).round() as u64),
        _ => Err("expected from 1 to 1000 pixels".into()),
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let picture = global.chosen.and_then(|chosen| chosen.picture);
    let (bytes, exit) = match picture.expect("it was chosen among the pictures") {
        Format::Folded => return folded(args, global),
        Format::Html => {
            let (page, exit) = html::page(args, global)?;
            (page.into_bytes(), exit)
        }
        Format::Svg => drawn(args, Paper::Svg, global)?,
        Format::Png => drawn(args, Paper::Png, global)?,
    };
    output::write_bytes(&bytes, global)?;
    Ok(exit)
}

/// The trace of a command that has no `--diff`.
fn trace_of(args: &Args) -> Result<&Path, Failure> {
    args.trace.as_deref().ok_or_else(|| Failure::usage("no trace given"))
}

fn drawn(args: &Args, paper: Paper, global: &Global) -> Result<(Vec<u8>, Exit), Failure> {
    let width = width(global)?;
    let (picture, exit) = match &args.diff {
        Some(sides) => compared([&sides[0], &sides[1]], args, paper, width, global)?,
        None => traced(trace_of(args)?, args, paper, width, global)?,
    };
    let bytes = match paper {
        Paper::Svg => svg::write(&picture).into_bytes(),
        Paper::Png => png::write(&picture).map_err(Failure::usage)?,
    };
    Ok((bytes, exit))
}

fn folded(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let is_other = args.diff.is_some() || args.reverse || args.per_thread;
    if is_other || args.kind()? == Kind::Chart {
        return Err(Failure::usage(
            "a .folded file holds merged paths: --diff, --kind chart, --critical-path, --reverse \
             and --per-thread have no effect on it",
        ));
    }
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let spooled = Spooled::read(trace_of(args)?, &mut session, Limits::default())?;
    fits_trace(spooled.meta())?;
    let target = outputs::target("folded").expect("it is one of the exports");
    viewers::write(spooled, &target.writer, global)?;
    session.say_quality();
    Ok(session.exit())
}

fn width(global: &Global) -> Result<u32, Failure> {
    let width = global.width.unwrap_or(WIDTH);
    if !(WIDTH_MIN..=WIDTH_MAX).contains(&width) {
        let message = format!("--width {width}, expected from {WIDTH_MIN} to {WIDTH_MAX} pixels");
        return Err(Failure::usage(message));
    }
    Ok(width as u32)
}

fn traced(
    path: &Path,
    args: &Args,
    paper: Paper,
    width: u32,
    global: &Global,
) -> Result<(Picture, Exit), Failure> {
    let kind = args.kind()?;
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let title = args.title.clone().unwrap_or_else(|| input::short_name(path));
    let notes = |meta: &TraceMeta| Quality::of(&meta.diags).notes(meta.timebase.timeline);
    let picture = match kind {
        Kind::Chart => {
            let trace = session.load(path)?;
            fits_trace(&trace.meta)?;
            let steps = steps(&trace, args)?;
            let options = ChartOptions {
                title,
                width,
                levels: args.depth,
                narrowest: args.min_width,
                budget: paper.budget(4),
                unit: global.unit,
                upward: args.flame,
                notes: notes(&trace.meta),
            };
            picture::chart(&trace, &Lanes::of(&trace), &steps, &options)
        }
        Kind::Graph => {
            let spooled = Spooled::read(path, &mut session, Limits::default())?;
            fits_trace(spooled.meta())?;
            let trace = spooled.paths(PathOrder::by_name, args.per_thread)?;
            let options = GraphOptions {
                title,
                width,
                levels: args.depth,
                narrowest: args.min_width,
                budget: paper.budget(4),
                unit: global.unit,
                upward: args.flame,
                turned: args.reverse,
                notes: notes(&trace.about.meta),
            };
            graph(trace, &options)?
        }
    };
    session.say_quality();
    Ok((picture, session.exit()))
}

/// Whether there is anything to draw.
fn fits_trace(meta: &TraceMeta) -> Result<(), Failure> {
    if meta.knows_lengths() {
        return Ok(());
    }
    Err(Failure::usage(format!("{NO_DURATIONS}, so that there is nothing to draw; see `tree`")))
}

fn graph(
    trace: Ordered<impl Iterator<Item = io::Result<PathRow>>>,
    options: &GraphOptions,
) -> Result<Picture, Failure> {
    let Ordered { mut rows, about } = trace;
    // Turned around, what is narrow may be part of something wide.
    let visible = (!options.turned).then(|| options.visible(about.net));
    let frames = Frames::of(&mut rows, &about.names, visible).map_err(|error| no_room(&error))?;
    let frames = if options.turned { frames.turned() } else { frames };
    Ok(picture::graph(&frames, &about.meta.timebase, options))
}

fn steps(trace: &Trace, args: &Args) -> Result<Vec<PathStep>, Failure> {
    let Some(of) = &args.critical_path else { return Ok(Vec::new()) };
    let of = Some(of).filter(|name| !name.is_empty()).cloned();
    let thread = args.selection.thread.first().cloned();
    html::path(trace, of, thread).map_err(Failure::usage)
}

fn compared(
    sides: [&PathBuf; 2],
    args: &Args,
    paper: Paper,
    width: u32,
    global: &Global,
) -> Result<(Picture, Exit), Failure> {
    let settings = Settings::of(&args.comparing)?;
    let keep = Keep::default();
    let (comparison, paths) =
        diff::with_paths(sides, &settings, &args.reading, &args.selection, keep, global)?;
    let mut names = sides.map(|side| input::short_name(side));
    if names[0] == names[1] {
        names = sides.map(|side| side.display().to_string());
    }
    let options = DiffOptions {
        title: args.title.clone().unwrap_or_else(|| format!("{} → {}", names[0], names[1])),
        sides: names,
        width,
        levels: args.depth,
        narrowest: args.min_width,
        budget: paper.budget(7),
        unit: global.unit,
        upward: args.flame,
        notes: comparison.notes_for_paths(),
    };
    let picture = picture::diff(&paths.tree, &paths.timebase, &options);
    Ok((picture, diff::verdict(&comparison, &args.reading, global)))
}
