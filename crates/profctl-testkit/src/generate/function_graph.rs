//! A recording as Linux function_graph text, the way the kernel prints it.

use std::fmt::Write as _;

use super::{Kind, Recording};

/// The options that shape the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// funcgraph-abstime.
    pub abstime: bool,
    /// funcgraph-proc.
    pub proc: bool,
    /// latency-format.
    pub latency: bool,
    /// funcgraph-tail.
    pub tail: bool,
    /// funcgraph-overrun.
    pub overrun: bool,
    /// nofuncgraph-duration.
    pub no_duration: bool,
    /// The sched_switch event.
    pub switch_events: bool,
    /// `==========>` around interrupts, as on arm64.
    pub arrows: bool,
    /// No header, as from trace_pipe.
    pub headless: bool,
}

impl Layout {
    /// Every distinct combination of options, with a name for messages.
    pub const ALL: [(&'static str, Self); 7] = {
        let plain = Self {
            abstime: false,
            proc: false,
            latency: false,
            tail: false,
            overrun: false,
            no_duration: false,
            switch_events: false,
            arrows: false,
            headless: false,
        };
        [
            ("default", plain),
            ("abstime-proc-tail", Self { abstime: true, proc: true, tail: true, ..plain }),
            ("events", Self { abstime: true, proc: true, switch_events: true, ..plain }),
            ("latency", Self { latency: true, arrows: true, ..plain }),
            ("overrun", Self { abstime: true, overrun: true, arrows: true, ..plain }),
            ("noduration", Self { no_duration: true, tail: true, ..plain }),
            ("headless", Self { headless: true, abstime: true, proc: true, ..plain }),
        ]
    };
}

/// What the kernel remembers of a CPU while it prints.
#[derive(Default)]
struct Cpu {
    last_task: Option<usize>,
    /// The function printed as entered at each depth: an exit that does not fit is named.
    entered: Vec<Option<usize>>,
}

struct Printer<'a> {
    recording: &'a Recording,
    layout: Layout,
    cpus: Vec<Cpu>,
    /// The open calls of each task: function, entry time, whether it is an interrupt.
    open: Vec<Vec<(usize, u64, bool)>>,
    out: String,
}

/// `recording` as text.
pub fn function_graph(recording: &Recording, layout: Layout) -> String {
    let mut printer = Printer {
        recording,
        layout,
        cpus: (0..recording.n_cpus).map(|_| Cpu::default()).collect(),
        open: vec![Vec::new(); recording.tasks.len()],
        out: String::new(),
    };
    if !layout.headless {
        printer.header();
    }
    let partner = next_of_cpu(recording);
    let mut merged = vec![false; recording.events.len()];
    for (index, event) in recording.events.iter().enumerate() {
        if merged[index] {
            continue;
        }
        printer.banner(event.cpu, event.task);
        match event.kind {
            Kind::Enter(function) | Kind::Interrupt(function) => {
                let interrupt = matches!(event.kind, Kind::Interrupt(_));
                let exit = partner[index].map(|at| (at, recording.events[at]));
                let leaf =
                    exit.filter(|(_, next)| next.task == event.task && next.kind == Kind::Exit);
                if interrupt && layout.arrows {
                    printer.line(event.time, event.cpu, event.task, "  ==========> |");
                }
                let depth = printer.open[event.task].len();
                if let Some((at, exit)) = leaf {
                    merged[at] = true;
                    let name = format!("{}();", recording.functions[function]);
                    printer.enter(event.cpu, depth, None);
                    printer.call(
                        event.time,
                        event.cpu,
                        event.task,
                        depth,
                        Some(exit.time - event.time),
                        &name,
                    );
                    if interrupt && layout.arrows {
                        printer.line(exit.time, event.cpu, event.task, "  <========== |");
                    }
                } else {
                    let name = format!("{}() {{", recording.functions[function]);
                    printer.enter(event.cpu, depth, Some(function));
                    printer.call(event.time, event.cpu, event.task, depth, None, &name);
                    printer.open[event.task].push((function, event.time, interrupt));
                }
            }
            Kind::Exit => printer.exit(event.time, event.cpu, event.task),
            Kind::Mark => {
                let depth = printer.open[event.task].len();
                printer.call(
                    event.time,
                    event.cpu,
                    event.task,
                    depth,
                    None,
                    "/* a mark: f() { } */",
                );
            }
            Kind::Switch(next) if layout.switch_events => {
                let (from, to) = (&recording.tasks[event.task], &recording.tasks[next]);
                let text = format!(
                    "/* sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state=S ==> next_comm={} next_pid={} next_prio=120 */",
                    from.name, from.tid, to.name, to.tid,
                );
                let depth = printer.open[event.task].len();
                printer.call(event.time, event.cpu, event.task, depth, None, &text);
            }
            Kind::Switch(_) => {}
        }
    }
    printer.out
}

/// For every event the next one on its CPU: an entry right before its exit is printed as a leaf.
fn next_of_cpu(recording: &Recording) -> Vec<Option<usize>> {
    let mut next = vec![None; recording.n_cpus as usize];
    let mut all = vec![None; recording.events.len()];
    for (index, event) in recording.events.iter().enumerate().rev() {
        all[index] = next[event.cpu as usize].replace(index);
    }
    all
}

impl Printer<'_> {
    fn header(&mut self) {
        let Layout { abstime, proc, latency, no_duration, .. } = self.layout;
        self.out += "# tracer: function_graph\n#\n";
        let mut names = String::from("#");
        names += if abstime { "     TIME       " } else { "" };
        names += " CPU";
        names += if proc { "  TASK/PID       " } else { "" };
        names += if latency { "||||   " } else { "" };
        names += if no_duration { "" } else { "  DURATION   " };
        let _ = writeln!(self.out, "{names}               FUNCTION CALLS");
        self.out += "# |     |   |                     |   |   |   |\n";
    }

    fn comm_and_pid(&self, task: usize) -> String {
        let task = &self.recording.tasks[task];
        let comm =
            if task.idle_of.is_some() { "<idle>" } else { &task.name[..task.name.len().min(7)] };
        let text = format!("{comm}-{}", task.tid);
        let spaces = 14usize.saturating_sub(text.len());
        format!("{:left$}{text}{:right$}", "", "", left = spaces / 2, right = spaces - spaces / 2)
    }

    fn banner(&mut self, cpu: u32, task: usize) {
        let last = self.cpus[cpu as usize].last_task.replace(task);
        let Some(last) = last.filter(|&last| last != task) else {
            return;
        };
        let (from, to) = (self.comm_and_pid(last), self.comm_and_pid(task));
        let rule = " ------------------------------------------";
        let _ = write!(self.out, "{rule}\n {cpu}) {from} => {to}\n{rule}\n\n");
    }

    /// Columns before the duration, then `text`.
    fn line(&mut self, time: u64, cpu: u32, task: usize, text: &str) {
        if self.layout.abstime {
            let micros = time / 1_000;
            let _ = write!(self.out, "{:5}.{:06} |  ", micros / 1_000_000, micros % 1_000_000);
        }
        let _ = write!(self.out, " {cpu}) ");
        if self.layout.proc {
            let text = self.comm_and_pid(task);
            let _ = write!(self.out, "{text} | ");
        }
        self.out += if self.layout.latency { " d..1. | " } else { "" };
        self.out += text;
        self.out.push('\n');
    }

    fn call(
        &mut self,
        time: u64,
        cpu: u32,
        task: usize,
        depth: usize,
        length: Option<u64>,
        text: &str,
    ) {
        let column = match length {
            _ if self.layout.no_duration => String::new(),
            Some(length) => format!("{}|  ", duration(length)),
            None => "              |  ".to_owned(),
        };
        self.line(time, cpu, task, &format!("{column}{:indent$}{text}", "", indent = 2 * depth));
    }

    fn enter(&mut self, cpu: u32, depth: usize, function: Option<usize>) {
        let entered = &mut self.cpus[cpu as usize].entered;
        if entered.len() <= depth {
            entered.resize(depth + 1, None);
        }
        entered[depth] = function;
    }

    fn exit(&mut self, time: u64, cpu: u32, task: usize) {
        let (function, start, interrupt) = self.open[task].pop().expect("an exit has an entry");
        let depth = self.open[task].len();
        let known = self.cpus[cpu as usize].entered.get_mut(depth).and_then(Option::take);
        let named = self.layout.tail || known != Some(function);
        let text = if named {
            format!("}} /* {} */", self.recording.functions[function])
        } else {
            "}".to_owned()
        };
        self.call(time, cpu, task, depth, Some(time - start), &text);
        if self.layout.overrun {
            self.out += " (Overruns: 0)\n";
        }
        if interrupt && self.layout.arrows {
            self.line(time, cpu, task, "  <========== |");
        }
    }
}

/// A mark of magnitude and seven digits of microseconds, cut, not rounded.
fn duration(nanos: u64) -> String {
    let mark = match nanos {
        1_000_000_001.. => '$',
        100_000_001.. => '@',
        10_000_001.. => '*',
        1_000_001.. => '#',
        100_001.. => '!',
        10_001.. => '+',
        _ => ' ',
    };
    let micros = (nanos / 1_000).to_string();
    let digits = 7usize.saturating_sub(micros.len()).min(3);
    let fraction = &format!("{:03}", nanos % 1_000)[..digits];
    let point = if digits > 0 { "." } else { "" };
    format!("{mark} {:<12}", format!("{micros}{point}{fraction} us"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Shape, truth};
    use crate::oracle;

    #[test]
    fn durations_are_printed_as_the_kernel_does() {
        assert_eq!(duration(141_440), "! 141.440 us  ");
        assert_eq!(duration(10_097_870), "* 10097.87 us ");
        assert_eq!(duration(1_762_796_999), "$ 1762796 us  ");
        assert_eq!(duration(83), "  0.083 us    ");
    }

    /// Two programs written apart agree on what a text means.
    #[test]
    fn the_oracle_finds_the_truth_in_every_layout() {
        for (name, layout) in Layout::ALL {
            for seed in 0..8 {
                // Lengths are cut to seven digits, so they are kept below 10 ms.
                let recording = Recording::new(seed, Shape { n_events: 300, ..Shape::BUSY });
                let report =
                    oracle::function_graph::evaluate(function_graph(&recording, layout).as_bytes());
                assert_eq!(report.unread_lines, 0, "{name}, seed {seed}");
                assert_eq!(
                    (report.unmatched_exits, report.unclosed, report.lost_exits),
                    (0, 0, 0),
                    "{name}, seed {seed}"
                );
                let truth = truth(&recording);
                assert_eq!(report.functions.len(), truth.len(), "{name}, seed {seed}");
                for ((function, _), found) in &report.functions {
                    let expected = truth[function];
                    assert_eq!(found.calls, expected.calls, "{name}, seed {seed}, {function}");
                    if report.has_durations && !layout.switch_events {
                        assert!(
                            found.elapsed.abs_diff(expected.wall) < 1_000 * expected.calls,
                            "{name}, seed {seed}, {function}: {found:?} {expected:?}"
                        );
                    }
                }
            }
        }
    }
}
