//! The reader against the oracle, function by function, to the nanosecond.

use std::path::{Path, PathBuf};

use profctl_import::ReadOptions;
use profctl_testkit::oracle::function_graph::{Report, evaluate};
use profctl_testkit::{fixtures, generate};

use crate::recorder::{Outcome, read};

/// Compares what both say of `text`; sentences about what differs.
fn differences(text: &[u8]) -> Vec<String> {
    let options = ReadOptions {
        workers: 2,
        ..ReadOptions::default()
    };
    let report = evaluate(text);
    match read(text, &options) {
        Ok(outcome) => compare(&outcome, &report),
        Err(error) => vec![format!("not read: {error}")],
    }
}

fn compare(outcome: &Outcome, report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let totals = outcome.totals();
    for ((name, module), expected) in &report.functions {
        let got = totals
            .get(&(name.clone(), module.clone()))
            .copied()
            .unwrap_or_default();
        let mut differ = |what: &str, expected: u64, got: u64| {
            if expected != got {
                found.push(format!("{name}: {what} {got}, expected {expected}"));
            }
        };
        differ("calls", expected.calls, got.calls);
        differ("partial", expected.partial, got.partial);
        if expected.elapsed_is_exact() {
            differ("elapsed", expected.elapsed, got.elapsed);
        }
        if expected.net_is_exact() {
            differ("net", expected.net, got.net);
        }
    }
    for (function, got) in &totals {
        if !report.functions.contains_key(function) {
            found.push(format!(
                "{}: {} calls, expected none",
                function.0,
                got.calls + got.partial
            ));
        }
    }
    let mut differ = |what: &str, expected: u64, got: u64| {
        if expected != got {
            found.push(format!("{what} {got}, expected {expected}"));
        }
    };
    differ(
        "unmatched exits",
        report.unmatched_exits,
        outcome.count("stitch/unmatched-exit"),
    );
    differ(
        "unclosed entries",
        report.unclosed,
        outcome.count("stitch/unclosed-entry"),
    );
    differ(
        "forced exits",
        report.lost_exits,
        outcome.count("stitch/forced-exit"),
    );
    differ("gaps", report.gaps, outcome.count("stitch/gap"));
    differ(
        "lost events",
        report.lost_events,
        outcome.count("stitch/lost-events"),
    );
    differ(
        "knows off_cpu",
        report.knows_off_cpu.into(),
        outcome.knows_off_cpu.into(),
    );
    found
}

fn check(path: &Path, text: &[u8]) {
    let found = differences(text);
    let shown: Vec<_> = found.iter().take(12).map(String::as_str).collect();
    assert!(
        found.is_empty(),
        "{}: {} differ:\n{}",
        path.display(),
        found.len(),
        shown.join("\n")
    );
}

/// Without a CPU column the lines of two CPUs cannot be told apart: whichever stack a call is put
/// on is a guess.
fn is_ambiguous(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().contains("nocpu"))
}

#[test]
fn every_fixture_has_the_sums_of_the_oracle() {
    let traces = fixtures::of_format("function_graph");
    assert!(traces.len() > 20, "only {} fixtures", traces.len());
    for path in traces.iter().filter(|path| !is_ambiguous(path)) {
        check(path, &fixtures::read(path));
    }
}

/// Lines are then put on the stack of whom a switch named last, by both.
#[test]
fn without_cpus_every_leaf_is_still_counted_once() {
    let traces = fixtures::of_format("function_graph");
    let path = traces
        .iter()
        .find(|path| is_ambiguous(path))
        .expect("there is a nocpu fixture");
    let text = fixtures::read(path);
    let outcome = read(&text, &ReadOptions::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let leaves = text.lines().filter(|line| line.ends_with("();")).count();
    let got = outcome.recorded.spans.iter().filter(|span| {
        span.descendants == 0 && !span.fidelity.is_partial() && span.end - span.start == span.wall
    });
    let entries = text.lines().filter(|line| line.ends_with("() {")).count();
    let unmatched = outcome.count("stitch/unmatched-exit") as usize;
    let calls = outcome.recorded.spans.len();
    assert!(got.count() >= leaves, "fewer than {leaves} leaves");
    assert!(
        (leaves + entries..=leaves + entries + unmatched).contains(&calls),
        "{calls} calls"
    );
}

/// Captures too large to commit; there if somebody put them beside the checkout.
fn shared(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let files = fixtures::shared().map(|shared| fixtures::files(&shared.join(folder)));
    let name = |path: &PathBuf| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    files
        .unwrap_or_default()
        .into_iter()
        .filter(|path| wanted(&name(path)))
        .collect()
}

fn is_function_graph(name: &str) -> bool {
    let others = [
        "__e_",
        "r_hwlat",
        "r_osnoise",
        "r_timerlat",
        "graph0",
        "nocpu",
    ];
    name.contains(".txt") && !others.iter().any(|other| name.contains(other))
}

#[test]
fn small_captures_have_the_sums_of_the_oracle() {
    for path in shared("kernel/small", is_function_graph) {
        check(&path, &fixtures::read(&path));
    }
}

#[test]
fn samples_have_the_sums_of_the_oracle() {
    for kernel in ["6.1.0-50-cloud-amd64", "6.12.111+deb12-cloud-amd64"] {
        for path in shared(&format!("samples/ftrace/{kernel}"), |name| {
            name.starts_with("fgraph_")
        }) {
            check(&path, &fixtures::read(&path));
        }
    }
}

#[test]
fn large_captures_have_the_sums_of_the_oracle() {
    for path in shared("kernel/large", is_function_graph) {
        let compressed = fixtures::read(&path);
        let text = zstd::decode_all(compressed.as_slice()).unwrap();
        check(&path, &text);
    }
}

#[test]
fn generated_traces_have_the_sums_of_the_oracle() {
    for (name, layout) in generate::Layout::ALL {
        for seed in 0..6 {
            for closes in [true, false] {
                let shape = generate::Shape {
                    closes,
                    ..generate::Shape::BUSY
                };
                let recording = generate::Recording::new(seed, shape);
                let text = generate::function_graph(&recording, layout);
                check(
                    Path::new(&format!("{name}-{seed}-{closes}")),
                    text.as_bytes(),
                );
            }
        }
    }
}
