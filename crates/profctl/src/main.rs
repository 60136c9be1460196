//! `profctl`: the rim, where arguments, files, colours, progress and exit codes live.
//!
//! A command turns its arguments into the options of a library, calls it and hands what comes out
//! to a writer. Nothing is written before all of it is computed.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the rim: it opens files, writes them and looks at the clock"
)]

mod args;
mod commands;
mod duration;
mod exit;
mod files;
mod input;
mod output;
mod progress;
mod read;
mod runs;
mod spill;
mod style;

use std::process::ExitCode;

use clap::Parser;

use crate::exit::Exit;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        // Help and the version come this way too. If nobody listens, there is nobody to tell.
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    style::settle(&cli.global);
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.report();
            failure.exit.into()
        }
    }
}
