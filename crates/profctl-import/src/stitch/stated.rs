//! What inputs state that others leave to be found out: how long a call was off the CPU, what a
//! thread is, where a gap was. Exports of our own say such things, so that they read back the same.

use profctl_model::diag::codes;
use profctl_model::{Gap, Record, SpanSink, Tick, Ticks};

use super::lanes::Lane;
use super::stack::Moment;
use super::{BlockView, Stitcher, WorkerIds};
use crate::emit::{Event, ThreadKey, UNSTATED};

impl<S: SpanSink> Stitcher<S> {
    /// The innermost call of a thread ends as its account says.
    #[cold]
    pub(super) fn settle(&mut self, event: &Event, lane: Lane, view: BlockView<'_>) {
        let mut time = self.time(event, lane.cpu);
        let thread = self.thread_of(lane);
        let row = usize::try_from(event.extra).ok();
        let Some(account) = row.and_then(|row| self.accounts.get(row)) else { return };
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
        stack.settle(core, at, account);
        self.clock.lay(lane.cpu, time);
    }

    /// A thread is as the event says, whatever its lane looked like.
    #[cold]
    pub(super) fn describe(&mut self, event: &Event, lane: Lane, ids: &WorkerIds) {
        let Some(thread) = lane.thread else { return };
        let stated = |value: u64| (value != UNSTATED).then_some(value);
        let thread = &mut self.core.names.threads[thread];
        (thread.tid, thread.pid) = (stated(event.duration), stated(event.extra));
        thread.idle = event.depth == 1;
        if let ThreadKey::Member { name, .. } = &ids.lanes[event.lane.0 as usize].thread {
            name.clone_into(&mut thread.name);
        }
    }

    /// The clock was somewhere, or went on.
    #[cold]
    pub(super) fn pass(&mut self, event: &Event, lane: Lane) {
        self.core.knows_off_cpu |= event.extra == 1;
        if event.extra != UNSTATED {
            let time = Tick(event.time);
            let (first, last) = self.clock.stated.unwrap_or((time, time));
            self.clock.stated = Some((first.min(time), last.max(time)));
        }
        let time = self.time(event, lane.cpu);
        if event.duration != UNSTATED {
            self.clock.lay(lane.cpu, time + Ticks(event.duration));
        }
    }

    /// Events were lost, and the calls that were open say so themselves.
    #[cold]
    pub(super) fn stated_gap(&mut self, event: &Event, lane: Lane) {
        let lost = (event.duration != UNSTATED).then_some(event.duration);
        self.core.diags.count(&codes::GAP, 1);
        match lost {
            Some(n) => self.core.diags.count(&codes::LOST_EVENTS, n),
            None => self.core.diags.count(&codes::LOST_UNKNOWN, 1),
        }
        let gap = Gap { time: Tick(event.time), cpu: lane.cpu, lost };
        self.core.sink.record(Record::Gap(&gap), &self.core.names);
    }
}
