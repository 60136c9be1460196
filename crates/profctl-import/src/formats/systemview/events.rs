//! Packets to events, by the names that the recording holds.

use std::sync::Arc;

use profctl_model::FuncKind;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::names::Names;
use super::packet::{self, Packet, Packets, SYNC, Said};
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, Waking, WakingKind,
};
use crate::formats::{InTurn, Input};

/// Cores that a recording distinguishes.
const CORES: usize = 2;
/// Interrupts and timers that are open at once, at most.
const OPEN_MAX: usize = 1024;

/// Reads a recording.
pub(super) struct Recording {
    /// Its first bytes.
    pub(super) head: Arc<[u8]>,
    pub(super) names: Arc<Names>,
}

/// Who runs on a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Running {
    /// It was not said yet.
    Unknown,
    Idle,
    Task(u32),
}

/// What is known of a core.
struct Core {
    running: Running,
    /// Whether the running task waits for something.
    waits: bool,
    /// Interrupts that were entered, the innermost last.
    interrupts: Vec<NameRef>,
    /// Functions of timers, likewise.
    timers: Vec<NameRef>,
}

/// How far reading came.
struct Progress<'a> {
    names: &'a Names,
    cores: [Core; CORES],
}

impl InTurn for Recording {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self { head: Arc::clone(&self.head), names: Arc::clone(&self.names) })
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let core = || Core {
            running: Running::Unknown,
            waits: false,
            interrupts: Vec::new(),
            timers: Vec::new(),
        };
        let mut progress = Progress { names: &self.names, cores: [core(), core()] };
        let mut packets = Packets::new(&self.head, input);
        loop {
            let offset = input.offset();
            let Some((packet, length)) = packets.next(input) else { return };
            let is_nonsense = matches!(packet, Packet::Nonsense);
            match packet {
                Packet::Nop | Packet::Nonsense => {}
                Packet::Said(said) => {
                    out.records += 1;
                    if progress.take(&said, offset, out).is_none() {
                        out.diag(&SKIPPED_RECORD, offset, || {
                            "a packet is too short, expected the parameters of its id".into()
                        });
                    }
                }
                Packet::Cut => {
                    out.diag(&CUT_RECORD, offset, || "the last packet is truncated".into());
                }
            }
            input.consume(length);
            if is_nonsense {
                out.diag(&SKIPPED_RECORD, offset, || {
                    "no packet, expected an id and its parameters".into()
                });
                input.skip_to(SYNC, out);
            }
            input.hand_on(out);
        }
    }
}

impl Progress<'_> {
    /// Takes a packet; nothing if it is too short.
    fn take(&mut self, said: &Said<'_>, offset: usize, out: &mut Emitter) -> Option<()> {
        let &Said { id, core, time, mut numbers } = said;
        let lane = out.lane(LaneKey { cpu: Some(core), thread: ThreadKey::Unstated });
        let at = At { time: Some(time), lane, offset };
        match id {
            packet::OVERFLOW => {
                let lost = numbers.number()?;
                out.lost(at, Some(lost.into()));
                for core in &mut self.cores {
                    core.interrupts.clear();
                    core.timers.clear();
                }
            }
            packet::ISR_ENTER => {
                let number = numbers.number()?;
                let name = named(self.names.interrupts.get(&number), "interrupt", number);
                let name = out.func(&name, FuncKind::Interrupt);
                enter(out, at, name, &mut self.cores[core as usize].interrupts);
            }
            packet::ISR_EXIT | packet::ISR_TO_SCHEDULER => {
                let open = &mut self.cores[core as usize].interrupts;
                leave(out, at, open, ("unknown interrupt", FuncKind::Interrupt));
            }
            packet::TIMER_ENTER => {
                let number = numbers.number()?;
                let name = named(self.names.resources.get(&number), "timer", number);
                let name = out.func(&name, FuncKind::Function);
                enter(out, at, name, &mut self.cores[core as usize].timers);
            }
            packet::TIMER_EXIT => {
                let open = &mut self.cores[core as usize].timers;
                leave(out, at, open, ("unknown timer", FuncKind::Function));
            }
            packet::MARK_START | packet::MARK_STOP => {
                let number = numbers.number()?;
                let name = named(self.names.markers.get(&number), "marker", number);
                let name = out.func(&name, FuncKind::Function);
                if id == packet::MARK_START {
                    out.enter(at, name, Stated::NOTHING);
                } else {
                    out.exit(at, Some(name), Stated::NOTHING);
                }
            }
            packet::TASK_START_EXEC => {
                let task = numbers.number()?;
                self.run(Running::Task(task), core, at, out);
            }
            packet::IDLE => self.run(Running::Idle, core, at, out),
            packet::TASK_STOP_EXEC => {
                self.cores[core as usize].waits = true;
                self.run(Running::Idle, core, at, out);
            }
            packet::TASK_STOP_READY => {
                let here = &mut self.cores[core as usize];
                here.waits |= here.running == Running::Task(numbers.number()?);
            }
            packet::TASK_START_READY => {
                let woken = self.lane(Running::Task(numbers.number()?), core, out);
                out.waking(at, woken, Waking { kind: WakingKind::Waking, ..Waking::default() });
            }
            packet::END_CALL => {
                let call = numbers.number()?;
                let name = self.call(call, out);
                out.exit(at, Some(name), Stated::NOTHING);
            }
            packet::FIRST_OF_API.. => {
                let has_end = self.names.ended.contains(&id);
                let name = self.call(id, out);
                if has_end {
                    out.enter(at, name, Stated::NOTHING);
                } else {
                    out.instant(at, name);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// An API call; one whose end is never recorded is an instant.
    fn call(&self, id: u32, out: &mut Emitter) -> NameRef {
        let is_call = self.names.ended.contains(&id);
        let kind = if is_call { FuncKind::Function } else { FuncKind::Mark };
        out.func(&named(self.names.calls.get(&id), "event", id), kind)
    }

    /// From now on `next` runs on the core.
    fn run(&mut self, next: Running, core: u32, at: At, out: &mut Emitter) {
        let here = &mut self.cores[core as usize];
        let (before, waited) = (here.running, std::mem::take(&mut here.waits));
        here.running = next;
        if before == next {
            return;
        }
        let lane = self.lane(next, core, out);
        if before != Running::Unknown {
            let is_preempted = matches!(before, Running::Task(_)) && !waited;
            let left = self.lane(before, core, out);
            let state = if is_preempted { PrevState::Runnable } else { PrevState::Sleeping };
            out.sched_switch(at, Some(left), state, Some(lane));
        }
        // A switch gives the time off the CPU; this, whose the next events are.
        out.runs_now(lane, None, at.offset);
    }

    fn lane(&self, running: Running, core: u32, out: &mut Emitter) -> LaneRef {
        let thread = match running {
            Running::Unknown => ThreadKey::Unstated,
            Running::Idle => ThreadKey::Idle,
            Running::Task(task) => {
                let name = self.names.tasks.get(&task).cloned().unwrap_or_default();
                ThreadKey::Tid(task.into(), name)
            }
        };
        out.lane(LaneKey { cpu: Some(core), thread })
    }
}

fn named(name: Option<&String>, what: &str, number: u32) -> String {
    name.cloned().unwrap_or_else(|| format!("{what} {number}"))
}

fn enter(out: &mut Emitter, at: At, name: NameRef, open: &mut Vec<NameRef>) {
    out.enter(at, name, Stated::NOTHING);
    if open.len() < OPEN_MAX {
        open.push(name);
    }
}

/// Leaves the innermost, or what was entered before the recording.
fn leave(out: &mut Emitter, at: At, open: &mut Vec<NameRef>, unknown: (&str, FuncKind)) {
    let name = open.pop().unwrap_or_else(|| out.func(unknown.0, unknown.1));
    out.exit(at, Some(name), Stated::NOTHING);
}
