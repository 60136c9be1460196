//! `profctl.info/1`, as `docs/schemas/info-1.md` describes it.

use profctl_analyze::summarize::Quality;
use profctl_model::diag::{Entry, Sample};
use profctl_model::{Thread, Tick, Ticks, Timebase, Timeline};
use serde::Serialize;

use super::{Tally, cpus};
use crate::input::session::Read;

#[derive(Serialize)]
struct Info<'a> {
    schema: &'static str,
    source: Source<'a>,
    recognized: &'a str,
    facts: Vec<Fact<'a>>,
    timebase: Clock,
    first: u64,
    last: u64,
    real: u64,
    threads: Vec<ThreadInfo<'a>>,
    cpus: Vec<u32>,
    events: u64,
    calls: u64,
    partial: u64,
    functions: usize,
    complete: bool,
    diagnostics: Vec<Diagnostic<'a>>,
}

#[derive(Serialize)]
struct Source<'a> {
    path: &'a str,
    format: &'static str,
    bytes: u64,
    compression: Option<&'static str>,
}

#[derive(Serialize)]
struct Fact<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct Clock {
    unit: &'static str,
    resolution: u64,
    timeline: &'static str,
}

#[derive(Serialize)]
struct ThreadInfo<'a> {
    name: &'a str,
    tid: Option<u64>,
    pid: Option<u64>,
    idle: bool,
}

#[derive(Serialize)]
struct Diagnostic<'a> {
    code: &'static str,
    severity: &'static str,
    count: u64,
    help: &'static str,
    samples: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    source: &'a str,
    offset: u64,
    line: Option<u64>,
    message: &'a str,
}

/// The object, with a line end.
pub(super) fn bytes(read: &Read<Tally>) -> Vec<u8> {
    let Read { sink, names, meta, origin } = read;
    let point = |time: Tick| meta.timebase.reported(Ticks(time.0));
    let info = Info {
        schema: "profctl.info/1",
        source: Source {
            path: &origin.name,
            format: origin.format.name,
            bytes: origin.bytes,
            compression: origin.compression,
        },
        recognized: &origin.reason,
        facts: origin.facts.iter().map(|(name, value)| Fact { name, value }).collect(),
        timebase: clock(&meta.timebase),
        first: point(meta.first),
        last: point(meta.last),
        real: meta.timebase.reported(meta.real()),
        threads: names.threads.iter().map(thread).collect(),
        cpus: cpus(names),
        events: meta.events,
        calls: sink.complete,
        partial: sink.partial,
        functions: super::count_functions(names),
        complete: Quality::of(&meta.diags).is_complete(),
        diagnostics: meta.diags.sorted().into_iter().map(diagnostic).collect(),
    };
    let mut bytes = serde_json::to_vec_pretty(&info).expect("strings and numbers always serialize");
    bytes.push(b'\n');
    bytes
}

fn clock(timebase: &Timebase) -> Clock {
    Clock {
        unit: timebase.unit_name(),
        resolution: timebase.reported(timebase.resolution),
        timeline: match timebase.timeline {
            Timeline::Recorded => "recorded",
            Timeline::Synthetic => "synthetic",
        },
    }
}

fn thread(thread: &Thread) -> ThreadInfo<'_> {
    let Thread { name, tid, pid, idle, .. } = thread;
    ThreadInfo { name, tid: *tid, pid: *pid, idle: *idle }
}

fn diagnostic(entry: &Entry) -> Diagnostic<'_> {
    Diagnostic {
        code: entry.code.name,
        severity: entry.code.severity.name(),
        count: entry.count,
        help: entry.code.help,
        samples: entry.samples.iter().map(place).collect(),
    }
}

fn place(sample: &Sample) -> Place<'_> {
    Place {
        source: &sample.place.source,
        offset: sample.place.offset,
        line: sample.place.line,
        message: &sample.message,
    }
}
