//! Texts of tracefs in, calls out.

use expect_test::expect;

use crate::ImportOptions;
use crate::formats::{Importer, Probe, Recognition};
use crate::testing::told;

const EVENTS: &str = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 10/12   #P:2
#
            init-1       [000] .....    10.000000: sys_exit: NR 1 = 1
            init-1       [000] .....    10.000010: sys_enter: NR 0 (7, 7fff, 1, 0, 0, 0)
            init-1       [000] d.h1.    10.000012: irq_handler_entry: irq=26 name=virtio0-req.1
            init-1       [000] d.h2.    10.000013: sched_waking: comm=pp pid=11 prio=120 target_cpu=000
            init-1       [000] d.h1.    10.000014: irq_handler_exit: irq=26 ret=handled
            init-1       [000] d..2.    10.000020: sched_switch: prev_comm=init prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=pp next_pid=11 next_prio=120
              pp-11      [000] ..s1.    10.000030: softirq_entry: vec=1 [action=TIMER]
              pp-11      [000] ..s1.    10.000033: softirq_exit: vec=1 [action=TIMER]
              pp-11      [000] d..2.    10.000040: sched_switch: prev_comm=pp prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=init next_pid=1 next_prio=120
            init-1       [000] .....    10.000050: sys_exit: NR 0 = 1
            init-1       [000] .....    10.000060: tracing_mark_write: done
";

#[test]
fn system_calls_interrupts_and_switches() {
    let (shown, codes) = told("ftrace", EVENTS, ImportOptions::default());
    expect![[r"
        init-1 0 write 10000000000+0 net 0 unseen entry
        init-1 0 read 10000010000+40000 off 20000 net 18000
        init-1 1 irq:virtio0-req.1 10000012000+2000 net 2000
        pp-11 0 softirq:TIMER 10000030000+3000 net 3000
        init-1 mark tracing_mark_write 10000060000
    "]]
    .assert_eq(&shown);
    assert_eq!(codes, ["stitch/unmatched-exit 1"]);
}

#[test]
fn system_calls_by_name_and_by_the_numbers_of_another_machine() {
    let text = "\
# tracer: nop
              sh-7       [000] .....    10.000010: sys_read(fd: 6, buf: 7ffe, count: 1)
              sh-7       [000] .....    10.000030: sys_read -> 0x1
              sh-7       [000] .....    10.000040: sys_enter: NR 221 (0, 0, 0, 0, 0, 0)
              sh-7       [000] .....    10.000050: sys_exit: NR 221 = 0
              sh-7       [000] .....    10.000060: sys_enter: NR 4000 (0, 0, 0, 0, 0, 0)
              sh-7       [000] .....    10.000070: sys_exit: NR 4000 = -38
";
    // Numbers are there, so the names are the same calls once more.
    let (shown, codes) = told("ftrace", text, ImportOptions::default());
    expect![[r"
        sh-7 0 fadvise64 10000040000+10000 net 10000
        sh-7 0 syscall_4000 10000060000+10000 net 10000
        sh-7 mark sys_read 10000010000
        sh-7 mark sys_read 10000030000
    "]]
    .assert_eq(&shown);
    assert_eq!(codes, [""; 0]);
    let arm = ImportOptions { dialect: Some("arm64".into()), ..ImportOptions::default() };
    let (shown, _) = told("ftrace", text, arm);
    assert!(shown.contains("execve"), "{shown}");
}

#[test]
fn functions_are_marks_and_stacks_are_left_out() {
    let text = "\
# tracer: function
        workload-992     [000] ...1.   147.147932: mutex_unlock(lock=0xffffffffb1004d60) <-rb_simple_write
        workload-992     [000] ...1.   147.148023: ext4_put [ext4] <-ksys_write
        workload-992     [000] ...1.   147.148025: <stack trace>
 => probe_wakeup
 => do_syscall_64
##### CPU 1 buffer started ####
CPU:1 [LOST 12 EVENTS]
        workload-992     [001] ...1.   147.148030: #1     context    irq timer_latency  10976190 ns
555 0 42263326593 type: 385
        workload-992     [001] ...1.   147.148031: mutex_unl";
    let (shown, mut codes) = told("ftrace", text, ImportOptions::default());
    expect![[r"
        workload-992 mark mutex_unlock 147147932000
        workload-992 mark ext4_put [ext4] 147148023000
        workload-992 mark function 147148030000
    "]]
    .assert_eq(&shown);
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            "ftrace/foreign-line 2",
            "ftrace/no-exits 2",
            "ftrace/raw-line 1",
            "input/cut-record 1",
            "stitch/gap 1",
            "stitch/lost-events 12",
        ]
    );
}

#[test]
fn what_is_tracefs_and_what_is_not() {
    let recognized = |text: &str| {
        let probe = Probe { name: "x", head: text.as_bytes(), whole: true };
        super::TracefsText.recognize(&probe)
    };
    let yes = |text: &str| matches!(recognized(text), Recognition::Yes(_));
    assert!(yes(EVENTS) && yes("# tracer: osnoise\n"));
    let piped: String = EVENTS.split_inclusive('\n').skip(4).collect();
    assert!(yes(&piped));
    let line = piped.lines().next().unwrap();
    assert!(matches!(recognized(&format!("{line}\n")), Recognition::Maybe(_)));
    for other in [
        "# tracer: function_graph\n",
        " 1)   2.105 us    |  mutex_unlock();\n 1)   2.105 us    |  mutex_unlock();\n",
        "a-1 [000] 1.0\n",
        "",
    ] {
        assert_eq!(recognized(other), Recognition::No, "{other}");
    }
}
