//! Text of the Linux kernel's trace points: who runs where, and system calls or markers as calls.

use std::fmt::Write as _;

use super::tid;
use crate::execution::{Execution, Leaves, Record, What};

/// System calls of x86-64 with their numbers, one a function.
const NUMBERS: [(usize, &str); 6] =
    [(0, "read"), (1, "write"), (3, "close"), (9, "mmap"), (12, "brk"), (35, "nanosleep")];

fn comm(thread: Option<usize>, cpu: usize) -> (String, usize) {
    match thread {
        Some(thread) => (format!("t{thread}"), tid(thread)),
        None => (format!("swapper/{cpu}"), 0),
    }
}

/// What a record says, the name of the event apart.
fn event(execution: &Execution, record: &Record, system: bool) -> Option<(String, String)> {
    let of = |name: &str| if system { format!("sched:{name}") } else { name.to_owned() };
    Some(match record.what {
        What::Switch { prev, leaves, next } => {
            let ((prev, prev_pid), (next, next_pid)) =
                (comm(prev, record.cpu), comm(next, record.cpu));
            let state = match leaves {
                Leaves::Runnable => "R",
                Leaves::Sleeping => "S",
                Leaves::Uninterruptible => "D",
            };
            let state = if prev_pid == 0 { "R" } else { state };
            let text = format!(
                "prev_comm={prev} prev_pid={prev_pid} prev_prio=120 prev_state={state} ==> \
                 next_comm={next} next_pid={next_pid} next_prio=120"
            );
            (of("sched_switch"), text)
        }
        What::Wake(woken) => {
            let (name, pid) = comm(Some(woken), record.cpu);
            (of("sched_waking"), format!("comm={name} pid={pid} prio=120 target_cpu=000"))
        }
        What::Enter(call) => {
            let number = NUMBERS[execution.calls[call].function].0;
            let name = if system { "raw_syscalls:sys_enter" } else { "sys_enter" };
            (name.to_owned(), format!("NR {number} (1, 2, 3, 4, 5, 6)"))
        }
        What::Exit(call) => {
            let number = NUMBERS[execution.calls[call].function].0;
            let name = if system { "raw_syscalls:sys_exit" } else { "sys_exit" };
            (name.to_owned(), format!("NR {number} = 0"))
        }
        What::Lost(_) => return None,
    })
}

/// System calls of all BSDs with their numbers, one a function.
pub(super) const BSD_NUMBERS: [(u64, &str); 6] =
    [(3, "read"), (4, "write"), (6, "close"), (20, "getpid"), (24, "getuid"), (54, "ioctl")];

/// The names of functions as readers of ktrace find them.
pub(super) fn bsd_calls(execution: &mut Execution) {
    for (function, name) in execution.functions.iter_mut().enumerate() {
        BSD_NUMBERS[function % BSD_NUMBERS.len()].1.clone_into(name);
    }
}

/// The names of functions as readers find them.
pub(super) fn system_calls(execution: &mut Execution) {
    for (function, name) in execution.functions.iter_mut().enumerate() {
        NUMBERS[function % NUMBERS.len()].1.clone_into(name);
    }
}

/// `trace` of ftrace with events; times in microseconds. Says the execution with the names of the
/// system calls. For calls without callees.
pub fn ftrace(execution: &Execution) -> (String, Execution) {
    let mut named = execution.clone();
    system_calls(&mut named);
    let mut text = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 9/9   #P:2\n#\n\
        #                                _-----=> irqs-off/BH-disabled\n\
        #                               / _----=> need-resched\n\
        #                              | / _---=> hardirq/softirq\n\
        #                              || / _--=> preempt-depth\n\
        #                              ||| / _-=> migrate-disable\n\
        #                              |||| /     delay\n\
        #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
        #              | |         |   |||||     |         |\n"
        .to_owned();
    for record in &execution.records {
        let micros = record.time / 1_000;
        if let What::Lost(n) = record.what {
            for cpu in 0..execution.n_cpus {
                let _ = writeln!(text, "CPU:{cpu} [LOST {n} EVENTS]");
            }
        }
        let Some((name, fields)) = event(execution, record, false) else { continue };
        let (comm, pid) = comm(record.thread, record.cpu);
        let comm = if pid == 0 { "<idle>" } else { &comm };
        let _ = writeln!(
            text,
            "{:>16}-{pid:<5} [{:03}] d..2. {:5}.{:06}: {name}: {fields}",
            comm,
            record.cpu,
            micros / 1_000_000,
            micros % 1_000_000
        );
    }
    (text, named)
}

/// `trace-cmd report` of the same.
pub fn trace_cmd_report(execution: &Execution) -> (String, Execution) {
    let mut named = execution.clone();
    system_calls(&mut named);
    let mut text = format!("cpus={}\n", execution.n_cpus);
    for record in &execution.records {
        if let What::Lost(n) = record.what {
            for cpu in 0..execution.n_cpus {
                let _ = writeln!(text, "CPU:{cpu} [{n} EVENTS DROPPED]");
            }
        }
        let Some((name, mut fields)) = event(execution, record, false) else { continue };
        if let What::Switch { prev, leaves, next } = record.what {
            // A plugin prints it.
            let ((prev, prev_pid), (next, next_pid)) =
                (comm(prev, record.cpu), comm(next, record.cpu));
            let state = match leaves {
                _ if prev_pid == 0 => "R",
                Leaves::Runnable => "R",
                Leaves::Sleeping => "S",
                Leaves::Uninterruptible => "D",
            };
            fields = format!("{prev}:{prev_pid} [120] {state} ==> {next}:{next_pid} [120]");
        }
        let (comm, pid) = comm(record.thread, record.cpu);
        let comm = if pid == 0 { "<idle>" } else { &comm };
        let (micros, name) = (record.time / 1_000, name + ":");
        let _ = writeln!(
            text,
            "{comm:>16}-{pid:<7} [{:03}] {:5}.{:06}: {name:<21} {fields}",
            record.cpu,
            micros / 1_000_000,
            micros % 1_000_000
        );
    }
    (text, named)
}

/// `perf script` of trace points; times in nanoseconds.
pub fn perf_script(execution: &Execution) -> (String, Execution) {
    let mut named = execution.clone();
    system_calls(&mut named);
    let mut text = String::new();
    for record in &execution.records {
        let Some((name, fields)) = event(execution, record, true) else { continue };
        let (comm, pid) = comm(record.thread, record.cpu);
        let (seconds, nanos) = (record.time / 1_000_000_000, record.time % 1_000_000_000);
        let _ = writeln!(
            text,
            "{comm:>16} {pid:5} [{:03}] {seconds:5}.{nanos:09}: {name:>23}: {fields}",
            record.cpu
        );
    }
    (text, named)
}

/// atrace: markers are calls, which nest; times in microseconds.
pub fn systrace(execution: &Execution) -> String {
    let mut text = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 9/9   #P:2\n#\n\
        #           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n\
        #              | |           |       |   |||||     |         |\n"
        .to_owned();
    for record in &execution.records {
        let micros = record.time / 1_000;
        let (name, fields) = match record.what {
            What::Enter(call) => {
                ("tracing_mark_write".to_owned(), format!("B|100|{}", execution.name(call)))
            }
            What::Exit(_) => ("tracing_mark_write".to_owned(), "E|100".to_owned()),
            _ => match event(execution, record, false) {
                Some(event) => event,
                None => continue,
            },
        };
        let (comm, pid) = comm(record.thread, record.cpu);
        let comm = if pid == 0 { "<idle>" } else { &comm };
        let _ = writeln!(
            text,
            "{:>16}-{pid:<5} (  100) [{:03}] d..2. {:5}.{:06}: {name}: {fields}",
            comm,
            record.cpu,
            micros / 1_000_000,
            micros % 1_000_000
        );
    }
    text
}
