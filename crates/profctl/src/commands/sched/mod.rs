//! `profctl sched`: how long threads ran, waited and slept, and who woke them.

mod whatif;
mod workload;

use std::path::PathBuf;

use profctl_analyze::sched::{self, Rows};
use profctl_model::{Table, TickUnit, Ticks, Timebase};
use profctl_render::table::Format;

use whatif::PolicyText;

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::input::is_parquet;
use crate::{duration, output, read};

const EXAMPLES: &str = "\
Examples:
  profctl sched trace.txt                    run, wait and sleep per thread
  profctl sched --by waker trace.txt         who wakes whom
  profctl sched --tick 60Hz trace.txt        what a sampling clock would have charged
  profctl sched --whatif quantum=18ms,wake=head trace.txt";

/// Show how long threads ran, waited for a CPU and slept
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, or `-`
    #[arg(value_name = "TRACE", required_unless_present = "workload")]
    trace: Option<PathBuf>,
    /// One row per
    #[arg(long, value_enum, default_value_t = Grouped::Thread, value_name = "WHAT")]
    by: Grouped,
    /// Sum time off the CPU by the call that was open
    #[arg(long, conflicts_with = "by")]
    off_cpu: bool,
    /// Show a histogram of wakeup latencies (powers of two)
    #[arg(long, conflicts_with_all = ["by", "off_cpu"])]
    histogram: bool,
    /// Show the run queue length over N parts of the window
    #[arg(long, value_name = "N", conflicts_with_all = ["by", "off_cpu", "histogram"],
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    queue: Option<u64>,
    /// Compare with tick-based accounting at this rate (`60Hz`) or period
    #[arg(long = "tick", value_name = "RATE", value_parser = duration::parse_tick,
          conflicts_with_all = ["by", "off_cpu", "histogram", "queue"])]
    sampling: Option<TickUnit>,
    /// Simulate the threads under round robin: `quantum=18ms,wake=tail|head|preempt,cost=5us,cpus=1`,
    /// the rest as recorded; repeatable
    #[arg(long, value_name = "POLICY", value_parser = whatif::policy,
          conflicts_with_all = ["by", "off_cpu", "histogram", "queue", "sampling"])]
    whatif: Vec<PolicyText>,
    /// Simulate the threads that this TOML file describes
    #[arg(long, value_name = "FILE", requires = "whatif", conflicts_with = "trace")]
    workload: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Grouped {
    Thread,
    Cpu,
    Waker,
}

/// The period of a clock in ticks of the trace.
fn period(tick: TickUnit, timebase: &Timebase) -> Result<Ticks, Failure> {
    let nanos = match tick {
        TickUnit::Seconds { numerator, denominator } => {
            Some(u128::from(numerator) * 1_000_000_000 / u128::from(denominator.max(1)))
        }
        TickUnit::Cycles | TickUnit::Instructions => None,
    };
    nanos.and_then(|nanos| timebase.ticks_of_nanos(nanos)).filter(|period| period.0 > 0).ok_or_else(
        || Failure::usage("--tick: expected a rate such as 60Hz, of a trace with times"),
    )
}

impl Args {
    /// A selection without effect on the report is an error.
    fn refuse_selection(&self, format: Format) -> Result<(), Failure> {
        let of_cpus = self.by == Grouped::Cpu || self.queue.is_some();
        let what = if self.queue.is_some() { "--queue" } else { "--by cpu" };
        let flag = if self.selection.thread.is_empty() { "--pid" } else { "--thread" };
        if of_cpus && self.selection.selects_threads() {
            return Err(Failure::usage(format!("{flag} has no effect with {what}")));
        }
        let is_document =
            format == Format::Json && self.by == Grouped::Thread && !self.has_other_report();
        if !self.selection.cpu.is_empty() && !of_cpus && !is_document {
            return Err(Failure::usage("--cpu has no effect here; see --by cpu and --queue"));
        }
        Ok(())
    }

    fn has_other_report(&self) -> bool {
        self.off_cpu || self.histogram || self.sampling.is_some() || !self.whatif.is_empty()
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    if let Some(path) = &args.workload {
        whatif::of_file(path, &args.whatif, global)?;
        return Ok(Exit::Done);
    }
    let Some(path) = &args.trace else { return Err(Failure::usage("expected a TRACE")) };
    args.refuse_selection(global.format())?;
    let trace = read::load_whole(path, &args.reading, &args.selection, global)?;
    let schedule = sched::of(&trace).map_err(|message| {
        let of_table = "Parquet has calls without the states of threads: give the trace";
        let hint = if is_parquet(path) { of_table.into() } else { message };
        Failure::input(path.display().to_string(), "holds no context switches").hint(hint)
    })?;
    let rows = Rows {
        thread: &|thread| args.selection.takes_thread(thread),
        cpu: &|number| args.selection.cpu.is_empty() || args.selection.cpu.contains(&number),
    };
    if !args.whatif.is_empty() {
        let rows = args.selection.selects_threads().then_some(rows);
        whatif::of_recording(&trace, &args.whatif, rows, global)?;
        return Ok(read::verdict_of(&trace.meta.diags, &args.reading, global));
    }
    let is_plain =
        !args.off_cpu && !args.histogram && args.queue.is_none() && args.sampling.is_none();
    if global.format() == Format::Json && is_plain && args.by != Grouped::Waker {
        output::write_bytes(schedule.to_json(&trace, rows).as_bytes(), global)?;
        return Ok(read::verdict_of(&trace.meta.diags, &args.reading, global));
    }
    let table: Table = if let Some(tick) = args.sampling {
        let period = period(tick, &trace.meta.timebase)?;
        sched::sampled(&trace, &schedule, period, rows)
    } else if let Some(steps) = args.queue {
        sched::depth(&trace, steps, rows)
    } else if args.histogram {
        sched::histogram(&trace, rows)
    } else if args.off_cpu {
        sched::off_cpu(&trace, rows)
    } else {
        match args.by {
            Grouped::Thread => schedule.threads(&trace, rows),
            Grouped::Cpu => schedule.cpus(&trace, rows),
            Grouped::Waker => sched::wakers(&trace, rows),
        }
    };
    output::write_table(&table, global)?;
    Ok(read::verdict_of(&trace.meta.diags, &args.reading, global))
}
