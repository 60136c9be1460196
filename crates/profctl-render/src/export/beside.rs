//! What is known of a call that the times of its entry and exit do not tell: where the input stated
//! durations, where only part of it was seen, where its thread was switched out. An export that is
//! to read back the same says it beside the call.

use profctl_model::{FuncKind, SpanId, Ticks, Timebase, Trace};

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
    /// What there is, by the name that exports call it by. Lengths are nanoseconds (or counts), as
    /// people expect, but for those that no whole number of nanoseconds tells.
    pub(super) fn named(self, timebase: &Timebase) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { wall, off_cpu, net, stolen, outermost, partial } = self;
        let length = |ticks: Option<Ticks>, name, in_ticks| match ticks {
            Some(ticks) => match told(timebase, ticks) {
                Some(nanoseconds) => (name, Some(nanoseconds)),
                None => (in_ticks, Some(ticks.0)),
            },
            None => (name, None),
        };
        [
            length(wall, "wall", "wall_ticks"),
            length(off_cpu, "off_cpu", "off_cpu_ticks"),
            length(net, "net", "net_ticks"),
            length(stolen, "stolen", "stolen_ticks"),
            ("outermost", outermost.map(u64::from)),
            ("partial", partial),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

/// The nanoseconds (or counts) that tell so many ticks, if a whole number does, and one that readers
/// of signed numbers understand.
pub(super) fn told(timebase: &Timebase, ticks: Ticks) -> Option<u64> {
    let nanoseconds = timebase.reported(ticks);
    let back = match timebase.ticks_of_nanos(nanoseconds.into()) {
        Some(back) => back,
        None => Ticks(nanoseconds),
    };
    (back == ticks && i64::try_from(nanoseconds).is_ok()).then_some(nanoseconds)
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

    /// Whether the callees of a call take longer than it: a reader that works out its net time
    /// would complain, once more.
    pub(super) fn is_clamped(&self, id: SpanId) -> bool {
        self.below[id.index()].0 > self.trace.spans.elapsed(id)
    }

    /// What stands beside one call.
    pub(super) fn call(&self, id: SpanId) -> Stated {
        let (spans, row) = (&self.trace.spans, id.index());
        let (wall, off_cpu) = (spans.wall[row], spans.off_cpu[row]);
        let (elapsed, stolen) = self.below[row];
        let own = spans.elapsed(id) - elapsed;
        let fidelity = spans.fidelity[row];
        let partial = u64::from(fidelity.start_inferred)
            | u64::from(fidelity.end_inferred) << 1
            | u64::from(fidelity.at_gap) << 2;
        Stated {
            wall: (wall != spans.end[row] - spans.start[row]).then_some(wall),
            off_cpu: (off_cpu > Ticks(0)).then_some(off_cpu),
            net: (spans.net[row] != own).then_some(spans.net[row]),
            stolen: (spans.stolen[row] != stolen).then_some(spans.stolen[row]),
            outermost: (spans.outermost[row] != self.outermost[row])
                .then_some(spans.outermost[row]),
            partial: (partial != 0).then_some(partial),
        }
    }
}
