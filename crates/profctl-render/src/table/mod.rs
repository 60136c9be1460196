//! Output formats of a [`Table`].
//!
//! The columns and their names are the same in each. Terminal tables and Markdown show times in a
//! unit; JSON and CSV hold integers.

use std::fmt::{self, Display};
use std::io;
use std::str::FromStr;

use profctl_model::Table;

use crate::number::TimeUnit;

mod csv;
mod grid;
mod json;
mod layout;
mod markdown;
mod rows;
mod term;

pub use crate::escape::visible;
pub use csv::field as csv_field;
pub use grid::shared_unit;
pub(crate) use grid::{cell_text as text, unit_of};
pub use rows::{write_array, write_lines};
pub use term::{Lines, write_facts, write_hanging, write_notes};

/// An output format.
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
    /// Apache Parquet, a binary format that another crate writes.
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
            Self::Table => "aligned columns",
            Self::Json => "one JSON object with schema, columns, rows and notes",
            Self::Csv => "comma-separated values with a heading line, RFC 4180",
            Self::Markdown => "Markdown table",
            Self::Parquet => "Apache Parquet, in a build with SQL",
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

/// The style of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// The unit of times.
    pub unit: TimeUnit,
    /// Whether to use colors and bold.
    pub color: bool,
    /// The columns of the terminal, if there is a limit.
    pub width: Option<usize>,
    /// Whether text in CSV must not be treated as a formula.
    pub csv_safe: bool,
}

/// Writes `table` in `format`, which must be text. `style` does not apply to JSON.
pub fn write(
    table: &Table,
    format: Format,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Table => term::write(table, style, out),
        Format::Json => json::write(table, out),
        Format::Csv => csv::write(table, style.csv_safe, out),
        Format::Markdown => markdown::write(table, style, out),
        Format::Parquet => Err(io::Error::new(io::ErrorKind::Unsupported, "Parquet is not text")),
    }
}

#[cfg(test)]
mod tests;
