use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::testing::{ImporterOfBytes, told, trace};

fn recorded(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/cpuprofile");
    profctl_testkit::fixtures::read(&folder.join(name))
}

fn fixture() -> Vec<u8> {
    recorded("fib.cpuprofile")
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

/// Net time by name, of threads whose name ends like that.
fn nets(trace: &profctl_model::Trace, thread: &str) -> BTreeMap<String, u64> {
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    for id in trace.spans.ids() {
        if trace.names.threads[trace.spans.thread[id.index()]].name.ends_with(thread) {
            let name = trace.names.funcs[trace.spans.func[id]].name.clone();
            *own.entry(name).or_default() += trace.spans.net[id.index()].0;
        }
    }
    own.retain(|_, net| *net > 0);
    own
}

#[test]
fn every_sample_lasts_until_the_next() {
    let bytes = fixture();
    let trace = trace("cpuprofile", &bytes, ImportOptions::default(), 0, 1);
    let own = nets(&trace, "");
    assert!(own.contains_key("fib") && own.contains_key("add"), "{own:?}");
    assert_eq!(own, own_times(&bytes));
    assert!(trace.meta.diags.sorted().iter().all(|entry| entry.count == 0));
}

/// V8 wrote the same samples in parts and in one piece.
#[test]
fn parts_of_a_profile_say_what_the_whole_says() {
    let (parts, whole) = (recorded("events.json"), recorded("events.cpuprofile"));
    let read = |bytes: &[u8]| trace("cpuprofile", bytes, ImportOptions::default(), 0, 1);
    let parts = read(&parts);
    let second = nets(&parts, ", profile 2");
    let expected = nets(&read(&whole), "main");
    assert_eq!(expected, own_times(&whole));
    // Only the whole says when sampling ended.
    let last = |own: &BTreeMap<String, u64>| own.values().sum::<u64>();
    assert!(last(&second) <= last(&expected) && last(&second) * 10 > last(&expected) * 9);
    let differ: Vec<&String> =
        expected.keys().filter(|name| second.get(*name) != expected.get(*name)).collect();
    assert!(differ.len() <= 1, "{differ:?}");
    assert!(nets(&parts, "").contains_key("fib"));
    assert!(parts.names.threads.as_slice().len() >= 2);
}

#[test]
fn samples_with_a_frame_are_stacks() {
    let text = r#"{"traceEvents":[
        {"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"render"}},
        {"ph":"P","name":"cycles","pid":7,"tid":8,"ts":100,"sf":"2"},
        {"ph":"P","name":"cycles","pid":7,"tid":8,"ts":"130.5","sf":3},
        {"ph":"P","name":"cycles","pid":7,"tid":8,"ts":150,"sf":9}],
        "samples":[{"cpu":0,"pid":7,"tid":9,"ts":5,"name":"x","weight":1,"sf":1},
        {"cpu":0,"pid":7,"tid":9,"ts":10,"name":"x","weight":1,"sf":1}],
        "stackFrames":{"1":{"name":"main","category":"app"},
        "2":{"name":"draw","category":"app","parent":"1"},"3":{"name":"fill","parent":2}}}"#;
    let probe = CpuProfile.recognize_bytes(text.as_bytes(), true);
    assert!(matches!(probe, Recognition::Yes(_)));
    let (text, codes) = told("cpuprofile", text, ImportOptions::default());
    assert_eq!(
        text,
        "render-8 0 main 100+50 net 0 unseen both\n\
         render-8 1 draw 100+50 net 30 unseen both\n\
         render-8 2 fill 130+20 net 20 unseen both\n\
         9 0 main 5+5 net 5 unseen both\n"
    );
    assert_eq!(codes, ["input/skipped-record 1"]);
}

/// Events with calls are those of `chrome`, whose samples are read on request.
#[test]
fn calls_beside_samples_are_not_a_profile() {
    for (events, is_profile) in [
        (r#"[{"ph":"P","name":"Profile","id":1},{"ph":"X","ts":1,"dur":1}]"#, false),
        (r#"[{"ph":"P","name":"Profile","id":1},{"ph":"I","ts":1}]"#, true),
        (r#"[{"ph": "B","ts":1}]"#, false),
    ] {
        let probe = CpuProfile.recognize_bytes(events.as_bytes(), true);
        assert_eq!(matches!(probe, Recognition::Yes(_)), is_profile, "{events}");
        let chrome = super::super::chrome::TraceEvents.recognize_bytes(events.as_bytes(), true);
        assert_eq!(matches!(chrome, Recognition::Yes(_)), !is_profile, "{events}");
    }
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
    for bytes in [fixture(), recorded("events.json")] {
        cut(&bytes);
    }
}

fn cut(bytes: &[u8]) {
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
