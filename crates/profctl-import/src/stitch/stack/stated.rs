//! Calls of which more is stated than their times: those of a trace that was exported and is read
//! back. What was found out when the original was read stands beside each such call, and is taken
//! as it stands.

use profctl_model::{Fidelity, Span, SpanSink, Ticks};

use super::{Exit, Frame, Stack};
use crate::emit::{Property, UNSTATED};
use crate::stitch::shared::Core;

/// What is stated of one call.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Stated {
    wall: Option<Ticks>,
    off_cpu: Option<Ticks>,
    net: Option<Ticks>,
    stolen: Option<Ticks>,
    fidelity: Fidelity,
    outermost: Option<bool>,
}

impl Stack {
    /// Remembers a property of the call that the next exit ends.
    #[cold]
    pub(in crate::stitch) fn state(&mut self, property: Property, value: u64) {
        if self.frames.is_empty() {
            return;
        }
        let stated = self.stated.get_or_insert_default();
        match property {
            Property::Wall => stated.wall = Some(Ticks(value)),
            Property::OffCpu => stated.off_cpu = Some(Ticks(value)),
            Property::Net => stated.net = Some(Ticks(value)),
            Property::Stolen => stated.stolen = Some(Ticks(value)),
            Property::Outermost => stated.outermost = Some(value != 0),
            Property::Fidelity => {
                stated.fidelity = Fidelity {
                    start_inferred: value & Property::START_INFERRED != 0,
                    end_inferred: value & Property::END_INFERRED != 0,
                    at_gap: value & Property::AT_GAP != 0,
                }
            }
        }
    }

    /// Ends `frame`, which was the top one, with what is stated of it. Of a call that a window cuts
    /// only its flaws still hold.
    #[cold]
    pub(super) fn close_as_stated<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        frame: &Frame,
    ) {
        let mut stated = self.stated.take().map(|stated| *stated).unwrap_or_default();
        if frame.clipped {
            stated = Stated { fidelity: stated.fidelity, ..Stated::default() };
            stated.fidelity.start_inferred = true;
        }
        let (below, seen) = (frame.below, at.time - frame.start);
        let of_entry = (frame.stated != UNSTATED && !frame.clipped).then_some(Ticks(frame.stated));
        let wall = stated.wall.or(of_entry).unwrap_or(seen);
        let off_cpu = stated.off_cpu.unwrap_or(self.off_total - frame.off_base).min(wall);
        let elapsed = wall - off_cpu;
        let group = core.groups[frame.func.index()];
        let span = Span {
            func: frame.func,
            thread: at.thread,
            cpu: at.cpu,
            start: frame.start,
            end: at.time.max(frame.start),
            wall,
            off_cpu,
            net: stated.net.unwrap_or(elapsed - below.elapsed).min(elapsed),
            stolen: stated.stolen.unwrap_or(below.stolen),
            callees: below.callees,
            descendants: below.descendants,
            outermost: stated.outermost.unwrap_or_else(|| self.groups.is_outermost(group)),
            fidelity: stated.fidelity,
        };
        self.credit(core, &span, frame.depth);
        self.emit(core, &span);
    }
}
