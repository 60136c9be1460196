//! A self-profile of rustc: intervals where they end, those of all threads in one stream, in pages
//! among those of the strings.

use super::tid;
use crate::execution::{Execution, What};

/// The id of the description of the recording, and that of the first byte of the string table.
const METADATA: u64 = 100_000_001;
const FIRST_STRING: u64 = 100_000_003;

/// A profile of version 8 or 9 in pages of so many bytes, and the execution that it says: only calls
/// with a recorded entry and exit are in it.
pub fn measureme(execution: &Execution, version: u32, page: usize) -> (Vec<u8>, Execution) {
    let width = if version == 8 { 4 } else { 8 };
    let header = |magic: &[u8; 4]| [&magic[..], &version.to_le_bytes()].concat();
    let (mut events, mut strings, mut index) = (header(b"MMES"), header(b"MMSD"), header(b"MMSI"));
    let mut string = |text: &str| {
        let at = strings.len() as u64;
        strings.extend(text.as_bytes());
        strings.push(0xff);
        at
    };
    let about = "{ \"start_time\": 5, \"process_id\": 100, \"cmd\": \"/usr/bin/made\" }";
    index.extend(&METADATA.to_le_bytes()[..width]);
    index.extend(&string(about).to_le_bytes()[..width]);
    let kind = FIRST_STRING + string("GenericActivity");
    let names: Vec<u64> =
        execution.functions.iter().map(|name| FIRST_STRING + string(name)).collect();
    let mut entered = vec![None; execution.calls.len()];
    let mut is_whole = vec![false; execution.calls.len()];
    for record in &execution.records {
        let (call, start) = match record.what {
            What::Enter(call) => {
                entered[call] = Some(record.time);
                continue;
            }
            What::Exit(call) => match entered[call] {
                Some(start) => (call, start),
                None => continue,
            },
            _ => continue,
        };
        is_whole[call] = true;
        events.extend(&kind.to_le_bytes()[..width]);
        events.extend(&names[execution.calls[call].function].to_le_bytes()[..width]);
        let end = record.time;
        // The upper 16 bits of both times share a word.
        let upper = start >> 32 << 16 | end >> 32;
        for word in [tid(execution.calls[call].thread) as u64, start, end, upper] {
            events.extend((word as u32).to_le_bytes());
        }
    }
    let mut said = execution.clone();
    said.records.retain(|record| match record.what {
        What::Enter(call) | What::Exit(call) => is_whole[call],
        _ => false,
    });
    let mut file = header(b"MMPD");
    let mut streams = [(0_u8, &events[..]), (1, &strings), (2, &index)];
    while streams.iter().any(|(_, rest)| !rest.is_empty()) {
        for (tag, rest) in &mut streams {
            let (content, behind) = rest.split_at(page.min(rest.len()));
            if !content.is_empty() {
                file.push(*tag);
                file.extend((content.len() as u32).to_le_bytes());
                file.extend(content);
            }
            *rest = behind;
        }
    }
    (file, said)
}
