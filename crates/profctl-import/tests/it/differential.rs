//! The reader against the oracle, function by function, to the nanosecond.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use profctl_import::ReadOptions;
use profctl_testkit::oracle::function_graph::{Report, evaluate};
use profctl_testkit::{fixtures, generate};

use crate::recorder::{Outcome, read};

/// Compares what both say of `text`; sentences about what differs.
fn differences(text: &[u8]) -> Vec<String> {
    let options = ReadOptions { workers: 2, ..ReadOptions::default() };
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
        let got = totals.get(&(name.clone(), module.clone())).copied().unwrap_or_default();
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
            found.push(format!("{}: {} calls, expected none", function.0, got.calls + got.partial));
        }
    }
    let mut differ = |what: &str, expected: u64, got: u64| {
        if expected != got {
            found.push(format!("{what} {got}, expected {expected}"));
        }
    };
    differ("unmatched exits", report.unmatched_exits, outcome.count("stitch/unmatched-exit"));
    // Whether an entry was given up at the end or just before is a matter of taste.
    let given_up = outcome.count("stitch/unclosed-entry") + outcome.count("stitch/forced-exit");
    differ("entries without exit", report.unclosed + report.lost_exits, given_up);
    differ("gaps", report.gaps, outcome.count("stitch/gap"));
    differ("lost events", report.lost_events, outcome.count("stitch/lost-events"));
    differ("knows off_cpu", report.knows_off_cpu.into(), outcome.knows_off_cpu.into());
    found
}

/// Checks every text, and only then fails, naming all that differ.
fn check<'a>(texts: impl IntoIterator<Item = (String, Cow<'a, [u8]>)>) {
    let mut all = String::new();
    for (name, text) in texts {
        let found = differences(&text);
        if !found.is_empty() {
            let shown: Vec<_> = found.iter().take(8).map(String::as_str).collect();
            let _ = writeln!(all, "{name}: {} differ:\n  {}", found.len(), shown.join("\n  "));
        }
    }
    assert!(all.is_empty(), "{all}");
}

/// Reads traces, compressed or not, one at a time.
fn texts(paths: Vec<PathBuf>) -> impl Iterator<Item = (String, Cow<'static, [u8]>)> {
    paths.into_iter().map(|path| {
        let bytes = fixtures::read(&path);
        let is_packed = path.extension().is_some_and(|extension| extension == "zst");
        let text = if is_packed { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes };
        (path.display().to_string(), Cow::Owned(text))
    })
}

/// Without a CPU column the lines of two CPUs cannot be distinguished: whichever stack a call is
/// put on is a guess.
fn is_ambiguous(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("nocpu"))
}

#[test]
fn every_fixture_has_the_sums_of_the_oracle() {
    let mut traces = fixtures::of_format("function_graph");
    traces.retain(|path| !is_ambiguous(path));
    assert!(traces.len() > 20, "only {} fixtures", traces.len());
    check(texts(traces));
}

#[test]
fn without_cpus_every_leaf_is_still_counted_once() {
    let traces = fixtures::of_format("function_graph");
    let path = traces.iter().find(|path| is_ambiguous(path)).expect("there is a nocpu fixture");
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
    assert!((leaves + entries..=leaves + entries + unmatched).contains(&calls), "{calls} calls");
}

/// Captures too large to commit; if they are beside the checkout.
fn shared(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let files = fixtures::shared().map(|shared| fixtures::files(&shared.join(folder)));
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.unwrap_or_default().into_iter().filter(|path| wanted(&name(path))).collect()
}

fn is_function_graph(name: &str) -> bool {
    let others = ["__e_", "r_hwlat", "r_osnoise", "r_timerlat", "graph0", "nocpu"];
    name.contains(".txt") && !others.iter().any(|other| name.contains(other))
}

#[test]
fn small_captures_have_the_sums_of_the_oracle() {
    check(texts(shared("kernel/small", is_function_graph)));
}

#[test]
fn samples_have_the_sums_of_the_oracle() {
    for kernel in ["6.1.0-50-cloud-amd64", "6.12.111+deb12-cloud-amd64"] {
        let folder = format!("samples/ftrace/{kernel}");
        check(texts(shared(&folder, |name| name.starts_with("fgraph_"))));
    }
}

#[test]
fn large_captures_have_the_sums_of_the_oracle() {
    check(texts(shared("kernel/large", is_function_graph)));
}

#[test]
fn generated_traces_have_the_sums_of_the_oracle() {
    for (name, layout) in generate::Layout::ALL {
        for seed in 0..6 {
            for closes in [true, false] {
                let shape = generate::Shape { closes, ..generate::Shape::BUSY };
                let recording = generate::Recording::new(seed, shape);
                let text = generate::function_graph(&recording, layout);
                let name = format!("{name}, seed {seed}, closes {closes}");
                check([(name, Cow::Borrowed(text.as_bytes()))]);
            }
        }
    }
}
