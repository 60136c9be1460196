//! Interrupts recorded as instants: where functions are the calls, `softirq_entry` and similar events
//! are marks, and a thread that is woken between entry and exit is woken by no thread.

use profctl_model::{CpuId, Func, FuncId, FuncKind, IdVec};

/// What an instant says of the CPU on which it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Nothing,
    /// The kind of interrupt, as its name begins.
    Entry(&'static str),
    Exit,
}

/// The interrupts that are being served, by CPU.
#[derive(Debug, Default)]
pub(in crate::stitch) struct Serving {
    told: IdVec<FuncId, Option<Told>>,
    open: IdVec<CpuId, Vec<FuncId>>,
}

/// More than can be served at once: exits were lost.
const OPEN_MAX: usize = 16;

impl Serving {
    /// An instant of a function, with its arguments, on a CPU. If an interrupt begins there, which.
    #[inline]
    pub(in crate::stitch) fn mark(
        &mut self,
        (func, named): (FuncId, &Func),
        cpu: Option<CpuId>,
        detail: Option<&str>,
    ) -> Option<Func> {
        let told = *self.told.grow_to(func).get_or_insert_with(|| told(named));
        match told {
            Told::Nothing => None,
            Told::Entry(kind) => cpu.map(|_| interrupt(kind, detail.unwrap_or_default())),
            Told::Exit => {
                if let Some(cpu) = cpu {
                    self.open.grow_to(cpu).pop();
                }
                None
            }
        }
    }

    /// An interrupt begins on a CPU.
    pub(in crate::stitch) fn enter(&mut self, cpu: CpuId, interrupt: FuncId) {
        let open = self.open.grow_to(cpu);
        if open.len() < OPEN_MAX {
            open.push(interrupt);
        }
    }

    /// The innermost interrupt that a CPU serves.
    pub(in crate::stitch) fn on(&self, cpu: Option<CpuId>) -> Option<FuncId> {
        self.open.get(cpu?)?.last().copied()
    }

    /// A thread was switched on a CPU, or events were lost: no interrupt is served there, or it is
    /// not known any more.
    pub(in crate::stitch) fn clear(&mut self, cpu: Option<CpuId>) {
        match cpu {
            Some(cpu) => self.open.grow_to(cpu).clear(),
            None => self.open.iter_mut().for_each(Vec::clear),
        }
    }
}

fn told(func: &Func) -> Told {
    match (func.kind, func.name.as_str()) {
        (FuncKind::Mark, "softirq_entry") => Told::Entry("softirq:"),
        (FuncKind::Mark, "irq_handler_entry") => Told::Entry("irq:"),
        (FuncKind::Mark, "softirq_exit" | "irq_handler_exit") => Told::Exit,
        _ => Told::Nothing,
    }
}

/// The interrupt that `vec=1 [action=TIMER]` or `irq=25 name=virtio0-req.0` tells.
fn interrupt(kind: &str, arguments: &str) -> Func {
    let value = |key: &str| {
        let (_, rest) = arguments.split_once(key)?;
        rest.split([' ', ']']).next()
    };
    let name = value("action=").or_else(|| value("name=")).unwrap_or("unknown");
    Func { name: format!("{kind}{name}"), kind: FuncKind::Interrupt, ..Func::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_calls() {
        assert_eq!(interrupt("softirq:", "vec=1 [action=TIMER]").name, "softirq:TIMER");
        assert_eq!(interrupt("irq:", "irq=25 name=virtio0-req.0").name, "irq:virtio0-req.0");
        assert_eq!(interrupt("irq:", "").name, "irq:unknown");
    }

    #[test]
    fn more_than_can_be_served_at_once_are_not_kept() {
        let (mut serving, cpu) = (Serving::default(), CpuId::from_index(0));
        for interrupt in 0..2 * OPEN_MAX {
            serving.enter(cpu, FuncId::from_index(interrupt));
        }
        assert_eq!(serving.on(Some(cpu)), Some(FuncId::from_index(OPEN_MAX - 1)));
    }
}
