//! Events of the Linux kernel, from any recorder: what `sched_switch`, `irq_handler_entry`,
//! `sys_enter` and others mean for a trace.
//!
//! [`text`] reads events as the kernel and `trace-cmd report` print them, [`record`] reads them
//! from binary records by the kernel's own descriptions ([`mod@format`]); both give a
//! [`KernelEvent`], and [`Applier`] says it to the emitter.

mod apply;
pub mod format;
pub(crate) mod kallsyms;
pub mod line;
pub mod record;
pub mod syscalls;
pub mod text;

#[cfg(test)]
mod tests;

use crate::emit::{PrevState, WakerContext, WakingKind};

pub use apply::{Applier, IrqNames, Place, SIGRETURN_LEFT, Scope};

/// A task as an event names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task<'a> {
    /// Its thread id, which Linux calls pid; 0 is the idle task of each CPU.
    pub tid: u64,
    /// Its name, in full (15 bytes at most, and any bytes but NUL).
    pub name: &'a [u8],
}

/// How an event names a system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syscall<'a> {
    /// By number (`raw_syscalls`).
    Number(u64),
    /// By name (`syscalls:sys_enter_read`), without the prefix.
    Name(&'a [u8]),
}

/// What an event means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelEvent<'a> {
    /// A CPU was given from one task to another.
    Switch {
        /// Who left it.
        prev: Task<'a>,
        /// In what state.
        state: PrevState,
        /// Who got it.
        next: Task<'a>,
    },
    /// A task was made runnable.
    Waking {
        /// Which event it is.
        kind: WakingKind,
        /// The task.
        target: Task<'a>,
        /// The CPU on which it is to run.
        cpu: Option<u32>,
    },
    /// A task was created.
    Fork {
        /// By whom.
        parent: Task<'a>,
        /// The new one, still with its parent's name.
        child: Task<'a>,
    },
    /// A task ends.
    Exit(Task<'a>),
    /// A task has a new name.
    Rename(Task<'a>),
    /// The handler of a device's interrupt is called or has returned. Only the entry names it.
    Irq {
        /// Its number.
        number: u64,
        /// Its name.
        name: Option<&'a [u8]>,
        /// Whether it is the entry.
        entered: bool,
    },
    /// A software interrupt is served.
    SoftIrq {
        /// Its action, such as `TIMER`.
        action: &'a [u8],
        /// Whether it is the entry.
        entered: bool,
    },
    /// A processor's own interrupt is served, such as `local_timer` or `reschedule`.
    Vector {
        /// Its name.
        name: &'a [u8],
        /// Whether it is the entry.
        entered: bool,
    },
    /// A system call is entered or left.
    Syscall {
        /// Which.
        call: Syscall<'a>,
        /// Whether it is the entry.
        entered: bool,
        /// Whether the event is of `raw_syscalls`, which records each call whatever its name.
        raw: bool,
    },
    /// Anything else.
    Other,
}

/// The flags that the kernel puts into each record (`common_flags`), from which the context
/// follows. Sources: `include/linux/trace_events.h` of Linux 5.0 to 7.3.
pub fn context_of_flags(flags: u64) -> WakerContext {
    const HARD_IRQ: u64 = 0x08;
    const SOFT_IRQ: u64 = 0x10;
    const NMI: u64 = 0x40;
    match (flags & (HARD_IRQ | NMI) != 0, flags & SOFT_IRQ != 0) {
        (true, true) => WakerContext::HardAndSoftIrq,
        (true, false) => WakerContext::HardIrq,
        (false, true) => WakerContext::SoftIrq,
        (false, false) => WakerContext::Task,
    }
}

/// The same from the letters that the kernel prints for the flags, such as `dNh2.`: only the column
/// "hardirq/softirq" has these letters, wherever it stands.
pub fn context_of_letters(letters: &[u8]) -> WakerContext {
    for letter in letters {
        match letter {
            b'H' => return WakerContext::HardAndSoftIrq,
            b'h' | b'z' | b'Z' => return WakerContext::HardIrq,
            b's' => return WakerContext::SoftIrq,
            _ => {}
        }
    }
    WakerContext::Task
}

/// The software interrupts by number (`include/linux/interrupt.h`).
pub const SOFT_IRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// The events of the system `irq_vectors`, without `_entry` and `_exit`.
pub const VECTORS: [&str; 13] = [
    "local_timer",
    "spurious_apic",
    "error_apic",
    "x86_platform_ipi",
    "irq_work",
    "reschedule",
    "call_function",
    "call_function_single",
    "threshold_apic",
    "deferred_error_apic",
    "thermal_apic",
    "posted_msi",
    "ipi",
];

/// The vector of an event, and whether it is the entry.
pub fn vector(event: &[u8]) -> Option<(&[u8], bool)> {
    let (name, entered) = match event.strip_suffix(b"_entry") {
        Some(name) => (name, true),
        None => (event.strip_suffix(b"_exit")?, false),
    };
    VECTORS.iter().any(|known| known.as_bytes() == name).then_some((name, entered))
}
