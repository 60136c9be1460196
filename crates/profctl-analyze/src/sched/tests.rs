//! Hand-written schedules: tables, paths and documents, and the sums that must hold for any.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_model::{
    DiagLog, Record, SpanSink as _, Timebase, TraceBuilder, TraceMeta, Wake, WakeEffect,
};
use proptest::prelude::*;

use super::*;
use crate::critpath::{self, Options, PathBy, chain};
use crate::testing::show;

/// States a line: thread, CPU (`-` for none), state, from, to, and who ended the wait before it:
/// `by=THREAD`, or `irq=NAME`. Threads named `idle…` are idle tasks.
pub(crate) fn trace(script: &str) -> Trace {
    let mut names = Names::default();
    let mut builder = TraceBuilder::default();
    let (mut first, mut last) = (Tick(u64::MAX), Tick(0));
    let thread = |names: &mut Names, name: &str| {
        let known = names.threads.pairs().find(|(_, thread)| thread.name == name);
        let known = known.map(|(id, _)| id);
        known.unwrap_or_else(|| {
            let idle = name.starts_with("idle");
            names.threads.push(Thread { name: name.into(), idle, ..Thread::default() })
        })
    };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let who = thread(&mut names, words[0]);
        let cpu = words[1].parse().ok().map(|number| names.cpu(number));
        let state = match words[2] {
            "run" => RunState::Running,
            "woken" => RunState::RunnableWoken,
            "preempted" => RunState::RunnablePreempted,
            "new" => RunState::RunnableNew,
            "sleep" => RunState::Sleeping,
            "disk" => RunState::Uninterruptible,
            "dead" => RunState::Dead,
            other => panic!("{other}"),
        };
        let (start, end) = (Tick(words[3].parse().unwrap()), Tick(words[4].parse().unwrap()));
        (first, last) = (first.min(start), last.max(end));
        let waker = words.get(5).map(|by| match by.split_once('=') {
            Some(("by", name)) => Waker {
                thread: Some(thread(&mut names, name)),
                context: WakerContext::Task,
                ..Waker::default()
            },
            Some(("irq", name)) => {
                let func = profctl_model::Func {
                    name: name.into(),
                    kind: FuncKind::Interrupt,
                    ..profctl_model::Func::default()
                };
                let interrupt = Some(names.func(func));
                Waker { context: WakerContext::HardIrq, interrupt, ..Waker::default() }
            }
            _ => panic!("{by}"),
        });
        if let Some(waker) = waker {
            let wake = Wake { time: start, waker, woken: who, effect: WakeEffect::Woke };
            builder.record(Record::Wake(&wake), &names);
        }
        let state = ThreadState {
            thread: who,
            state,
            start,
            end,
            cpu,
            waker,
            wait_reason: None,
            start_seen: true,
            end_seen: true,
        };
        builder.record(Record::State(&state), &names);
    }
    let meta = TraceMeta {
        timebase: Timebase::MICROSECONDS,
        first,
        last,
        events: 0,
        knows_off_cpu: true,
        diags: DiagLog::default(),
    };
    builder.finish(meta, names)
}

/// main waits for worker, worker for helper, and helper once for a timer.
const CHAIN: &str = "
    main 0 run 0 50
    main 0 sleep 50 880
    main 0 woken 880 890 by=worker
    main 0 run 890 1000
    worker 1 run 30 60
    worker 1 sleep 60 560
    worker 1 woken 560 570 by=helper
    worker 1 run 570 900
    helper 0 run 50 200
    helper 0 sleep 200 300
    helper 0 woken 300 305 irq=irq:disk
    helper 0 run 305 600
    helper 0 preempted 600 610
    helper 0 run 610 620
    idle0 0 run 200 305
    idle0 0 run 620 890";

fn check(table: &profctl_model::Table, expected: &Expect) {
    expected.assert_eq(&show(table));
}

#[test]
fn threads_cpus_and_wakers() {
    let trace = trace(CHAIN);
    let schedule = of(&trace).unwrap();
    let row = |name: &str| {
        let row = schedule.threads.iter().find(|row| trace.names.threads[row.thread].name == name);
        row.unwrap()
    };
    let helper = row("helper");
    assert_eq!(helper.sums.of(RunState::Running), Ticks(455));
    assert_eq!((helper.voluntary, helper.involuntary, helper.wakeups), (1, 1, 1));
    assert_eq!(
        (helper.latency.sum(), helper.longest_wait),
        (Ticks(5), Some((Tick(600), Ticks(10))))
    );
    check(
        &schedule.cpus(&trace, Rows::ALL),
        &expect![[r#"
        cpu|busy|busy_pct|idle|unknown|irq|softirq|switches|queue_avg|queue_max
        0|615|61.5%|375|10|0|0|7|0.025|1
        1|360|36.0%|0|640|0|0|2|0.01|1
    "#]],
    );
    check(
        &wakers(&trace, Rows::ALL),
        &expect![[r#"
        waker|woken|wakeups|redundant|latency|latency_avg|latency_max
        helper|worker|1|0|10|10|10
        worker|main|1|0|10|10|10
        irq:disk|helper|1|0|5|5|5
    "#]],
    );
    check(
        &histogram(&trace, Rows::ALL),
        &expect![[r#"
        from|below|count|share|bar
        4|8|1|33.3%|####################
        8|16|2|66.7%|########################################
    "#]],
    );
    check(
        &depth(&trace, 4, Rows::ALL),
        &expect![[r#"
        from|length|avg|max
        0|250|0|0
        250|250|0.02|1
        500|250|0.08|1
        750|250|0.04|1
    "#]],
    );
    check(
        &off_cpu(&trace, Rows::ALL),
        &expect![[r#"
        off_cpu|blocked|runnable|count|max|function|path
        1465|1430|35|4|830|-|-
    "#]],
    );
    check(
        &sampled(&trace, &schedule, Ticks(100), Rows::ALL),
        &expect![[r#"
        thread|exact|min|expected|max
        helper|455|300|455|500
        worker|360|300|360|400
        main|160|100|160|200
        (idle)|375|300|375|400
        # no system calls in this trace: user and system time are not separated; record `-e raw_syscalls`
    "#]],
    );
}

#[test]
fn the_path_follows_the_wakers() {
    let trace = trace(CHAIN);
    let options = Options { thread: Some("main".into()), ..Options::default() };
    let report = |by| critpath::report(&trace, &options, by).unwrap();
    check(
        &report(PathBy::Segment),
        &expect![[r#"
        from|length|share|thread|state|cpu|what|waker
        0|50|5.0%|main|running|0|-|-
        50|150|15.0%|helper|running|0|-|-
        200|100|10.0%|helper|interrupt|-|irq:disk|irq:disk
        300|5|0.5%|helper|runnable|0|-|irq:disk
        305|255|25.5%|helper|running|0|-|-
        560|10|1.0%|worker|runnable|1|-|helper
        570|310|31.0%|worker|running|1|-|-
        880|10|1.0%|main|runnable|0|-|worker
        890|110|11.0%|main|running|0|-|-
        # path: of main, traced back from its end
    "#]],
    );
    check(
        &report(PathBy::Thread),
        &expect![[r#"
        thread|total|share|running|runnable|interrupt|blocked|unknown|slack
        helper|510|51.0%|405|5|100|0|0|0
        worker|320|32.0%|310|10|0|0|0|0
        main|170|17.0%|160|10|0|0|0|0
        # path: of main, traced back from its end
    "#]],
    );
    check(
        &critpath::diff(&trace, &self::trace(&CHAIN.replace("irq:disk", "irq:net")), &options)
            .unwrap(),
        &expect![[r#"
            before|after|change|what_happened|thread|state|what
            100|-|-100|left|helper|interrupt|irq:disk
            -|100|+100|entered|helper|interrupt|irq:net
            405|405|+0|same|helper|running|-
            5|5|+0|same|helper|runnable|-
            160|160|+0|same|main|running|-
            10|10|+0|same|main|runnable|-
            310|310|+0|same|worker|running|-
            10|10|+0|same|worker|runnable|-
            # path: main before, main after
        "#]],
    );
}

/// A process that yields before every tick is charged nothing at one phase and everything at
/// another.
#[test]
fn a_process_that_yields_before_the_tick_is_charged_nothing() {
    let mut script = String::new();
    for turn in 0..10 {
        let start = turn * 100;
        writeln!(script, "user 0 run {} {}", start + 10, start + 90).unwrap();
        writeln!(script, "user 0 sleep {} {}", start + 90, start + 110).unwrap();
    }
    let trace = trace(&script);
    let table = sampled(&trace, &of(&trace).unwrap(), Ticks(100), Rows::ALL);
    let row = &table.rows[0];
    let times: Vec<_> = row[1..].to_vec();
    let time = |ticks| Cell::Time(Ticks(ticks));
    assert_eq!(times, [time(800), time(0), time(800), time(1000)]);
}

#[test]
fn documents_have_the_fields_of_their_pages() {
    let trace = trace(CHAIN);
    let json = of(&trace).unwrap().to_json(&trace, Rows::ALL);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let page = include_str!("../../../../docs/schemas/sched-1.md");
    crate::schemas::check_document(
        &json,
        page,
        &[("threads", "## `threads[]`"), ("cpus", "## `cpus[]`")],
    );
    let options = Options { thread: Some("main".into()), ..Options::default() };
    let json = critpath::json(&trace, &options).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let page = include_str!("../../../../docs/schemas/critical-path-2.md");
    let parts = [("segments", "## `segments[]`"), ("by_thread", "## `by_thread[]`")];
    crate::schemas::check_document(&json, page, &parts);
}

proptest! {
    /// Any states: sums of threads and of CPUs, and a path that covers its window once.
    #[test]
    fn everything_sums_up(
        steps in prop::collection::vec((0..3_usize, 1..40_u64, 0..4_usize, 0..4_usize), 1..60),
    ) {
        let names = ["a", "b", "c"];
        let mut now = [0_u64; 3];
        let mut before = ["run"; 3];
        let mut script = String::new();
        for (thread, length, what, by) in steps {
            let state = match before[thread] {
                "run" => ["sleep", "disk", "preempted", "sleep"][what],
                "sleep" | "disk" => "woken",
                _ => "run",
            };
            let by = match (state, by) {
                ("woken", 0) => " irq=irq:disk".to_owned(),
                ("woken", by) => format!(" by={}", names[by - 1]),
                _ => String::new(),
            };
            let (start, end) = (now[thread], now[thread] + length);
            writeln!(script, "{} {thread} {state} {start} {end}{by}", names[thread]).unwrap();
            (now[thread], before[thread]) = (end, state);
        }
        let trace = trace(&script);
        let schedule = of(&trace).unwrap();
        for row in &schedule.threads {
            let sum = row.sums.of(RunState::Running) + row.sums.runnable() + row.sums.blocked();
            prop_assert_eq!(sum + row.sums.of(RunState::Unknown), row.end - row.start);
        }
        let window = schedule.end - schedule.start;
        for cpu in &schedule.cpus {
            prop_assert_eq!(cpu.busy + cpu.idle + cpu.unknown, window);
        }
        for row in &schedule.threads {
            let chain = chain::walk(&trace, row.thread, schedule.start, schedule.end);
            let mut now = chain.start;
            for link in &chain.links {
                prop_assert_eq!(link.start, now);
                prop_assert!(link.end > link.start);
                now = link.end;
            }
            prop_assert_eq!(now, chain.end);
        }
    }
}
