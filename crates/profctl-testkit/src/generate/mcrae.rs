//! A recording as a code trace in McRae's layout.

use std::fmt::Write as _;

use super::{Kind, Recording};

/// `recording` as a code trace: microseconds, all calls on one stack. Meant for recordings of one
/// task; marks and switches have no line in this format.
pub fn code_trace(recording: &Recording) -> String {
    let calls = lengths(recording);
    let mut out = String::new();
    let mut depth = 0;
    let mut open = Vec::new();
    for (index, event) in recording.events.iter().enumerate() {
        let micros = event.time / 1_000;
        let stamp = format!(
            "{:4}:{:03} {:03} ",
            micros / 1_000_000,
            micros / 1_000 % 1_000,
            micros % 1_000
        );
        match event.kind {
            Kind::Enter(function) | Kind::Interrupt(function) => {
                let (total, net, is_leaf) = calls[index];
                let name = &recording.functions[function];
                let lengths = if is_leaf {
                    format!("({net} us)")
                } else {
                    format!("({net} us, {total} total)")
                };
                let _ =
                    writeln!(out, "{stamp}{:indent$}-> {name} {lengths}", "", indent = 4 * depth);
                open.push(is_leaf);
                depth += 1;
            }
            Kind::Exit => {
                depth -= 1;
                if open.pop() == Some(false) {
                    let _ = writeln!(out, "{stamp}{:indent$}<- ", "", indent = 4 * depth);
                }
            }
            Kind::Mark | Kind::Switch(_) => {}
        }
    }
    out
}

/// For every entry: total and net in microseconds, and whether it called nothing.
fn lengths(recording: &Recording) -> Vec<(u64, u64, bool)> {
    let mut lengths = vec![(0, 0, true); recording.events.len()];
    let mut open: Vec<(usize, u64)> = Vec::new();
    for (index, event) in recording.events.iter().enumerate() {
        match event.kind {
            Kind::Enter(_) | Kind::Interrupt(_) => {
                if let Some(&(caller, _)) = open.last() {
                    lengths[caller].2 = false;
                }
                open.push((index, 0));
            }
            Kind::Exit => {
                let (call, below) = open.pop().expect("an exit has an entry");
                let total = (event.time - recording.events[call].time) / 1_000;
                (lengths[call].0, lengths[call].1) = (total, total - below);
                if let Some((_, callees)) = open.last_mut() {
                    *callees += total;
                }
            }
            Kind::Mark | Kind::Switch(_) => {}
        }
    }
    lengths
}
