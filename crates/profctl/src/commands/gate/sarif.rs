//! The answer as SARIF 2.1.0, for code scanning. Functions have a name and no line: the place of a
//! result is the side that was measured, and within it the function.

use std::fmt::Write as _;

use serde::Serialize;

use super::report::Report;

const VERSION: &str = "2.1.0";
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = env!("CARGO_PKG_REPOSITORY");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    results: Vec<Finding<'a>>,
    properties: Properties<'a>,
}

#[derive(Serialize)]
struct Properties<'a> {
    baseline: &'a str,
    candidate: &'a str,
    verdict: &'static str,
    reasons: &'a [String],
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    information_uri: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Text,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location<'a>; 1],
    partial_fingerprints: Fingerprints,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fingerprints {
    #[serde(rename = "function/v1")]
    function: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    physical_location: PhysicalLocation,
    logical_locations: [LogicalLocation<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
struct LogicalLocation<'a> {
    name: &'a str,
    kind: &'static str,
}

/// The rules: id, level, what it means.
const RULES: [(&str, &str, &str); 4] = [
    ("regressed", "error", "A function became slower by more than the margin"),
    ("suspect", "warning", "A function seems to have become slower by more than the margin"),
    ("budget", "error", "A function exceeds its budget"),
    ("inconclusive", "warning", "Too little data to decide whether a function became slower"),
];

/// The document.
pub(super) fn document(report: &Report<'_>) -> String {
    let rules = RULES.map(|(id, level, text)| Rule {
        id,
        short_description: Text { text: text.into() },
        default_configuration: Configuration { level },
    });
    let driver = Driver {
        name: "profctl",
        version: env!("CARGO_PKG_VERSION"),
        information_uri: HOME,
        rules: rules.into(),
    };
    let log = Log {
        schema: SCHEMA,
        version: VERSION,
        runs: [Run {
            tool: Tool { driver },
            results: findings(report),
            properties: Properties {
                baseline: report.baseline(),
                candidate: report.candidate(),
                verdict: report.judgement.answer.name(),
                reasons: &report.judgement.reasons,
            },
        }],
    };
    serde_json::to_string_pretty(&log).expect("only strings and integers") + "\n"
}

fn findings<'a>(report: &'a Report<'_>) -> Vec<Finding<'a>> {
    let mut findings = Vec::new();
    let mut add = |rule: &str, level: Option<&'static str>, function: &'a str, what: String| {
        let rule_index = RULES.iter().position(|known| known.0 == rule).unwrap_or(0);
        let (rule_id, default, _) = RULES[rule_index];
        findings.push(Finding {
            rule_id,
            rule_index,
            level: level.unwrap_or(default),
            message: Text { text: format!("{what} (baseline {})", report.baseline()) },
            locations: [Location {
                physical_location: PhysicalLocation {
                    artifact_location: ArtifactLocation { uri: uri(report.candidate()) },
                },
                logical_locations: [LogicalLocation { name: function, kind: "function" }],
            }],
            partial_fingerprints: Fingerprints { function: format!("{rule_id}:{function}") },
        });
    };
    for spent in report.unkept() {
        let function = &spent.budget.function;
        add("budget", None, function, format!("{function}: {}", report.spending(spent)));
    }
    for function in report.offending() {
        let (rule, name) = (function.verdict.name(), &function.name);
        add(rule, Some("error"), name, format!("{name}: {}", report.finding(function)));
    }
    for function in report.suspects() {
        let name = &function.name;
        add("suspect", None, name, format!("{name}: {}", report.finding(function)));
    }
    if report.judgement.answer == profctl_analyze::diff::gate::Answer::Inconclusive {
        add("inconclusive", None, report.candidate(), report.summary());
    }
    findings
}

/// A path as a relative URI: everything but the usual letters percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => write!(uri, "%{byte:02X}").expect("a string takes what is written to it"),
        }
    }
    uri
}
