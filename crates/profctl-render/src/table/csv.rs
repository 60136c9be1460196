//! A table as comma-separated values: RFC 4180, column names as headings, times as integers in the
//! unit that JSON uses. Notes are not written.

use std::borrow::Cow;
use std::io;

use profctl_model::{Cell, Table};

/// Writes a table; `safe` is passed to [`field`].
pub(super) fn write(table: &Table, safe: bool, out: &mut dyn io::Write) -> io::Result<()> {
    record(table.columns.iter().map(|column| field(&column.name, safe)), out)?;
    for row in &table.rows {
        record(row.iter().map(|cell| cell_field(cell, table, safe)), out)?;
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
        out.write_all(text.as_bytes())?;
    }
    out.write_all(b"\r\n")
}

/// A text as a field: in quotes where it needs them. If it should be `safe`, an apostrophe is
/// before what a spreadsheet would take for a formula.
pub fn field(text: &str, safe: bool) -> Cow<'_, str> {
    let is_formula = safe && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let apostrophe = if is_formula { "'" } else { "" };
    if text.contains(['"', ',', '\r', '\n']) {
        Cow::Owned(format!("\"{apostrophe}{}\"", text.replace('"', "\"\"")))
    } else if is_formula {
        Cow::Owned(format!("{apostrophe}{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn cell_field<'a>(cell: &'a Cell, table: &Table, safe: bool) -> Cow<'a, str> {
    match cell {
        Cell::Null => Cow::Borrowed(""),
        Cell::Text(text) => field(text, safe),
        Cell::Time(ticks) => Cow::Owned(table.timebase.reported(*ticks).to_string()),
        Cell::Count(n) => Cow::Owned(n.to_string()),
        Cell::Percent(share) => Cow::Owned(share.to_string()),
        Cell::Change(ticks) => Cow::Owned(table.timebase.reported_change(*ticks).to_string()),
        Cell::Ratio(ratio) => Cow::Owned(ratio.to_string()),
        Cell::Number(number) => Cow::Owned(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_if_asked_for() {
        for (text, plain, safe) in [
            ("tcp_ack", "tcp_ack", "tcp_ack"),
            ("=1+2", "=1+2", "'=1+2"),
            ("+a", "+a", "'+a"),
            ("-[NSView drawRect:]", "-[NSView drawRect:]", "'-[NSView drawRect:]"),
            ("@SUM(A1)", "@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\t=1", "'\t=1"),
            ("\r=1", "\"\r=1\"", "\"'\r=1\""),
            ("=cmd(\"x\",1)", "\"=cmd(\"\"x\"\",1)\"", "\"'=cmd(\"\"x\"\",1)\""),
            ("a=b", "a=b", "a=b"),
        ] {
            assert_eq!((field(text, false), field(text, true)), (plain.into(), safe.into()));
        }
    }
}
