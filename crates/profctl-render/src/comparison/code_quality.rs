//! The answer as a code quality report, which GitLab shows in merge requests. Functions have a name
//! and no line: the place of a finding is the side that was measured.

use profctl_model::report::{Judged, Rule};
use serde::Serialize;

use super::said;
use super::sarif::uri;
use crate::number::TimeUnit;

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// The document.
pub fn code_quality(judged: &Judged, unit: TimeUnit) -> String {
    let baseline = &judged.compared.before;
    let issue = |finding: &'_ profctl_model::report::Finding| {
        let what = said(&finding.what, &judged.compared.timebase, unit);
        let name = &finding.name;
        let severity = match finding.rule {
            _ if finding.stands => "major",
            Rule::Excused => "info",
            _ => "minor",
        };
        serde_json::to_value(Issue {
            description: format!("{name}: {what} (baseline {baseline})"),
            check_name: finding.rule.name(),
            fingerprint: format!("profctl:{}:{name}", finding.rule.name()),
            severity,
            location: Location { path: uri(&judged.compared.after), lines: Lines { begin: 1 } },
            owner: finding.owner.as_deref(),
        })
        .expect("only strings and integers")
    };
    let issues: Vec<serde_json::Value> = judged.findings.iter().map(issue).collect();
    serde_json::to_string_pretty(&issues).expect("only strings and integers") + "\n"
}
