//! What the targets share: reading an input in several ways, which must all give the same, and what
//! must hold of any trace.

pub mod input;

use std::collections::BTreeMap;

use profctl_import::{Files, Memory, ReadOptions, Single};
use profctl_model::diag::codes::STATED_MISMATCH;
use profctl_model::{Func, SpanId, Timeline, Trace, TraceBuilder};
use profctl_testkit::invariants;

/// Reads `bytes` as one block, as small blocks, and, for an eighth of the inputs, as small blocks by
/// two workers, and checks what must hold of any trace.
pub fn check(bytes: &[u8], options: &ReadOptions) {
    let by_two = is_for_two(bytes);
    check_read(options, by_two, |options| load(&Single::new("fuzz", Box::new(bytes)), options));
}

/// The same for a directory whose files are one trace; order them by name.
pub fn check_directory(files: &[(String, Vec<u8>)], options: &ReadOptions) {
    let by_two = files.iter().any(|(_, bytes)| is_for_two(bytes));
    check_read(options, by_two, |options| load(&Memory::new("fuzz", files.to_vec()), options));
}

/// Whether two workers read this input, too. Not of all: starting threads is slow.
fn is_for_two(bytes: &[u8]) -> bool {
    bytes.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte)).is_multiple_of(8)
}

fn check_read(options: &ReadOptions, by_two: bool, load: impl Fn(&ReadOptions) -> Option<Trace>) {
    let whole = load(&ReadOptions { workers: 1, block_size: 64 << 20, ..options.clone() });
    if let Some(whole) = &whole {
        check_trace(whole, options.format.as_deref().unwrap_or_default());
    }
    let cuts: &[_] = if by_two { &[(32, 1), (150, 2)] } else { &[(32, 1)] };
    for &(block_size, workers) in cuts {
        let parts = load(&ReadOptions { block_size, workers, ..options.clone() });
        if !same(parts.as_ref(), whole.as_ref()) {
            let [found, expected] =
                [&parts, &whole].map(|trace| trace.as_ref().map(shown).unwrap_or_default());
            let not_in = |of: &Vec<String>, others: &Vec<String>| {
                let only = of.iter().filter(|line| !others.contains(line)).take(5);
                only.cloned().collect::<Vec<_>>().join("\n")
            };
            panic!(
                "{block_size} bytes a block, {workers} worker(s) say\n{}\none block says\n{}",
                not_in(&found, &expected),
                not_in(&expected, &found)
            );
        }
    }
}

/// What any file of a trace says as plain text reads back with the same calls.
pub fn check_roundtrip(files: &dyn Files, options: &ReadOptions) {
    let mut text = Vec::new();
    let written =
        profctl_import::write_plain(files, options, TraceBuilder::default(), &mut text, &|_| {});
    let Ok((read, written)) = written else {
        return;
    };
    // Some of what a format may hold has no place in a line; then nothing is written.
    if written.is_err() {
        return;
    }
    let trace = read.sink.finish(read.meta, read.names);
    // Control characters in names become blanks, so that a line stays a line, and a module is a word.
    let in_line = |func: &Func| {
        let module = func.module.as_deref().unwrap_or_default();
        !func.name.contains(char::is_control)
            && !module.contains(|c: char| c.is_control() || c.is_whitespace())
    };
    if !trace.names.funcs.as_slice().iter().all(in_line) {
        return;
    }
    let back = ReadOptions { format: Some("plain".into()), ..ReadOptions::default() };
    let Some(found) = load(&Single::new("text", Box::new(&text[..])), &back) else {
        assert!(trace.spans.is_empty(), "what was written cannot be read");
        return;
    };
    assert_eq!(sums(&found), sums(&trace), "{}", String::from_utf8_lossy(&text));
}

/// By function: complete and incomplete calls, net, and elapsed of outermost calls.
fn sums(trace: &Trace) -> BTreeMap<(String, Option<String>), [u64; 4]> {
    let mut sums: BTreeMap<_, [u64; 4]> = BTreeMap::new();
    let spans = &trace.spans;
    for id in spans.ids() {
        let func = &trace.names.funcs[spans.func[id]];
        let of = sums.entry((func.name.clone(), func.module.clone())).or_default();
        let is_partial = spans.fidelity[id.index()].is_partial();
        of[usize::from(is_partial)] += 1;
        of[2] = of[2].saturating_add(spans.net[id.index()].0);
        if spans.outermost[id.index()] {
            of[3] = of[3].saturating_add(spans.elapsed(id).0);
        }
    }
    sums
}

pub fn load(files: &dyn Files, options: &ReadOptions) -> Option<Trace> {
    profctl_import::load(files, options, &|_| {}).ok().map(|(trace, _)| trace)
}

/// Formats that state how long calls took: a length that is wrong sticks out of the trace.
const STATE_LENGTHS: [&str; 8] = [
    "function_graph",
    "ltrace",
    "mcrae",
    "perf_trace",
    "plain",
    "rule",
    "strace",
    "trace_cmd_report",
];

/// Callees lie in their callers, sums add up, and no time is outside of the trace.
fn check_trace(trace: &Trace, format: &str) {
    let mut broken = invariants::broken(trace);
    if trace.meta.diags.count_of(&STATED_MISMATCH) > 0 {
        // A stated net time is taken as it is; that it does not fit is counted.
        broken.retain(|sentence| !sentence.contains("its callees leave"));
    }
    assert!(broken.is_empty(), "{broken:?}");
    let (first, last) = (trace.meta.first, trace.meta.last);
    assert!(first <= last, "{first:?} {last:?}");
    if trace.meta.timebase.timeline == Timeline::Recorded && !STATE_LENGTHS.contains(&format) {
        // A call that was not seen from its entry may state how long before the trace it began.
        let whole = |id: &SpanId| !trace.spans.fidelity[id.index()].is_partial();
        for id in trace.spans.ids().filter(whole) {
            let (start, end) = (trace.spans.start[id.index()], trace.spans.end[id.index()]);
            assert!(
                first <= start && end <= last,
                "{start:?}..{end:?} is not in {first:?}..{last:?}"
            );
        }
    }
}

/// Whether two readings are the same, ids included.
fn same(one: Option<&Trace>, other: Option<&Trace>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return one.is_none() && other.is_none();
    };
    let (spans, others) = (&one.spans, &other.spans);
    spans.func.as_slice() == others.func.as_slice()
        && spans.thread == others.thread
        && spans.depth == others.depth
        && (&spans.start, &spans.end) == (&others.start, &others.end)
        && (&spans.wall, &spans.off_cpu) == (&others.wall, &others.off_cpu)
        && (&spans.net, &spans.stolen) == (&others.net, &others.stolen)
        && spans.fidelity == others.fidelity
        && one.names.funcs.as_slice() == other.names.funcs.as_slice()
        && one.names.threads.as_slice() == other.names.threads.as_slice()
        && (&one.states, &one.wakes) == (&other.states, &other.wakes)
        && (&one.gaps, &one.marks) == (&other.gaps, &other.marks)
        && (one.meta.first, one.meta.last) == (other.meta.first, other.meta.last)
        && one.meta.events == other.meta.events
        && one.meta.diags.sorted() == other.meta.diags.sorted()
}

/// All that a trace has, as text.
fn shown(trace: &Trace) -> Vec<String> {
    let spans = &trace.spans;
    let call = |id: SpanId| {
        let row = id.index();
        format!(
            "{:?} on {:?} {} {:?}..{:?} {:?} {:?} {:?} {:?} {:?}",
            trace.names.funcs[spans.func[id]],
            trace.names.threads[spans.thread[row]],
            spans.depth[row],
            spans.start[row],
            spans.end[row],
            spans.wall[row],
            spans.off_cpu[row],
            spans.net[row],
            spans.stolen[row],
            spans.fidelity[row],
        )
    };
    let mut shown: Vec<_> = spans.ids().map(call).collect();
    shown.extend(trace.states.iter().map(|state| format!("{state:?}")));
    shown.extend(trace.wakes.iter().map(|wake| format!("{wake:?}")));
    shown.extend(trace.gaps.iter().map(|gap| format!("{gap:?}")));
    shown.extend(trace.marks.iter().map(|mark| format!("{mark:?}")));
    let found = trace.meta.diags.sorted();
    shown.extend(found.iter().map(|entry| format!("{entry:?}")));
    shown.push(format!("{:?} {:?} {}", trace.meta.first, trace.meta.last, trace.meta.events));
    shown
}
