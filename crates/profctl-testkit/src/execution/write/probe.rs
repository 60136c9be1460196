//! Records of a probe, and of the trace port of a microcontroller: a tag and a counter that wraps; switches are tags without a thread.

use crate::varint::varint;
use std::fmt::Write as _;

use crate::execution::{Execution, What};

/// How a record is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Bytes of the tag.
    pub tag_bytes: usize,
    /// Bytes of the counter.
    pub counter_bytes: usize,
    /// The first byte is the highest.
    pub big_endian: bool,
}

const FIRST: usize = 500;
const SWITCH: usize = 498;

/// The name file.
pub fn probe_names(execution: &Execution) -> String {
    let mut text = format!("swtch/{SWITCH}!\n");
    for (function, name) in execution.functions.iter().enumerate() {
        let _ = writeln!(text, "{name}/{}", FIRST + 2 * function);
    }
    text
}

/// The records; a tick is one of the counter.
pub fn probe_records(execution: &Execution, counter: Counter) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |value: u64, n: usize| {
        let all = value.to_le_bytes();
        if counter.big_endian {
            bytes.extend(all[..n].iter().rev());
        } else {
            bytes.extend(&all[..n]);
        }
    };
    let mut say = |tag: usize, time: u64| {
        put(tag as u64, counter.tag_bytes);
        put(time, counter.counter_bytes);
    };
    let tag = |call: usize| FIRST + 2 * execution.calls[call].function;
    for (index, record) in execution.records.iter().enumerate() {
        match record.what {
            What::Enter(call) => say(tag(call), record.time),
            What::Exit(call) => say(tag(call) + 1, record.time),
            What::Switch { prev, next, .. } => {
                // The switch function is entered once and left once, idle or not between.
                if prev.is_some() {
                    say(SWITCH, record.time);
                }
                if next.is_some() && (prev.is_some() || index > 0) {
                    say(SWITCH + 1, record.time);
                }
            }
            What::Wake(_) | What::Lost(_) => {}
        }
    }
    bytes
}

/// The stream of an ITM: each tag a write to a port, what passed since the last one after it, and
/// packets that synchronize between. Losses are said without their number. A tick is one of the
/// trace clock.
pub fn itm(execution: &Execution) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    let mut last = execution.records.first().map_or(0, |record| record.time);
    let tag = |call: usize| FIRST + 2 * execution.calls[call].function;
    for (index, record) in execution.records.iter().enumerate() {
        if index % 20 == 19 {
            bytes.extend([0, 0, 0, 0, 0, 0x80]);
        }
        match record.what {
            What::Enter(call) | What::Exit(call) => {
                let is_exit = matches!(record.what, What::Exit(_));
                bytes.push(1 << 3 | 2);
                bytes.extend(((tag(call) + usize::from(is_exit)) as u16).to_le_bytes());
            }
            What::Lost(_) => bytes.push(0x70),
            What::Switch { .. } | What::Wake(_) => continue,
        }
        let delta = record.time - last;
        last = record.time;
        if (1..=6).contains(&delta) {
            bytes.push((delta as u8) << 4);
            continue;
        }
        bytes.push(0xc0);
        varint(delta, &mut bytes);
    }
    bytes
}
