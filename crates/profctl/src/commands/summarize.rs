//! `profctl summarize`: the flat profile.

use std::path::PathBuf;

use profctl_analyze::summarize::{By, Options, Profile, Source, Summary, TableOptions};
use profctl_import::Only;
use profctl_render::table::Format;
use regex::Regex;

use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::input::{Content, Inputs};
use crate::{output, read};

/// Show where the time went: calls, elapsed and net time of each function
///
/// With `--format json` it writes the whole profile, to be read back later; what to show of it
/// (`--sort`, `--top`, `--match`, `--columns`) matters to the other outputs only.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, directories of runs, saved profiles, `-`: all are merged
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// What a row is
    #[arg(long, value_name = "WHAT", default_value = "function")]
    by: Grouped,
    /// The column to sort by
    #[arg(long, value_name = "COLUMN", default_value = "net")]
    sort: String,
    /// At most that many rows
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Only rows whose name matches
    #[arg(long = "match", value_name = "REGEX")]
    matching: Option<Regex>,
    /// The columns to show, by name
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Percentiles of net per call to show; `none` keeps them out of JSON, too
    #[arg(long, value_name = "PERCENTS", value_parser = percentiles)]
    percentiles: Option<Percentiles>,
    /// What recording one event cost: shows times corrected by it beside the raw ones
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    overhead: Option<Length>,
    /// Only calls that ended on this CPU; may be repeated
    #[arg(long, value_name = "NUMBER", help_heading = "Selection")]
    cpu: Vec<u32>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Grouped {
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
        _ => Err(format!("'{part}' is no percentile, expected above 0 to 100, or none")),
    };
    text.split(',').map(one).collect::<Result<_, _>>().map(Percentiles)
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let profile = profile(args, global)?;
    let matches = args.matching.as_ref().map(|regex| |name: &str| regex.is_match(name));
    let overhead = args.overhead.map(|length| length.ticks(&profile.timebase, "--overhead"));
    let options = TableOptions {
        sort: args.sort.clone(),
        top: args.top,
        matching: matches.as_ref().map(|matches| matches as &dyn Fn(&str) -> bool),
        columns: args.columns.clone(),
        percentiles: args.percentiles.clone().map_or_else(Vec::new, |percentiles| percentiles.0),
        overhead: overhead.transpose()?,
    };
    match global.format {
        Format::Json => output::write_bytes(profile.to_json().as_bytes(), global)?,
        Format::Table | Format::Csv | Format::Markdown | Format::Parquet => {
            output::write_table(&profile.table(&options).map_err(Failure::usage)?, global)?;
        }
    }
    Ok(read::verdict(&profile.quality, &args.reading, global))
}

/// Everything that was given, merged.
fn profile(args: &Args, global: &Global) -> Result<Profile, Failure> {
    let read_options = read::options(&args.reading, &args.selection, args.by.into())?;
    let inputs = Inputs::of(&args.traces)?;
    let mut merged: Option<Profile> = None;
    read::each(&inputs, global, |name, content, progress| {
        let one = match content {
            Content::Profile(bytes) => {
                Profile::from_json(&bytes).map_err(|message| Failure::input(name, message))?
            }
            Content::Trace(input) => {
                let read =
                    profctl_import::stream(&input, &read_options, sink(args, global), &|bytes| {
                        progress.at(bytes);
                    });
                let read = read.map_err(|error| Failure::import(name, &error))?;
                args.selection.fits(&read.meta.timebase)?;
                read::say_origin(&read.origin, read.meta.events, global);
                let source = Source {
                    path: read.origin.name,
                    format: read.origin.format.name.into(),
                    bytes: read.origin.bytes,
                };
                read.sink.inner.finish(&read.names, &read.meta, source)
            }
        };
        let Some(merged) = &mut merged else {
            merged = Some(one);
            return Ok(());
        };
        merged.merge(one).map_err(|message| Failure::input(name, message))
    })?;
    Ok(merged.expect("clap asks for a trace, and each input gave a profile or an error"))
}

fn sink(args: &Args, global: &Global) -> Only<Summary> {
    let options = Options { percentiles: needs_histograms(args, global), by: args.by.into() };
    args.selection.only(Summary::new(options), &args.cpu)
}

/// Histograms cost a quarter of the time: they are collected if a percentile will be shown, or
/// saved.
fn needs_histograms(args: &Args, global: &Global) -> bool {
    if let Some(Percentiles(asked)) = &args.percentiles {
        return !asked.is_empty();
    }
    let is_percentile = |name: &String| name.starts_with("net_p") && name != "net_pct";
    global.format == Format::Json
        || is_percentile(&args.sort)
        || args.columns.iter().flatten().any(is_percentile)
}
