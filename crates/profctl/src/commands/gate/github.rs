//! The gate report as workflow commands, which GitHub shows as annotations.

use std::fmt::Write as _;

use profctl_analyze::diff::gate::Answer;

use profctl_render::escape::visible;

use super::report::Report;

/// GitHub shows no more than ten annotations of a kind for a step: nine findings and the summary.
const ANNOTATIONS_MAX: usize = 9;

/// A line an annotation.
pub(super) fn annotations(report: &Report<'_>) -> String {
    let mut text = String::new();
    let baseline = report.baseline();
    for spent in report.unkept().take(ANNOTATIONS_MAX) {
        let title = format!("profctl: budget of {}", spent.budget.function);
        let message = format!("{} (baseline {baseline})", report.spending(spent));
        command(&mut text, "error", &title, &message);
    }
    let room = ANNOTATIONS_MAX.saturating_sub(report.unkept().count());
    for function in report.first(room) {
        let title = format!("profctl: {} is slower", function.name);
        let message = format!("{} (baseline {baseline})", report.finding(function));
        command(&mut text, "error", &title, &message);
    }
    for function in report.suspects().take(ANNOTATIONS_MAX) {
        let title = format!("profctl: {} may be slower", function.name);
        let message = format!("{} (baseline {baseline})", report.finding(function));
        command(&mut text, "warning", &title, &message);
    }
    let kind = match report.judgement.answer {
        Answer::Pass => "notice",
        Answer::Regressed => "error",
        Answer::Inconclusive => "warning",
    };
    let message =
        format!("{} against the baseline {baseline}: {}", report.candidate(), report.summary());
    command(&mut text, kind, "profctl gate", &message);
    text
}

fn command(text: &mut String, kind: &str, title: &str, message: &str) {
    let (title, message) = (property(title), data(message));
    writeln!(text, "::{kind} title={title}::{message}").expect("a string takes all");
}

/// What the runner takes for its own, percent-encoded.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_a_command() {
        let mut text = String::new();
        command(&mut text, "error", "a::b, 5%", "one\ntwo");
        assert_eq!(text, "::error title=a%3A%3Ab%2C 5%25::one\\ntwo\n");
    }
}
