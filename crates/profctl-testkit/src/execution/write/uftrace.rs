//! A directory of `uftrace record`: one file per task.

use std::fmt::Write as _;

use super::tid;
use crate::execution::{Execution, What};

const BASE: u64 = 0x5555_5555_0000;
const SIZE: u64 = 64;

/// The files with their names. Losses have no place in it.
pub fn uftrace(execution: &Execution) -> Vec<(String, Vec<u8>)> {
    let mut info = b"Ftrace!\0".to_vec();
    info.extend([4, 0, 0, 0, 40, 0, 1, 2]);
    for word in [0x363_u64, 0x3bff, 1_024] {
        info.extend(word.to_le_bytes());
    }
    info.extend(b"exename:/usr/bin/made\ncmdline:made\nuftrace_version:v0.13 ( made )\n");
    let process = tid(0);
    let mut tasks =
        format!("SESS timestamp=0.0 pid={process} sid=made exename=\"/usr/bin/made\"\n");
    for thread in 0..execution.n_threads {
        let _ = writeln!(tasks, "TASK timestamp=0.0 tid={} pid={process}", tid(thread));
    }
    let end = BASE + execution.functions.len() as u64 * SIZE;
    let map = format!("{BASE:x}-{end:x} r-xp 00000000 00:00 0 /usr/bin/made\n");
    let mut symbols = "# path name: /usr/bin/made\n".to_owned();
    for (function, name) in execution.functions.iter().enumerate() {
        let _ = writeln!(symbols, "{:016x} T {name}", function as u64 * SIZE);
    }
    let _ = writeln!(symbols, "{:016x} ? __sym_end", end - BASE);
    let mut files = vec![
        ("info".to_owned(), info),
        ("task.txt".to_owned(), tasks.into_bytes()),
        ("sid-made.map".to_owned(), map.into_bytes()),
        ("made.sym".to_owned(), symbols.into_bytes()),
    ];
    for thread in 0..execution.n_threads {
        let mut data = Vec::new();
        for record in &execution.records {
            let (kind, call) = match record.what {
                What::Enter(call) => (0, call),
                What::Exit(call) => (1, call),
                _ => continue,
            };
            if execution.calls[call].thread != thread {
                continue;
            }
            let address = BASE + execution.calls[call].function as u64 * SIZE;
            let depth = execution.depth(call) as u64;
            data.extend(record.time.to_le_bytes());
            data.extend((kind | 5 << 3 | depth << 6 | address << 16).to_le_bytes());
        }
        files.push((format!("{}.dat", tid(thread)), data));
    }
    files
}
