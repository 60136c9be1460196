//! Executions from a seed.

use super::{Call, Execution, Leaves, Record, What};
use crate::generate::Random;

/// What an execution is to have; a format that cannot say something leaves it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    /// About how many records.
    pub records: usize,
    /// Threads.
    pub threads: usize,
    /// CPUs that threads are switched on; 0: every thread has a CPU of its own.
    pub cpus: usize,
    /// Functions.
    pub functions: usize,
    /// Whether each thread has functions of its own.
    pub own_functions: bool,
    /// Most callers that a call has.
    pub depth: usize,
    /// Whether a function may be called while it is open on the same thread.
    pub recursion: bool,
    /// All times are multiples of this.
    pub step: u64,
    /// Whether several records may have one time.
    pub ties: bool,
    /// Whether the recording begins in the middle.
    pub cut_start: bool,
    /// Whether it ends in the middle.
    pub cut_end: bool,
    /// Whether records are lost.
    pub losses: bool,
    /// Whether calls end with one of their callers, without a record.
    pub unwinding: bool,
    /// Whether threads that sleep are woken.
    pub wakes: bool,
    /// Whether threads leave the CPU in a function of their own, and leave that when they are back.
    pub waits: bool,
}

impl Mix {
    /// Three threads that are never switched out, recursion, nothing missing.
    pub const WHOLE: Self = Self {
        records: 60,
        threads: 3,
        cpus: 0,
        functions: 6,
        own_functions: false,
        depth: 6,
        recursion: true,
        step: 1,
        ties: true,
        cut_start: false,
        cut_end: false,
        losses: false,
        unwinding: false,
        wakes: false,
        waits: false,
    };
    /// The same, with everything that can be missing.
    pub const BROKEN: Self =
        Self { cut_start: true, cut_end: true, losses: true, unwinding: true, ..Self::WHOLE };
    /// The same, on two CPUs.
    pub const SWITCHED: Self = Self { cpus: 2, threads: 4, wakes: true, ..Self::WHOLE };
}

/// The execution of `seed`.
pub fn make(seed: u64, mix: &Mix) -> Execution {
    let n_cpus = if mix.cpus == 0 { mix.threads } else { mix.cpus };
    let pinned = mix.cpus == 0;
    let mut run = Run {
        random: Random::new(seed),
        mix: *mix,
        calls: Vec::new(),
        records: Vec::new(),
        stacks: vec![Vec::new(); mix.threads],
        running: (0..n_cpus).map(|cpu| pinned.then_some(cpu)).collect(),
        asleep: vec![false; mix.threads],
        time: 0,
    };
    run.time = mix.step * (1 + run.random.below(1_000));
    while run.records.len() < mix.records {
        run.step();
    }
    if !mix.cut_end {
        run.close();
    }
    let Run { mut random, calls, mut records, .. } = run;
    if mix.cut_start {
        records.drain(..random.below(mix.records as u64 / 3) as usize);
    }
    if mix.losses && random.percent(60) && records.len() > 8 {
        let first = 1 + random.below(records.len() as u64 - 4) as usize;
        let n = 1 + random.below((records.len() - first).min(12) as u64 - 1) as usize;
        let time = records[first - 1].time;
        let cpu = records[first].cpu;
        let lost = Record { time, cpu, thread: None, what: What::Lost(n as u64) };
        records.splice(first..first + n, [lost]);
    }
    let functions = (0..mix.functions * if mix.own_functions { mix.threads } else { 1 })
        .map(|function| format!("f{function}"))
        .collect();
    Execution { functions, n_threads: mix.threads, n_cpus, calls, records }
}

struct Run {
    random: Random,
    mix: Mix,
    calls: Vec<Call>,
    records: Vec<Record>,
    /// By thread: the calls that are open.
    stacks: Vec<Vec<usize>>,
    /// By CPU.
    running: Vec<Option<usize>>,
    asleep: Vec<bool>,
    time: u64,
}

impl Run {
    fn record(&mut self, cpu: usize, thread: Option<usize>, what: What) {
        self.records.push(Record { time: self.time, cpu, thread, what });
    }

    fn step(&mut self) {
        // One wire cannot change twice at one time, nor can anything else be distinguished then.
        if !(self.mix.ties && self.random.percent(25)) || self.is_used() {
            self.time += self.mix.step * (1 + self.random.below(20));
        }
        let cpu = self.random.below(self.running.len() as u64) as usize;
        if self.mix.cpus > 0 && (self.running[cpu].is_none() || self.random.percent(20)) {
            self.switch(cpu);
            return;
        }
        let Some(thread) = self.running[cpu] else { return };
        let depth = self.stacks[thread].len();
        if depth > 0 && (depth >= self.mix.depth || self.random.percent(45)) {
            self.leave(cpu, thread);
        } else {
            self.enter(cpu, thread);
        }
        if self.mix.wakes && self.random.percent(15) {
            let sleeping: Vec<usize> =
                (0..self.mix.threads).filter(|thread| self.asleep[*thread]).collect();
            if !sleeping.is_empty() {
                let woken = sleeping[self.random.below(sleeping.len() as u64) as usize];
                self.asleep[woken] = false;
                self.time += self.mix.step;
                self.record(cpu, Some(thread), What::Wake(woken));
            }
        }
    }

    /// Whether the last record is one that the next must not coincide with: a call must not be left
    /// when it is entered, nor a function entered when it is left.
    fn is_used(&self) -> bool {
        !self.mix.recursion
            && self.records.iter().rev().take_while(|record| record.time == self.time).count() > 1
    }

    fn enter(&mut self, cpu: usize, thread: usize) {
        let stack = &self.stacks[thread];
        let now = self.records.iter().rev().take_while(|record| record.time == self.time);
        let touched: Vec<usize> = now
            .filter_map(|record| match record.what {
                What::Enter(call) | What::Exit(call) => Some(self.calls[call].function),
                _ => None,
            })
            .collect();
        let first = if self.mix.own_functions { thread * self.mix.functions } else { 0 };
        let is_free = |function: &usize| {
            self.mix.recursion
                || !touched.contains(function)
                    && stack.iter().all(|&call| self.calls[call].function != *function)
        };
        let free: Vec<usize> = (first..first + self.mix.functions).filter(is_free).collect();
        if free.is_empty() {
            return;
        }
        let function = free[self.random.below(free.len() as u64) as usize];
        let caller = stack.last().copied();
        let call = self.calls.len();
        self.calls.push(Call { function, caller, thread });
        self.stacks[thread].push(call);
        self.record(cpu, Some(thread), What::Enter(call));
    }

    fn leave(&mut self, cpu: usize, thread: usize) {
        let stack = &self.stacks[thread];
        let mut kept = stack.len() - 1;
        if self.mix.unwinding && self.random.percent(15) {
            let wanted = kept.saturating_sub(1 + self.random.below(2) as usize);
            let function = self.calls[stack[wanted]].function;
            // By its name, the innermost call of a function is the one that ends.
            if stack[wanted + 1..].iter().all(|&call| self.calls[call].function != function) {
                kept = wanted;
            }
        }
        let call = stack[kept];
        if !self.mix.recursion
            && self
                .records
                .iter()
                .rev()
                .take_while(|record| record.time == self.time)
                .any(|record| matches!(record.what, What::Enter(entered) if entered == call))
        {
            self.time += self.mix.step;
        }
        self.stacks[thread].truncate(kept);
        self.record(cpu, Some(thread), What::Exit(call));
    }

    fn switch(&mut self, cpu: usize) {
        let ready: Vec<usize> = (0..self.mix.threads)
            .filter(|thread| !self.running.contains(&Some(*thread)))
            .filter(|thread| !self.mix.wakes || !self.asleep[*thread])
            .collect();
        let prev = self.running[cpu];
        if let Some(woken) = self.asleep.iter().position(|is_asleep| *is_asleep)
            && ready.is_empty()
            && prev.is_none()
        {
            // No other thread can: a timer does it.
            self.asleep[woken] = false;
            self.time += self.mix.step;
            self.record(cpu, None, What::Wake(woken));
            return;
        }
        let pick = self.random.below(ready.len() as u64 + 1) as usize;
        let next = ready.get(pick).copied();
        if next == prev {
            return;
        }
        let leaves = match self.random.below(3) {
            0 => Leaves::Runnable,
            1 => Leaves::Sleeping,
            _ => Leaves::Uninterruptible,
        };
        if let Some(prev) = prev {
            self.asleep[prev] = self.mix.wakes && leaves != Leaves::Runnable;
        }
        if self.mix.waits
            && let Some(prev) = prev
        {
            self.time += self.mix.step;
            self.enter(cpu, prev);
        }
        self.running[cpu] = next;
        // Who comes and goes at one time cannot be distinguished.
        self.time += self.mix.step;
        self.record(cpu, prev, What::Switch { prev, leaves, next });
        self.time += self.mix.step;
        if let Some(back) = next.filter(|_| self.mix.waits)
            && !self.stacks[back].is_empty()
        {
            self.leave(cpu, back);
            self.time += self.mix.step;
        }
    }

    /// Ends all calls that are open.
    fn close(&mut self) {
        for thread in 0..self.mix.threads {
            while !self.stacks[thread].is_empty() {
                self.time += self.mix.step * (1 + self.random.below(9));
                let cpu = match self.running.iter().position(|running| *running == Some(thread)) {
                    Some(cpu) => cpu,
                    None => {
                        if std::mem::take(&mut self.asleep[thread]) {
                            self.record(0, self.running[0], What::Wake(thread));
                            self.time += self.mix.step;
                        }
                        let prev = self.running[0].replace(thread);
                        let leaves = Leaves::Runnable;
                        let next = Some(thread);
                        self.record(0, prev, What::Switch { prev, leaves, next });
                        self.time += self.mix.step;
                        0
                    }
                };
                let call = self.stacks[thread].pop().expect("there is one");
                self.record(cpu, Some(thread), What::Exit(call));
            }
        }
    }
}
