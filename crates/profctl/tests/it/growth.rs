//! Files that grow out of all proportion when they are read: what must be in memory is refused, and
//! what need not be is read in little of it. The system holds the program to that.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use crate::program::{Run, Scratch, command, finish};

/// Address space that the program gets, KiB; it starts with less than a third of it.
const MEMORY: u64 = 300 << 10;

/// Runs the program with so much memory.
fn run_small(arguments: &[&str]) -> Run {
    let program = command(arguments);
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""));
    limited.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    finish(&mut limited)
}

/// What is so compressed, layer by layer.
fn packed(content: &[u8], layers: usize) -> Vec<u8> {
    (0..layers)
        .fold(content.to_vec(), |bytes, _| zstd::encode_all(&bytes[..], 3).expect("a vector"))
}

#[track_caller]
fn refused(scratch: &Scratch, name: &str, content: &[u8], largest: usize) {
    assert!(content.len() < largest, "{name} has {} bytes", content.len());
    let file = scratch.path(name);
    fs::write(&file, content).expect("a fresh file");
    let error = run_small(&["summarize", "--jobs", "1", &file]).failure(3);
    assert!(error.contains("grows too much when it is decompressed"), "{name}: {error}");
    assert!(error.contains("hint: raise --max-expansion"), "{name}: {error}");
}

#[test]
fn what_must_be_in_memory_may_not_grow_without_end() {
    let scratch = Scratch::new("growth");
    let spaces = vec![b' '; 300 << 20];
    let mut speedscope =
        b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",".to_vec();
    speedscope.extend(&spaces);
    refused(&scratch, "two_layers.json.zst.zst", &packed(&speedscope, 2), 4 << 10);
    let mut profile = b"{\"schema\":\"profctl.summary/1\",".to_vec();
    profile.extend(&spaces);
    refused(&scratch, "profile.json.zst", &packed(&profile, 1), 40 << 10);
    // What is copied to a temporary file counts, too.
    let mut fst = vec![0, 0, 0, 0, 0, 0, 0, 1, 0x49];
    fst.extend(&spaces);
    refused(&scratch, "dump.fst.zst", &packed(&fst, 1), 40 << 10);
    let inner = vec![0; 80 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&inner).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut wrapped = vec![254];
    wrapped.extend((gzip.len() as u64 + 16).to_be_bytes());
    wrapped.extend((inner.len() as u64).to_be_bytes());
    wrapped.extend(gzip);
    refused(&scratch, "wrapped.fst", &wrapped, 100 << 10);

    // The flag allows it: then it is read, and is no profile.
    let file = scratch.path("two_layers.json.zst.zst");
    let allowed = ["summarize", "--max-expansion", "1000000000000", &file];
    let error = crate::program::run(&allowed).stderr;
    assert!(!error.contains("grows too much"), "{error}");
}

#[test]
fn captures_are_read_in_little_memory() {
    let scratch = Scratch::new("streams");
    let read = |name: &str, content: &[u8], more: &[&str], calls: &str| {
        let file = scratch.path(name);
        fs::write(&file, content).unwrap();
        let arguments = [&["summarize", "--jobs", "1"], more, &[&file]].concat();
        let table = run_small(&arguments).stdout;
        assert!(table.contains(calls), "{name}: {table}");
    };
    // So many writes and timestamps of ITM.
    let mut itm = vec![0, 0, 0, 0, 0, 0x80];
    for _ in 0..2_000_000 {
        itm.extend([1 << 3 | 1, 2, 0x10, 1 << 3 | 1, 3, 0x10]);
    }
    let names = scratch.path("names");
    fs::write(&names, "f/2\n").unwrap();
    read("swo.itm", &itm, &["--names", &names], "2000000");
    // A session of 8 million samples of a wire that changes at each.
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..4_000 {
        deflate.write_all(&[0, 1].repeat(1_000)).unwrap();
    }
    let metadata = b"[device 1]\ncapturefile=logic-1\ntotal probes=1\nsamplerate=1 MHz\n\
                     probe1=D0\nunitsize=1\n";
    let members: [(&str, u16, Vec<u8>); 3] = [
        ("version", 0, b"2".to_vec()),
        ("metadata", 0, metadata.to_vec()),
        ("logic-1-1", 8, deflate.finish().unwrap()),
    ];
    let mut session = Vec::new();
    for (name, method, content) in members {
        session.extend(b"PK\x03\x04\x14\0\0\0");
        session.extend(method.to_le_bytes());
        session.extend([0; 8]);
        session.extend((content.len() as u32).to_le_bytes());
        session.extend([0; 4]);
        session.extend((name.len() as u16).to_le_bytes());
        session.extend([0; 2]);
        session.extend(name.bytes());
        session.extend(content);
    }
    session.extend(b"PK\x05\x06");
    assert!(session.len() < 200 << 10, "{} bytes", session.len());
    read("capture.sr", &session, &["--gpio", "D0"], "3999999");
}
