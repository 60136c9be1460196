//! Scheduler events as the stitcher meets them, on their way to the state machine.

use profctl_model::{FuncId, FuncKind, RunState, SpanSink, ThreadId, Tick, Waker, WakerContext};

use super::{Sched, Stamp, ToSink};
use crate::emit::{PrevState, Waking, WakingKind};
use crate::stitch::Stitcher;
use crate::stitch::lanes::Lane;

/// The state of a thread that left its CPU. A letter that is not known says nothing.
pub(in crate::stitch) fn state_after(left: PrevState) -> RunState {
    match left {
        PrevState::Runnable | PrevState::Preempted => RunState::RunnablePreempted,
        PrevState::Sleeping => RunState::Sleeping,
        PrevState::Uninterruptible => RunState::Uninterruptible,
        PrevState::Stopped => RunState::Stopped,
        PrevState::Dead => RunState::Dead,
        PrevState::Unknown(_) => RunState::Unknown,
    }
}

impl<S: SpanSink> Stitcher<S> {
    /// What keeps the states of threads, and where they go.
    pub(in crate::stitch) fn scheduler(&mut self) -> (&mut Sched, ToSink<'_, S>) {
        let first = self.clock.bounds().unwrap_or_default().0;
        let Self { core, stacks, sched, .. } = self;
        (sched, ToSink { core, stacks, first })
    }

    /// A thread made a record that is not a call: it ran then, and its open calls were still open.
    pub(in crate::stitch) fn notice(&mut self, thread: ThreadId, at: Stamp) {
        self.sched.notice(thread, at);
        self.stacks.grow_to(thread).still_there(at.time);
    }

    /// A switch with a time: `to` gets the CPU, and what is open on the thread that left is off it
    /// until that one is back.
    pub(in crate::stitch) fn switch(
        &mut self,
        time: Tick,
        to: Lane,
        from: Option<(Lane, RunState)>,
    ) {
        self.core.knows_off_cpu = true;
        let left = from.and_then(|(lane, state)| Some((lane.thread?, state)));
        if let Some((thread, _)) = left {
            let stack = self.stacks.grow_to(thread);
            stack.cpu = to.cpu.or(stack.cpu);
        }
        self.serving.clear(to.cpu);
        let (sched, mut out) = self.scheduler();
        sched.switch(Stamp { time, cpu: to.cpu }, left, to.thread, &mut out);
    }

    /// The thread on `lane`, or an interrupt of it, makes `woken` runnable.
    pub(in crate::stitch) fn wake(&mut self, at: Stamp, lane: Lane, woken: ThreadId, packed: u64) {
        let Waking { kind, target_cpu, context } = Waking::unpack(packed);
        let thread = self.thread_of(lane);
        self.notice(thread, at);
        let target = target_cpu.map(|number| self.core.names.cpu(number));
        let funcs = &self.core.names.funcs;
        let is_interrupt = |func: &FuncId| funcs[*func].kind == FuncKind::Interrupt;
        let interrupt = self.stacks.grow_to(thread).open_funcs().find(is_interrupt);
        let interrupt = self.serving.on(at.cpu).or(interrupt);
        let context = match (context, interrupt) {
            (WakerContext::Unknown, Some(func)) if funcs[func].name.starts_with("softirq") => {
                WakerContext::SoftIrq
            }
            (WakerContext::Unknown, Some(_)) => WakerContext::HardIrq,
            // The idle task wakes no thread except from its idle loop; its interrupts do.
            (WakerContext::Unknown, None) if !self.core.names.threads[thread].idle => {
                WakerContext::Task
            }
            (context, _) => context,
        };
        let interrupt = interrupt.filter(|_| context != WakerContext::Task);
        let waker = Waker { thread: Some(thread), cpu: at.cpu, context, interrupt };
        let (sched, mut out) = self.scheduler();
        match kind {
            WakingKind::Waking => sched.waking(at, woken, target, waker, &mut out),
            WakingKind::Wakeup => sched.wakeup(at, woken, target, &mut out),
            WakingKind::WakeupNew => sched.wakeup_new(at, woken, target, waker, &mut out),
        }
    }
}
