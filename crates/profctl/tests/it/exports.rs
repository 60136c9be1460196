//! What is written for other people's viewers reads back as the trace that it was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use profctl_import::{ImportOptions, ReadOptions, Single, load};
use profctl_model::{FuncId, FuncKind, Names, SpanId, ThreadId, Timebase, Timeline, Trace};
use profctl_render::export::{chrome, folded, perfetto, speedscope};
use profctl_testkit::fixtures;
use profctl_testkit::generate::{self, Layout, Recording, Shape};
use proptest::prelude::*;

type Write = fn(&Trace, &mut dyn io::Write) -> io::Result<()>;

fn read(bytes: &[u8], options: &ReadOptions) -> Option<Trace> {
    let input = Single::new("test", Box::new(bytes));
    load(&input, options, &|_| ()).ok().map(|(trace, _)| trace)
}

fn there_and_back(trace: &Trace, write: Write, format: &str, block_size: usize) -> (Trace, String) {
    let (back, bytes) = bytes_and_back(trace, write, format, block_size);
    (back, String::from_utf8(bytes).expect("it is a text"))
}

fn bytes_and_back(
    trace: &Trace,
    write: Write,
    format: &str,
    block_size: usize,
) -> (Trace, Vec<u8>) {
    let mut text = Vec::new();
    write(trace, &mut text).expect("memory takes what is written to it");
    // Recognized by its content, and in any blocks.
    let options = ReadOptions { block_size, workers: 2, ..ReadOptions::default() };
    let input = Single::new("test", Box::new(io::Cursor::new(text.clone())));
    let (back, origin) = load(&input, &options, &|_| ()).expect("an export can be read");
    assert_eq!(origin.format.name, format);
    (back, text)
}

fn func(names: &Names, id: FuncId) -> String {
    let func = &names.funcs[id];
    format!("{:?} {:?} {} {:?}", func.name, func.module, func.kind.name(), func.address)
}

fn thread(names: &Names, id: ThreadId) -> String {
    format!("{:?}", names.threads[id])
}

/// A call with everything that is known of it.
fn call(trace: &Trace, id: SpanId) -> String {
    let (spans, row) = (&trace.spans, id.index());
    let cpu = spans.cpu[row].map(|cpu| trace.names.cpus[cpu]);
    format!(
        "{} {} {:?} {}+{} wall {} off {} net {} stolen {} {:?} outermost {}",
        spans.depth[row],
        func(&trace.names, spans.func[id]),
        cpu,
        spans.start[row].0,
        spans.end[row].0 - spans.start[row].0,
        spans.wall[row].0,
        spans.off_cpu[row].0,
        spans.net[row].0,
        spans.stolen[row].0,
        spans.fidelity[row],
        spans.outermost[row],
    )
}

/// The calls of each thread, in the order of entry.
fn calls(trace: &Trace) -> BTreeMap<String, Vec<String>> {
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in trace.spans.ids() {
        let thread = thread(&trace.names, trace.spans.thread[id.index()]);
        calls.entry(thread).or_default().push(call(trace, id));
    }
    calls
}

fn marks(trace: &Trace) -> Vec<String> {
    let mut marks: Vec<String> = trace
        .marks
        .iter()
        .map(|mark| {
            let (func, thread) = (func(&trace.names, mark.func), thread(&trace.names, mark.thread));
            format!("{thread} {} {func}", mark.time.0)
        })
        .collect();
    marks.sort();
    marks
}

fn gaps(trace: &Trace) -> Vec<String> {
    let cpu = |cpu| trace.names.cpus[cpu];
    let gap =
        |gap: &profctl_model::Gap| format!("{} {:?} {:?}", gap.time.0, gap.cpu.map(cpu), gap.lost);
    trace.gaps.iter().map(gap).collect()
}

/// Where two traces first differ, as far as `format` can say it.
fn difference(before: &Trace, after: &Trace, has_gaps_and_marks: bool) -> Option<String> {
    let mut text = String::new();
    let (was, is) = (calls(before), calls(after));
    if was.keys().ne(is.keys()) {
        let _ = writeln!(text, "threads {:?}, expected {:?}", is.keys(), was.keys());
    }
    for (thread, was) in &was {
        let is = is.get(thread).map_or(&[][..], Vec::as_slice);
        let at = was.iter().zip(is).position(|(was, is)| was != is);
        if let Some(at) = at.or((was.len() != is.len()).then_some(was.len().min(is.len()))) {
            let shown = |calls: &[String]| calls.get(at).cloned().unwrap_or("nothing".into());
            let _ =
                writeln!(text, "{thread} call {at}:\n  was {}\n  is  {}", shown(was), shown(is));
        }
    }
    let of_meta = |trace: &Trace| {
        let meta = &trace.meta;
        (meta.first, meta.last, meta.timebase.unit, meta.timebase.resolution, meta.knows_off_cpu)
    };
    if of_meta(before) != of_meta(after) {
        let _ = writeln!(text, "clock {:?}, expected {:?}", of_meta(after), of_meta(before));
    }
    if has_gaps_and_marks {
        if before.meta.timebase.timeline != after.meta.timebase.timeline {
            text.push_str("the timeline differs\n");
        }
        if marks(before) != marks(after) {
            text.push_str("marks differ\n");
        }
        if gaps(before) != gaps(after) {
            let _ = writeln!(text, "gaps {:?}, expected {:?}", gaps(after), gaps(before));
        }
    }
    (!text.is_empty()).then_some(text)
}

fn check(what: &str, trace: &Trace, block_size: usize) {
    let (back, _) = there_and_back(trace, chrome::write, "chrome", block_size);
    if let Some(difference) = difference(trace, &back, true) {
        panic!("{what} as trace events:\n{difference}");
    }
    let (back, _) = there_and_back(trace, speedscope::write, "speedscope", block_size);
    if let Some(difference) = difference(trace, &back, false) {
        panic!("{what} for speedscope:\n{difference}");
    }
    let (back, _) = bytes_and_back(trace, perfetto::write, "perfetto", block_size);
    if let Some(difference) = difference(trace, &back, true) {
        panic!("{what} for Perfetto:\n{difference}");
    }
    assert_eq!(complaints(&back), complaints(trace), "{what} for Perfetto");
    check_folded(what, trace, block_size);
}

/// What was wrong, as far as it is known to more than the reader of one format, and is not what
/// the complaints of one format become.
fn complaints(trace: &Trace) -> Vec<(&'static str, u64)> {
    use profctl_model::diag::codes::{ALL, LOST_UNKNOWN, SKIPPED_RECORD};
    let entries = trace.meta.diags.sorted();
    let is_common = |name: &str| {
        ALL.iter().any(|code| code.name == name)
            && ![LOST_UNKNOWN.name, SKIPPED_RECORD.name].contains(&name)
    };
    let common = entries.iter().filter(|entry| is_common(entry.code.name));
    common.map(|entry| (entry.code.name, entry.count)).collect()
}

/// Net time by name: what folded stacks can say.
fn net(trace: &Trace, of: impl Fn(u64) -> u64) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for id in trace.spans.ids() {
        let name = trace.names.funcs[trace.spans.func[id]].name.replace(';', ":");
        *sums.entry(name.trim().to_owned()).or_default() += of(trace.spans.net[id.index()].0);
    }
    sums.retain(|_, net| *net > 0);
    sums
}

fn check_folded(what: &str, trace: &Trace, block_size: usize) {
    let mut text = Vec::new();
    folded::write(trace, &mut text).expect("memory takes what is written to it");
    let is_exact = trace.meta.timebase.ratio().1 == 1;
    if text.is_empty() || !is_exact {
        return;
    }
    let import = ImportOptions { dialect: Some("ns".into()), ..ImportOptions::default() };
    let format = Some("folded".to_owned());
    let options = ReadOptions { format, import, block_size, ..ReadOptions::default() };
    let back = read(&text, &options).expect("folded stacks");
    let (numerator, _) = trace.meta.timebase.ratio();
    let scaled = net(trace, |ticks| ticks * numerator as u64);
    assert_eq!(net(&back, |ticks| ticks), scaled, "{what} as folded stacks");
    assert_eq!(back.meta.timebase.timeline, Timeline::Synthetic);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_generated_trace_reads_back_the_same(
        seed in any::<u64>(),
        closes in any::<bool>(),
        layout in 0..Layout::ALL.len(),
        step in prop_oneof![Just(1_u64), Just(1_000)],
        block_bits in 10.0f64..20.0,
    ) {
        let block_size = block_bits.exp2() as usize;
        let recording = Recording::new(seed, Shape { closes, step, ..Shape::BUSY });
        let plain = generate::plain(&recording);
        let trace = read(plain.as_bytes(), &ReadOptions::default()).unwrap();
        check(&format!("seed {seed}"), &trace, block_size);
        let (name, layout) = Layout::ALL[layout];
        let text = generate::function_graph(&recording, layout);
        let trace = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        check(&format!("{name}, seed {seed}"), &trace, block_size);
    }
}

#[test]
fn every_fixture_reads_back_the_same() {
    let mut n_traces = 0;
    for format in profctl_import::FORMATS {
        let name = format.descriptor().name;
        for path in fixtures::of_format(name) {
            let bytes = fixtures::read(&path);
            // Captures need their names, others hold no single calls.
            let Some(trace) = read(&bytes, &ReadOptions::default()) else { continue };
            if trace.spans.is_empty() {
                continue;
            }
            check(&path.display().to_string(), &trace, 0);
            n_traces += 1;
        }
    }
    assert!(n_traces > 60, "only {n_traces} fixtures held calls");
}

/// Units that are no nanoseconds, steps that are no whole number of them.
#[test]
fn every_clock_reads_back_the_same() {
    for unit in ["cycles", "instructions", "ps", "us", "ms", "s", "24MHz", "250ns", "3GHz"] {
        let text = format!(
            "# profctl plain 1 unit={unit}\n\
             7 cpu1 \"a b\"-5 > f[m]$\n9 cpu1 \"a b\"-5 > g^\n9 cpu1 \"a b\"-5 < g\n\
             9 cpu1 \"a b\"-5 > g^\n9 cpu1 \"a b\"-5 . h 0\n9 cpu1 \"a b\"-5 < g\n\
             11 cpu1 \"a b\"-5 . h 2\n13 cpu1 \"a b\"-5 < f[m]\n13 cpu1 \"a b\"-5 . i 0\n\
             13 cpu1 \"a b\"-5 . j 5\n20 cpu2 idle > \"k;l\"\n25 cpu2 idle lost 3\n\
             26 cpu2 idle < \"k;l\"\n30 name ! here\n40 name > open\n"
        );
        let trace = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(trace.spans.len(), 10, "{unit}");
        check(unit, &trace, 0);
    }
}

#[test]
fn viewers_see_standard_events() {
    let recording = Recording::new(7, Shape::BUSY);
    let trace = read(generate::plain(&recording).as_bytes(), &ReadOptions::default()).unwrap();
    let (_, text) = there_and_back(&trace, chrome::write, "chrome", 0);
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let of_phase = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(of_phase("X"), trace.spans.len());
    assert_eq!(of_phase("M"), trace.names.threads.len());
    assert_eq!(of_phase("i"), trace.marks.len() + trace.gaps.len());
    for event in events.iter().filter(|event| event["ph"] == "X") {
        for key in ["ts", "dur", "pid", "tid"] {
            assert!(event[key].is_number(), "{event}");
        }
        assert!(event["name"].is_string(), "{event}");
    }
    let first = text.lines().find(|line| line.contains("\"ph\":\"X\"")).unwrap();
    let ts = first.split("\"ts\":").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(ts.split_once('.').unwrap().1.len(), 3, "{first}");
    // Calls lie within their callers, and the times are those of the trace.
    let at = trace.spans.start[0].0;
    assert_eq!(ts.replace('.', ""), at.to_string());

    let (_, text) = there_and_back(&trace, speedscope::write, "speedscope", 0);
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    for profile in file["profiles"].as_array().unwrap() {
        let mut open = Vec::new();
        let mut last = 0;
        for event in profile["events"].as_array().unwrap() {
            let at = event["at"].as_u64().unwrap();
            assert!(at >= last, "{event}");
            last = at;
            match event["type"].as_str().unwrap() {
                "O" => open.push(event["frame"].clone()),
                _ => assert_eq!(open.pop(), Some(event["frame"].clone()), "{event}"),
            }
        }
        assert!(open.is_empty());
    }
}

#[test]
fn folded_stacks_are_sorted_and_add_up() {
    let text = "# profctl plain 1 unit=us\n0 > b\n1 . a 2\n3 . a 1\n9 < b\n9 . \"#c;d\" 3\n";
    let trace = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let mut folded = Vec::new();
    folded::write(&trace, &mut folded).unwrap();
    assert_eq!(String::from_utf8(folded).unwrap(), "_#c:d 3000\nb 6000\nb;a 3000\n");
    assert_eq!(trace.meta.timebase, Timebase::MICROSECONDS);
    assert!(trace.names.funcs.iter().all(|func| func.kind == FuncKind::Function));
}
