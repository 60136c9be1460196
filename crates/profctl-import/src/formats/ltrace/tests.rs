use std::collections::BTreeMap;

use profctl_model::{FuncKind, Trace};
use proptest::prelude::*;
use regex::bytes::Regex;

use super::*;
use crate::testing::{ImporterOfBytes, show, told, trace, walls};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/ltrace");
    profctl_testkit::fixtures::read(&folder.join(name).with_extension("txt"))
}

fn read(name: &str) -> Trace {
    trace("ltrace", &fixture(name), ImportOptions::default(), 0, 1)
}

/// Calls and nanoseconds by name, of whole calls.
fn sums(trace: &Trace) -> BTreeMap<String, (u64, u64)> {
    let sum = |(name, of): (&str, Vec<u64>)| (name.to_owned(), (of.len() as u64, of.iter().sum()));
    walls(trace).into_iter().map(sum).collect()
}

/// What an independent regular expression finds.
fn sums_of_text(text: &[u8]) -> BTreeMap<String, (u64, u64)> {
    let line = Regex::new(
        r"(?m-u)^\d+ +[\d.]+ (?:<\.\.\. )?(?:SYS_)?(\w+)(?:\(| resumed>).* <(\d+)\.(\d{6})>$",
    )
    .unwrap();
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for found in line.captures_iter(text) {
        let text = |at: usize| String::from_utf8_lossy(&found[at]).into_owned();
        let number = |at: usize| text(at).parse::<u64>().unwrap();
        let sum = sums.entry(text(1)).or_default();
        *sum = (sum.0 + 1, sum.1 + (number(2) * 1_000_000 + number(3)) * 1_000);
    }
    sums
}

#[test]
fn every_call_of_the_log_is_a_call_of_its_length() {
    for name in ["library", "relative", "syscalls"] {
        let mut expected = sums_of_text(&fixture(name));
        // The children return from a fork that their parent entered: those are no whole calls.
        for fork in ["fork", "clone"] {
            if let Some(sum) = expected.get_mut(fork) {
                let own = sums(&read(name)).get(fork).copied().unwrap();
                assert!(own.0 <= sum.0 && own.1 <= sum.1, "{name} {fork}");
                *sum = own;
            }
        }
        assert_eq!(sums(&read(name)), expected, "{name}");
    }
}

/// Of the recording: `qsort` states 939 us, and the eight `strcmp` that it calls state
/// 92 + 79 + 77 + 78 + 77 + 77 + 78 + 119 = 677.
#[test]
fn what_a_call_calls_is_inside_it() {
    let trace = read("library");
    let spans = &trace.spans;
    let name = |id| trace.names.funcs[spans.func[id]].name.as_str();
    let sort = spans.ids().find(|id| name(*id) == "qsort").unwrap();
    let inside = spans.ids().filter(|id| spans.parent[id.index()] == Some(sort));
    assert_eq!(inside.map(name).collect::<Vec<_>>(), ["strcmp"; 8]);
    assert_eq!(spans.wall[sort.index()].0, 939_000);
    assert_eq!(spans.net[sort.index()].0, (939 - 677) * 1_000);
}

#[test]
fn system_calls_are_inside_the_functions_that_make_them() {
    let trace = read("syscalls");
    let spans = &trace.spans;
    let kind = |id| trace.names.funcs[spans.func[id]].kind;
    let name = |id| trace.names.funcs[spans.func[id]].name.as_str();
    let inside: Vec<_> = spans
        .ids()
        .filter(|id| kind(*id) == FuncKind::Syscall)
        .filter_map(|id| Some((name(spans.parent[id.index()]?), name(id))))
        .collect();
    assert!(
        inside.contains(&("malloc", "brk")) && inside.contains(&("fork", "clone")),
        "{inside:?}"
    );
}

#[test]
fn libraries_are_modules_and_cpp_names_stay_whole() {
    let (text, codes) = told(
        "ltrace",
        "7 1700000000.000001 libc.so.6->malloc(5) = 0x5 <0.000002>\n\
         7 1700000000.000010 std::ostream::operator<<(int)(0x1, 2) = 0x1 <0.000001>\n\
         7 1700000000.000020 --- Called exec() ---\n\
         7 1700000000.000030 +++ exited (status 0) +++\n",
        ImportOptions::default(),
    );
    assert_eq!(
        text,
        "7 0 malloc 1700000000000001000+2000 net 2000\n\
         7 0 std::ostream::operator<<(int) 1700000000000010000+1000 net 1000\n\
         7 mark Called exec() 1700000000000020000\n\
         7 mark exit 1700000000000030000\n"
    );
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn each_log_is_recognized_as_that_of_its_tool() {
    let folder = profctl_testkit::fixtures::root().join("fixtures");
    for (tool, log) in [("strace", false), ("ltrace", true)] {
        for path in profctl_testkit::fixtures::files(&folder.join(tool)) {
            let text = profctl_testkit::fixtures::read(&path);
            let is_log = matches!(LtraceLog.recognize_bytes(&text, true), Recognition::Yes(_));
            assert_eq!(is_log, log, "{}", path.display());
        }
    }
    let error = b"7 puts(\"a\") = 2\n7 free(0x1) = <void>\n7 +++ exited (status 0) +++\n";
    let Recognition::Neighbor(advice) = LtraceLog.recognize_bytes(error, true) else {
        panic!("not named")
    };
    assert!(advice.contains("ltrace -f -ttt -T"), "{advice}");
}

#[test]
fn the_documented_example_is_a_log() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/ltrace.md"));
    let example = crate::formats::plain::show::example(page);
    assert!(matches!(LtraceLog.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    assert!(told("ltrace", example, ImportOptions::default()).1.is_empty());
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_the_cut() {
    let text = fixture("library");
    let parents_only = |text: &[u8]| {
        let mut sums = sums_of_text(text);
        sums.retain(|name, _| name != "fork");
        sums
    };
    for cut in 400..text.len() {
        let trace = trace("ltrace", &text[..cut], ImportOptions::default(), 0, 1);
        let mut found = sums(&trace);
        found.retain(|name, _| name != "fork");
        assert_eq!(found, parents_only(&text[..cut]), "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn blocks_of_any_size_tell_the_same(block in 1_usize..2_000, workers in 1_usize..4) {
        for name in ["library", "relative", "terminal"] {
            let blocks = trace("ltrace", &fixture(name), ImportOptions::default(), block, workers);
            prop_assert_eq!(show(&blocks), show(&read(name)));
        }
    }

    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        LtraceLog.recognize_bytes(&bytes, true);
        if LtraceLog.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            trace("ltrace", &bytes, ImportOptions::default(), 0, 1);
        }
    }
}
