//! A table as one JSON object, one row per line.

use std::io;

use profctl_model::{Cell, Table};
use serde_json::{Value, json};

pub(super) fn write(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    writeln!(out, "{{\"schema\":{},", json!(table.schema))?;
    writeln!(out, " \"unit\":{},", json!(table.timebase.unit_name()))?;
    writeln!(out, " \"columns\":{},", json!(columns))?;
    write!(out, " \"rows\":[")?;
    for (index, row) in table.rows.iter().enumerate() {
        write!(out, "{}", if index == 0 { "\n  {" } else { ",\n  {" })?;
        for (index, (name, cell)) in columns.iter().zip(row).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma}{}:{}", json!(name), value(cell, table))?;
        }
        write!(out, "}}")?;
    }
    writeln!(out, "],")?;
    writeln!(out, " \"notes\":{}}}", json!(table.notes))
}

pub(super) fn value(cell: &Cell, table: &Table) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Time(ticks) => json!(table.timebase.reported(*ticks)),
        Cell::Count(n) => json!(n),
        Cell::Percent(share) => json!(share),
        Cell::Change(ticks) => json!(table.timebase.reported_change(*ticks)),
        Cell::Ratio(ratio) => json!(ratio),
        Cell::Number(number) => json!(number),
    }
}
