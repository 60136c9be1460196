//! The calls of a trace as columns, whole or with what is short merged into blocks.
//!
//! Calls are in the order of entry, lane by lane. A start is stored as the distance from the end of
//! the previous call on the same level (or the start of its caller), so most numbers are small.

use profctl_model::{FuncKind, ThreadState, Tick, Trace};
use serde_json::{Value, json};

use super::pack::{Columns, Packed};
use crate::chart::lanes::{CpuLane, Lanes, ThreadLane};
use crate::chart::picture::StateLook;

/// Which number a function has in the page; 0 stands for calls that were merged.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// By function of the trace.
    pub(super) of_func: Vec<u64>,
    /// By thread of the trace, where the page shows who ran on a CPU.
    pub(super) of_thread: Vec<u64>,
}

/// How a page counts time: from the first timestamp, in steps of `step` ticks so that every number
/// is one that a browser can hold exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) first: Tick,
    pub(super) step: u64,
}

/// The first integer that a double cannot distinguish from its neighbor.
const INEXACT: u64 = 1 << 53;

impl Scale {
    /// The finest steps in which `most` ticks can be represented.
    pub(super) fn new(first: Tick, most: u64) -> Self {
        let mut step = 1_u64;
        while most / step >= INEXACT {
            step = step.saturating_mul(10);
        }
        Self { first, step }
    }

    pub(super) fn at(self, time: Tick) -> u64 {
        (time - self.first).0 / self.step
    }

    pub(super) fn length(self, ticks: u64) -> u64 {
        ticks / self.step
    }
}

/// A block of calls, and what became of them.
pub(super) struct Block {
    pub(super) text: String,
    /// Calls that stand for themselves.
    pub(super) kept: u64,
    /// Calls that were merged into blocks.
    pub(super) merged: u64,
}

/// The calls of all lanes, CPUs first. What is shorter than `least` (in steps of `scale`) is merged
/// with its neighbors that are as short.
pub(super) fn block(
    trace: &Trace,
    lanes: &Lanes,
    numbers: &Numbers,
    scale: Scale,
    least: u64,
) -> Block {
    let below = callees_elapsed(trace);
    let mut out = Emitter::new(least);
    let mut counts: Vec<u64> = Vec::new();
    for lane in &lanes.cpus {
        cpu_lane(lane, numbers, scale, &mut out);
        counts.push(out.end_lane());
    }
    for lane in &lanes.threads {
        thread_lane(trace, lane, numbers, scale, &below, &mut out);
        counts.push(out.end_lane());
    }
    let (kept, merged) = (out.kept, out.merged);
    let lanes: Vec<Value> = counts.iter().map(|n| json!({ "n": n })).collect();
    let text = out.block(json!({ "n": counts.iter().sum::<u64>(), "lanes": lanes }));
    Block { text, kept, merged }
}

/// The least length from which on at most `most` calls are left; 0 if that is all of them.
pub(super) fn least_length(trace: &Trace, scale: Scale, most: usize) -> u64 {
    if trace.spans.len() <= most {
        return 0;
    }
    // How many calls are of a length with that highest bit.
    let mut by_magnitude = [0_usize; 65];
    for row in 0..trace.spans.len() {
        let length = scale.at(trace.spans.end[row]) - scale.at(trace.spans.start[row]);
        by_magnitude[(u64::BITS - length.leading_zeros()) as usize] += 1;
    }
    let mut left = trace.spans.len();
    for (magnitude, &n) in by_magnitude.iter().enumerate() {
        if left <= most {
            return 1 << magnitude.saturating_sub(1).min(63);
        }
        left -= n;
    }
    u64::MAX
}

/// The elapsed time of the direct callees of each call, in ticks.
fn callees_elapsed(trace: &Trace) -> Vec<u64> {
    let spans = &trace.spans;
    let mut below = vec![0_u64; spans.len()];
    for id in spans.ids() {
        if let Some(parent) = spans.parent[id.index()] {
            let sum = &mut below[parent.index()];
            *sum = sum.saturating_add(spans.elapsed(id).0);
        }
    }
    below
}

fn thread_lane(
    trace: &Trace,
    lane: &ThreadLane,
    numbers: &Numbers,
    scale: Scale,
    below: &[u64],
    out: &mut Emitter,
) {
    let spans = &trace.spans;
    let mut row = lane.spans.start;
    while row < lane.spans.end {
        let id = profctl_model::SpanId::from_index(row);
        let depth = spans.depth[row];
        let (start, end) = (scale.at(spans.start[row]), scale.at(spans.end[row]));
        let fidelity = spans.fidelity[row];
        let elapsed = scale.length(spans.elapsed(id).0);
        let own = i128::from(spans.elapsed(id).0) - i128::from(below[row]);
        let call = Call {
            depth,
            start,
            end,
            wall: scale.length(spans.wall[row].0),
            off_cpu: scale.length(spans.wall[row].0) - elapsed,
            // What the times of the callees do not explain of the net time.
            net: clamped((i128::from(spans.net[row].0) - own) / i128::from(scale.step)),
            func: numbers.of_func[spans.func[id].index()],
            flags: u64::from(fidelity.start_inferred)
                | u64::from(fidelity.end_inferred) << 1
                | u64::from(fidelity.at_gap) << 2,
            cpu: spans.cpu[row].map_or(0, |cpu| cpu.index() as u64 + 1),
        };
        let next = row + 1;
        if end - start >= out.least {
            out.keep(&call);
            row = next;
            continue;
        }
        // A short call takes along whatever it calls.
        let after = next
            + spans.depth[next..lane.spans.end].iter().take_while(|&&other| other > depth).count();
        out.merge(&call, (after - row) as u64);
        row = after;
    }
}

fn cpu_lane(lane: &CpuLane, numbers: &Numbers, scale: Scale, out: &mut Emitter) {
    let mut free = 0;
    for slice in &lane.ran {
        // A CPU runs one thread at a time, whatever the input says.
        let start = scale.at(slice.start).max(free);
        let end = scale.at(slice.end).max(start);
        free = end;
        let call = Call {
            depth: 0,
            start,
            end,
            wall: end - start,
            off_cpu: 0,
            net: 0,
            func: numbers.of_thread[slice.thread.index()],
            flags: 0,
            cpu: 0,
        };
        if end - start >= out.least {
            out.keep(&call);
        } else {
            out.merge(&call, 1);
        }
    }
}

fn clamped(value: i128) -> i64 {
    value.clamp(-i128::from(INEXACT), i128::from(INEXACT)) as i64
}

/// One call, or several merged, in the page's own steps of time.
#[derive(Clone, Copy, Debug)]
struct Call {
    depth: u32,
    start: u64,
    end: u64,
    wall: u64,
    off_cpu: u64,
    net: i64,
    func: u64,
    flags: u64,
    cpu: u64,
}

/// Fills the columns.
struct Emitter {
    least: u64,
    kept: u64,
    merged: u64,
    in_lane: u64,
    depth_before: u32,
    cpu_before: u64,
    /// By level: from when on the next call can begin there.
    free: Vec<u64>,
    /// Short neighbors that may become more. There is never more than one such block open: what is
    /// kept ends it.
    pending: Option<(Call, u64)>,
    depth: Packed,
    func: Packed,
    gap: Packed,
    length: Packed,
    wall: Packed,
    off: Packed,
    net: Packed,
    flags: Packed,
    cpu: Packed,
    count: Packed,
}

impl Emitter {
    fn new(least: u64) -> Self {
        Self {
            least,
            kept: 0,
            merged: 0,
            in_lane: 0,
            depth_before: 0,
            cpu_before: 0,
            free: vec![0],
            pending: None,
            depth: Packed::signed("depth"),
            func: Packed::unsigned("func"),
            gap: Packed::unsigned("gap"),
            length: Packed::unsigned("length"),
            wall: Packed::signed("wall"),
            off: Packed::unsigned("off"),
            net: Packed::signed("net"),
            flags: Packed::unsigned("flags"),
            cpu: Packed::signed("cpu"),
            count: Packed::unsigned("count"),
        }
    }

    fn keep(&mut self, call: &Call) {
        self.flush();
        self.kept += 1;
        self.write(call);
    }

    /// Takes a short call with the `n - 1` below it.
    fn merge(&mut self, call: &Call, n: u64) {
        self.merged += n;
        if let Some((block, count)) = &mut self.pending
            && block.depth == call.depth
            && call.start - block.end < self.least
        {
            block.end = call.end;
            block.wall += call.wall;
            block.off_cpu += call.off_cpu;
            *count += n;
            return;
        }
        self.flush();
        self.pending = Some((Call { func: 0, flags: 0, net: 0, ..*call }, n));
    }

    fn flush(&mut self) {
        if let Some((block, count)) = self.pending.take() {
            self.write(&block);
            self.count.push(count);
        }
    }

    fn write(&mut self, call: &Call) {
        let level = call.depth as usize;
        self.free.resize(level + 2, 0);
        self.in_lane += 1;
        self.depth.push_signed(i64::from(call.depth) - i64::from(self.depth_before));
        self.depth_before = call.depth;
        self.func.push(call.func);
        self.gap.push(call.start - self.free[level]);
        self.length.push(call.end - call.start);
        self.wall.push_signed(call.wall as i64 - (call.end - call.start) as i64);
        self.off.push(call.off_cpu);
        self.net.push_signed(call.net);
        self.flags.push(call.flags);
        self.cpu.push_signed(call.cpu as i64 - self.cpu_before as i64);
        self.cpu_before = call.cpu;
        self.free[level] = call.end;
        self.free[level + 1] = call.start;
    }

    /// Ends a lane and says how many rows it has.
    fn end_lane(&mut self) -> u64 {
        self.flush();
        self.free = vec![0];
        self.depth_before = 0;
        std::mem::take(&mut self.in_lane)
    }

    fn block(self, head: Value) -> String {
        let mut columns = Columns::default();
        for column in [
            self.depth,
            self.func,
            self.gap,
            self.length,
            self.wall,
            self.off,
            self.net,
            self.flags,
            self.cpu,
            self.count,
        ] {
            columns.add(column);
        }
        columns.block(head)
    }
}

/// The states of a thread that a page shows: those that have a length and are not of the dead.
pub(super) fn states<'a>(
    trace: &'a Trace,
    lane: &ThreadLane,
) -> impl Iterator<Item = (&'a ThreadState, StateLook)> {
    let states: &[ThreadState] =
        if lane.has_states { trace.states_of(lane.thread) } else { Default::default() };
    states
        .iter()
        .filter(|state| state.start < state.end)
        .filter_map(|state| Some((state, StateLook::of(state.state)?)))
}

/// When threads were switched out, what they were doing, and instants, lane by lane as the page
/// lists them.
pub(super) fn moments(
    trace: &Trace,
    lanes: &Lanes,
    numbers: &Numbers,
    scale: Scale,
) -> Option<String> {
    let mut away_gap = Packed::unsigned("away_gap");
    let mut away_length = Packed::unsigned("away_length");
    let mut state_gap = Packed::unsigned("state_gap");
    let mut state_length = Packed::unsigned("state_length");
    let mut state_look = Packed::unsigned("state_look");
    let mut mark_gap = Packed::unsigned("mark_gap");
    let mut mark_depth = Packed::unsigned("mark_depth");
    let mut mark_func = Packed::unsigned("mark_func");
    let mut is_empty = true;
    for lane in &lanes.threads {
        let mut now = 0;
        for stretch in &lane.away {
            is_empty = false;
            let (start, end) = (scale.at(stretch.start).max(now), scale.at(stretch.end).max(now));
            away_gap.push(start - now);
            // A column of zeros would be omitted, and an interval has a length.
            away_length.push((end - start).max(1));
            now = end.max(start + 1);
        }
        let mut now = 0;
        for (state, look) in states(trace, lane) {
            is_empty = false;
            let (start, end) = (scale.at(state.start).max(now), scale.at(state.end).max(now));
            state_gap.push(start - now);
            state_length.push((end - start).max(1));
            state_look.push(look as u64);
            now = end.max(start + 1);
        }
        let mut now = 0;
        for mark in &lane.marks {
            is_empty = false;
            let time = scale.at(mark.time).max(now);
            mark_gap.push(time - now);
            mark_depth.push(u64::from(mark.depth));
            mark_func.push(numbers.of_func[mark.func.index()]);
            now = time;
        }
    }
    let mut columns = Columns::default();
    for column in [
        away_gap,
        away_length,
        state_gap,
        state_length,
        state_look,
        mark_gap,
        mark_depth,
        mark_func,
    ] {
        columns.add(column);
    }
    (!is_empty).then(|| columns.block(json!({})))
}

/// Whether anything of a trace was not seen.
pub(super) fn has_partial(trace: &Trace) -> bool {
    trace.spans.fidelity.iter().any(|fidelity| fidelity.is_partial())
}

/// The kinds of functions that were called, in the order of a legend.
pub(super) fn kinds(trace: &Trace) -> Vec<FuncKind> {
    let mut seen = [false; 6];
    let all = [
        FuncKind::Function,
        FuncKind::Syscall,
        FuncKind::Interrupt,
        FuncKind::Idle,
        FuncKind::Switch,
        FuncKind::Mark,
    ];
    for func in &trace.spans.func {
        let kind = trace.names.funcs[*func].kind;
        seen[all.iter().position(|&one| one == kind).unwrap_or(0)] = true;
    }
    all.into_iter().zip(seen).filter(|&(_, seen)| seen).map(|(kind, _)| kind).collect()
}
