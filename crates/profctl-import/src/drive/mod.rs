//! From files to a filled sink: recognizes and opens an input, reads its streams in blocks on as
//! many threads as asked, and stitches what they say in order.
//!
//! [`blocks`] reads the blocks of one stream in parallel; [`merge`] reads several streams and puts
//! their records in time order; [`independent`] stitches streams of single threads by themselves,
//! for sinks that only add up; [`in_turn`] lets one reader read everything. All hand records to
//! the [`stage`], so the result does not depend on the number of workers or the size of the blocks.

mod blocks;
mod feed;
mod in_turn;
mod independent;
mod merge;
mod stage;

use std::io;

use profctl_model::diag::Sample;
use profctl_model::diag::codes;
use profctl_model::{Place, SpanSink, Tick, Ticks, Timebase, Timeline};

use crate::decompress::is_too_large;
use crate::files::{FileId, Files};
use crate::importer::{Descriptor, ImportError, Importer, Opened, Reader, State, Stream};
use crate::recognize::{is_empty, recognize};
use crate::sort::{Order, Sorter};
use crate::stitch::{Bound, Setup, Stitched};
use crate::tap::Tap;
use crate::{Origin, ReadOptions, Streamed};
use feed::Feed;
use stage::StitchStage;

pub(crate) fn run<S: SpanSink + Send>(
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Streamed<S>, ImportError> {
    let (importer, reason) = recognize(files, options)?;
    if is_empty(files)? {
        return Err(ImportError::whole("is empty"));
    }
    read(importer, reason, files, options, sink, progress, None)
}

/// Reads an input and passes the records of its reader to `tap`.
pub(crate) fn run_tapped<S: SpanSink + Send>(
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
    tap: &mut dyn Tap,
) -> Result<Streamed<S>, ImportError> {
    let (importer, reason) = recognize(files, options)?;
    if is_empty(files)? {
        return Err(ImportError::whole("is empty"));
    }
    read(importer, reason, files, options, sink, progress, Some(tap))
}

/// Reads an input whose format is known.
pub(crate) fn read<S: SpanSink + Send>(
    importer: &'static dyn Importer,
    reason: String,
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
    tap: Option<&mut dyn Tap>,
) -> Result<Streamed<S>, ImportError> {
    let opened = importer.open(files, &options.import)?;
    let known = Known { format: importer.descriptor(), reason, opened };
    read_opened(known, files, options, sink, progress, tap)
}

/// An input that was opened, and what it was recognized as.
pub(crate) struct Known {
    pub(crate) format: &'static Descriptor,
    pub(crate) reason: String,
    pub(crate) opened: Opened,
}

/// Reads an input that was opened.
pub(crate) fn read_opened<S: SpanSink + Send>(
    known: Known,
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
    tap: Option<&mut dyn Tap>,
) -> Result<Streamed<S>, ImportError> {
    let Known { format, reason, opened } = known;
    let Opened { timebase, streams, quirks, facts, mut reader, state } = opened;
    let ticks = |nanos: u64| timebase.ticks_of_nanos(u128::from(nanos)).unwrap_or(Ticks(u64::MAX));
    let bound = |bound: Option<crate::Bound>| match bound? {
        crate::Bound::After(nanos) if timebase.is_time() => Some(Bound::After(ticks(nanos))),
        crate::Bound::After(count) => Some(Bound::After(Ticks(count))),
        crate::Bound::At { nanos, .. } if timebase.is_time() => {
            Some(Bound::At(Tick(ticks(nanos).0)))
        }
        crate::Bound::At { count, .. } => Some(Bound::At(Tick(count))),
    };
    let order = match reader.order() {
        // The interval counts from the first timestamp, which may be anywhere.
        Order::Nearly if options.from.is_some() || options.until.is_some() => Order::Any,
        order => order,
    };
    let sorter = (order != Order::AsWritten).then(|| Sorter::new(order, timebase.resolution.0));
    // What is sorted has times, even if the program that wrote them laid calls end to end.
    let timeline = if sorter.is_some() { Timeline::Recorded } else { timebase.timeline };
    let counter_bits = match &streams[..] {
        [stream] => stream.clock.counter_bits,
        // The merge unfolds the counter of each stream.
        _ => None,
    };
    let sources = (0..files.entries().len()).map(|file| source_name(files, FileId(file))).collect();
    let setup = Setup {
        sources,
        timebase: Timebase { timeline, ..timebase },
        counter_bits,
        quirks,
        grouping: options.grouping,
        from: bound(options.from),
        until: bound(options.until),
    };
    let workers = options.workers.max(1);
    let unreadable = |file: FileId, error: &io::Error| {
        let which = match files.entries() {
            [_] => String::new(),
            entries => entries.get(file.0).map_or(String::new(), |entry| entry.name.clone() + ": "),
        };
        ImportError::whole(format!("{which}cannot be read: {error}"))
    };
    // A window counts from the first time of all threads, and a tap takes records in their order.
    let needs_order = tap.is_some()
        || sorter.is_some()
        || options.asked.is_some()
        || options.from.is_some()
        || options.until.is_some();
    let in_one_reader = reader.fork();
    let stage = |sink, emitters| {
        let asked = options.asked.clone();
        StitchStage::new(setup.clone(), sink, emitters, sorter, &*in_one_reader, tap, asked)
    };
    let (stitched, ends) = if let Some(reader) = reader.in_turn() {
        let file = FileId(0);
        let bytes = files.open(file).map_err(|error| unreadable(file, &error))?;
        let mut stage = stage(sink, 1);
        let (bytes, broken) = in_turn::run(&mut stage, reader, bytes, progress);
        (stage.finish(), vec![End { file, bytes, broken }])
    } else {
        let work = Work { reader, state, workers, block_size: options.block_size, progress };
        let mut feeds = Vec::with_capacity(streams.len());
        for stream in &streams {
            let feed = Feed::new(files, stream);
            feeds.push(feed.map_err(|error| unreadable(stream.file, &error))?);
        }
        let (stitched, feeds) = if let [_] = feeds[..] {
            let (stage, feed) = blocks::run(stage(sink, workers), feeds.remove(0), work);
            (stage.finish(), vec![feed])
        } else if !needs_order
            && streams.iter().all(|stream| stream.is_one_thread)
            && let Some(parts) = streams.iter().map(|_| sink.part()).collect::<Option<Vec<_>>>()
        {
            let size = |stream: &Stream| files.entries().get(stream.file.0)?.size;
            let input = |((feed, stream), part): ((_, &Stream), S)| independent::StreamInput {
                feed,
                file: stream.file,
                size: size(stream).unwrap_or_default(),
                part,
                reader: work.reader.fork(),
            };
            let inputs = feeds.into_iter().zip(&streams).zip(parts).map(input).collect();
            independent::run(&setup, sink, inputs, &work)
        } else {
            let stage = stage(sink, merge::workers(feeds.len(), &work));
            let (stage, feeds) = merge::run(stage, feeds, &streams, &work);
            (stage.finish(), feeds)
        };
        (stitched, feeds.into_iter().map(Feed::end).collect())
    };

    let Stitched { sink, names, mut meta, bounds } = stitched;
    meta.timebase = timebase;
    let mut bytes = 0;
    let mut broken: Vec<FileId> = Vec::new();
    for end in ends {
        bytes += end.bytes;
        if let Some(error) = end.broken.as_ref().filter(|error| is_too_large(error)) {
            return Err(unreadable(end.file, error));
        }
        let why = end.broken.map(|error| error.to_string()).or_else(|| files.broken(end.file));
        if let Some(error) = why
            && !broken.contains(&end.file)
        {
            broken.push(end.file);
            let source = source_name(files, end.file);
            let place = Place { source, offset: end.bytes, line: None };
            meta.diags.add(&codes::DAMAGED, 1, || Sample {
                place,
                message: format!("cannot be read further: {error}; the rest was not used"),
            });
        }
    }
    let compression = files.head(FileId(0)).ok().and_then(|head| head.compression);
    let facts = facts.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let origin =
        Origin { name: files.name().to_owned(), format, reason, bytes, compression, facts };
    Ok(Streamed { sink, names, meta, origin, bounds: bounds.unwrap_or_default() })
}

/// How reading a stream ended.
struct End {
    file: FileId,
    /// Bytes that were read, after decompression.
    bytes: u64,
    /// The error that ended it early, if one did.
    broken: Option<io::Error>,
}

/// What messages call a file.
fn source_name(files: &dyn Files, file: FileId) -> String {
    match files.entries() {
        [_] => files.name().to_owned(),
        entries => {
            let entry = entries.get(file.0).map_or("?", |entry| &entry.name);
            format!("{}/{entry}", files.name().trim_end_matches('/'))
        }
    }
}

/// How the streams of an input are read.
struct Work<'a> {
    /// Reads blocks; every worker forks its own.
    reader: Box<dyn Reader>,
    /// The state of every stream before its first block.
    state: State,
    workers: usize,
    /// Bytes per block; 0 means the default.
    block_size: usize,
    /// Receives the number of bytes read, before decompression.
    progress: &'a (dyn Fn(u64) + Sync),
}
