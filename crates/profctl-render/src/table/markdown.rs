//! A Markdown table whose source is aligned too. Names are set as code, so that underscores and
//! angle brackets in them stay what they are.

use std::io;

use profctl_model::Table;

use crate::table::Style;
use crate::table::grid::{Grid, Kind, visible};

pub(super) fn write(table: &Table, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let grid = Grid::new(table, style, usize::MAX);
    let kinds: Vec<Kind> = grid.columns.iter().map(|column| column.kind).collect();
    let header: Vec<String> =
        grid.columns.iter().map(|column| column.heading.replace('|', "\\|")).collect();
    let rows: Vec<Vec<String>> = grid
        .rows
        .iter()
        .map(|row| row.iter().zip(&kinds).map(|(text, kind)| escaped(text, *kind)).collect())
        .collect();
    let widths: Vec<usize> = (0..kinds.len())
        .map(|index| {
            let column = rows.iter().chain([&header]).map(|row| row[index].chars().count());
            column.max().unwrap_or(0).max(3)
        })
        .collect();

    line(&header, &kinds, &widths, out)?;
    write!(out, "|")?;
    for (kind, &width) in kinds.iter().zip(&widths) {
        match kind {
            Kind::Number | Kind::Group => write!(out, " {:->width$}: |", "", width = width - 1)?,
            Kind::Text | Kind::Name => write!(out, " {:-<width$} |", "")?,
        }
    }
    writeln!(out)?;
    for row in &rows {
        line(row, &kinds, &widths, out)?;
    }
    for note in &table.notes {
        writeln!(out, "\n> note: {}", visible(note))?;
    }
    Ok(())
}

fn escaped(text: &str, kind: Kind) -> String {
    let text = text.replace('|', "\\|");
    match kind {
        Kind::Name if text.contains('`') => format!("`` {text} ``"),
        Kind::Name if !text.trim().is_empty() => indented_code(&text),
        Kind::Name | Kind::Number | Kind::Group | Kind::Text => text,
    }
}

/// A tree indents its names; Markdown would drop the spaces.
fn indented_code(text: &str) -> String {
    let name = text.trim_start_matches(' ');
    format!("{}`{name}`", "&nbsp;".repeat(text.len() - name.len()))
}

fn line(
    cells: &[String],
    kinds: &[Kind],
    widths: &[usize],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write!(out, "|")?;
    for ((cell, kind), &width) in cells.iter().zip(kinds).zip(widths) {
        match kind {
            Kind::Number | Kind::Group => write!(out, " {cell:>width$} |")?,
            Kind::Text | Kind::Name => write!(out, " {cell:<width$} |")?,
        }
    }
    writeln!(out)
}
