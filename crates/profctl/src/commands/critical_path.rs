//! `profctl critical-path`: the chain that bounds the time.

use std::path::PathBuf;

use profctl_analyze::critpath::{self, Options, Which};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

const EXAMPLES: &str = "\
Examples:
  profctl critical-path trace.dat                  of the longest outermost call
  profctl critical-path --of sys_read --median trace.dat
  profctl critical-path --by-function --thread sh-77 trace.dat";

/// Show the chain of calls and waits that determines how long a call took
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Of a call of this function [default: the longest outermost call]
    #[arg(long, value_name = "FUNC")]
    of: Option<String>,
    /// Take its slowest call (the default)
    #[arg(long, conflicts_with = "median")]
    slowest: bool,
    /// Take the call of median elapsed time
    #[arg(long)]
    median: bool,
    /// Sum the segments by function and state
    #[arg(long)]
    by_function: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    // Whoever woke the thread matters too, so all threads are read.
    let thread = match args.selection.thread.as_slice() {
        [] => None,
        [thread] => Some(thread.clone()),
        _ => return Err(Failure::usage("critical-path takes one --thread")),
    };
    let selection = Selection { thread: Vec::new(), ..args.selection.clone() };
    let trace = read::load(&args.trace, &args.reading, &selection, global)?;
    let options = Options {
        of: args.of.clone(),
        which: if args.median { Which::Median } else { Which::Slowest },
        thread,
    };
    let report = if args.by_function { critpath::by_function } else { critpath::table };
    let table = report(&trace, &options).map_err(Failure::usage)?;
    output::write_table(&table, global)?;
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
