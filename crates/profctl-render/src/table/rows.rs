//! The rows of a table as JSON objects and nothing around them: one array, or one object a line.

use std::io;

use profctl_model::{Cell, Table};
use serde_json::json;

/// An array of row objects, a row a line.
pub fn write_array(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "[")?;
    for (index, row) in table.rows.iter().enumerate() {
        write!(out, "{}", if index == 0 { "\n" } else { ",\n" })?;
        write_object(table, row, out)?;
    }
    write!(out, "{}]\n", if table.rows.is_empty() { "" } else { "\n" })
}

/// JSON lines: a row object a line.
pub fn write_lines(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    for row in &table.rows {
        write_object(table, row, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_object(table: &Table, row: &[Cell], out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "{{")?;
    for (index, (column, cell)) in table.columns.iter().zip(row).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}:{}", json!(column.name), super::json::value(cell, table))?;
    }
    write!(out, "}}")
}
