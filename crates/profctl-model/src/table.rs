//! The one shape in which every report leaves an analysis: columns with a meaning, typed cells.
//!
//! A table never knows widths, colours or digits; the writers in `profctl-render` do.

use crate::time::{Ticks, Timebase};

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The name of what the row is about; tables are searched and cut by it.
    Name,
    /// Other text.
    Text,
    /// A length in ticks of the table's timebase.
    Time,
    /// A number of things.
    Count,
    /// A share in percent.
    Percent,
    /// How much one thing is of another.
    Ratio,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The name in JSON, CSV and `--columns`: the same in every output.
    pub name: String,
    /// The heading for people.
    pub heading: String,
    /// What its cells are.
    pub role: Role,
    /// Neighbouring columns of one group are shown to people as one, `(max/avg/min)`.
    pub group: Option<&'static str>,
}

impl Column {
    /// A column without a group.
    pub fn new(name: impl Into<String>, heading: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), heading: heading.into(), role, group: None }
    }

    /// The same column as part of a group.
    #[must_use]
    pub fn in_group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }
}

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// The input cannot say.
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
    /// How much the second thing is of the first: 2 if it is twice as much.
    Ratio(f64),
    /// A number with a fraction, of whatever it may be.
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
    /// Row by row, one cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader of the rows must know: losses, repairs, a synthetic timeline. One line each.
    pub notes: Vec<String>,
}

impl Table {
    /// An empty table.
    pub fn new(schema: &'static str, timebase: Timebase, columns: Vec<Column>) -> Self {
        Self { schema, timebase, columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If it has not one cell a column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "one cell a column");
        self.rows.push(row);
    }
}
