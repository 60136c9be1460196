//! `profctl history`, and the gate that knows it.

use std::fs;

use serde_json::Value;

use crate::diff::trace;
use crate::program::{Scratch, run};

/// Twelve builds of three runs; from the eighth on, `f` takes a fifth longer.
fn builds(scratch: &Scratch) -> String {
    for build in 0..12_u64 {
        for (n, by) in [0, 7, 3].into_iter().enumerate() {
            let by = by + build * 5 % 7;
            let f = if build >= 7 { 1200 } else { 1000 };
            let text = trace(&[("f", f + by), ("g", 2000 + by), ("h", 500 + by)]);
            scratch.file(&format!("builds/v{build}/run{n}.txt"), text);
        }
    }
    scratch.file("builds/v7/build.toml", "commit = \"4f2a9c1\"\ndate = \"2026-11-20\"\n");
    scratch.path("builds")
}

fn candidate(scratch: &Scratch, name: &str, f: u64) -> String {
    for (n, by) in [2, 5].into_iter().enumerate() {
        let text = trace(&[("f", f + by), ("g", 2000 + by), ("h", 500 + by)]);
        scratch.file(&format!("{name}/run{n}.txt"), text);
    }
    scratch.path(name)
}

#[test]
fn a_step_is_found_at_its_build() {
    let scratch = Scratch::new("history_step");
    let builds = builds(&scratch);
    let found = run(&["history", "--format", "json", &builds]).quiet_success();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["schema"], "profctl.history/1");
    let names: Vec<&str> =
        found["builds"].as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert_eq!((names[2], names[10], names.len()), ("v2", "v10", 12));
    assert_eq!(found["builds"][7]["commit"], "4f2a9c1");
    let changes = found["change_points"].as_array().unwrap();
    let of_f: Vec<&Value> = changes.iter().filter(|change| change["function"] == "f").collect();
    assert_eq!(of_f.len(), 1, "{changes:?}");
    assert_eq!((&of_f[0]["build"], &of_f[0]["previous_build"]), (&"v7".into(), &"v6".into()));
    assert!((of_f[0]["ratio"].as_f64().unwrap() - 1.2).abs() < 0.02, "{of_f:?}");
    assert_eq!(of_f[0]["persistent"], true);
    assert!(changes.iter().all(|change| change["build"] == "v7"), "{changes:?}");
    let table = run(&["history", &builds]).quiet_success();
    assert!(table.contains("v7") && table.contains("12 builds"), "{table}");
    let markdown = run(&["history", "--format", "markdown", &builds]).quiet_success();
    assert!(markdown.contains("| `f`"), "{markdown}");
}

#[test]
fn a_page_has_a_plot_of_each_change() {
    let scratch = Scratch::new("history_page");
    let (builds, page) = (builds(&scratch), scratch.path("history.html"));
    run(&["history", "-o", &page, &builds]).quiet_success();
    let page = fs::read_to_string(page).expect("a page");
    let found = run(&["history", "--format", "json", &builds]).quiet_success();
    let found: Value = serde_json::from_str(&found).unwrap();
    let changes = found["change_points"].as_array().unwrap();
    let of_functions = changes.iter().filter(|change| change["function"].is_string()).count();
    // A dot per run; a line per change of the function, and one of the whole run if it changed.
    let plots: Vec<&str> = page
        .split("<svg class=\"plot\"")
        .skip(1)
        .map(|plot| plot.split("</svg>").next().unwrap_or_default())
        .collect();
    assert_eq!(plots.len(), 1 + of_functions);
    assert!(plots[0].contains("whole run: net time per run"));
    let of_f = |plot: &&&str| plot.lines().any(|line| line == "f: net time per call");
    let f = plots.iter().find(of_f).expect("a plot of f");
    assert!(f.contains("36 runs") && f.contains("1 change marked") && f.contains("1.20x"), "{f}");
    assert!(page.contains("Latest change: v7, "), "the sentence on top");
    assert!(page.contains("4f2a9c1"), "the commit of a build");
}

#[test]
fn too_few_builds_are_said_to_be_too_few() {
    let scratch = Scratch::new("history_few");
    let all = builds(&scratch);
    // A step that is as clear, in the middle of eight builds or of six.
    let some = |from: usize, to: usize| -> Vec<String> {
        (from..to).map(|build| format!("{all}/v{build}")).collect()
    };
    let json = |builds: &[String]| -> Value {
        let builds: Vec<&str> = builds.iter().map(String::as_str).collect();
        let found = run(&[&["history", "--format", "json"][..], &builds].concat()).quiet_success();
        serde_json::from_str(&found).unwrap()
    };
    assert_eq!(json(&some(3, 11))["change_points"][0]["build"], "v7");
    let six = json(&some(4, 10));
    assert_eq!(six["change_points"], Value::Array(Vec::new()));
    assert_eq!((&six["between_share"], &six["flaky"]), (&Value::Null, &Value::Array(Vec::new())));
    let six = some(4, 10);
    let six: Vec<&str> = six.iter().map(String::as_str).collect();
    let table = run(&[&["history"][..], &six].concat()).quiet_success();
    assert!(
        table.contains("6 builds") && table.contains("at least 7 builds are needed"),
        "{table}"
    );
    assert!(table.contains("`profctl diff` compares two"), "{table}");
}

#[test]
fn a_candidate_is_held_against_the_builds_since_the_last_change() {
    let scratch = Scratch::new("history_gate");
    let builds = builds(&scratch);
    let same = candidate(&scratch, "same", 1200);
    let slow = candidate(&scratch, "slow", 1500);
    for (after, expected) in [(&same, 0), (&slow, 1)] {
        let found = run(&["gate", "-q", "--history", &builds, after]);
        assert_eq!(found.code, Some(expected), "{after}: {}{}", found.stdout, found.stderr);
    }
    let accepted = scratch.file(
        "accepted.toml",
        "[[accept]]\nfunction = \"f\"\nsince = \"v3\"\nreason = \"checks more\"\nowner = \"me\"\n\
         [[accept]]\nfunction = \"whole run\"\nreason = \"checks more\"\n",
    );
    let found = run(&["gate", "--config", &accepted, "--history", &builds, "--json", "-", &slow]);
    assert_eq!(found.code, Some(0), "{}", found.stdout);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["excused"][0]["function"], "f");
    assert_eq!(found["excused"][0]["owner"], "me");
    let bisect = |after: &str, function: &str| {
        run(&["gate", "-q", "--function", function, "--bisect", "--history", &builds, after]).code
    };
    assert_eq!(bisect(&slow, "f"), Some(1));
    assert_eq!(bisect(&slow, "g"), Some(0));
    assert_eq!(bisect(&slow, "missing"), Some(125));
}
