//! Records assigned to the tasks on whose stacks they are.

use std::collections::BTreeMap;

use super::Function;
use super::body::What;
use super::columns::Record;

/// Whose stack a record is on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Task {
    /// A task of that pid.
    Pid(u64),
    /// The idle task of a CPU: they all have pid 0.
    Idle(Option<u32>),
    /// Whatever ran on a CPU of which no switch was shown.
    Unknown(Option<u32>),
}

/// What happened to one task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Item {
    Enter {
        depth: usize,
        name: Function,
        time: Option<u64>,
    },
    Leaf {
        depth: usize,
        name: Function,
        wall: Option<u64>,
        time: Option<u64>,
    },
    Exit {
        depth: usize,
        name: Option<Function>,
        wall: Option<u64>,
        time: Option<u64>,
    },
    /// It left the CPU at that time.
    Off(u64),
    /// It got a CPU at that time.
    On(u64),
    /// An interrupt begins, or has ended.
    Arrow(bool),
    /// Events of it may be missing here.
    Gap,
}

fn task(pid: u64, cpu: Option<u32>) -> Task {
    if pid == 0 { Task::Idle(cpu) } else { Task::Pid(pid) }
}

/// Assigns all records.
pub(super) fn deal(records: &[Record]) -> BTreeMap<Task, Vec<Item>> {
    let mut running = first_tasks(records);
    let mut last_cpu: BTreeMap<Task, Option<u32>> = BTreeMap::new();
    let mut dealt: BTreeMap<Task, Vec<Item>> = BTreeMap::new();
    for record in records {
        let current = match record.pid {
            Some(pid) => task(pid, record.cpu),
            None => running.get(&record.cpu).copied().unwrap_or(Task::Unknown(record.cpu)),
        };
        let depth = record.depth;
        let item = match record.what.clone() {
            What::Enter(name) => Item::Enter { depth, name, time: record.time },
            What::Leaf { name, wall } => Item::Leaf { depth, name, wall, time: record.time },
            What::Exit { name, wall } => Item::Exit { depth, name, wall, time: record.time },
            What::Banner { to, .. } => {
                running.insert(record.cpu, task(to, record.cpu));
                // Lines without a CPU follow the switch that was shown last.
                running.insert(None, task(to, record.cpu));
                continue;
            }
            What::Switch { from, to } => {
                if let Some(time) = record.time {
                    dealt.entry(task(from, record.cpu)).or_default().push(Item::Off(time));
                    dealt.entry(task(to, record.cpu)).or_default().push(Item::On(time));
                }
                continue;
            }
            What::Lost(_) => {
                for (&task, items) in &mut dealt {
                    if last_cpu.get(&task) == Some(&record.cpu) {
                        items.push(Item::Gap);
                    }
                }
                continue;
            }
            What::Arrow(begins) => Item::Arrow(begins),
            What::Other => continue,
        };
        last_cpu.insert(current, record.cpu);
        dealt.entry(current).or_default().push(item);
    }
    dealt
}

/// Who ran on each CPU before anything said so: the left side of its first banner.
fn first_tasks(records: &[Record]) -> BTreeMap<Option<u32>, Task> {
    let mut first = BTreeMap::new();
    for record in records {
        if let What::Banner { from, .. } = record.what {
            first.entry(record.cpu).or_insert(task(from, record.cpu));
        }
    }
    first
}
