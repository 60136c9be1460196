//! Bytes to spans: the formats, one stitcher that pairs and repairs, and the loop that drives both
//! over blocks, on as many threads as asked, with the same result.
//!
//! Nothing here opens a file: the rim hands in [`Files`].

pub mod blocks;
pub mod bytes;
mod call_log;
pub mod capture;
pub mod decompress;
pub mod emit;
pub mod files;
pub mod flow;
pub mod formats;
pub mod json;
pub mod samples;
pub mod sort;
pub mod stitch;
pub mod symbols;
pub mod text;

mod drive;
mod recognize;
#[cfg(test)]
mod testing;

use profctl_model::{
    Code, CpuId, Names, Record, SpanSink, ThreadId, Trace, TraceBuilder, TraceMeta,
};

pub use files::{Files, Memory, Single};
pub use formats::{Descriptor, FORMATS, ImportError, ImportOptions, Importer, Recognition};
pub use recognize::directory as recognize_directory;
pub use stitch::Grouping;

/// The diagnostics of what several formats share; those of single formats are with them
/// ([`Importer::codes`]).
pub static CODES: &[&Code] = &[
    &stitch::AMBIGUOUS_SWITCH,
    &capture::INFERRED_CALLS,
    &capture::NO_STROBE,
    &capture::UNKNOWN_ADDRESS,
    &capture::UNKNOWN_LEVEL,
    &flow::FOREIGN_LINE,
    &flow::INFERRED,
    &sort::LATE_EVENT,
];

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The name of the format, where recognizing it is not wanted.
    pub format: Option<String>,
    /// Names, record layouts.
    pub import: ImportOptions,
    /// Only what happened from this time on; calls that cross it are partial.
    pub from: Option<Bound>,
    /// Only what happened before this time, likewise.
    pub until: Option<Bound>,
    /// Workers; 0 and 1 both mean the calling thread alone.
    pub workers: usize,
    /// Bytes a block; 0 means the default. Any size gives the same result.
    pub block_size: usize,
    /// By what a call is outermost: its function, unless a report groups by something else.
    pub grouping: Grouping,
}

/// Where a window of time begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// So long after the first timestamp: nanoseconds, or counts of a clock that counts.
    After(u64),
    /// A time of the trace's own clock.
    At {
        /// Of a clock that tells time, nanoseconds.
        nanos: u64,
        /// Of a clock that counts.
        count: u64,
    },
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
}

/// Where a trace came from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The name of the input.
    pub name: String,
    /// The format.
    pub format: &'static Descriptor,
    /// Why it was taken for that.
    pub reason: String,
    /// Size after decompression, bytes.
    pub bytes: u64,
    /// The compression that was removed, if any.
    pub compression: Option<&'static str>,
    /// What else the head of the input said.
    pub facts: Vec<(&'static str, String)>,
}

/// Reads `files` into `sink` as they come. `progress` is told the number of bytes read from the
/// files, before decompression, now and then and from any thread.
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
    drive::read(importer, "chosen by the caller".into(), files, options, sink, progress)
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

/// A sink that lets only some threads and CPUs through.
pub struct Only<S> {
    /// What is behind it.
    pub inner: S,
    /// Which threads; all if empty. Compared with the thread's id, then its name.
    pub threads: Vec<String>,
    /// Which processes, besides those threads; compared with the thread's process where the input
    /// tells it, else with its id (Linux calls that pid).
    pub pids: Vec<u64>,
    /// Which CPUs, by number; all if empty.
    pub cpus: Vec<u32>,
}

impl<S> Only<S> {
    fn takes(&self, thread: ThreadId, cpu: Option<CpuId>, names: &Names) -> bool {
        self.takes_thread(thread, names) && self.takes_cpu(cpu, names)
    }

    fn takes_cpu(&self, cpu: Option<CpuId>, names: &Names) -> bool {
        let on = |number: &u32| cpu.is_some_and(|cpu| names.cpus[cpu] == *number);
        self.cpus.is_empty() || self.cpus.iter().any(on)
    }

    fn takes_thread(&self, thread: ThreadId, names: &Names) -> bool {
        let thread = &names.threads[thread];
        let wanted = |text: &String| {
            thread.name == *text
                || thread.label() == *text
                || thread.tid.is_some_and(|tid| tid.to_string() == *text)
        };
        let of_process = |pid: &u64| thread.pid.or(thread.tid) == Some(*pid);
        let all = self.threads.is_empty() && self.pids.is_empty();
        all || self.threads.iter().any(wanted) || self.pids.iter().any(of_process)
    }
}

impl<S: SpanSink> SpanSink for Only<S> {
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn span(&mut self, span: &profctl_model::Span, names: &Names) {
        let takes_all = self.threads.is_empty() && self.pids.is_empty() && self.cpus.is_empty();
        if takes_all || self.takes(span.thread, span.cpu, names) {
            self.inner.span(span, names);
        }
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        let takes = match record {
            Record::State(state) => self.takes(state.thread, state.cpu, names),
            Record::Wake(wake) => self.takes(wake.woken, wake.waker.cpu, names),
            Record::Life(life) => self.takes_thread(life.thread, names),
            Record::Gap(gap) => gap.cpu.is_none() || self.takes_cpu(gap.cpu, names),
            Record::Mark(mark) => self.takes_thread(mark.thread, names),
            Record::Total(totals) => self.takes(totals.thread, None, names),
        };
        if takes {
            self.inner.record(record, names);
        }
    }
}
