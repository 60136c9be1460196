//! Calls of which more is stated than their times: those of a trace that was exported and is read
//! back. What was found out when the original was read stands beside each such call, and is taken
//! as it stands.

use profctl_model::{Fidelity, Span, SpanSink, Ticks};

use super::{Exit, Frame, Stack};
use crate::emit::{Property, UNSTATED};
use crate::stitch::shared::Core;

/// What is stated of one call.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Known {
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
    pub(in crate::stitch) fn learn(&mut self, property: Property, value: u64) {
        if self.frames.is_empty() {
            return;
        }
        let known = self.known.get_or_insert_default();
        match property {
            Property::Wall => known.wall = Some(Ticks(value)),
            Property::OffCpu => known.off_cpu = Some(Ticks(value)),
            Property::Net => known.net = Some(Ticks(value)),
            Property::Stolen => known.stolen = Some(Ticks(value)),
            Property::Outermost => known.outermost = Some(value != 0),
            Property::Fidelity => {
                known.fidelity = Fidelity {
                    start_inferred: value & Property::START_INFERRED != 0,
                    end_inferred: value & Property::END_INFERRED != 0,
                    at_gap: value & Property::AT_GAP != 0,
                }
            }
        }
    }

    /// Ends `frame`, which was the top one, with what is known of it. Of a call that a window cuts
    /// only its flaws still hold.
    #[cold]
    pub(super) fn close_as_known<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Exit,
        frame: &Frame,
    ) {
        let mut known = self.known.take().map(|known| *known).unwrap_or_default();
        if frame.clipped {
            known = Known { fidelity: known.fidelity, ..Known::default() };
            known.fidelity.start_inferred = true;
        }
        let (below, seen) = (frame.below, at.time - frame.start);
        let advance = if frame.has_stated { self.stated.pop() } else { None };
        let of_entry = advance.filter(|advance| advance.wall != UNSTATED && !frame.clipped);
        let wall = known.wall.or(of_entry.map(|advance| Ticks(advance.wall))).unwrap_or(seen);
        let off_cpu = known.off_cpu.unwrap_or(self.off_total - frame.off_base).min(wall);
        let elapsed = wall - off_cpu;
        let group = core.role(frame.func).group;
        let span = Span {
            func: frame.func,
            thread: at.thread,
            cpu: at.cpu,
            start: frame.start,
            end: at.time.max(frame.start),
            wall,
            off_cpu,
            net: known.net.unwrap_or(elapsed - below.elapsed).min(elapsed),
            stolen: known.stolen.unwrap_or(below.stolen),
            callees: below.callees,
            descendants: below.descendants,
            outermost: known.outermost.unwrap_or_else(|| self.is_outermost(group)),
            fidelity: known.fidelity,
        };
        self.credit(core, &span, frame.depth);
        self.emit(core, &span);
    }
}
