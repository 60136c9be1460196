//! A recording as the records of a hardware probe: five bytes each, sixteen bits of tag and then
//! twenty-four bits of a counter of microseconds, the low byte first.

use std::fmt::Write as _;

use super::{Kind, Recording};

const FIRST_TAG: usize = 500;

/// The name file: `name/tag`, two tags a function, the even one for entries.
pub fn probe_names(recording: &Recording) -> String {
    let mut out = String::new();
    for (n, name) in recording.functions.iter().enumerate() {
        let _ = writeln!(out, "{name}/{}", FIRST_TAG + 2 * n);
    }
    out
}

/// The records. Meant for recordings of one task; marks and switches have no record.
pub fn probe_records(recording: &Recording) -> Vec<u8> {
    let mut out = Vec::new();
    let mut open = Vec::new();
    for event in &recording.events {
        let tag = match event.kind {
            Kind::Enter(function) | Kind::Interrupt(function) => {
                open.push(function);
                FIRST_TAG + 2 * function
            }
            Kind::Exit => FIRST_TAG + 2 * open.pop().expect("an exit has an entry") + 1,
            Kind::Mark | Kind::Switch(_) => continue,
        };
        out.extend_from_slice(&(tag as u16).to_le_bytes());
        out.extend_from_slice(&(event.time / 1_000).to_le_bytes()[..3]);
    }
    out
}
