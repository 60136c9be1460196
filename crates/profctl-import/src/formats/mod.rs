//! The formats, a folder each. A new one is a folder here, a line in [`FORMATS`], a folder of
//! fixtures and a page in `docs/formats/`.

pub use crate::importer::{
    Block, Descriptor, Extents, ImportError, Importer, Opened, Probe, Quirks, Reader, Recognition,
    State, Stream, StreamClock,
};
pub(crate) use crate::importer::{all_bytes, head, recorded, unreadable};
pub use crate::in_turn::{InTurn, Input};
pub use crate::options::ImportOptions;

pub mod babeltrace;
pub mod callgrind;
pub mod chrome;
pub mod cpuprofile;
pub mod ctf;
pub mod execlog;
pub mod firefox;
pub mod folded;
pub mod fst;
pub mod ftrace;
pub mod function_graph;
pub mod gem5;
pub mod itm;
pub mod kdump;
pub mod kernel_log;
pub mod ktrace;
pub mod ltrace;
pub mod mcrae;
pub mod measureme;
pub mod otf2;
pub mod perf_data;
pub mod perf_script;
pub mod perf_trace;
pub mod perfetto;
pub mod plain;
pub mod probe;
pub mod qemu;
pub mod rule;
pub mod saleae;
pub mod sigrok;
pub mod speedscope;
pub mod spike;
pub mod strace;
pub mod systemview;
pub mod systrace;
pub mod trace_cmd_report;
pub mod trace_dat;
pub mod uftrace;
pub mod vcd;

/// Every format that is read, in the order in which they are asked.
pub static FORMATS: &[&dyn Importer] = &[
    &systrace::Systrace,
    &function_graph::FunctionGraph,
    &kernel_log::KernelLog,
    &ftrace::TracefsText,
    &trace_cmd_report::Report,
    &trace_dat::TraceDat,
    &kdump::KdumpText,
    &ktrace::Ktrace,
    &strace::StraceLog,
    &ltrace::LtraceLog,
    &perf_data::PerfData,
    &perf_trace::PerfTrace,
    &perf_script::PerfScript,
    &otf2::Otf2Print,
    &babeltrace::Babeltrace,
    &mcrae::CodeTrace,
    &plain::Plain,
    &probe::ProbeCapture,
    &vcd::Dump,
    &fst::WaveForm,
    &sigrok::Samples,
    &saleae::Export,
    &itm::Instrumentation,
    &systemview::Recording,
    &uftrace::Directory,
    &measureme::SelfProfile,
    &ctf::Directory,
    &perfetto::Packets,
    &callgrind::Profile,
    &chrome::TraceEvents,
    &cpuprofile::CpuProfile,
    &firefox::FirefoxProfile,
    &speedscope::Profiles,
    &folded::FoldedStacks,
    &execlog::PluginLog,
    &gem5::ExecTrace,
    &qemu::ExecLog,
    &spike::SpikeLog,
    &rule::ByRule,
];
