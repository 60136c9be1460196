//! Any recording of one thread: the lines of `info`, `task.txt` and records, with `|` between.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::ReadOptions;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(3, |&byte| byte == b'|');
    let mut part = || parts.next().unwrap_or_default();
    let mut info = b"Ftrace!\0\x04\0\0\0\x28\0\x01\x02\x7b\x03\0\0\0\0\0\0".to_vec();
    info.resize(40, 0);
    info.extend_from_slice(part());
    let task = part().to_vec();
    let files = vec![
        ("1.dat".to_owned(), part().to_vec()),
        ("info".to_owned(), info),
        ("task.txt".to_owned(), task),
    ];
    profctl_fuzz::check_directory(&files, &ReadOptions::default());
});
