//! `profctl report`: everything about a trace, or about what changed, on one page.

use std::path::PathBuf;

use crate::args::{Global, Reading, Selection};
use crate::commands::diff::settings::Comparing;
use crate::exit::{Exit, Failure};

mod comparison;
mod single;

/// Write one HTML page that holds a whole report: of a trace, or of what changed between two
///
/// The page of a trace has its totals and quality, a table of functions to sort and filter, how
/// long their calls took, a flame graph and chart and the critical path. The page of a comparison
/// has the gate's verdict, both sides' quality, the table of changes, lengths before and after, and
/// a differential flame graph. It needs no network. A saved profile or a directory of runs gives
/// what there is to show of it, and the page says what is left out.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A trace, a saved profile, a directory of runs, or `-`; or what a comparison starts from
    #[arg(value_name = "TRACE|BEFORE")]
    trace: PathBuf,
    /// What it is compared with
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
