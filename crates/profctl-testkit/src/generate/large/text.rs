//! The steps of a walk in the bytes of each format.

use super::walk::{DEPTH_MAX, Step, Walk};

/// What was rendered and is not written yet.
pub(super) struct Text {
    pub(super) names: Vec<String>,
    pub(super) out: Vec<u8>,
}

impl Text {
    pub(super) fn graph(&mut self, walk: &mut Walk, wide: bool) {
        let before = walk.time;
        let step = walk.next();
        let (cpu, task) = (walk.cpu, walk.task());
        if let Step::Switch { from } = step {
            self.out.extend_from_slice(b" ------------------------------------------\n ");
            self.number(cpu as u64);
            self.out.extend_from_slice(b") ");
            self.proc(from);
            self.out.extend_from_slice(b" => ");
            self.proc(task);
            self.out.extend_from_slice(b"\n ------------------------------------------\n\n");
            return;
        }
        if wide {
            let time = if matches!(step, Step::Exit { .. }) { walk.time } else { before };
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
            Step::Leaf { function, depth, length } => {
                self.duration(length);
                self.indent(depth);
                self.out.extend_from_slice(self.names[function].as_bytes());
                self.out.extend_from_slice(b"();\n");
            }
            Step::Exit { function, depth, length, resumed } => {
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

    pub(super) fn plain(&mut self, walk: &mut Walk) {
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
            Step::Leaf { function, length, .. } => {
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

    /// One whole outermost call: a code trace states the duration at the entry.
    pub(super) fn code_trace(&mut self, walk: &mut Walk) {
        let mut steps = Vec::new();
        loop {
            let before = walk.time;
            let step = walk.next();
            let time = if matches!(step, Step::Exit { .. }) { walk.time } else { before };
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
                Step::Enter { function, depth } | Step::Leaf { function, depth, .. } => {
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

    /// Entries and exits as they happen, calls without callees as complete events.
    pub(super) fn chrome(&mut self, walk: &mut Walk) {
        let before = walk.time;
        let step = walk.next();
        let task = 1 + walk.task() as u64;
        let (phase, function, time) = match step {
            Step::Enter { function, .. } => (b'B', function, before),
            Step::Leaf { function, .. } => (b'X', function, before),
            Step::Exit { function, .. } => (b'E', function, walk.time),
            Step::Switch { .. } => return,
        };
        self.comma();
        self.out.extend_from_slice(b"\n{\"ph\":\"");
        self.out.push(phase);
        self.out.extend_from_slice(b"\",\"ts\":");
        self.micros(time);
        if let Step::Leaf { length, .. } = step {
            self.out.extend_from_slice(b",\"dur\":");
            self.micros(length);
        }
        self.out.extend_from_slice(b",\"pid\":1000,\"tid\":");
        self.number(task);
        self.out.extend_from_slice(b",\"name\":\"");
        self.out.extend_from_slice(self.names[function].as_bytes());
        self.out.extend_from_slice(b"\"}");
    }

    /// A comma, unless the list only begins.
    pub(super) fn comma(&mut self) {
        if !self.out.ends_with(b"[") {
            self.out.push(b',');
        }
    }

    fn micros(&mut self, nanos: u64) {
        self.number(nanos / 1_000);
        self.out.push(b'.');
        self.padded(nanos % 1_000, 3, b'0');
    }

    /// What a probe on a tag bus sees: an even tag for an entry, the next one for the exit.
    pub(super) fn tags(&mut self, walk: &mut Walk, write: fn(&mut Self, usize, u64)) {
        let before = walk.time;
        match walk.next() {
            Step::Enter { function, .. } => write(self, 2 * function, before),
            Step::Leaf { function, length, .. } => {
                write(self, 2 * function, before);
                write(self, 2 * function + 1, before + length);
            }
            Step::Exit { function, .. } => write(self, 2 * function + 1, walk.time),
            Step::Switch { .. } => {}
        }
    }

    pub(super) fn record(&mut self, tag: usize, time: u64) {
        self.out.extend_from_slice(&(tag as u16).to_le_bytes());
        self.out.extend_from_slice(&(time / 1_000).to_le_bytes()[..3]);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.padded(number, 1, b' ');
    }

    pub(super) fn padded(&mut self, mut number: u64, width: usize, fill: u8) {
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
        self.out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
    }

    fn indent(&mut self, depth: usize) {
        const SPACES: [u8; 4 * DEPTH_MAX + 4] = [b' '; 4 * DEPTH_MAX + 4];
        self.out.extend_from_slice(&SPACES[..2 * depth]);
    }

    /// `task-N`, centered in fourteen columns.
    fn proc(&mut self, task: usize) {
        let pid = 1 + task as u64;
        let width = 5 + if pid < 10 { 1 } else { 2 };
        let spaces = 14 - width;
        self.out.extend_from_slice(&b"              "[..spaces / 2]);
        self.out.extend_from_slice(b"task-");
        self.number(pid);
        self.out.extend_from_slice(&b"              "[..spaces - spaces / 2]);
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
        self.out.extend_from_slice(&b"            "[..12usize.saturating_sub(width)]);
        self.out.extend_from_slice(b"|  ");
    }
}
