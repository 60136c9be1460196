//! The size of blocks and the number of workers change nothing.

use profctl_import::{FORMATS, ImportOptions, ReadOptions};
use profctl_testkit::fixtures;
use profctl_testkit::generate::trace_dat::DatShape;
use profctl_testkit::generate::{self, Layout, Recording, Shape};
use proptest::prelude::*;

use crate::recorder::{Outcome, read, read_parts};

const WORKERS: [usize; 4] = [1, 2, 3, 7];

/// One generated input of each format, with the options that reading it takes.
fn inputs(seed: u64, layout: usize) -> Vec<(String, Vec<u8>, ReadOptions)> {
    let busy = Recording::new(seed, Shape { closes: seed.is_multiple_of(2), ..Shape::BUSY });
    let probed = Recording::new(seed, Shape { closes: seed.is_multiple_of(2), ..Shape::PROBE });
    let (layout_name, layout) = Layout::ALL[layout];
    let names = Some(generate::probe_names(&probed).into_bytes());
    let probe = ReadOptions {
        format: Some("probe".to_owned()),
        import: ImportOptions { names, ..ImportOptions::default() },
        ..ReadOptions::default()
    };
    vec![
        (
            layout_name.to_owned(),
            generate::function_graph(&busy, layout).into_bytes(),
            ReadOptions::default(),
        ),
        (
            "trace_dat".to_owned(),
            generate::trace_dat(&busy, &DatShape::PLAIN),
            ReadOptions::default(),
        ),
        ("plain".to_owned(), generate::plain(&busy).into_bytes(), ReadOptions::default()),
        ("mcrae".to_owned(), generate::code_trace(&probed).into_bytes(), ReadOptions::default()),
        ("probe".to_owned(), generate::probe_records(&probed), probe),
    ]
}

fn assert_same(name: &str, bytes: &[u8], options: &ReadOptions, block_size: usize, workers: usize) {
    let expected = read(bytes, &whole(options)).unwrap();
    let parts = [(name.to_owned(), bytes.to_vec())];
    assert_gives(&expected, name, &parts, options, (block_size, workers));
}

/// One worker, one block.
fn whole(options: &ReadOptions) -> ReadOptions {
    ReadOptions { workers: 1, block_size: 64 << 20, ..options.clone() }
}

fn assert_gives(
    expected: &Outcome,
    name: &str,
    parts: &[(String, Vec<u8>)],
    options: &ReadOptions,
    (block_size, workers): (usize, usize),
) {
    let cut = ReadOptions { workers, block_size, ..options.clone() };
    let got = read_parts(parts, &cut).unwrap();
    // The full text is too long to print: say where it begins to differ.
    let (left, right) = (&got.recorded.spans, &expected.recorded.spans);
    let first = left.iter().zip(right).position(|(a, b)| a != b);
    let what = format!("{name}, blocks of {block_size}, {workers} workers");
    assert_eq!((first, left.len()), (None, right.len()), "{what}: the first call that differs");
    assert_eq!(got.diags, expected.diags, "{what}");
    assert!(got == *expected, "{what}: names, switches, gaps or times differ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_blocks_and_workers_give_the_same(
        seed in any::<u64>(),
        layout in 0..Layout::ALL.len(),
        block_bits in 10.0f64..22.0,
        workers in 0..WORKERS.len(),
    ) {
        let block_size = block_bits.exp2() as usize;
        for (name, bytes, options) in inputs(seed, layout) {
            assert_same(&name, &bytes, &options, block_size, WORKERS[workers]);
        }
    }
}

/// Every format, without being listed here: its fixtures are where its folder is.
#[test]
fn fixtures_of_every_format_are_the_same_in_any_blocks() {
    let names = Some(fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.names")));
    let named = ImportOptions { names, ..ImportOptions::default() };
    for format in FORMATS.iter().map(|format| format.descriptor().name) {
        let ways = [
            ReadOptions::default(),
            ReadOptions { import: named.clone(), ..ReadOptions::default() },
        ];
        let mut n_read = 0;
        for path in fixtures::of_format(format) {
            let parts = fixtures::parts(&path);
            let name = path.display().to_string();
            // Formats that need flags (which signals are a bus) have separate tests.
            let read = |way| read_parts(&parts, &whole(way)).ok();
            let found = ways.iter().find_map(|way| Some((way, read(way)?)));
            let Some((options, expected)) = found else { continue };
            n_read += 1;
            for cut in [(1 << 10, 1), (1 << 10, 3), (3_000, 2), (50_001, 7), (4 << 20, 2)] {
                assert_gives(&expected, &name, &parts, options, cut);
            }
        }
        assert!(n_read > 0, "none of the fixtures of {format} was read");
    }
}

/// A header in the middle (two captures in one file) changes what the lines after it mean.
#[test]
fn columns_that_change_are_seen_by_every_worker() {
    let recording = Recording::new(11, Shape::BUSY);
    let mut text = String::new();
    for (_, layout) in Layout::ALL.into_iter().filter(|(_, layout)| !layout.headless) {
        text += &generate::function_graph(&recording, layout);
    }
    for (block_size, workers) in [(1 << 10, 2), (4_096, 7), (100_000, 3)] {
        assert_same("many headers", text.as_bytes(), &ReadOptions::default(), block_size, workers);
    }
}
