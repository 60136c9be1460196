//! What the tests of captures share: the capture of 1993 in every notation, and what must hold of a
//! reader however its input is cut.

use std::fmt::Write as _;

use profctl_model::{Fidelity, SpanId, Ticks, Trace};

use super::CaptureOptions;
use crate::{ImportOptions, ReadOptions, Single};

/// The records of the probe and their name file.
pub(crate) static RECORDS: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/probe/tcp_rx.raw"));
/// See [`RECORDS`].
pub(crate) static NAMES: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/probe/tcp_rx.names"));

/// Wires that carry a tag of [`records`].
pub(crate) const TAG_WIRES: u32 = 10;

/// The records, decoded by hand: microseconds since the first, and tags.
pub(crate) fn records() -> Vec<(u64, u32)> {
    let (mut time, mut last) = (0, None);
    let mut found = Vec::new();
    for record in RECORDS.chunks_exact(5) {
        let counter = u64::from(record[2]) | u64::from(record[3]) << 8 | u64::from(record[4]) << 16;
        time += last.map_or(0, |last: u64| counter.wrapping_sub(last) & 0xff_ffff);
        last = Some(counter);
        found.push((time, u32::from(record[0]) | u32::from(record[1]) << 8));
    }
    found
}

/// The same as a dump with a bus and a strobe that is high for half a microsecond, as a simulator
/// writes it.
pub(crate) fn dump_of_a_bus() -> String {
    let mut text = String::from(
        "$version profctl's tests $end\n$timescale 100 ns $end\n$scope module board $end\n\
         $var reg 16 # tag [15:0] $end\n$var reg 1 ! stb $end\n$upscope $end\n\
         $enddefinitions $end\n#0\n$dumpvars\nbx #\n0!\n$end\n",
    );
    for (time, tag) in records() {
        let start = 10 * time + 7;
        writeln!(text, "#{start}\nb{tag:b} #\n1!\n#{}\n0!", start + 5).unwrap();
    }
    text
}

/// The same with a wire for each bit and a strobe that toggles, several changes a line, as a logic
/// analyzer writes it.
pub(crate) fn dump_of_wires() -> String {
    let mut text = String::from(
        "$date Tue Jun 22 23:52:20 1993 $end\n$version profctl's tests $end\n\
         $timescale 1 us $end\n$scope module analyzer $end\n",
    );
    for wire in 0..TAG_WIRES {
        writeln!(text, "$var wire 1 {} T{wire} $end", code(wire)).unwrap();
    }
    text.push_str("$var wire 1 ! STB $end\n$upscope $end\n$enddefinitions $end\n#0");
    for wire in 0..TAG_WIRES {
        write!(text, " 0{}", code(wire)).unwrap();
    }
    text.push_str(" 0!\n");
    let (mut before, mut strobe, mut last) = (0, 0, 0);
    for (time, tag) in records() {
        last = time + 3;
        write!(text, "#{last}").unwrap();
        for wire in (0..TAG_WIRES).filter(|wire| (tag ^ before) >> wire & 1 == 1) {
            write!(text, " {}{}", tag >> wire & 1, code(wire)).unwrap();
        }
        strobe ^= 1;
        writeln!(text, " {strobe}!").unwrap();
        before = tag;
    }
    writeln!(text, "#{}", last + 1).unwrap();
    text
}

fn code(wire: u32) -> char {
    char::from(b'a' + wire as u8)
}

/// A row for each moment at which a wire of the capture changed: microseconds, wires, strobe.
pub(crate) fn rows() -> Vec<(u64, u32, u32)> {
    let events = records().into_iter().zip(1_u32..);
    let rows = events.map(|((time, tag), n)| (time + 3, tag, n % 2));
    std::iter::once((0, 0, 0)).chain(rows).collect()
}

/// Options for a capture with the wires of [`dump_of_wires`].
pub(crate) fn wires() -> ReadOptions {
    capture(CaptureOptions {
        tag: Some("T[9:0]=T9..T0".into()),
        strobe: Some("STB@both".into()),
        ..CaptureOptions::default()
    })
}

/// Options for a capture of the machine of 1993.
pub(crate) fn capture(capture: CaptureOptions) -> ReadOptions {
    let names = Some(NAMES.to_vec());
    let import = ImportOptions { names, capture, ..ImportOptions::default() };
    ReadOptions { import, ..ReadOptions::default() }
}

/// A call, with times that do not depend on the clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) depth: u32,
    /// Nanoseconds after the first call, then elapsed and net time.
    pub(crate) times: [u64; 3],
    pub(crate) thread: String,
    pub(crate) fidelity: Fidelity,
}

/// Reads `bytes`.
pub(crate) fn load(bytes: &[u8], options: &ReadOptions) -> (Trace, crate::Origin) {
    let input = Single::new("-", Box::new(bytes));
    crate::load(&input, options, &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// The calls of `trace`.
pub(crate) fn calls(trace: &Trace) -> Vec<Call> {
    let spans = &trace.spans;
    let first = spans.start.iter().min().copied().unwrap_or_default();
    let nanos = |length: Ticks| trace.meta.timebase.reported(length);
    let call = |id: SpanId| {
        let row = id.index();
        Call {
            name: trace.names.funcs[spans.func[id]].name.clone(),
            depth: spans.depth[row],
            times: [spans.start[row] - first, spans.wall[row], spans.net[row]].map(nanos),
            thread: trace.names.threads[spans.thread[row]].label(),
            fidelity: spans.fidelity[row],
        }
    };
    spans.ids().map(call).collect()
}

/// What was wrong, as `code count`.
pub(crate) fn complaints(trace: &Trace) -> Vec<String> {
    let entries = trace.meta.diags.sorted();
    entries.iter().map(|entry| format!("{} {}", entry.code.name, entry.count)).collect()
}

/// The calls in the records of the probe.
#[track_caller]
pub(crate) fn check_tells_of_1993(bytes: &[u8], format: &str, options: &ReadOptions) {
    let records =
        ReadOptions { format: Some("probe".into()), ..capture(CaptureOptions::default()) };
    let expected = calls(&load(RECORDS, &records).0);
    assert_eq!(expected.len(), 78);
    let (trace, origin) = load(bytes, options);
    assert_eq!(origin.format.name, format);
    assert_eq!(calls(&trace), expected);
    assert_eq!(complaints(&trace), Vec::<String>::new());
}

/// Reads `bytes` in blocks of many sizes and by several workers: all results must be equal.
#[track_caller]
pub(crate) fn check_blocks(bytes: &[u8], options: &ReadOptions) {
    let told = |block_size, workers| {
        let options = ReadOptions { workers, block_size, ..options.clone() };
        let (trace, _) = load(bytes, &options);
        let entries: Vec<_> = trace.meta.diags.sorted().into_iter().cloned().collect();
        let (spans, meta) = (calls(&trace), (trace.meta.first, trace.meta.last, trace.meta.events));
        (spans, trace.marks, trace.gaps, meta, entries)
    };
    let whole = told(usize::MAX, 1);
    for block_size in [1, 7, 32, 100, 255, 1_000] {
        for workers in [1, 3] {
            let parts = told(block_size, workers);
            assert_eq!(parts, whole, "{block_size} bytes a block, {workers} workers");
        }
    }
}

/// Cuts `bytes` after each byte, as if the copy had stopped there: it is refused while its head is
/// incomplete, and gives no complete call that the full input does not give.
#[track_caller]
pub(crate) fn check_cuts(bytes: &[u8], format: &str, options: &ReadOptions) {
    let options = ReadOptions { format: Some(format.into()), ..options.clone() };
    let complete = |bytes: &[u8]| {
        let input = Single::new("-", Box::new(bytes));
        let (trace, _) = crate::load(&input, &options, &|_| {}).ok()?;
        let all = calls(&trace).into_iter();
        Some(all.filter(|call| !call.fidelity.is_partial()).collect::<Vec<_>>())
    };
    let whole = complete(bytes).expect("the whole is a trace");
    let mut most = None;
    for cut in 0..bytes.len() {
        let Some(found) = complete(&bytes[..cut]) else {
            assert!(most <= Some(0), "cut at byte {cut} is refused, one that told calls is not");
            continue;
        };
        assert!(most <= Some(found.len()), "cut at byte {cut} tells less than an earlier one");
        let same = |call: &&Call| {
            let twin = |other: &&Call| (&other.name, other.times) == (&call.name, call.times);
            whole.iter().any(|other| twin(&other))
        };
        let strange: Vec<_> = found.iter().filter(|call| !same(call)).collect();
        assert!(strange.is_empty(), "cut at byte {cut} tells {strange:?}");
        most = Some(found.len());
    }
    assert!(most.is_some() || whole.is_empty(), "no cut was read at all");
}

/// Reads bytes that need not make sense as `format`: whatever they are, the answer is a trace or a
/// refusal.
pub(crate) fn read_anyhow(bytes: &[u8], format: &str, options: &ReadOptions) {
    let format = Some(format.to_owned());
    let options = ReadOptions { format, workers: 2, block_size: 16, ..options.clone() };
    let input = Single::new("-", Box::new(bytes));
    let _ = crate::load(&input, &options, &|_| {});
}
