// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect, expect_file};
use profctl_model::TickUnit;
use proptest::prelude::*;

use super::*;
use crate::capture::CaptureOptions;
use crate::capture::testing::{
    calls, capture, check_blocks, check_cuts, check_tells_of_1993, complaints, dump_of_a_bus,
    dump_of_wires, load, read_anyhow, wires,
};
use crate::formats::plain::show::show;
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vcd/", $name)
    };
}

static BENCH: &[u8] = include_bytes!(fixture!("bench.vcd"));
static BENCH_WIRES: &[u8] = include_bytes!(fixture!("bench_wires.vcd"));
static ANALYZER: &[u8] = include_bytes!(fixture!("sigrok.vcd"));

const NAMES: &[u8] = b"main/2\nisr/4^\nmark/7=\n";

fn options(capture: CaptureOptions) -> ImportOptions {
    ImportOptions { names: Some(NAMES.to_vec()), capture, ..ImportOptions::default() }
}

fn dump(body: &str) -> String {
    format!(
        "$timescale 1us $end\n$scope module top $end\n$var wire 4 t tag [3:0] $end\n\
         $var wire 1 s stb $end\n$var wire 1 v ok $end\n$upscope $end\n$enddefinitions $end\n{body}"
    )
}

#[track_caller]
fn check(body: &str, capture: CaptureOptions, expected: Expect) {
    expected.assert_eq(&show(&Dump, dump(body).as_bytes(), &options(capture)));
}

fn strobed(strobe: &str) -> CaptureOptions {
    CaptureOptions {
        tag: Some("tag".into()),
        strobe: Some(strobe.into()),
        ..CaptureOptions::default()
    }
}

#[test]
fn a_tag_is_read_after_all_changes_of_its_time() {
    check(
        "#0\n$dumpvars\nbx t\n0s\nxv\n$end\n#10\n1s\nb10 t\n#11\n0s\n#12\nb100 t\n1s\n0s\n#13 b101 t 1s\n\
         #14 0s\n#20 b11 t\n#21 1s\n#22\n",
        strobed("stb"),
        expect![[r#"
            # profctl plain 1 unit=us
            10 > main
            12 > isr^
            13 < isr^
            21 < main
        "#]],
    );
}

#[test]
fn both_edges_and_a_condition() {
    let capture = CaptureOptions { valid: vec!["ok=1".into()], ..strobed("stb@both") };
    check(
        "#0 b0 t 0s 0v\n#5 b10 t 1s\n#6 1v 0s\n#7 b11 t 1s\n#8 xv 0s\n",
        capture,
        expect![[r#"
            # profctl plain 1 unit=us
            6 > main
            7 < main
            capture/unknown-level +199: the condition at the strobe is unknown
        "#]],
    );
}

#[test]
fn unknown_levels_are_counted_where_they_matter() {
    check(
        "#0 b0 t 0s\n#1 b1x0 t\n#2 1s\n#3 0s\n#4 b10 t xs\n#5 1s\n#6 0s\n#7 1s\n",
        strobed("stb"),
        expect![[r#"
            # profctl plain 1 unit=us
            7 > main
            capture/unknown-level +173: bits 0x2 of the bus are unknown
            capture/unknown-level +185: the strobe is unknown
        "#]],
    );
}

#[test]
fn without_a_strobe_every_change_counts() {
    let capture = CaptureOptions { tag: Some("top.tag".into()), ..CaptureOptions::default() };
    check(
        "#0 b10 t\n#1 b100 t\n#2 b101 t\n#3 b101 t\n#4 bz t\n#5 b111 t\n#6 bz t\n#7 b111 t\n",
        capture,
        expect![[r#"
            # profctl plain 1 unit=us
            1 > isr^
            2 < isr^
            5 ! mark
            7 ! mark
            capture/no-strobe +152: a bus of tags without a strobe
        "#]],
    );
}

#[test]
fn a_dump_that_was_off_is_a_gap() {
    check(
        "#0 b0 t 0s\n#1 b10 t 1s\n#2 0s\n#3\n$dumpoff\nbx t\nxs\nxv\n$end\n#9\n$dumpon\nb11 t\n1s\n0v\n$end\n\
         #10 0s\n#11 b111 t 1s\n",
        strobed("stb"),
        expect![[r#"
            # profctl plain 1 unit=us
            1 > main
            3 lost
            11 ! mark
        "#]],
    );
}

#[test]
fn what_is_no_change_is_skipped() {
    check(
        "#0 b0 t 0s r1.5 ! shello !\n$comment\n# 1s\n#5 1s\n$end\n#nine\nbq t\n1\n?s\n#2 b10 t 1s\n",
        strobed("stb"),
        expect![[r#"
            # profctl plain 1 unit=us
            2 > main
            input/skipped-record +204: found `#nine`, expected a time behind `#`
            input/skipped-record +210: found `bq`, expected bits 0, 1, x or z after `b`
            input/skipped-record +213: found `t`, expected a change such as `1!` or `b101 !`
            input/skipped-record +215: found `1`, expected a change such as `1!` or `b101 !`
            input/skipped-record +217: found `?s`, expected a change such as `1!` or `b101 !`
        "#]],
    );
}

#[test]
fn wires_are_functions() {
    let wires = "$timescale 10 ns $end $var wire 1 a outer $end $var wire 1 b irq $end \
                 $var wire 1 c last $end $enddefinitions $end\n";
    let body = "#0 1a 0b 0c\n#1 1b\n#2 0b\n#3 0a 1c\n#4 xc\n#5 0c\n#6 1a 1b\n#7 0a 0b\n";
    let input = format!("{wires}{body}");
    let gpio = Some("outer=work, irq^ , last".replace("irq^", "irq=isr^"));
    let capture = CaptureOptions { gpio, ..CaptureOptions::default() };
    expect![[r#"
        # profctl plain 1 unit=10/1000000000s
        1 > isr^
        2 < isr^
        3 < work
        3 > last
        5 < last
        6 > work
        6 > isr^
        7 < isr^
        7 < work
        capture/unknown-level +148: wire of `last` is unknown
    "#]]
    .assert_eq(&show(&Dump, input.as_bytes(), &options(capture)));
    let all = show(&Dump, input.as_bytes(), &ImportOptions::default());
    assert!(all.contains("1 > irq\n"), "every wire, if nothing is said: {all}");
}

#[test]
fn timescales() {
    let seconds = |numerator, denominator| Some(TickUnit::Seconds { numerator, denominator });
    for (typed, expected) in [
        ("1s", seconds(1, 1)),
        ("10 ms", seconds(10, 1_000)),
        ("100\n us", seconds(100, 1_000_000)),
        ("1 ns", seconds(1, 1_000_000_000)),
        ("10ps", seconds(10, 1_000_000_000_000)),
        ("100 fs", seconds(100, 1_000_000_000_000_000)),
        ("2 ns", None),
        ("ns", None),
        ("1 Hz", None),
        ("", None),
    ] {
        let head = format!("$timescale {typed} $end $enddefinitions $end");
        let found = header::read(head.as_bytes()).ok().map(|header| header.tick);
        assert_eq!(found, expected, "{typed}");
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let mut said = String::new();
    let of = |tag: &str| CaptureOptions { tag: Some(tag.into()), ..CaptureOptions::default() };
    let wires = |gpio: &str| CaptureOptions { gpio: Some(gpio.into()), ..of("tag") };
    for (typed, capture) in [
        ("nothing", CaptureOptions { pc: None, ..CaptureOptions::default() }),
        ("tags", of("tags")),
        ("ta", of("ta")),
        ("tag[4]", of("tag[4]")),
        ("stb..ok", of("stb..ok")),
        ("a1..b0", of("a1..b0")),
        ("@up", strobed("stb@up")),
        ("tag as strobe", strobed("tag")),
        ("ok=2", CaptureOptions { valid: vec!["ok=2".into()], ..strobed("stb") }),
        ("ok=on", CaptureOptions { valid: vec!["ok=on".into()], ..strobed("stb") }),
        ("tag as wire", wires("tag")),
        ("stb=a,ok=a", wires("stb=a,ok=a")),
        ("stb=a^~", wires("stb=a^~")),
        ("pc and tag", CaptureOptions { pc: Some("tag".into()), ..of("tag") }),
        ("pc", CaptureOptions { pc: Some("tag".into()), ..CaptureOptions::default() }),
    ] {
        let mut options = options(capture);
        if typed == "nothing" {
            options.names = None;
        }
        let error = Dump.open_bytes(dump("").as_bytes(), &options).err().expect(typed);
        said.extend([format!("{typed}: {error}\n")]);
    }
    expect![[r#"
        nothing: no signals selected, expected `--tag SIGNALS --names FILE`, `--gpio WIRES` or `--pc SIGNALS --symbols FILE`; the capture has top.tag (4 bits), top.stb, top.ok
        tags: tag: there is no signal `tags`; the capture has top.tag (4 bits), top.stb, top.ok
        ta: tag: there is no signal `ta`; the capture has top.tag (4 bits), top.stb, top.ok
        tag[4]: tag: found bit 4 of `tag`, expected below 4
        stb..ok: tag: found range `stb..ok`, expected one such as T15..T0
        a1..b0: tag: found range `a1..b0`, expected one such as T15..T0
        @up: strobe: found edge `up`, expected rise, fall or both
        tag as strobe: strobe: `tag` has 4 bits, expected at most 1
        ok=2: valid: found value 2, expected at most 1
        ok=on: valid: found value `on`, expected a decimal or 0x number
        tag as wire: gpio: `tag` is a bus, expected a wire
        stb=a,ok=a: gpio: two wires are called `a`, expected one name each
        stb=a^~: gpio: found marks `^~`, expected one of them, or `!~`
        pc and tag: found both a tag and a program counter, expected one
        pc: no symbol file, expected `--symbols FILE`, an ELF file or the output of nm
    "#]]
    .assert_eq(&said);
}

#[test]
fn declarations_that_are_refused() {
    for (head, expected) in [
        ("", "no `$enddefinitions`"),
        ("$timescale 1 ns $end\n$var wire 1 ! a", "no `$enddefinitions`"),
        ("$var wire 1 ! $end $enddefinitions", "expected type, width, code and name"),
        ("$timescale 3 ns $end $enddefinitions", "found timescale `3ns`"),
    ] {
        let error = header::read(head.as_bytes()).unwrap_err();
        assert!(error.contains(expected), "{head}: {error}");
    }
}

/// A bus that was dumped bit by bit, one signal under two names, two signals of one name.
#[test]
fn names_of_signals() {
    let head = b"$scope module a $end $var wire 1 1 d [1] $end $var wire 1 0 d [0] $end \
        $scope module b $end $var wire 1 0 twin $end $var reg 3 q d [2:0] $end $upscope $end $upscope $end \
        $scope begin $end $var wire 1 x same $end $var wire 1 y same $end $var real 64 r v $end \
        $enddefinitions $end";
    let header = header::read(head).unwrap();
    let names: Vec<_> = header.signals.iter().map(|signal| signal.name.as_str()).collect();
    assert_eq!(names, ["a.d[1]", "a.d[0]", "a.b.twin", "a.b.d", "same", "same"]);
    let of = |tag: &str| {
        let capture = CaptureOptions { tag: Some(tag.into()), ..CaptureOptions::default() };
        let options = ImportOptions { names: Some(b"f/2".to_vec()), ..options(capture) };
        capture::plan(&header.signals, &options).map(|plan| plan.sources().count())
    };
    assert_eq!(of("b.d"), Ok(1));
    assert_eq!(of("a.d"), Ok(2));
    assert_eq!(of("a.d[1:0]"), Ok(2));
    assert_eq!(of("a.b.d[2:1]"), Ok(1));
    assert_eq!(of("same#2, a.d[0], twin, d[1]"), Ok(3), "a wire may be two bits of a bus");
    assert!(of("same").unwrap_err().message.contains("`same#1` to `same#2`"));
    assert!(of("same#3").is_err());
}

#[test]
fn the_dumps_of_1993_are_what_the_tests_write() {
    expect_file![fixture!("tcp_rx.vcd")].assert_eq(&dump_of_a_bus());
    expect_file![fixture!("tcp_rx_wires.vcd")].assert_eq(&dump_of_wires());
}

#[test]
fn a_bus_tells_what_the_records_tell() {
    let dump = dump_of_a_bus();
    check_tells_of_1993(dump.as_bytes(), "vcd", &capture(CaptureOptions::default()));
    check_blocks(dump.as_bytes(), &capture(CaptureOptions::default()));
}

#[test]
fn wires_tell_what_the_records_tell() {
    check_tells_of_1993(dump_of_wires().as_bytes(), "vcd", &wires());
    check_blocks(dump_of_wires().as_bytes(), &wires());
}

fn bench(tag: &str) -> crate::ReadOptions {
    let names =
        b"main/502\na/504\nb/506\nc/508\nd/510\ne/512\nf/514\ng/516\nirq/600^\nswitched/700\n";
    let mut options = capture(CaptureOptions {
        tag: Some(tag.into()),
        strobe: Some("stb".into()),
        ..CaptureOptions::default()
    });
    options.import.names = Some(names.to_vec());
    options
}

/// One simulation, dumped as a bus and as wires.
#[test]
fn the_simulation_tells_one_thing_twice() {
    let (bus, origin) = load(BENCH, &bench("tb.tag"));
    assert_eq!(origin.format.name, "vcd");
    let (wires, _) = load(BENCH_WIRES, &bench("T15..T0"));
    assert_eq!(calls(&bus), calls(&wires));
    // By hand, from the delays in `bench.v`, each with the 0.1 us of a strobe before it: from d's
    // entry 8 to e's, 11 to its exit, 10 to f's entry, 4 to its exit, 9 to d's exit.
    let times = |name: &str| calls(&bus).iter().find(|call| call.name == name).unwrap().times;
    assert_eq!(times("d")[1..], [42_500, 42_500 - 11_100 - 4_100]);
    assert_eq!(times("e")[1..], [11_100, 11_100]);
    assert_eq!(times("f")[1..], [4_100, 4_100]);
    // 999 has no name.
    assert_eq!(complaints(&bus), ["probe/unknown-tag 1"]);
    check_blocks(BENCH, &bench("tb.tag"));
}

#[test]
fn threads_and_interrupts_by_wire() {
    let mut options = bench("tb.tag");
    options.import.capture.thread = Some("tb.pid".into());
    let (trace, _) = load(BENCH, &options);
    let threads: Vec<_> =
        calls(&trace).iter().map(|call| (call.name.clone(), call.thread.clone())).collect();
    assert!(threads.contains(&("switched".into(), "1".into())), "{threads:?}");
    assert!(threads.contains(&("main".into(), "0".into())), "{threads:?}");
    let gpio = Some("irq=handler^".to_owned());
    let options = ImportOptions {
        capture: CaptureOptions { gpio, ..CaptureOptions::default() },
        ..ImportOptions::default()
    };
    let (trace, _) = load(BENCH, &crate::ReadOptions { import: options, ..Default::default() });
    assert_eq!(calls(&trace).len(), 1);
}

/// What libsigrok writes, with a bare timestamp at the end.
#[test]
fn an_analyzer_s_dump() {
    let options = crate::ReadOptions::default();
    let (trace, _) = load(ANALYZER, &options);
    // The first line says that D0 is high from the start, which has no entry.
    let first = &calls(&trace)[0];
    assert_eq!((first.name.as_str(), first.fidelity.start_inferred), ("D0", true));
    check_blocks(ANALYZER, &options);
}

#[test]
fn every_cut() {
    let dump = dump_of_a_bus();
    check_cuts(&dump.as_bytes()[..600], "vcd", &capture(CaptureOptions::default()));
    check_cuts(&dump_of_wires().as_bytes()[..900], "vcd", &wires());
}

#[test]
fn a_dump_of_all_levels_may_be_long() {
    let mut text = dump("#0 b0 t 0s\n#1\n$dumpall\n");
    let start = text.len();
    while text.len() < start + (20 << 20) {
        text.push_str("b10101010101010101010101010101010 unwatched\n");
    }
    text.push_str("b10 t\n1s\n$end\n#2 0s\n");
    let options = crate::ReadOptions { import: options(strobed("stb")), ..Default::default() };
    let (trace, _) = load(text.as_bytes(), &options);
    let found = calls(&trace);
    assert_eq!((found.len(), found[0].name.as_str()), (1, "main"));
    assert_eq!(trace.meta.first.0, 1);
}

proptest! {
    // Every case opens an input or several, which takes a millisecond or two.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_read_or_refused(
        bytes: Vec<u8>,
        text in r"((#[0-9]{0,20}|[01xz?][tsv]|b[01xz]{0,70} ?[tsv]|\$dump(off|on|all)|\$end|\$comment|r1|p)[ \n]){0,60}",
    ) {
        read_anyhow(&bytes, "vcd", &capture(CaptureOptions::default()));
        let mut options = crate::ReadOptions { import: options(strobed("stb@both")), ..Default::default() };
        let text = dump(&text);
        read_anyhow(text.as_bytes(), "vcd", &options);
        options.import.capture.strobe = None;
        let told = |block_size, workers| {
            let options = crate::ReadOptions { workers, block_size, ..options.clone() };
            let (trace, _) = load(text.as_bytes(), &options);
            (calls(&trace), complaints(&trace), trace.marks, trace.gaps, trace.meta.events)
        };
        let whole = told(0, 1);
        prop_assert_eq!(&told(16, 1), &whole);
        prop_assert_eq!(&told(40, 3), &whole);
    }
}
