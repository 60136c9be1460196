//! A round robin scheduler, event by event.
//!
//! Threads that are ready wait in one queue. A CPU takes the first that may run there, lets it
//! compute until its quantum is used up, and then puts it at the tail if another one waits. A
//! thread that becomes ready enters at the tail with a new quantum; or at the head with what is
//! left of its own: with a new one at every wait it could keep the CPU for ever.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use profctl_model::Ticks;

use super::program::{Recorded, Step, Workload};

/// Where a thread enters the queue when it becomes ready.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WakeTo {
    /// Behind all others.
    Tail,
    /// Before all others.
    Head,
    /// Before all others; where no CPU is free it takes the place of a thread that runs.
    Preempt,
}

impl WakeTo {
    /// Every one, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Tail, Self::Head, Self::Preempt];

    /// The name in flags and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Head => "head",
            Self::Preempt => "preempt",
        }
    }
}

/// How threads are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// How long a thread may run while others wait; nothing: until it blocks.
    pub quantum: Option<Ticks>,
    /// Where a thread enters the queue.
    pub wake: WakeTo,
    /// What a switch to another thread takes.
    pub cost: Ticks,
    /// CPUs.
    pub cpus: usize,
    /// Whether threads may run on the CPUs of their programs only.
    pub pinned: bool,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// When the last thread that ends was done.
    pub makespan: Ticks,
    /// Switches to another thread.
    pub switches: u64,
    /// What they took.
    pub lost: Ticks,
    /// By program.
    pub threads: Vec<Recorded>,
    /// Waits that no thread ended, and that were ended for want of anything else to happen.
    pub released: u64,
}

impl Outcome {
    /// Jain's index of how much each thread ran of the time for which it wanted a CPU: 1 if all
    /// got the same part, 1/n if one of n got everything.
    pub fn fairness(&self) -> Option<f64> {
        let part = |thread: &Recorded| {
            let wanted = thread.run.0 + thread.runnable.0;
            (wanted > 0).then(|| thread.run.0 as f64 / wanted as f64)
        };
        let parts: Vec<f64> = self.threads.iter().filter_map(part).collect();
        let (sum, squares) = parts
            .iter()
            .fold((0.0, 0.0), |(sum, squares), part| (sum + part, squares + part * part));
        (squares > 0.0).then(|| sum * sum / (parts.len() as f64 * squares))
    }
}

/// Quanta beyond which a simulation is refused.
const QUANTA_MAX: u64 = 50_000_000;

/// Runs the programs under a policy. Fails if none of them ends, or if it would take for ever.
pub fn run(workload: &Workload, policy: &Policy) -> Result<Outcome, String> {
    let ends = workload.programs.iter().filter(|program| !program.is_endless());
    let computes = ends.clone().flat_map(|program| &program.steps).map(|step| match step {
        Step::Compute(length) | Step::BlockFor(length) => length.0,
        _ => 0,
    });
    let total = computes.fold(0_u64, u64::saturating_add);
    if ends.count() == 0 {
        return Err("every thread wants the CPU without end: nothing to measure".into());
    }
    if policy.quantum.is_some_and(|quantum| total / quantum.0.max(1) > QUANTA_MAX) {
        return Err("the quantum is too short for a simulation of this length".into());
    }
    let mut simulation = Simulation::new(workload, policy);
    simulation.begin();
    while simulation.unfinished > 0 {
        simulation.step();
    }
    Ok(simulation.outcome())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Ready,
    Running,
    /// Until a time.
    Blocked,
    /// Until woken.
    Waiting,
    Done,
}

#[derive(Clone, Debug)]
struct Task {
    place: Place,
    /// The next step.
    next: usize,
    /// What is left of the present computation.
    left: u64,
    quantum: u64,
    /// When it came to its place.
    since: u64,
    /// When it last became ready after a wait.
    burst: u64,
    /// Wakings of which it took note.
    wakings: u64,
    sums: Recorded,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    running: Option<usize>,
    /// When its thread began to compute.
    since: u64,
    /// The thread before.
    last: Option<usize>,
    /// Which of its events counts.
    serial: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A thread's wait is over.
    Timer(usize),
    /// A CPU's thread has used up its quantum, or is done with a computation.
    Slice(usize, u64),
}

struct Simulation<'a> {
    workload: &'a Workload,
    policy: &'a Policy,
    quantum: u64,
    now: u64,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    ready: VecDeque<usize>,
    /// By time, then in the order in which they were planned.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    planned: u64,
    /// Threads to come to an end.
    unfinished: usize,
    /// Those of them that wait for a thread.
    waiting: usize,
    /// Threads that have just become ready and may take the place of another one.
    urgent: Vec<usize>,
    switches: u64,
    lost: u64,
    released: u64,
}

impl<'a> Simulation<'a> {
    fn new(workload: &'a Workload, policy: &'a Policy) -> Self {
        let quantum = policy.quantum.map_or(u64::MAX, |quantum| quantum.0.max(1));
        let task = Task {
            place: Place::Ready,
            next: 0,
            left: 0,
            quantum,
            since: 0,
            burst: 0,
            wakings: 0,
            sums: Recorded::default(),
        };
        Self {
            workload,
            policy,
            quantum,
            now: 0,
            tasks: vec![task; workload.programs.len()],
            cpus: vec![Cpu::default(); policy.cpus.max(1)],
            ready: VecDeque::new(),
            events: BinaryHeap::new(),
            planned: 0,
            unfinished: workload.programs.iter().filter(|program| !program.is_endless()).count(),
            waiting: 0,
            urgent: Vec::new(),
            switches: 0,
            lost: 0,
            released: 0,
        }
    }

    /// Every thread begins: with a wait, or in the queue.
    fn begin(&mut self) {
        for task in 0..self.tasks.len() {
            match self.workload.programs[task].steps.first() {
                Some(Step::BlockFor(_) | Step::BlockUntilWoken) | None => {
                    self.advance(task);
                }
                _ => self.ready.push_back(task),
            }
        }
        self.fill();
    }

    fn plan(&mut self, time: u64, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((time, self.planned, event)));
    }

    /// The next event. If only endless threads have any, a wait ends that nothing else would end.
    fn step(&mut self) {
        let next = (self.waiting < self.unfinished).then(|| self.events.pop()).flatten();
        match next {
            Some(Reverse((time, _, event))) => {
                self.now = self.now.max(time);
                match event {
                    Event::Timer(task) => self.make_ready(task),
                    Event::Slice(cpu, serial) if self.cpus[cpu].serial == serial => self.slice(cpu),
                    Event::Slice(..) => {}
                }
            }
            None => {
                let waits = |task: &&usize| self.tasks[**task].place == Place::Waiting;
                let all: Vec<usize> = (0..self.tasks.len()).collect();
                let oldest = all.iter().filter(waits).min_by_key(|task| self.tasks[**task].since);
                let Some(&task) = oldest else {
                    self.unfinished = 0;
                    return;
                };
                self.released += 1;
                self.stop_waiting(task);
            }
        }
        self.fill();
    }

    /// Does what takes no time, up to the next computation: whether there is one.
    fn advance(&mut self, task: usize) -> bool {
        loop {
            let step = self.workload.programs[task].steps.get(self.tasks[task].next).copied();
            self.tasks[task].next += 1;
            match step {
                Some(Step::Compute(length)) => {
                    self.tasks[task].left = length.0;
                    if length.0 > 0 {
                        return true;
                    }
                }
                Some(Step::ComputeForever) => {
                    self.tasks[task].left = u64::MAX;
                    return true;
                }
                Some(Step::Wake(woken)) if self.tasks[woken].place == Place::Waiting => {
                    self.stop_waiting(woken);
                }
                Some(Step::Wake(woken)) => self.tasks[woken].wakings += 1,
                Some(Step::BlockUntilWoken) if self.tasks[task].wakings > 0 => {
                    self.tasks[task].wakings -= 1;
                }
                Some(Step::BlockUntilWoken) => {
                    self.leave(task, Place::Waiting);
                    self.waiting += usize::from(!self.workload.programs[task].is_endless());
                    return false;
                }
                Some(Step::BlockFor(length)) => {
                    self.leave(task, Place::Blocked);
                    match length.0 {
                        // Before any other thread gets the CPU.
                        0 => self.make_ready(task),
                        length => {
                            self.plan(self.now.saturating_add(length), Event::Timer(task));
                        }
                    }
                    return false;
                }
                None => {
                    self.leave(task, Place::Done);
                    self.tasks[task].sums.finish = Ticks(self.now);
                    self.unfinished -= 1;
                    return false;
                }
            }
        }
    }

    /// A thread is not ready any more.
    fn leave(&mut self, task: usize, place: Place) {
        let now = self.now;
        let task = &mut self.tasks[task];
        if task.place == Place::Running {
            let response = Ticks(now - task.burst);
            task.sums.bursts += 1;
            task.sums.response += response;
            task.sums.response_max = task.sums.response_max.max(response);
        }
        (task.place, task.since) = (place, now);
    }

    fn stop_waiting(&mut self, task: usize) {
        self.waiting -= usize::from(!self.workload.programs[task].is_endless());
        self.make_ready(task);
    }

    fn make_ready(&mut self, task: usize) {
        let (now, quantum) = (self.now, self.quantum);
        let place = &mut self.tasks[task];
        place.sums.blocked += Ticks(now - place.since);
        (place.place, place.since, place.burst) = (Place::Ready, now, now);
        if self.policy.wake == WakeTo::Tail || place.quantum == 0 {
            place.quantum = quantum;
            self.ready.push_back(task);
        } else {
            self.ready.push_front(task);
            if self.policy.wake == WakeTo::Preempt {
                self.urgent.push(task);
            }
        }
    }

    /// A computation ends, or a quantum.
    fn slice(&mut self, cpu: usize) {
        let Some(task) = self.stop(cpu) else { return };
        if self.tasks[task].left == 0 && !self.advance(task) {
            return;
        }
        let waits = self.ready.iter().any(|&other| self.may_run(other, cpu));
        let place = &mut self.tasks[task];
        if place.quantum == 0 {
            place.quantum = self.quantum;
            if waits {
                (place.place, place.since) = (Place::Ready, self.now);
                self.ready.push_back(task);
                return;
            }
        }
        self.go_on(cpu, task, self.now);
    }

    /// Takes the thread of a CPU off it, with what it has computed.
    fn stop(&mut self, cpu: usize) -> Option<usize> {
        let at = &mut self.cpus[cpu];
        at.serial += 1;
        let task = at.running.take()?;
        let ran = self.now.saturating_sub(at.since);
        // The switch was not over yet.
        let rest = at.since.saturating_sub(self.now);
        self.lost -= rest;
        let place = &mut self.tasks[task];
        place.sums.runnable = Ticks(place.sums.runnable.0 - rest);
        place.sums.run += Ticks(ran);
        if place.left != u64::MAX {
            place.left -= ran;
        }
        if place.quantum != u64::MAX {
            place.quantum -= ran;
        }
        Some(task)
    }

    fn go_on(&mut self, cpu: usize, task: usize, from: u64) {
        let place = &mut self.tasks[task];
        place.place = Place::Running;
        let length = place.left.min(place.quantum);
        let at = &mut self.cpus[cpu];
        (at.running, at.since, at.last) = (Some(task), from, Some(task));
        at.serial += 1;
        let serial = at.serial;
        if length != u64::MAX {
            self.plan(from.saturating_add(length), Event::Slice(cpu, serial));
        }
    }

    fn may_run(&self, task: usize, cpu: usize) -> bool {
        let cpus = &self.workload.programs[task].cpus;
        !self.policy.pinned || cpus.is_empty() || cpus.contains(&cpu)
    }

    /// Gives free CPUs to threads that are ready.
    fn fill(&mut self) {
        for cpu in 0..self.cpus.len() {
            while self.cpus[cpu].running.is_none() {
                let Some(place) = self.ready.iter().position(|&task| self.may_run(task, cpu))
                else {
                    break;
                };
                self.start(cpu, place);
            }
        }
        while let Some(task) = self.urgent.pop() {
            let Some(place) = self.ready.iter().position(|&other| other == task) else { continue };
            // The one that has run longest.
            let able = (0..self.cpus.len()).filter(|&cpu| self.may_run(task, cpu));
            let Some(cpu) = able.min_by_key(|&cpu| (self.cpus[cpu].since, cpu)) else { continue };
            let stopped = self.stop(cpu);
            self.start(cpu, place);
            if let Some(stopped) = stopped {
                let place = &mut self.tasks[stopped];
                (place.place, place.since) = (Place::Ready, self.now);
                if place.quantum == 0 {
                    place.quantum = self.quantum;
                    self.ready.push_back(stopped);
                } else {
                    self.ready.push_front(stopped);
                }
            }
        }
    }

    /// The thread at a place of the queue gets a CPU.
    fn start(&mut self, cpu: usize, place: usize) {
        let Some(task) = self.ready.remove(place) else { return };
        let is_other = self.cpus[cpu].last != Some(task);
        self.switches += u64::from(is_other);
        let cost = if is_other { self.policy.cost.0 } else { 0 };
        let from = self.now.saturating_add(cost);
        self.lost += cost;
        let sums = &mut self.tasks[task].sums;
        sums.switches += u64::from(is_other);
        sums.first_run.get_or_insert(Ticks(from));
        let since = self.tasks[task].since;
        self.tasks[task].sums.runnable += Ticks(from - since);
        self.go_on(cpu, task, from);
    }

    fn outcome(mut self) -> Outcome {
        for cpu in 0..self.cpus.len() {
            if let Some(task) = self.stop(cpu) {
                self.tasks[task].sums.finish = Ticks(self.now);
            }
        }
        for &task in &self.ready {
            let task = &mut self.tasks[task];
            task.sums.runnable += Ticks(self.now - task.since);
            task.sums.finish = Ticks(self.now);
        }
        Outcome {
            makespan: Ticks(self.now),
            switches: self.switches,
            lost: Ticks(self.lost),
            threads: self.tasks.into_iter().map(|task| task.sums).collect(),
            released: self.released,
        }
    }
}
