//! Who ran where, for Perfetto: the kernel's own events of switches and wakings, a bundle a CPU,
//! from which viewers make states of threads and arrows from waker to woken.
//!
//! States of an unknown CPU or of a thread without an id are omitted.

use std::collections::BTreeMap;
use std::mem::discriminant;

use profctl_model::{CpuId, RunState, ThreadId, ThreadState, Tick, Ticks, WakerContext};

use super::Header;
use super::wire::Message;

/// Events in one bundle.
const EVENTS_AT_ONCE: usize = 1000;
/// Fields of an event: what it is.
const SWITCH: u32 = 4;
const WAKING: u32 = 20;
const WAKEUP_NEW: u32 = 114;
/// Flags of an event: in an interrupt.
const HARD_IRQ: u64 = 0x08;
const SOFT_IRQ: u64 = 0x10;
/// The priority of a thread that has none in particular.
const PRIORITY: u64 = 120;

/// Packets of bundles, and before them one with the processes and threads; nothing if there is no
/// state to write.
pub(super) fn packets(header: &Header<'_>) -> Vec<Message> {
    let mut by_cpu: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    for (cpu, turns) in turns(header) {
        switches(header, &turns, by_cpu.entry(header.names.cpus[cpu]).or_default());
    }
    if by_cpu.values().all(Vec::is_empty) {
        return Vec::new();
    }
    wakings(header, &mut by_cpu);
    let mut packets = vec![processes(header)];
    for (cpu, mut events) in by_cpu {
        // A thread is woken after it has left, at the same time.
        events.sort_by_key(|event| (event.time, event.rank));
        let is_alike = |a: &Event, b: &Event| discriminant(&a.what) == discriminant(&b.what);
        for part in events.chunk_by(is_alike).flat_map(|part| part.chunks(EVENTS_AT_ONCE)) {
            let mut packet = Message::default();
            packet.with(1, |bundle| {
                bundle.number(1, cpu.into());
                for event in part {
                    if let What::Event(message) = &event.what {
                        bundle.message(2, message);
                    }
                }
                by_interrupts(header, part, bundle);
            });
            packets.push(packet);
        }
    }
    packets.extend(waiting(header));
    packets
}

/// The track of the counter: no thread has it.
const WAITING_TRACK: u64 = 1 << 62;
/// The type of an event that is the value of a counter.
const COUNTER: u64 = 4;

/// How many threads waited for a CPU, as a counter.
fn waiting(header: &Header<'_>) -> Vec<Message> {
    let mut changes: BTreeMap<Tick, i64> = BTreeMap::new();
    let is_counted = |state: &&ThreadState| {
        state.state.is_runnable() && state.start < state.end && tid(header, state.thread).is_some()
    };
    for state in header.states.iter().filter(is_counted) {
        *changes.entry(state.start).or_default() += 1;
        *changes.entry(state.end).or_default() -= 1;
    }
    let mut track = Message::default();
    track.with(60, |track| {
        track.number(1, WAITING_TRACK);
        track.text(2, "threads waiting for a CPU");
        track.with(8, |_| {});
    });
    let mut now = 0_i64;
    let values = changes.into_iter().filter(|(_, change)| *change != 0).map(|(time, change)| {
        now += change;
        let mut packet = Message::default();
        packet.number(8, reported(header, time));
        packet.with(11, |event| {
            event.number(9, COUNTER);
            event.number(11, WAITING_TRACK);
            event.number(30, now.unsigned_abs());
        });
        packet
    });
    let values: Vec<Message> = values.collect();
    if values.is_empty() { values } else { std::iter::once(track).chain(values).collect() }
}

/// A time as Perfetto counts it.
fn reported(header: &Header<'_>, time: Tick) -> u64 {
    header.meta.timebase.reported(Ticks(time.0)).min(i64::MAX as u64)
}

struct Event {
    time: Tick,
    /// Among events of one time on one CPU.
    rank: u8,
    what: What,
}

enum What {
    /// An event with its own fields.
    Event(Message),
    /// A waking by an interrupt.
    ByInterrupt(ByInterrupt),
}

/// A waking by an interrupt. In this form, a list for each field, Perfetto reads the flags; of an
/// event it does not, and takes the interrupted thread for the waker.
struct ByInterrupt {
    woken: ThreadId,
    tid: u64,
    target_cpu: Option<CpuId>,
    flags: u64,
}

/// Writes the wakings by interrupts among `events`, which are in order.
fn by_interrupts(header: &Header<'_>, events: &[Event], bundle: &mut Message) {
    let wakings: Vec<(u64, &ByInterrupt)> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::ByInterrupt(waking) => Some((reported(header, event.time), waking)),
            What::Event(_) => None,
        })
        .collect();
    if wakings.is_empty() {
        return;
    }
    let mut names: Vec<&str> = Vec::new();
    let indexes: Vec<u64> = wakings
        .iter()
        .map(|(_, waking)| {
            let name = header.names.threads[waking.woken].name.as_str();
            let known = names.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            }) as u64
        })
        .collect();
    let mut last = 0;
    let steps = wakings.iter().map(|(time, _)| time - std::mem::replace(&mut last, *time));
    let of = |field: fn(&ByInterrupt) -> u64| wakings.iter().map(move |(_, waking)| field(waking));
    let target_cpus =
        wakings.iter().map(|(_, waking)| waking.target_cpu.map_or(0, |cpu| header.names.cpus[cpu]));
    bundle.with(4, |compact| {
        for name in &names {
            compact.text(5, name);
        }
        compact.numbers(7, steps);
        compact.numbers(8, of(|waking| waking.tid));
        compact.numbers(9, target_cpus.map(u64::from));
        compact.numbers(10, of(|_| PRIORITY));
        compact.numbers(11, indexes);
        compact.numbers(12, of(|waking| waking.flags));
    });
}

/// The runs on each CPU, with what each thread did next.
type Turns<'a> = Vec<(&'a ThreadState, Option<RunState>)>;

fn turns<'a>(header: &Header<'a>) -> BTreeMap<CpuId, Turns<'a>> {
    let mut turns: BTreeMap<CpuId, Turns<'a>> = BTreeMap::new();
    let mut states: Vec<&ThreadState> = header.states.iter().collect();
    // States that begin at one time are in order already.
    states.sort_by_key(|state| (state.thread, state.start));
    for (n, &state) in states.iter().enumerate() {
        let Some(cpu) = state.cpu.filter(|_| state.state == RunState::Running) else { continue };
        if tid(header, state.thread).is_none() {
            continue;
        }
        let next = states.get(n + 1).filter(|next| next.thread == state.thread);
        turns.entry(cpu).or_default().push((state, next.map(|next| next.state)));
    }
    for turns in turns.values_mut() {
        turns.sort_by_key(|(turn, _)| (turn.start, turn.end, turn.thread));
    }
    turns
}

/// The number of a thread that viewers can show: 0 for idle tasks.
fn tid(header: &Header<'_>, thread: ThreadId) -> Option<u64> {
    let thread = &header.names.threads[thread];
    if thread.idle {
        return Some(0);
    }
    thread.tid.filter(|tid| i32::try_from(*tid).is_ok_and(|tid| tid > 0))
}

fn switches(header: &Header<'_>, turns: &Turns<'_>, events: &mut Vec<Event>) {
    // Who ran until when, and in which state that one left.
    let mut before: Option<(&ThreadState, Option<RunState>)> = None;
    for &(turn, next) in turns {
        let is_idle = |thread: ThreadId| header.names.threads[thread].idle;
        match before {
            Some((last, then)) if last.end < turn.start => {
                // No thread is known to have run between them.
                if !is_idle(last.thread) {
                    events.push(switch(header, last.end, Some((last.thread, then)), None));
                }
                if !is_idle(turn.thread) {
                    events.push(switch(header, turn.start, None, Some(turn.thread)));
                }
            }
            Some((last, then)) => {
                let last = Some((last.thread, then));
                events.push(switch(header, turn.start, last, Some(turn.thread)));
            }
            None => events.push(switch(header, turn.start, None, Some(turn.thread))),
        }
        before = Some((turn, next));
    }
    if let Some((last, then)) = before
        && last.end < header.meta.last
        && !header.names.threads[last.thread].idle
    {
        events.push(switch(header, last.end, Some((last.thread, then)), None));
    }
}

fn switch(
    header: &Header<'_>,
    time: Tick,
    prev: Option<(ThreadId, Option<RunState>)>,
    next: Option<ThreadId>,
) -> Event {
    let (prev, then) = prev.map_or((None, None), |(thread, then)| (Some(thread), then));
    let of = |thread: Option<ThreadId>| {
        let known = thread.filter(|thread| !header.names.threads[*thread].idle);
        let name = known.map_or("swapper", |thread| header.names.threads[thread].name.as_str());
        (name, thread.and_then(|thread| tid(header, thread)).unwrap_or(0))
    };
    let ((prev_name, prev_tid), (next_name, next_tid)) = (of(prev), of(next));
    let mut message = begin(header, time, prev_tid);
    message.with(SWITCH, |switch| {
        switch.text(1, prev_name);
        switch.number(2, prev_tid);
        switch.number(3, PRIORITY);
        switch.number(4, bits(then));
        switch.text(5, next_name);
        switch.number(6, next_tid);
        switch.number(7, PRIORITY);
    });
    Event { time, rank: 0, what: What::Event(message) }
}

/// A state as the kernel's flags have it since Linux 4.14.
fn bits(state: Option<RunState>) -> u64 {
    match state {
        Some(RunState::Uninterruptible) => 2,
        Some(RunState::Stopped) => 4,
        Some(RunState::Dead) => 16,
        // Woken in the moment that it left: it went to sleep before.
        Some(RunState::Sleeping | RunState::RunnableWoken) => 1,
        Some(RunState::RunnablePreempted | RunState::RunnableNew | RunState::Running) | None => 0,
        // There is no flag for what is not known; idle kernel threads are the nearest.
        Some(RunState::Unknown) => 0x80,
    }
}

fn wakings(header: &Header<'_>, by_cpu: &mut BTreeMap<u32, Vec<Event>>) {
    for state in header.states.iter().filter(|state| state.start_seen) {
        let field = match state.state {
            RunState::RunnableWoken => WAKING,
            RunState::RunnableNew => WAKEUP_NEW,
            _ => continue,
        };
        let (Some(woken), Some(waker)) = (tid(header, state.thread), state.waker) else { continue };
        let cpu = waker.cpu.or(state.cpu).map(|cpu| header.names.cpus[cpu]);
        let Some(events) = cpu.and_then(|cpu| by_cpu.get_mut(&cpu)) else { continue };
        let flags = match waker.context {
            WakerContext::HardIrq => Some(HARD_IRQ),
            WakerContext::SoftIrq => Some(SOFT_IRQ),
            WakerContext::HardAndSoftIrq => Some(HARD_IRQ | SOFT_IRQ),
            WakerContext::Task => Some(0),
            WakerContext::Unknown => None,
        };
        let (time, rank) = (state.start, 1);
        if let Some(flags) = flags.filter(|&flags| flags != 0 && field == WAKING) {
            let waking =
                ByInterrupt { woken: state.thread, tid: woken, target_cpu: state.cpu, flags };
            events.push(Event { time, rank, what: What::ByInterrupt(waking) });
            continue;
        }
        let by = waker.thread.and_then(|thread| tid(header, thread)).unwrap_or(0);
        let mut message = begin(header, time, by);
        if let Some(flags) = flags {
            message.number(5, flags);
        }
        message.with(field, |waking| {
            waking.text(1, &header.names.threads[state.thread].name);
            waking.number(2, woken);
            waking.number(3, PRIORITY);
            waking.number(4, 1);
            if let Some(cpu) = state.cpu {
                waking.number(5, header.names.cpus[cpu].into());
            }
        });
        events.push(Event { time, rank, what: What::Event(message) });
    }
}

fn begin(header: &Header<'_>, time: Tick, tid: u64) -> Message {
    let mut message = Message::default();
    message.number(1, reported(header, time));
    message.number(2, tid);
    message
}

/// The processes with their names, and which thread is of which. Where the input tells none, each
/// thread is its own.
fn processes(header: &Header<'_>) -> Message {
    let mut names: BTreeMap<u64, &str> = BTreeMap::new();
    let mut threads: BTreeMap<u64, (&str, u64)> = BTreeMap::new();
    for (id, thread) in header.names.threads.pairs() {
        let Some(tid) = tid(header, id).filter(|tid| *tid > 0) else { continue };
        let pid = thread.pid.filter(|pid| i32::try_from(*pid).is_ok_and(|pid| pid > 0));
        let pid = pid.unwrap_or(tid);
        // The first thread of a process has its name.
        if pid == tid {
            names.insert(pid, &thread.name);
        } else {
            names.entry(pid).or_insert(&thread.name);
        }
        threads.insert(tid, (&thread.name, pid));
    }
    let mut packet = Message::default();
    packet.with(2, |tree| {
        for (pid, name) in &names {
            tree.with(1, |process| {
                process.number(1, *pid);
                process.text(3, name);
            });
        }
        for (tid, (name, pid)) in &threads {
            tree.with(2, |thread| {
                thread.number(1, *tid);
                thread.text(2, name);
                thread.number(3, *pid);
            });
        }
    });
    packet.number(8, header.meta.timebase.reported(Ticks(header.meta.first.0)));
    packet
}
