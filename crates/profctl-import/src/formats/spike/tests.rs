// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::flow::testing::{calls, check_blocks, trace};
use crate::formats::plain::show::{example, read};
use crate::testing::ImporterOfBytes;

static CALLS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/spike/calls.log"));

#[track_caller]
fn check(log: &str, options: &ImportOptions, expected: Expect) {
    expected.assert_eq(&calls(&SpikeLog, log, options));
}

/// The faulting instruction is not counted: it was not executed.
#[test]
fn labels_recursion_a_trap_and_a_tail_call() {
    check(
        CALLS,
        &ImportOptions::default(),
        expect![[r#"
            ~0x1000 0 3 3
            _start~ 3 26 3
              main 5 21 6
                factorial 9 10 4
                  factorial 12 6 4
                    factorial 15 2 2
                trap_vector 19 5 3
                  skip_instruction 21 2 2
              finish 26 2 2
            stitch/unclosed-entry 1
        "#]],
    );
}

#[test]
fn a_symbol_table_knows_labels_from_functions() {
    let log = "core   0: >>>>  f\n\
               core   0: 0x80000000 (0x00000013) nop\n\
               core   0: >>>>  f_loop\n\
               core   0: 0x80000004 (0x00000013) nop\n\
               core   0: 0x80000008 (0xffdff06f) j       pc - 0x4\n\
               core   0: >>>>  f_loop\n\
               core   0: 0x80000004 (0x00000013) nop\n";
    let symbols = |nm: &str| ImportOptions { symbols: Some(nm.into()), ..ImportOptions::default() };
    check(
        log,
        &symbols("80000000 T f\n8000000c D x\n"),
        expect![[r#"
            f~ 0 4 4
            stitch/unclosed-entry 1
        "#]],
    );
    check(
        log,
        &ImportOptions::default(),
        expect![[r#"
            f 0 1 1
            f_loop~ 1 3 3
            stitch/unclosed-entry 1
        "#]],
    );
}

#[test]
fn cores_are_told_apart() {
    check(
        "core   0: 0x80000000 (0x01c000ef) jal     pc + 0x1c\n\
         core   1: 0x80000000 (0x01c000ef) jal     pc + 0x1c\n\
         core   1: >>>>  g\n\
         core   0: >>>>  f\n\
         core   0: 0x8000001c (0x00008067) ret\n\
         core   1: 0x8000001c (0x00000013) nop\n\
         core   0: 0x80000004 (0x00000013) nop\n",
        &ImportOptions::default(),
        expect![[r#"
            ~0x80000000~ 0 3 2
              f 1 1 1
            ~0x80000000~ 0 2 1
              g~ 1 1 1
            stitch/unclosed-entry 3
        "#]],
    );
}

#[test]
fn lines_that_are_none() {
    check(
        "hello from the program\n\
         core   0: 0x80000000 (0x00000013) nop\n\
         core   0: 0x8000000g (0x00000013) nop\n\
         core   0: 0x80000004 00000013 nop\n\
         core   0: exception trap_illegal_instruction\n\
         core   0: >>>>\n\
         core   x: 0x80000004 (0x00000013) nop\n\
         core   0: 0x80000004 (0x00000013) no",
        &ImportOptions::default(),
        expect![[r#"
            ~0x80000000~ 0 1 1
            input/skipped-record 4
            input/cut-record 1
            stitch/unclosed-entry 1
            flow/foreign-line 2
        "#]],
    );
}

#[test]
fn recognized_by_its_lines_only() {
    assert!(matches!(SpikeLog.recognize_bytes(CALLS.as_bytes(), true), Recognition::Yes(_)));
    let line = b"core   0: 0x80000000 (0x00000013) nop\n";
    assert!(matches!(SpikeLog.recognize_bytes(line, true), Recognition::Maybe(_)));
    for wrong in ["", "core dumped\n", "core   0: >>>>  main\ncore   0: >>>>  main\n"] {
        assert_eq!(SpikeLog.recognize_bytes(wrong.as_bytes(), true), Recognition::No, "{wrong}");
    }
}

#[test]
fn the_documented_example_reads_whole() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/spike.md"));
    let said = read(&SpikeLog, example(page).as_bytes(), &ImportOptions::default());
    assert_eq!((said.records, said.diags.len()), (4, 0), "{:?}", said.diags);
}

#[test]
fn any_block_and_every_cut() {
    check_blocks(&SpikeLog, CALLS, &ImportOptions::default());
}

proptest! {
    #[test]
    fn garbage_is_skipped(
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
        head in proptest::sample::select(vec!["", "core   0: 0x1 (0x1) ret\n", "core   0: ", "core   0: >>>> "]),
    ) {
        trace(&SpikeLog, &[head.as_bytes(), &bytes].concat(), &ImportOptions::default(), (0, 1));
    }
}
