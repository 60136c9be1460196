//! Quirks 1 to 11: how lines are laid out.

use super::*;

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
            <idle>/0
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
    let input = Single::new("trace", Box::new(text.as_bytes()));
    let (_, origin) = load(&input, &ReadOptions::default(), &|_| ()).unwrap();
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
