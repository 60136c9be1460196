//! `profctl plot`: distributions, calls over time, changes and sweeps, drawn over axes.

use std::path::PathBuf;

use clap::ValueEnum as _;
use profctl_analyze::diff::Measure;
use profctl_render::number::count;
use profctl_render::plot::{self, Theme};

use super::diff::settings;
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::outputs::Picture as Format;
use crate::{input, output};

pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod lengths;
pub(crate) mod levels;

const EXAMPLES: &str = "\
Examples:
  profctl plot hist vfs_read trace.txt -o read.svg
  profctl plot ecdf vfs_read before/ after/ -o read.png
  profctl plot forest before/ after/ -o changes.svg";

/// Draw distributions, calls over time, changes between builds or a sweep
///
/// hist, ecdf, scatter, runs and history draw one function, named before the traces. forest and runs
/// compare two traces or directories of runs. An SVG follows the color scheme of its viewer.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "profctl plot [OPTIONS] <KIND> [FUNC] <TRACE>...")]
pub(crate) struct Args {
    /// What to draw
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// A function, where the kind draws one; then traces, saved profiles, directories of runs,
    /// builds, or the manifest of a sweep
    #[arg(value_name = "TRACE", required = true)]
    operands: Vec<PathBuf>,
    /// Draw this function, too (ecdf)
    #[arg(long, value_name = "FUNC")]
    function: Vec<String>,
    /// Time of a call: with callees, or its own [default: elapsed]
    #[arg(long, value_name = "TIME")]
    time: Option<Length>,
    /// Color calls by thread or CPU (scatter) [default: thread]
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Draw the N largest changes (forest) [default: 30]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Title [default: what is drawn]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Color scheme [default: that of the viewer; PNG: light]
    #[arg(long, value_name = "THEME")]
    theme: Option<Scheme>,
    /// Change to tolerate, `5%` or `1.05x`, drawn as a band (forest) [default: 5%]
    #[arg(long, visible_alias = "margin", value_name = "CHANGE", value_parser = settings::margin)]
    max_regression: Option<f64>,
    /// Omit the run of that name (forest, runs)
    #[arg(long, value_name = "NAME")]
    exclude_run: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Histogram of the times of a function's calls
    Hist,
    /// Share of a function's calls that are no longer than a time
    Ecdf,
    /// Time of each call against when it began
    Scatter,
    /// Ratio and interval of each function that differs between two sides
    Forest,
    /// A dot per run of two sides
    Runs,
    /// A dot per run over many builds
    History,
    /// Busy, interrupt and idle time of each CPU
    Util,
    /// Factor of each condition, from a manifest of `sweep`
    Sweep,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    /// From entry to exit, without time off the CPU
    Elapsed,
    /// Without callees
    Net,
}

impl Length {
    fn name(self) -> &'static str {
        match self {
            Self::Elapsed => "elapsed time",
            Self::Net => "net time",
        }
    }

    fn measure(self) -> Measure {
        match self {
            Self::Elapsed => Measure::Elapsed,
            Self::Net => Measure::Net,
        }
    }
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// Thread
    Thread,
    /// CPU
    Cpu,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    /// Dark on white
    Light,
    /// Light on dark
    Dark,
}

/// Pixels, unless `--width` says otherwise.
const WIDTH: usize = 900;
const WIDTH_MIN: usize = 300;
const WIDTH_MAX: usize = 8_000;

impl Kind {
    /// As it is named on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn has_function(self) -> bool {
        matches!(self, Self::Hist | Self::Ecdf | Self::Scatter | Self::Runs | Self::History)
    }

    /// How many inputs it takes.
    fn inputs(self) -> (usize, usize) {
        match self {
            Self::Hist | Self::Ecdf => (1, plot::COLORS),
            Self::Scatter | Self::Util | Self::Sweep => (1, 1),
            Self::Forest | Self::Runs => (2, 2),
            Self::History => (1, usize::MAX),
        }
    }
}

/// What is drawn of what.
struct Request<'a> {
    args: &'a Args,
    global: &'a Global,
    /// The functions to draw; none for a kind that draws no single one.
    functions: Vec<String>,
    inputs: &'a [PathBuf],
    length: Length,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let is_svg = global.chosen.and_then(|chosen| chosen.picture) == Some(Format::Svg);
    let request = request(args, global)?;
    let (mut plot, exit) = match args.kind {
        Kind::Hist => lengths::histogram(&request)?,
        Kind::Ecdf => lengths::ecdf(&request)?,
        Kind::Scatter => calls::scatter(&request)?,
        Kind::Util => calls::utilization(&request)?,
        Kind::Forest => changes::forest(&request)?,
        Kind::Sweep => changes::sweep(&request)?,
        Kind::Runs => levels::runs(&request)?,
        Kind::History => levels::history(&request)?,
    };
    if let Some(title) = &args.title {
        plot.title.clone_from(title);
    }
    let width = global.width.unwrap_or(WIDTH);
    if !(WIDTH_MIN..=WIDTH_MAX).contains(&width) {
        let message = format!("--width {width}, expected {WIDTH_MIN} to {WIDTH_MAX} pixels");
        return Err(Failure::usage(message));
    }
    let size = (width as u32, plot::height(&plot, width as u32));
    let theme = args.theme.map(|theme| match theme {
        Scheme::Light => Theme::Light,
        Scheme::Dark => Theme::Dark,
    });
    let bytes = if is_svg {
        plot::svg(&plot, size, theme).map_err(Failure::usage)?.into_bytes()
    } else {
        plot::png(&plot, size, theme.unwrap_or(Theme::Light)).map_err(Failure::usage)?
    };
    output::write_bytes(&bytes, global)?;
    Ok(exit)
}

fn request<'a>(args: &'a Args, global: &'a Global) -> Result<Request<'a>, Failure> {
    let kind = args.kind;
    let refuse = |flag: &str, kinds: &str| {
        let kind = kind.name();
        Err(Failure::usage(format!("{flag} has no effect on {kind}, only on {kinds}")))
    };
    if !args.function.is_empty() && kind != Kind::Ecdf {
        return refuse("--function", "ecdf");
    }
    if args.by.is_some() && kind != Kind::Scatter {
        return refuse("--by", "scatter");
    }
    if args.top.is_some() && kind != Kind::Forest {
        return refuse("--top", "forest");
    }
    if args.time.is_some() && !kind.has_function() {
        return refuse("--time", "hist, ecdf, scatter, runs and history");
    }
    if args.max_regression.is_some() && kind != Kind::Forest {
        return refuse("--max-regression", "forest");
    }
    if !args.exclude_run.is_empty() && !matches!(kind, Kind::Forest | Kind::Runs) {
        return refuse("--exclude-run", "forest and runs");
    }
    let (named, inputs) = args.operands.split_at(usize::from(kind.has_function()));
    let mut functions: Vec<String> =
        named.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    functions.extend(args.function.iter().cloned());
    let (least, most) = kind.inputs();
    if inputs.len() < least {
        let function = if kind.has_function() { "a function and " } else { "" };
        let inputs = match (kind, least) {
            (Kind::Sweep, _) => "a manifest",
            (_, 1) => "a trace",
            _ => "two traces or directories of runs",
        };
        return Err(Failure::usage(format!("{} takes {function}{inputs}", kind.name())));
    }
    if inputs.len() > most {
        let (kind, n) = (kind.name(), inputs.len());
        let message =
            format!("{kind} takes at most {}, found {n}", count(most as u64, "input", "inputs"));
        return Err(Failure::usage(message));
    }
    let length = args.time.unwrap_or(Length::Elapsed);
    Ok(Request { args, global, functions, inputs, length })
}

/// What to call several inputs, all of them differently.
pub(crate) fn names_of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<String> {
    let paths: Vec<&PathBuf> = paths.into_iter().collect();
    let short: Vec<String> = paths.iter().map(|path| input::short_name(path)).collect();
    let mut distinct = short.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() == short.len() {
        return short;
    }
    paths.iter().map(|path| path.display().to_string()).collect()
}
