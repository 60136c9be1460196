//! The answer as JUnit XML: a test case for each function that was tested, and for each budget.

use std::fmt::Write as _;

use profctl_analyze::diff::Verdict;
use profctl_analyze::diff::gate::{Answer, State};

use super::report::Report;

/// What became of a test case.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
    /// The test itself could not be made.
    Broken(String),
}

struct Case {
    class: &'static str,
    name: String,
    outcome: Outcome,
}

/// The document.
pub(super) fn document(report: &Report<'_>) -> String {
    let cases = cases(report);
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Broken(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"",
        cases.len()
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    push(&mut text, format_args!("<testsuites {totals}>\n"));
    push(&mut text, format_args!(" <testsuite name=\"profctl gate\" {totals}>\n  <properties>\n"));
    for (name, value) in [
        ("baseline", report.baseline()),
        ("candidate", report.candidate()),
        ("verdict", report.judgement.answer.name()),
    ] {
        let value = escaped(value);
        push(&mut text, format_args!("   <property name=\"{name}\" value=\"{value}\"/>\n"));
    }
    text.push_str("  </properties>\n");
    for case in &cases {
        write_case(&mut text, case);
    }
    text.push_str(" </testsuite>\n</testsuites>\n");
    text
}

fn cases(report: &Report<'_>) -> Vec<Case> {
    let gate = match report.judgement.answer {
        Answer::Inconclusive => Outcome::Broken(report.summary()),
        Answer::Pass | Answer::Regressed => Outcome::Passed,
    };
    let mut cases =
        vec![Case { class: "gate", name: "the sides can be compared".into(), outcome: gate }];
    for spent in &report.judgement.budgets {
        let outcome = match spent.state {
            State::Kept => Outcome::Passed,
            State::Exceeded | State::Unknown => Outcome::Failed(report.spending(spent)),
        };
        let name = format!("{} of {}", spent.budget.what.name(), spent.budget.function);
        cases.push(Case { class: "budget", name, outcome });
    }
    let functions = report.comparison.functions.iter().enumerate();
    for (at, function) in functions {
        let outcome = match function.verdict {
            _ if report.judgement.offending.contains(&at) => {
                Outcome::Failed(report.finding(function))
            }
            Verdict::NotTested | Verdict::New | Verdict::Gone => continue,
            Verdict::Inconclusive => Outcome::Skipped(report.finding(function)),
            Verdict::Regressed | Verdict::Suspect | Verdict::Improved | Verdict::Equivalent => {
                Outcome::Passed
            }
        };
        cases.push(Case { class: "function", name: function.name.clone(), outcome });
    }
    cases
}

fn write_case(text: &mut String, case: &Case) {
    let Case { class, name, outcome } = case;
    let name = escaped(name);
    push(text, format_args!("  <testcase classname=\"{class}\" name=\"{name}\""));
    let (element, message) = match outcome {
        Outcome::Passed => return text.push_str("/>\n"),
        Outcome::Failed(message) => ("failure", message),
        Outcome::Skipped(message) => ("skipped", message),
        Outcome::Broken(message) => ("error", message),
    };
    let message = escaped(message);
    push(text, format_args!("><{element} message=\"{message}\"/></testcase>\n"));
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes what is written to it");
}

/// Text as it may be in an attribute. Characters that XML does not have become a mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_document() {
        assert_eq!(escaped("<T as \"X\">::f\u{1b}&"), "&lt;T as &quot;X&quot;&gt;::f\u{fffd}&amp;");
    }
}
