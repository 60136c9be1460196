//! `profctl replay`: the code trace.

use std::collections::BTreeSet;
use std::path::PathBuf;

use profctl_analyze::replay::{self, Options};
use profctl_analyze::summarize::By;
use profctl_model::{CpuId, Names, ThreadId};
use profctl_render::code_trace::{self, LaneNames};
use profctl_render::table::Format;

use crate::args::{Global, Reading, Selection};
use crate::duration::{self, Length};
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::output::NewFile;
use crate::runs::no_room;
use crate::spooled::{About, Limits, Ordered, Spooled};
use crate::{output, read, style};

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

/// Rows that are written at a time.
const PART: usize = 1 << 12;

/// The whole code trace, however long it is.
fn stream(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let spooled = Spooled::read(&args.trace, &mut session, Limits::default())?;
    let mut places = Places::default();
    let Ordered { rows: mut lines, about } =
        spooled.lines(|row| places.add(row.span.thread, row.span.cpu))?;
    let About { others, names, meta, .. } = &about;
    let highlight = args.highlight.map(|length| length.ticks(&meta.timebase, "--highlight"));
    let highlight = highlight.transpose()?;
    others.marks.iter().for_each(|mark| places.add(mark.thread, None));
    let lanes = places.lanes(names);
    let mut writer = code_trace::Writer::new(lanes, style::of(global));
    let mut shown = replay::Rows::new(names, meta, highlight, args.depth, &others.marks);
    let mut out = NewFile::of(global)?;
    let mut table = shown.table();
    let mut written = Ok(());
    while written.is_ok() {
        let line = lines.next().transpose().map_err(|error| no_room(&error))?;
        match &line {
            Some(line) => shown.add(line, &mut table),
            None => {
                shown.finish(&mut table);
                table.notes = replay::notes(meta);
            }
        }
        if table.rows.len() >= PART || line.is_none() {
            written = writer.part(&table, &mut out);
            table.rows.clear();
        }
        if line.is_none() {
            break;
        }
    }
    out.close(written)?;
    Ok(session.exit())
}

/// The threads and CPUs that lines name.
#[derive(Default)]
struct Places {
    all: BTreeSet<(ThreadId, Option<CpuId>)>,
    /// What was added last: calls of a thread tend to end where the one before did.
    last: Option<(ThreadId, Option<CpuId>)>,
}

impl Places {
    fn add(&mut self, thread: ThreadId, cpu: Option<CpuId>) {
        if self.last != Some((thread, cpu)) {
            self.last = Some((thread, cpu));
            self.all.insert((thread, cpu));
        }
    }

    fn lanes(&self, names: &Names) -> LaneNames {
        let named = self
            .all
            .iter()
            .map(|&(thread, cpu)| (names.threads[thread].label(), cpu.map(|cpu| names.cpus[cpu])));
        LaneNames::of(named)
    }
}
