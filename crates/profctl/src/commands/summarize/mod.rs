//! `profctl summarize`: the flat profile.

use std::path::{Path, PathBuf};

use profctl_analyze::summarize::{By, Matching, Options, Profile, SavedRun, Summary, TableOptions};
use profctl_render::table::Format;

use self::batch::Batch;
use super::diff::sides::block;
use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::input::session::{Item, ItemContent, Read, Session};
use crate::spooled::{Calls, Waiting};
use crate::{output, read};

mod batch;

const EXAMPLES: &str = "\
Examples:
  profctl summarize trace.txt                      flat profile, by net time
  profctl summarize --by thread --top 10 trace.dat
  profctl summarize -o base.profile.json runs/     save the profile of several runs";

/// Show calls, elapsed and net time per function
///
/// `--format json` writes a saved profile, which other commands read back; it holds all columns and
/// rows, whatever `--sort`, `--top` and `--columns` say. `--match`, `--exclude` and `--module` select
/// rows; percentages stay those of all functions.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "profctl summarize [OPTIONS] <TRACE>...")]
pub(crate) struct Args {
    /// Traces, directories of runs, saved profiles, `-`; several are merged
    #[arg(value_name = "TRACE", required_unless_present = "batch")]
    traces: Vec<PathBuf>,
    /// Group rows by
    #[arg(long, value_name = "WHAT", default_value = "function")]
    by: Grouped,
    /// Sort by this column
    #[arg(long, value_name = "COLUMN", default_value = "net")]
    sort: String,
    /// Show at most N rows
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Columns to show, by name
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Percentiles of net and elapsed per call to show: `50,99`; `none` saves a quarter of the time
    #[arg(long, value_name = "PERCENTS", value_parser = percentiles)]
    percentiles: Option<Percentiles>,
    /// Cost of one probe event; adds columns with corrected times
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    overhead: Option<Length>,
    /// Also save call paths, for `flame --diff` and `report`
    #[arg(long)]
    paths: bool,
    /// Write a part for `merge --runs`: keep the run even if it is the only one, and accept a
    /// selection that matches nothing in it
    #[arg(long, hide_short_help = true)]
    part: bool,
    /// Block of the runs, such as a boot or a host [default: their subdirectory]
    #[arg(long, value_name = "NAME", requires = "part", hide_short_help = true)]
    block: Option<String>,
    /// Write a part of the traces that standard input names, one JSON object per line
    ///
    /// `{"read": {"path": "a.txt", "block": null}}` reads a trace and is answered by a line on
    /// standard output, `{"exit_code": 0, "message": ""}`. `{"drop": {}}` leaves the last trace
    /// out. At the end of standard input the profile follows, unless no trace was read. It keeps
    /// the runs, as that of `summarize`, or only their total, as that of `merge`.
    #[arg(
        long,
        value_name = "WHAT",
        conflicts_with_all = ["traces", "part", "block", "paths"],
        hide_short_help = true
    )]
    batch: Option<Batch>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

/// What a row is.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(super) enum Grouped {
    Function,
    Module,
    Thread,
    Cpu,
    Kind,
}

impl From<Grouped> for By {
    fn from(grouped: Grouped) -> Self {
        match grouped {
            Grouped::Function => Self::Function,
            Grouped::Module => Self::Module,
            Grouped::Thread => Self::Thread,
            Grouped::Cpu => Self::Cpu,
            Grouped::Kind => Self::Kind,
        }
    }
}

/// Each above 0 and at most 100; empty for `none`.
#[derive(Clone, Debug)]
struct Percentiles(Vec<f64>);

fn percentiles(text: &str) -> Result<Percentiles, String> {
    if text == "none" {
        return Ok(Percentiles(Vec::new()));
    }
    let one = |part: &str| match part.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err(format!("`{part}` is not a percentile: expected above 0 to 100, or none")),
    };
    text.split(',').map(one).collect::<Result<_, _>>().map(Percentiles)
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    if args.part && global.format() != Format::Json {
        return Err(Failure::usage("--part has no effect: it is for --format json"));
    }
    if args.batch.is_some() && global.format() != Format::Json {
        return Err(Failure::usage("--batch has no effect: it is for --format json"));
    }
    if args.paths && global.format() != Format::Json {
        return Err(Failure::usage("--paths has no effect: it is for --format json"));
    }
    if args.paths && (By::from(args.by) != By::Function || args.selection.selects_functions()) {
        let message = "--paths keeps all functions: omit --by, --match, --exclude and --module";
        return Err(Failure::usage(message));
    }
    let mut session = Session::new(&args.reading, &args.selection, args.by.into(), global)?;
    let selects_rows = By::from(args.by) == By::Function;
    if selects_rows {
        session = session.selecting_rows();
    }
    if let Some(batch) = args.batch {
        return batch::run(batch, args, &mut session, global);
    }
    let mut profile = profile(args, &mut session, global)?;
    let selects = |name: &str, module: Option<&str>| args.selection.takes_function(name, module);
    let overhead = args.overhead.map(|length| length.ticks(&profile.timebase, "--overhead"));
    let options = TableOptions {
        sort: args.sort.clone(),
        top: args.top,
        matching: selects_rows.then_some(&selects as &Matching<'_>),
        columns: args.columns.clone(),
        percentiles: args.percentiles.clone().map_or_else(Vec::new, |percentiles| percentiles.0),
        overhead: overhead.transpose()?,
    };
    match global.format() {
        Format::Json => write_profile(&mut profile, args, global)?,
        Format::Table | Format::Csv | Format::Markdown | Format::Parquet => {
            output::write_table(&profile.table(&options).map_err(Failure::usage)?, global)?;
        }
    }
    Ok(read::verdict(&profile.quality, &args.reading, global))
}

/// Writes a profile of the rows that are selected.
fn write_profile(profile: &mut Profile, args: &Args, global: &Global) -> Result<(), Failure> {
    let selection = &args.selection;
    if By::from(args.by) == By::Function && selection.selects_functions() {
        profile.retain(&|row| selection.takes_function(&row.name, row.module.as_deref()));
    }
    output::write_bytes(profile.to_json().as_bytes(), global)
}

/// What an input is read into.
type Sink = (Summary, Option<Calls>);

fn options(args: &Args, global: &Global) -> Options {
    Options {
        percentiles: needs_histograms(args, global),
        by: args.by.into(),
        call_graph: global.format() == Format::Json,
    }
}

/// Everything that was given, merged.
fn profile(args: &Args, session: &mut Session<'_>, global: &Global) -> Result<Profile, Failure> {
    let options = options(args, global);
    // What a saved profile keeps of each run would grow with the runs in the other outputs.
    let keeps_runs = global.format() == Format::Json;
    let mut runs: Vec<SavedRun> = Vec::new();
    let mut merged: Option<Profile> = None;
    let waiting = args.paths.then(Waiting::default);
    session.each_of_some(
        &args.traces,
        || (Summary::new(options), waiting.as_ref().map(Waiting::calls)),
        |item| {
            if keeps_runs {
                let block = |name: &str| {
                    args.block.clone().or_else(|| block(&args.traces, Path::new(name)))
                };
                runs.extend(runs_of(item, block)?);
                return Ok(());
            }
            let (one, _) = finished(item.content)?;
            let Some(merged) = &mut merged else {
                merged = Some(one);
                return Ok(());
            };
            merged.merge(one).map_err(|message| Failure::input(item.name, message))
        },
    )?;
    if !args.part {
        session.check()?;
    }
    if keeps_runs {
        let sum = Profile::of_runs(runs).map_err(Failure::usage)?;
        return Ok(if args.part { sum } else { sum.without_single_run() });
    }
    Ok(merged.expect("clap asks for a trace, and each input gave a profile or an error"))
}

/// The profile of an input, and what its head says.
fn finished(content: ItemContent<Sink>) -> Result<(Profile, Vec<(String, String)>), Failure> {
    match content {
        ItemContent::Profile(profile) => Ok((*profile, Vec::new())),
        ItemContent::Trace(read) => {
            let (source, facts) = (read.source(), read.facts());
            let Read { sink: (summary, calls), names, meta, .. } = *read;
            let mut profile = summary.finish(&names, &meta, source);
            profile.paths = calls.map(|calls| calls.run_paths(&names, &meta)).transpose()?;
            Ok((profile, facts))
        }
    }
}

/// The runs of an input; `block` is asked for the block of one that has none.
fn runs_of(
    item: Item<Sink>,
    block: impl Fn(&str) -> Option<String>,
) -> Result<impl Iterator<Item = SavedRun>, Failure> {
    let name = item.name;
    let (one, facts) = finished(item.content)?;
    Ok(one.into_runs(&name).into_iter().map(move |run| SavedRun {
        block: run.block.or_else(|| block(&name)),
        facts: if run.facts.is_empty() { facts.clone() } else { run.facts },
        ..run
    }))
}

/// Histograms cost a quarter of the time: they are collected if a percentile will be shown, or
/// saved.
fn needs_histograms(args: &Args, global: &Global) -> bool {
    if let Some(Percentiles(asked)) = &args.percentiles {
        return !asked.is_empty();
    }
    let is_percentile = |name: &String| {
        name.starts_with("elapsed_p") || name.starts_with("net_p") && name != "net_pct"
    };
    global.format() == Format::Json
        || is_percentile(&args.sort)
        || args.columns.iter().flatten().any(is_percentile)
}
