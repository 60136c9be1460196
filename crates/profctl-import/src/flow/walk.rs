//! One step of a CPU: what the end of the interval before it and its own address make of the stack.

use super::asm::{Ending, Kind};
use super::{Before, Cpu, Emitter, Frame, INFERRED, LONGEST, Step, at, depth, name_of};
use crate::emit::Stated;

/// A step, and what it changes.
pub(super) struct Walk<'a, 'b> {
    pub(super) cpu: &'a mut Cpu,
    pub(super) step: Step<'b>,
    pub(super) out: &'a mut Emitter,
}

impl Walk<'_, '_> {
    pub(super) fn go(&mut self, before: Option<Before>) {
        match before {
            None if self.step.at_start == Some(true) => self.enter(None, None),
            None => self.appear(),
            Some(before) if before.trapped => self.enter(None, Some(before)),
            Some(before) => self.follow(&before),
        }
    }

    /// Goes where the end of the interval before leads.
    fn follow(&mut self, before: &Before) {
        let Some(ending) = before.stretch.ending else {
            self.infer(before);
            return;
        };
        let is_next = self.is_behind(before);
        if is_next && (ending.conditional || ending.kind == Kind::Plain) {
            // It fell from one function into the next, as assembler code does.
            if !self.is_here() {
                self.replace();
            }
            return;
        }
        let is_elsewhere = ending.target.is_some_and(|target| target != self.step.pc);
        match ending.kind {
            Kind::Plain => self.surprise(before),
            Kind::Call | Kind::Jump if is_elsewhere => self.surprise(before),
            Kind::Call => {
                // `call` to the next instruction only asks for the address.
                if !(is_next && self.is_here() && self.step.at_start != Some(true)) {
                    self.enter(Some((before.stretch.last, before.stretch.reach)), None);
                }
            }
            Kind::Return => self.returned(),
            Kind::Jump => self.jumped(ending),
            Kind::TrapReturn => self.resumed(before),
        }
    }

    fn returned(&mut self) {
        let n = self.cpu.frames.len();
        if let Some(level) = self.returning() {
            self.return_from(level);
        } else if self.step.at_start == Some(true) {
            // The address was pushed, so the return is a jump.
            self.replace();
        } else if n <= 1 {
            self.surface();
        } else if let Some(level) = self.on_stack() {
            if level + 1 < n {
                self.infer_that("a return to");
                self.leave(level + 1);
            }
        } else {
            self.infer_that("a return to");
            self.surface();
        }
    }

    fn jumped(&mut self, ending: Ending) {
        let n = self.cpu.frames.len();
        if !ending.direct && self.returning().is_some_and(|level| level + 1 == n) {
            self.leave(n - 1);
        } else if self.is_here() {
            // A loop, a switch, a recursion that the compiler made a loop.
        } else if self.step.at_start == Some(true) {
            self.replace();
        } else {
            match self.on_stack() {
                Some(level) if !self.begins(level) => self.leave(level + 1),
                _ => self.replace(),
            }
        }
    }

    /// Back from an interrupt, if its entry was recorded.
    fn resumed(&mut self, before: &Before) {
        let found = self.cpu.frames.iter().rposition(|frame| frame.interrupted.is_some());
        let Some(level) = found else {
            if !self.is_here() {
                self.infer(before);
            }
            return;
        };
        let interrupted = self.cpu.frames[level].interrupted;
        self.leave(level);
        let Some(interrupted) = interrupted else { return };
        // What the interrupt kept from happening happens now.
        let ending = interrupted.stretch.ending;
        let is_due = ending.is_some_and(|ending| {
            ending.target == Some(self.step.pc)
                || (ending.target.is_none() && ending.kind != Kind::Plain)
        });
        if is_due && self.step.pc != interrupted.pc {
            self.follow(&Before { trapped: false, ..interrupted });
        } else if !self.is_here() {
            self.infer(&interrupted);
        }
    }

    /// The CPU is not where the instruction before leads: it was interrupted, or what interrupted
    /// it is over.
    fn surprise(&mut self, before: &Before) {
        let n = self.cpu.frames.len();
        self.infer(before);
        if let Some(top) = self.cpu.frames.get_mut(n) {
            top.site = None;
            top.interrupted = Some(*before);
        }
    }

    /// Nothing is known but addresses.
    fn infer(&mut self, before: &Before) {
        let n = self.cpu.frames.len();
        if self.step.pc == before.pc {
            return;
        }
        let site = Some((before.stretch.last, before.stretch.reach));
        let on_stack = self.on_stack();
        let is_start = self.step.at_start.unwrap_or_else(|| {
            // What lies before all that was seen of a function is rather its beginning.
            let begins = |level| self.begins(level) || self.step.pc < self.cpu.frames[level].first;
            on_stack.is_some_and(begins)
        });
        if is_start {
            self.infer_call(site);
        } else if self.is_here() {
            // Only a recursion can return to where it is.
            let returns = n > 1
                && self.cpu.frames[n - 1].returns_to(self.step.pc)
                && self.is_in(&self.cpu.frames[n - 2])
                && self.cpu.frames[n - 2].name == self.cpu.frames[n - 1].name;
            if returns {
                self.infer_that("a return to");
                self.leave(n - 1);
            }
        } else if let Some(level) = self.returning() {
            self.infer_that("a return to");
            self.return_from(level);
        } else if let Some(level) = on_stack {
            self.infer_that("a return to");
            self.leave(level + 1);
        } else if self.step.at_start == Some(false) {
            self.infer_that("a return to");
            self.surface();
        } else {
            self.infer_call(site);
        }
    }

    fn infer_call(&mut self, site: Option<(u64, u64)>) {
        self.infer_that("a call of");
        self.enter(site, None);
        if let Some(top) = self.cpu.frames.last_mut() {
            top.is_inferred = true;
        }
    }

    /// Whether the step lies in the function on top, as far as symbols show.
    fn is_here(&self) -> bool {
        self.cpu.frames.last().is_some_and(|top| self.is_in(top))
    }

    fn is_in(&self, frame: &Frame) -> bool {
        self.step.name.is_none_or(|name| frame.name.as_deref() == Some(name))
    }

    /// Whether the step comes right after the interval before.
    fn is_behind(&self, before: &Before) -> bool {
        let last = before.stretch.last;
        self.step.pc > last && self.step.pc - last <= LONGEST
    }

    /// The call, the latest if there are several, that a return to here would end.
    fn returning(&self) -> Option<usize> {
        let frames = &self.cpu.frames;
        (1..frames.len())
            .rev()
            .find(|&level| frames[level].returns_to(self.step.pc) && self.is_in(&frames[level - 1]))
    }

    /// The latest open call of the function of the step.
    fn on_stack(&self) -> Option<usize> {
        let name = self.step.name?;
        self.cpu.frames.iter().rposition(|frame| frame.name.as_deref() == Some(name))
    }

    /// Whether the step is at the first address of the function that is open at `level`.
    fn begins(&self, level: usize) -> bool {
        let frame = &self.cpu.frames[level];
        frame.entered && frame.first == self.step.pc
    }

    fn infer_that(&mut self, what: &str) {
        let Step { name, pc, offset, .. } = self.step;
        self.out.diag(&INFERRED, offset, || match name {
            Some(name) => format!("{what} {} at 0x{pc:x}", String::from_utf8_lossy(name)),
            None => format!("{what} 0x{pc:x}"),
        });
    }

    fn enter(&mut self, site: Option<(u64, u64)>, interrupted: Option<Before>) {
        self.push(true, site, interrupted);
    }

    /// The function of the step is open already, without a recorded entry.
    fn appear(&mut self) {
        self.push(false, None, None);
    }

    fn push(&mut self, was_entered: bool, site: Option<(u64, u64)>, interrupted: Option<Before>) {
        let frame = Frame {
            name: self.step.name.map(Into::into),
            first: self.step.pc,
            entered: was_entered && self.step.at_start != Some(false),
            site,
            is_inferred: false,
            interrupted,
        };
        let at = at((self.step.cpu, self.cpu.clock), self.step.offset, self.out);
        let (name, depth) = (name_of(&frame, self.out), depth(self.cpu.frames.len()));
        if was_entered {
            self.out.enter(at, name, Stated::depth(depth));
        } else {
            self.out.seen_at_depth(at, name, Some(depth));
        }
        self.cpu.frames.push(frame);
    }

    /// Leaves the call at `level` by a return. Functions above it were reached by jumps and end
    /// normally, unless they were certainly called.
    fn return_from(&mut self, level: usize) {
        let above = level + 1..self.cpu.frames.len();
        if self.cpu.frames[above.clone()].iter().all(|frame| frame.is_inferred) {
            for level in above.rev() {
                self.leave(level);
            }
        }
        self.leave(level);
    }

    /// Leaves the call at `level`, and with it whatever is open above.
    fn leave(&mut self, level: usize) {
        let Some(frame) = self.cpu.frames.get(level) else { return };
        let at = at((self.step.cpu, self.cpu.clock), self.step.offset, self.out);
        let name = name_of(frame, self.out);
        self.out.exit(at, Some(name), Stated::depth(depth(level)));
        self.cpu.frames.truncate(level);
    }

    /// Leaves the top call for another at its place, which returns to where that one would have.
    fn replace(&mut self) {
        let Some(level) = self.cpu.frames.len().checked_sub(1) else {
            self.enter(None, None);
            return;
        };
        let Frame { site, interrupted, .. } = self.cpu.frames[level];
        self.leave(level);
        self.enter(site, None);
        if let Some(top) = self.cpu.frames.last_mut() {
            top.interrupted = interrupted;
        }
    }

    /// Leaves everything that is open for a caller whose entry is missing.
    fn surface(&mut self) {
        self.leave(0);
        self.appear();
    }
}
