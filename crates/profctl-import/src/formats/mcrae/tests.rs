// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::line::{self, Arrow};
use super::*;
use profctl_model::diag::codes::SKIPPED_RECORD;

use crate::emit::Record;
use crate::formats::plain::show::{check_cuts, example, read, show};
use crate::testing::{ImporterOfBytes, ReaderOfBytes, verbs};

static POST: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcrae/trace.txt"));
static SUMMARY: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcrae/summary.txt"));

#[track_caller]
fn check(input: &str, expected: Expect) {
    expected.assert_eq(&show(&CodeTrace, input.as_bytes(), &ImportOptions::default()));
}

#[test]
fn calls_leaves_and_exits() {
    check(
        "   2:394 365 -> malloc (27 us, 42 total)\n\
         \x20  2:394 373     -> splnet (11 us)\n\
         \x20  2:394 394     -> bcopy (1073 us)         ***************\n\
         \x20  2:394 407 <- \n",
        expect![[r#"
            # profctl plain 1 unit=us
            2394365 > malloc wall=42 net=27 depth=0
            2394373 . splnet 11 depth=1
            2394394 . bcopy 1073 depth=1
            2394407 < depth=0
        "#]],
    );
}

#[test]
fn interrupt_stubs_are_interrupts_and_what_they_call_is_not() {
    check(
        "2:399 575 -> ISAINTR (20 us, 40 total)\r\n2:399 584     -> hardclock (9 us)\r\n",
        expect![[r#"
            # profctl plain 1 unit=us
            2399575 > ISAINTR^ wall=40 net=20 depth=0
            2399584 . hardclock 9 depth=1
        "#]],
    );
}

#[test]
fn decimals_make_nanoseconds() {
    check(
        "   2:394 270.123 -> f (1.012 us, 3.4 total)\n   2:394 271 -> g (2 us)\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            2394270123 > f wall=3400 net=1012 depth=0
            2394271000 . g 2000 depth=0
        "#]],
    );
}

#[test]
fn lines_of_several_threads_name_theirs() {
    check(
        "   2:394 365 [sh-12 @0] -> read (27 us, 42 total)\n\
         \x20  2:394 370 [a [b] @1] -> tick (11 us)\n\
         \x20  2:394 373 [sh-12 @0]     == checkpoint\n\
         \x20  2:394 374 [sh-12 @1]     -> fget (15 us)\n\
         \x20  2:394 390 [77      ] -> f (1 us)\n\
         \x20  2:394 407 [sh-12 @0] <- \n",
        expect![[r#"
            # profctl plain 1 unit=us
            2394365 cpu0 sh-12 > read wall=42 net=27 depth=0
            2394370 cpu1 "a [b]" . tick 11 depth=0
            2394373 cpu0 sh-12 ! checkpoint
            2394374 cpu1 sh-12 . fget 15 depth=1
            2394390 #77 . f 1 depth=0
            2394407 cpu0 sh-12 < depth=0
        "#]],
    );
}

#[test]
fn prose_is_skipped_and_counted() {
    check(
        "From: someone\n\n   2:394 270 -> f (26 us)\nand so on (all of it)\n   2:394 300   -> g (1 us)\n",
        expect![[r#"
            # profctl plain 1 unit=us
            2394270 . f 26 depth=0
            input/skipped-record +0: found `From: someone`, expected a time `S:MMM UUU`
            input/skipped-record +41: found `and so on (all of it)`, expected a time `S:MMM UUU`
            input/skipped-record +63: found `2:394 300   -> g (1 us)`, expected an indentation of one space and four per level
        "#]],
    );
}

#[test]
fn the_last_line_may_stop_anywhere() {
    check(
        "   2:394 270 -> f (26 us)\n   2:394 280 -> g (26 us, 90",
        expect![[r#"
            # profctl plain 1 unit=us
            2394270 . f 26 depth=0
            input/cut-record +26: the last line stops at `2:394 280 -> g (26 us, 90`
        "#]],
    );
}

#[test]
fn decimals_below_a_head_without_are_refused() {
    let head = b"   2:394 270 -> f (26 us)\n";
    let opened = CodeTrace.open_bytes(head, &ImportOptions::default()).unwrap();
    let mut said = Emitter::default();
    let block = b"   2:394 280.500 -> g (1 us)\n";
    opened.reader.fork().read_bytes(block, true, &opened.state, &mut said);
    assert!(said.said().len() == 0);
    assert_eq!(said.diags[0].code.name, SKIPPED_RECORD.name);
}

#[test]
fn names_may_hold_spaces_and_parentheses() {
    let record = line::parse(b"0:000 001 -> (anonymous)::f(int) const (7 us) *").unwrap();
    let Arrow::Enter { name, net, total } = record.arrow else { panic!("an entry") };
    assert_eq!((name, net, total), (&b"(anonymous)::f(int) const"[..], 7_000, None));
}

#[test]
fn lines_that_are_nearly_records() {
    for wrong in [
        "2:394 270 f (26 us)",
        "2:394 270 -> f",
        "2:394 270 ->  (26 us)",
        "2:394 270 -> f(26 us)",
        "2:394 270 -> f (26 ms)",
        "2:394 270 -> f (26 us, 27)",
        "2:394 270 -> f (-1 us)",
        "2:394 270 -> f (1.0001 us)",
        "2:394 270 <- f",
        "2:39 270 <-",
        "2:394 27 <-",
        "2:394 2700 <-",
        "2:394 270<-",
        "2:394\t270 <-",
        ":394 270 <-",
        "99999999999999:394 270 <-",
        "2:394 270 -> f (99999999999999999999 us)",
    ] {
        assert!(line::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
    let deep = format!("2:394 270 {}<-", "    ".repeat(65_535));
    assert!(line::parse(deep.as_bytes()).is_err(), "depth 65535 means none");
}

#[test]
fn the_trace_of_the_post_reads_whole() {
    let said = read(&CodeTrace, POST, &ImportOptions::default());
    let count = |verb| verbs(&said).iter().filter(|found| found.0 == verb).count();
    assert_eq!(said.lines, 102);
    assert_eq!(said.said().len(), 102);
    assert_eq!(count(">"), 24);
    assert_eq!(count("<"), 24);
    assert_eq!(count("="), 54);
    assert!(said.diags.is_empty());
    // Each exit is where its entry said that it would.
    let mut open = Vec::new();
    for (at, record) in said.said() {
        let time = at.time.unwrap();
        match record {
            Record::Enter { stated, .. } => open.push((stated.depth, time + stated.wall.unwrap())),
            Record::Exit { stated, .. } => assert_eq!(open.pop(), Some((stated.depth, time))),
            Record::Leaf { stated, .. } => assert_eq!(stated.depth, Some(open.len() as u16)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn recognized_by_its_lines_only() {
    assert!(matches!(CodeTrace.recognize_bytes(POST, true), Recognition::Yes(_)));
    assert_eq!(CodeTrace.recognize_bytes(SUMMARY, true), Recognition::No);
    assert_eq!(CodeTrace.recognize_bytes(b"", true), Recognition::No);
    assert_eq!(CodeTrace.recognize_bytes(b"2:394 270 <-\n\0", true), Recognition::No);
    assert!(matches!(
        CodeTrace.recognize_bytes(b"Hello\n2:394 270 <-\n", true),
        Recognition::Maybe(_)
    ));
}

#[test]
fn the_documented_example_reads_whole() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/mcrae.md"));
    let said = read(&CodeTrace, example(page).as_bytes(), &ImportOptions::default());
    assert_eq!((said.said().len(), said.diags.len()), (4, 0));
}

#[test]
fn every_cut() {
    check_cuts(&CodeTrace, &POST[..1_500], &ImportOptions::default());
}

proptest! {
    #[test]
    fn garbage_is_skipped(bytes: Vec<u8>) {
        read(&CodeTrace, &bytes, &ImportOptions::default());
    }

    #[test]
    fn near_garbage_is_read_or_counted(
        input in r"( {0,9}[0-9]{1,2}:[0-9]{2,3} [0-9]{3}(\.[0-9]{0,4})? {0,9}(->|<-) ?[a-z( ]{0,6}\([0-9.]{0,4} us(, [0-9]{1,2} total)?\)\n?){1,4}"
    ) {
        let said = read(&CodeTrace, input.as_bytes(), &ImportOptions::default());
        let refused: u64 = said.diags.len() as u64 + said.more_diags.iter().map(|more| more.1).sum::<u64>();
        prop_assert_eq!(said.said().len() as u64 + refused, said.records);
    }
}
