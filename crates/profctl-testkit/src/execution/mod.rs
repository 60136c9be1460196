//! Generated executions of which everything is known: which call each record belongs to, who ran
//! where, what the recorder lost. A writer for each family of formats puts one down as that family
//! does ([`mod@write`]), and [`expected`] says what a reader must find, by the definitions of the
//! numbers and nothing else: no stack is kept, nothing is paired, because nothing has to be.

mod expected;
mod make;
mod states;
pub mod write;

pub use expected::{Expected, Found, expected};
pub use make::{Mix, make};
pub use states::states;

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// What was called, by its place in [`Execution::functions`].
    pub function: usize,
    /// Who called it.
    pub caller: Option<usize>,
    /// On which thread.
    pub thread: usize,
}

/// In what state a thread leaves its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// It could run on.
    Runnable,
    /// It waits.
    Sleeping,
    /// It waits and no signal wakes it.
    Uninterruptible,
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// That call began.
    Enter(usize),
    /// It ended.
    Exit(usize),
    /// The CPU goes from one thread to another; none is the idle task.
    Switch {
        /// Who left it.
        prev: Option<usize>,
        /// In what state.
        leaves: Leaves,
        /// Who got it.
        next: Option<usize>,
    },
    /// The thread of the record (none: an interrupt of the idle task) wakes that one.
    Wake(usize),
    /// The recorder lost so many records.
    Lost(u64),
}

/// One record that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Ticks; never less than that of the record before.
    pub time: u64,
    /// Where.
    pub cpu: usize,
    /// On which thread; none is the idle task.
    pub thread: Option<usize>,
    /// What.
    pub what: What,
}

/// What happened, and what was seen of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The names of functions.
    pub functions: Vec<String>,
    /// How many threads there are.
    pub n_threads: usize,
    /// How many CPUs.
    pub n_cpus: usize,
    /// All calls, callers before callees.
    pub calls: Vec<Call>,
    /// What was seen, in time order.
    pub records: Vec<Record>,
}

impl Execution {
    /// The name of what was called.
    pub fn name(&self, call: usize) -> &str {
        &self.functions[self.calls[call].function]
    }

    /// How many callers a call has.
    pub fn depth(&self, call: usize) -> usize {
        self.callers(call).count()
    }

    /// Its caller, the caller of that, and so on.
    pub fn callers(&self, call: usize) -> impl Iterator<Item = usize> + '_ {
        let caller = move |call: usize| self.calls[call].caller;
        std::iter::successors(caller(call), move |&call| caller(call))
    }

    /// Whether the recorder lost anything.
    pub fn has_losses(&self) -> bool {
        self.records.iter().any(|record| matches!(record.what, What::Lost(_)))
    }
}
