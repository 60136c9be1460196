//! `profctl critical-path`: the chain of calls and waits that determines an elapsed time.

use std::path::{Path, PathBuf};

use profctl_analyze::critpath::{self, Options, PathBy, Which};
use profctl_model::{Tick, Trace};
use profctl_render::table::Format;

use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::{output, read};

const EXAMPLES: &str = "\
Examples:
  profctl critical-path trace.dat                  of the thread that lived longest
  profctl critical-path --thread sh-77 --by thread trace.dat
  profctl critical-path --diff before.dat after.dat";

/// Show the chain of calls and waits that determines how long a thread or a call took
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE", required_unless_present = "diff")]
    trace: Option<PathBuf>,
    /// Compare the paths of two traces
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with = "trace")]
    diff: Option<Vec<PathBuf>>,
    /// Path of a call of this function [default: of a thread]
    #[arg(long, value_name = "FUNC")]
    of: Option<String>,
    /// Take its slowest call (the default)
    #[arg(long, conflicts_with_all = ["median", "at"])]
    slowest: bool,
    /// Take the call of median elapsed time
    #[arg(long, conflicts_with = "at")]
    median: bool,
    /// Take a call that was open at this time after the first timestamp
    #[arg(long, value_name = "T", value_parser = duration::parse, requires = "of")]
    at: Option<Length>,
    /// Sum the segments
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "diff")]
    by: Option<Summed>,
    /// The same as `--by function`
    #[arg(long, hide = true, conflicts_with_all = ["by", "diff"])]
    by_function: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Summed {
    Thread,
    Function,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let thread = match args.selection.thread.as_slice() {
        [] => None,
        [thread] => Some(thread.clone()),
        _ => return Err(Failure::usage("critical-path takes one --thread")),
    };
    let options = |trace: &Trace| -> Result<Options, Failure> {
        let after = args.at.map(|at| at.ticks(&trace.meta.timebase, "--at")).transpose()?;
        Ok(Options {
            of: args.of.clone(),
            which: if args.median { Which::Median } else { Which::Slowest },
            thread: thread.clone(),
            at: after.map(|after| Tick(trace.meta.first.0.saturating_add(after.0))),
        })
    };
    // Wakers are needed too, so all threads are read.
    let load = |path: &Path| read::load_whole(path, &args.reading, &args.selection, global);
    if let Some([before, after]) = args.diff.as_deref() {
        let (before, after) = (load(before)?, load(after)?);
        let table = critpath::diff(&before, &after, &options(&after)?).map_err(Failure::usage)?;
        output::write_table(&table, global)?;
        return Ok(read::verdict_of(&after.meta.diags, &args.reading, global));
    }
    let Some(path) = &args.trace else { return Err(Failure::usage("expected a TRACE")) };
    let trace = load(path)?;
    let options = options(&trace)?;
    let by = match args.by {
        _ if args.by_function => PathBy::Function,
        Some(Summed::Function) => PathBy::Function,
        Some(Summed::Thread) => PathBy::Thread,
        None => PathBy::Segment,
    };
    if global.format() == Format::Json && by == PathBy::Segment {
        let document = critpath::json(&trace, &options).map_err(Failure::usage)?;
        output::write_bytes(document.as_bytes(), global)?;
    } else {
        let table = critpath::report(&trace, &options, by).map_err(Failure::usage)?;
        output::write_table(&table, global)?;
    }
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
