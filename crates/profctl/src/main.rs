//! `profctl`: the rim, where arguments, files, colors, progress and exit codes live.
//!
//! A command turns its arguments into the options of a library, calls it and passes the result to a
//! writer. Nothing is written before all of it is computed.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the rim: it opens files, writes them and looks at the clock"
)]
#![cfg_attr(not(feature = "view"), allow(dead_code, reason = "the view uses it"))]

mod args;
mod commands;
mod config;
mod duration;
mod exit;
mod input;
mod interrupt;
mod output;
mod outputs;
mod pager;
mod progress;
mod runs;
mod sorted;
mod spill;
mod spooled;
mod style;

use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches as _};

use crate::commands::Cli;
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::input::session as read;

fn main() -> ExitCode {
    interrupt::listen();
    match run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.report();
            failure.exit.into()
        }
    }
}

fn run() -> Result<Exit, Failure> {
    let config = Config::read()?;
    let parsed = config.apply(commands::command()).try_get_matches();
    let is_unit_given = parsed.as_ref().is_ok_and(is_unit_given);
    let mut cli = match parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches)) {
        Ok(cli) => cli,
        // Help and the version come this way too.
        Err(error) => {
            let is_help = !error.use_stderr();
            return match error.print() {
                Err(failed) if is_help && !pager::is_closed(&failed) => {
                    Err(Failure::output("standard output", &failed))
                }
                _ if is_help => Ok(Exit::Done),
                _ => Ok(Exit::Usage),
            };
        }
    };
    style::settle(&cli.global);
    cli.global.configured_pager = config.pager();
    cli.global.is_unit_given = is_unit_given;
    cli.global.settle(cli.command.what())?;
    commands::run(cli)
}

/// Whether the command line says `--unit`, before or after the command.
fn is_unit_given(matches: &ArgMatches) -> bool {
    let says =
        |matches: &ArgMatches| matches.value_source("unit") == Some(ValueSource::CommandLine);
    says(matches) || matches.subcommand().is_some_and(|(_, matches)| says(matches))
}
