//! What the events of known tracers mean: LTTng's user space and kernel, Zephyr, and pairs of
//! events whose names say that one begins what the other ends.

use crate::emit::WakingKind;

/// The meaning of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
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
        kind: WakingKind,
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

/// What the event `name` means. `has` says whether it has a field of that name, `there` whether
/// there are events of another name beside it.
pub(crate) fn meaning(
    name: &str,
    has: impl Fn(&'static str) -> bool,
    there: impl Fn(&str) -> bool,
) -> Meaning {
    let short = name.rsplit(':').next().unwrap_or(name);
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
    pair(name, there).unwrap_or(Meaning::Mark)
}

/// Whether the event begins or ends what another one ends or begins.
fn pair(name: &str, there: impl Fn(&str) -> bool) -> Option<Meaning> {
    for (begin, end) in PAIRS {
        for (own, other, is_entry) in [(begin, end, true), (end, begin, false)] {
            if let Some(stem) = name.strip_suffix(own)
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
        let names = [
            "app:work_begin",
            "app:work_end",
            "alone_start",
            "k:isr_enter",
            "syscall_entry_openat",
        ];
        let of = |name: &str| meaning(name, |_| true, |other| names.contains(&other));
        let found = names.map(of);
        assert_eq!(found[0], Meaning::Call { name: "app:work".into(), is_entry: true });
        assert_eq!(found[1], Meaning::Call { name: "app:work".into(), is_entry: false });
        assert_eq!(found[2], Meaning::Mark);
        assert_eq!(found[3], Meaning::AnyInterrupt { is_entry: true });
        assert_eq!(found[4], Meaning::Syscall { name: "openat".into(), is_entry: true });
        assert_eq!(meaning("sched_switch", |_| true, |_| false), Meaning::Switch);
        assert_eq!(meaning("sched_switch", |_| false, |_| false), Meaning::Mark);
    }
}
