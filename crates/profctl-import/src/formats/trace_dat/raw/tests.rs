//! Directories of raw pages in, calls out.

use expect_test::expect;
use profctl_testkit::generate::trace_dat::{Pages, Records, address, descriptions};

use crate::formats::trace_dat::TraceDat;
use crate::formats::{Importer, Probe, Recognition};
use crate::testing::show;
use crate::{Memory, ReadOptions, load};

fn pages(big: bool) -> Vec<u8> {
    let records = Records { big };
    let mut pages = Pages::new(big);
    pages.record(1_000, &records.entry(7, address(0), 0));
    pages.record(1_100, &records.exit(7, address(0), 0, (1_001, 1_099)));
    pages.close();
    pages.done
}

fn directory(big: bool, with_symbols: bool) -> Memory {
    let mut files: Vec<(String, Vec<u8>)> = descriptions()
        .into_iter()
        .map(|(name, text)| (format!("copy/events/{name}"), text.into_bytes()))
        .collect();
    files.push(("copy/per_cpu/cpu3/trace_pipe_raw".into(), pages(big)));
    files.push(("copy/saved_cmdlines".into(), b"7 sh\n".to_vec()));
    if with_symbols {
        let symbols = format!("{:x} T vfs_read\n", address(0));
        files.push(("copy/kallsyms".into(), symbols.into_bytes()));
    }
    files.sort();
    Memory::new("tracefs", files)
}

#[test]
fn a_copy_of_tracefs_is_one_trace() {
    for big in [false, true] {
        let files = directory(big, true);
        assert!(matches!(TraceDat.recognize_directory(&files), Recognition::Yes(_)));
        let (trace, origin) = load(&files, &ReadOptions::default(), &|_| ()).unwrap();
        assert_eq!(origin.format.name, "trace_dat");
        assert_eq!(trace.names.cpus.iter().copied().collect::<Vec<_>>(), [3]);
        assert_eq!(show(&trace), "sh-7 0 vfs_read 1000+100 wall 98 net 98\n");
    }
}

#[test]
fn without_symbols_functions_have_addresses() {
    let files = directory(false, false);
    let (trace, _) = load(&files, &ReadOptions::default(), &|_| ()).unwrap();
    expect![[r"
        sh-7 0 0xffffffff81000000 1000+100 wall 98 net 98
    "]]
    .assert_eq(&show(&trace));
}

#[test]
fn pages_alone_say_what_they_lack() {
    let bytes = pages(false);
    let probe = Probe { name: "x", head: &bytes, whole: true };
    let Recognition::Neighbor(advice) = TraceDat.recognize(&probe) else {
        panic!("{:?}", TraceDat.recognize(&probe));
    };
    assert!(advice.contains("events/"), "{advice}");
    for other in [&[0; 8192][..], &[0xFF; 8192], b"text"] {
        let probe = Probe { name: "x", head: other, whole: true };
        assert_eq!(TraceDat.recognize(&probe), Recognition::No);
    }
}
