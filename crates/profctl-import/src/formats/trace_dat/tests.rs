//! Files in, calls out; and what is made of damaged ones.

use expect_test::expect;
use profctl_testkit::fixtures;
use profctl_testkit::generate::trace_dat::{
    Contents, DatShape, Pack, Pages, Records, address, dat_file,
};

use crate::formats::{Importer, Probe, Recognition};
use crate::testing::{show, trace};
use crate::{ImportOptions, ReadOptions, Single, load};

/// Two CPUs: a call with a callee and a switch within, and a loss on the other CPU.
fn pages(big: bool) -> Vec<Vec<u8>> {
    let records = Records { big };
    let mut first = Pages::new(big);
    first.record(1_000, &records.entry(7, address(0), 0));
    first.record(1_010, &records.entry(7, address(1) + 4, 1));
    first.record(1_030, &records.exit(7, address(1) + 4, 1, (1_011, 1_029)));
    first.record(1_040, &records.switch((7, "sh"), (8, "cc")));
    first.record(1_050, &records.print(8, "hello"));
    first.record(1_060, &records.switch((8, "cc"), (7, "sh")));
    first.record(1_100, &records.exit(7, address(0), 0, (1_001, 1_099)));
    let mut second = Pages::new(big);
    second.record(1_005, &records.entry(0, address(2), 0));
    second.lose(Some(3));
    second.record(1_200, &records.entry(0, address(2), 0));
    // Further away than 27 bits of time.
    second.record(300_001_200, &records.exit(0, address(2), 0, (1_200, 300_001_200)));
    [first, second]
        .map(|mut pages| {
            pages.close();
            pages.done
        })
        .to_vec()
}

fn file(shape: &DatShape<'_>) -> Vec<u8> {
    file_of(shape, &pages(shape.big_endian))
}

fn file_of(shape: &DatShape<'_>, pages: &[Vec<u8>]) -> Vec<u8> {
    let functions = ["vfs_read", "rw_verify_area", "default_idle"].map(String::from);
    let contents = Contents { functions: &functions, tasks: &[(7, "sh")] };
    dat_file(&contents, shape, pages)
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}

/// Every kind of file that there is.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for big_endian in [false, true] {
        for (version, compression) in [
            (6, None),
            (7, None),
            (7, Some(("zlib", &zlib as Pack<'_>))),
            (7, Some(("zstd", &zstd))),
        ] {
            let name = compression.map_or("none", |(name, _)| name);
            let shape = DatShape { version, big_endian, compression };
            files.push((format!("{version} {name} big: {big_endian}"), file(&shape)));
        }
    }
    files
}

#[test]
fn every_version_order_and_compression_gives_the_same() {
    let mut first = None;
    for (name, bytes) in files() {
        let trace = trace("trace_dat", &bytes, ImportOptions::default(), 0, 1);
        let shown = show(&trace);
        let codes: Vec<String> = trace
            .meta
            .diags
            .sorted()
            .iter()
            .map(|entry| format!("{} {}\n", entry.code.name, entry.count))
            .collect();
        let shown = shown + &codes.concat();
        assert_eq!(first.get_or_insert(shown.clone()), &shown, "{name}");
        let probe = Probe { name: "x", head: &bytes[..64], whole: false };
        assert!(matches!(super::TraceDat.recognize(&probe), Recognition::Yes(_)), "{name}");
    }
    expect![[r"
        sh-7 0 vfs_read 1000+100 wall 98 off 20 net 60
        sh-7 1 rw_verify_area 1010+20 wall 18 net 18
        <idle>/1 0 default_idle 1005+0 net 0 unseen exit gap
        <idle>/1 0 default_idle 1200+300000000 net 300000000
        cc-8 mark tracing_mark_write 1050
        stitch/gap 1
        stitch/lost-events 3
    "]]
    .assert_eq(&first.unwrap());
}

fn read(bytes: &[u8]) -> Result<(usize, Vec<String>), String> {
    let options = ReadOptions { format: Some("trace_dat".into()), ..ReadOptions::default() };
    let files = Single::new("test", Box::new(bytes));
    let (trace, _) = load(&files, &options, &|_| ()).map_err(|error| error.to_string())?;
    let codes = trace.meta.diags.sorted();
    Ok((trace.spans.len(), codes.iter().map(|entry| entry.code.name.to_owned()).collect()))
}

#[test]
fn a_file_cut_anywhere_is_refused_or_read_up_to_the_cut() {
    for (name, bytes) in files().into_iter().take(4) {
        let whole = read(&bytes).unwrap();
        let mut accepted = 0;
        // Every byte of the head and of the first pages' heads, then in steps.
        for cut in (0..bytes.len()).filter(|cut| cut % 4096 < 64 || *cut < 3_000 || cut % 41 == 0) {
            match read(&bytes[..cut]) {
                Ok((calls, codes)) => {
                    accepted += 1;
                    assert!(calls <= whole.0, "{name} cut at {cut}");
                    let is_told = codes.iter().any(|code| code == "trace_dat/missing-records");
                    let padding = bytes.len() - cut < 4096;
                    assert!(is_told || padding, "{name} cut at {cut}: {codes:?}");
                }
                Err(message) => assert!(message.len() > 5, "{name} cut at {cut}: {message}"),
            }
        }
        assert!(accepted > 0, "{name}");
    }
}

/// Version 7 says where the records are behind them: what is there of a file that ends before is read.
#[test]
fn a_large_file_of_version_7_is_read_up_to_the_cut() {
    let Some(shared) = fixtures::shared() else { return };
    // The records begin after the descriptions and symbols, at this place.
    for (name, first) in
        [("d_fg_F_small_v7", 959_980), ("d_instances_v7", 895_134), ("d34_fg_events_v7", 893_885)]
    {
        let bytes = fixtures::read(&shared.join(format!("kernel/dat/{name}.dat")));
        let (whole, _) = read(&bytes).unwrap();
        let mut before = 0;
        for percent in [10, 50, 80, 95, 99] {
            let cut = first + (bytes.len() - first) * percent / 100;
            let (calls, codes) = read(&bytes[..cut]).unwrap();
            assert!(calls >= before && calls <= whole, "{name}: {calls} of {whole}");
            assert!(codes.iter().any(|code| code == "trace_dat/missing-records"), "{codes:?}");
            before = calls;
        }
        assert!(before > whole / 2, "{name}: {before} of {whole}");
        let message = read(&bytes[..first]).unwrap_err();
        assert!(message.starts_with("is truncated before its records"), "{message}");
    }
}

/// Of the buffers and CPUs that are missing, the statistics say how much.
#[test]
fn what_a_cut_file_lacks_is_told_by_cpu() {
    let Some(shared) = fixtures::shared() else { return };
    let bytes = fixtures::read(&shared.join("kernel/dat/d_instances_v7.dat"));
    let trace = trace("trace_dat", &bytes[..1_000_000], ImportOptions::default(), 0, 1);
    let sorted = trace.meta.diags.sorted();
    let told = sorted.iter().find(|entry| entry.code.name == "trace_dat/missing-records");
    let told: Vec<&str> = told.unwrap().samples.iter().map(|one| one.message.as_str()).collect();
    expect![[r#"
        [
            "CPU 0: the last 135907 bytes are missing",
            "CPU 1: all 6382 events are missing",
            "CPU 0 of evbuf: all 842 events are missing",
            "CPU 1 of evbuf: all 955 events are missing",
        ]
    "#]]
    .assert_debug_eq(&told);
}

/// Where the records of the next CPU begin is known from the times of the pages.
#[test]
fn plain_records_of_a_cut_file_are_told_apart() {
    for big_endian in [false, true] {
        // The CPU that ends later first: then the other one's pages begin with an earlier one.
        let mut pages = pages(big_endian);
        pages.reverse();
        let bytes = file_of(&DatShape { version: 7, big_endian, compression: None }, &pages);
        let whole = trace("trace_dat", &bytes, ImportOptions::default(), 0, 1);
        let text = show(&whole);
        // The list behind the records is cut.
        let cut = trace("trace_dat", &bytes[..bytes.len() - 40], ImportOptions::default(), 0, 1);
        assert_eq!(show(&cut), text);
    }
}

#[test]
fn bytes_that_were_flipped_never_panic() {
    for (nth, (name, bytes)) in files().into_iter().enumerate() {
        // Each file has another seventh of its bytes flipped.
        for at in (nth..bytes.len().min(6_000)).step_by(7) {
            let mut bad = bytes.clone();
            bad[at] ^= [0xFF, 0x80, 0x01][at % 3];
            if let Err(message) = read(&bad) {
                assert!(!message.is_empty() && !message.contains('\n'), "{name} {at}");
            }
        }
    }
}

#[test]
fn absurd_sizes_are_refused_without_the_memory_for_them() {
    let good = file(&DatShape { version: 6, ..DatShape::PLAIN });
    let at = memchr::memmem::find(&good, b"header_page\0").unwrap() + 12;
    let mut bad = good.clone();
    bad[at..at + 8].fill(0xFF);
    let message = read(&bad).unwrap_err();
    assert!(message.contains("ends early"), "{message}");
    // Version 5 and what is not a version at all.
    for version in [b'5', b'8', b'x'] {
        let mut bad = good.clone();
        bad[10] = version;
        let message = read(&bad).unwrap_err();
        assert!(message.contains("version"), "{message}");
    }
}

#[test]
fn pages_that_lie_are_skipped_and_said_to_be_lost() {
    let good = file(&DatShape::PLAIN);
    let (calls, _) = read(&good).unwrap();
    // The commit word of the first page of CPU 0: two pages of CPU 1 follow it.
    let commit = (good.len() / 4096 - 3) * 4096 + 8;
    let mut bad = good.clone();
    bad[commit..commit + 2].copy_from_slice(&[0xFF, 0xFF]);
    let (fewer, codes) = read(&bad).unwrap();
    assert!(fewer < calls);
    assert!(codes.iter().any(|code| code == "input/skipped-record"), "{codes:?}");
    assert!(codes.iter().any(|code| code == "stitch/gap"), "{codes:?}");
    // A record longer than the page.
    let mut bad = good.clone();
    bad[commit + 8] = 28;
    bad[commit..commit + 2].copy_from_slice(&[40, 0]);
    let (_, codes) = read(&bad).unwrap();
    assert!(codes.iter().any(|code| code == "input/skipped-record"), "{codes:?}");
    // An event without a description.
    let mut bad = good.clone();
    bad[commit + 12] = 77;
    let (_, codes) = read(&bad).unwrap();
    assert!(codes.iter().any(|code| code == "trace_dat/unknown-event"), "{codes:?}");
}
