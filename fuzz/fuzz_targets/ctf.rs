//! Any metadata, and one stream: with `|` between.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::ReadOptions;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |&byte| byte == b'|');
    let metadata = [b"/* CTF 1.8 */\n", parts.next().unwrap_or_default()].concat();
    let stream = parts.next().unwrap_or_default().to_vec();
    let files = vec![("metadata".to_owned(), metadata), ("stream".to_owned(), stream)];
    profctl_fuzz::check_directory(&files, &ReadOptions::default());
});
