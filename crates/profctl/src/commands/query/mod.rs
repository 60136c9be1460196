//! `profctl query`: SQL over the tables of traces.

#[cfg(feature = "tables")]
mod ask;
#[cfg(feature = "tables")]
mod datasets;

use std::path::PathBuf;

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::runs::IN_MEMORY;

#[cfg(feature = "tables")]
pub(crate) use ask::of_frame;

const EXAMPLES: &str = "\
Examples:
  profctl query trace.txt 'SELECT name, max(net) FROM spans GROUP BY name'
  profctl query -o slow.csv spans.parquet 'SELECT * FROM spans WHERE elapsed > 1000000'
  profctl query --schema trace.txt                 tables, columns, types, units";

/// Query traces with SQL: tables spans, functions, threads, states, wakes, events, gaps, quality, runs
///
/// Several traces are queried together; the column `run` distinguishes them. Of Parquet files that
/// `convert` wrote, only the columns and row groups that the query needs are read. Times are
/// integers in one unit for all the traces: nanoseconds, unless a clock is finer or counts.
/// docs/cookbook.md has example queries.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "profctl query [OPTIONS] TRACE… SQL\n       \
                            profctl query --schema [TRACE…]")]
pub(crate) struct Args {
    /// Traces, directories of runs, saved profiles, `-`, or Parquet files; the last argument is the
    /// query
    #[arg(value_name = "TRACE… SQL", required_unless_present = "schema")]
    arguments: Vec<PathBuf>,
    /// Show the tables with their columns and types, and the unit of times if a TRACE is given
    #[arg(long)]
    schema: bool,
    /// Show the query plan instead of the result
    #[arg(long, conflicts_with = "schema")]
    explain: bool,
    /// Calls that are held in memory; more wait in temporary files and are streamed from there
    #[arg(long, value_name = "CALLS", default_value_t = IN_MEMORY, hide = true)]
    spill_above: u64,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[cfg(feature = "tables")]
pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    ask::run(args, global)
}

#[cfg(not(feature = "tables"))]
pub(crate) fn run(args: &Args, _: &Global) -> Result<Exit, Failure> {
    // Arguments that only a build with SQL uses.
    let Args { arguments: _, schema: _, explain: _, spill_above: _, selection: _, reading: _ } =
        args;
    Err(Failure::without_tables("query"))
}
