use proptest::prelude::*;

use super::*;
use crate::ReadOptions;
use crate::capture::CaptureOptions;
use crate::capture::testing::{
    calls, capture, check_blocks, check_tells_of_1993, complaints, load, read_anyhow, wires,
};
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/", $name))
    };
}

static BUS: &[u8] = fixture!("fst/tcp_rx.fst");
static ZLIB: &[u8] = fixture!("fst/tcp_rx-zlib.fst");
static FASTLZ: &[u8] = fixture!("fst/tcp_rx-fastlz.fst");
static WRAPPED: &[u8] = fixture!("fst/tcp_rx-wrapped.fst");
static WIRES: &[u8] = fixture!("fst/tcp_rx_wires.fst");
static BENCH: &[u8] = fixture!("fst/bench.fst");
static OFF: &[u8] = fixture!("fst/off.fst");

fn bus() -> ReadOptions {
    capture(CaptureOptions::default())
}

#[test]
fn every_packing_tells_what_the_records_tell() {
    for (file, name) in [(BUS, "lz4"), (ZLIB, "zlib"), (FASTLZ, "fastlz"), (WRAPPED, "wrapped")] {
        println!("{name}");
        check_tells_of_1993(file, "fst", &bus());
    }
    check_tells_of_1993(WIRES, "fst", &wires());
    check_blocks(WIRES, &wires());
}

/// What the same simulation wrote as FST and as a dump.
fn check_twins(fst: &[u8], vcd: &[u8], options: &ReadOptions) {
    let told = |bytes: &[u8]| {
        let (trace, _) = load(bytes, options);
        let gaps: Vec<_> = trace.gaps.iter().map(|gap| gap.time).collect();
        (calls(&trace), gaps, complaints(&trace), trace.marks.len(), trace.meta.timebase)
    };
    let found = told(fst);
    assert!(!found.0.is_empty());
    assert_eq!(found, told(vcd));
}

#[test]
fn a_simulation_tells_the_same_as_its_dump() {
    let mut options = bus();
    options.import.names =
        Some(b"main/502\na/504\nd/510\ne/512\nirq/600^\nswitched/700\n".to_vec());
    check_twins(BENCH, fixture!("vcd/bench.vcd"), &options);
    options.import.names = Some(b"main/2\ncallee/4\n".to_vec());
    check_twins(OFF, fixture!("vcd/off.vcd"), &options);
    options.import.capture.tag = Some("tag".into());
    check_twins(OFF, fixture!("vcd/off.vcd"), &options);
    options.import.capture.tag = Some("tag[2:0]".into());
    options.import.capture.strobe = Some("top.t.d[0]".into());
    assert!(load(OFF, &options).0.spans.is_empty(), "the delay is no strobe");
}

#[test]
fn a_dump_that_was_off_is_a_gap() {
    let mut options = bus();
    options.import.names = Some(b"main/2\ncallee/4\n".to_vec());
    let (trace, _) = load(OFF, &options);
    assert_eq!(trace.gaps.len(), 1);
    // `main` was cut by it; `callee` was called before and after it.
    let of = |name: &str| calls(&trace).iter().filter(|call| call.name == name).count();
    assert_eq!((of("main"), of("callee")), (2, 2));
}

#[test]
fn signals_that_are_not_there() {
    let tag = Some("nothing".to_owned());
    let options = capture(CaptureOptions { tag, ..CaptureOptions::default() });
    let error = WaveForm.open_bytes(BENCH, &options.import).err().unwrap();
    assert!(error.message.contains("tb.tag (16 bits)"), "{error}");
    // Likewise of a file that is larger than its head.
    let mut large = BENCH.to_vec();
    large.extend([255]);
    large.extend((2_u64 << 20).to_be_bytes());
    large.resize(BENCH.len() + 1 + (2 << 20), 0);
    let error = WaveForm.open_bytes(&large, &options.import).err().unwrap();
    assert!(error.message.contains("tb.tag (16 bits)"), "{error}");
    let mut options = bus();
    options.import.names = Some(b"main/502\n".to_vec());
    assert_eq!(calls(&load(&large, &options).0), calls(&load(BENCH, &options).0));
}

/// Names and widths are at the end, so a file that was cut cannot be read at all.
#[test]
fn every_cut_is_refused() {
    for file in [BUS, WRAPPED] {
        // Nothing is missing without the checksum at the very end.
        for cut in 0..file.len() - 9 {
            let error = WaveForm.open_bytes(&file[..cut], &bus().import).err();
            let Some(error) = error else { panic!("cut at byte {cut} is read") };
            assert!(error.message.len() > 10, "{error}");
        }
    }
}

#[test]
fn timescales() {
    let seconds = |numerator, denominator| Ok(TickUnit::Seconds { numerator, denominator });
    assert_eq!(tick(0), seconds(1, 1));
    assert_eq!(tick(2), seconds(100, 1));
    assert_eq!(tick(-9), seconds(1, 1_000_000_000));
    assert_eq!(tick(-15), seconds(1, 1_000_000_000_000_000));
    assert!(tick(-20).is_err() && tick(127).is_err());
}

#[test]
fn what_is_none() {
    for bytes in [&b""[..], b"\0", &[0; 100], &[254; 40], b"\0\0\0\0\0\0\0\x01\x4a"] {
        assert_eq!(WaveForm.recognize_bytes(bytes, true), Recognition::No);
    }
}

type Unpack = fn(&mut Allowance, &[u8], u64) -> Result<Vec<u8>, pack::Wrong>;

const UNPACKERS: [Unpack; 4] =
    [Allowance::zlib, Allowance::gzip, Allowance::lz4, Allowance::fastlz];

fn lenient() -> Allowance {
    Allowance::new(u64::MAX, 1)
}

#[test]
fn a_packed_stretch_must_not_grow_without_bound() {
    for unpack in UNPACKERS {
        assert!(unpack(&mut lenient(), b"\x1f\x8b\x08", 1 << 40).is_err());
        assert!(unpack(&mut lenient(), b"", 1 << 20).is_err());
    }
    // Not all together either: 90 MB of zeros in three stretches.
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &vec![0; 30 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    let mut allowance = Allowance::new(3 * packed.len() as u64, 100);
    let unpacked = [(); 3].map(|()| allowance.zlib(&packed, 30 << 20).map(|bytes| bytes.len()));
    assert_eq!(unpacked, [Ok(30 << 20), Ok(30 << 20), Err(TOO_LARGE)]);
    // 2 literals, then a copy of 20 from one byte back, by hand.
    assert_eq!(
        lenient().fastlz(&[1, b'a', b'b', 0xe0, 11, 0], 22).unwrap(),
        [b"a", &[b'b'; 21][..]].concat()
    );
    assert!(lenient().fastlz(&[0, b'a', 0xe0, 11, 9], 22).is_err(), "from before the start");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_read_or_refused(
        bytes: Vec<u8>,
        file in 0_usize..6,
        flips in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
    ) {
        read_anyhow(&bytes, "fst", &bus());
        let mut bytes = [BUS, ZLIB, FASTLZ, WIRES, BENCH, OFF][file].to_vec();
        for (at, value) in flips {
            // The header is mostly text and space for text.
            let at = 329 + usize::from(at) % (bytes.len() - 329);
            bytes[at] ^= value;
        }
        read_anyhow(&bytes, "fst", &bus());
        let gpio = Some("*".to_owned());
        read_anyhow(&bytes, "fst", &capture(CaptureOptions { gpio, ..CaptureOptions::default() }));
    }

    /// What is random does not pack, so the fields inside a packed interval are tried bare.
    #[test]
    fn fields_of_garbage(bytes: Vec<u8>, length in 0_u64..100_000) {
        for unpack in UNPACKERS {
            if let Ok(unpacked) = unpack(&mut lenient(), &bytes, length) {
                prop_assert_eq!(unpacked.len() as u64, length);
            }
        }
        let widths = [blocks::Width::Bits(1), blocks::Width::Bits(70), blocks::Width::Real];
        for kind in [1, 5, 8] {
            let watched = [(0, 0), (1, 1), (9, 2)];
            let found = changes::read((kind, &bytes), &widths, &watched, &mut lenient());
            let Ok(mut changes) = found else { continue };
            while changes.next().expect("it was checked").is_some() {}
        }
    }
}
