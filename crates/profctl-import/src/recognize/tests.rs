//! Every fixture is recognized by its own format and by no other: as it is, compressed, and
//! as a stream that can be read once.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect;
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

/// Recordings of the kernel's tracers, where function_graph and the others share most of their lines.
#[test]
fn traces_of_other_fixtures_are_claimed_by_one_format() {
    let mut counted = BTreeMap::new();
    for folder in ["fixtures/sched", "fixtures/sched/hand"] {
        let traces = fixtures::files(&fixtures::root().join(folder)).into_iter();
        for path in traces.filter(|path| base(path).contains(".trace.txt")) {
            let bytes = fixtures::read(&path);
            let found = claimants(&Single::new("-", Box::new(&*bytes)));
            let [format] = found[..] else { panic!("{}: {found:?}", path.display()) };
            *counted.entry((folder, format)).or_insert(0) += 1;
        }
    }
    expect![[r#"
        {
            (
                "fixtures/sched",
                "ftrace",
            ): 5,
            (
                "fixtures/sched",
                "function_graph",
            ): 1,
            (
                "fixtures/sched/hand",
                "ftrace",
            ): 3,
        }
    "#]]
    .assert_debug_eq(&counted);
}

/// The same of recordings that are too large to commit.
#[test]
fn captures_are_claimed_by_one_format() {
    let Some(shared) = fixtures::shared() else { return };
    let mut wrong = Vec::new();
    let mut counted = BTreeMap::new();
    for folder in ["small", "large", "dat", "dat/oracle", "sched/text", "sched/report"] {
        for path in fixtures::files(&shared.join("kernel").join(folder)) {
            let name = base(&path);
            if ["tsv", ".stat.", ".summary."].iter().any(|other| name.contains(other)) {
                continue;
            }
            let bytes = fixtures::read(&path);
            let found = claimants(&Single::new("-", Box::new(&*bytes)));
            match found[..] {
                [format] => *counted.entry((folder, format)).or_insert(0) += 1,
                _ => wrong.push(format!("{name}: {found:?}")),
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    expect![[r#"
        {
            (
                "dat",
                "trace_dat",
            ): 13,
            (
                "dat/oracle",
                "trace_cmd_report",
            ): 13,
            (
                "large",
                "ftrace",
            ): 2,
            (
                "large",
                "function_graph",
            ): 16,
            (
                "sched/report",
                "trace_cmd_report",
            ): 6,
            (
                "sched/text",
                "ftrace",
            ): 5,
            (
                "sched/text",
                "function_graph",
            ): 1,
            (
                "small",
                "ftrace",
            ): 33,
            (
                "small",
                "function_graph",
            ): 87,
        }
    "#]]
    .assert_debug_eq(&counted);
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
