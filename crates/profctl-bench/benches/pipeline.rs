//! `import/FORMAT`: bytes to spans; `stitch`: events to spans; `summarize`: spans to a profile.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use profctl_analyze::summarize::{Options, Source, Summary};
use profctl_bench::{Count, Keep, sample, samples};
use profctl_import::emit::{BlockEvents, Emitter};
use profctl_import::formats::Block;
use profctl_import::stitch::{BlockView, Setup, Stitcher, WorkerIds};
use profctl_import::{FORMATS, Grouping, ImportOptions, Single};
use profctl_model::SpanSink as _;

/// Large enough for rates to settle, small enough for a minute in all.
const BYTES: u64 = 16_000_000;

/// Bytes per second, by format, on one thread.
fn import(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("import");
    group.sample_size(10);
    for sample in samples(BYTES) {
        group.throughput(Throughput::Bytes(sample.bytes.len() as u64));
        group.bench_function(sample.name, |bencher| {
            bencher.iter(|| black_box(sample.read(1, Count::default()).sink.calls));
        });
        group.throughput(Throughput::Elements(sample.events));
        group.bench_function(format!("{}/events", sample.name), |bencher| {
            bencher.iter(|| black_box(sample.read(1, Count::default()).sink.calls));
        });
    }
    group.finish();
}

/// Events per second.
fn stitch(criterion: &mut Criterion) {
    let sample = sample("function_graph", BYTES);
    let importer = FORMATS
        .iter()
        .find(|format| format.descriptor().name == sample.name)
        .expect("function_graph is a format");
    let files = Single::new(sample.name, Box::new(&sample.bytes[..]));
    let opened = importer.open(&files, &ImportOptions::default()).expect("a sound trace");
    let mut reader = opened.reader;
    let mut emitter = Emitter::default();
    let block = Block { bytes: &sample.bytes, at_end: true, stream: 0, offset: 0 };
    reader.read(&block, &opened.state, &mut emitter);
    let events = emitter.take();
    let setup = Setup {
        sources: [sample.name.to_owned()].into(),
        timebase: opened.timebase,
        counter_bits: None,
        quirks: opened.quirks,
        grouping: Grouping::Function,
        from: None,
        until: None,
    };
    let view = BlockView { bytes: &sample.bytes, stream: 0, source: 0, offset: 0, lines: Some(0) };
    let mut group = criterion.benchmark_group("stitch");
    group.sample_size(10);
    group.throughput(Throughput::Elements(events.said().len() as u64));
    group.bench_function(sample.name, |bencher| {
        let input = || events.clone();
        let stitch = |mut block: BlockEvents| {
            let mut stitcher = Stitcher::new(setup.clone(), Count::default());
            stitcher.take(&mut block, &mut WorkerIds::default(), view);
            black_box(stitcher.finish().sink.calls)
        };
        bencher.iter_batched(input, stitch, BatchSize::LargeInput);
    });
    group.finish();
}

/// Calls per second, with and without what percentiles need.
fn summarize(criterion: &mut Criterion) {
    let sample = sample("function_graph", BYTES);
    let read = sample.read(1, Keep::default());
    let mut group = criterion.benchmark_group("summarize");
    group.sample_size(10);
    group.throughput(Throughput::Elements(read.sink.spans.len() as u64));
    for (name, percentiles) in [("sums", false), ("percentiles", true)] {
        let options = Options { percentiles, ..Options::default() };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut summary = Summary::new(options);
                for span in &read.sink.spans {
                    summary.span(span, &read.names);
                }
                let source = Source {
                    path: sample.name.to_owned(),
                    format: sample.name.to_owned(),
                    bytes: sample.bytes.len() as u64,
                };
                black_box(summary.finish(&read.names, &read.meta, source).rows.len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, import, stitch, summarize);
criterion_main!(benches);
