// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use profctl_model::Trace;
use proptest::prelude::*;
use regex::bytes::Regex;

use super::*;
use crate::formats::plain::show::show;
use crate::testing::{ImporterOfBytes, told, trace};
use crate::{Memory, ReadOptions, load};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/strace");
    profctl_testkit::fixtures::read(&folder.join(name).with_extension("txt"))
}

#[track_caller]
fn check(input: &str, expected: Expect) {
    expected.assert_eq(&show(&StraceLog, input.as_bytes(), &ImportOptions::default()));
}

/// A call as `(thread, name, length)`, whole ones only.
type Call = (Option<u64>, String, u64);

/// The whole calls of a trace, in an order that does not depend on that of the log.
fn calls(trace: &Trace) -> Vec<Call> {
    let spans = &trace.spans;
    let whole = spans.ids().filter(|id| !spans.fidelity[id.index()].is_partial());
    let mut calls: Vec<Call> = whole
        .map(|id| {
            let thread = &trace.names.threads[spans.thread[id.index()]];
            let name = trace.names.funcs[spans.func[id]].name.clone();
            (thread.tid, name, spans.wall[id.index()].0)
        })
        .collect();
    calls.sort();
    calls
}

/// The same, as an independent regular expression finds them.
fn calls_of_text(text: &[u8]) -> Vec<Call> {
    let line = Regex::new(
        r"(?-u)^(?:\[pid +)?(\d+)?(?:<\w+>)?\]? *(?:[\d:.]+) +(?:\(\+ +[\d.]+\) )?(?:\[ *\d+\] \[[0-9a-f]+\] )?(?:<\.\.\. )?([a-z0-9_]+)(?:\(| resumed>).* <(\d+)\.(\d+)>$",
    )
    .unwrap();
    let number = |text: &[u8]| std::str::from_utf8(text).unwrap().parse::<u64>().unwrap();
    let mut calls: Vec<Call> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|text| line.captures(text))
        .map(|found| {
            let decimals = found[4].len() as u32;
            let length =
                number(&found[3]) * 1_000_000_000 + number(&found[4]) * 10_u64.pow(9 - decimals);
            let name = String::from_utf8_lossy(&found[2]).into_owned();
            (found.get(1).map(|tid| number(tid.as_bytes())), name, length)
        })
        .collect();
    calls.sort();
    calls
}

#[test]
fn every_call_of_the_log_is_a_call_of_its_length() {
    for name in
        ["threads", "relative", "whole-seconds", "both-times", "summary", "stacks", "nanoseconds"]
    {
        let text = fixture(name);
        let expected = calls_of_text(&text);
        assert!(expected.len() >= 8, "{name}: {}", expected.len());
        assert_eq!(
            calls(&trace("strace", &text, ImportOptions::default(), 0, 1)),
            expected,
            "{name}"
        );
    }
}

/// `strace -C -w` prints how long system calls took, and how often they returned, as it counted
/// itself.
#[test]
fn sums_are_those_of_strace() {
    let text = fixture("summary");
    let trace = trace("strace", &text, ImportOptions::default(), 0, 1);
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (_, name, length) in calls(&trace) {
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + 1, sum.1 + length);
    }
    let row = Regex::new(r"(?m)^ *[\d.]+ +(\d+)\.(\d{6}) +\d+ +(\d+) +(?:\d+ +)?(\w+)$").unwrap();
    let mut rows = 0;
    for found in row.captures_iter(&text) {
        let text = |at: usize| String::from_utf8_lossy(&found[at]).into_owned();
        let number = |at: usize| text(at).parse::<u64>().unwrap();
        if text(4) == "total" {
            continue;
        }
        let (calls, nanos) = sums[&text(4)];
        assert_eq!(calls, number(3), "calls of {}", text(4));
        // Every line cuts its length to a microsecond.
        let table = (number(1) * 1_000_000 + number(2)) * 1_000;
        assert!(table.abs_diff(nanos) <= (calls + 1) * 1_000, "{}: {table} {nanos}", text(4));
        rows += 1;
    }
    assert_eq!(rows, sums.len());
}

#[test]
fn files_of_threads_are_one_trace() {
    let text = fixture("threads");
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let space = line.iter().position(|byte| *byte == b' ').unwrap();
        let name = format!("out.{}", String::from_utf8_lossy(&line[..space]));
        files.entry(name).or_default().extend_from_slice(&line[space + 1..]);
    }
    assert_eq!(files.len(), 6);
    let files = Memory::new("out", files.into_iter().collect());
    assert!(matches!(StraceLog.recognize_directory(&files), Recognition::Yes(_)));
    let options = ReadOptions { format: Some("strace".into()), ..ReadOptions::default() };
    let read = load(&files, &options, &|_| ()).unwrap().0;
    let whole = trace("strace", &text, ImportOptions::default(), 0, 1);
    assert_eq!(calls(&read), calls(&whole));
    assert_eq!(read.marks.len(), whole.marks.len());

    let others = |names: &[&str]| {
        let file = |name: &&str| ((*name).to_owned(), b"1.5 f() = 0 <0.1>\n".to_vec());
        Memory::new("out", names.iter().map(file).collect())
    };
    for names in [&["out.1", "put.2"][..], &["out.1", "README"], &["out.txt", "out.c"]] {
        assert_eq!(StraceLog.recognize_directory(&others(names)), Recognition::No, "{names:?}");
    }
}

#[test]
fn a_call_in_every_state() {
    check(
        "7 1700000000.000001 execve(\"/bin/my shell\", [\"a) = 1\"], 0x7 /* 1 var */) = 0 <0.000100>\n\
         7 1700000000.000201 clone(child_stack=NULL, flags=SIGCHLD) = 8 <0.000050>\n\
         7 1700000000.000301 wait4(-1,  <unfinished ...>\n\
         8 1700000000.000302 read(3, \"a <0.5>\", 9) = 7</tmp/x = (y)> <0.000002>\n\
         8 1700000000.000304 pause() = ? ERESTARTNOHAND (To be restarted) <0.000100>\n\
         8 1700000000.000405 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---\n\
         8 1700000000.000410 nanosleep({tv_sec=1, tv_nsec=0},  <unfinished ...>) = ?\n\
         8 1700000000.000500 +++ killed by SIGKILL +++\n\
         7 1700000000.000502 <... wait4 resumed>[{WIFSIGNALED(s)}], 0, NULL) = 8 <0.000200>\n\
         7 1700000000.000600 exit_group(0) = ?\n\
         7 1700000000.000700 +++ exited with 0 +++\n",
        expect![[r##"
            # profctl plain 1 unit=ns
            1700000000000001000 #7 . execve$ 100000
            - "my shell"-7 is tid=7
            1700000000000201000 #7 . clone$ 50000
            1700000000000201000 #7 fork #8
            1700000000000301000 #7 > wait4$
            1700000000000302000 #8 . read$ 2000
            1700000000000304000 #8 . pause$ 100000
            1700000000000405000 #8 ! SIGALRM "SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL}"
            1700000000000410000 #8 > nanosleep$
            1700000000000500000 #8 ! exit "killed by SIGKILL"
            1700000000000500000 #8 exits
            1700000000000502000 #7 < wait4$ wall=200000
            1700000000000600000 #7 > exit_group$
            1700000000000700000 #7 ! exit "exited with 0"
            1700000000000700000 #7 exits
        "##]],
    );
}

#[test]
fn output_to_a_terminal() {
    // The process that is left goes unnamed, and messages tear lines in two.
    let (text, codes) = told(
        "strace",
        "1.000001 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 8 attached\n\
         ) = 8 <0.000050>\n\
         [pid     7] 1.000100 wait4(-1,  <unfinished ...>\n\
         [pid     8] 1.000110 write(1, \"hi\\n\", 3hi\n\
         ) = 3 <0.000001>\n\
         [pid     8] 1.000120 +++ exited with 0 +++\n\
         1.000130 <... wait4 resumed>[{s}], 0, NULL) = 8 <0.000030>\n\
         1.000140 getpid() = 7 <0.000002>\n",
        ImportOptions { dialect: Some("absolute".into()), ..ImportOptions::default() },
    );
    expect![[r#"
        7 0 clone 1000001000+50000 net 50000
        7 0 wait4 1000100000+30000 net 30000
        7 0 getpid 1000140000+2000 net 2000
        8 0 write 1000110000+1000 net 1000
        8 mark exit 1000120000
    "#]]
    .assert_eq(&text);
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn a_recording_of_a_terminal_is_read_whole() {
    let text = fixture("terminal");
    let trace = trace("strace", &text, ImportOptions::default(), 0, 1);
    let codes: Vec<_> = trace.meta.diags.sorted().iter().map(|e| e.code.name).collect();
    // Calls that their threads did not live to return from.
    assert_eq!(codes, ["stitch/unclosed-entry"]);
    let threads: Vec<_> = trace.names.threads.iter().map(profctl_model::Thread::label).collect();
    assert_eq!(threads.len(), 6, "{threads:?}");
}

#[test]
fn times_of_day_go_on_behind_midnight() {
    let (text, _) = told(
        "strace",
        "7 23:59:59.999990 read(3,  <unfinished ...>\n\
         8 23:59:59.999995 getpid() = 8 <0.000001>\n\
         7 00:00:00.000010 <... read resumed>\"\", 1) = 0 <0.000020>\n",
        ImportOptions::default(),
    );
    expect![[r#"
        7 0 read 86399999990000+20000 net 20000
        8 0 getpid 86399999995000+1000 net 1000
    "#]]
    .assert_eq(&text);
}

#[test]
fn times_since_the_record_before_add_up() {
    let text = "7      0.000000 brk(NULL) = 0x5 <0.000002>\n\
                7      0.000010 read(3,  <unfinished ...>\n\
                8      0.000005 getpid() = 8 <0.000001>\n\
                7      0.000007 <... read resumed>\"\", 1) = 0 <0.000012>\n";
    let (shown, _) = told("strace", text, ImportOptions::default());
    expect![[r#"
        7 0 brk 0+2000 net 2000
        7 0 read 10000+12000 net 12000
        8 0 getpid 15000+1000 net 1000
    "#]]
    .assert_eq(&shown);
    for block_size in 1..text.len() {
        let blocks = trace("strace", text.as_bytes(), ImportOptions::default(), block_size, 2);
        assert_eq!(crate::testing::show(&blocks), shown, "{block_size} bytes a block");
    }
}

#[test]
fn without_lengths_calls_count_as_incomplete() {
    let (text, codes) = told(
        "strace",
        "7 1700000000.000010 getpid() = 7\n\
         7 1700000000.000020 read(3,  <unfinished ...>\n\
         8 1700000000.000025 getpid() = 8\n\
         7 1700000000.000030 <... read resumed>\"\", 1) = 0\n",
        ImportOptions::default(),
    );
    expect![[r#"
        7 0 getpid 1700000000000010000+0 net 0 unseen exit
        7 0 read 1700000000000020000+10000 net 10000
        8 0 getpid 1700000000000025000+0 net 0 unseen exit
    "#]]
    .assert_eq(&text);
    assert_eq!(codes, ["strace/no-length 2"]);
}

#[test]
fn a_log_without_times_and_lengths_is_named() {
    let text =
        b"execve(\"/bin/true\", [\"true\"], 0x7 /* 1 var */) = 0\nbrk(NULL) = 0x5\nclose(3) = 0\n";
    let Recognition::Neighbor(advice) = StraceLog.recognize_bytes(text, true) else {
        panic!("not named")
    };
    assert!(advice.contains("strace -f -ttt -T"), "{advice}");
    let error = StraceLog.open_bytes(text, &ImportOptions::default()).err().unwrap();
    assert!(error.message.contains("without times"), "{error}");
}

#[test]
fn lengths_alone_are_laid_end_to_end() {
    let text = fixture("without-times");
    let trace = trace("strace", &text, ImportOptions::default(), 0, 1);
    let sum: u64 = calls(&trace).iter().map(|call| call.2).sum();
    let lengths = Regex::new(r"(?m) <0\.(\d{6})>$").unwrap();
    let stated: u64 = lengths
        .captures_iter(&text)
        .map(|found| String::from_utf8_lossy(&found[1]).parse::<u64>().unwrap() * 1_000)
        .sum();
    assert_eq!(sum, stated);
}

#[test]
fn an_unknown_dialect_is_refused() {
    let options = ImportOptions { dialect: Some("vms".into()), ..ImportOptions::default() };
    let error = StraceLog.open_bytes(&fixture("threads"), &options).err().unwrap();
    assert!(error.message.contains("absolute, time-of-day or relative"), "{error}");
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_the_cut() {
    for name in ["threads", "stacks"] {
        let text = fixture(name);
        for cut in text.len() - 2_000..text.len() {
            let cut_text = &text[..cut];
            let trace = trace("strace", cut_text, ImportOptions::default(), 0, 1);
            assert_eq!(calls(&trace), calls_of_text(cut_text), "{name} cut at {cut}");
        }
    }
}

#[test]
fn the_documented_example_is_a_log() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/strace.md"));
    let example = crate::formats::plain::show::example(page);
    assert!(matches!(StraceLog.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    assert!(told("strace", example, ImportOptions::default()).1.is_empty());
}

proptest! {
    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        StraceLog.recognize_bytes(&bytes, true);
        if StraceLog.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            trace("strace", &bytes, ImportOptions::default(), 0, 1);
        }
    }

    #[test]
    fn near_garbage_is_the_same_in_any_blocks(
        input in "((\\[pid [0-9]\\] |[0-9] )?([0-9]{10}|[0-9]{2}:[0-5][0-9]:[0-5][0-9]|0)\\.[0-9]{1,9} (<\\.\\.\\. )?[ab]( resumed>|\\()[a) ]{0,3}(= [0-9?]| <unfinished \\.\\.\\.>|strace: Process [0-9] attached)?( <0\\.[0-9]{1,7}>)?(\r?\n)){1,8}",
        block in 1_usize..100,
    ) {
        if StraceLog.open_bytes(input.as_bytes(), &ImportOptions::default()).is_ok() {
            let read_in = |block_size, workers| {
                let text = input.as_bytes();
                let trace = trace("strace", text, ImportOptions::default(), block_size, workers);
                (crate::testing::show(&trace), trace.meta.diags.sorted().iter().map(|e| e.count).sum::<u64>())
            };
            let whole = read_in(0, 1);
            prop_assert_eq!(&read_in(block, 1), &whole);
            prop_assert_eq!(&read_in(block, 2), &whole);
        }
    }
}
