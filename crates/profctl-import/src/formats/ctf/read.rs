//! Packets to calls, switches and marks.

use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::events::{Event, each};
use super::meaning::{Meaning, SOFT_INTERRUPTS};
use super::modules::Modules;
use super::packet::Placed;
use super::types::Metadata;
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, WakerContext, Waking,
};
use crate::formats::{Block, Reader, State};

/// A trace: one metadata file and the streams that it describes.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) metadata: Metadata,
    /// By row of the metadata's events.
    pub(super) meanings: Vec<Meaning>,
    /// Ticks of this trace's clock a second, and those of the whole.
    pub(super) frequency: (u64, u64),
    /// Ticks of the whole from the epoch to the 0 of its clock.
    pub(super) offset: i128,
}

impl Trace {
    /// A raw time in ticks of the whole.
    fn ticks(&self, raw: u64) -> u64 {
        let (own, whole) = self.frequency;
        let scaled = if own == whole {
            i128::from(raw)
        } else {
            i128::from(raw) * i128::from(whole) / i128::from(own)
        };
        u64::try_from(scaled + self.offset).unwrap_or(0)
    }
}

/// A stream file.
#[derive(Debug)]
pub(super) struct Source {
    /// The row of its trace.
    pub(super) trace: usize,
    pub(super) packets: Vec<Placed>,
    /// Where a packet was found that cannot be read.
    pub(super) damaged: Option<u64>,
}

/// All that blocks are read with.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) traces: Vec<Trace>,
    pub(super) sources: Vec<Source>,
    pub(super) modules: Modules,
}

/// Reads packets, each of them a block.
pub(super) struct Packets {
    contents: Arc<Contents>,
    /// Names of functions by address.
    functions: FastMap<u64, NameRef>,
}

/// Where the events of a packet go.
struct Packet<'a, 'e> {
    contents: &'a Contents,
    trace: &'a Trace,
    cpu: Option<u32>,
    functions: &'e mut FastMap<u64, NameRef>,
    out: &'e mut Emitter,
}

impl Packets {
    pub(super) fn new(contents: Contents) -> Self {
        Self::over(Arc::new(contents))
    }

    fn over(contents: Arc<Contents>) -> Self {
        Self { contents, functions: FastMap::default() }
    }
}

impl Reader for Packets {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::over(Arc::clone(&self.contents)))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        // Blocks are cut in advance.
        bytes.len()
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let contents = Arc::clone(&self.contents);
        let source = &contents.sources[block.stream];
        let row = source.packets.partition_point(|placed| placed.range.start < block.offset);
        let placed = source.packets.get(row).filter(|it| it.range.start == block.offset)?;
        let trace = &contents.traces[source.trace];
        let mut packet = Packet {
            contents: &contents,
            trace,
            cpu: placed.packet.cpu,
            functions: &mut self.functions,
            out,
        };
        if placed.is_after_loss {
            let lane = packet.cpu_lane();
            let time = placed.packet.begin.map(|begin| trace.ticks(begin));
            packet.out.lost(At { time, lane, offset: 0 }, placed.lost);
        }
        let done = each(&trace.metadata, &placed.packet, block.bytes, |event| packet.take(event));
        if let Err(what) = done {
            let size = placed.packet.size.or(placed.packet.content).unwrap_or(0);
            let is_cut = (block.bytes.len() as u64) < size.div_ceil(8);
            let code = if is_cut { &CUT_RECORD } else { &SKIPPED_RECORD };
            out.diag(code, 0, || format!("{what}; the rest of the packet was skipped"));
        }
        if block.at_end && source.damaged.is_some() {
            out.diag(&SKIPPED_RECORD, block.bytes.len(), || {
                "the rest is not a packet described by the metadata".into()
            });
        }
        None
    }
}

impl Packet<'_, '_> {
    fn take(&mut self, event: &Event<'_>) {
        self.out.records += 1;
        let offset = (event.at / 8) as usize;
        let time = Some(self.trace.ticks(event.time));
        let here = |lane| At { time, lane, offset };
        let meaning = &self.trace.meanings[event.row];
        match meaning {
            Meaning::Function { is_entry } => {
                let lane = self.lane(event);
                let name = event.number("addr").map(|address| self.function(address));
                match (name, is_entry) {
                    (Some(name), true) => self.out.enter(here(lane), name, Stated::NOTHING),
                    (None, true) => {}
                    (name, false) => self.out.exit(here(lane), name, Stated::NOTHING),
                }
            }
            Meaning::Call { name, is_entry } => {
                let lane = self.lane(event);
                self.call(here(lane), name, FuncKind::Function, *is_entry);
            }
            Meaning::Syscall { name, is_entry } => {
                let lane = self.lane(event);
                self.call(here(lane), name, FuncKind::Syscall, *is_entry);
            }
            Meaning::Interrupt { is_entry: true } => {
                let name = event.text("name").or_else(|| Some(event.number("irq")?.to_string()));
                let name = format!("irq:{}", name.unwrap_or_default());
                let lane = self.lane(event);
                self.call(here(lane), &name, FuncKind::Interrupt, true);
            }
            // It says only the number of the interrupt.
            Meaning::Interrupt { is_entry: false } => {
                let lane = self.lane(event);
                self.out.exit(here(lane), None, Stated::NOTHING);
            }
            Meaning::SoftInterrupt { is_entry } => {
                let number = event.number("vec").unwrap_or(0);
                let name = usize::try_from(number).ok().and_then(|n| SOFT_INTERRUPTS.get(n));
                let name = name.map_or_else(|| number.to_string(), |name| (*name).to_owned());
                let lane = self.lane(event);
                self.call(here(lane), &format!("softirq:{name}"), FuncKind::Interrupt, *is_entry);
            }
            Meaning::AnyInterrupt { is_entry } => {
                let lane = self.lane(event);
                self.call(here(lane), "isr", FuncKind::Interrupt, *is_entry);
            }
            Meaning::Switch => {
                let cpu = self.cpu_lane();
                let prev = self.task(event, "prev_tid", "prev_comm");
                let next = self.task(event, "next_tid", "next_comm");
                let state = prev_state(event.number("prev_state"));
                self.switch(here(cpu), prev, state, next);
            }
            Meaning::Waking { kind } => {
                let lane = self.lane(event);
                if let Some(target) = self.woken(event) {
                    let target_cpu = event.number("target_cpu");
                    let waking = Waking {
                        kind: *kind,
                        target_cpu: target_cpu.and_then(|cpu| u32::try_from(cpu).ok()),
                        context: WakerContext::Unknown,
                    };
                    self.out.waking(here(lane), target, waking);
                }
            }
            Meaning::Fork => {
                let lane = self.lane(event);
                let child = event.number("child_tid").map(|tid| {
                    let name = event.text("child_comm").unwrap_or_default();
                    self.out.lane(LaneKey { cpu: None, thread: ThreadKey::Tid(tid, name) })
                });
                if let Some(child) = child {
                    self.out.fork(here(lane), child);
                }
            }
            Meaning::Exit => {
                let lane = self.task(event, "tid", "comm");
                if let Some(lane) = lane {
                    self.out.thread_exit(here(lane));
                }
            }
            Meaning::ThreadSwitched { is_in } => {
                let cpu = self.cpu_lane();
                let thread = self.task(event, "thread_id", "name");
                let (prev, next) = if *is_in { (None, thread) } else { (thread, None) };
                self.switch(here(cpu), prev, PrevState::Unknown(b'?'), next);
            }
            Meaning::Mapped | Meaning::Mark => {
                let lane = self.lane(event);
                let name = &self.trace.metadata.events[event.row].name;
                let name = self.out.func(name, FuncKind::Mark);
                let detail = event.detail();
                if detail.is_empty() {
                    self.out.instant(here(lane), name);
                } else {
                    self.out.instant_with(here(lane), name, &detail);
                }
            }
        }
    }

    /// A switch; events without a thread belong to the thread that was switched in.
    fn switch(&mut self, at: At, prev: Option<LaneRef>, state: PrevState, next: Option<LaneRef>) {
        self.out.sched_switch(at, prev, state, next);
        if let Some(next) = next {
            self.out.runs_now(next, prev, at.offset);
        }
    }

    fn call(&mut self, at: At, name: &str, kind: FuncKind, is_entry: bool) {
        let name = self.out.func(name, kind);
        if is_entry {
            self.out.enter(at, name, Stated::NOTHING);
        } else {
            self.out.exit(at, Some(name), Stated::NOTHING);
        }
    }

    fn function(&mut self, address: u64) -> NameRef {
        if let Some(&known) = self.functions.get(&address) {
            return known;
        }
        let (name, module) = self.contents.modules.function(address);
        let spelling = format!("{name}\0{}", module.as_deref().unwrap_or_default());
        let func = Func { name, module, ..Func::default() };
        let name = self.out.name(spelling.as_bytes(), |_| func);
        self.functions.insert(address, name);
        name
    }

    /// The CPU of the packet, and the thread that runs on it.
    fn cpu_lane(&mut self) -> LaneRef {
        self.out.lane(LaneKey { cpu: self.cpu, thread: ThreadKey::Unstated })
    }

    /// Whom the event is of: the thread in its contexts, else the thread that runs on the CPU.
    fn lane(&mut self, event: &Event<'_>) -> LaneRef {
        let number = |names: [&str; 2]| names.iter().find_map(|name| context(event, name));
        let Some(tid) = number(["vtid", "tid"]) else { return self.cpu_lane() };
        let name = context_text(event, "procname").unwrap_or_default();
        let thread = match number(["vpid", "pid"]) {
            _ if tid == 0 => ThreadKey::Idle,
            Some(pid) => ThreadKey::Member { pid, tid, name },
            None => ThreadKey::Tid(tid, name),
        };
        self.out.lane(LaneKey { cpu: self.cpu, thread })
    }

    /// The thread that a field of the event names.
    fn task(&mut self, event: &Event<'_>, tid: &str, name: &str) -> Option<LaneRef> {
        let tid = event.number(tid)?;
        let name = event.text(name).unwrap_or_default();
        // Zephyr calls its idle thread so; Linux numbers it 0.
        let thread = if tid == 0 { ThreadKey::Idle } else { ThreadKey::Tid(tid, name) };
        Some(self.out.lane(LaneKey { cpu: self.cpu, thread }))
    }

    fn woken(&mut self, event: &Event<'_>) -> Option<LaneRef> {
        let own = &event.fields[event.contexts..];
        let tid = own.iter().find(|field| field.name == "tid")?.value.number()?;
        let name = own.iter().find(|field| field.name == "comm").and_then(|it| it.value.text());
        let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
        let thread = ThreadKey::Tid(tid, name.unwrap_or_default());
        Some(self.out.lane(LaneKey { cpu: None, thread }))
    }
}

/// The value of a field of the contexts.
fn context(event: &Event<'_>, name: &str) -> Option<u64> {
    let contexts = &event.fields[..event.contexts];
    contexts.iter().find(|field| field.name == name)?.value.number()
}

fn context_text(event: &Event<'_>, name: &str) -> Option<String> {
    let contexts = &event.fields[..event.contexts];
    let text = contexts.iter().find(|field| field.name == name)?.value.text()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// The state in which Linux's scheduler left a thread, as its number.
fn prev_state(number: Option<u64>) -> PrevState {
    const PREEMPTED: u64 = 0x100;
    match number {
        None => PrevState::Unknown(b'?'),
        Some(0) => PrevState::Runnable,
        Some(state) if state & PREEMPTED != 0 => PrevState::Preempted,
        Some(state) => match state & state.wrapping_neg() {
            1 | 128 => PrevState::Sleeping,
            2 => PrevState::Uninterruptible,
            4 | 8 | 64 => PrevState::Stopped,
            16 | 32 => PrevState::Dead,
            _ => PrevState::Unknown(b'?'),
        },
    }
}
