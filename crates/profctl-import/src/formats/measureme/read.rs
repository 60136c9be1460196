//! Events to calls, marks and numbers.

use std::sync::Arc;

use profctl_model::diag::codes::CUT_RECORD;
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::About;
use super::backwards::Backwards;
use super::layout::{Event, Payload, Version};
use super::open_calls::{OpenCalls, PART};
use super::sorted;
use super::steps::{Labels, Piece, Step, What};
use super::strings::Strings;
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey};
use crate::formats::{Block, Reader, State};

/// All that blocks are read with.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) version: Version,
    pub(super) strings: Strings,
    pub(super) about: About,
    pub(super) open_calls: OpenCalls,
}

/// Reads blocks of events.
pub(super) struct Records {
    contents: Arc<Contents>,
    names: Names,
    lanes: FastMap<u32, LaneRef>,
    backwards: Backwards,
}

/// The names of events.
#[derive(Default)]
struct Names {
    all: FastMap<Labels, NameRef>,
    /// The latest of them, by a hash.
    latest: Vec<Option<Latest>>,
}

/// A name that was looked up, in few bytes, so that many stay in the cache.
#[derive(Clone, Copy)]
struct Latest {
    kind: u64,
    label: u64,
    name: NameRef,
    is_call: bool,
}

/// Names that are found in one step; a power of two.
const LATEST: usize = 8192;
/// Spreads ids, which are near one another, over those: 2^64 by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Names {
    #[inline]
    fn of(&mut self, labels: Labels, strings: &Strings, out: &mut Emitter) -> NameRef {
        let (kind, label, is_call) = labels;
        let hash = (label ^ kind.rotate_left(32)).wrapping_mul(SPREAD);
        let row = (hash >> (u64::BITS - LATEST.ilog2())) as usize;
        if let Some(Some(latest)) = self.latest.get(row)
            && (latest.kind, latest.label, latest.is_call) == labels
        {
            return latest.name;
        }
        let name = self.find(labels, strings, out);
        self.latest.resize(LATEST, None);
        self.latest[row] = Some(Latest { kind, label, name, is_call });
        name
    }

    #[inline(never)]
    fn find(&mut self, labels: Labels, strings: &Strings, out: &mut Emitter) -> NameRef {
        *self.all.entry(labels).or_insert_with(|| {
            let (kind, label, is_call) = labels;
            let of = if is_call { FuncKind::Function } else { FuncKind::Mark };
            let (group, name) = (strings.label(kind), strings.label(label));
            let spelling = format!("{}\0{name}\0{group}", of.name());
            let func = Func { name, module: Some(group), kind: of, ..Func::default() };
            out.name(spelling.as_bytes(), |_| func)
        })
    }
}

impl Records {
    pub(super) fn new(contents: Contents) -> Self {
        Self::over(Arc::new(contents))
    }

    fn over(contents: Arc<Contents>) -> Self {
        let (names, lanes) = (Names::default(), FastMap::default());
        Self { contents, names, lanes, backwards: Backwards::default() }
    }

    fn lane(&mut self, thread: u32, out: &mut Emitter) -> LaneRef {
        let about = &self.contents.about;
        *self.lanes.entry(thread).or_insert_with(|| {
            let (tid, name) = (thread.into(), about.program().to_owned());
            let thread = match about.process {
                Some(pid) => ThreadKey::Member { pid, tid, name },
                None => ThreadKey::Tid(tid, name),
            };
            out.lane(LaneKey { cpu: None, thread })
        })
    }

    /// Says what the events of a part are, the `number`-th one of the trace, which begins with the
    /// event `first` of the block.
    fn part(&mut self, bytes: &[u8], number: usize, first: usize, out: &mut Emitter) {
        let contents = &*Arc::clone(&self.contents);
        let (version, strings) = (contents.version, &contents.strings);
        let size = version.event_bytes();
        let before = |thread| contents.open_calls.before(number, thread);
        let begun = contents.open_calls.begun_in(number).iter();
        let begun = begun.map(|call| Piece::begun(call, first as u32));
        let events = bytes.chunks_exact(size).map(|bytes| version.event(bytes));
        let events = (first as u32..(first + events.len()) as u32).zip(events);
        let mut has_numbers = false;
        let mut piece = |(row, event)| {
            let piece = Piece::of(&event, row);
            has_numbers |= piece.is_none();
            piece
        };
        let mut name = |piece: &Piece| self.names.of(piece.labels(), strings, out);
        let backwards = begun.clone().rev().chain(events.clone().rev().filter_map(&mut piece));
        if self.backwards.read(backwards, before, &mut name) {
            let backwards = std::mem::take(&mut self.backwards);
            for of in backwards.threads() {
                self.say(of.thread, of.steps.iter().rev(), out);
            }
            self.backwards = backwards;
        } else {
            let pieces = events.clone().filter_map(&mut piece).chain(begun);
            for of in sorted::steps(pieces, before, name) {
                self.say(of.thread, of.steps.iter(), out);
            }
        }
        // They have no time, and are said behind what has.
        for (row, Event { kind, label, thread, payload }) in events.filter(|_| has_numbers) {
            let Payload::Integer(value) = payload else { continue };
            let lane = self.lane(thread, out);
            let name = self.names.of((kind, label, false), strings, out);
            out.counter(At { time: None, lane, offset: row as usize * size }, name, value as f64);
        }
    }

    /// Says the steps of a thread.
    fn say<'s>(&mut self, thread: u32, steps: impl Iterator<Item = &'s Step>, out: &mut Emitter) {
        let (size, lane) = (self.contents.version.event_bytes(), self.lane(thread, out));
        let mut steps = steps.peekable();
        while let Some(step) = steps.next() {
            let at = At { time: Some(step.time), lane, offset: step.row as usize * size };
            match step.what {
                What::Enter => {
                    let is_exit = |next: &&Step| {
                        next.what == What::Exit && next.name == step.name && next.time >= step.time
                    };
                    match steps.next_if(is_exit) {
                        Some(exit) => out.leaf(at, step.name, Stated::wall(exit.time - step.time)),
                        None => out.enter(at, step.name, Stated::NOTHING),
                    }
                }
                What::Exit => out.exit(at, Some(step.name), Stated::NOTHING),
                What::Instant => out.instant(at, step.name),
            }
        }
    }
}

impl Reader for Records {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::over(Arc::clone(&self.contents)))
    }

    /// Behind whole parts, so that each block begins with one.
    fn boundary(&self, bytes: &[u8]) -> usize {
        let size = self.contents.version.event_bytes() * PART;
        bytes.len() / size * size
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let size = self.contents.version.event_bytes();
        let first = usize::try_from(block.offset).unwrap_or(usize::MAX) / size / PART;
        let whole = block.bytes.len() / size * size;
        for (n, part) in block.bytes[..whole].chunks(size * PART).enumerate() {
            out.records += (part.len() / size) as u64;
            self.part(part, first + n, n * PART, out);
        }
        let cut = block.bytes.len() - whole;
        if cut > 0 {
            out.diag(&CUT_RECORD, whole, || format!("{cut} of {size} bytes of an event"));
        }
        None
    }
}
