//! What the entries and exits of a call do not say: the part of an export that only our own reader
//! looks at, under the key `profctl`.
//!
//! A reader derives the lengths of a call from when it began and ended and from what it called. Most
//! calls of most traces are just that, and nothing is written for them.

use std::fmt::Write as _;

use profctl_model::{Fidelity, Func, FuncKind, SpanId, Thread, TickUnit, Timeline, Trace};

/// The members of an object, without its braces.
#[derive(Debug, Default)]
pub(super) struct Members(pub(super) String);

impl Members {
    /// Adds a member; `value` is JSON.
    pub(super) fn push(&mut self, key: &str, value: impl std::fmt::Display) {
        let comma = if self.0.is_empty() { "" } else { "," };
        write!(self.0, "{comma}\"{key}\":{value}").expect("writing to a String cannot fail");
    }

    /// Adds a member whose value is a text.
    pub(super) fn push_text(&mut self, key: &str, text: &str) {
        self.push(key, quoted(text));
    }

    /// `"profctl":{…}`, or nothing if there are no members.
    pub(super) fn as_member(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("\"profctl\":{{{}}}", self.0))
    }
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can always be written as JSON")
}

/// About the trace as a whole.
pub(super) fn of_trace(trace: &Trace) -> Members {
    let mut members = Members::default();
    let timebase = &trace.meta.timebase;
    members.push("version", 1);
    members.push_text("unit", timebase.unit_name());
    if let TickUnit::Seconds { numerator, denominator } = timebase.unit {
        members.push("numerator", numerator);
        members.push("denominator", denominator);
    }
    members.push("resolution", timebase.resolution.0);
    if timebase.timeline == Timeline::Synthetic {
        members.push("synthetic", true);
    }
    if trace.meta.knows_off_cpu {
        members.push("off_cpu", true);
    }
    members.push("first", trace.meta.first.0);
    members.push("last", trace.meta.last.0);
    members
}

/// About a function, where it is not plain; `usual` is the kind that the place implies.
pub(super) fn of_func(func: &Func, usual: FuncKind) -> Members {
    let mut members = Members::default();
    if func.kind != usual {
        members.push_text("kind", func.kind.name());
    }
    if let Some(module) = &func.module {
        members.push_text("module", module);
    }
    if let Some(address) = func.address {
        members.push("address", address);
    }
    members
}

/// About a thread that a viewer knows by the numbers `pid` and `tid`.
pub(super) fn of_thread(thread: &Thread, pid: u64, tid: u64) -> Members {
    let mut members = Members::default();
    let mut number = |key: &str, known: Option<u64>, shown: u64| match known {
        Some(known) if known == shown => {}
        Some(known) => members.push(key, known),
        None => members.push(key, "null"),
    };
    number("pid", thread.pid, pid);
    number("tid", thread.tid, tid);
    if thread.idle {
        members.push("idle", true);
    }
    members
}

/// Goes over the calls of a trace and says of each what does not follow from the others.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    trace: &'a Trace,
    /// By row: elapsed time of direct callees, and of those that are interrupts.
    below: Vec<(u64, u64)>,
    /// The functions of the callers of the call looked at last, that call included.
    path: Vec<usize>,
    /// How often each function is in the path.
    open: Vec<u32>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let spans = &trace.spans;
        let mut below = vec![(0_u64, 0_u64); spans.len()];
        for id in spans.ids() {
            if let Some(caller) = spans.parent[id.index()] {
                let elapsed = spans.elapsed(id).0;
                let (sum, stolen) = &mut below[caller.index()];
                *sum = sum.saturating_add(elapsed);
                if trace.names.funcs[spans.func[id]].kind == FuncKind::Interrupt {
                    *stolen = stolen.saturating_add(elapsed);
                }
            }
        }
        Self { trace, below, path: Vec::new(), open: vec![0; trace.names.funcs.len()] }
    }

    /// What is to be said of a call; they are asked for in the order of the trace.
    pub(super) fn next(&mut self, id: SpanId) -> Members {
        let (spans, row) = (&self.trace.spans, id.index());
        let depth = spans.depth[row] as usize;
        for func in self.path.drain(depth.min(self.path.len())..) {
            self.open[func] -= 1;
        }
        let func = spans.func[id].index();
        let is_outermost = self.open[func] == 0;
        self.open[func] += 1;
        self.path.push(func);

        let mut members = Members::default();
        let (below, stolen) = self.below[row];
        if spans.wall[row] != spans.end[row] - spans.start[row] {
            members.push("wall", spans.wall[row].0);
        }
        if spans.off_cpu[row].0 != 0 {
            members.push("off_cpu", spans.off_cpu[row].0);
        }
        if spans.net[row].0 != spans.elapsed(id).0.saturating_sub(below) {
            members.push("net", spans.net[row].0);
        }
        if spans.stolen[row].0 != stolen {
            members.push("stolen", spans.stolen[row].0);
        }
        if spans.outermost[row] != is_outermost {
            members.push("outermost", spans.outermost[row]);
        }
        let Fidelity { start_inferred, end_inferred, at_gap } = spans.fidelity[row];
        match (start_inferred, end_inferred) {
            (false, false) => {}
            (true, false) => members.push_text("unseen", "entry"),
            (false, true) => members.push_text("unseen", "exit"),
            (true, true) => members.push_text("unseen", "both"),
        }
        if at_gap {
            members.push("at_gap", true);
        }
        members
    }
}
