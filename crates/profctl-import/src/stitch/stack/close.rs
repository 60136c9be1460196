//! The end of an open call.

use profctl_model::diag::codes;
use profctl_model::{Fidelity, Span, SpanSink, Ticks};

use super::late::Moved;
use super::{Frame, Inside, Moment, Stack, Stated};
use crate::emit::{UNSTATED, unseen};
use crate::stitch::BlockView;
use crate::stitch::outermost::Outermost;
use crate::stitch::shared::Core;

/// A frame that was taken off its stack.
pub(super) struct Popped {
    pub(super) frame: Frame,
    pub(super) inside: Inside,
    /// What was passed on as outermost below it, if it may get callers.
    pub(super) outermost: Outermost,
}

impl Stack {
    /// Takes the top frame off.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Popped> {
        let frame = self.frames.pop()?;
        let level = self.frames.len();
        self.groups.pop(frame.group);
        if self.orphans.level().is_some_and(|above| above > level) {
            let forgotten = self.orphans.forget_above(level);
            if let Some(watched) = self.watched.last_mut() {
                watched.outermost.append(forgotten);
            }
        }
        let inside = self.inside.pop().unwrap_or_default();
        let own = |watched: &mut super::Watched| watched.level == level && !self.by_name;
        let watched = self.watched.pop_if(own);
        let outermost = watched.map(|watched| watched.outermost).unwrap_or_default();
        Some(Popped { frame, inside, outermost })
    }

    /// Ends the top frame.
    #[inline]
    pub(super) fn close<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        stated: Option<Ticks>,
        fidelity: Fidelity,
        view: Option<BlockView<'_>>,
    ) {
        let Some(Popped { frame, mut inside, outermost }) = self.pop() else { return };
        let mut fidelity = fidelity;
        fidelity.start_inferred |= frame.unseen & unseen::ENTRY != 0;
        fidelity.end_inferred |= frame.unseen & unseen::EXIT != 0;
        fidelity.at_gap |= frame.unseen & unseen::AT_GAP != 0;
        // Else what is stated is the length of the whole call.
        let is_stated = frame.unseen & unseen::STATED != 0;
        let seen = at.time - frame.start;
        let advance = if frame.has_stated { self.stated.pop() } else { None };
        let advance = advance.unwrap_or(Stated { wall: UNSTATED, net: UNSTATED });
        let stated = stated.or((advance.wall != UNSTATED).then_some(Ticks(advance.wall)));
        let wall = match stated {
            Some(stated) if fidelity.is_partial() && !is_stated => stated.min(seen),
            Some(stated) => stated,
            None => seen,
        };
        // The thread may have been switched out between the return and the record of it.
        let open = self.frames.len() + 1;
        let off_until = |stack: &Self, late| stack.off_until(frame.start + wall, open, late);
        let (mut off_total, mut off_inside) = off_until(self, None);
        let mut elapsed = wall - (off_total - frame.off_base).min(wall);
        let mut below = frame.below;
        let mut moved = Moved::default();
        if self.recent.last().is_some() {
            let exceeds = below.elapsed > elapsed && !fidelity.is_partial();
            let limit = exceeds.then_some((frame.start + wall, elapsed));
            moved = self.settle_recent(core, at, limit, &mut below, &mut inside.below);
            if moved.start().is_some() {
                (off_total, off_inside) = off_until(self, moved.start());
                elapsed = wall - (off_total - frame.off_base).min(wall);
            }
        }
        let off_cpu = wall - elapsed;
        let mut end = moved.start().map_or(at.time, |late| late.min(at.time));
        if is_stated {
            end = end.max(frame.start + wall);
        }
        let mut net = elapsed - below.elapsed;
        if advance.net != UNSTATED && (!fidelity.is_partial() || is_stated) {
            if net.0 != advance.net
                && !is_stated
                && let Some(view) = view
            {
                let name = core.name_of(frame.func).to_owned();
                core.complain(&codes::STATED_MISMATCH, view, at.offset, || {
                    format!(
                        "{name} states a net time of {}, elapsed minus callees is {}",
                        advance.net, net.0
                    )
                });
            }
            net = Ticks(advance.net).min(elapsed);
        } else if below.elapsed > elapsed {
            core.diags.count(&codes::CLAMPED, 1);
        }
        let span = Span {
            func: frame.func,
            thread: at.thread,
            cpu: at.cpu,
            start: frame.start,
            end: end.max(frame.start),
            wall,
            off_cpu,
            net,
            stolen: below.stolen,
            callees: below.callees,
            descendants: below.descendants,
            late: moved.late(),
            outermost: self.is_outermost(frame.group),
            interrupt: frame.interrupt,
            fidelity,
        };
        let inside = (inside.below, off_inside - inside.off_base);
        self.hand_on(core, &span, inside, frame.depth, outermost);
        if moved.start().is_some() {
            self.follow(core, at, &frame, moved);
        }
        self.forget_nested(self.frames.len());
    }

    /// Ends the top frame because something further out ends or begins.
    #[cold]
    pub(super) fn force<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        view: BlockView<'_>,
    ) {
        if let Some(top) = self.frames.last() {
            let name = core.name_of(top.func).to_owned();
            core.complain(&codes::FORCED_EXIT, view, at.offset, || {
                format!("{name} was closed here: its exit is missing")
            });
        }
        let fidelity = Fidelity { end_inferred: true, ..Fidelity::EXACT };
        self.close(core, at, None, fidelity, None);
    }

    /// Ends the top frame, whose exit was not recorded, and maybe not its entry.
    #[cold]
    pub(in crate::stitch) fn partial_end<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        entry_seen: bool,
    ) {
        self.reached = self.reached.max(at.time);
        let fidelity = Fidelity { start_inferred: !entry_seen, end_inferred: true, at_gap: false };
        self.close(core, at, None, fidelity, None);
        self.forget_recent(self.frames.len());
    }
}
