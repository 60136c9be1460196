//! The lines of a code trace, in their order.

use std::cmp::Reverse;

use profctl_model::trace::Spans;
use profctl_model::{SpanId, ThreadId, Tick, Trace};

use crate::find;

/// One line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) time: Tick,
    /// Callers among what is shown.
    pub(super) depth: u32,
    pub(super) event: Event,
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Enter(SpanId),
    Leaf(SpanId),
    Exit(SpanId),
    /// A row of the trace's marks.
    Mark(usize),
}

/// All calls without a caller.
pub(super) fn outermost(trace: &Trace) -> Vec<SpanId> {
    trace.spans.ids().filter(|id| trace.spans.parent[id.index()].is_none()).collect()
}

/// The calls of the function called `name` that are not within another of them.
pub(super) fn calls_of(trace: &Trace, name: &str) -> Result<Vec<SpanId>, String> {
    let wanted = find::functions(&trace.names, name)?;
    let spans = &trace.spans;
    let mut roots = Vec::new();
    let mut end = 0;
    for id in spans.ids() {
        if id.index() >= end && wanted[spans.func[id]] {
            roots.push(id);
            end = subtree_end(spans, id);
        }
    }
    Ok(roots)
}

/// The call of the function called `name` with the largest elapsed time, the earliest of equals; a
/// complete one if there is any.
pub(super) fn slowest(trace: &Trace, name: &str) -> Result<Vec<SpanId>, String> {
    let wanted = find::functions(&trace.names, name)?;
    let spans = &trace.spans;
    let rank = |id: &SpanId| {
        let row = id.index();
        let whole = !spans.fidelity[row].is_partial();
        (whole, spans.elapsed(*id), Reverse(spans.start[row]), Reverse(row))
    };
    let slowest = spans.ids().filter(|&id| wanted[spans.func[id]]).max_by_key(rank);
    Ok(slowest.into_iter().collect())
}

/// The row after the last call below `id`.
fn subtree_end(spans: &Spans, id: SpanId) -> usize {
    let depth = spans.depth[id.index()];
    let below = spans.depth[id.index() + 1..].iter().take_while(|&&other| other > depth);
    id.index() + 1 + below.count()
}

/// The lines of the calls `roots` and of all below them, at most `max_depth` levels; of the marks
/// those within a shown call, and the others too if `with_loose_marks`.
pub(super) fn of(
    trace: &Trace,
    roots: &[SpanId],
    max_depth: Option<u32>,
    with_loose_marks: bool,
) -> Vec<Line> {
    let spans = &trace.spans;
    let max_depth = max_depth.unwrap_or(u32::MAX);
    let mut lines = Vec::new();
    let marks = MarksByThread::new(trace);
    let mut threads = Vec::new();
    let mut rest = roots;
    while let Some(&first) = rest.first() {
        // Roots come thread by thread, as all calls do.
        let thread = spans.thread[first.index()];
        let n = rest.iter().take_while(|root| spans.thread[root.index()] == thread).count();
        let mut of_thread = Vec::new();
        for &root in &rest[..n] {
            push_subtree(spans, root, max_depth, &mut of_thread);
        }
        rest = &rest[n..];
        threads.push(thread);
        let marks = marks.of(thread);
        merge_marks(trace, of_thread, marks, max_depth, with_loose_marks, &mut lines);
    }
    if with_loose_marks {
        // Threads that have marks and no call.
        let loose = marks.marks.iter().filter(|mark| threads.binary_search(&mark.0).is_err());
        lines.extend(loose.map(|&(_, _, row)| mark_line(trace, row, 0)));
    }
    // Stable: what one thread did at one time stays in its order.
    lines.sort_by_key(|line| line.time);
    lines
}

/// Appends the lines of one call and of all below it.
fn push_subtree(spans: &Spans, root: SpanId, max_depth: u32, lines: &mut Vec<Line>) {
    let base = spans.depth[root.index()];
    let mut open: Vec<SpanId> = Vec::new();
    let exit = |id: SpanId, open: usize| Line {
        time: spans.end[id.index()],
        depth: open as u32,
        event: Event::Exit(id),
    };
    for row in root.index()..subtree_end(spans, root) {
        let depth = spans.depth[row] - base;
        if depth >= max_depth {
            continue;
        }
        while open.len() > depth as usize {
            let id = open.pop().expect("longer than some length");
            lines.push(exit(id, open.len()));
        }
        let id = SpanId::from_index(row);
        let is_leaf = spans.parent.get(row + 1).is_none_or(|&parent| parent != Some(id));
        let event = if is_leaf { Event::Leaf(id) } else { Event::Enter(id) };
        lines.push(Line { time: spans.start[row], depth, event });
        if !is_leaf {
            open.push(id);
        }
    }
    while let Some(id) = open.pop() {
        lines.push(exit(id, open.len()));
    }
}

/// The rows of the trace's marks, by thread and in time order.
struct MarksByThread {
    marks: Vec<(ThreadId, Tick, usize)>,
}

impl MarksByThread {
    fn new(trace: &Trace) -> Self {
        let marks = trace.marks.iter().enumerate();
        let mut marks: Vec<_> = marks.map(|(row, mark)| (mark.thread, mark.time, row)).collect();
        marks.sort_unstable();
        Self { marks }
    }

    fn of(&self, thread: ThreadId) -> impl Iterator<Item = usize> + '_ {
        let first = self.marks.partition_point(|mark| mark.0 < thread);
        self.marks[first..].iter().take_while(move |mark| mark.0 == thread).map(|&(_, _, row)| row)
    }
}

fn mark_line(trace: &Trace, mark: usize, depth: u32) -> Line {
    Line { time: trace.marks[mark].time, depth, event: Event::Mark(mark) }
}

/// Puts the marks of a thread between its lines: within the calls that were open, according to the
/// times and the depth of the mark.
fn merge_marks(
    trace: &Trace,
    lines: Vec<Line>,
    marks: impl Iterator<Item = usize>,
    max_depth: u32,
    with_loose_marks: bool,
    out: &mut Vec<Line>,
) {
    let mut marks = marks.peekable();
    // How many callers of the shown calls are not shown, and how many shown calls are open.
    let (mut base, mut open) = (0, 0);
    for line in lines {
        while let Some(mark) = marks.next_if(|&mark| is_before(trace, mark, &line, base)) {
            if (open > 0 || with_loose_marks) && open < max_depth {
                out.push(mark_line(trace, mark, open));
            }
        }
        match line.event {
            Event::Enter(span) => {
                base = trace.spans.depth[span.index()] - line.depth;
                open = line.depth + 1;
            }
            Event::Exit(_) => open = line.depth,
            Event::Leaf(_) | Event::Mark(_) => {}
        }
        out.push(line);
    }
    if with_loose_marks {
        out.extend(marks.map(|mark| mark_line(trace, mark, 0)));
    }
}

/// Whether a mark belongs before a line of its thread.
fn is_before(trace: &Trace, mark: usize, line: &Line, base: u32) -> bool {
    let mark = &trace.marks[mark];
    if mark.time != line.time {
        return mark.time < line.time;
    }
    match line.event {
        // An exit that closes the call in which the mark was made.
        Event::Exit(_) => line.depth + base < mark.depth,
        Event::Enter(span) | Event::Leaf(span) => trace.spans.depth[span.index()] >= mark.depth,
        Event::Mark(_) => false,
    }
}
