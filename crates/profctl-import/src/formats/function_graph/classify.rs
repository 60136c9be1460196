//! What kind of kernel function a name belongs to.

use profctl_model::{Func, FuncKind};

/// A function as it is printed: `name` or `name [module]`.
pub(super) fn func(spelling: &[u8]) -> Func {
    let spelling = String::from_utf8_lossy(spelling);
    let (name, module) = match spelling.split_once(" [") {
        Some((name, module)) => (name, Some(module.trim_end_matches(']').to_owned())),
        None => (&*spelling, None),
    };
    Func { name: name.to_owned(), module, kind: kind(name), address: None }
}

/// Where an interrupt enters the kernel on the stack of what it interrupted. On x86 the entry code
/// itself is never traced: what is seen are these, side by side. Elsewhere the tracer prints marks.
const INTERRUPTS: [&str; 12] = [
    "irq_enter_rcu",
    "irq_exit_rcu",
    "irq_enter",
    "irq_exit",
    "common_interrupt",
    "do_IRQ",
    "smp_apic_timer_interrupt",
    "smp_reschedule_interrupt",
    "exc_nmi",
    "do_nmi",
    "gic_handle_irq",
    "handle_arch_irq",
];

/// Beginnings of such names.
const INTERRUPT_STUBS: [&str; 3] = ["__sysvec_", "sysvec_", "__common_interrupt"];

/// The idle loop, and the ways of waiting at its bottom.
const IDLE: [&str; 18] = [
    "do_idle",
    "cpu_startup_entry",
    "cpu_idle_poll",
    "cpuidle_idle_call",
    "call_cpuidle",
    "cpuidle_enter",
    "cpuidle_enter_state",
    "default_idle_call",
    "default_idle",
    "arch_cpu_idle",
    "acpi_idle_enter",
    "acpi_idle_do_entry",
    "acpi_safe_halt",
    "intel_idle",
    "mwait_idle",
    "poll_idle",
    "native_safe_halt",
    "cpu_do_idle",
];

fn kind(name: &str) -> FuncKind {
    if INTERRUPTS.contains(&name) || INTERRUPT_STUBS.iter().any(|stub| name.starts_with(stub)) {
        return FuncKind::Interrupt;
    }
    let plain = name.split_once('.').map_or(name, |(plain, _)| plain);
    if IDLE.contains(&plain) {
        return FuncKind::Idle;
    }
    let syscall = |prefix: &str| name.starts_with(prefix);
    if ["__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_", "__riscv_sys_"]
        .into_iter()
        .any(syscall)
    {
        return FuncKind::Syscall;
    }
    FuncKind::Function
}
