//! `profctl completions`: what a shell needs to complete arguments.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profctl completions bash > ~/.local/share/bash-completion/completions/profctl
  profctl completions zsh > ~/.zfunc/_profctl
  profctl completions fish > ~/.config/fish/completions/profctl.fish";

/// Write completions for a shell
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "profctl", &mut bytes);
    output::write_bytes(&bytes, global)?;
    Ok(Exit::Done)
}
