//! `profctl diff`: what changed between two builds.

use std::path::PathBuf;

use profctl_analyze::diff::{
    Comparison, Options, PathComparison, Rule, Shown, compact, compare, compare_with_paths, paths,
};
use profctl_render::comparison;
use profctl_render::table::Format;

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read, style};

const EXAMPLES: &str = "\
Examples:
  profctl diff before.txt after.txt                two traces
  profctl diff before/ after/                      runs per side, with verdicts
  profctl diff --paths --depth 6 before/ after/    by call path
  profctl diff --compact base/ one/ other/         several sides after";

pub(crate) mod names;
pub(crate) mod settings;
pub(crate) mod sides;

use names::SideNames;
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
    /// What to compare with it; several are shown next to each other, a line per function
    #[arg(value_name = "AFTER", required = true)]
    after: Vec<PathBuf>,
    /// A line per function: before, after, change, p and number of runs
    #[arg(long, conflicts_with_all = ["paths", "tails", "all"])]
    compact: bool,
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
    names: SideNames,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

/// Default number of rows per section.
pub(crate) const ROWS_SHOWN: usize = 15;

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.comparing)?;
    let [after] = args.after.as_slice() else { return side_by_side(args, &settings, global) };
    if args.compact {
        return side_by_side(args, &settings, global);
    }
    let sides = [&args.before, after];
    if args.paths {
        args.names.refuse("with --paths")?;
        let both =
            with_paths(sides, &settings, &args.reading, &args.selection, Keep::default(), global)?;
        return write_paths(args, &both.0, &both.1, global);
    }
    let keep = Keep { histograms: args.tails, ..Keep::default() };
    let exclude = &args.comparing.exclude_run;
    let mut comparison =
        of_functions(sides, &settings, &args.reading, &args.selection, keep, exclude, global)?;
    args.names.apply([&mut comparison.before.name, &mut comparison.after.name]);
    let shown = Shown { top: args.top, matching: None, all: args.all, tails: args.tails };
    let for_people = Shown { top: Some(args.top.unwrap_or(ROWS_SHOWN)), ..shown };
    match global.format() {
        Format::Table => {
            let text = comparison::terminal(&comparison.report(&for_people), &style::of(global));
            output::write_bytes(text.as_bytes(), global)?;
        }
        Format::Markdown => {
            let text = comparison::markdown(&comparison.report(&for_people), &style::of(global));
            output::write_bytes(text.as_bytes(), global)?;
        }
        Format::Json => output::write_bytes(comparison.to_json().as_bytes(), global)?,
        Format::Csv | Format::Parquet => output::write_table(&comparison.table(&shown), global)?,
    }
    Ok(verdict(&comparison, &args.reading, global))
}

/// Compares each side after with the same side before, and writes one table of all.
fn side_by_side(args: &Args, settings: &Settings, global: &Global) -> Result<Exit, Failure> {
    if args.paths || args.tails || args.all {
        return Err(Failure::usage("several sides after are shown a line per function only"));
    }
    if args.after.len() > 1 {
        args.names.refuse_after("on several sides after")?;
    }
    let (keep, exclude) = (Keep::default(), &args.comparing.exclude_run);
    let mut comparisons = Vec::new();
    for after in &args.after {
        let sides = [&args.before, after];
        let (reading, selection) = (&args.reading, &args.selection);
        let mut one = of_functions(sides, settings, reading, selection, keep, exclude, global)?;
        args.names.apply([&mut one.before.name, &mut one.after.name]);
        comparisons.push(one);
    }
    let people = global.format() == Format::Table;
    let top = args.top.or(people.then_some(ROWS_SHOWN));
    let shown = Shown { top, ..Shown::default() };
    let mut table = compact(&comparisons, settings.first_measure(), &shown);
    for comparison in &comparisons {
        let name = &comparison.after.name;
        table.notes.extend(
            comparison
                .notes()
                .into_iter()
                .map(|note| if comparisons.len() == 1 { note } else { format!("{name}: {note}") }),
        );
    }
    output::write_table(&table, global)?;
    Ok(verdict_of_all(&comparisons, &args.reading, global))
}

/// How to end: `--strict` rejects an incomplete side.
pub(crate) fn verdict(comparison: &Comparison, reading: &Reading, global: &Global) -> Exit {
    verdict_of_all(std::slice::from_ref(comparison), reading, global)
}

fn verdict_of_all(comparisons: &[Comparison], reading: &Reading, global: &Global) -> Exit {
    // All of them have the same side before.
    let before = comparisons.iter().take(1).map(|comparison| &comparison.before);
    let sides = before.chain(comparisons.iter().map(|comparison| &comparison.after));
    let incomplete: Vec<_> =
        sides.map(|side| &side.profile.quality).filter(|quality| !quality.is_complete()).collect();
    let Some((last, others)) = incomplete.split_last() else { return Exit::Done };
    for quality in others.iter().filter(|_| read::lacks_notes(global)) {
        read::say_damage(quality, global);
    }
    read::verdict(last, reading, global)
}

/// Reads two sides and compares them by function, without the runs of the names in `exclude`.
pub(crate) fn of_functions(
    sides: [&PathBuf; 2],
    settings: &Settings,
    reading: &Reading,
    selection: &Selection,
    keep: Keep,
    exclude: &[String],
    global: &Global,
) -> Result<Comparison, Failure> {
    let mut both = sides::read(sides, reading, selection, keep, global)?;
    sides::exclude(&mut both, exclude)?;
    let [before, after] = both;
    let after_name = after.name.clone();
    let rules = settings.rules();
    let rules: Vec<&Rule<'_>> = rules.iter().map(|rule| rule as &Rule<'_>).collect();
    let margins = |name: &str| settings.margin_of(name);
    let options = Options { margins: Some(&margins), ..settings.options(rules) };
    compare(before, after, &options).map_err(|message| Failure::input(after_name, message))
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
            let compared = comparison.report_on_paths(paths);
            let text = comparison::paths(&compared, &table, global.format(), &style::of(global));
            output::write_bytes(text.as_bytes(), global)?;
        }
        Format::Json | Format::Csv | Format::Parquet => output::write_table(&table, global)?,
    }
    Ok(verdict(comparison, &args.reading, global))
}
