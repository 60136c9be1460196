//! As Markdown: a report, and a comment for a review with what matters first and the rest folded
//! away.

use profctl_model::report::{Answer, Compared, Finding, Judged, Rule};
use profctl_model::{Cell, Column, Role, Table};

use super::{budgets, facts, said, shared, title, written};
use crate::escape::{markdown_code, markdown_text};
use crate::number;
use crate::table::{Format, Style};

/// The whole report.
pub fn markdown(compared: &Compared, style: &Style) -> String {
    let mut text = String::new();
    for (name, value) in facts(compared, style.unit) {
        line(&mut text, &format!("- **{name}**: {}", markdown_text(&value)));
    }
    let style = Style { unit: shared(compared, style.unit), ..*style };
    for section in &compared.sections {
        line(&mut text, &format!("\n### {}\n", title(section, compared, style.unit)));
        text.push_str(&written(&section.table, Format::Markdown, &style));
    }
    if !compared.notes.is_empty() {
        line(&mut text, "");
    }
    for note in &compared.notes {
        line(&mut text, &format!("> {}  ", markdown_text(note)));
    }
    text
}

/// How many findings stand unfolded.
const FIRST: usize = 5;

/// The comment on a review.
pub fn comment(judged: &Judged, style: &Style) -> String {
    let compared = &judged.compared;
    let mut page = String::new();
    let answer = match judged.answer {
        Answer::Pass => "passed",
        Answer::Regressed => "regressed",
        Answer::Inconclusive => "inconclusive",
    };
    line(&mut page, &format!("### profctl gate: {answer}\n"));
    let (baseline, candidate) = (markdown_text(&compared.before), markdown_text(&compared.after));
    line(&mut page, &format!("**{candidate}** against the baseline **{baseline}**: "));
    line(&mut page, &format!("{}.", markdown_text(&judged.reasons.join("; "))));
    let to_show = |finding: &&Finding| finding.stands || finding.rule == Rule::New;
    let standing: Vec<&Finding> = judged.findings.iter().filter(to_show).collect();
    if !standing.is_empty() {
        line(&mut page, "\n**What became slower, causes first**\n");
        let (first, rest) = standing.split_at(standing.len().min(FIRST));
        page.push_str(&findings(first, judged, style));
        if !rest.is_empty() {
            let more = number::count(rest.len() as u64, "more", "more");
            fold(&mut page, &more, &findings(rest, judged, style));
        }
    }
    if !judged.budgets.is_empty() {
        line(&mut page, "\n**Budgets**\n");
        page.push_str(&written(&budgets(judged, style.unit), Format::Markdown, style));
    }
    let excused: Vec<&Finding> =
        judged.findings.iter().filter(|finding| finding.rule == Rule::Excused).collect();
    if !excused.is_empty() {
        fold(&mut page, "Slower, and excused by the policy", &findings(&excused, judged, style));
    }
    let shared_style = Style { unit: shared(compared, style.unit), ..*style };
    for section in &compared.sections {
        let title = title(section, compared, shared_style.unit);
        fold(&mut page, &title, &written(&section.table, Format::Markdown, &shared_style));
    }
    fold(&mut page, "What was compared", &inside(judged, style));
    page
}

/// One row per finding: what was measured and what came out.
fn findings(findings: &[&Finding], judged: &Judged, style: &Style) -> String {
    let text = |name: &str| Column::new(name, name, Role::Text);
    let has_owners = findings.iter().any(|finding| finding.owner.is_some());
    let mut columns = vec![text("verdict"), text("what was found")];
    if has_owners {
        columns.push(text("owner"));
    }
    columns.push(Column::new("name", "function", Role::Name));
    let timebase = judged.compared.timebase;
    let mut table = Table::new("profctl.findings/1", timebase, columns);
    for finding in findings {
        let mut cells = vec![
            finding.rule.name().into(),
            Cell::Text(said(&finding.what, &timebase, style.unit)),
        ];
        if has_owners {
            cells.push(finding.owner.as_deref().map_or(Cell::Null, Cell::from));
        }
        cells.push(finding.name.as_str().into());
        table.push(cells);
    }
    written(&table, Format::Markdown, style)
}

/// The sides, the policy and the notes.
fn inside(judged: &Judged, style: &Style) -> String {
    let mut inside = String::new();
    for (name, value) in facts(&judged.compared, style.unit) {
        line(&mut inside, &format!("- {name}: {}", markdown_text(&value)));
    }
    line(&mut inside, &format!("- policy: {}", markdown_code(&judged.policy)));
    for note in &judged.compared.notes {
        line(&mut inside, &format!("- {}", markdown_text(note)));
    }
    inside
}

fn fold(page: &mut String, title: &str, inside: &str) {
    line(page, &format!("\n<details><summary>{title}</summary>\n"));
    page.push_str(inside);
    line(page, "\n</details>");
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
