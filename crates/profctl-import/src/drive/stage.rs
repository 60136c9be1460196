//! The last stage: records are sorted, if they need to be, and stitched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use profctl_model::SpanSink;

use crate::blocks::CutBlock;
use crate::emit::{BlockEvents, Emitter, Event};
use crate::files::FileId;
use crate::importer::{Block, Reader, State};
use crate::sort::Sorter;
use crate::stitch::{BlockView, Setup, Stitched, Stitcher, WorkerIds};
use crate::tap::Tap;

/// The stitcher with its state per emitter.
pub(super) struct StitchStage<'t, S> {
    stitcher: Stitcher<S>,
    tap: Option<&'t mut dyn Tap>,
    /// By emitter; then one for `in_turn` and one for the sorter.
    ids: Vec<WorkerIds>,
    /// Reads blocks that were not read before their turn, or with a state that was not theirs.
    in_turn: (Box<dyn Reader>, Emitter),
    /// Puts events in order first, where they are in another.
    sorter: Option<Sorter>,
    /// See [`crate::ReadOptions::asked`].
    asked: Option<Arc<AtomicBool>>,
    /// The only stream and its file, where blocks are of one.
    stream: (usize, FileId),
    /// Lines before the next block.
    lines: u64,
}

/// Of events that are put in order, those that are left at the end of the input.
const ALL: usize = usize::MAX;

/// What is in a block.
pub(super) enum Content {
    /// That is still to be read, into this buffer.
    Unread(Vec<Event>),
    /// It was read with the state `before`, and left another if that is given.
    Read { before: State, after: Option<State>, events: BlockEvents },
}

impl<'t, S: SpanSink> StitchStage<'t, S> {
    pub(super) fn new(
        setup: Setup,
        sink: S,
        emitters: usize,
        sorter: Option<Sorter>,
        reader: &dyn Reader,
        mut tap: Option<&'t mut dyn Tap>,
        asked: Option<Arc<AtomicBool>>,
    ) -> Self {
        if let Some(tap) = &mut tap {
            tap.start(&setup);
        }
        Self {
            stitcher: Stitcher::new(setup, sink),
            tap,
            ids: (0..emitters + 2).map(|_| WorkerIds::default()).collect(),
            in_turn: (reader.fork(), Emitter::default()),
            sorter,
            asked,
            stream: (0, FileId(0)),
            lines: 0,
        }
    }

    /// For blocks of that stream, which is in that file.
    pub(super) fn of_stream(mut self, stream: usize, file: FileId) -> Self {
        self.stream = (stream, file);
        self
    }

    /// The only stream, where blocks are of one.
    pub(super) fn stream(&self) -> usize {
        self.stream.0
    }

    /// Stitches the next block of the only stream, read by `emitter`; returns the reader's state
    /// after it if that is another, and the buffers.
    pub(super) fn block(
        &mut self,
        block: CutBlock,
        emitter: usize,
        content: Content,
        state: &State,
    ) -> (Option<State>, (Vec<u8>, Vec<Event>)) {
        let in_turn = self.ids.len() - 2;
        let (emitter, (after, mut events)) = match content {
            Content::Read { before, after, events } if Arc::ptr_eq(&before, state) => {
                (emitter, (after, events))
            }
            Content::Read { mut events, .. } => {
                // Names and lanes that the worker met here are used by its later blocks.
                if let Some(sorter) = &mut self.sorter {
                    sorter.learn(emitter, &events);
                }
                self.ids[emitter].learn(&mut events);
                (in_turn, self.read(&block, events.events, state))
            }
            Content::Unread(spare) => (in_turn, self.read(&block, spare, state)),
        };
        let (stream, FileId(source)) = self.stream;
        let view = BlockView {
            bytes: block.bytes(),
            stream,
            source,
            offset: block.offset,
            lines: Some(self.lines),
        };
        self.take(emitter, &mut events, view);
        self.lines += events.lines;
        if block.skipped > 0 {
            self.skipped(block.skipped, BlockView { bytes: &[], lines: Some(self.lines), ..view });
            self.lines += 1;
        }
        (after, (block.into_buffer(), events.events))
    }

    /// Stitches events of an emitter, which follow all that came before.
    pub(super) fn take(&mut self, emitter: usize, events: &mut BlockEvents, view: BlockView<'_>) {
        let n = events.events.len();
        if let Some(sorter) = &mut self.sorter {
            sorter.take(emitter, events, view.offset);
        }
        self.stitch(emitter, events, view);
        // More than came, so that what has been put in order is gone when more is.
        self.sorted(n.saturating_mul(2));
        if self.asked.as_ref().is_some_and(|asked| asked.swap(false, Ordering::Relaxed)) {
            self.stitcher.so_far();
        }
    }

    fn stitch(&mut self, emitter: usize, events: &mut BlockEvents, view: BlockView<'_>) {
        let ids = &mut self.ids[emitter];
        if let Some(tap) = &mut self.tap {
            ids.learn(events);
            tap.take(events, ids.names(), ids.lanes());
        }
        self.stitcher.take(events, ids, view);
    }

    /// Counts `bytes` of a record that was too long to be read.
    pub(super) fn skipped(&mut self, bytes: u64, view: BlockView<'_>) {
        self.stitcher.skipped(bytes, view);
    }

    /// Reads a block whose turn has come.
    fn read(
        &mut self,
        block: &CutBlock,
        spare: Vec<Event>,
        state: &State,
    ) -> (Option<State>, BlockEvents) {
        let (reader, emitter) = &mut self.in_turn;
        emitter.reuse(spare);
        let after = reader.read(&view_of(block, self.stream.0), state, emitter);
        (after, emitter.take())
    }

    /// Stitches about `n` of the events that have been put in order; at the end of the input, all.
    /// Not everything at once: while one worker stitches, the others can read only so many blocks.
    fn sorted(&mut self, n: usize) {
        let Some(mut sorter) = self.sorter.take() else { return };
        let of_sorter = self.ids.len() - 1;
        let mut done = 0;
        while done < n
            && let Some((mut events, offset)) = sorter.next(n == ALL)
        {
            done += events.events.len().max(1);
            let view = BlockView { bytes: &[], stream: 0, source: 0, offset, lines: None };
            self.stitch(of_sorter, &mut events, view);
            sorter.reuse(events.events);
        }
        self.sorter = Some(sorter);
    }

    /// Stitches what is left, and ends the trace.
    pub(super) fn finish(mut self) -> Stitched<S> {
        self.sorted(ALL);
        self.stitcher.finish()
    }
}

/// A block as a reader sees it.
pub(super) fn view_of(block: &CutBlock, stream: usize) -> Block<'_> {
    Block { bytes: block.bytes(), at_end: block.at_end, stream, offset: block.offset }
}
