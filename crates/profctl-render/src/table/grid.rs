//! A table as text cells: numbers formatted, grouped columns merged, the name last.

use profctl_model::{Cell, Column, Role, Table, Ticks, Timebase};

use crate::escape::visible;
use crate::number::{self, TimeUnit};
use crate::table::Style;

/// A column as it is shown.
#[derive(Clone)]
pub(super) struct Shown {
    /// The heading.
    pub(super) heading: String,
    /// How it is aligned.
    pub(super) kind: Kind,
    /// The columns of the table that it shows; several if they are a group.
    pub(super) sources: Vec<usize>,
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

/// A table as text.
#[derive(Clone)]
pub(super) struct Grid {
    /// The columns, from left to right.
    pub(super) columns: Vec<Shown>,
    /// The text of each row, one cell per column.
    pub(super) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Formats the cells of `table`, times with as many decimals as the clock justifies. With
    /// `digits`, they are rounded so that the largest time of a column, and each time of a group,
    /// has no more significant digits.
    pub(super) fn new(table: &Table, style: &Style, digits: Option<usize>) -> Self {
        let columns = shown(&table.columns);
        let times = Times::of(table, style, digits);
        let rows = table
            .rows
            .iter()
            .map(|row| columns.iter().map(|column| column.text(row, table, &times)).collect());
        Self { rows: rows.collect(), columns }
    }

    /// The place of the name.
    pub(super) fn name(&self) -> Option<usize> {
        self.columns.iter().rposition(|column| column.kind == Kind::Name)
    }

    /// The same without some columns.
    pub(super) fn without(mut self, hidden: &[usize]) -> Self {
        if hidden.is_empty() {
            return self;
        }
        let mut place = 0..;
        let mut stays = || !place.next().is_some_and(|place| hidden.contains(&place));
        self.columns.retain(|_| stays());
        for row in &mut self.rows {
            let mut place = 0..;
            row.retain(|_| !place.next().is_some_and(|place| hidden.contains(&place)));
        }
        self
    }
}

/// The unit in which the times of `table` are printed.
pub(crate) fn unit_of(table: &Table, asked: TimeUnit) -> TimeUnit {
    shared_unit([table], asked)
}

/// The unit for tables of one clock that are shown together.
pub fn shared_unit<'a>(tables: impl IntoIterator<Item = &'a Table>, asked: TimeUnit) -> TimeUnit {
    let largest = |table: &'a Table| {
        let sizes = table.rows.iter().flatten().filter_map(size_of);
        Some((sizes.max()?, &table.timebase))
    };
    let all = tables.into_iter().filter_map(largest).max_by_key(|(largest, _)| *largest);
    all.map_or(asked, |(largest, timebase)| asked.resolved(timebase, largest))
}

/// The length that a cell shows, without its sign.
fn size_of(cell: &Cell) -> Option<Ticks> {
    match cell {
        Cell::Time(ticks) => Some(*ticks),
        Cell::Change(ticks) => Some(Ticks(ticks.unsigned_abs())),
        Cell::Null
        | Cell::Text(_)
        | Cell::Count(_)
        | Cell::Percent(_)
        | Cell::Ratio(_)
        | Cell::Number(_) => None,
    }
}

/// How the times of a table are printed.
struct Times {
    unit: TimeUnit,
    /// The most significant digits of a time, if there is a limit.
    digits: Option<usize>,
    /// For each column of the table, the digits of its largest time before the decimal point.
    whole: Vec<usize>,
}

impl Times {
    fn of(table: &Table, style: &Style, digits: Option<usize>) -> Self {
        let unit = unit_of(table, style.unit);
        let whole = (0..table.columns.len()).map(|column| {
            let largest = table.rows.iter().filter_map(|row| size_of(&row[column])).max();
            match largest {
                None => 0,
                // A column of zeros needs no decimals.
                Some(Ticks(0)) => usize::MAX,
                Some(largest) => number::whole_digits(largest, &table.timebase, unit),
            }
        });
        Self { unit, digits, whole: whole.collect() }
    }

    /// A cell as text; `column` is where it stands, `grouped` whether it shares a column.
    fn text(&self, cell: &Cell, column: usize, grouped: bool, table: &Table) -> String {
        let decimals = |size: Ticks, timebase: &Timebase| match self.digits {
            None => usize::MAX,
            Some(digits) if grouped => {
                digits.saturating_sub(number::whole_digits(size, timebase, self.unit))
            }
            Some(digits) => digits.saturating_sub(self.whole[column]),
        };
        let timebase = &table.timebase;
        match cell {
            Cell::Time(ticks) => {
                let decimals = decimals(*ticks, timebase);
                let text = number::length_rounded(*ticks, timebase, self.unit, decimals);
                if table.columns[column].estimated { without_zeros(&text) } else { text }
            }
            Cell::Change(ticks) => {
                let decimals = decimals(Ticks(ticks.unsigned_abs()), timebase);
                number::change_rounded(*ticks, timebase, self.unit, decimals)
            }
            cell => cell_text(cell, table, self.unit),
        }
    }
}

/// A decimal number without the zeros at the end of its fraction.
fn without_zeros(number: &str) -> String {
    match number.split_once('.') {
        None => number.to_owned(),
        Some(_) => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
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
    fn text(&self, row: &[Cell], table: &Table, times: &Times) -> String {
        match self.sources.as_slice() {
            &[source] => times.text(&row[source], source, false, table),
            several if several.iter().all(|&source| row[source] == Cell::Null) => UNKNOWN.into(),
            several => {
                let part = |&source: &usize| times.text(&row[source], source, true, table);
                let parts: Vec<String> = several.iter().map(part).collect();
                format!("({})", parts.join("/"))
            }
        }
    }
}

/// The placeholder for an unknown value.
const UNKNOWN: &str = "-";

/// A cell as text, times in `unit`.
pub(crate) fn cell_text(cell: &Cell, table: &Table, unit: TimeUnit) -> String {
    match cell {
        Cell::Null => UNKNOWN.into(),
        Cell::Text(text) => visible(text).into_owned(),
        Cell::Time(ticks) => number::length(*ticks, &table.timebase, unit),
        Cell::Count(n) => n.to_string(),
        Cell::Percent(share) => number::percent(*share),
        Cell::Change(ticks) => number::change(*ticks, &table.timebase, unit),
        Cell::Ratio(ratio) => number::ratio(*ratio),
        Cell::Number(value) => number::decimal(*value),
    }
}

/// The number of spaces at the beginning of a name: a tree indents its names.
pub(super) fn indentation(name: &str) -> usize {
    name.len() - name.trim_start_matches(' ').len()
}
