//! The window of one call cut into segments; the parent module explains them.

use profctl_model::{FuncId, FuncKind, RunState, SpanId, ThreadId, Tick, Ticks, Trace};

/// What a thread was doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum State {
    Running,
    Interrupt,
    OffCpu,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupt => "interrupt",
            Self::OffCpu => "off-cpu",
        }
    }
}

/// One interval of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) start: Tick,
    pub(super) end: Tick,
    pub(super) depth: u32,
    pub(super) state: State,
    pub(super) func: FuncId,
    /// The call on whose level it is: of the function, or the interrupted one.
    pub(super) call: SpanId,
}

impl Segment {
    pub(super) fn length(&self) -> Ticks {
        self.end - self.start
    }
}

/// The segments of the window of `root`, in order.
pub(super) fn of(trace: &Trace, root: SpanId) -> Vec<Segment> {
    let mut running = Vec::new();
    along_path(trace, root, &mut running);
    let thread = trace.spans.thread[root.index()];
    let interrupts = interrupts_below(trace, root);
    let absences = absences_of(trace, thread);
    let mut segments = Vec::new();
    for segment in running {
        for part in cut(segment, &absences) {
            segments.extend(cut(part, &interrupts));
        }
    }
    segments
}

/// The same with each interrupt in one piece, wherever the path leads on within it.
pub(super) fn with_whole_interrupts(trace: &Trace, root: SpanId) -> Vec<Segment> {
    let mut merged: Vec<Segment> = Vec::new();
    for segment in of(trace, root) {
        let is_next = |last: &&mut Segment| {
            let states = [last.state, segment.state];
            states == [State::Interrupt; 2]
                && last.func == segment.func
                && last.end == segment.start
        };
        match merged.last_mut().filter(is_next) {
            Some(last) => {
                last.end = segment.end;
                last.depth = last.depth.min(segment.depth);
            }
            None => merged.push(segment),
        }
    }
    merged
}

/// The window as own time of the calls on the path and whole callees beside it. Iterative, because
/// recorded stacks may be deeper than ours.
fn along_path(trace: &Trace, root: SpanId, out: &mut Vec<Segment>) {
    let spans = &trace.spans;
    let mut after = Vec::new();
    let mut next = Some((root, 0_u32));
    while let Some((call, depth)) = next.take() {
        let (start, end) = (spans.start[call.index()], spans.end[call.index()]);
        let dearest = spans.children(call).fold(None, |best: Option<SpanId>, child| match best {
            Some(best) if spans.elapsed(best) >= spans.elapsed(child) => Some(best),
            Some(_) | None => Some(child),
        });
        let own = |start, end| Segment {
            start,
            end,
            depth,
            state: State::Running,
            func: spans.func[call],
            call,
        };
        // What comes after the slowest callee is put aside until that one has been cut itself.
        let mut tail = Vec::new();
        let mut is_before = true;
        let mut now = start;
        for child in spans.children(call) {
            let row = child.index();
            let (child_start, child_end) = (spans.start[row], spans.end[row]);
            let side = if is_before { &mut *out } else { &mut tail };
            push(side, own(now, child_start));
            if Some(child) == dearest {
                is_before = false;
                next = Some((child, depth + 1));
            } else {
                let beside = own(child_start, child_end);
                let func = spans.func[child];
                push(side, Segment { depth: depth + 1, func, call: child, ..beside });
            }
            now = child_end;
        }
        push(if is_before { &mut *out } else { &mut tail }, own(now, end));
        after.push(tail);
    }
    for tail in after.into_iter().rev() {
        out.extend(tail);
    }
}

fn push(segments: &mut Vec<Segment>, segment: Segment) {
    if segment.start < segment.end {
        segments.push(segment);
    }
}

/// An interval that is in another state than running.
struct Stretch {
    start: Tick,
    end: Tick,
    state: State,
    /// The call whose time it is, if not that of the segment.
    func: Option<FuncId>,
}

/// The interrupts below a call that are not within another such, in order.
fn interrupts_below(trace: &Trace, root: SpanId) -> Vec<Stretch> {
    let spans = &trace.spans;
    let depth = spans.depth[root.index()];
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut inside = u32::MAX;
    let below = (root.index() + 1..spans.len()).take_while(|&row| spans.depth[row] > depth);
    for row in below {
        if spans.depth[row] > inside {
            continue;
        }
        inside = u32::MAX;
        let func = spans.func[SpanId::from_index(row)];
        if trace.names.funcs[func].kind == FuncKind::Interrupt {
            inside = spans.depth[row];
            let (start, end) = (spans.start[row], spans.end[row]);
            stretches.push(Stretch { start, end, state: State::Interrupt, func: Some(func) });
        }
    }
    stretches
}

/// When a thread was known to be off the CPU.
fn absences_of(trace: &Trace, thread: ThreadId) -> Vec<Stretch> {
    let off = |state: &RunState| state.is_runnable() || state.is_blocked();
    let states = trace.states_of(thread).iter().filter(|state| off(&state.state));
    states
        .filter(|state| state.start < state.end)
        .map(|state| Stretch {
            start: state.start,
            end: state.end,
            state: State::OffCpu,
            func: None,
        })
        .collect()
}

/// `segment` split where the sorted `stretches` begin and end.
fn cut(segment: Segment, stretches: &[Stretch]) -> Vec<Segment> {
    let mut parts = Vec::new();
    let mut now = segment.start;
    let first = stretches.partition_point(|stretch| stretch.end <= segment.start);
    for stretch in stretches[first..].iter().take_while(|stretch| stretch.start < segment.end) {
        let (start, end) = (stretch.start.max(now), stretch.end.min(segment.end));
        push(&mut parts, Segment { start: now, end: start, ..segment });
        let func = stretch.func.unwrap_or(segment.func);
        push(&mut parts, Segment { start, end, state: stretch.state, func, ..segment });
        now = now.max(end);
    }
    push(&mut parts, Segment { start: now, ..segment });
    parts
}
