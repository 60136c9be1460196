//! What is known of threads: their states, their names, when they were last seen.

use std::fmt::Write as _;

use expect_test::expect;
use profctl_model::{RunState, ThreadId, ThreadState, Tick};

use super::{calls, check_window, options, plain, read_text};
use crate::recorder::read;

#[test]
fn a_window_in_a_thread_that_waits_is_of_the_call_that_waits() {
    check_window(
        "0 x > read; 5 y > work; 90 y < work; 100 x < read",
        [Some(10), Some(20)],
        &expect![[r"
            read: 0 calls, 1 partial, 10 10
            work: 0 calls, 1 partial, 10 10
        "]],
    );
}

#[test]
fn time_off_the_cpu_is_clipped_to_the_window() {
    check_window(
        "0 cpu0 a-1 > f; 20 cpu0 switch a-1 b-2; 50 cpu0 switch b-2 a-1; 100 cpu0 a-1 < f",
        [Some(10), Some(40)],
        &expect![[r"
            f: 0 calls, 1 partial, 10 10
        "]],
    );
}

#[test]
fn what_one_cpu_lost_is_missing_since_its_own_last_event() {
    // The other one goes on; usual events and others count, and those of a thread that moved on.
    for (events, last) in [
        ("4 cpu0 a-1 > f; 5 cpu0 a-1 < f", 5),
        ("6 cpu0 a-1 ! mark", 6),
        ("4 cpu0 a-1 > f; 5 cpu0 a-1 < f; 9 cpu1 a-1 . f 1", 5),
    ] {
        let text = plain(&format!(
            "0 cpu0 switch x-9 a-1; 1 cpu0 a-1 > f; 2 cpu0 a-1 > f; 3 cpu0 a-1 < f; {events};
             0 cpu1 b-2 > g; 90 cpu1 b-2 < g; 100 cpu0 lost 3; 110 cpu0 switch c-3 a-1"
        ));
        let outcome = read_text(&text);
        assert_eq!(outcome.recorded.gaps[0].time, Tick(last), "{events}");
        let ran = outcome.recorded.states.iter().find(|state| {
            outcome.threads[state.thread.index()].name == "a" && state.state == RunState::Running
        });
        assert_eq!(ran.map(|state| (state.start, state.end)), Some((Tick(0), Tick(last))));
    }
}

/// Every state of thread `a` as `START..END STATE`, with `?` after an edge that was not seen.
fn states(events: &str, window: [Option<u64>; 2]) -> Vec<String> {
    let outcome = read(plain(events).as_bytes(), &options(window)).unwrap();
    let is_of_a = |it: &&ThreadState| outcome.threads[it.thread.index()].name == "a";
    let told = outcome.recorded.states.iter().filter(is_of_a).map(|it| {
        let [start, end] = [it.start_seen, it.end_seen].map(|seen| if seen { "" } else { "?" });
        format!("{}{start}..{}{end} {}", it.start.0, it.end.0, it.state.name())
    });
    told.collect()
}

#[test]
fn states_are_cut_to_the_window() {
    let events = "0 cpu0 switch b-2 a-1; 10 cpu0 switch a-1 b-2; 20 cpu0 switch b-2 a-1; \
                  30 cpu0 switch a-1 b-2 preempted; 40 cpu0 switch b-2 a-1; 50 cpu0 switch a-1 b-2";
    let all = [
        "0..10 running",
        "10..20 sleeping",
        "20..30 running",
        "30..40 runnable-preempted",
        "40..50 running",
        "50..50? sleeping",
    ];
    assert_eq!(states(events, [None, None]), all);
    let cut = ["12?..20 sleeping", "20..30 running", "30..35? runnable-preempted"];
    assert_eq!(states(events, [Some(12), Some(35)]), cut);
    assert_eq!(states(events, [Some(10), Some(30)]), all[1..3]);
}

#[test]
fn what_one_thread_lost_says_nothing_of_what_runs() {
    let events = |lost: &str| format!("0 cpu0 switch b-2 a-1; 50 {lost} 3; 90 cpu0 switch a-1 b-2");
    assert_eq!(states(&events("a-1 lost"), [None, None]), ["0..90 running", "90..90? sleeping"]);
    let since_the_last_event = ["0..0? running", "0?..90 unknown", "90..90? sleeping"];
    assert_eq!(states(&events("lost"), [None, None]), since_the_last_event);
}

#[test]
fn a_thread_has_the_longest_spelling_of_its_latest_name() {
    for (names, name, former) in [
        (&["bash", "<...>", "ba"][..], "bash", &[][..]),
        (&["<...>", "bash"], "bash", &[]),
        (&["kworker", "kworker/0:1"], "kworker/0:1", &[]),
        (&["sh", "ls", "sh", "l"], "ls", &["sh"]),
        (&["sh", "ls", "cat"], "cat", &["sh", "ls"]),
    ] {
        let events = names.iter().map(|name| format!("{name}-1 . f 1")).enumerate();
        let events: Vec<_> = events.map(|(n, event)| format!("{n} cpu0 {event}")).collect();
        let outcome = read_text(&plain(&events.join(";")));
        let thread = &outcome.threads[0];
        assert_eq!(thread.name, name, "{names:?}");
        assert!(thread.former_names.iter().eq(former), "{:?}", thread.former_names);
    }
}

#[test]
fn how_long_a_thread_is_off_the_cpu_is_not_known_across_a_loss() {
    let events = "0 cpu0 switch b-2 a-1; 1 cpu0 a-1 > f; 5 cpu0 switch a-1 b-2; 8 cpu0 lost 3;
                  12 cpu0 a-1 > g; 20 cpu0 switch b-2 a-1; 25 cpu0 a-1 < g";
    assert_eq!(calls(&plain(events)), ["f 1..5 4", "g 12..25 13"]);
}

#[test]
fn a_call_that_is_known_at_its_end_was_off_the_cpu_for_what_lies_in_it() {
    // Where it seems to begin off the CPU, stamps are rough.
    for (length, expected) in [
        (5, ["r 55..60 5", "f 0..70 25"]),
        (12, ["r 48..60 12", "f 0..70 18"]),
        (48, ["r 12..60 8", "f 0..70 22"]),
        (55, ["r 5..60 15", "f 0..70 15"]),
    ] {
        let returned = format!("= r {length} depth=1");
        let left = format!("< r wall={length} depth=1");
        for end in [returned, left] {
            let events = format!(
                "0 switch b-2 a-1; 0 a-1 > f depth=0; 10 switch a-1 b-2; 50 switch b-2 a-1; \
                 60 a-1 {end}; 70 a-1 < f depth=0"
            );
            assert_eq!(calls(&plain(&events)), expected, "{end}");
        }
    }
    // No call was open, and nothing was called before.
    let events = "0 switch b-2 a-1; 10 switch a-1 b-2; 50 switch b-2 a-1; 60 a-1 = r 55";
    assert_eq!(calls(&plain(events)), ["r 5..60 15"]);
    let mut events = "0 switch b-2 a-1; ".to_owned();
    for n in 1..2000 {
        write!(events, "{n}0 switch a-1 b-2; {n}5 switch b-2 a-1; ").unwrap();
    }
    assert_eq!(calls(&plain(&(events + "20000 a-1 = r 13"))), ["r 19987..20000 8"]);
}

#[test]
fn time_of_callees_is_not_off_the_cpu() {
    let events = "0 switch b-2 a-1; 0 a-1 > f depth=0; 7 a-1 . x 8 depth=2; 10 switch a-1 b-2; \
                  15 switch b-2 a-1; 16 a-1 = r 10 depth=1; 20 a-1 < f depth=0";
    assert_eq!(calls(&plain(events)), ["x 7..15 8", "r 6..16 0", "f 0..20 7"]);
    assert_eq!(read_text(&plain(events)).count("stitch/clamped"), 0);
}

#[test]
fn time_off_the_cpu_behind_the_end_that_an_exit_states_is_not_of_the_call() {
    let events = "0 switch b-2 a-1; 0 a-1 > m depth=0; 5 a-1 > f depth=1; 15 switch a-1 b-2; \
                  50 switch b-2 a-1; 60 a-1 < f wall=9 depth=1; 70 a-1 < m depth=0";
    assert_eq!(calls(&plain(events)), ["f 5..60 9", "m 0..70 26"]);
    // But it is where a callee was switched out that did not come late: f was stamped before it began,
    // as kernels do when records are written in a row.
    let events = "0 switch b-2 a-1; 0 a-1 > m depth=0; 5 a-1 > f depth=1; 52 a-1 > g depth=2; \
                  55 switch a-1 b-2; 57 switch b-2 a-1; 58 a-1 < g wall=6 depth=2; \
                  60 a-1 < f wall=9 depth=1; 70 a-1 < m depth=0";
    assert_eq!(calls(&plain(events)), ["g 52..58 4", "f 5..60 3", "m 0..70 61"]);
    let events = events.replace("wall=6", "wall=20");
    let events = events.replace("58 a-1", "75 a-1").replace("60 a-1", "80 a-1");
    let events = events.replace("70 a-1", "90 a-1");
    assert_eq!(calls(&plain(&events)), ["g 52..75 18", "f 5..52 9", "m 0..90 61"]);
}

#[test]
fn time_off_the_cpu_of_a_call_that_is_known_at_its_end_is_clipped_to_the_window() {
    check_window(
        "0 cpu0 switch b-2 a-1; 10 cpu0 switch a-1 b-2; 20 cpu0 switch b-2 a-1; \
         50 cpu0 switch a-1 b-2; 80 cpu0 switch b-2 a-1; 90 cpu0 a-1 = r 60",
        [Some(0), Some(60)],
        &expect![[r"
            r: 0 calls, 1 partial, 20 20
        "]],
    );
}

#[test]
fn a_call_without_an_exit_lasts_until_its_thread_was_last_seen() {
    for seen in ["9 cpu0 a-1 ! mark", "9 cpu0 a-1 wake c-3", "9 cpu0 switch a-1 c-3"] {
        let events = format!("0 cpu0 a-1 > f; {seen}; 30 cpu1 b-2 . g 1");
        assert_eq!(calls(&plain(&events)), ["g 30..31 1", "f 0..9 9"], "{seen}");
    }
}

/// From where each waking came, with the interrupt: `TIME CONTEXT NAME`.
fn wakings(events: &str) -> Vec<String> {
    let text = plain(&events.replace("wake b-2", "wake b-2 kind=waking"));
    let outcome = read_text(&text);
    let wakes = outcome.recorded.wakes.iter().map(|wake| {
        let interrupt = wake.waker.interrupt.map_or("-", |func| &*outcome.func(func).name);
        format!("{} {:?} {interrupt}", wake.time.0, wake.waker.context)
    });
    wakes.collect()
}

#[test]
fn the_calls_that_are_open_say_from_where_a_thread_is_woken() {
    let events = "0 cpu0 a-1 > f; 1 cpu0 a-1 wake b-2; 2 cpu0 a-1 > timer^; 3 cpu0 a-1 wake b-2; \
                  4 cpu0 a-1 > softirq:TIMER^; 5 cpu0 a-1 wake b-2; 6 cpu0 a-1 wake b-2 by=task; \
                  7 cpu1 idle wake b-2; 8 cpu1 idle > timer^; 9 cpu1 idle wake b-2";
    let expected = [
        "1 Task -",
        "3 HardIrq timer",
        "5 SoftIrq softirq:TIMER",
        "6 Task -",
        "7 Unknown -",
        "9 HardIrq timer",
    ];
    assert_eq!(wakings(events), expected);
}

#[test]
fn no_interrupt_is_served_behind_a_switch_or_a_loss() {
    for between in ["switch a-1 c-3", "lost 3"] {
        let events = format!(
            "0 cpu0 a-1 ! softirq_entry \"vec=1 [action=TIMER]\"; 1 cpu0 a-1 wake b-2; \
             2 cpu0 {between}; 3 cpu0 c-3 wake b-2"
        );
        assert_eq!(wakings(&events), ["1 SoftIrq softirq:TIMER", "3 Task -"], "{between}");
    }
}

#[test]
fn an_interrupt_is_served_until_its_exit() {
    let events = "0 cpu0 a-1 ! irq_handler_entry \"irq=25 name=virtio0\"; 1 cpu0 a-1 wake b-2; \
                  2 cpu0 a-1 ! irq_handler_exit \"irq=25\"; 3 cpu0 a-1 wake b-2";
    assert_eq!(wakings(events), ["1 HardIrq irq:virtio0", "3 Task -"]);
}

#[test]
fn a_thread_that_may_have_run_where_records_were_lost_was_not_off_the_cpu() {
    let events = "0 cpu0 switch b-2 a-1; 1 cpu0 a-1 > f; 5 cpu0 switch a-1 b-2;
                  7 cpu0 b-2 wake a-1 kind=waking cpu=1; 8 cpu1 lost 3; 20 cpu0 switch b-2 a-1;
                  25 cpu0 a-1 < f";
    assert_eq!(calls(&plain(events)), ["f 1..25 24"]);
}

#[test]
fn idle_tasks_run_and_do_nothing_else() {
    let events = "0 cpu0 switch idle a-1; 5 cpu0 switch a-1 idle; 9 cpu0 switch idle a-1;
                  9 cpu1 switch b-2 a-1; 12 cpu0 switch a-1 idle";
    let outcome = read_text(&plain(events));
    let is_idle = |thread: ThreadId| outcome.threads[thread.index()].idle;
    let states = outcome.recorded.states.iter().filter(|state| is_idle(state.thread));
    let states = states.map(|state| (state.start.0, state.end.0, state.state));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [(5, 9, RunState::Running), (12, 12, RunState::Running)]
    );
    assert!(outcome.recorded.lives.iter().all(|life| !is_idle(life.thread)));
    assert_eq!(outcome.recorded.lives.len(), 2);
    // a on two CPUs at once.
    assert_eq!(outcome.count("stitch/switch-mismatch"), 2);
}

fn calls_besides_swtch(events: &str) -> Vec<String> {
    calls(&plain(events)).into_iter().filter(|call| !call.starts_with("swtch ")).collect()
}

#[test]
fn switches_without_threads_are_followed_by_what_is_left() {
    // `write` is of the second thread, `read` of the first; `x` is between.
    let events = "0 > a; 1 > read; 2 switch> swtch; 3 switch< swtch; 4 > b; 5 > write; \
                  6 switch> swtch; 7 switch< swtch; 8 > x; 9 < x; 10 < write; 11 < b; \
                  12 switch> swtch; 13 switch< swtch; 14 < read; 15 < a";
    let expected = ["x 8..9 1", "write 5..10 3", "b 4..11 2", "read 1..14 2", "a 0..15 2"];
    assert_eq!(calls_besides_swtch(events), expected);
    // Nothing was left, so these are of a new thread.
    let events = "0 > a; 2 switch> swtch; 3 switch< swtch; 5 > b; 8 < b";
    assert_eq!(calls_besides_swtch(events), ["b 5..8 3", "a 0..2 2"]);
}

/// Each call with its thread.
fn threads_of_calls(events: &str) -> Vec<String> {
    let outcome = read_text(&plain(events));
    let spans = outcome.recorded.spans.iter().filter(|it| outcome.func(it.func).name != "swtch");
    let told = spans.map(|span| {
        let thread = &outcome.threads[span.thread.index()].name;
        format!("{} {thread}", outcome.func(span.func).name)
    });
    told.collect()
}

#[test]
fn the_exits_behind_a_switch_say_whose_calls_follow() {
    let two = "0 > a; 1 > read; 2 switch> swtch; 3 switch< swtch; 4 > b; 5 > read; \
               6 switch> swtch; 7 switch< swtch; 8 < read";
    for (events, expected) in [
        // Both are in `read`, but one only was called by `b`.
        ("9 < b", ["read stack1", "b stack1", "read all", "a all"]),
        // Of those that fit so far, the one that waited longest.
        ("9 > x; 10 < x", ["read all", "x all", "a all", "read stack1"]),
        ("9 < z", ["read all", "z all", "a all", "read stack1"]),
    ] {
        let found = threads_of_calls(&format!("{two}; {events}"));
        assert_eq!(found[..4], expected, "{events}");
    }
    // No thread is in `z`.
    let events = "0 > a; 2 switch> swtch; 3 switch< swtch; 5 < z; 6 > x; 7 < x";
    assert_eq!(threads_of_calls(events), ["z stack1", "x stack1", "a all"]);
}

#[test]
fn more_than_one_stack_that_fits_is_said() {
    let events = "0 > a; 1 > read; 2 switch> swtch; 3 switch< swtch; 4 > b; 5 > read; \
                  6 switch> swtch; 7 switch< swtch; 8 < read";
    for (more, times) in [("", 1), ("; 9 < b", 0)] {
        let outcome = read_text(&plain(&format!("{events}{more}")));
        assert_eq!(outcome.count("stitch/ambiguous-switch"), times, "{more}");
    }
}

#[test]
fn what_a_switch_calls_is_the_switchs_until_it_has_ended() {
    let events = "0 > a; 1 switch> swtch; 2 switch> swtch; 3 switch< swtch; 4 > idle; 5 < idle; \
                  6 switch< swtch; 7 < a";
    assert_eq!(threads_of_calls(events), ["idle switch", "a all"]);
}

#[test]
fn behind_a_loss_no_stack_comes_back() {
    let events = "0 > a; 2 switch> swtch; 3 lost 3; 4 switch< swtch; 5 <; 6 > b; 7 < b";
    assert_eq!(threads_of_calls(events), ["a all", "b stack1"]);
}

#[test]
fn calls_behind_the_last_switch_have_their_cpu() {
    let events = "0 cpu3 > a; 1 cpu3 switch> swtch; 2 cpu3 switch< swtch; 3 cpu3 > b";
    let outcome = read_text(&plain(events));
    assert_eq!(outcome.cpus, [3]);
    assert!(outcome.recorded.spans.iter().all(|span| span.cpu.is_some()));
}
