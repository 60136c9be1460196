//! Bytes to spans: the formats, one stitcher that pairs and repairs, and the loop that drives both
//! over blocks, on as many threads as asked, with the same result.
//!
//! Nothing here opens a file: the caller provides [`Files`].

pub mod blocks;
pub mod bytes;
mod call_log;
pub mod capture;
pub mod decompress;
pub mod emit;
pub mod files;
pub mod flow;
pub mod formats;
mod identity;
mod importer;
mod in_turn;
pub mod json;
pub mod kernel_events;
mod known_names;
mod lttng;
mod options;
pub mod pause;
mod ring_buffer;
pub mod samples;
pub mod sort;
pub mod stitch;
pub mod symbols;
pub mod text;
mod together;

mod drive;
mod recognize;
mod tags;
mod tap;
#[cfg(test)]
mod testing;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use profctl_model::diag::codes;
use profctl_model::{Code, Names, SpanSink, Tick, Ticks, Timebase, Trace, TraceBuilder, TraceMeta};

pub use files::{Files, Memory, Single};
pub use formats::{Descriptor, FORMATS, ImportError, ImportOptions, Importer, Recognition};
pub use recognize::directory as recognize_directory;
pub use stitch::Grouping;

/// The diagnostics of what several formats share; those of single formats are with them
/// ([`Descriptor`]).
static CODES: &[&Code] = &[
    &stitch::AMBIGUOUS_SWITCH,
    &tags::UNKNOWN_TAG,
    &capture::INFERRED_CALLS,
    &capture::NO_STROBE,
    &capture::UNKNOWN_ADDRESS,
    &capture::UNKNOWN_LEVEL,
    &flow::FOREIGN_LINE,
    &flow::INFERRED,
    &sort::LATE_EVENT,
];

/// Every diagnostic that reading can raise, those of single formats last.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    let of_formats = FORMATS.iter().flat_map(|format| format.descriptor().codes);
    codes::ALL.iter().chain(CODES).chain(of_formats).copied()
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The name of the format, where recognizing it is not wanted.
    pub format: Option<String>,
    /// Names, record layouts.
    pub import: ImportOptions,
    /// Only what happened from this time on; calls that cross it are clipped, and partial.
    pub from: Option<Bound>,
    /// Only what happened before this time, likewise.
    pub until: Option<Bound>,
    /// Workers; 0 and 1 both mean the calling thread alone.
    pub workers: usize,
    /// Bytes per block; 0 means the default. Any size gives the same result.
    pub block_size: usize,
    /// By what a call is outermost: its function, unless a report groups by something else.
    pub grouping: Grouping,
    /// Set by who wants to know what was read so far: the sink then gets a
    /// [`profctl_model::Record::SoFar`] after the next block.
    pub asked: Option<Arc<AtomicBool>>,
}

/// Where a window of time begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// So long after the first timestamp: nanoseconds, or counts of a clock that counts.
    After(u64),
    /// A time of the trace's own clock.
    At {
        /// Nanoseconds, for a clock that measures time.
        nanos: u64,
        /// Of a clock that counts.
        count: u64,
    },
}

impl Bound {
    /// The same on the clock of a trace whose first timestamp is `first`.
    pub fn at(self, timebase: &Timebase, first: Tick) -> Tick {
        let ticks = |nanos: u64, count: u64| {
            if timebase.is_time() {
                timebase.ticks_of_nanos(u128::from(nanos)).unwrap_or(Ticks(u64::MAX))
            } else {
                Ticks(count)
            }
        };
        match self {
            Self::After(length) => first + ticks(length, length),
            Self::At { nanos, count } => Tick(ticks(nanos, count).0),
        }
    }
}

/// What was read.
pub struct Streamed<S> {
    /// The sink, filled.
    pub sink: S,
    /// Functions, threads and CPUs.
    pub names: Names,
    /// Clock, span of time, quality.
    pub meta: TraceMeta,
    /// What it was and how it was recognized.
    pub origin: Origin,
    /// The first and the last time of the input, whatever window was asked for.
    pub bounds: (Tick, Tick),
}

/// Where a trace came from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The name of the input.
    pub name: String,
    /// The format.
    pub format: &'static Descriptor,
    /// Why it was treated as that.
    pub reason: String,
    /// Size after decompression, bytes.
    pub bytes: u64,
    /// The compression that was removed, if any.
    pub compression: Option<&'static str>,
    /// What else the head of the input said.
    pub facts: Vec<(Cow<'static, str>, String)>,
}

/// Reads `files` into `sink` as they come. `progress` receives the number of bytes read from the
/// files, before decompression, at intervals and from any thread.
pub fn stream<S: SpanSink + Send>(
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Streamed<S>, ImportError> {
    drive::run(files, options, sink, progress)
}

/// Reads `files` as `importer` does, whether or not it is in [`FORMATS`].
pub fn stream_as<S: SpanSink + Send>(
    importer: &'static dyn Importer,
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Streamed<S>, ImportError> {
    let reason = "chosen by the caller".into();
    drive::read(importer, reason, files, options, sink, progress, None)
}

/// Writes `files` in the plain format to `out`: every record that its reader says, so that reading
/// it gives the same calls. `sink` gets them as from [`stream`].
pub fn write_plain<S: SpanSink + Send>(
    files: &dyn Files,
    options: &ReadOptions,
    sink: S,
    out: &mut (dyn std::io::Write + Send),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Streamed<S>, std::io::Result<()>), ImportError> {
    let mut file = formats::plain::file::PlainFile::new(out);
    let read = drive::run_tapped(files, options, sink, progress, &mut file)?;
    Ok((read, file.finish()))
}

/// Reads recordings of one run as one trace, each by its own format. They must go by one clock.
pub fn stream_together<S: SpanSink + Send>(
    parts: &[&dyn Files],
    options: &ReadOptions,
    sink: S,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Streamed<S>, ImportError> {
    let (files, known) = opened_together(parts, options)?;
    drive::read_opened(known, &files, options, sink, progress, None)
}

/// The same in the plain format to `out`, as [`write_plain`] does.
pub fn write_plain_together<S: SpanSink + Send>(
    parts: &[&dyn Files],
    options: &ReadOptions,
    sink: S,
    out: &mut (dyn std::io::Write + Send),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Streamed<S>, std::io::Result<()>), ImportError> {
    let (files, known) = opened_together(parts, options)?;
    let mut file = formats::plain::file::PlainFile::new(out);
    let read = drive::read_opened(known, &files, options, sink, progress, Some(&mut file))?;
    Ok((read, file.finish()))
}

fn opened_together<'a>(
    parts: &'a [&'a dyn Files],
    options: &ReadOptions,
) -> Result<(together::Together<'a>, drive::Known), ImportError> {
    let files = together::Together::new(parts);
    let (opened, reason) = together::open(&files, options)?;
    Ok((files, drive::Known { format: &together::DESCRIPTOR, reason, opened }))
}

/// Reads `files` as a whole trace.
pub fn load(
    files: &dyn Files,
    options: &ReadOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Trace, Origin), ImportError> {
    let read = drive::run(files, options, TraceBuilder::default(), progress)?;
    Ok((read.sink.finish(read.meta, read.names), read.origin))
}
