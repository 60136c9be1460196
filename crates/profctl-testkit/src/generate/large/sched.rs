//! Tasks that make system calls, block, wake one another and are preempted, as tracefs prints the
//! events of the scheduler and of `raw_syscalls`.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::super::Random;
use super::{CHUNK, CPUS};

const TASKS: usize = 64;
/// Numbers of system calls that are made.
const CALLS: [u64; 6] = [0, 1, 7, 35, 202, 232];
const FIRST_PID: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    User,
    /// In the system call of that number.
    Call(u64),
}

struct Machine {
    random: Random,
    nanos: u64,
    running: [Option<usize>; CPUS],
    doing: [Doing; TASKS],
    ready: VecDeque<usize>,
    blocked: Vec<usize>,
    out: Vec<u8>,
    events: u64,
}

/// Writes about `bytes` bytes and says how many events that were.
pub(super) fn write(bytes: u64, seed: u64, out: &mut impl Write) -> io::Result<u64> {
    let mut machine = Machine {
        random: Random::new(seed),
        nanos: 1_000_000_000,
        running: [None; CPUS],
        doing: [Doing::User; TASKS],
        ready: (0..TASKS).collect(),
        blocked: Vec::new(),
        out: b"# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
               #              | |         |   |||||     |         |\n"
            .to_vec(),
        events: 0,
    };
    let mut written = 0;
    while written + (machine.out.len() as u64) < bytes {
        machine.step();
        if machine.out.len() >= CHUNK {
            out.write_all(&machine.out)?;
            written += machine.out.len() as u64;
            machine.out.clear();
        }
    }
    out.write_all(&machine.out)?;
    Ok(machine.events)
}

fn name(task: usize) -> String {
    format!("task{task}")
}

impl Machine {
    fn step(&mut self) {
        self.nanos += self.random.below(4_000) + 200;
        let cpu = self.random.below(CPUS as u64) as usize;
        let Some(task) = self.running[cpu] else {
            match self.ready.pop_front() {
                Some(next) => self.switch(cpu, 'R', Some(next)),
                None => self.wake(cpu, "dNh2."),
            }
            return;
        };
        let chance = self.random.below(10);
        match self.doing[task] {
            Doing::Call(number) if chance < 4 => {
                self.doing[task] = Doing::User;
                self.line(cpu, ".....", &format!("sys_exit: NR {number} = 0"));
            }
            Doing::Call(_) if chance < 7 && !self.blocked.is_empty() => self.wake(cpu, "d..2."),
            Doing::Call(_) => {
                let next = self.ready.pop_front();
                self.switch(cpu, if chance == 9 { 'D' } else { 'S' }, next);
                self.blocked.push(task);
            }
            Doing::User if chance < 8 || self.ready.is_empty() => {
                let number = CALLS[self.random.below(CALLS.len() as u64) as usize];
                self.doing[task] = Doing::Call(number);
                self.line(cpu, ".....", &format!("sys_enter: NR {number} (3, 7f, 10, 0, 0, 0)"));
            }
            Doing::User => {
                let next = self.ready.pop_front();
                self.switch(cpu, 'R', next);
                self.ready.push_back(task);
            }
        }
    }

    fn switch(&mut self, cpu: usize, state: char, next: Option<usize>) {
        let of = |task: Option<usize>| match task {
            Some(task) => (name(task), FIRST_PID + task),
            None => (format!("swapper/{cpu}"), 0),
        };
        let ((prev, prev_pid), (name, pid)) = (of(self.running[cpu]), of(next));
        self.line(
            cpu,
            "d..2.",
            &format!(
                "sched_switch: prev_comm={prev} prev_pid={prev_pid} prev_prio=120 \
                 prev_state={state} ==> next_comm={name} next_pid={pid} next_prio=120"
            ),
        );
        self.running[cpu] = next;
    }

    fn wake(&mut self, cpu: usize, flags: &str) {
        if self.blocked.is_empty() {
            return;
        }
        let place = self.random.below(self.blocked.len() as u64) as usize;
        let task = self.blocked.swap_remove(place);
        let pid = FIRST_PID + task;
        for event in ["sched_waking", "sched_wakeup"] {
            let event =
                format!("{event}: comm={} pid={pid} prio=120 target_cpu={cpu:03}", name(task));
            self.line(cpu, flags, &event);
        }
        self.ready.push_back(task);
    }

    fn line(&mut self, cpu: usize, flags: &str, event: &str) {
        let (task, pid) = match self.running[cpu] {
            Some(task) => (name(task), FIRST_PID + task),
            None => ("<idle>".to_owned(), 0),
        };
        let micros = self.nanos / 1_000;
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        // A vector takes all that is written.
        let _ = writeln!(
            self.out,
            "{task:>16}-{pid:<7} [{cpu:03}] {flags} {seconds:>5}.{micros:06}: {event}"
        );
        self.events += 1;
    }
}
