//! A path as a document: `profctl.critical-path/2`, described in
//! `docs/schemas/critical-path-2.md`.

use std::collections::BTreeMap;

use profctl_model::{ThreadId, Tick, Ticks, Trace};
use serde_json::{Value, json};

use super::across::sums_by_thread;
use super::chain::{Chain, Link, Wait, held_by};
use crate::sched::waker_thread;

/// The document. Integers are nanoseconds, or counts where the clock counts something else.
pub(super) fn document(trace: &Trace, chain: &Chain) -> String {
    let timebase = &trace.meta.timebase;
    let length = |ticks: Ticks| timebase.reported(ticks);
    let time = |tick: Tick| timebase.reported(Ticks(tick.0));
    let tid = |thread: ThreadId| trace.names.threads[thread].tid;
    let name = |thread: ThreadId| trace.names.threads[thread].name.as_str();

    let segment = |link: &Link| -> Value {
        let waker = link.waker.and_then(|waker| waker_thread(&waker, &trace.names));
        json!({
            "start": time(link.start),
            "end": time(link.end),
            "tid": tid(link.thread),
            "thread": name(link.thread),
            "cpu": link.cpu.map(|cpu| trace.names.cpus[cpu]),
            "state": link.wait.name(),
            "source": link.source,
            "function": link.function.map(|func| trace.names.funcs[func].name.as_str()),
            "waker": waker.map(name),
            "waker_tid": waker.and_then(tid),
            "waker_context": link.waker.map(|waker| waker.context.name()),
        })
    };
    let mut by_state = [0_u64; Wait::ALL.len()];
    let mut by_function: BTreeMap<&str, u64> = BTreeMap::new();
    let mut interrupts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for link in &chain.links {
        // Sums of what is reported, so that rounding cannot part them from the segments.
        let ns = time(link.end) - time(link.start);
        by_state[link.wait as usize] += ns;
        if let (Wait::Running, Some(func)) = (link.wait, link.function) {
            *by_function.entry(&trace.names.funcs[func].name).or_default() += ns;
        }
        if let Some(source) = &link.source {
            let sum = interrupts.entry(source).or_default();
            *sum = (sum.0 + ns, sum.1 + 1);
        }
    }
    let by_state: serde_json::Map<String, Value> =
        Wait::ALL.iter().zip(by_state).map(|(wait, ns)| (wait.name().into(), ns.into())).collect();
    let by_thread = sums_by_thread(chain).into_iter().map(|(thread, sums)| {
        let mut row = json!({"tid": tid(thread), "thread": name(thread)});
        let mut total = 0;
        for (wait, sum) in Wait::ALL.iter().zip(sums) {
            row[wait.name()] = length(sum).into();
            total += length(sum);
        }
        row["total"] = total.into();
        row
    });
    let mut by_function: Vec<_> = by_function.into_iter().collect();
    by_function.sort_by_key(|&(name, ns)| (std::cmp::Reverse(ns), name));
    let mut interrupts: Vec<_> = interrupts.into_iter().collect();
    interrupts.sort_by_key(|&(source, (ns, _))| (std::cmp::Reverse(ns), source));
    let mut held = Vec::new();
    let mut idle = 0;
    for (thread, sum) in held_by(trace, chain) {
        if trace.names.threads[thread].idle {
            idle += length(sum);
        } else {
            held.push((tid(thread), name(thread), length(sum)));
        }
    }
    if idle > 0 {
        held.push((Some(0), "<idle>", idle));
    }
    held.sort_by_key(|held| std::cmp::Reverse(held.2));
    let held =
        held.into_iter().map(|(tid, thread, ns)| json!({"tid": tid, "thread": thread, "ns": ns}));
    let document = json!({
        "schema": "profctl.critical-path/2",
        "timebase": {"unit": timebase.unit_name()},
        "window": {
            "tid": tid(chain.thread),
            "thread": name(chain.thread),
            "start": time(chain.start),
            "end": time(chain.end),
        },
        "segments": chain.links.iter().map(segment).collect::<Vec<_>>(),
        "by_state": by_state,
        "by_thread": by_thread.collect::<Vec<_>>(),
        "by_function": by_function
            .into_iter()
            .map(|(name, ns)| json!({"name": name, "ns": ns}))
            .collect::<Vec<_>>(),
        "interrupts": interrupts
            .into_iter()
            .map(|(source, (ns, count))| json!({"source": source, "ns": ns, "count": count}))
            .collect::<Vec<_>>(),
        "runnable_held_by": held.collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
