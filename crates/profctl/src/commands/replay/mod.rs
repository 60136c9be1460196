//! `profctl replay`: the code trace.

mod streaming;

use std::path::PathBuf;

use profctl_analyze::replay::{self, Options};
use profctl_analyze::summarize::By;
use profctl_render::table::Format;

use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::input::session::{Read, Session};
use crate::spooled::Sums;
use crate::{interrupt, output, read};
use streaming::{Streaming, Wanted};

const EXAMPLES: &str = "\
Examples:
  profctl replay trace.txt | less                  every call, indented by depth
  profctl replay --slowest tcp_ack trace.txt       its slowest call with callees
  profctl replay --from @221.79 --until @221.80 --highlight 500us trace.txt";

/// Show every call in time order, indented by depth
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Show only calls of FUNC and what they call
    #[arg(long, value_name = "FUNC", conflicts_with = "slowest")]
    around: Option<String>,
    /// Show only the slowest call of FUNC and what it calls
    #[arg(long, value_name = "FUNC")]
    slowest: Option<String>,
    /// Show at most N levels
    #[arg(long, value_name = "N")]
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
    let is_part = args.around.is_some() || args.slowest.is_some();
    if global.format() == Format::Table && !is_part {
        return stream(args, global);
    }
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

/// Writes the whole code trace while the trace is read.
fn stream(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let mut session = session.streaming();
    let wanted = Wanted { depth: args.depth, highlight: args.highlight };
    let sink = (Streaming::new(wanted, &args.selection, global), Sums::default());
    let read = session.one(&args.trace, sink);
    if interrupt::is_reading_stopped() {
        // The input was not read to its end, so its quality says nothing.
        let Read { sink: (lines, _), .. } = read?;
        return lines.give_up().map(|()| Exit::Done);
    }
    let Read { sink: (lines, sums), names, meta, .. } = read?;
    if sums.is_all() {
        return Err(Failure::of_sums(&args.trace));
    }
    lines.finish(names, meta)?;
    Ok(session.exit())
}
