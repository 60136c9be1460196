//! The answer as workflow commands, which GitHub shows beside the changes.

use std::fmt::Write as _;

use profctl_model::report::{Answer, Judged, Rule};

use super::said;
use crate::escape::visible;
use crate::number::TimeUnit;

/// GitHub shows no more than ten annotations of a kind for a step: nine findings and the summary.
const ANNOTATIONS_MAX: usize = 9;

/// A line an annotation.
pub fn annotations(judged: &Judged, unit: TimeUnit) -> String {
    let mut text = String::new();
    let (baseline, candidate) = (&judged.compared.before, &judged.compared.after);
    let (mut errors, mut warnings) = (0, 0);
    for finding in &judged.findings {
        let (kind, count) =
            if finding.stands { ("error", &mut errors) } else { ("warning", &mut warnings) };
        if finding.rule == Rule::Inconclusive || *count == ANNOTATIONS_MAX {
            continue;
        }
        *count += 1;
        let name = &finding.name;
        let title = match finding.rule {
            Rule::Budget => format!("profctl: budget of {name}"),
            Rule::New => format!("profctl: {name} is new"),
            Rule::Suspect if !finding.stands => format!("profctl: {name} may be slower"),
            _ => format!("profctl: {name} is slower"),
        };
        let what = said(&finding.what, &judged.compared.timebase, unit);
        let owner = finding.owner.as_ref().map(|owner| format!("; owner {owner}"));
        let owner = owner.unwrap_or_default();
        command(&mut text, kind, &title, &format!("{what} (baseline {baseline}{owner})"));
    }
    let kind = match judged.answer {
        Answer::Pass => "notice",
        Answer::Regressed => "error",
        Answer::Inconclusive => "warning",
    };
    let message = format!("{candidate} against the baseline {baseline}: {}", judged.summary());
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
