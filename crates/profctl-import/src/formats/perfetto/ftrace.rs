//! Events of the Linux kernel: calls of its functions, and who runs where.

use profctl_model::FuncKind;
use profctl_model::diag::codes::SKIPPED_RECORD;

use super::marks;
use super::reading::Reading;
use super::wire::{Fields, Value, messages, numbers, text, varint};
use crate::emit::{
    At, LaneKey, LaneRef, NameRef, PrevState, Stated, TIME_MAX, ThreadKey, ThreadName,
    WakerContext, Waking, WakingKind,
};
use crate::kernel_events::syscalls::Machine;
use crate::kernel_events::{SIGRETURN_LEFT, SOFT_IRQS, context_of_flags};

/// What the machine is, by which system calls have their names.
pub(super) fn system(reading: &mut Reading<'_>, system: &[u8]) {
    let names = Fields::of(system).find(|(number, _)| *number == 1);
    let machine = names.and_then(|(_, names)| Some(text(names.bytes()?, 4)));
    let machine = machine.and_then(|name| Machine::named(&String::from_utf8_lossy(name)));
    if let Some(machine) = machine {
        reading.kernel_mut().machine = machine;
    }
}

/// Takes what was to be recorded: whether functions with their depth.
pub(super) fn config(reading: &mut Reading<'_>, config: &[u8]) {
    // Sources, their configurations, that of ftrace.
    let has_graph = messages(config, 2)
        .flat_map(|source| messages(source, 1))
        .flat_map(|config| messages(config, 100))
        .any(|ftrace| numbers(ftrace, [19]) == [Some(1)]);
    if has_graph {
        reading.kernel_mut().has_graph = true;
    }
}

/// Where the events of a bundle were recorded.
#[derive(Clone, Copy)]
struct Place {
    cpu: u32,
    /// Who wrote the packet.
    sequence: u32,
    /// What its clock lacks to that of the trace.
    shift: i64,
}

/// Takes a bundle of events of one CPU.
pub(super) fn bundle(reading: &mut Reading<'_>, bundle: &[u8], sequence: u32) {
    let number = |wanted: u32| {
        let field = Fields::of(bundle).find(|(number, _)| *number == wanted);
        field.and_then(|(_, value)| value.number())
    };
    let cpu = number(1).and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(0);
    let has_lost = number(3).is_some_and(|lost| lost != 0);
    // Where ftrace goes by another clock than the trace, both were read together.
    let shift = match (number(5), number(6), number(7)) {
        (Some(1..), Some(ftrace), Some(boot)) => boot.wrapping_sub(ftrace).cast_signed(),
        _ => 0,
    };
    let place = Place { cpu, sequence, shift };
    if has_lost || !reading.memory.kernel.running.contains_key(&cpu) {
        let head = Head::of(bundle);
        if has_lost {
            lost(reading, head.first.map(|time| shifted(time, shift)), cpu);
        }
        if let Some(running) = head.running {
            reading.kernel_mut().running.insert(cpu, running);
        }
    }
    for (number, value) in Fields::of(bundle) {
        let done = match (number, value) {
            (2, Value::Bytes(bytes)) => {
                reading.out.records += 1;
                event(reading, bytes, place)
            }
            (4, Value::Bytes(bytes)) => compact(reading, bytes, place),
            _ => continue,
        };
        if done.is_none() {
            reading.out.diag(&SKIPPED_RECORD, reading.offset, || {
                "an event of the kernel is invalid".into()
            });
        }
    }
}

/// Says that events of a CPU were lost before `time`. The thread that ran there may not run any more.
fn lost(reading: &mut Reading<'_>, time: Option<u64>, cpu: u32) {
    let lane = reading.out.lane(LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated });
    reading.out.lost(At { time, lane, offset: reading.offset }, None);
    reading.kernel_mut().running.remove(&cpu);
}

/// How a bundle begins. Its events stand behind one another, but not its switches in their compact
/// form.
#[derive(Default)]
struct Head {
    /// The earliest time in it.
    first: Option<u64>,
    /// Who runs until the first switch, as the last event before it says.
    running: Option<u64>,
}

impl Head {
    fn of(bundle: &[u8]) -> Self {
        let compact = Fields::of(bundle).find(|(number, _)| *number == 4);
        let compact = compact.and_then(|(_, value)| value.bytes()).unwrap_or_default();
        let first_of = |wanted: u32| {
            let list = Fields::of(compact).find(|(number, _)| *number == wanted)?;
            match list.1 {
                Value::Bytes(packed) => varint(packed).ok().map(|(time, _)| time),
                value => value.number(),
            }
        };
        let [switch, waking] = [1, 7].map(first_of);
        let mut head = Self { first: switch.into_iter().chain(waking).min(), running: None };
        let mut latest = 0;
        for (number, value) in Fields::of(bundle) {
            let (2, Some(event)) = (number, value.bytes()) else { continue };
            let [Some(time), task] = numbers(event, [1, 2]) else { continue };
            head.first = Some(head.first.map_or(time, |first| first.min(time)));
            if time >= latest && switch.is_none_or(|switch| time < switch) {
                (latest, head.running) = (time, Some(task.unwrap_or(0)));
            }
        }
        head
    }
}

/// The fields of the compact form that are lists: times, states, threads and names of switches;
/// times, threads, CPUs and names of wakings; their flags.
const LISTS: [u32; 9] = [1, 2, 3, 6, 7, 8, 9, 11, 12];

/// Takes switches and wakings in their compact form: a list for each field. Nothing if it
/// is invalid.
fn compact(reading: &mut Reading<'_>, bytes: &[u8], Place { cpu, shift, .. }: Place) -> Option<()> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut lists: [Vec<u64>; LISTS.len()] = Default::default();
    let mut fields = Fields::of(bytes);
    for (number, value) in fields.by_ref() {
        let row = LISTS.iter().position(|list| *list == number);
        match (row, value) {
            (_, Value::Bytes(name)) if number == 5 => names.push(name),
            (Some(row), Value::Bytes(packed)) => {
                let mut rest = packed;
                while !rest.is_empty() {
                    let (value, length) = varint(rest).ok()?;
                    lists[row].push(value);
                    rest = &rest[length..];
                }
            }
            (Some(row), value) => lists[row].extend(value.number()),
            _ => {}
        }
    }
    if fields.is_wrong() {
        return None;
    }
    let [times, states, nexts, comms, wake_times, woken, target_cpus, wake_comms, flags] = &lists;
    let name = |list: &[u64], row: usize| {
        let index = usize::try_from(*list.get(row)?).ok()?;
        names.get(index).copied()
    };
    // The first of a list is a time, the others count from the one before. Of one time, who came to
    // the CPU can wake others.
    let times_of = |steps: &[u64]| {
        let mut time = 0_u64;
        let next = |step: &u64| {
            time = time.saturating_add(*step);
            time
        };
        steps.iter().map(next).collect::<Vec<_>>()
    };
    let switches = times_of(times).into_iter().enumerate().map(|(row, time)| (time, false, row));
    let wakings = times_of(wake_times).into_iter().enumerate().map(|(row, time)| (time, true, row));
    let mut events: Vec<(u64, bool, usize)> = switches.chain(wakings).collect();
    events.sort_unstable();
    for (time, is_waking, row) in events {
        reading.out.records += 1;
        let time = shifted(time, shift);
        let running = reading.memory.kernel.running.get(&cpu).copied();
        let running = running.map(|tid| lane(reading, cpu, tid, b""));
        if is_waking {
            let target =
                lane(reading, cpu, *woken.get(row)?, name(wake_comms, row).unwrap_or_default());
            let target_cpu = target_cpus.get(row).and_then(|cpu| u32::try_from(*cpu).ok());
            let context = flags.get(row).map_or(WakerContext::Unknown, |it| context_of_flags(*it));
            let unknown = LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated };
            let waker = running.unwrap_or_else(|| reading.out.lane(unknown));
            let waking = Waking { kind: WakingKind::Waking, target_cpu, context };
            let at = reading.at(waker, time);
            reading.out.waking(at, target, waking);
        } else {
            let next = *nexts.get(row)?;
            let to = lane(reading, cpu, next, name(comms, row).unwrap_or_default());
            let state = prev_state(states.get(row).copied().unwrap_or(0));
            let at = reading.at(to, time);
            reading.out.sched_switch(at, running, state, Some(to));
            reading.kernel_mut().running.insert(cpu, next);
        }
    }
    Some(())
}

/// A time of the clock of ftrace, by the clock of the trace.
fn shifted(time: u64, shift: i64) -> u64 {
    time.saturating_add_signed(shift).min(TIME_MAX)
}

/// The events that are read, by their field in an event.
mod kinds {
    pub(super) const PRINT: u32 = 3;
    pub(super) const SWITCH: u32 = 4;
    pub(super) const WAKEUP: u32 = 17;
    pub(super) const WAKING: u32 = 20;
    pub(super) const IPI_ENTRY: u32 = 21;
    pub(super) const IPI_EXIT: u32 = 22;
    pub(super) const SOFTIRQ_ENTRY: u32 = 24;
    pub(super) const SOFTIRQ_EXIT: u32 = 25;
    pub(super) const IRQ_ENTRY: u32 = 36;
    pub(super) const IRQ_EXIT: u32 = 37;
    pub(super) const WAKEUP_NEW: u32 = 114;
    pub(super) const NEW_TASK: u32 = 235;
    pub(super) const RENAME: u32 = 236;
    pub(super) const PROCESS_EXIT: u32 = 238;
    pub(super) const SYS_ENTER: u32 = 329;
    pub(super) const SYS_EXIT: u32 = 330;
    pub(super) const GRAPH_ENTRY: u32 = 437;
    pub(super) const GRAPH_EXIT: u32 = 438;
    pub(super) const LOCAL_TIMER_ENTRY: u32 = 559;
    pub(super) const LOCAL_TIMER_EXIT: u32 = 560;
}

/// Takes one event; nothing if it is invalid.
fn event(
    reading: &mut Reading<'_>,
    bytes: &[u8],
    Place { cpu, sequence, shift }: Place,
) -> Option<()> {
    let (mut time, mut task, mut flags, mut said) = (None, 0, None, None);
    let mut fields = Fields::of(bytes);
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (1, Value::Number(stamp)) => time = Some(shifted(stamp, shift)),
            (2, Value::Number(id)) => task = id,
            (5, Value::Number(bits)) => flags = Some(bits),
            (number, Value::Bytes(bytes)) => said = Some((number, bytes)),
            _ => {}
        }
    }
    if fields.is_wrong() {
        return None;
    }
    let time = time?;
    let lane = lane(reading, cpu, task, b"");
    let at = reading.at(lane, time);
    let Some((kind, fields)) = said else {
        reading.not_read("it holds an event of the kernel without a kind");
        return Some(());
    };
    if matches!(kind, kinds::GRAPH_ENTRY | kinds::GRAPH_EXIT) && !reading.memory.kernel.has_graph {
        reading.kernel_mut().has_graph = true;
    }
    match kind {
        kinds::GRAPH_ENTRY => {
            let [depth, func] = numbers(fields, [1, 2]);
            let name = name(reading, func?, sequence);
            reading.out.enter(at, name, stated(depth, None));
        }
        kinds::GRAPH_EXIT => {
            let [depth, func, called, returned] = numbers(fields, [2, 3, 1, 5]);
            let name = name(reading, func?, sequence);
            // By the clock of the function tracer. The record may be late: an interrupt came first.
            let times = called.zip(returned).filter(|(from, _)| *from > 0);
            let wall = times.and_then(|(from, to)| to.checked_sub(from));
            reading.out.exit(at, Some(name), stated(depth, wall));
        }
        kinds::SWITCH => {
            let [from, state, to] = numbers(fields, [2, 4, 6]);
            let from = self::lane(reading, cpu, from.unwrap_or(0), text(fields, 1));
            let next = to.unwrap_or(0);
            let to = self::lane(reading, cpu, next, text(fields, 5));
            let state = prev_state(state.unwrap_or(0));
            reading.out.sched_switch(at, Some(from), state, Some(to));
            reading.kernel_mut().running.insert(cpu, next);
        }
        kinds::WAKING | kinds::WAKEUP | kinds::WAKEUP_NEW => {
            let [woken, target_cpu] = numbers(fields, [2, 5]);
            let woken = self::lane(reading, cpu, woken?, text(fields, 1));
            let kind = match kind {
                kinds::WAKING => WakingKind::Waking,
                kinds::WAKEUP_NEW => WakingKind::WakeupNew,
                _ => WakingKind::Wakeup,
            };
            let target_cpu = target_cpu.and_then(|cpu| u32::try_from(cpu).ok());
            let context = flags.map_or(WakerContext::Unknown, context_of_flags);
            reading.out.waking(at, woken, Waking { kind, target_cpu, context });
        }
        kinds::NEW_TASK => {
            let [child] = numbers(fields, [1]);
            let child = self::lane(reading, cpu, child?, text(fields, 2));
            reading.out.fork(at, child);
        }
        kinds::PROCESS_EXIT => reading.out.thread_exit(at),
        kinds::RENAME => {
            let [tid] = numbers(fields, [1]);
            let tid = tid?;
            let lane = self::lane(reading, cpu, tid, text(fields, 3));
            let named = ThreadName { tid: Some(tid), ..ThreadName::default() };
            reading.out.name_thread(lane, reading.offset, named);
        }
        kinds::PRINT => marks::print(reading, text(fields, 2), at),
        _ if marks::driver(reading, kind, fields, at).is_some() => {}
        _ => return interrupt(reading, kind, fields, at),
    }
    Some(())
}

/// Interrupts and system calls, which are calls of what they hit.
fn interrupt(reading: &mut Reading<'_>, kind: u32, fields: &[u8], at: At) -> Option<()> {
    let [number] = numbers(fields, [1]);
    let (name, of) = match kind {
        kinds::IRQ_ENTRY | kinds::IRQ_EXIT => {
            let number = number.unwrap_or(0);
            if kind == kinds::IRQ_ENTRY {
                let name = text(fields, 2);
                let known = reading.memory.kernel.irqs.get(&number);
                if known.is_none_or(|known| **known != *name) {
                    reading.kernel_mut().irqs.insert(number, name.into());
                }
            }
            let name = reading.memory.kernel.irqs.get(&number).map(|name| &**name);
            let name = name.filter(|name| !name.is_empty()).map(String::from_utf8_lossy);
            let name = name.map_or_else(|| number.to_string(), Into::into);
            (format!("irq:{name}"), FuncKind::Interrupt)
        }
        kinds::SOFTIRQ_ENTRY | kinds::SOFTIRQ_EXIT => {
            let row = usize::try_from(number.unwrap_or(0)).unwrap_or(usize::MAX);
            let action = SOFT_IRQS.get(row).copied().unwrap_or("unknown");
            (format!("softirq:{action}"), FuncKind::Interrupt)
        }
        kinds::IPI_ENTRY | kinds::IPI_EXIT => {
            let reason = String::from_utf8_lossy(text(fields, 1)).into_owned();
            let name = if reason.is_empty() { "ipi".to_owned() } else { format!("ipi:{reason}") };
            (name, FuncKind::Interrupt)
        }
        kinds::LOCAL_TIMER_ENTRY | kinds::LOCAL_TIMER_EXIT => {
            ("local_timer".to_owned(), FuncKind::Interrupt)
        }
        kinds::SYS_ENTER | kinds::SYS_EXIT => {
            let number = number?;
            let name = match number {
                SIGRETURN_LEFT if kind == kinds::SYS_EXIT => Some("rt_sigreturn"),
                number => reading.memory.kernel.machine.name(number),
            };
            let name = name.map_or_else(|| format!("syscall_{number}"), str::to_owned);
            (name, FuncKind::Syscall)
        }
        _ => {
            reading.not_read("it holds an event of the kernel that is no call");
            return Some(());
        }
    };
    if reading.memory.kernel.has_graph {
        mark(reading, kind, &name, at);
        return Some(());
    }
    let name = reading.out.func(&name, of);
    let is_entry = matches!(
        kind,
        kinds::IRQ_ENTRY
            | kinds::SOFTIRQ_ENTRY
            | kinds::IPI_ENTRY
            | kinds::LOCAL_TIMER_ENTRY
            | kinds::SYS_ENTER
    );
    if is_entry {
        reading.out.enter(at, name, Stated::NOTHING);
    } else {
        reading.out.exit(at, Some(name), Stated::NOTHING);
    }
    Some(())
}

/// Says that an interrupt or a system call began or ended, where functions are the calls: the name of
/// the event, and its arguments as the kernel prints them.
fn mark(reading: &mut Reading<'_>, kind: u32, name: &str, at: At) {
    let argument = name.split_once(':').map_or(name, |(_, name)| name);
    let (event, detail) = match kind {
        kinds::IRQ_ENTRY => ("irq_handler_entry", format!("name={argument}")),
        kinds::IRQ_EXIT => ("irq_handler_exit", format!("name={argument}")),
        kinds::SOFTIRQ_ENTRY => ("softirq_entry", format!("[action={argument}]")),
        kinds::SOFTIRQ_EXIT => ("softirq_exit", format!("[action={argument}]")),
        kinds::IPI_ENTRY => ("ipi_entry", format!("({argument})")),
        kinds::IPI_EXIT => ("ipi_exit", format!("({argument})")),
        kinds::LOCAL_TIMER_ENTRY => ("local_timer_entry", String::new()),
        kinds::LOCAL_TIMER_EXIT => ("local_timer_exit", String::new()),
        kinds::SYS_ENTER => ("sys_enter", argument.to_owned()),
        _ => ("sys_exit", argument.to_owned()),
    };
    let event = reading.out.func(event, FuncKind::Mark);
    if detail.is_empty() {
        reading.out.instant(at, event);
    } else {
        reading.out.instant_with(at, event, &detail);
    }
}

/// The state of a thread that left its CPU, as the kernel keeps it: flags (`include/linux/sched.h`).
/// `R+` is one above all states: 0x100 from Linux 4.14 on, 0x800 and 0x1000 before.
fn prev_state(state: u64) -> PrevState {
    match state {
        0 => PrevState::Runnable,
        0x100 | 0x800 | 0x1000 => PrevState::Preempted,
        _ if state & 0x30 != 0 => PrevState::Dead,
        _ if state & 0x4c != 0 => PrevState::Stopped,
        _ if state & 0x80 != 0 => PrevState::Sleeping,
        _ if state & 2 != 0 => PrevState::Uninterruptible,
        _ if state & 1 != 0 => PrevState::Sleeping,
        _ => PrevState::Unknown(b'?'),
    }
}

fn stated(depth: Option<u64>, wall: Option<u64>) -> Stated {
    Stated { depth: depth.and_then(|depth| u16::try_from(depth).ok()), wall, ..Stated::NOTHING }
}

/// The function of a call: an index into the list of interned names, else its address.
fn name(reading: &mut Reading<'_>, func: u64, sequence: u32) -> NameRef {
    let tables = reading.sequence(sequence).map(|sequence| &sequence.tables);
    let name = tables.and_then(|tables| tables.symbols.get(&func)).cloned();
    let address = format!("{func:#x}");
    reading.func(name.as_deref().unwrap_or(address.as_bytes()))
}

fn lane(reading: &mut Reading<'_>, cpu: u32, task: u64, name: &[u8]) -> LaneRef {
    let thread = match task {
        0 => ThreadKey::Idle,
        task => reading.memory.tracks.task(task, name),
    };
    reading.out.lane(LaneKey { cpu: Some(cpu), thread })
}
