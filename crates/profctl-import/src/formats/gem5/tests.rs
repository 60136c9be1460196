// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::flow::testing::{calls, check_blocks, trace};
use crate::formats::plain::show::{example, read};
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gem5/", $name))
    };
}

static X86: &str = fixture!("calls-x86.txt");
static ARM: &str = fixture!("calls-arm.txt");

#[track_caller]
fn check(log: &str, expected: Expect) {
    expected.assert_eq(&calls(&ExecTrace, log, &ImportOptions::default()));
}

#[test]
fn addresses_and_parts_of_instructions() {
    check(
        X86,
        expect![[r#"
        _start~ 0 6000 1000
          main 1000 4000 2500
            helper.part.0 2500 1500 1500
          tail 5000 1000 1000
        stitch/unclosed-entry 1
    "#]],
    );
}

#[test]
fn symbols_without_addresses() {
    check(
        ARM,
        expect![[r#"
        main 31000 5000 2000
          fib 32000 3000 2000
            fib 33000 1000 1000
        ~_start~ 36000 0 0
        stitch/unclosed-entry 1
        flow/foreign-line 1
    "#]],
    );
}

#[test]
fn parts_alone_are_enough() {
    let parts: Vec<_> = X86.lines().filter(|line| line.contains(". ")).collect();
    let parts = parts.join(
        "
",
    ) + "
";
    check(
        &parts,
        expect![[r#"
        _start~ 0 4000 1000
          main~ 1000 3000 2000
            helper.part.0 3000 1000 1000
        stitch/unclosed-entry 2
    "#]],
    );
}

/// The branch goes where the recursive call would return to, and is not a return.
#[test]
fn a_branch_over_a_recursive_call_is_no_return() {
    let f = |time: u32, at: u64, instruction: &str| {
        let pc = 0x40_0100 + at;
        format!("{time}: system.cpu: T0 : {pc:#x} @f+{at} : {instruction} : IntAlu : \n")
    };
    let main = |time: u32, at: u64, instruction: &str| {
        let pc = 0x40_0200 + at;
        format!("{time}: system.cpu: T0 : {pc:#x} @main+{at} : {instruction} : IntAlu : \n")
    };
    for (branch, call, ret) in [
        ("JNZ_I", "CALL_NEAR_I", "RET_NEAR"),
        ("b.ne <f+15>", "bl <f>", "ret"),
        ("b <f+15>", "bl <f>", "ret"),
    ] {
        let log = [
            main(1000, 0, call),
            f(2000, 0, "mov"),
            f(3000, 10, call),
            f(4000, 0, "mov"),
            f(5000, 4, branch),
            f(6000, 15, ret),
            f(7000, 15, ret),
            main(8000, 5, "mov"),
        ];
        check(
            &log.concat(),
            expect![[r#"
                main~ 1000 7000 1000
                  f 2000 6000 3000
                    f 4000 3000 3000
                stitch/unclosed-entry 1
            "#]],
        );
    }
}

#[test]
fn the_pieces_of_a_line() {
    let parsed = |line: &str| {
        let record = line::parse(line.as_bytes()).unwrap();
        (
            record.cpu.to_owned(),
            record.pc,
            record.symbol.map(|(n, o)| (n.to_owned(), o)),
            record.micro,
        )
    };
    let named = |name: &str, offset| Some((name.to_owned(), offset));
    let cpu = |name: &str| name.to_owned();
    let cases = [
        ("1: system.cpu: 0x40 : nop", (cpu("system.cpu"), Some(0x40), None, None)),
        ("1: system.cpu3 T0 : @f+8    : nop", (cpu("system.cpu3"), None, named("f", 8), None)),
        (
            "1: system.cpu: A1 T1 : 0x40 @f    : nop",
            (cpu("system.cpu: A1 T1"), Some(0x40), named("f", 0), None),
        ),
        (
            "1: system.cpu T0 : @f.1  :   nop : No_OpClass :",
            (cpu("system.cpu"), None, named("f", 0), Some(1)),
        ),
        ("1: system.cpu T0 : @f.1    : nop", (cpu("system.cpu"), None, named("f.1", 0), None)),
        ("1: system.cpu T0 : 0x40.12 :   nop : x", (cpu("system.cpu"), Some(0x40), None, Some(12))),
        (
            "1: system.cpu T0 : @f+4. 3 :   nop : x",
            (cpu("system.cpu"), None, named("f", 4), Some(3)),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(parsed(line), expected, "{line}");
    }
}

#[test]
fn lines_that_are_none() {
    check(
        "warn: instruction 'fnstcw_Mw' unimplemented\n\
         4000: system.cpu: T0 : syscall write called w/arguments 1, 4194470, 6\n\
         5000: system.cpu: T0 : 0x400100 @f    : nop\n\
         6000: system.cpu: T0 : 0x400101 @f+1\n\
         7000: system.cpu: T0 : 0xzz @f+1    : nop\n\
         8000: system.cpu: T0 : 0x400102 @f+2    : n",
        expect![[r#"
            f~ 5000 0 0
            input/skipped-record 2
            input/cut-record 1
            stitch/unclosed-entry 1
            flow/foreign-line 2
        "#]],
    );
}

#[test]
fn recognized_by_its_lines_only() {
    for log in [X86, ARM] {
        assert!(matches!(ExecTrace.recognize_bytes(log.as_bytes(), true), Recognition::Yes(_)));
    }
    let line = b"1: system.cpu: 0x40 @f    : nop\n";
    assert!(matches!(ExecTrace.recognize_bytes(line, true), Recognition::Maybe(_)));
    for wrong in
        ["", "1: a: b\n2: c: d\n", "12: system.cpu.icache: access for ReadReq [1000:1003]\n"]
    {
        assert_eq!(ExecTrace.recognize_bytes(wrong.as_bytes(), true), Recognition::No, "{wrong}");
    }
}

#[test]
fn the_documented_example_reads_whole() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/gem5.md"));
    let said = read(&ExecTrace, example(page).as_bytes(), &ImportOptions::default());
    assert_eq!((said.records, said.diags.len()), (4, 0), "{:?}", said.diags);
}

#[test]
fn any_block_and_every_cut() {
    check_blocks(&ExecTrace, X86, &ImportOptions::default());
    check_blocks(&ExecTrace, ARM, &ImportOptions::default());
}

proptest! {
    #[test]
    fn garbage_is_skipped(
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
        head in proptest::sample::select(vec!["", "1: system.cpu: 0x40 @f    : ret\n", "1: c: T0 : @"]),
    ) {
        trace(&ExecTrace, &[head.as_bytes(), &bytes].concat(), &ImportOptions::default(), (0, 1));
    }
}
