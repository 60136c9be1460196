//! Whether there is a terminal, how wide it is and whether it wants colors.

use std::io::{IsTerminal as _, stderr, stdout};

use anstream::{AutoStream, ColorChoice};
use clap::ColorChoice as Asked;
use profctl_render::Style;

use crate::args::Global;

/// Makes what was asked for hold for everything that the process prints.
pub(crate) fn settle(global: &Global) {
    let choice = match global.color {
        Asked::Auto => ColorChoice::Auto,
        Asked::Always => ColorChoice::Always,
        Asked::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// The style of what goes to standard output, or to a file if there is one.
pub(crate) fn of(global: &Global) -> Style {
    let to_terminal = global.out_file.is_none() && stdout().is_terminal();
    // `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are looked at in here.
    let choice = AutoStream::choice(&stdout());
    let color = match (&global.out_file, global.color) {
        (Some(_), asked) => asked == Asked::Always,
        (None, _) => choice != ColorChoice::Never,
    };
    let width = match global.width {
        Some(columns) => Some(columns),
        // Some terminals, as those of serial lines and containers, do not say.
        None if to_terminal => {
            Some(terminal_size::terminal_size().map_or(80, |(columns, _)| columns.0.into()))
        }
        None => None,
    };
    Style { unit: global.unit, color, width, csv_safe: global.csv_safe }
}

/// Whether standard error is a terminal.
pub(crate) fn is_watched() -> bool {
    stderr().is_terminal()
}
