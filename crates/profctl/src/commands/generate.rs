//! `profctl generate`, hidden: the pages of `docs/` that come out of the program. `cargo xtask
//! docs` writes them; a test compares them.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output;

/// Write a page of the documentation
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    page: Page,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Page {
    /// `docs/cli.md`
    Cli,
    /// `docs/diagnostics.md`
    Diagnostics,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let text = match args.page {
        Page::Cli => cli(),
        Page::Diagnostics => diagnostics(),
    };
    output::write_bytes(text.as_bytes(), global)?;
    Ok(Exit::Done)
}

fn diagnostics() -> String {
    let mut text = String::from(
        "# Diagnostics\n\n<!-- Written by `cargo xtask docs`; edit the codes in the sources \
         instead. -->\n\nProblems of inputs, by diagnostic code. Codes are stable. `profctl \
         info` shows the first few places of each.\n\n- *info*: no number depends on it.\n- \
         *warning*: repaired; numbers are valid, some calls count as incomplete.\n- *data-loss*: \
         the recorder lost events; numbers are lower bounds.\n- *error*: part of the input could \
         not be read and was skipped.\n",
    );
    for code in profctl_import::codes() {
        let sentence = format!("*{}*: {}.", code.severity.name(), code.help);
        push(&mut text, format_args!("\n## `{}`\n\n{sentence}\n", code.name));
    }
    text
}

fn cli() -> String {
    let mut program = Cli::command();
    program.build();
    let mut text = String::from(
        "# Command line\n\n\
         <!-- Written by `cargo xtask docs`; edit the arguments in the sources instead. -->\n\n",
    );
    describe(&program, &mut text);
    let after = program.get_after_help().map(ToString::to_string).unwrap_or_default();
    push(&mut text, format_args!("```text\n{}\n```\n", after.trim_end()));
    let everywhere: Vec<&Arg> =
        program.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set()).collect();
    push(&mut text, format_args!("\n## Everywhere\n\n"));
    arguments(&everywhere, &mut text);
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        push(&mut text, format_args!("\n## `profctl {}`\n\n", command.get_name()));
        describe(command, &mut text);
        let own: Vec<&Arg> = command
            .get_arguments()
            .filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help")
            .collect();
        arguments(&own, &mut text);
    }
    text
}

fn describe(command: &Command, text: &mut String) {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    push(text, format_args!("{about}\n\n```text\n{}\n```\n\n", usage.trim_end()));
}

fn arguments(arguments: &[&Arg], text: &mut String) {
    for argument in arguments {
        let mut spelling: Vec<String> = Vec::new();
        spelling.extend(argument.get_short().map(|short| format!("-{short}")));
        spelling.extend(argument.get_long().map(|long| format!("--{long}")));
        let mut spelling = spelling.join(", ");
        if argument.get_action().takes_values() {
            let values = argument.get_value_names().unwrap_or_default();
            let values: Vec<&str> = values.iter().map(clap::builder::Str::as_str).collect();
            let space = if spelling.is_empty() { "" } else { " " };
            push(&mut spelling, format_args!("{space}{}", values.join(" ")));
        }
        let help = argument.get_long_help().or(argument.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        push(text, format_args!("- `{spelling}`: {}", help.replace('\n', " ")));
        let choices: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set() && argument.get_action().takes_values())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !choices.is_empty() {
            push(text, format_args!(": {}", choices.join(", ")));
        }
        let defaults: Vec<_> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() && argument.get_action().takes_values() {
            push(text, format_args!(" (default `{}`)", defaults.join(",")));
        }
        text.push('\n');
    }
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes what is written to it");
}
