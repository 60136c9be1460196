//! The formats that programs exchange: each is recognized by its own reader and no other, and large
//! files are read alike in any blocks.

use profctl_import::formats::Probe;
use profctl_import::{FORMATS, ImportOptions, ReadOptions, Recognition, Single, load};
use profctl_testkit::{fixtures, generate, invariants};

use crate::recorder::read;

const INTERCHANGED: [&str; 3] = ["chrome", "speedscope", "folded"];

#[test]
fn a_fixture_is_taken_by_its_own_reader_only() {
    for format in FORMATS {
        let name = format.descriptor().name;
        for path in fixtures::of_format(name).into_iter().filter(|path| path.is_file()) {
            let bytes = fixtures::read(&path);
            let head = &bytes[..bytes.len().min(64 << 10)];
            let takers: Vec<&str> = FORMATS
                .iter()
                .filter(|taker| {
                    let probe = Probe { name, head, whole: head.len() == bytes.len() };
                    let verdict = taker.recognize(&probe);
                    matches!(verdict, Recognition::Yes(_) | Recognition::Maybe(_))
                })
                .map(|taker| taker.descriptor().name)
                .filter(|taker| INTERCHANGED.contains(&name) || INTERCHANGED.contains(taker))
                .collect();
            let expected: &[&str] = if INTERCHANGED.contains(&name) { &[name] } else { &[] };
            assert_eq!(takers, expected, "{}", path.display());
        }
    }
}

#[test]
fn fixtures_keep_the_invariants() {
    for format in INTERCHANGED {
        for path in fixtures::of_format(format) {
            let name = path.display().to_string();
            let bytes = fixtures::read(&path);
            let input = Single::new(name.clone(), Box::new(&bytes[..]));
            let (trace, _) = load(&input, &ReadOptions::default(), &|_| ()).unwrap();
            invariants::check(&trace, &name);
        }
    }
}

#[test]
fn a_large_file_is_read_alike_in_any_blocks() {
    let mut text = Vec::new();
    generate::write_large("chrome", 3_000_000, 3, &mut text).unwrap();
    let of = |block_size: usize, workers: usize, dialect: Option<&str>| {
        let import =
            ImportOptions { dialect: dialect.map(str::to_owned), ..ImportOptions::default() };
        let options = ReadOptions { block_size, workers, import, ..ReadOptions::default() };
        read(&text, &options).unwrap()
    };
    let whole = of(64 << 20, 1, None);
    assert!(whole.recorded.spans.len() > 20_000);
    for (block_size, workers) in [(1 << 10, 1), (5_000, 3), (100_000, 2), (0, 7)] {
        assert!(
            of(block_size, workers, None) == whole,
            "blocks of {block_size}, {workers} workers"
        );
    }
    assert!(of(0, 2, Some("unsorted")) == whole, "all held");
}
