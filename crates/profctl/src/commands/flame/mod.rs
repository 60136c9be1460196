//! `profctl flame`: a picture of the calls of a trace.

use std::path::PathBuf;

use profctl_render::page::Kind;

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

pub(crate) mod html;

/// Draw the calls of a trace
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Calls in the order of time, or merged by their path of callers
    #[arg(long, value_name = "KIND", default_value = "chart")]
    kind: Wanted,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Wanted {
    Chart,
    Graph,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let trace = read::load(&args.trace, &args.reading, &args.selection, global)?;
    let kind = match args.kind {
        Wanted::Chart => Kind::Chart,
        Wanted::Graph => Kind::Graph,
    };
    let name = args.trace.display().to_string();
    output::write_bytes(html::of_trace(&trace, &name, kind, global).as_bytes(), global)?;
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
