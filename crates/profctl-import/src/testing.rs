//! Texts in, calls out: helpers for tests of formats, through reader, sorter and stitcher.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use profctl_model::Trace;

use crate::emit::{At, Emitter, NameRef, Record};
use crate::formats::{Block, Importer, Opened, Probe, Reader, Recognition, State};
use crate::{ImportError, ImportOptions, ReadOptions, Single, load};

/// `text` as a trace, read in blocks of `block_size` bytes.
pub(crate) fn trace(
    format: &str,
    text: &[u8],
    import: ImportOptions,
    block_size: usize,
    workers: usize,
) -> Trace {
    let input = Single::new("test", Box::new(text));
    let options = ReadOptions {
        format: Some(format.into()),
        import,
        block_size,
        workers,
        ..ReadOptions::default()
    };
    load(&input, &options, &|_| ()).expect("a text that can be read").0
}

/// The calls of `text`, a line each.
pub(crate) fn spans(format: &str, text: &str, import: ImportOptions) -> String {
    told(format, text, import).0
}

/// The calls of `text`, a line each, and the codes of what was wrong with how often each was met.
pub(crate) fn told(format: &str, text: &str, import: ImportOptions) -> (String, Vec<String>) {
    let trace = trace(format, text.as_bytes(), import, 0, 1);
    let codes = trace.meta.diags.sorted();
    (show(&trace), codes.iter().map(|e| format!("{} {}", e.code.name, e.count)).collect())
}

/// The wall times of complete calls by name, in ticks and in the order of the calls.
pub(crate) fn walls(trace: &Trace) -> BTreeMap<&str, Vec<u64>> {
    let mut walls: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let spans = &trace.spans;
    for id in spans.ids().filter(|id| !spans.fidelity[id.index()].is_partial()) {
        let name = trace.names.funcs[spans.func[id]].name.as_str();
        walls.entry(name).or_default().push(spans.wall[id.index()].0);
    }
    walls
}

/// Calls as `THREAD DEPTH NAME START+LENGTH net NET`, then what is unusual about them.
pub(crate) fn show(trace: &Trace) -> String {
    let mut text = String::new();
    let spans = &trace.spans;
    for id in spans.ids() {
        let row = id.index();
        let (start, length) = (spans.start[row].0, spans.end[row].0 - spans.start[row].0);
        let thread = trace.names.threads[spans.thread[row]].label();
        let name = &trace.names.funcs[spans.func[id]].name;
        write!(text, "{thread} {} {name} {start}+{length}", spans.depth[row]).unwrap();
        if spans.wall[row].0 != length {
            write!(text, " wall {}", spans.wall[row].0).unwrap();
        }
        if spans.off_cpu[row].0 != 0 {
            write!(text, " off {}", spans.off_cpu[row].0).unwrap();
        }
        write!(text, " net {}", spans.net[row].0).unwrap();
        let fidelity = spans.fidelity[row];
        match (fidelity.start_inferred, fidelity.end_inferred) {
            (false, false) => {}
            (true, false) => text.push_str(" unseen entry"),
            (false, true) => text.push_str(" unseen exit"),
            (true, true) => text.push_str(" unseen both"),
        }
        if fidelity.at_gap {
            text.push_str(" gap");
        }
        text.push('\n');
    }
    for mark in &trace.marks {
        let thread = trace.names.threads[mark.thread].label();
        let name = &trace.names.funcs[mark.func].name;
        writeln!(text, "{thread} mark {name} {}", mark.time.0).unwrap();
    }
    text
}

/// What tests of single formats ask of an importer.
pub(crate) trait ImporterOfBytes {
    /// What it says of a file that begins with `head`.
    fn recognize_bytes(&self, head: &[u8], whole: bool) -> Recognition;
    /// The input opened, if it is a file with these bytes.
    fn open_bytes(&self, bytes: &[u8], options: &ImportOptions) -> Result<Opened, ImportError>;
}

impl<T: Importer + ?Sized> ImporterOfBytes for T {
    fn recognize_bytes(&self, head: &[u8], whole: bool) -> Recognition {
        self.recognize(&Probe { name: "test", head, whole })
    }
    fn open_bytes(&self, bytes: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
        self.open(&Single::new("test", Box::new(bytes)), options)
    }
}

/// What tests of single formats ask of a reader.
pub(crate) trait ReaderOfBytes {
    /// What it says of a block with these bytes.
    fn read_bytes(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        state: &State,
        out: &mut Emitter,
    ) -> Option<State>;
}

impl<T: Reader + ?Sized> ReaderOfBytes for T {
    fn read_bytes(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        state: &State,
        out: &mut Emitter,
    ) -> Option<State> {
        self.read(&Block { bytes, at_end, stream: 0, offset: 0 }, state, out)
    }
}

/// What a reader said, in short: what happened as the plain format spells it, to which function,
/// when.
pub(crate) fn verbs(said: &Emitter) -> Vec<(&'static str, String, Option<u64>)> {
    let verb = |record: &Record<'_>| match record {
        Record::Enter { .. } => ">",
        Record::Exit { .. } => "<",
        Record::Leaf { .. } => "=",
        Record::Instant { .. } => "!",
        Record::Lost { .. } => "lost",
        Record::SchedSwitch { .. } => "switch",
        _ => "other",
    };
    let name = |name: NameRef| said.names[name.0 as usize].name.clone();
    let shown = |(at, record): (At, Record<'_>)| {
        (verb(&record), record.name().map(name).unwrap_or_default(), at.time)
    };
    said.said().map(shown).collect()
}
