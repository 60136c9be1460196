//! Events to calls, marks and numbers.

use std::cmp::Reverse;
use std::sync::Arc;

use profctl_model::diag::codes::CUT_RECORD;
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::About;
use super::layout::{Event, Payload, Version};
use super::open_calls::{OpenCall, OpenCalls, PART};
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
    names: FastMap<(u64, u64), NameRef>,
    lanes: FastMap<u32, LaneRef>,
}

impl Records {
    pub(super) fn new(contents: Contents) -> Self {
        Self::over(Arc::new(contents))
    }

    fn over(contents: Arc<Contents>) -> Self {
        Self { contents, names: FastMap::default(), lanes: FastMap::default() }
    }

    fn name(&mut self, kind: u64, label: u64, of: FuncKind, out: &mut Emitter) -> NameRef {
        if let Some(&known) = self.names.get(&(kind, label)) {
            return known;
        }
        let strings = &self.contents.strings;
        let (group, name) = (strings.label(kind), strings.label(label));
        let spelling = format!("{}\0{name}\0{group}", of.name());
        let func = Func { name, module: Some(group), kind: of, ..Func::default() };
        let found = out.name(spelling.as_bytes(), |_| func);
        self.names.insert((kind, label), found);
        found
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
}

/// What lies in a part, in whole or with one of its ends.
#[derive(Clone, Copy)]
struct Piece {
    kind: u64,
    label: u64,
    /// Else it is an instant.
    is_call: bool,
    start: u64,
    end: u64,
    /// Whether it began in an earlier part, and whether it ends in a later one.
    has_begun: bool,
    goes_on: bool,
    /// The event, from the start of the block; those of one time are nested as they ended.
    row: usize,
}

/// What a part says of a thread.
struct Pieces {
    thread: u32,
    /// The latest end in the parts before.
    before: Option<u64>,
    list: Vec<Piece>,
}

/// What a part says, by thread, in the order in which they are met.
#[derive(Default)]
struct Threads {
    met: Vec<Pieces>,
    rows: FastMap<u32, usize>,
    /// The row of the thread that was met last.
    latest: usize,
}

impl Threads {
    /// That of a thread; `before` says the latest end in the parts before.
    #[inline]
    fn of(&mut self, thread: u32, before: impl FnOnce() -> Option<u64>) -> &mut Pieces {
        if self.met.get(self.latest).is_none_or(|pieces| pieces.thread != thread) {
            self.latest = *self.rows.entry(thread).or_insert_with(|| {
                self.met.push(Pieces { thread, before: before(), list: Vec::new() });
                self.met.len() - 1
            });
        }
        &mut self.met[self.latest]
    }
}

/// A call that is open.
#[derive(Clone, Copy)]
struct Open {
    end: u64,
    name: NameRef,
    row: usize,
}

impl Records {
    /// Says what the events of one thread in one part are, in time order.
    fn pieces(&mut self, of: &mut Pieces, out: &mut Emitter) {
        let pieces = &mut of.list;
        // Callers before what they call: the longer ones first, and of equals the one that ended
        // last.
        pieces.sort_by_key(|piece| {
            (!piece.has_begun, piece.start, Reverse(piece.end), Reverse(piece.row))
        });
        let (size, lane) = (self.contents.version.event_bytes(), self.lane(of.thread, out));
        let at = |time: u64, row: usize| At { time: Some(time), lane, offset: row * size };
        let mut open: Vec<Open> = Vec::new();
        for piece in pieces.iter() {
            if !piece.has_begun {
                while let Some(ended) = open.pop_if(|open| open.end <= piece.start) {
                    out.exit(at(ended.end, ended.row), Some(ended.name), Stated::NOTHING);
                }
            }
            let Piece { kind, label, .. } = *piece;
            if !piece.is_call {
                let name = self.name(kind, label, FuncKind::Mark, out);
                out.instant(at(piece.start, piece.row), name);
                continue;
            }
            let name = self.name(kind, label, FuncKind::Function, out);
            if !piece.has_begun {
                out.enter(at(piece.start, piece.row), name, Stated::NOTHING);
            }
            if !piece.goes_on {
                open.push(Open { end: piece.end.max(piece.start), name, row: piece.row });
            }
        }
        while let Some(ended) = open.pop() {
            out.exit(at(ended.end, ended.row), Some(ended.name), Stated::NOTHING);
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
        let contents = &*Arc::clone(&self.contents);
        let version = contents.version;
        let size = version.event_bytes();
        let first = usize::try_from(block.offset).unwrap_or(usize::MAX) / size / PART;
        let whole = block.bytes.len() / size * size;
        for (n, part) in block.bytes[..whole].chunks(size * PART).enumerate() {
            let mut threads = Threads::default();
            let mut numbers = Vec::new();
            let before = |thread| move || contents.open_calls.before(first + n, thread);
            for (m, bytes) in part.chunks_exact(size).enumerate() {
                let event = version.event(bytes);
                let row = n * PART + m;
                out.records += 1;
                let Event { kind, label, thread, payload } = event;
                let (is_call, start, end) = match payload {
                    Payload::Interval { start, end } => (true, start, end),
                    Payload::Instant(start) => (false, start, start),
                    // It has no time, and is said behind what has.
                    Payload::Integer(value) => {
                        numbers.push((event, value, row));
                        continue;
                    }
                };
                let of = threads.of(thread, before(thread));
                let has_begun = is_call && of.before.is_some_and(|before| start < before);
                let goes_on = false;
                of.list.push(Piece { kind, label, is_call, start, end, has_begun, goes_on, row });
            }
            let row = n * PART;
            for call in contents.open_calls.begun_in(first + n) {
                let OpenCall { event: Event { kind, label, thread, .. }, start, end } = *call;
                let (is_call, has_begun, goes_on) = (true, false, true);
                let of = threads.of(thread, before(thread));
                of.list.push(Piece { kind, label, is_call, start, end, has_begun, goes_on, row });
            }
            for of in &mut threads.met {
                self.pieces(of, out);
            }
            for (event, value, row) in numbers {
                let lane = self.lane(event.thread, out);
                let name = self.name(event.kind, event.label, FuncKind::Mark, out);
                out.counter(At { time: None, lane, offset: row * size }, name, value as f64);
            }
        }
        let cut = block.bytes.len() - whole;
        if cut > 0 {
            out.diag(&CUT_RECORD, whole, || format!("{cut} of {size} bytes of an event"));
        }
        None
    }
}
