//! A Markdown table whose source is aligned too.
//!
//! Whatever a name contains, it is shown as it is and is not a markup: names are code spans, other
//! text is escaped.

use std::io;

use profctl_model::Table;

use crate::escape::{markdown_code, markdown_text, width};
use crate::table::Style;
use crate::table::grid::{Grid, Kind, indentation};
use crate::table::term::caption;

/// Cells wider than this are not padded.
const PADDED: usize = 120;

pub(super) fn write(table: &Table, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let grid = Grid::new(table, style, None);
    let kinds: Vec<Kind> = grid.columns.iter().map(|column| column.kind).collect();
    let header: Vec<String> =
        grid.columns.iter().map(|column| markdown_text(&column.heading)).collect();
    let rows: Vec<Vec<String>> = grid
        .rows
        .iter()
        .map(|row| row.iter().zip(&kinds).map(|(text, kind)| cell(text, *kind)).collect())
        .collect();
    let widths: Vec<usize> = (0..kinds.len())
        .map(|place| {
            let column = rows.iter().chain([&header]).map(|row| width(&row[place]));
            column.filter(|&width| width <= PADDED).max().unwrap_or(0).max(3)
        })
        .collect();

    if let Some(caption) = caption(table, style) {
        writeln!(out, "{caption}\n")?;
    }
    line(&header, &kinds, &widths, out)?;
    write!(out, "|")?;
    for (kind, &width) in kinds.iter().zip(&widths) {
        match kind {
            Kind::Number | Kind::Group => write!(out, " {}: |", "-".repeat(width - 1))?,
            Kind::Text | Kind::Name => write!(out, " {} |", "-".repeat(width))?,
        }
    }
    writeln!(out)?;
    for row in &rows {
        line(row, &kinds, &widths, out)?;
    }
    for note in &table.notes {
        writeln!(out, "\n> note: {}", markdown_text(note))?;
    }
    Ok(())
}

fn cell(text: &str, kind: Kind) -> String {
    match kind {
        Kind::Name => {
            let spaces = indentation(text);
            // A tree indents its names; Markdown would drop the spaces.
            "&nbsp;".repeat(spaces) + &markdown_code(&text[spaces..])
        }
        Kind::Number | Kind::Group | Kind::Text => markdown_text(text),
    }
}

fn line(
    cells: &[String],
    kinds: &[Kind],
    widths: &[usize],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write!(out, "|")?;
    for ((cell, kind), &room) in cells.iter().zip(kinds).zip(widths) {
        let pad = " ".repeat(room.saturating_sub(width(cell)));
        match kind {
            Kind::Number | Kind::Group => write!(out, " {pad}{cell} |")?,
            Kind::Text | Kind::Name => write!(out, " {cell}{pad} |")?,
        }
    }
    writeln!(out)
}
