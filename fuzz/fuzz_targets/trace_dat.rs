//! Pages in a container that is sound, so that records are reached: the first byte chooses the byte
//! order, the next two how the bytes are assigned to two CPUs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::ReadOptions;
use profctl_testkit::generate::trace_dat::{Contents, DatShape, PAGE, dat_file};

fuzz_target!(|bytes: &[u8]| {
    let [order, split, lost, rest @ ..] = bytes else {
        return;
    };
    let big_endian = order & 1 == 1;
    let (first, second) = rest.split_at(rest.len() * usize::from(*split) / 256);
    let pages = [first, second].map(|records| pages(records, big_endian, *lost));
    let functions = ["vfs_read".to_owned(), "vfs_write".to_owned()];
    let contents = Contents { functions: &functions, tasks: &[(7, "sh")] };
    let shape = DatShape { big_endian, ..DatShape::PLAIN };
    let file = dat_file(&contents, &shape, &pages);
    let options = ReadOptions { format: Some("trace_dat".into()), ..ReadOptions::default() };
    profctl_fuzz::check(&file, &options);
});

/// Pages whose commit words say how many bytes they hold, and now and then that events were lost.
fn pages(records: &[u8], big_endian: bool, lost: u8) -> Vec<u8> {
    let mut pages = Vec::new();
    for (n, records) in records.chunks(PAGE - 24).enumerate() {
        let time = 1_000 * (n as u64 + 1);
        let flags = u64::from(lost >> (n % 4) & 3) << 30;
        let commit = records.len() as u64 | flags;
        for word in [time, commit] {
            pages.extend(if big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        pages.extend_from_slice(records);
        pages.resize((n + 1) * PAGE, 0);
    }
    pages
}
