//! Packets in, calls out. The fixtures were written with the protocol buffers that Perfetto
//! publishes; malformed input is made of single packets here.

#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::ReadOptions;
use crate::capture::testing::{calls, check_blocks, check_cuts, complaints, load, read_anyhow};
use crate::testing::ImporterOfBytes;
use crate::testing::show;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/perfetto/", $name))
    };
}

static OF_1993: &[u8] = fixture!("mcrae_tcp_rx.pftrace");
static SDK: &[u8] = fixture!("sdk.pftrace");
static KERNEL: &[u8] = fixture!("kernel.pftrace");
static LINUX: &[u8] = fixture!("linux.pftrace");

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

/// The calls in packets, and the diagnostics.
fn check(packets: &[Vec<u8>], expected: Expect) {
    expected.assert_eq(&told(&packets.concat()));
}

fn told(bytes: &[u8]) -> String {
    let (trace, _) = load(bytes, &options());
    let mut text = show(&trace);
    for entry in trace.meta.diags.sorted() {
        write!(text, "{} {}", entry.code.name, entry.count).unwrap();
        for sample in &entry.samples {
            write!(text, "; +{}: {}", sample.place.offset, sample.message).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn what_the_sdk_writes() {
    expect![[r#"
        main-1001 0 frame 1010000+56000 net 36000
        main-1001 1 layout 1015000+20000 net 20000
        main-1001 0 packed 2000000+3000 net 2000
        main-1001 1 inner 2001000+1000 net 1000
        render-1002 0 draw 1040000+40000 net 20000
        render-1002 1 blit 1050000+15000 net 15000
        render-1002 1 blit 1070000+5000 net 5000
        render-1002 0 lost below 1180000+0 net 0 unseen exit gap
        render-1002 0 lost below 1310000+40000 net 20000 unseen entry
        render-1002 1 again 1310000+10000 net 10000
        render-1002 1 unnamed 1330000+10000 net 10000
        main-1001 mark by another clock 1015500
        main-1001 mark vsync 1036000
        perfetto/no-state 1; +442: a packet of sequence 2 refers to lost ones
        stitch/gap 1
        stitch/lost-unknown 1
        perfetto/missing-name 1; +574: name 9 is not defined
        stitch/unmatched-exit 1; +600: exit of lost below without entry
        perfetto/not-read 1; +345: it is the value of a counter
    "#]]
    .assert_eq(&told(SDK));
}

#[test]
fn calls_of_the_kernel() {
    expect![[r#"
        worker-7 0 vfs_read 1000100+350 off 210 net 110
        worker-7 1 mutex_lock 1000130+30 net 30
        <idle>/0 0 tick_handler 1000110+40 net 40
    "#]]
    .assert_eq(&told(KERNEL));
    let (trace, _) = load(KERNEL, &options());
    assert!(trace.meta.knows_off_cpu);
    assert_eq!((profctl_model::sched::turns(&trace.states).len(), trace.wakes.len()), (3, 1));
}

/// Defaults hold from the packet on that sets them: its own time is of the clock that it names.
#[test]
fn defaults_hold_for_their_own_packet() {
    let clock = |id: u64, time: u64| text(1, &[number(1, id), number(2, time)].concat());
    let snapshot = text(6, &[clock(3, 500), clock(6, 10_000)].concat());
    let begin = |time: u64, more: Vec<u8>| {
        let event = [number(9, 1), number(11, 5), text(23, b"f")].concat();
        text(1, &[number(8, time), number(10, 1), more, text(11, &event)].concat())
    };
    let packets = [
        text(1, &[number(10, 1), snapshot].concat()),
        begin(600, text(59, &number(58, 3))),
        event(2, 700, None),
    ];
    let (trace, _) = load(&packets.concat(), &options());
    assert_eq!((trace.meta.first.0, trace.meta.last.0), (10_100, 10_200));
}

#[test]
fn a_preempted_thread_stays_runnable() {
    let switch = |state: u64| {
        let switch = [text(1, b"a"), number(2, 7), number(4, state), text(5, b"b"), number(6, 8)];
        let of =
            |time: u64, switch: Vec<u8>| text(2, &[number(1, time), text(4, &switch)].concat());
        let back = [text(1, b"b"), number(2, 8), number(4, 1), text(5, b"a"), number(6, 7)];
        let bundle = [number(1, 0), of(50, back.concat()), of(100, switch.concat())].concat();
        let (trace, _) = load(&text(1, &[number(10, 1), text(1, &bundle)].concat()), &options());
        let turns = profctl_model::sched::turns(&trace.states);
        let turn = turns.iter().find(|turn| turn.end.0 == 100).expect("a turn of a");
        turn.then.is_some_and(profctl_model::RunState::is_runnable)
    };
    let states = [(0, true), (0x100, true), (0x800, true), (1, false), (2, false), (0x80, false)];
    for (state, preempted) in states {
        assert_eq!(switch(state), preempted, "{state:#x}");
    }
}

#[test]
fn the_calls_of_1993() {
    let post =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcrae/trace.txt"));
    let as_mcrae = ReadOptions { format: Some("mcrae".into()), ..ReadOptions::default() };
    let told = |bytes: &[u8], options: &ReadOptions| {
        let told = calls(&load(bytes, options).0).into_iter();
        // One net time that the post states contradicts its callees, which were cut out.
        let told = told.filter(|call| call.times[2] != 187_000 && call.times[2] != 3_436_000);
        told.map(|call| (call.name, call.depth, call.times)).collect::<Vec<_>>()
    };
    let expected = told(post, &as_mcrae);
    assert_eq!(expected.len(), 77);
    assert_eq!(told(OF_1993, &options()), expected);
    assert_eq!(complaints(&load(OF_1993, &options()).0), Vec::<String>::new());
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
        expect![[r#"
            track 5 0 outer 20+20 net 10 unseen exit
            track 5 1 inner 30+10 net 10
            track 5 mark here 35
            stitch/unclosed-entry 1
            stitch/unmatched-exit 1; +0: exit without a name, and no call is open at its depth
            perfetto/not-read 1; +94: it is the value of a counter
        "#]],
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
        expect![[r#"
            track 5 0 f 10+10 net 10
            track 5 0 g 30+5 net 5
            input/skipped-record 4; +16: byte 0x73 does not begin a packet, expected 0x0a; +33: an invalid packet of 2 bytes; +50: byte 0x0a does not begin a packet, expected 0x0a; +89: an invalid event
            input/cut-record 1; +96: the last packet stops after 9 bytes
            perfetto/not-read 1; +37: it has no calls
        "#]],
    );
}

#[test]
fn a_stray_tag_stays_with_the_length_that_shows_it() {
    // The tag is a stray byte because of the last byte of the number, which begins a packet.
    let bytes = [&[packet::TAG, 0xfe, 0xff, 0xff, 0xff, packet::TAG, 2][..], &[0; 9]].concat();
    for end in 1..=bytes.len() {
        let boundary = packet::boundary(&bytes[..end]);
        assert!(boundary == 0 || boundary > 6, "{end}: {boundary}");
    }
    assert_eq!(packet::boundary(&bytes), bytes.len());
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
        expect![[r#"
            server/job 0 f 10+10 net 10
            server/job (track 2) 0 f 11+11 net 11
            job 0 f 12+12 net 12
            global 0 f 30+1 net 1
        "#]],
    );
}

/// Track 0 is that of the processor, named once. Around an interrupt all calls end and begin again.
#[test]
fn a_track_that_is_described_late_is_still_one_track() {
    let described = text(1, &text(60, &[number(1, 5), text(2, b"late")].concat()));
    // More than is looked at for descriptors before the first event.
    let filler: Vec<Vec<u8>> =
        (0..80_000).map(|n| event(3, 20 + n / 8_000, Some("tick"))).collect();
    let bytes =
        [event(1, 10, Some("call")), filler.concat(), described, event(2, 50, None)].concat();
    let (trace, _) = load(&bytes, &options());
    let calls: Vec<_> = calls(&trace).into_iter().map(|call| (call.thread, call.times)).collect();
    assert_eq!(calls, [("track 5".to_owned(), [0, 40, 40])]);
}

#[test]
fn what_renode_writes() {
    let descriptor = [number(1, 0), text(2, b"cpu")].concat();
    let on = |kind: u64, time: u64, name: Option<&str>| {
        let name = name.map(|name| text(23, name.as_bytes())).unwrap_or_default();
        let event = [number(9, kind), number(11, 0), name].concat();
        text(1, &[number(8, time), number(10, 1), text(11, &event)].concat())
    };
    check(
        &[
            text(1, &[number(10, 1), text(60, &descriptor)].concat()),
            on(1, 0, Some("main")),
            on(1, 10, Some("work")),
            // An interrupt.
            on(2, 50, None),
            on(2, 50, None),
            on(1, 50, Some("isr")),
            on(2, 60, None),
            on(1, 60, Some("main")),
            on(1, 60, Some("work")),
            on(2, 90, None),
            on(2, 100, None),
        ],
        expect![[r#"
            cpu 0 main 0+50 net 10
            cpu 1 work 10+40 net 40
            cpu 0 isr 50+10 net 10
            cpu 0 main 60+40 net 10
            cpu 1 work 60+30 net 30
        "#]],
    );
}

#[test]
fn compressed_packets_do_not_nest_and_have_an_end() {
    // Stored as they are, for places must not depend on who compresses.
    let deflate = |bytes: &[u8]| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
        std::io::Write::write_all(&mut out, bytes).unwrap();
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
        expect![[r#"
            track 5 0 f 10+10 net 10
            track 5 0 g 30+5 net 5
            input/skipped-record 3; +86: compressed packets within compressed packets; +146: compressed packets: corrupt deflate stream; +158: the rest of compressed packets is invalid
        "#]],
    );
}

#[test]
fn only_perfetto_is_taken_for_it() {
    for trace in [OF_1993, SDK, KERNEL] {
        assert!(matches!(Packets.recognize_bytes(trace, true), Recognition::Yes(_)));
        assert!(matches!(
            Packets.recognize_bytes(&trace[..trace.len() - 3], true),
            Recognition::Yes(_)
        ));
    }
    // A profile of pprof begins with the same byte; so does a text with an empty first line.
    let pprof = [text(1, &[number(1, 1), number(2, 2)].concat()), text(6, b"")].concat();
    for other in
        [&pprof[..], b"\n", b"\n\n\n\n", b"\n# tracer: function_graph\n#\n", b"", b"\x0a\x00"]
    {
        assert_eq!(Packets.recognize_bytes(other, true), Recognition::No, "{other:?}");
    }
}

#[test]
fn cuts_and_blocks() {
    // Of the other, what comes first by time is behind.
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

/// Calls and times on a CPU are those that Perfetto's trace processor gives (its tables `slice` and
/// `sched_slice`), but for the last ones of a CPU, which end nowhere.
#[test]
fn what_tracebox_records_is_read() {
    expect![[r"
        render-70 0 frame 1001200+3600 net 2600
        render-70 1 layout 1001500+1000 net 1000
        render-70 0 present 1008200+800 net 800
        worker-71 0 read 1005200+2600 net 2100
        worker-71 1 irq:ahci 1005600+100 net 100
        worker-71 1 softirq:TIMER 1005800+400 net 400
        render-70 mark buffers 1002600
        render-70 mark tracing_mark_write 1004900
    "]]
    .assert_eq(&told(LINUX));
    let (trace, _) = load(LINUX, &options());
    let turns: Vec<String> = profctl_model::sched::turns(&trace.states)
        .iter()
        .map(|turn| {
            let thread = trace.names.threads[turn.thread].label();
            format!("{} {} {thread} {:?}", turn.start.0, (turn.end - turn.start).0, turn.then)
        })
        .collect();
    expect![[r"
        1001000 4000 render-70 Some(Sleeping)
        1005000 3000 worker-71 Some(Uninterruptible)
        1008000 1500 render-70 Some(Dead)
        1008000 1500 <idle>/0 None
        1009500 0 <idle>/1 None"]]
    .assert_eq(&turns.join("\n"));
    assert_eq!(trace.wakes.len(), 2);
    let threads = trace.names.threads.as_slice().iter().map(|thread| (thread.pid, thread.tid));
    assert!(threads.into_iter().any(|ids| ids == (Some(70), Some(71))));
}

/// As Chrome wrote events before 2021: letters instead of kinds, and times in microseconds, by
/// Perfetto's `track_event.proto`: a time that is stated as such does not move those that follow.
#[test]
fn events_in_the_notation_of_json_are_read() {
    let thread = [number(1, 70), number(2, 71), text(5, b"main"), number(6, 1000)].concat();
    let on = |time: Vec<u8>, name: &str, legacy: &[Vec<u8>]| {
        let event = [time, text(23, name.as_bytes()), text(6, &legacy.concat())].concat();
        text(1, &[number(10, 1), text(11, &event)].concat())
    };
    let phase = |letter: u8| number(2, letter.into());
    let (later, once) = (|microseconds| number(1, microseconds), |time| number(16, time));
    check(
        &[
            text(1, &[number(10, 1), text(44, &thread)].concat()),
            on(later(5), "task", &[phase(b'B')]),
            on(once(1002), "early", &[phase(b'I')]),
            on(later(10), "step", &[phase(b'X'), number(3, 7)]),
            on(later(20), "", &[phase(b'E')]),
            on(later(1), "flow", &[phase(b's')]),
            on(later(1), "endless", &[phase(b'X')]),
        ],
        expect![[r#"
            main-71 0 task 1005000+30000 net 23000
            main-71 1 step 1015000+7000 net 7000
            main-71 mark early 1002000
            perfetto/not-read 2; +97: its phase is none of begin, end, complete and instant; +116: its phase is none of begin, end, complete and instant
        "#]],
    );
}

/// Fields of the events of drivers by `mdss.proto`, `systrace.proto`, `sde.proto` and others.
#[test]
fn what_drivers_mark_is_read() {
    let (letter, name) = (|field, letter: u8| number(field, letter.into()), text);
    let event = |time: u64, kind: u64, fields: &[Vec<u8>]| {
        text(2, &[number(1, time), number(2, 7), text(kind, &fields.concat())].concat())
    };
    let events = [
        event(10, 80, &[name(2, b"mdss"), number(3, 1)]),
        event(11, 331, &[number(1, 1), name(2, b"zero")]),
        event(12, 333, &[name(2, b"sde"), letter(3, b'B')]),
        event(13, 348, &[name(4, b"dpu"), letter(5, b'B')]),
        event(14, 349, &[name(4, b"g2d"), letter(5, b'I')]),
        event(15, 350, &[name(1, b"mali"), letter(3, b'B')]),
        event(16, 467, &[name(4, b"lwis"), letter(2, b'B')]),
        event(17, 484, &[name(2, b"samsung"), letter(4, b'B')]),
        event(18, 484, &[letter(4, b'E')]),
        event(19, 467, &[letter(2, b'E')]),
        event(20, 350, &[letter(3, b'E')]),
        event(21, 348, &[letter(5, b'E')]),
        // Without a letter, it says whether a slice begins.
        event(22, 333, &[name(2, b"sde"), number(5, 0)]),
        event(23, 331, &[number(1, 2)]),
        event(24, 331, &[number(1, 4), name(2, b"level"), number(4, 9)]),
        event(25, 80, &[name(2, b"mdss")]),
        // Neither a flag nor a letter that is known: an event of the kernel like others.
        event(26, 331, &[number(1, 8)]),
        event(27, 350, &[letter(3, b'?')]),
    ];
    let bundle = [number(1, 0), events.concat()].concat();
    check(
        &[text(1, &text(1, &bundle))],
        expect![[r#"
        7 0 mdss 10+15 net 3
        7 1 zero 11+12 net 2
        7 2 sde 12+10 net 2
        7 3 dpu 13+8 net 3
        7 4 mali 15+5 net 2
        7 5 lwis 16+3 net 2
        7 6 samsung 17+1 net 1
        7 mark g2d 14
        7 mark level 24
        perfetto/not-read 2; +0: it holds an event of the kernel that is no call; +0: it holds an event of the kernel that is no call
    "#]],
    );
}

#[test]
fn names_of_kernel_threads_are_no_paths() {
    // Three threads that a switch comes to: a kernel thread, a program by its path, one by a word.
    let threads: [(u64, &str, &str); 3] =
        [(7, "kworker/0:1", "kworker/0:1"), (8, "/usr/bin/vi", "vi"), (9, "./a.out", "a.out")];
    let tree: Vec<u8> = threads
        .iter()
        .flat_map(|(pid, name, _)| text(1, &[number(1, *pid), text(3, name.as_bytes())].concat()))
        .collect();
    let switches = threads.iter().zip(1..).flat_map(|((tid, ..), time)| {
        let switch = [number(2, 0), number(6, *tid)].concat();
        text(2, &[number(1, time), number(2, 0), text(4, &switch)].concat())
    });
    let bundle: Vec<u8> = number(1, 0).into_iter().chain(switches).collect();
    let packets = [text(1, &text(2, &tree)), text(1, &text(1, &bundle))].concat();
    let (trace, _) = load(&packets, &options());
    let names: Vec<&str> = trace.names.threads.iter().map(|thread| thread.name.as_str()).collect();
    for (.., name) in threads {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}
