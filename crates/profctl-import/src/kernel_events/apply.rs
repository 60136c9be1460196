//! What events mean, said to the emitter.

use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::syscalls::Machine;
use super::{KernelEvent, Syscall, Task};
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey, WakerContext, Waking, WakingKind,
};

/// Which events of a recording are calls, and which are marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// Functions were recorded with their depth: they are the calls, and system calls and
    /// interrupts, which do not nest with them, are marks.
    pub has_graph: bool,
    /// `raw_syscalls` was recorded: the same calls as identified by `syscalls` are marks.
    pub has_raw_syscalls: bool,
    /// Whose system call numbers they are.
    pub machine: Machine,
}

/// When and where an event was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Ticks of the stream's clock.
    pub time: Option<u64>,
    /// The CPU.
    pub cpu: Option<u32>,
    /// The CPU and the thread that ran.
    pub lane: LaneRef,
    /// In what context.
    pub context: WakerContext,
    /// Byte offset of the record in its block.
    pub offset: usize,
}

impl Place {
    /// As the verbs of the emitter take it.
    pub fn at(&self) -> At {
        At { time: self.time, lane: self.lane, offset: self.offset }
    }
}

/// Says events to the emitter. Every worker has its own.
#[derive(Clone, Debug, Default)]
pub struct Applier {
    scope: Scope,
    /// The lane of each task on each CPU, with the name that the task had.
    lanes: FastMap<(u32, u64), NamedLane>,
    syscalls: FastMap<u64, NameRef>,
    /// The name of each interrupt, as its latest entry gave it.
    irqs: IrqNames,
    spelling: Vec<u8>,
}

/// A lane, and the name of its task.
type NamedLane = (LaneRef, Box<[u8]>);

/// The names of interrupts by number: exits have numbers only. Few, so a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IrqNames(Vec<(u64, Box<[u8]>)>);

/// The number with which `rt_sigreturn` is left: -1.
pub const SIGRETURN_LEFT: u64 = u64::MAX;
/// A CPU that is not stated, where lanes are looked up.
const NO_CPU: u32 = u32::MAX;
/// More interrupts than this are not named: a damaged file may have any number.
const IRQS_MAX: usize = 4096;

impl Applier {
    /// One for a recording of this kind.
    pub fn new(scope: Scope) -> Self {
        Self { scope, ..Self::default() }
    }

    /// Another one, for another worker: references of one emitter mean nothing to another.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::new(self.scope)
    }

    /// The kind of recording.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The names of interrupts so far, which the next block of the stream needs.
    pub fn irqs(&self) -> &IrqNames {
        &self.irqs
    }

    /// Goes on from the names of interrupts that the block before left.
    pub fn set_irqs(&mut self, irqs: &IrqNames) {
        if self.irqs != *irqs {
            self.irqs = irqs.clone();
        }
    }

    /// The lane of a task on a CPU. An empty name says nothing.
    #[inline]
    pub fn lane(&mut self, cpu: Option<u32>, task: Task<'_>, out: &mut Emitter) -> LaneRef {
        match self.lanes.get(&(cpu.unwrap_or(NO_CPU), task.tid)) {
            Some((lane, name)) if **name == *task.name => *lane,
            _ => self.new_lane(cpu, task, out),
        }
    }

    fn new_lane(&mut self, cpu: Option<u32>, task: Task<'_>, out: &mut Emitter) -> LaneRef {
        let thread = match task.tid {
            0 => ThreadKey::Idle,
            tid => ThreadKey::Tid(tid, String::from_utf8_lossy(task.name).into_owned()),
        };
        let lane = out.lane(LaneKey { cpu, thread });
        self.lanes.insert((cpu.unwrap_or(NO_CPU), task.tid), (lane, task.name.into()));
        lane
    }

    /// Says what `event` means, if it means anything but that it happened; the caller says what
    /// is left as a mark.
    pub fn apply(&mut self, event: &KernelEvent<'_>, place: &Place, out: &mut Emitter) -> bool {
        if place.time.is_none() {
            // Nothing that has a place in time; a switch without one is identified by the order of
            // lines.
            return false;
        }
        let at = place.at();
        match *event {
            KernelEvent::Switch { prev, state, next } => {
                let prev = self.lane(place.cpu, prev, out);
                let next = self.lane(place.cpu, next, out);
                out.sched_switch(at, Some(prev), state, Some(next));
            }
            KernelEvent::Waking { kind, target, cpu } => {
                let named = kind != WakingKind::WakeupNew;
                let target = if named { target } else { Task { name: b"", ..target } };
                let target = self.lane(None, target, out);
                out.waking(at, target, Waking { kind, target_cpu: cpu, context: place.context });
            }
            KernelEvent::Fork { child, .. } => {
                // It still has its parent's name.
                let child = self.lane(None, Task { name: b"", ..child }, out);
                out.fork(at, child);
            }
            KernelEvent::Exit(task) => {
                let lane = self.lane(place.cpu, task, out);
                out.thread_exit(At { lane, ..at });
            }
            KernelEvent::Rename(task) => {
                // A lane with the new name is all that it takes.
                let lane = self.lane(None, task, out);
                let tid = Some(task.tid);
                out.name_thread(
                    lane,
                    at.offset,
                    crate::emit::ThreadName { tid, ..Default::default() },
                );
            }
            KernelEvent::Irq { .. }
            | KernelEvent::SoftIrq { .. }
            | KernelEvent::Vector { .. }
            | KernelEvent::Syscall { .. }
                if self.scope.has_graph =>
            {
                return false;
            }
            KernelEvent::Irq { number, name, entered } => {
                if let Some(name) = name {
                    self.irqs.learn(number, name);
                }
                let name = self.irq_name(number, out);
                call(at, name, entered, out);
            }
            KernelEvent::SoftIrq { action, entered } => {
                let name = self.name(b"softirq:", action, FuncKind::Interrupt, out);
                call(at, name, entered, out);
            }
            KernelEvent::Vector { name, entered } => {
                let name = self.name(b"", name, FuncKind::Interrupt, out);
                call(at, name, entered, out);
            }
            KernelEvent::Syscall { raw, .. } if !raw && self.scope.has_raw_syscalls => {
                return false;
            }
            KernelEvent::Syscall { call: which, entered, .. } => {
                let name = match which {
                    // `rt_sigreturn` puts back the registers of before the signal, with -1 for the
                    // number of the system call.
                    Syscall::Number(SIGRETURN_LEFT) if !entered => {
                        self.name(b"", b"rt_sigreturn", FuncKind::Syscall, out)
                    }
                    Syscall::Number(number) => self.numbered(number, out),
                    Syscall::Name(name) => self.name(b"", name, FuncKind::Syscall, out),
                };
                call(at, name, entered, out);
            }
            KernelEvent::Other => return false,
        }
        true
    }

    /// Says that something happened.
    pub fn mark(&mut self, name: &[u8], detail: &str, at: At, out: &mut Emitter) {
        let name = self.name(b"", name, FuncKind::Mark, out);
        if detail.is_empty() {
            out.instant(at, name);
        } else {
            out.instant_with(at, name, detail);
        }
    }

    /// The function `prefix` + `name`; one name may be of a system call, an interrupt and a mark.
    fn name(&mut self, prefix: &[u8], name: &[u8], kind: FuncKind, out: &mut Emitter) -> NameRef {
        let sort: &[u8] = match kind {
            FuncKind::Syscall => b"syscall ",
            FuncKind::Interrupt => b"interrupt ",
            _ => b"mark ",
        };
        self.spelling.clear();
        self.spelling.extend_from_slice(sort);
        self.spelling.extend_from_slice(prefix);
        self.spelling.extend_from_slice(name);
        out.name(&self.spelling, |spelling| Func {
            name: String::from_utf8_lossy(&spelling[sort.len()..]).into_owned(),
            kind,
            ..Func::default()
        })
    }

    fn numbered(&mut self, number: u64, out: &mut Emitter) -> NameRef {
        if let Some(&known) = self.syscalls.get(&number) {
            return known;
        }
        let name = match self.scope.machine.name(number) {
            Some(name) => self.name(b"", name.as_bytes(), FuncKind::Syscall, out),
            None => self.name(b"syscall_", number.to_string().as_bytes(), FuncKind::Syscall, out),
        };
        self.syscalls.insert(number, name);
        name
    }

    fn irq_name(&mut self, number: u64, out: &mut Emitter) -> NameRef {
        let irqs = std::mem::take(&mut self.irqs);
        let name = match irqs.name(number) {
            Some(name) => self.name(b"irq:", name, FuncKind::Interrupt, out),
            None => self.name(b"irq:", number.to_string().as_bytes(), FuncKind::Interrupt, out),
        };
        self.irqs = irqs;
        name
    }
}

fn call(at: At, name: NameRef, entered: bool, out: &mut Emitter) {
    if entered {
        out.enter(at, name, Stated::NOTHING);
    } else {
        out.exit(at, Some(name), Stated::NOTHING);
    }
}

impl IrqNames {
    fn learn(&mut self, number: u64, name: &[u8]) {
        match self.0.iter().position(|(known, _)| *known == number) {
            Some(row) if *self.0[row].1 == *name => {}
            Some(row) => self.0[row].1 = name.into(),
            None if self.0.len() < IRQS_MAX => self.0.push((number, name.into())),
            None => {}
        }
    }

    fn name(&self, number: u64) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| *known == number).map(|(_, name)| &**name)
    }
}
