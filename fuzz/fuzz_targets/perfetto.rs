//! Packets whose framing holds, so that what is in them is reached: the first byte of each piece is
//! its length, and says by its highest bit whether it goes to the sequence before.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::ReadOptions;

fuzz_target!(|bytes: &[u8]| {
    let mut trace = Vec::new();
    let mut rest = bytes;
    while let Some((&length, after)) = rest.split_first() {
        let take = usize::from(length & 0x7f).min(after.len());
        let sequence: &[u8] = if length & 0x80 == 0 { &[0x50, 1] } else { &[0x50, 2] };
        trace.push(0x0a);
        trace.push((sequence.len() + take) as u8);
        trace.extend(sequence);
        trace.extend(&after[..take]);
        rest = &after[take..];
    }
    if trace.is_empty() {
        return;
    }
    let options = ReadOptions { format: Some("perfetto".into()), ..ReadOptions::default() };
    profctl_fuzz::check(&trace, &options);
});
