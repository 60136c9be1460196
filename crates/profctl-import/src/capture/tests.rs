use std::fmt::Write as _;

use profctl_testkit::fixtures;

use super::testing::{calls, capture, check_blocks, complaints, load};
use super::*;
use crate::testing::ImporterOfBytes;
use crate::{FORMATS, ReadOptions, Recognition};
use profctl_model::TickUnit;

fn table(text: &str) -> Result<CaptureOptions, String> {
    CaptureOptions::from_toml_table(&text.parse().expect("TOML"))
}

#[test]
fn a_section_of_a_rule_file() {
    let found = table(
        "tag = 'T15..T0'\nstrobe = 'STB@fall'\nvalid = 'OK=1'\ngpio = 'irq^'\npc = 'pc'\n\
         thread = 'pid'\nclock = '72MHz'\n",
    );
    let expected = CaptureOptions {
        tag: Some("T15..T0".into()),
        strobe: Some("STB@fall".into()),
        valid: vec!["OK=1".into()],
        gpio: Some("irq^".into()),
        pc: Some("pc".into()),
        thread: Some("pid".into()),
        clock: Some(TickUnit::Seconds { numerator: 1, denominator: 72_000_000 }),
    };
    assert_eq!(found, Ok(expected));
    assert_eq!(table("valid = ['a=1', 'b=0']").unwrap().valid, ["a=1", "b=0"]);
    assert!(table("").unwrap().is_empty());
}

#[test]
fn a_rule_file_about_a_capture() {
    let of = |text: &str| CaptureOptions::from_rule(text).map(|found| found.map(|found| found.tag));
    assert_eq!(of("[capture]\ntag = 'a'\n"), Some(Ok(Some("a".into()))));
    for lines in ["pattern = 'a'\n", "not TOML", "capture = 1"] {
        assert_eq!(of(lines), None, "{lines}");
    }
    let error = of("[capture]\ntugs = ''\n").unwrap().unwrap_err();
    assert!(error.contains("unknown field `tugs`"), "{error}");
}

#[test]
fn sections_that_are_refused() {
    for (text, expected) in [
        ("tags = 'a'", "unknown field `tags`"),
        ("tag = 5", "invalid type"),
        ("valid = 5", "[capture]"),
        ("clock = 'fast'", "found clock `fast`"),
    ] {
        let error = table(text).unwrap_err();
        assert!(error.starts_with("[capture]: ") && error.contains(expected), "{text}: {error}");
    }
}

const SYMBOLS: &[u8] = b"1000 T main\n1100 T work\n1200 t leaf\n1300 D data\n";

/// A dump of a program counter that takes these values, one a microsecond.
fn program(counter: &[u64]) -> String {
    let mut text = "$timescale 1 us $end $var wire 32 p pc $end $enddefinitions $end\n".to_owned();
    for (time, address) in counter.iter().enumerate() {
        writeln!(text, "#{time}\nb{address:b} p").unwrap();
    }
    text
}

fn pc() -> ReadOptions {
    let options = CaptureOptions { pc: Some("pc".into()), ..CaptureOptions::default() };
    let mut options = capture(options);
    options.import.names = None;
    options.import.symbols = Some(SYMBOLS.to_vec());
    options
}

fn shown(counter: &[u64]) -> (Vec<(String, u32, u64)>, Vec<String>) {
    let (trace, origin) = load(program(counter).as_bytes(), &pc());
    assert!(origin.facts.iter().any(|(_, fact)| fact.contains("inferred")), "{:?}", origin.facts);
    let calls = calls(&trace).into_iter();
    (calls.map(|call| (call.name, call.depth, call.times[1] / 1_000)).collect(), complaints(&trace))
}

#[test]
fn a_program_counter_tells_of_calls() {
    // Until the last event, which is coming back to main. The reset vector, main, work, leaf, back in work, leaf once more, back in work, back in main.
    let counter =
        [0, 0x1000, 0x1004, 0x1100, 0x1104, 0x1200, 0x1204, 0x1108, 0x1200, 0x110c, 0x1008, 0x100c];
    let (found, said) = shown(&counter);
    let expected = [("main", 0, 9), ("work", 1, 7), ("leaf", 2, 2), ("leaf", 2, 1)];
    assert_eq!(found, expected.map(|(name, depth, wall)| (name.to_owned(), depth, wall)));
    assert_eq!(said, ["stitch/unclosed-entry 1", "capture/inferred-calls 1"]);
    check_blocks(program(&counter).as_bytes(), &pc());
}

#[test]
fn what_began_before_the_capture_is_partial() {
    // In the middle of leaf, back in work, whose entry was not recorded, back in main, and nowhere.
    let (found, said) = shown(&[0x1204, 0x1208, 0x1108, 0x1004, 0x1100, 0x1008, 0x9999_0000]);
    let names: Vec<_> = found.iter().map(|(name, ..)| name.as_str()).collect();
    assert!(names.contains(&"leaf") && names.contains(&"work"), "{found:?}");
    assert!(said.contains(&"capture/unknown-address 1".to_owned()), "{said:?}");
    assert!(said.contains(&"stitch/unmatched-exit 2".to_owned()), "{said:?}");
}

/// A strobe and a program counter of two buses go together.
#[test]
fn a_program_counter_may_have_a_strobe() {
    let text = "$timescale 1 us $end $var wire 16 h high $end $var wire 16 l low $end \
                $var wire 1 s clk $end $enddefinitions $end\n\
                #0 b0 h b0 l 0s\n#1 b1000000000000 l\n#2 1s\n#3 b1000100000000 l 0s\n#4 b1 l\n\
                #5 b1000100000000 l 1s\n#6 0s b1000000000100 l\n#7 1s\n#8 0s\n";
    let mut options = pc();
    options.import.capture.pc = Some("high,low".into());
    options.import.capture.strobe = Some("clk".into());
    let (trace, _) = load(text.as_bytes(), &options);
    let found: Vec<_> = calls(&trace).into_iter().map(|call| (call.name, call.times)).collect();
    assert_eq!(found[1], ("work".into(), [3_000, 2_000, 2_000]));
}

#[test]
fn every_fixture_is_claimed_by_its_format_alone() {
    for name in ["vcd", "fst", "sigrok", "saleae", "itm", "systemview"] {
        for path in fixtures::of_format(name) {
            let bytes = fixtures::read(&path);
            let takes = |format: &&&dyn crate::Importer| {
                format.recognize_bytes(&bytes, true) != Recognition::No
            };
            let takers = FORMATS.iter().filter(takes).map(|format| format.descriptor().name);
            assert_eq!(takers.collect::<Vec<_>>(), [name], "{}", path.display());
        }
    }
}

/// One measurement of 1993, and every way in which it reaches us, is one profile.
#[test]
fn one_measurement_in_every_notation() {
    let of = |format: &str, name: &str| {
        fixtures::read(&fixtures::root().join("fixtures").join(format).join(name))
    };
    let clock = Some(TickUnit::Seconds { numerator: 1, denominator: 1_000_000 });
    let bus = || capture(CaptureOptions { clock, ..CaptureOptions::default() });
    for (format, name, options) in [
        ("vcd", "tcp_rx.vcd", bus()),
        ("vcd", "tcp_rx_wires.vcd", testing::wires()),
        ("fst", "tcp_rx.fst", bus()),
        ("fst", "tcp_rx_wires.fst", testing::wires()),
        ("sigrok", "tcp_rx.sr", testing::wires()),
        ("sigrok", "tcp_rx.csv", testing::wires()),
        ("saleae", "tcp_rx.csv", testing::wires()),
        ("itm", "tcp_rx.itm", bus()),
        ("itm", "tcp_rx.tpiu", bus()),
    ] {
        testing::check_tells_of_1993(&of(format, name), format, &options);
    }
}

/// The code trace of the article has the same calls; only `werint` lost callees in print.
#[test]
fn the_article_tells_the_same() {
    let trace = fixtures::read(&fixtures::root().join("fixtures/mcrae/trace.txt"));
    let (told, _) = load(&trace, &ReadOptions::default());
    let dump = testing::dump_of_a_bus();
    let (seen, _) = load(dump.as_bytes(), &capture(CaptureOptions::default()));
    let but_werint = |trace: &profctl_model::Trace| {
        let mut all = calls(trace);
        assert_eq!(all.len(), 78);
        let werint = all.iter_mut().find(|call| call.name == "werint").unwrap();
        werint.times[2] = 0;
        all.into_iter().map(|call| (call.name, call.depth, call.times)).collect::<Vec<_>>()
    };
    assert_eq!(but_werint(&seen), but_werint(&told));
}

/// Where wires fall at one timestamp, the stack decides which call ends first, not the order in
/// which the wires were named or dumped.
#[test]
fn wires_that_fall_together_end_from_the_inside() {
    let text = "$timescale 1 us $end $var wire 1 a in $end $var wire 1 b mid $end \
                $var wire 1 c out $end $enddefinitions $end\n#0 0a 0b 0c\n#1 1c\n#2 1b\n#3 1a\n\
                #5 0c 0b 0a\n#6 1b\n#7 1a\n#9 0b 0a\n#10\n";
    for gpio in ["*", "in,mid,out", "out,in,mid", "mid,out,in"] {
        let options = CaptureOptions { gpio: Some(gpio.into()), ..CaptureOptions::default() };
        let (trace, _) = load(text.as_bytes(), &capture(options));
        assert_eq!(complaints(&trace), Vec::<String>::new(), "{gpio}");
        let calls = calls(&trace).into_iter();
        let shown: Vec<_> = calls.map(|call| (call.name, call.depth, call.times[1])).collect();
        let expected = [("out", 0, 4), ("mid", 1, 3), ("in", 2, 2), ("mid", 0, 3), ("in", 1, 2)];
        let expected = expected.map(|(name, depth, time)| (name.to_owned(), depth, time * 1_000));
        assert_eq!(shown, expected, "{gpio}");
    }
}
