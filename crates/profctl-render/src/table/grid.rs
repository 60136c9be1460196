//! What a table says to people, before anybody measures it: text cells, grouped columns merged,
//! the name last.

use std::borrow::Cow;

use profctl_model::{Cell, Column, Role, Table};

use crate::number;
use crate::table::Style;

/// A column as people see it.
pub(super) struct Shown {
    /// What stands above it.
    pub(super) heading: String,
    /// What it holds.
    pub(super) kind: Kind,
    /// The columns of the table that it shows; several if they are a group.
    sources: Vec<usize>,
}

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Right-aligned numbers.
    Number,
    /// Right-aligned groups of numbers.
    Group,
    /// Left-aligned text.
    Text,
    /// The left-aligned name of the row, last.
    Name,
}

/// A table as people see it.
pub(super) struct Grid {
    /// The columns, from left to right.
    pub(super) columns: Vec<Shown>,
    /// The text of each row, a cell a column.
    pub(super) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Lays `table` out, times with at most `decimals` digits behind the point.
    pub(super) fn new(table: &Table, style: &Style, decimals: usize) -> Self {
        let columns = shown(&table.columns);
        let rows = table
            .rows
            .iter()
            .map(|row| {
                columns.iter().map(|column| column.text(row, table, style, decimals)).collect()
            })
            .collect();
        Self { columns, rows }
    }
}

fn shown(columns: &[Column]) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut last_group = None;
    for (index, column) in columns.iter().enumerate() {
        match all.last_mut() {
            Some(last) if column.group.is_some() && column.group == last_group => {
                last.sources.push(index);
            }
            _ => all.push(Shown {
                heading: String::new(),
                kind: kind(column.role),
                sources: vec![index],
            }),
        }
        last_group = column.group;
    }
    for one in &mut all {
        let headings: Vec<&str> =
            one.sources.iter().map(|&source| columns[source].heading.as_str()).collect();
        match headings.as_slice() {
            [heading] => one.heading = (*heading).into(),
            several => {
                one.heading = format!("({})", several.join("/"));
                one.kind = Kind::Group;
            }
        }
    }
    // Stable: names keep their order among themselves, and so do the others.
    all.sort_by_key(|one| one.kind == Kind::Name);
    all
}

fn kind(role: Role) -> Kind {
    match role {
        Role::Name => Kind::Name,
        Role::Text => Kind::Text,
        Role::Time | Role::Count | Role::Percent | Role::Ratio => Kind::Number,
    }
}

impl Shown {
    fn text(&self, row: &[Cell], table: &Table, style: &Style, decimals: usize) -> String {
        let one = |source: &usize| match &row[*source] {
            cell @ (Cell::Time(_) | Cell::Change(_)) => {
                with_decimals(cell_text(cell, table, style), decimals)
            }
            cell => cell_text(cell, table, style),
        };
        match self.sources.as_slice() {
            [source] => one(source),
            several if several.iter().all(|&source| row[source] == Cell::Null) => ABSENT.into(),
            several => {
                let parts: Vec<String> = several.iter().map(one).collect();
                format!("({})", parts.join("/"))
            }
        }
    }
}

/// `number` cut behind the decimal point.
fn with_decimals(mut number: String, decimals: usize) -> String {
    if let Some(point) = number.find('.') {
        let kept = if decimals == 0 { point } else { decimals.saturating_add(point + 1) };
        number.truncate(kept);
    }
    number
}

/// What stands where the input cannot say.
const ABSENT: &str = "-";

/// A cell as people read it.
pub(crate) fn cell_text(cell: &Cell, table: &Table, style: &Style) -> String {
    match cell {
        Cell::Null => ABSENT.into(),
        Cell::Text(text) => visible(text).into_owned(),
        Cell::Time(ticks) => number::length(*ticks, &table.timebase, style.unit),
        Cell::Count(n) => n.to_string(),
        Cell::Percent(share) => number::percent(*share),
        Cell::Change(ticks) => number::change(*ticks, &table.timebase, style.unit),
        Cell::Ratio(ratio) => number::ratio(*ratio),
        Cell::Number(value) => number::decimal(*value),
    }
}

/// `text` with everything escaped that could steer a terminal or break a line: names come out of
/// traces, and a thread may call itself anything.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if steers(c) => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
