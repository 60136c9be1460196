//! Thread states on their way to the sink, cut to the window that was asked for.

use profctl_model::diag::codes;
use profctl_model::{
    FuncId, IdVec, Record, SpanSink, ThreadId, ThreadLife, ThreadState, Tick, Wake,
};

use super::{Output, Stamp};
use crate::stitch::shared::Core;
use crate::stitch::stack::Stack;

/// The stitcher, as [`super::Sched`] sees it.
pub(in crate::stitch) struct ToSink<'a, S> {
    pub(in crate::stitch) core: &'a mut Core<S>,
    pub(in crate::stitch) stacks: &'a mut IdVec<ThreadId, Stack>,
    /// The first time of the trace.
    pub(in crate::stitch) first: Tick,
}

impl<S: SpanSink> Output for ToSink<'_, S> {
    fn state(&mut self, state: &ThreadState) {
        let mut state = *state;
        let window = self.core.window;
        if let Some(from) = window.from.filter(|from| state.start < *from) {
            if state.end <= from {
                return;
            }
            (state.start, state.start_seen) = (from, false);
        }
        if let Some(until) = window.until.filter(|until| state.end > *until) {
            if state.start >= until {
                return;
            }
            (state.end, state.end_seen) = (until, false);
        }
        self.core.sink.record(Record::State(&state), &self.core.names);
    }

    fn wake(&mut self, wake: &Wake) {
        if self.core.window.holds(wake.time) {
            self.core.sink.record(Record::Wake(wake), &self.core.names);
        }
    }

    fn life(&mut self, life: &ThreadLife) {
        self.core.sink.record(Record::Life(life), &self.core.names);
    }

    fn contradiction(&mut self) {
        self.core.diags.count(&codes::SWITCH_MISMATCH, 1);
    }

    fn left_cpu(&mut self, thread: ThreadId, time: Tick) -> Option<FuncId> {
        let stack = self.stacks.grow_to(thread);
        stack.switched_out(time);
        stack.open_funcs().next()
    }

    fn back_on_cpu(&mut self, thread: ThreadId, time: Tick) {
        self.stacks.grow_to(thread).switched_in(self.core, time);
    }

    fn lost_track(&mut self, thread: ThreadId) {
        self.stacks.grow_to(thread).lost_track();
    }

    fn ran_since(&self, thread: ThreadId) -> Option<Stamp> {
        let stack = self.stacks.get(thread)?;
        Some(Stamp { time: stack.begin?, cpu: stack.cpu })
    }

    fn is_idle(&self, thread: ThreadId) -> bool {
        self.core.names.threads[thread].idle
    }

    fn first(&self) -> Tick {
        self.first
    }
}
