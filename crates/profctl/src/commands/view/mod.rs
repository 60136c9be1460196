//! `profctl view`: a trace to browse in the terminal.
//!
//! What is shown ([`state`]) is apart from how it is drawn ([`draw`]) and from who reads keys and
//! traces ([`app`], [`source`]): a key, a size or a part of a trace goes into the state, and a
//! screen comes out.

#[cfg(feature = "view")]
mod app;
#[cfg(feature = "view")]
mod data;
#[cfg(feature = "view")]
mod draw;
#[cfg(feature = "view")]
mod keys;
#[cfg(feature = "view")]
mod page;
#[cfg(feature = "view")]
mod source;
#[cfg(feature = "view")]
mod state;
#[cfg(feature = "view")]
mod terminal;
#[cfg(all(test, feature = "view"))]
mod tests;

use std::path::PathBuf;

use profctl_analyze::summarize::By;

use super::summarize::Grouped;
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  profctl view trace.txt                           browse from functions to calls
  profctl view --thread nginx-812 --sort calls trace.dat
  sudo cat /sys/kernel/tracing/trace_pipe | profctl view --live -";

/// Browse a trace in the terminal: functions, callers and callees, slowest calls
///
/// Keys: Enter shows the callers and callees of a function, the right arrow its slowest calls and then
/// the trace of such a call; `/` searches, `f` filters, `s` sorts, `?` lists all keys, `q` goes back and
/// quits. Numbers are those of `summarize`, `tree` and `replay`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, saved profile, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Show the trace while it grows: a pipe, a log file, or trace_pipe
    #[arg(long)]
    live: bool,
    /// Group rows by
    #[arg(long, value_name = "WHAT", default_value = "function")]
    by: Grouped,
    /// Sort by this column
    #[arg(long, value_name = "COLUMN", default_value = "net")]
    sort: String,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[cfg(feature = "view")]
pub(crate) fn run(args: Args, global: &Global) -> Result<Exit, Failure> {
    app::run(args, global)
}

#[cfg(not(feature = "view"))]
pub(crate) fn run(_: Args, _: &Global) -> Result<Exit, Failure> {
    Err(Failure::usage("view needs a build with the feature `view`, which is a default one"))
}

impl Args {
    fn by(&self) -> By {
        self.by.into()
    }
}
