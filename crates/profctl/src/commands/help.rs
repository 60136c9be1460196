//! `profctl help`: what a command does, and the flags that only some inputs need.

use std::collections::BTreeSet;

use clap::{Args as _, CommandFactory as _};

use super::Cli;
use crate::args::{Global, Reading};
use crate::exit::{Exit, Failure};
use crate::input::selected::nearest;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profctl help                                     all commands, exit codes
  profctl help gate                                all flags of a command
  profctl help input                               flags of probe captures, logic captures, rules";

/// Explain a command, or the flags for probe captures, logic captures and rules (`help input`)
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A command, or `input` [default: the program]
    topic: Option<String>,
}

/// The topic that is not a command.
const INPUT: &str = "input";

const ABOUT_INPUT: &str = "\
Flags for inputs that need a description

Every command that reads traces takes them. For other inputs they are usage errors.

A bus is one signal (`tag`) or wires, the most significant first (`T15..T0`).";

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    program.build();
    let page = match args.topic.as_deref() {
        Some(INPUT) => input(global).render_help().to_string(),
        Some(topic) if program.find_subcommand(topic).is_none() => {
            return Err(unknown(topic, &program));
        }
        // What `--help` prints, its sections in the same order.
        topic => {
            let words = ["profctl"].into_iter().chain(topic).chain(["--help"]);
            let help = of_width(super::command(), global).try_get_matches_from(words);
            help.err().map_or_else(String::new, |help| help.render().to_string())
        }
    };
    output::write_bytes(page.as_bytes(), global)?;
    Ok(Exit::Done)
}

/// The error for a command that there is not.
pub(super) fn unknown(topic: &str, program: &clap::Command) -> Failure {
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    let mut known: BTreeSet<String> = commands.map(|one| one.get_name().to_owned()).collect();
    known.insert(INPUT.to_owned());
    let near = nearest(topic, &known);
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Failure::usage(format!("no command `{topic}`{near}"))
}

/// As wide as `--width` says, else as the terminal.
fn of_width(command: clap::Command, global: &Global) -> clap::Command {
    match global.width {
        Some(columns) => command.term_width(columns.clamp(40, 100)),
        None => command.max_term_width(100),
    }
}

/// A command with the flags of inputs alone, all of them shown.
pub(super) fn input(global: &Global) -> clap::Command {
    let command = clap::Command::new("profctl COMMAND TRACE");
    // The flags bring the description of their struct along.
    let command = Reading::augment_args(command)
        .about(ABOUT_INPUT)
        .disable_help_flag(true)
        .override_usage("profctl COMMAND [INPUT FLAGS] TRACE");
    let mut command = of_width(command, global);
    let names: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    for name in names {
        let is_general = matches!(name.as_str(), "jobs" | "strict" | "block_size");
        command = command.mut_arg(name, |arg| arg.hide(is_general).hide_short_help(is_general));
    }
    command
}
