//! What the entries and exits of a call do not say: the part of an export that only our own reader
//! looks at, under the key `profctl`.
//!
//! A reader derives the lengths of a call from when it began and ended and from what it called. Most
//! calls of most traces are just that, and nothing is written for them.

use std::fmt::Write as _;

use profctl_model::{Fidelity, Func, FuncKind, SpanId, Thread, TickUnit, Timeline, Trace};

use super::beside::{Beside, Stated};

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

/// What is to be said of calls.
pub(super) struct Calls<'a> {
    trace: &'a Trace,
    beside: Beside<'a>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self { trace, beside: Beside::of(trace) }
    }

    /// What is to be said of a call.
    pub(super) fn call(&self, id: SpanId) -> Members {
        let mut members = Members::default();
        let Stated { wall, off_cpu, net, stolen, outermost, .. } = self.beside.call(id);
        for (name, ticks) in
            [("wall", wall), ("off_cpu", off_cpu), ("net", net), ("stolen", stolen)]
        {
            if let Some(ticks) = ticks {
                members.push(name, ticks.0);
            }
        }
        if let Some(outermost) = outermost {
            members.push("outermost", outermost);
        }
        let fidelity = self.trace.spans.fidelity[id.index()];
        let Fidelity { start_inferred, end_inferred, at_gap } = fidelity;
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
