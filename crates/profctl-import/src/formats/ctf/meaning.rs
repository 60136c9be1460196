//! What the events of known tracers mean: LTTng's user space and kernel, Zephyr, and pairs of
//! events whose names say that one begins what the other ends.

use super::types::{EventClass, Metadata};

/// The meaning of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A function was entered or left; its address is a field.
    Function {
        is_entry: bool,
    },
    /// A call of that name began or ended.
    Call {
        name: String,
        is_entry: bool,
    },
    /// A system call of that name began or ended.
    Syscall {
        name: String,
        is_entry: bool,
    },
    /// An interrupt handler, named by a field, began or ended.
    Interrupt {
        is_entry: bool,
    },
    /// A software interrupt, numbered by a field, began or ended.
    SoftInterrupt {
        is_entry: bool,
    },
    /// An interrupt without a name began or ended.
    AnyInterrupt {
        is_entry: bool,
    },
    Switch,
    Waking {
        kind: crate::emit::WakingKind,
    },
    Fork,
    Exit,
    /// One thread left its CPU, or came to it.
    ThreadSwitched {
        is_in: bool,
    },
    /// A program or library is mapped.
    Mapped,
    /// Anything else.
    Mark,
}

/// Endings of the names of events that begin something, and of those that end it.
const PAIRS: [(&str, &str); 5] = [
    ("_entry", "_exit"),
    ("_enter", "_exit"),
    ("_begin", "_end"),
    ("_start", "_end"),
    ("_start", "_stop"),
];

/// The names of Linux's software interrupts, by number.
pub(super) const SOFT_INTERRUPTS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What each event of the metadata means, by its row there.
pub(super) fn meanings(metadata: &Metadata) -> Vec<Meaning> {
    metadata.events.iter().map(|event| of(event, metadata)).collect()
}

fn of(event: &EventClass, metadata: &Metadata) -> Meaning {
    use crate::emit::WakingKind;
    let name = event.name.as_str();
    let short = name.rsplit(':').next().unwrap_or(name);
    let has = |field: &str| {
        let fields = event.fields.iter().flat_map(|fields| &fields.fields);
        fields.map(|(name, _)| name.strip_prefix('_').unwrap_or(name)).any(|name| name == field)
    };
    if name.starts_with("lttng_ust_cyg_profile") && matches!(short, "func_entry" | "func_exit") {
        return Meaning::Function { is_entry: short == "func_entry" };
    }
    if matches!(name, "lttng_ust_statedump:bin_info" | "lttng_ust_lib:load") {
        return Meaning::Mapped;
    }
    match short {
        "sched_switch" if has("next_tid") => return Meaning::Switch,
        "sched_waking" if has("tid") => return Meaning::Waking { kind: WakingKind::Waking },
        "sched_wakeup" if has("tid") => return Meaning::Waking { kind: WakingKind::Wakeup },
        "sched_wakeup_new" if has("tid") => return Meaning::Waking { kind: WakingKind::WakeupNew },
        "sched_process_fork" if has("child_tid") => return Meaning::Fork,
        "sched_process_exit" if has("tid") => return Meaning::Exit,
        "irq_handler_entry" => return Meaning::Interrupt { is_entry: true },
        "irq_handler_exit" => return Meaning::Interrupt { is_entry: false },
        "irq_softirq_entry" | "softirq_entry" => return Meaning::SoftInterrupt { is_entry: true },
        "irq_softirq_exit" | "softirq_exit" => return Meaning::SoftInterrupt { is_entry: false },
        "isr_enter" => return Meaning::AnyInterrupt { is_entry: true },
        "isr_exit" | "isr_exit_to_scheduler" => return Meaning::AnyInterrupt { is_entry: false },
        "thread_switched_in" => return Meaning::ThreadSwitched { is_in: true },
        "thread_switched_out" => return Meaning::ThreadSwitched { is_in: false },
        _ => {}
    }
    for (prefix, is_entry) in [("syscall_entry_", true), ("syscall_exit_", false)] {
        if let Some(call) = short.strip_prefix(prefix) {
            return Meaning::Syscall { name: call.to_owned(), is_entry };
        }
    }
    pair(event, metadata).unwrap_or(Meaning::Mark)
}

/// Whether the event begins or ends what another one of its stream ends or begins.
fn pair(event: &EventClass, metadata: &Metadata) -> Option<Meaning> {
    let there = |name: &str| {
        metadata.events.iter().any(|other| other.stream == event.stream && other.name == name)
    };
    for (begin, end) in PAIRS {
        for (own, other, is_entry) in [(begin, end, true), (end, begin, false)] {
            if let Some(stem) = event.name.strip_suffix(own)
                && !stem.is_empty()
                && there(&format!("{stem}{other}"))
            {
                return Some(Meaning::Call { name: stem.to_owned(), is_entry });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_events_mean() {
        let event = |name: &str| EventClass { name: name.into(), ..EventClass::default() };
        let names = [
            "app:work_begin",
            "app:work_end",
            "alone_start",
            "k:isr_enter",
            "syscall_entry_openat",
        ];
        let metadata = Metadata { events: names.map(event).into(), ..Metadata::default() };
        let found = meanings(&metadata);
        assert_eq!(found[0], Meaning::Call { name: "app:work".into(), is_entry: true });
        assert_eq!(found[1], Meaning::Call { name: "app:work".into(), is_entry: false });
        assert_eq!(found[2], Meaning::Mark);
        assert_eq!(found[3], Meaning::AnyInterrupt { is_entry: true });
        assert_eq!(found[4], Meaning::Syscall { name: "openat".into(), is_entry: true });
    }
}
