//! Schedules: how long threads ran, waited for a CPU and were blocked, who woke them, and how busy
//! the CPUs were.
//!
//! Everything here follows from [`profctl_model::ThreadState`]. The states of a thread sum to its
//! life within the window; for each CPU busy, idle and unknown sum to the window, because a CPU
//! runs one thread at a time. Interrupts run on the thread that they interrupted: their time lies
//! within running time and is a column beside it.
//!
//! *Latency* is the time from a waking to the switch that brings the woken thread in, for threads
//! that were blocked; the first run of a new thread is not among them. The *run queue* of a CPU are
//! the threads that are runnable there and do not run.

mod cpus;
mod json;
mod latency;
mod off_cpu;
#[cfg(test)]
mod tests;
mod threads;
mod tick;
mod wakers;
pub mod whatif;

use profctl_model::{
    Cell, CpuId, FuncKind, IdVec, Names, RunState, Thread, ThreadId, ThreadState, Tick, Ticks,
    Trace, Waker, WakerContext,
};

use crate::summarize::Quality;

pub use cpus::{CpuRow, depth};
pub use latency::histogram;
pub(crate) use off_cpu::OpenCalls;
pub use off_cpu::off_cpu;
pub use threads::{Latency, ThreadRow};
pub use tick::sampled;
pub(crate) use wakers::name as waker_name;
pub use wakers::wakers;

/// Which rows are wanted.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Threads.
    pub thread: &'a dyn Fn(&Thread) -> bool,
    /// CPUs, by number.
    pub cpu: &'a dyn Fn(u32) -> bool,
}

impl Rows<'_> {
    /// All of them.
    pub const ALL: Rows<'static> = Rows { thread: &|_| true, cpu: &|_| true };
}

/// The schedule of one trace.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The window: from the first time of the trace to the last.
    pub start: Tick,
    /// See `start`.
    pub end: Tick,
    /// Threads but for idle tasks, the one that ran longest first.
    pub threads: Vec<ThreadRow>,
    /// CPUs, by number.
    pub cpus: Vec<CpuRow>,
}

/// What to do where threads are asked for and no context switch was recorded.
pub(crate) const RECORD_SWITCHES: &str = "record context switches and wakeups too, on Linux `-e sched:sched_switch -e \
     sched:sched_waking`; docs/recording.md has the flags of other tracers";

/// Fails, with what to record, if the trace does not say what threads were doing.
pub fn of(trace: &Trace) -> Result<Schedule, String> {
    if trace.states.is_empty() {
        return Err(RECORD_SWITCHES.into());
    }
    let interrupts = interrupts(trace);
    let (start, end) = (trace.meta.first, trace.meta.last);
    let threads = threads::rows(trace, &interrupts);
    let cpus = cpus::rows(trace, &interrupts);
    Ok(Schedule { start, end, threads, cpus })
}

/// An interval in which an interrupt was served that hit no other one of its kind.
#[derive(Clone, Copy, Debug)]
struct Interrupt {
    thread: ThreadId,
    cpu: Option<CpuId>,
    elapsed: Ticks,
    is_soft: bool,
    /// Whether it interrupted another interrupt, within whose time it lies.
    is_inner: bool,
}

fn interrupts(trace: &Trace) -> Vec<Interrupt> {
    let spans = &trace.spans;
    let mut found = Vec::new();
    // The interrupts that are open around a row: depth, and whether soft.
    let mut open: Vec<(u32, bool)> = Vec::new();
    let mut last = None;
    for id in spans.ids() {
        let row = id.index();
        if last != Some(spans.thread[row]) {
            last = Some(spans.thread[row]);
            open.clear();
        }
        open.retain(|(depth, _)| *depth < spans.depth[row]);
        let func = &trace.names.funcs[spans.func[id]];
        if func.kind != FuncKind::Interrupt {
            continue;
        }
        let is_soft = func.name.starts_with("softirq");
        if open.iter().all(|(_, soft)| *soft != is_soft) {
            found.push(Interrupt {
                thread: spans.thread[row],
                cpu: spans.cpu[row],
                elapsed: spans.elapsed(id),
                is_soft,
                is_inner: !open.is_empty(),
            });
        }
        open.push((spans.depth[row], is_soft));
    }
    found
}

/// What ended a wait, where that was no thread: `irq:NAME`, `softirq:ACTION`, `timer`, `hardirq`,
/// `softirq`, `idle-loop`. Nothing if a thread did it, or if it is unknown.
pub(crate) fn source(waker: &Waker, names: &Names) -> Option<String> {
    let handler = waker.interrupt.map(|func| names.funcs[func].name.as_str());
    match waker.context {
        WakerContext::SoftIrq => {
            Some(handler.filter(|name| name.starts_with("softirq:")).unwrap_or("softirq").into())
        }
        WakerContext::HardIrq | WakerContext::HardAndSoftIrq => Some(match handler {
            Some(name) if name.starts_with("irq:") => name.into(),
            Some(name) if name.contains("timer") && !name.starts_with("softirq") => "timer".into(),
            _ => "hardirq".into(),
        }),
        WakerContext::Task | WakerContext::Unknown => {
            let is_idle = waker.thread.is_some_and(|thread| names.threads[thread].idle);
            is_idle.then(|| "idle-loop".into())
        }
    }
}

/// What a wait in a call was for, if no thread ended it: [`source`], or the timer where the call
/// sleeps and the interrupt that ended that is not named.
pub(crate) fn source_of_wait(
    waker: &Waker,
    reason: Option<profctl_model::FuncId>,
    names: &Names,
) -> Option<String> {
    const SLEEPS: [&str; 4] = ["nanosleep", "clock_nanosleep", "do_nanosleep", "hrtimer_nanosleep"];
    const PREFIXES: [&str; 3] = ["__x64_sys_", "__arm64_sys_", "__riscv_sys_"];
    let source = source(waker, names)?;
    let is_unnamed = matches!(source.as_str(), "hardirq" | "idle-loop");
    let sleeps = reason.is_some_and(|func| {
        let name = names.funcs[func].name.as_str();
        let plain = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
        SLEEPS.contains(&plain.unwrap_or(name))
    });
    Some(if is_unnamed && sleeps { "timer".into() } else { source })
}

/// The thread that woke another, if it was one.
pub(crate) fn waker_thread(waker: &Waker, names: &Names) -> Option<ThreadId> {
    waker
        .thread
        .filter(|thread| waker.context == WakerContext::Task && !names.threads[*thread].idle)
}

/// The states of each thread that has any, in order.
pub(crate) fn by_thread(states: &[ThreadState]) -> impl Iterator<Item = &[ThreadState]> {
    states.chunk_by(|a, b| a.thread == b.thread)
}

/// How long something was in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums([u64; RunState::ALL.len()]);

impl Sums {
    fn add(&mut self, state: RunState, length: Ticks) {
        let sum = &mut self.0[state as usize];
        *sum = sum.saturating_add(length.0);
    }

    /// The time in one state.
    pub fn of(&self, state: RunState) -> Ticks {
        Ticks(self.0[state as usize])
    }

    /// The time waiting for a CPU.
    pub fn runnable(&self) -> Ticks {
        let states = [RunState::RunnableWoken, RunState::RunnablePreempted, RunState::RunnableNew];
        states.into_iter().fold(Ticks(0), |sum, state| sum + self.of(state))
    }

    /// The time blocked.
    pub fn blocked(&self) -> Ticks {
        let states = [RunState::Sleeping, RunState::Uninterruptible, RunState::Stopped];
        states.into_iter().fold(Ticks(0), |sum, state| sum + self.of(state))
    }
}

fn percent(part: Ticks, whole: Ticks) -> Cell {
    match whole.0 {
        0 => Cell::Null,
        whole => Cell::Percent(part.0 as f64 / whole as f64 * 100.0),
    }
}

/// The notes below every table.
fn notes(trace: &Trace) -> Vec<String> {
    let mut notes = Vec::new();
    let mut told: IdVec<ThreadId, bool> = IdVec::default();
    let mut woken = 0_usize;
    for wake in &trace.wakes {
        woken += 1;
        *told.grow_to(wake.woken) |= wake.waker.thread.is_some();
    }
    if woken == 0 {
        notes.push(
            "no sched_waking in this trace: time waiting for a CPU after a wakeup counts as \
             blocked; record `-e sched:sched_waking`"
                .into(),
        );
    } else if told.iter().all(|told| !told) {
        notes.push(
            "sched_wakeup without sched_waking: wakers are unknown; record `-e \
             sched:sched_waking`"
                .into(),
        );
    }
    notes.extend(Quality::of(&trace.meta.diags).notes(trace.meta.timebase.timeline));
    notes
}
