//! `profctl tree`: the merged calling-context tree.

use std::path::PathBuf;

use profctl_analyze::summarize::By;
use profctl_analyze::tree::{self, Options};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::spooled::{Limits, Spooled};
use crate::{output, read};

const EXAMPLES: &str = "\
Examples:
  profctl tree --depth 4 trace.txt                 the call tree, merged by path
  profctl tree --callers kfree trace.txt           who calls kfree, and at what cost
  profctl tree --min-share 1% --thread nginx-812 trace.dat";

/// Show the call tree: calls, elapsed and net time per call path
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Show the callers of FUNC, up to the root
    #[arg(long, value_name = "FUNC", conflicts_with = "callees")]
    callers: Option<String>,
    /// Show only what FUNC calls
    #[arg(long, value_name = "FUNC")]
    callees: Option<String>,
    /// Show at most N levels
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Hide paths below this share of the total, in percent
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
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let spooled = Spooled::read(&args.trace, &mut session, Limits::default())?;
    let (tree, names, meta) = spooled.tree()?;
    let options = Options {
        depth: args.depth,
        min_share: args.min_share,
        callers: args.callers.clone(),
        callees: args.callees.clone(),
    };
    let table = tree::table(&tree, &names, &meta, &options).map_err(Failure::usage)?;
    output::write_table(&table, global)?;
    Ok(read::verdict_of(&meta.diags, &args.reading, global))
}
