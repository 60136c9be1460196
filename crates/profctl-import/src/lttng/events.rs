//! Events said to the emitter.

use std::borrow::Cow;
use std::sync::Arc;

use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::meaning::Meaning;
use super::modules::Modules;
use super::{Fields, Name, Part, Thread};
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, ThreadName, WakerContext,
};
use crate::kernel_events::record::StateBits;
use crate::kernel_events::{Applier, IrqNames, KernelEvent, Place, SOFT_IRQS, Syscall, Task};
use crate::known_names::KnownNames;

/// When and where an event was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub(crate) time: Option<u64>,
    pub(crate) cpu: Option<u32>,
    /// Byte offset in the block.
    pub(crate) offset: usize,
}

impl Site {
    fn at(self, lane: LaneRef) -> At {
        At { time: self.time, lane, offset: self.offset }
    }
}

/// A thread as the contexts of an event name it: CPU, process and thread.
type Named = (Option<u32>, Option<u64>, u64);

/// The lane of a thread, and the name that it had.
type Known = (LaneRef, Arc<[u8]>);

/// Says events to the emitter. Every worker has its own.
pub(crate) struct TracerEvents {
    modules: Arc<Modules>,
    applier: Applier,
    /// Functions by address.
    functions: KnownNames,
    /// The lanes of threads in this block, with the names that they had.
    lanes: FastMap<Named, Known>,
    /// The latest of them.
    last: Option<(Named, Known)>,
}

impl TracerEvents {
    /// For a trace with these programs.
    pub(crate) fn new(modules: Arc<Modules>) -> Self {
        Self {
            modules,
            applier: Applier::default(),
            functions: KnownNames::default(),
            lanes: FastMap::default(),
            last: None,
        }
    }

    /// Another one, for another worker.
    pub(crate) fn fork(&self) -> Self {
        Self::new(Arc::clone(&self.modules))
    }

    /// The names of interrupts so far, which the next block of the stream needs.
    pub(crate) fn irqs(&self) -> &IrqNames {
        self.applier.irqs()
    }

    /// Begins a block, with the names of interrupts that the one before left.
    pub(crate) fn begin(&mut self, irqs: &IrqNames) {
        self.applier.set_irqs(irqs);
        // What was said in a block that is read again was not heard.
        self.lanes.clear();
        self.last = None;
    }

    /// Says the event `name`, which means `meaning`.
    pub(crate) fn say<F: Fields>(
        &mut self,
        (name, meaning): (&str, &Meaning),
        event: &F,
        site: Site,
        out: &mut Emitter,
    ) {
        let own = |name| event.number(Part::Any, name);
        match meaning {
            Meaning::Function { is_entry } => {
                let at = site.at(self.lane(event, site, out));
                let name = own(Name::Address).map(|address| self.function(address, out));
                match (name, is_entry) {
                    (Some(name), true) => out.enter(at, name, Stated::NOTHING),
                    (None, true) => {}
                    (name, false) => out.exit(at, name, Stated::NOTHING),
                }
            }
            Meaning::Call { name, is_entry } => {
                let at = site.at(self.lane(event, site, out));
                call(at, name, FuncKind::Function, *is_entry, out);
            }
            Meaning::AnyInterrupt { is_entry } => {
                let at = site.at(self.lane(event, site, out));
                call(at, "isr", FuncKind::Interrupt, *is_entry, out);
            }
            Meaning::ThreadSwitched { is_in } => {
                let thread = own(Name::ThreadId).map(|tid| {
                    let name = event.text(Part::Any, Name::Label).unwrap_or_default();
                    self.applier.lane(site.cpu, Task { tid, name: &name }, out)
                });
                let (prev, next) = if *is_in { (None, thread) } else { (thread, None) };
                let cpu = cpu_lane(site.cpu, out);
                out.sched_switch(site.at(cpu), prev, PrevState::Unknown(b'?'), next);
                came(prev, next, site.offset, out);
            }
            Meaning::Mapped | Meaning::Mark => self.mark(name, event, site, out),
            Meaning::Syscall { .. }
            | Meaning::Interrupt { .. }
            | Meaning::SoftInterrupt { .. }
            | Meaning::Switch
            | Meaning::Waking { .. }
            | Meaning::Fork
            | Meaning::Exit => {
                if self.kernel(meaning, event, site, out).is_none() {
                    self.mark(name, event, site, out);
                }
            }
        }
    }

    /// Says that a thread entered or left the function at an address.
    #[expect(clippy::inline_always, reason = "a call would pass the parts through memory")]
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        (address, is_entry): (u64, bool),
        thread: &Thread<'_>,
        site: Site,
        out: &mut Emitter,
    ) {
        let at = site.at(self.lane_of(thread, site, out));
        let name = self.function(address, out);
        if is_entry {
            out.enter(at, name, Stated::NOTHING);
        } else {
            out.exit(at, Some(name), Stated::NOTHING);
        }
    }

    /// Says an event of the kernel; nothing if it lacks a field that it must have.
    #[inline(never)]
    fn kernel<F: Fields>(
        &mut self,
        meaning: &Meaning,
        event: &F,
        site: Site,
        out: &mut Emitter,
    ) -> Option<()> {
        let number = |name| event.number(Part::Own, name);
        let text = |name| event.text(Part::Own, name).unwrap_or_default();
        let names: [Cow<'_, [u8]>; 2];
        let kernel = match meaning {
            Meaning::Syscall { name, is_entry } => {
                let call = Syscall::Name(name.as_bytes());
                KernelEvent::Syscall { call, entered: *is_entry, raw: false }
            }
            Meaning::Interrupt { is_entry } => {
                names = [text(Name::Label), Cow::default()];
                let name = is_entry.then_some(&*names[0]).filter(|name| !name.is_empty());
                KernelEvent::Irq { number: number(Name::Irq)?, name, entered: *is_entry }
            }
            Meaning::SoftInterrupt { is_entry } => {
                let row = usize::try_from(number(Name::Vector)?).unwrap_or(usize::MAX);
                let action = SOFT_IRQS.get(row).map_or(&b"unknown"[..], |name| name.as_bytes());
                KernelEvent::SoftIrq { action, entered: *is_entry }
            }
            Meaning::Switch => {
                names = [text(Name::PrevComm), text(Name::NextComm)];
                let state = number(Name::PrevState);
                KernelEvent::Switch {
                    prev: Task { tid: number(Name::PrevTid)?, name: &names[0] },
                    state: state.map_or(PrevState::Unknown(b'?'), |it| StateBits::LINUX.state(it)),
                    next: Task { tid: number(Name::NextTid)?, name: &names[1] },
                }
            }
            Meaning::Waking { kind } => {
                names = [text(Name::Comm), Cow::default()];
                KernelEvent::Waking {
                    kind: *kind,
                    target: Task { tid: number(Name::Tid)?, name: &names[0] },
                    cpu: number(Name::TargetCpu).and_then(|cpu| u32::try_from(cpu).ok()),
                }
            }
            Meaning::Fork => {
                names = [text(Name::ParentComm), text(Name::ChildComm)];
                KernelEvent::Fork {
                    parent: Task { tid: number(Name::ParentTid).unwrap_or(0), name: &names[0] },
                    child: Task { tid: number(Name::ChildTid)?, name: &names[1] },
                }
            }
            Meaning::Exit => {
                names = [text(Name::Comm), Cow::default()];
                KernelEvent::Exit(Task { tid: number(Name::Tid)?, name: &names[0] })
            }
            _ => return None,
        };
        let Site { time, cpu, offset } = site;
        let lane = self.lane(event, site, out);
        let place = Place { time, cpu, lane, context: WakerContext::Unknown, offset };
        let done = self.applier.apply(&kernel, &place, out);
        if let KernelEvent::Switch { prev, next, .. } = kernel {
            let prev = self.applier.lane(cpu, prev, out);
            let next = self.applier.lane(cpu, next, out);
            came(Some(prev), Some(next), offset, out);
        }
        done.then_some(())
    }

    #[inline(never)]
    fn mark<F: Fields>(&mut self, name: &str, event: &F, site: Site, out: &mut Emitter) {
        let at = site.at(self.lane(event, site, out));
        self.applier.mark(name.as_bytes(), &event.detail(), at, out);
    }

    #[inline]
    fn function(&mut self, address: u64, out: &mut Emitter) -> NameRef {
        match self.functions.get(address) {
            Some(known) => known,
            None => self.new_function(address, out),
        }
    }

    #[cold]
    fn new_function(&mut self, address: u64, out: &mut Emitter) -> NameRef {
        let (name, module) = self.modules.function(address);
        let spelling = format!("{name}\0{}", module.as_deref().unwrap_or_default());
        let func = Func { name, module, ..Func::default() };
        let name = out.name(spelling.as_bytes(), |_| func);
        self.functions.insert(address, name);
        name
    }

    /// Whom the event is of: the thread that its contexts name, else the one that runs on the CPU.
    #[inline]
    fn lane<F: Fields>(&mut self, event: &F, site: Site, out: &mut Emitter) -> LaneRef {
        match event.thread() {
            Some(thread) => self.lane_of(&thread, site, out),
            None => cpu_lane(site.cpu, out),
        }
    }

    #[inline]
    fn lane_of(&mut self, thread: &Thread<'_>, site: Site, out: &mut Emitter) -> LaneRef {
        let Thread { tid, pid, ref name } = *thread;
        let named = (site.cpu, pid, tid);
        if let Some((last, (lane, known))) = &self.last
            && *last == named
            && is_same(known, name)
        {
            return *lane;
        }
        let (lane, known) = self.find_lane(named, name, site.offset, out);
        self.last = Some((named, (lane, known)));
        lane
    }

    #[inline(never)]
    fn find_lane(
        &mut self,
        (cpu, pid, tid): Named,
        name: &[u8],
        offset: usize,
        out: &mut Emitter,
    ) -> Known {
        if let Some((lane, known)) = self.lanes.get(&(cpu, pid, tid))
            && is_same(known, name)
        {
            return (*lane, Arc::clone(known));
        }
        // The scheduler's events name threads without their process.
        let lane = self.applier.lane(cpu, Task { tid, name }, out);
        if pid.is_some() && tid != 0 {
            out.name_thread(
                lane,
                offset,
                ThreadName { tid: Some(tid), pid, ..ThreadName::default() },
            );
        }
        let known: Arc<[u8]> = name.into();
        self.lanes.insert((cpu, pid, tid), (lane, Arc::clone(&known)));
        (lane, known)
    }
}

/// Whether two names are the same. Empty ones are not compared byte by byte: a processor takes long
/// to find that it may not read the address of nothing, even where it reads no byte of it.
#[inline]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// A CPU, and the thread that runs on it.
pub(crate) fn cpu_lane(cpu: Option<u32>, out: &mut Emitter) -> LaneRef {
    out.lane(LaneKey { cpu, thread: ThreadKey::Unstated })
}

/// Events that name no thread are of the thread that came to the CPU.
fn came(prev: Option<LaneRef>, next: Option<LaneRef>, offset: usize, out: &mut Emitter) {
    if let Some(next) = next {
        out.runs_now(next, prev, offset);
    }
}

fn call(at: At, name: &str, kind: FuncKind, is_entry: bool, out: &mut Emitter) {
    let name = out.func(name, kind);
    if is_entry {
        out.enter(at, name, Stated::NOTHING);
    } else {
        out.exit(at, Some(name), Stated::NOTHING);
    }
}
