//! Whose time a call that ended was part of: its caller's, or that of a caller which is not there.

use profctl_model::{Span, SpanSink, Ticks};

use super::Stack;
use crate::stitch::orphans::{Below, Ended};
use crate::stitch::outermost::{Outermost, one_call};
use crate::stitch::shared::Core;

impl Stack {
    /// Emits a call, and adds it to its caller. `inside` is what of its callees and of its time off
    /// the CPU lies in the window, `outermost` what was passed on as outermost below it.
    #[inline]
    pub(super) fn hand_on<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        span: &Span,
        inside: (Below, Ticks),
        depth: u32,
        mut outermost: Outermost,
    ) {
        let since = Some(span.start);
        let all = part_of_caller(span);
        if !core.is_windowed {
            core.emit(span);
            self.note_emitted(core, span, depth, &mut outermost);
            self.credit(
                core,
                span,
                Ended { all, inside: Below::default(), since },
                depth,
                outermost,
            );
            return;
        }
        let inside = match core.window.clip(span, inside.0, inside.1) {
            Some(clipped) => {
                core.emit(&clipped);
                self.note_emitted(core, &clipped, depth, &mut outermost);
                part_of_caller(&clipped)
            }
            // Whatever of its callees is in the window is its caller's.
            None => inside.0,
        };
        self.credit(core, span, Ended { all, inside, since }, depth, outermost);
    }

    /// Notes a call that was passed on, if it is outermost and may yet get callers, or is nested in
    /// one to which it may have come late.
    fn note_emitted<S: SpanSink>(
        &mut self,
        core: &Core<S>,
        span: &Span,
        depth: u32,
        own: &mut Outermost,
    ) {
        if !span.outermost {
            if self.may_come_late(core) {
                let group = core.group(span.func, span.interrupt);
                self.note_nested(group, span.start, one_call(span));
            }
            return;
        }
        let is_orphan = depth > self.nearest();
        match self.watched.last_mut() {
            Some(watched) if self.by_name || !is_orphan => watched.outermost.add(span),
            _ if is_orphan && !self.by_name => own.add(span),
            _ => {}
        }
    }

    /// The depth of a callee of the top frame.
    fn nearest(&self) -> u32 {
        self.frames.last().map_or(0, |top| top.depth + 1)
    }

    /// Adds what ended to its caller, and to the orphans if a caller between is missing.
    fn credit<S>(
        &mut self,
        core: &Core<S>,
        span: &Span,
        ended: Ended,
        depth: u32,
        outermost: Outermost,
    ) {
        let is_orphan = depth > self.nearest();
        if let Some(top) = self.frames.last_mut() {
            top.below.add(ended.all);
            let is_beside = depth == top.depth;
            if let Some(inside) = self.inside.last_mut() {
                inside.below.add(ended.inside);
            }
            if is_beside || !is_orphan {
                self.note_recent(core, span, ended, is_beside);
            } else {
                // It is not known yet whose it is, so what came before it stays where it is.
                self.forget_recent(self.frames.len() - 1);
            }
        }
        self.keep_outermost(ended, depth, outermost);
    }

    /// A call at `depth` proves that what ended deeper had its callers end before it.
    pub(super) fn settle_orphans(&mut self, depth: u32) {
        let (settled, outermost) = self.orphans.take_deeper(self.frames.len(), depth);
        if settled.all.callees == 0 {
            return;
        }
        self.keep_outermost(settled, depth, outermost);
    }

    /// Takes the orphans deeper than `depth` away from where they were credited.
    pub(super) fn adopt(&mut self, depth: u32) -> (Ended, Outermost) {
        let (adopted, mut outermost) = self.orphans.take_deeper(self.frames.len(), depth);
        if let Some(top) = self.frames.last_mut() {
            top.below.remove(adopted.all);
        }
        if let Some(inside) = self.inside.last_mut() {
            inside.below.remove(adopted.inside);
        }
        if self.by_name
            && self.frames.is_empty()
            && let Some(watched) = self.watched.first_mut()
        {
            outermost = std::mem::take(&mut watched.outermost);
        }
        (adopted, outermost)
    }

    /// Returns unclaimed time to where it was credited.
    pub(super) fn give_back(&mut self, depth: u32, ended: Ended, outermost: Outermost) {
        if ended.all.callees == 0 {
            return;
        }
        if let Some(top) = self.frames.last_mut() {
            top.below.add(ended.all);
        }
        if let Some(inside) = self.inside.last_mut() {
            inside.below.add(ended.inside);
        }
        self.keep_outermost(ended, depth, outermost);
    }

    /// Keeps what ended without its caller for that one, and what of it was outermost for a call
    /// that may enclose it.
    pub(super) fn keep_outermost(&mut self, ended: Ended, depth: u32, outermost: Outermost) {
        let level = self.frames.len();
        let is_orphan = depth > self.nearest();
        match self.watched.last_mut() {
            Some(watched) if self.by_name || !is_orphan => {
                watched.outermost.append(outermost);
                if is_orphan {
                    self.orphans.add(level, depth, ended, Outermost::default());
                }
            }
            _ if is_orphan && !self.by_name => self.orphans.add(level, depth, ended, outermost),
            _ => {}
        }
    }
}

/// What a call is of its caller's time.
fn part_of_caller(span: &Span) -> Below {
    let elapsed = span.elapsed();
    Below {
        elapsed,
        stolen: if span.interrupt { elapsed } else { Ticks(0) },
        callees: 1,
        descendants: span.descendants.saturating_add(1),
    }
}
