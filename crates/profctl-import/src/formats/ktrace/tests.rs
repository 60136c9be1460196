// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::{SpanId, Trace};

use super::dialect::DIALECTS;
use super::encode::{Said, What, encode};
use super::*;
use crate::emit::{CallPart, Emitter};
use crate::formats::plain::show::{check_cuts, read, show};
use crate::testing::{ImporterOfBytes, ReaderOfBytes};
use crate::{ReadOptions, Single};

macro_rules! fixtures {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"), "/../../fixtures/ktrace/", $name, ".ktrace.out"
        )))),*]
    };
}

/// One conversation in every dialect.
pub(super) static FIXTURES: &[(&str, &[u8])] = fixtures![
    "freebsd-v0-amd64" "freebsd-v0-i386" "freebsd-v1-amd64" "freebsd-v1-i386"
    "freebsd-v1-powerpc64be" "macos-ppc" "netbsd-v0-i386" "netbsd-v2-amd64" "netbsd-v2-i386"
    "netbsd-v2-sparc64be" "openbsd-amd64" "openbsd-i386" "openbsd-sparc64be"
];

static TRUNCATED: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/ktrace/freebsd-v1-amd64-truncated.ktrace.out"
));

fn fixture(name: &str) -> &'static [u8] {
    FIXTURES.iter().find(|(known, _)| *known == name).expect(name).1
}

/// The options that force a dialect.
pub(super) fn forced(name: &str) -> ImportOptions {
    ImportOptions { dialect: Some(name.into()), ..ImportOptions::default() }
}

/// The whole trace, read in blocks of that size by so many workers.
pub(super) fn load(
    bytes: &[u8],
    import: ImportOptions,
    block_size: usize,
    workers: usize,
) -> Trace {
    let input = Single::new("-", Box::new(bytes));
    let format = Some("ktrace".into());
    let options = ReadOptions { format, import, workers, block_size, ..ReadOptions::default() };
    crate::load(&input, &options, &|_| {}).expect("a trace").0
}

/// Calls in the order of their entry: time since the start, who, what, wall, off the CPU.
fn calls(trace: &Trace) -> String {
    let spans = &trace.spans;
    let mut rows: Vec<SpanId> = spans.ids().collect();
    rows.sort_by_key(|id| (spans.start[id.index()], id.index()));
    let mut text = String::new();
    for id in rows {
        let row = id.index();
        let func = &trace.names.funcs[spans.func[id]];
        let thread = &trace.names.threads[spans.thread[row]];
        let partial = if spans.fidelity[row].is_partial() { " partial" } else { "" };
        writeln!(
            text,
            "{} {} {}{} {} {} wall {} off {}{partial}",
            (spans.start[row] - trace.meta.first).0,
            thread.name,
            "  ".repeat(spans.depth[row] as usize),
            func.name,
            func.module.as_deref().unwrap_or("-"),
            func.kind.name(),
            spans.wall[row].0,
            spans.off_cpu[row].0,
        )
        .unwrap();
    }
    text
}

/// The same sequence as in `docs/formats/ktrace.md`, in the notation of [`calls`].
const CALLS: &str = "
0 demo ktrace - syscall wall 0 off 0 partial
2000 demo execve - syscall wall 198000 off 0
210000 demo open - syscall wall 50000 off 0
212000 demo   page_fault - function wall 18000 off 0
300000 demo tcp_input user function wall 3040000 off 3000000
310000 demo   read - syscall wall 3020000 off 3000000
400000 demo fork - syscall wall 0 off 0 partial
450000 demo getpid - syscall wall 1000 off 0
3399460 demo exit - syscall wall 0 off 0 partial
3500000 demo exit - syscall wall 0 off 0 partial
";

#[test]
fn every_dialect_tells_the_same() {
    for (name, bytes) in FIXTURES {
        let trace = load(bytes, ImportOptions::default(), 0, 1);
        let is_freebsd = name.starts_with("freebsd");
        let has_switches = !name.starts_with("openbsd");
        let counts_micros =
            ["freebsd-v0", "netbsd-v0", "macos"].iter().any(|v| name.starts_with(v));
        let mut expected = CALLS[1..].to_owned();
        if !is_freebsd {
            let fault = expected.lines().find(|line| line.contains("page_fault")).unwrap();
            expected = expected.replace(&format!("{fault}\n"), "");
        }
        if !has_switches {
            expected = expected.replace("off 3000000", "off 0");
        }
        if counts_micros {
            expected = expected.replace("3399460", "3399000");
        }
        assert_eq!(calls(&trace), expected, "{name}");
        assert_eq!(trace.meta.knows_off_cpu, has_switches, "{name}");
        assert_eq!(trace.gaps.len(), usize::from(is_freebsd), "{name}: only FreeBSD tells losses");
        assert_eq!(trace.meta.timebase.resolution.0, if counts_micros { 1_000 } else { 1 });
        assert_eq!(trace.meta.first.0, 1_700_000_000_000_000_000, "{name}");
        let marks: Vec<_> =
            trace.marks.iter().map(|mark| trace.names.funcs[mark.func].name.as_str()).collect();
        assert_eq!(marks, ["namei", "namei", "SIGALRM"], "{name}");
        let threads: Vec<_> =
            trace.names.threads.iter().map(|thread| thread.tid.unwrap()).collect();
        let expected = match *name {
            "macos-ppc" | "netbsd-v0-i386" => [100, 101], // only processes are numbered
            _ => [1001, 1002],
        };
        assert_eq!(threads, expected, "{name}");
    }
}

#[test]
fn events_of_a_dialect_with_everything() {
    expect![[r##"
        # profctl plain 1 unit=ns
        1700000000000000000 cpu1 #1001 < ktrace$
        1700000000000002000 cpu1 #1001 > execve$
        1700000000000003000 cpu1 #1001 ! namei
        1700000000000200000 cpu1 demo-1001 < execve$
        1700000000000210000 cpu1 demo-1001 > open$
        1700000000000212000 cpu1 demo-1001 > page_fault
        1700000000000230000 cpu1 demo-1001 < page_fault
        1700000000000231000 cpu1 demo-1001 ! namei
        1700000000000260000 cpu1 demo-1001 < open$
        1700000000000300000 cpu1 demo-1001 > tcp_input[user]
        1700000000000310000 cpu1 demo-1001 > read$
        1700000000000312000 cpu1 switch demo-1001 ?
        1700000000000400000 cpu1 demo-1002 < "fork"$
        1700000000000450000 cpu1 demo-1002 > getpid$
        1700000000000451000 cpu1 demo-1002 < getpid$
        1700000000003312000 cpu1 switch ? demo-1001
        1700000000003330000 cpu1 demo-1001 < read$
        1700000000003340000 cpu1 demo-1001 < tcp_input[user]
        1700000000003400000 cpu1 demo-1001 ! SIGALRM
        1700000000003399460 cpu1 demo-1002 > exit$
        1700000000003500000 lost
        1700000000003500000 cpu1 demo-1001 > exit$
    "##]]
    .assert_eq(&show(&Ktrace, fixture("freebsd-v1-amd64"), &ImportOptions::default()));
}

#[test]
fn a_file_that_was_cut_says_so() {
    let said = read(&Ktrace, TRUNCATED, &ImportOptions::default());
    assert_eq!(said.diags.len(), 1);
    assert_eq!(said.diags[0].code.name, CUT_RECORD.name);
    let whole = read(&Ktrace, fixture("freebsd-v1-amd64"), &ImportOptions::default());
    // The record that was cut is the last; it held a gap and an entry.
    assert!(said.said().eq(whole.said().take(whole.said().len() - 2)));
}

#[test]
fn every_cut_of_every_fixture() {
    for (_, bytes) in FIXTURES {
        check_cuts(&Ktrace, bytes, &ImportOptions::default());
        for cut in 0..bytes.len() {
            let _ = Ktrace.recognize_bytes(&bytes[..cut], true);
            if let Ok(opened) = Ktrace.open_bytes(&bytes[..cut], &ImportOptions::default()) {
                let mut said = Emitter::default();
                opened.reader.fork().read_bytes(&bytes[..cut], true, &opened.state, &mut said);
            }
        }
    }
}

#[test]
fn fixtures_are_recognized_as_what_they_are() {
    let mut text = String::new();
    for (name, bytes) in FIXTURES {
        let found = detect::best(bytes, true).expect(name);
        writeln!(text, "{name}: {}", found.dialect.full_name(found.endian)).unwrap();
        assert!(matches!(Ktrace.recognize_bytes(bytes, true), Recognition::Yes(_)), "{name}");
    }
    expect![[r#"
        freebsd-v0-amd64: freebsd-v0-64
        freebsd-v0-i386: freebsd-v0-32
        freebsd-v1-amd64: freebsd-v1-64
        freebsd-v1-i386: freebsd-v1-32
        freebsd-v1-powerpc64be: freebsd-v1-64-be
        macos-ppc: macos-32-be
        netbsd-v0-i386: netbsd-v0-32
        netbsd-v2-amd64: netbsd-v2-64
        netbsd-v2-i386: netbsd-v2-32
        netbsd-v2-sparc64be: netbsd-v2-64-be
        openbsd-amd64: openbsd-64
        openbsd-i386: openbsd-32
        openbsd-sparc64be: openbsd-64-be
    "#]]
    .assert_eq(&text);
}

pub(super) const NOW: u64 = 1_700_000_000_000_000_000;

fn said(what: What, micros: u64) -> Said {
    let time = NOW + micros * 1_000;
    Said { what, pid: 100, thread: 100_077, cpu: 2, comm: "demo", time, dropped: false }
}

fn call(number: u16, micros: u64) -> Said {
    said(What::Call { number, arguments: 1 }, micros)
}

fn ret(number: u16, micros: u64) -> Said {
    said(What::Return { number, failed: false }, micros)
}

fn every_dialect() -> impl Iterator<Item = (Dialect, Endian)> {
    let endians = [Endian::Little, Endian::Big];
    DIALECTS.iter().flat_map(move |d| endians.map(|endian| (d.on(endian), endian)))
}

/// One call with one argument and its return are enough to distinguish all dialects.
#[test]
fn all_dialects_are_told_apart() {
    for (dialect, endian) in every_dialect() {
        let bytes = encode(&dialect, endian, &[call(3, 1), ret(3, 2), call(6, 3), ret(6, 4)]);
        let found = detect::best(&bytes, true).map(|f| f.dialect.full_name(f.endian));
        assert_eq!(found, Some(dialect.full_name(endian)));
        let bytes = encode(&dialect, endian, &[ret(45, 1)]);
        assert!(
            matches!(Ktrace.recognize_bytes(&bytes, true), Recognition::Maybe(_)),
            "{}",
            dialect.name
        );
    }
}

#[test]
fn a_dialect_can_be_forced() {
    let open = |bytes: &[u8], name: &str| Ktrace.open_bytes(bytes, &forced(name));
    let bytes = fixture("freebsd-v1-powerpc64be");
    for (name, expected) in [
        ("freebsd-v1-64", "freebsd-v1-64-be (FreeBSD, 64 bits, big-endian)"),
        ("freebsd-v1-64-le", "freebsd-v1-64 (FreeBSD, 64 bits, little-endian)"),
        ("netbsd-v0-32-be", "netbsd-v0-32-be (NetBSD, 32 bits, big-endian)"),
        ("netbsd-v0-32", "netbsd-v0-32 (NetBSD, 32 bits, little-endian)"),
    ] {
        assert_eq!(open(bytes, name).unwrap().facts, [("dialect", expected.to_owned())]);
    }
    // A board without a battery starts in 1970: refused by detection, read with `--dialect`.
    let early = Said { time: 5_000_000_000, ..call(20, 0) };
    let (dialect, _) = by_name_le("netbsd-v2-32");
    let bytes = encode(&dialect, Endian::Little, &[early]);
    assert_eq!(Ktrace.recognize_bytes(&bytes, true), Recognition::No);
    let opened = open(&bytes, "netbsd-v2-32").unwrap();
    let mut said = Emitter::default();
    opened.reader.fork().read_bytes(&bytes, true, &opened.state, &mut said);
    assert_eq!(said.said().next().unwrap().0.time, Some(5_000_000_000));

    let error = open(&bytes, "plan9").err().unwrap().message;
    assert!(error.starts_with("unknown dialect `plan9`"), "{error}");
    assert!(DIALECTS.iter().all(|dialect| error.contains(dialect.name)), "{error}");
    let error = Ktrace.open_bytes(b"nothing", &ImportOptions::default()).err().unwrap().message;
    assert!(error.contains("no record of ktrace.out begins here") && error.contains("bsd44-32"));
}

fn by_name_le(name: &str) -> (Dialect, Endian) {
    (dialect::by_name(name).expect(name).0.on(Endian::Little), Endian::Little)
}

#[test]
fn the_files_of_todays_macos_are_named() {
    let mut newest = vec![0; 64];
    newest[1] = 0x10;
    newest[16] = 125;
    newest[20] = 3;
    for head in [&newest[..], b"\x01\x01\xaa\x55....", b"\x00\x02\xaa\x55...."] {
        let verdict = Ktrace.recognize_bytes(head, true);
        assert!(matches!(&verdict, Recognition::Neighbor(text) if text.contains("kdebug")));
    }
    newest[16] = 124;
    assert_eq!(Ktrace.recognize_bytes(&newest, true), Recognition::No);
}

/// The calls of `records`, written in a dialect.
#[track_caller]
fn check(name: &str, records: &[Said], expected: Expect) {
    let (dialect, endian) = by_name_le(name);
    expected.assert_eq(&show_calls(&load(&encode(&dialect, endian, records), forced(name), 0, 1)));
}

/// The calls, and what was wrong.
pub(super) fn show_calls(trace: &Trace) -> String {
    let mut text = calls(trace);
    for entry in trace.meta.diags.sorted() {
        writeln!(text, "{} {}", entry.code.name, entry.count).unwrap();
    }
    text
}

/// What FreeBSD writes for readers only is not an event and lengthens nothing, as kdump prints
/// none.
#[test]
fn bookkeeping_has_no_time() {
    let (dialect, endian) = by_name_le("freebsd-v1-64");
    let calls = [call(3, 10), ret(3, 20)];
    let around = [&[said(What::Abi(0x209), 0)], &calls[..], &[said(What::ProcessEnd, 90)]].concat();
    let read = |records: &[Said]| {
        let trace = load(&encode(&dialect, endian, records), forced("freebsd-v1-64"), 0, 1);
        let meta = &trace.meta;
        (meta.last - meta.first, meta.events, show_calls(&trace))
    };
    assert_eq!(read(&around), read(&calls));
    assert_eq!(read(&calls).0.0, 10_000);
}

#[test]
fn a_linux_program_uses_the_numbers_of_linux() {
    let abi = |flags, micros| said(What::Abi(flags), micros);
    let execve = [call(59, 1), abi(0x203, 2), ret(59, 3), call(0, 4), ret(0, 5)];
    let child = Said { pid: 101, thread: 100_078, comm: "native", ..call(3, 6) };
    let back = [call(59, 7), abi(0x209, 8), ret(59, 9), call(3, 10), ret(3, 11)];
    let records = [&execve[..], &[child], &back].concat();
    check(
        "freebsd-v1-64",
        &records,
        expect![[r#"
            0 demo execve - syscall wall 2000 off 0
            3000 demo read - syscall wall 1000 off 0
            5000 native read - syscall wall 0 off 0 partial
            6000 demo execve - syscall wall 2000 off 0
            9000 demo read - syscall wall 1000 off 0
            stitch/unclosed-entry 1
        "#]],
    );
    let emulation = |name, micros| said(What::Emulation(name), micros);
    check(
        "netbsd-v2-32",
        &[
            emulation("netbsd", 0),
            call(59, 1),
            emulation("linux", 2),
            ret(59, 3),
            call(192, 4),
            ret(192, 5),
            emulation("sunos", 6),
            call(3, 7),
            ret(3, 8),
        ],
        expect![[r#"
            0 demo execve - syscall wall 2000 off 0
            3000 demo mmap2 - syscall wall 1000 off 0
            6000 demo [3] - syscall wall 1000 off 0
        "#]],
    );
}

#[test]
fn announcements_and_what_is_none() {
    let user = |text: &str, micros| said(What::User(text.into()), micros);
    let records = [
        call(335, 1), // utrace itself is omitted
        user("pf> parse", 2),
        ret(335, 3),
        user("pf>read", 4),
        call(3, 5),
        ret(3, 6),
        user("pf<read\0", 7),
        user("pf>", 8),
        user("secret", 9),
        user("pf< parse", 10),
    ];
    check(
        "freebsd-v0-64",
        &records,
        expect![[r#"
            0 demo parse user function wall 8000 off 0
            2000 demo   read user function wall 3000 off 0
            3000 demo     read - syscall wall 1000 off 0
        "#]],
    );
    let (dialect, endian) = by_name_le("freebsd-v0-64");
    let bytes = encode(&dialect, endian, &records);
    let said = read(&Ktrace, &bytes, &forced("freebsd-v0-64"));
    assert!(said.names.iter().all(|func| !func.name.contains("secret")));
    let id = [b"pf>".as_slice(), &[0; 17], b"of the id"].concat();
    assert_eq!(payload::announcement(&id, 20), Some((CallPart::Enter, &b"of the id"[..])));
    assert_eq!(payload::announcement(&id[..10], 20), None);
}

#[test]
fn numbers_without_a_name_are_shown_as_numbers() {
    let (dialect, endian) = by_name_le("netbsd-v2-64");
    let records = [call(501, 1), ret(501, 2), call(4097, 3), ret(4097, 4), call(0x7fff, 5)];
    let said = read(&Ktrace, &encode(&dialect, endian, &records), &ImportOptions::default());
    let names: Vec<_> = said.names[1..].iter().map(|func| func.name.as_str()).collect();
    assert_eq!(names, ["[501]", "[out of range]"]);
}

#[test]
fn what_is_private_is_not_kept() {
    for (dialect, endian) in every_dialect() {
        let records = [
            call(3, 1),
            said(What::Path("/home/user/diary".into()), 2),
            said(What::Data(b"dear diary".to_vec()), 3),
            ret(3, 4),
        ];
        let bytes = encode(&dialect, endian, &records);
        let text = show(&Ktrace, &bytes, &forced(&dialect.full_name(endian)));
        assert!(!text.contains("diary") && text.contains("namei"), "{text}");
    }
}

/// Records with garbage between them, and what is expected of them at any size of blocks.
#[test]
fn garbage_is_skipped_and_counted_once() {
    for (dialect, endian) in every_dialect() {
        let first = encode(&dialect, endian, &[call(3, 1), ret(3, 2), call(20, 3), ret(20, 4)]);
        let second = encode(&dialect, endian, &[call(6, 5), ret(6, 6)]);
        let garbage = [0xfe_u8; 333];
        let bytes = [&first[..], &garbage, &second, &[0; 7], &second, &garbage].concat();
        let name = dialect.full_name(endian);
        let read =
            |block_size, workers| show_calls(&load(&bytes, forced(&name), block_size, workers));
        let whole = read(0, 1);
        assert!(whole.contains(&format!("{} 3\n", SKIPPED_RECORD.name)), "{name}: {whole}");
        assert_eq!(whole.matches("close").count(), 2, "{name}: {whole}");
        for (block_size, workers) in [(1, 1), (7, 2), (100, 1), (250, 3), (400, 2), (700, 1)] {
            assert_eq!(read(block_size, workers), whole, "{name}: blocks of {block_size}");
        }
    }
}

#[test]
fn absurd_lengths_end_nothing() {
    let (dialect, endian) = by_name_le("freebsd-v1-64");
    let mut bytes = encode(&dialect, endian, &[call(3, 1), ret(3, 2), call(6, 3), ret(6, 4)]);
    let second = encode(&dialect, endian, &[call(3, 1)]).len();
    for length in [u32::MAX, 1 << 30, header::PAYLOAD_MAX as u32 + 1] {
        bytes[second..second + 4].copy_from_slice(&length.to_le_bytes());
        let said = read(&Ktrace, &bytes, &ImportOptions::default());
        assert_eq!((said.said().len(), said.diags.len()), (3, 1));
        assert_eq!(said.diags[0].code.name, SKIPPED_RECORD.name);
        assert_eq!(said.diags[0].offset as usize, second);
    }
    // The longest valid one reaches past the end: the input is truncated there.
    bytes[second..second + 4].copy_from_slice(&(header::PAYLOAD_MAX as u32).to_le_bytes());
    let said = read(&Ktrace, &bytes, &ImportOptions::default());
    assert_eq!((said.said().len(), said.diags[0].code.name), (1, CUT_RECORD.name));
}

/// Old NetBSD counts the threads of a process from 1, where others have one number for each thread
/// of the system.
#[test]
fn threads_are_told_apart() {
    let records =
        [(100, 1), (100, 2), (101, 1), (101, 2), (100, 4_711), (7, 9), (100, 0), (100, 1 << 31)]
            .map(|(pid, thread)| Said { pid, thread, ..call(3, 1) });
    for (name, expected) in [
        ("netbsd-v2-64", "demo-100 100/2 demo-101 101/2 demo-4711 demo-9"),
        ("freebsd-v0-32", "demo-1 demo-2 demo-4711 demo-9 demo-100"),
        ("netbsd-v0-32", "demo-100 demo-101 demo-7"),
    ] {
        let (dialect, endian) = by_name_le(name);
        let trace = load(&encode(&dialect, endian, &records), forced(name), 0, 1);
        let labels: Vec<_> = trace.names.threads.iter().map(profctl_model::Thread::label).collect();
        assert_eq!(labels.join(" "), expected, "{name}");
    }
}

/// kdump prints what ktrace wrote, so both formats give the same result for one trace.
#[test]
fn kdump_tells_the_same() {
    static PRINTED: &[u8] = include_bytes!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/kdump/freebsd-H-T.txt"
    ));
    let input = Single::new("-", Box::new(PRINTED));
    let (printed, origin) = crate::load(&input, &ReadOptions::default(), &|_| {}).unwrap();
    assert_eq!(origin.format.name, "kdump");
    let recorded = load(fixture("freebsd-v0-amd64"), ImportOptions::default(), 0, 1);
    // Text has no space for the module.
    let told = |trace: &Trace| calls(trace).replace("tcp_input user", "tcp_input -");
    assert_eq!(told(&printed), told(&recorded));
    assert_eq!(printed.gaps, recorded.gaps);
    assert_eq!(printed.meta.last, recorded.meta.last);
}
