//! Aligned columns for a terminal, in the layout of the 1993 summary table.

use std::io;

use anstyle::{AnsiColor, Effects, Style as Paint};
use profctl_model::{Cell, Table};

use crate::escape::{visible, width};
use crate::table::Style;
use crate::table::grid::{Kind, unit_of};
use crate::table::layout::{Layout, gap, shortened, wrapped};

const HEADING: Paint = Paint::new().effects(Effects::BOLD);
const NOTE: Paint = AnsiColor::Yellow.on_default();
const NOTE_LABEL: &str = "note:";

/// A table in lines without color, for who places them on a screen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines {
    /// The unit of the times, if there are any.
    pub caption: Option<String>,
    /// The headings.
    pub header: Vec<String>,
    /// The lines of each row: one, or several where text was broken.
    pub rows: Vec<Vec<String>>,
    /// What was reduced or omitted to fit.
    pub notes: Vec<String>,
}

impl Lines {
    /// The lines of `table`.
    pub fn of(table: &Table, style: &Style) -> Self {
        let layout = Layout::new(table, style);
        let headings: Vec<String> =
            layout.grid.columns.iter().map(|column| column.heading.clone()).collect();
        let rows = layout.grid.rows.iter().map(|row| lines(row, &layout)).collect();
        let header = lines(&headings, &layout);
        Self { caption: caption(table, style), header, rows, notes: layout.notes }
    }

    /// The columns of the widest line.
    pub fn width(&self) -> usize {
        let all = self.rows.iter().chain([&self.header]).flatten();
        all.map(|line| width(line)).max().unwrap_or(0)
    }
}

pub(super) fn write(table: &Table, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let lines = Lines::of(table, style);
    if let Some(caption) = &lines.caption {
        writeln!(out, "{caption}")?;
    }
    let (on, off) = paint(HEADING, style.color);
    for line in &lines.header {
        writeln!(out, "{on}{line}{off}")?;
    }
    writeln!(out, "{}", "-".repeat(lines.width()))?;
    for line in lines.rows.iter().flatten() {
        writeln!(out, "{line}")?;
    }
    write_notes(table.notes.iter().chain(&lines.notes), style, out)
}

/// The unit of the times in `table`; nothing if it has none.
pub(super) fn caption(table: &Table, style: &Style) -> Option<String> {
    let mut cells = table.rows.iter().flatten();
    let has_times = cells.any(|cell| matches!(cell, Cell::Time(_) | Cell::Change(_)));
    has_times.then(|| unit_of(table, style.unit).caption(&table.timebase))
}

/// Writes names and values, a line each or several where a value is broken between words.
pub fn write_facts<N: AsRef<str>>(
    facts: &[(N, String)],
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let widest = facts.iter().map(|(name, _)| width(name.as_ref())).max().unwrap_or(0);
    for (name, value) in facts {
        let name = name.as_ref();
        let name = format!("{name}{}", " ".repeat(widest - width(name) + 2));
        write_hanging(&name, value, style, out)?;
    }
    Ok(())
}

/// Writes `text` after `label`, broken between words and indented below its beginning.
pub fn write_hanging(
    label: &str,
    text: &str,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let indent = width(label);
    for (number, line) in broken(&visible(text), style, indent).into_iter().enumerate() {
        match number {
            0 => writeln!(out, "{}", format!("{label}{line}").trim_end())?,
            _ => writeln!(out, "{}{line}", " ".repeat(indent))?,
        }
    }
    Ok(())
}

/// `text` in lines that leave space for `indent` columns before them.
fn broken(text: &str, style: &Style, indent: usize) -> Vec<String> {
    let room = style.width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(20));
    wrapped(text, room, false)
}

/// Writes notes as they stand below a table, broken between words.
pub fn write_notes<'a>(
    notes: impl IntoIterator<Item = &'a String>,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let (on, off) = paint(NOTE, style.color);
    let indent = NOTE_LABEL.len() + 1;
    for note in notes {
        for (number, line) in broken(&visible(note), style, indent).into_iter().enumerate() {
            match number {
                0 => writeln!(out, "{on}{NOTE_LABEL}{off} {line}")?,
                _ => writeln!(out, "{}{line}", " ".repeat(indent))?,
            }
        }
    }
    Ok(())
}

fn paint(paint: Paint, color: bool) -> (String, String) {
    if !color {
        return (String::new(), String::new());
    }
    (paint.render().to_string(), paint.render_reset().to_string())
}

/// The lines of a row: one, or several where text was broken.
fn lines(cells: &[String], layout: &Layout) -> Vec<String> {
    let grid = &layout.grid;
    let cells: Vec<Vec<String>> = cells
        .iter()
        .enumerate()
        .map(|(place, text)| {
            let room = layout.widths[place].saturating_sub(gap(grid, place));
            match grid.columns[place].kind {
                Kind::Number | Kind::Group => vec![text.clone()],
                Kind::Text if width(text) <= room => vec![text.clone()],
                Kind::Text => wrapped(text, room, true),
                Kind::Name => vec![shortened(text, layout.indent, room)],
            }
        })
        .collect();
    let n_lines = cells.iter().map(Vec::len).max().unwrap_or(1);
    (0..n_lines).map(|number| line(&cells, number, layout)).collect()
}

fn line(cells: &[Vec<String>], number: usize, layout: &Layout) -> String {
    let grid = &layout.grid;
    let mut line = String::new();
    for (place, cell) in cells.iter().enumerate() {
        let text = cell.get(number).map_or("", String::as_str);
        let room = layout.widths[place].saturating_sub(width(text));
        let before = match grid.columns[place].kind {
            Kind::Number | Kind::Group => room,
            Kind::Text | Kind::Name => room.min(gap(grid, place)),
        };
        line.push_str(&" ".repeat(before));
        line.push_str(text);
        line.push_str(&" ".repeat(room - before));
    }
    line.truncate(line.trim_end().len());
    line
}
