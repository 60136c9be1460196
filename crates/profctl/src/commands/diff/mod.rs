//! `profctl diff`: what changed between two builds.

use std::path::PathBuf;

use profctl_analyze::diff::{
    Comparison, PathComparison, Rule, Shown, compare, compare_with_paths, paths,
};
use profctl_render::table::Format;

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

const EXAMPLES: &str = "\
Examples:
  profctl diff before.txt after.txt                two traces
  profctl diff before/ after/                      runs per side, with verdicts
  profctl diff --paths --depth 6 before/ after/    by call path";

pub(crate) mod settings;
pub(crate) mod sides;
pub(crate) mod text;

use settings::{Comparing, Settings};
use sides::Keep;

/// Compare two builds per function: more calls, or more time per call
///
/// A side is a trace, a saved profile, or a directory of runs, one file per run; subdirectories are
/// blocks (boots, hosts, days). With several runs per side, each function gets a verdict.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Baseline: a trace, a saved profile, or a directory of runs
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// What to compare with it
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Compare call paths instead of functions
    #[arg(long, visible_alias = "tree")]
    paths: bool,
    /// Show at most N rows per section [default: 15; JSON and CSV: all]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Show unchanged and inconclusive functions too
    #[arg(long)]
    all: bool,
    /// Compare 99th percentiles too, run by run
    #[arg(long, conflicts_with = "paths")]
    tails: bool,
    /// Show at most N levels of --paths
    #[arg(long, value_name = "N", requires = "paths")]
    depth: Option<u32>,
    /// Hide paths that changed by less than this share of the total, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 0.1,
        value_parser = settings::percent,
        requires = "paths"
    )]
    min_change: f64,
    #[command(flatten)]
    comparing: Comparing,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

/// Default number of rows per section.
pub(crate) const ROWS_SHOWN: usize = 15;

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.comparing)?;
    let sides = [&args.before, &args.after];
    if args.paths {
        let both =
            with_paths(sides, &settings, &args.reading, &args.selection, Keep::default(), global)?;
        return write_paths(args, &both.0, &both.1, global);
    }
    let rules = settings.rules();
    let rules: Vec<&Rule<'_>> = rules.iter().map(|rule| rule as &Rule<'_>).collect();
    let keep = Keep { histograms: args.tails, ..Keep::default() };
    let [before, after] = sides::read(sides, &args.reading, &args.selection, keep, global)?;
    let comparison = compare(before, after, &settings.options(rules))
        .map_err(|message| Failure::input(args.after.display().to_string(), message))?;
    let shown = Shown { top: args.top, matching: None, all: args.all, tails: args.tails };
    let for_people = Shown { top: Some(args.top.unwrap_or(ROWS_SHOWN)), ..shown };
    match global.format() {
        Format::Table => {
            output::write_bytes(text::table(&comparison, &for_people, global).as_bytes(), global)?;
        }
        Format::Markdown => {
            let text = text::markdown(&comparison, &for_people, global);
            output::write_bytes(text.as_bytes(), global)?;
        }
        Format::Json => output::write_bytes(comparison.to_json().as_bytes(), global)?,
        Format::Csv | Format::Parquet => output::write_table(&comparison.table(&shown), global)?,
    }
    Ok(verdict(&comparison, &args.reading, global))
}

/// The exit code: `--strict` fails on an incomplete side.
pub(crate) fn verdict(comparison: &Comparison, reading: &Reading, global: &Global) -> Exit {
    let sides = [&comparison.before, &comparison.after];
    let incomplete = sides.into_iter().find(|side| !side.profile.quality.is_complete());
    incomplete.map_or(Exit::Done, |side| read::verdict(&side.profile.quality, reading, global))
}

/// Reads two sides once and compares them by function and by call path.
pub(crate) fn with_paths(
    sides: [&PathBuf; 2],
    settings: &Settings,
    reading: &Reading,
    selection: &Selection,
    keep: Keep,
    global: &Global,
) -> Result<(Comparison, PathComparison), Failure> {
    let rules = settings.rules();
    let rules: Vec<&Rule<'_>> = rules.iter().map(|rule| rule as &Rule<'_>).collect();
    let keep = Keep { paths: true, ..keep };
    let [before, after] = sides::read(sides, reading, selection, keep, global)?;
    compare_with_paths(before, after, &settings.options(rules))
        .map_err(|message| Failure::input(sides[1].display().to_string(), message))
}

fn write_paths(
    args: &Args,
    comparison: &Comparison,
    paths: &PathComparison,
    global: &Global,
) -> Result<Exit, Failure> {
    let shown = paths::Shown {
        depth: args.depth,
        share_min: if global.format() == Format::Json { 0.0 } else { args.min_change },
        matching: None,
        top: args.top,
        chances: matches!(global.format(), Format::Json | Format::Csv),
    };
    let mut table = paths.table(&shown);
    table.notes.extend(comparison.notes_for_paths());
    match global.format() {
        Format::Table | Format::Markdown => {
            let text = text::paths(comparison, paths, &table, global);
            output::write_bytes(text.as_bytes(), global)?;
        }
        Format::Json | Format::Csv | Format::Parquet => output::write_table(&table, global)?,
    }
    Ok(verdict(comparison, &args.reading, global))
}
