//! Traces of any size for benchmarks, made as fast as a disk takes them.
//!
//! One endless walk up and down the stacks of a few tasks, rendered line by line: nothing is kept
//! but the open calls, so a hundred gigabytes cost the memory of one.

use std::io::{self, Write};

use super::Random;
use super::recording::function_name;

/// The formats that can be made, by name.
pub const LARGE_FORMATS: [&str; 5] = [
    "function_graph",
    "function_graph-abstime-proc",
    "plain",
    "mcrae",
    "probe",
];

const FUNCTIONS: u64 = 2_000;
const DEPTH_MAX: usize = 20;
const TASKS: usize = 64;
const CPUS: usize = 4;
/// Bytes collected before they are written.
const CHUNK: usize = 1 << 20;

/// Writes about `bytes` bytes (whole lines or records, never more than one call too many) of
/// `format` to `out`, and says how many events that were.
pub fn write_large(format: &str, bytes: u64, seed: u64, out: &mut impl Write) -> io::Result<u64> {
    let mut walk = Walk::new(
        seed,
        if matches!(format, "mcrae" | "probe") {
            1
        } else {
            CPUS
        },
    );
    let mut text = Text {
        names: walk.names.clone(),
        out: Vec::with_capacity(2 * CHUNK),
    };
    let render: fn(&mut Text, &mut Walk) = match format {
        "function_graph" => |text, walk| text.graph(walk, false),
        "function_graph-abstime-proc" => |text, walk| text.graph(walk, true),
        "plain" => Text::plain,
        "mcrae" => Text::code_trace,
        "probe" => Text::probe,
        _ => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no such format",
            ));
        }
    };
    text.out.extend_from_slice(match format {
        "function_graph" => b"# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n",
        "function_graph-abstime-proc" => b"# tracer: function_graph\n#\n#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n#      |          |     |    |           |   |                     |   |   |   |\n",
        "plain" => b"# profctl plain 1 unit=ns\n",
        _ => b"",
    });
    let mut written = 0;
    while written + (text.out.len() as u64) < bytes {
        render(&mut text, &mut walk);
        if text.out.len() >= CHUNK {
            out.write_all(&text.out)?;
            written += text.out.len() as u64;
            text.out.clear();
        }
    }
    out.write_all(&text.out)?;
    Ok(walk.steps)
}

/// The names that [`write_large`] uses for `seed`, as a name file for its probe records.
pub fn large_names(seed: u64) -> String {
    let walk = Walk::new(seed, 1);
    let line = |(n, name): (usize, &String)| format!("{name}/{}\n", 2 * n);
    walk.names.iter().enumerate().map(line).collect()
}

/// What the walk does next; times in nanoseconds.
#[derive(Clone, Copy)]
enum Step {
    Enter {
        function: usize,
        depth: usize,
    },
    Leaf {
        function: usize,
        depth: usize,
        length: u64,
    },
    /// `resumed` if the task was away since the entry.
    Exit {
        function: usize,
        depth: usize,
        length: u64,
        resumed: bool,
    },
    Switch {
        from: usize,
    },
}

#[derive(Clone, Copy)]
struct Frame {
    function: usize,
    start: u64,
    turn: u64,
}

/// The walk: one clock for all, a task a CPU.
struct Walk {
    random: Random,
    names: Vec<String>,
    time: u64,
    /// The CPU whose turn it is, and for how many steps more.
    cpu: usize,
    burst: u64,
    running: Vec<usize>,
    stacks: Vec<Vec<Frame>>,
    /// How often each task was switched to.
    turns: Vec<u64>,
    steps: u64,
}

impl Walk {
    fn new(seed: u64, n_cpus: usize) -> Self {
        let mut random = Random::new(seed);
        Self {
            names: (0..FUNCTIONS as usize)
                .map(|n| function_name(&mut random, n))
                .collect(),
            time: 100_000_000_000,
            cpu: 0,
            burst: 0,
            running: (0..n_cpus).collect(),
            stacks: vec![Vec::new(); TASKS],
            turns: vec![0; TASKS],
            steps: 0,
            random,
        }
    }

    fn task(&self) -> usize {
        self.running[self.cpu]
    }

    fn next(&mut self) -> Step {
        self.steps += 1;
        let dice = self.random.next_u64();
        if self.burst == 0 && self.running.len() > 1 {
            self.burst = 1 + (dice >> 40) % 64;
            self.cpu = (dice >> 32) as usize % self.running.len();
        }
        self.burst = self.burst.saturating_sub(1);
        let task = self.task();
        if self.running.len() > 1 && dice.is_multiple_of(700) {
            let next = (dice >> 20) as usize % TASKS;
            if !self.running.contains(&next) {
                self.running[self.cpu] = next;
                self.turns[next] += 1;
                self.time += 1_500;
                return Step::Switch { from: task };
            }
        }
        // Mostly short, now and then long: the shift of a geometric distribution.
        let long = (dice >> 60) * u64::from(dice & 0xF00 == 0) * 400;
        let length = 300 + (dice >> 48) % 1_500 + long;
        let function = {
            let (a, b) = ((dice >> 16) & 0xFFFF, (dice >> 28) & 0xFFFF);
            // The product makes few functions frequent and most of them rare.
            ((((a * b) >> 16) * FUNCTIONS) >> 16) as usize
        };
        let turn = self.turns[task];
        let stack = &mut self.stacks[task];
        let depth = stack.len();
        // Drawn to a depth of about seven.
        let enters = match depth {
            0..=5 => 31,
            6..=8 => 27,
            _ => 20,
        };
        let choice = dice % 100;
        if depth > 0 && choice < 46 {
            self.time += length + 100;
            return Step::Leaf {
                function,
                depth,
                length,
            };
        }
        if depth == 0 || (depth < DEPTH_MAX && choice < 46 + enters) {
            stack.push(Frame {
                function,
                start: self.time,
                turn,
            });
            self.time += 150;
            return Step::Enter { function, depth };
        }
        let frame = stack.pop().expect("an empty stack is always entered");
        self.time += 120;
        let length = self.time - frame.start;
        Step::Exit {
            function: frame.function,
            depth: depth - 1,
            length,
            resumed: frame.turn != turn,
        }
    }
}

struct Text {
    names: Vec<String>,
    out: Vec<u8>,
}

impl Text {
    fn graph(&mut self, walk: &mut Walk, wide: bool) {
        let before = walk.time;
        let step = walk.next();
        let (cpu, task) = (walk.cpu, walk.task());
        if let Step::Switch { from } = step {
            self.out
                .extend_from_slice(b" ------------------------------------------\n ");
            self.number(cpu as u64);
            self.out.extend_from_slice(b") ");
            self.proc(from);
            self.out.extend_from_slice(b" => ");
            self.proc(task);
            self.out
                .extend_from_slice(b"\n ------------------------------------------\n\n");
            return;
        }
        if wide {
            let time = if matches!(step, Step::Exit { .. }) {
                walk.time
            } else {
                before
            };
            self.padded(time / 1_000_000_000, 5, b' ');
            self.out.push(b'.');
            self.padded(time / 1_000 % 1_000_000, 6, b'0');
            self.out.extend_from_slice(b" |  ");
        }
        self.out.push(b' ');
        self.number(cpu as u64);
        self.out.extend_from_slice(b") ");
        if wide {
            self.proc(task);
            self.out.extend_from_slice(b" | ");
        }
        match step {
            Step::Enter { function, depth } => {
                self.out.extend_from_slice(b"              |  ");
                self.indent(depth);
                self.out.extend_from_slice(self.names[function].as_bytes());
                self.out.extend_from_slice(b"() {\n");
            }
            Step::Leaf {
                function,
                depth,
                length,
            } => {
                self.duration(length);
                self.indent(depth);
                self.out.extend_from_slice(self.names[function].as_bytes());
                self.out.extend_from_slice(b"();\n");
            }
            Step::Exit {
                function,
                depth,
                length,
                resumed,
            } => {
                self.duration(length);
                self.indent(depth);
                self.out.push(b'}');
                if resumed {
                    self.out.extend_from_slice(b" /* ");
                    self.out.extend_from_slice(self.names[function].as_bytes());
                    self.out.extend_from_slice(b" */");
                }
                self.out.push(b'\n');
            }
            Step::Switch { .. } => {}
        }
    }

    fn plain(&mut self, walk: &mut Walk) {
        let before = walk.time;
        let step = walk.next();
        let (cpu, task) = (walk.cpu as u64, walk.task() as u64);
        let is_exit = matches!(step, Step::Exit { .. });
        self.number(if is_exit { walk.time } else { before });
        self.out.extend_from_slice(b" cpu");
        self.number(cpu);
        if let Step::Switch { from } = step {
            self.out.extend_from_slice(b" switch task-");
            self.number(1 + from as u64);
            self.out.extend_from_slice(b" task-");
            self.number(1 + task);
            self.out.push(b'\n');
            return;
        }
        self.out.extend_from_slice(b" task-");
        self.number(1 + task);
        match step {
            Step::Enter { function, .. } => {
                self.out.extend_from_slice(b" > ");
                self.out.extend_from_slice(self.names[function].as_bytes());
            }
            Step::Leaf {
                function, length, ..
            } => {
                self.out.extend_from_slice(b" . ");
                self.out.extend_from_slice(self.names[function].as_bytes());
                self.out.push(b' ');
                self.number(length);
            }
            Step::Exit { function, .. } => {
                self.out.extend_from_slice(b" < ");
                self.out.extend_from_slice(self.names[function].as_bytes());
            }
            Step::Switch { .. } => {}
        }
        self.out.push(b'\n');
    }

    /// One whole outermost call: a code trace tells at the entry how long a call will take.
    fn code_trace(&mut self, walk: &mut Walk) {
        let mut steps = Vec::new();
        loop {
            let before = walk.time;
            let step = walk.next();
            let time = if matches!(step, Step::Exit { .. }) {
                walk.time
            } else {
                before
            };
            steps.push((time / 1_000, step));
            if matches!(step, Step::Exit { depth: 0, .. }) {
                break;
            }
        }
        // Total and callees' total of every entry, in microseconds.
        let mut lengths = vec![(0, 0); steps.len()];
        let mut open: Vec<usize> = Vec::new();
        for index in 0..steps.len() {
            let (time, step) = steps[index];
            let total = match step {
                Step::Enter { .. } => {
                    open.push(index);
                    continue;
                }
                Step::Leaf { length, .. } => {
                    lengths[index].0 = length / 1_000;
                    length / 1_000
                }
                Step::Exit { .. } => {
                    let entry = open.pop().expect("an exit has an entry");
                    lengths[entry].0 = time - steps[entry].0;
                    lengths[entry].0
                }
                Step::Switch { .. } => continue,
            };
            if let Some(&caller) = open.last() {
                lengths[caller].1 += total;
            }
        }
        for (&(time, step), &(total, callees)) in steps.iter().zip(&lengths) {
            self.padded(time / 1_000_000, 4, b' ');
            self.out.push(b':');
            self.padded(time / 1_000 % 1_000, 3, b'0');
            self.out.push(b' ');
            self.padded(time % 1_000, 3, b'0');
            self.out.push(b' ');
            match step {
                Step::Enter { function, depth }
                | Step::Leaf {
                    function, depth, ..
                } => {
                    self.indent(2 * depth);
                    self.out.extend_from_slice(b"-> ");
                    self.out.extend_from_slice(self.names[function].as_bytes());
                    self.out.extend_from_slice(b" (");
                    self.number(total.saturating_sub(callees));
                    self.out.extend_from_slice(b" us");
                    if matches!(step, Step::Enter { .. }) {
                        self.out.extend_from_slice(b", ");
                        self.number(total);
                        self.out.extend_from_slice(b" total");
                    }
                    self.out.extend_from_slice(b")\n");
                }
                Step::Exit { depth, .. } => {
                    self.indent(2 * depth);
                    self.out.extend_from_slice(b"<- \n");
                }
                Step::Switch { .. } => {}
            }
        }
    }

    fn probe(&mut self, walk: &mut Walk) {
        let before = walk.time;
        let (tag, time) = match walk.next() {
            Step::Enter { function, .. } => (2 * function, before),
            Step::Leaf {
                function, length, ..
            } => {
                self.record(2 * function, before);
                (2 * function + 1, before + length)
            }
            Step::Exit { function, .. } => (2 * function + 1, walk.time),
            Step::Switch { .. } => return,
        };
        self.record(tag, time);
    }

    fn record(&mut self, tag: usize, time: u64) {
        self.out.extend_from_slice(&(tag as u16).to_le_bytes());
        self.out
            .extend_from_slice(&(time / 1_000).to_le_bytes()[..3]);
    }

    fn number(&mut self, number: u64) {
        self.padded(number, 1, b' ');
    }

    fn padded(&mut self, mut number: u64, width: usize, fill: u8) {
        let mut digits = [fill; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.out
            .extend_from_slice(&digits[at.min(digits.len() - width)..]);
    }

    fn indent(&mut self, depth: usize) {
        const SPACES: [u8; 4 * DEPTH_MAX + 4] = [b' '; 4 * DEPTH_MAX + 4];
        self.out.extend_from_slice(&SPACES[..2 * depth]);
    }

    /// `task-N`, centred in fourteen columns.
    fn proc(&mut self, task: usize) {
        let pid = 1 + task as u64;
        let width = 5 + if pid < 10 { 1 } else { 2 };
        let spaces = 14 - width;
        self.out.extend_from_slice(&b"              "[..spaces / 2]);
        self.out.extend_from_slice(b"task-");
        self.number(pid);
        self.out
            .extend_from_slice(&b"              "[..spaces - spaces / 2]);
    }

    /// The duration column up to the body, as the kernel prints it.
    fn duration(&mut self, nanos: u64) {
        self.out.push(match nanos {
            1_000_000_001.. => b'$',
            100_000_001.. => b'@',
            10_000_001.. => b'*',
            1_000_001.. => b'#',
            100_001.. => b'!',
            10_001.. => b'+',
            _ => b' ',
        });
        self.out.push(b' ');
        let start = self.out.len();
        let micros = nanos / 1_000;
        self.number(micros);
        let digits = 7usize.saturating_sub(self.out.len() - start).min(3);
        if digits > 0 {
            self.out.push(b'.');
            let point = self.out.len();
            self.padded(nanos % 1_000, 3, b'0');
            self.out.truncate(point + digits);
        }
        self.out.extend_from_slice(b" us");
        let width = self.out.len() - start;
        self.out
            .extend_from_slice(&b"            "[..12usize.saturating_sub(width)]);
        self.out.extend_from_slice(b"|  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;

    #[test]
    fn a_size_is_kept_and_a_seed_gives_one_text() {
        for format in LARGE_FORMATS {
            let mut once = Vec::new();
            let mut again = Vec::new();
            let events = write_large(format, 200_000, 5, &mut once).unwrap();
            assert_eq!(write_large(format, 200_000, 5, &mut again).unwrap(), events);
            assert_eq!(once, again, "{format}");
            assert!(
                (200_000..400_000).contains(&once.len()),
                "{format}: {}",
                once.len()
            );
        }
    }

    #[test]
    fn the_graph_is_sound() {
        for format in ["function_graph", "function_graph-abstime-proc"] {
            let mut text = Vec::new();
            write_large(format, 2_000_000, 1, &mut text).unwrap();
            let report = oracle::function_graph::evaluate(&text);
            assert_eq!(
                (report.unread_lines, report.lost_exits, report.clamped),
                (0, 0, 0),
                "{format}"
            );
            assert_eq!(report.unmatched_exits, 0, "{format}");
            let lines = text.split(|&byte| byte == b'\n').count();
            let per_line = text.len() / lines;
            let calls: u64 = report.functions.values().map(|totals| totals.calls).sum();
            assert!(
                (45..90).contains(&per_line),
                "{format}: {per_line} bytes a line"
            );
            assert!(
                calls > lines as u64 / 2,
                "{format}: {calls} calls in {lines} lines"
            );
        }
    }
}
