// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::fmt::Write;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::flow::asm::Kind;
use crate::flow::testing::{calls, check_blocks, sums, trace};
use crate::formats::execlog::PluginLog;
use crate::formats::plain::show::{example, read};
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/", $name))
    };
}

static BLOCKS: &str = fixture!("qemu/calls-blocks.log");
static IN_ASM: &str = fixture!("qemu/calls-in-asm.log");
static SINGLY: &str = fixture!("qemu/calls-singlestep.log");
static NM: &str = fixture!("qemu/calls.nm.meta");
static PLUGIN: &str = fixture!("execlog/calls.log");
static PLUGIN_NM: &str = fixture!("execlog/calls.nm.meta");

fn options(nm: &str) -> ImportOptions {
    ImportOptions { symbols: Some(nm.into()), ..ImportOptions::default() }
}

#[track_caller]
fn check(log: &str, expected: Expect) {
    expected.assert_eq(&calls(&ExecLog, log, &ImportOptions::default()));
}

/// The log of `main` of `calls.c` with the argument 1, from the source: who calls whom how often.
const COUNTS: [(&str, u64); 12] = [
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

#[test]
fn blocks_alone_give_every_call_of_the_program() {
    for options in [ImportOptions::default(), options(NM)] {
        let trace = trace(&ExecLog, BLOCKS.as_bytes(), &options, (0, 1));
        let sums = sums(&trace);
        for (name, n) in COUNTS {
            let (complete, partial, _) = sums[name];
            assert_eq!(complete + partial, n, "{name}");
            assert!(partial == 0 || name == "bail", "{name}: only bail is left by a long jump");
        }
        // One tick a block.
        let net: u64 = trace.spans.net.iter().map(|net| net.0).sum();
        assert_eq!(net, BLOCKS.lines().count() as u64);
        assert!(trace.meta.diags.count_of(&flow::INFERRED) > 50);
    }
}

/// The log ends in the second checksum, before the recursion and the long jump.
#[test]
fn single_steps_count_instructions() {
    let trace = trace(&ExecLog, SINGLY.as_bytes(), &options(NM), (0, 1));
    let sums = sums(&trace);
    let count = |name: &str| sums.get(name).map(|sum| (sum.0, sum.1));
    assert_eq!(count("splnet"), Some((2, 0)));
    assert_eq!(count("in_cksum"), Some((1, 1)));
    assert_eq!(count("main"), Some((0, 1)));
    assert_eq!(count("recurse"), None);
    // The net time of a function is the number of lines that name it.
    for (name, (_, _, net)) in &sums {
        let lines = SINGLY.lines().filter(|line| line.ends_with(&format!("] {name}"))).count();
        let nameless = SINGLY.lines().filter(|line| line.ends_with("] ")).count();
        // Code without a name belongs to the function that jumped to it.
        let more = if name == "bcopy_" { nameless } else { 0 };
        assert_eq!(*net, (lines + more) as u64, "{name}");
    }
}

#[test]
fn disassembly_decides_and_counts() {
    check(
        IN_ASM,
        expect![[r#"
            ~main~ 0 211 14
              atoi 7 107 6
                strtoimax 11 4 4
                ____strtol_l_internal 15 97 97
              ISAINTR~ 121 90 5
                weget 124 59 9
                  malloc_ 127 17 9
                    splnet 130 4 4
                    splx 135 4 4
                  bcopy_ 148 33 13
                    0x401038 152 20 1
                      __memcpy_avx_unaligned_erms 153 19 19
                ipintr~ 185 26 7
                  splnet 188 4 4
                  splx 193 4 4
                  in_cksum~ 200 11 11
            stitch/unclosed-entry 4
            flow/inferred 1
        "#]],
    );
}

#[test]
fn a_symbol_table_tells_that_the_log_begins_with_a_call() {
    let trace = trace(&ExecLog, IN_ASM.as_bytes(), &options(NM), (0, 1));
    let main = trace.spans.ids().next().unwrap();
    assert_eq!(trace.names.funcs[trace.spans.func[main]].name, "main");
    assert!(!trace.spans.fidelity[main.index()].start_inferred);
}

/// The same execution as a log of the plugin and of `in_asm,exec` with one instruction a block.
#[test]
fn the_plugin_and_the_log_agree() {
    let symbols = Symbols::parse(PLUGIN_NM.as_bytes()).unwrap();
    let mut log = String::new();
    for line in PLUGIN.lines() {
        let mut fields = line.splitn(4, ", ");
        let (_, pc, _, text) =
            (fields.next(), fields.next().unwrap(), fields.next(), fields.next().unwrap());
        let address = text::integer(pc.as_bytes()).unwrap();
        let name = symbols.lookup(address).map_or("", |(name, _)| name);
        let text = text.trim_matches('"');
        writeln!(log, "----------------\nIN: {name}\n{pc}:  90 90  {text}\n").unwrap();
        let pc = &pc[2..];
        writeln!(log, "Trace 0: 0x7f0000000000 [00000000/{pc}/0000c0b3/00000201] {name}").unwrap();
    }
    let options = options(PLUGIN_NM);
    let ours = calls(&ExecLog, &log, &options);
    assert_eq!(ours, calls(&PluginLog, PLUGIN, &options));
    assert!(ours.matches("recurse").count() == 6 && !ours.contains("flow/"), "{ours}");
}

#[test]
fn cpus_are_told_apart() {
    check(
        "Trace 0: 0x7f00 [0/1000/0/200] f\n\
         Trace 1: 0x7f00 [0/1000/0/200] f\n\
         Trace 0: 0x7f00 [0/2000/0/200] g\n\
         Trace 1: 0x7f00 [0/1010/0/200] f\n\
         Trace 0: 0x7f00 [0/1010/0/200] f\n",
        expect![[r#"
            ~f~ 0 3 2
              g 1 1 1
            ~f~ 0 2 2
            stitch/unclosed-entry 2
            flow/inferred 2
        "#]],
    );
}

#[test]
fn a_block_that_was_not_executed_does_not_count() {
    check(
        "Trace 0: 0x7f00 [0/1000/0/200] f\n\
         Trace 0: 0x7f00 [0/1010/0/200] f\n\
         Stopped execution of TB chain before 0x7f00 [0/1010/0/200] f\n\
         Trace 0: 0x7f00 [0/1010/0/200] f\n",
        expect![[r#"
            ~f~ 0 2 2
            stitch/unclosed-entry 1
        "#]],
    );
}

#[test]
fn spellings_of_all_versions() {
    let trace = |cpu, pc, most, symbol| Ok(Trace { cpu, pc, most, symbol });
    let cases: [(&[u8], _); 5] = [
        (b"Trace 0: 0x7f [0000/00401acf/1040c0b3/00000200] f", trace(0, 0x40_1acf, None, b"f")),
        (b"Trace 2: 0x7f [0000/00401acf/1040c0b3/ff000201] f", trace(2, 0x40_1acf, Some(1), b"f")),
        (b"Trace 0: 0x7f [0000/00401acf/0x40c0b3] ", trace(0, 0x40_1acf, None, b"")),
        (b"Trace 0x7f [1: 00401acf] f", trace(1, 0x40_1acf, None, b"f")),
        (
            b"Trace 0: 0x7f [0/1/2/3] operator new(unsigned long)",
            trace(0, 1, Some(3), b"operator new(unsigned long)"),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(line::trace(line), expected, "{}", text::excerpt(line));
    }
    for wrong in [
        "Trace",
        "Trace 0: 0x7f 401acf f",
        "Trace 0: 0x7f [401acf] f",
        "Trace 0: 0x7f [0/401acf] f",
        "Trace 0: 0x7f [0/x/2] f",
        "Trace x: 0x7f [0/1/2] f",
        "Trace 0: seven [0/1/2] f",
        "Trace 0x7f [00401acf] f",
        "Trace 0: 0x7f [0/11112222333344445/2] f",
    ] {
        assert!(line::trace(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn listings_of_all_processors() {
    let listing = |text: &str| {
        let mut blocks = Blocks::default();
        for line in text.lines() {
            assert!(blocks.line(line.as_bytes()), "{line}");
        }
        blocks.end();
        blocks
            .at(0x1000, None)
            .map(|block| (block.instructions, block.last, block.ending.unwrap().kind))
    };
    let cases = [
        // A long instruction, whose bytes take two lines.
        (
            "IN: f\n0x00001000:  48 b8 11 22 33 44 55 66  movabsq  $0x11, %rax\n\
             0x00001008:  77 88\n0x0000100a:  c3                       retq     \n",
            Some((2, 0x100a, Kind::Return)),
        ),
        ("IN: \n0x00001000:  94000004  bl       #0x1010\n", Some((1, 0x1000, Kind::Call))),
        (
            "IN: f\nPriv: 3; Virt: 0\n0x0000000000001000:  00000297          auipc           t0,0                    # 0x1000\n\
             0x0000000000001004:  00008067          ret\n",
            Some((2, 0x1004, Kind::Return)),
        ),
        // The call is the last but one, and what is in its delay slot is the last.
        (
            "IN: f\n0x00001000:  0c000400  jal\t0x1000\n0x00001004:  00000000  nop\n",
            Some((2, 0x1000, Kind::Call)),
        ),
        // QEMU without a disassembler.
        ("IN: f\nOBJD-T: 5548e5c3\n", None),
    ];
    for (text, expected) in cases {
        assert_eq!(listing(text), expected, "{text}");
    }
}

#[test]
fn other_items_of_the_log_and_garbage() {
    check(
        "Trace 0: 0x7f00 [0/1000/0/200] f\n\
         Servicing hardware INT=0x08\n\
         Trace 0: 0x7f00 [0/zzzz/0/200] f\n\
         \n\
         Trace 0: 0x7f00 [0/1010/0/200] f\n\
         Trace 0: 0x7f00 [0/2000/0/200] gg",
        expect![[r#"
            ~f~ 0 2 2
            input/skipped-record 1
            input/cut-record 1
            stitch/unclosed-entry 1
            flow/foreign-line 1
        "#]],
    );
}

#[test]
fn the_head_says_what_a_tick_is() {
    for (log, part) in [
        (SINGLY, "one line each"),
        (IN_ASM, "the disassembly of each block"),
        (BLOCKS, "blocks, not instructions"),
    ] {
        let opened = ExecLog.open_bytes(log.as_bytes(), &ImportOptions::default()).unwrap();
        let (_, tick) = opened.facts.iter().find(|(name, _)| *name == "tick").unwrap();
        assert!(tick.contains(part), "{tick}");
    }
}

#[test]
fn recognized_by_its_lines_only() {
    for log in [SINGLY, IN_ASM, BLOCKS] {
        assert!(matches!(ExecLog.recognize_bytes(log.as_bytes(), true), Recognition::Yes(_)));
    }
    for wrong in ["", "Trace 0: started\n", "exec_tb tb:0x7f600ce00040 pc=0x4014f0\n", NM, PLUGIN] {
        assert_eq!(ExecLog.recognize_bytes(wrong.as_bytes(), true), Recognition::No, "{wrong}");
    }
}

#[test]
fn the_documented_example_reads_whole() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/qemu.md"));
    let said = read(&ExecLog, example(page).as_bytes(), &ImportOptions::default());
    assert_eq!((said.records, said.diags.len()), (3, 0), "{:?}", said.diags);
}

#[test]
fn any_block_and_every_cut() {
    check_blocks(&ExecLog, &IN_ASM[..1_500], &ImportOptions::default());
    check_blocks(&ExecLog, &BLOCKS[..1_000], &options(NM));
}

proptest! {
    #[test]
    fn garbage_is_skipped(
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
        head in proptest::sample::select(vec!["", "IN: f\n0x1000:  ", "Trace 0: 0x1 [0/1/2] f\n"]),
    ) {
        trace(&ExecLog, &[head.as_bytes(), &bytes].concat(), &ImportOptions::default(), (0, 1));
    }

    /// Any sequence of blocks gives calls whose net times are its length.
    #[test]
    fn any_flow_adds_up(steps in proptest::collection::vec((0_u64..4, 0_u64..6), 1..60)) {
        let line = |(f, n): &(u64, u64)| {
            format!("Trace 0: 0x1 [0/{:x}/0/200] f{f}", f * 256 + n * 8)
        };
        let log = steps.iter().map(line).collect::<Vec<_>>().join("\n") + "\n";
        let trace = trace(&ExecLog, log.as_bytes(), &ImportOptions::default(), (0, 1));
        let net: u64 = trace.spans.net.iter().map(|net| net.0).sum();
        prop_assert_eq!(net, steps.len() as u64);
    }
}
