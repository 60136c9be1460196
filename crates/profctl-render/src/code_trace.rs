//! The code trace: calls in time order, indented by depth, in the layout of 1993.
//!
//! It is written from the table `profctl.replay/1` by the names of its columns: `time`, `thread`,
//! `cpu`, `depth`, `event` (`enter`, `leaf`, `exit`, `mark`), `name`, `net`, `elapsed`, `flag`.

use std::io;

use profctl_model::{Cell, FuncKind, Table, Tick, Ticks};

use crate::number;
use crate::table::Style;
use crate::table::visible;

/// Writes a replay table. Where there are several threads or CPUs, each line names its own between
/// the time and the arrow. An exit keeps the space behind its arrow, as the original has it, so that
/// what reads the one reads the other.
pub fn write(table: &Table, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = Columns::of(table);
    let lanes: Vec<String> = table.rows.iter().map(|row| columns.lane(row)).collect();
    let is_one = |column| {
        let mut texts = table.rows.iter().map(|row| columns.cell(row, column));
        let mut texts = texts.by_ref().filter(|cell| **cell != Cell::Null);
        texts.next().is_none_or(|first| texts.all(|other| other == first))
    };
    let several = !is_one("thread") || !is_one("cpu");
    let width = lanes.iter().map(|lane| lane.chars().count()).max().unwrap_or(0);

    for (row, lane) in table.rows.iter().zip(&lanes) {
        let lane = if several { format!(" [{lane:<width$}]") } else { String::new() };
        line(row, &lane, &columns, table, style, out)?;
    }
    for note in &table.notes {
        writeln!(out, "note: {}", visible(note))?;
    }
    Ok(())
}

/// Where each column of the table stands.
struct Columns<'a> {
    names: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    fn of(table: &'a Table) -> Self {
        Self { names: table.columns.iter().map(|column| column.name.as_str()).collect() }
    }

    fn cell<'r>(&self, row: &'r [Cell], name: &str) -> &'r Cell {
        let index = self.names.iter().position(|known| *known == name);
        index.map_or(&Cell::Null, |index| &row[index])
    }

    fn text<'r>(&self, row: &'r [Cell], name: &str) -> &'r str {
        match self.cell(row, name) {
            Cell::Text(text) => text,
            Cell::Null
            | Cell::Time(_)
            | Cell::Count(_)
            | Cell::Percent(_)
            | Cell::Change(_)
            | Cell::Ratio(_)
            | Cell::Number(_) => "",
        }
    }

    /// Who a row is about: `THREAD` or `THREAD @CPU`.
    fn lane(&self, row: &[Cell]) -> String {
        let thread = visible(self.text(row, "thread")).into_owned();
        match (self.cell(row, "cpu"), self.number(row, "cpu")) {
            (Cell::Text(cpu), _) => format!("{thread} @{cpu}"),
            (_, Some(cpu)) => format!("{thread} @{cpu}"),
            (_, None) => thread,
        }
    }

    fn number(&self, row: &[Cell], name: &str) -> Option<u64> {
        match self.cell(row, name) {
            Cell::Time(Ticks(n)) | Cell::Count(n) => Some(*n),
            Cell::Null
            | Cell::Text(_)
            | Cell::Percent(_)
            | Cell::Change(_)
            | Cell::Ratio(_)
            | Cell::Number(_) => None,
        }
    }
}

fn line(
    row: &[Cell],
    lane: &str,
    columns: &Columns<'_>,
    table: &Table,
    style: &Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let time = Tick(columns.number(row, "time").unwrap_or(0));
    let depth = columns.number(row, "depth").unwrap_or(0) as usize;
    let name = visible(columns.text(row, "name"));
    let label = style.unit.label(&table.timebase);
    let length = |name| match columns.number(row, name) {
        Some(ticks) => number::length(Ticks(ticks), &table.timebase, style.unit),
        None => "?".into(),
    };
    let clock = number::clock(time, &table.timebase, style.unit);
    write!(out, "{clock}{lane} {:indent$}", "", indent = 4 * depth)?;
    match columns.text(row, "event") {
        "enter" => {
            write!(out, "-> {name} ({} {label}, {} total)", length("net"), length("elapsed"))?;
        }
        "leaf" => write!(out, "-> {name} ({} {label})", length("net"))?,
        "exit" => write!(out, "<- ")?,
        _ => write!(out, "== {name}")?,
    }
    match flags(columns.text(row, "flag")).as_str() {
        "" => writeln!(out),
        flags => writeln!(out, "  {flags}"),
    }
}

/// The flags without the kind of the function: the layout has no place for that, and whatever reads
/// a code trace takes nothing but stars behind a whole call.
fn flags(all: &str) -> String {
    let flags = all.split(", ").filter(|flag| FuncKind::from_name(flag).is_none());
    flags.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use profctl_model::{Column, Role, Timebase};

    /// Lines of `time thread depth event name net elapsed flag`, `-` for nothing.
    fn replay(timebase: Timebase, lines: &str) -> Table {
        let columns = [
            ("time", Role::Time),
            ("thread", Role::Text),
            ("depth", Role::Count),
            ("event", Role::Text),
            ("name", Role::Name),
            ("net", Role::Time),
            ("elapsed", Role::Time),
            ("flag", Role::Text),
            ("cpu", Role::Count),
        ];
        let columns: Vec<Column> =
            columns.into_iter().map(|(name, role)| Column::new(name, name, role)).collect();
        let mut table = Table::new("profctl.replay/1", timebase, columns);
        for line in lines.lines() {
            let words = line.split_whitespace().zip(&table.columns);
            let mut row: Vec<Cell> = words
                .map(|(word, column)| match (word, column.role) {
                    ("-", _) => Cell::Null,
                    (word, Role::Time) => Cell::Time(Ticks(word.parse().unwrap())),
                    (word, Role::Count) => Cell::Count(word.parse().unwrap()),
                    (word, Role::Text | Role::Name | Role::Percent | Role::Ratio) => word.into(),
                })
                .collect();
            row.push(if row[1] == Cell::from("init-1") { Cell::Count(3) } else { Cell::Null });
            table.rows.push(row);
        }
        table
    }

    fn check(table: &Table, expected: &Expect) {
        let mut out = Vec::new();
        write(table, &Style::default(), &mut out).unwrap();
        expected.assert_eq(&String::from_utf8(out).unwrap().replace("<- \n", "<-_\n"));
    }

    #[test]
    fn the_layout_of_1993() {
        let table = replay(
            Timebase::MICROSECONDS,
            "\
1200040 a 0 enter clkintr 12 40 -
1200044 a 1 enter hardclock 19 28 ***
1200045 a 2 leaf timer 1 1 interrupt
1200050 a 2 leaf softclock 9 9 -
1200072 a 1 exit hardclock - - -
1200075 a 1 mark MGET - - -
1200080 a 0 exit clkintr - - -
12003000999 a 0 leaf spl0 600 600 ***",
        );
        check(
            &table,
            &expect![[r"
                   1:200 040 -> clkintr (12 us, 40 total)
                   1:200 044     -> hardclock (19 us, 28 total)  ***
                   1:200 045         -> timer (1 us)
                   1:200 050         -> softclock (9 us)
                   1:200 072     <-_
                   1:200 075     == MGET
                   1:200 080 <-_
                12003:000 999 -> spl0 (600 us)  ***
            "]],
        );
    }

    #[test]
    fn lines_of_several_threads_name_theirs() {
        let mut table = replay(
            Timebase::NANOSECONDS,
            "\
1000 init-1 0 enter read 100 2500 -
2000 sh-2 0 leaf sync - - -
3500 init-1 0 exit read - - -",
        );
        table.notes.push("1 call partial".into());
        check(
            &table,
            &expect![[r"
                   0:000 001.000 [init-1 @3] -> read (0.100 us, 2.500 total)
                   0:000 002.000 [sh-2     ] -> sync (? us)
                   0:000 003.500 [init-1 @3] <-_
                note: 1 call partial
            "]],
        );
    }
}
