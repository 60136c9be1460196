//! The clock of a trace: what events carry, turned into times.

use profctl_model::{CpuId, IdVec, Tick, Ticks, Timeline};

use super::Setup;
use crate::emit::{Event, EventKind, UNSTATED};

/// Turns what events carry into times.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pub(super) synthetic: bool,
    /// The mask of a wrapping counter, its last value and the unfolded time of that.
    pub(super) counter: Option<(u64, Option<u64>, u64)>,
    /// The first and last time met, on a recorded timeline.
    pub(super) span: Option<(Tick, Tick)>,
    /// For synthetic timelines: how far each CPU has come; row 0 is "no CPU".
    laid: Vec<Tick>,
    /// For recorded ones: the latest time of each CPU.
    seen: IdVec<CpuId, Option<Tick>>,
}

impl Clock {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            synthetic: setup.timebase.timeline == Timeline::Synthetic,
            counter: setup.counter_bits.map(|bits| {
                let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
                (mask, None, 0)
            }),
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn time(&mut self, event: &Event, cpu: Option<CpuId>) -> Tick {
        if self.synthetic {
            return self.laid(cpu);
        }
        if event.time == UNSTATED {
            return self.latest(event);
        }
        let ticks = match &mut self.counter {
            None => event.time,
            Some((mask, last, unfolded)) => {
                // A modular difference: right as long as no pause is longer than one period.
                let step = last.map_or(event.time & *mask, |l| event.time.wrapping_sub(l) & *mask);
                *last = Some(event.time);
                *unfolded = unfolded.saturating_add(step);
                *unfolded
            }
        };
        let time = Tick(ticks);
        match &mut self.span {
            Some((first, last)) if time >= *first => *last = time.max(*last),
            _ => self.begin(time),
        }
        self.see(cpu, time);
        time
    }

    /// A CPU was at work at `time`.
    #[inline]
    fn see(&mut self, cpu: Option<CpuId>, time: Tick) {
        if let Some(cpu) = cpu {
            let seen = self.seen.grow_to(cpu);
            *seen = (*seen).max(Some(time));
        }
    }

    /// The last time known on a CPU, of which `of_stacks` is the latest on its stacks, before a loss
    /// that was recorded in `event`.
    pub(super) fn before_loss(
        &self,
        event: &Event,
        cpu: Option<CpuId>,
        of_stacks: Option<Tick>,
    ) -> Tick {
        let Some(of_cpu) = cpu.filter(|_| !self.synthetic) else { return self.laid(cpu) };
        let seen = self.seen.get(of_cpu).copied().flatten();
        let stated = (event.time != UNSTATED && self.counter.is_none()).then_some(Tick(event.time));
        seen.max(of_stacks).or(stated).unwrap_or_else(|| self.laid(None))
    }

    /// The latest time before an event that carries none, else 0. A call at that 0 is part of the
    /// trace, which then begins there.
    #[cold]
    fn latest(&mut self, event: &Event) -> Tick {
        if self.span.is_none()
            && let EventKind::Enter
            | EventKind::Leaf
            | EventKind::Exit
            | EventKind::Return
            | EventKind::SwitchTagEnter
            | EventKind::SwitchTagExit = event.kind
        {
            self.begin(Tick(0));
        }
        self.laid(None)
    }

    #[cold]
    fn begin(&mut self, time: Tick) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }

    /// The row of a CPU in tables of CPUs; row 0 is "no CPU".
    fn row(cpu: Option<CpuId>) -> usize {
        cpu.map_or(0, |cpu| cpu.index() + 1)
    }

    /// How far the clock of a CPU has come.
    #[inline]
    pub(super) fn laid(&self, cpu: Option<CpuId>) -> Tick {
        if !self.synthetic {
            return self.span.map_or(Tick(0), |(_, last)| last);
        }
        self.laid.get(Self::row(cpu)).copied().unwrap_or_default()
    }

    /// The latest time so far; on a synthetic timeline, that of the CPU that is furthest behind.
    pub(super) fn progress(&self) -> Tick {
        if !self.synthetic {
            return self.laid(None);
        }
        match &self.laid[..] {
            [only] => *only,
            // Row 0 is for events without a CPU. It is 0 where there are none.
            [Tick(0), cpus @ ..] | cpus => cpus.iter().copied().min().unwrap_or_default(),
        }
    }

    /// Moves the synthetic clock of a CPU to `time`, if that is ahead.
    #[inline]
    pub(super) fn lay(&mut self, cpu: Option<CpuId>, time: Tick) {
        if !self.synthetic {
            return;
        }
        match self.laid.get_mut(Self::row(cpu)) {
            Some(laid) => *laid = time.max(*laid),
            None => self.lay_first(cpu, time),
        }
    }

    #[cold]
    fn lay_first(&mut self, cpu: Option<CpuId>, time: Tick) {
        self.laid.resize(Self::row(cpu) + 1, Tick(0));
        self.laid[Self::row(cpu)] = time;
    }

    /// Takes a stated end as a timestamp.
    #[inline]
    pub(super) fn reach(&mut self, time: Tick) {
        if let Some((_, last)) = &mut self.span {
            *last = (*last).max(time);
        }
    }

    /// A copy of what the usual events of one CPU need, which [`Self::update`] takes back.
    pub(super) fn local(&self, cpu: Option<CpuId>) -> Option<LocalClock> {
        if self.synthetic {
            return Some(LocalClock::Laid(Laid { now: *self.laid.get(Self::row(cpu))? }));
        }
        let (_, reached) = self.span?;
        match self.counter {
            None => Some(LocalClock::Stamped(Stamped { reached })),
            Some((mask, Some(last), unfolded)) => {
                Some(LocalClock::Counted(Counted { mask, last, now: Tick(unfolded), reached }))
            }
            Some((_, None, _)) => None,
        }
    }

    /// Takes over how far a copy has come, with events of which the last was at `time`.
    pub(super) fn update(&mut self, cpu: Option<CpuId>, local: LocalClock, time: Tick) {
        match local {
            LocalClock::Laid(Laid { now }) => self.lay(cpu, now),
            LocalClock::Stamped(Stamped { reached }) => {
                self.reach(reached);
                self.see(cpu, time);
            }
            LocalClock::Counted(Counted { last, now, reached, .. }) => {
                self.reach(reached);
                self.see(cpu, time);
                if let Some((_, latest, unfolded)) = &mut self.counter {
                    *latest = Some(last);
                    *unfolded = now.0;
                }
            }
        }
    }

    /// The first and the last time of the trace, if it has any.
    pub(super) fn bounds(&self) -> Option<(Tick, Tick)> {
        let laid = self.laid.iter().copied().max().map(|last| (Tick(0), last));
        self.span.or(laid)
    }
}

/// What is needed of a [`Clock`] for the usual events of one CPU, none of which is before the first
/// time of the trace.
#[derive(Clone, Copy, Debug)]
pub(super) enum LocalClock {
    Laid(Laid),
    Stamped(Stamped),
    Counted(Counted),
}

/// What [`Clock::time`], [`Clock::lay`] and [`Clock::reach`] come to for one kind of clock.
pub(super) trait ReadClock: Copy {
    /// Whether an event's time is where its CPU's clock is.
    const IS_LAID: bool;
    /// The time of an event that carries `stated`, unless the event carries none.
    fn peek(self, stated: u64) -> Option<Tick>;
    /// Advances to what [`Self::peek`] said. The event's call lasts until `end`, which counts
    /// as a timestamp if `is_stamp`.
    fn commit(&mut self, stated: u64, time: Tick, end: Tick, is_stamp: bool);
}

/// The time up to which calls were laid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid {
    now: Tick,
}

impl ReadClock for Laid {
    const IS_LAID: bool = true;
    #[inline]
    fn peek(self, _stated: u64) -> Option<Tick> {
        Some(self.now)
    }
    #[inline]
    fn commit(&mut self, _stated: u64, _time: Tick, end: Tick, _is_stamp: bool) {
        self.now = self.now.max(end);
    }
}

/// Events carry their times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    /// The last time of the trace.
    reached: Tick,
}

impl ReadClock for Stamped {
    const IS_LAID: bool = false;
    #[inline]
    fn peek(self, stated: u64) -> Option<Tick> {
        (stated != UNSTATED).then_some(Tick(stated))
    }
    #[inline]
    fn commit(&mut self, _stated: u64, time: Tick, end: Tick, is_stamp: bool) {
        self.reached = self.reached.max(if is_stamp { end } else { time });
    }
}

/// Events carry a counter that wraps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    mask: u64,
    /// Its last value, and the unfolded time of that.
    last: u64,
    now: Tick,
    /// The last time of the trace.
    reached: Tick,
}

impl ReadClock for Counted {
    const IS_LAID: bool = false;
    #[inline]
    fn peek(self, stated: u64) -> Option<Tick> {
        let step = stated.wrapping_sub(self.last) & self.mask;
        (stated != UNSTATED).then_some(self.now + Ticks(step))
    }
    #[inline]
    fn commit(&mut self, stated: u64, time: Tick, end: Tick, is_stamp: bool) {
        (self.last, self.now) = (stated, time);
        self.reached = self.reached.max(if is_stamp { end } else { time });
    }
}
