//! Schedules line by line, and the invariant that states cover the time once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_model::Ticks;
use proptest::prelude::*;

use super::*;

/// Everything that came out.
#[derive(Default)]
struct Told {
    states: Vec<ThreadState>,
    wakes: Vec<Wake>,
    lives: Vec<ThreadLife>,
    contradictions: usize,
    ran: BTreeMap<usize, Stamp>,
    off: BTreeMap<usize, Tick>,
    off_total: BTreeMap<usize, Ticks>,
}

const IDLE: usize = 0;

impl Output for Told {
    fn state(&mut self, state: &ThreadState) {
        self.states.push(*state);
    }
    fn wake(&mut self, wake: &Wake) {
        self.wakes.push(*wake);
    }
    fn life(&mut self, life: &ThreadLife) {
        self.lives.push(*life);
    }
    fn contradiction(&mut self) {
        self.contradictions += 1;
    }
    fn left_cpu(&mut self, thread: ThreadId, time: Tick) -> Option<FuncId> {
        self.off.insert(thread.index(), time);
        None
    }
    fn back_on_cpu(&mut self, thread: ThreadId, time: Tick) {
        if let Some(since) = self.off.remove(&thread.index()) {
            *self.off_total.entry(thread.index()).or_default() += time - since;
        }
    }
    fn lost_track(&mut self, thread: ThreadId) {
        self.off.remove(&thread.index());
    }
    fn ran_since(&self, thread: ThreadId) -> Option<Stamp> {
        self.ran.get(&thread.index()).copied()
    }
    fn is_idle(&self, thread: ThreadId) -> bool {
        thread.index() == IDLE
    }
    fn first(&self) -> Tick {
        Tick(0)
    }
}

fn thread(name: &str) -> Option<ThreadId> {
    let names = ["idle", "a", "b", "c", "d"];
    names.iter().position(|known| *known == name).map(ThreadId::from_index)
}

fn state_of(letter: &str) -> RunState {
    match letter {
        "R" => RunState::RunnablePreempted,
        "S" => RunState::Sleeping,
        "D" => RunState::Uninterruptible,
        "T" => RunState::Stopped,
        "X" => RunState::Dead,
        other => panic!("{other}"),
    }
}

/// Lines of time, CPU (`?` if unknown) and event: `switch a:S b`, `waking b a` (the waker last),
/// `wakeup b`, `new b`, `fork a b`, `exit a`, `gap`, `call a`.
fn told(script: &str) -> Told {
    let (mut sched, mut out) = (Sched::default(), Told::default());
    let mut last = Tick(0);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = Tick(words[0].parse().unwrap());
        let at = Stamp { time, cpu: words[1].parse().ok().map(CpuId::from_index) };
        let waker = |name: Option<&&str>| Waker {
            thread: name.and_then(|name| thread(name)),
            cpu: at.cpu,
            context: WakerContext::Task,
            interrupt: None,
        };
        last = time;
        match &words[2..] {
            ["switch", prev, next] => {
                let prev = prev
                    .split_once(':')
                    .map(|(name, letter)| (thread(name).unwrap(), state_of(letter)));
                sched.switch(at, prev, thread(next), &mut out);
            }
            ["waking", woken, rest @ ..] => {
                let woken = thread(woken).unwrap();
                sched.waking(at, woken, None, waker(rest.first()), &mut out);
            }
            ["wakeup", woken] => sched.wakeup(at, thread(woken).unwrap(), at.cpu, &mut out),
            ["new", woken] => {
                let woken = thread(woken).unwrap();
                sched.wakeup_new(at, woken, at.cpu, waker(None), &mut out);
            }
            ["fork", parent, child] => {
                sched.fork(at, thread(parent), thread(child).unwrap(), &mut out);
            }
            ["exit", name] => sched.exit(at, thread(name).unwrap(), &mut out),
            ["gap"] => sched.gap(at, &mut out),
            ["call", name] => {
                let thread = thread(name).unwrap();
                out.ran.entry(thread.index()).or_insert(at);
            }
            ["mark", name] => sched.notice(thread(name).unwrap(), at),
            ["end"] => {}
            other => panic!("{other:?}"),
        }
    }
    sched.finish(last, &mut out);
    out.states.sort_by_key(|state| (state.thread, state.start));
    out
}

/// `a: unknown 0..3? running#0 3..5`; `?` marks an end without a record.
fn shown(script: &str) -> String {
    let out = told(script);
    let name = |thread: ThreadId| ["idle", "a", "b", "c", "d"][thread.index()];
    let mut text = String::new();
    for group in out.states.chunk_by(|a, b| a.thread == b.thread) {
        write!(text, "{}:", name(group[0].thread)).unwrap();
        for state in group {
            write!(text, " {}", state.state.name()).unwrap();
            if let Some(cpu) = state.cpu {
                write!(text, "#{}", cpu.index()).unwrap();
            }
            let mark = |seen| if seen { "" } else { "?" };
            let (start, end) = (mark(state.start_seen), mark(state.end_seen));
            write!(text, " {start}{}..{}{end}", state.start.0, state.end.0).unwrap();
        }
        text.push('\n');
    }
    for wake in &out.wakes {
        let by = wake.waker.thread.map_or("?", name);
        let (woken, effect) = (name(wake.woken), wake.effect.name());
        writeln!(text, "{} {by} -> {woken}: {effect}", wake.time.0).unwrap();
    }
    for life in out.lives.iter().filter(|life| life.created.is_some() || life.exited.is_some()) {
        let time = |time: Option<Tick>| time.map_or("?".into(), |time| time.0.to_string());
        let (created, exited) = (time(life.created), time(life.exited));
        writeln!(text, "{} lived {created}..{exited}", name(life.thread)).unwrap();
    }
    if out.contradictions > 0 {
        writeln!(text, "contradictions: {}", out.contradictions).unwrap();
    }
    text
}

#[expect(clippy::needless_pass_by_value, reason = "as expect! makes it")]
fn check(script: &str, expected: Expect) {
    expected.assert_eq(&shown(script));
}

#[test]
fn a_thread_sleeps_is_woken_and_runs() {
    check(
        "5 0 switch idle:R a
         9 0 switch a:S idle
         20 1 waking a b
         21 0 wakeup a
         24 0 switch idle:R a
         30 0 end",
        expect![[r"
            idle: running#0 9..24
            a: unknown ?0..5 running#0 5..9 sleeping#0 9..20 runnable-woken#0 20..24 running#0 24..30?
            20 b -> a: woke
        "]],
    );
}

#[test]
fn preempted_threads_stay_runnable_and_move() {
    check(
        "0 0 switch idle:R a
         10 0 switch a:R b
         20 0 switch b:S idle
         25 1 switch idle:R a
         30 1 switch a:D idle
         40 1 end",
        expect![[r"
            idle: running#1 30..40?
            a: running#0 0..10 runnable-preempted#0 10..25 running#1 25..30 uninterruptible#1 30..40?
            b: unknown ?0..10 running#0 10..20 sleeping#0 20..40?
        "]],
    );
}

#[test]
fn a_created_thread_waits_runs_exits_and_its_number_comes_back() {
    check(
        "0 0 switch idle:R a
         3 0 fork a b
         4 0 new b
         6 1 switch idle:R b
         9 1 exit b
         10 1 switch b:X idle
         15 0 fork a b
         16 0 new b
         20 0 end",
        expect![[r"
            idle: running#1 10..20?
            a: running#0 0..20?
            b: runnable-new#0 3..6 running#1 6..10 dead#1 10..15 runnable-new#0 15..20?
            4 ? -> b: started
            16 ? -> b: started
            b lived 3..9
            b lived 15..?
        "]],
    );
}

#[test]
fn wakings_of_threads_that_run_or_wait_for_a_cpu_are_redundant() {
    check(
        "0 0 switch idle:R a
         2 1 waking a b
         3 0 wakeup a
         5 0 switch a:R b
         6 1 waking a c
         8 0 switch b:S a
         9 1 waking a c
         12 0 switch a:S idle
         20 0 waking a b
         30 0 end",
        expect![[r"
            idle: running#0 12..30?
            a: running#0 0..5 runnable-preempted#0 5..8 running#0 8..12 sleeping#0 12..20 runnable-woken#0 20..30?
            b: unknown ?0..5 running#0 5..8 sleeping#0 8..30?
            2 b -> a: redundant
            6 c -> a: redundant
            9 c -> a: redundant
            20 b -> a: woke
        "]],
    );
}

#[test]
fn a_waking_that_races_with_the_switch_counts_from_the_switch() {
    check(
        "0 0 switch idle:R a
         4 1 waking a b
         5 0 switch a:S idle
         7 0 wakeup a
         9 0 switch idle:R a
         11 1 waking a b
         12 0 switch a:S idle
         14 0 switch idle:R a
         20 0 end",
        expect![[r"
            idle: running#0 5..9 running#0 12..14
            a: running#0 0..5 sleeping#0 5..5 runnable-woken#0 5..9 running#0 9..12 sleeping#0 12..12 runnable-woken#0 12..14 running#0 14..20?
            4 b -> a: woke
            11 b -> a: woke
        "]],
    );
}

#[test]
fn wakeups_alone_say_when_but_not_by_whom() {
    check(
        "0 0 switch idle:R a
         4 0 switch a:S idle
         8 0 wakeup a
         9 0 switch idle:R a
         10 0 end",
        expect![[r"
            idle: running#0 4..9
            a: running#0 0..4 sleeping#0 4..8 runnable-woken#0 8..9 running#0 9..10?
            8 ? -> a: woke
        "]],
    );
}

#[test]
fn records_of_its_own_say_that_a_thread_ran_before_its_first_switch() {
    check(
        "0 1 end
         3 0 call a
         5 0 mark a
         6 1 mark b
         9 0 switch a:S c
         12 0 waking a c
         20 1 end",
        expect![[r"
            a: unknown ?0..3? running#0 ?3..9 sleeping#0 9..12 runnable-woken#0 12..20?
            c: unknown ?0..9 running#0 9..20?
            12 c -> a: woke
        "]],
    );
}

#[test]
fn losses_make_unknown_what_they_concern() {
    check(
        "0 0 switch idle:R a
         0 1 switch idle:R b
         0 1 switch b:S c
         5 0 gap
         9 0 switch d:S a
         12 1 switch c:S idle
         20 0 end",
        expect![[r"
            idle: running#1 12..20?
            a: running#0 0..5? unknown ?5..9 running#0 9..20?
            b: running#1 0..0 sleeping#1 0..20?
            c: running#1 0..12 sleeping#1 12..20?
            d: unknown ?0..9 sleeping#0 9..20?
        "]],
    );
}

#[test]
fn records_that_contradict_each_other_leave_the_stretch_between_unknown() {
    check(
        "0 0 switch idle:R a
         5 0 switch b:S c
         9 1 switch idle:R c
         12 1 switch c:S idle
         14 0 switch c:S idle
         20 0 end",
        expect![[r"
            idle: running#0 14..20?
            a: unknown 0..20?
            b: unknown ?0..5 sleeping#0 5..20?
            c: unknown ?0..5 unknown 5..9 running#1 9..12 unknown 12..14 sleeping#0 14..20?
            contradictions: 3
        "]],
    );
}

#[test]
fn an_instant_says_that_a_thread_ran_since_the_latest_loss() {
    for (script, expected) in [
        ("0 1 end\n5 0 mark a\n7 0 mark a\n9 0 switch a:S c", "a: unknown ?0..5? running#0 ?5..9"),
        ("0 0 mark a\n5 0 mark a\n9 0 switch a:S c", "a: running#0 ?0..9"),
        ("0 0 call a\n9 0 switch a:S c", "a: running#0 ?0..9"),
        ("0 0 mark a\n6 0 gap\n8 0 mark a\n9 0 switch a:S c", "a: unknown ?0..8? running#0 ?8..9"),
    ] {
        let shown = shown(script);
        assert!(shown.starts_with(&format!("{expected} sleeping#0 9..9?\n")), "{script}: {shown}");
    }
}

#[test]
fn a_dead_thread_is_not_woken_but_its_number_may_be_started() {
    check(
        "0 0 switch idle:R a
         4 0 switch a:X idle
         6 1 waking a b
         7 1 wakeup a
         9 1 new a
         10 1 new c
         12 0 end",
        expect![[r"
            idle: running#0 4..12?
            a: running#0 0..4 dead#0 4..9 runnable-new#1 9..12?
            c: runnable-new#1 10..12?
            9 ? -> a: started
            10 ? -> c: started
            c lived 10..?
        "]],
    );
}

#[test]
fn redundant_wakings_are_counted() {
    let out = told(
        "0 0 switch idle:R a
         2 1 waking a b
         3 0 wakeup a
         5 0 switch a:R b
         6 1 waking a c
         7 1 waking a c
         9 0 end",
    );
    let counts = out.lives.iter().map(|life| (life.thread, life.redundant_wakings));
    assert!(counts.eq([(thread("a").unwrap(), 3), (thread("b").unwrap(), 0)]), "{:?}", out.lives);
}

#[test]
fn a_cpu_does_not_run_what_was_seen_elsewhere() {
    // a left CPU 0 without a record, so b may leave it.
    check(
        "0 0 switch idle:R a
         5 1 switch idle:R a
         7 0 switch b:S c
         9 0 end",
        expect![[r"
            a: unknown 0..5 running#1 5..9?
            b: unknown ?0..7 sleeping#0 7..9?
            c: unknown ?0..7 running#0 7..9?
            contradictions: 1
        "]],
    );
    // But b runs there since half a switch.
    check(
        "0 0 switch idle:R a
         3 0 switch - b
         5 1 switch idle:R a
         7 0 switch c:S d
         9 0 end",
        expect![[r"
            a: unknown 0..5 running#1 5..9?
            b: unknown ?0..3 unknown 3..9?
            c: unknown ?0..7 sleeping#0 7..9?
            d: unknown ?0..7 running#0 7..9?
            contradictions: 2
        "]],
    );
}

#[test]
fn a_thread_on_an_unknown_cpu_may_leave_any() {
    check(
        "3 ? switch - a
         7 0 switch a:S idle
         9 1 switch - a
         10 ? switch a:S -
         12 0 end",
        expect![[r"
            idle: running#0 7..12?
            a: unknown ?0..3 running 3..7 sleeping#0 7..9 running#1 9..10 sleeping#1 10..12?
        "]],
    );
}

#[test]
fn halves_of_switches_without_cpus() {
    check(
        "3 ? switch a:S -
         7 ? switch - a
         9 ? switch a:R -
         12 ? switch - a
         15 ? end",
        expect![[r"
            a: unknown ?0..3 sleeping 3..7 running 7..9 runnable-preempted 9..12 running 12..15?
        "]],
    );
}

proptest! {
    /// Whatever is recorded, consistent or not: the states of a thread follow one another, and no
    /// CPU runs two threads.
    #[test]
    fn states_cover_the_time_once(
        steps in prop::collection::vec((0..4_u64, 0..3_usize, 0..9_usize, 0..5_usize, 0..5_usize, 0..4_usize), 0..60),
    ) {
        let names = ["idle", "a", "b", "c", "d"];
        let (mut script, mut now) = (String::new(), 0);
        for (step, cpu, what, one, other, letter) in steps {
            now += step;
            let cpu = ["0", "1", "?"][cpu];
            let (one, other) = (names[one], names[other]);
            let letter = if one == "idle" { "R" } else { ["R", "S", "D", "X"][letter] };
            let what = match what {
                0..=3 => format!("switch {one}:{letter} {other}"),
                4 => format!("waking {one} {other}"),
                5 => format!("wakeup {one}"),
                6 => format!("new {one}"),
                7 => format!("call {one}"),
                _ if step == 3 => "gap".into(),
                _ => format!("fork {one} {other}"),
            };
            writeln!(script, "{now} {cpu} {what}").unwrap();
        }
        writeln!(script, "{} 0 end", now + 3).unwrap();
        let out = told(&script);
        let mut running: Vec<ThreadState> = Vec::new();
        for group in out.states.chunk_by(|a, b| a.thread == b.thread) {
            if group[0].thread.index() != IDLE {
                for pair in group.windows(2) {
                    prop_assert_eq!(pair[0].end, pair[1].start, "{:?}", pair);
                }
                prop_assert_eq!(group[group.len() - 1].end, Tick(now + 3));
            }
            running.extend(group.iter().filter(|state| state.state == RunState::Running));
        }
        running.retain(|state| state.cpu.is_some() && state.start < state.end);
        running.sort_by_key(|state| (state.cpu, state.start));
        for pair in running.windows(2) {
            let apart = pair[0].cpu != pair[1].cpu || pair[0].end <= pair[1].start;
            prop_assert!(apart, "{:?}", pair);
        }
    }
}
