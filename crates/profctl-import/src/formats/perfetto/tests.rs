//! Packets in, calls out. The fixtures were written with the protocol buffers that Perfetto
//! publishes; misfits are made of single packets here.

#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::ReadOptions;
use crate::capture::testing::{check_blocks, check_cuts, load, read_anyhow};
use crate::testing::show;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/perfetto/", $name))
    };
}

static OF_1993: &[u8] = fixture!("mcrae_tcp_rx.pftrace");
static SDK: &[u8] = fixture!("sdk.pftrace");
static KERNEL: &[u8] = fixture!("kernel.pftrace");

fn options() -> ReadOptions {
    ReadOptions { format: Some("perfetto".into()), ..ReadOptions::default() }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn text(field: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

/// A packet of an event on track 5: its type, its time, its name.
fn event(kind: u64, time: u64, name: Option<&str>) -> Vec<u8> {
    let name = name.map(|name| text(23, name.as_bytes())).unwrap_or_default();
    let event = [number(9, kind), number(11, 5), name].concat();
    text(1, &[number(8, time), number(10, 1), text(11, &event)].concat())
}

/// The calls that packets tell, and what was wrong with them.
fn check(packets: &[Vec<u8>], expected: Expect) {
    expected.assert_eq(&told(&packets.concat()));
}

fn told(bytes: &[u8]) -> String {
    let (trace, _) = load(bytes, &options());
    let mut text = show(&trace);
    for entry in trace.meta.diags.sorted() {
        text.push_str(&format!("{} {}", entry.code.name, entry.count));
        for sample in &entry.samples {
            text.push_str(&format!("; +{}: {}", sample.place.offset, sample.message));
        }
        text.push('\n');
    }
    text
}

#[test]
fn what_the_sdk_writes() {
    expect![[r#""#]].assert_eq(&told(SDK));
}

#[test]
fn calls_of_the_kernel() {
    expect![[r#""#]].assert_eq(&told(KERNEL));
    let (trace, _) = load(KERNEL, &options());
    assert!(trace.meta.knows_off_cpu);
    assert_eq!((trace.slices.len(), trace.wakes.len()), (1, 1));
}

#[test]
fn the_table_of_1993() {
    let table =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcrae/summary.txt"));
    let (trace, _) = load(OF_1993, &options());
    assert_eq!(trace.meta.diags, profctl_model::DiagLog::default());
    let mut n = 0;
    for id in trace.names.funcs.pairs().map(|(id, _)| id) {
        let name = &trace.names.funcs[id].name;
        let rows = || trace.spans.ids().filter(|&call| trace.spans.func[call] == id);
        let net: u64 = rows().map(|call| trace.spans.net[call.index()].0 / 1000).sum();
        let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut row = row.filter(|words| words.last() == Some(&name.as_str()));
        // One function's stated net contradicts its callees in the post, which was cut.
        let Some(row) = row.next().filter(|_| name != "werint") else { continue };
        let stated: Vec<u64> = row.iter().map_while(|word| word.parse().ok()).collect();
        assert!(stated.contains(&net), "{name}: net {net}, the table has {row:?}");
        n += 1;
    }
    assert!(n > 15, "only {n} functions of the table were found");
}

#[test]
fn ends_without_beginnings_and_the_reverse() {
    check(
        &[
            event(2, 10, None),
            event(1, 20, Some("outer")),
            event(1, 30, Some("inner")),
            event(3, 35, Some("here")),
            event(2, 40, Some("whatever")),
            event(4, 50, None),
        ],
        expect![[r#""#]],
    );
}

#[test]
fn what_is_no_packet_is_skipped() {
    let overflow = [vec![0x0a], [0xff; 9].to_vec(), vec![0x02]].concat();
    let nonsense = text(1, &[0x0b, 0x01]);
    let unknown = text(1, &[number(8, 33), number(4000, 1), text(4001, b"?")].concat());
    check(
        &[
            event(1, 10, Some("f")),
            b"stray".to_vec(),
            event(2, 20, None),
            nonsense,
            unknown,
            overflow,
            event(1, 30, Some("g")),
            event(2, 35, None),
            text(1, &[number(8, 40), text(11, &[0x0b])].concat()),
            event(1, 50, Some("cut"))[..9].to_vec(),
        ],
        expect![[r#""#]],
    );
}

#[test]
fn tracks_of_one_name_are_not_one_track() {
    let track = |uuid: u64, parent: u64, name: &str| {
        let descriptor = [number(1, uuid), number(5, parent), text(2, name.as_bytes())].concat();
        text(1, &text(60, &descriptor))
    };
    let process = [number(1, 9), text(3, &[number(1, 77), text(6, b"server")].concat())].concat();
    let on = |uuid: u64, kind: u64, time: u64| {
        let event = [number(9, kind), number(11, uuid), text(23, b"f")].concat();
        text(1, &[number(8, time), text(11, &event)].concat())
    };
    check(
        &[
            text(1, &text(60, &process)),
            track(1, 9, "job"),
            track(2, 9, "job"),
            track(3, 0, "job"),
            on(1, 1, 10),
            on(2, 1, 11),
            on(3, 1, 12),
            on(1, 2, 20),
            on(2, 2, 22),
            on(3, 2, 24),
            on(0, 1, 30),
            on(0, 2, 31),
        ],
        expect![[r#""#]],
    );
}

#[test]
fn compressed_packets_do_not_nest_and_have_an_end() {
    use std::io::Write as _;
    let deflate = |bytes: &[u8]| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let call = [event(1, 10, Some("f")), event(2, 20, None)].concat();
    let packed = text(1, &text(50, &deflate(&call)));
    let zstd = zstd::bulk::compress(&[event(1, 30, Some("g")), event(2, 35, None)].concat(), 1);
    check(
        &[
            packed.clone(),
            text(1, &text(133, &zstd.unwrap())),
            text(1, &text(50, &deflate(&packed))),
            text(1, &text(50, b"no zlib")),
            text(1, &text(50, &deflate(b"no packets"))),
        ],
        expect![[r#""#]],
    );
}

#[test]
fn only_perfetto_is_taken_for_it() {
    for trace in [OF_1993, SDK, KERNEL] {
        assert!(matches!(Packets.sniff(trace, true), Verdict::Yes(_)));
        assert!(matches!(Packets.sniff(&trace[..trace.len() - 3], true), Verdict::Yes(_)));
    }
    // A profile of pprof begins with the same byte; so does a text with an empty first line.
    let pprof = [text(1, &[number(1, 1), number(2, 2)].concat()), text(6, b"")].concat();
    for other in
        [&pprof[..], b"\n", b"\n\n\n\n", b"\n# tracer: function_graph\n#\n", b"", b"\x0a\x00"]
    {
        assert_eq!(Packets.sniff(other, true), Verdict::No, "{other:?}");
    }
}

#[test]
fn cuts_and_blocks() {
    // Of the other, what comes first by time stands behind.
    for trace in [OF_1993, KERNEL] {
        check_cuts(trace, "perfetto", &options());
    }
    for trace in [OF_1993, SDK, KERNEL] {
        check_blocks(trace, &options());
    }
}

proptest! {
    #[test]
    fn garbage_is_skipped(bytes: Vec<u8>) {
        read_anyhow(&[&b"\x0a"[..], &bytes].concat(), "perfetto", &options());
    }

    #[test]
    fn near_garbage_is_read_or_counted(
        changes in proptest::collection::vec((0_usize..697, any::<u8>()), 1..6)
    ) {
        let mut bytes = SDK.to_vec();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes[0] = packet::TAG;
        read_anyhow(&bytes, "perfetto", &options());
    }
}
