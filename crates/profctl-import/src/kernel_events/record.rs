//! Events as binary records, read by the kernel's own description of them.

use std::fmt::Write as _;

use super::format::{EventFormat, Field, FieldKind, Int};
use super::{KernelEvent, SOFT_IRQS, Syscall, Task, VECTORS, vector};
use crate::bytes::{self, Endian};
use crate::emit::{PrevState, WakingKind};

/// Which bits of `prev_state` stand for which letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateBits {
    /// The letter of each bit; 0 where it has none.
    letters: [u8; 16],
    /// The bit of a task that was preempted.
    preempted: u64,
}

impl StateBits {
    /// Linux since 4.14.
    pub const LINUX: Self = Self { letters: *b"SDTtXZPI\0\0\0\0\0\0\0\0", preempted: 0x100 };

    /// From the pairs `{ 0x0001, "S" }` with which the kernel prints the field.
    pub fn parse(print: &str) -> Self {
        let mut found = Self { letters: [0; 16], preempted: 0 };
        for pair in print.split('{').skip(1) {
            let Some((number, rest)) = pair.split_once(',') else { continue };
            let number = number.trim();
            let number = match number.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => number.parse(),
            };
            let letter = rest.trim_start().strip_prefix('"').and_then(|rest| rest.bytes().next());
            if let (Ok(number), Some(letter)) = (number, letter)
                && number.is_power_of_two()
                && let Some(slot) = found.letters.get_mut(number.trailing_zeros() as usize)
            {
                *slot = letter;
                found.preempted = found.preempted.max(number << 1);
            }
        }
        if found.preempted == 0 { Self::LINUX } else { found }
    }

    /// The state that `bits` stand for.
    pub fn state(self, bits: u64) -> PrevState {
        if bits & self.preempted != 0 {
            return PrevState::Preempted;
        }
        let known = bits & (self.preempted - 1);
        match self.letters.get(known.trailing_zeros() as usize) {
            None => PrevState::Runnable,
            Some(0) => PrevState::Unknown(b'?'),
            Some(letter) => PrevState::from_linux(&[*letter]),
        }
    }
}

/// The fields of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskFields {
    name: Field,
    tid: Int,
}

impl TaskFields {
    fn of(format: &EventFormat, name: &str, tid: &str) -> Option<Self> {
        Some(Self { name: format.field(name)?.clone(), tid: format.int(tid)? })
    }

    fn get<'a>(&self, record: &'a [u8], endian: Endian) -> Option<Task<'a>> {
        let tid = self.tid.get(record, endian)?;
        Some(Task { tid, name: self.name.text(record, endian)? })
    }
}

/// What the records of an event are, with the fields that matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The tracer `function_graph` saw a call begin.
    GraphEntry {
        /// Its address.
        func: Int,
        /// Number of callers.
        depth: Int,
    },
    /// It saw a call end.
    GraphExit {
        /// Its address.
        func: Int,
        /// Number of callers.
        depth: Int,
        /// When it began and ended, nanoseconds, by the tracer's own clock.
        times: Option<(Int, Int)>,
    },
    /// The tracer `function` saw a call.
    Function {
        /// Its address.
        ip: Int,
        /// Where it was called.
        parent: Option<Int>,
    },
    /// A stack trace of the event before.
    Stack,
    /// A text that a program or the kernel wrote into the trace.
    Print {
        /// The text, or where it is.
        text: PrintText,
    },
    /// `sched_switch`.
    Switch {
        /// Who left.
        prev: TaskFields,
        /// In what state.
        state: Int,
        /// What its bits mean.
        bits: StateBits,
        /// Who came.
        next: TaskFields,
    },
    /// `sched_waking` and other wakeups.
    Waking(WakingKind, TaskFields, Option<Int>),
    /// `sched_process_fork`.
    Fork(TaskFields, TaskFields),
    /// `sched_process_exit`.
    Exit(TaskFields),
    /// `task_rename`.
    Rename(TaskFields),
    /// `irq_handler_entry` (with the name) and `irq_handler_exit`.
    Irq(Int, Option<Field>),
    /// `softirq_entry` and `softirq_exit`.
    SoftIrq(Int, bool),
    /// An entry (or exit) of `irq_vectors`: a row of [`VECTORS`].
    Vector(usize, bool),
    /// `sys_enter` and `sys_exit`.
    RawSyscall(Int, bool),
    /// `sys_enter_read` and others.
    NamedSyscall(bool),
    /// Anything else.
    Other,
}

/// Where the text of a [`Meaning::Print`] is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrintText {
    /// In the record.
    Here(Field),
    /// At this address; the recording lists the texts of such addresses.
    At(Int),
}

/// An event's description, made ready to read its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoder {
    /// The description.
    pub format: EventFormat,
    /// What its records mean.
    pub meaning: Meaning,
}

impl Decoder {
    /// Makes a description ready. An event whose fields are not those that are expected keeps its
    /// name and means nothing in particular.
    pub fn new(format: EventFormat) -> Self {
        let meaning = meaning(&format).unwrap_or(Meaning::Other);
        Self { format, meaning }
    }

    /// What a record says. Nothing if it is too short for its fields.
    pub fn event<'a>(&'a self, record: &'a [u8], endian: Endian) -> Option<KernelEvent<'a>> {
        Some(match &self.meaning {
            Meaning::Switch { prev, state, bits, next } => KernelEvent::Switch {
                prev: prev.get(record, endian)?,
                state: bits.state(state.get(record, endian)?),
                next: next.get(record, endian)?,
            },
            Meaning::Waking(kind, target, cpu) => KernelEvent::Waking {
                kind: *kind,
                target: target.get(record, endian)?,
                cpu: match cpu {
                    Some(cpu) => u32::try_from(cpu.get(record, endian)?).ok(),
                    None => None,
                },
            },
            Meaning::Fork(parent, child) => KernelEvent::Fork {
                parent: parent.get(record, endian)?,
                child: child.get(record, endian)?,
            },
            Meaning::Exit(task) => KernelEvent::Exit(task.get(record, endian)?),
            Meaning::Rename(task) => KernelEvent::Rename(task.get(record, endian)?),
            Meaning::Irq(number, name) => KernelEvent::Irq {
                number: number.get(record, endian)?,
                name: match name {
                    Some(name) => Some(name.text(record, endian)?),
                    None => None,
                },
                entered: name.is_some(),
            },
            Meaning::SoftIrq(number, entered) => {
                let number = usize::try_from(number.get(record, endian)?).unwrap_or(usize::MAX);
                let action = SOFT_IRQS.get(number).map_or(&b"unknown"[..], |name| name.as_bytes());
                KernelEvent::SoftIrq { action, entered: *entered }
            }
            Meaning::Vector(row, entered) => {
                KernelEvent::Vector { name: VECTORS[*row].as_bytes(), entered: *entered }
            }
            Meaning::RawSyscall(number, entered) => {
                let call = Syscall::Number(number.get(record, endian)?);
                KernelEvent::Syscall { call, entered: *entered, raw: true }
            }
            Meaning::NamedSyscall(entered) => {
                let prefix = if *entered { "sys_enter_" } else { "sys_exit_" };
                let name = &self.format.name;
                let call = name.strip_prefix(prefix).unwrap_or(name);
                let call = Syscall::Name(call.as_bytes());
                KernelEvent::Syscall { call, entered: *entered, raw: false }
            }
            Meaning::GraphEntry { .. }
            | Meaning::GraphExit { .. }
            | Meaning::Function { .. }
            | Meaning::Stack
            | Meaning::Print { .. }
            | Meaning::Other => KernelEvent::Other,
        })
    }

    /// Writes the fields of a record as `name=value` with a space between them. What a record is
    /// too short for is omitted. `symbol` names an address.
    pub fn arguments<'s>(
        &self,
        record: &[u8],
        endian: Endian,
        symbol: impl Fn(u64) -> Option<&'s str>,
        out: &mut String,
    ) {
        for field in &self.format.fields {
            let start = out.len();
            let space = if start == 0 { "" } else { " " };
            // Writing to a string does not fail.
            let _ = write!(out, "{space}{}=", field.name);
            if value(field, record, endian, &symbol, out).is_none() {
                out.truncate(start);
            }
        }
    }
}

/// More elements of an array than this are not shown.
const SHOWN_MAX: usize = 16;

fn value<'s>(
    field: &Field,
    record: &[u8],
    endian: Endian,
    symbol: &impl Fn(u64) -> Option<&'s str>,
    out: &mut String,
) -> Option<()> {
    match field.kind {
        FieldKind::Text | FieldKind::TextAt | FieldKind::TextBehind | FieldKind::TextToEnd => {
            let text = field.text(record, endian)?;
            out.push_str(String::from_utf8_lossy(text).trim_end());
        }
        FieldKind::Integer => {
            let value = field.place.get(record, endian)?;
            let _ = match symbol(value) {
                Some(name) if field.is_address => write!(out, "{name}"),
                _ if field.is_address => write!(out, "{value:#x}"),
                _ if field.place.signed => write!(out, "{}", value as i64),
                _ => write!(out, "{value}"),
            };
        }
        FieldKind::Numbers(element) => {
            let place = field.place;
            // An array without a size fills the rest of the record.
            let end = if place.size == 0 { record.len() } else { place.offset + place.size };
            let numbers = record.get(place.offset..end)?;
            out.push('[');
            for (n, number) in numbers.chunks_exact(element).take(SHOWN_MAX).enumerate() {
                let number = match endian {
                    Endian::Little => bytes::little(number),
                    Endian::Big => bytes::big(number),
                };
                let comma = if n == 0 { "" } else { ", " };
                let _ = write!(out, "{comma}{number:#x}");
            }
            out.push(']');
        }
        FieldKind::Bytes => return None,
    }
    Some(())
}

fn meaning(format: &EventFormat) -> Option<Meaning> {
    let int = |name| format.int(name);
    let task = |name, tid| TaskFields::of(format, name, tid);
    if format.system == "ftrace" {
        return Some(match format.name.as_str() {
            "funcgraph_entry" | "fgraph_retaddr_entry" | "funcgraph_retaddr_entry" => {
                Meaning::GraphEntry { func: int("func")?, depth: int("depth")? }
            }
            "funcgraph_exit" => Meaning::GraphExit {
                func: int("func")?,
                depth: int("depth")?,
                times: int("calltime").zip(int("rettime")),
            },
            "function" => Meaning::Function { ip: int("ip")?, parent: int("parent_ip") },
            "kernel_stack" | "user_stack" => Meaning::Stack,
            "print" => Meaning::Print { text: PrintText::Here(format.field("buf")?.clone()) },
            "bprint" => Meaning::Print { text: PrintText::At(int("fmt")?) },
            "bputs" => Meaning::Print { text: PrintText::At(int("str")?) },
            _ => Meaning::Other,
        });
    }
    let name = format.name.as_str();
    let entered = name.ends_with("entry");
    Some(match (format.system.as_str(), name) {
        ("sched", "sched_switch") => Meaning::Switch {
            prev: task("prev_comm", "prev_pid")?,
            state: int("prev_state")?,
            bits: StateBits::parse(&format.print),
            next: task("next_comm", "next_pid")?,
        },
        ("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new") => {
            let kind = match name {
                "sched_waking" => WakingKind::Waking,
                "sched_wakeup" => WakingKind::Wakeup,
                _ => WakingKind::WakeupNew,
            };
            Meaning::Waking(kind, task("comm", "pid")?, int("target_cpu"))
        }
        ("sched", "sched_process_fork") => {
            Meaning::Fork(task("parent_comm", "parent_pid")?, task("child_comm", "child_pid")?)
        }
        ("sched", "sched_process_exit") => Meaning::Exit(task("comm", "pid")?),
        ("task", "task_rename") => Meaning::Rename(task("newcomm", "pid")?),
        ("irq", "irq_handler_entry") => {
            Meaning::Irq(int("irq")?, Some(format.field("name")?.clone()))
        }
        ("irq", "irq_handler_exit") => Meaning::Irq(int("irq")?, None),
        ("irq", "softirq_entry" | "softirq_exit") => Meaning::SoftIrq(int("vec")?, entered),
        ("raw_syscalls", "sys_enter" | "sys_exit") => {
            Meaning::RawSyscall(int("id")?, name == "sys_enter")
        }
        ("syscalls", _) if name.starts_with("sys_enter_") => Meaning::NamedSyscall(true),
        ("syscalls", _) if name.starts_with("sys_exit_") => Meaning::NamedSyscall(false),
        ("irq_vectors" | "ipi", _) => {
            let (vector, entered) = vector(name.as_bytes())?;
            let row = VECTORS.iter().position(|known| known.as_bytes() == vector)?;
            Meaning::Vector(row, entered)
        }
        _ => Meaning::Other,
    })
}
