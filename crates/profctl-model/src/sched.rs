//! Thread states: running, runnable, blocked, and who woke whom.

use crate::id::{CpuId, FuncId, IdVec, ThreadId};
use crate::time::{Tick, Ticks};

/// The state of a thread according to the scheduler records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RunState {
    /// On a CPU.
    Running,
    /// Waiting for a CPU after having been woken.
    RunnableWoken,
    /// Waiting for a CPU that it had to leave, or gave up, while it could have run on.
    RunnablePreempted,
    /// Waiting for a CPU for the first time, since it was created.
    RunnableNew,
    /// Interruptible sleep.
    Sleeping,
    /// Uninterruptible sleep, usually for a device.
    Uninterruptible,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// Exited.
    Dead,
    /// The records do not say: before the first record of a thread, and after lost ones.
    #[default]
    Unknown,
}

impl RunState {
    /// Every state, in the order of tables.
    pub const ALL: [Self; 9] = [
        Self::Running,
        Self::RunnableWoken,
        Self::RunnablePreempted,
        Self::RunnableNew,
        Self::Sleeping,
        Self::Uninterruptible,
        Self::Stopped,
        Self::Dead,
        Self::Unknown,
    ];

    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::RunnableWoken => "runnable-woken",
            Self::RunnablePreempted => "runnable-preempted",
            Self::RunnableNew => "runnable-new",
            Self::Sleeping => "sleeping",
            Self::Uninterruptible => "uninterruptible",
            Self::Stopped => "stopped",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the thread waits for a CPU and for nothing else.
    pub fn is_runnable(self) -> bool {
        matches!(self, Self::RunnableWoken | Self::RunnablePreempted | Self::RunnableNew)
    }

    /// Whether the thread waits for something that is not a CPU.
    pub fn is_blocked(self) -> bool {
        matches!(self, Self::Sleeping | Self::Uninterruptible | Self::Stopped)
    }
}

/// What the CPU that woke a thread was doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum WakerContext {
    /// The input does not say.
    #[default]
    Unknown,
    /// Running the thread that is named as the waker.
    Task,
    /// Serving a hardware interrupt: the thread there was merely interrupted.
    HardIrq,
    /// Serving a software interrupt, likewise.
    SoftIrq,
    /// Serving a hardware interrupt that interrupted a software interrupt.
    HardAndSoftIrq,
}

impl WakerContext {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Task => "task",
            Self::HardIrq => "hardirq",
            Self::SoftIrq => "softirq",
            Self::HardAndSoftIrq => "hardirq-in-softirq",
        }
    }

    /// Whether an interrupt was being served.
    pub fn is_interrupt(self) -> bool {
        matches!(self, Self::HardIrq | Self::SoftIrq | Self::HardAndSoftIrq)
    }
}

/// Who made a thread runnable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Waker {
    /// The thread on whose CPU it was recorded, if the input says. It is the waker only if the
    /// context is [`WakerContext::Task`].
    pub thread: Option<ThreadId>,
    /// The CPU on which it was recorded.
    pub cpu: Option<CpuId>,
    /// What that CPU was doing.
    pub context: WakerContext,
    /// The innermost interrupt handler open on that CPU.
    pub interrupt: Option<FuncId>,
}

/// An interval of time in which a thread was in one state.
///
/// The states of a thread follow one another without a gap, from the beginning of the window (or
/// the thread's creation) to its end (or the thread's death, after which it is
/// [`RunState::Dead`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadState {
    /// The thread.
    pub thread: ThreadId,
    /// Its state.
    pub state: RunState,
    /// Start.
    pub start: Tick,
    /// End, exclusive; after `start`.
    pub end: Tick,
    /// Running: the CPU it ran on. Runnable: the CPU it was queued on, or had left. Else: the CPU
    /// it had left. Nothing where the input does not say.
    pub cpu: Option<CpuId>,
    /// [`RunState::RunnableWoken`] and [`RunState::RunnableNew`]: who made it runnable.
    pub waker: Option<Waker>,
    /// Off the CPU: the innermost call that was open when it left, which is where it waits.
    pub wait_reason: Option<FuncId>,
    /// Whether the record that began this state was seen, within the window that was asked for.
    pub start_seen: bool,
    /// Whether the record that ended it was.
    pub end_seen: bool,
}

impl ThreadState {
    /// How long it lasted.
    pub fn length(&self) -> Ticks {
        self.end - self.start
    }
}

/// The effect of a wakeup.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WakeEffect {
    /// The thread was blocked and became runnable.
    Woke,
    /// The thread had just been created.
    Started,
    /// The thread was running, runnable or dead: nothing changed.
    Redundant,
}

impl WakeEffect {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Woke => "woke",
            Self::Started => "started",
            Self::Redundant => "redundant",
        }
    }
}

/// A thread, or an interrupt, tried to make a thread runnable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// Time.
    pub time: Tick,
    /// The waker.
    pub waker: Waker,
    /// The thread to become runnable.
    pub woken: ThreadId,
    /// Its effect.
    pub effect: WakeEffect,
}

/// When a thread was created and when it exited, as far as that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadLife {
    /// The thread.
    pub thread: ThreadId,
    /// Who created it.
    pub parent: Option<ThreadId>,
    /// When it was created.
    pub created: Option<Tick>,
    /// When it asked to exit; it ran a little longer.
    pub exited: Option<Tick>,
    /// Wakings that changed nothing.
    pub redundant_wakings: u64,
}

/// An interval in which a thread ran, and what it did next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The thread.
    pub thread: ThreadId,
    /// The CPU, if known.
    pub cpu: Option<CpuId>,
    /// Start.
    pub start: Tick,
    /// End.
    pub end: Tick,
    /// What it did next; nothing if that was not seen, and for idle tasks.
    pub then: Option<RunState>,
}

/// The turns in `states`, which are in time order at least thread by thread. Turns come in the
/// order of their beginnings.
pub fn turns(states: &[ThreadState]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut latest: IdVec<ThreadId, Option<usize>> = IdVec::default();
    for state in states {
        let latest = latest.grow_to(state.thread);
        if let Some(turn) = latest.take() {
            turns[turn].then = Some(state.state);
        }
        if state.state == RunState::Running {
            *latest = Some(turns.len());
            let ThreadState { thread, cpu, start, end, .. } = *state;
            turns.push(Turn { thread, cpu, start, end, then: None });
        }
    }
    turns.sort_by_key(|turn| (turn.start, turn.end, turn.thread));
    turns
}
