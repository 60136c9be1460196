// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::ReadOptions;
use crate::capture::CaptureOptions;
use crate::capture::testing::{
    capture, check_blocks, check_cuts, check_tells_of_1993, complaints, load, read_anyhow, records,
};
use crate::formats::plain::show::show;
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/itm/", $name))
    };
}

static BARE: &[u8] = fixture!("tcp_rx.itm");
static FRAMED: &[u8] = fixture!("tcp_rx.tpiu");

const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];
/// Bytes of the stream in each frame that [`framed`] makes.
const DATA: usize = 11;

/// What hardware would send, as the manual draws it.
#[derive(Default)]
struct Sent(Vec<u8>);

impl Sent {
    fn write(mut self, port: u8, bytes: &[u8]) -> Self {
        self.0.push(port << 3 | [0, 1, 2, 0, 3][bytes.len()]);
        self.0.extend(bytes);
        self
    }
    fn exception(mut self, number: u16, action: u8) -> Self {
        self.0.extend([0b0000_1110, number as u8, (number >> 8) as u8 | action << 4]);
        self
    }
    /// A timestamp, short where that is possible.
    fn time(mut self, delta: u32) -> Self {
        if (1..=6).contains(&delta) {
            self.0.push((delta as u8) << 4);
            return self;
        }
        self.0.push(0xc0);
        let mut rest = delta;
        while rest > 0x7f {
            self.0.push(rest as u8 & 0x7f | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
        self
    }
    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

/// The capture of 1993: each tag a write of two bytes to port 1, text on port 0 between.
fn bare() -> Vec<u8> {
    let mut sent = Sent::default().raw(&SYNC);
    let mut last = 0;
    for (number, (time, tag)) in records().into_iter().enumerate() {
        if number % 20 == 10 {
            sent = sent.write(0, b"tcp!").raw(&SYNC);
        }
        sent = sent.write(1, &(tag as u16).to_le_bytes()).time((time - last) as u32);
        last = time;
    }
    // A synchronization that fills the last frame.
    let filling = 2 * DATA - sent.0.len() % DATA;
    sent.raw(&vec![0; filling - 1]).raw(&[0x80]).0
}

/// The same in frames, with another stream between and half synchronizations in frames.
fn framed() -> Vec<u8> {
    let mut capture = vec![0xff, 0xff, 0xff, 0x7f];
    for (number, data) in bare().chunks(DATA).enumerate() {
        // The id of the ITM, its data, then a byte of another stream on both sides of the id's pair.
        let mut frame = [0; 16];
        frame[0] = 1 << 1 | 1;
        frame[1..=DATA].copy_from_slice(data);
        for at in (2..=DATA).step_by(2) {
            frame[15] |= (frame[at] & 1) << (at / 2);
            frame[at] &= 0xfe;
        }
        frame[12..15].copy_from_slice(&[2 << 1 | 1, 0x70, 0x70]);
        for (place, pair) in frame.chunks(2).enumerate() {
            if place == number % 8 && number % 3 == 0 {
                capture.extend([0xff, 0x7f]);
            }
            capture.extend(pair);
        }
        if number % 7 == 3 {
            capture.extend([0xff, 0xff, 0xff, 0x7f]);
        }
    }
    capture
}

fn options() -> ReadOptions {
    let clock = crate::text::tick_unit("us");
    capture(CaptureOptions { clock, ..CaptureOptions::default() })
}

#[test]
fn the_stream_tells_what_the_records_tell() {
    assert_eq!(BARE, bare());
    check_tells_of_1993(BARE, "itm", &options());
    check_blocks(BARE, &options());
}

#[test]
fn frames_tell_the_same() {
    assert_eq!(tpiu::unframe(&framed()), bare());
    assert_eq!(FRAMED, framed());
    check_tells_of_1993(FRAMED, "itm", &options());
}

#[track_caller]
fn check(sent: Sent, expected: Expect) {
    let names = Some(b"main/2\nwork/4\nmark/7=\n".to_vec());
    let clock = crate::text::tick_unit("us");
    let capture = CaptureOptions { clock, ..CaptureOptions::default() };
    let options = ImportOptions { names, capture, ..ImportOptions::default() };
    expected.assert_eq(&show(&Instrumentation, &sent.0, &options));
}

#[test]
fn exceptions_are_interrupts() {
    check(
        Sent::default()
            .write(1, &[2])
            .time(10)
            .exception(15, 1)
            .time(3)
            .exception(16 + 300, 1)
            .time(1)
            .exception(16 + 300, 2)
            .exception(15, 3)
            .time(2)
            .exception(15, 2)
            .exception(0, 3)
            .time(200)
            .write(1, &[3, 0, 0, 0])
            .time(4),
        expect![[r#"
            # profctl plain 1 unit=us
            10 > main
            13 > SysTick^
            14 > IRQ300^
            16 < IRQ300^
            216 < SysTick^
            220 < main
        "#]],
    );
}

#[test]
fn an_exit_that_was_not_seen() {
    check(
        Sent::default()
            .exception(11, 1)
            .time(1)
            .exception(13, 1)
            .time(1)
            .exception(0, 3)
            .time(1)
            .exception(14, 3)
            .time(1),
        expect![[r#"
            # profctl plain 1 unit=us
            1 > SVCall^
            2 > "exception 13"^
            3 < "exception 13"^
            3 < SVCall^
        "#]],
    );
}

#[test]
fn what_was_dropped_is_a_gap() {
    check(
        Sent::default().write(3, &[2, 0]).time(5).raw(&[0x70]).time(100).write(3, &[3, 0]).time(1),
        expect![[r#"
            # profctl plain 1 unit=us
            5 > main
            105 lost
            106 < main
        "#]],
    );
}

#[test]
fn packets_that_say_nothing_here() {
    check(
        Sent::default()
            // A sample of the program counter, a counter that wrapped, global timestamps, an
            // extension, a page of ports, data trace.
            .raw(&[0x17, 1, 2, 3, 4, 0x05, 0x3f, 0x94, 0x81, 0x82, 0x83, 0x04])
            .raw(&[0xb4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x88, 0x81, 0x01])
            .raw(&[0x47, 1, 2, 3, 4])
            // Port 0 of page 1 is port 32.
            .raw(&[0x18])
            .write(0, &[7])
            .raw(&[0x08])
            .write(0, &[2])
            .raw(&[0xd0, 0x81, 0x01]),
        expect![[r#"
            # profctl plain 1 unit=us
            129 ! mark
            itm/delayed +33: a timestamp or its events were delayed
        "#]],
    );
}

#[test]
fn what_is_no_packet_is_skipped() {
    check(
        Sent::default()
            .raw(&[0x84, 0, 0, 0x04])
            .write(1, &[2])
            .raw(&[0x0e, 1, 0])
            .time(6)
            .raw(&[0x0b, 1, 2]),
        expect![[r#"
            # profctl plain 1 unit=us
            6 > main
            input/skipped-record +0: found 0x84, expected a packet header
            input/skipped-record +1: found 0x00, expected a packet header
            input/skipped-record +3: found 0x04, expected a packet header
            input/skipped-record +6: found 0x0e, expected a packet header
            input/cut-record +10: the last packet is truncated
        "#]],
    );
}

#[test]
fn a_stream_without_times() {
    let sent = Sent::default().write(1, &[2]).write(1, &[3]);
    let options = ReadOptions { format: Some("itm".into()), ..options() };
    let (trace, _) = load(&sent.0, &options);
    assert!(complaints(&trace).contains(&"itm/no-times 1".to_owned()));
    assert_eq!(trace.meta.timebase.unit, crate::text::tick_unit("us").unwrap());
}

#[test]
fn ports_and_dialects() {
    assert_eq!(ports(None), Ok(Ports::AllButText));
    assert_eq!(ports(Some("port0, 3")), Ok(Ports::These(vec![0, 3])));
    for wrong in ["", "x", "256", "1,,2"] {
        assert!(ports(Some(wrong)).is_err(), "{wrong}");
    }
    let open = |dialect: &str| {
        let dialect = Some(dialect.to_owned());
        Instrumentation.open_bytes(BARE, &ImportOptions { dialect, ..ImportOptions::default() })
    };
    assert!(open("bare").is_ok() && open("tpiu").is_ok() && open("swo").is_err());
    assert_eq!(open("bare").unwrap().timebase.unit, TickUnit::Cycles);
}

#[test]
fn what_is_none() {
    let text = Sent::default().raw(&SYNC).write(0, b"text").0;
    let reserved = [&bare()[..60], &[0x84]].concat();
    for bytes in [&b""[..], &[0; 100], &SYNC, &text, &reserved, &[0xff, 0xff, 0xff, 0x7f, 0, 0]] {
        assert_eq!(Instrumentation.recognize_bytes(bytes, true), Recognition::No, "{bytes:x?}");
    }
}

#[test]
fn every_cut() {
    check_cuts(&BARE[..300], "itm", &options());
    check_cuts(&FRAMED[..300], "itm", &options());
}

proptest! {
    // Every case opens an input or several, which takes a millisecond or two.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_read(bytes: Vec<u8>, framed: bool) {
        let mut options = options();
        options.import.dialect = Some(DIALECTS[usize::from(framed)].into());
        read_anyhow(&bytes, "itm", &options);
    }
}
