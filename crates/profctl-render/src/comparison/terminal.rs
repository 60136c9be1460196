//! For a terminal: the sides and what came of them, then the functions in sections, then notes.

use std::fmt::Write as _;

use profctl_model::Table;
use profctl_model::report::{Compared, Judged, Rule};

use super::{budgets, facts, said, shared, title, written};
use crate::escape::markdown_text;
use crate::table::{self, Format, Style};

/// The whole report for a terminal.
pub fn terminal(compared: &Compared, style: &Style) -> String {
    let mut text = head(compared, style);
    let style = Style { unit: shared(compared, style.unit), ..*style };
    for section in &compared.sections {
        text.push('\n');
        text.push_str(&title(section, compared, style.unit));
        text.push('\n');
        text.push_str(&written(&section.table, Format::Table, &style));
    }
    if !compared.notes.is_empty() {
        text.push('\n');
        let mut bytes = Vec::new();
        table::write_notes(&compared.notes, &style, &mut bytes)
            .expect("memory takes what is written to it");
        text.push_str(&String::from_utf8(bytes).expect("notes are text"));
    }
    text
}

fn head(compared: &Compared, style: &Style) -> String {
    let mut bytes = Vec::new();
    table::write_facts(&facts(compared, style.unit), style, &mut bytes)
        .expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("they were written as text")
}

/// The comparison by path, which is one table, for a terminal or as Markdown.
pub fn paths(compared: &Compared, paths: &Table, format: Format, style: &Style) -> String {
    let mut text = String::new();
    if format == Format::Markdown {
        for (name, value) in facts(compared, style.unit) {
            let value = markdown_text(&value);
            writeln!(text, "- **{name}**: {value}").expect("a string takes all");
        }
    } else {
        text = head(compared, style);
    }
    text.push('\n');
    text + &written(paths, format, style)
}

/// Findings that a terminal shows before the tables.
const FINDINGS_SHOWN: usize = 10;

/// The answer of a gate with what it rests on.
pub fn gate(judged: &Judged, style: &Style) -> String {
    let mut text = terminal(&judged.compared, style);
    if !judged.budgets.is_empty() {
        text.push_str("\nbudgets\n");
        text.push_str(&written(&budgets(judged, style.unit), Format::Table, style));
    }
    let timebase = &judged.compared.timebase;
    let mut standing =
        judged.findings.iter().filter(|finding| finding.stands || finding.rule == Rule::New);
    let lines: Vec<(&str, String)> = standing
        .by_ref()
        .take(FINDINGS_SHOWN)
        .map(|finding| {
            let owner = finding.owner.as_ref().map(|owner| format!(" ({owner})"));
            let what = said(&finding.what, timebase, style.unit);
            let name = &finding.name;
            (finding.rule.name(), format!("{name}{}: {what}", owner.unwrap_or_default()))
        })
        .collect();
    if !lines.is_empty() {
        text.push_str("\nfindings, causes before their callers\n");
        let mut bytes = Vec::new();
        table::write_facts(&lines, style, &mut bytes).expect("memory takes what is written to it");
        text.push_str(&String::from_utf8(bytes).expect("they were written as text"));
    }
    let more = standing.count();
    if more > 0 {
        writeln!(text, "and {more} more").expect("a string takes all");
    }
    text.push('\n');
    let mut last = Vec::new();
    table::write_hanging("gate: ", &judged.summary(), style, &mut last)
        .expect("memory takes what is written to it");
    text + &String::from_utf8_lossy(&last)
}
