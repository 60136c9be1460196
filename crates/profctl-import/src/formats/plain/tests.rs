// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use profctl_model::Fidelity;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use proptest::prelude::*;

use super::lex::Verb;
use super::show::{check_cuts, example, read, show};
use super::*;
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, PrevState, Record, Stated, ThreadKey, ThreadName, WakerContext,
    Waking, WakingKind,
};
use crate::testing::ImporterOfBytes;

macro_rules! fixtures {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"), "/../../fixtures/plain/", $name, ".txt"
        )))),*]
    };
}

static FIXTURES: [(&str, &str); 15] = fixtures![
    "every-kind"
    "exit-without-entry"
    "entry-without-exit"
    "long-jump"
    "mismatched-names"
    "recursion"
    "equal-times"
    "clock-backwards"
    "counter-wrap"
    "lost-events"
    "interrupt-on-idle"
    "switch-tags"
    "migration"
    "synthetic"
    "cut-line"
];

fn options() -> ImportOptions {
    ImportOptions::default()
}

#[track_caller]
fn check(input: &str, expected: Expect) {
    expected.assert_eq(&show(&Plain, input.as_bytes(), &options()));
}

#[test]
fn a_line_says_all_that_an_event_holds() {
    let input = "5 cpu3 sh-7 > f[mod]$ wall=9 net=4 depth=2\n6 cpu3 switch sh-7 idle preempted\n";
    let said = read(&Plain, input.as_bytes(), &options());
    let records: Vec<_> = said.said().collect();
    let [(call_at, call), (switch_at, switch)] = records[..] else { panic!("two: {records:?}") };

    let func = &said.names[call.name().unwrap().0 as usize];
    assert_eq!((func.name.as_str(), func.module.as_deref()), ("f", Some("mod")));
    assert_eq!(func.kind, profctl_model::FuncKind::Syscall);
    let shell = LaneKey { cpu: Some(3), thread: ThreadKey::Tid(7, "sh".into()) };
    let idle = LaneKey { cpu: Some(3), thread: ThreadKey::Idle };
    assert_eq!(said.lanes[call_at.lane.0 as usize], shell);
    assert_eq!((call_at.time, call_at.offset), (Some(5), 0));
    let Record::Enter { stated, .. } = call else { panic!("an entry: {call:?}") };
    assert_eq!(stated, Stated { depth: Some(2), wall: Some(9), net: Some(4) });

    assert_eq!((switch_at.time, switch_at.offset), (Some(6), 43));
    assert_eq!(said.lanes[switch_at.lane.0 as usize], idle);
    let Record::SchedSwitch { prev, prev_state } = switch else { panic!("a switch: {switch:?}") };
    assert_eq!(prev.map(|prev| &said.lanes[prev.0 as usize]), Some(&shell));
    assert_eq!(prev_state, PrevState::Runnable);
}

/// What the other verbs say, and what earlier ones may say besides.
#[test]
fn verbs_of_the_lossless_form() {
    check(
        "1 cpu0 main-7/8 > \"a \"\"b\"\"\" depth=0 addr=0x401000\n2 cpu0 switch ? sh-7 state=R+\n\
         3 cpu0 sh-7 wake #9 kind=waking cpu=2 by=hardirq\n4 sh-7 fork #9\n5 #9 exits\n\
         - #7/8 is tid=8 pid=7 idle=1\n- shared 8\n7 sh-7 ! write \"fd=1 \"\"x\"\"\"\n\
         8 sh-7 ~ f\n8 sh-7 ~ g seen=entry\n9 covers\n- cpu1 sum g calls=3 elapsed=9 net=4\n- diag input/cut-record 2\n\
         10 > f&\n11 ! f&\n12 sh-7 advance 4\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            - cpu1 sum g calls=3 elapsed=9 net=4
            1 cpu0 main-7/8 > "a ""b""" depth=0 addr=0x401000
            2 cpu0 switch ? sh-7 state=R+
            3 cpu0 sh-7 wake #9 kind=waking cpu=2 by=hardirq
            4 sh-7 fork #9
            5 #9 exits
            - #7/8 is tid=8 pid=7 idle=1
            - shared 8
            7 sh-7 ! write "fd=1 ""x"""
            8 sh-7 ~ f
            8 sh-7 ~ g seen=entry
            9 covers
            10 > f
            11 ! f&
            12 sh-7 advance 4
            input/cut-record 2 more
        "#]],
    );
}

#[test]
fn every_kind_is_written_as_it_was_read() {
    check(
        FIXTURES[0].1,
        expect![[r##"
            # profctl plain 1 unit=us
            9 cpu0 sh-7 in _start
            10 cpu0 sh-7 > main
            12 cpu0 sh-7 > sys_read$
            13 cpu0 sh-7 . fget 2
            20 cpu0 sh-7 = ext4_read[ext4] 5
            21 cpu0 sh-7 ! checkpoint
            22 cpu0 sh-7 irq>
            22 cpu0 sh-7 > timer_interrupt^ wall=3 net=3 depth=2
            25 cpu0 sh-7 < timer_interrupt^ depth=2
            25 cpu0 sh-7 irq<
            26 cpu0 sh-7 wake #8
            30 cpu0 switch sh-7 #8 preempted
            31 cpu0 #8 > "operator new(unsigned long)"
            33 cpu0 #8 <
            34 cpu0 switch #8 idle
            40 cpu0 switch idle sh-7
            - cpu0 sh-7 runs idle
            41 cpu0 sh-7 < sys_read$
            42 cpu0 lost 3
            43 cpu1 lost
            44 "my daemon"-9 > main
            45 logger switch> swtch
            46 logger switch< swtch
        "##]],
    );
}

#[test]
fn a_verb_decides_what_an_unmarked_name_is() {
    check(
        "1 > f\n2 ! f\n3 ! f~\n4 > f=\n5 > f!\n6 > \"f!\"\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            1 > f
            2 ! f
            3 ! f~
            4 > f=
            5 > f!
            6 > "f!"
        "#]],
    );
}

#[test]
fn quoted_words_mean_only_themselves() {
    check(
        "1 \"idle\" > \"<\"\n2 \"lost\" > \"a b\"[m]^\n3 \"cpu1\" < \"wall=3\" wall=4\n4 \"x-1\" <\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            1 "idle" > "<"
            2 "lost" > "a b"[m]^
            3 "cpu1" < "wall=3" wall=4
            4 "x-1" <
        "#]],
    );
}

#[test]
fn lines_that_are_refused() {
    let mut said = String::new();
    for line in [
        "10",
        "10 cpu0",
        "10 cpu0 sh-7",
        "10 sh 7 > f",
        "ten > f",
        "1.5 > f",
        "18446744073709551615 > f",
        "10 >",
        "10 > f g",
        "10 > f net=",
        "10 > f depth=65535",
        "10 > \"f",
        "10 > \"f\"x",
        "10 > [m]",
        "10 < f net=3",
        "10 . f",
        "10 . f 3 wall=3",
        "10 lost some",
        "10 runs",
        "10 cpu0 sh-7 switch sh-7 idle",
        "10 cpu0 switch sh-7",
        "10 wake",
        "10 irq> f",
        "10 #x > f",
    ] {
        let input = format!("{line}\n");
        let emitted = read(&Plain, input.as_bytes(), &options());
        assert!(emitted.said().len() == 0, "{line}");
        assert_eq!(emitted.diags[0].code.name, SKIPPED_RECORD.name);
        said.extend([emitted.diags[0].message.as_str(), "\n"]);
    }
    expect![[r#"
        found `10`, expected a verb, such as `>`
        found `10 cpu0`, expected a verb, such as `>`
        found `10 cpu0 sh-7`, expected a verb, such as `>`
        found `10 sh 7 > f`, expected a verb, such as `>`
        found `ten > f`, expected a time in whole ticks, or `-`
        found `1.5 > f`, expected a time in whole ticks, or `-`
        found `18446744073709551615 > f`, expected a time that fits the counter
        found `10 >`, expected a name
        found `10 > f g`, expected `wall=N`, `depth=N` or, of an entry, `net=N`
        found `10 > f net=`, expected an integer after `=`
        found `10 > f depth=65535`, expected a depth below 65535
        found `10 > "f`, expected `[module]` or a mark after the closing quote
        found `10 > "f"x`, expected `[module]` or a mark after the closing quote
        found `10 > [m]`, expected a name
        found `10 < f net=3`, expected `wall=N`, `depth=N` or, of an entry, `net=N`
        found `10 . f`, expected a duration in whole ticks
        found `10 . f 3 wall=3`, expected `depth=N`
        found `10 lost some`, expected a number of lost events
        found `10 runs`, expected a thread before `runs`
        found `10 cpu0 sh-7 switch sh-7 idle`, expected `switch FROM TO` without a thread before
        found `10 cpu0 switch sh-7`, expected `switch FROM TO`
        found `10 wake`, expected the thread that is woken
        found `10 irq> f`, expected the end of the line
        found `10 #x > f`, expected a thread: `name`, `name-123`, `#123` or `idle`
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_timeline_is_recorded_or_synthetic_throughout() {
    check(
        "# profctl plain 1 timeline=synthetic\n- . f 3\n5 . g 3\n",
        expect![[r#"
            # profctl plain 1 unit=ns timeline=synthetic
            - . f 3
            input/skipped-record +45: found `5 . g 3`, expected `-` for the time, because the timeline is synthetic
        "#]],
    );
    check(
        "# profctl plain 1\n5 > f\n- . \"\" 3\n- < f\n",
        expect![[r#"
        # profctl plain 1 unit=ns
        5 > f
        - . "" 3
        - < f
    "#]],
    );
    check(
        "# profctl plain 1 counter-bits=8\n255 > f\n256 < f\n",
        expect![[r#"
        # profctl plain 1 unit=ns
        255 > f
        input/skipped-record +41: found `256 < f`, expected a time that fits the counter
    "#]],
    );
}

#[test]
fn headers() {
    let opened = |line: &str| Plain.open_bytes(line.as_bytes(), &options());
    let timebase = |line| opened(line).expect(line).timebase;
    assert_eq!(timebase("10 > f\n"), Timebase::NANOSECONDS);
    assert_eq!(timebase("# profctl plain 1 unit=us\r\n"), Timebase::MICROSECONDS);
    assert_eq!(timebase("# profctl plain 1 unit=cycles").unit, TickUnit::Cycles);
    assert_eq!(
        timebase("# profctl plain 1 unit=16MHz timeline=synthetic"),
        Timebase {
            unit: TickUnit::Seconds { numerator: 1, denominator: 16_000_000 },
            resolution: Ticks(1),
            timeline: Timeline::Synthetic,
        }
    );
    assert_eq!(
        opened("# profctl plain 1 counter-bits=24").unwrap().streams[0].clock.counter_bits,
        Some(24)
    );

    let mut said = String::new();
    for line in [
        "# profctl plain",
        "# profctl plain 2",
        "# profctl plain 1 unit=fortnight",
        "# profctl plain 1 counter-bits=64",
        "# profctl plain 1 timeline",
        "# profctl plain 1 color=red",
    ] {
        said.extend([opened(line).err().expect(line).to_string().as_str(), "\n"]);
    }
    expect![[r#"
        line 1: no version of the plain format, expected 1
        line 1: version 2 of the plain format, expected 1
        line 1: unit `fortnight`, expected one such as ns, 250ns, MHz or cycles
        line 1: counter-bits `64`, expected 1 to 63
        line 1: timeline ``, expected recorded or synthetic
        line 1: `color=red`, expected unit=, counter-bits= or timeline=
    "#]]
    .assert_eq(&said);
}

#[test]
fn recognized_by_the_first_line_only() {
    for (name, text) in FIXTURES {
        assert!(
            matches!(Plain.recognize_bytes(text.as_bytes(), true), Recognition::Yes(_)),
            "{name}"
        );
    }
    for other in ["", "10 > f\n", "\n# profctl plain 1\n", "# profctl plainer\n"] {
        assert_eq!(Plain.recognize_bytes(other.as_bytes(), true), Recognition::No, "{other}");
    }
}

#[test]
fn fixtures_read_whole() {
    for (name, text) in FIXTURES {
        let said = read(&Plain, text.as_bytes(), &options());
        let codes: Vec<_> = said.diags.iter().map(|diag| diag.code.name).collect();
        let expected = if name == "cut-line" { vec![CUT_RECORD.name] } else { Vec::new() };
        assert_eq!(codes, expected, "{name}");
        assert_eq!(said.lines as usize, text.lines().count(), "{name}");
    }
}

#[test]
fn every_cut() {
    for (_, text) in FIXTURES {
        check_cuts(&Plain, text.as_bytes(), &options());
    }
}

#[test]
fn the_documented_example_is_the_fixture() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/plain.md"));
    assert_eq!(example(page), FIXTURES[0].1);
}

fn any_thread() -> impl Strategy<Value = ThreadKey> {
    let name = || "[a-z#:/\" -]{0,5}";
    prop_oneof![
        Just(ThreadKey::Unstated),
        Just(ThreadKey::Idle),
        (0..u64::MAX, name()).prop_map(|(tid, name)| ThreadKey::Tid(tid, name)),
        (0..9_u64, 0..u64::MAX, name()).prop_map(|(pid, tid, name)| ThreadKey::Member {
            pid,
            tid,
            name
        }),
        "([a-z#:/\" -]{1,5}|idle|lost|cpu1|>|a-1|a-1/2|[?]|preempted|state=R)"
            .prop_map(ThreadKey::Named),
    ]
}

/// What a record of any kind may be made of.
#[derive(Clone, Debug)]
struct Sketch {
    verb: Verb,
    time: u64,
    cpu: Option<u32>,
    threads: (ThreadKey, ThreadKey),
    func: profctl_model::Func,
    numbers: (Option<u64>, Option<u64>),
    depth: Option<u16>,
}

fn any_record() -> impl Strategy<Value = Sketch> {
    use profctl_model::FuncKind;
    let verbs = lex::VERBS.map(|(_, verb)| verb).into_iter();
    let verbs: Vec<Verb> = verbs.filter(|verb| !matches!(verb, Verb::Sum | Verb::Diag)).collect();
    let func_kinds = [
        FuncKind::Function,
        FuncKind::Syscall,
        FuncKind::Interrupt,
        FuncKind::Idle,
        FuncKind::Switch,
        FuncKind::Mark,
    ];
    let func = (
        "([a-z_]{1,5}|[a-z!=^~$&#<>\" ()\\[\\].-]{1,6}|wall=3|lost)",
        proptest::option::of("[a-z.=^\\[\\]\"-]{0,3}"),
        proptest::sample::select(func_kinds.to_vec()),
        proptest::option::of(0..u64::MAX),
    );
    let func = func.prop_map(|(name, module, kind, address)| profctl_model::Func {
        name,
        module,
        kind,
        address,
    });
    let number = || proptest::option::of(0..u64::MAX);
    (
        proptest::sample::select(verbs),
        0..u64::MAX,
        proptest::option::of(0_u32..4),
        (any_thread(), any_thread()),
        func,
        (number(), number()),
        proptest::option::of(0..u16::MAX),
    )
        .prop_map(|(verb, time, cpu, threads, func, numbers, depth)| Sketch {
            verb,
            time,
            cpu,
            threads,
            func,
            numbers,
            depth,
        })
}

/// Says the record of a sketch.
fn emit(sketch: &Sketch, out: &mut Emitter) {
    let Sketch { verb, time, cpu, threads, func, numbers, depth } = sketch;
    let thread = match &threads.0 {
        ThreadKey::Unstated if *verb == Verb::Runs => ThreadKey::Idle,
        thread => thread.clone(),
    };
    let lane = out.lane(LaneKey { cpu: *cpu, thread });
    let other = out.lane(LaneKey { cpu: *cpu, thread: threads.1.clone() });
    let name = out.name(format!("{func:?}").as_bytes(), |_| func.clone());
    let at = At { time: Some(*time), lane, offset: 0 };
    let (first, second) = *numbers;
    let number = first.unwrap_or(7);
    let stated = Stated { depth: *depth, wall: first, net: second };
    let of_depth = Stated { wall: Some(number), net: None, ..stated };
    let states = [
        PrevState::Runnable,
        PrevState::Preempted,
        PrevState::Sleeping,
        PrevState::Uninterruptible,
        PrevState::Stopped,
        PrevState::Dead,
        PrevState::Unknown(b'Q'),
    ];
    let kinds = [WakingKind::Waking, WakingKind::Wakeup, WakingKind::WakeupNew];
    let contexts = [
        WakerContext::Unknown,
        WakerContext::Task,
        WakerContext::HardIrq,
        WakerContext::SoftIrq,
        WakerContext::HardAndSoftIrq,
    ];
    let waking = Waking {
        kind: kinds[*time as usize % kinds.len()],
        target_cpu: *cpu,
        context: contexts[number as usize % contexts.len()],
    };
    match verb {
        Verb::Enter => out.enter(at, name, stated),
        Verb::Exit => out.exit(at, second.map(|_| name), Stated { net: None, ..stated }),
        Verb::Leaf => out.leaf(at, name, of_depth),
        Verb::Returned => out.returned(at, name, of_depth),
        Verb::Instant if first.is_some() => out.instant_with(at, name, &func.name),
        Verb::Instant => out.instant(at, name),
        Verb::Within => out.seen_at_depth(at, name, *depth),
        Verb::Lost => out.lost(at, first),
        Verb::Runs => out.runs_now(lane, first.map(|_| other), 0),
        Verb::Switch => {
            out.sched_switch(at, Some(other), states[number as usize % states.len()], Some(lane));
        }
        Verb::Wake => out.waking(at, other, waking),
        Verb::IrqEnter => out.irq_enter(at),
        Verb::IrqExit => out.irq_exit(at),
        Verb::TagEnter | Verb::TagExit => out.switch_tag(at, name, *verb == Verb::TagEnter),
        Verb::PartialEnd => out.partial_end(at, name, first.is_some()),
        Verb::Incomplete => out.incomplete(
            at,
            Fidelity {
                start_inferred: first.is_some(),
                end_inferred: second.is_some(),
                at_gap: cpu.is_some(),
            },
        ),
        Verb::Covers => out.covers(at),
        Verb::Advance => out.advance(at, number),
        Verb::Fork => out.fork(at, other),
        Verb::ThreadExit => out.thread_exit(at),
        Verb::NameThread => {
            out.name_thread(lane, 0, ThreadName { tid: first, pid: second, idle: cpu.is_some() });
        }
        Verb::Share => out.share(At { time: None, ..at }, number),
        Verb::Sum | Verb::Diag => {}
    }
}

/// Records with their references resolved, so that those of two emitters can be compared.
fn resolved(block: &Emitter) -> Vec<String> {
    let lane = |lane: LaneRef| &block.lanes[lane.0 as usize];
    let describe = |(at, record): (At, Record<'_>)| {
        let other = match record {
            Record::SchedSwitch { prev, .. } => prev,
            Record::RunsNow { before } => before,
            Record::Waking { target, .. } => Some(target),
            Record::Fork { child } => Some(child),
            _ => None,
        };
        let shown = match record {
            Record::SchedSwitch { prev_state, .. } => format!("{prev_state:?}"),
            Record::RunsNow { .. } | Record::Fork { .. } => String::new(),
            Record::PartialEnd { entry_seen, .. } => entry_seen.to_string(),
            Record::Waking { waking, .. } => format!("{waking:?}"),
            Record::Instant { detail, .. } => format!("{detail:?}"),
            Record::Enter { stated, .. }
            | Record::Exit { stated, .. }
            | Record::Leaf { stated, .. }
            | Record::Returned { stated, .. } => format!("{stated:?}"),
            Record::Complete { depth, .. } | Record::Within { depth, .. } => format!("{depth:?}"),
            Record::SwitchTag { entered, .. } => entered.to_string(),
            other => format!("{other:?}"),
        };
        let kind = std::mem::discriminant(&record);
        let func = record.name().map(|name| &block.names[name.0 as usize]);
        let other = other.map(lane);
        format!("{kind:?} {shown} {:?} {:?} {other:?} {func:?}", at.time, lane(at.lane))
    };
    block.said().map(describe).collect()
}

proptest! {
    #[test]
    fn whatever_is_written_reads_back(sketches in proptest::collection::vec(any_record(), 1..8)) {
        let mut block = Emitter::default();
        for sketch in &sketches {
            emit(sketch, &mut block);
        }
        let text = write(&block, &Timebase::NANOSECONDS);
        let said = read(&Plain, text.as_bytes(), &options());
        prop_assert!(said.diags.is_empty(), "{text}{:?}", said.diags);
        prop_assert_eq!(resolved(&said), resolved(&block), "{}", text);
    }

    #[test]
    fn garbage_is_skipped(bytes: Vec<u8>) {
        if Plain.open_bytes(&bytes, &options()).is_ok() {
            read(&Plain, &bytes, &options());
        }
    }

    #[test]
    fn near_garbage_is_read_or_counted(
        input in "([0-9-]{1,3} (cpu[0-9]? )?([a-z#\"-]{1,4} )?(>|<|\\.|=|!|lost|switch|runs|wake|irq>)( [a-z\"\\[\\]$=]{1,3}){0,2}( [0-9])?( (wall|net|depth)=[0-9]?)?\r?\n){1,6}"
    ) {
        let said = read(&Plain, input.as_bytes(), &options());
        let more: u64 = said.more_diags.iter().map(|more| more.1).sum();
        prop_assert_eq!(said.said().len() as u64 + said.diags.len() as u64 + more, said.records);
    }
}
