//! The oddities of ftrace text that real kernels printed, line by line as they printed them.
//!
//! Every test shows a few lines and what they mean: a line a call, by thread, in the order of
//! entry, with its times in nanoseconds; then what was complained about.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_import::{Input, ReadOptions, load};
use profctl_model::{FuncKind, Timeline, Trace};

/// `# CPU  DURATION                  FUNCTION CALLS`
const DEFAULT: &str = "# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
";
/// With funcgraph-abstime and funcgraph-proc.
const WIDE: &str = "# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
";

fn read(text: &str) -> Trace {
    let input = Input { name: "trace".to_owned(), bytes: Box::new(text.as_bytes()) };
    load(input, &ReadOptions::default(), &|_| ()).unwrap().0
}

fn refusal(text: &[u8]) -> String {
    let input = Input { name: "trace".to_owned(), bytes: Box::new(text) };
    match load(input, &ReadOptions::default(), &|_| ()) {
        Ok((_, origin)) => panic!("taken for {}: {}", origin.format.name, origin.reason),
        Err(error) => error.to_string(),
    }
}

fn show(trace: &Trace) -> String {
    let mut out = String::new();
    let mut last = None;
    let spans = &trace.spans;
    for id in spans.ids() {
        let row = id.index();
        let thread = spans.thread[row];
        if last.replace(thread) != Some(thread) {
            let _ = writeln!(out, "{}", trace.names.threads[thread].label());
        }
        let func = &trace.names.funcs[spans.func[id]];
        let indent = 2 + 2 * spans.depth[row] as usize;
        let _ = write!(out, "{:indent$}{}", "", func.name);
        if let Some(module) = &func.module {
            let _ = write!(out, " [{module}]");
        }
        let _ = write!(out, " {}/{}", spans.wall[row].0, spans.net[row].0);
        if spans.off_cpu[row].0 > 0 {
            let _ = write!(out, " off {}", spans.off_cpu[row].0);
        }
        if spans.fidelity[row].is_partial() {
            out += " partial";
        }
        out.push('\n');
    }
    for entry in trace.meta.diags.sorted() {
        let _ = writeln!(out, "{} {}", entry.code.name, entry.count);
    }
    out
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` stands in the call")]
fn check(header: &str, lines: &str, expected: Expect) {
    expected.assert_eq(&show(&read(&format!("{header}{lines}"))));
}

fn marks(trace: &Trace) -> Vec<&str> {
    trace.marks.iter().map(|mark| trace.names.funcs[mark.func].name.as_str()).collect()
}

#[test]
fn quirk_01_cpus_interleave_line_by_line() {
    check(
        DEFAULT,
        "\
 0)               |  __f_unlock_pos() {
 1)               |  do_idle() {
 0)   1.012 us    |    mutex_unlock();
 1)   2.000 us    |    tick_nohz_idle_exit();
 0)   4.871 us    |  }
 1)   5.000 us    |  }
",
        expect![[r#"
            cpu0
              __f_unlock_pos 4871/3859
                mutex_unlock 1012/1012
            cpu1
              do_idle 5000/3000
                tick_nohz_idle_exit 2000/2000
        "#]],
    );
}

#[test]
fn quirk_02_durations_lose_digits_as_they_grow() {
    check(
        DEFAULT,
        "\
 0)   0.972 us    |  a();
 0) + 16.636 us   |  a();
 0) ! 141.440 us  |  a();
 0) # 1145.941 us |  a();
 0) * 10097.87 us |  a();
 0) @ 162154.0 us |  a();
 0) $ 1762796 us  |  a();
",
        expect![[r#"
            cpu0
              a 972/972
              a 16636/16636
              a 141440/141440
              a 1145941/1145941
              a 10097870/10097870
              a 162154000/162154000
              a 1762796000/1762796000
        "#]],
    );
}

#[test]
fn quirk_03_banners_say_who_runs() {
    check(
        DEFAULT,
        "\
 0)               |  schedule() {
 ------------------------------------------
 0)  workloa-1031  =>    <idle>-0   
 ------------------------------------------

 0)   1.000 us    |  sched_idle_set_state();
 ------------------------------------------
 0)    <idle>-0    =>   ksoftir-14  
 ------------------------------------------

 0)   2.000 us    |  kthread_should_stop();
 ------------------------------------------
 0)   ksoftir-14   =>  workloa-1031 
 ------------------------------------------

 0) # 1145.941 us |  } /* schedule */
",
        expect![[r#"
            workloa-1031
              schedule 1145941/1145941
            <idle>/0-0
              sched_idle_set_state 1000/1000
            ksoftir-14
              kthread_should_stop 2000/2000
        "#]],
    );
}

#[test]
fn quirk_04_returns_after_a_switch_are_named() {
    check(
        DEFAULT,
        "\
 1)               |    schedule() {
 1)   1.885 us    |      _raw_spin_unlock();
 1) # 1145.941 us |            } /* schedule */
 1) # 8014.694 us |    } /* schedule */
",
        expect![[r#"
            cpu1
              schedule 8014694/8010924
                _raw_spin_unlock 1885/1885
                schedule 1885/1885 partial
            stitch/unmatched-exit 1
        "#]],
    );
}

#[test]
fn quirk_05_captures_begin_and_end_inside_calls() {
    check(
        DEFAULT,
        "\
 0)               |      psi_task_switch() {
 0)   1.624 us    |        psi_flags_change();
 0) + 13.189 us   |      }
 0) + 20.000 us   |    }
 0) + 30.000 us   |  } /* __schedule */
 0)               |  vfs_write() {
 0)   1.012 us    |    mutex_unlock();
",
        expect![[r#"
            cpu0
              __schedule 13189/0 partial
                psi_task_switch 13189/11565
                  psi_flags_change 1624/1624
              vfs_write 1012/0 partial
                mutex_unlock 1012/1012
            stitch/unclosed-entry 1
            stitch/unmatched-exit 2
        "#]],
    );
}

#[test]
fn quirk_06_time_is_of_the_return_on_a_return_line() {
    let trace = read(&format!(
        "{WIDE}\
  173.994443 |   1)  workloa-1109  |               |  __f_unlock_pos() {{
  173.994445 |   1)  workloa-1109  |   1.423 us    |    mutex_unlock();
  173.994448 |   1)  workloa-1109  |   5.612 us    |  }} /* __f_unlock_pos */
"
    ));
    assert_eq!(trace.meta.timebase.timeline, Timeline::Recorded);
    let starts: Vec<u64> = trace.spans.start.iter().map(|start| start.0).collect();
    assert_eq!(starts, [173_994_443_000, 173_994_445_000]);
    assert_eq!(trace.spans.end[0].0, 173_994_448_000);
    expect![[r#"
        workloa-1109
          __f_unlock_pos 5612/4189
            mutex_unlock 1423/1423
    "#]]
    .assert_eq(&show(&trace));
}

#[test]
fn quirk_07_latency_format_adds_flags() {
    check(
        "# tracer: function_graph
#
# function_graph latency trace v1.1.5 on 6.1.0-47-amd64
# --------------------------------------------------------------------
#     TIME        CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
",
        "  257.914608 |   1)  workloa-1316  |  ...1. |               |  __f_unlock_pos() {
  257.914611 |   1)  workloa-1316  |  ...1. |   1.263 us    |    mutex_unlock();
  257.914613 |   1)  workloa-1316  |  ..... |   5.222 us    |  } /* __f_unlock_pos */
",
        expect![[r#"
            workloa-1316
              __f_unlock_pos 5222/3959
                mutex_unlock 1263/1263
        "#]],
    );
    check(
        "# tracer: function_graph\n# CPU||||     DURATION                  FUNCTION CALLS\n",
        " 1)  ...1. |               |          ktime_get() {
 1)  dn.h1.. |   3.768 us    |            read_hpet();
 1)  d..1. |   9.000 us    |          }
",
        expect![[r#"
            cpu1
              ktime_get 9000/5232
                read_hpet 3768/3768
        "#]],
    );
}

#[test]
fn quirk_07_the_kernel_release_is_a_fact() {
    let text = format!(
        "# tracer: function_graph\n#\n# function_graph latency trace v1.1.5 on 7.3.4+deb13-amd64\n{} 1)  ...1. |   9.371 us    |  read_hpet();\n",
        "# CPU||||     DURATION                  FUNCTION CALLS\n"
    );
    let input = Input { name: "trace".to_owned(), bytes: Box::new(text.as_bytes()) };
    let (_, origin) = load(input, &ReadOptions::default(), &|_| ()).unwrap();
    let release = origin.facts.iter().find(|(_, fact)| fact == "7.3.4+deb13-amd64");
    assert!(release.is_some(), "{:?}", origin.facts);
}

#[test]
fn quirk_08_without_cpu_data_may_begin_like_a_comment() {
    check(
        "# tracer: function_graph\n#\n#  DURATION                  FUNCTION CALLS\n#   |   |                     |   |   |   |\n",
        "              |  vfs_read() {
# 1057.859 us |    _raw_spin_unlock();
# 1100.000 us |  }
",
        expect![[r#"
            all
              vfs_read 1100000/42141
                _raw_spin_unlock 1057859/1057859
        "#]],
    );
}

#[test]
fn quirk_09_without_durations_calls_are_counted() {
    check(
        "# tracer: function_graph\n#\n# CPU               FUNCTION CALLS\n# |                 |   |   |   |\n",
        " 1) mutex_unlock();
 1) __f_unlock_pos() {
 0) ==========>
 0) gic_handle_irq();
 0) <==========
 1)   mutex_unlock();
 1) }
",
        expect![[r#"
            cpu1
              mutex_unlock 0/0
              __f_unlock_pos 0/0
                mutex_unlock 0/0
            cpu0
              gic_handle_irq 0/0
        "#]],
    );
}

#[test]
fn quirk_10_overruns_are_no_calls() {
    check(
        DEFAULT,
        " 1)               |  __f_unlock_pos() {
 1)   1.012 us    |    mutex_unlock();
 1)   4.309 us    |  }
 (Overruns: 0)
 1)   1.152 us    |  fpregs_assert_state_consistent();
",
        expect![[r#"
            cpu1
              __f_unlock_pos 4309/3297
                mutex_unlock 1012/1012
              fpregs_assert_state_consistent 1152/1152
        "#]],
    );
}

#[test]
fn quirk_11_arrows_mark_interrupts() {
    let trace = read(&format!(
        "{DEFAULT} 0)               |  do_mem_abort() {{
 0)   ==========> |
 0)               |    gic_handle_irq() {{
 0)   1.000 us    |      irq_find_mapping();
 0)   6.000 us    |    }}
 0)   <========== |
 0) + 20.000 us   |  }}
"
    ));
    expect![[r#"
        cpu0
          do_mem_abort 20000/14000
            gic_handle_irq 6000/5000
              irq_find_mapping 1000/1000
    "#]]
    .assert_eq(&show(&trace));
    assert_eq!(trace.spans.stolen[0].0, 6_000);
    let handler = trace.names.funcs.iter().find(|func| func.name == "gic_handle_irq").unwrap();
    assert_eq!(handler.kind, FuncKind::Interrupt);
}

#[test]
fn quirk_11_arrows_stand_behind_other_columns_too() {
    check(
        WIDE,
        "  202.337900 |   0)  workloa-388   |               |  do_mem_abort() {
  202.337901 |   0)  workloa-388   |   ==========> |
  202.337902 |   0)  workloa-388   |   6.000 us    |    gic_handle_irq();
  202.337958 |   0)  workloa-388   |   <========== |
  202.337960 |   0)  workloa-388   | + 60.000 us   |  }
",
        expect![[r#"
            workloa-388
              do_mem_abort 60000/54000
                gic_handle_irq 6000/6000
        "#]],
    );
}

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
            <idle>/1-0
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
fn quirks_21_to_23_other_tracers_are_named_and_refused() {
    let nop = refusal(
        b"# tracer: nop
#
# entries-in-buffer/entries-written: 4/4   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
        workload-269     [000] d..2.   174.097123: sys_exit: NR 1 = 1
",
    );
    expect!["is ftrace text of the tracer `nop`, which records no function exits; record with current_tracer=function_graph"].assert_eq(&nop);
    let function = refusal(
        b"# tracer: function
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
        workload-269     [000] ...1.   174.097123: bpf_lsm_file_permission <-security_file_permission
",
    );
    expect!["is ftrace text of the tracer `function`, which records no function exits; record with current_tracer=function_graph"].assert_eq(&function);
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
fn quirk_26_binary_traces_are_refused() {
    let mut head = b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0".to_vec();
    head.extend([0; 500]);
    expect!["is no trace in a known format (tried function_graph, mcrae, plain, probe); `--format NAME` reads it as one of them"].assert_eq(&refusal(&head));
}

#[test]
fn quirk_27_reports_of_trace_cmd_are_refused() {
    let report = b"cpus=2
        workload-269   [000]   174.097123: funcgraph_entry:                   |  vfs_read() {
        workload-269   [000]   174.097124: funcgraph_entry:        1.7 us     |    f();
        workload-269   [000]   174.097130: funcgraph_exit:         7.0 us     |  }
";
    expect!["is no trace in a known format (tried function_graph, mcrae, plain, probe); `--format NAME` reads it as one of them"].assert_eq(&refusal(report));
}
