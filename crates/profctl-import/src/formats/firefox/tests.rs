use std::collections::BTreeMap;

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::testing::{ImporterOfBytes as _, show, told, trace};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/firefox");
    profctl_testkit::fixtures::read(&folder.join(name))
}

fn options(dialect: &str) -> ImportOptions {
    ImportOptions { dialect: Some(dialect.into()), ..ImportOptions::default() }
}

/// Weights by innermost function, from an independent JSON parser.
fn own_weights(bytes: &[u8]) -> BTreeMap<String, u64> {
    let profile: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    let interval = profile["meta"]["interval"].as_f64().unwrap();
    let mut own = BTreeMap::new();
    for thread in profile["threads"].as_array().unwrap() {
        let tables = if profile["shared"].is_object() { &profile["shared"] } else { thread };
        let samples = &thread["samples"];
        for (row, stack) in samples["stack"].as_array().unwrap().iter().enumerate() {
            let Some(stack) = stack.as_u64() else { continue };
            let number = |table: &str, column: &str, row: u64| {
                tables[table][column][row as usize].as_u64().unwrap()
            };
            let func = number("frameTable", "func", number("stackTable", "frame", stack));
            let name = number("funcTable", "name", func);
            let name = tables["stringArray"][name as usize].as_str().unwrap().to_owned();
            let weight = samples["weight"][row].as_u64().unwrap_or(1);
            *own.entry(name).or_default() += (weight as f64 * interval * 1e6) as u64;
        }
    }
    own.retain(|_, time| *time > 0);
    own
}

#[test]
fn samples_are_summed_up() {
    for name in ["samply.json", "shared.json"] {
        let bytes = fixture(name);
        let trace = trace("firefox", &bytes, ImportOptions::default(), 0, 1);
        let mut own: BTreeMap<String, u64> = BTreeMap::new();
        for id in trace.spans.ids() {
            let name = trace.names.funcs[trace.spans.func[id]].name.clone();
            *own.entry(name).or_default() += trace.spans.net[id.index()].0;
            assert!(trace.spans.fidelity[id.index()].is_partial());
        }
        own.retain(|_, time| *time > 0);
        assert!(own.len() > 1, "{name}: {own:?}");
        assert_eq!(own, own_weights(&bytes), "{name}");
    }
}

/// Markers that overlap are on threads of their own.
#[test]
fn markers_are_calls() {
    let text = r#"{"meta":{"interval":1,"preprocessedProfileVersion":48,"product":"made"},"threads":[
        {"name":"main","pid":"1","tid":7,"samples":{"stack":[],"time":[]},
         "markers":{"name":[0,1,2,0,2,1,3],"startTime":[1.0,1.5,2.0,null,5.0,9.5,6],
                    "endTime":[null,2.5,4.0,3.0,null,null,7],"phase":[2,1,1,3,0,2,1]},
         "stringArray":["load","parse","paint","rest"]}]}"#;
    let (calls, codes) = told("firefox", text, ImportOptions::default());
    expect![[r"
        main-7 0 load 1000000+2000000 net 1000000
        main-7 1 parse 1500000+1000000 net 1000000
        main-7 0 rest 6000000+1000000 net 1000000
        main-7 0 parse 9500000+0 net 0 unseen exit
        main-7 (2) 0 paint 2000000+2000000 net 2000000
        main-7 mark paint 5000000
    "]]
    .assert_eq(&calls);
    assert_eq!(codes, Vec::<String>::new());
}

#[test]
fn samples_and_markers_of_one_file_are_read_one_at_a_time() {
    let bytes = fixture("shared.json");
    let text = String::from_utf8(bytes).unwrap();
    let (calls, codes) = told("firefox", &text, options("markers"));
    assert!(calls.contains("GraphPaint") && !calls.contains("main "), "{calls}");
    assert_eq!(codes, Vec::<String>::new());
    let wrong = FirefoxProfile.open_bytes(text.as_bytes(), &options("odd"));
    assert!(wrong.is_err_and(|error| error.message.contains("expected samples or markers")));
}

#[test]
fn what_is_no_processed_profile_is_not_taken() {
    for other in ["{}", "[1]", "{\"meta\":{\"version\":3}}"] {
        assert_eq!(FirefoxProfile.recognize_bytes(other.as_bytes(), true), Recognition::No);
    }
    let raw = br#"{"meta":{"version":29,"gcpoison":0},"threads":[]}"#;
    assert!(matches!(FirefoxProfile.recognize_bytes(raw, true), Recognition::Neighbor(_)));
    let empty = br#"{"meta":{"preprocessedProfileVersion":48},"threads":[]}"#;
    assert!(FirefoxProfile.open_bytes(empty, &ImportOptions::default()).is_err());
}

/// Rows that are not there, stacks in a ring, and times that are missing.
#[test]
fn tables_that_do_not_fit_are_told() {
    let text = r#"{"meta":{"preprocessedProfileVersion":48},"threads":[
        {"name":"t","samples":{"stack":[0,1,9,null,2],"weight":[2,1,1,1,1]},
         "markers":{"name":[0],"startTime":[null],"endTime":[null],"phase":[1]},
         "stackTable":{"frame":[0,1,0],"prefix":[null,1,0]},"frameTable":{"func":[0,0]},
         "funcTable":{"name":[0],"resource":[-1]},"stringTable":{"_array":["f"]}}]}"#;
    let (calls, codes) = told("firefox", text, ImportOptions::default());
    assert_eq!(calls.lines().count(), 2, "{calls}");
    assert_eq!(codes, ["input/skipped-record 2"]);
    let (_, codes) = told("firefox", text, options("markers"));
    assert_eq!(codes, ["input/skipped-record 1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_file_that_is_cut_is_read_up_to_the_cut(cut in 0_usize..4_000) {
        let bytes = fixture("shared.json");
        let bytes = &bytes[..cut.min(bytes.len())];
        for dialect in ["samples", "markers"] {
            if FirefoxProfile.open_bytes(bytes, &options(dialect)).is_ok() {
                show(&trace("firefox", bytes, options(dialect), 0, 1));
            }
        }
    }
}
