//! The output of an importer: a flat list of events for one block of input, in file order.
//!
//! An importer never pairs, sorts or repairs; it emits records and their offsets. Names and lanes
//! (who, where) are interned per worker, so that blocks can be read in parallel; the stitcher maps
//! them to the ids of the trace in the order of the input.

mod event;
mod record;
mod sched;
mod verbs;

use profctl_model::diag::Code;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use crate::text::{self, Line};

pub use profctl_model::WakerContext;

pub use event::{DEPTH_MAX, TIME_MAX};
pub(crate) use event::{Event, EventKind, NO_DEPTH, UNSTATED, unseen};
pub use record::Record;
pub use sched::{PrevState, Waking, WakingKind};
pub use verbs::{At, CallPart, Stated, TagKind, ThreadName};

/// A function name as this worker interned it; 0 is "no name".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameRef(pub u32);

impl NameRef {
    /// For exits that do not say which function they leave.
    pub const ANONYMOUS: Self = Self(0);
}

/// A lane (CPU and thread) as this worker interned it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneRef(pub u32);

/// The place in the input of something `offset` bytes into the block at `base`. The offset of what
/// began in a block before is negative.
pub(crate) fn place(base: u64, offset: u32) -> u64 {
    base.saturating_add_signed(offset.cast_signed().into())
}

/// Who an event says it ran on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ThreadKey {
    /// The record does not say: the thread that runs on its CPU, according to the switches so far;
    /// the only thread there is if there are no CPUs either.
    Unstated,
    /// A system's thread id, with the name that stood beside it (maybe empty, maybe cut).
    Tid(u64, String),
    /// A thread of a process: ids of threads may repeat from process to process. With the name that
    /// stood beside it, maybe empty.
    Member {
        /// The process.
        pid: u64,
        /// The thread.
        tid: u64,
        /// Its name.
        name: String,
    },
    /// The idle task of the CPU of the record.
    Idle,
    /// A thread that is known by name only.
    Named(String),
}

/// Where and on whom an event happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LaneKey {
    /// The CPU's number, if the record says.
    pub cpu: Option<u32>,
    /// The thread.
    pub thread: ThreadKey,
}

/// All calls of one function in one sum, where the input has nothing finer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Total {
    /// The function.
    pub name: NameRef,
    /// Where and on whom.
    pub lane: LaneRef,
    /// How often it was called; 0 if it was running when the recording began.
    pub calls: u64,
    /// Ticks in it and in all it called.
    pub elapsed: u64,
    /// Ticks of its own.
    pub net: u64,
}

/// A diagnostic from a block.
#[derive(Clone, Debug)]
pub struct BlockDiag {
    /// Which.
    pub code: &'static Code,
    /// Byte offset in the block.
    pub offset: u32,
    /// What stood there.
    pub message: String,
}

/// Everything that one block says.
#[derive(Clone, Debug, Default)]
pub struct BlockEvents {
    /// The events, in file order.
    pub(crate) events: Vec<Event>,
    /// Sums, of inputs that have no events.
    pub totals: Vec<Total>,
    /// Texts that belong to marks; events name a row.
    pub(crate) details: Vec<Box<str>>,
    /// Functions that this worker met for the first time; see [`Emitter::names`].
    pub names: Vec<Func>,
    /// Lanes that this worker met for the first time; see [`Emitter::lanes`].
    pub lanes: Vec<LaneKey>,
    /// Diagnostics, in file order; see [`Emitter::diag`].
    pub diags: Vec<BlockDiag>,
    /// How often each code was met beyond those kept in `diags`.
    pub more_diags: Vec<(&'static Code, u64)>,
    /// Lines in this block (0 for formats without).
    pub lines: u64,
    /// Records read in this block, whether or not they became events.
    pub records: u64,
}

impl BlockEvents {
    /// The records, in file order.
    pub fn said(&self) -> impl ExactSizeIterator<Item = (At, Record<'_>)> + DoubleEndedIterator {
        record::said(&self.events, &self.details)
    }
}

/// What a reader writes to: the events of one block, and the worker's memory of names and lanes.
#[derive(Debug)]
pub struct Emitter {
    /// The events of this block, in file order.
    events: Vec<Event>,
    /// Sums, of inputs that have no events.
    pub totals: Vec<Total>,
    /// Texts that belong to marks; events name a row.
    details: Vec<Box<str>>,
    /// All functions that this worker has met; a [`NameRef`] is a row. Row 0 is the anonymous one.
    pub names: Vec<Func>,
    /// All lanes that this worker has met; a [`LaneRef`] is a row.
    pub lanes: Vec<LaneKey>,
    /// Diagnostics in this block, in file order; see [`Self::diag`].
    pub diags: Vec<BlockDiag>,
    /// How often each code was met beyond those kept in `diags`.
    pub more_diags: Vec<(&'static Code, u64)>,
    /// Lines in this block (0 for formats without).
    pub lines: u64,
    /// Records read in this block, whether or not they became events.
    pub records: u64,
    name_refs: FastMap<Box<[u8]>, NameRef>,
    lane_refs: FastMap<LaneKey, LaneRef>,
    /// How many names and lanes were passed on with earlier blocks.
    handed: (usize, usize),
}

impl Default for Emitter {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            totals: Vec::new(),
            details: Vec::new(),
            names: vec![Func::default()],
            lanes: Vec::new(),
            diags: Vec::new(),
            more_diags: Vec::new(),
            lines: 0,
            records: 0,
            name_refs: FastMap::default(),
            lane_refs: FastMap::default(),
            handed: (0, 0),
        }
    }
}

impl Emitter {
    /// Takes an old buffer for the events of the next block.
    pub(crate) fn reuse(&mut self, mut events: Vec<Event>) {
        events.clear();
        self.events = events;
    }

    /// Passes on what the block said; names and lanes stay known.
    pub fn take(&mut self) -> BlockEvents {
        let (n_names, n_lanes) = self.handed;
        self.handed = (self.names.len(), self.lanes.len());
        BlockEvents {
            events: std::mem::take(&mut self.events),
            totals: std::mem::take(&mut self.totals),
            details: std::mem::take(&mut self.details),
            names: self.names[n_names..].to_vec(),
            lanes: self.lanes[n_lanes..].to_vec(),
            diags: std::mem::take(&mut self.diags),
            more_diags: std::mem::take(&mut self.more_diags),
            lines: std::mem::take(&mut self.lines),
            records: std::mem::take(&mut self.records),
        }
    }

    /// The reference of the function written as `spelling` in this input. `describe` is called the
    /// first time this worker meets it. One spelling must always mean the same function.
    #[inline]
    pub fn name(&mut self, spelling: &[u8], describe: impl FnOnce(&[u8]) -> Func) -> NameRef {
        if let Some(&known) = self.name_refs.get(spelling) {
            return known;
        }
        self.new_name(spelling, describe(spelling))
    }

    #[cold]
    fn new_name(&mut self, spelling: &[u8], func: Func) -> NameRef {
        let name = NameRef(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(func);
        self.name_refs.insert(spelling.into(), name);
        name
    }

    /// The reference of a plain function or module function of that name and kind.
    pub fn func(&mut self, name: &str, kind: FuncKind) -> NameRef {
        let describe = |_: &[u8]| Func { name: name.into(), kind, ..Func::default() };
        if kind == FuncKind::Function {
            return self.name(name.as_bytes(), describe);
        }
        // One name may be that of a function and of an instant; what it is must not depend on
        // which this worker met first.
        self.name(&[b"\0", kind.name().as_bytes(), b"\0", name.as_bytes()].concat(), describe)
    }

    /// The reference of a lane.
    pub fn lane(&mut self, key: LaneKey) -> LaneRef {
        if let Some(&known) = self.lane_refs.get(&key) {
            return known;
        }
        let lane = LaneRef(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
        self.lanes.push(key.clone());
        self.lane_refs.insert(key, lane);
        lane
    }

    /// Whether the calls of each lane are in time order, as far as they were said.
    pub(crate) fn is_in_order(&self) -> bool {
        let mut latest: FastMap<u32, u64> = FastMap::default();
        let calls = [EventKind::Complete, EventKind::Enter, EventKind::Exit];
        self.events.iter().filter(|event| calls.contains(&event.kind)).all(|event| {
            let latest = latest.entry(event.lane.0).or_default();
            event.time >= std::mem::replace(latest, event.time)
        })
    }

    /// Says of everything in this block where it stood before its bytes were rewritten.
    pub fn move_offsets(&mut self, original: impl Fn(usize) -> usize) {
        let events = self.events.iter_mut().map(|event| &mut event.offset);
        for offset in events.chain(self.diags.iter_mut().map(|diag| &mut diag.offset)) {
            *offset = original(*offset as usize) as u32;
        }
    }

    /// The records of this block so far, in file order.
    pub fn said(&self) -> impl ExactSizeIterator<Item = (At, Record<'_>)> + DoubleEndedIterator {
        record::said(&self.events, &self.details)
    }

    /// Adds an event that is packed already.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Where to put the details of such events.
    pub(crate) fn details_mut(&mut self) -> &mut Vec<Box<str>> {
        &mut self.details
    }

    /// Counts one occurrence of `code`; `message` is made only while samples are still kept.
    #[cold]
    pub fn diag(&mut self, code: &'static Code, offset: usize, message: impl FnOnce() -> String) {
        let kept = self.diags.iter().filter(|diag| diag.code.name == code.name).count();
        if kept < profctl_model::diag::SAMPLES_KEPT {
            self.diags.push(BlockDiag { code, offset: offset as u32, message: message() });
            return;
        }
        self.count(code, 1);
    }

    /// Counts a line that says nothing that a reader knows. The last one was cut if it has no end.
    #[cold]
    pub fn refuse(&mut self, line: &Line<'_>, expected: impl std::fmt::Display) {
        if !line.ended {
            return self.cut(line);
        }
        self.diag(&SKIPPED_RECORD, line.offset, || {
            format!("found `{}`, expected {expected}", text::excerpt(line.text))
        });
    }

    /// Counts the last line of an input, which was cut.
    #[cold]
    pub fn cut(&mut self, line: &Line<'_>) {
        self.diag(&CUT_RECORD, line.offset, || {
            format!("the last line stops at `{}`", text::excerpt(line.text))
        });
    }

    /// Counts `n` occurrences of `code` of which nothing more is known.
    pub fn count(&mut self, code: &'static Code, n: u64) {
        match self.more_diags.iter_mut().find(|(more, _)| more.name == code.name) {
            Some((_, count)) => *count += n,
            None => self.more_diags.push((code, n)),
        }
    }
}
