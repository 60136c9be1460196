//! What holds for every trace, whatever it was read from and however broken that was.

use std::collections::BTreeMap;

use profctl_model::{SpanId, Trace};

/// Everything in `trace` that breaks an invariant, as sentences; empty if all is well.
///
/// Sums of net time are only compared where nothing was clamped: where callees state more time
/// than their caller, the caller's net is 0 and the sum is off by the rest.
pub fn broken(trace: &Trace) -> Vec<String> {
    let mut found = Vec::new();
    for id in trace.spans.ids() {
        check_call(trace, id, &mut found);
    }
    check_order(trace, &mut found);
    check_sums(trace, &mut found);
    check_outermost(trace, &mut found);
    found
}

/// Fails with the first few sentences of [`broken`].
///
/// # Panics
/// If there are any.
pub fn check(trace: &Trace, what: &str) {
    let found = broken(trace);
    let shown: Vec<_> = found.iter().take(5).map(String::as_str).collect();
    assert!(found.is_empty(), "{what}: {} broken:\n{}", found.len(), shown.join("\n"));
}

fn label(trace: &Trace, id: SpanId) -> String {
    let spans = &trace.spans;
    let thread = &trace.names.threads[spans.thread[id.index()]];
    format!(
        "{} (row {}, on {})",
        trace.names.funcs[spans.func[id]].name,
        id.index(),
        thread.label()
    )
}

fn check_call(trace: &Trace, id: SpanId, found: &mut Vec<String>) {
    let (spans, row) = (&trace.spans, id.index());
    let mut complain = |what: String| found.push(format!("{}: {what}", label(trace, id)));
    if spans.end[row] < spans.start[row] {
        complain(format!(
            "ends at {} before it starts at {}",
            spans.end[row].0, spans.start[row].0
        ));
    }
    if spans.off_cpu[row] > spans.wall[row] {
        complain(format!("off_cpu {} above wall {}", spans.off_cpu[row].0, spans.wall[row].0));
    }
    if spans.net[row] > spans.elapsed(id) {
        complain(format!("net {} above elapsed {}", spans.net[row].0, spans.elapsed(id).0));
    }
    if spans.stolen[row] > spans.elapsed(id) && !is_clamped(trace, id) {
        complain(format!("stolen {} above elapsed {}", spans.stolen[row].0, spans.elapsed(id).0));
    }
    match spans.parent[row] {
        None if spans.depth[row] != 0 => {
            complain(format!("no caller at depth {}", spans.depth[row]));
        }
        None => {}
        Some(caller) => {
            let above = caller.index();
            if above >= row {
                complain("stands before its caller".to_owned());
            }
            if spans.depth[above] + 1 != spans.depth[row] {
                complain(format!(
                    "depth {} below a caller of {}",
                    spans.depth[row], spans.depth[above]
                ));
            }
            if spans.thread[above] != spans.thread[row] {
                complain("its caller is on another thread".to_owned());
            }
            if spans.start[row] < spans.start[above] || spans.end[row] > spans.end[above] {
                complain(format!("does not lie within its caller {}", label(trace, caller)));
            }
        }
    }
}

/// Siblings follow one another, callers come first.
fn check_order(trace: &Trace, found: &mut Vec<String>) {
    let spans = &trace.spans;
    let mut last: BTreeMap<(usize, Option<usize>), SpanId> = BTreeMap::new();
    for id in spans.ids() {
        let key = (spans.thread[id.index()].index(), spans.parent[id.index()].map(SpanId::index));
        if let Some(before) = last.insert(key, id)
            && spans.start[id.index()] < spans.end[before.index()]
        {
            found.push(format!(
                "{}: starts before {} has ended",
                label(trace, id),
                label(trace, before)
            ));
        }
    }
}

fn below(trace: &Trace, id: SpanId) -> u128 {
    trace.spans.children(id).map(|callee| elapsed(trace, callee)).sum()
}

/// The elapsed time of a call, as a type that holds the sum of many.
fn elapsed(trace: &Trace, id: SpanId) -> u128 {
    u128::from(trace.spans.elapsed(id).0)
}

fn is_clamped(trace: &Trace, id: SpanId) -> bool {
    below(trace, id) > elapsed(trace, id)
}

/// The net of all calls of a thread is the elapsed of its outermost ones.
fn check_sums(trace: &Trace, found: &mut Vec<String>) {
    let spans = &trace.spans;
    let mut sums: BTreeMap<usize, (u128, u128, bool)> = BTreeMap::new();
    let callees = callee_sums(trace);
    for id in spans.ids() {
        let row = id.index();
        let (net, roots, unequal) = sums.entry(spans.thread[row].index()).or_default();
        let net_of_call = u128::from(spans.net[row].0);
        *net += net_of_call;
        if spans.parent[row].is_none() {
            *roots += elapsed(trace, id);
        }
        // A net that the input states, or that was clamped, need not fit.
        *unequal |= callees[row] + net_of_call != elapsed(trace, id);
    }
    for (thread, (net, roots, unequal)) in sums {
        if net != roots && !unequal {
            let name = trace.names.threads.as_slice()[thread].label();
            found.push(format!("{name}: net {net} in all, elapsed {roots} of outermost calls"));
        }
    }
    for id in spans.ids() {
        // Callees that are longer than their caller leave an unknown part of it; see `broken`.
        let Some(left) = elapsed(trace, id).checked_sub(callees[id.index()]) else {
            continue;
        };
        let net = u128::from(spans.net[id.index()].0);
        if net > left {
            let call = label(trace, id);
            found.push(format!("{call}: net {net}, its callees leave {left}"));
        }
    }
}

fn callee_sums(trace: &Trace) -> Vec<u128> {
    let mut sums = vec![0; trace.spans.len()];
    for id in trace.spans.ids() {
        if let Some(caller) = trace.spans.parent[id.index()] {
            sums[caller.index()] += elapsed(trace, id);
        }
    }
    sums
}

/// A call is outermost unless a call of the same function is around it.
fn check_outermost(trace: &Trace, found: &mut Vec<String>) {
    let spans = &trace.spans;
    for id in spans.ids() {
        let func = spans.func[id];
        let mut above = spans.parent[id.index()];
        let mut nested = false;
        while let Some(caller) = above {
            nested |= spans.func[caller] == func;
            above = spans.parent[caller.index()];
        }
        if spans.outermost[id.index()] == nested {
            let word = if nested { "nested in" } else { "not nested in" };
            found.push(format!(
                "{}: {word} a call of itself, but marked otherwise",
                label(trace, id)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profctl_model::{
        Fidelity, Func, Names, Span, SpanSink, Thread, Tick, Ticks, Timebase, TraceBuilder,
        TraceMeta,
    };

    /// Calls as (name, start, end, net, callees), callees before callers.
    fn trace(calls: &[(&str, u64, u64, u64, u32)]) -> Trace {
        let mut names = Names::default();
        let thread = names.threads.push(Thread::default());
        let mut builder = TraceBuilder::default();
        for &(name, start, end, net, callees) in calls {
            let func = names.func(Func { name: name.into(), ..Func::default() });
            let span = Span {
                func,
                thread,
                cpu: None,
                start: Tick(start),
                end: Tick(end),
                wall: Ticks(end.abs_diff(start)),
                off_cpu: Ticks(0),
                net: Ticks(net),
                stolen: Ticks(0),
                callees,
                descendants: u64::from(callees),
                late: profctl_model::Late::NONE,
                outermost: true,
                interrupt: false,
                fidelity: Fidelity::EXACT,
            };
            builder.span(&span, &names);
        }
        let meta = TraceMeta {
            timebase: Timebase::NANOSECONDS,
            first: Tick(0),
            last: Tick(0),
            events: 0,
            knows_off_cpu: false,
            diags: profctl_model::DiagLog::default(),
        };
        builder.finish(meta, names)
    }

    #[test]
    fn sums_may_exceed_the_range_of_ticks() {
        let end = u64::MAX - 1;
        let long = trace(&[("a", 0, end, end, 0), ("b", 0, end, end, 0)]);
        let about_sums: Vec<_> =
            broken(&long).into_iter().filter(|sentence| sentence.contains("net")).collect();
        assert_eq!(about_sums, Vec::<String>::new());
    }

    #[test]
    fn a_sound_trace_passes() {
        let sound = trace(&[("b", 2, 5, 3, 0), ("a", 0, 10, 7, 1)]);
        assert_eq!(broken(&sound), Vec::<String>::new());
    }

    #[test]
    fn a_net_that_counts_its_callees_is_found() {
        let wrong = trace(&[("b", 2, 5, 3, 0), ("a", 0, 10, 10, 1)]);
        assert_eq!(broken(&wrong).len(), 1, "{:?}", broken(&wrong));
    }

    #[test]
    fn recursion_that_is_not_marked_is_found() {
        let mut wrong = trace(&[("a", 2, 5, 3, 0), ("a", 0, 10, 7, 1)]);
        assert_eq!(broken(&wrong), Vec::<String>::new());
        wrong.spans.outermost[1] = true;
        assert!(broken(&wrong)[0].contains("nested in a call of itself"));
    }
}
