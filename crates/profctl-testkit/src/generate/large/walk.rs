//! An endless walk up and down the stacks of a few tasks.

use super::super::Random;
use super::super::recording::function_name;

const FUNCTIONS: u64 = 2_000;
pub(super) const DEPTH_MAX: usize = 20;
pub(super) const TASKS: usize = 64;

/// What the walk does next; times in nanoseconds.
#[derive(Clone, Copy)]
pub(super) enum Step {
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
pub(super) struct Frame {
    function: usize,
    start: u64,
    turn: u64,
}

/// The walk: one clock for all, a task a CPU.
pub(super) struct Walk {
    random: Random,
    pub(super) names: Vec<String>,
    pub(super) time: u64,
    /// The CPU whose turn it is, and for how many steps more.
    pub(super) cpu: usize,
    burst: u64,
    pub(super) running: Vec<usize>,
    stacks: Vec<Vec<Frame>>,
    /// How often each task was switched to.
    turns: Vec<u64>,
    pub(super) steps: u64,
}

impl Walk {
    pub(super) fn new(seed: u64, n_cpus: usize) -> Self {
        let mut random = Random::new(seed);
        Self {
            names: (0..FUNCTIONS as usize).map(|n| function_name(&mut random, n)).collect(),
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

    pub(super) fn task(&self) -> usize {
        self.running[self.cpu]
    }

    /// The open calls of the task whose turn it is, the outermost first.
    pub(super) fn path(&self) -> Vec<usize> {
        self.stacks[self.task()].iter().map(|frame| frame.function).collect()
    }

    pub(super) fn next(&mut self) -> Step {
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
            return Step::Leaf { function, depth, length };
        }
        if depth == 0 || (depth < DEPTH_MAX && choice < 46 + enters) {
            stack.push(Frame { function, start: self.time, turn });
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
