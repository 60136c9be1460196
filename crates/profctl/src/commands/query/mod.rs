//! `profctl query`: SQL over the tables of traces.

#[cfg(feature = "tables")]
mod ask;
#[cfg(feature = "tables")]
mod datasets;

use std::path::PathBuf;

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};

#[cfg(feature = "tables")]
pub(crate) use ask::{of_frame, span_names};

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
    /// Memory for calls, such as `512M` or `8G`; more go to a temporary file [default: a quarter of the
    /// free memory]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
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
    let Args { arguments: _, schema: _, explain: _, memory: _, selection: _, reading: _ } = args;
    Err(Failure::without_tables("query"))
}

/// Bytes, as a number with K, M, G or T after it.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        unit => return Err(format!("unknown unit {unit}, expected K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a size such as 512M".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read() {
        for (text, size) in [("0", 0), ("700", 700), ("3K", 3 << 10), ("512M", 1 << 29)] {
            assert_eq!(bytes(text), Ok(size));
        }
        for text in ["", "G", "-1G", "1.5G", "5X", "1 G", "16777216T", "99999999999999999999"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
