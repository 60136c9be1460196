//! The reader of blocks: lines to events, of tracefs and of `trace-cmd report`.

use std::sync::Arc;

use profctl_model::diag::codes;
use profctl_model::hash::FastSet;
use profctl_model::{Code, Severity};

use super::fast;
use super::head::is_graph;
use crate::emit::{At, CallPart, Emitter, LaneKey, Stated, ThreadKey, ThreadName};
use crate::formats::function_graph::classify;
use crate::formats::function_graph::line::{self as graph, Body};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::line::{self, EventLine, Stamp};
use crate::kernel_events::text::{self as event_text, Printed};
use crate::kernel_events::{Applier, IrqNames, Place, Scope, Task};
use crate::text;

/// Lines between the events that are no part of them.
pub static FOREIGN_LINE: Code = Code {
    name: "ftrace/foreign-line",
    severity: Severity::Info,
    help: "stack traces, kernel notices and output of programs between the events were skipped",
};

/// Lines of the trace option `raw`.
pub static RAW_LINE: Code = Code {
    name: "ftrace/raw-line",
    severity: Severity::Error,
    help: "events are numbers without names (trace option raw): record again with `echo noraw > \
           trace_options`",
};

/// Calls without exits.
pub static NO_EXITS: Code = Code {
    name: "ftrace/no-exits",
    severity: Severity::Info,
    help: "the tracer `function` records calls and no exits: each call is a mark without a \
           duration; record with current_tracer=function_graph",
};

pub(crate) struct EventReader {
    applier: Applier,
    /// What lines without the name of an event are of.
    tracer: Arc<[u8]>,
    /// A report: lines of `function_graph` are among its events.
    is_report: bool,
    /// Lanes of this block whose process was said: not threads, as the name of a lane is known from
    /// the first record that uses it, whatever block that is in.
    described: FastSet<u32>,
    /// What the fast path has met.
    memory: fast::Memory,
}

impl EventReader {
    pub(crate) fn new(scope: Scope, tracer: Option<Vec<u8>>, is_report: bool) -> Self {
        let tracer = tracer.unwrap_or_else(|| b"event".to_vec()).into();
        Self::over(Applier::new(scope), tracer, is_report)
    }

    fn over(applier: Applier, tracer: Arc<[u8]>, is_report: bool) -> Self {
        let (described, memory) = (FastSet::default(), fast::Memory::default());
        Self { applier, tracer, is_report, described, memory }
    }
}

impl Reader for EventReader {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::over(self.applier.fork(), Arc::clone(&self.tracer), self.is_report))
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let none = IrqNames::default();
        let before = state.downcast_ref::<IrqNames>().unwrap_or(&none);
        self.applier.set_irqs(before);
        self.described.clear();
        let mut lines = text::lines(block.bytes);
        loop {
            lines.skip_to(fast::read(block.bytes, lines.offset(), &self.memory, out));
            let Some(line) = lines.next() else { break };
            out.lines += 1;
            match line::parse(line.text) {
                // Half a line may still look like one: what it says of an event may be cut.
                _ if !line.ended && block.at_end => {
                    out.diag(&codes::CUT_RECORD, line.offset, || {
                        "the last line is truncated".into()
                    });
                }
                Some(event) => self.event(&event, line.text, line.offset, out),
                None => other(line.text, line.offset, out),
            }
        }
        (self.applier.irqs() != before).then(|| Arc::new(self.applier.irqs().clone()) as State)
    }
}

impl EventReader {
    fn event(&mut self, event: &EventLine<'_>, line: &[u8], offset: usize, out: &mut Emitter) {
        out.records += 1;
        let cpu = Some(event.cpu);
        let task = Task { tid: event.tid, name: event.task };
        let lane = self.applier.lane(cpu, task, out);
        if let Some(pid) = event.pid
            && event.tid != 0
            && self.described.insert(lane.0)
        {
            out.name_thread(
                lane,
                offset,
                ThreadName { tid: Some(event.tid), pid: Some(pid), idle: false },
            );
        }
        let (Stamp::Nanos(time) | Stamp::Count(time) | Stamp::SinceStart(time)) = event.time;
        let at = At { time: Some(time), lane, offset };
        if self.is_report && is_graph(event.body) {
            match graph_call(event.body) {
                Some(call) => {
                    // A line that states the process is not skipped: each block names it once.
                    if event.pid.is_none() {
                        self.memory.learn(line, event, lane);
                    }
                    call.say(at, &mut self.memory, out);
                }
                None => out.diag(&codes::SKIPPED_RECORD, offset, || {
                    format!("no call of a function: {}", text::excerpt(event.body))
                }),
            }
            return;
        }
        let place = Place { time: Some(time), cpu, lane, context: event.context, offset };
        let printed = event_text::printed(event.body);
        if !self.applier.apply(&printed.event, &place, out) {
            self.mark(&printed, at, out);
        }
    }

    fn mark(&mut self, printed: &Printed<'_>, at: At, out: &mut Emitter) {
        let Printed { name, arguments, .. } = *printed;
        if name.is_empty() && arguments.starts_with(b"<stack trace>") {
            return;
        }
        if let Some((name, caller)) = function(printed) {
            out.diag(&NO_EXITS, at.offset, || format!("{} was called", text::excerpt(name)));
            self.applier.mark(name, &String::from_utf8_lossy(caller), at, out);
            return;
        }
        let detail = String::from_utf8_lossy(arguments.trim_ascii());
        let name = if name.is_empty() { Arc::clone(&self.tracer) } else { name.into() };
        self.applier.mark(&name, &detail, at, out);
    }
}

/// A line of the tracer `function`: `mutex_unlock <-rb_simple_write`, perhaps with arguments, or
/// `function: mutex_unlock` of a report.
fn function<'a>(printed: &Printed<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let arguments = printed.arguments.trim_ascii();
    match printed.name {
        b"function" => {
            let arrow = memchr::memmem::find(arguments, b" <-").unwrap_or(arguments.len());
            Some((arguments[..arrow].trim_ascii_end(), arguments[arrow..].trim_ascii()))
        }
        b"" => {
            let arrow = memchr::memmem::rfind(arguments, b" <-")?;
            let (callee, caller) = (&arguments[..arrow], &arguments[arrow + 1..]);
            let end = memchr::memchr(b'(', callee).unwrap_or(callee.len());
            let is_name = !callee[..end].contains(&b' ') || callee[..end].ends_with(b"]");
            (end > 0 && is_name).then_some((&callee[..end], caller))
        }
        _ => None,
    }
}

/// A call as a report prints it.
struct GraphCall<'a> {
    duration: Option<u64>,
    depth: u16,
    body: Body<'a>,
}

/// `funcgraph_entry:      + 17.306 us  |  mutex_unlock();`
fn graph_call(body: &[u8]) -> Option<GraphCall<'_>> {
    let colon = memchr::memchr(b':', body)?;
    let (duration, depth, body) = graph::column_and_body(&body[colon + 1..])?;
    Some(GraphCall { duration, depth, body })
}

impl GraphCall<'_> {
    fn say(&self, at: At, memory: &mut fast::Memory, out: &mut Emitter) {
        let (part, name) = match self.body {
            Body::Enter(name) => (CallPart::Enter, Some(name)),
            Body::Leaf(name) => (CallPart::Leaf, Some(name)),
            Body::Exit(name) => (CallPart::Exit, name),
            Body::Event(_) | Body::InterruptEnter | Body::InterruptExit => return,
        };
        let name = name.map(|name| {
            let known = out.name(name, classify::func);
            memory.learn_name(name, known);
            known
        });
        let wall = self.duration.filter(|_| part != CallPart::Enter);
        out.call(part, at, name, Stated { depth: Some(self.depth), wall, net: None });
    }
}

/// A line that is not an event.
#[cold]
fn other(line: &[u8], offset: usize, out: &mut Emitter) {
    let trimmed = line.trim_ascii();
    if trimmed.is_empty() || trimmed.starts_with(b"#") || trimmed.starts_with(b"cpus=") {
        return;
    }
    if let Some(lost) = line::lost(trimmed) {
        out.records += 1;
        let lane = out.lane(LaneKey { cpu: lost.cpu, thread: ThreadKey::Unstated });
        out.lost(At { time: None, lane, offset }, lost.events);
        return;
    }
    if is_raw(trimmed) {
        out.diag(&RAW_LINE, offset, || text::excerpt(line));
    } else {
        out.diag(&FOREIGN_LINE, offset, || text::excerpt(line));
    }
}

/// `555 0 42263326593 type: 385`
fn is_raw(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let numbers = words.by_ref().take(3).filter(|word| text::decimal(word, 0).is_some()).count();
    numbers == 3 && matches!(words.next(), Some(b"type:" | b"#"))
}
