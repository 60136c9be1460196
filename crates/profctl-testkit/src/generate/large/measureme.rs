//! The walk as a self-profile of rustc: an interval a call, where it ends, in pages among which the
//! string table is the last.

use std::io::{self, Write};

use super::CHUNK;
use super::walk::{Step, Walk};

const VERSION: u32 = 9;
/// Tags of pages.
const EVENTS: u8 = 0;
const STRINGS: u8 = 1;
const INDEX: u8 = 2;
/// The id of the description of the recording, and that of the first byte of the string table.
const METADATA: u64 = 100_000_001;
const FIRST_STRING: u64 = 100_000_003;

/// Writes a page, and says how many bytes that were.
fn page(tag: u8, content: &[u8], out: &mut impl Write) -> io::Result<u64> {
    out.write_all(&[tag])?;
    out.write_all(&(content.len() as u32).to_le_bytes())?;
    out.write_all(content)?;
    Ok(5 + content.len() as u64)
}

/// The header of a file or of one of its streams.
fn header(magic: [u8; 4]) -> Vec<u8> {
    [&magic[..], &VERSION.to_le_bytes()].concat()
}

/// Adds a string to the table and says its id.
fn string(text: &str, table: &mut Vec<u8>) -> u64 {
    let id = FIRST_STRING + table.len() as u64;
    table.extend_from_slice(text.as_bytes());
    table.push(0xff);
    id
}

/// Writes a profile of about `bytes` bytes, and says how many calls it has.
pub(super) fn write(bytes: u64, seed: u64, out: &mut impl Write) -> io::Result<u64> {
    let mut walk = Walk::new(seed, super::CPUS);
    let mut table = header(*b"MMSD");
    let kind = string("GenericActivity", &mut table);
    let names: Vec<u64> = walk.names.iter().map(|name| string(name, &mut table)).collect();
    let metadata = string(
        "{\"start_time\":1000000000,\"process_id\":1000,\"cmd\":\"/usr/bin/made\"}",
        &mut table,
    );
    let mut index = header(*b"MMSI");
    for number in [METADATA, metadata - FIRST_STRING] {
        index.extend_from_slice(&number.to_le_bytes());
    }
    let head = header(*b"MMPD");
    out.write_all(&head)?;
    let mut written = (head.len() + table.len() + index.len()) as u64;
    let mut events = header(*b"MMES");
    let mut calls = 0;
    while written + (events.len() as u64) < bytes {
        let before = walk.time;
        let (function, start, end) = match walk.next() {
            Step::Leaf { function, length, .. } => (function, before, before + length),
            Step::Exit { function, length, .. } => (function, walk.time - length, walk.time),
            Step::Enter { .. } | Step::Switch { .. } => continue,
        };
        calls += 1;
        events.extend_from_slice(&kind.to_le_bytes());
        events.extend_from_slice(&names[function].to_le_bytes());
        // The upper 16 bits of both times share a word.
        let upper = start >> 32 << 16 | end >> 32;
        for word in [walk.task() as u64, start, end, upper] {
            events.extend_from_slice(&(word as u32).to_le_bytes());
        }
        if events.len() >= CHUNK {
            written += page(EVENTS, &events, out)?;
            events.clear();
        }
    }
    page(EVENTS, &events, out)?;
    page(STRINGS, &table, out)?;
    page(INDEX, &index, out)?;
    Ok(calls)
}
