//! `profctl convert`: a trace as a file that other tools read.

mod lines;
mod tables;

use std::path::{Path, PathBuf};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};

/// Write traces in a form that other tools read
///
/// Tables (`parquet`, `csv`, `jsonl`) have a row a call, or what `--table` names; docs/schemas/tables.md
/// describes them. Times are integers in one unit for all the traces, which Parquet files and the
/// table `runs` tell: nanoseconds unless a clock is finer or counts.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, directories of runs, saved profiles, `-`
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// What to write [default: by the ending of FILE]
    #[arg(long, value_name = "FORMAT")]
    to: Option<Target>,
    #[command(flatten)]
    tables: tables::TableArgs,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

/// What can be written.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values with a heading line
    Csv,
    /// A JSON object a line
    Jsonl,
}

impl Target {
    fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let by_ending = global.out_file.as_deref().and_then(Target::of_path);
    let target = args.to.or(by_ending).ok_or_else(|| {
        Failure::usage("what to write is not known: name it with --to, or end FILE in it")
            .hint("FILE.parquet, FILE.csv, FILE.jsonl")
    })?;
    tables::run(target, &args.tables, &args.traces, &args.reading, &args.selection, global)
}
