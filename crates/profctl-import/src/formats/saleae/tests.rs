use std::fmt::Write as _;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;
use crate::ReadOptions;
use crate::capture::CaptureOptions;
use crate::capture::testing::{
    TAG_WIRES, calls, capture, check_blocks, check_cuts, check_tells_of_1993, complaints, load,
    read_anyhow, rows, wires,
};
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/saleae/", $name)
    };
}

static GIST: &[u8] = include_bytes!(fixture!("duplicate-names.csv"));
static CHANNEL: &[u8] = include_bytes!(fixture!("channel.bin"));
static CHUNKS: &[u8] = include_bytes!(fixture!("chunks.bin"));

/// The capture as Logic writes it, its start before the trigger.
fn csv() -> String {
    let mut text = "Time [s]".to_owned();
    for wire in 0..TAG_WIRES {
        write!(text, ",T{wire}").unwrap();
    }
    text.push_str(",STB\n");
    for (time, tag, strobe) in rows() {
        let nanos = i64::try_from(time).unwrap() * 1_000 - 5_000_123;
        let sign = if nanos < 0 { "-" } else { "" };
        write!(text, "{sign}{}.{:09}", nanos.abs() / 1_000_000_000, nanos.abs() % 1_000_000_000)
            .unwrap();
        for wire in 0..TAG_WIRES {
            write!(text, ",{}", tag >> wire & 1).unwrap();
        }
        writeln!(text, ",{strobe}").unwrap();
    }
    text
}

#[test]
fn the_csv_tells_what_the_records_tell() {
    expect_file![fixture!("tcp_rx.csv")].assert_eq(&csv());
    check_tells_of_1993(csv().as_bytes(), "saleae", &wires());
    check_blocks(csv().as_bytes(), &wires());
}

#[test]
fn a_spreadsheet_may_have_been_there() {
    let damaged = csv().replace(',', ";").replace('.', ",").replace('\n', "\r\n");
    check_tells_of_1993(format!("\u{feff}{damaged}").as_bytes(), "saleae", &wires());
    let tabs = csv().replace(',', "\t").replace("Time [s]", "\"Time [s]\"");
    check_tells_of_1993(tabs.as_bytes(), "saleae", &wires());
    let spaces = csv().replace(',', ", ").replace("Time [s]", "Time[s]");
    check_tells_of_1993(spaces.as_bytes(), "saleae", &wires());
}

#[test]
fn times_may_be_dates() {
    let mut text = "Time,run\n".to_owned();
    for (second, level) in [("58.5", 0), ("59.25", 1)] {
        writeln!(text, "2024-02-29T23:59:{second}+00:00,{level}").unwrap();
    }
    text.push_str("2024-03-01T00:00:01.000000001+00:00,0\n");
    let (trace, origin) = load(text.as_bytes(), &ReadOptions::default());
    assert_eq!(origin.format.name, "saleae");
    assert_eq!(calls(&trace)[0].times, [0, 1_750_000_001, 1_750_000_001]);
}

#[test]
fn channels_of_one_name() {
    let of = |gpio: &str| {
        let gpio = Some(gpio.to_owned());
        capture(CaptureOptions { gpio, ..CaptureOptions::default() })
    };
    // By hand: the second `Channel 1` is low from 3.325394 to 3.325407 and from 3.325460 to 3.325599.
    let (trace, _) = load(GIST, &of("Channel 1#2=work"));
    let found: Vec<_> =
        calls(&trace).iter().map(|call| (call.times[1], call.fidelity.is_partial())).collect();
    assert_eq!(found, [(0, true), (53_000, false), (0, true)]);
    let input = crate::Single::new("-", Box::new(GIST));
    let error = crate::load(&input, &of("Channel 1"), &|_| {}).err().unwrap();
    assert!(error.message.contains("`Channel 1#1` to `Channel 1#2`"), "{error}");
    // Every wire, if nothing is said, each under a name of its own.
    let (trace, _) = load(GIST, &ReadOptions::default());
    assert!(trace.names.funcs.iter().any(|func| func.name == "Channel 1#2"));
}

#[test]
fn what_the_recorder_missed_is_a_gap() {
    let text =
        "Time [s],a,b\n0.0,0,0\n1.0,1,0\n2.0,X,X\n3.0,X,X\n4.0,1,0\n5.0,0,0\n6.0,X,1\n7.0,1,0\n";
    let (trace, _) = load(text.as_bytes(), &ReadOptions::default());
    let found: Vec<_> =
        calls(&trace).iter().map(|call| (call.name.clone(), call.fidelity)).collect();
    assert_eq!(trace.gaps.len(), 1);
    assert!(found[0].1.at_gap && found[0].0 == "a", "{found:?}");
    let said = complaints(&trace);
    assert!(said.contains(&"capture/unknown-level 1".to_owned()), "{said:?}");
}

#[test]
fn rows_that_are_wrong() {
    let text = "Time [s],a\n0.0,0\nnever,1\n1.0,2\n2.0\n3.0,1\n-1.0,0\n4.0,0\n5.";
    let (trace, _) = load(text.as_bytes(), &ReadOptions::default());
    assert_eq!(calls(&trace)[0].times[1], 1_000_000_000);
    assert_eq!(complaints(&trace), ["input/skipped-record 4", "input/cut-record 1"]);
}

#[test]
fn tables_of_something_else() {
    for text in [
        "Time [s],Voltage\n0.0,1.25\n",
        "Time [s]\n0.0\n",
        "Time,CPU\n12:00,0\n",
        "Time [s],Value,Parity Error,Framing Error\n0.1,0x41,,\n",
        "time,a\n0,0\n",
        "",
    ] {
        assert_eq!(Export.recognize_bytes(text.as_bytes(), true), Recognition::No, "{text}");
    }
}

/// A file of one channel: version 1 may have several chunks.
fn channel(version: u32, chunks: &[(u32, f64, &[f64])]) -> Vec<u8> {
    let mut bytes = b"<SALEAE>".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    if version > 0 {
        bytes.extend((chunks.len() as u64).to_le_bytes());
    }
    for (level, begin, transitions) in chunks {
        bytes.extend(level.to_le_bytes());
        if version > 0 {
            bytes.extend(100e6_f64.to_le_bytes());
        }
        bytes.extend(begin.to_le_bytes());
        bytes.extend((begin + 10.0).to_le_bytes());
        bytes.extend((transitions.len() as u64).to_le_bytes());
        bytes.extend(transitions.iter().flat_map(|time| time.to_le_bytes()));
    }
    bytes
}

/// The strobe of the capture as a channel of its own: a level that is high between every second
/// record and the next.
fn strobe() -> Vec<u8> {
    let times: Vec<f64> = rows()[1..].iter().map(|row| row.0 as f64 / 1e6 - 0.002).collect();
    channel(0, &[(0, -0.002, &times)])
}

#[test]
fn a_channel_is_a_function() {
    assert_eq!(strobe(), CHANNEL);
    let gpio = Some("digital=strobe".to_owned());
    let options = capture(CaptureOptions { gpio, ..CaptureOptions::default() });
    let (trace, origin) = load(CHANNEL, &options);
    assert_eq!(origin.format.name, "saleae");
    let found = calls(&trace);
    assert_eq!(found.len(), 78);
    let rows = rows();
    for (call, pair) in found.iter().zip(rows[1..].chunks(2)) {
        assert_eq!(call.name, "strobe");
        assert_eq!(call.times[1], (pair[1].0 - pair[0].0) * 1_000);
        assert_eq!(call.times[0], (pair[0].0 - rows[1].0) * 1_000);
    }
}

#[test]
fn between_two_chunks_is_a_gap() {
    assert_eq!(channel(1, &[(1, 0.0, &[1.0, 2.0]), (0, 5.0, &[6.0, 6.5])]), CHUNKS);
    let (trace, _) = load(CHUNKS, &ReadOptions::default());
    let found: Vec<_> =
        calls(&trace).iter().map(|call| (call.times[1], call.fidelity.is_partial())).collect();
    // What was entered last before the gap was not seen after that.
    assert_eq!(found, [(0, true), (0, true), (500_000_000, false)]);
    assert_eq!(trace.gaps.len(), 1);
}

#[test]
fn channels_that_are_refused() {
    let mut analog = strobe();
    analog[12] = 1;
    assert!(matches!(Export.recognize_bytes(&analog, true), Recognition::Neighbor(_)));
    assert!(Export.open_bytes(&analog, &ImportOptions::default()).is_err());
    let mut newer = strobe();
    newer[8] = 2;
    let error = Export.open_bytes(&newer, &ImportOptions::default()).err().unwrap();
    assert!(error.message.contains("found version 2"), "{error}");
    assert!(Export.open_bytes(b"", &ImportOptions::default()).is_err());
}

#[test]
fn a_channel_that_promises_too_much() {
    let mut bytes = channel(1, &[(0, 0.0, &[1.0, f64::NAN, f64::INFINITY, -1.0])]);
    bytes[16] = 0xff;
    let (trace, _) = load(&bytes, &ReadOptions::default());
    assert!(complaints(&trace).contains(&"input/cut-record 1".to_owned()));
    bytes[16] = 0;
    let (trace, _) = load(&bytes, &ReadOptions::default());
    assert_eq!(complaints(&trace), ["input/skipped-record 1"]);
}

#[test]
fn every_cut() {
    check_cuts(&csv().as_bytes()[..500], "saleae", &wires());
    check_cuts(&CHANNEL[..400], "saleae", &ReadOptions::default());
    check_cuts(CHUNKS, "saleae", &ReadOptions::default());
}

proptest! {
    // Every case opens an input or several, which takes a millisecond or two.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_read_or_refused(
        bytes: Vec<u8>,
        rows in "([-+]?[0-9]{0,3}[.,][0-9]{0,12}(e-?[0-9]{1,3})?[,;][01X]?\n){0,12}",
        flips: Vec<(u16, u8)>,
    ) {
        read_anyhow(&bytes, "saleae", &ReadOptions::default());
        read_anyhow(format!("Time [s],a\n{rows}").as_bytes(), "saleae", &ReadOptions::default());
        read_anyhow(format!("Time [s];a\n{rows}").as_bytes(), "saleae", &ReadOptions::default());
        for whole in [CHANNEL, CHUNKS] {
            let mut bytes = whole.to_vec();
            for &(at, value) in &flips {
                let at = usize::from(at) % bytes.len();
                bytes[at] ^= value;
            }
            read_anyhow(&bytes, "saleae", &ReadOptions::default());
        }
    }
}
