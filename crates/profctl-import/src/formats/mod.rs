//! The formats, a folder each. A new one is a folder here, a line in [`FORMATS`], a folder of
//! fixtures and a page in `docs/formats/`.

use std::any::Any;
use std::sync::Arc;

use profctl_model::Timebase;

use crate::emit::{Emitter, LaneKey};
use crate::sort::Order;

pub mod callgrind;
pub mod chrome;
pub mod execlog;
pub mod folded;
pub mod fst;
pub mod function_graph;
pub mod gem5;
pub mod itm;
pub mod kdump;
pub mod ktrace;
pub mod mcrae;
pub mod perfetto;
pub mod plain;
pub mod probe;
pub mod qemu;
pub mod rule;
pub mod saleae;
pub mod sigrok;
pub mod speedscope;
pub mod spike;
pub mod systemview;
pub mod vcd;

/// Every format that is read, in the order in which they are asked.
pub static FORMATS: &[&dyn Importer] = &[
    &function_graph::FunctionGraph,
    &kdump::KdumpText,
    &ktrace::Ktrace,
    &mcrae::CodeTrace,
    &plain::Plain,
    &probe::ProbeCapture,
    &vcd::Dump,
    &fst::WaveForm,
    &sigrok::Samples,
    &saleae::Export,
    &itm::Instrumentation,
    &systemview::Recording,
    &perfetto::Packets,
    &callgrind::Profile,
    &chrome::TraceEvents,
    &speedscope::Profiles,
    &folded::FoldedStacks,
    &execlog::PluginLog,
    &gem5::ExecTrace,
    &qemu::ExecLog,
    &spike::SpikeLog,
    &rule::ByRule,
];

/// What a format is, for `profctl formats` and for errors.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The name for `--input-format`.
    pub name: &'static str,
    /// One line: what writes it.
    pub about: &'static str,
    /// How it is recognised, or what it needs if it cannot be.
    pub recognised: &'static str,
}

/// What a format says of the head of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Not this format.
    No,
    /// It may be; taken if no other format is sure. The reason is shown by `info`.
    Maybe(String),
    /// It is. The reason is shown by `info`.
    Yes(String),
    /// It is a neighbour of this format that has nothing to summarise; the text says what it is
    /// and what to record instead.
    Neighbour(String),
}

/// What the user adds to an input.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The text of a `--names` file.
    pub names: Option<Vec<u8>>,
    /// The content of a `--symbols` file: an `nm` listing or an ELF file.
    pub symbols: Option<Vec<u8>>,
    /// The variant of a format that `--dialect` forces.
    pub dialect: Option<String>,
    /// The rule by which the `rule` format reads a text.
    pub rule: Option<rule::RuleText>,
    /// The layout of probe records.
    pub probe: probe::ProbeOptions,
    /// Which signals of a capture tell of calls.
    pub capture: crate::capture::CaptureOptions,
}

/// Why an input cannot be read at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportError {
    /// Bytes from the start, if it is about a place.
    pub offset: Option<u64>,
    /// Line from 1, if it is about a line.
    pub line: Option<u64>,
    /// What was found, then what was expected: a lowercase fragment.
    pub message: String,
}

impl ImportError {
    /// An error about the input as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self { offset: None, line: None, message: message.into() }
    }
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.line, self.offset) {
            (Some(line), _) => write!(f, "line {line}: {}", self.message),
            (None, Some(offset)) => write!(f, "byte {offset}: {}", self.message),
            (None, None) => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ImportError {}

/// What a reader may have to remember from one block to the next, such as the columns that the
/// latest header announced. Most formats need nothing: `Arc::new(())`.
pub type State = Arc<dyn Any + Send + Sync>;

/// An input that was recognised and is ready to be read.
pub struct Opened {
    /// The clock.
    pub timebase: Timebase,
    /// How many bits the counter has in which events carry their time, if it wraps.
    pub counter_bits: Option<u32>,
    /// Whether places in this format are lines.
    pub has_lines: bool,
    /// Whether times are stated as finely as durations, so that the end of a leaf is as good as a
    /// timestamp.
    pub leaf_ends_are_stamps: bool,
    /// Whether a call may be shown at the depth of one whose exit is still to come, because it hit
    /// that one on its way out.
    pub exits_may_be_late: bool,
    /// Whether the reader must have the whole input in one block, because it jumps about in it.
    pub whole: bool,
    /// Who runs where at the start, if the head of the input told it.
    pub initial: Vec<LaneKey>,
    /// What `info` shows besides: kernel release, columns, tracer.
    pub facts: Vec<(&'static str, String)>,
    /// The reader of blocks.
    pub reader: Box<dyn Reader>,
    /// The state before the first block.
    pub state: State,
}

/// A format.
pub trait Importer: Sync {
    /// What it is.
    fn descriptor(&self) -> &'static Descriptor;
    /// Whether `head`, the first bytes of an input, is of this format. `whole` says that there is
    /// no more.
    fn sniff(&self, head: &[u8], whole: bool) -> Verdict;
    /// Gets ready to read an input that begins with `head` (at least as much as was sniffed).
    fn open(&self, head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError>;
}

/// Reads blocks of one input. Every worker has its own.
pub trait Reader: Send {
    /// In which order its events come. If not as they happened, they are sorted before they are
    /// stitched, and places are byte offsets.
    fn order(&self) -> Order {
        Order::AsWritten
    }
    /// Another one, for another worker.
    fn fork(&self) -> Box<dyn Reader>;
    /// Where in `bytes`, which start on a boundary, the last record ends that a reader can read
    /// without what follows; 0 if there is none.
    fn boundary(&self, bytes: &[u8]) -> usize;
    /// Says what `block` says. `at_end` marks the last block of the input, which may stop in the
    /// middle of a record. Returns the state after the block if it is another than before.
    fn read(
        &mut self,
        block: &[u8],
        at_end: bool,
        state: &State,
        out: &mut Emitter,
    ) -> Option<State>;
}
