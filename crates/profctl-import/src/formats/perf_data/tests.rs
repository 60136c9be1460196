use std::collections::BTreeMap;

use profctl_model::Trace;
use proptest::prelude::*;

use super::*;
use crate::testing::{ImporterOfBytes, show, trace};

fn fixture(folder: &str, name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures").join(folder);
    profctl_testkit::fixtures::read(&folder.join(name))
}

fn read(name: &str) -> Trace {
    let bytes = fixture("perf_data", &format!("{name}.data"));
    trace("perf_data", &bytes, ImportOptions::default(), 0, 1)
}

/// The calls of a trace by thread id, without names of threads, which perf prints on every line
/// and records once.
fn calls(trace: &Trace) -> Vec<String> {
    let spans = &trace.spans;
    let mut calls: Vec<_> = spans
        .ids()
        .map(|id| {
            let row = id.index();
            format!(
                "{:?} {} {:?}+{:?} {:?}",
                trace.names.threads[spans.thread[row]].tid,
                trace.names.funcs[spans.func[id]].name,
                spans.start[row],
                spans.wall[row],
                spans.fidelity[row],
            )
        })
        .collect();
    calls.sort();
    calls
}

/// `perf script` prints the records of the same files.
#[test]
fn a_file_says_what_perf_prints_of_it() {
    for name in ["sched", "syscalls"] {
        let text = fixture("perf_script", &format!("{name}.txt"));
        let text = trace("perf_script", &text, ImportOptions::default(), 0, 1);
        let file = read(name);
        assert_eq!(calls(&file), calls(&text), "{name}");
        assert_eq!(file.marks.len(), text.marks.len(), "{name}");
        assert_eq!(file.wakes.len(), text.wakes.len(), "{name}");
        let codes = |trace: &Trace| {
            trace
                .meta
                .diags
                .sorted()
                .iter()
                .map(|e| (e.code.name, e.count))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(codes(&file), codes(&text), "{name}");
    }
}

#[test]
fn what_is_not_read_is_named_with_the_route() {
    let sched = fixture("perf_data", "sched.data");
    let with = |feature: usize, is_set: bool| {
        let mut bytes = sched.clone();
        let byte = &mut bytes[72 + feature / 8];
        *byte = if is_set { *byte | 1 << (feature % 8) } else { *byte & !(1 << (feature % 8)) };
        bytes
    };
    let mut piped = sched.clone();
    piped[8] = 16;
    for (bytes, advice) in [
        (with(head::AUXTRACE, true), "perf script --ns --itrace=be"),
        (with(head::COMPRESSED, true), "compressed"),
        (with(head::TRACING_DATA, false), "without tracepoints"),
        (piped, "in pipe mode"),
    ] {
        let Recognition::Neighbor(what) = PerfData.recognize_bytes(&bytes, true) else {
            panic!("not named: {advice}")
        };
        assert!(what.contains(advice), "{what}");
        let error = PerfData.open_bytes(&bytes, &ImportOptions::default()).err().unwrap();
        assert!(error.message.contains(advice), "{error}");
    }
    assert!(matches!(PerfData.recognize_bytes(&sched, true), Recognition::Yes(_)));
}

#[test]
fn a_record_of_no_size_ends_the_reading() {
    let mut bytes = fixture("perf_data", "syscalls.data");
    let head = Head::new(&bytes).unwrap();
    let middle = (head.data.start + head.data.end) as usize / 2;
    let mut at = head.data.start as usize;
    while at < middle {
        at += number_at(&bytes, at + 6);
    }
    bytes[at + 6..at + 8].fill(0);
    for block_size in [0, 64, 1_000] {
        let trace = trace("perf_data", &bytes, ImportOptions::default(), block_size, 2);
        let codes = trace.meta.diags.sorted();
        let skipped = codes.iter().find(|entry| entry.code.name == "input/skipped-record");
        assert_eq!(skipped.map(|entry| entry.count), Some(1));
        assert!(trace.spans.ids().count() > 20);
    }
}

fn number_at(bytes: &[u8], at: usize) -> usize {
    head::number(bytes, at, 2, crate::bytes::Endian::Little).unwrap() as usize
}

/// Of a file that was cut the head still says where the features were: a copy that lacks them has
/// no formats, and is refused. Cut in its head it is not a recording.
#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = fixture("perf_data", "sched.data");
    let end = Head::new(&bytes).unwrap().data.end as usize;
    for cut in 1..end {
        let error = PerfData.open_bytes(&bytes[..cut], &ImportOptions::default()).err();
        assert!(error.is_some_and(|error| error.message.len() > 10), "cut at {cut}");
    }
}

/// As perf leaves a file when it is killed: the size of the data is 0. The formats are after the
/// data, so nothing can be read.
#[test]
fn a_file_without_a_size_is_refused() {
    let mut bytes = fixture("perf_data", "sched.data");
    bytes[48..56].fill(0);
    assert!(PerfData.open_bytes(&bytes, &ImportOptions::default()).is_err());
}

/// The length of the list of callers is multiplied by the parser.
#[test]
fn a_list_of_callers_without_end_is_skipped() {
    use linux_perf_event_reader::{ReadFormat, SampleFormat};
    let bytes = fixture("perf_data", "sched.data");
    let head = Head::new(&bytes).unwrap();
    let at = head.attributes.start as usize;
    let mut attribute = head.attribute(&bytes[at..at + head.attribute_size as usize]).unwrap();
    let holds = |attribute: &head::Attribute, words: &[u64]| {
        let sample: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        attribute.holds_callers(&sample, crate::bytes::Endian::Little)
    };
    attribute.parse.sample_format = SampleFormat::IP | SampleFormat::CALLCHAIN;
    assert!(holds(&attribute, &[7, 2, 0, 0]));
    assert!(!holds(&attribute, &[7, 3, 0, 0]));
    assert!(!holds(&attribute, &[7, 1 << 61]));
    assert!(!holds(&attribute, &[7, u64::MAX]));
    // What ends before it is the parser's to refuse.
    assert!(holds(&attribute, &[7]));
    attribute.parse.sample_format |= SampleFormat::READ;
    attribute.parse.read_format = ReadFormat::ID;
    assert!(!holds(&attribute, &[7, 1, 0, 0, u64::MAX]));
    assert!(holds(&attribute, &[7, 1, 0, 0, 1, 5]));
    attribute.parse.sample_format = SampleFormat::IP;
    assert!(holds(&attribute, &[7, u64::MAX]));
}

proptest! {
    #[test]
    fn blocks_of_any_size_tell_the_same(block in 1_usize..5_000, workers in 1_usize..4) {
        for name in ["sched", "syscalls"] {
            let bytes = fixture("perf_data", &format!("{name}.data"));
            let blocks = trace("perf_data", &bytes, ImportOptions::default(), block, workers);
            prop_assert_eq!(show(&blocks), show(&read(name)));
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        damage in proptest::collection::vec((0..20_000_usize, any::<u8>()), 1..20),
    ) {
        let mut bytes = fixture("perf_data", "sched.data");
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        PerfData.recognize_bytes(&bytes, true);
        if PerfData.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            trace("perf_data", &bytes, ImportOptions::default(), 0, 1);
        }
    }
}
