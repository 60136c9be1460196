//! Text of entries and exits: a line each.

use std::fmt::Write as _;

use super::tid;
use crate::execution::{Execution, Leaves, What};

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
