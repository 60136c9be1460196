//! `profctl help`: what a command does, and the flags that only some inputs need.

use std::collections::BTreeSet;

use clap::{Args as _, CommandFactory as _};

use super::Cli;
use crate::args::{Global, Reading};
use crate::exit::{Exit, Failure};
use crate::input::selected::nearest;
use crate::output;

/// Explain a command, or the flags for probe captures, logic captures and rules (`help input`)
#[derive(clap::Args, Debug)]
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
    let mut program = Cli::command().term_width(width(global));
    program.build();
    let page = match args.topic.as_deref() {
        None => program.render_long_help(),
        Some(INPUT) => input(global).render_help(),
        Some(topic) => match program.find_subcommand_mut(topic) {
            Some(command) => command.render_long_help(),
            None => return Err(unknown(topic, &program)),
        },
    };
    output::write_bytes(page.to_string().as_bytes(), global)?;
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

fn width(global: &Global) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    global.width.or_else(terminal).unwrap_or(100).clamp(40, 100)
}

/// A command with the flags of inputs alone, all of them shown.
pub(super) fn input(global: &Global) -> clap::Command {
    let command = clap::Command::new("profctl COMMAND TRACE").about(ABOUT_INPUT);
    let mut command = Reading::augment_args(command)
        .disable_help_flag(true)
        .override_usage("profctl COMMAND [INPUT FLAGS] TRACE")
        .term_width(width(global));
    let names: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    for name in names {
        let is_general = matches!(name.as_str(), "jobs" | "strict" | "block_size");
        command = command.mut_arg(name, |arg| arg.hide(is_general).hide_short_help(is_general));
    }
    command
}
