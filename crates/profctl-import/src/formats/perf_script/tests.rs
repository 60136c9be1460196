// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::collections::BTreeMap;

use expect_test::expect;
use profctl_model::Trace;
use proptest::prelude::*;

use super::*;
use crate::formats::plain::show;
use crate::testing::{ImporterOfBytes, told, trace};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/perf_script");
    profctl_testkit::fixtures::read(&folder.join(name).with_extension("txt"))
}

fn read(name: &str) -> Trace {
    trace("perf_script", &fixture(name), ImportOptions::default(), 0, 1)
}

/// Calls, and nanoseconds or counts of their own, by name; incomplete ones too.
fn sums(trace: &Trace) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for id in trace.spans.ids() {
        let sum = sums.entry(trace.names.funcs[trace.spans.func[id]].name.clone()).or_default();
        *sum = (sum.0 + 1, sum.1 + trace.spans.net[id.index()].0);
    }
    sums
}

/// The program of the fixture is generated, and so are its times: see its README.
#[test]
fn branches_are_calls() {
    let (text, codes) = told(
        "perf_script",
        std::str::from_utf8(&fixture("branches")).unwrap(),
        ImportOptions::default(),
    );
    let text =
        text.replace(" 1000000000", " ").replace(" 100000000", " ").replace(" 10000000", " ");
    expect![[r#"
        demo-4711 0 main 000+1300 net 310 unseen both gap
        demo-4711 1 f 010+80 net 40
        demo-4711 2 g 030+40 net 40
        demo-4711 1 h 090+20 net 20
        demo-4711 1 f 160+80 net 40
        demo-4711 2 g 180+40 net 40
        demo-4711 1 h 240+20 net 20
        demo-4711 1 f 310+80 net 40
        demo-4711 2 g 330+40 net 40
        demo-4711 1 h 390+20 net 20
        demo-4711 1 read@plt 460+2 net 2
        demo-4711 1 read 462+518 net 18
        demo-4711 2 [syscall] 470+500 net 500
        demo-4711 1 g 1000+50 net 20
        demo-4711 2 asm_sysvec_apic_timer_interrupt 1010+30 net 10
        demo-4711 3 hrtimer_interrupt 1015+20 net 20
        demo-4711 1 a 1100+100 net 10
        demo-4711 2 b 1110+90 net 10 unseen exit
        demo-4711 3 _Unwind_RaiseException 1120+80 net 80 unseen exit
        demo-4711 1 k 1250+20 net 20
        demo-4711 1 lost 1300+0 net 0 unseen exit gap
        demo-4711 0 late 1400+60 net 30 unseen both
        demo-4711 1 g 1420+30 net 30
        demo-4711 1 [untraced] 1460+0 net 0 unseen exit
    "#]]
    .assert_eq(&text);
    expect![[r#"["perf_script/decoder-error 1", "stitch/gap 1", "stitch/lost-unknown 1", "stitch/forced-exit 2", "stitch/unclosed-entry 2"]"#]].assert_eq(&format!("{codes:?}"));
}

/// Without flags a branch to the start of a function is treated as a call, so `h`, which `f` ends
/// in, is called by it and ends with it.
#[test]
fn branches_without_kinds_are_calls_by_where_they_go() {
    let sums = sums(&read("without-kinds"));
    assert_eq!(sums["g"], (3, 3 * 40));
    assert_eq!(sums["f"], (3, 3 * 40));
    assert_eq!(sums["h"], (3, 3 * 20));
    let facts = PerfScript.open_bytes(&fixture("without-kinds"), &ImportOptions::default());
    assert!(facts.unwrap().facts.iter().any(|fact| fact.1.contains("+flags")));
}

#[test]
fn indented_names_are_calls_that_end_where_the_next_begins() {
    let (text, codes) = told(
        "perf_script",
        std::str::from_utf8(&fixture("call-trace")).unwrap(),
        ImportOptions::default(),
    );
    expect![[r#"
        demo-4711 0 main 1000000000000+200 net 10 unseen exit
        demo-4711 1 f 1000000000010+80 net 20 unseen exit
        demo-4711 2 g 1000000000030+60 net 60 unseen exit
        demo-4711 1 f 1000000000090+110 net 20 unseen exit
        demo-4711 2 g 1000000000110+40 net 40 unseen exit
        demo-4711 2 h 1000000000150+50 net 50 unseen exit
        demo-4711 0 exit 1000000000200+0 net 0 unseen exit
    "#]]
    .assert_eq(&text);
    expect![[r#"["stitch/forced-exit 6", "stitch/unclosed-entry 1"]"#]]
        .assert_eq(&format!("{codes:?}"));
}

#[test]
fn returns_of_indented_names_end_their_calls() {
    let (text, codes) = told(
        "perf_script",
        "a 7 [001] 1.000000010: (/usr/bin/a)\tcall                    main\n\
         a 7 [001] 1.000000020: (/usr/bin/a)\tcall                        f\n\
         a 7 [001] 1.000000030: (/usr/bin/a)\treturn                      f\n\
         a 7 [001] 1.000000050: (/usr/bin/a)\treturn                  main\n",
        ImportOptions::default(),
    );
    assert_eq!(text, "a-7 0 main 1000000010+40 net 30\na-7 1 f 1000000020+10 net 10\n");
    assert!(codes.is_empty(), "{codes:?}");
}

/// A text says of a sample what `perf report` says: 11 samples of 250 us, 4 of them in
/// `clear_page_erms`.
#[test]
fn samples_are_sums() {
    let trace = read("samples");
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    for (name, (_, net)) in sums(&trace) {
        *own.entry(name).or_default() += net;
    }
    own.retain(|_, net| *net > 0);
    assert_eq!(own.values().sum::<u64>(), 11 * 250_000);
    assert_eq!(own["clear_page_erms"], 4 * 250_000);
    assert_eq!(own.len(), 8);
    assert!(trace.spans.ids().all(|id| trace.spans.fidelity[id.index()].is_partial()));
}

#[test]
fn scheduler_events_are_switches_and_wakings() {
    let text = fixture("sched");
    let opened = PerfScript.open_bytes(&text, &ImportOptions::default()).unwrap();
    let said = show::read(&PerfScript, &text, &ImportOptions::default());
    expect![[r#"
        # profctl plain 1 unit=ns
        974823673288 cpu1 prog-29593 wake rcu_preempt-15 kind=waking cpu=1
        974823864032 cpu1 prog-29593 fork #29595
        974823882920 cpu1 switch prog-29593 rcu_preempt-15 preempted
        974823934102 cpu0 switch prog-29595 idle
        974823995829 cpu1 prog-29593 fork #29596
        974824008928 cpu1 switch prog-29593 prog-29596
        974824088347 cpu1 switch prog-29596 idle
        974826095005 cpu0 prog-29595 exits
        974826182621 cpu1 switch prog-29593 idle
        974828129394 cpu1 prog-29596 exits
        974828462541 cpu1 prog-29593 fork #29597
        974828505786 cpu1 switch prog-29593 prog-29597
        974828569310 cpu1 switch prog-29597 idle
        974833715055 cpu1 prog-29597 wake prog-29593 kind=waking cpu=1
        974833733213 cpu1 switch prog-29597 prog-29593
        974833740393 cpu1 prog-29593 wake perf-29591 kind=waking cpu=0
        974833758090 cpu1 switch prog-29593 idle state=T
    "#]]
    .assert_eq(&crate::formats::plain::write(&said, &opened.timebase));
}

#[test]
fn system_calls_are_calls() {
    let text = fixture("syscalls");
    let count = |word: &[u8]| memchr::memmem::find_iter(&text, word).count();
    let trace = read("syscalls");
    let whole = trace.spans.fidelity.iter().filter(|fidelity| !fidelity.is_partial()).count();
    // `execve` was entered before the recording, and each thread that is cloned only returns; the
    // last call of a thread is never left.
    let partial = trace.spans.ids().count() - whole;
    assert_eq!(2 * whole + partial, count(b"sys_enter: ") + count(b"sys_exit: "));
    assert!(sums(&trace).contains_key("clock_nanosleep"));
}

#[test]
fn every_fixture_is_recognized() {
    for name in ["branches", "without-kinds", "call-trace", "samples", "sched", "syscalls"] {
        let recognition = PerfScript.recognize_bytes(&fixture(name), true);
        assert!(matches!(recognition, Recognition::Yes(_)), "{name}: {recognition:?}");
    }
    let no = PerfScript.recognize_bytes(b"hello\nworld 12: x\n", true);
    assert_eq!(no, Recognition::No);
}

/// Recordings of others, where they are: every line is read.
#[test]
fn the_recordings_of_others_are_read_whole() {
    let Some(shared) = profctl_testkit::fixtures::shared() else { return };
    for path in profctl_testkit::fixtures::files(&shared.join("samples/perf-script-pt")) {
        let text = profctl_testkit::fixtures::read(&path);
        let trace = trace("perf_script", &text, ImportOptions::default(), 0, 1);
        let skipped = trace.meta.diags.sorted();
        let skipped = skipped.iter().any(|entry| entry.code.name.starts_with("input/"));
        assert!(!skipped, "{}", path.display());
    }
}

#[test]
fn the_documented_example_is_recognized() {
    let page =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/perf_script.md"));
    let example = show::example(page);
    assert!(matches!(PerfScript.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    assert!(!told("perf_script", example, ImportOptions::default()).0.is_empty());
}

#[test]
fn a_text_cut_anywhere_is_read_up_to_the_cut() {
    for name in ["branches", "samples", "syscalls"] {
        let text = fixture(name);
        let mut calls = 0;
        for cut in 300..text.len().min(5_000) {
            let trace = trace("perf_script", &text[..cut], ImportOptions::default(), 0, 1);
            let now = trace.spans.ids().count();
            assert!(now >= calls, "{name} cut at {cut}: {calls} calls, then {now}");
            calls = now;
        }
        assert!(calls > 3, "{name}");
    }
}

proptest! {
    #[test]
    fn blocks_of_any_size_tell_the_same(block in 1_usize..3_000, workers in 1_usize..4) {
        for name in ["branches", "call-trace", "samples", "sched"] {
            let text = fixture(name);
            let blocks = trace("perf_script", &text, ImportOptions::default(), block, workers);
            prop_assert_eq!(crate::testing::show(&blocks), crate::testing::show(&read(name)));
        }
    }

    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        PerfScript.recognize_bytes(&bytes, true);
        if !bytes.is_empty() && PerfScript.open_bytes(&bytes, &ImportOptions::default()).is_ok() {
            trace("perf_script", &bytes, ImportOptions::default(), 0, 1);
        }
    }

    #[test]
    fn branches_in_any_order_make_sound_calls(
        steps in proptest::collection::vec((0..10_usize, 0..4_usize, 0..4_usize, 0..3_u64, 0..3_u64), 1..40),
    ) {
        const KINDS: [&str; 10] = [
            "call", "return", "jmp", "syscall", "sysret", "hw int", "iret", "tr strt", "tr end", "",
        ];
        const NAMES: [&str; 4] = ["a", "b", "c.cold", "c"];
        use std::fmt::Write as _;
        let mut text = String::new();
        for (time, (kind, from, to, at, into)) in steps.iter().enumerate() {
            let (kind, from, to) = (KINDS[*kind], NAMES[*from], NAMES[*to]);
            writeln!(
                text,
                "x 7 [001] 5.{time:09}: 1 branches:u: {kind} {:x} {from}+{at:#x} (x) => {:x} {to}+{into:#x} (x)",
                0x10 * at,
                0x10 * into,
            )
            .unwrap();
        }
        let trace = trace("perf_script", text.as_bytes(), ImportOptions::default(), 0, 1);
        profctl_testkit::invariants::check(&trace, "branches");
        // What is open in the reader is open in the stitcher: nothing is left that was not entered,
        // but for what was open from the beginning.
        let odd = trace.meta.diags.sorted();
        let odd: Vec<_> = odd.iter().map(|entry| entry.code.name).collect();
        prop_assert!(!odd.contains(&"input/skipped-record"), "{:?} {}", odd, text);
    }
}

/// An exception leaves several calls at once, one of them the same function as the outermost of
/// those that end.
#[test]
fn calls_of_a_function_that_is_open_twice_end_together() {
    let line = |time: u64, kind: &str, from: (&str, u64), to: (&str, u64)| {
        let place = |(name, offset): (&str, u64)| {
            format!("{:x} {name}+0x{offset:x} (/bin/a)", 0x1000 + offset)
        };
        format!("a 7 [000] 1.{time:09}: 1 branches:uH: {kind} {} => {}\n", place(from), place(to))
    };
    let text = [
        line(10, "call", ("main", 4), ("f", 0)),
        line(20, "call", ("f", 4), ("g", 0)),
        line(30, "call", ("g", 4), ("f", 0)),
        line(40, "jmp", ("f", 8), ("main", 8)),
        line(50, "call", ("main", 12), ("g", 0)),
        line(60, "return", ("g", 8), ("main", 16)),
        line(70, "return", ("main", 20), ("start", 8)),
    ]
    .concat();
    let (calls, codes) = told("perf_script", &text, ImportOptions::default());
    let calls = calls.replace("10000000", "");
    expect![[r#"
        a-7 0 main 10+60 net 20 unseen entry
        a-7 1 f 10+30 net 10
        a-7 2 g 20+20 net 10 unseen exit
        a-7 3 f 30+10 net 10 unseen exit
        a-7 1 g 50+10 net 10
        a-7 0 start 70+0 net 0 unseen both
    "#]]
    .assert_eq(&calls);
    assert_eq!(codes, ["stitch/unclosed-entry 1"]);
}

#[test]
fn branches_that_were_made_up_leave_nothing_unmatched() {
    let mut text = Vec::new();
    profctl_testkit::generate::write_large("perf_script", 600_000, 7, &mut text).unwrap();
    let trace = trace("perf_script", &text, ImportOptions::default(), 0, 1);
    let codes: Vec<_> = trace.meta.diags.sorted().iter().map(|entry| entry.code.name).collect();
    // What was open when the size was reached.
    assert_eq!(codes, ["stitch/unclosed-entry"]);
}
