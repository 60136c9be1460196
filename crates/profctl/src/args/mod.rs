//! The arguments that several commands share; each command's own are beside it.

mod reading;
mod selection;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice};
use profctl_render::TimeUnit;
use profctl_render::table::Format;

use crate::exit::Failure;
use crate::outputs::{self, OutputFormat, Picture, What};

pub(crate) use reading::{Expansion, Reading};
pub(crate) use selection::Selection;

/// Where and how to write.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Global {
    /// Write to FILE (atomically) instead of standard output
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FILE",
        global = true,
        hide_short_help = true
    )]
    pub(crate) out_file: Option<PathBuf>,
    /// Output format [default: by the extension of FILE, else table]
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = format_parser(),
        global = true,
        hide_short_help = true,
        hide_possible_values = true
    )]
    format: Option<&'static OutputFormat>,
    /// Time unit in tables
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "auto",
        value_parser = unit_parser(),
        global = true,
        hide_short_help = true
    )]
    pub(crate) unit: TimeUnit,
    /// In CSV, put an apostrophe before text that a spreadsheet would take for a formula
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) csv_safe: bool,
    /// When to use colors
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        hide_short_help = true
    )]
    pub(crate) color: ColorChoice,
    /// Width of tables [default: the terminal's]; of pictures, in pixels [default: 1200]
    #[arg(
        long,
        value_name = "COLUMNS",
        value_parser = columns_parser,
        global = true,
        hide_short_help = true
    )]
    pub(crate) width: Option<usize>,
    /// Page output longer than the screen, which is the default on a terminal
    #[arg(long, global = true, hide_short_help = true, overrides_with = "no_pager")]
    pub(crate) pager: bool,
    /// Do not page output
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_pager: bool,
    /// Suppress warnings, notes on standard error and progress
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Print the format and size of each input
    #[arg(short, long, global = true, conflicts_with = "quiet", hide_short_help = true)]
    pub(crate) verbose: bool,
    /// Whether `--unit` was given, as opposed to configured.
    #[arg(skip)]
    pub(crate) is_unit_given: bool,
    /// The output format, from `--format` and the extension of the file.
    #[arg(skip)]
    pub(crate) chosen: Option<&'static OutputFormat>,
    /// The pager of the user's configuration; an empty one is none.
    #[arg(skip)]
    pub(crate) configured_pager: Option<String>,
}

impl Global {
    /// Decides the output format: by `--format`, else by the extension of the file, else the
    /// default of the command.
    pub(crate) fn settle(&mut self, what: What) -> Result<(), Failure> {
        if self.out_file.as_deref().is_some_and(|path| path.as_os_str() == "-") {
            self.out_file = None;
        }
        self.chosen = outputs::choose(what, self.format, self.out_file.as_deref())?;
        if self.csv_safe && self.chosen.is_none_or(|chosen| chosen.name != "csv") {
            return Err(Failure::usage("--csv-safe has no effect: it is for --format csv"));
        }
        Ok(())
    }

    /// Fails on `--unit` where numbers are written as they are.
    pub(crate) fn refuse_unit(&self) -> Result<(), Failure> {
        if !self.is_unit_given {
            return Ok(());
        }
        Err(Failure::usage("--unit has no effect: it is for tables of times"))
    }

    /// The same, where nothing may be printed while a command runs.
    pub(crate) fn silent(&self) -> Self {
        Self { quiet: true, verbose: false, ..self.clone() }
    }

    /// Whether a command that writes reports and pages was asked for a page.
    pub(crate) fn writes_page(&self) -> bool {
        self.chosen.and_then(|chosen| chosen.picture) == Some(Picture::Html)
    }

    /// The format of a report.
    pub(crate) fn format(&self) -> Format {
        self.chosen.and_then(|chosen| chosen.report).unwrap_or_default()
    }
}

fn format_parser() -> impl TypedValueParser<Value = &'static OutputFormat> {
    PossibleValuesParser::new(
        outputs::ALL.iter().map(|format| PossibleValue::new(format.name).help(format.about)),
    )
    .map(|name| outputs::named(&name).expect("clap lets only these names through"))
}

fn unit_parser() -> impl TypedValueParser<Value = TimeUnit> {
    PossibleValuesParser::new(TimeUnit::ALL.map(TimeUnit::name))
        .try_map(|name| name.parse::<TimeUnit>())
}

fn columns_parser(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("expected at least 1".into()),
        Ok(columns) => Ok(columns),
        Err(_) => Err("not a number of columns".into()),
    }
}
