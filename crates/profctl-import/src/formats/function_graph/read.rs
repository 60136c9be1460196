//! The reader of blocks: lines to events.

use std::sync::Arc;

use profctl_model::diag::codes;
use profctl_model::hash::FastMap;
use profctl_model::{Code, Severity};

use super::layout::Layout;
use super::line::{self, Body, Call, Line};
use super::{classify, fast};
use crate::emit::{At, CallPart, Emitter, LaneKey, LaneRef, Stated, ThreadKey, WakerContext};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::text as event_text;
use crate::kernel_events::{Applier, Place, Scope, context_of_letters};
use crate::text;

/// Lines between the graph that are no part of it.
pub(super) static FOREIGN_LINE: Code = Code {
    name: "function_graph/foreign-line",
    severity: Severity::Info,
    help: "stack traces, latency events and buffer notices that other tracers and options print \
           between the lines of the graph were skipped",
};

/// Calls that the recorder omitted below a depth.
pub(super) static OVERRUNS: Code = Code {
    name: "function_graph/overruns",
    severity: Severity::Info,
    help: "the kernel's shadow stack overflowed (funcgraph-overrun): deeper calls were not \
           recorded",
};

#[derive(Debug)]
pub(super) struct GraphReader {
    /// Entries were not recorded (tracing_thresh): returns are whole calls.
    returns_only: bool,
    /// The time column is used.
    timed: bool,
    lanes: LaneCache,
    /// Says the events between the calls.
    events: Applier,
    /// What the fast path has met.
    memory: fast::Memory,
}

/// The lanes met by this worker, by the bytes of their columns.
#[derive(Debug, Default)]
pub(super) struct LaneCache {
    /// Without a task column, one a CPU; row 0 is "no CPU".
    by_cpu: Vec<Option<LaneRef>>,
    by_task: FastMap<(u32, Box<[u8]>), LaneRef>,
    /// The latest task and lane of each CPU: most lines repeat it.
    latest: Vec<(Vec<u8>, LaneRef)>,
}

impl LaneCache {
    /// The lane of a line.
    #[inline]
    pub(super) fn lane(
        &mut self,
        cpu: Option<u32>,
        task: Option<&[u8]>,
        out: &mut Emitter,
    ) -> LaneRef {
        let row = cpu.map_or(0, |cpu| cpu as usize + 1);
        match task {
            None => match self.by_cpu.get(row) {
                Some(Some(lane)) => *lane,
                _ => self.new_by_cpu(row, cpu, out),
            },
            Some(task) => match self.latest.get(row) {
                Some((latest, lane)) if latest == task => *lane,
                _ => self.by_task(row, cpu, task, out),
            },
        }
    }

    #[cold]
    fn new_by_cpu(&mut self, row: usize, cpu: Option<u32>, out: &mut Emitter) -> LaneRef {
        let lane = out.lane(LaneKey { cpu, thread: ThreadKey::Unstated });
        // A damaged CPU number must not allocate a row for every number below it.
        if row < ROWS_MAX {
            if row >= self.by_cpu.len() {
                self.by_cpu.resize(row + 1, None);
            }
            self.by_cpu[row] = Some(lane);
        }
        lane
    }

    fn by_task(&mut self, row: usize, cpu: Option<u32>, task: &[u8], out: &mut Emitter) -> LaneRef {
        let key = (row as u32, Box::from(task));
        let lane = *self.by_task.entry(key).or_insert_with(|| {
            out.lane(LaneKey { cpu, thread: task_key(task).unwrap_or(ThreadKey::Unstated) })
        });
        if row < ROWS_MAX {
            if row >= self.latest.len() {
                self.latest.resize(row + 1, (Vec::new(), lane));
            }
            self.latest[row] = (task.to_vec(), lane);
        }
        lane
    }
}

/// CPUs above this number are looked up rather than indexed.
const ROWS_MAX: usize = 8192;

/// The thread that `name-pid` means. The idle tasks share pid 0, one a CPU.
pub(super) fn task_key(task: &[u8]) -> Option<ThreadKey> {
    let (name, pid) = line::split_task(task)?;
    Some(match pid {
        0 => ThreadKey::Idle,
        pid => ThreadKey::Tid(pid, String::from_utf8_lossy(name).into_owned()),
    })
}

impl GraphReader {
    pub(super) fn new(returns_only: bool, timed: bool) -> Self {
        Self {
            returns_only,
            timed,
            lanes: LaneCache::default(),
            events: Applier::new(Scope { has_graph: true, ..Scope::default() }),
            memory: fast::Memory::default(),
        }
    }
}

impl Reader for GraphReader {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::new(self.returns_only, self.timed))
    }

    /// Not after the upper rule of a switch banner: only the rule distinguishes the banner from
    /// other lines.
    fn boundary(&self, bytes: &[u8]) -> usize {
        let mut end = text::last_line_boundary(bytes);
        while end > 0 {
            let start = text::last_line_boundary(&bytes[..end - 1]);
            if line::parse(&bytes[start..end - 1], Layout::DEFAULT) != Line::Rule {
                break;
            }
            end = start;
        }
        end
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let &Block { bytes: block, at_end, .. } = block;
        let before = state.downcast_ref::<Layout>().copied().unwrap_or(Layout::DEFAULT);
        let mut layout = before;
        let mut after_rule = false;
        let mut lines = text::lines(block);
        loop {
            if !self.returns_only {
                let (offset, memory) = (lines.offset(), (&self.memory, self.timed));
                lines.skip_to(fast::read(block, offset, layout, memory, out));
            }
            let Some(text) = lines.next() else { break };
            out.lines += 1;
            let start = text.offset;
            let mut parsed = line::parse(text.text, layout);
            if after_rule && let Some(banner) = line::banner(text.text.trim_ascii()) {
                parsed = banner;
            }
            after_rule = parsed == Line::Rule;
            match parsed {
                Line::Header => layout = Layout::from_header(text.text).unwrap_or(layout),
                Line::Other if at_end && !text.ended => {
                    out.diag(&codes::CUT_RECORD, start, || "the last line is truncated".into());
                }
                other => self.line(other, text.text, start, layout, out),
            }
        }
        (layout != before).then(|| Arc::new(layout) as State)
    }
}

impl GraphReader {
    fn line(&mut self, line: Line<'_>, text: &[u8], at: usize, layout: Layout, out: &mut Emitter) {
        match line {
            Line::Blank | Line::Header | Line::Rule | Line::Overruns(0) => {}
            Line::Banner { cpu, before, now } => banner(cpu, before, now, at, layout, out),
            Line::Lost { cpu, events } => {
                out.records += 1;
                let lane = self.lanes.lane(cpu, None, out);
                out.lost(At { time: None, lane, offset: at }, events);
            }
            Line::Overruns(n) => {
                out.diag(&OVERRUNS, at, || format!("{n} calls were too deep to record"));
            }
            Line::Call(call) => self.call(&call, (text, layout), at, out),
            Line::Other => {
                if is_foreign(text) {
                    out.diag(&FOREIGN_LINE, at, || text::excerpt(text));
                } else {
                    out.diag(&codes::SKIPPED_RECORD, at, || {
                        format!(
                            "not a function graph line with the columns {layout}: {}",
                            text::excerpt(text)
                        )
                    });
                }
            }
        }
    }

    /// One line of the graph, whatever its layout.
    fn call(&mut self, call: &Call<'_>, text: (&[u8], Layout), at: usize, out: &mut Emitter) {
        out.records += 1;
        let lane = self.lanes.lane(call.cpu, call.task, out);
        let at = At { time: call.time.filter(|_| self.timed), lane, offset: at };
        let (part, name) = match call.body {
            Body::Enter(name) => (CallPart::Enter, Some(name)),
            Body::Leaf(name) => (CallPart::Leaf, Some(name)),
            Body::Exit(name) if self.returns_only && name.is_some() => (CallPart::Return, name),
            Body::Exit(name) => (CallPart::Exit, name),
            Body::InterruptEnter => return out.irq_enter(at),
            Body::InterruptExit => return out.irq_exit(at),
            Body::Event(inside) => return self.inner_event(inside, call, at, out),
        };
        let known = name.map(|name| out.name(name, classify::func));
        self.memory.learn(text, call.prefix, lane, (name.unwrap_or_default(), known));
        let wall = call.duration.filter(|_| part != CallPart::Enter);
        out.call(part, at, known, Stated { depth: Some(call.depth), wall, net: None });
    }

    /// An event inside the graph: `/* sched_switch: prev_comm=… ==> next_comm=… */`.
    fn inner_event(&mut self, inside: &[u8], call: &Call<'_>, at: At, out: &mut Emitter) {
        let printed = event_text::printed(inside);
        let context = call.flags.map_or(WakerContext::Unknown, context_of_letters);
        let (time, cpu, lane, offset) = (at.time, call.cpu, at.lane, at.offset);
        let place = Place { time, cpu, lane, context, offset };
        if !self.events.apply(&printed.event, &place, out) {
            let detail = String::from_utf8_lossy(printed.arguments);
            let (name, detail) = match printed.name {
                b"" => (event_name(inside), ""),
                name => (name, &*detail),
            };
            self.events.mark(name, detail, at, out);
        }
    }
}

/// The first word of what is in the place of an event: it is arbitrary text of a program.
fn event_name(inside: &[u8]) -> &[u8] {
    let ends = |byte: &u8| matches!(byte, b'(' | b' ' | b':');
    let end = inside.iter().position(ends).unwrap_or(inside.len());
    if end == 0 { b"event" } else { &inside[..end] }
}

/// A switch banner.
fn banner(cpu: u32, before: &[u8], now: &[u8], at: usize, layout: Layout, out: &mut Emitter) {
    // Without a CPU column the lines of all CPUs are one sequence: a switch on one of them says
    // nothing about whose line comes next.
    if !layout.cpu || layout.task {
        return;
    }
    let (Some(before), Some(now)) = (task_key(before), task_key(now)) else { return };
    let before = out.lane(LaneKey { cpu: Some(cpu), thread: before });
    let now = out.lane(LaneKey { cpu: Some(cpu), thread: now });
    out.runs_now(now, Some(before), at);
}

/// Stack traces and lines of the latency format, which latency tracers mix in.
fn is_foreign(text: &[u8]) -> bool {
    let trimmed = text.trim_ascii_start();
    trimmed.starts_with(b"=> ")
        || memchr::memmem::find(trimmed, b"us : ").is_some()
        || memchr::memmem::find(trimmed, b"us+: ").is_some()
        || memchr::memmem::find(trimmed, b"us!: ").is_some()
        || memchr::memmem::find(trimmed, b"us#: ").is_some()
}
