//! What holds for any input, on every fixture: however a trace is grouped, cut into windows, read,
//! packed or written down and read again, the numbers are the same; and the tree, the profile and
//! the critical path agree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use profctl_analyze::critpath;
use profctl_analyze::summarize::{By, Options, Profile, Source, Summary};
use profctl_import::{
    Bound, FORMATS, Files, Grouping, ImportOptions, Memory, ReadOptions, Single, load, stream,
    write_plain,
};
use profctl_model::diag::codes;
use profctl_model::{Names, Record, SelectThreads, Span, SpanSink, ThreadId, Trace, TraceBuilder};
use profctl_testkit::fixtures;
use profctl_testkit::generate::write_uftrace;
use serde_json::Value;

use crate::program::{Scratch, run, run_with_input};

mod paths;
mod selections;

type Parts = Vec<(String, Vec<u8>)>;

fn files(parts: &Parts) -> Box<dyn Files + '_> {
    match &parts[..] {
        [(_, bytes)] => Box::new(Single::new("trace", Box::new(&bytes[..]))),
        _ => Box::new(Memory::new("trace", parts.clone())),
    }
}

fn grouping(by: By) -> Grouping {
    match by {
        By::Function => Grouping::Function,
        By::Module => Grouping::Module,
        By::Kind => Grouping::Kind,
        By::Thread | By::Cpu => Grouping::Stack,
    }
}

fn source() -> Source {
    Source { path: String::new(), format: String::new(), bytes: 0 }
}

fn profile(parts: &Parts, options: &ReadOptions, by: By) -> Profile {
    let options = ReadOptions { grouping: grouping(by), ..options.clone() };
    let sink = Summary::new(Options { percentiles: true, by, call_graph: true });
    let read = stream(&*files(parts), &options, sink, &|_| ()).expect("it was read before");
    read.sink.finish(&read.names, &read.meta, source())
}

fn trace(parts: &Parts, options: &ReadOptions) -> Trace {
    load(&*files(parts), options, &|_| ()).expect("it was read before").0
}

/// Fixtures in which there is nothing to look at: one holds sums and no calls; of the signals of the
/// others, it has to be said which carry calls.
const LEFT_OUT: &[&str] = &["callgrind/calls.out", "fst/off.fst", "vcd/off.vcd"];

/// Calls `check` with every fixture that can be read as it is, or with the names that it needs.
fn for_every_fixture(mut check: impl FnMut(&str, &Path, &Parts, &ReadOptions)) {
    let names = Some(fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.names")));
    let named = ImportOptions { names, ..ImportOptions::default() };
    let mut left_out = Vec::new();
    for format in FORMATS.iter().map(|format| format.descriptor().name) {
        for path in fixtures::of_format(format) {
            let parts = fixtures::parts(&path);
            let ways = [
                ReadOptions::default(),
                ReadOptions { import: named.clone(), ..ReadOptions::default() },
            ];
            let can = |options: &&ReadOptions| {
                let sink = Summary::new(Options::default());
                let read = stream(&*files(&parts), options, sink, &|_| ());
                // What holds nothing but sums has no calls to look at.
                read.is_ok_and(|read| {
                    let profile = read.sink.finish(&read.names, &read.meta, source());
                    profile.rows.iter().all(|row| row.stats.counted == 0)
                })
            };
            let name = path.display().to_string();
            match ways.iter().find(can) {
                Some(options) => check(&name, &path, &parts, options),
                None => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    left_out.push(format!("{format}/{file}"));
                }
            }
        }
    }
    left_out.sort();
    assert_eq!(left_out, LEFT_OUT);
}

/// How far the net times of a function may move from one window to another: by as much as the stated
/// length of its calls and their callees differs from the time between their stamps, and by what of
/// a net time is stated, or clamped. 0, and absent, where every length follows from stamps.
fn slack(trace: &Trace) -> BTreeMap<(String, Option<String>), u64> {
    let spans = &trace.spans;
    let stated_by = |row: usize| (spans.end[row] - spans.start[row]).0.abs_diff(spans.wall[row].0);
    let mut slack: Vec<u64> = (0..spans.len()).map(stated_by).collect();
    let mut callees = vec![0; spans.len()];
    for id in spans.ids() {
        if let Some(caller) = spans.parent[id.index()] {
            slack[caller.index()] += stated_by(id.index());
            callees[caller.index()] += spans.elapsed(id).0;
        }
    }
    let mut of_functions = BTreeMap::new();
    for id in spans.ids() {
        let row = id.index();
        slack[row] += (callees[row] + spans.net[row].0).abs_diff(spans.elapsed(id).0);
        if slack[row] > 0 {
            let func = &trace.names.funcs[spans.func[id]];
            *of_functions.entry((func.name.clone(), func.module.clone())).or_default() +=
                slack[row];
        }
    }
    of_functions
}

fn is_exact(trace: &Trace) -> bool {
    let count = |code| trace.meta.diags.count_of(code);
    count(&codes::CLAMPED) == 0 && count(&codes::STATED_MISMATCH) == 0
}

#[test]
fn the_grouping_moves_no_time() {
    for_every_fixture(|name, _, parts, options| {
        let trace = trace(parts, options);
        let flat = profile(parts, options, By::Function);
        let sums = |profile: &Profile| {
            let net: u64 = profile.rows.iter().map(|row| row.stats.net).sum();
            (profile.busy(), net, profile.calls(), profile.partial())
        };
        for by in [By::Function, By::Module, By::Thread, By::Cpu, By::Kind] {
            let grouped = profile(parts, options, by);
            assert_eq!(sums(&grouped), sums(&flat), "{name} by {}", by.name());
            // The tree says which calls are outermost without having to take anything back.
            let of_tree = Profile::of_trace(
                &trace,
                Options { percentiles: true, by, call_graph: true },
                source(),
            );
            for (one, other) in grouped.rows.iter().zip(&of_tree.rows) {
                // A late interrupt is distinguished by its time, which may be rounded.
                let mut other = other.clone();
                other.stats.interrupted = one.stats.interrupted;
                assert_eq!(*one, other, "{name} by {}", by.name());
            }
            assert_eq!(grouped.rows.len(), of_tree.rows.len(), "{name} by {}", by.name());
            if is_exact(&trace) && matches!(by, By::Thread | By::Cpu) {
                for row in grouped.rows.iter().filter(|_| by == By::Thread) {
                    assert_eq!(row.stats.net, row.stats.elapsed, "{name}: {}", row.name);
                }
            }
        }
    });
}

#[test]
fn windows_that_partition_a_trace_sum_to_it() {
    for_every_fixture(|name, _, parts, options| {
        let whole = profile(parts, options, By::Function);
        let slack = slack(&trace(parts, options));
        let parts_of = [0.0, 0.31, 0.32, 0.9].map(|part| (whole.real as f64 * part) as u64);
        let nanos = |ticks| {
            if whole.timebase.is_time() {
                whole.timebase.reported(profctl_model::Ticks(ticks))
            } else {
                ticks
            }
        };
        let mut edges: Vec<_> = parts_of.map(nanos).to_vec();
        edges.dedup();
        let mut added: BTreeMap<(String, Option<String>), [u64; 4]> = BTreeMap::new();
        for (index, from) in edges.iter().enumerate() {
            let window = ReadOptions {
                from: (index > 0).then_some(Bound::After(*from)),
                until: edges.get(index + 1).copied().map(Bound::After),
                ..options.clone()
            };
            let part = profile(parts, &window, By::Function);
            for row in &part.rows {
                let of = added.entry((row.name.clone(), row.module.clone())).or_default();
                for (sum, more) in of.iter_mut().zip([
                    row.stats.net,
                    row.stats.elapsed,
                    row.stats.wall,
                    row.stats.off_cpu,
                ]) {
                    *sum += more;
                }
            }
        }
        for row in &whole.rows {
            let stats = &row.stats;
            let found = added.remove(&(row.name.clone(), row.module.clone())).unwrap_or_default();
            let expected = [stats.net, stats.elapsed, stats.wall, stats.off_cpu];
            assert_eq!(found[1..], expected[1..], "{name}: {} in windows from {edges:?}", row.name);
            let slack = slack.get(&(row.name.clone(), row.module.clone())).copied().unwrap_or(0);
            assert!(
                found[0].abs_diff(expected[0]) <= slack,
                "{name}: net of {} in windows from {edges:?}: {} of {}, may differ by {slack}",
                row.name,
                found[0],
                expected[0],
            );
        }
    });
}

#[test]
fn the_critical_path_covers_its_window() {
    let mut n_paths = 0;
    for_every_fixture(|name, _, parts, options| {
        let trace = trace(parts, options);
        let document = critpath::json(&trace, &critpath::Options::default());
        let Ok(document) = document else {
            assert!(trace.spans.is_empty() || !trace.meta.knows_lengths(), "{name}");
            return;
        };
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let number = |of: &Value, key: &str| of[key].as_u64().expect("a number");
        let mut at = number(&document["window"], "start");
        for segment in document["segments"].as_array().expect("a list") {
            assert_eq!(number(segment, "start"), at, "{name}: {segment}");
            at = number(segment, "end");
        }
        assert_eq!(at, number(&document["window"], "end"), "{name}");
        n_paths += 1;
    });
    assert!(n_paths > 80, "only {n_paths} paths");
}

#[test]
fn how_it_is_read_does_not_show() {
    for_every_fixture(|name, _, parts, options| {
        let expected = profile(parts, options, By::Function);
        for (workers, block_size) in [(1, 1 << 10), (2, 4 << 10), (3, 5_000), (7, 64 << 10)] {
            let options = ReadOptions { workers, block_size, ..options.clone() };
            assert!(
                profile(parts, &options, By::Function) == expected,
                "{name}: {workers} workers"
            );
        }
        // A directory is not compressed as one.
        let [(file, bytes)] = &parts[..] else { return };
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let zstd = zstd::encode_all(&bytes[..], 1).expect("memory");
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        xz.write_all(bytes).expect("memory");
        let xz = xz.finish().expect("memory");
        for packed in [gzip, zstd, xz] {
            let packed = vec![(file.clone(), packed)];
            assert!(profile(&packed, options, By::Function) == expected, "{name}: packed");
        }
    });
}

/// A sink that gives out no parts: the streams of threads are merged by time for it.
struct InOrder(Summary);

impl SpanSink for InOrder {
    fn span(&mut self, span: &Span, names: &Names) {
        self.0.span(span, names);
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        self.0.record(record, names);
    }
}

/// Recordings of which each stream is of one thread: those of uftrace without the switches, also
/// with a file cut short, a file that is longer than all others, and bytes that are no records.
fn recordings_of_threads() -> Vec<(String, Parts)> {
    let scratch = Scratch::new("threads");
    write_uftrace(400_000, 7, &mut |name| Ok(Box::new(File::create(scratch.path(name))?)))
        .expect("the directory is there");
    let made = fixtures::parts(Path::new(&scratch.path("")));
    let mut recordings = vec![("made".to_owned(), made)];
    for path in fixtures::of_format("uftrace") {
        recordings.push((path.display().to_string(), fixtures::parts(&path)));
    }
    let is_of_task = |file: &str| Path::new(file).extension().is_some_and(|it| it == "dat");
    let is_of_cpu = |file: &str| file.starts_with("perf-cpu") || file.starts_with("kernel");
    let mut all = Vec::new();
    for (name, mut parts) in recordings {
        parts.retain(|(file, _)| !is_of_cpu(file));
        let tasks: Vec<usize> = (0..parts.len()).filter(|&row| is_of_task(&parts[row].0)).collect();
        if tasks.len() < 2 {
            continue;
        }
        let changed = |change: &dyn Fn(&mut Parts)| {
            let mut parts = parts.clone();
            change(&mut parts);
            parts
        };
        let (first, last) = (tasks[0], tasks[tasks.len() - 1]);
        all.push((
            format!("{name}, cut"),
            changed(&|parts| {
                let length = parts[first].1.len();
                parts[first].1.truncate(length / 2 + 3);
            }),
        ));
        all.push((
            format!("{name}, one long"),
            changed(&|parts| {
                let again = parts[last].1.clone();
                for _ in 0..40 {
                    parts[last].1.extend_from_slice(&again);
                }
            }),
        ));
        all.push((
            format!("{name}, damaged"),
            changed(&|parts| {
                for &task in &tasks {
                    let bytes = &mut parts[task].1;
                    let middle = bytes.len() / 32 * 16;
                    bytes.splice(middle..middle, std::iter::repeat_n(0xee, 48));
                }
            }),
        ));
        all.push((name, parts));
    }
    all
}

#[test]
fn threads_by_themselves_are_as_in_order() {
    let recordings = recordings_of_threads();
    assert!(recordings.len() >= 8, "{}", recordings.len());
    for (name, parts) in &recordings {
        for by in [By::Function, By::Module, By::Thread, By::Cpu, By::Kind] {
            let options = ReadOptions { grouping: grouping(by), ..ReadOptions::default() };
            let summary = || Summary::new(Options { percentiles: true, by, call_graph: true });
            let read = stream(&*files(parts), &options, InOrder(summary()), &|_| ());
            let read = read.expect("a directory of uftrace");
            let real = read.meta.real();
            let expected = read.sink.0.finish(&read.names, &read.meta, source());
            assert!(expected.calls() + expected.partial() > 0, "{name}");
            for (workers, block_size) in [(1, 0), (2, 4 << 10), (3, 1 << 10), (7, 64 << 10)] {
                let options = ReadOptions { workers, block_size, ..options.clone() };
                let read = stream(&*files(parts), &options, summary(), &|_| ());
                let read = read.expect("it was read before");
                assert_eq!(read.meta.real(), real, "{name}");
                let mut found = read.sink.finish(&read.names, &read.meta, source());
                let counts = |profile: &Profile| -> Vec<(String, u64)> {
                    let found = profile.quality.diagnostics.iter();
                    found.map(|found| (found.code.clone(), found.count)).collect()
                };
                assert_eq!(counts(&found), counts(&expected), "{name}");
                // Which of many places are shown depends on the order.
                found.quality = expected.quality.clone();
                assert!(found == expected, "{name} by {}, {workers} workers", by.name());
            }
        }
    }
}

#[test]
fn threads_by_themselves_can_be_selected() {
    for (name, parts) in recordings_of_threads() {
        let selected = |keep: &dyn Fn(ThreadId) -> bool, mut sink: Summary| {
            sink.separate_threads();
            let read = stream(&*files(&parts), &ReadOptions::default(), sink, &|_| ());
            let mut read = read.expect("it was read before");
            read.sink.keep_threads(keep);
            let threads = read.names.threads.len();
            (read.sink.finish(&read.names, &read.meta, source()), threads)
        };
        let summary =
            || Summary::new(Options { percentiles: true, call_graph: true, ..Options::default() });
        let (all, threads) = selected(&|_| true, summary());
        let plain = profile(&parts, &ReadOptions::default(), By::Function);
        assert!(all == plain, "{name}");
        let calls: u64 = (0..threads)
            .map(|thread| selected(&|of| of.index() == thread, summary()).0)
            .map(|one| one.calls() + one.partial())
            .sum();
        assert_eq!(calls, all.calls() + all.partial(), "{name}");
    }
}

#[test]
fn what_is_written_as_plain_text_has_the_same_profile() {
    for_every_fixture(|name, _, parts, options| {
        let mut text = Vec::new();
        let written =
            write_plain(&*files(parts), options, TraceBuilder::default(), &mut text, &|_| ());
        let (_, written) = written.expect("it was read before");
        written.expect("memory takes what is written to it");
        let text = vec![("trace".to_owned(), text)];
        let back = ReadOptions { format: Some("plain".into()), ..ReadOptions::default() };
        for by in [By::Function, By::Kind] {
            let expected = profile(parts, options, by);
            let found = profile(&text, &back, by);
            assert_eq!(found.rows, expected.rows, "{name} by {}", by.name());
            let of = |profile: &Profile| (profile.real, profile.lanes, profile.knows_off_cpu);
            assert_eq!(of(&found), of(&expected), "{name}");
        }
    });
}

/// Two processes have a thread of the same number there: a line of `replay` names no process, so what
/// it prints of both is read back as one thread.
const NOT_READ_BACK: &[&str] = &["by-end.json"];

/// What `replay` prints of any trace whose calls have times is a trace with the same calls: but for
/// what a code trace has no place for, which is modules, kinds, and why time went by.
#[test]
fn replay_reads_back() {
    let scratch = Scratch::new("replay_reads_back");
    let mut n_compared = 0;
    let mut failed = Vec::new();
    for_every_fixture(|name, path, parts, options| {
        let trace = trace(parts, options);
        let timebase = trace.meta.timebase;
        // One that is laid end to end has no times to print, and a tick must be what is printed.
        let is_nanos = timebase.reported(profctl_model::Ticks(1_000_003)) == 1_000_003;
        if path.is_dir()
            || !timebase.is_time()
            || !is_nanos
            || !trace.meta.knows_lengths()
            || options.import.names.is_some()
        {
            return;
        }
        let replay = run(&["-q", "replay", "--format", "table", &path.display().to_string()]);
        if replay.code != Some(0) || replay.stdout.lines().count() < 3 {
            return;
        }
        let file = scratch.file("replay.txt", &replay.stdout);
        let bytes = fixtures::read(Path::new(&file));
        let back = ReadOptions { format: Some("mcrae".into()), ..ReadOptions::default() };
        let found = profile(&vec![("replay".to_owned(), bytes)], &back, By::Function);
        let mut text = String::new();
        let sums = |profile: &Profile| {
            let mut sums: BTreeMap<String, [u64; 3]> = BTreeMap::new();
            for row in &profile.rows {
                let of = sums.entry(row.name.clone()).or_default();
                of[0] += row.stats.calls;
                of[1] += row.stats.partial;
                of[2] += profile.timebase.reported(profctl_model::Ticks(row.stats.net));
            }
            sums
        };
        let expected = profile(parts, options, By::Function);
        let (found, expected) = (sums(&found), sums(&expected));
        for (function, expected) in &expected {
            if found.get(function) != Some(expected) {
                let _ = writeln!(text, "{function}: {:?}, not {expected:?}", found.get(function));
            }
        }
        if !text.is_empty() {
            failed.push((name.rsplit('/').next().unwrap_or(name).to_owned(), text));
        }
        n_compared += 1;
    });
    let names: Vec<&str> = failed.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, NOT_READ_BACK, "{failed:#?}");
    assert!(n_compared > 60, "only {n_compared} were compared");
}

#[test]
fn standard_input_is_as_good_as_a_file() {
    for format in FORMATS.iter().map(|format| format.descriptor().name) {
        let mut n_compared = 0;
        for path in fixtures::of_format(format).into_iter().filter(|path| path.is_file()) {
            let piped = fixtures::read(&path);
            if piped.len() > 300_000 && n_compared > 0 {
                continue;
            }
            let path = path.display().to_string();
            let report = |run: crate::program::Run| {
                // Both name their source, also where they found something wrong.
                let text = run.stdout.replace(&path, "-");
                let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
                report["sources"] = Value::Null;
                (run.code, report)
            };
            let of_file = report(run(&["-q", "summarize", "--format", "json", &path]));
            let words = ["-q", "summarize", "--format", "json", "-"];
            assert_eq!(report(run_with_input(&words, &piped)), of_file, "{path}");
            // What cannot be read without flags is refused alike, and shows nothing here.
            n_compared += usize::from(of_file.0 == Some(0));
        }
        let is_directory = fixtures::of_format(format).iter().all(|path| path.is_dir());
        assert!(n_compared > 0 || is_directory || NEED_FLAGS.contains(&format), "{format}");
    }
}

/// Formats of which no input can be read without flags: a probe's records have no names.
const NEED_FLAGS: &[&str] = &["probe"];

#[test]
fn how_many_files_are_read_at_once_does_not_show() {
    let scratch = Scratch::new("consistent_at_once");
    for n in 0..7_u64 {
        let text = crate::diff::trace(&[("f", 1000 + n), ("g", 2000 + 3 * n)]);
        scratch.file(&format!("runs/{n}.txt"), &text);
        scratch.file(&format!("other/{n}.txt"), text);
    }
    scratch.file("runs/2-cut.txt", "# profctl plain 1 unit=us\n0 a-1 > f\n5 a-1 > g\n");
    scratch.file("runs/3-notes.txt", "what was measured, and why\n");
    scratch.file("broken/0.txt", crate::diff::trace(&[("f", 1)]));
    scratch.file("broken/1.json", "{\"schema\": \"profctl.summary/1\"}");
    scratch.file("broken/2.txt", crate::diff::trace(&[("f", 1)]));
    let [runs, other, broken] = ["runs", "other", "broken"].map(|name| scratch.path(name));
    for args in [
        &["summarize", "-v", &runs][..],
        &["summarize", "--format", "json", &runs, &other],
        &["summarize", "--thread", "unknown", &runs],
        &["diff", "--strict", &runs, &other],
        &["gate", "--json", "-", &other, &runs],
        &["summarize", &broken],
        &["history", &runs, &other, &runs],
    ] {
        let with = |jobs: &str| {
            let found = run(&[args, &["-j", jobs]].concat());
            (found.code, found.stdout, found.stderr)
        };
        let one = with("1");
        for jobs in ["2", "3", "16"] {
            assert_eq!(with(jobs), one, "{args:?} with {jobs} jobs");
        }
    }
}
