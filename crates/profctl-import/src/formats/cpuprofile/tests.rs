use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::testing::{ImporterOfBytes, told, trace};

fn fixture() -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/cpuprofile");
    profctl_testkit::fixtures::read(&folder.join("fib.cpuprofile"))
}

/// Net time by name, from an independent JSON parser.
fn own_times(bytes: &[u8]) -> BTreeMap<String, u64> {
    let profile: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    let numbers = |key: &str| {
        let list = profile[key].as_array().unwrap();
        list.iter().map(|number| number.as_i64().unwrap()).collect::<Vec<_>>()
    };
    let (samples, deltas) = (numbers("samples"), numbers("timeDeltas"));
    let mut times = Vec::new();
    let mut time = profile["startTime"].as_i64().unwrap();
    for delta in deltas {
        time += delta;
        times.push(time);
    }
    times.push(profile["endTime"].as_i64().unwrap());
    let mut own = BTreeMap::new();
    for (row, sample) in samples.iter().enumerate() {
        let nodes = profile["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["id"] == *sample).unwrap();
        let frame = &node["callFrame"];
        let name = match frame["functionName"].as_str().unwrap() {
            "" => format!("(anonymous):{}", frame["lineNumber"].as_i64().unwrap() + 1),
            name => name.to_owned(),
        };
        *own.entry(name).or_default() += (times[row + 1] - times[row]) as u64;
    }
    own.retain(|_, time| *time > 0);
    own
}

#[test]
fn every_sample_lasts_until_the_next() {
    let bytes = fixture();
    let trace = trace("cpuprofile", &bytes, ImportOptions::default(), 0, 1);
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    for id in trace.spans.ids() {
        let name = trace.names.funcs[trace.spans.func[id]].name.clone();
        *own.entry(name).or_default() += trace.spans.net[id.index()].0;
    }
    own.retain(|_, net| *net > 0);
    assert!(own.contains_key("fib") && own.contains_key("add"), "{own:?}");
    assert_eq!(own, own_times(&bytes));
    assert!(trace.meta.diags.sorted().iter().all(|entry| entry.count == 0));
}

#[test]
fn stacks_go_on_from_sample_to_sample() {
    let (text, codes) = told(
        "cpuprofile",
        r#"{"nodes":[
            {"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"children":[2,4]},
            {"id":2,"callFrame":{"functionName":"f","url":"file:///a/b.js","lineNumber":3},"children":[3]},
            {"id":3,"callFrame":{"functionName":"","url":"file:///a/b.js","lineNumber":8}},
            {"id":4,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1}}],
            "startTime":100,"endTime":200,"samples":[2,3,2,4,9],"timeDeltas":[10,20,30,-5,25]}"#,
        ImportOptions::default(),
    );
    assert_eq!(
        text,
        "main 0 f 110+50 net 20 unseen both\n\
         main 1 (anonymous):9 130+30 net 30 unseen both\n\
         main 0 (idle) 160+25 net 25 unseen both\n"
    );
    assert_eq!(codes, ["input/skipped-record 1"]);
}

#[test]
fn nodes_may_name_their_parents_and_rings_are_no_stacks() {
    let (text, _) = told(
        "cpuprofile",
        r#"{"samples":[2,3],"timeDeltas":[0,10],"endTime":30,"nodes":[
            {"id":1,"callFrame":{"functionName":"(root)"}},
            {"id":2,"parent":1,"callFrame":{"functionName":"f"}},
            {"id":3,"parent":4,"callFrame":{"functionName":"g"}},
            {"id":4,"parent":3,"callFrame":{"functionName":"h"}}]}"#,
        ImportOptions::default(),
    );
    assert_eq!(text, "main 0 f 0+10 net 10 unseen both\n");
}

#[test]
fn the_documented_example_is_recognized() {
    let page =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/cpuprofile.md"));
    let (_, after) = page.split_once("```json\n").unwrap();
    let example = after.split_once("```").unwrap().0;
    assert!(matches!(CpuProfile.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    assert!(told("cpuprofile", example, ImportOptions::default()).1.is_empty());
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_the_cut_or_refused() {
    let bytes = fixture();
    for cut in (1..bytes.len()).step_by(7).chain(bytes.len() - 300..bytes.len()) {
        let cut_bytes = &bytes[..cut];
        match CpuProfile.open_bytes(cut_bytes, &ImportOptions::default()) {
            Ok(_) => {
                let trace = trace("cpuprofile", cut_bytes, ImportOptions::default(), 0, 1);
                let codes = trace.meta.diags.sorted();
                let is_told = codes.iter().any(|entry| entry.code.name == "input/cut-record");
                assert!(is_told, "cut at {cut}");
            }
            Err(error) => assert!(error.message.contains("without `nodes`"), "{error}"),
        }
    }
}

proptest! {
    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        CpuProfile.recognize_bytes(&bytes, true);
        if CpuProfile.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            trace("cpuprofile", &bytes, ImportOptions::default(), 0, 1);
        }
    }

    #[test]
    fn blocks_and_workers_change_nothing(block in 1_usize..2_000, workers in 1_usize..4) {
        let whole = trace("cpuprofile", &fixture(), ImportOptions::default(), 0, 1);
        let blocks = trace("cpuprofile", &fixture(), ImportOptions::default(), block, workers);
        prop_assert_eq!(crate::testing::show(&blocks), crate::testing::show(&whole));
    }
}
