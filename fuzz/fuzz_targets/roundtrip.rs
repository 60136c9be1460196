//! The same inputs as for `reader`: what is written as plain text reads back with the same sums.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_fuzz::input;
use profctl_import::ReadOptions;

fuzz_target!(|bytes: &[u8]| {
    let Some((files, options)) = input::parse(bytes) else {
        return;
    };
    // Everything is written, whatever the window.
    let options = ReadOptions { from: None, until: None, ..options };
    profctl_fuzz::check_roundtrip(&*input::opened(&files), &options);
});
