//! `profctl critical-path`: the chain that bounds the time.

use std::path::PathBuf;

use profctl_analyze::critpath::{self, Options, Which};

use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::{output, read};

/// Show the chain of calls and waits that bounds the time of one call
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The function whose call it is [default: the one of the longest outermost call]
    #[arg(long, value_name = "FUNC")]
    of: Option<String>,
    /// Take its slowest call, which is the default
    #[arg(long, conflicts_with = "median")]
    slowest: bool,
    /// Take the call in the middle by elapsed time
    #[arg(long)]
    median: bool,
    /// Only calls of this thread: its id, its name, or both as `name-id`
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Sum the segments by function and state
    #[arg(long)]
    by_function: bool,
    /// Only from this time on, counted from the first timestamp
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    from: Option<Length>,
    /// Only before this time, likewise
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    until: Option<Length>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    // Whoever woke the thread matters too, so all threads are read.
    let selection = Selection { from: args.from, until: args.until, ..Selection::default() };
    let trace = read::load(&args.trace, &args.reading, &selection, global)?;
    let options = Options {
        of: args.of.clone(),
        which: if args.median { Which::Median } else { Which::Slowest },
        thread: args.thread.clone(),
    };
    let report = if args.by_function { critpath::by_function } else { critpath::table };
    let table = report(&trace, &options).map_err(Failure::usage)?;
    output::write_table(&table, global)?;
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
