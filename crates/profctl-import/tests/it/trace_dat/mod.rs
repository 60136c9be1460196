//! One recording as trace.dat, as report and as the text of tracefs gives the same calls, states
//! and times.

mod oracles;
mod records;

use std::collections::BTreeMap;
use std::path::Path;

use profctl_import::{ImportOptions, ReadOptions, Single, load};
use profctl_model::Trace;
use profctl_testkit::fixtures;
use profctl_testkit::generate::trace_dat::DatShape;
use profctl_testkit::generate::{self, Layout, Recording, Shape};

fn read(bytes: &[u8]) -> Trace {
    let files = Single::new("test", Box::new(bytes));
    load(&files, &ReadOptions::default(), &|_| ()).unwrap().0
}

fn fixture(path: &str) -> Trace {
    read(&fixtures::read(&fixtures::root().join("fixtures").join(path)))
}

/// Of each function on each thread: complete calls, incomplete ones, their wall time.
type Calls = BTreeMap<(Option<u64>, String), (u64, u64, u64)>;

fn calls(trace: &Trace) -> Calls {
    let mut calls = Calls::new();
    let spans = &trace.spans;
    for id in spans.ids() {
        let row = id.index();
        let thread = &trace.names.threads[spans.thread[row]];
        let name = trace.names.funcs[spans.func[id]].name.clone();
        let sums = calls.entry((thread.tid, name)).or_default();
        if spans.fidelity[row].is_partial() {
            sums.1 += 1;
        } else {
            sums.0 += 1;
            sums.2 += spans.wall[row].0;
        }
    }
    calls
}

/// The same calls, and the same times but for `resolution` nanoseconds per call and what the fewer
/// digits of long durations lose.
fn assert_same(what: &str, exact: &Trace, text: &Trace, resolution: u64) {
    let (exact_calls, text_calls) = (calls(exact), calls(text));
    // The tracer `function` records entries only: marks.
    assert!(!exact_calls.is_empty() || !exact.marks.is_empty(), "{what} has nothing to compare");
    let counts = |calls: &Calls| -> BTreeMap<_, _> {
        calls.iter().map(|(key, sums)| (key.clone(), (sums.0, sums.1))).collect()
    };
    let (exact_counts, text_counts) = (counts(&exact_calls), counts(&text_calls));
    for key in exact_counts.keys().chain(text_counts.keys()) {
        let (of_exact, of_text) = (exact_counts.get(key), text_counts.get(key));
        assert_eq!(of_exact, of_text, "{what} {key:?}: complete and incomplete calls");
    }
    for (key, (complete, _, wall)) in &exact_calls {
        let other = text_calls[key].2;
        let allowed = resolution * complete + wall / 1000;
        assert!(wall.abs_diff(other) <= allowed, "{what} {key:?}: {wall} and {other}");
    }
    assert_same_states(what, exact, text, resolution);
    assert_eq!(exact.wakes.len(), text.wakes.len(), "{what}: wakings");
    assert_eq!(exact.marks.len(), text.marks.len(), "{what}: marks");
    assert_eq!(exact.gaps.len(), text.gaps.len(), "{what}: losses");
}

/// The same states of the same threads, as long but for `resolution` ticks each.
fn assert_same_states(what: &str, exact: &Trace, text: &Trace, resolution: u64) {
    let sums = |trace: &Trace| {
        let mut sums = BTreeMap::new();
        for state in &trace.states {
            let thread = &trace.names.threads[state.thread];
            let cpu = thread.idle.then(|| state.cpu.map(|cpu| trace.names.cpus[cpu]));
            let key = (thread.tid, cpu, format!("{:?}", state.state));
            let (n, length) = sums.entry(key).or_insert((0_u64, 0_u64));
            *n += 1;
            *length += state.length().0;
        }
        sums
    };
    let (exact, text) = (sums(exact), sums(text));
    assert_eq!(exact.keys().collect::<Vec<_>>(), text.keys().collect::<Vec<_>>(), "{what}");
    for (key, (n, length)) in &exact {
        let (other_n, other) = text[key];
        assert_eq!(*n, other_n, "{what} {key:?}: how often");
        assert!(length.abs_diff(other) <= resolution * n, "{what} {key:?}: {length} and {other}");
    }
}

#[test]
fn reports_say_what_the_file_says() {
    for name in ["graph-events-6.1", "nano-spin-6.1", "syscalls-6.1"] {
        let dat = fixture(&format!("trace_dat/{name}-v7-zstd.dat"));
        let report = fixture(&format!("trace_cmd_report/{name}.txt"));
        assert_same(name, &dat, &report, 1_001);
    }
    // As `report -l` prints it, and `report --ts-diff`.
    for (name, dat) in
        [("graph-events-latency-6.1", "graph-events-6.1"), ("syscalls-diff-6.1", "syscalls-6.1")]
    {
        let dat = fixture(&format!("trace_dat/{dat}-v7-zstd.dat"));
        let report = fixture(&format!("trace_cmd_report/{name}.txt"));
        assert_same(name, &dat, &report, 1_001);
    }
    // Cycles, which both show as they are.
    let dat = fixture("trace_dat/events-tsc-6.1-v7-zlib.dat");
    assert_same("cycles", &dat, &fixture("trace_cmd_report/events-tsc-6.1.txt"), 0);
}

/// The same of recordings that are too large to commit, of both versions and of kernels 6.1 and 7.3.
#[test]
fn reports_of_large_recordings_say_what_the_files_say() {
    let Some(shared) = fixtures::shared() else { return };
    let folder = shared.join("kernel/dat");
    for (dat, report, resolution) in [
        ("7.3.4__d34_fg_args_v7.dat", "7.3.4__d34_fg_args_v7.report.txt.zst", 1_001),
        ("7.3.4__d_fg_F_small_v7.dat", "7.3.4__d_fg_F_small_v7.report.txt.zst", 1_001),
        ("d34_fg_events_v7.dat", "d34_fg_events_v7.report.txt.zst", 1_001),
        ("d_fn_v7.dat", "d_fn_v7.report.txt.zst", 1_001),
        ("d_events_mono_v7.dat", "d_events_mono_v7.report.txt", 1_001),
        ("d_events_tsc_v7.dat", "d_events_tsc_v7.report.txt", 0),
        ("d_events_v6.dat.zst", "d_events_v6.report.txt", 1_001),
        ("d_fg_F_small_v6.dat.zst", "d_fg_F_small_v6.report.txt.zst", 1_001),
        ("d_fg_F_small_v7.dat", "d_fg_F_small_v7.report.txt.zst", 1_001),
        ("d_fg_events_v7.dat", "d_fg_events_v7.report.txt.zst", 1_001),
        ("d_syscalls_v7.dat", "d_syscalls_v7.report.txt", 1_001),
    ] {
        let file = read(&fixtures::read(&folder.join(dat)));
        let text = read(&fixtures::read(&folder.join("oracle").join(report)));
        assert_same(dat, &file, &text, resolution);
    }
    // The report has no names of exits whose entry was lost: only the losses are the same.
    let file = read(&fixtures::read(&folder.join("d_fg_lost_v7.dat")));
    let text = read(&fixtures::read(&folder.join("oracle/d_fg_lost_v7.report.txt.zst")));
    let losses = |trace: &Trace| -> Vec<_> { trace.gaps.iter().map(|gap| gap.lost).collect() };
    assert_eq!(losses(&file), losses(&text));
    assert!(losses(&file).len() > 100);
}

#[test]
fn the_text_of_tracefs_says_what_the_file_says() {
    let dat = fixture("trace_dat/nano-spin-6.1-v7-zstd.dat");
    assert_same("nano-spin", &dat, &fixture("ftrace/nano-spin-6.1.txt"), 1_001);
}

#[test]
fn versions_6_and_7_say_the_same() {
    let six = fixture("trace_dat/instances-6.1-v6.dat");
    let seven = fixture("trace_dat/instances-6.1-v7-zlib.dat");
    assert_same("instances", &seven, &six, 0);
    assert_eq!(six.meta.events, seven.meta.events);
    assert!(six.states.len() > 10, "the second buffer has the switches");
}

/// What `trace-cmd report` counts of the same files, as written in the README of the fixtures.
#[test]
fn losses_are_those_of_the_report() {
    let lost = fixture("trace_dat/graph-lost-6.1-v7-zstd.dat");
    let report = fixture("trace_cmd_report/graph-lost-6.1.txt");
    let counts = |trace: &Trace| -> Vec<_> { trace.gaps.iter().map(|gap| gap.lost).collect() };
    assert_eq!(counts(&lost), counts(&report));
    assert!(!lost.gaps.is_empty());
}

/// A generated recording, as a file and as text of the tracer.
#[test]
fn made_up_recordings_are_read_as_their_text() {
    let layout = Layout::ALL.iter().find(|(name, _)| name.contains("abstime")).unwrap().1;
    for seed in 0..20 {
        let shape = Shape { marks: 0, interrupts: 0, closes: seed % 2 == 0, ..Shape::BUSY };
        let recording = Recording::new(seed, shape);
        let text = read(generate::function_graph(&recording, layout).as_bytes());
        for shape in [
            DatShape::PLAIN,
            DatShape { version: 6, ..DatShape::PLAIN },
            DatShape { big_endian: true, ..DatShape::PLAIN },
        ] {
            let dat = read(&generate::trace_dat(&recording, &shape));
            let by_name = |trace: &Trace| {
                let mut sums = BTreeMap::new();
                for ((_, name), (complete, ..)) in calls(trace) {
                    *sums.entry(name).or_insert(0) += complete;
                }
                sums
            };
            assert_eq!(by_name(&dat), by_name(&text), "seed {seed}");
        }
    }
}

#[test]
fn a_directory_of_fixtures_is_read_without_a_name() {
    for format in ["ftrace", "trace_cmd_report", "trace_dat"] {
        for path in fixtures::of_format(format) {
            let bytes = fixtures::read(&path);
            let files = Single::new("test", Box::new(&bytes[..]));
            let options =
                ReadOptions { import: ImportOptions::default(), ..ReadOptions::default() };
            let (_, origin) = load(&files, &options, &|_| ()).unwrap();
            let name = Path::new(&path).display();
            assert_eq!(origin.format.name, format, "{name}");
        }
    }
}
