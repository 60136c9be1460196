//! Quirks 12 to 27: what is in the lines, and what other tracers write.

use super::*;

#[test]
fn quirk_12_events_are_comments() {
    let trace = read(&format!(
        "{WIDE}    1.000000 |   1)   wl-tcp-2631   |               |  ksys_write() {{
    1.000001 |   1)   wl-tcp-2631   |               |    /* workload: begin tcp */
    1.000002 |   1)   wl-tcp-2631   |               |    /* sys_exit: NR 1 = 1 */
    1.000003 |   1)   wl-tcp-2631   |               |    /* myk: (vfs_read+0x0/0x310) count=0x1 */
    1.000003 |   1)   wl-tcp-2631   |               |    /* mykr: (ksys_read+0xb7/0xf0 <- vfs_read) ret=1024 */
    1.000004 |   1)   wl-tcp-2631   |               |    /* sys_write(fd: 4, buf: 7ffcaec211a0, count: 14) */
    1.000005 |   1)   wl-tcp-2631   |               |    /* sys_write -> 0x14 */
    1.000010 |   1)   wl-tcp-2631   |               |    /* sched_switch: prev_comm=wl-tcprecv prev_pid=2631 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120 */
 ------------------------------------------
 1)   wl-tcp-2631  =>    <idle>-0   
 ------------------------------------------

    1.000030 |   1)    <idle>-0    |               |  /* sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=wl-tcprecv next_pid=2631 next_prio=120 */
    1.000040 |   1)   wl-tcp-2631   | + 40.000 us   |  }}
"
    ));
    expect![[r#"
        wl-tcprecv-2631
          ksys_write 40000/20000 off 20000
    "#]]
    .assert_eq(&show(&trace));
    assert_eq!(marks(&trace), ["workload", "sys_exit", "myk", "mykr", "sys_write", "sys_write"]);
    assert!(trace.meta.knows_off_cpu);
}

#[test]
fn quirk_13_payloads_in_quotes_are_arbitrary() {
    check(
        DEFAULT,
        " 1)               |  ksys_write() {
 1)               |    /* sys_write(fd: 4, buf: 0x7ffdc3e22520 (77:6f:72:6b:0a) \"} f(); g() { /* h\", count: 0x14) */
 1)   5.000 us    |  }
",
        expect![[r#"
            cpu1
              ksys_write 5000/5000
        "#]],
    );
}

#[test]
fn quirk_14_arguments_are_not_part_of_the_name() {
    check(
        DEFAULT,
        " 0) ! 131.116 us  |  mutex_unlock(lock=0xffffffffb1004d60);
 0)               |  lock_vma_under_rcu(mm=0xff26589b43d16900, address=0x7ffdf8019030) {
 0)   2.000 us    |    dev_hard_start_xmit(skb=0xff, dev=0xff, txq=0x0, ret=0xff1100010a0b0c0d);
 0)   1.000 us    |    show(fmt=\"a(b) { c; }\", n=(1, 2));
 0) + 12.068 us   |  }
",
        expect![[r#"
            cpu0
              mutex_unlock 131116/131116
              lock_vma_under_rcu 12068/9068
                dev_hard_start_xmit 2000/2000
                show 1000/1000
        "#]],
    );
}

#[test]
fn quirk_15_return_values_and_callers_are_comments() {
    check(
        DEFAULT,
        " 0)               |  vfs_write() {
 0)   1.000 us    |    rw_verify_area(); /* = 0x0 */
 0)   1.000 us    |    fdget_pos(); /* <-ksys_write+0x21/0xf0 ret=0x3 */
 0)               |    inner() { /* <-vfs_write+0x10/0x20 */
 0)   2.000 us    |    } /* inner ret=-22 */
 0)   6.000 us    |  } /* vfs_write = 0xe */
",
        expect![[r#"
            cpu0
              vfs_write 6000/2000
                rw_verify_area 1000/1000
                fdget_pos 1000/1000
                inner 2000/2000
        "#]],
    );
}

#[test]
fn quirk_16_names_have_dots_and_modules() {
    check(
        DEFAULT,
        " 0)               |  finish_task_switch.isra.0() {
 0)   1.000 us    |    folio_memcg_lock.part.0();
 0)   2.000 us    |    nf_hook_slow [nf_tables]();
 0)               |    nft_do_chain [nf_tables]() {
 0)   3.000 us    |    } /* nft_do_chain [nf_tables] */
 0)   9.000 us    |  } /* finish_task_switch.isra.0 */
",
        expect![[r#"
            cpu0
              finish_task_switch.isra.0 9000/3000
                folio_memcg_lock.part.0 1000/1000
                nf_hook_slow [nf_tables] 2000/2000
                nft_do_chain [nf_tables] 3000/3000
        "#]],
    );
}

#[test]
fn quirk_17_thresholds_leave_only_returns() {
    check(
        DEFAULT,
        " 0) + 60.000 us   |            } /* copy_page */
 0) + 88.000 us   |          } /* pipe_write */
 0) ! 101.821 us  |        } /* vfs_write */
 0) + 51.000 us   |        } /* vfs_read */
",
        expect![[r#"
            cpu0
              vfs_write 101821/13821
                pipe_write 88000/28000
                  copy_page 60000/60000
              vfs_read 51000/51000
        "#]],
    );
}

#[test]
fn quirk_18_losses_end_what_is_open_on_their_cpu() {
    check(
        DEFAULT,
        " 0)               |  rcu_sched_clock_irq() {
 1)               |  tcp_event_data_recv() {
CPU:0 [LOST 58861 EVENTS]
 1)   1.000 us    |    tcp_grow_window();
 0)   9.280 us    |  } /* rcu_sched_clock_irq */
 1) + 11.000 us   |  }
",
        expect![[r#"
            cpu0
              rcu_sched_clock_irq 0/0 partial
              rcu_sched_clock_irq 0/0 partial
            cpu1
              tcp_event_data_recv 11000/10000
                tcp_grow_window 1000/1000
            stitch/gap 1
            stitch/lost-events 58861
            stitch/unmatched-exit 1
        "#]],
    );
}

#[test]
fn quirk_18_some_losses_are_not_counted() {
    check(
        DEFAULT,
        " 0)               |  release_sock() {
CPU:0 [LOST EVENTS]
 0)   1.943 us    |    tcp_established_options();
",
        expect![[r#"
            cpu0
              release_sock 0/0 partial
              tcp_established_options 1943/1943
            stitch/gap 1
            stitch/lost-unknown 1
        "#]],
    );
}

#[test]
fn quirk_19_names_of_tasks_are_hostile() {
    check(
        DEFAULT,
        " 1)   1.000 us    |  a();
 ------------------------------------------
 1)    <idle>-0    =>  } /* f(-2391 
 ------------------------------------------

 1)   0.832 us    |  b();
",
        expect![[r#"
            <idle>/1
              a 1000/1000
            } /* f(-2391
              b 832/832
        "#]],
    );
    check(
        "# tracer: function_graph\n# CPU  TASK/PID         DURATION                  FUNCTION CALLS\n",
        " 1)  } /* f(-2391  |               |  finish_task_switch.isra.0() {
 1)  } /* f(-2391  |   0.832 us    |    _raw_spin_unlock();
 1)  } /* f(-2391  |   3.768 us    |  }
 1)   x => y-396   |   1.000 us    |  c();
 1)    <...>-471   |   1.000 us    |  d();
",
        expect![[r#"
            } /* f(-2391
              finish_task_switch.isra.0 3768/2936
                _raw_spin_unlock 832/832
            x => y-396
              c 1000/1000
            <...>-471
              d 1000/1000
        "#]],
    );
    let trace = read(&format!(
        "{WIDE}    1.000000 |   0)    a-395       |               |  f() {{
    1.000001 |   0)    a-395       |               |    /* sched_switch: prev_comm=a prev_pid=395 prev_prio=120 prev_state=S ==> next_comm=x => y-12 (z) next_pid=396 next_prio=120 */
    1.000005 |   0)   x => y-396   |               |  /* sched_switch: prev_comm=x => y-12 (z) prev_pid=396 prev_prio=120 prev_state=S ==> next_comm=a next_pid=395 next_prio=120 */
    1.000009 |   0)    a-395       |   9.000 us    |  }}
"
    ));
    expect![[r#"
        a-395
          f 9000/5000 off 4000
    "#]]
    .assert_eq(&show(&trace));
}

#[test]
fn quirk_20_clocks_that_are_no_time_do_not_place_calls() {
    for (entry, exit) in [("    0.000000", "    0.000000"), ("    0.000046", "    0.000046")] {
        let trace = read(&format!(
            "# tracer: function_graph\n#     TIME        CPU  DURATION                  FUNCTION CALLS\n\
{entry} |   1)               |  __f_unlock_pos() {{
{entry} |   1) + 24.000 us   |    mutex_unlock();
{exit} |   1) + 64.040 us   |  }}
{entry} |   1)               |  __f_unlock_pos() {{
{exit} |   1) + 64.040 us   |  }}
"
        ));
        assert_eq!(trace.meta.timebase.timeline, Timeline::Synthetic, "{entry}");
        assert_eq!(trace.meta.real().0, 128_080, "{entry}");
    }
}

#[test]
fn quirks_21_to_23_other_tracers_give_system_calls_and_marks() {
    let nop = read(
        "# tracer: nop
#
# entries-in-buffer/entries-written: 4/4   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
        workload-269     [000] d..2.   174.097123: sys_enter: NR 1 (4, 7ffe, 15, 0, 0, 0)
        workload-269     [000] d..2.   174.097133: sys_exit: NR 1 = 21
",
    );
    expect![[r"
        workload-269
          write 10000/10000
    "]]
    .assert_eq(&show(&nop));
    let function = read(
        "# tracer: function
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
        workload-269     [000] ...1.   174.097123: bpf_lsm_file_permission <-security_file_permission
",
    );
    assert_eq!((function.spans.len(), function.marks.len()), (0, 1));
}

#[test]
fn quirk_23_ring_buffer_notices_are_passed_over() {
    check(
        DEFAULT,
        "##### CPU 1 buffer started ####
 1)   1.000 us    |  a();
",
        expect![[r#"
            cpu1
              a 1000/1000
        "#]],
    );
}

#[test]
fn quirk_24_latency_tracers_mix_in_stack_traces() {
    let trace = read(
        "# tracer: wakeup
#
#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
#      |          |     |    |        ||||      |   |                     |   |   |   |
        0 us |   1)  workloa-201   |  dn.h4.. |               |  /*      201:120:R   + [001]      28: 98:R ktimers/1 */
workload-201       1dn.h4..    0us : <stack trace>
 => __ftrace_trace_stack
 => probe_wakeup
        0 us |   1)  workloa-201   |  dn.h4.. |   0.000 us    |  0x0();
        0 us |   1)  workloa-201   |  dn.h1.. |               |  rcu_sched_clock_irq() {
       10 us |   1)  workloa-201   |  dn.h1.. |   3.065 us    |    rcu_segcblist_ready_cbs();
       29 us |   1)  workloa-201   |  dn.h... | + 29.000 us   |  }
",
    );
    expect![[r#"
        workloa-201
          0x0 0/0
          rcu_sched_clock_irq 29000/25935
            rcu_segcblist_ready_cbs 3065/3065
        function_graph/foreign-line 3
    "#]]
    .assert_eq(&show(&trace));
}

#[test]
fn quirk_25_columns_are_told_by_the_header_alone() {
    // The name of the tracer says nothing: the wakeup tracer prints graphs, too.
    let header = "# tracer: wakeup_rt\n# CPU  DURATION                  FUNCTION CALLS\n";
    check(
        header,
        " 0)   1.000 us    |  a();\n",
        expect![[r#"
        cpu0
          a 1000/1000
    "#]],
    );
}

#[test]
fn quirk_26_a_trace_dat_without_its_parts_is_refused() {
    let mut head = b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0".to_vec();
    head.extend([0; 500]);
    expect!["byte 18: no `header_page` where expected"].assert_eq(&refusal(&head));
}

#[test]
fn quirk_27_reports_of_trace_cmd_show_a_leaf_on_one_line() {
    let report = read(
        "cpus=2
        workload-269   [000]   174.097123: funcgraph_entry:                   |  vfs_read() {
        workload-269   [000]   174.097124: funcgraph_entry:        1.7 us     |    f();
        workload-269   [000]   174.097130: funcgraph_exit:         7.0 us     |  }
",
    );
    expect![[r"
        workload-269
          vfs_read 7000/5300
            f 1700/1700
    "]]
    .assert_eq(&show(&report));
}
