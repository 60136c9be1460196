//! The critical path: what bounds the time of a thread, or of one call.
//!
//! Where the trace says what threads were doing, the path runs across threads (see [`chain`]);
//! else, and for pictures of one call, within a thread: what one call's time consists of, along its
//! callees of the largest elapsed time.
//!
//! A thread does one thing at a time, so everything in the window of a call bounds its length; the
//! path selects the part to look at. The *path* starts at the chosen call and goes on to the callee
//! of the largest elapsed time (the earliest of equals), to that one's slowest callee, and so on
//! down to a call without callees. The window is then cut where the path's calls and their callees
//! begin and end:
//!
//! ```text
//! syscall   |--|                                        |-----|      own time of a call on the path
//! read         |-|     |--|                    |--------|
//! copyin         |-----|                                             a callee beside the path, whole
//! soreceive              |--|......|--|  |-----|                     on the path; ..: switched out
//! hardclock                           |--|                           an interrupt
//! ```
//!
//! Each segment is in one of three states. `interrupt`: an interrupt handler below the chosen call
//! ran, which is then the segment's function, however deep it interrupted. `off-cpu`: the thread
//! was switched out, according to the intervals for which the input says that it ran; an interrupt
//! wins over it. `running`: neither. The segments follow one another without a hole or an overlap
//! and sum to the end of the call minus its start. Empty segments are omitted.
//!
//! `depth` counts from the chosen call, which has 0; a callee beside the path is one deeper than
//! its caller.

mod across;
pub mod chain;
mod json;
mod segments;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use profctl_model::hash::FastMap;
use profctl_model::{Cell, Column, FuncKind, Role, SpanId, Table, ThreadId, Tick, Ticks, Trace};

use crate::find;
use crate::sched::RECORD_SWITCHES;
use crate::summarize::{NO_DURATIONS, Quality, count};
use chain::{Chain, Link, Wait};
use segments::{Segment, State};

/// Which complete call of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Which {
    /// The one of the largest elapsed time, the earliest of equals.
    #[default]
    Slowest,
    /// The one in the middle of all, ordered by elapsed time; of two the faster.
    Median,
}

/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The function; if not given, any outermost call.
    pub of: Option<String>,
    /// Which of the calls.
    pub which: Which,
    /// Only calls of this thread: its name, its id, or both as `name-id`.
    pub thread: Option<String>,
    /// Only calls that were open at this time.
    pub at: Option<Tick>,
}

/// How the path is summed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathBy {
    /// Not at all: its intervals, in time order.
    #[default]
    Segment,
    /// By thread.
    Thread,
    /// By function or source of the wait.
    Function,
}

/// The path that answers `options`: across threads; nothing where the trace does not say what they
/// did.
pub fn chain_of(trace: &Trace, options: &Options) -> Result<Option<Chain>, String> {
    if trace.states.is_empty() {
        return Ok(None);
    }
    if options.of.is_some() {
        let chosen = choose(trace, options)?;
        let (start, length) = window(trace, chosen.span);
        let thread = trace.spans.thread[chosen.span.index()];
        return Ok(Some(chain::walk(trace, thread, start, start + length)));
    }
    let thread = match &options.thread {
        Some(wanted) => {
            let mut found = threads_called(trace, wanted)?;
            found.retain(|thread| chain::life(trace, *thread).is_some());
            let lived = |thread: &ThreadId| {
                chain::life(trace, *thread).map_or(Ticks(0), |(start, end)| end - start)
            };
            found.sort_by_key(|thread| (Reverse(lived(thread)), *thread));
            found.first().copied()
        }
        None => chain::default_thread(trace),
    };
    Ok(thread.and_then(|thread| {
        let (start, end) = chain::life(trace, thread)?;
        Some(chain::walk(trace, thread, start, end))
    }))
}

/// The path as a table.
pub fn report(trace: &Trace, options: &Options, by: PathBy) -> Result<Table, String> {
    match (chain_of(trace, options)?, by) {
        (Some(chain), PathBy::Segment) => Ok(across::table(trace, &chain)),
        (Some(chain), PathBy::Thread) => Ok(across::by_thread(trace, &chain)),
        (Some(chain), PathBy::Function) => Ok(across::by_function(trace, &chain)),
        (None, PathBy::Segment) => table(trace, options),
        (None, PathBy::Function) => by_function(trace, options),
        (None, PathBy::Thread) => Err(RECORD_SWITCHES.into()),
    }
}

/// The path as a document.
pub fn json(trace: &Trace, options: &Options) -> Result<String, String> {
    let chain = match chain_of(trace, options)? {
        Some(chain) => chain,
        None => within(trace, options)?,
    };
    Ok(json::document(trace, &chain))
}

/// What changed of the path from one trace to another.
pub fn diff(before: &Trace, after: &Trace, options: &Options) -> Result<Table, String> {
    let chain = |trace| -> Result<Chain, String> {
        match chain_of(trace, options)? {
            Some(chain) => Ok(chain),
            None => within(trace, options),
        }
    };
    Ok(across::diff((before, &chain(before)?), (after, &chain(after)?)))
}

/// The path within one call, as one across threads that never leaves its thread.
fn within(trace: &Trace, options: &Options) -> Result<Chain, String> {
    let chosen = choose(trace, options)?;
    let (start, length) = window(trace, chosen.span);
    let thread = trace.spans.thread[chosen.span.index()];
    let cpu = trace.spans.cpu[chosen.span.index()];
    let link = |segment: Segment| {
        let is_off = segment.state == State::OffCpu;
        let wait = if is_off { Wait::Blocked } else { Wait::Running };
        let Segment { start, end, func, .. } = segment;
        let cpu = cpu.filter(|_| !is_off);
        let function = Some(func);
        Link { thread, wait, start, end, cpu, source: None, function, waker: None }
    };
    let segments = segments::with_whole_interrupts(trace, chosen.span);
    let links = segments.into_iter().map(link).collect();
    Ok(Chain { thread, start, end: start + length, links })
}

/// The segments of the path, in time order.
pub fn table(trace: &Trace, options: &Options) -> Result<Table, String> {
    let chosen = choose(trace, options)?;
    let mut table = Table::new(
        "profctl.critical-path/1",
        trace.meta.timebase,
        vec![
            Column::new("from", "from", Role::Time),
            Column::new("length", "length", Role::Time),
            Column::new("share", "% of path", Role::Percent),
            Column::new("depth", "depth", Role::Count),
            Column::new("state", "state", Role::Text),
            Column::new("function", "function", Role::Name),
        ],
    );
    table.left_out_first = &["depth", "share", "from"];
    let (start, whole) = window(trace, chosen.span);
    for segment in segments::with_whole_interrupts(trace, chosen.span) {
        table.push(vec![
            Cell::Time(segment.start - start),
            Cell::Time(segment.length()),
            share(segment.length(), whole),
            Cell::Count(u64::from(segment.depth)),
            segment.state.name().into(),
            function_name(trace, &segment).into(),
        ]);
    }
    table.notes = notes(trace, &chosen);
    Ok(table)
}

/// The segments summed by function and state, the longest first.
pub fn by_function(trace: &Trace, options: &Options) -> Result<Table, String> {
    let chosen = choose(trace, options)?;
    let mut table = Table::new(
        "profctl.critical-path-functions/1",
        trace.meta.timebase,
        vec![
            Column::new("length", "length", Role::Time),
            Column::new("share", "% of path", Role::Percent),
            Column::new("segments", "# segments", Role::Count),
            Column::new("state", "state", Role::Text),
            Column::new("function", "function", Role::Name),
        ],
    );
    let (_, whole) = window(trace, chosen.span);
    let mut places: FastMap<(&str, State), usize> = FastMap::default();
    let mut sums: Vec<(&str, State, Ticks, u64)> = Vec::new();
    for segment in segments::with_whole_interrupts(trace, chosen.span) {
        let name = function_name(trace, &segment);
        let place = *places.entry((name, segment.state)).or_insert(sums.len());
        if place == sums.len() {
            sums.push((name, segment.state, Ticks(0), 0));
        }
        sums[place].2 += segment.length();
        sums[place].3 += 1;
    }
    sums.sort_by_key(|&(name, state, length, _)| (Reverse(length), name, state));
    for (name, state, length, n) in sums {
        table.push(vec![
            Cell::Time(length),
            share(length, whole),
            Cell::Count(n),
            state.name().into(),
            name.into(),
        ]);
    }
    table.notes = notes(trace, &chosen);
    Ok(table)
}

/// An interval of the path, for pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The call that it lies in: on the path, beside it, or interrupted.
    pub call: SpanId,
    /// From.
    pub start: Tick,
    /// To.
    pub end: Tick,
}

/// The intervals of the path, in time order: those of [`table`], call by call.
pub fn steps(trace: &Trace, options: &Options) -> Result<Vec<Step>, String> {
    let chosen = choose(trace, options)?;
    let segments = segments::of(trace, chosen.span).into_iter();
    Ok(segments.map(|Segment { call, start, end, .. }| Step { call, start, end }).collect())
}

/// The call to look at, and from how many it was chosen.
struct Chosen {
    span: SpanId,
    n: usize,
}

fn choose(trace: &Trace, options: &Options) -> Result<Chosen, String> {
    if !trace.meta.knows_lengths() {
        return Err(NO_DURATIONS.into());
    }
    let spans = &trace.spans;
    let threads = match &options.thread {
        Some(wanted) => Some(threads_called(trace, wanted)?),
        None => None,
    };
    let funcs = match &options.of {
        Some(name) => Some(find::functions(&trace.names, name)?),
        None => None,
    };
    let is_candidate = |id: &SpanId| {
        let row = id.index();
        threads.as_ref().is_none_or(|wanted| wanted.contains(&spans.thread[row]))
            && options.at.is_none_or(|at| spans.start[row] <= at && at < spans.end[row])
            && match &funcs {
                Some(wanted) => wanted[spans.func[*id]] && !spans.fidelity[row].is_partial(),
                None => spans.parent[row].is_none(),
            }
    };
    let mut candidates: Vec<SpanId> = spans.ids().filter(is_candidate).collect();
    // Idle time bounds nothing, unless it was asked for or there is nothing else.
    let is_idle = |id: &SpanId| {
        trace.names.threads[spans.thread[id.index()]].idle
            || trace.names.funcs[spans.func[*id]].kind == FuncKind::Idle
    };
    if threads.is_none() && funcs.is_none() && !candidates.iter().all(is_idle) {
        candidates.retain(|id| !is_idle(id));
    }
    // Equals: the earlier one is the slower.
    candidates
        .sort_by_key(|&id| (spans.elapsed(id), Reverse(spans.start[id.index()]), Reverse(id)));
    let n = candidates.len();
    let place = match options.which {
        Which::Slowest => n.checked_sub(1),
        Which::Median => n.checked_sub(1).map(|last| last / 2),
    };
    match place {
        Some(place) => Ok(Chosen { span: candidates[place], n }),
        None => Err(match &options.of {
            Some(name) => format!("no complete call of {name}"),
            None => "no calls in this trace (see `profctl info`)".into(),
        }),
    }
}

fn threads_called(trace: &Trace, wanted: &str) -> Result<Vec<ThreadId>, String> {
    let threads = &trace.names.threads;
    let found: Vec<_> = threads
        .pairs()
        .filter(|(_, thread)| {
            thread.name == wanted
                || thread.label() == wanted
                || thread.tid.is_some_and(|tid| tid.to_string() == wanted)
        })
        .map(|(id, _)| id)
        .collect();
    if found.is_empty() {
        let labels: Vec<_> = threads.iter().map(profctl_model::Thread::label).collect();
        return Err(find::unknown("thread", wanted, labels.iter().map(String::as_str)));
    }
    Ok(found)
}

fn window(trace: &Trace, span: SpanId) -> (Tick, Ticks) {
    let start = trace.spans.start[span.index()];
    (start, trace.spans.end[span.index()] - start)
}

fn share(part: Ticks, whole: Ticks) -> Cell {
    if whole.0 == 0 {
        return Cell::Null;
    }
    Cell::Percent(part.0 as f64 / whole.0 as f64 * 100.0)
}

fn function_name<'a>(trace: &'a Trace, segment: &Segment) -> &'a str {
    &trace.names.funcs[segment.func].name
}

fn notes(trace: &Trace, chosen: &Chosen) -> Vec<String> {
    let row = chosen.span.index();
    let func = &trace.names.funcs[trace.spans.func[chosen.span]].name;
    let thread = trace.names.threads[trace.spans.thread[row]].label();
    let calls = count(chosen.n as u64, "call", "calls");
    let mut notes = vec![format!("path: slowest of {calls}: {func} on {thread}")];
    if trace.spans.fidelity[row].is_partial() {
        notes.push("incomplete call: its entry or exit was not recorded".into());
    }
    notes.extend(Quality::of(&trace.meta.diags).notes(trace.meta.timebase.timeline));
    notes
}
