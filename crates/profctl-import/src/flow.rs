//! Executed instructions to calls and returns: what the readers of emulator logs have in common.
//!
//! An emulator logs the program counter, not calls. How an interval of instructions ended ([`asm`])
//! and where the next one begins decide it. A return is distinguished from any other jump by its
//! landing right after a call that is open. Where nothing says how an interval ended, the address
//! decides alone, and every call and return that was found like that is counted as inferred.
//!
//! ```text
//! 40178b  mov; call 40175b     main     ends with a call, so what comes next is entered
//! 40175b  push; call 401681    ISAINTR
//! 401681  sub; ret             malloc_  lands behind 40175b's call: one level is left
//! 401763  jmp 4016e5           ISAINTR  a jump to another function: one is left, one entered
//! 4016e5  …                    ipintr
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::diag::{Code, Severity};
use profctl_model::{Func, FuncKind};

use crate::emit::{At, DEPTH_MAX, Emitter, LaneKey, NameRef, ThreadKey};

pub(crate) mod asm;
mod input;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod walk;

use asm::Ending;
pub(crate) use input::{InstructionLog, Said, opened, symbols};

/// A call or a return without a matching instruction.
pub static INFERRED: Code = Code {
    name: "flow/inferred",
    severity: Severity::Info,
    help: "a call or a return was inferred from addresses, because the log does not show the \
           instruction before it, or shows another one (an interrupt): loops to the first \
           instruction of a function look like recursion; record the disassembly as well",
};

/// A line that is not of the log's kind.
pub static FOREIGN_LINE: Code = Code {
    name: "flow/foreign-line",
    severity: Severity::Info,
    help: "a line that is not an instruction, such as output of the program or another log item, \
           was skipped",
};

/// The longest instruction (x86) or pair of a call and what is in its delay slot, bytes.
pub(crate) const LONGEST: u64 = 16;

/// A run of instructions without a jump in between: a translated block, or a single one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// How many there are: by so much it moves the clock of its CPU.
    pub(crate) instructions: u64,
    /// The address of the last one, or of the first if that is not known.
    pub(crate) last: u64,
    /// How far behind `last` its successor may begin, bytes.
    pub(crate) reach: u64,
    /// How the last one ends it, if the log says.
    pub(crate) ending: Option<Ending>,
}

/// The next thing that a CPU did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) cpu: u32,
    /// Where it begins.
    pub(crate) pc: u64,
    /// The function in which that lies, if the log or a table says.
    pub(crate) name: Option<&'a [u8]>,
    /// Whether that is the first address of the function, if known.
    pub(crate) at_start: Option<bool>,
    /// The time, if the log has one; the clock then counts in its unit instead of instructions.
    pub(crate) time: Option<u64>,
    pub(crate) stretch: Stretch,
    /// Byte offset of the record in its block.
    pub(crate) offset: usize,
}

/// Everything that is open, on every CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    cpus: BTreeMap<u32, Cpu>,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    clock: u64,
    frames: Vec<Frame>,
    before: Option<Before>,
}

/// What a CPU did last.
#[derive(Clone, Copy, Debug)]
struct Before {
    pc: u64,
    stretch: Stretch,
    /// Whether it was interrupted after it, as the log says.
    trapped: bool,
}

/// An open call.
#[derive(Clone, Debug)]
struct Frame {
    name: Option<Arc<[u8]>>,
    /// The address at which it was first seen.
    first: u64,
    /// Whether that is where it begins.
    entered: bool,
    /// The address of the call that made it, and how far behind it the return address may lie.
    site: Option<(u64, u64)>,
    /// Whether nothing but addresses says that it was called: it may have been jumped to.
    is_inferred: bool,
    /// What it interrupted.
    interrupted: Option<Before>,
}

impl Frame {
    /// Whether a return from it may land at `pc`.
    fn returns_to(&self, pc: u64) -> bool {
        self.site.is_some_and(|(last, reach)| pc > last && pc - last <= reach)
    }
}

impl Flow {
    /// Takes the next step of a CPU.
    pub(crate) fn step(&mut self, step: &Step<'_>, out: &mut Emitter) {
        let mut step = *step;
        if let Some(parent) = step.name.and_then(parent_of_cold) {
            (step.name, step.at_start) = (Some(parent), Some(false));
        }
        let cpu = self.cpus.entry(step.cpu).or_default();
        let now = Before { pc: step.pc, stretch: step.stretch, trapped: false };
        let before = cpu.before.replace(now);
        let passed = before.map_or(0, |before| before.stretch.instructions);
        cpu.clock = step.time.unwrap_or(cpu.clock.saturating_add(passed));
        walk::Walk { cpu, step, out }.go(before);
    }

    /// An exception or an interrupt was taken on `cpu`. `pc` is where it interrupted.
    pub(crate) fn trap(&mut self, cpu: u32, pc: u64) {
        let Some(before) = self.cpus.get_mut(&cpu).and_then(|cpu| cpu.before.as_mut()) else {
            return;
        };
        before.trapped = true;
        if before.pc == pc {
            // It faulted instead of being executed.
            before.stretch.instructions = 0;
        }
    }

    /// A step at `pc`, the latest of some CPU, was announced but not taken.
    pub(crate) fn cancel(&mut self, pc: u64) {
        let latest = self.cpus.values_mut().filter_map(|cpu| cpu.before.as_mut());
        if let Some(before) = latest.into_iter().find(|before| before.pc == pc) {
            before.stretch.instructions = 0;
            before.stretch.ending = None;
        }
    }

    /// Ends the input: every CPU was still where it is.
    pub(crate) fn finish(&mut self, offset: usize, out: &mut Emitter) {
        for (&number, cpu) in &mut self.cpus {
            let passed = cpu.before.take().map_or(0, |before| before.stretch.instructions);
            cpu.clock = cpu.clock.saturating_add(passed);
            let Some(top) = cpu.frames.last() else { continue };
            let at = at((number, cpu.clock), offset, out);
            let name = name_of(top, out);
            out.seen_at_depth(at, name, Some(depth(cpu.frames.len() - 1)));
        }
    }
}

/// The part of a function that the compiler expects not to run has a symbol of its own.
fn parent_of_cold(name: &[u8]) -> Option<&[u8]> {
    let number = name.iter().rposition(|byte| !byte.is_ascii_digit())?;
    let bare = if name[number] == b'.' && number + 1 < name.len() { &name[..number] } else { name };
    bare.strip_suffix(b".cold").filter(|parent| !parent.is_empty())
}

fn at((cpu, time): (u32, u64), offset: usize, out: &mut Emitter) -> At {
    let lane = out.lane(LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated });
    At { time: Some(time), lane, offset }
}

/// The depth of a frame. Calls nested deeper than can be said end one another, which the stitcher
/// counts.
fn depth(level: usize) -> u16 {
    u16::try_from(level).unwrap_or(u16::MAX).min(DEPTH_MAX)
}

/// Functions without a name are called by their address. What is entered by an interrupt is an
/// interrupt handler, at least if it was never called before.
fn name_of(frame: &Frame, out: &mut Emitter) -> NameRef {
    let label;
    let name: &[u8] = if let Some(name) = &frame.name {
        name
    } else {
        label = format!("0x{:x}", frame.first);
        label.as_bytes()
    };
    let kind = match frame.interrupted {
        Some(before) if before.trapped => FuncKind::Interrupt,
        _ => FuncKind::Function,
    };
    let describe = |name: &[u8]| Func {
        name: String::from_utf8_lossy(name).into_owned(),
        kind,
        ..Func::default()
    };
    if kind == FuncKind::Function {
        return out.name(name, describe);
    }
    let spelling = [b"\0interrupt\0", name].concat();
    out.name(&spelling, |_| describe(name))
}
