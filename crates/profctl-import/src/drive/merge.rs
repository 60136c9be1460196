//! Reads several streams, each in its order, and stitches their records in time order.
//!
//! Memory is bounded by streams times blocks, and blocks shrink where there are many streams. Of
//! records of one time, those of the first stream come first; a record that steps back in time
//! stays after the one before it in its stream. So the order does not depend on who reads when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use profctl_model::{Func, SpanSink};

use super::Work;
use super::feed::Feed;
use super::stage::{StitchStage, view_of};
use crate::blocks::{BLOCK, CutBlock};
use crate::emit::{BlockEvents, Emitter, Event, EventKind, LaneKey, UNSTATED};
use crate::importer::{Reader, State, Stream, StreamClock};
use crate::stitch::BlockView;

/// Blocks of a stream that are read ahead.
const AHEAD: usize = 2;
/// What the blocks of all streams may take together, bytes of input. Their events take up to two and
/// a half times as much besides.
const HELD_MAX: usize = 8 << 20;
const BLOCK_MIN: usize = 4 << 10;

/// One stream while it is read.
struct StreamReader<'a> {
    feed: Feed<'a>,
    state: State,
    clock: Clock,
    number: u64,
    stream: usize,
}

/// A thread that reads blocks of all streams, with one table of names.
struct Worker {
    number: usize,
    reader: Box<dyn Reader>,
    emitter: Emitter,
}

/// A block that was read, and how much of it was stitched.
struct ReadBlock {
    block: CutBlock,
    worker: usize,
    events: BlockEvents,
    done: usize,
}

/// The names and lanes of a worker that the stitcher does not have yet. Blocks are stitched in
/// another order than they are read in, and each may use names from any block that its worker read
/// before.
#[derive(Default)]
struct NewNames {
    names: Vec<Func>,
    lanes: Vec<LaneKey>,
}

/// Blocks that were read ahead, by stream.
struct Ahead {
    ready: Vec<VecDeque<ReadBlock>>,
    /// Streams that a worker is reading.
    busy: Vec<bool>,
    ended: Vec<bool>,
    /// Nothing more is wanted.
    closed: bool,
}

struct Shared<'a> {
    /// The files of the streams.
    files: Vec<usize>,
    readers: Vec<Mutex<StreamReader<'a>>>,
    /// By worker.
    new_names: Vec<Mutex<NewNames>>,
    /// The buffers of blocks that are done.
    spare: Mutex<Vec<(Vec<u8>, Vec<Event>)>>,
    ahead: Mutex<Ahead>,
    changed: Condvar,
    block_size: usize,
    progress: &'a (dyn Fn(u64) + Sync),
}

/// How many workers read `n` streams; the stage needs an emitter for each.
pub(super) fn workers(n: usize, work: &Work<'_>) -> usize {
    work.workers.min(n).max(1)
}

pub(super) fn run<'a, 't, S: SpanSink + Send>(
    mut stage: StitchStage<'t, S>,
    feeds: Vec<Feed<'a>>,
    streams: &[Stream],
    work: &Work<'a>,
) -> (StitchStage<'t, S>, Vec<Feed<'a>>) {
    let n = feeds.len();
    let block_size = match work.block_size {
        0 => (HELD_MAX / (n.max(1) * (AHEAD + 1))).clamp(BLOCK_MIN, BLOCK),
        size => size,
    };
    let readers = feeds.into_iter().zip(streams).enumerate().map(|(stream, (feed, said))| {
        Mutex::new(StreamReader {
            feed,
            state: State::clone(&work.state),
            clock: Clock::new(said.clock),
            number: 0,
            stream,
        })
    });
    let shared = Shared {
        files: streams.iter().map(|stream| stream.file.0).collect(),
        readers: readers.collect(),
        new_names: (0..workers(n, work)).map(|_| Mutex::default()).collect(),
        spare: Mutex::default(),
        ahead: Mutex::new(Ahead {
            ready: (0..n).map(|_| VecDeque::new()).collect(),
            busy: vec![false; n],
            ended: vec![false; n],
            closed: false,
        }),
        changed: Condvar::new(),
        block_size,
        progress: work.progress,
    };
    let worker =
        |number| Worker { number, reader: work.reader.fork(), emitter: Emitter::default() };
    std::thread::scope(|scope| {
        for number in 1..shared.new_names.len() {
            let (shared, worker) = (&shared, worker(number));
            scope.spawn(move || shared.read_ahead(worker));
        }
        shared.merge(worker(0), &mut stage);
        shared.ahead().closed = true;
        shared.changed.notify_all();
    });
    let into_feed = |reader: Mutex<StreamReader<'a>>| {
        reader.into_inner().unwrap_or_else(PoisonError::into_inner).feed
    };
    (stage, shared.readers.into_iter().map(into_feed).collect())
}

impl Shared<'_> {
    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads whatever stream has the fewest blocks ready, until the merge is done.
    fn read_ahead(&self, mut worker: Worker) {
        let mut ahead = self.ahead();
        while !ahead.closed {
            let wanted = (0..ahead.ready.len())
                .filter(|&stream| {
                    !ahead.busy[stream] && !ahead.ended[stream] && ahead.ready[stream].len() < AHEAD
                })
                .min_by_key(|&stream| ahead.ready[stream].len());
            ahead = match wanted {
                Some(stream) => self.read(stream, &mut worker, ahead),
                None => self.changed.wait(ahead).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Reads the next block of a stream that no other worker reads.
    fn read<'g>(
        &'g self,
        stream: usize,
        worker: &mut Worker,
        mut ahead: MutexGuard<'g, Ahead>,
    ) -> MutexGuard<'g, Ahead> {
        ahead.busy[stream] = true;
        drop(ahead);
        let read = {
            let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut reader = self.readers[stream].lock().unwrap_or_else(PoisonError::into_inner);
            reader.next(self.block_size, worker, spare.unwrap_or_default())
        };
        let read = read.map(|mut read| {
            self.note_names(&mut read);
            read
        });
        let mut ahead = self.ahead();
        ahead.busy[stream] = false;
        match read {
            Some(block) => ahead.ready[stream].push_back(block),
            None => ahead.ended[stream] = true,
        }
        self.changed.notify_all();
        ahead
    }

    /// Notes the names and lanes of a block that was read.
    fn note_names(&self, read: &mut ReadBlock) {
        let mut new_names =
            self.new_names[read.worker].lock().unwrap_or_else(PoisonError::into_inner);
        new_names.names.append(&mut read.events.names);
        new_names.lanes.append(&mut read.events.lanes);
    }

    /// The names and lanes that are new since the last call.
    fn take_names(&self, worker: usize) -> NewNames {
        let mut new_names = self.new_names[worker].lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *new_names)
    }

    /// The next block of a stream; nothing after the last one.
    fn next(&self, stream: usize, worker: &mut Worker) -> Option<ReadBlock> {
        let mut ahead = self.ahead();
        loop {
            if let Some(block) = ahead.ready[stream].pop_front() {
                // A waiting worker then reads one for many streams, and is not woken for each.
                if ahead.ready[stream].is_empty() {
                    self.changed.notify_all();
                }
                return Some(block);
            }
            if ahead.ended[stream] {
                return None;
            }
            ahead = if ahead.busy[stream] {
                self.changed.wait(ahead).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.read(stream, worker, ahead)
            };
        }
    }

    /// Stitches all records of all streams.
    fn merge<S: SpanSink>(&self, mut worker: Worker, stage: &mut StitchStage<'_, S>) {
        let mut cursors: Vec<Cursor> =
            self.files.iter().map(|&file| Cursor { file, ..Cursor::default() }).collect();
        let mut heap = BinaryHeap::new();
        let mut taken = 0;
        for (stream, cursor) in cursors.iter_mut().enumerate() {
            if let Some(time) = cursor.head(stream, self, &mut worker, stage) {
                heap.push(Reverse((time, stream)));
            }
        }
        while let Some(Reverse((_, stream))) = heap.pop() {
            let until = heap.peek().map(|Reverse(next)| *next);
            let cursor = &mut cursors[stream];
            taken += cursor.take(stream, until, stage);
            (self.progress)(taken);
            if let Some(time) = cursor.head(stream, self, &mut worker, stage) {
                heap.push(Reverse((time, stream)));
            }
        }
    }
}

/// Where the merge is in a stream.
#[derive(Default)]
struct Cursor {
    file: usize,
    block: Option<ReadBlock>,
    /// The latest time of the stream so far, by which its records are put among the others.
    time: u64,
    lines: u64,
    /// The records that go on to the stitcher together.
    run: BlockEvents,
}

impl Cursor {
    /// The time of the next record, once blocks without any were passed.
    fn head<S: SpanSink>(
        &mut self,
        stream: usize,
        shared: &Shared<'_>,
        worker: &mut Worker,
        stage: &mut StitchStage<'_, S>,
    ) -> Option<u64> {
        loop {
            if let Some(block) = &self.block
                && let Some(event) = block.events.events.get(block.done)
            {
                return Some(later(self.time, event.time));
            }
            let spare = self.end_block(stream, stage);
            shared.spare.lock().unwrap_or_else(PoisonError::into_inner).extend(spare);
            let read = shared.next(stream, worker)?;
            let NewNames { names, lanes } = shared.take_names(read.worker);
            // At once, with what the block says without a record: blocks of other streams may use
            // these names before a record of this one is due.
            self.run.events.clear();
            (self.run.names, self.run.lanes) = (names, lanes);
            self.block = Some(read);
            self.hand_over(stream, stage);
        }
    }

    /// Stitches the records that come before `until`, a time and a stream; says how many bytes of
    /// the input are done with them.
    fn take<S: SpanSink>(
        &mut self,
        stream: usize,
        until: Option<(u64, usize)>,
        stage: &mut StitchStage<'_, S>,
    ) -> u64 {
        let Some(read) = &mut self.block else { return 0 };
        let events = &read.events.events[read.done..];
        let mut n = 0;
        while let Some(event) = events.get(n) {
            let time = later(self.time, event.time);
            if until.is_some_and(|until| (time, stream) > until) {
                break;
            }
            self.time = time;
            n += 1;
        }
        self.run.events.clear();
        self.run.events.extend_from_slice(&events[..n]);
        for event in &mut self.run.events {
            if event.kind == EventKind::Mark
                && let Ok(row) = usize::try_from(event.extra)
                && let Some(detail) = read.events.details.get_mut(row)
            {
                event.extra = self.run.details.len() as u64;
                self.run.details.push(std::mem::take(detail));
            }
        }
        let all = read.events.events.len().max(1);
        let bytes = read.block.bytes().len() * n / all;
        read.done += n;
        self.hand_over(stream, stage);
        bytes as u64
    }

    /// Passes the run to the stage, with the other contents of the block.
    fn hand_over<S: SpanSink>(&mut self, stream: usize, stage: &mut StitchStage<'_, S>) {
        let Some(read) = &mut self.block else { return };
        let Self { run, lines, file, .. } = self;
        run.totals = std::mem::take(&mut read.events.totals);
        run.diags = std::mem::take(&mut read.events.diags);
        run.more_diags = std::mem::take(&mut read.events.more_diags);
        run.records = std::mem::take(&mut read.events.records);
        let view = BlockView {
            bytes: read.block.bytes(),
            stream,
            source: *file,
            offset: read.block.offset,
            lines: Some(*lines),
        };
        stage.take(read.worker, run, view);
        run.details.clear();
    }

    /// Ends the block that was stitched, and gives its buffers.
    fn end_block<S: SpanSink>(
        &mut self,
        stream: usize,
        stage: &mut StitchStage<'_, S>,
    ) -> Option<(Vec<u8>, Vec<Event>)> {
        let read = self.block.take()?;
        self.lines += read.events.lines;
        if read.block.skipped > 0 {
            let offset = read.block.offset;
            let view = BlockView {
                bytes: &[],
                stream,
                source: self.file,
                offset,
                lines: Some(self.lines),
            };
            stage.skipped(read.block.skipped, view);
            self.lines += 1;
        }
        Some((read.block.into_buffer(), read.events.events))
    }
}

fn later(time: u64, stated: u64) -> u64 {
    if stated == UNSTATED { time } else { time.max(stated) }
}

impl StreamReader<'_> {
    fn next(
        &mut self,
        size: usize,
        worker: &mut Worker,
        (buffer, events): (Vec<u8>, Vec<Event>),
    ) -> Option<ReadBlock> {
        let Self { feed, state, clock, number, stream } = self;
        let Worker { number: worker, reader, emitter } = worker;
        let block =
            feed.next(*number, size, buffer, &mut |bytes| reader.boundary_in(*stream, bytes))?;
        *number += 1;
        emitter.reuse(events);
        if let Some(after) = reader.read(&view_of(&block, *stream), state, emitter) {
            *state = after;
        }
        let mut events = emitter.take();
        for event in &mut events.events {
            if event.time != UNSTATED {
                event.time = clock.ticks(event.time);
            }
        }
        Some(ReadBlock { block, worker: *worker, events, done: 0 })
    }
}

/// The clock of a stream: raw times to ticks of the trace.
struct Clock {
    mask: Option<u64>,
    offset: i64,
    last: Option<u64>,
    unfolded: u64,
}

impl Clock {
    fn new(said: StreamClock) -> Self {
        let mask =
            said.counter_bits.map(|bits| 1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1));
        Self { mask, offset: said.offset, last: None, unfolded: 0 }
    }

    fn ticks(&mut self, raw: u64) -> u64 {
        let ticks = match self.mask {
            None => raw,
            Some(mask) => {
                let step = self.last.map_or(raw & mask, |last| raw.wrapping_sub(last) & mask);
                self.last = Some(raw);
                self.unfolded = self.unfolded.saturating_add(step);
                self.unfolded
            }
        };
        ticks.saturating_add_signed(self.offset).min(UNSTATED - 1)
    }
}
