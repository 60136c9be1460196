//! Samples as sums, and markers as calls.

use std::cmp::Reverse;

use profctl_model::diag::codes::SKIPPED_RECORD;
use profctl_model::{Func, FuncKind};

use super::Mode;
use super::parse::{Profile, Tables, Thread, nanos};
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::samples::Samples;
use crate::text::decimal;

/// Reads a whole file.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub(super) mode: Mode,
}

/// What a sample stands for where the profile does not say: a millisecond.
const INTERVAL: u64 = 1_000_000;

impl Reader for Whole {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(*self)
    }

    fn boundary(&self, _bytes: &[u8]) -> usize {
        // Only the end of the file is one.
        0
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        out.lines += memchr::memchr_iter(b'\n', block.bytes).count() as u64;
        let profile = Profile::new(block.bytes);
        for thread in &profile.threads {
            let tables =
                if profile.shared.strings.is_empty() { &thread.own } else { &profile.shared };
            match self.mode {
                Mode::Samples => {
                    samples(thread, tables, profile.interval.unwrap_or(INTERVAL), out);
                }
                Mode::Markers => markers(thread, tables, out),
            }
        }
        if let Some((at, stop)) = profile.stopped {
            stop.report(block.bytes, at, out);
        }
        None
    }
}

/// A thread by its ids, or by its name alone; `suffix` tells its lanes apart.
fn lane(thread: &Thread<'_>, suffix: &str, out: &mut Emitter) -> LaneRef {
    let Thread { name, process, pid, tid, .. } = thread;
    let name = if name.is_empty() { process } else { name };
    let thread = match (pid, tid) {
        (Some(pid), Some(tid)) if suffix.is_empty() => {
            ThreadKey::Member { pid: *pid, tid: *tid, name: name.clone() }
        }
        (_, Some(tid)) => ThreadKey::Named(format!("{name}-{tid}{suffix}")),
        _ => ThreadKey::Named(format!("{name}{suffix}")),
    };
    out.lane(LaneKey { cpu: None, thread })
}

/// The function of each row of the table of functions: its file or library is its module.
fn functions(tables: &Tables<'_>, out: &mut Emitter) -> Vec<NameRef> {
    let rows = tables.funcs.column("name").len();
    let function = |row: usize| {
        let name = tables.string(tables.funcs.index("name", row));
        let file = tables.string(tables.funcs.index("fileName", row));
        let resource = tables.funcs.index("resource", row);
        let resource = resource.and_then(|row| tables.resources.index("name", row));
        let path = if file.is_empty() { tables.string(resource) } else { file };
        let base = path.rsplit('/').next().unwrap_or_default();
        let module = (!base.is_empty()).then(|| base.to_owned());
        let name = if name.is_empty() { "(anonymous)".to_owned() } else { name };
        let spelling = format!("{name}\0{}", module.as_deref().unwrap_or("\0"));
        out.name(spelling.as_bytes(), |_| Func { name, module, ..Func::default() })
    };
    (0..rows).map(function).collect()
}

/// The functions of each stack, the outermost first. What is damaged has none.
struct Stacks<'t> {
    tables: &'t Tables<'t>,
    functions: Vec<NameRef>,
}

impl Stacks<'_> {
    fn of(&self, stack: usize) -> Option<Vec<NameRef>> {
        let Tables { stacks, frames, .. } = self.tables;
        let rows = stacks.column("frame").len();
        let mut found = Vec::new();
        let mut next = Some(stack);
        while let Some(row) = next {
            let func = frames.index("func", stacks.index("frame", row)?)?;
            found.push(*self.functions.get(func)?);
            // A ring.
            if found.len() > rows {
                return None;
            }
            next = stacks.index("prefix", row);
        }
        found.reverse();
        Some(found)
    }
}

fn samples(thread: &Thread<'_>, tables: &Tables<'_>, interval: u64, out: &mut Emitter) {
    let table = &thread.sampled;
    let lane = lane(thread, "", out);
    let stacks = Stacks { tables, functions: functions(tables, out) };
    let weights = table.column("weight");
    let mut open = Samples::new(lane);
    for (row, stack) in table.column("stack").iter().enumerate() {
        out.records += 1;
        // No stack: the thread was not running.
        let Some(stack) = decimal(stack, 0) else { continue };
        let found = usize::try_from(stack).ok().and_then(|stack| stacks.of(stack));
        let Some(stack) = found else {
            out.diag(&SKIPPED_RECORD, 0, || {
                format!("a sample of stack {stack}, which is not described")
            });
            continue;
        };
        // What was freed counts below zero, and is no time.
        let weight = weights.get(row).map_or(Some(1), |weight| decimal(weight, 0)).unwrap_or(1);
        open.are(&stack, None, 0, out);
        open.last(weight.saturating_mul(interval), 0, out);
    }
    open.are(&[], None, 0, out);
}

/// A marker with a length.
#[derive(Clone, Copy)]
struct Interval {
    start: u64,
    end: u64,
    name: NameRef,
}

/// Markers say where they begin and end, and may overlap in any way: those that nest are on one
/// thread, others on further ones.
fn markers(thread: &Thread<'_>, tables: &Tables<'_>, out: &mut Emitter) {
    let table = &thread.marked;
    let (starts, ends) = (table.column("startTime"), table.column("endTime"));
    let time = |column: &[&[u8]], row: usize| nanos(column.get(row)?);
    let mut intervals = Vec::new();
    let mut instants = Vec::new();
    let mut open: Vec<(usize, u64)> = Vec::new();
    for row in 0..thread.markers() {
        out.records += 1;
        let Some(string) = table.index("name", row) else { continue };
        let name = tables.string(Some(string));
        // An instant, an interval, the beginning of one, its end.
        let phase = table.index("phase", row);
        let (start, end) = (time(starts, row), time(ends, row));
        let interval = match (phase, start, end) {
            (Some(0) | None, Some(at), None) => {
                instants.push((at, out.func(&name, FuncKind::Mark)));
                continue;
            }
            (Some(2), Some(start), _) => {
                open.push((string, start));
                continue;
            }
            (Some(3), _, Some(end)) => {
                let begun = open.iter().rposition(|(begun, _)| *begun == string);
                begun.map(|row| (open.remove(row).1, end))
            }
            (_, Some(start), Some(end)) => Some((start, end)),
            _ => None,
        };
        let Some((start, end)) = interval else {
            out.diag(&SKIPPED_RECORD, 0, || format!("a marker `{name}` without its times"));
            continue;
        };
        let name = out.func(&name, FuncKind::Function);
        intervals.push(Interval { start, end: end.max(start), name });
    }
    intervals.sort_by_key(|interval| (interval.start, Reverse(interval.end)));
    for (n, intervals) in nested(&intervals).iter().enumerate() {
        let suffix = if n == 0 { String::new() } else { format!(" ({})", n + 1) };
        calls(intervals, lane(thread, &suffix, out), out);
    }
    let lane = lane(thread, "", out);
    for (time, name) in instants {
        out.instant(At { time: Some(time), lane, offset: 0 }, name);
    }
    // What was begun and has no end.
    for (string, start) in open {
        let name = out.func(&tables.string(Some(string)), FuncKind::Function);
        out.unmeasured(At { time: Some(start), lane, offset: 0 }, name);
    }
}

/// Intervals in the order of their starts, in as many rows as it takes for those of a row to nest.
fn nested(intervals: &[Interval]) -> Vec<Vec<Interval>> {
    let mut rows: Vec<(Vec<Interval>, Vec<u64>)> = Vec::new();
    for interval in intervals {
        let fits = |(_, ends): &mut (Vec<Interval>, Vec<u64>)| {
            while ends.pop_if(|end| *end <= interval.start).is_some() {}
            ends.last().is_none_or(|end| *end >= interval.end)
        };
        let row = match rows.iter_mut().position(fits) {
            Some(row) => row,
            None => {
                rows.push((Vec::new(), Vec::new()));
                rows.len() - 1
            }
        };
        rows[row].0.push(*interval);
        rows[row].1.push(interval.end);
    }
    rows.into_iter().map(|(intervals, _)| intervals).collect()
}

/// Says intervals that nest.
fn calls(intervals: &[Interval], lane: LaneRef, out: &mut Emitter) {
    let at = |time| At { time: Some(time), lane, offset: 0 };
    let mut open: Vec<Interval> = Vec::new();
    for interval in intervals {
        while let Some(ended) = open.pop_if(|open| open.end <= interval.start) {
            out.exit(at(ended.end), Some(ended.name), Stated::NOTHING);
        }
        out.enter(at(interval.start), interval.name, Stated::NOTHING);
        open.push(*interval);
    }
    while let Some(ended) = open.pop() {
        out.exit(at(ended.end), Some(ended.name), Stated::NOTHING);
    }
}
