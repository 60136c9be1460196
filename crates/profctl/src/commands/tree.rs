//! `profctl tree`: the merged calling-context tree.

use std::path::PathBuf;

use profctl_analyze::tree::{self, Options};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

/// Show who calls whom, and what each path costs
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Show who calls FUNC instead
    #[arg(long, value_name = "FUNC", conflicts_with = "callees")]
    callers: Option<String>,
    /// Show only what FUNC calls
    #[arg(long, value_name = "FUNC")]
    callees: Option<String>,
    /// At most that many levels
    #[arg(long, value_name = "LEVELS")]
    depth: Option<u32>,
    /// Leave out paths below that share of the total, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = share)]
    min_share: f64,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

/// Parses `0.5` and `0.5%`.
fn share(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 100 percent".into()),
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let trace = read::load(&args.trace, &args.reading, &args.selection, global)?;
    let options = Options {
        depth: args.depth,
        min_share: args.min_share,
        callers: args.callers.clone(),
        callees: args.callees.clone(),
    };
    let table = tree::table(&tree::build(&trace), &trace.names, &trace.meta, &options)
        .map_err(Failure::usage)?;
    output::write_table(&table, global)?;
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
