//! The oracle's sums, checked by hand.

use super::*;

fn totals(report: &Report, name: &str) -> Totals {
    report.functions[&(name.to_owned(), None)]
}

#[test]
fn net_is_what_callees_leave_and_recursion_counts_once() {
    let text = b"\
# CPU  DURATION                  FUNCTION CALLS
 0)               |  a() {
 0)   1.000 us    |    b();
 0)               |    a() {
 0)   2.5 us      |      b();
 0)   4.000 us    |    }
 0) + 10.00 us    |  }
";
    let report = evaluate(text);
    let a = totals(&report, "a");
    assert_eq!((a.calls, a.elapsed, a.net), (2, 10_000, 10_000 - 1_000 - 4_000 + 1_500));
    let b = totals(&report, "b");
    assert_eq!((b.calls, b.elapsed, b.net), (2, 3_500, 3_500));
    assert!(a.net_is_exact() && b.net_is_exact());
}

#[test]
fn a_switch_moves_lines_to_another_stack() {
    let text = b"\
# CPU  DURATION                  FUNCTION CALLS
 1)               |  sleep() {
 ------------------------------------------
 1)  first-10      =>    <idle>-0   
 ------------------------------------------

 1)   3.000 us    |  idle();
 ------------------------------------------
 1)    <idle>-0    =>   first-10    
 ------------------------------------------

 1) # 1000.000 us |  } /* sleep */
";
    let report = evaluate(text);
    assert_eq!(totals(&report, "sleep").calls, 1);
    assert_eq!(totals(&report, "sleep").net, 1_000_000);
    assert_eq!((report.unmatched_exits, report.unclosed, report.lost_exits), (0, 0, 0));
}

#[test]
fn a_call_without_exit_is_partial_and_marks_its_caller() {
    let text = b"\
# CPU  DURATION                  FUNCTION CALLS
 0)               |  a() {
 0)               |    b() {
 0)   1.000 us    |      c();
 0)   9.000 us    |  }
 0)   7.000 us    |  } /* d */
";
    let report = evaluate(text);
    assert_eq!(totals(&report, "b").partial, 1);
    assert_eq!(totals(&report, "d").partial, 1);
    assert!(!totals(&report, "a").net_is_exact());
    assert!(totals(&report, "a").elapsed_is_exact());
    assert!(totals(&report, "c").net_is_exact());
    assert_eq!((report.lost_exits, report.unmatched_exits), (1, 1));
}

#[test]
fn time_off_the_cpu_is_taken_from_every_open_call() {
    let text = b"\
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
    1.000000 |   0)    one-10      |               |  read() {
    1.000001 |   0)    one-10      |               |    wait() {
    1.000002 |   0)    one-10      |               |    /* sched_switch: prev_comm=one prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=x => y-1 next_pid=11 next_prio=120 */
    1.000004 |   0)    x =>-11     |   0.500 us    |  work();
    1.000007 |   0)    x =>-11     |               |  /* sched_switch: prev_comm=x => y-1 prev_pid=11 prev_prio=120 prev_state=R+ ==> next_comm=one next_pid=10 next_prio=120 */
    1.000008 |   0)    one-10      |   7.000 us    |    }
    1.000009 |   0)    one-10      |   9.000 us    |  }
";
    let report = evaluate(text);
    assert!(report.knows_off_cpu);
    assert_eq!(totals(&report, "wait").net, 2_000);
    assert_eq!((totals(&report, "read").elapsed, totals(&report, "read").net), (4_000, 2_000));
    assert_eq!(report.unread_lines, 0);
}

#[test]
fn durations_are_whole_nanoseconds() {
    let cases = [
        ("10097.87 us", 10_097_870),
        ("$ 1762796 us", 1_762_796_000),
        ("! 162154.0 us", 162_154_000),
        ("0.083 us", 83),
    ];
    for (text, expected) in cases {
        assert_eq!(body::duration(text), Some(expected), "{text}");
    }
    for wrong in ["", "us", "1.2345 us", "-1 us", "1 ms"] {
        assert_eq!(body::duration(wrong), None, "{wrong}");
    }
}

#[test]
fn columns_without_header_are_guessed() {
    let text = b"\
  783.874102 |   0)   <...>-3345   |               |  mutex_unlock() {
  783.874133 |   0)   <...>-3345   |   2.816 us    |    irq_enter_rcu();
  783.874143 |   0)   <...>-3345   |   9.000 us    |  } /* mutex_unlock */
CPU:0 [LOST 12 EVENTS]
";
    let report = evaluate(text);
    assert_eq!(totals(&report, "mutex_unlock").net, 9_000 - 2_816);
    assert_eq!((report.gaps, report.lost_events), (1, 12));
}

#[test]
fn only_returns_are_whole_calls() {
    let text = b"\
# CPU  DURATION                  FUNCTION CALLS
 0) + 60.000 us   |      } /* c */
 0) + 80.000 us   |    } /* b */
 0) ! 101.821 us  |  } /* a */
 0) + 51.000 us   |  } /* a */
";
    let report = evaluate(text);
    assert_eq!(totals(&report, "a").calls, 2);
    assert_eq!(totals(&report, "a").net, 101_821 - 80_000 + 51_000);
    assert_eq!(totals(&report, "b").net, 20_000);
}

#[test]
fn an_exit_that_an_interrupt_delayed_is_still_the_exit() {
    let text = |wall: &str| {
        format!(
            "\
# CPU  DURATION                  FUNCTION CALLS
 0)               |  a() {{
 0)               |    b() {{
 0)   1.000 us    |      c();
 0)   7.000 us    |    irq_enter_rcu();
 0) + 20.000 us   |    __sysvec_apic_timer_interrupt();
 0) {wall} us   |    }} /* b */
 0) ! 100.000 us  |  }}
"
        )
    };
    let before = evaluate(text("  4.000 ").as_bytes());
    assert_eq!((before.lost_exits, before.unmatched_exits), (0, 0));
    assert_eq!(totals(&before, "b").net, 3_000);
    assert_eq!(totals(&before, "a").net, 100_000 - 4_000 - 27_000);
    let within = evaluate(text("+ 40.000").as_bytes());
    assert_eq!(totals(&within, "b").net, 40_000 - 1_000 - 27_000);
    assert_eq!(totals(&within, "a").net, 60_000);
}
