use proptest::prelude::*;

use super::*;
use crate::testing::{ImporterOfBytes, show, told, trace};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/otf2");
    profctl_testkit::fixtures::read(&folder.join(name).with_extension("txt"))
}

/// Of the program that wrote the archive: step `i` of 5 takes `10 (i + 1) + 3 + 4 + 5` ticks, of
/// which `fib` takes 12, and 4 of them in itself; `main` takes 100, the steps, 20 after each, 50.
#[test]
fn sums_are_those_of_the_program() {
    for (name, threads) in [("definitions", ["rank 0-0", "rank 1-1"]), ("events", ["0", "1"])] {
        let trace = trace("otf2", &fixture(name), ImportOptions::default(), 0, 1);
        let spans = &trace.spans;
        for (number, expected) in threads.iter().enumerate() {
            let of = |func: &str| {
                let mine = spans.ids().filter(|id| {
                    trace.names.threads[spans.thread[id.index()]].label() == *expected
                        && trace.names.funcs[spans.func[*id]].name == func
                });
                mine.collect::<Vec<_>>()
            };
            let walls =
                |func| of(func).iter().map(|id| spans.wall[id.index()].0).collect::<Vec<_>>();
            assert_eq!(walls("step \"one\""), [22, 32, 42, 52, 62], "{name}");
            assert_eq!(walls("fib"), [12, 4].repeat(5), "{name}");
            let main = of("int main(int, char**)")[0].index();
            // The second process never leaves: its last call ends at 390, its last event is at 410.
            let (walls, partial) = [(460..=460, false), (390..=410, true)][number].clone();
            let wall = spans.wall[main].0;
            assert!(walls.contains(&wall), "{name}: {wall}");
            assert_eq!(spans.fidelity[main].is_partial(), partial, "{name}");
            assert_eq!(spans.net[main].0, wall - 210, "{name}");
        }
        assert_eq!(trace.marks.len(), 2, "{name}");
    }
}

#[test]
fn the_clock_is_that_of_the_definitions() {
    let options = ImportOptions::default();
    let unit = |name| Otf2Print.open_bytes(&fixture(name), &options).unwrap().timebase.unit;
    assert_eq!(unit("definitions"), TickUnit::Seconds { numerator: 1, denominator: 2_000_000 });
    assert_eq!(unit("events"), TickUnit::Cycles);
}

#[test]
fn a_recording_of_mpi_is_read_whole() {
    let text = fixture("ping-pong");
    assert!(matches!(Otf2Print.recognize_bytes(&text, true), Recognition::Yes(_)));
    let trace = trace("otf2", &text, ImportOptions::default(), 0, 1);
    let lines = |word: &[u8]| memchr::memmem::find_iter(&text, word).count();
    assert_eq!(trace.spans.ids().count(), lines(b"\nLEAVE "));
    assert_eq!(trace.marks.len(), lines(b"\nMPI_") + lines(b"\nPROGRAM_"));
    assert!(trace.meta.diags.sorted().is_empty());
}

#[test]
fn lines_that_are_nothing_are_counted() {
    let (text, codes) = told(
        "otf2",
        "=== OTF2-PRINT ===\nENTER   0  5  Region: \"f\" <3>\nENTER x\nLEAVE   0  9  Region: \"f\" <3>\nLEAVE   0  11  Reg",
        ImportOptions::default(),
    );
    assert_eq!(text, "0 0 f 5+4 net 4\n");
    assert_eq!(codes, ["input/skipped-record 1", "input/cut-record 1"]);
}

#[test]
fn the_documented_example_is_recognized() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/otf2.md"));
    let example = crate::formats::plain::show::example(page);
    assert!(matches!(Otf2Print.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    assert!(!told("otf2", example, ImportOptions::default()).0.is_empty());
}

#[test]
fn a_text_cut_anywhere_is_read_up_to_the_cut() {
    let text = fixture("events");
    for cut in 0..text.len() {
        let trace = trace("otf2", &text[..cut.max(1)], ImportOptions::default(), 0, 1);
        let whole = memchr::memrchr(b'\n', &text[..cut]).map_or(0, |at| at + 1);
        let entries = memchr::memmem::find_iter(&text[..whole], b"\nENTER ").count();
        assert_eq!(trace.spans.ids().count(), entries, "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn blocks_of_any_size_tell_the_same(block in 1_usize..2_000, workers in 1_usize..4) {
        for name in ["definitions", "ping-pong"] {
            let whole = trace("otf2", &fixture(name), ImportOptions::default(), 0, 1);
            let blocks = trace("otf2", &fixture(name), ImportOptions::default(), block, workers);
            prop_assert_eq!(show(&blocks), show(&whole));
        }
    }

    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        Otf2Print.recognize_bytes(&bytes, true);
        if !bytes.is_empty() {
            trace("otf2", &bytes, ImportOptions::default(), 0, 1);
        }
    }
}
