//! Any pages of either version.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::ReadOptions;

fuzz_target!(|bytes: &[u8]| {
    let Some((&version, pages)) = bytes.split_first() else {
        return;
    };
    let head = [b'M', b'M', b'P', b'D', 8 + version % 2, 0, 0, 0];
    profctl_fuzz::check(&[&head, pages].concat(), &ReadOptions::default());
});
