//! Recordings of one run by several tools, or a file for each CPU, read as one trace: each by its
//! own format, their records in time order.
//!
//! They must go by one clock. Nothing else is asked of them: a thread is the same thread in all of
//! them if it has the same id.

use std::io;
use std::sync::Arc;

use profctl_model::{TickUnit, Timebase, Timeline};

use crate::ReadOptions;
use crate::decompress::OpenFile;
use crate::emit::Emitter;
use crate::files::{Entry, FileId, Files, Head, ReadAt};
use crate::importer::{Block, Descriptor, ImportError, Opened, Quirks, Reader, State, Stream};
use crate::recognize::recognize;
use crate::sort::Order;

/// What such a trace is called where a format is asked for.
pub(crate) static DESCRIPTOR: Descriptor = Descriptor {
    name: "several",
    about: "recordings of one run by several tools",
    recognized: "by `profctl merge --align`",
    ..Descriptor::PLAIN
};

/// The files of all recordings, one behind the other.
pub(crate) struct Together<'a> {
    name: String,
    parts: &'a [&'a dyn Files],
    entries: Vec<Entry>,
    /// By entry: the recording, and the file in it.
    places: Vec<(usize, FileId)>,
}

impl<'a> Together<'a> {
    pub(crate) fn new(parts: &'a [&'a dyn Files]) -> Self {
        let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
        let (mut entries, mut places) = (Vec::new(), Vec::new());
        for (row, part) in parts.iter().enumerate() {
            for (file, entry) in part.entries().iter().enumerate() {
                entries.push(entry.clone());
                places.push((row, FileId(file)));
            }
        }
        Self { name: names.join(" + "), parts, entries, places }
    }

    fn at(&self, file: FileId) -> io::Result<(&'a dyn Files, FileId)> {
        let (part, file) = *self.places.get(file.0).ok_or(io::ErrorKind::NotFound)?;
        Ok((self.parts[part], file))
    }

    /// The file that recording `part` calls `file`.
    fn file(&self, part: usize, file: FileId) -> FileId {
        FileId(self.places.iter().position(|place| *place == (part, file)).unwrap_or(usize::MAX))
    }
}

impl Files for Together<'_> {
    fn name(&self) -> &str {
        &self.name
    }
    fn entries(&self) -> &[Entry] {
        &self.entries
    }
    fn head(&self, file: FileId) -> io::Result<Head> {
        let (part, file) = self.at(file)?;
        part.head(file)
    }
    fn open(&self, file: FileId) -> io::Result<OpenFile<'_>> {
        let (part, file) = self.at(file)?;
        part.open(file)
    }
    fn open_at(&self, file: FileId) -> io::Result<Arc<dyn ReadAt>> {
        let (part, file) = self.at(file)?;
        part.open_at(file)
    }
    fn broken(&self, file: FileId) -> Option<String> {
        let (part, file) = self.at(file).ok()?;
        part.broken(file)
    }
}

/// Gets ready to read all of them, and says what each was recognized as.
pub(crate) fn open(
    files: &Together<'_>,
    options: &ReadOptions,
) -> Result<(Opened, String), ImportError> {
    let mut all = Collected::default();
    let mut timebase: Option<Timebase> = None;
    let (mut quirks, mut facts, mut reasons) = (Quirks::default(), Vec::new(), Vec::new());
    for (row, part) in files.parts.iter().enumerate() {
        let named = |error: ImportError| ImportError {
            message: format!("{}: {}", part.name(), error.message),
            ..error
        };
        let (importer, reason) = recognize(*part, options).map_err(named)?;
        let mut opened = importer.open(*part, &options.import).map_err(named)?;
        if opened.reader.in_turn().is_some() {
            let message = "is read from beginning to end, so it cannot be put beside others: \
                           convert it to plain first";
            return Err(named(ImportError::whole(message)));
        }
        let format = importer.descriptor().name;
        let own = opened.timebase;
        if own.timeline == Timeline::Synthetic {
            let message = "states durations and no times, expected times of a clock that all \
                           recordings go by";
            return Err(named(ImportError::whole(message)));
        }
        match &mut timebase {
            None => timebase = Some(own),
            Some(known) if known.unit == own.unit => {
                known.resolution = known.resolution.max(own.resolution);
            }
            Some(known) => {
                let message = format!(
                    "counts {}, and the recordings before it {}: they go by different clocks",
                    unit(own.unit),
                    unit(known.unit)
                );
                return Err(named(ImportError::whole(message)));
            }
        }
        let Quirks {
            has_lines,
            leaf_ends_are_stamps,
            exits_may_be_late,
            entries_may_tie,
            // A call may have its entry in one recording and its exit in another.
            exits_are_paired: _,
            initial,
        } = opened.quirks;
        quirks.has_lines = (row == 0 || quirks.has_lines) && has_lines;
        quirks.leaf_ends_are_stamps =
            (row == 0 || quirks.leaf_ends_are_stamps) && leaf_ends_are_stamps;
        quirks.exits_may_be_late |= exits_may_be_late;
        quirks.entries_may_tie |= entries_may_tie;
        quirks.initial.extend(initial);
        facts.push(("recording", format!("{} ({format})", part.name())));
        reasons.push(format!("{}: {reason}", part.name()));
        for (stream, said) in opened.streams.into_iter().enumerate() {
            all.of.push((row, stream));
            all.streams.push(Stream {
                file: files.file(row, said.file),
                // The other recordings may be of the same threads.
                is_one_thread: false,
                ..said
            });
        }
        all.readers.push(opened.reader);
        all.states.push(opened.state);
    }
    let timebase = timebase.ok_or_else(|| ImportError::whole("no recording was given"))?;
    let Collected { of, streams, readers, states } = all;
    let reader = PartReaders { of: Arc::new(of), states: Arc::new(states), readers };
    let (reader, state) = (Box::new(reader), Arc::new(Unread));
    Ok((Opened { timebase, streams, quirks, facts, reader, state }, reasons.join("; ")))
}

fn unit(unit: TickUnit) -> String {
    match unit {
        TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 } => "nanoseconds".into(),
        TickUnit::Seconds { numerator, denominator } => format!("{numerator}/{denominator} s"),
        TickUnit::Cycles => "cycles".into(),
        TickUnit::Instructions => "instructions".into(),
    }
}

#[derive(Default)]
struct Collected {
    of: Vec<(usize, usize)>,
    streams: Vec<Stream>,
    readers: Vec<Box<dyn Reader>>,
    states: Vec<State>,
}

/// The state of a stream before its first block: that of its recording.
struct Unread;

/// The readers of all recordings.
struct PartReaders {
    /// By stream: the recording, and the stream in it.
    of: Arc<Vec<(usize, usize)>>,
    /// By recording: the state of every stream before its first block.
    states: Arc<Vec<State>>,
    /// By recording.
    readers: Vec<Box<dyn Reader>>,
}

impl Reader for PartReaders {
    fn order(&self) -> Order {
        let orders = || self.readers.iter().map(|reader| reader.order());
        if orders().any(|order| order == Order::Any) {
            Order::Any
        } else if orders().any(|order| order == Order::Nearly) {
            Order::Nearly
        } else {
            Order::AsWritten
        }
    }

    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self {
            of: Arc::clone(&self.of),
            states: Arc::clone(&self.states),
            readers: self.readers.iter().map(|reader| reader.fork()).collect(),
        })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        self.boundary_in(0, bytes)
    }

    fn boundary_in(&self, stream: usize, bytes: &[u8]) -> usize {
        let (part, stream) = self.of[stream];
        self.readers[part].boundary_in(stream, bytes)
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let (part, stream) = self.of[block.stream];
        let state = if state.is::<Unread>() { &self.states[part] } else { state };
        self.readers[part].read(&Block { stream, ..*block }, state, out)
    }
}

#[cfg(test)]
mod tests {
    use profctl_model::{Trace, TraceBuilder};
    use profctl_testkit::fixtures;

    use super::*;
    use crate::Memory;
    use crate::testing::show;

    fn part(path: &str) -> Memory {
        let bytes = fixtures::read(&fixtures::root().join("fixtures").join(path));
        Memory::new(path, vec![(path.into(), bytes)])
    }

    fn load(parts: &[&dyn Files], options: &ReadOptions) -> Result<Trace, ImportError> {
        let read = crate::stream_together(parts, options, TraceBuilder::default(), &|_| ())?;
        Ok(read.sink.finish(read.meta, read.names))
    }

    /// What calls of that function were off the CPU, nanoseconds.
    fn off_cpu(trace: &Trace, name: &str) -> u64 {
        let spans = &trace.spans;
        let calls = spans.ids().filter(|id| trace.names.funcs[spans.func[*id]].name == name);
        calls.map(|id| spans.off_cpu[id.index()].0).sum()
    }

    /// A script added up from the two texts what the sleeps were off the CPU.
    #[test]
    fn switches_of_one_file_tell_the_time_off_cpu_of_calls_in_another() {
        let graph = part("function_graph/one-run-6.1.txt");
        let sched = part("ftrace/one-run-sched-6.1.txt");
        let trace = load(&[&graph, &sched], &ReadOptions::default()).unwrap();
        assert!(trace.meta.knows_off_cpu);
        assert_eq!(off_cpu(&trace, "__x64_sys_clock_nanosleep"), 11_734_000);
        let options = ReadOptions { block_size: 4_000, workers: 2, ..ReadOptions::default() };
        let again = load(&[&graph, &sched], &options).unwrap();
        assert_eq!(show(&again), show(&trace));
    }

    #[test]
    fn files_of_other_clocks_are_refused_by_name() {
        let graph = part("function_graph/one-run-6.1.txt");
        let refused = |text: &str| {
            let other = Memory::new("other.txt", vec![("other.txt".into(), text.into())]);
            load(&[&graph, &other], &ReadOptions::default()).unwrap_err().message
        };
        let durations = "# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION \
                         CALLS\n# |     |   |                     |   |   |   |\n 0)   1.000 us    \
                         |  f();\n 0)   1.000 us    |  f();\n";
        let found = refused(durations);
        assert!(found.starts_with("other.txt: states durations and no times"), "{found}");
        let found = refused("# profctl plain 1 unit=cycles\n1 > main\n5 < main\n");
        assert!(
            found.contains("other.txt: counts cycles, and the recordings before it nanoseconds"),
            "{found}"
        );
        assert!(refused("nothing\n").starts_with("other.txt: unrecognized"));
    }
}
