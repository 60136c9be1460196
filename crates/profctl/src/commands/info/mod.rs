//! `profctl info`: what a trace is, how it was recognized, and its quality.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use profctl_analyze::summarize::{By, Quality};
use profctl_model::{
    Column, FuncKind, Names, Record, Role, SelectThreads, Span, SpanSink, Table, Thread, ThreadId,
    Tick, Timebase, Timeline,
};
use profctl_render::Style;
use profctl_render::number;
use profctl_render::table::{Format, write_facts, write_hanging};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::input::session::{Read, Session};
use crate::{output, read, style};

mod explain;
mod json;

const EXAMPLES: &str = "\
Examples:
  profctl info trace.txt
  profctl info -v trace.dat                        all threads, not the first few
  profctl info --rule my.toml app.log              what a rule makes of each line";

/// Show what a trace is: format, clock, threads, CPUs, time span, quality
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let read = session.one(&args.trace, Tally::default())?;
    match global.format() {
        Format::Table => {
            let mut text = for_people(&read, global);
            let how = (args.reading.expansion, global);
            explain::append(&args.trace, &session.options.import, &mut text, how)?;
            output::write_bytes(text.as_bytes(), global)?;
        }
        Format::Json => output::write_bytes(&json::bytes(&read), global)?,
        Format::Csv | Format::Markdown | Format::Parquet => {
            output::write_table(&as_table(&read, global), global)?;
        }
    }
    Ok(read::verdict_of(&read.meta.diags, &args.reading, global))
}

/// Counts calls.
#[derive(Default)]
struct Tally {
    complete: u64,
    partial: u64,
}

impl SpanSink for Tally {
    fn span(&mut self, span: &Span, _names: &Names) {
        if span.fidelity.is_partial() {
            self.partial += 1;
        } else {
            self.complete += 1;
        }
    }
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

impl SelectThreads for Tally {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, _keep: &dyn Fn(ThreadId) -> bool) {}
}

/// How many functions there are; instants are not functions.
fn count_functions(names: &Names) -> usize {
    names.funcs.iter().filter(|func| func.kind != FuncKind::Mark).count()
}

/// What there is to say, in order: the name and the value of each line.
fn facts<'r>(read: &'r Read<Tally>, global: &Global) -> Vec<(&'r str, String)> {
    let Read { sink, names, meta, origin } = read;
    let timebase = &meta.timebase;
    let at = |time: Tick| number::clock(time, timebase, global.unit).trim_start().to_owned();
    let real = number::length_with_unit(meta.real(), timebase, global.unit);
    let quality = match (Quality::of(&meta.diags).is_complete(), meta.diags.sorted().len()) {
        (true, 0) => "complete, nothing to report",
        (true, _) => "complete, see below",
        (false, _) => "incomplete, see below",
    };
    let threads: Vec<String> = names.threads.iter().map(Thread::label).collect();
    let cpus: Vec<String> = cpus(names).iter().map(u32::to_string).collect();
    let mut facts = vec![
        ("input", origin.name.clone()),
        ("format", format!("{} ({})", origin.format.name, origin.format.about)),
        ("recognized", origin.reason.clone()),
        ("compression", origin.compression.unwrap_or("none").into()),
        ("size", number::bytes(origin.bytes)),
    ];
    facts.extend(origin.facts.iter().map(|(name, value)| (&**name, value.clone())));
    facts.extend([
        ("clock", clock(timebase)),
        ("span", format!("{real}, from {} to {}", at(meta.first), at(meta.last))),
        ("threads", list(&threads, global)),
        ("cpus", list(&cpus, global)),
        ("events", meta.events.to_string()),
        ("calls", format!("{} complete, {} incomplete", sink.complete, sink.partial)),
        ("functions", count_functions(names).to_string()),
        ("quality", quality.into()),
    ]);
    facts
}

fn clock(timebase: &Timebase) -> String {
    let resolution = match timebase.is_time() {
        // The resolution of a clock finer than a nanosecond is printed in ticks instead of 0 ns.
        true if timebase.reported(timebase.resolution) > 0 => {
            format!("{} ns", timebase.reported(timebase.resolution))
        }
        true => format!("{} ticks below a nanosecond", timebase.resolution.0),
        false => format!("{} {}", timebase.resolution.0, timebase.unit_name()),
    };
    let timeline = match timebase.timeline {
        Timeline::Recorded => "recorded",
        Timeline::Synthetic => "synthetic (durations laid end to end)",
    };
    format!("{}, resolution {resolution}, timeline {timeline}", timebase.unit_name())
}

fn cpus(names: &Names) -> Vec<u32> {
    let mut cpus: Vec<u32> = names.cpus.iter().copied().collect();
    cpus.sort_unstable();
    cpus
}

/// How many threads or CPUs are named unless `-v` asks for all.
const NAMED: usize = 12;

fn list(items: &[String], global: &Global) -> String {
    let all = items.len();
    match all {
        0 => "none named".into(),
        _ if all > NAMED && !global.verbose => {
            format!("{all}: {}, … (all with -v)", items[..NAMED].join(", "))
        }
        _ => format!("{all}: {}", items.join(", ")),
    }
}

fn for_people(read: &Read<Tally>, global: &Global) -> String {
    let style = style::of(global);
    let mut out = Vec::new();
    write_text(read, global, &style, &mut out).expect("memory takes what is written to it");
    String::from_utf8(out).expect("it was written as text")
}

fn write_text(
    read: &Read<Tally>,
    global: &Global,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write_facts(&facts(read, global), style, out)?;
    for entry in read.meta.diags.sorted() {
        let code = entry.code;
        writeln!(out, "\n{}: {} ({})", code.name, entry.count, code.severity.name())?;
        write_hanging("  ", code.help, style, out)?;
        for sample in &entry.samples {
            write_hanging("  ", &format!("{}: {}", sample.place, sample.message), style, out)?;
        }
        if entry.count > entry.samples.len() as u64 && !entry.samples.is_empty() {
            writeln!(out, "  …")?;
        }
    }
    Ok(())
}

/// Appends a line with control characters escaped: much of it comes from the input.
fn line(text: &mut String, line: &str) {
    writeln!(text, "{}", profctl_render::table::visible(line)).expect("a string takes all");
}

fn as_table(read: &Read<Tally>, global: &Global) -> Table {
    let columns = ["property", "value"].map(|name| Column::new(name, name, Role::Text)).to_vec();
    let mut table = Table::new("profctl.info/1", read.meta.timebase, columns);
    for (name, value) in facts(read, global) {
        table.push(vec![name.into(), value.as_str().into()]);
    }
    for entry in read.meta.diags.sorted() {
        table.push(vec![entry.code.name.into(), entry.count.to_string().as_str().into()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use profctl_model::{TickUnit, Ticks};

    #[test]
    fn a_clock_says_what_it_counts() {
        let fs = TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000_000_000 };
        for (unit, resolution, timeline, expected) in [
            (
                Timebase::MICROSECONDS.unit,
                1,
                Timeline::Recorded,
                "ns, resolution 1000 ns, timeline recorded",
            ),
            (
                fs,
                100,
                Timeline::Recorded,
                "ns, resolution 100 ticks below a nanosecond, timeline recorded",
            ),
            (
                TickUnit::Cycles,
                4,
                Timeline::Synthetic,
                "cycles, resolution 4 cycles, timeline synthetic (durations laid end to end)",
            ),
        ] {
            let timebase = Timebase { unit, resolution: Ticks(resolution), timeline };
            assert_eq!(clock(&timebase), expected);
        }
    }
}
