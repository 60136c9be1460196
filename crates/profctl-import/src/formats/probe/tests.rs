// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use profctl_model::TickUnit;
use profctl_model::diag::codes::CUT_RECORD;
use proptest::prelude::*;

use super::*;
use crate::bytes::Endian;
use crate::emit::Emitter;
use crate::formats::plain::show::{check_cuts, example, read, show};
use crate::testing::{ImporterOfBytes, verbs};

static CAPTURE: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/probe/tcp_rx.raw"));
static NAMES: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/probe/tcp_rx.names"));

fn options(names: &[u8], probe: ProbeOptions) -> ImportOptions {
    ImportOptions { names: Some(names.to_vec()), probe, ..ImportOptions::default() }
}

/// Records of the default layout.
fn records(of: &[(u16, u32)]) -> Vec<u8> {
    let record = |&(tag, time): &(u16, u32)| {
        let [low, high] = tag.to_le_bytes();
        let [a, b, c, _] = time.to_le_bytes();
        [low, high, a, b, c]
    };
    of.iter().flat_map(record).collect()
}

#[track_caller]
fn check(names: &str, of: &[(u16, u32)], expected: Expect) {
    let options = options(names.as_bytes(), ProbeOptions::default());
    expected.assert_eq(&show(&ProbeCapture, &records(of), &options));
}

#[test]
fn every_kind_of_tag() {
    check(
        "main/502\nISAINTR/500^\nswtch/600!\nidle/0x25a~\nidle_swtch/604!~ # both\nMGET/1003=\n",
        &[
            (502, 10),
            (500, 11),
            (501, 12),
            (1003, 13),
            (600, 14),
            (601, 15),
            (602, 16),
            (603, 17),
            (604, 18),
            (605, 19),
            (503, 0xff_ffff),
        ],
        expect![[r#"
            # profctl plain 1 unit=us
            10 > main
            11 > ISAINTR^
            12 < ISAINTR^
            13 ! MGET
            14 switch> swtch
            15 switch< swtch
            16 > idle~
            17 < idle~
            18 switch> idle_swtch~
            19 switch< idle_swtch~
            16777215 < main
        "#]],
    );
}

#[test]
fn unknown_tags_are_instants_and_counted() {
    check(
        "main/502\n",
        &[(502, 1), (504, 2), (504, 3), (0xffff, 4), (0, 5), (503, 6)],
        expect![[r#"
            # profctl plain 1 unit=us
            1 > main
            2 ! "tag 0x01f8"
            3 ! "tag 0x01f8"
            4 ! "tag 0xffff"
            5 ! "tag 0x0000"
            6 < main
            probe/unknown-tag +5: found tag 0x01f8, which has no name
            probe/unknown-tag +10: found tag 0x01f8, which has no name
            probe/unknown-tag +15: found tag 0xffff, which has no name
            probe/unknown-tag +20: found tag 0x0000, which has no name
        "#]],
    );
}

#[test]
fn half_a_record_at_the_end() {
    let mut input = records(&[(502, 1), (503, 2)]);
    input.truncate(8);
    let said = read(&ProbeCapture, &input, &options(b"main/502", ProbeOptions::default()));
    assert_eq!(said.said().len(), 1);
    assert_eq!((said.diags[0].code.name, said.diags[0].offset), (CUT_RECORD.name, 5));
}

#[test]
fn name_files_that_are_refused() {
    let expected = expect![[r##"
        "f/502\ng/502" line 2: name file: tag 502 is taken since line 1
        "f/502\ng/503=" line 2: name file: tag 503 is taken since line 1
        "f/502\nf/504^" line 2: name file: `f` has other marks on line 1
        "# c\n\nf/501" line 3: name file: found odd tag 501, expected an even one (its exit is the next) or the mark `=`
        "f/65536" line 1: name file: found tag 65536, expected at most 65535 (16 bits)
        "f/99999999999=" line 1: name file: found tag 99999999999, expected at most 65535 (16 bits)
        "/502" line 1: name file: found `/502`, expected a name before `/`
        "f" line 1: name file: found `f`, expected `name/tag`
        "f/" line 1: name file: found tag ``, expected a decimal or 0x number
        "f/0x" line 1: name file: found tag `0x`, expected a decimal or 0x number
        "f/502?" line 1: name file: found mark `?`, expected `!`, `=`, `^` or `~`
        "f/502=!" line 1: name file: found marks `=!`, expected one of them, or `!~`
        "f/502^~" line 1: name file: found marks `^~`, expected one of them, or `!~`
        "\n# nothing\n" name file: no names, expected lines `name/tag`
    "##]];
    let mut said = String::new();
    for names in [
        "f/502\ng/502",
        "f/502\ng/503=",
        "f/502\nf/504^",
        "# c\n\nf/501",
        "f/65536",
        "f/99999999999=",
        "/502",
        "f",
        "f/",
        "f/0x",
        "f/502?",
        "f/502=!",
        "f/502^~",
        "\n# nothing\n",
    ] {
        let options = options(names.as_bytes(), ProbeOptions::default());
        let error = ProbeCapture.open_bytes(b"", &options).err().expect(names);
        said.extend([format!("{names:?} {error}\n")]);
    }
    expected.assert_eq(&said);
    assert!(tags::parse(b"\xff/2", 16).is_err(), "not UTF-8");
}

#[test]
fn names_that_are_unusual_but_right() {
    let parsed =
        tags::parse(b"a/b/2\r\noperator#/4\n  spaced  /  0x6 ! ~  # c\ntop/4294967295=\n", 32);
    let found: Vec<_> = parsed.unwrap().into_iter().map(|n| (n.name, n.tag, n.switches)).collect();
    let expected =
        [("a/b", 2, false), ("operator#", 4, false), ("spaced", 6, true), ("top", u32::MAX, false)];
    assert_eq!(found, expected.map(|(name, tag, switches)| (name.to_owned(), tag, switches)));
}

#[test]
fn without_a_name_file_there_is_nothing_to_read() {
    let error = ProbeCapture.open_bytes(CAPTURE, &ImportOptions::default()).err().unwrap();
    assert!(error.message.contains("name file"), "{error}");
}

#[test]
fn layouts_that_cannot_be() {
    let default = ProbeOptions::default;
    let no_tick = TickUnit::Seconds { numerator: 0, denominator: 1 };
    for wrong in [
        ProbeOptions { tag_bits: 0, ..default() },
        ProbeOptions { tag_bits: 33, ..default() },
        ProbeOptions { time_bits: 0, ..default() },
        ProbeOptions { time_bits: 65, ..default() },
        ProbeOptions { tick: no_tick, ..default() },
        ProbeOptions { record_bytes: Some(4), ..default() },
        ProbeOptions { record_bytes: Some(usize::MAX), ..default() },
    ] {
        let error = ProbeCapture.open_bytes(b"", &options(NAMES, wrong)).err();
        assert!(error.is_some(), "{wrong:?}");
    }
}

/// Writes tag and time under any layout, bit by bit as the documentation says, so that the shifts
/// of the reader have something to be wrong against.
fn encode(tag: u64, time: u64, probe: &ProbeOptions) -> Vec<u8> {
    let field = |value: u64, bits: u32| {
        let width = bits.div_ceil(8) as usize;
        match probe.endian {
            Endian::Little => value.to_le_bytes()[..width].to_vec(),
            Endian::Big => value.to_be_bytes()[8 - width..].to_vec(),
        }
    };
    let (tag, time) = (field(tag, probe.tag_bits), field(time, probe.time_bits));
    let mut record = match probe.order {
        FieldOrder::TagTime => [tag, time].concat(),
        FieldOrder::TimeTag => [time, tag].concat(),
    };
    record.resize(probe.record_bytes.unwrap_or(record.len()), 0xee);
    record
}

fn any_layout() -> impl Strategy<Value = ProbeOptions> {
    (1_u32..=32, 1_u32..=64, any::<bool>(), any::<bool>(), proptest::option::of(0_usize..9))
        .prop_map(|(tag_bits, time_bits, big, time_first, extra)| ProbeOptions {
            tag_bits,
            time_bits,
            endian: if big { Endian::Big } else { Endian::Little },
            order: if time_first { FieldOrder::TimeTag } else { FieldOrder::TagTime },
            record_bytes: extra
                .map(|n| n + (tag_bits.div_ceil(8) + time_bits.div_ceil(8)) as usize),
            ..ProbeOptions::default()
        })
}

proptest! {
    #[test]
    fn any_layout_reads_back(
        probe in any_layout(),
        values in proptest::collection::vec(any::<(u64, u64)>(), 0..40),
    ) {
        use crate::bytes::low_bits;
        let records: Vec<_> = values.iter().flat_map(|&(tag, time)| encode(tag, time, &probe)).collect();
        let said = read(&ProbeCapture, &records, &options(b"zero/0=\n", probe));
        let said = verbs(&said);
        let times: Vec<_> = said.iter().filter_map(|(_, _, time)| *time).collect();
        let expected: Vec<_> = values.iter().map(|&(_, time)| time & low_bits(probe.time_bits)).collect();
        prop_assert_eq!(times, expected);
        for ((_, name, _), (tag, _)) in said.iter().zip(values) {
            let tag = tag & low_bits(probe.tag_bits);
            match tag {
                0 => prop_assert_eq!(name, "zero"),
                1..0x10_0000 => prop_assert_eq!(name, &format!("tag {tag:#06x}")),
                _ => prop_assert_eq!(name, "tags from 0x100000"),
            }
        }
    }

    #[test]
    fn garbage_is_records(bytes: Vec<u8>, probe in any_layout()) {
        let said = read(&ProbeCapture, &bytes, &options(b"zero/0=\n", probe));
        prop_assert!(said.said().len() <= bytes.len());
    }

    #[test]
    fn garbage_name_files_are_refused_or_read(
        bytes: Vec<u8>,
        near in r"([a-z#/ ]{0,3}/(0x)?[0-9a-f]{0,5}[!=^~ ]{0,2}\n?){0,5}",
        bits in 1_u32..=32,
    ) {
        let _ = tags::parse(&bytes, bits);
        let _ = tags::parse(near.as_bytes(), bits);
    }
}

#[test]
fn the_capture_reads_whole() {
    let options = options(NAMES, ProbeOptions::default());
    let opened = ProbeCapture.open_bytes(CAPTURE, &options).unwrap();
    assert_eq!(opened.streams[0].clock.counter_bits, Some(24));
    let record = "tag 16 bits, counter 24 bits, little-endian, 5 bytes".to_owned();
    assert_eq!(opened.facts, [("record", record), ("tags", "26".to_owned())]);
    let said: Emitter = read(&ProbeCapture, CAPTURE, &options);
    assert_eq!(said.records, 156);
    let said = verbs(&said);
    let count = |verb| said.iter().filter(|found| found.0 == verb).count();
    assert_eq!((count(">"), count("<")), (78, 78));
    let wraps = said.windows(2).filter(|pair| pair[1].2 < pair[0].2).count();
    assert_eq!(wraps, 1, "the counter wraps once");
}

#[test]
fn the_documented_example_is_a_name_file() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/probe.md"));
    let names = tags::parse(example(page).as_bytes(), 16).unwrap();
    assert_eq!(names.len(), 6);
    let marks: std::collections::BTreeSet<_> =
        names.iter().map(|named| (named.kind, named.switches)).collect();
    assert_eq!(marks.len(), 6, "one of each kind");
}

#[test]
fn every_cut() {
    check_cuts(&ProbeCapture, CAPTURE, &options(NAMES, ProbeOptions::default()));
    let wide = ProbeOptions { record_bytes: Some(11), ..ProbeOptions::default() };
    check_cuts(&ProbeCapture, CAPTURE, &options(NAMES, wide));
}

/// The capture was made from the code trace, so both have the same calls. Only `werint` differs:
/// the trace states its net time, and misses three of the callees that it was taken without.
#[test]
fn the_capture_tells_what_the_code_trace_tells() {
    static TRACE: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcrae/trace.txt"));
    let calls = |bytes: &'static [u8], options| {
        let input = crate::Single::new("-", Box::new(bytes));
        let (trace, origin) = crate::load(&input, &options, &|_| {}).unwrap();
        let spans = &trace.spans;
        let start = |id: profctl_model::SpanId| spans.start[id.index()] - trace.meta.first;
        let call = |id: profctl_model::SpanId| {
            let name = trace.names.funcs[spans.func[id]].name.clone();
            let lengths = (spans.wall[id.index()], spans.net[id.index()]);
            (start(id), name, spans.depth[id.index()], lengths, spans.fidelity[id.index()])
        };
        (spans.ids().map(call).collect::<Vec<_>>(), origin.format.name)
    };
    let (told, format) = calls(TRACE, crate::ReadOptions::default());
    assert_eq!((told.len(), format), (78, "mcrae"));
    let import = options(NAMES, ProbeOptions::default());
    let options = crate::ReadOptions { import, block_size: 100, ..Default::default() };
    let (mut seen, format) = calls(CAPTURE, options);
    assert_eq!(format, "probe");
    let werint = seen.iter_mut().find(|call| call.1 == "werint").unwrap();
    assert_ne!(werint.3, told[2].3);
    werint.3 = told[2].3;
    assert_eq!(seen, told);
}
