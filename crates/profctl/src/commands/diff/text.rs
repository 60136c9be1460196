//! The text report of a comparison: the sides, the number of each verdict, then sections of slower
//! and faster functions.

use std::fmt::Write as _;

use profctl_analyze::diff::{
    Comparison, Interval, PathComparison, Section, Shown, SideSummary, Sum, Verdict,
};
use profctl_model::{Table, Ticks};
use profctl_render::escape::markdown_text;
use profctl_render::table::{self, Format};
use profctl_render::{Style, TimeUnit, number};

use crate::args::Global;
use crate::style;

/// The whole report for a terminal.
pub(crate) fn table(comparison: &Comparison, shown: &Shown<'_>, global: &Global) -> String {
    let style = style::of(global);
    let mut text = facts(&head(comparison, global), &style);
    let sections = comparison.sections(shown);
    let unit = unit_of(&sections, global);
    let style = Style { unit, ..style };
    for section in sections {
        line(&mut text, "");
        line(&mut text, &title(&section, comparison, unit));
        text.push_str(&written(&section.table, Format::Table, &style));
    }
    notes(comparison, &mut text, &style);
    text
}

/// The whole report as Markdown.
pub(crate) fn markdown(comparison: &Comparison, shown: &Shown<'_>, global: &Global) -> String {
    let mut text = String::new();
    for (name, value) in head(comparison, global) {
        line(&mut text, &format!("- **{name}**: {}", markdown_text(&value)));
    }
    let sections = comparison.sections(shown);
    let unit = unit_of(&sections, global);
    let style = Style { unit, ..style::of(global) };
    for section in sections {
        line(&mut text, &format!("\n### {}\n", title(&section, comparison, unit)));
        text.push_str(&written(&section.table, Format::Markdown, &style));
    }
    let notes = comparison.notes();
    if !notes.is_empty() {
        line(&mut text, "");
    }
    for note in notes {
        line(&mut text, &format!("> {}  ", markdown_text(&note)));
    }
    text
}

/// The comparison by path, as a table for a terminal or as Markdown.
pub(crate) fn paths(
    comparison: &Comparison,
    paths: &PathComparison,
    table: &Table,
    global: &Global,
) -> String {
    let mut head = about(comparison, global);
    head.push(("paths", verdicts_on_paths(paths)));
    let mut text = String::new();
    if global.format() == Format::Markdown {
        for (name, value) in &head {
            line(&mut text, &format!("- **{name}**: {}", markdown_text(value)));
        }
    } else {
        text = facts(&head, &style::of(global));
    }
    line(&mut text, "");
    text + &written(table, global.format(), &style::of(global))
}

/// Names and values as lines for a terminal.
fn facts(facts: &[(&'static str, String)], style: &Style) -> String {
    let mut bytes = Vec::new();
    table::write_facts(facts, style, &mut bytes).expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("they were written as text")
}

fn verdicts_on_paths(paths: &PathComparison) -> String {
    let mut parts: Vec<String> = Verdict::ALL
        .into_iter()
        .map(|verdict| (paths.count(verdict), verdict.name()))
        .filter(|&(n, _)| n > 0)
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    let unchanged = paths.unchanged();
    if unchanged > 0 || parts.is_empty() {
        parts.push(format!("{unchanged} identical"));
    }
    parts.join(", ")
}

/// The sides and the results, one line each: a name and a value.
pub(crate) fn head(comparison: &Comparison, global: &Global) -> Vec<(&'static str, String)> {
    let mut head = about(comparison, global);
    head.push(("functions", verdicts(comparison)));
    head
}

/// The sides and the run-wide change.
fn about(comparison: &Comparison, global: &Global) -> Vec<(&'static str, String)> {
    let mut about = vec![
        ("before", side(&comparison.before, global)),
        ("after", side(&comparison.after, global)),
    ];
    about.extend(run_wide(comparison).map(|text| ("run-wide", text)));
    about
}

/// What a side is, in a line.
fn side(side: &SideSummary, global: &Global) -> String {
    let runs = side.runs.len() as u64;
    let mut parts = vec![number::count(runs, "run", "runs")];
    if u64::from(side.n_blocks) < runs {
        let blocks = number::count(u64::from(side.n_blocks), "block", "blocks");
        parts[0] = format!("{} in {blocks}", parts[0]);
    }
    let profile = &side.profile;
    let busy = Ticks(profile.busy() / runs.max(1));
    let busy = number::length_with_unit(busy, &profile.timebase, global.unit);
    parts.push(format!("{busy} busy{}", if runs == 1 { "" } else { " per run" }));
    let mut formats: Vec<&str> = profile.sources.iter().map(|s| s.format.as_str()).collect();
    formats.sort_unstable();
    formats.dedup();
    parts.extend(formats.into_iter().map(str::to_owned));
    format!("{}: {}", side.name, parts.join(", "))
}

/// The common factor of all functions.
fn run_wide(comparison: &Comparison) -> Option<String> {
    let global = comparison.global?;
    let mut parts = vec!["net time per call, median function".to_owned()];
    if global.ci_low.is_finite() && global.ci_high.is_finite() {
        parts.push(format!("95%: {} to {}", change(global.ci_low), change(global.ci_high)));
    }
    if global.p.is_finite() && comparison.interval == Interval::BetweenRuns {
        parts.push(format!("p {:.3}", global.p));
    }
    let taken = if global.normalized { ", removed before the tests" } else { "" };
    Some(format!("{} ({}){taken}", change(global.factor), parts.join("; ")))
}

/// A binary logarithm as a change in percent.
fn change(log: f64) -> String {
    let percent = (log.exp2() - 1.0) * 100.0;
    // Zero has no sign.
    let percent = if percent.abs() < 0.005 { 0.0 } else { percent };
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{percent:.2}%")
}

fn verdicts(comparison: &Comparison) -> String {
    let mut parts: Vec<String> = Verdict::ALL
        .into_iter()
        .map(|verdict| (comparison.count(verdict), verdict.name()))
        .filter(|&(n, _)| n > 0)
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    if comparison.unchanged > 0 || parts.is_empty() {
        parts.push(format!("{} identical", comparison.unchanged));
    }
    if parts.len() == 1 && comparison.unchanged > 0 {
        return format!("no function changed: {}", parts[0]);
    }
    let all = parts.join(", ");
    let margin = comparison.margin * 100.0;
    match comparison.sensitivity.map(|sensitivity| sensitivity * 100.0) {
        _ if comparison.tested == 0 => all,
        None => format!("{all} (margin {margin}%)"),
        Some(seen) => format!(
            "{all} (margin {margin}%; minimum detectable change {seen:.1}%, median function)"
        ),
    }
}

/// The unit that all sections share.
pub(crate) fn unit_of(sections: &[Section], global: &Global) -> TimeUnit {
    table::shared_unit(sections.iter().map(|section| &section.table), global.unit)
}

/// The title of a section: how many rows it has, how many of them are shown, what they make up.
pub(crate) fn title(section: &Section, comparison: &Comparison, unit: TimeUnit) -> String {
    let (all, shown) = (section.count, section.table.rows.len());
    let first = if all == shown { String::new() } else { format!(", the first {shown}") };
    let sum = section.sum.map_or_else(String::new, |(what, sum)| {
        let change = number::change_with_unit(sum, &comparison.timebase, unit);
        let what = match what {
            Sum::Net => "net",
            Sum::Cost => "from cost",
        };
        format!("; {what} {change} per run")
    });
    format!("{}: {all}{first}{sum}", section.title)
}

/// A table as text.
pub(crate) fn written(table: &Table, format: Format, style: &Style) -> String {
    let mut bytes = Vec::new();
    table::write(table, format, style, &mut bytes).expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("tables are text")
}

fn notes(comparison: &Comparison, text: &mut String, style: &Style) {
    let notes = comparison.notes();
    if notes.is_empty() {
        return;
    }
    line(text, "");
    let mut bytes = Vec::new();
    table::write_notes(&notes, style, &mut bytes).expect("memory takes what is written to it");
    text.push_str(&String::from_utf8(bytes).expect("notes are text"));
}

/// Appends a line.
pub(crate) fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes what is written to it");
}
