//! A [`Table`] as text for people or as data for programs; the columns and their names are the
//! same in each, the digits are not: people get units, programs get integers.

use std::fmt::{self, Display};
use std::io;
use std::str::FromStr;

use profctl_model::Table;

use crate::number::TimeUnit;

mod csv;
mod grid;
mod json;
mod markdown;
mod rows;
mod term;

pub(crate) use grid::cell_text as text;
pub use grid::visible;
pub use rows::{write_array, write_lines};

/// Which writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Aligned columns for a terminal or a mail.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// Comma-separated values with a heading line (RFC 4180).
    Csv,
    /// A Markdown table.
    Markdown,
    /// Apache Parquet, which is not text: another crate writes it.
    Parquet,
}

impl Format {
    /// Every format that is text, in the order in which help lists them.
    pub const ALL: [Self; 4] = [Self::Table, Self::Json, Self::Csv, Self::Markdown];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Parquet => "parquet",
        }
    }

    /// One line for a list of formats.
    pub fn about(self) -> &'static str {
        match self {
            Self::Table => "aligned columns for people",
            Self::Json => "one JSON object with schema, columns, rows and notes",
            Self::Csv => "comma-separated values with a heading line, RFC 4180",
            Self::Markdown => "a Markdown table for reviews and issues",
            Self::Parquet => "a Parquet file, in a build with tables",
        }
    }
}

impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            format!("unknown output '{text}', expected table, json, csv or markdown")
        })
    }
}

/// How text for people should look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// The unit of times.
    pub unit: TimeUnit,
    /// Whether to use colours and bold.
    pub color: bool,
    /// Characters a line, if there is a limit: longer rows lose the end of their name.
    pub width: Option<usize>,
}

/// Writes `table` in `format`, which must be text. `style` matters to the formats for people.
pub fn write(
    table: &Table,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Table => term::write(table, style, out),
        Format::Json => json::write(table, out),
        Format::Csv => csv::write(table, out),
        Format::Markdown => markdown::write(table, style, out),
        Format::Parquet => Err(io::Error::new(io::ErrorKind::Unsupported, "Parquet is no text")),
    }
}

#[cfg(test)]
mod tests;
