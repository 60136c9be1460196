//! Calls that were spilled and numbered afterwards have the numbers, callers and depths that a
//! trace in memory gives them, on every fixture and on generated recordings.

use profctl_import::{Files, Memory, ReadOptions, Single, stream};
use profctl_model::{FuncId, Names, Record, Span, SpanId, SpanSink, Spool, TraceBuilder};
use profctl_testkit::fixtures;
use profctl_testkit::generate::{self, Recording, Shape};

#[derive(Default)]
struct Both {
    trace: TraceBuilder,
    spool: Option<Spool<Vec<Vec<u8>>>>,
}

impl SpanSink for Both {
    fn span(&mut self, span: &Span, names: &Names) {
        self.trace.span(span, names);
        self.spool.as_mut().expect("it was set").span(span, names);
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        self.trace.record(record, names);
        self.spool.as_mut().expect("it was set").record(record, names);
    }
}

/// The number of calls compared.
fn compare(name: &str, bytes: &[u8], options: &ReadOptions, block_rows: usize) -> Option<usize> {
    compare_files(name, &Single::new(name, Box::new(bytes)), options, block_rows)
}

fn compare_files(
    name: &str,
    input: &dyn Files,
    options: &ReadOptions,
    block_rows: usize,
) -> Option<usize> {
    let spool = Some(Spool::with_block_rows(Vec::new(), block_rows));
    let sink = Both { spool, ..Both::default() };
    let read = stream(input, options, sink, &|_| ()).ok()?;
    let step = read.meta.timebase.microsecond();
    let trace = read.sink.trace.finish(read.meta, read.names);
    let spans = &trace.spans;
    let (mut rows, _) = read.sink.spool.expect("it was set").finish(Vec::new(), step).unwrap();
    let mut seen = vec![false; spans.len()];
    let mut places = vec![(0, 0); spans.len()];
    while let Some(block) = rows.next_block().unwrap() {
        for row in block {
            let index = usize::try_from(row.id).unwrap();
            assert!(!std::mem::replace(&mut seen[index], true), "{name}: two calls {index}");
            let span = row.span;
            let func: FuncId = spans.func[SpanId::from_index(index)];
            let found = (
                (row.parent, row.depth, span.func, span.thread, span.cpu),
                (span.wall, span.off_cpu, span.net, span.stolen, span.fidelity, span.outermost),
            );
            let expected = (
                (
                    spans.parent[index].map(|parent| parent.index() as u64),
                    spans.depth[index],
                    func,
                    spans.thread[index],
                    spans.cpu[index],
                ),
                (
                    spans.wall[index],
                    spans.off_cpu[index],
                    spans.net[index],
                    spans.stolen[index],
                    spans.fidelity[index],
                    spans.outermost[index],
                ),
            );
            assert_eq!(found, expected, "{name}: call {index}");
            assert!(span.start <= span.end, "{name}: call {index}");
            places[index] = (span.start.0, span.end.0);
        }
    }
    assert!(seen.iter().all(|&seen| seen), "{name}: a call is missing");
    // Cut or not, a call lies within its caller and after the one before it.
    let mut last_of: Vec<Option<usize>> = vec![None; spans.len()];
    for index in 0..spans.len() {
        let Some(parent) = spans.parent[index].map(SpanId::index) else { continue };
        let (start, end) = places[index];
        let inside = places[parent].0 <= start && end <= places[parent].1;
        let apart = last_of[parent].is_none_or(|before| places[before].1 <= start);
        assert!(inside && apart, "{name}: call {index} at {start} to {end}");
        last_of[parent] = Some(index);
    }
    Some(spans.len())
}

#[test]
fn fixtures_are_numbered_as_in_memory() {
    let mut calls = 0;
    for format in profctl_import::FORMATS {
        for path in fixtures::of_format(format.descriptor().name) {
            let name = path.display().to_string();
            // What needs a file of names beside it is read by other tests.
            let options = ReadOptions::default();
            let compared = if path.is_dir() {
                compare_files(&name, &Memory::new(&*name, fixtures::parts(&path)), &options, 64)
            } else {
                compare(&name, &fixtures::read(&path), &options, 64)
            };
            calls += compared.unwrap_or(0);
        }
    }
    assert!(calls > 10_000, "{calls} calls were compared");
}

#[test]
fn made_up_recordings_are_numbered_as_in_memory() {
    for seed in 0..20 {
        for closes in [true, false] {
            let recording = Recording::new(seed, Shape { closes, ..Shape::BUSY });
            let text = generate::plain(&recording);
            for block_rows in [1, 7, 1 << 17] {
                let name = format!("seed {seed}, {block_rows} a block");
                let calls = compare(&name, text.as_bytes(), &ReadOptions::default(), block_rows);
                assert!(calls.is_some_and(|calls| calls > 0), "{name}");
            }
        }
    }
}
