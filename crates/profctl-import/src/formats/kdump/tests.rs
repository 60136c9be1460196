// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use profctl_model::{Record, Span, SpanSink};
use proptest::prelude::*;

use super::*;
use crate::formats::plain::show::{read, show};
use crate::testing::{ImporterOfBytes, ReaderOfBytes, verbs};
use crate::{ReadOptions, Single};

const FIXTURES: [&str; 12] = [
    "freebsd-E",
    "freebsd-H-T",
    "freebsd-R",
    "freebsd-T",
    "freebsd-TER",
    "netbsd-R",
    "netbsd-T",
    "netbsd-TER",
    "openbsd-H-T",
    "openbsd-R",
    "openbsd-T",
    "openbsd-TR",
];

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/kdump");
    profctl_testkit::fixtures::read(&folder.join(name).with_extension("txt"))
}

#[track_caller]
fn check(input: &str, expected: Expect) {
    expected.assert_eq(&show(&KdumpText, input.as_bytes(), &ImportOptions::default()));
}

#[test]
fn every_type_of_record() {
    expect![[r##"
        # profctl plain 1 unit=ns
        1700000000000000000 #1001 < ktrace$
        1700000000000002000 #1001 > execve$
        1700000000000003000 #1001 ! namei
        1700000000000200000 demo-1001 < execve$
        1700000000000210000 demo-1001 > open$
        1700000000000212000 demo-1001 > page_fault
        1700000000000230000 demo-1001 < page_fault
        1700000000000231000 demo-1001 ! namei
        1700000000000260000 demo-1001 < open$
        1700000000000300000 demo-1001 > tcp_input[user]
        1700000000000310000 demo-1001 > read$
        1700000000000312000 switch demo-1001 ?
        1700000000000400000 demo-1002 < "fork"$
        1700000000000450000 demo-1002 > getpid$
        1700000000000451000 demo-1002 < getpid$
        1700000000003312000 switch ? demo-1001
        1700000000003330000 demo-1001 < read$
        1700000000003340000 demo-1001 < tcp_input[user]
        1700000000003400000 demo-1001 ! SIGALRM
        1700000000003399000 demo-1002 > exit$
        - lost
        1700000000003500000 demo-1001 > exit$
    "##]]
    .assert_eq(&show(&KdumpText, &fixture("freebsd-H-T"), &ImportOptions::default()));
}

/// The events of a fixture: kind, name, and nanoseconds since the first.
fn events(name: &str) -> Vec<(&'static str, String, u64)> {
    let said = read(&KdumpText, &fixture(name), &ImportOptions::default());
    assert!(said.diags.is_empty(), "{name}: {:?}", said.diags);
    let events = verbs(&said);
    let first = events[0].2.unwrap();
    let since = |time: Option<u64>| time.map_or(0, |time| time.saturating_sub(first));
    events.into_iter().map(|(verb, name, time)| (verb, name, since(time))).collect()
}

/// Times of a trace that were printed in different ways are the same, as far as they were printed.
#[test]
fn stamps_of_every_kind_tell_the_same() {
    for other in ["freebsd-E", "freebsd-H-T", "freebsd-R", "freebsd-TER"] {
        let (expected, got) = (events("freebsd-T"), events(other));
        assert_eq!(got.len(), expected.len(), "{other}");
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!((got.0, &got.1), (expected.0, &expected.1), "{other}");
            // A step back of half a microsecond is printed as none, or as a whole one.
            assert!(got.2.abs_diff(expected.2) <= 1_000, "{other}: {got:?} {expected:?}");
        }
    }
    for other in ["netbsd-R", "netbsd-TER"] {
        assert_eq!(events(other), events("netbsd-T"), "{other}");
    }
    for other in ["openbsd-R", "openbsd-TR", "openbsd-H-T"] {
        let (expected, got) = (events("openbsd-T"), events(other));
        let close = got.iter().zip(&expected).all(|(a, b)| a.2.abs_diff(b.2) <= 1_000);
        assert!(close && got.len() == expected.len(), "{other}");
    }
}

#[derive(Default)]
struct Calls(Vec<(String, u64, u64, u64)>);

impl SpanSink for Calls {
    fn span(&mut self, span: &Span, names: &profctl_model::Names) {
        let name = names.funcs[span.func].name.clone();
        self.0.push((name, span.wall.0, span.off_cpu.0, span.net.0));
    }
    fn record(&mut self, _record: Record<'_>, _names: &profctl_model::Names) {}
}

fn calls(bytes: &[u8], block_size: usize, workers: usize) -> Vec<(String, u64, u64, u64)> {
    let input = Single::new("test", Box::new(bytes));
    let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
    crate::stream(&input, &options, Calls::default(), &|_| ()).unwrap().sink.0
}

/// The same trace as `ktrace.out`, read by the reader of those.
#[test]
fn the_binary_file_tells_the_same() {
    for (text, binary) in [
        ("freebsd-T", "freebsd-v0-amd64"),
        ("freebsd-H-T", "freebsd-v0-amd64"),
        ("netbsd-T", "netbsd-v2-amd64"),
        ("openbsd-H-T", "openbsd-amd64"),
    ] {
        let folder = profctl_testkit::fixtures::root().join("fixtures/ktrace");
        let path = folder.join(binary).with_extension("ktrace.out");
        let mut expected = calls(&profctl_testkit::fixtures::read(&path), 0, 1);
        if !text.starts_with("freebsd") {
            // The text lacks what the program logged.
            expected.retain(|call| call.0 != "tcp_input");
        }
        assert!(expected.len() > 7, "{binary}");
        assert_eq!(calls(&fixture(text), 0, 1), expected, "{text}");
    }
}

/// By hand from the trace: `open` 210 to 260 with a fault of 18; `read` 310 to 3330, of which
/// 312 to 3312 off the CPU, inside `tcp_input` 300 to 3340.
#[test]
fn lengths_are_those_of_the_trace() {
    let calls = calls(&fixture("freebsd-T"), 0, 1);
    let of = |name: &str| calls.iter().find(|call| call.0 == name).cloned().unwrap();
    let us = |name: &str, wall: u64, off: u64, net: u64| {
        (name.to_owned(), wall * 1_000, off * 1_000, net * 1_000)
    };
    for expected in [
        us("execve", 198, 0, 198),
        us("open", 50, 0, 32),
        us("page_fault", 18, 0, 18),
        us("read", 3_020, 3_000, 20),
        us("tcp_input", 3_040, 3_000, 20),
        us("getpid", 1, 0, 1),
    ] {
        assert_eq!(of(&expected.0), expected);
    }
}

#[test]
fn the_size_of_blocks_changes_nothing() {
    for name in FIXTURES {
        let bytes = fixture(name);
        let expected = calls(&bytes, 0, 1);
        for (block_size, workers) in [(1, 1), (60, 1), (100, 3), (333, 2)] {
            assert_eq!(calls(&bytes, block_size, workers), expected, "{name} {block_size}");
        }
    }
}

#[test]
fn every_cut() {
    for name in FIXTURES {
        let bytes = fixture(name);
        let whole = read(&KdumpText, &bytes, &ImportOptions::default());
        let whole: Vec<_> = whole.said().collect();
        let opened = KdumpText.open_bytes(&bytes, &ImportOptions::default()).unwrap();
        for cut in 0..=bytes.len() {
            let start = &bytes[..cut];
            let mut said = Emitter::default();
            let mut reader = opened.reader.fork();
            reader.read_bytes(start, true, &opened.state, &mut said);
            // The last complete record is buffered for continuation lines, and an incomplete one is
            // left.
            let boundary = reader.boundary(start);
            let kept = whole.iter().filter(|(at, _)| at.offset < boundary).count();
            let said: Vec<_> = said.said().collect();
            assert_eq!(said[..kept], whole[..kept], "{name} cut at {cut}");
            assert!(said.len() <= kept + 2, "{name} cut at {cut}");
            assert!(boundary == 0 || bytes[boundary - 1] == b'\n', "{name} cut at {cut}");
        }
    }
}

#[test]
fn fixtures_are_recognized_and_neighbors_are_not() {
    for name in FIXTURES {
        assert!(
            matches!(KdumpText.recognize_bytes(&fixture(name), true), Recognition::Yes(_)),
            "{name}"
        );
    }
    for other in ["", "\n", "prose\n", " 100 is a number\n", "1 CALL  f\nand\nso\non\nand on\n"] {
        assert_eq!(KdumpText.recognize_bytes(other.as_bytes(), true), Recognition::No, "{other}");
    }
}

#[test]
fn text_without_times_is_refused() {
    for text in [
        "  2769 ktrace   CALL  execve(0x7fff,0x7ffe,0x7ffd)\n  2769 ktrace   NAMI  \"/bin/rmdir\"\n  2769 rmdir    RET   execve 0\n",
        "  2642   2642 ktrace   EMUL  \"netbsd\"\n  2642   2642 a b      CALL  issetugid\n  2642   2642 a b      RET   issetugid 0\n",
        "   613 w        CALL  issetugid()\n   613 w        RET   issetugid 0\n   613 w        CALL  exit(0)\n",
    ] {
        let Recognition::Neighbor(what) = KdumpText.recognize_bytes(text.as_bytes(), true) else {
            panic!("{text}")
        };
        assert!(what.contains("kdump -T"), "{what}");
        let error = KdumpText.open_bytes(text.as_bytes(), &ImportOptions::default()).err().unwrap();
        assert!(error.message.contains("without times"), "{error}");
    }
}

#[test]
fn commands_with_blanks_and_data_that_looks_like_records() {
    check(
        "  100 Web 1.000000 Content 1700000000.000001 CALL  write(1,0x2000,0x40)\n\
         \x20 100 Web 1.000000 Content 1700000000.000002 GIO   fd 1 wrote 64 bytes\n\
         \x20      \"a line\n\
         \t  100 demo 1700000000.000000 RET   open 3\n\
         \t  100 demo 1700000000.000000 CALL  exit(0)\n\
         \x20      \"\n\
         \x20      0x0000 3130 3020 6465 6d6f 2043 414c 4c20 2065 |100 demo CALL  e|\n\
         \x20 100 Web 1.000000 Content 1700000000.000009 RET   write 64/0x40\n",
        expect![[r##"
            # profctl plain 1 unit=ns
            1700000000000001000 "Web 1.000000 Content"-100 > write$
            1700000000000009000 "Web 1.000000 Content"-100 < write$
        "##]],
    );
}

#[test]
fn names_as_options_print_them() {
    check(
        "  100 demo 10.000001 CALL  F64  read[3](3,0x2000,0x10)\n\
         \x20 100 demo 10.000002 RET   F64  read[3] RESTART\n\
         \x20 100 demo 10.000003 CALL  [599](1)\n\
         \x20 100 demo 10.000004 RET   [599] -1 errno 78 Function not implemented\n\
         \x20 100 demo 10.000005123 CAP   operation requires CAP_READ\n\
         \x20 100 demo 10.000006 UNKNOWN(17)  \n",
        expect![[r##"
            # profctl plain 1 unit=ns
            10000001000 demo-100 > read$
            10000002000 demo-100 < read$
            10000003000 demo-100 > "[599]"$
            10000004000 demo-100 < "[599]"$
        "##]],
    );
}

#[test]
fn what_openbsd_logs_by_utrace_stands_on_the_next_line() {
    check(
        "   100 demo     1700000000.000001 USER  profctl: 13 bytes\n\
         \x20      \"pf> tcp_input\"\n\
         \x20  100 demo     1700000000.000002 USER  pf>: 6 bytes\n\
         \x20      \"in_sum\"\n\
         \x20  100 demo     1700000000.000003 USER  pf<: 6 bytes\n\
         \x20      \"in_sum\"\n\
         \x20  100 demo     1700000000.000004 USER  other: 4 bytes\n\
         \x20      \"blah\"\n\
         \x20  100 demo     1700000000.000005 MISC  \"profctl\" 13 bytes\n\
         \x20      \"pf< tcp_input\\0\"\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            1700000000000001000 demo-100 > tcp_input[user]
            1700000000000002000 demo-100 > in_sum[user]
            1700000000000003000 demo-100 < in_sum[user]
            1700000000000004000 demo-100 ! utrace[user]
            1700000000000005000 demo-100 < tcp_input[user]
        "#]],
    );
}

#[test]
fn threads_of_an_old_netbsd_are_told_apart_by_process() {
    check(
        "   500      1 a        10.000000001 CALL  getpid\n\
         \x20  501      1 a        10.000000002 CALL  getpid\n\
         \x20  500      2 a        10.000000003 CALL  getpid\n\
         \x20  500   7001 a        10.000000004 CALL  getpid\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            10000000001 a-500 > getpid$
            10000000002 a-501 > getpid$
            10000000003 500/2 > getpid$
            10000000004 a-7001 > getpid$
        "#]],
    );
}

#[test]
fn a_dialect_says_what_stamps_count_from() {
    let text = b"  1 a 0.000000 CALL  f\n  1 a 0.000002 RET   f 0\n  1 a 0.000003 CALL  g\n";
    let times = |dialect: Option<&str>| {
        let dialect = dialect.map(str::to_owned);
        let options = ImportOptions { dialect, ..ImportOptions::default() };
        let said = read(&KdumpText, text, &options);
        said.said().filter_map(|(at, _)| at.time).collect::<Vec<_>>()
    };
    assert_eq!(times(None), [0, 2_000, 3_000]);
    assert_eq!(times(Some("relative")), [0, 2_000, 5_000]);
    let options = ImportOptions { dialect: Some("vms".into()), ..ImportOptions::default() };
    let error = KdumpText.open_bytes(text, &options).err().unwrap();
    assert!(error.message.contains("absolute, elapsed or relative"), "{error}");
}

#[test]
fn the_documented_example_is_kdump_text() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/kdump.md"));
    let example = crate::formats::plain::show::example(page);
    assert!(matches!(KdumpText.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    let said = read(&KdumpText, example.as_bytes(), &ImportOptions::default());
    assert!(said.diags.is_empty() && said.said().len() > 3, "{:?}", said.diags);
}

proptest! {
    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        KdumpText.recognize_bytes(&bytes, true);
        if KdumpText.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            read(&KdumpText, &bytes, &ImportOptions::default());
        }
    }

    #[test]
    fn near_garbage_is_read_or_counted(
        input in "( {0,7}[0-9]{1,3}([/ ][0-9]{1,2})?( [a-zA-Z0-9.]{1,5}){1,2}( -?[0-9]{1,2}\\.[0-9]{5,7}){0,4} (CALL|RET |CSW|USER|PSIG|GIO|Events|UNKNOWN)  ?[a-z\"0-9 (]{0,12}\r?\n){1,6}",
        block in 1_usize..100,
    ) {
        if KdumpText.open_bytes(input.as_bytes(), &ImportOptions::default()).is_ok() {
            let said = read(&KdumpText, input.as_bytes(), &ImportOptions::default());
            let more: u64 = said.more_diags.iter().map(|more| more.1).sum();
            prop_assert!(said.diags.len() as u64 + more <= said.records);
            let read_in = |block_size| {
                let input = Single::new("test", Box::new(input.as_bytes()));
                let format = Some("kdump".to_owned());
                let options = ReadOptions { format, block_size, ..ReadOptions::default() };
                crate::stream(&input, &options, Calls::default(), &|_| ()).unwrap().sink.0
            };
            prop_assert_eq!(read_in(block), read_in(0));
        }
    }
}
