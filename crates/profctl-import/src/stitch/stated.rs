//! Records that are not about a call: what a thread is called, where the clock was; and calls of which
//! little is known.

use profctl_model::{SpanSink, Ticks};

use super::lanes::Lane;
use super::stack::Moment;
use super::{BlockView, Stitcher, WorkerIds};
use crate::emit::{Event, ThreadKey, UNSTATED};

impl<S: SpanSink> Stitcher<S> {
    /// The innermost call of a thread ends, and when it was left was not seen.
    #[cold]
    pub(super) fn partial_end(&mut self, event: &Event, lane: Lane, view: BlockView<'_>) {
        let mut time = self.time(event, lane.cpu);
        let thread = self.thread_of(lane);
        let (core, stack) = (&mut self.core, self.stacks.grow_to(thread));
        if time < stack.last && !self.clock.synthetic {
            core.backwards(stack.last - time, event.offset, view);
            time = stack.last;
        }
        if stack.begin.is_none() {
            stack.begin_segment(core, time);
        }
        stack.last = time;
        stack.cpu = lane.cpu;
        let at = Moment { thread, cpu: lane.cpu, time, offset: event.offset };
        stack.partial_end(core, at, event.extra != UNSTATED);
        stack.review();
        self.clock.lay(lane.cpu, time);
    }

    /// A thread is named as the event says, whatever its lane looked like. Its ids are those that
    /// were stated first: some readers repeat them with every block, and where ids contradict one
    /// another, the size of blocks must not decide.
    #[cold]
    pub(super) fn describe(&mut self, event: &Event, lane: Lane, ids: &WorkerIds) {
        let Some(thread) = lane.thread else { return };
        let stated = |value: u64| (value != UNSTATED).then_some(value);
        let described = &mut self.core.names.threads[thread];
        described.tid = described.tid.or(stated(event.duration));
        described.pid = described.pid.or(stated(event.extra));
        described.idle = event.depth == 1;
        if let ThreadKey::Member { name, .. } = &ids.lanes[event.lane.0 as usize].thread
            && !name.is_empty()
        {
            name.clone_into(&mut described.name);
            self.lanes.named(thread);
        }
    }

    /// The clock was somewhere, or went on.
    #[cold]
    pub(super) fn pass(&mut self, event: &Event, lane: Lane) {
        let time = self.time(event, lane.cpu);
        if event.duration != UNSTATED {
            self.clock.lay(lane.cpu, time + Ticks(event.duration));
        }
    }
}
