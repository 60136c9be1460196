//! The code trace: calls in time order, indented by depth, in the layout of 1993.
//!
//! Input is the table `profctl.replay/1` with the columns `time`, `thread`, `cpu`, `depth`, `event`
//! (`enter`, `leaf`, `exit`, `mark`), `name`, `net`, `elapsed`, `flag`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

use profctl_model::{Cell, FuncKind, Table, Tick, Ticks};

use crate::escape::{shortened, visible, width};
use crate::number;
use crate::table::{Style, write_notes};

/// Columns of indentation per level, as in the original.
const INDENT: usize = 4;
/// Deeper levels are indented like this one, so that no line grows without limit.
const MAX_INDENT: usize = 64;
/// Columns of a name that are never cut.
const NAME: usize = 24;
/// Significant digits of a time where lines are too long for the terminal.
const DIGITS: usize = 4;

/// Writes a replay table. Where there are several threads or CPUs, each line names its own between
/// the time and the arrow. An exit keeps the space after its arrow, as the original has it, so that
/// a reader of the original format reads this one.
///
/// Without a width every level is indented by four columns, up to level 64. On a terminal the
/// indentation is as large as lets every line fit. Where that is not enough, the thread and CPU are
/// named only where they change, times are rounded, and names are cut.
pub fn write(table: &Table, style: &Style, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = Columns::of(table);
    let is_one = |column| {
        let mut texts = table.rows.iter().map(|row| columns.cell(row, column));
        let mut texts = texts.by_ref().filter(|cell| **cell != Cell::Null);
        texts.next().is_none_or(|first| texts.all(|other| other == first))
    };
    let several = !is_one("thread") || !is_one("cpu");
    let widest = table.rows.iter().map(|row| width(&columns.lane(row))).max().unwrap_or(0);
    Writer::new(LaneNames { several, widest, may_be_one: false }, *style).part(table, out)
}

/// What is known of all lines of a code trace that is written in parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneNames {
    /// Whether there are several threads or CPUs, so that lines name theirs.
    pub several: bool,
    /// The columns that the widest name of a thread and CPU takes.
    pub widest: usize,
    /// Whether there may be but one after all: a terminal then names them where they change.
    pub may_be_one: bool,
}

impl LaneNames {
    /// Of lines about these threads, on these CPUs.
    pub fn of(places: impl Iterator<Item = (String, Option<u32>)>) -> Self {
        let (mut threads, mut cpus, mut widest) = (BTreeSet::new(), BTreeSet::new(), 0);
        for (thread, cpu) in places {
            let at_cpu = cpu.map_or(0, |cpu| width(&format!(" @{cpu}")));
            widest = widest.max(width(&visible(&thread)) + at_cpu);
            threads.insert(thread);
            cpus.extend(cpu);
        }
        Self { several: threads.len() > 1 || cpus.len() > 1, widest, may_be_one: false }
    }

    /// The same where more may follow: lines name their thread and CPU if any is known by name.
    #[must_use]
    pub fn so_far(self) -> Self {
        // The width of `?`, which is no name.
        let has_names = self.widest > 1;
        Self { several: self.several || has_names, may_be_one: !self.several, ..self }
    }
}

/// Writes a code trace in parts, as [`write()`] does in one. The layout for a terminal is that of the
/// first part; where a later line does not fit, it is indented less and its times are rounded.
#[derive(Debug)]
pub struct Writer {
    lanes: LaneNames,
    style: Style,
    layout: Option<Layout>,
    /// The thread and CPU that were named last.
    named: Option<String>,
}

impl Writer {
    /// For lines of these threads and CPUs.
    pub fn new(lanes: LaneNames, style: Style) -> Self {
        Self { lanes, style, layout: None, named: None }
    }

    /// From here on there are these threads and CPUs.
    pub fn widen(&mut self, lanes: LaneNames) {
        self.lanes.several |= lanes.several;
        self.lanes.widest = self.lanes.widest.max(lanes.widest);
    }

    /// Writes some lines.
    pub fn part(&mut self, table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
        let columns = Columns::of(table);
        let Self { lanes: LaneNames { several, widest, may_be_one }, style, named, .. } = self;
        let room = if *several { *widest + 3 } else { 0 };
        let layout = *self.layout.get_or_insert_with(|| {
            let is_narrow = *may_be_one && style.width.is_some();
            let layout = Layout::new(table, &columns, style, if is_narrow { 0 } else { room });
            Layout { names_lanes: layout.names_lanes && !is_narrow, ..layout }
        });
        let room = if layout.names_lanes { room } else { 0 };
        for row in &table.rows {
            let mut line = Line::new(row, &columns, table, style, layout.digits);
            if line.width(NAME) + room > layout.limit {
                line = Line::new(row, &columns, table, style, layout.digits.min(DIGITS));
            }
            let lane = columns.lane(row);
            if *several && layout.names_lanes {
                let pad = " ".repeat(widest.saturating_sub(width(&lane)));
                writeln!(out, "{}", layout.text(&line, &format!(" [{lane}{pad}]")))?;
                continue;
            }
            if *several && named.as_ref() != Some(&lane) {
                writeln!(out, "[{lane}]")?;
                *named = Some(lane);
            }
            writeln!(out, "{}", layout.text(&line, ""))?;
        }
        write_notes(&table.notes, style, out)
    }
}

/// The places of the columns.
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
            (Cell::Text(cpu), _) => format!("{thread} @{}", visible(cpu)),
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

/// A line, in parts that indentation and cutting leave alone and those that they change.
struct Line<'a> {
    clock: String,
    depth: usize,
    /// What is before the name.
    before: &'static str,
    name: Cow<'a, str>,
    /// The times and flags.
    after: String,
}

impl<'a> Line<'a> {
    /// The line for a row, times rounded to at most `digits` significant digits.
    fn new(
        row: &'a [Cell],
        columns: &Columns<'_>,
        table: &Table,
        style: &Style,
        digits: usize,
    ) -> Self {
        let time = Tick(columns.number(row, "time").unwrap_or(0));
        let label = style.unit.label(&table.timebase);
        let length = |name| match columns.number(row, name) {
            Some(ticks) => {
                let (ticks, timebase) = (Ticks(ticks), &table.timebase);
                let whole = number::whole_digits(ticks, timebase, style.unit);
                number::length_rounded(ticks, timebase, style.unit, digits.saturating_sub(whole))
            }
            None => "?".into(),
        };
        let (before, mut after) = match columns.text(row, "event") {
            "enter" => {
                ("-> ", format!(" ({} {label}, {} total)", length("net"), length("elapsed")))
            }
            "leaf" => ("-> ", format!(" ({} {label})", length("net"))),
            "exit" => ("<- ", String::new()),
            _ => ("== ", String::new()),
        };
        let flags = flags(columns.text(row, "flag")).replace("no entry, no exit", "no entry/exit");
        if !flags.is_empty() {
            after.push_str("  ");
            after.push_str(&flags);
        }
        Self {
            clock: number::clock(time, &table.timebase, style.unit),
            depth: columns.number(row, "depth").unwrap_or(0) as usize,
            before,
            // An exit is anonymous.
            name: visible(if before == "<- " { "" } else { columns.text(row, "name") }),
            after,
        }
    }

    /// Columns beside the indentation, with at most `name` of the name.
    fn width(&self, name: usize) -> usize {
        width(&self.clock)
            + 1
            + self.before.len()
            + width(&self.name).min(name)
            + width(&self.after)
    }
}

/// How lines are laid out.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Columns of indentation per level.
    step: usize,
    /// The most columns of indentation.
    most: usize,
    /// The columns of the terminal.
    limit: usize,
    /// The most significant digits of a time.
    digits: usize,
    /// Whether every line names its thread and CPU.
    names_lanes: bool,
}

impl Layout {
    /// The layout for a terminal on which the name of a thread and CPU takes `lane` columns.
    fn new(table: &Table, columns: &Columns<'_>, style: &Style, lane: usize) -> Self {
        let most = INDENT * MAX_INDENT;
        let all = usize::MAX;
        let full = Self { step: INDENT, most, limit: all, digits: all, names_lanes: true };
        let Some(limit) = style.width else { return full };
        let lines = |digits| {
            table.rows.iter().map(move |row| Line::new(row, columns, table, style, digits))
        };
        let tries = [(lane, true, all), (0, false, all), (0, false, DIGITS)];
        for (lane, names_lanes, digits) in tries {
            let fits = |step: &usize| {
                let indent = |line: &Line<'_>| step * line.depth.min(MAX_INDENT);
                lines(digits).all(|line| indent(&line) + line.width(all) + lane <= limit)
            };
            if let Some(step) = [INDENT, 2, 1].into_iter().find(fits) {
                return Self { step, limit, digits, names_lanes, ..full };
            }
        }
        let widest = lines(DIGITS).map(|line| line.width(NAME)).max().unwrap_or(0);
        let most = limit.saturating_sub(widest).min(MAX_INDENT);
        Self { step: 1, most, limit, digits: DIGITS, names_lanes: false }
    }

    fn text(&self, line: &Line<'_>, lane: &str) -> String {
        let room = self.limit.saturating_sub(line.width(NAME) + width(lane));
        let indent = (self.step * line.depth.min(MAX_INDENT)).min(self.most).min(room);
        let used = indent + line.width(0) + width(lane);
        let name = shortened(&line.name, self.limit.saturating_sub(used).max(NAME));
        let indent = " ".repeat(indent + 1);
        format!("{}{lane}{indent}{}{name}{}", line.clock, line.before, line.after)
    }
}

/// The flags without the kind of the function: the layout has no place for it, and readers of a
/// code trace accept nothing but stars after a complete call.
fn flags(all: &str) -> String {
    let flags = all.split(", ").filter(|flag| FuncKind::from_name(flag).is_none());
    flags.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

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
    fn deep_calls_stay_within_the_terminal_and_no_line_grows_without_limit() {
        let mut lines = String::new();
        for depth in [0, 1, 20, 63, 64, 70_000] {
            writeln!(
                lines,
                "{} a {depth} leaf a_function_with_a_rather_long_name 5 5 -",
                10 + depth
            )
            .unwrap();
        }
        let table = replay(Timebase::MICROSECONDS, &lines);
        for (width, widest) in [(None, 320), (Some(200), 200), (Some(80), 80), (Some(10), 50)] {
            let style = Style { width, ..Style::default() };
            let mut out = Vec::new();
            write(&table, &style, &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            for line in out.lines() {
                assert!(crate::escape::width(line) <= widest, "{width:?}: {line}");
                assert!(line.contains("a_function_with_a_rathe"), "{width:?}: {line}");
            }
        }
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
        table.notes.push("1 incomplete call".into());
        check(
            &table,
            &expect![[r"
                   0:000 001.000 [init-1 @3] -> read (0.100 us, 2.500 total)
                   0:000 002.000 [sh-2     ] -> sync (? us)
                   0:000 003.500 [init-1 @3] <-_
                note: 1 incomplete call
            "]],
        );
    }
}
