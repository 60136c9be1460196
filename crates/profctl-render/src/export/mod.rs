//! Exports of traces for viewers, one file per format. A new target is a file here and a line in
//! [`TARGETS`]; `docs/export.md` says what each carries and what it loses.
//!
//! Calls come one by one, so that a trace need not fit in memory.

use std::io::{self, Write};

use profctl_model::{
    CpuId, FuncId, Gap, IdVec, Mark, Names, PathOrder, PathRows, ThreadId, ThreadState, Tick,
    TraceMeta,
};

pub mod chrome;
pub mod folded;
mod json;
mod order;
pub mod perfetto;
mod perfetto_sched;
pub mod pprof;
pub mod speedscope;
mod wire;

/// Frames that are written of a stack where every stack is written whole: the outermost ones and the
/// innermost. Without a limit, the output would grow with the square of the depth.
const FRAMES_MAX: usize = 512;

/// A form that a trace can be written in.
pub struct Target {
    /// The name for `--to`.
    pub name: &'static str,
    /// One line: what opens it.
    pub about: &'static str,
    /// How names of its files end; the first is the usual one.
    pub endings: &'static [&'static str],
    /// Writes a trace.
    pub writer: Writer,
}

/// What is known of a trace before its calls are written.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// Functions, threads, CPUs.
    pub names: &'a Names,
    /// Clock, span of time.
    pub meta: &'a TraceMeta,
    /// Instants.
    pub marks: &'a [Mark],
    /// What was lost.
    pub gaps: &'a [Gap],
    /// How many calls each thread made.
    pub calls: &'a IdVec<ThreadId, u64>,
    /// What threads were doing, those of one thread in time order.
    pub states: &'a [ThreadState],
}

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// On which thread.
    pub thread: ThreadId,
    /// Number of callers.
    pub depth: u32,
    /// What was called.
    pub func: FuncId,
    /// The CPU on which it ended.
    pub cpu: Option<CpuId>,
    /// Entry.
    pub start: Tick,
    /// Exit.
    pub end: Tick,
}

/// One end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallEnd {
    /// When.
    pub time: Tick,
    /// On which thread.
    pub thread: ThreadId,
    /// What was called, and the CPU on which it ended; nothing at an exit.
    pub entered: Option<(FuncId, Option<CpuId>)>,
}

/// Calls, or what stopped them from being read.
pub type Calls<'a> = dyn Iterator<Item = io::Result<Call>> + 'a;
/// The same for ends of calls.
pub type CallEnds<'a> = dyn Iterator<Item = io::Result<CallEnd>> + 'a;

/// Writes a trace, in the order in which it wants the calls.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// By thread, then in the order of entry.
    ByThread(fn(&Header<'_>, &mut Calls<'_>, &mut dyn Write) -> io::Result<()>),
    /// Entries and exits in time order, then thread; within a thread, a call is left after all that
    /// it called.
    ByTime(fn(&Header<'_>, &mut CallEnds<'_>, &mut dyn Write) -> io::Result<()>),
    /// Merged by path.
    ByPath {
        /// Which functions are one frame, and how paths are ordered.
        order: fn(&Names) -> PathOrder,
        /// Whether threads are kept apart.
        keeps_threads: bool,
        /// Writes the paths.
        write: fn(&Header<'_>, &mut PathRows<'_>, &mut dyn Write) -> io::Result<()>,
    },
}

/// Every form.
pub static TARGETS: &[Target] = &[
    Target {
        name: "chrome",
        about: "trace-event JSON, for chrome://tracing, Perfetto, speedscope",
        endings: &[".json"],
        writer: Writer::ByThread(chrome::write),
    },
    Target {
        name: "perfetto",
        about: "Perfetto protobuf, for ui.perfetto.dev and trace_processor",
        endings: &[".pftrace", ".perfetto-trace"],
        writer: Writer::ByTime(perfetto::write),
    },
    Target {
        name: "speedscope",
        about: "evented profiles, for speedscope.app",
        endings: &[".speedscope.json"],
        writer: Writer::ByThread(speedscope::write),
    },
    Target {
        name: "folded",
        about: "one line per stack with its net time, for flamegraph.pl",
        endings: &[".folded"],
        writer: Writer::ByPath { order: folded::order, keeps_threads: false, write: folded::write },
    },
    Target {
        name: "pprof",
        about: "pprof profile, for `go tool pprof`: calls and net time of each stack",
        endings: &[".pb.gz", ".pprof"],
        writer: Writer::ByPath {
            order: PathOrder::by_name,
            keeps_threads: true,
            write: pprof::write,
        },
    },
];
