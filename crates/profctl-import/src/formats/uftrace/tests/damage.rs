//! Files that are cut or damaged.

use super::*;

type Pack = fn(&[u8]) -> Vec<u8>;

/// Every file cut at every byte: an answer or a refusal, and the calls before the cut.
#[test]
fn a_recording_cut_anywhere_is_read_up_to_the_cut() {
    for whole in [qemu(), parts("sleep-0.13")] {
        let calls = read(&whole).spans.len();
        for file in 0..whole.len() {
            if whole[file].0.ends_with(".sym") {
                continue;
            }
            let mut before = 0;
            for cut in 0..whole[file].1.len() {
                let mut parts = whole.clone();
                parts[file].1.truncate(cut);
                let files = Memory::new("test", parts);
                let Ok((trace, _)) = load(&files, &ReadOptions::default(), &|_| ()) else {
                    continue;
                };
                let found = trace.spans.len();
                if whole[file].0.ends_with(".dat") {
                    assert!(found <= calls && found >= before, "{} cut at {cut}", whole[file].0);
                    before = found;
                    let is_cut = !cut.is_multiple_of(16);
                    assert_eq!(codes(&trace).contains(&"input/cut-record 1".to_owned()), is_cut);
                }
            }
        }
    }
}

/// A compressed file that is cut: what can be decompressed is read, and the other threads.
#[test]
fn a_cut_compressed_file_is_read_up_to_the_cut() {
    let packs: [(&str, Pack); 3] = [
        (".zst", |bytes| zstd::bulk::compress(bytes, 3).unwrap()),
        (".gz", |bytes| {
            let mut packed =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            io::Write::write_all(&mut packed, bytes).unwrap();
            packed.finish().unwrap()
        }),
        (".xz", |bytes| {
            let mut packed = Vec::new();
            io::Read::read_to_end(&mut liblzma::read::XzEncoder::new(bytes, 6), &mut packed)
                .unwrap();
            packed
        }),
    ];
    let whole = parts("forks-0.13");
    let calls = read(&whole).spans.len();
    for file in 0..whole.len() {
        let (name, bytes) = &whole[file];
        if !name.ends_with(".dat") || name.starts_with("perf") || bytes.is_empty() {
            continue;
        }
        for (ending, pack) in packs {
            let packed = pack(bytes);
            for cut in [8, packed.len() / 2, packed.len() - 6] {
                let mut parts = whole.clone();
                parts[file] = (format!("{name}{ending}"), packed[..cut].to_vec());
                parts.sort();
                let trace = read(&parts);
                let codes = codes(&trace);
                let is_told = codes.contains(&"input/damaged 1".to_owned());
                assert!(is_told, "{name}{ending} cut at {cut}: {codes:?}");
                assert!(trace.spans.len() <= calls && !trace.spans.is_empty());
            }
        }
    }
}

#[test]
fn damage_is_passed_over_and_counted() {
    let mut parts = parts("forks-0.13");
    let file = parts.iter_mut().find(|(name, bytes)| name.ends_with(".dat") && bytes.len() > 1_000);
    let (_, bytes) = file.unwrap();
    bytes[320..336].fill(0xff);
    let trace = read(&parts);
    assert!(codes(&trace).contains(&"input/skipped-record 1".to_owned()), "{:?}", codes(&trace));
}
