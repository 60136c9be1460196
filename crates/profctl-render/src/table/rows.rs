//! The rows of a table as JSON objects: one array, or one object per line.

use std::io;

use profctl_model::{Cell, Table};
use serde_json::json;

/// An array of row objects, one row per line.
pub fn write_array(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "[")?;
    for (index, row) in table.rows.iter().enumerate() {
        write!(out, "{}", if index == 0 { "\n" } else { ",\n" })?;
        write_object(table, row, out)?;
    }
    writeln!(out, "{}]", if table.rows.is_empty() { "" } else { "\n" })
}

/// JSON lines: one row object per line.
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

#[cfg(test)]
mod tests {
    use profctl_model::{Column, Role, TickUnit, Timebase};

    use super::*;

    #[test]
    fn rows_are_objects_in_an_array_or_a_line_each() {
        let plain = Timebase { unit: TickUnit::Cycles, ..Timebase::NANOSECONDS };
        let columns = ["name", "n"].map(|name| Column::new(name, name, Role::Text));
        let mut table = Table::new("profctl.test/1", plain, columns.into());
        let text = |table: &Table, write: fn(&Table, &mut dyn io::Write) -> io::Result<()>| {
            let mut bytes = Vec::new();
            write(table, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(text(&table, write_array), "[]\n");
        assert_eq!(text(&table, write_lines), "");
        table.push(vec!["a \"b\"".into(), Cell::Change(-3)]);
        table.push(vec![Cell::Null, Cell::Number(1.5)]);
        let (first, second) = (r#"{"name":"a \"b\"","n":-3}"#, r#"{"name":null,"n":1.5}"#);
        assert_eq!(text(&table, write_array), format!("[\n{first},\n{second}\n]\n"));
        assert_eq!(text(&table, write_lines), format!("{first}\n{second}\n"));
    }
}
