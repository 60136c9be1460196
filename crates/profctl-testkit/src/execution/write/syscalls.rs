//! Logs of system calls.

use std::fmt::Write as _;

use super::{kernel, tid};
use crate::execution::{Execution, What};

/// How many functions an execution may have.
pub const SYSCALLS: usize = 6;

/// `strace -f -ttt -T`: a call that was logged while nothing else happened is one line, any other
/// two. Times in microseconds. For whole calls without callees.
pub fn strace(execution: &Execution) -> (String, Execution) {
    let mut named = execution.clone();
    kernel::system_calls(&mut named);
    (log(&named), named)
}

/// `ltrace -f -ttt -T`, whose calls may be called by others. For whole calls.
pub fn ltrace(execution: &Execution) -> String {
    log(execution)
}

fn log(execution: &Execution) -> String {
    let mut text = String::new();
    let records = &execution.records;
    let mut is_told = vec![false; execution.calls.len()];
    for (index, record) in records.iter().enumerate() {
        let stamp = |time: u64| {
            let micros = time / 1_000;
            format!("{}.{:06}", 1_700_000_000 + micros / 1_000_000, micros % 1_000_000)
        };
        let (What::Enter(call) | What::Exit(call)) = record.what else { continue };
        let (name, pid) = (execution.name(call), tid(execution.calls[call].thread));
        let at = stamp(record.time);
        let _ = match record.what {
            What::Enter(_) => match records.get(index + 1) {
                Some(next) if next.what == What::Exit(call) => {
                    is_told[call] = true;
                    let micros = (next.time - record.time) / 1_000;
                    let length = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
                    writeln!(text, "{pid} {at} {name}(3, \"a\\\") = 1\", 2) = 0 <{length}>")
                }
                _ => writeln!(text, "{pid} {at} {name}(3,  <unfinished ...>"),
            },
            _ if is_told[call] => Ok(()),
            _ => {
                let start = records.iter().find(|other| other.what == What::Enter(call));
                let micros = (record.time - start.map_or(record.time, |r| r.time)) / 1_000;
                let length = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
                writeln!(text, "{pid} {at} <... {name} resumed>, 2) = 0 <{length}>")
            }
        };
    }
    text
}

/// `kdump -H -T` of FreeBSD; times in microseconds. For calls without callees.
pub fn kdump(execution: &Execution) -> (String, Execution) {
    let mut named = execution.clone();
    kernel::system_calls(&mut named);
    let mut text = String::new();
    for record in &execution.records {
        let micros = record.time / 1_000;
        let at = format!("{}.{:06}", 1_700_000_000 + micros / 1_000_000, micros % 1_000_000);
        let (What::Enter(call) | What::Exit(call)) = record.what else { continue };
        let (name, thread) = (named.name(call), 100_000 + tid(execution.calls[call].thread));
        let rest = match record.what {
            What::Enter(_) => format!("CALL  {name}(0x3,0x2000,0x10)"),
            _ => format!("RET   {name} 0"),
        };
        let _ = writeln!(text, "   100 {thread} demo     {at} {rest}");
    }
    (text, named)
}
