//! Stitches streams of single threads in parallel, each into a part of the sink, and joins the
//! parts.
//!
//! Parts are joined in the order of their streams, so neither the result nor the order of names
//! depends on who reads what. Neighbors are joined as soon as both are done: only so many parts are
//! in memory as there are workers, and one more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use profctl_model::{DiagLog, Names, SpanSink, Tick, TraceMeta};

use super::feed::Feed;
use super::stage::StitchStage;
use super::{Work, blocks};
use crate::files::FileId;
use crate::importer::{Reader, State};
use crate::stitch::{Setup, Stitched};

/// A stream, and what reads it and takes its calls.
pub(super) struct StreamInput<'a, S> {
    pub(super) feed: Feed<'a>,
    pub(super) file: FileId,
    /// Bytes, before decompression; 0 if that is not known.
    pub(super) size: u64,
    /// Where its calls go.
    pub(super) part: S,
    pub(super) reader: Box<dyn Reader>,
}

/// By their first stream: the stream after the last one, and what became of them.
type Joined<S> = BTreeMap<usize, (usize, Stitched<S>)>;

struct Shared<'a, 'w, S> {
    setup: &'a Setup,
    state: &'a State,
    block_size: usize,
    progress: &'a (dyn Fn(u64) + Sync),
    /// Streams that are not read yet.
    streams: Vec<Mutex<Option<StreamInput<'w, S>>>>,
    /// How those that were read ended.
    feeds: Vec<Mutex<Option<Feed<'w>>>>,
    joined: Mutex<Joined<S>>,
    /// Bytes that were read of all streams, for the progress.
    taken: AtomicU64,
}

pub(super) fn run<'w, S: SpanSink + Send>(
    setup: &Setup,
    sink: S,
    streams: Vec<StreamInput<'w, S>>,
    work: &Work<'w>,
) -> (Stitched<S>, Vec<Feed<'w>>) {
    let (by_all, side_by_side) = split(&streams, work.workers);
    let shared = Shared {
        setup,
        state: &work.state,
        block_size: work.block_size,
        progress: work.progress,
        feeds: streams.iter().map(|_| Mutex::default()).collect(),
        streams: streams.into_iter().map(|stream| Mutex::new(Some(stream))).collect(),
        joined: Mutex::default(),
        taken: AtomicU64::new(0),
    };
    for stream in by_all {
        shared.stitch(stream, work.workers);
    }
    let next = AtomicUsize::new(0);
    let one_by_one = || {
        while let Some(&stream) = side_by_side.get(next.fetch_add(1, Ordering::Relaxed)) {
            shared.stitch(stream, 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..work.workers.min(side_by_side.len()) {
            scope.spawn(one_by_one);
        }
        one_by_one();
    });
    let mut whole = empty(setup, sink);
    for (_, part) in
        shared.joined.into_inner().unwrap_or_else(PoisonError::into_inner).into_values()
    {
        join(&mut whole, part);
    }
    let into_feed = |feed: Mutex<_>| feed.into_inner().unwrap_or_else(PoisonError::into_inner);
    (whole, shared.feeds.into_iter().filter_map(into_feed).collect())
}

/// The streams that all workers read together, because one worker would still read it when the
/// others are done with everything else; and those of which each worker reads one, in order.
fn split<S>(streams: &[StreamInput<'_, S>], workers: usize) -> (Vec<usize>, Vec<usize>) {
    let mut by_size: Vec<usize> = (0..streams.len()).collect();
    by_size.sort_by_key(|&stream| std::cmp::Reverse(streams[stream].size));
    let mut left: u128 = streams.iter().map(|stream| u128::from(stream.size)).sum();
    // Reading one together takes a fourth longer at least.
    let is_large = |stream: usize, left: u128| {
        workers > 1 && u128::from(streams[stream].size) * workers as u128 * 4 > left * 5
    };
    let mut by_all = Vec::new();
    for stream in by_size {
        if !is_large(stream, left) {
            break;
        }
        left -= u128::from(streams[stream].size);
        by_all.push(stream);
    }
    let others = (0..streams.len()).filter(|stream| !by_all.contains(stream)).collect();
    (by_all, others)
}

impl<S: SpanSink + Send> Shared<'_, '_, S> {
    /// Stitches a whole stream and joins it with its neighbors.
    fn stitch(&self, stream: usize, workers: usize) {
        let input = self.streams[stream].lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(StreamInput { feed, file, part, reader, .. }) = input else { return };
        let before = AtomicU64::new(0);
        let progress = |taken: u64| {
            let more = taken.saturating_sub(before.swap(taken, Ordering::Relaxed));
            (self.progress)(self.taken.fetch_add(more, Ordering::Relaxed) + more);
        };
        let work = Work {
            reader,
            state: State::clone(self.state),
            workers,
            block_size: self.block_size,
            progress: &progress,
        };
        let setup = self.setup.clone();
        let stage = StitchStage::new(setup, part, workers, None, &*work.reader, None, None);
        let (stage, feed) = blocks::run(stage.of_stream(stream, file), feed, work);
        *self.feeds[stream].lock().unwrap_or_else(PoisonError::into_inner) = Some(feed);
        self.done(stream, stage.finish());
    }

    fn done(&self, stream: usize, mut stitched: Stitched<S>) {
        let (mut first, mut end) = (stream, stream + 1);
        loop {
            let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
            let before = joined.range(..first).next_back().map(|(&first, &(end, _))| (first, end));
            let before = before.filter(|&(_, end)| end == first);
            if let Some((_, mut earlier)) = before.and_then(|(first, _)| joined.remove(&first)) {
                drop(joined);
                join(&mut earlier, stitched);
                stitched = earlier;
                first = before.map_or(first, |(first, _)| first);
            } else if let Some((later_end, later)) = joined.remove(&end) {
                drop(joined);
                join(&mut stitched, later);
                end = later_end;
            } else {
                joined.insert(first, (end, stitched));
                return;
            }
        }
    }
}

/// A trace of which nothing was read.
fn empty<S>(setup: &Setup, sink: S) -> Stitched<S> {
    let meta = TraceMeta {
        timebase: setup.timebase,
        first: Tick(0),
        last: Tick(0),
        events: 0,
        knows_off_cpu: false,
        diags: DiagLog::default(),
    };
    Stitched { sink, names: Names::default(), meta, bounds: None }
}

/// Adds what other streams hold, all of which come later.
fn join<S: SpanSink>(whole: &mut Stitched<S>, part: Stitched<S>) {
    let ids = whole.names.merge(part.names);
    whole.sink.join(part.sink, &ids, &whole.names);
    let meta = &mut whole.meta;
    meta.events = meta.events.saturating_add(part.meta.events);
    meta.knows_off_cpu |= part.meta.knows_off_cpu;
    meta.diags.merge(&part.meta.diags);
    if let Some((first, last)) = part.bounds {
        let (from, until) = whole.bounds.unwrap_or((first, last));
        (meta.first, meta.last) = (from.min(first), until.max(last));
        whole.bounds = Some((meta.first, meta.last));
    }
}
