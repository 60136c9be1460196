use proptest::prelude::*;

use super::*;
use crate::formats::plain::show::{example, read};
use crate::testing::ImporterOfBytes;

static CALLS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/callgrind/calls.out"));

/// What is said of each function: `name[module] calls elapsed net`; then the diagnostics.
fn show(text: &str) -> Vec<String> {
    let said = read(&Profile, text.as_bytes(), &ImportOptions::default());
    let total = |total: &Total| {
        let func = &said.names[total.name.0 as usize];
        let module = func.module.as_ref().map_or(String::new(), |module| format!("[{module}]"));
        format!("{}{module} {} {} {}", func.name, total.calls, total.elapsed, total.net)
    };
    let complaint = |diag: &crate::emit::BlockDiag| format!("{} +{}", diag.code.name, diag.offset);
    said.totals.iter().map(total).chain(said.diags.iter().map(complaint)).collect()
}

#[test]
fn names_positions_and_costs_in_every_spelling() {
    let text = "# callgrind format\nversion: 1\ncreator: test\npositions: instr line\nevents: Cycles Ir\n\
                ob=(1) /usr/bin/a.out\nfl=(1) a.c\nfn=(1) main\n0x10 5 1 10\n+2 * 1 5\n+3 -1 2\n\
                cob=(2) /lib/libc.so\ncfi=(2) b.c\ncfn=(2) puts\ncalls=2 0x80 9\n* * 7 40\n\
                cfn=(3) (below main)\ncalls=1 0x90 1\n+1 +1 0 8\n\
                fi=(3) inlined.h\n+1 +1 1 3\nfe=(1)\njcnd=1/2 +3 +4\n* *\n\
                \nob=(2)\nfn=(2)\n0x80 9 5 40\n\nob=(1)\nfn=(3)\n0x90 1 0 8\ntotals: 9 66\n";
    assert_eq!(
        show(text),
        ["main[a.out] 0 66 18", "puts[libc.so] 2 40 40", "(below main)[a.out] 1 8 8"]
    );
}

#[test]
fn recursion_counts_once() {
    // Levels distinguished: the first holds what the second costs.
    let text = "events: Ir\nfn=f\n1 10\ncfn=f'2\ncalls=1 1\n1 50\nfn=f'2\n1 30\ncfn=f'2\ncalls=2 1\n\
                1 20\ncfn=g\ncalls=3 1\n1 20\nfn=g\n1 20\n";
    assert_eq!(show(text), ["f 3 60 40", "g 3 20 20"]);
    // Levels in one: its own cost is that of all levels.
    let text =
        "events: Ir\nfn=f\n1 40\ncfn=f\ncalls=3 1\n1 90\ncfn=g\ncalls=3 1\n1 20\nfn=g\n1 20\n";
    assert_eq!(show(text), ["f 3 60 40", "g 3 20 20"]);
}

#[test]
fn a_circle_of_functions_costs_no_more_than_everything() {
    let text =
        "events: Ir\nfn=a\n1 10\ncfn=b\ncalls=5 1\n1 90\nfn=b\n1 10\ncfn=a\ncalls=4 1\n1 70\n";
    assert_eq!(show(text), ["a 4 20 10", "b 5 20 10"]);
}

/// The figures are those of `callgrind_annotate` 3.19, own costs without and elapsed ones with
/// `--inclusive=yes`, summed over the files whose code was inlined.
#[test]
fn the_figures_of_callgrind_annotate() {
    let shown = show(CALLS);
    for expected in ANNOTATED {
        assert!(shown.iter().any(|line| line == expected), "{expected} in {shown:#?}");
    }
    let said = read(&Profile, CALLS.as_bytes(), &ImportOptions::default());
    assert_eq!(said.totals.iter().map(|total| total.net).sum::<u64>(), 125_190);
    assert!(said.diags.is_empty());
}

const ANNOTATED: [&str; 14] = [
    "main[calls.dyn] 1 4740 55",
    "ISAINTR[calls.dyn] 2 2454 14",
    "in_cksum[calls.dyn] 4 1413 1413",
    "splnet[calls.dyn] 6 24 24",
    // `recurse` 10 and 54, `recurse'2` 44.
    "recurse[calls.dyn] 6 54 54",
    // `bail` 5 and 709, `bail'2` 21.
    "bail[calls.dyn] 4 709 26",
    "strcmp[libc.so.6] 1 18 18",
    "strcmp[ld-linux-x86-64.so.2] 153 5145 5145",
    "do_lookup_x[ld-linux-x86-64.so.2] 86 29742 21731",
    "_dl_relocate_object[ld-linux-x86-64.so.2] 4 63749 23001",
    "init_cpu_features.constprop.0[ld-linux-x86-64.so.2] 1 6963 381",
    "dl_main[ld-linux-x86-64.so.2] 1 89315 1691",
    "_dl_sysdep_start[ld-linux-x86-64.so.2] 1 117183 34",
    "0x000000000001ab70[ld-linux-x86-64.so.2] 0 125190 15",
];

#[test]
fn what_the_lines_do_not_add_up_to_is_said() {
    assert_eq!(
        show("events: Ir\nfn=f\n1 10\ntotals: 11\n"),
        ["f 0 10 10", "callgrind/total-mismatch +32"]
    );
}

#[test]
fn lines_that_are_none() {
    for (text, offset) in [
        ("events: Ir\n1 10\nfn=f\n1 5\n", 11),
        ("events: Ir\nfn=f\n1 5\n1 x\n", 20),
        ("events: Ir\nfn=f\n1 5\nx=3\n", 20),
        ("events: Ir\nfn=f\n1 5\nfn=(7)\n", 20),
        ("events: Ir\nfn=f\n1 5\ncalls=1 2\n", 20),
        ("events: Ir\nfn=f\n1 5\ncfn=f\ncalls=x 2\n", 26),
        ("events: Ir\nfn=f\n1 5\nDear Sir,\n", 20),
    ] {
        let expected = ["f 0 5 5".to_owned(), format!("input/skipped-record +{offset}")];
        assert_eq!(show(text), expected, "{text}");
    }
    assert_eq!(show("events: Ir\nfn=f\n1 5\n1 5"), ["f 0 5 5", "input/cut-record +20"]);
}

#[test]
fn the_clock_is_what_is_counted() {
    let unit = |events: &str| {
        let head = format!("events: {events}\nfn=f\n");
        Profile.open_bytes(head.as_bytes(), &ImportOptions::default()).unwrap().timebase.unit
    };
    assert_eq!(unit("Ir Dr Dw"), TickUnit::Instructions);
    assert_eq!(unit("Dr Ir"), TickUnit::Instructions);
    assert_eq!(unit("Cycles"), TickUnit::Cycles);
    let tens = TickUnit::Seconds { numerator: 1, denominator: 100_000_000 };
    assert_eq!(unit("Time_(10ns) Memory_(bytes)"), tens);
}

#[test]
fn recognized_by_its_head() {
    assert!(matches!(Profile.recognize_bytes(CALLS.as_bytes(), true), Recognition::Yes(_)));
    let old =
        b"version: 1\ncreator: xdebug 3.2\nevents: Time\n\nfl=(1) a.php\nfn=(1) {main}\n1 5\n";
    assert!(matches!(Profile.recognize_bytes(old, true), Recognition::Yes(_)));
    for wrong in ["", "\n", "fn=f\nevents: Ir\n", "events: Ir\n1 2\n", "# callgrind\n"] {
        assert_eq!(Profile.recognize_bytes(wrong.as_bytes(), true), Recognition::No, "{wrong}");
    }
}

#[test]
fn the_documented_example_reads_whole() {
    let page =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/callgrind.md"));
    assert_eq!(show(example(page)), ["main[a.out] 0 440 40", "helper[a.out] 2 400 400"]);
}

#[test]
fn a_profile_cut_anywhere_is_read_up_to_the_cut() {
    let text = &CALLS[..3_000];
    let sum = |text: &str| {
        let said = read(&Profile, text.as_bytes(), &ImportOptions::default());
        assert_eq!(said.diags.len(), usize::from(!text.ends_with('\n')), "{:?}", said.diags);
        said.totals.iter().map(|total| total.net).sum::<u64>()
    };
    let mut before = 0;
    for cut in 1..text.len() {
        let now = sum(&text[..cut]);
        assert!(now >= before, "cut at {cut}");
        before = now;
    }
    assert!(before > 100);
}

proptest! {
    #[test]
    fn garbage_is_skipped(bytes: Vec<u8>) {
        read(&Profile, &bytes, &ImportOptions::default());
    }

    #[test]
    fn near_garbage_keeps_own_within_elapsed(
        lines in "((fn|cfn|ob|cob)=(\\([0-9]\\))? ?[a-c]?('2)?\n|calls=[0-9]{1,3} [+*-]?[0-9]?\n|[+-]?[0-9]{1,2} [0-9]{0,20}\n|positions: line\n|totals: [0-9]{1,3}\n){1,30}"
    ) {
        let said = read(&Profile, format!("events: Ir\n{lines}").as_bytes(), &ImportOptions::default());
        for total in &said.totals {
            prop_assert!(total.net <= total.elapsed);
        }
    }
}
