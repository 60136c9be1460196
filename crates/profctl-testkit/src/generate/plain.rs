//! A recording in profctl's plain format.

use std::fmt::Write as _;

use super::{Kind, Recording};

/// `recording` in nanoseconds, every line with its CPU and its task.
pub fn plain(recording: &Recording) -> String {
    let mut out = String::from("# profctl plain 1 unit=ns\n");
    let mut open: Vec<Vec<(usize, bool)>> = vec![Vec::new(); recording.tasks.len()];
    for event in &recording.events {
        let thread = thread(recording, event.task);
        let lane = format!("{} cpu{} {thread}", event.time, event.cpu);
        let _ = match event.kind {
            Kind::Enter(function) => {
                open[event.task].push((function, false));
                writeln!(out, "{lane} > {}", name(recording, function))
            }
            Kind::Interrupt(function) => {
                open[event.task].push((function, true));
                writeln!(out, "{lane} irq>\n{lane} > {}", name(recording, function))
            }
            Kind::Exit => match open[event.task].pop() {
                Some((function, true)) => {
                    writeln!(out, "{lane} < {}\n{lane} irq<", name(recording, function))
                }
                // Every other exit leaves its name out: both are allowed.
                Some((function, false)) if event.time % 2 == 0 => {
                    writeln!(out, "{lane} < {}", name(recording, function))
                }
                _ => writeln!(out, "{lane} <"),
            },
            Kind::Mark => writeln!(out, "{lane} ! \"a mark: f() {{ }}\""),
            Kind::Switch(next) => {
                let next = self::thread(recording, next);
                writeln!(out, "{} cpu{} switch {thread} {next}", event.time, event.cpu)
            }
        };
    }
    out
}

fn thread(recording: &Recording, task: usize) -> String {
    let task = &recording.tasks[task];
    match task.idle_of {
        Some(_) => "idle".to_owned(),
        None => format!("\"{}\"-{}", task.name, task.tid),
    }
}

fn name(recording: &Recording, function: usize) -> String {
    format!("\"{}\"", recording.functions[function])
}
