//! The answer as SARIF 2.1.0, for code scanning. Functions have a name and no line: the place of a
//! result is the side that was measured, and within it the function.

use std::fmt::Write as _;

use serde::Serialize;

use profctl_model::report::{Finding as FindingOf, Judged, Rule};

use super::said;
use crate::number::TimeUnit;

const VERSION: &str = "2.1.0";
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

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
    tool: Tool<'a>,
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
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    version: &'a str,
    information_uri: &'a str,
    rules: Vec<RuleFile>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleFile {
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

/// How grave a kind of finding is.
fn level(rule: Rule) -> &'static str {
    match rule {
        Rule::WholeRun | Rule::Regressed | Rule::Budget => "error",
        Rule::Suspect | Rule::New | Rule::Inconclusive => "warning",
        Rule::Excused => "note",
    }
}

/// The document, by the program of this version, which lives at `home`.
pub fn sarif(judged: &Judged, unit: TimeUnit, version: &str, home: &str) -> String {
    let rules = Rule::ALL.map(|rule| RuleFile {
        id: rule.name(),
        short_description: Text { text: rule.about().into() },
        default_configuration: Configuration { level: level(rule) },
    });
    let driver = Driver { name: "profctl", version, information_uri: home, rules: rules.into() };
    let log = Log {
        schema: SCHEMA,
        version: VERSION,
        runs: [Run {
            tool: Tool { driver },
            results: judged.findings.iter().map(|finding| result(finding, judged, unit)).collect(),
            properties: Properties {
                baseline: &judged.compared.before,
                candidate: &judged.compared.after,
                verdict: judged.answer.name(),
                reasons: &judged.reasons,
            },
        }],
    };
    serde_json::to_string_pretty(&log).expect("only strings and integers") + "\n"
}

fn result<'a>(finding: &'a FindingOf, judged: &'a Judged, unit: TimeUnit) -> Finding<'a> {
    let FindingOf { rule, name, what, owner, stands } = finding;
    let (baseline, candidate) = (&judged.compared.before, &judged.compared.after);
    let what = said(what, &judged.compared.timebase, unit);
    let owner = owner.as_ref().map(|owner| format!("; owner {owner}")).unwrap_or_default();
    let subject = if *rule == Rule::Inconclusive { String::new() } else { format!("{name}: ") };
    Finding {
        rule_id: rule.name(),
        rule_index: Rule::ALL.iter().position(|known| known == rule).unwrap_or(0),
        level: if *stands { "error" } else { level(*rule) },
        message: Text { text: format!("{subject}{what} (baseline {baseline}{owner})") },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: uri(candidate) },
            },
            logical_locations: [LogicalLocation { name, kind: "function" }],
        }],
        partial_fingerprints: Fingerprints { function: format!("{}:{name}", rule.name()) },
    }
}

/// A path as a relative URI: everything but the usual letters percent-encoded.
pub(super) fn uri(path: &str) -> String {
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
