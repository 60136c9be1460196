//! Reads the blocks of one stream in parallel and stitches them in order.
//!
//! Every worker does whatever is next: take a block from the stream, let its reader say what is in
//! it, and, if it is that block's turn, stitch it. Reading a block needs nothing from the blocks
//! before it but the reader's small state; if that turns out to have changed, the block is read
//! again when its turn comes, and while every block changes it, blocks are read in order.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use profctl_model::SpanSink;

use super::Work;
use super::feed::Feed;
use super::stage::{Content, StitchStage, view_of};
use crate::blocks::CutBlock;
use crate::emit::{Emitter, Event};
use crate::importer::{Reader, State};

/// What the workers share.
struct Pipeline<'a, 'p, 't, S> {
    input: Mutex<BlockInput<'a>>,
    queue: Mutex<StitchQueue<'t, S>>,
    /// Something about the queue changed.
    changed: Condvar,
    /// Blocks that may wait for their turn, so that memory stays bounded.
    waiting_max: usize,
    stream: usize,
    progress: &'p (dyn Fn(u64) + Sync),
}

/// Where blocks come from.
struct BlockInput<'a> {
    feed: Feed<'a>,
    next: u64,
    /// A reader that only finds the ends of records.
    cutter: Box<dyn Reader>,
    size: usize,
}

/// Where blocks go, in order.
struct StitchQueue<'t, S> {
    /// What stitches; taken away by the worker that does it.
    stage: Option<StitchStage<'t, S>>,
    /// The reader's state before block `turn`.
    state: State,
    /// Whether the block before `turn` changed it. Then it is likely to change again, and blocks
    /// are left unread until their turn has come.
    is_changing: bool,
    turn: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// Whether workers wait for a place among them. Waking up no thread is a system call, too.
    is_awaited: bool,
    spare: Vec<(Vec<u8>, Vec<Event>)>,
}

/// A block that waits for its turn.
struct Waiting {
    block: CutBlock,
    worker: usize,
    content: Content,
}

pub(super) fn run<'a, 't, S: SpanSink + Send>(
    stage: StitchStage<'t, S>,
    feed: Feed<'a>,
    work: Work<'_>,
) -> (StitchStage<'t, S>, Feed<'a>) {
    let Work { reader, state, workers, block_size, progress } = work;
    let mut readers: Vec<_> = (1..workers).map(|_| reader.fork()).collect();
    let pipeline = Pipeline {
        stream: stage.stream(),
        input: Mutex::new(BlockInput { feed, next: 0, cutter: reader.fork(), size: block_size }),
        queue: Mutex::new(StitchQueue {
            stage: Some(stage),
            state,
            is_changing: false,
            turn: 0,
            waiting: BTreeMap::new(),
            is_awaited: false,
            spare: Vec::new(),
        }),
        changed: Condvar::new(),
        waiting_max: workers * 4,
        progress,
    };
    readers.push(reader);
    std::thread::scope(|scope| {
        let mut readers = readers.into_iter().enumerate();
        let own = readers.next();
        for (worker, reader) in readers {
            let pipeline = &pipeline;
            scope.spawn(move || pipeline.work(worker, reader));
        }
        if let Some((worker, reader)) = own {
            pipeline.work(worker, reader);
        }
    });
    let input = pipeline.input.into_inner().unwrap_or_else(PoisonError::into_inner);
    let queue = pipeline.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress(input.feed.taken());
    (queue.stage.expect("the last worker puts the stage back"), input.feed)
}

impl<'t, S: SpanSink + Send> Pipeline<'_, '_, 't, S> {
    fn work(&self, worker: usize, mut reader: Box<dyn Reader>) {
        let mut emitter = Emitter::default();
        loop {
            let (before, is_changing, (buffer, events)) = {
                let mut queue = self.queue();
                let spare = queue.spare.pop().unwrap_or_default();
                (Arc::clone(&queue.state), queue.is_changing, spare)
            };
            let Some(block) = self.take_block(buffer) else { return };
            let content = if is_changing {
                Content::Unread(events)
            } else {
                emitter.reuse(events);
                let after = reader.read(&view_of(&block, self.stream), &before, &mut emitter);
                Content::Read { before, after, events: emitter.take() }
            };
            self.hand_over(Waiting { block, worker, content });
        }
    }

    fn take_block(&self, buffer: Vec<u8>) -> Option<CutBlock> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let BlockInput { feed, next, cutter, size } = &mut *input;
        let block =
            feed.next(*next, *size, buffer, &mut |bytes| cutter.boundary_in(self.stream, bytes))?;
        *next += 1;
        (self.progress)(feed.taken());
        Some(block)
    }

    /// Queues a block, and stitches the blocks whose turn it is, unless another worker already
    /// does.
    fn hand_over(&self, next: Waiting) {
        let mut queue = self.queue();
        queue.waiting.insert(next.block.number, next);
        loop {
            if let Some(mut stage) = queue.stage.take() {
                loop {
                    let turn = queue.turn;
                    let Some(next) = queue.waiting.remove(&turn) else { break };
                    let state = Arc::clone(&queue.state);
                    drop(queue);
                    let Waiting { block, worker, content } = next;
                    let (after, spare) = stage.block(block, worker, content, &state);
                    queue = self.queue();
                    queue.turn += 1;
                    queue.spare.push(spare);
                    queue.is_changing = after.is_some();
                    if let Some(after) = after {
                        queue.state = after;
                    }
                    if std::mem::take(&mut queue.is_awaited) {
                        self.changed.notify_all();
                    }
                }
                queue.stage = Some(stage);
            }
            if queue.waiting.len() < self.waiting_max {
                return;
            }
            queue.is_awaited = true;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn queue(&self) -> MutexGuard<'_, StitchQueue<'t, S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
