//! `profctl history`: what became of each function over many builds.

use std::path::PathBuf;

use profctl_analyze::diff::Measure;
use profctl_analyze::history::Options;
use profctl_render::table::Format;

use super::builds::{self, Builds, Order};
use super::diff::ROWS_SHOWN;
use super::diff::settings;
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

mod page;

const EXAMPLES: &str = "\
Examples:
  profctl history builds/                          a folder per build, in the order of names
  profctl history --order git -o history.html builds/
  profctl history v1/ v2/ v3.profile.json          builds in this order";

/// Find the builds at which functions became slower or faster
///
/// A build is a directory of runs or a saved profile. Change points are found by E-divisive with a
/// permutation test, then confirmed between the builds before and after by the test of `diff`, with
/// builds as blocks. A file `build.toml` in a build may name its commit, date and config.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Builds in order, or one directory of builds
    #[arg(value_name = "BUILD", required = true)]
    builds: Vec<PathBuf>,
    /// Order of the builds in a directory
    #[arg(long, value_name = "ORDER", default_value = "name")]
    order: Order,
    /// Smallest change to report, `2%` or `1.02x` [default: 2%]
    #[arg(long, visible_alias = "margin", value_name = "CHANGE", value_parser = settings::margin)]
    max_regression: Option<f64>,
    /// Measures to look at [default: net,total,elapsed]
    #[arg(
        long,
        value_name = "MEASURES",
        value_delimiter = ',',
        value_parser = settings::measure,
        hide_short_help = true
    )]
    measure: Option<Vec<Measure>>,
    /// Look only at functions with at least N calls per run [default: 5]
    #[arg(long, value_name = "N", value_parser = settings::calls, hide_short_help = true)]
    min_calls: Option<f64>,
    /// Show at most N changes [default: 15; JSON, CSV and HTML: all]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let places = builds::find(&args.builds, args.order)?;
    let Builds { history, timebase, qualities } =
        builds::read(places, &args.reading, &args.selection, global)?;
    let mut options = Options::default();
    options.stats.margin = args.max_regression.unwrap_or(options.stats.margin);
    options.calls_min = args.min_calls.unwrap_or(options.calls_min);
    if let Some(measures) = &args.measure {
        options.measures.clone_from(measures);
    }
    let found = history.find(&options);
    if global.writes_page() {
        let page = page::written(history, &found, timebase, args.top, global);
        output::write_bytes(page.as_bytes(), global)?;
        return Ok(read::exit_after(&qualities, &args.reading, global));
    }
    match global.format() {
        Format::Json => output::write_bytes(found.to_json().as_bytes(), global)?,
        Format::Table | Format::Markdown => {
            let top = Some(args.top.unwrap_or(ROWS_SHOWN));
            output::write_table(&found.table(timebase, top), global)?;
        }
        Format::Csv | Format::Parquet => {
            output::write_table(&found.table(timebase, args.top), global)?;
        }
    }
    Ok(read::exit_after(&qualities, &args.reading, global))
}
