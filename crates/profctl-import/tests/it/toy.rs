//! A format in forty lines: the template for a new one. It is two streams in one directory, merged
//! by time, and handles no files, blocks, threads or stacks.

use std::fmt::Write as _;

use profctl_import::emit::{At, Emitter, LaneKey, Stated, ThreadKey};
use profctl_import::files::FileId;
use profctl_import::formats::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State, Stream,
};
use profctl_import::{Files, Memory, ReadOptions, stream_as, text};
use profctl_model::{FuncKind, Timebase, Trace, TraceBuilder};
use profctl_testkit::invariants;

/// A directory of `cpuN.toy` files with lines such as `120 + read` and `150 - read`.
struct Toy;

static DESCRIPTOR: Descriptor =
    Descriptor { name: "toy", about: "lines of calls", recognized: "`*.toy`", ..Descriptor::PLAIN };

impl Importer for Toy {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }
    fn recognize(&self, _probe: &Probe<'_>) -> Recognition {
        Recognition::No
    }
    fn recognize_directory(&self, files: &dyn Files) -> Recognition {
        if files.entries().iter().all(|entry| entry.name.rsplit('.').next() == Some("toy")) {
            return Recognition::Yes("`*.toy` files".into());
        }
        Recognition::No
    }
    fn open(&self, files: &dyn Files, _: &ImportOptions) -> Result<Opened, ImportError> {
        let mut opened = Opened::lines(Timebase::NANOSECONDS, Box::new(Lines));
        opened.streams =
            (0..files.entries().len()).map(|file| Stream::whole(FileId(file))).collect();
        Ok(opened)
    }
}

struct Lines;

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Lines)
    }
    fn boundary(&self, bytes: &[u8]) -> usize {
        text::last_line_boundary(bytes)
    }
    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let cpu = Some(block.stream as u32);
        let lane = out.lane(LaneKey { cpu, thread: ThreadKey::Unstated });
        for line in text::lines(block.bytes) {
            out.lines += 1;
            let mut words = line.text.split(|&byte| byte == b' ');
            let (Some(time), Some(verb), Some(name)) = (words.next(), words.next(), words.next())
            else {
                out.diag(&profctl_model::diag::codes::SKIPPED_RECORD, line.offset, || {
                    format!("found `{}`, expected `NS +|- NAME`", text::excerpt(line.text))
                });
                continue;
            };
            let at = At { time: text::decimal(time, 0), lane, offset: line.offset };
            let name = out.func(&String::from_utf8_lossy(name), FuncKind::Function);
            match verb {
                b"+" => out.enter(at, name, Stated::NOTHING),
                b"!" => out.instant_with(at, name, "why"),
                b"#" => out.counter(at, name, 2.5),
                _ => out.exit(at, Some(name), Stated::NOTHING),
            }
        }
        None
    }
}

fn read(files: &Memory, workers: usize, block_size: usize) -> Trace {
    let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
    let read = stream_as(&Toy, files, &options, TraceBuilder::default(), &|_| ()).unwrap();
    read.sink.finish(read.meta, read.names)
}

/// Calls as `THREAD NAME START-END`.
fn calls(trace: &Trace) -> Vec<String> {
    let spans = &trace.spans;
    let call = |id: profctl_model::SpanId| {
        let row = id.index();
        let thread = &trace.names.threads[spans.thread[row]].name;
        let name = &trace.names.funcs[spans.func[id]].name;
        format!("{thread} {name} {}-{}", spans.start[row].0, spans.end[row].0)
    };
    spans.ids().map(call).collect()
}

#[test]
fn a_format_is_a_descriptor_and_a_reader() {
    let files = Memory::new(
        "toy",
        vec![
            ("cpu0.toy".into(), b"10 + a\n20 + b\n20 - b\n90 - a\n".to_vec()),
            ("cpu1.toy".into(), b"15 + c\nx\n95 - c\n".to_vec()),
        ],
    );
    let trace = read(&files, 1, 0);
    invariants::check(&trace, "toy");
    assert_eq!(calls(&trace), ["cpu0 a 10-90", "cpu0 b 20-20", "cpu1 c 15-95"]);
    let sample = trace.meta.diags.sorted()[0].samples[0].clone();
    assert_eq!((&*sample.place.source, sample.place.line), ("toy/cpu1.toy", Some(2)));
}

/// What an instant says besides comes with it from any stream, through any cut.
#[test]
fn instants_keep_their_details() {
    let files = Memory::new(
        "toy",
        vec![
            ("cpu0.toy".into(), b"10 ! a\n20 # n\n30 ! a\n".to_vec()),
            ("cpu1.toy".into(), b"15 ! b\n25 # n\n".to_vec()),
        ],
    );
    for block_size in [1, 8, 0] {
        let trace = read(&files, 2, block_size);
        let told = |mark: &profctl_model::Mark| {
            let name = &trace.names.funcs[mark.func].name;
            format!("{} {name} {}", mark.time.0, mark.detail.as_deref().unwrap_or("-"))
        };
        let told: Vec<String> = trace.marks.iter().map(told).collect();
        assert_eq!(told, ["10 a why", "15 b why", "20 n 2.5", "25 n 2.5", "30 a why"]);
    }
}

/// Streams of any length give the same calls on any number of workers, in any blocks, and every
/// call is there: streams of one CPU each cannot repair one another.
#[test]
fn streams_are_merged_by_time_whoever_reads_them() {
    let mut files = Vec::new();
    let mut expected = 0;
    for cpu in 0..7_u64 {
        let mut text = String::new();
        let mut time = cpu * 31 % 11;
        for call in 0..200 + cpu * 97 {
            let length = 1 + call * (cpu + 3) % 17;
            writeln!(text, "{time} + f{0}\n{1} - f{0}", call % 5, time + length).unwrap();
            time += length + call % 3;
            expected += 1;
        }
        files.push((format!("cpu{cpu}.toy"), text.into_bytes()));
    }
    let files = Memory::new("toy", files);
    let first = read(&files, 1, 0);
    invariants::check(&first, "toy");
    assert_eq!(first.spans.len() as u64, expected);
    assert!(first.meta.diags.sorted().is_empty());
    for workers in [1, 2, 3, 7] {
        for block_size in [1, 20, 64, 1000, 0] {
            let again = read(&files, workers, block_size);
            assert_eq!(calls(&again), calls(&first), "{workers} workers, {block_size} bytes");
        }
    }
}
