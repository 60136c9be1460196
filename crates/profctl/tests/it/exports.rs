//! Exports have every call with its name and times.

use std::collections::BTreeMap;
use std::io;

use profctl_import::{ImportOptions, Memory, ReadOptions, Single, load};
use profctl_model::{
    CallTree, FuncKind, IdVec, NodeId, PathOrder, PathRow, SpanId, ThreadId, Tick, TickUnit,
    Timebase, Timeline, Trace,
};
use profctl_render::export::{Call, CallEnd, Header, TARGETS, Writer};
use profctl_testkit::fixtures;
use profctl_testkit::generate::{self, Layout, Recording, Shape};
use proptest::prelude::*;

use crate::program::{Scratch, command};

/// What an exporter makes of a trace in memory.
pub(crate) fn written(trace: &Trace, target: &str) -> Vec<u8> {
    let mut calls: IdVec<ThreadId, u64> = IdVec::default();
    for &thread in &trace.spans.thread {
        *calls.grow_to(thread) += 1;
    }
    let Trace { meta, names, spans, marks, gaps, .. } = trace;
    let states = &trace.states;
    let header = Header { names, meta, marks, gaps, calls: &calls, states };
    let call = |id: SpanId| {
        let row = id.index();
        Call {
            thread: spans.thread[row],
            depth: spans.depth[row],
            func: spans.func[id],
            cpu: spans.cpu[row],
            start: spans.start[row],
            end: spans.end[row],
        }
    };
    let target = TARGETS.iter().find(|known| known.name == target).expect("it is an export");
    let mut out = Vec::new();
    match target.writer {
        Writer::ByThread(write) => write(&header, &mut spans.ids().map(call).map(Ok), &mut out),
        Writer::ByTime(write) => {
            let mut ends: Vec<CallEnd> = Vec::new();
            let mut open: Vec<Call> = Vec::new();
            let exit = |call: Call| CallEnd { time: call.end, thread: call.thread, entered: None };
            for call in spans.ids().map(call) {
                let stays = |of: &Call| of.thread == call.thread && of.depth < call.depth;
                while open.last().is_some_and(|of| !stays(of)) {
                    ends.extend(open.pop().map(exit));
                }
                open.push(call);
                let entered = Some((call.func, call.cpu));
                ends.push(CallEnd { time: call.start, thread: call.thread, entered });
            }
            ends.extend(open.into_iter().rev().map(exit));
            ends.sort_by_key(|end| end.time);
            write(&header, &mut ends.into_iter().map(Ok), &mut out)
        }
        Writer::ByPath { order, keeps_threads, write } => {
            let order = order(names);
            let rows = paths(trace, &order, keeps_threads);
            write(&header, &mut rows.into_iter().map(Ok), &mut out)
        }
    }
    .expect("memory takes what is written to it");
    out
}

/// The calls merged by path.
fn paths(trace: &Trace, order: &PathOrder, keeps_threads: bool) -> Vec<PathRow> {
    let spans = &trace.spans;
    let mut trees: IdVec<ThreadId, CallTree> = IdVec::default();
    let mut nodes: Vec<NodeId> = Vec::new();
    for id in spans.ids() {
        let row = id.index();
        let thread = if keeps_threads { spans.thread[row] } else { ThreadId::from_index(0) };
        let tree = trees.grow_to(thread);
        let caller = spans.parent[row].map(|caller| nodes[caller.index()]);
        let node = tree.child(caller, order.frame[spans.func[id]]);
        let sums = tree.node_mut(node);
        sums.calls += u64::from(!spans.fidelity[row].is_partial());
        sums.net += spans.net[row];
        nodes.push(node);
    }
    let rows = trees
        .pairs()
        .flat_map(|(thread, tree)| tree.depth_first(keeps_threads.then_some(thread), &order.rank));
    rows.collect()
}

fn read(bytes: &[u8], options: &ReadOptions) -> Option<Trace> {
    let input = Single::new("test", Box::new(bytes));
    load(&input, options, &|_| ()).ok().map(|(trace, _)| trace)
}

fn there_and_back(trace: &Trace, format: &str, block_size: usize) -> (Trace, String) {
    let (back, bytes) = bytes_and_back(trace, format, block_size);
    (back, String::from_utf8(bytes).expect("it is a text"))
}

fn bytes_and_back(trace: &Trace, format: &str, block_size: usize) -> (Trace, Vec<u8>) {
    let text = written(trace, format);
    // Recognized by its content, and in any blocks.
    let options = ReadOptions { block_size, workers: 2, ..ReadOptions::default() };
    let input = Single::new("test", Box::new(io::Cursor::new(text.clone())));
    let (back, origin) = load(&input, &options, &|_| ()).expect("an export can be read");
    assert_eq!(origin.format.name, format);
    (back, text)
}

/// A call in an export: name, start and end. Calls that take no time have no place of their own in
/// what a viewer shows, so their depth does not matter.
type Shown = (String, u128, u128);

/// The calls by name and time, in units of the clock that the form counts in.
fn calls(trace: &Trace, clock: impl Fn(Tick) -> u128) -> Vec<Shown> {
    let spans = &trace.spans;
    let shown = |id: SpanId| {
        let name = trace.names.funcs[spans.func[id]].name.clone();
        (name, clock(spans.start[id.index()]), clock(spans.end[id.index()]))
    };
    let mut calls: Vec<Shown> = spans.ids().map(shown).collect();
    calls.sort();
    calls
}

/// Whether every call ends within its caller: durations that were stated may exceed those around
/// them, and a viewer's file cannot say so.
fn nests(trace: &Trace) -> bool {
    let spans = &trace.spans;
    let within = |id: SpanId, parent: SpanId| spans.end[id.index()] <= spans.end[parent.index()];
    let mut last_end: BTreeMap<(ThreadId, Option<SpanId>), Tick> = BTreeMap::new();
    spans.ids().all(|id| {
        let parent = spans.parent[id.index()];
        let (start, end) = (spans.start[id.index()], spans.end[id.index()]);
        let before = last_end.insert((spans.thread[id.index()], parent), end);
        before.is_none_or(|before| before <= start) && parent.is_none_or(|p| within(id, p))
    })
}

fn check(what: &str, trace: &Trace, block_size: usize) {
    check_folded(what, trace, block_size);
    if !nests(trace) {
        return;
    }
    let timebase = &trace.meta.timebase;
    let nanos = |tick: Tick| timebase.reported_wide(u128::from(tick.0));
    let (back, _) = there_and_back(trace, "chrome", block_size);
    let as_read = |tick: Tick| u128::from(tick.0);
    assert_eq!(calls(&back, as_read), calls(trace, nanos), "{what} as trace events");
    let (back, _) = bytes_and_back(trace, "perfetto", block_size);
    assert_eq!(calls(&back, as_read), calls(trace, nanos), "{what} for Perfetto");
    let (back, _) = there_and_back(trace, "speedscope", block_size);
    let is_counted = back.meta.timebase.unit == TickUnit::Cycles;
    let shown = |tick: Tick| if is_counted { as_read(tick) } else { nanos(tick) };
    assert_eq!(calls(&back, as_read), calls(trace, shown), "{what} for speedscope");
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
    let text = written(trace, "folded");
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
    fn every_call_of_a_generated_trace_is_shown(
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
fn every_call_of_every_fixture_is_shown() {
    let mut n_traces = 0;
    for format in profctl_import::FORMATS {
        let name = format.descriptor().name;
        for path in fixtures::of_format(name) {
            let parts = fixtures::parts(&path);
            // Captures need their names, others hold no single calls.
            let options = ReadOptions::default();
            let read = match parts.as_slice() {
                [(_, bytes)] => read(bytes, &options),
                _ => load(&Memory::new("test", parts), &options, &|_| ()).ok().map(|read| read.0),
            };
            let Some(trace) = read else { continue };
            if trace.spans.is_empty() {
                continue;
            }
            check(&path.display().to_string(), &trace, 0);
            n_traces += 1;
        }
    }
    assert!(n_traces > 60, "only {n_traces} fixtures held calls");
}

/// Units that are not nanoseconds, steps that are not whole multiples of them.
#[test]
fn calls_are_shown_whatever_the_clock() {
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
    let (_, text) = there_and_back(&trace, "chrome", 0);
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let of_phase = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(of_phase("B"), trace.spans.len());
    assert_eq!(of_phase("E"), trace.spans.len());
    let named = events.iter().filter(|event| event["name"] == "thread_name").count();
    assert_eq!(named, trace.names.threads.len());
    assert_eq!(of_phase("i"), trace.marks.len() + trace.gaps.len());
    for event in events.iter().filter(|event| event["ph"] == "B" || event["ph"] == "E") {
        // speedscope would take arguments as a part of the name.
        assert!(event.get("args").is_none(), "{event}");
        for key in ["ts", "pid", "tid"] {
            assert!(event[key].is_number(), "{event}");
        }
        assert!(event["name"].is_string(), "{event}");
    }
    let first = text.lines().find(|line| line.contains("\"ph\":\"B\"")).unwrap();
    let ts = first.split("\"ts\":").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(ts.split_once('.').unwrap().1.len(), 3, "{first}");
    // Calls lie within their callers, and the times are those of the trace.
    let at = trace.spans.start[0].0;
    assert_eq!(ts.replace('.', ""), at.to_string());

    let (_, text) = there_and_back(&trace, "speedscope", 0);
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
    let folded = written(&trace, "folded");
    assert_eq!(String::from_utf8(folded).unwrap(), "_#c:d 3000\nb 6000\nb;a 3000\n");
    assert_eq!(trace.meta.timebase, Timebase::MICROSECONDS);
    assert!(trace.names.funcs.iter().all(|func| func.kind == FuncKind::Function));
}

/// What is read in one go and what waits in files give the same bytes, for any number of jobs.
#[test]
fn exports_do_not_depend_on_jobs_or_memory() {
    let scratch = Scratch::new("exports_streamed");
    let recording = Recording::new(11, Shape { n_events: 6_000, ..Shape::BUSY });
    let (_, layout) = Layout::ALL[0];
    let text = generate::function_graph(&recording, layout);
    let file = scratch.file("trace.txt", &text);
    let trace = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    for target in TARGETS {
        let expected = written(&trace, target.name);
        assert!(expected.len() > 1000, "{}", target.name);
        for flags in [
            &["-j", "1"][..],
            &["-j", "2", "--block-size", "4096"],
            &["-j", "2", "--spill-above", "100"],
        ] {
            let words = [&["convert", "-q", "--format", target.name, &file], flags].concat();
            let found = command(&words).output().unwrap();
            assert!(found.stdout == expected, "{} {flags:?}", target.name);
        }
    }
}
