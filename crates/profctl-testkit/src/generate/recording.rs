//! A generated recording: who called what, where and when.

use super::Random;

/// What to make up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// About how many events.
    pub n_events: usize,
    /// CPUs; every one has an idle task besides.
    pub n_cpus: u32,
    /// Tasks that are not idle.
    pub n_tasks: usize,
    /// Distinct functions.
    pub n_functions: usize,
    /// Most callers that a call has.
    pub depth_max: usize,
    /// All times are multiples of this many nanoseconds.
    pub step: u64,
    /// Out of a hundred events, how many are marks.
    pub marks: u64,
    /// Out of a hundred calls, how many are interrupts.
    pub interrupts: u64,
    /// Whether calls that are still open at the end get their exits; if not, the recording stops
    /// in their midst.
    pub closes: bool,
}

impl Shape {
    /// Two CPUs, four tasks, switches, interrupts, marks.
    pub const BUSY: Self = Self {
        n_events: 2_000,
        n_cpus: 2,
        n_tasks: 4,
        n_functions: 40,
        depth_max: 12,
        step: 1,
        marks: 1,
        interrupts: 2,
        closes: true,
    };
    /// One CPU and one task, microseconds: what a hardware probe sees.
    pub const PROBE: Self = Self { n_cpus: 1, n_tasks: 1, step: 1_000, marks: 0, ..Self::BUSY };
}

/// One who runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its full name, at most fifteen characters as on Linux.
    pub name: String,
    /// Its id; 0 for every idle task.
    pub tid: u64,
    /// The CPU whose idle task it is.
    pub idle_of: Option<u32>,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A call of that function began.
    Enter(usize),
    /// An interrupt hit, and its handler, that function, began.
    Interrupt(usize),
    /// The innermost open call of the task ended.
    Exit,
    /// An instant.
    Mark,
    /// The CPU goes from the event's task to that one.
    Switch(usize),
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Nanoseconds; never smaller than that of the event before.
    pub time: u64,
    /// Where.
    pub cpu: u32,
    /// Whose, by its place in [`Recording::tasks`].
    pub task: usize,
    /// What.
    pub kind: Kind,
}

/// A whole recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// The names of functions.
    pub functions: Vec<String>,
    /// The idle tasks, CPU by CPU, then the others.
    pub tasks: Vec<Task>,
    /// How many CPUs there are.
    pub n_cpus: u32,
    /// What happened, in time order.
    pub events: Vec<Event>,
}

/// What one CPU is doing while a recording is generated.
struct Cpu {
    time: u64,
    task: usize,
}

impl Recording {
    /// The recording of `seed`.
    pub fn new(seed: u64, shape: Shape) -> Self {
        let mut random = Random::new(seed);
        let mut recording = Self {
            functions: (0..shape.n_functions).map(|n| function_name(&mut random, n)).collect(),
            tasks: tasks(shape),
            n_cpus: shape.n_cpus,
            events: Vec::with_capacity(shape.n_events),
        };
        recording.run(&mut random, shape);
        recording
    }

    fn run(&mut self, random: &mut Random, shape: Shape) {
        let start = (1 + random.below(100_000)) * 1_000_000;
        let mut cpus: Vec<Cpu> = (0..shape.n_cpus)
            .map(|cpu| Cpu { time: start + u64::from(cpu) * shape.step, task: cpu as usize })
            .collect();
        let mut depths = vec![0usize; self.tasks.len()];
        if self.n_cpus == 1 && shape.n_tasks == 1 {
            cpus[0].task = 1;
        }
        while self.events.len() < shape.n_events {
            let cpu = (0..cpus.len()).min_by_key(|&cpu| cpus[cpu].time).expect("there is a CPU");
            let task = cpus[cpu].task;
            let kind = choose(random, shape, depths[task]);
            let kind = match kind {
                Kind::Switch(_) => match self.next_task(random, &cpus, cpu) {
                    Some(next) => Kind::Switch(next),
                    None => continue,
                },
                other => other,
            };
            match kind {
                Kind::Enter(_) | Kind::Interrupt(_) => depths[task] += 1,
                Kind::Exit => depths[task] -= 1,
                Kind::Switch(next) => cpus[cpu].task = next,
                Kind::Mark => {}
            }
            self.events.push(Event { time: cpus[cpu].time, cpu: cpu as u32, task, kind });
            cpus[cpu].time += random.length(1_000).next_multiple_of(shape.step);
        }
        if shape.closes {
            self.close(&mut cpus, &depths, shape);
        }
    }

    /// Whom `cpu` may run next: its idle task or one that runs nowhere.
    fn next_task(&self, random: &mut Random, cpus: &[Cpu], cpu: usize) -> Option<usize> {
        let free = |task: &usize| {
            let idle_of = self.tasks[*task].idle_of;
            idle_of.is_none_or(|idle_of| idle_of == cpu as u32)
                && cpus.iter().all(|other| other.task != *task)
        };
        let free: Vec<usize> = (0..self.tasks.len()).filter(free).collect();
        (!free.is_empty()).then(|| free[random.below(free.len() as u64) as usize])
    }

    /// Runs every task that has open calls until it has none.
    fn close(&mut self, cpus: &mut [Cpu], depths: &[usize], shape: Shape) {
        let mut time = cpus.iter().map(|cpu| cpu.time).max().unwrap_or(0);
        for (task, &depth) in depths.iter().enumerate().filter(|&(_, &depth)| depth > 0) {
            let home = self.tasks[task].idle_of.map_or(0, |cpu| cpu as usize);
            let running = cpus.iter().position(|cpu| cpu.task == task);
            let cpu = running.unwrap_or(home);
            if running.is_none() {
                let from = cpus[cpu].task;
                self.events.push(Event {
                    time,
                    cpu: cpu as u32,
                    task: from,
                    kind: Kind::Switch(task),
                });
                cpus[cpu].task = task;
                time += shape.step;
            }
            for _ in 0..depth {
                self.events.push(Event { time, cpu: cpu as u32, task, kind: Kind::Exit });
                time += 100u64.next_multiple_of(shape.step);
            }
        }
    }
}

fn choose(random: &mut Random, shape: Shape, depth: usize) -> Kind {
    if random.percent(shape.marks) {
        return Kind::Mark;
    }
    if shape.n_tasks > 1 && random.percent(3) {
        return Kind::Switch(0);
    }
    let deeper = depth == 0 || (depth < shape.depth_max && random.percent(50));
    if !deeper {
        return Kind::Exit;
    }
    // The square makes few functions frequent and most of them rare.
    let n = shape.n_functions as u64;
    let function = (random.below(n) * random.below(n) / n) as usize;
    if depth > 0 && random.percent(shape.interrupts) {
        Kind::Interrupt(function)
    } else {
        Kind::Enter(function)
    }
}

/// Words as kernels use them, and a number that makes each name the only one of its kind.
pub(super) fn function_name(random: &mut Random, n: usize) -> String {
    const AREAS: [&str; 12] = [
        "tcp",
        "ip",
        "sk",
        "vfs",
        "ext4",
        "mm",
        "sched",
        "rcu",
        "irq",
        "ktime",
        "page",
        "__x64_sys",
    ];
    const WORDS: [&str; 16] = [
        "rcv",
        "lock",
        "unlock",
        "alloc",
        "free",
        "update",
        "read",
        "write",
        "get",
        "put",
        "queue",
        "wake",
        "check",
        "map",
        "lookup",
        "established",
    ];
    const TAILS: [&str; 6] = ["", "", "", ".isra.0", ".part.0", ".constprop.0"];
    let pick = |random: &mut Random, words: &[&'static str]| {
        words[random.below(words.len() as u64) as usize]
    };
    let (area, word) = (pick(random, &AREAS), pick(random, &WORDS));
    let more =
        if random.percent(40) { format!("_{}", pick(random, &WORDS)) } else { String::new() };
    let under = if random.percent(20) { "__" } else { "" };
    format!("{under}{area}_{word}{more}_{n}{}", pick(random, &TAILS))
}

fn tasks(shape: Shape) -> Vec<Task> {
    const NAMES: [&str; 6] = ["sshd", "kworker/0:1-ev", "rcu_preempt", "a b-c", "nc", "workload"];
    let idle = (0..shape.n_cpus).map(|cpu| Task {
        name: format!("swapper/{cpu}"),
        tid: 0,
        idle_of: Some(cpu),
    });
    let others = (0..shape.n_tasks).map(|n| Task {
        name: NAMES[n % NAMES.len()].to_owned(),
        tid: 10 + 37 * n as u64,
        idle_of: None,
    });
    idle.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_recording_and_time_goes_forward() {
        let recording = Recording::new(3, Shape::BUSY);
        assert_eq!(recording, Recording::new(3, Shape::BUSY));
        assert_ne!(recording, Recording::new(4, Shape::BUSY));
        assert!(recording.events.is_sorted_by_key(|event| event.time));
        let has =
            |wanted: fn(&Kind) -> bool| recording.events.iter().any(|event| wanted(&event.kind));
        assert!(has(|kind| matches!(kind, Kind::Switch(_))));
        assert!(has(|kind| matches!(kind, Kind::Interrupt(_))));
        assert!(has(|kind| matches!(kind, Kind::Mark)));
    }
}
