//! `profctl replay`: the code trace.

use std::path::PathBuf;

use profctl_analyze::replay::{self, Options};

use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::{output, read};

/// Show every call in time order, indented by depth
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Only the calls of FUNC and what is below them
    #[arg(long, value_name = "FUNC", conflicts_with = "slowest")]
    around: Option<String>,
    /// Only the slowest call of FUNC and what is below it
    #[arg(long, value_name = "FUNC")]
    slowest: Option<String>,
    /// At most that many levels
    #[arg(long, value_name = "LEVELS")]
    depth: Option<u32>,
    /// Mark calls whose net time exceeds DURATION with `***`
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    highlight: Option<Length>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let trace = read::load(&args.trace, &args.reading, &args.selection, global)?;
    let highlight = args.highlight.map(|length| length.ticks(&trace.meta.timebase, "--highlight"));
    let options = Options {
        around: args.around.clone(),
        slowest: args.slowest.clone(),
        depth: args.depth,
        highlight: highlight.transpose()?,
    };
    let table = replay::table(&trace, &options).map_err(Failure::usage)?;
    output::write_replay(&table, global)?;
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
