//! The gate report as a review comment, with collapsed details.

use profctl_analyze::diff::gate::Answer;
use profctl_analyze::diff::{Function, Shown};
use profctl_model::{Cell, Column, Role, Table};
use profctl_render::escape::{markdown_code, markdown_text};
use profctl_render::table::Format;
use profctl_render::{Style, number};

use super::report::Report;
use crate::commands::diff::text::{self, line};
use crate::style;

/// Number of functions that are not collapsed.
const FIRST: usize = 3;

/// The comment.
pub(super) fn page(report: &Report<'_>, shown: &Shown<'_>) -> String {
    let mut page = String::new();
    let answer = match report.judgement.answer {
        Answer::Pass => "passed",
        Answer::Regressed => "regressed",
        Answer::Inconclusive => "inconclusive",
    };
    line(&mut page, &format!("### profctl gate: {answer}\n"));
    let (baseline, candidate) =
        (markdown_text(report.baseline()), markdown_text(report.candidate()));
    line(&mut page, &format!("**{candidate}** against the baseline **{baseline}**: "));
    line(&mut page, &format!("{}.", markdown_text(&report.judgement.reasons.join("; "))));
    let first = report.first(FIRST);
    if !first.is_empty() {
        line(&mut page, "\n**Slower**\n");
        page.push_str(&markdown(&findings(report, &first), report));
        let more = report.offending().count() - first.len();
        if more > 0 {
            line(
                &mut page,
                &format!("\nand {} below.", number::count(more as u64, "more", "more")),
            );
        }
    }
    if !report.judgement.budgets.is_empty() {
        line(&mut page, "\n**Budgets**\n");
        page.push_str(&markdown(&report.budgets(), report));
    }
    let sections = report.comparison.sections(shown);
    let unit = text::unit_of(&sections, report.global);
    let style = Style { unit, ..style::of(report.global) };
    for section in sections {
        let title = text::title(&section, &report.comparison, unit);
        fold(&mut page, &title, &text::written(&section.table, Format::Markdown, &style));
    }
    fold(&mut page, "Compared sides", &compared(report));
    page
}

/// One row per function: what was measured of it and what came out.
fn findings(report: &Report<'_>, functions: &[&Function]) -> Table {
    let text = |name: &str| Column::new(name, name, Role::Text);
    let name = Column::new("name", "function", Role::Name);
    let columns = vec![text("verdict"), text("what was found"), name];
    let mut table = Table::new("profctl.findings/1", report.comparison.timebase, columns);
    for function in functions {
        table.push(vec![
            function.verdict.name().into(),
            Cell::Text(report.finding(function)),
            function.name.as_str().into(),
        ]);
    }
    table
}

/// The sides, the policy and the notes.
fn compared(report: &Report<'_>) -> String {
    let mut inside = String::new();
    for (name, value) in text::head(&report.comparison, report.global) {
        line(&mut inside, &format!("- {name}: {}", markdown_text(&value)));
    }
    line(&mut inside, &format!("- policy: {}", markdown_code(&report.record.to_string())));
    for note in report.comparison.notes() {
        line(&mut inside, &format!("- {}", markdown_text(&note)));
    }
    inside
}

fn markdown(table: &Table, report: &Report<'_>) -> String {
    text::written(table, Format::Markdown, &style::of(report.global))
}

fn fold(page: &mut String, title: &str, inside: &str) {
    line(page, &format!("\n<details><summary>{title}</summary>\n"));
    page.push_str(inside);
    line(page, "\n</details>");
}
