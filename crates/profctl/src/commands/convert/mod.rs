//! `profctl convert`: a trace in the format of another program, as a table, or as a saved profile.

mod lines;
mod tables;
pub(crate) mod viewers;

use std::path::{Path, PathBuf};

use profctl_analyze::summarize::{By, Options, Summary};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::input::session::{Read, Session};
use crate::output;
use crate::outputs::{self, Conversion};
use crate::spooled::{Spooled, Waiting};

const EXAMPLES: &str = "\
Examples:
  profctl convert trace.txt -o trace.json          for ui.perfetto.dev
  profctl convert --format folded trace.txt | flamegraph.pl > graph.svg
  profctl convert runs/ -o calls.parquet           a row per call, for SQL";

/// Convert a trace to a format of another program
///
/// The extension of the `-o` file or `--format` decides: chrome (.json), perfetto (.pftrace),
/// speedscope (.speedscope.json), folded (.folded), pprof (.pb.gz), plain (.plain), parquet, csv,
/// jsonl, or a saved profile (.profile.json). Plain is lossless: it reads back with the same numbers. Tables (parquet, csv, jsonl) have a row per call, or what `--table`
/// names, and take several traces; their times are integers in one unit: nanoseconds, unless a clock
/// is finer or counts.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`; for tables also several, directories of runs, saved profiles
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Also save call paths, in a profile
    #[arg(long)]
    paths: bool,
    #[command(flatten)]
    tables: tables::TableArgs,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    global.refuse_unit()?;
    let conversion = global.chosen.and_then(|chosen| chosen.conversion);
    let conversion = conversion.expect("it was chosen among those that convert");
    if args.paths && !matches!(conversion, Conversion::Profile) {
        return Err(Failure::usage("--paths has no effect: it is for saved profiles"));
    }
    let Args { reading, selection, .. } = args;
    let mut session = Session::new(reading, selection, By::Function, global)?;
    match conversion {
        Conversion::Viewer(name) => {
            let target = outputs::target(name).expect("a test compares the lists");
            let limits = args.tables.limits();
            let spooled = Spooled::read(single(args)?, &mut session, limits)?;
            viewers::write(spooled, &target.writer, global)?;
            session.say_quality();
            Ok(session.exit())
        }
        Conversion::Plain => {
            let mut out = output::NewFile::of(global)?;
            let written = session.plain(single(args)?, &mut out)?;
            out.close(written)?;
            session.say_quality();
            Ok(session.exit())
        }
        Conversion::Table(file) => tables::run(file, &args.tables, &args.traces, session, global),
        Conversion::Profile => {
            let options = Options { percentiles: true, call_graph: true, ..Options::default() };
            let waiting = args.paths.then(Waiting::default);
            let sink = (Summary::new(options), waiting.as_ref().map(Waiting::calls));
            let read = session.one(single(args)?, sink)?;
            let source = read.source();
            let Read { sink: (summary, calls), names, meta, .. } = read;
            let mut profile = summary.finish(&names, &meta, source);
            profile.paths = calls.map(|calls| calls.run_paths(&names, &meta)).transpose()?;
            output::write_streamed(global, |out| out.write_all(profile.to_json().as_bytes()))?;
            Ok(session.exit())
        }
    }
}

/// The trace, where a format holds only one.
fn single(args: &Args) -> Result<&Path, Failure> {
    match args.traces.as_slice() {
        [trace] => Ok(trace),
        traces => Err(Failure::usage(format!(
            "this format holds one trace, found {}; csv, jsonl and parquet take several",
            traces.len()
        ))),
    }
}
