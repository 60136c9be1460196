//! The sums of a recording, straight from the definition: every call is written down with its
//! caller, and only then is anything added up.

use std::collections::BTreeMap;

use super::{Kind, Recording};

/// The sums of one function, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    /// Complete calls.
    pub calls: u64,
    /// Calls that were still open at the end.
    pub partial: u64,
    /// Wall time of outermost calls.
    pub wall: u64,
    /// Time in which their task was switched out, of outermost calls.
    pub off_cpu: u64,
    /// What is left of `wall`.
    pub elapsed: u64,
    /// Net time.
    pub net: u64,
}

#[derive(Debug)]
struct Call {
    function: usize,
    caller: Option<usize>,
    start: u64,
    end: Option<u64>,
    off_cpu: u64,
}

/// The sums of every function that was called, by name. Calls that never end are counted as
/// incomplete; no time is counted for them.
pub fn truth(recording: &Recording) -> BTreeMap<String, Sums> {
    let calls = calls(recording);
    let elapsed = |call: &Call| call.end.map_or(0, |end| end - call.start - call.off_cpu);
    let mut below = vec![0; calls.len()];
    for call in &calls {
        if let Some(caller) = call.caller {
            below[caller] += elapsed(call);
        }
    }
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        let sum = sums.entry(recording.functions[call.function].clone()).or_default();
        let Some(end) = call.end else {
            sum.partial += 1;
            continue;
        };
        sum.calls += 1;
        sum.net += elapsed(call) - below[index];
        if is_outermost(&calls, call) {
            sum.wall += end - call.start;
            sum.off_cpu += call.off_cpu;
            sum.elapsed += elapsed(call);
        }
    }
    sums
}

fn is_outermost(calls: &[Call], call: &Call) -> bool {
    let mut above = call.caller;
    while let Some(caller) = above {
        if calls[caller].function == call.function {
            return false;
        }
        above = calls[caller].caller;
    }
    true
}

fn calls(recording: &Recording) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); recording.tasks.len()];
    let mut left: Vec<Option<u64>> = vec![None; recording.tasks.len()];
    for event in &recording.events {
        match event.kind {
            Kind::Enter(function) | Kind::Interrupt(function) => {
                let caller = open[event.task].last().copied();
                open[event.task].push(calls.len());
                calls.push(Call { function, caller, start: event.time, end: None, off_cpu: 0 });
            }
            Kind::Exit => {
                let call = open[event.task].pop().expect("an exit has an entry");
                calls[call].end = Some(event.time);
            }
            Kind::Switch(next) => {
                left[event.task] = Some(event.time);
                if let Some(left) = left[next].take() {
                    for &call in &open[next] {
                        calls[call].off_cpu += event.time - left;
                    }
                }
            }
            Kind::Mark => {}
        }
    }
    calls
}
