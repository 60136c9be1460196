//! Recordings of Linux and of Renode against what Perfetto's own trace processor reads in them.

use std::collections::BTreeMap;

use profctl_model::diag::codes::GAP;
use profctl_model::{RunState, Trace};
use profctl_testkit::{fixtures, invariants};

use crate::testing::{show, walls};
use crate::{ReadOptions, Single, load};

fn read(name: &str) -> Trace {
    let bytes = fixtures::read(&fixtures::root().join("fixtures/perfetto").join(name));
    let files = Single::new("test", Box::new(&bytes[..]));
    let (trace, _) = load(&files, &ReadOptions::default(), &|_| ()).unwrap();
    invariants::check(&trace, name);
    trace
}

/// Complete calls by name: how many, and the sum of their wall times if they are `summed`.
fn complete(trace: &Trace, summed: bool) -> BTreeMap<String, String> {
    let told = |(name, of): (&str, Vec<u64>)| {
        let n = of.len();
        let sum = of.iter().sum::<u64>();
        (name.to_owned(), if summed { format!("{n}\t{sum}") } else { n.to_string() })
    };
    walls(trace).into_iter().map(told).collect()
}

/// Compares the calls of a recording, but for those of the names in `others`, with the trace
/// processor's slices.
fn check(name: &str, summed: bool, others: &[&str]) {
    let path = fixtures::root().join(format!("fixtures/perfetto/{name}.calls.golden"));
    let golden = String::from_utf8(fixtures::read(&path)).unwrap();
    let expected = golden.lines().map(|line| line.split_once('\t').unwrap());
    let expected: BTreeMap<_, _> =
        expected.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect();
    let mut found = complete(&read(&format!("{name}.pftrace")), summed);
    found.retain(|name, _| !others.contains(&name.as_str()));
    assert_eq!(found, expected, "{name}");
}

#[test]
fn calls_are_the_slices_of_the_trace_processor() {
    // Where a signal is handled, the trace processor ends `rt_sigreturn` at once.
    check("linux-56-deflated", true, &["rt_sigreturn"]);
    check("linux-56-markers", true, &[]);
    // It takes what lasted across a loss as whole.
    check("linux-56-lossy", true, &["rt_sigreturn", "poll", "wait4"]);
    // Functions state how long they took, by another clock than that of the records.
    check("linux-56-functions", false, &[]);
    check("renode", true, &[]);
}

#[test]
fn a_thread_runs_until_the_last_event_before_a_loss() {
    let trace = read("linux-56-lossy.pftrace");
    assert_eq!(trace.meta.diags.count_of(&GAP), 6);
    // The last record of its CPU is a system call at ..50137560; the next one is 620 ms later.
    let first = trace.states.iter().find(|state| {
        trace.names.threads[state.thread].tid == Some(110) && state.state == RunState::Running
    });
    let first = first.map(|state| (state.start.0, state.end.0));
    assert_eq!(first, Some((13_269_054_540, 13_350_137_560)));
}

#[test]
fn the_first_switch_in_compact_form_ends_the_thread_that_had_events() {
    let trace = read("first_switch.pftrace");
    let ran = |tid: u64| -> u64 {
        let states = trace.states.iter().filter(|state| state.state == RunState::Running);
        let states = states.filter(|state| trace.names.threads[state.thread].tid == Some(tid));
        states.map(|state| state.end.0 - state.start.0).sum()
    };
    assert_eq!(ran(77), 1_100);
}

#[test]
fn where_functions_are_recorded_system_calls_are_marks() {
    let trace = read("call_in_syscall.pftrace");
    assert_eq!(complete(&trace, true)["vfs_read"], "3\t90000");
    assert!(trace.meta.first.0 >= 1_000_000, "{}", show(&trace));
}
