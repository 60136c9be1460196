//! The loop that reads blocks, has them read side by side, and stitches them in order.
//!
//! Every worker does whatever is next: take a block from the source, let its reader say what is in
//! it, and, if it is that block's turn, stitch it. Reading a block needs nothing from the blocks
//! before it but the reader's small state; if that turns out to have changed, the block is read
//! again when its turn comes, and while every block changes it, blocks are read in their turn only.
//! So the result does not depend on the number of workers or the size
//! of the blocks, and a format gets all this by implementing [`crate::formats::Reader`].

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use profctl_model::diag::Sample;
use profctl_model::diag::codes;
use profctl_model::{Place, SpanSink, Ticks, Timebase, Timeline};

use crate::emit::{BlockEvents, Emitter, Event};
use crate::formats::{FORMATS, ImportError, Importer, Opened, Reader, State, Verdict};
use crate::sort::{Order, Sorter};
use crate::source::{BLOCK, Block, Source};
use crate::stitch::{BlockView, Setup, Stitcher, WorkerIds};
use crate::{Input, Origin, ReadOptions, Streamed};

/// How much of the head the formats are asked about.
const SNIFFED: usize = 64 << 10;

pub(crate) fn run<S: SpanSink + Send>(
    input: Input<'_>,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Streamed<S>, ImportError> {
    let name = input.name;
    let mut source = Source::new(input.bytes)
        .map_err(|error| ImportError::whole(format!("cannot be read: {error}")))?;
    let (head, whole) = source.head();
    let (importer, reason) = recognise(head, whole, options)?;
    if head.is_empty() {
        let why = source.broken.map(|error| format!("cannot be read: {error}"));
        return Err(ImportError::whole(why.unwrap_or_else(|| "is empty".into())));
    }
    let mut opened = importer.open(head, &options.import)?;
    if opened.whole && !whole {
        // What it needs to know may stand at the end.
        source.read_all();
        opened = importer.open(source.head().0, &options.import)?;
    }
    let Opened { timebase, counter_bits, has_lines, .. } = opened;
    let Opened { leaf_ends_are_stamps, exits_may_be_late, whole, .. } = opened;
    let Opened { initial, facts, reader, state, .. } = opened;
    let ticks = |nanos: Option<u64>| match nanos {
        Some(nanos) if timebase.is_time() => timebase.ticks_of_nanos(u128::from(nanos)),
        other => other.map(Ticks),
    };
    let order = match reader.order() {
        // The interval counts from the first timestamp, which may stand anywhere.
        Order::Nearly if options.from.is_some() || options.until.is_some() => Order::Any,
        order => order,
    };
    let sorter = (order != Order::AsWritten).then(|| Sorter::new(order, timebase.resolution.0));
    // What is sorted has times, even if they were laid end to end by whoever wrote them.
    let timeline = if sorter.is_some() { Timeline::Recorded } else { timebase.timeline };
    let setup = Setup {
        source: name.clone(),
        timebase: Timebase { timeline, ..timebase },
        counter_bits,
        has_lines,
        leaf_ends_are_stamps,
        exits_may_be_late,
        initial,
        grouping: options.grouping,
        from: ticks(options.from),
        until: ticks(options.until),
    };
    let mut origin = Origin {
        name,
        format: importer.descriptor(),
        reason,
        bytes: 0,
        compression: source.compression,
        facts,
    };

    let workers = options.workers.max(1);
    let size = match options.block_size {
        _ if whole => usize::MAX,
        0 => BLOCK,
        size => size,
    };
    let mut readers: Vec<_> = (1..workers).map(|_| reader.fork()).collect();
    let floor = Floor {
        intake: Mutex::new(Intake { source, next: 0, cutter: reader.fork(), size }),
        line: Mutex::new(Line {
            bench: Some(Bench {
                stitcher: Stitcher::new(setup, sink),
                ids: (0..workers + 2).map(|_| WorkerIds::default()).collect(),
                in_turn: (reader.fork(), Emitter::default()),
                sorter,
                lines: 0,
            }),
            state,
            is_changing: false,
            turn: 0,
            waiting: BTreeMap::new(),
            spare: Vec::new(),
        }),
        moved: Condvar::new(),
        waiting_max: workers * 2,
        progress,
    };
    readers.push(reader);
    std::thread::scope(|scope| {
        let mut readers = readers.into_iter().enumerate();
        let own = readers.next();
        for (worker, reader) in readers {
            let floor = &floor;
            scope.spawn(move || floor.work(worker, reader));
        }
        if let Some((worker, reader)) = own {
            floor.work(worker, reader);
        }
    });

    let intake = floor.intake.into_inner().unwrap_or_else(PoisonError::into_inner);
    let line = floor.line.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut bench = line.bench.expect("the last worker puts the bench back");
    bench.sorted(true);
    origin.bytes = intake.source.handed_out();
    progress(intake.source.taken());
    let (sink, names, mut meta) = bench.stitcher.finish();
    meta.timebase = timebase;
    if let Some(error) = intake.source.broken {
        let place = Place { source: origin.name.clone(), offset: origin.bytes, line: None };
        meta.diags.add(&codes::CUT_RECORD, 1, || Sample {
            place,
            message: format!("reading ended early: {error}"),
        });
    }
    Ok(Streamed { sink, names, meta, origin })
}

/// What the formats say of an input.
fn recognise(
    head: &[u8],
    whole: bool,
    options: &ReadOptions,
) -> Result<(&'static dyn Importer, String), ImportError> {
    let named = |name: &str| FORMATS.iter().find(|format| format.descriptor().name == name);
    if let Some(name) = &options.format {
        return match named(name) {
            Some(format) => Ok((*format, "chosen by --input-format".into())),
            None => Err(ImportError::whole(format!(
                "there is no format `{name}`; the formats are {}",
                format_names()
            ))),
        };
    }
    let sniffed = &head[..head.len().min(SNIFFED)];
    let whole = whole && sniffed.len() == head.len();
    let mut maybe = None;
    let mut neighbour = None;
    for format in FORMATS {
        match format.sniff(sniffed, whole) {
            Verdict::Yes(reason) => return Ok((*format, reason)),
            Verdict::Maybe(reason) => maybe = maybe.or(Some((*format, reason))),
            Verdict::Neighbour(what) => neighbour = neighbour.or(Some(what)),
            Verdict::No => {}
        }
    }
    if let Some(found) = maybe {
        return Ok(found);
    }
    if options.import.names.is_some()
        && let Some(probe) = named("probe")
    {
        return Ok((*probe, "no other format fits, and a name file was given".into()));
    }
    if let Some(what) = neighbour {
        return Err(ImportError::whole(what));
    }
    if head.is_empty() {
        return Err(ImportError::whole("is empty"));
    }
    Err(ImportError::whole(format!(
        "is no trace in a known format (tried {}); `--input-format NAME` reads it as one of them",
        format_names()
    )))
}

fn format_names() -> String {
    let names: Vec<_> = FORMATS.iter().map(|format| format.descriptor().name).collect();
    names.join(", ")
}

/// What the workers share.
struct Floor<'a, S> {
    intake: Mutex<Intake<'a>>,
    line: Mutex<Line<S>>,
    /// Something about the line changed.
    moved: Condvar,
    /// Blocks that may wait for their turn, so that memory stays bounded.
    waiting_max: usize,
    progress: &'a (dyn Fn(u64) + Sync),
}

/// Where blocks come from.
struct Intake<'a> {
    source: Source<'a>,
    next: u64,
    /// A reader that only finds the ends of records.
    cutter: Box<dyn Reader>,
    size: usize,
}

/// Where blocks go, in order.
struct Line<S> {
    /// What stitches; taken away by the worker that does it.
    bench: Option<Bench<S>>,
    /// The reader's state before block `turn`.
    state: State,
    /// Whether the block before `turn` changed it. Then it is likely to change again, and blocks
    /// are left unread until their turn has come.
    is_changing: bool,
    turn: u64,
    waiting: BTreeMap<u64, InLine>,
    spare: Vec<(Vec<u8>, Vec<Event>)>,
}

/// The stitcher with what it needs to know of the workers.
struct Bench<S> {
    stitcher: Stitcher<S>,
    ids: Vec<WorkerIds>,
    /// Reads blocks that were not read before their turn, or with a state that was not theirs; with
    /// the last but one of the `ids`.
    in_turn: (Box<dyn Reader>, Emitter),
    /// Puts events in order first, where they are in another; with the last of the `ids`.
    sorter: Option<Sorter>,
    lines: u64,
}

/// A block in line.
struct InLine {
    block: Block,
    worker: usize,
    content: Content,
}

/// What stands in a block.
enum Content {
    /// That is still to be read, into this buffer.
    Unread(Vec<Event>),
    /// It was read with the state `before`, and left another if that is given.
    Read { before: State, after: Option<State>, events: BlockEvents },
}

impl<S: SpanSink + Send> Floor<'_, S> {
    fn work(&self, worker: usize, mut reader: Box<dyn Reader>) {
        let mut emitter = Emitter::default();
        loop {
            let (before, is_changing, (buffer, events)) = {
                let mut line = self.line();
                let spare = line.spare.pop().unwrap_or_default();
                (Arc::clone(&line.state), line.is_changing, spare)
            };
            let Some(block) = self.take_block(buffer) else { return };
            let content = if is_changing {
                Content::Unread(events)
            } else {
                emitter.reuse(events);
                let after = reader.read(block.bytes(), block.at_end, &before, &mut emitter);
                Content::Read { before, after, events: emitter.take() }
            };
            self.hand_over(InLine { block, worker, content });
        }
    }

    fn take_block(&self, buffer: Vec<u8>) -> Option<Block> {
        let mut intake = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        let Intake { source, next, cutter, size } = &mut *intake;
        let block = source.next(*next, *size, buffer, &mut |bytes| cutter.boundary(bytes))?;
        *next += 1;
        (self.progress)(source.taken());
        Some(block)
    }

    /// Puts a block in line, and stitches whatever has its turn unless somebody already does.
    fn hand_over(&self, next: InLine) {
        let mut line = self.line();
        line.waiting.insert(next.block.number, next);
        loop {
            if let Some(mut bench) = line.bench.take() {
                loop {
                    let turn = line.turn;
                    let Some(next) = line.waiting.remove(&turn) else { break };
                    let state = Arc::clone(&line.state);
                    drop(line);
                    let (after, spare) = bench.stitch(next, &state);
                    line = self.line();
                    line.turn += 1;
                    line.spare.push(spare);
                    line.is_changing = after.is_some();
                    if let Some(after) = after {
                        line.state = after;
                    }
                    self.moved.notify_all();
                }
                line.bench = Some(bench);
            }
            if line.waiting.len() < self.waiting_max {
                return;
            }
            line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn line(&self) -> MutexGuard<'_, Line<S>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: SpanSink> Bench<S> {
    /// Stitches a block; returns the reader's state after it if that is another, and the buffers.
    fn stitch(&mut self, next: InLine, state: &State) -> (Option<State>, (Vec<u8>, Vec<Event>)) {
        let InLine { block, worker, content } = next;
        let in_turn = self.ids.len() - 2;
        let (worker, (after, mut events)) = match content {
            Content::Read { before, after, events } if Arc::ptr_eq(&before, state) => {
                (worker, (after, events))
            }
            Content::Read { mut events, .. } => {
                // Names and lanes that the worker met here are used by its later blocks.
                if let Some(sorter) = &mut self.sorter {
                    sorter.learn(worker, &events);
                }
                self.ids[worker].learn(&mut events);
                (in_turn, self.read(&block, events.events, state))
            }
            Content::Unread(spare) => (in_turn, self.read(&block, spare, state)),
        };
        let view = BlockView { bytes: block.bytes(), offset: block.offset, lines: self.lines };
        if let Some(sorter) = &mut self.sorter {
            sorter.take(worker, &mut events, block.offset);
        }
        self.stitcher.take(&mut events, &mut self.ids[worker], view);
        self.sorted(false);
        self.lines += events.lines;
        if block.skipped > 0 {
            let view = BlockView { bytes: &[], offset: block.offset, lines: self.lines };
            self.stitcher.skipped(block.skipped, view);
            self.lines += 1;
        }
        (after, (block.into_buffer(), events.events))
    }

    /// Reads a block whose turn has come.
    fn read(
        &mut self,
        block: &Block,
        spare: Vec<Event>,
        state: &State,
    ) -> (Option<State>, BlockEvents) {
        let (reader, emitter) = &mut self.in_turn;
        emitter.reuse(spare);
        let after = reader.read(block.bytes(), block.at_end, state, emitter);
        (after, emitter.take())
    }

    /// Stitches what has been put in order.
    fn sorted(&mut self, at_end: bool) {
        let Some(sorter) = &mut self.sorter else { return };
        while let Some((mut events, offset)) = sorter.next(at_end) {
            let ids = self.ids.last_mut().expect("the sorter has names of its own");
            self.stitcher.take(&mut events, ids, BlockView { bytes: &[], offset, lines: 0 });
            sorter.reuse(events.events);
        }
    }
}
