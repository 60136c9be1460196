//! What a reader must find, from the definitions: a call lasts from its entry to its exit; of a call
//! one end of which was not seen, what is known of it is credited; nothing is inferred across a loss.

use std::collections::BTreeMap;

use super::{Execution, What};

/// The sums of one function, as a report shows them: what is known of incomplete calls is in the
/// times and not in the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Complete calls.
    pub calls: u64,
    /// The others.
    pub partial: u64,
    /// Time from entry to exit, of outermost calls.
    pub wall: u64,
    /// What of that their thread was off the CPU.
    pub off_cpu: u64,
    /// Net time.
    pub net: u64,
}

/// What a reader must find of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// By function.
    pub functions: BTreeMap<String, Found>,
    /// Exits without entry.
    pub unmatched: u64,
    /// Entries without exit: at the end of the recording, and those that ended with their callers.
    pub unclosed: u64,
    /// See `unclosed`.
    pub forced: u64,
    /// Losses.
    pub gaps: u64,
}

/// A call as far as it was seen between two losses.
#[derive(Clone, Copy, Debug)]
struct Part {
    call: usize,
    start: u64,
    end: u64,
    is_whole: bool,
}

/// What a reader must find.
pub fn expected(execution: &Execution) -> Expected {
    let mut expected = Expected::default();
    let is_loss = |record: &super::Record| matches!(record.what, What::Lost(_));
    expected.gaps = execution.records.iter().filter(|record| is_loss(record)).count() as u64;
    let segments: Vec<_> = execution.records.split(is_loss).collect();
    for (index, segment) in segments.iter().enumerate() {
        for thread in 0..execution.n_threads {
            let is_last = index + 1 == segments.len();
            evaluate(execution, segment, thread, is_last, &mut expected);
        }
    }
    expected
}

/// Adds what was seen of one thread between two losses.
fn evaluate(
    execution: &Execution,
    segment: &[super::Record],
    thread: usize,
    is_last: bool,
    expected: &mut Expected,
) {
    let call_of = |record: &super::Record| match record.what {
        What::Enter(call) | What::Exit(call) => Some(call),
        _ => None,
    };
    let own = segment.iter().filter(|record| {
        call_of(record).is_some_and(|call| execution.calls[call].thread == thread)
    });
    let own: Vec<_> = own.collect();
    let Some(first) = own.first().map(|record| record.time) else { return };
    let concerns = |record: &&super::Record| match record.what {
        What::Switch { prev, next, .. } => prev == Some(thread) || next == Some(thread),
        _ => record.thread == Some(thread),
    };
    let last = segment.iter().rfind(concerns).map_or(first, |record| record.time);
    let entry = |call: usize| own.iter().position(|record| record.what == What::Enter(call));
    let exit = |call: usize| own.iter().position(|record| record.what == What::Exit(call));
    let mut calls: Vec<usize> = own.iter().filter_map(|record| call_of(record)).collect();
    calls.sort_unstable();
    calls.dedup();
    let parts: Vec<Part> = calls
        .iter()
        .map(|&call| {
            let (entry, exit_of) = (entry(call), exit(call));
            let ends_with = execution.callers(call).find_map(exit);
            let end = exit_of.or(ends_with).map_or(last, |at| own[at].time);
            expected.unmatched += u64::from(entry.is_none());
            if exit_of.is_none() {
                expected.forced += u64::from(ends_with.is_some());
                expected.unclosed += u64::from(ends_with.is_none() && is_last);
            }
            let start = entry.map_or(first, |at| own[at].time);
            Part { call, start, end, is_whole: entry.is_some() && exit_of.is_some() }
        })
        .collect();
    let off = off_cpu(segment, thread);
    let off_in = |part: &Part| -> u64 {
        off.iter().map(|&(out, back)| back.min(part.end).saturating_sub(out.max(part.start))).sum()
    };
    let elapsed = |part: &Part| part.end - part.start - off_in(part);
    // Callers of which nothing was seen here are not there.
    let caller_of = |part: &Part| {
        execution.callers(part.call).find_map(|caller| calls.binary_search(&caller).ok())
    };
    let mut below = vec![0; parts.len()];
    for part in &parts {
        if let Some(caller) = caller_of(part) {
            below[caller] += elapsed(part);
        }
    }
    for (index, part) in parts.iter().enumerate() {
        let function = execution.calls[part.call].function;
        let is_nested = execution.callers(part.call).any(|caller| {
            calls.binary_search(&caller).is_ok() && execution.calls[caller].function == function
        });
        let sums = expected.functions.entry(execution.functions[function].clone()).or_default();
        sums.calls += u64::from(part.is_whole);
        sums.partial += u64::from(!part.is_whole);
        sums.net += elapsed(part) - below[index];
        if !is_nested {
            sums.wall += part.end - part.start;
            sums.off_cpu += off_in(part);
        }
    }
}

/// When a thread was off the CPU, as far as it was seen to leave and to come back.
fn off_cpu(segment: &[super::Record], thread: usize) -> Vec<(u64, u64)> {
    let mut off = Vec::new();
    let mut left = None;
    for record in segment {
        if let What::Switch { prev, next, .. } = record.what {
            if prev == Some(thread) {
                left = Some(record.time);
            }
            if next == Some(thread)
                && let Some(left) = left.take()
            {
                off.push((left, record.time));
            }
        }
    }
    off
}
