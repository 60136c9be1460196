//! What a format says of itself and of an input, and what it is asked: the boundary between the
//! formats and the loop that reads them.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use profctl_model::{Code, TickUnit, Ticks, Timebase, Timeline};

use crate::emit::Emitter;
use crate::files::{FileId, Files, Head};
use crate::in_turn::{InTurn, Input};
use crate::options::ImportOptions;
use crate::sort::Order;
pub use crate::stitch::Quirks;
use crate::text;

/// What a format is, for `profctl formats` and for errors.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The name for `--input-format`.
    pub name: &'static str,
    /// One line: what writes it.
    pub about: &'static str,
    /// How it is recognized, or what it needs if it cannot be.
    pub recognized: &'static str,
    /// What the names of such files end with, as the tools that write them have it.
    pub extensions: &'static [&'static str],
    /// The diagnostics that only this format has.
    pub codes: &'static [&'static Code],
}

impl Descriptor {
    /// A format without a name of its own for its files and without diagnostics of its own.
    pub const PLAIN: Self =
        Self { name: "", about: "", recognized: "", extensions: &[], codes: &[] };
}

/// What a format says of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recognition {
    /// Not this format.
    No,
    /// It may be; taken if no other format is sure. The reason is shown by `info`.
    Maybe(String),
    /// It is. The reason is shown by `info`.
    Yes(String),
    /// It is a neighbor of this format that has nothing to summarize; the text says what it is
    /// and what to record instead.
    Neighbor(String),
}

impl Recognition {
    /// That of a text of which each line is a record by itself: one could be chance, two are sure.
    pub fn of_lines(probe: &Probe<'_>, reason: &str, is_record: impl Fn(&[u8]) -> bool) -> Self {
        let Some(head) = probe.text() else { return Self::No };
        match text::lines(head).filter(|line| is_record(line.text)).take(2).count() {
            0 => Self::No,
            1 => Self::Maybe(reason.into()),
            _ => Self::Yes(reason.into()),
        }
    }
}

/// What a format is shown of a file to recognize it.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// What messages call the file.
    pub name: &'a str,
    /// Its first bytes, decompressed.
    pub head: &'a [u8],
    /// Whether there are no more.
    pub whole: bool,
}

impl<'a> Probe<'a> {
    /// The first bytes, if they are text.
    pub fn text(&self) -> Option<&'a [u8]> {
        text::looks_like_text(self.head).then_some(self.head)
    }
}

/// Why an input cannot be read at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportError {
    /// Bytes from the start, if it is about a place.
    pub offset: Option<u64>,
    /// Line from 1, if it is about a line.
    pub line: Option<u64>,
    /// What was found, then what was expected: a lowercase fragment. Of an input as a whole it may
    /// say what to do, after a colon; `FILE` is then the input.
    pub message: String,
}

impl ImportError {
    /// An error about the input as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self { offset: None, line: None, message: message.into() }
    }

    /// No format takes the input for one of its own, or for a neighbor that it can name.
    pub(crate) fn unrecognized(formats: usize) -> Self {
        Self::whole(format!("{UNRECOGNIZED} (tried {formats} formats)"))
    }

    /// Whether it is that.
    pub fn is_unrecognized(&self) -> bool {
        self.message.starts_with(UNRECOGNIZED)
    }

    /// What an input is instead of a trace, and what to do with it, if the message says so.
    pub fn remedy(&self) -> Option<(&str, &str)> {
        let is_whole = self.line.is_none() && self.offset.is_none();
        self.message.split_once(": ").filter(|(what, _)| is_whole && what.starts_with("is "))
    }
}

const UNRECOGNIZED: &str = "unrecognized trace format";

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

/// Where a stream is in its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Extents {
    /// The whole file.
    Whole,
    /// The whole file, in one block: its reader jumps about in it.
    InOneBlock,
    /// Byte ranges of the file, one after the other as if they were one file.
    Bytes(Vec<Range<u64>>),
    /// Byte ranges of the file, each of them a block.
    Blocks(Vec<Range<u64>>),
}

/// The clock of a stream: how its raw times become ticks of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamClock {
    /// How many bits the counter has, if it wraps. It is unfolded by modular differences, which is
    /// right as long as no pause is longer than one period.
    pub counter_bits: Option<u32>,
    /// Ticks that are added.
    pub offset: i64,
}

/// Records that are in time order, have one clock, and may be of one CPU or one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The file.
    pub file: FileId,
    /// Where in it.
    pub extents: Extents,
    /// Its clock.
    pub clock: StreamClock,
    /// Whether all records are of one thread that is in no other stream, and none is about another
    /// thread. If that holds for all streams, sums do not depend on their order.
    pub is_one_thread: bool,
}

impl Stream {
    /// Parts of a file.
    pub fn part(file: FileId, extents: Extents) -> Self {
        Self { file, extents, clock: StreamClock::default(), is_one_thread: false }
    }

    /// A whole file.
    pub fn whole(file: FileId) -> Self {
        Self::part(file, Extents::Whole)
    }
}

/// An input that was recognized and is ready to be read.
pub struct Opened {
    /// The clock.
    pub timebase: Timebase,
    /// The streams, merged by time if there are several; of records of one time, those of the
    /// first stream come first.
    pub streams: Vec<Stream>,
    /// What is unusual about the records.
    pub quirks: Quirks,
    /// What `info` shows besides: kernel release, columns, tracer.
    pub facts: Vec<(&'static str, String)>,
    /// The reader of blocks.
    pub reader: Box<dyn Reader>,
    /// The state of every stream before its first block.
    pub state: State,
}

impl Opened {
    /// One file of lines, each with its time.
    pub fn lines(timebase: Timebase, reader: Box<dyn Reader>) -> Self {
        let mut opened = Self::records(timebase, reader);
        opened.quirks.has_lines = true;
        opened
    }

    /// One file of binary records, each with its time.
    pub fn records(timebase: Timebase, reader: Box<dyn Reader>) -> Self {
        Self {
            timebase,
            streams: vec![Stream::whole(FileId(0))],
            quirks: Quirks { leaf_ends_are_stamps: true, ..Quirks::default() },
            facts: Vec::new(),
            reader,
            state: Arc::new(()),
        }
    }

    /// One file that a single reader reads from beginning to end.
    pub fn in_turn(timebase: Timebase, reader: Box<dyn InTurn>) -> Self {
        Self::records(timebase, Box::new(AsBlocks(reader)))
    }

    /// With places that are lines.
    #[must_use]
    pub fn with_lines(mut self) -> Self {
        self.quirks.has_lines = true;
        self
    }

    /// With what `info` shows besides.
    #[must_use]
    pub fn with_facts(mut self, facts: Vec<(&'static str, String)>) -> Self {
        self.facts = facts;
        self
    }

    /// With calls that may be entered at one time in any order.
    #[must_use]
    pub fn with_tied_entries(mut self) -> Self {
        self.quirks.entries_may_tie = true;
        self
    }

    /// With the state before the first block.
    #[must_use]
    pub fn with_state(mut self, state: State) -> Self {
        self.state = state;
        self
    }

    /// With a counter of so many bits that wraps.
    #[must_use]
    pub fn with_counter(mut self, bits: Option<u32>) -> Self {
        for stream in &mut self.streams {
            stream.clock.counter_bits = bits;
        }
        self
    }

    /// With every file in one block.
    #[must_use]
    pub fn in_one_block(mut self) -> Self {
        for stream in &mut self.streams {
            stream.extents = Extents::InOneBlock;
        }
        self
    }
}

/// A format.
pub trait Importer: Sync {
    /// What it is.
    fn descriptor(&self) -> &'static Descriptor;
    /// Whether a file is of this format.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition;
    /// Whether the files of a directory are one trace of this format.
    fn recognize_directory(&self, _files: &dyn Files) -> Recognition {
        Recognition::No
    }
    /// Gets ready to read the files: one, unless a directory was recognized.
    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError>;
}

/// A part of a stream that can be read alone.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The bytes: whole records, but for the end of a file that is cut.
    pub bytes: &'a [u8],
    /// Whether it is the last of its stream; it may stop in the middle of a record.
    pub at_end: bool,
    /// The row of its stream in [`Opened::streams`].
    pub stream: usize,
    /// Bytes of the stream before it.
    pub offset: u64,
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
    /// without what follows; 0 if there is none. Records are lines, unless a reader says otherwise.
    fn boundary(&self, bytes: &[u8]) -> usize {
        text::last_line_boundary(bytes)
    }
    /// The same in stream `stream`, for formats whose streams differ.
    fn boundary_in(&self, _stream: usize, bytes: &[u8]) -> usize {
        self.boundary(bytes)
    }
    /// Who reads all blocks, if they must be read one after the other ([`Opened::in_turn`]).
    fn in_turn(&mut self) -> Option<&mut dyn InTurn> {
        None
    }
    /// Says what `block` says. Returns the state after the block if it is another than before.
    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State>;
}

/// Such a reader as one of blocks, for callers with all bytes.
struct AsBlocks(Box<dyn InTurn>);

impl Reader for AsBlocks {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self(self.0.fork()))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let bytes = self.0.wrap(Box::new(block.bytes));
        self.0.read(&mut Input::new(bytes, None), out);
        None
    }

    fn in_turn(&mut self) -> Option<&mut dyn InTurn> {
        Some(&mut *self.0)
    }
}

/// A clock of that unit whose times were recorded.
pub(crate) fn recorded(unit: TickUnit) -> Timebase {
    Timebase { unit, resolution: Ticks(1), timeline: Timeline::Recorded }
}

/// The first bytes of the only file of an input.
pub(crate) fn head(files: &dyn Files) -> Result<Head, ImportError> {
    files.head(FileId(0)).map_err(|error| unreadable(&error))
}

/// All bytes of the only file of an input, for formats whose reader jumps about in it.
pub(crate) fn all_bytes(files: &dyn Files) -> Result<Arc<[u8]>, ImportError> {
    let head = head(files)?;
    if head.whole {
        return Ok(head.bytes);
    }
    let file = files.open_at(FileId(0)).map_err(|error| unreadable(&error))?;
    let length = usize::try_from(file.len()).unwrap_or(usize::MAX);
    file.bytes_at(0, length).map(Arc::from).map_err(|error| unreadable(&error))
}

/// The error of an input whose bytes cannot be had.
pub(crate) fn unreadable(error: &std::io::Error) -> ImportError {
    ImportError::whole(format!("cannot be read: {error}"))
}
