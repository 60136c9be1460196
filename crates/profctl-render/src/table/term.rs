//! Aligned columns for a terminal, in the layout of the 1993 summary table.

use std::io;

use anstyle::{AnsiColor, Effects, Style as Paint};
use profctl_model::Table;

use crate::table::Style;
use crate::table::grid::{Grid, Kind, Shown, visible};

const HEADING: Paint = Paint::new().effects(Effects::BOLD);
const NOTE: Paint = AnsiColor::Yellow.on_default();

pub(super) fn write(table: &Table, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let (grid, cut) = fitting(table, style);
    let widths = widths(&grid);
    let headings = grid.columns.iter().map(|column| column.heading.as_str());
    let header = fit(line(&grid.columns, &widths, headings), style.width);
    let rows: Vec<String> = grid
        .rows
        .iter()
        .map(|row| line(&grid.columns, &widths, row.iter().map(String::as_str)))
        .map(|row| fit(row, style.width))
        .collect();
    let widest = rows.iter().chain([&header]).map(|row| length(row)).max().unwrap_or(0);

    let (on, off) = paint(HEADING, style.color);
    writeln!(out, "{on}{header}{off}")?;
    writeln!(out, "{}", "-".repeat(widest))?;
    for row in &rows {
        writeln!(out, "{row}")?;
    }
    let (on, off) = paint(NOTE, style.color);
    let narrow = cut.then(|| "digits behind the point were cut to fit the width".to_owned());
    for note in table.notes.iter().chain(&narrow) {
        writeln!(out, "{on}note:{off} {}", visible(note))?;
    }
    Ok(())
}

/// Characters of a name that are worth more than digits behind the point.
const NAME: usize = 24;

/// The grid with as many digits as leave room for the names, and whether any were cut.
fn fitting(table: &Table, style: &Style) -> (Grid, bool) {
    let whole = Grid::new(table, style, usize::MAX);
    let Some(width) = style.width else { return (whole, false) };
    let leaves_room = |grid: &Grid| {
        let numbers: usize = widths(grid)
            .iter()
            .zip(&grid.columns)
            .filter(|(_, column)| column.kind != Kind::Name)
            .map(|(width, _)| width)
            .sum();
        let name = grid.columns.iter().rposition(|column| column.kind == Kind::Name);
        let longest = |name: usize| grid.rows.iter().map(|row| length(&row[name])).max();
        let wanted = name.and_then(longest).unwrap_or(0).min(NAME) + gaps(Kind::Name).0;
        numbers + wanted <= width
    };
    if leaves_room(&whole) {
        return (whole, false);
    }
    let one = Grid::new(table, style, 1);
    let chosen = if leaves_room(&one) { one } else { Grid::new(table, style, 0) };
    let cut = chosen.rows != whole.rows;
    (chosen, cut)
}

fn paint(paint: Paint, color: bool) -> (String, String) {
    if !color {
        return (String::new(), String::new());
    }
    (paint.render().to_string(), paint.render_reset().to_string())
}

/// The least space before a heading and before a cell. Numbers may come closer to one another than
/// their headings, as in the original.
fn gaps(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Number => (2, 1),
        Kind::Text => (2, 2),
        Kind::Group => (3, 2),
        Kind::Name => (3, 3),
    }
}

/// Characters of each column, the space before it included.
fn widths(grid: &Grid) -> Vec<usize> {
    let mut widths = Vec::with_capacity(grid.columns.len());
    for (index, column) in grid.columns.iter().enumerate() {
        let (before_heading, before_cell) = match (index, column.kind) {
            (0, Kind::Text | Kind::Name) => (0, 0),
            (0, Kind::Number | Kind::Group) => (1, 1),
            (_, kind) => gaps(kind),
        };
        let heading = length(&column.heading) + before_heading;
        let cells = grid.rows.iter().map(|row| length(&row[index]) + before_cell);
        widths.push(cells.max().unwrap_or(0).max(heading));
    }
    widths
}

fn line<'a>(columns: &[Shown], widths: &[usize], cells: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (index, ((column, &width), text)) in columns.iter().zip(widths).zip(cells).enumerate() {
        let gap = match (index, column.kind) {
            (0, _) => 0,
            (_, kind) => gaps(kind).0,
        };
        let room = match column.kind {
            Kind::Number | Kind::Group => width - length(text),
            Kind::Text | Kind::Name => gap,
        };
        line.extend(std::iter::repeat_n(' ', room));
        line.push_str(text);
        if matches!(column.kind, Kind::Text | Kind::Name) {
            line.extend(std::iter::repeat_n(' ', width - gap - length(text)));
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// `line` cut to `width`; the mark at its end says that it was. The name stands last, so it is the
/// name that suffers.
fn fit(line: String, width: Option<usize>) -> String {
    match width {
        Some(width) if length(&line) > width => {
            line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
        }
        _ => line,
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}
