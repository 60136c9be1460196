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
use crate::emit::{At, CallPart, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::known_names::KnownNames;

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
    /// By kind of event, and by whether it is an interval: a row of `labels`.
    kinds: FastMap<(u64, bool), usize>,
    /// The latest of them.
    last: Option<((u64, bool), usize)>,
    /// Names by label.
    labels: Vec<KnownNames>,
}

impl Names {
    #[expect(clippy::inline_always, reason = "once for each event")]
    #[inline(always)]
    fn of(&mut self, labels: Labels, strings: &Strings, out: &mut Emitter) -> NameRef {
        let (kind, label, is_call) = labels;
        let row = match self.last {
            Some((last, row)) if last == (kind, is_call) => row,
            _ => self.row(kind, is_call),
        };
        match self.labels[row].get(label) {
            Some(name) => name,
            None => self.new_name(row, labels, strings, out),
        }
    }

    #[inline(never)]
    fn row(&mut self, kind: u64, is_call: bool) -> usize {
        let next = self.labels.len();
        let row = *self.kinds.entry((kind, is_call)).or_insert(next);
        if row == next {
            self.labels.push(KnownNames::default());
        }
        self.last = Some(((kind, is_call), row));
        row
    }

    #[cold]
    fn new_name(
        &mut self,
        row: usize,
        (kind, label, is_call): Labels,
        strings: &Strings,
        out: &mut Emitter,
    ) -> NameRef {
        let of = if is_call { FuncKind::Function } else { FuncKind::Mark };
        let (group, name) = (strings.label(kind), strings.label(label));
        let spelling = format!("{}\0{name}\0{group}", of.name());
        let func = Func { name, module: Some(group), kind: of, ..Func::default() };
        let name = out.name(spelling.as_bytes(), |_| func);
        self.labels[row].insert(label, name);
        name
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
        let (names, mut backwards) = (&mut self.names, std::mem::take(&mut self.backwards));
        let mut name = |piece: &Piece| names.of(piece.labels(), strings, out);
        backwards.begin();
        let mut take = |piece| backwards.take(&piece, before, &mut name);
        // Not as one chain: what comes out of that comes through memory.
        let is_in_order = begun.clone().rev().all(&mut take)
            && events.clone().rev().all(|event| piece(event).is_none_or(&mut take));
        if is_in_order {
            backwards.finish();
            for of in backwards.threads() {
                self.say(of.thread, of.steps.iter().rev(), out);
            }
        } else {
            let pieces = events.clone().filter_map(&mut piece).chain(begun);
            for of in sorted::steps(pieces, before, name) {
                self.say(of.thread, of.steps.iter(), out);
            }
        }
        self.backwards = backwards;
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
        for step in steps {
            let at = At { time: Some(step.time), lane, offset: step.row as usize * size };
            let (part, stated) = match step.what {
                What::Enter => (CallPart::Enter, Stated::NOTHING),
                What::Exit => (CallPart::Exit, Stated::NOTHING),
                What::Leaf(wall) => (CallPart::Leaf, Stated::wall(wall)),
                What::Instant => {
                    out.instant(at, step.name);
                    continue;
                }
            };
            out.call(part, at, Some(step.name), stated);
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
