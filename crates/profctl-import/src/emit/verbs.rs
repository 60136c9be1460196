//! The verbs with which a reader says what a record is. Each takes what it needs and nothing else,
//! so a record that is invalid cannot be built.

use profctl_model::Fidelity;

use super::event::unseen::{AT_GAP, ENTRY, EXIT, STATED};
use super::event::{Event, EventKind, NO_DEPTH, UNSTATED};
use super::{Emitter, LaneRef, NameRef, PrevState, Waking};

/// When and on whom something happened, and where the record stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Ticks of the stream's clock (the raw counter, if it wraps), if the record says.
    pub time: Option<u64>,
    /// The CPU and the thread.
    pub lane: LaneRef,
    /// Byte offset of the record in its block.
    pub offset: usize,
}

/// What a record states of a call beyond its name; all of it may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stated {
    /// Number of callers.
    pub depth: Option<u16>,
    /// Exit minus entry, ticks.
    pub wall: Option<u64>,
    /// Net time, ticks.
    pub net: Option<u64>,
}

impl Stated {
    /// Nothing is stated.
    pub const NOTHING: Self = Self { depth: None, wall: None, net: None };

    /// Only the number of callers is stated.
    pub fn depth(depth: u16) -> Self {
        Self { depth: Some(depth), ..Self::NOTHING }
    }

    /// Only the wall time is stated.
    pub fn wall(wall: u64) -> Self {
        Self { wall: Some(wall), ..Self::NOTHING }
    }
}

/// Which part of a call a record is, where a reader finds out by the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPart {
    /// See [`Emitter::enter`].
    Enter,
    /// See [`Emitter::exit`].
    Exit,
    /// See [`Emitter::leaf`].
    Leaf,
    /// See [`Emitter::returned`].
    Return,
}

/// What a tag of a probe says. See [`Emitter::tag`]. Not an enumeration: a capture is little but
/// tags, and translating one kind into the other took a tenth of its reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TagKind(EventKind);

impl TagKind {
    /// A call began.
    pub const ENTER: Self = Self(EventKind::Enter);
    /// A call ended.
    pub const EXIT: Self = Self(EventKind::Exit);
    /// An instant.
    pub const INSTANT: Self = Self(EventKind::Mark);
    /// The running thread leaves the CPU in this function.
    pub const SWITCH_ENTER: Self = Self(EventKind::SwitchTagEnter);
    /// A thread comes back, and the exits that follow show which.
    pub const SWITCH_EXIT: Self = Self(EventKind::SwitchTagExit);
}

/// What a thread is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadName {
    /// Its id, if it has one.
    pub tid: Option<u64>,
    /// Its process, if the input distinguishes processes and threads.
    pub pid: Option<u64>,
    /// Whether it is the idle task of a CPU.
    pub idle: bool,
}

/// A stated number as an event carries it.
#[inline]
fn packed(stated: Option<u64>) -> u64 {
    stated.unwrap_or(UNSTATED)
}

impl Emitter {
    #[expect(clippy::inline_always, reason = "a call would pass the parts through memory")]
    #[inline(always)]
    fn record(&mut self, kind: EventKind, at: At, name: NameRef, stated: Stated) -> &mut Event {
        let index = self.events.len();
        self.events.push(Event {
            time: packed(at.time),
            duration: packed(stated.wall),
            extra: packed(stated.net),
            name,
            lane: at.lane,
            offset: at.offset as u32,
            depth: stated.depth.unwrap_or(NO_DEPTH),
            kind,
        });
        &mut self.events[index]
    }

    fn plain(&mut self, kind: EventKind, at: At) -> &mut Event {
        self.record(kind, at, NameRef::ANONYMOUS, Stated::NOTHING)
    }

    /// Any part of a call; only an exit may lack the name.
    #[expect(clippy::inline_always, reason = "a call would pass the parts through memory")]
    #[inline(always)]
    pub fn call(&mut self, part: CallPart, at: At, name: Option<NameRef>, stated: Stated) {
        let kind = match part {
            CallPart::Enter => EventKind::Enter,
            CallPart::Exit => EventKind::Exit,
            CallPart::Leaf => EventKind::Leaf,
            CallPart::Return => EventKind::Return,
        };
        self.record(kind, at, name.unwrap_or(NameRef::ANONYMOUS), stated);
    }

    /// A call began. Its wall and net time may be stated in advance.
    #[inline]
    pub fn enter(&mut self, at: At, name: NameRef, stated: Stated) {
        self.record(EventKind::Enter, at, name, stated);
    }

    /// A call ended; without a name, the innermost one (or the one at the stated depth).
    #[inline]
    pub fn exit(&mut self, at: At, name: Option<NameRef>, stated: Stated) {
        self.record(EventKind::Exit, at, name.unwrap_or(NameRef::ANONYMOUS), stated);
    }

    /// A call without callees, at its entry time.
    #[inline]
    pub fn leaf(&mut self, at: At, name: NameRef, stated: Stated) {
        self.record(EventKind::Leaf, at, name, stated);
    }

    /// A call with a start and no duration: it counts as incomplete and adds no time.
    pub fn unmeasured(&mut self, at: At, name: NameRef) {
        self.enter(at, name, Stated::NOTHING);
        self.partial_end(at, name, true);
    }

    /// A call whose entry is not a record of its own, at its exit time, after its callees.
    #[inline]
    pub fn returned(&mut self, at: At, name: NameRef, stated: Stated) {
        self.record(EventKind::Return, at, name, stated);
    }

    /// A call from `at.time` on, `wall` ticks long, that may hold others and stands anywhere among
    /// them. Only from readers whose records are sorted ([`crate::importer::Reader::order`]).
    #[inline]
    pub fn complete(&mut self, at: At, name: NameRef, wall: u64, depth: Option<u16>) {
        let stated = Stated { depth, wall: Some(wall), net: None };
        self.record(EventKind::Complete, at, name, stated);
    }

    /// An instant.
    #[inline]
    pub fn instant(&mut self, at: At, name: NameRef) {
        self.record(EventKind::Mark, at, name, Stated::NOTHING);
    }

    /// An instant with its arguments as text.
    pub fn instant_with(&mut self, at: At, name: NameRef, detail: &str) {
        let row = self.details.len() as u64;
        self.details.push(detail.into());
        self.record(EventKind::Mark, at, name, Stated::NOTHING).extra = row;
    }

    /// A counter has this value: an instant with the value as its detail.
    pub fn counter(&mut self, at: At, name: NameRef, value: f64) {
        self.instant_with(at, name, &value.to_string());
    }

    /// The thread is in this function, whatever came before: if none of its calls is open, this
    /// one is, and began before the trace.
    pub fn seen(&mut self, at: At, name: NameRef) {
        self.seen_at_depth(at, name, None);
    }

    /// The same, with so many callers.
    pub fn seen_at_depth(&mut self, at: At, name: NameRef, depth: Option<u16>) {
        self.record(EventKind::Within, at, name, Stated { depth, ..Stated::NOTHING });
    }

    /// The recorder lost events (nothing: unknown how many) on the lane's CPU, or anywhere if the
    /// lane has none. Nothing is paired across it.
    pub fn lost(&mut self, at: At, events: Option<u64>) {
        self.plain(EventKind::Gap, at).duration = packed(events);
    }

    /// From here on the lane's thread runs on the lane's CPU, where `before` ran, if that is known.
    /// A line of text that carries no time; use [`Self::sched_switch`] where there is one.
    pub fn runs_now(&mut self, lane: LaneRef, before: Option<LaneRef>, offset: usize) {
        let at = At { time: None, lane, offset };
        self.plain(EventKind::RunsNow, at).extra = packed(before.map(|lane| lane.0.into()));
    }

    /// The CPU of `at.lane` was given from `prev`, which left it in state `prev_state`, to `next`.
    /// Both lanes name that CPU too.
    pub fn sched_switch(
        &mut self,
        at: At,
        prev: Option<LaneRef>,
        prev_state: PrevState,
        next: Option<LaneRef>,
    ) {
        let at = At { lane: next.unwrap_or(at.lane), ..at };
        let event = self.plain(EventKind::Switch, at);
        event.extra = packed(prev.map(|lane| lane.0.into()));
        event.duration = prev_state.pack();
    }

    /// The thread of lane `target` was woken, on the CPU and by the thread of `at.lane`.
    pub fn waking(&mut self, at: At, target: LaneRef, waking: Waking) {
        let event = self.plain(EventKind::Wake, at);
        event.extra = target.0.into();
        event.duration = waking.pack();
    }

    /// The lane's thread created the thread of lane `child`.
    pub fn fork(&mut self, at: At, child: LaneRef) {
        self.plain(EventKind::Fork, at).extra = child.0.into();
    }

    /// The lane's thread ended.
    pub fn thread_exit(&mut self, at: At) {
        self.plain(EventKind::ThreadExit, at);
    }

    /// What the lane's thread calls next is an interrupt handler.
    pub fn irq_enter(&mut self, at: At) {
        self.plain(EventKind::InterruptEnter, at);
    }

    /// The interrupt handler has returned.
    pub fn irq_exit(&mut self, at: At) {
        self.plain(EventKind::InterruptExit, at);
    }

    /// The lane's thread is named as in the lane, with these ids.
    pub fn name_thread(&mut self, lane: LaneRef, offset: usize, thread: ThreadName) {
        let event = self.plain(EventKind::Describe, At { time: None, lane, offset });
        (event.duration, event.extra) = (packed(thread.tid), packed(thread.pid));
        event.depth = u16::from(thread.idle);
    }

    /// Threads of several processes have the number `tid`. From here on, a record that states no process
    /// is of none of them.
    pub fn share(&mut self, at: At, tid: u64) {
        self.plain(EventKind::Share, at).duration = tid;
    }

    /// A probe's switch tag: the running thread leaves the CPU in function `name` (`entered`), or a
    /// thread comes back, and the exits that follow show which.
    pub fn switch_tag(&mut self, at: At, name: NameRef, entered: bool) {
        self.tag(at, name, if entered { TagKind::SWITCH_ENTER } else { TagKind::SWITCH_EXIT });
    }

    /// A tag of a probe.
    #[inline]
    pub fn tag(&mut self, at: At, name: NameRef, kind: TagKind) {
        self.record(kind.0, at, name, Stated::NOTHING);
    }

    /// `n` tags of a probe, all of one lane. `read` says of each row its time, its byte offset and
    /// what it means. One loop for all of them, because a probe's capture is little else.
    #[expect(
        clippy::inline_always,
        reason = "what `read` holds is kept in registers only within one function"
    )]
    #[inline(always)]
    pub fn tags(
        &mut self,
        lane: LaneRef,
        n: usize,
        mut read: impl FnMut(usize, &mut Self) -> (u64, usize, NameRef, TagKind),
    ) {
        let mut events = std::mem::take(&mut self.events);
        events.reserve(n);
        for row in 0..n {
            let (time, offset, name, kind) = read(row, self);
            events.push(Event {
                time,
                duration: UNSTATED,
                extra: UNSTATED,
                name,
                lane,
                offset: offset as u32,
                depth: NO_DEPTH,
                kind: kind.0,
            });
        }
        self.events = events;
    }

    /// The innermost call that `enter` began ends here for all that is known: when it was left was
    /// not seen, nor when it was entered, unless `entry_seen`. It counts as incomplete. As in
    /// sampled stacks ([`crate::samples`]).
    pub fn partial_end(&mut self, at: At, name: NameRef, entry_seen: bool) {
        let event = self.record(EventKind::PartialEnd, at, name, Stated::NOTHING);
        event.extra = if entry_seen { 1 } else { UNSTATED };
    }

    /// The call that was entered last is incomplete as `fidelity` says, and the lengths that its
    /// entry states are those of what was seen of it.
    pub fn incomplete(&mut self, at: At, fidelity: Fidelity) {
        let Fidelity { start_inferred, end_inferred, at_gap } = fidelity;
        let bits = [(start_inferred, ENTRY), (end_inferred, EXIT), (at_gap, AT_GAP)];
        let bits = bits.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit);
        self.plain(EventKind::Incomplete, at).extra =
            bits.fold(STATED, |all, bit| all | bit).into();
    }

    /// The recording covers the time of `at`, and nothing happened.
    pub fn covers(&mut self, at: At) {
        self.plain(EventKind::Pass, at);
    }

    /// On a synthetic timeline, the clock of the lane's CPU goes on by so many ticks.
    pub fn advance(&mut self, at: At, ticks: u64) {
        self.plain(EventKind::Pass, at).duration = ticks;
    }
}
