//! Lines of strace and ltrace whose leader holds, so that what is behind it is reached: the first
//! byte of each line says which leader, ending and length it has.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profctl_import::ReadOptions;

const LEADERS: [&str; 8] = [
    "7 1700000000.00000%",
    "8 1700000000.00001%",
    "[pid 7] 1.00000%",
    "1.00002%",
    "7 23:59:59.99999%",
    "8 00:00:00.00000%",
    "7      0.00000%",
    "",
];
const NAMES: [&str; 4] = ["read(", "<... read resumed>", "clone(", "SYS_brk("];
const ENDS: [&str; 8] = [
    ") = 0 <0.000001>",
    ") = 9",
    " <unfinished ...>",
    ") = ?",
    "strace: Process 9 attached",
    " <no return ...>",
    ") = ? ERESTARTSYS (x) <1>",
    "",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&flavor, bytes)) = bytes.split_first() else {
        return;
    };
    let mut text = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some((&kind, inner)) = line.split_first() else {
            continue;
        };
        let leader = LEADERS[usize::from(kind & 7)].replace('%', &(kind & 7).to_string());
        text.extend_from_slice(leader.as_bytes());
        text.push(b' ');
        text.extend_from_slice(NAMES[usize::from(kind >> 3 & 3)].as_bytes());
        text.extend_from_slice(inner);
        text.extend_from_slice(ENDS[usize::from(kind >> 5)].as_bytes());
        text.push(b'\n');
    }
    let format = if flavor & 1 == 0 { "strace" } else { "ltrace" };
    let options = ReadOptions { format: Some(format.into()), ..ReadOptions::default() };
    profctl_fuzz::check(&text, &options);
});
