//! The answer as JUnit XML: a test case for each function that was tested, and for each budget.

use crate::escape::{visible, xml};
use std::fmt::Write as _;

use profctl_model::report::{Case, Judged, Outcome};

use super::said;
use crate::number::TimeUnit;

/// The document.
pub fn junit(judged: &Judged, unit: TimeUnit) -> String {
    let cases = &judged.cases;
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
        ("baseline", judged.compared.before.as_str()),
        ("candidate", &judged.compared.after),
        ("verdict", judged.answer.name()),
    ] {
        let value = escaped(value);
        push(&mut text, format_args!("   <property name=\"{name}\" value=\"{value}\"/>\n"));
    }
    text.push_str("  </properties>\n");
    for case in cases {
        write_case(&mut text, case, judged, unit);
    }
    text.push_str(" </testsuite>\n</testsuites>\n");
    text
}

fn write_case(text: &mut String, case: &Case, judged: &Judged, unit: TimeUnit) {
    let Case { class, name, outcome } = case;
    let name = escaped(name);
    push(text, format_args!("  <testcase classname=\"{class}\" name=\"{name}\""));
    let (element, message) = match outcome {
        Outcome::Passed => return text.push_str("/>\n"),
        Outcome::Failed(message) => ("failure", message),
        Outcome::Skipped(message) => ("skipped", message),
        Outcome::Broken(message) => ("error", message),
    };
    let message = escaped(&said(message, &judged.compared.timebase, unit));
    push(text, format_args!("><{element} message=\"{message}\"/></testcase>\n"));
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes what is written to it");
}

/// Text as it may be in an attribute, on one line.
fn escaped(text: &str) -> String {
    xml(&visible(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_document() {
        assert_eq!(escaped("<T as \"X\">::f\u{1b}&"), "&lt;T as &quot;X&quot;&gt;::f\\u{1b}&amp;");
    }
}
