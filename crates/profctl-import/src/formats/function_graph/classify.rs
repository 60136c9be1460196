//! What kind of kernel function a name belongs to.

use profctl_model::{Func, FuncKind};

/// A function as it is printed: `name` or `name [module]`.
pub(crate) fn func(spelling: &[u8]) -> Func {
    let spelling = String::from_utf8_lossy(spelling);
    let (name, module) = match spelling.split_once(" [") {
        Some((name, module)) => (name, Some(module.trim_end_matches(']').to_owned())),
        None => (&*spelling, None),
    };
    Func { name: name.to_owned(), module, kind: kind(name), address: None }
}

/// Where an interrupt enters the kernel on the stack of what it interrupted. On x86 the entry code
/// itself is never traced: what is seen are these, in parallel. Elsewhere the tracer prints marks.
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

/// The idle loop, what the cpuidle drivers of x86, arm64 and riscv enter, and the ways of waiting at
/// the bottom: of the kernels 5.10 to 7.3, with the file that each is in.
#[rustfmt::skip]
const IDLE: &[(&str, &str)] = &[
    ("do_idle", "kernel/sched/idle.c"),
    ("cpu_startup_entry", "kernel/sched/idle.c"),
    ("cpu_idle_poll", "kernel/sched/idle.c"),
    ("cpuidle_idle_call", "kernel/sched/idle.c"),
    ("call_cpuidle", "kernel/sched/idle.c"),
    ("call_cpuidle_s2idle", "kernel/sched/idle.c"),
    ("default_idle_call", "kernel/sched/idle.c"),
    ("play_idle_precise", "kernel/sched/idle.c, injected idle time"),
    ("arch_cpu_idle", "arch/*/kernel: x86 process.c, arm64 idle.c (process.c before 5.13), riscv process.c"),
    ("cpuidle_enter", "drivers/cpuidle/cpuidle.c"),
    ("cpuidle_enter_state", "drivers/cpuidle/cpuidle.c"),
    ("cpuidle_enter_s2idle", "drivers/cpuidle/cpuidle.c"),
    ("enter_s2idle_proper", "drivers/cpuidle/cpuidle.c"),
    ("cpuidle_enter_state_coupled", "drivers/cpuidle/coupled.c"),
    ("poll_idle", "drivers/cpuidle/poll_state.c"),
    ("default_enter_idle", "drivers/cpuidle/cpuidle-haltpoll.c"),
    ("default_idle", "arch/x86/kernel/process.c"),
    ("amd_e400_idle", "arch/x86/kernel/process.c"),
    ("mwait_idle", "arch/x86/kernel/process.c"),
    ("apm_cpu_idle", "arch/x86/kernel/apm_32.c"),
    ("native_safe_halt", "arch/x86/include/asm/irqflags.h, out of line with paravirtualization"),
    ("pv_native_safe_halt", "arch/x86/kernel/paravirt.c, from 6.3 on"),
    ("xen_safe_halt", "arch/x86/xen/irq.c, setup.c"),
    ("tdx_safe_halt", "arch/x86/coco/tdx/tdx.c, from 5.19 on"),
    ("tdx_halt", "arch/x86/coco/tdx/tdx.c"),
    ("intel_idle", "drivers/idle/intel_idle.c"),
    ("intel_idle_irq", "drivers/idle/intel_idle.c, from 5.18 on"),
    ("intel_idle_ibrs", "drivers/idle/intel_idle.c, from 5.19 on"),
    ("intel_idle_xstate", "drivers/idle/intel_idle.c, from 6.0 on"),
    ("intel_idle_s2idle", "drivers/idle/intel_idle.c"),
    ("intel_idle_hlt", "drivers/idle/intel_idle.c, 6.5"),
    ("intel_idle_hlt_irq_on", "drivers/idle/intel_idle.c, 6.5"),
    ("acpi_idle_enter", "drivers/acpi/processor_idle.c"),
    ("acpi_idle_enter_bm", "drivers/acpi/processor_idle.c"),
    ("acpi_idle_enter_s2idle", "drivers/acpi/processor_idle.c"),
    ("acpi_idle_do_entry", "drivers/acpi/processor_idle.c"),
    ("acpi_idle_lpi_enter", "drivers/acpi/processor_idle.c"),
    ("acpi_safe_halt", "drivers/acpi/processor_idle.c"),
    ("io_idle", "drivers/acpi/processor_idle.c, from 5.19 on"),
    ("acpi_processor_ffh_cstate_enter", "arch/x86/kernel/acpi/cstate.c"),
    ("acpi_processor_ffh_lpi_enter", "drivers/acpi/{arm64,riscv}/cpuidle.c (arch/arm64/kernel/cpuidle.c)"),
    ("cpu_do_idle", "arch/arm64/kernel/idle.c (process.c before 5.13)"),
    ("__cpu_do_idle", "arch/arm64/kernel/process.c, 5.10 to 5.12"),
    ("__cpu_do_idle_irqprio", "arch/arm64/kernel/process.c, 5.10 to 5.12"),
    ("arm_cpuidle_suspend", "arch/arm64/kernel/cpuidle.c"),
    ("arm_enter_idle_state", "drivers/cpuidle/cpuidle-arm.c"),
    ("psci_enter_idle_state", "drivers/cpuidle/cpuidle-psci.c"),
    ("psci_enter_domain_idle_state", "drivers/cpuidle/cpuidle-psci.c"),
    ("psci_enter_s2idle_domain_idle_state", "drivers/cpuidle/cpuidle-psci.c, from 5.12 on"),
    ("__psci_enter_domain_idle_state", "drivers/cpuidle/cpuidle-psci.c, from 5.12 on"),
    ("psci_cpu_suspend_enter", "drivers/firmware/psci/psci.c"),
    ("sbi_cpuidle_enter_state", "drivers/cpuidle/cpuidle-riscv-sbi.c, from 5.18 on"),
    ("sbi_enter_domain_idle_state", "drivers/cpuidle/cpuidle-riscv-sbi.c"),
    ("sbi_enter_s2idle_domain_idle_state", "drivers/cpuidle/cpuidle-riscv-sbi.c"),
    ("__sbi_enter_domain_idle_state", "drivers/cpuidle/cpuidle-riscv-sbi.c"),
    ("sbi_suspend", "drivers/cpuidle/cpuidle-riscv-sbi.c, before 6.9"),
    ("riscv_sbi_hart_suspend", "arch/riscv/kernel/suspend.c, from 6.9 on"),
];

fn kind(name: &str) -> FuncKind {
    if INTERRUPTS.contains(&name) || INTERRUPT_STUBS.iter().any(|stub| name.starts_with(stub)) {
        return FuncKind::Interrupt;
    }
    let plain = name.split_once('.').map_or(name, |(plain, _)| plain);
    if IDLE.iter().any(|(idle, _)| *idle == plain) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_waiting_is_idle() {
        let names = [
            "amd_e400_idle",
            "mwait_idle",
            "default_idle",
            "intel_idle_ibrs",
            "intel_idle_xstate",
            "acpi_idle_enter_s2idle",
            "acpi_idle_enter.part.0",
            "poll_idle",
            "default_enter_idle",
            "cpu_do_idle",
            "psci_enter_idle_state",
            "acpi_idle_lpi_enter",
            "pv_native_safe_halt",
            "sbi_cpuidle_enter_state",
            "arch_cpu_idle",
            "xen_safe_halt",
            "tdx_safe_halt",
        ];
        for name in names {
            assert_eq!(kind(name), FuncKind::Idle, "{name}");
        }
        // What is done before and after the wait is work, as are the drivers' other functions.
        for name in
            ["arch_cpu_idle_enter", "tick_nohz_idle_enter", "intel_idle_init", "menu_select"]
        {
            assert_eq!(kind(name), FuncKind::Function, "{name}");
        }
        let mut all: Vec<_> = IDLE.iter().map(|(name, _)| name).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), IDLE.len(), "each once");
    }
}
