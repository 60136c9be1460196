//! Traces for tests, written on a line: `@thread #0 0 main( 3 f( 5 ) 9 )`.
//!
//! A number is the time of what follows, `name(` an entry and `)` an exit, `~)` one that was not
//! seen; `@thread` and `#cpu` hold from there on. `run:thread:cpu:from-to` and
//! `off:thread:from-to` say when a thread ran and when it was switched out, `gap:cpu:time` a loss (`?` for an unknown CPU), `mark:thread:time` an instant. Names that begin
//! with `irq`, `idle` and `sys_` are of that kind.

use std::fmt::Write as _;

use profctl_model::{
    CallTree, CpuId, DiagLog, Fidelity, Func, FuncId, FuncKind, Gap, IdVec, Mark, Names, PathOrder,
    Record, RunState, Span, SpanId, SpanSink as _, Thread, ThreadId, ThreadState, Tick, Ticks,
    Timebase, Trace, TraceBuilder, TraceMeta,
};
use proptest::prelude::*;

use super::frames::{Frames, Visible};

/// The trace described by `line`.
pub(crate) fn trace(line: &str) -> Trace {
    let mut told = Told { last: Tick(0), ..Told::default() };
    let (mut now, mut thread, mut cpu) = (Tick(0), told.thread("main"), None);
    for token in line.split_whitespace() {
        let parts: Vec<&str> = token.split(':').collect();
        if let Ok(time) = token.parse() {
            now = Tick(time);
            told.last = told.last.max(now);
        } else if let Some(name) = token.strip_prefix('@') {
            thread = told.thread(name);
        } else if let Some(number) = token.strip_prefix('#') {
            cpu = Some(told.names.cpu(number.parse().unwrap()));
        } else if let ["run", who, number, times] = parts.as_slice() {
            let (start, end) = times.split_once('-').unwrap();
            let cpu = Some(told.names.cpu(number.parse().unwrap()));
            told.state(who, RunState::Running, cpu, (start, end));
        } else if let ["off", who, times] = parts.as_slice() {
            let times = times.split_once('-').unwrap();
            told.state(who, RunState::Sleeping, None, times);
        } else if let ["gap", number, time] = parts.as_slice() {
            let cpu = number.parse().ok().map(|number| told.names.cpu(number));
            let gap = Gap { time: Tick(time.parse().unwrap()), cpu, lost: None };
            told.builder.record(Record::Gap(&gap), &told.names);
        } else if let ["mark", who, time] = parts.as_slice() {
            let (thread, time) = (told.thread(who), Tick(time.parse().unwrap()));
            let func = Func { name: "mark".into(), kind: FuncKind::Mark, ..Func::default() };
            let func = told.names.func(func);
            let mark = Mark { time, func, thread, depth: 0, detail: None };
            told.builder.record(Record::Mark(&mark), &told.names);
        } else if token.ends_with(')') {
            told.exit(thread, cpu, now, token.starts_with('~'));
        } else {
            told.enter(thread, now, token.trim_end_matches('('));
        }
    }
    assert!(told.open.iter().all(Vec::is_empty), "all calls are closed");
    let meta = TraceMeta {
        timebase: Timebase::MICROSECONDS,
        first: Tick(0),
        last: told.last,
        events: 0,
        knows_off_cpu: false,
        diags: DiagLog::default(),
    };
    told.builder.finish(meta, told.names)
}

#[derive(Default)]
struct Told {
    names: Names,
    builder: TraceBuilder,
    open: IdVec<ThreadId, Vec<Span>>,
    last: Tick,
}

impl Told {
    fn thread(&mut self, name: &str) -> ThreadId {
        let known = self.names.threads.pairs().find(|(_, thread)| thread.name == name);
        if let Some((id, _)) = known {
            return id;
        }
        self.open.push(Vec::new());
        let idle = name.starts_with("idle");
        self.names.threads.push(Thread { name: name.into(), idle, ..Thread::default() })
    }

    fn state(&mut self, who: &str, state: RunState, cpu: Option<CpuId>, times: (&str, &str)) {
        let state = ThreadState {
            thread: self.thread(who),
            state,
            start: Tick(times.0.parse().unwrap()),
            end: Tick(times.1.parse().unwrap()),
            cpu,
            waker: None,
            wait_reason: None,
            start_seen: true,
            end_seen: true,
        };
        self.builder.record(Record::State(&state), &self.names);
    }

    fn func(&mut self, name: &str) -> FuncId {
        let kind = match name {
            _ if name.starts_with("irq") => FuncKind::Interrupt,
            _ if name.starts_with("idle") => FuncKind::Idle,
            _ if name.starts_with("sys_") => FuncKind::Syscall,
            _ => FuncKind::Function,
        };
        self.names.func(Func { name: name.into(), kind, ..Func::default() })
    }

    fn enter(&mut self, thread: ThreadId, start: Tick, name: &str) {
        let func = self.func(name);
        let outermost = self.open[thread].iter().all(|open| open.func != func);
        self.open[thread].push(Span {
            func,
            thread,
            cpu: None,
            start,
            end: start,
            wall: Ticks(0),
            off_cpu: Ticks(0),
            // Until the call ends: the time of its callees.
            net: Ticks(0),
            stolen: Ticks(0),
            callees: 0,
            descendants: 0,
            late: profctl_model::Late::NONE,
            outermost,
            interrupt: self.names.funcs[func].kind == FuncKind::Interrupt,
            fidelity: Fidelity::EXACT,
        });
    }

    fn exit(&mut self, thread: ThreadId, cpu: Option<CpuId>, end: Tick, unseen: bool) {
        let mut span = self.open[thread].pop().expect("an open call");
        span.cpu = cpu;
        span.end = end;
        span.wall = end - span.start;
        span.net = span.wall - span.net;
        span.fidelity.end_inferred = unseen;
        if let Some(caller) = self.open[thread].last_mut() {
            caller.net += span.wall;
            caller.callees += 1;
            caller.descendants += 1 + span.descendants;
        }
        self.builder.span(&span, &self.names);
    }
}

/// The merged calls of a trace.
pub(crate) fn merged(trace: &Trace) -> CallTree {
    let spans = &trace.spans;
    let mut tree = CallTree::default();
    let mut node_of = Vec::new();
    for id in spans.ids() {
        let row = id.index();
        let parent = spans.parent[row].map(|parent: SpanId| node_of[parent.index()]);
        let node = tree.child(parent, spans.func[id]);
        node_of.push(node);
        let node = tree.node_mut(node);
        node.calls += 1;
        node.elapsed += spans.wall[row];
        node.net += spans.net[row];
        let least = if node.calls == 1 { spans.wall[row] } else { node.elapsed_min };
        node.elapsed_min = least.min(spans.wall[row]);
        node.elapsed_max = node.elapsed_max.max(spans.wall[row]);
    }
    tree
}

/// The frames of a trace.
pub(crate) fn frames(trace: &Trace, visible: Option<Visible>) -> Frames {
    let rank = PathOrder::by_name(&trace.names).rank;
    let tree = merged(trace);
    let mut rows = tree.depth_first(None, &rank).map(Ok);
    Frames::of(&mut rows, &trace.names, visible).expect("they are in memory")
}

/// Random calls on two threads.
pub(crate) fn random_trace() -> impl Strategy<Value = Trace> {
    let step = (0..2_usize, 0..40_u64, 0..5_usize, 0..5_u8);
    prop::collection::vec(step, 0..120).prop_map(|steps| {
        let names = ["a", "b", "c", "irq", "sys_d"];
        let (mut line, mut now, mut depth) = (String::new(), 0, [0_u32; 2]);
        for (thread, wait, name, what) in steps {
            // Some long calls among many short ones.
            now += wait * wait * wait / 100;
            write!(line, " {now} @t{thread}").unwrap();
            if what < 3 && depth[thread] < 9 {
                depth[thread] += 1;
                write!(line, " {}(", names[name]).unwrap();
            } else if depth[thread] > 0 {
                depth[thread] -= 1;
                line.push_str(" )");
            }
        }
        for (thread, open) in depth.into_iter().enumerate() {
            write!(line, " {now} @t{thread}{}", " ~)".repeat(open as usize)).unwrap();
        }
        trace(&line)
    })
}
