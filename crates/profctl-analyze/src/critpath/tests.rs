//! Paths through hand-written calls, and the invariant that segments cover the window once.

use expect_test::{Expect, expect};
use profctl_model::{RunState, ThreadState, Tick};
use proptest::prelude::*;

use super::*;
use crate::testing::{Calls, random_calls, show};

const LINE: &str = "0 @a #0 syscall( 3 read( 4 copyin( 6 ) 7 soreceive( 9 sbwait( 30 ) 31 irq( 33 \
                    hardclock( 34 ) 36 ) 39 ) 40 ) 41 read( 43 ) 45 ) 50 @b syscall( 60 )";

fn trace() -> Trace {
    let mut trace = Calls::parse(LINE).trace();
    let thread = trace.spans.thread[0];
    trace.states.push(state(thread, RunState::Sleeping, 10, 28));
    trace
}

fn state(thread: ThreadId, state: RunState, start: u64, end: u64) -> ThreadState {
    ThreadState {
        thread,
        state,
        start: Tick(start),
        end: Tick(end),
        cpu: None,
        waker: None,
        wait_reason: None,
        start_seen: true,
        end_seen: true,
    }
}

fn check(found: Result<Table, String>, expected: &Expect) {
    expected.assert_eq(&found.map_or_else(|error| error, |table| show(&table)));
}

#[test]
fn an_interrupt_is_one_row_however_the_path_goes_on_in_it() {
    let trace = Calls::parse("0 main( 1 irq( 2 g( 5 ) 6 h( 7 ) 9 ) 12 )").trace();
    check(
        table(&trace, &Options::default()),
        &expect![[r"
            from|length|share|depth|state|function
            0|1|8.3%|0|running|main
            1|8|66.7%|1|interrupt|irq
            9|3|25.0%|0|running|main
            # path: slowest of 1 call: main on main
        "]],
    );
}

#[test]
fn idle_time_is_no_path_unless_there_is_nothing_else() {
    let path = |trace: &Trace| show(&table(trace, &Options::default()).unwrap());
    let mut trace = Calls::parse("0 @a main( 100 ) 100 @b work( 120 )").trace();
    assert!(path(&trace).contains("slowest of 2 calls: main on a"));
    let of_main = trace.spans.thread[0];
    trace.names.threads[of_main].idle = true;
    assert!(path(&trace).contains("slowest of 1 call: work on b"));
    let other = trace.spans.thread[1];
    trace.names.threads[other].idle = true;
    assert!(path(&trace).contains("slowest of 2 calls: main on a"));
}

#[test]
fn the_longest_outermost_call() {
    check(
        table(&trace(), &Options::default()),
        &expect![[r"
            from|length|share|depth|state|function
            0|3|6.7%|0|running|syscall
            3|1|2.2%|1|running|read
            4|2|4.4%|2|running|copyin
            6|1|2.2%|1|running|read
            7|2|4.4%|2|running|soreceive
            9|1|2.2%|3|running|sbwait
            10|18|40.0%|3|off-cpu|sbwait
            28|2|4.4%|3|running|sbwait
            30|1|2.2%|2|running|soreceive
            31|5|11.1%|3|interrupt|irq
            36|3|6.7%|2|running|soreceive
            39|1|2.2%|1|running|read
            40|1|2.2%|0|running|syscall
            41|2|4.4%|1|running|read
            43|2|4.4%|0|running|syscall
            # path: slowest of 2 calls: syscall on a
        "]],
    );
    check(
        by_function(&trace(), &Options::default()),
        &expect![[r"
            length|share|segments|state|function
            18|40.0%|1|off-cpu|sbwait
            6|13.3%|3|running|soreceive
            6|13.3%|3|running|syscall
            5|11.1%|1|interrupt|irq
            5|11.1%|4|running|read
            3|6.7%|2|running|sbwait
            2|4.4%|1|running|copyin
            # path: slowest of 2 calls: syscall on a
        "]],
    );
}

#[test]
fn a_call_of_a_function() {
    let of = |name: &str, which, thread: Option<&str>| {
        let options =
            Options { of: Some(name.into()), which, thread: thread.map(Into::into), at: None };
        table(&trace(), &options)
    };
    check(
        of("read", Which::Slowest, None),
        &expect![[r"
            from|length|share|depth|state|function
            0|1|2.7%|0|running|read
            1|2|5.4%|1|running|copyin
            3|1|2.7%|0|running|read
            4|2|5.4%|1|running|soreceive
            6|1|2.7%|2|running|sbwait
            7|18|48.6%|2|off-cpu|sbwait
            25|2|5.4%|2|running|sbwait
            27|1|2.7%|1|running|soreceive
            28|5|13.5%|2|interrupt|irq
            33|3|8.1%|1|running|soreceive
            36|1|2.7%|0|running|read
            # path: slowest of 2 calls: read on a
        "]],
    );
    check(
        of("read", Which::Median, None),
        &expect![[r"
            from|length|share|depth|state|function
            0|2|100.0%|0|running|read
            # path: slowest of 2 calls: read on a
        "]],
    );
    check(
        of("irq", Which::Slowest, None),
        &expect![[r"
            from|length|share|depth|state|function
            0|2|40.0%|0|running|irq
            2|1|20.0%|1|running|hardclock
            3|2|40.0%|0|running|irq
            # path: slowest of 1 call: irq on a
        "]],
    );
    check(
        of("syscall", Which::Median, Some("b")),
        &expect![[r"
            from|length|share|depth|state|function
            0|10|100.0%|0|running|syscall
            # path: slowest of 1 call: syscall on b
        "]],
    );
    check(of("read", Which::Slowest, Some("b")), &expect!["no complete call of read"]);
    check(of("reed", Which::Slowest, None), &expect!["no function `reed`; did you mean `read`?"]);
    check(of("read", Which::Slowest, Some("c")), &expect!["no thread `c`; did you mean `a`, `b`?"]);
}

proptest! {
    #[test]
    fn segments_cover_the_window_once(
        calls in random_calls(),
        mut cuts in prop::collection::vec(0..200_u64, 0..8),
    ) {
        let mut trace = calls.trace();
        cuts.sort_unstable();
        for pair in cuts.chunks_exact(2) {
            let thread = ThreadId::from_index(0);
            trace.states.push(state(thread, RunState::Sleeping, pair[0], pair[1]));
        }
        for root in trace.spans.ids() {
            let mut now = trace.spans.start[root.index()];
            for segment in segments::of(&trace, root) {
                prop_assert_eq!(segment.start, now);
                prop_assert!(segment.end > now);
                now = segment.end;
            }
            prop_assert_eq!(now, trace.spans.end[root.index()]);
        }
    }
}
