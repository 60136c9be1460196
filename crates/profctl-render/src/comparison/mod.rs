//! Comparisons and the answers of gates: for a terminal, as Markdown, and in the forms of those who
//! collect test results and review code.

mod code_quality;
mod github;
mod junit;
mod markdown;
mod sarif;
mod terminal;

use profctl_model::report::{Compared, Part, Phrase, Section};
use profctl_model::{Cell, Column, Role, Table, Ticks, Timebase};

use crate::number::{self, TimeUnit};
use crate::table::{self, Format, Style};

pub use code_quality::code_quality;
pub use github::annotations;
pub use junit::junit;
pub use markdown::{comment, markdown};
pub use sarif::sarif;
pub use terminal::{gate, paths, terminal};

/// A phrase as text.
pub fn said(phrase: &Phrase, timebase: &Timebase, unit: TimeUnit) -> String {
    written_out(phrase, &|ticks| number::length_with_unit(ticks, timebase, unit))
}

/// A phrase as text, its times as `length` writes them.
fn written_out(phrase: &Phrase, length: &dyn Fn(Ticks) -> String) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Time(ticks) => length(*ticks),
        Part::Ratio(ratio) => number::ratio(*ratio),
        Part::Change(ratio) => change(*ratio),
    };
    phrase.0.iter().map(part).collect()
}

/// A ratio as a change in percent.
fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    // Zero has no sign.
    let percent = if percent.abs() < 0.005 { 0.0 } else { percent };
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{percent:.2}%")
}

/// What is compared and what came of it: names and values.
pub fn facts(compared: &Compared, unit: TimeUnit) -> Vec<(&'static str, String)> {
    let value =
        |(name, phrase): &(&'static str, Phrase)| (*name, said(phrase, &compared.timebase, unit));
    compared.facts.iter().map(value).collect()
}

/// Significant digits of a time in a rounded fact, unless it has more before the point.
const DIGITS: usize = 4;

/// The same for the top of a page: times are rounded, and in one unit.
pub fn rounded_facts(compared: &Compared, unit: TimeUnit) -> Vec<(&'static str, String)> {
    let timebase = &compared.timebase;
    let parts = compared.facts.iter().flat_map(|(_, phrase)| &phrase.0);
    let times = parts.filter_map(|part| match part {
        Part::Time(ticks) => Some(*ticks),
        Part::Text(_) | Part::Ratio(_) | Part::Change(_) => None,
    });
    let largest = times.max().unwrap_or(Ticks(0));
    let unit = unit.resolved(timebase, largest);
    let length = |ticks| {
        let decimals = DIGITS.saturating_sub(number::whole_digits(ticks, timebase, unit));
        let length = number::length_rounded(ticks, timebase, unit, decimals);
        format!("{length} {}", unit.label(timebase))
    };
    let value = |(name, phrase): &(&'static str, Phrase)| (*name, written_out(phrase, &length));
    compared.facts.iter().map(value).collect()
}

/// The unit that all sections share.
fn shared(compared: &Compared, unit: TimeUnit) -> TimeUnit {
    table::shared_unit(compared.sections.iter().map(|section| &section.table), unit)
}

/// The title of a section: how many rows it has, how many of them are shown, what they make up.
fn title(section: &Section, compared: &Compared, unit: TimeUnit) -> String {
    let (all, shown) = (section.count, section.table.rows.len());
    let first = if all == shown { String::new() } else { format!(", the first {shown}") };
    let sum = section.sum.map_or_else(String::new, |(what, sum)| {
        let change = number::change_with_unit(sum, &compared.timebase, unit);
        format!("; {what} {change} per run")
    });
    format!("{}: {all}{first}{sum}", section.title)
}

fn written(table: &Table, format: Format, style: &Style) -> String {
    let mut bytes = Vec::new();
    table::write(table, format, style, &mut bytes).expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("tables are text")
}

/// The budgets as a table.
fn budgets(judged: &profctl_model::report::Judged, unit: TimeUnit) -> Table {
    let text = |name: &str| Column::new(name, name, Role::Text);
    let columns = vec![
        text("state"),
        text("what"),
        text("before"),
        text("after"),
        text("limit"),
        Column::new("function", "function", Role::Name),
    ];
    let timebase = judged.compared.timebase;
    let mut table = Table::new("profctl.budgets/1", timebase, columns);
    let cell = |phrase: &Phrase| Cell::Text(said(phrase, &timebase, unit));
    for line in &judged.budgets {
        table.push(vec![
            line.state.into(),
            line.what.into(),
            line.before.as_ref().map_or(Cell::Null, cell),
            line.after.as_ref().map_or(Cell::Null, cell),
            cell(&line.limit),
            line.function.as_str().into(),
        ]);
    }
    table
}
