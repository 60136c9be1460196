//! Reports: named columns and typed cells.
//!
//! A table has no widths, colors or number formats; these are up to the writers in
//! `profctl-render`.

use crate::time::{Ticks, Timebase};

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The name of the function or other item that the row describes.
    Name,
    /// Other text.
    Text,
    /// A length in ticks of the table's timebase.
    Time,
    /// A number of things.
    Count,
    /// A share in percent.
    Percent,
    /// A quotient of two quantities.
    Ratio,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The name in JSON, CSV and `--columns`: the same in every output.
    pub name: String,
    /// The heading in tables.
    pub heading: String,
    /// What its cells are.
    pub role: Role,
    /// Adjacent columns of one group are shown as one column, `(max/avg/min)`.
    pub group: Option<&'static str>,
    /// Whether its times are estimates, so that zeros at the end of a decimal fraction mean
    /// nothing and are not printed.
    pub estimated: bool,
}

impl Column {
    /// A column without a group.
    pub fn new(name: impl Into<String>, heading: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), heading: heading.into(), role, group: None, estimated: false }
    }

    /// The same column as part of a group.
    #[must_use]
    pub fn in_group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// The same column, its times being estimates.
    #[must_use]
    pub fn estimated(mut self) -> Self {
        self.estimated = true;
        self
    }
}

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Unknown.
    Null,
    /// Text.
    Text(String),
    /// A length.
    Time(Ticks),
    /// A number of things.
    Count(u64),
    /// A share in percent.
    Percent(f64),
    /// A difference of two lengths: above zero if the second is longer.
    Change(i64),
    /// The second quantity divided by the first: 2 if it is twice as large.
    Ratio(f64),
    /// Any other number with a fraction.
    Number(f64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// A report.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The name of the report and its version in JSON, such as `profctl.tree/1`.
    pub schema: &'static str,
    /// What the ticks of [`Cell::Time`] are.
    pub timebase: Timebase,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Losses, repairs, a synthetic timeline: one line each, printed below the rows.
    pub notes: Vec<String>,
    /// The names of columns that are omitted first where the table is wider than the terminal, in
    /// this order. After them the columns leave from right to left, but never the name.
    pub left_out_first: &'static [&'static str],
}

impl Table {
    /// An empty table.
    pub fn new(schema: &'static str, timebase: Timebase, columns: Vec<Column>) -> Self {
        Self { schema, timebase, columns, rows: Vec::new(), notes: Vec::new(), left_out_first: &[] }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If it does not have one cell per column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "one cell per column");
        self.rows.push(row);
    }
}
