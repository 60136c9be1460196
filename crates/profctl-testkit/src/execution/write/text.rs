//! Text of entries and exits: a line each.

use std::fmt::Write as _;

use super::tid;
use crate::execution::{Call, Execution, Leaves, What};

fn thread(thread: Option<usize>) -> String {
    thread.map_or("idle".to_owned(), |thread| format!("t{thread}-{}", tid(thread)))
}

/// The plain format, with or without depths.
pub fn plain(execution: &Execution, has_depths: bool) -> String {
    let mut text = "# profctl plain 1\n".to_owned();
    for record in &execution.records {
        let at = format!("{} cpu{} {}", record.time, record.cpu, thread(record.thread));
        let depth = |call: usize| {
            if has_depths { format!(" depth={}", execution.depth(call)) } else { String::new() }
        };
        let _ = match record.what {
            What::Enter(call) => {
                writeln!(text, "{at} > {}{}", execution.name(call), depth(call))
            }
            What::Exit(call) => writeln!(text, "{at} < {}{}", execution.name(call), depth(call)),
            What::Wake(woken) => writeln!(text, "{at} wake {} kind=waking", thread(Some(woken))),
            What::Lost(n) => writeln!(text, "{} lost {n}", record.time),
            What::Switch { prev, leaves, next } => {
                let state = match leaves {
                    Leaves::Runnable => "R",
                    Leaves::Sleeping => "S",
                    Leaves::Uninterruptible => "D",
                };
                let (prev, next) = (thread(prev), thread(next));
                let (time, cpu) = (record.time, record.cpu);
                writeln!(text, "{time} cpu{cpu} switch {prev} {next} state={state}")
            }
        };
    }
    text
}

/// A code trace as `replay` prints it: for whole executions, whose calls state their times.
pub fn mcrae(execution: &Execution) -> String {
    let mut text = String::new();
    let find = |what: What| execution.records.iter().find(|record| record.what == what);
    let elapsed = |call: usize| {
        let time = |what| find(what).map_or(0, |record| record.time);
        time(What::Exit(call)) - time(What::Enter(call))
    };
    let callees = |call: usize| {
        (0..execution.calls.len()).filter(move |&other| execution.calls[other].caller == Some(call))
    };
    for record in &execution.records {
        let (nanos, micros) = (record.time % 1_000, record.time / 1_000);
        let clock = format!(
            "{:4}:{:03} {:03}.{nanos:03} [{} @{}]",
            micros / 1_000_000,
            micros / 1_000 % 1_000,
            micros % 1_000,
            thread(record.thread),
            record.cpu
        );
        let us = |nanos: u64| format!("{}.{:03}", nanos / 1_000, nanos % 1_000);
        let (What::Enter(call) | What::Exit(call)) = record.what else { continue };
        let indent = " ".repeat(1 + 4 * execution.depth(call));
        let below: u64 = callees(call).map(elapsed).sum();
        let is_leaf = callees(call).next().is_none();
        let (name, net) = (execution.name(call), us(elapsed(call) - below));
        let _ = match record.what {
            What::Enter(_) if is_leaf => writeln!(text, "{clock}{indent}-> {name} ({net} us)"),
            What::Enter(_) => {
                let total = us(elapsed(call));
                writeln!(text, "{clock}{indent}-> {name} ({net} us, {total} total)")
            }
            _ if is_leaf => Ok(()),
            _ => writeln!(text, "{clock}{indent}<- "),
        };
    }
    text
}

/// `otf2-print` of the definitions and the events; a tick is a nanosecond.
pub fn otf2(execution: &Execution) -> String {
    let mut text = "\n=== OTF2-PRINT ===\n=== Global Definitions =====\n\
        CLOCK_PROPERTIES                          Ticks per Seconds: 1000000000, Global Offset: \
        0, Length: 2000, Date: UNDEFINED\n\
        === Events =====\n\
        Event                                   Location            Timestamp  Attributes\n\
        ------------------------------------------------------------------------\n"
        .to_owned();
    for record in &execution.records {
        let (kind, call) = match record.what {
            What::Enter(call) => ("ENTER", call),
            What::Exit(call) => ("LEAVE", call),
            _ => continue,
        };
        let Call { thread, function, .. } = execution.calls[call];
        let (time, name) = (record.time, execution.name(call));
        let _ = writeln!(text, "{kind:<23}{thread:>27}{time:>21}  Region: \"{name}\" <{function}>");
    }
    text
}

/// The rule for [`ruled`].
pub const RULE: &str = r#"
about = "lines of a test"
ts_unit = "ns"

pattern = '^(?<ts>\d+) \[(?<tid>\d+)\] (?<kind>enter|leave) (?<name>\S+)$'

[kind]
enter = "enter"
leave = "exit"
"#;

/// Lines that only a rule explains, and others between.
pub fn ruled(execution: &Execution) -> String {
    let mut text = String::new();
    for (at, record) in execution.records.iter().enumerate() {
        let (kind, call) = match record.what {
            What::Enter(call) => ("enter", call),
            What::Exit(call) => ("leave", call),
            _ => continue,
        };
        let (time, id) = (record.time, tid(execution.calls[call].thread));
        let _ = writeln!(text, "{time} [{id}] {kind} {}", execution.name(call));
        if at % 9 == 4 {
            text += "checking the weather\n";
        }
    }
    text
}
