//! Whole traces for other people's viewers, a file each. A new target is a file here and a line in
//! [`TARGETS`]; `docs/export.md` says what each carries and what it loses.

use std::io::{self, Write};

use profctl_model::Trace;

pub mod chrome;
pub mod folded;
mod json;
mod order;
pub mod perfetto;
pub mod pprof;
pub mod speedscope;
mod wire;

/// A form that a trace can be written in.
pub struct Target {
    /// The name for `--to`.
    pub name: &'static str,
    /// One line: what opens it.
    pub about: &'static str,
    /// How names of its files end; the first is the usual one.
    pub endings: &'static [&'static str],
    /// Writes a trace.
    pub write: fn(&Trace, &mut dyn Write) -> io::Result<()>,
}

/// Every form.
pub static TARGETS: &[Target] = &[
    Target {
        name: "chrome",
        about: "trace-event JSON, for chrome://tracing, Perfetto, speedscope",
        endings: &[".json"],
        write: chrome::write,
    },
    Target {
        name: "perfetto",
        about: "Perfetto protobuf, for ui.perfetto.dev and trace_processor",
        endings: &[".pftrace", ".perfetto-trace"],
        write: perfetto::write,
    },
    Target {
        name: "speedscope",
        about: "evented profiles, for speedscope.app",
        endings: &[".speedscope.json"],
        write: speedscope::write,
    },
    Target {
        name: "folded",
        about: "a line a stack with its net time, for flamegraph.pl and its kin",
        endings: &[".folded"],
        write: folded::write,
    },
    Target {
        name: "pprof",
        about: "pprof profile, for `go tool pprof`: calls and net time of each stack",
        endings: &[".pb.gz", ".pprof"],
        write: pprof::write,
    },
];
