use std::collections::BTreeMap;

use proptest::prelude::*;
use regex::bytes::Regex;

use super::*;
use crate::testing::{ImporterOfBytes, show, told, trace};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/perf_trace");
    profctl_testkit::fixtures::read(&folder.join(name).with_extension("txt"))
}

/// `perf trace -S` prints how often each thread made each call, and how long they took.
#[test]
fn sums_are_those_of_perf() {
    let text = fixture("summary");
    let trace = trace("perf_trace", &text, ImportOptions::default(), 0, 1);
    let spans = &trace.spans;
    let mut sums: BTreeMap<(u64, String), (u64, u64)> = BTreeMap::new();
    for id in spans.ids() {
        let tid = trace.names.threads[spans.thread[id.index()]].tid.unwrap();
        let sum = sums.entry((tid, trace.names.funcs[spans.func[id]].name.clone())).or_default();
        *sum = (sum.0 + 1, sum.1 + spans.wall[id.index()].0);
    }
    let heading = Regex::new(r"^ .* \((\d+)\), \d+ events, ").unwrap();
    let row = Regex::new(r"^   (\w+) +(\d+) +\d+ +(\d+)\.(\d{3}) ").unwrap();
    let (mut tid, mut rows) = (0, 0);
    for line in text.split(|byte| *byte == b'\n') {
        let number = |text: &[u8]| std::str::from_utf8(text).unwrap().parse::<u64>().unwrap();
        if let Some(found) = heading.captures(line) {
            tid = number(&found[1]);
        }
        let Some(found) = row.captures(line) else { continue };
        let name = String::from_utf8_lossy(&found[1]).into_owned();
        let (calls, nanos) = sums[&(tid, name.clone())];
        assert_eq!(calls, number(&found[2]), "{tid} {name}");
        // Lengths and sums are rounded to a microsecond each.
        let table = (number(&found[3]) * 1_000 + number(&found[4])) * 1_000;
        assert!(table.abs_diff(nanos) <= (calls + 1) * 500, "{tid} {name}: {table} {nanos}");
        rows += 1;
    }
    // Calls that never return are not in the table.
    let returned = sums.keys().filter(|(_, name)| !name.starts_with("exit")).count();
    assert_eq!(rows, returned);
}

#[test]
fn every_shape_of_record() {
    let (text, codes) = told(
        "perf_trace",
        "         ? (         ): sh/7  ... [continued]: execve())                  = 0\n\
         \x20    1.000 ( 0.250 ms): sh/7 brk()                                      = 0x55\n\
         \x20    2.000 (         ): sh/7 wait4(upid: -1)                          ...\n\
         \x20    2.100 ( 0.050 ms): a b/8 write(fd: 1, buf: \"a) = 3\")              = 5\n\
         \x20    2.200 (         ): a b/8 sched:sched_switch(prev_comm: \"a b\")\n\
         \x20    2.300 (         ): a b/8 exit()                                   = ?\n\
         \x20    2.000 ( 0.500 ms): sh/7  ... [continued]: wait4())                = 8\n",
        ImportOptions::default(),
    );
    assert_eq!(
        text,
        "sh-7 0 execve 0+0 net 0 unseen entry\n\
         sh-7 0 brk 1000000+250000 net 250000\n\
         sh-7 0 wait4 2000000+500000 net 500000\n\
         a b-8 0 write 2100000+50000 net 50000\n\
         a b-8 0 exit 2300000+0 net 0 unseen exit\n\
         a b-8 mark sched:sched_switch 2200000\n"
    );
    assert_eq!(codes, ["stitch/unclosed-entry 1", "stitch/unmatched-exit 1"]);
}

#[test]
fn recordings_are_read_whole() {
    for name in ["summary", "threads"] {
        let text = fixture(name);
        assert!(matches!(PerfTrace.recognize_bytes(&text, true), Recognition::Yes(_)));
        let trace = trace("perf_trace", &text, ImportOptions::default(), 0, 1);
        let codes = trace.meta.diags.sorted();
        let codes: Vec<_> = codes.iter().map(|entry| entry.code.name).collect();
        assert!(codes.iter().all(|code| code.starts_with("stitch/un")), "{name}: {codes:?}");
    }
}

#[test]
fn the_documented_example_is_recognized() {
    let page =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/perf_trace.md"));
    let example = crate::formats::plain::show::example(page);
    assert!(matches!(PerfTrace.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
}

#[test]
fn a_text_cut_anywhere_is_read_up_to_the_cut() {
    let text = fixture("threads");
    let mut calls = 0;
    for cut in 200..text.len().min(5_000) {
        let trace = trace("perf_trace", &text[..cut], ImportOptions::default(), 0, 1);
        assert!(trace.spans.ids().count() >= calls, "cut at {cut}");
        calls = trace.spans.ids().count();
        let lines = memchr::memchr_iter(b'\n', &text[..cut]).count();
        assert_eq!(calls, lines, "cut at {cut}: one line per call at the start");
        if lines == 40 {
            break;
        }
    }
}

proptest! {
    #[test]
    fn blocks_of_any_size_tell_the_same(block in 1_usize..2_000, workers in 1_usize..4) {
        let text = fixture("threads");
        let whole = trace("perf_trace", &text, ImportOptions::default(), 0, 1);
        let blocks = trace("perf_trace", &text, ImportOptions::default(), block, workers);
        prop_assert_eq!(show(&blocks), show(&whole));
    }

    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        PerfTrace.recognize_bytes(&bytes, true);
        if PerfTrace.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            trace("perf_trace", &bytes, ImportOptions::default(), 0, 1);
        }
    }
}
