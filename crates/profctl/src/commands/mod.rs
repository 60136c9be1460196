//! The commands, a file each: arguments to options, a library call, a report to a writer; and what
//! several of them read ([`builds`]).

pub(crate) mod builds;
mod completions;
mod convert;
mod critical_path;
mod diff;
mod flame;
mod formats;
mod gate;
mod generate;
mod help;
mod history;
mod info;
mod man;
mod merge;
mod plot;
mod query;
mod replay;
mod report;
mod sched;
mod summarize;
mod sweep;
mod tree;
mod view;

use clap::{ArgGroup, CommandFactory as _, Parser, Subcommand};

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::outputs::What;

const AFTER_HELP: &str = "\
Exit codes:
  0  done; gate: no regression
  1  gate: at least one regression, or a budget exceeded
  2  usage error, or the output cannot be written
  3  an input cannot be read or is not a trace; nothing was written
  4  gate: inconclusive (too few runs, incomplete traces, incomparable sides)
  5  --strict was given and the input was incomplete

A TRACE is a file, `-` for standard input, a directory of runs, or a saved profile.
gzip, zstd and xz are decompressed automatically. The format is recognized from
the content. `profctl help COMMAND` explains a command, `profctl help input` the
flags for probe captures, logic captures and rule files.";

/// Profile function-call traces, compare builds, gate CI
#[derive(Parser, Debug)]
#[command(
    name = "profctl",
    version,
    long_version = env!("PROFCTL_LONG_VERSION"),
    after_help = AFTER_HELP,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// The command line.
pub(crate) fn command() -> clap::Command {
    // Flags of comparisons are shared; this command compares only if it is asked to.
    Cli::command().mut_subcommand("flame", |flame| {
        let of_comparisons = flame.get_groups().filter(|group| group.get_id() == "Comparing");
        let flags: Vec<_> = of_comparisons.flat_map(ArgGroup::get_args).cloned().collect();
        flags
            .into_iter()
            .fold(flame, |flame, flag| flame.mut_arg(flag, |flag| flag.conflicts_with("trace")))
    })
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Summarize(summarize::Args),
    View(view::Args),
    Replay(replay::Args),
    Tree(tree::Args),
    CriticalPath(critical_path::Args),
    Sched(sched::Args),
    Sweep(sweep::Args),
    Flame(flame::Args),
    Plot(plot::Args),
    Diff(diff::Args),
    Gate(gate::Args),
    History(history::Args),
    Convert(convert::Args),
    Report(report::Args),
    Info(info::Args),
    Query(query::Args),
    Merge(merge::Args),
    Formats(formats::Args),
    Help(help::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Generate(generate::Args),
}

impl Command {
    /// What it writes.
    pub(crate) fn what(&self) -> What {
        match self {
            Self::Summarize(_)
            | Self::Replay(_)
            | Self::Tree(_)
            | Self::CriticalPath(_)
            | Self::Sched(_)
            | Self::Sweep(_)
            | Self::Diff(_)
            | Self::Info(_)
            | Self::Query(_) => What::Report,
            Self::History(_) => What::ReportOrPage,
            Self::Gate(args) => args.what(),
            Self::Formats(args) => args.what(),
            Self::Flame(_) => What::Picture,
            Self::Plot(_) => What::Plot,
            Self::Convert(_) => What::Conversion,
            Self::Report(_) => What::Page,
            Self::Merge(_) => What::Profile,
            Self::View(_)
            | Self::Help(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Generate(_) => What::Text,
        }
    }
}

/// Does it.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    let global = &cli.global;
    match cli.command {
        Command::Summarize(args) => summarize::run(&args, global),
        Command::View(args) => view::run(args, global),
        Command::Replay(args) => replay::run(&args, global),
        Command::Tree(args) => tree::run(&args, global),
        Command::CriticalPath(args) => critical_path::run(&args, global),
        Command::Sched(args) => sched::run(&args, global),
        Command::Sweep(args) => sweep::run(&args, global),
        Command::Flame(args) => flame::run(&args, global),
        Command::Plot(args) => plot::run(&args, global),
        Command::Diff(args) => diff::run(&args, global),
        Command::Gate(args) => gate::run(&args, global),
        Command::History(args) => history::run(&args, global),
        Command::Convert(args) => convert::run(&args, global),
        Command::Report(args) => report::run(&args, global),
        Command::Info(args) => info::run(&args, global),
        Command::Query(args) => query::run(&args, global),
        Command::Merge(args) => merge::run(&args, global),
        Command::Help(args) => help::run(&args, global),
        Command::Formats(args) => formats::run(&args, global),
        Command::Completions(args) => completions::run(&args, global),
        Command::Man(args) => man::run(&args, global),
        Command::Generate(args) => generate::run(&args, global),
    }
}
