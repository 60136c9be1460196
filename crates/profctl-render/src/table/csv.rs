//! A table as comma-separated values: RFC 4180, column names as headings, times as integers in the
//! unit that JSON uses. Notes are not written.

use std::borrow::Cow;
use std::io;

use profctl_model::{Cell, Table};

pub(super) fn write(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    record(table.columns.iter().map(|column| Cow::Borrowed(column.name.as_str())), out)?;
    for row in &table.rows {
        record(row.iter().map(|cell| field(cell, table)), out)?;
    }
    Ok(())
}

fn record<'a>(
    fields: impl Iterator<Item = Cow<'a, str>>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    for (index, text) in fields.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        if text.contains(['"', ',', '\r', '\n']) {
            write!(out, "\"{}\"", text.replace('"', "\"\""))?;
        } else {
            out.write_all(text.as_bytes())?;
        }
    }
    out.write_all(b"\r\n")
}

fn field<'a>(cell: &'a Cell, table: &Table) -> Cow<'a, str> {
    match cell {
        Cell::Null => Cow::Borrowed(""),
        Cell::Text(text) => Cow::Borrowed(text),
        Cell::Time(ticks) => Cow::Owned(table.timebase.reported(*ticks).to_string()),
        Cell::Count(n) => Cow::Owned(n.to_string()),
        Cell::Percent(share) => Cow::Owned(share.to_string()),
        Cell::Change(ticks) => Cow::Owned(table.timebase.reported_change(*ticks).to_string()),
        Cell::Ratio(ratio) => Cow::Owned(ratio.to_string()),
        Cell::Number(number) => Cow::Owned(number.to_string()),
    }
}
