//! `profctl man`: the manual page of the program or of one command.

use clap::CommandFactory as _;
use clap_mangen::Man;

use super::Cli;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profctl man | man -l -                           read it
  profctl man gate > profctl-gate.1                of one command
  profctl man > ~/.local/share/man/man1/profctl.1  for `man profctl`";

/// Write a manual page
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Command to describe [default: the program]
    command: Option<String>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => program
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| super::help::unknown(name, &program))?,
    };
    let mut bytes = Vec::new();
    Man::new(page).render(&mut bytes).expect("memory takes what is written to it");
    output::write_bytes(&bytes, global)?;
    Ok(Exit::Done)
}
