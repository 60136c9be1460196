//! `profctl report`: everything about a trace, or about what changed, on one page.

use std::path::PathBuf;

use crate::args::{Global, Reading, Selection};
use crate::commands::diff::settings::Comparing;
use crate::exit::{Exit, Failure};

mod comparison;
mod single;

const EXAMPLES: &str = "\
Examples:
  profctl report trace.txt -o report.html
  profctl report before/ after/ -o changes.html
  profctl report base.profile.json -o base.html";

/// Write a report of a trace or a comparison as one HTML page
///
/// The page of a trace has totals and quality, a table of functions to sort and filter, histograms
/// of call times, a flame graph and chart, and the critical path. The page of a comparison has the
/// verdict of the gate, the quality of both sides, the table of changes, histograms before and
/// after, and a differential flame graph. It needs no network. For a saved profile or a directory
/// of runs, the page says what is omitted.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, saved profile, directory of runs, or `-`; with AFTER, the baseline
    #[arg(value_name = "TRACE|BEFORE")]
    trace: PathBuf,
    /// What to compare with the baseline
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,
    #[command(flatten)]
    comparing: Comparing,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    match &args.after {
        Some(after) => comparison::run(args, after, global),
        None => single::run(args, global),
    }
}
