//! `profctl flame`: the trace, or what changed, as a picture.

use std::path::{Path, PathBuf};

use profctl_analyze::critpath::{self, Which};
use profctl_analyze::summarize::{By, Quality};
use profctl_model::{Trace, TraceMeta};
use profctl_render::chart::frames::Frames;
use profctl_render::chart::lanes::Lanes;
use profctl_render::chart::picture::{
    self, ChartOptions, DiffOptions, GraphOptions, PathStep, Picture,
};
use profctl_render::chart::{png, svg};

use super::diff;
use super::diff::settings::{Comparing, Settings};
use super::diff::sides::Keep;
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::output;
use crate::outputs::Picture as Format;
use crate::spooled::Spooled;

pub(crate) mod html;

const EXAMPLES: &str = "\
Examples:
  profctl flame trace.txt -o graph.html            interactive flame graph
  profctl flame --kind chart --from 1s --until 1.1s trace.txt -o chart.svg
  profctl flame --diff before/ after/ -o diff.html";

/// Draw a flame graph, a flame chart, or what changed
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE", required_unless_present = "diff", conflicts_with = "diff")]
    trace: Option<PathBuf>,
    /// Draw what changed between two traces or directories of runs
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with = "kind")]
    diff: Option<Vec<PathBuf>>,
    /// What to draw
    #[arg(long, value_name = "KIND", default_value = "graph")]
    kind: Kind,
    /// Invert: from functions up to their callers
    #[arg(long)]
    reverse: bool,
    /// Draw callers above their callees (the default)
    #[arg(long, conflicts_with = "flame")]
    icicle: bool,
    /// Draw callers below their callees
    #[arg(long)]
    flame: bool,
    /// Draw the graph of each thread apart; a page has a switch for it
    #[arg(long)]
    per_thread: bool,
    /// Mark the critical path of the longest call, or of the slowest call of FUNC, in a chart
    #[arg(long, value_name = "FUNC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    critical_path: Option<String>,
    /// Title [default: the name of the trace]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Draw at most N levels; the last row counts deeper calls. A page draws all
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// Merge what is narrower than this. A page follows its zoom
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

/// What a picture is drawn on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paper {
    Svg,
    Png,
}

impl Paper {
    /// Boxes at most: a browser opens no more elements of SVG at ease.
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
        Format::Html => {
            let (page, exit) = html::page(args, global)?;
            (page.into_bytes(), exit)
        }
        Format::Svg => drawn(args, Paper::Svg, global)?,
        Format::Png => drawn(args, Paper::Png, global)?,
        Format::Folded => folded(args, global)?,
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

fn folded(args: &Args, global: &Global) -> Result<(Vec<u8>, Exit), Failure> {
    for (is_given, flag) in [
        (args.diff.is_some(), "--diff"),
        (args.kind == Kind::Chart, "--kind chart"),
        (args.critical_path.is_some(), "--critical-path"),
        (args.reverse, "--reverse"),
        (args.per_thread, "--per-thread"),
    ] {
        if is_given {
            let message = format!("{flag} has no effect on a .folded file, which has merged paths");
            return Err(Failure::usage(message));
        }
    }
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let (tree, names, meta) = Spooled::read(trace_of(args)?, &mut session)?.tree()?;
    let mut bytes = Vec::new();
    profctl_render::export::folded::write_tree(&tree, &names, &meta.timebase, &mut bytes)
        .expect("memory takes what is written to it");
    session.say_quality();
    Ok((bytes, session.exit()))
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
    fits_kind(args)?;
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let title = args.title.clone().unwrap_or_else(|| name_of(path));
    let notes = |meta: &TraceMeta| Quality::of(&meta.diags).notes(meta.timebase.timeline);
    let picture = match args.kind {
        Kind::Chart => {
            let trace = session.load(path)?;
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
            let (frames, meta) = frames(Spooled::read(path, &mut session)?, args)?;
            let options = GraphOptions {
                title,
                width,
                levels: args.depth,
                narrowest: args.min_width,
                budget: paper.budget(4),
                unit: global.unit,
                upward: args.flame,
                turned: args.reverse,
                notes: notes(&meta),
            };
            picture::graph(&frames, &meta.timebase, &options)
        }
    };
    Ok((picture, session.exit()))
}

/// Whether every flag means something for the kind of picture.
fn fits_kind(args: &Args) -> Result<(), Failure> {
    let for_graphs = [(args.reverse, "--reverse"), (args.per_thread, "--per-thread")];
    let misplaced = match args.kind {
        Kind::Graph => [(args.critical_path.is_some(), "--critical-path")].to_vec(),
        Kind::Chart => for_graphs.to_vec(),
    };
    if let Some((_, flag)) = misplaced.into_iter().find(|&(is_given, _)| is_given) {
        let other = if args.kind == Kind::Chart { "graph" } else { "chart" };
        return Err(Failure::usage(format!("{flag} is for --kind {other}")));
    }
    Ok(())
}

fn frames(spooled: Spooled, args: &Args) -> Result<(Frames, TraceMeta), Failure> {
    let (frames, meta) = if args.per_thread {
        let (trees, names, meta) = spooled.trees()?;
        let label = |thread| names.threads[thread].label();
        let trees: Vec<_> = trees.into_iter().map(|(thread, tree)| (label(thread), tree)).collect();
        (Frames::by_thread(&trees, &names), meta)
    } else {
        let (tree, names, meta) = spooled.tree()?;
        (Frames::of(&tree, &names), meta)
    };
    Ok((if args.reverse { frames.turned() } else { frames }, meta))
}

fn steps(trace: &Trace, args: &Args) -> Result<Vec<PathStep>, Failure> {
    let Some(of) = &args.critical_path else { return Ok(Vec::new()) };
    let of = Some(of).filter(|name| !name.is_empty()).cloned();
    let options = critpath::Options { of, which: Which::Slowest, thread: None, at: None };
    let steps = critpath::steps(trace, &options).map_err(Failure::usage)?;
    let step =
        |step: critpath::Step| PathStep { call: step.call, start: step.start, end: step.end };
    Ok(steps.into_iter().map(step).collect())
}

/// Whether every flag means something for a comparison.
fn fits_comparison(args: &Args) -> Result<(), Failure> {
    for (is_given, flag) in [
        (args.reverse, "--reverse"),
        (args.per_thread, "--per-thread"),
        (args.critical_path.is_some(), "--critical-path"),
    ] {
        if is_given {
            return Err(Failure::usage(format!("{flag} is for one trace, not for --diff")));
        }
    }
    Ok(())
}

fn compared(
    sides: [&PathBuf; 2],
    args: &Args,
    paper: Paper,
    width: u32,
    global: &Global,
) -> Result<(Picture, Exit), Failure> {
    fits_comparison(args)?;
    let settings = Settings::of(&args.comparing)?;
    let keep = Keep::default();
    let (comparison, paths) =
        diff::with_paths(sides, &settings, &args.reading, &args.selection, keep, global)?;
    let mut names = sides.map(|side| name_of(side));
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

/// The last part of a path, as people call the file.
fn name_of(path: &Path) -> String {
    match path.file_name() {
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(name) => name.display().to_string(),
        None => path.display().to_string(),
    }
}
