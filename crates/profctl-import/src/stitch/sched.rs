//! What threads were doing: switches, wakings, creations and exits turned into intervals.
//!
//! The one place that decides in which state a thread is, whatever the source: a kernel's scheduler
//! events, a BSD's context switch records, a tracing RTOS, a probe's switch tag. What is off the CPU
//! follows from here and from nothing else.
//!
//! - A thread runs from the switch that brings it in to the switch that takes it out.
//! - A waking makes a blocked thread runnable. One of a thread that runs or is runnable changes
//!   nothing, unless it races with the switch that takes the thread out: then a wakeup (or a switch
//!   in) follows without another waking, and the thread was runnable from that switch on.
//! - States without a record are unknown: the time before the first record of a thread; the time
//!   after lost records, for threads that ran, waited or had last run on the CPU concerned; an
//!   interval at whose end a record contradicts its beginning.
//! - Idle tasks only run; between that they are in no state.

mod feed;
mod output;
mod serving;
#[cfg(test)]
mod tests;

use profctl_model::{
    CpuId, FuncId, IdVec, RunState, ThreadId, ThreadLife, ThreadState, Tick, Wake, WakeEffect,
    Waker, WakerContext,
};

pub(super) use feed::state_after;
pub(super) use output::ToSink;
pub(super) use serving::Serving;

/// Where the state machine writes to, and what it asks of the stacks.
pub(super) trait Output {
    /// A state has ended.
    fn state(&mut self, state: &ThreadState);
    /// A waking is decided.
    fn wake(&mut self, wake: &Wake);
    /// All is known of a thread.
    fn life(&mut self, life: &ThreadLife);
    /// A record contradicts earlier ones.
    fn contradiction(&mut self);
    /// A thread left the CPU. Says which of its calls is the innermost one open.
    fn left_cpu(&mut self, thread: ThreadId, time: Tick) -> Option<FuncId>;
    /// It is back.
    fn back_on_cpu(&mut self, thread: ThreadId, time: Tick);
    /// Whether it is on a CPU is not known any more.
    fn lost_track(&mut self, thread: ThreadId);
    /// The first call record that a thread made itself since nothing was lost of it, and where.
    fn ran_since(&self, thread: ThreadId) -> Option<Stamp>;
    /// Whether it is an idle task.
    fn is_idle(&self, thread: ThreadId) -> bool;
    /// The first time of the trace.
    fn first(&self) -> Tick;
}

/// When and where something is recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) time: Tick,
    pub(super) cpu: Option<CpuId>,
}

/// The states of the threads of a trace.
#[derive(Debug, Default)]
pub(super) struct Sched {
    tasks: IdVec<ThreadId, Option<Task>>,
    cpus: IdVec<CpuId, Cpu>,
    /// Records of threads themselves that are not calls: the first since something was lost.
    noticed: IdVec<ThreadId, Option<Stamp>>,
    /// The latest loss on any CPU.
    lost: Tick,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    running: Option<ThreadId>,
    /// The latest switch, or the latest loss.
    since: Tick,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    state: RunState,
    since: Tick,
    /// Records from here on say what it does.
    watched_since: Tick,
    /// Whether a record began it.
    start_seen: bool,
    cpu: Option<CpuId>,
    waker: Option<Waker>,
    wait_reason: Option<FuncId>,
    /// A waking that came before the thread had left its CPU.
    early: Option<(Tick, Waker)>,
    is_idle: bool,
    life: ThreadLife,
}

/// A state to come.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    state: RunState,
    cpu: Option<CpuId>,
    waker: Option<Waker>,
    wait_reason: Option<FuncId>,
}

impl Sched {
    /// A thread made a record that is not a call.
    pub(super) fn notice(&mut self, thread: ThreadId, at: Stamp) {
        let lost = self.lost;
        let noticed = self.noticed.grow_to(thread);
        if noticed.is_none_or(|first| first.time < lost) {
            *noticed = Some(at);
        }
    }

    /// Stamp a switch `prev` leaves the CPU to be in a state from then on, and `next` gets it. A
    /// record with one half of a switch leaves the other unset.
    pub(super) fn switch(
        &mut self,
        at: Stamp,
        prev: Option<(ThreadId, RunState)>,
        next: Option<ThreadId>,
        out: &mut impl Output,
    ) {
        let leaving = prev.map(|(thread, _)| thread);
        if leaving.is_some() && leaving == next {
            return;
        }
        let running = at.cpu.and_then(|cpu| self.cpus.grow_to(cpu).running);
        if let Some(running) = running
            && leaving.is_some()
            && leaving != Some(running)
            && next != Some(running)
        {
            self.contradict(running, out);
        }
        if let Some((thread, state)) = prev {
            self.leave(thread, state, at, out);
        }
        if let Some(thread) = next {
            self.enter(thread, at, out);
        }
        if let Some(cpu) = at.cpu {
            *self.cpus.grow_to(cpu) = Cpu { running: next, since: at.time };
        }
    }

    fn leave(&mut self, thread: ThreadId, state: RunState, at: Stamp, out: &mut impl Output) {
        self.learn_running(thread, at.time, out);
        let task = self.task(thread, out);
        let elsewhere = task.cpu.is_some() && at.cpu.is_some() && task.cpu != at.cpu;
        match task.state {
            RunState::Running if !elsewhere => {}
            RunState::Unknown => {}
            _ => self.contradict(thread, out),
        }
        let wait_reason = out.left_cpu(thread, at.time);
        let task = self.task(thread, out);
        let cpu = at.cpu.or(task.cpu);
        task.change(at.time, Next { state, cpu, wait_reason, waker: None }, true, out);
        if !state.is_blocked() {
            task.refuse_early(out);
        }
    }

    fn enter(&mut self, thread: ThreadId, at: Stamp, out: &mut impl Output) {
        let task = self.task(thread, out);
        if task.state == RunState::Running {
            self.contradict(thread, out);
        }
        let task = self.task(thread, out);
        if task.state.is_blocked() {
            task.accept_early(None, out);
        }
        task.refuse_early(out);
        task.change(
            at.time,
            Next { state: RunState::Running, cpu: at.cpu, ..Next::default() },
            true,
            out,
        );
        out.back_on_cpu(thread, at.time);
    }

    /// `waker` makes `thread` runnable.
    pub(super) fn waking(
        &mut self,
        at: Stamp,
        thread: ThreadId,
        target: Option<CpuId>,
        waker: Waker,
        out: &mut impl Output,
    ) {
        self.learn_running(thread, at.time, out);
        let task = self.task(thread, out);
        match task.state {
            RunState::Running => {
                task.refuse_early(out);
                task.early = Some((at.time, waker));
            }
            RunState::Dead => {}
            state if state.is_runnable() => {
                task.life.redundant_wakings += 1;
                out.wake(&task.woken(at.time, waker, WakeEffect::Redundant));
            }
            _ => task.make_runnable(at.time, target, waker, out),
        }
    }

    /// `thread` was queued on its new CPU. The thread on that CPU is not necessarily the cause; a
    /// waking before it says who.
    pub(super) fn wakeup(
        &mut self,
        at: Stamp,
        thread: ThreadId,
        target: Option<CpuId>,
        out: &mut impl Output,
    ) {
        self.learn_running(thread, at.time, out);
        let task = self.task(thread, out);
        match task.state {
            RunState::Running => task.refuse_early(out),
            RunState::Dead => {}
            state if state.is_runnable() => task.cpu = target.or(task.cpu),
            state if state.is_blocked() && task.early.is_some() => task.accept_early(target, out),
            _ => task.make_runnable(at.time, target, Waker::default(), out),
        }
    }

    /// `thread`, which was just created, was queued for the first time.
    pub(super) fn wakeup_new(
        &mut self,
        at: Stamp,
        thread: ThreadId,
        target: Option<CpuId>,
        waker: Waker,
        out: &mut impl Output,
    ) {
        let is_new = self.tasks.get(thread).is_none_or(Option::is_none);
        let task = self.task(thread, out);
        match task.state {
            RunState::RunnableNew => task.cpu = target.or(task.cpu),
            RunState::Unknown | RunState::Dead => {
                if is_new {
                    // Nothing was there before it.
                    task.since = at.time;
                    task.life.created = Some(at.time);
                }
                let (state, cpu) = (RunState::RunnableNew, target.or(task.cpu));
                let next = Next { state, cpu, waker: Some(waker), wait_reason: None };
                task.change(at.time, next, true, out);
            }
            _ => return,
        }
        out.wake(&task.woken(at.time, waker, WakeEffect::Started));
    }

    /// `child` was created by `parent`.
    pub(super) fn fork(
        &mut self,
        at: Stamp,
        parent: Option<ThreadId>,
        child: ThreadId,
        out: &mut impl Output,
    ) {
        let is_new = self.tasks.get(child).is_none_or(Option::is_none);
        let task = self.task(child, out);
        if is_new {
            // Nothing was there before it.
            task.since = at.time;
        } else if task.state == RunState::Dead {
            // Another thread with the number of a dead one.
            task.close(at.time, true, out);
            out.life(&task.life);
            task.life = ThreadLife { redundant_wakings: 0, exited: None, ..task.life };
            (task.state, task.since) = (RunState::Unknown, at.time);
        }
        task.life.parent = parent;
        task.life.created = Some(at.time);
        if task.state == RunState::Unknown {
            let context = WakerContext::Task;
            let waker = Waker { thread: parent, cpu: at.cpu, context, interrupt: None };
            let state = RunState::RunnableNew;
            let next = Next { state, cpu: at.cpu, waker: Some(waker), wait_reason: None };
            task.change(at.time, next, true, out);
        }
    }

    /// `thread` asked to exit; it runs until it is switched out.
    pub(super) fn exit(&mut self, at: Stamp, thread: ThreadId, out: &mut impl Output) {
        self.learn_running(thread, at.time, out);
        self.task(thread, out).life.exited = Some(at.time);
    }

    /// Records of a CPU, or of any, were lost at a time.
    pub(super) fn gap(&mut self, at: Stamp, out: &mut impl Output) {
        let concerns = |cpu: Option<CpuId>| at.cpu.is_none() || cpu.is_none() || cpu == at.cpu;
        for task in self.tasks.iter_mut().flatten() {
            if concerns(task.cpu) && !matches!(task.state, RunState::Dead | RunState::Unknown) {
                task.early = None;
                task.change(at.time, Next { cpu: task.cpu, ..Next::default() }, false, out);
                out.lost_track(task.life.thread);
            }
            if concerns(task.cpu) {
                task.watched_since = at.time;
            }
        }
        self.lost = self.lost.max(at.time);
        let lost = Cpu { running: None, since: at.time };
        match at.cpu {
            Some(cpu) => *self.cpus.grow_to(cpu) = lost,
            None => self.cpus.iter_mut().for_each(|cpu| *cpu = lost),
        }
    }

    /// The input ends.
    pub(super) fn finish(&mut self, last: Tick, out: &mut impl Output) {
        for task in self.tasks.iter_mut().flatten() {
            task.refuse_early(out);
            task.close(last, false, out);
            if !task.is_idle {
                out.life(&task.life);
            }
        }
    }

    /// The thread did not do what was thought since its state began.
    fn contradict(&mut self, thread: ThreadId, out: &mut impl Output) {
        let task = self.task(thread, out);
        if !task.is_idle {
            out.contradiction();
        }
        let task = self.task(thread, out);
        if task.state == RunState::Running
            && let Some(cpu) = task.cpu
        {
            let cpu = self.cpus.grow_to(cpu);
            if cpu.running == Some(thread) {
                cpu.running = None;
            }
        }
        let task = self.task(thread, out);
        task.early = None;
        (task.state, task.waker, task.wait_reason) = (RunState::Unknown, None, None);
        out.lost_track(thread);
    }

    /// A thread whose state is not known, which has records on the CPU after the last switch there,
    /// runs.
    fn learn_running(&mut self, thread: ThreadId, time: Tick, out: &mut impl Output) {
        let task = self.task(thread, out);
        if task.state != RunState::Unknown {
            return;
        }
        let earliest = task.since.max(task.watched_since);
        let noticed = self.noticed.get(thread).copied().flatten();
        let records = [out.ran_since(thread), noticed].into_iter().flatten();
        let first = records.filter(|record| (earliest..=time).contains(&record.time));
        let Some(first) = first.min_by_key(|record| record.time) else { return };
        let cpu = first.cpu.map(|cpu| *self.cpus.grow_to(cpu)).unwrap_or_default();
        if cpu.running.is_some() || cpu.since > first.time {
            return;
        }
        let next = Next { state: RunState::Running, cpu: first.cpu, ..Next::default() };
        self.task(thread, out).change(first.time, next, false, out);
        if let Some(cpu) = first.cpu {
            self.cpus.grow_to(cpu).running = Some(thread);
        }
    }

    fn task(&mut self, thread: ThreadId, out: &impl Output) -> &mut Task {
        self.tasks.grow_to(thread).get_or_insert_with(|| Task {
            state: RunState::Unknown,
            since: out.first(),
            watched_since: Tick(0),
            start_seen: false,
            cpu: None,
            waker: None,
            wait_reason: None,
            early: None,
            is_idle: out.is_idle(thread),
            life: ThreadLife {
                thread,
                parent: None,
                created: None,
                exited: None,
                redundant_wakings: 0,
            },
        })
    }
}

impl Task {
    /// Ends the state at `time`. What is unknown and has no length is not worth a word.
    fn close(&mut self, time: Tick, end_seen: bool, out: &mut impl Output) {
        let end = time.max(self.since);
        let is_nothing = self.state == RunState::Unknown && end == self.since;
        let is_between = self.is_idle && self.state != RunState::Running;
        if is_nothing || is_between {
            return;
        }
        out.state(&ThreadState {
            thread: self.life.thread,
            state: self.state,
            start: self.since,
            end,
            cpu: self.cpu.filter(|_| self.state != RunState::Unknown),
            waker: self.waker,
            wait_reason: self.wait_reason,
            start_seen: self.start_seen,
            end_seen,
        });
    }

    fn change(&mut self, time: Tick, next: Next, seen: bool, out: &mut impl Output) {
        self.close(time, seen, out);
        self.since = time.max(self.since);
        self.start_seen = seen;
        let Next { state, cpu, waker, wait_reason } = next;
        (self.state, self.cpu, self.waker, self.wait_reason) = (state, cpu, waker, wait_reason);
    }

    fn woken(&self, time: Tick, waker: Waker, effect: WakeEffect) -> Wake {
        Wake { time, waker, woken: self.life.thread, effect }
    }

    /// A blocked thread, or one of which nothing is known, is to run again.
    fn make_runnable(
        &mut self,
        time: Tick,
        target: Option<CpuId>,
        waker: Waker,
        out: &mut impl Output,
    ) {
        self.refuse_early(out);
        let (state, cpu) = (RunState::RunnableWoken, target.or(self.cpu));
        self.change(time, Next { state, cpu, waker: Some(waker), wait_reason: None }, true, out);
        out.wake(&self.woken(time, waker, WakeEffect::Woke));
    }

    /// The early waking had an effect: the thread was runnable as soon as it had left its CPU.
    fn accept_early(&mut self, target: Option<CpuId>, out: &mut impl Output) {
        let Some((time, waker)) = self.early.take() else { return };
        let (state, cpu) = (RunState::RunnableWoken, target.or(self.cpu));
        let next = Next { state, cpu, waker: Some(waker), wait_reason: None };
        self.change(self.since, next, true, out);
        out.wake(&self.woken(time, waker, WakeEffect::Woke));
    }

    /// The early waking had none.
    fn refuse_early(&mut self, out: &mut impl Output) {
        let Some((time, waker)) = self.early.take() else { return };
        self.life.redundant_wakings += 1;
        out.wake(&self.woken(time, waker, WakeEffect::Redundant));
    }
}
