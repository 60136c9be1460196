//! What is selected of a trace has the numbers that it has in all of it.

use std::collections::BTreeMap;
use std::path::Path;

use profctl_import::ReadOptions;
use profctl_testkit::fixtures;
use serde_json::Value;

use super::for_every_fixture;
use crate::program::run;

/// The profile that the program prints with these flags.
fn summary(path: &str, options: &ReadOptions, flags: &[&str]) -> Value {
    let names = fixtures::root().join("fixtures/probe/tcp_rx.names").display().to_string();
    let named = options.import.names.is_some().then_some(["--names", &names]);
    let named = named.as_ref().map_or(&[][..], |named| &named[..]);
    let arguments = [&["summarize", "--format", "json", path], named, flags].concat();
    serde_json::from_str(&run(&arguments).stdout).expect("this is JSON")
}

/// By row, what does not depend on which other rows there are.
fn rows(profile: &Value) -> BTreeMap<String, Value> {
    let rows = profile["functions"].as_array().expect("these are rows").iter();
    rows.map(|row| {
        let mut row = row.clone();
        for field in ["real_pct", "net_pct", "callees", "descendants"] {
            row.as_object_mut().expect("this is a row").remove(field);
        }
        (format!("{} [{}] {}", row["name"], row["module"], row["kind"]), row)
    })
    .collect()
}

/// Compares the rows of a few functions that are selected with those that they have in all of a trace.
fn compare(path: &Path, options: &ReadOptions) {
    let path = path.to_str().expect("paths of fixtures are text");
    let mut all = rows(&summary(path, options, &[]));
    let some = [0, all.len() / 2, all.len().saturating_sub(1)];
    let some: Vec<_> =
        some.iter().filter_map(|&n| Some(all.values().nth(n)?["name"].clone())).collect();
    if some.is_empty() {
        return;
    }
    let name_of = |name: &Value| regex::escape(name.as_str().expect("names are text"));
    let regex = some.iter().map(name_of).collect::<Vec<_>>().join("|");
    let found = rows(&summary(path, options, &["--match", &format!("^(?:{regex})$")]));
    all.retain(|_, row| some.contains(&row["name"]));
    assert_eq!(found, all, "{path}: {regex}");
}

#[test]
fn a_function_has_the_row_that_it_has_among_all() {
    for_every_fixture(|_, path, _, options| compare(path, options));
    // Sums only.
    compare(&fixtures::root().join("fixtures/callgrind/calls.out"), &ReadOptions::default());
}

#[test]
fn a_cpu_a_thread_and_a_module_have_what_their_groups_have() {
    for_every_fixture(|name, path, _, options| {
        let path = path.to_str().expect("paths of fixtures are text");
        for (by, flag) in [("cpu", "--cpu"), ("thread", "--thread"), ("module", "--module")] {
            let groups = summary(path, options, &["--by", by]);
            let groups = groups["functions"].as_array().expect("these are rows").iter();
            let unnamed = ["cpu ?", "?", "(no module)"];
            let named = groups.filter(|group| !unnamed.contains(&group["name"].as_str().unwrap()));
            for group in named.take(3) {
                let of = group["name"].as_str().expect("names are text");
                let of = of.strip_prefix("cpu ").unwrap_or(of);
                let selected = summary(path, options, &[flag, of]);
                let rows = selected["functions"].as_array().expect("these are rows");
                for field in ["calls", "partial", "net"] {
                    let number = |row: &Value| row[field].as_u64().expect("this is a number");
                    let sum: u64 = rows.iter().map(number).sum();
                    // The net time of each row is rounded to nanoseconds.
                    let slack = if field == "net" { rows.len() as u64 / 2 + 1 } else { 0 };
                    let difference = sum.abs_diff(number(group));
                    assert!(difference <= slack, "{name}: {flag} {of}: {field}: {difference}");
                }
            }
        }
    });
}

/// What adds up over CPUs.
const FIELDS: [&str; 5] = ["calls", "partial", "net", "elapsed", "outermost"];

#[test]
fn cpus_share_what_functions_have() {
    for_every_fixture(|name, path, _, options| {
        let path = path.to_str().expect("paths of fixtures are text");
        let all = summary(path, options, &[]);
        let cpus = summary(path, options, &["--by", "cpu"]);
        let cpus = cpus["functions"].as_array().expect("these are rows").iter();
        let cpus = cpus.map(|cpu| cpu["name"].as_str().unwrap().strip_prefix("cpu ").unwrap());
        let cpus: Vec<_> = cpus.collect();
        if cpus.len() < 2 || cpus.contains(&"?") {
            return;
        }
        let mut left: BTreeMap<_, _> = rows(&all)
            .into_iter()
            .map(|(name, row)| (name, FIELDS.map(|field| row[field].as_i64().unwrap())))
            .collect();
        for cpu in &cpus {
            for (function, row) in rows(&summary(path, options, &["--cpu", cpu])) {
                let left = left.get_mut(&function).expect("it is a function of the trace");
                for (left, field) in left.iter_mut().zip(FIELDS) {
                    *left -= row[field].as_i64().unwrap();
                }
            }
        }
        left.retain(|_, left| *left != [0; FIELDS.len()]);
        assert!(left.is_empty(), "{name}: {left:?}");
    });
}
