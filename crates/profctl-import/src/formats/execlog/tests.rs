// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::flow::testing::{calls, check_blocks, sums, trace};
use crate::formats::plain::show::{example, read};
use crate::testing::ImporterOfBytes;

static CALLS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/execlog/calls.log"));
static NM: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/execlog/calls.nm.meta"));

fn options(nm: &str) -> ImportOptions {
    ImportOptions { symbols: Some(nm.into()), ..ImportOptions::default() }
}

#[track_caller]
fn check(log: &str, expected: Expect) {
    expected.assert_eq(&calls(&PluginLog, log, &ImportOptions::default()));
}

#[test]
fn calls_returns_and_tail_calls() {
    check(
        "0, 0x100, 0x0, \"push %rbp\"\n\
         0, 0x101, 0x0, \"call 0x200\"\n\
         0, 0x200, 0x0, \"call 0x300\"\n\
         0, 0x300, 0x0, \"ret\"\n\
         0, 0x205, 0x0, \"ret\"\n\
         0, 0x106, 0x0, \"nop\", load, 0x20000000, RAM\n\
         0, 0x107, 0x0, \"call *%rax\"\n\
         0, 0x300, 0x0, \"ret\"\n\
         0, 0x109, 0x0, \"nop\"\n",
        expect![[r#"
            ~0x100~ 0 9 5
              0x200 2 3 2
                0x300 3 1 1
              0x300 7 1 1
            stitch/unclosed-entry 1
        "#]],
    );
}

#[test]
fn a_jump_to_another_function_takes_the_place_of_the_caller() {
    let log = "0, 0x100, 0x0, \"call 0x200\"\n\
               0, 0x200, 0x0, \"jmp 0x300\"\n\
               0, 0x300, 0x0, \"ret\"\n\
               0, 0x105, 0x0, \"nop\"\n";
    let shown = calls(&PluginLog, log, &options("100 T f\n200 T g\n300 T h\n400 T end\n"));
    expect![[r#"
        f~ 0 4 2
          g 1 1 1
          h 2 1 1
        stitch/unclosed-entry 1
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_processor_with_delay_slots_and_one_with_a_link_register() {
    check(
        "0, 0x100, 0x0, \"bl #0x200\"\n\
         0, 0x200, 0x0, \"stp x29, x30, [sp, #-16]!\"\n\
         0, 0x204, 0x0, \"blr x3\"\n\
         0, 0x300, 0x0, \"ret\"\n\
         0, 0x208, 0x0, \"cbz x0, #0x200\"\n\
         0, 0x20c, 0x0, \"ret\"\n\
         0, 0x104, 0x0, \"nop\"\n",
        expect![[r#"
            ~0x100~ 0 7 2
              0x200 1 5 4
                0x300 3 1 1
            stitch/unclosed-entry 1
        "#]],
    );
}

#[test]
fn every_cpu_has_its_own_clock_and_stack() {
    check(
        "0, 0x100, 0x0, \"call 0x200\"\n\
         1, 0x100, 0x0, \"call 0x200\"\n\
         1, 0x200, 0x0, \"nop\"\n\
         1, 0x201, 0x0, \"ret\"\n\
         0, 0x200, 0x0, \"ret\"\n\
         1, 0x105, 0x0, \"hlt\"\n\
         0, 0x105, 0x0, \"hlt\"\n",
        expect![[r#"
            ~0x100~ 0 3 2
              0x200 1 1 1
            ~0x100~ 0 4 2
              0x200 1 2 2
            stitch/unclosed-entry 2
        "#]],
    );
}

#[test]
fn what_interrupts_a_function_goes_back_into_it() {
    let log = "0, 0x100, 0x0, \"nop\"\n\
               0, 0x101, 0x0, \"call 0x200\"\n\
               0, 0x900, 0x0, \"nop\"\n\
               0, 0x901, 0x0, \"iretq\"\n\
               0, 0x200, 0x0, \"nop\"\n\
               0, 0x900, 0x0, \"nop\"\n\
               0, 0x901, 0x0, \"iretq\"\n\
               0, 0x201, 0x0, \"ret\"\n\
               0, 0x106, 0x0, \"nop\"\n";
    let shown = calls(&PluginLog, log, &options("100 T f\n200 T g\n300 D x\n900 T isr\n"));
    expect![[r#"
        f~ 0 9 3
          isr 2 2 2
          g 4 4 2
            isr 5 2 2
        stitch/unclosed-entry 1
        flow/inferred 2
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_long_jump_leaves_what_lies_between() {
    let log = "0, 0x100, 0x0, \"call 0x200\"\n\
               0, 0x200, 0x0, \"call 0x200\"\n\
               0, 0x200, 0x0, \"call 0x200\"\n\
               0, 0x200, 0x0, \"jmp *%rdx\"\n\
               0, 0x140, 0x0, \"nop\"\n";
    let shown = calls(&PluginLog, log, &options("100 T f\n200 T g\n300 D x\n"));
    expect![[r#"
        f~ 0 5 2
          g 1 3 1
            g~ 2 2 1
              g~ 3 1 1
        stitch/forced-exit 2
        stitch/unclosed-entry 1
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_return_to_a_caller_that_was_not_seen() {
    let log = "0, 0x210, 0x0, \"nop\"\n\
               0, 0x211, 0x0, \"ret\"\n\
               0, 0x110, 0x0, \"call 0x200\"\n\
               0, 0x200, 0x0, \"ret\"\n\
               0, 0x115, 0x0, \"nop\"\n";
    let shown = calls(&PluginLog, log, &options("100 T f\n200 T g\n300 D x\n"));
    expect![[r#"
        ~g 0 2 2
        ~f~ 2 3 2
          g 3 1 1
        stitch/unclosed-entry 1
    "#]]
    .assert_eq(&shown);
}

#[test]
fn the_parts_of_a_function_that_hardly_run_belong_to_it() {
    let log = "0, 0x100, 0x0, \"call 0x200\"\n\
               0, 0x200, 0x0, \"jmp 0x300\"\n\
               0, 0x300, 0x0, \"jmp 0x204\"\n\
               0, 0x204, 0x0, \"ret\"\n\
               0, 0x105, 0x0, \"nop\"\n";
    let shown = calls(&PluginLog, log, &options("100 T f\n200 T g\n300 t g.cold.1\n400 D x\n"));
    expect![[r#"
        f~ 0 5 2
          g 1 3 3
        stitch/unclosed-entry 1
    "#]]
    .assert_eq(&shown);
}

/// The counts are those of the same program compiled with `-finstrument-functions`, whose hooks saw
/// that `bail` was entered four times and never left.
#[test]
fn the_program_calls_what_it_calls() {
    let trace = trace(&PluginLog, CALLS.as_bytes(), &options(NM), (0, 1));
    let sums = sums(&trace);
    let counts = [
        ("ISAINTR", 1),
        ("bail", 4),
        ("bcopy_", 1),
        ("in_cksum", 2),
        ("ipintr", 1),
        ("main", 1),
        ("malloc_", 1),
        ("recurse", 6),
        ("splnet", 3),
        ("splx", 3),
        ("tcp_input", 1),
        ("weget", 1),
    ];
    for (name, n) in counts {
        let (complete, partial, _) = sums[name];
        assert_eq!(complete + partial, n, "{name}");
        assert_eq!(partial, if name == "bail" { 3 } else { 0 }, "{name}: incomplete calls");
    }
    assert_eq!(trace.meta.diags.count_of(&flow::INFERRED), 0);
}

/// The net time of a function is the number of lines that lie in it, however calls were made.
#[test]
fn every_instruction_counts_for_its_function() {
    let symbols = Symbols::parse(NM.as_bytes()).unwrap();
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for line in text::lines(CALLS.as_bytes()) {
        let pc = parse(line.text).unwrap().pc;
        let name = symbols.lookup(pc).map_or("0x401038", |(name, _)| name);
        *expected.entry(name.to_owned()).or_default() += 1;
    }
    let sums = sums(&trace(&PluginLog, CALLS.as_bytes(), &options(NM), (0, 1)));
    let found: BTreeMap<String, u64> = sums.into_iter().map(|(name, sum)| (name, sum.2)).collect();
    assert_eq!(found, expected);
}

#[test]
fn without_names_the_counts_are_the_same() {
    let sums = sums(&trace(&PluginLog, CALLS.as_bytes(), &ImportOptions::default(), (0, 1)));
    let counts = |address: &str| sums[address].0 + sums[address].1;
    assert_eq!(counts("0x40171c"), 6, "recurse");
    assert_eq!(counts("0x401735"), 4, "bail");
    assert_eq!(counts("0x401615"), 3, "splnet");
}

#[test]
fn lines_that_are_none() {
    check(
        "bootloader 1.2\n\
         0, 0x100, 0x0, \"nop\"\n\
         0, 256, 0x0, \"nop\"\n\
         0, 0x101, nop\n\
         0, 0x101, 0x0, nop\n\
         \n\
         0, 0x101, 0x0, \"no",
        expect![[r#"
            ~0x100~ 0 1 1
            input/skipped-record 3
            input/cut-record 1
            stitch/unclosed-entry 1
            flow/foreign-line 1
        "#]],
    );
}

#[test]
fn a_bad_symbol_file_is_refused() {
    let Err(error) = PluginLog.open_bytes(CALLS.as_bytes(), &options("Dear Sir,\n")) else {
        panic!("taken for symbols");
    };
    assert!(error.message.contains("Dear Sir") && error.message.contains("expected"), "{error}");
}

#[test]
fn recognized_by_its_lines_only() {
    assert!(matches!(PluginLog.recognize_bytes(CALLS.as_bytes(), true), Recognition::Yes(_)));
    assert!(matches!(
        PluginLog.recognize_bytes(b"0, 0x1, 0x2, \"nop\"\n", true),
        Recognition::Maybe(_)
    ));
    for wrong in ["", "1, 2, 3, 4\n1, 2, 3, 4\n", "0, 0x1, 0x2\n0, 0x1, 0x2\n", NM] {
        assert_eq!(PluginLog.recognize_bytes(wrong.as_bytes(), true), Recognition::No, "{wrong}");
    }
}

#[test]
fn the_documented_example_reads_whole() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/execlog.md"));
    let said = read(&PluginLog, example(page).as_bytes(), &ImportOptions::default());
    assert_eq!((said.records, said.diags.len()), (4, 0));
}

#[test]
fn any_block_and_every_cut() {
    check_blocks(&PluginLog, &CALLS[CALLS.len() - 2_000..], &options(NM));
}

proptest! {
    #[test]
    fn garbage_is_skipped(bytes in proptest::collection::vec(any::<u8>(), 1..200)) {
        trace(&PluginLog, &bytes, &ImportOptions::default(), (0, 1));
    }

    /// Any sequence of instructions gives calls, and their net times are its length.
    #[test]
    fn any_flow_adds_up(
        steps in proptest::collection::vec(
            (0_u64..64, proptest::sample::select(vec!["nop", "ret", "call 0x20", "call *%rax", "jmp *%rax", "jne 0x8", "iret"])),
            1..60,
        ),
        named: bool,
    ) {
        let lines: Vec<_> =
            steps.iter().map(|(pc, text)| format!("0, 0x{pc:x}, 0x0, \"{text}\"")).collect();
        let log = lines.join("\n") + "\n";
        let nm = "0 T a\n10 T b\n20 T c\n30 T d\n40 D e\n";
        let options = if named { options(nm) } else { ImportOptions::default() };
        let trace = trace(&PluginLog, log.as_bytes(), &options, (0, 1));
        let net: u64 = trace.spans.net.iter().map(|net| net.0).sum();
        prop_assert_eq!(net, steps.len() as u64);
        prop_assert_eq!(trace.meta.real().0, steps.len() as u64);
    }
}
