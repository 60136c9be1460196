//! Every fixture is recognized by its own format and by no other: as it is, compressed, and
//! as a stream that can be read once.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures;

use super::*;
use crate::{Memory, Single};

/// Fixtures that no format claims: records of a probe, which only `--names` tells, with their names,
/// and the table of 1993, which is not a trace.
const UNCLAIMED: [&str; 3] = ["probe/tcp_rx.raw", "probe/tcp_rx.names", "mcrae/summary.txt"];

/// The single files that are a trace each, and the format they are of.
fn traces() -> Vec<(&'static str, PathBuf)> {
    let of_format = |format: &&'static dyn Importer| {
        let name = format.descriptor().name;
        let files = fixtures::of_format(name).into_iter().filter(|path| path.is_file());
        files.map(move |path| (name, path)).collect::<Vec<_>>()
    };
    let traces: Vec<_> = FORMATS.iter().flat_map(of_format).collect();
    assert!(traces.len() > 150, "{}", traces.len());
    traces
}

/// The directories that are a trace each.
fn directories() -> Vec<(&'static str, PathBuf)> {
    let in_format = |name: &'static str| {
        let traces = fixtures::of_format(name).into_iter();
        traces.filter(|path| path.is_dir()).map(move |path| (name, path))
    };
    let mut directories: Vec<_> = ["uftrace", "ctf"].into_iter().flat_map(in_format).collect();
    directories.push(("strace", fixtures::root().join("fixtures/strace/ff")));
    directories
}

/// The formats that take `files` for theirs, or for something beside theirs.
fn claimants(files: &dyn Files) -> Vec<&'static str> {
    let head = crate::formats::head(files).unwrap();
    let sniffed = &head.bytes[..head.bytes.len().min(SNIFFED)];
    let whole = head.whole && sniffed.len() == head.bytes.len();
    let probe = Probe { name: files.name(), head: sniffed, whole };
    let claims = |format: &&&dyn Importer| format.recognize(&probe) != Recognition::No;
    FORMATS.iter().filter(claims).map(|format| format.descriptor().name).collect()
}

/// Every compression that is removed without being told.
fn compressed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let fast = flate2::Compression::fast();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), fast);
    gzip.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
    xz.write_all(bytes).unwrap();
    [
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::encode_all(bytes, 1).unwrap()),
        ("xz", xz.finish().unwrap()),
    ]
}

fn base(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

#[test]
fn every_file_is_claimed_by_its_format_alone() {
    let mut wrong = Vec::new();
    for (format, path) in traces() {
        let bytes = fixtures::read(&path);
        let is_unclaimed = UNCLAIMED.contains(&&*format!("{format}/{}", base(&path)));
        let expected = if is_unclaimed { vec![] } else { vec![format] };
        // What it is called tells nothing, and neither does whether it can be read twice.
        for name in [&*base(&path), "-"] {
            let found = claimants(&Single::new(name, Box::new(&*bytes)));
            if found != expected {
                wrong.push(format!("{} as `{name}`: {found:?}", path.display()));
            }
        }
        for (compression, packed) in compressed(&bytes) {
            let files = Single::new("-", Box::new(&*packed));
            let found = claimants(&files);
            if found != expected {
                wrong.push(format!("{} in {compression}: {found:?}", path.display()));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_directory_is_claimed_by_its_format_alone() {
    let directories = directories();
    assert!(directories.len() >= 8);
    for (format, path) in directories {
        let files = Memory::new("trace", fixtures::parts(&path));
        let claims = |it: &&&dyn Importer| it.recognize_directory(&files) != Recognition::No;
        let claimants = FORMATS.iter().filter(claims).map(|it| it.descriptor().name);
        assert_eq!(claimants.collect::<Vec<_>>(), [format], "{}", path.display());
    }
}

#[test]
fn what_is_empty_or_prose_is_claimed_by_none() {
    let prose = "Dear reader,\n\nthis is a letter: it has no calls, 1.5 times nothing.\n";
    for text in ["", "\n", prose, &prose.repeat(200), "{}", "[]", "a b c\n1 2 3\n", "\0\0\0\0"] {
        assert_eq!(claimants(&Single::new("-", Box::new(text.as_bytes()))), [""; 0], "{text:?}");
    }
}
