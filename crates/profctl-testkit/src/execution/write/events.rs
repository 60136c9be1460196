//! What programs exchange: events as JSON, and folded stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::tid;
use crate::execution::{Execution, What};
use crate::generate::Random;

fn us(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000, nanos % 1_000)
}

/// Chrome's entries and exits.
pub fn chrome_begin_end(execution: &Execution) -> String {
    let mut text = "[".to_owned();
    for record in &execution.records {
        let (phase, call) = match record.what {
            What::Enter(call) => ('B', call),
            What::Exit(call) => ('E', call),
            _ => continue,
        };
        let (name, thread) = (execution.name(call), tid(execution.calls[call].thread));
        let comma = if text.len() > 1 { ",\n" } else { "\n" };
        let _ = write!(
            text,
            "{comma}{{\"ph\":\"{phase}\",\"ts\":{},\"pid\":1,\"tid\":{thread},\"name\":\"{name}\"}}",
            us(record.time)
        );
    }
    text + "\n]\n"
}

/// Chrome's complete calls, in any order. For whole executions.
pub fn chrome_complete(execution: &Execution, seed: u64) -> String {
    let time = |what: What| {
        let found = execution.records.iter().find(|record| record.what == what);
        found.map(|record| record.time)
    };
    let mut events: Vec<String> = (0..execution.calls.len())
        .filter_map(|call| {
            let (start, end) = (time(What::Enter(call))?, time(What::Exit(call))?);
            let (name, thread) = (execution.name(call), tid(execution.calls[call].thread));
            let (start, length) = (us(start), us(end - start));
            Some(format!(
                "{{\"ph\":\"X\",\"ts\":{start},\"dur\":{length},\"pid\":1,\"tid\":{thread},\
                 \"name\":\"{name}\"}}"
            ))
        })
        .collect();
    let mut random = Random::new(seed);
    for last in (1..events.len()).rev() {
        events.swap(last, random.below(last as u64 + 1) as usize);
    }
    format!("{{\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

/// A profile a thread, with all entries and exits. For whole executions.
pub fn speedscope(execution: &Execution) -> String {
    let frames: Vec<String> =
        execution.functions.iter().map(|name| format!("{{\"name\":\"{name}\"}}")).collect();
    let end = execution.records.last().map_or(0, |record| record.time);
    let profiles: Vec<String> = (0..execution.n_threads)
        .map(|thread| {
            let own = execution.records.iter().filter(|record| record.thread == Some(thread));
            let events: Vec<String> = own
                .filter_map(|record| {
                    let (kind, call) = match record.what {
                        What::Enter(call) => ('O', call),
                        What::Exit(call) => ('C', call),
                        _ => return None,
                    };
                    let (frame, at) = (execution.calls[call].function, record.time);
                    Some(format!("{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}"))
                })
                .collect();
            format!(
                "{{\"type\":\"evented\",\"name\":\"t{thread}\",\"unit\":\"nanoseconds\",\
                 \"startValue\":0,\"endValue\":{end},\"events\":[{}]}}",
                events.join(",")
            )
        })
        .collect();
    format!(
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
         \"profiles\":[{}],\"shared\":{{\"frames\":[{}]}}}}\n",
        profiles.join(","),
        frames.join(",")
    )
}

/// Own time by path. For whole executions.
pub fn folded(execution: &Execution) -> String {
    let mut paths: BTreeMap<String, u64> = BTreeMap::new();
    for thread in 0..execution.n_threads {
        let own = |record: &&crate::execution::Record| {
            record.thread == Some(thread) && matches!(record.what, What::Enter(_) | What::Exit(_))
        };
        let own: Vec<_> = execution.records.iter().filter(own).collect();
        for pair in own.windows(2) {
            // Between two records, a caller that the first leaves on top runs.
            let top = match pair[0].what {
                What::Enter(call) => Some(call),
                What::Exit(call) => execution.calls[call].caller,
                _ => None,
            };
            let Some(top) = top else { continue };
            let mut path: Vec<&str> =
                execution.callers(top).map(|call| execution.name(call)).collect();
            path.reverse();
            path.push(execution.name(top));
            *paths.entry(path.join(";")).or_default() += pair[1].time - pair[0].time;
        }
    }
    paths.retain(|_, time| *time > 0);
    paths.iter().fold(String::new(), |text, (path, time)| text + &format!("{path} {time}\n"))
}
