//! Who ran and what was called: functions, threads and CPUs, each interned once.

use crate::hash::FastMap;
use crate::id::{CpuId, FuncId, IdVec, ThreadId};

/// What kind of thing a function is; reports carry it, busy and stolen time depend on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum FuncKind {
    /// An ordinary function.
    #[default]
    Function,
    /// A system call.
    Syscall,
    /// An interrupt handler: it runs on the interrupted thread and steals its time.
    Interrupt,
    /// The idle loop: its net time is not busy time.
    Idle,
    /// A context switch.
    Switch,
    /// An instant without a length.
    Mark,
}

impl FuncKind {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Syscall => "syscall",
            Self::Interrupt => "interrupt",
            Self::Idle => "idle",
            Self::Switch => "switch",
            Self::Mark => "mark",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Function, Self::Syscall, Self::Interrupt, Self::Idle, Self::Switch, Self::Mark]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Func {
    /// Its name, compiler suffixes included.
    pub name: String,
    /// Its kernel module or library, if known.
    pub module: Option<String>,
    /// What kind of thing it is.
    pub kind: FuncKind,
    /// Its address, if known.
    pub address: Option<u64>,
}

/// A thread of execution, each with a stack of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// The command or thread name, the last one if it changed; may be cut short by the recorder.
    pub name: String,
    /// The names that it had before, the oldest first.
    pub former_names: Vec<String>,
    /// The id that the system gave it (Linux calls it pid, BSD tid or lid).
    pub tid: Option<u64>,
    /// Its process, if the input distinguishes processes and threads.
    pub pid: Option<u64>,
    /// Whether it is an idle task (one per CPU).
    pub idle: bool,
}

impl Thread {
    /// `name-tid`, as Linux writes it; whichever half is known, else `?`. The idle tasks share one
    /// id and are distinguished by name.
    pub fn label(&self) -> String {
        match (self.name.as_str(), self.tid.filter(|_| !self.idle)) {
            ("", None) => "?".into(),
            ("", Some(tid)) => tid.to_string(),
            (name, None) => name.into(),
            (name, Some(tid)) => format!("{name}-{tid}"),
        }
    }
}

/// Every name of one trace.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Functions, in order of first appearance.
    pub funcs: IdVec<FuncId, Func>,
    /// Threads, in order of first appearance.
    pub threads: IdVec<ThreadId, Thread>,
    /// The numbers of the CPUs, in order of first appearance.
    pub cpus: IdVec<CpuId, u32>,
    func_ids: FastMap<(String, Option<String>), FuncId>,
    cpu_ids: FastMap<u32, CpuId>,
}

impl Names {
    /// The id of a function: the name and its module identify it. The first mention decides its
    /// kind and address.
    pub fn func(&mut self, func: Func) -> FuncId {
        let key = (func.name.clone(), func.module.clone());
        *self.func_ids.entry(key).or_insert_with(|| self.funcs.push(func))
    }

    /// The id of the CPU with that number.
    pub fn cpu(&mut self, number: u32) -> CpuId {
        *self.cpu_ids.entry(number).or_insert_with(|| self.cpus.push(number))
    }

    /// Adds the names of a part of the trace, whose threads are in no other part.
    pub fn merge(&mut self, part: Self) -> NewIds {
        NewIds {
            funcs: part.funcs.into_items().into_iter().map(|func| self.func(func)).collect(),
            threads: (part.threads.into_items().into_iter())
                .map(|thread| self.threads.push(thread))
                .collect(),
            cpus: part.cpus.into_items().into_iter().map(|number| self.cpu(number)).collect(),
        }
    }
}

/// The ids in a whole trace, by the ids in a part of it.
#[derive(Clone, Debug, Default)]
pub struct NewIds {
    /// By function of the part.
    pub funcs: IdVec<FuncId, FuncId>,
    /// By thread of the part.
    pub threads: IdVec<ThreadId, ThreadId>,
    /// By CPU of the part.
    pub cpus: IdVec<CpuId, CpuId>,
}
