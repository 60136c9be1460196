//! Calls of which the input states more than two events can say.

use profctl_model::diag::codes;
use profctl_model::{Span, SpanSink, Ticks};

use super::close::Popped;
use super::{Moment, Stack};
use crate::emit::Account;
use crate::stitch::shared::Core;

impl Stack {
    /// Ends the top frame with what `account` says of it. What it leaves out follows from the
    /// events.
    #[cold]
    pub(in crate::stitch) fn settle<S: SpanSink>(
        &mut self,
        core: &mut Core<S>,
        at: Moment,
        account: &Account,
    ) {
        self.reached = self.reached.max(at.time);
        let Some(Popped { frame, inside, since, outermost }) = self.pop() else { return };
        let seen = at.time - frame.start;
        let mut fidelity = account.fidelity;
        fidelity.start_inferred |= frame.clipped;
        let said = |value: Option<u64>| value.filter(|_| !frame.clipped).map(Ticks);
        let wall = said(account.wall).unwrap_or(seen);
        let off_cpu = said(account.off_cpu).unwrap_or_default().min(wall);
        core.knows_off_cpu |= account.off_cpu.is_some();
        let elapsed = wall - off_cpu;
        let below = frame.below;
        let net = match said(account.net) {
            Some(net) => net.min(elapsed),
            None => {
                if below.elapsed > elapsed {
                    core.diags.count(&codes::CLAMPED, 1);
                }
                elapsed - below.elapsed
            }
        };
        let is_outermost = self.is_outermost(frame.group);
        let span = Span {
            func: frame.func,
            thread: at.thread,
            cpu: at.cpu,
            start: frame.start,
            end: at.time.max(frame.start),
            wall,
            off_cpu,
            net,
            stolen: said(account.stolen).unwrap_or(below.stolen),
            callees: below.callees,
            descendants: below.descendants,
            outermost: account.outermost.unwrap_or(is_outermost),
            interrupt: frame.interrupt,
            fidelity,
        };
        self.forget_recent(self.frames.len());
        self.hand_on(core, &span, inside, frame.depth, since, outermost);
    }
}
