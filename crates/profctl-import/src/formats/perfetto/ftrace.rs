//! Events of the Linux kernel: calls of its functions, and who runs where.

use profctl_model::diag::codes::SKIPPED_RECORD;

use super::reading::Reading;
use super::wire::{Fields, Value};
use crate::emit::{
    LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, WakerContext, Waking, WakingKind,
};

/// Takes a bundle of events of one CPU.
pub(super) fn bundle(reading: &mut Reading<'_>, bundle: &[u8], sequence: u32) {
    let number = |wanted: u32| {
        let field = Fields::of(bundle).find(|(number, _)| *number == wanted);
        field.and_then(|(_, value)| value.number())
    };
    let cpu = number(1).and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(0);
    let mut has_lost = number(3).is_some_and(|lost| lost != 0);
    for (number, value) in Fields::of(bundle) {
        match (number, value) {
            (2, Value::Bytes(bytes)) => {
                reading.out.records += 1;
                if event(reading, bytes, (cpu, sequence), &mut has_lost).is_none() {
                    reading
                        .out
                        .diag(&SKIPPED_RECORD, reading.offset, || "an invalid kernel event".into());
                }
            }
            (4, Value::Bytes(_)) => reading.not_read("it has switches in compact form"),
            _ => {}
        }
    }
}

/// Takes one event; nothing if it is invalid.
fn event(
    reading: &mut Reading<'_>,
    bytes: &[u8],
    (cpu, sequence): (u32, u32),
    has_lost: &mut bool,
) -> Option<()> {
    let (mut time, mut task, mut said, mut flags) = (None, 0, None, None);
    let mut fields = Fields::of(bytes);
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (1, Value::Number(stamp)) => time = Some(stamp.min(u64::MAX - 1)),
            (2, Value::Number(id)) => task = id,
            (5, Value::Number(bits)) => flags = Some(bits),
            (4 | 17 | 20 | 114 | 437 | 438, Value::Bytes(bytes)) => said = Some((number, bytes)),
            _ => {}
        }
    }
    if fields.is_wrong() {
        return None;
    }
    let time = time?;
    if std::mem::take(has_lost) {
        let lane = reading.out.lane(LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated });
        reading.out.lost(reading.at(lane, time), None);
    }
    let lane = lane(reading, cpu, task, b"");
    let at = reading.at(lane, time);
    match said {
        Some((437, call)) => {
            let [depth, func] = numbers(call, [1, 2]);
            let name = name(reading, func?, sequence);
            reading.out.enter(at, name, stated(depth));
        }
        Some((438, call)) => {
            let [depth, func] = numbers(call, [2, 3]);
            let name = name(reading, func?, sequence);
            reading.out.exit(at, Some(name), stated(depth));
        }
        Some((4, switch)) => {
            let [from, state, to] = numbers(switch, [2, 4, 6]);
            let from = self::lane(reading, cpu, from.unwrap_or(0), text(switch, 1));
            let to = self::lane(reading, cpu, to.unwrap_or(0), text(switch, 5));
            let state = prev_state(state.unwrap_or(0));
            reading.out.sched_switch(at, Some(from), state, Some(to));
        }
        Some((kind, wake)) => {
            let [woken, target_cpu] = numbers(wake, [2, 5]);
            let woken = self::lane(reading, cpu, woken?, text(wake, 1));
            let kind = match kind {
                20 => WakingKind::Waking,
                114 => WakingKind::WakeupNew,
                _ => WakingKind::Wakeup,
            };
            let target_cpu = target_cpu.and_then(|cpu| u32::try_from(cpu).ok());
            let context = flags.map_or(WakerContext::Unknown, context);
            reading.out.waking(at, woken, Waking { kind, target_cpu, context });
        }
        None => reading.not_read("it has a kernel event that is not a call"),
    }
    Some(())
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

/// What a CPU was doing, from the flags of an event (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ`).
fn context(flags: u64) -> WakerContext {
    match (flags & 0x08 != 0, flags & 0x10 != 0) {
        (true, true) => WakerContext::HardAndSoftIrq,
        (true, false) => WakerContext::HardIrq,
        (false, true) => WakerContext::SoftIrq,
        (false, false) => WakerContext::Task,
    }
}

fn stated(depth: Option<u64>) -> Stated {
    Stated { depth: depth.and_then(|depth| u16::try_from(depth).ok()), ..Stated::NOTHING }
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

/// The numbers in these fields of a message.
fn numbers<const N: usize>(message: &[u8], wanted: [u32; N]) -> [Option<u64>; N] {
    let mut found = [None; N];
    for (number, value) in Fields::of(message) {
        if let Some(row) = wanted.iter().position(|wanted| *wanted == number) {
            found[row] = value.number();
        }
    }
    found
}

/// The text in a field of a message; empty if it is not there.
fn text(message: &[u8], wanted: u32) -> &[u8] {
    let field = Fields::of(message).find(|(number, _)| *number == wanted);
    field.and_then(|(_, value)| value.bytes()).unwrap_or_default()
}
