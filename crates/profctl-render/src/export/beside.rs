//! What is known of a call that the times of its entry and exit do not tell: where the input stated
//! durations, where only part of it was seen, where its thread was switched out. An export that is
//! to read back the same says it beside the call.

use profctl_model::{FuncKind, SpanId, Ticks, Trace};

/// Finds it, by comparing each call with what its times and its callees would tell.
pub(super) struct Beside<'a> {
    trace: &'a Trace,
    /// Per call: the elapsed time of its callees, and of the interrupts among them.
    below: Vec<(Ticks, Ticks)>,
    /// Per call: whether no call of the same function is open below it.
    outermost: Vec<bool>,
}

/// What stands beside one call; nothing where its times tell it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Stated {
    pub(super) wall: Option<Ticks>,
    pub(super) off_cpu: Option<Ticks>,
    pub(super) net: Option<Ticks>,
    pub(super) stolen: Option<Ticks>,
    pub(super) outermost: Option<bool>,
    /// 1 if its start is inferred, 2 if its end is, 4 if a loss cut it, added up.
    pub(super) partial: Option<u64>,
}

impl Stated {
    /// What there is, by the name that exports call it by.
    pub(super) fn named(self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { wall, off_cpu, net, stolen, outermost, partial } = self;
        let ticks = |ticks: Option<Ticks>| ticks.map(|ticks| ticks.0);
        [
            ("wall", ticks(wall)),
            ("off_cpu", ticks(off_cpu)),
            ("net", ticks(net)),
            ("stolen", ticks(stolen)),
            ("outermost", outermost.map(u64::from)),
            ("partial", partial),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

impl<'a> Beside<'a> {
    /// Goes once through the calls of `trace`.
    pub(super) fn of(trace: &'a Trace) -> Self {
        let spans = &trace.spans;
        let mut below = vec![(Ticks(0), Ticks(0)); spans.len()];
        let mut outermost = vec![true; spans.len()];
        let mut open: Vec<SpanId> = Vec::new();
        let mut n_open = vec![0_u32; trace.names.funcs.len()];
        for id in spans.ids() {
            let func = spans.func[id];
            let parent = spans.parent[id.index()];
            while open.last().copied() != parent
                && let Some(ended) = open.pop()
            {
                n_open[spans.func[ended].index()] -= 1;
            }
            if let Some(parent) = parent {
                let (elapsed, stolen) = &mut below[parent.index()];
                *elapsed += spans.elapsed(id);
                if trace.names.funcs[func].kind == FuncKind::Interrupt {
                    *stolen += spans.elapsed(id);
                }
            }
            outermost[id.index()] = n_open[func.index()] == 0;
            open.push(id);
            n_open[func.index()] += 1;
        }
        Self { trace, below, outermost }
    }

    /// What stands beside one call.
    pub(super) fn call(&self, id: SpanId) -> Stated {
        let (spans, row) = (&self.trace.spans, id.index());
        let (wall, off_cpu) = (spans.wall[row], spans.off_cpu[row]);
        let (elapsed, stolen) = self.below[row];
        let own = spans.elapsed(id) - elapsed;
        let is_clamped = elapsed > spans.elapsed(id);
        let fidelity = spans.fidelity[row];
        let partial = u64::from(fidelity.start_inferred)
            | u64::from(fidelity.end_inferred) << 1
            | u64::from(fidelity.at_gap) << 2;
        Stated {
            wall: (wall != spans.end[row] - spans.start[row]).then_some(wall),
            off_cpu: (off_cpu > Ticks(0)).then_some(off_cpu),
            net: (spans.net[row] != own || is_clamped).then_some(spans.net[row]),
            stolen: (spans.stolen[row] != stolen).then_some(spans.stolen[row]),
            outermost: (spans.outermost[row] != self.outermost[row])
                .then_some(spans.outermost[row]),
            partial: (partial != 0).then_some(partial),
        }
    }
}
