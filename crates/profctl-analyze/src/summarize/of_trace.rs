//! The flat profile of a trace that is in memory already.

use profctl_model::{FuncId, FuncKind, IdVec, Late, Span, SpanId, SpanSink as _, ThreadId, Trace};

use super::{By, Options, Profile, Source, Summary};

impl Profile {
    /// The profile of all calls of `trace`.
    pub fn of_trace(trace: &Trace, options: Options, source: Source) -> Self {
        let spans = &trace.spans;
        let n = spans.len();
        let (mut callees, mut descendants) = (vec![0_u32; n], vec![0_u64; n]);
        // Parents come before children, so whatever is below a call was counted when its turn comes.
        for row in (0..n).rev() {
            if let Some(parent) = spans.parent[row] {
                callees[parent.index()] += 1;
                descendants[parent.index()] += descendants[row] + 1;
            }
        }
        let outermost = outermost(trace, options.by);
        let mut summary = Summary::new(options);
        for row in in_order_of_their_ends(trace) {
            let id = SpanId::from_index(row);
            let span = Span {
                func: spans.func[id],
                thread: spans.thread[row],
                cpu: spans.cpu[row],
                start: spans.start[row],
                end: spans.end[row],
                wall: spans.wall[row],
                off_cpu: spans.off_cpu[row],
                net: spans.net[row],
                stolen: spans.stolen[row],
                callees: callees[row],
                descendants: descendants[row],
                late: Late::NONE,
                outermost: outermost[row],
                interrupt: spans.interrupt[row],
                fidelity: spans.fidelity[row],
            };
            summary.span(&span, &trace.names);
        }
        summary.finish(&trace.names, &trace.meta, source)
    }
}

/// The calls such that each comes after its callees, as a stream has them.
fn in_order_of_their_ends(trace: &Trace) -> Vec<usize> {
    let spans = &trace.spans;
    let mut order = Vec::with_capacity(spans.len());
    let mut open: IdVec<ThreadId, Vec<usize>> = IdVec::default();
    for row in 0..spans.len() {
        let open = open.grow_to(spans.thread[row]);
        let parent = spans.parent[row].map(SpanId::index);
        while let Some(ended) = open.pop_if(|top| Some(*top) != parent) {
            order.push(ended);
        }
        open.push(row);
    }
    for mut open in open.into_items() {
        open.reverse();
        order.append(&mut open);
    }
    order
}

/// Which calls have no caller, or caller of a caller, in the same row of a profile by `by`.
fn outermost(trace: &Trace, by: By) -> Vec<bool> {
    let spans = &trace.spans;
    let same = |call: usize, caller: usize| {
        let (one, two) = (spans.func.as_slice()[call], spans.func.as_slice()[caller]);
        let kind = |row: usize, func: FuncId| {
            if spans.interrupt[row] { FuncKind::Interrupt } else { trace.names.funcs[func].kind }
        };
        match by {
            By::Function => one == two,
            By::Module => trace.names.funcs[one].module == trace.names.funcs[two].module,
            By::Kind => kind(call, one) == kind(caller, two),
            By::Thread | By::Cpu => true,
        }
    };
    if by == By::Function {
        return spans.outermost.clone();
    }
    let callers = |call: usize| {
        let parent = |row: usize| spans.parent[row].map(SpanId::index);
        std::iter::successors(parent(call), move |&row| parent(row))
    };
    (0..spans.len()).map(|call| !callers(call).any(|caller| same(call, caller))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::random_calls;

    proptest! {
        #[test]
        fn it_is_the_profile_of_the_stream(calls in random_calls()) {
            let (trace, streamed) = (calls.trace(), calls.profile());
            let (percentiles, by) = (streamed.has_percentiles, streamed.by);
            let options = Options { percentiles, by, call_graph: true };
            let source = streamed.sources[0].clone();
            prop_assert_eq!(Profile::of_trace(&trace, options, source), streamed);
        }
    }
}
