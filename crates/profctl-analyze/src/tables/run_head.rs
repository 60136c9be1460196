//! What a file of calls says of the traces that they are of, so that it reads back as a trace.

use serde::{Deserialize, Serialize};

use profctl_model::{
    Code, DiagLog, IdVec, Names, Thread, ThreadId, Tick, Ticks, Timebase, Timeline, TraceMeta,
};

use super::{Scale, Unit};
use crate::summarize::{DiagnosticFile, Quality, Source};

/// A trace, but for its functions and its calls.
#[derive(Clone, Debug)]
pub struct RunHead {
    /// The name of the run.
    pub run: String,
    /// The trace as it was read first.
    pub source: Source,
    /// What else its head said.
    pub facts: Vec<(String, String)>,
    /// Its threads and CPUs.
    pub names: Names,
    /// What its threads are called in the column `thread`.
    pub labels: IdVec<ThreadId, String>,
    /// Its clock, its span of time and its quality.
    pub meta: TraceMeta,
    /// Ticks of the clock to the unit of the tables.
    pub scale: Scale,
}

#[derive(Serialize, Deserialize)]
struct HeadFile {
    run: String,
    path: String,
    format: String,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    facts: Vec<(String, String)>,
    timeline: String,
    /// Units of the tables in a tick of the clock, in which the times that follow are.
    tick: u64,
    resolution: u64,
    first: u64,
    last: u64,
    events: u64,
    knows_off_cpu: bool,
    cpus: Vec<u32>,
    threads: Vec<ThreadFile>,
    diagnostics: Vec<DiagnosticFile>,
}

#[derive(Serialize, Deserialize)]
struct ThreadFile {
    label: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tid: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    idle: bool,
}

impl RunHead {
    /// As JSON.
    pub fn to_json(&self) -> String {
        let Self { run, source, facts, names, labels, meta, scale } = self;
        let threads = names.threads.pairs().map(|(id, thread)| ThreadFile {
            label: labels[id].clone(),
            name: thread.name.clone(),
            tid: thread.tid,
            pid: thread.pid,
            idle: thread.idle,
        });
        let file = HeadFile {
            run: run.clone(),
            path: source.path.clone(),
            format: source.format.clone(),
            bytes: source.bytes,
            facts: facts.clone(),
            timeline: meta.timebase.timeline.name().into(),
            tick: scale.factor(),
            resolution: meta.timebase.resolution.0,
            first: meta.first.0,
            last: meta.last.0,
            events: meta.events,
            knows_off_cpu: meta.knows_off_cpu,
            cpus: names.cpus.iter().copied().collect(),
            threads: threads.collect(),
            diagnostics: Quality::of(&meta.diags).diagnostics.iter().map(Into::into).collect(),
        };
        serde_json::to_string(&file).expect("only strings and integers")
    }

    /// Reads one back. `unit` is that of its tables, and `code` knows the diagnostics by name.
    pub fn from_json(
        json: &str,
        unit: Unit,
        code: &dyn Fn(&str) -> Option<&'static Code>,
    ) -> Result<Self, String> {
        let file: HeadFile = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let timeline = Timeline::from_name(&file.timeline)
            .ok_or_else(|| format!("timeline is {:?}", file.timeline))?;
        let scale = Scale::by(file.tick).ok_or("a tick of 0, expected 1 or more")?;
        let mut names = Names::default();
        for number in file.cpus {
            names.cpu(number);
        }
        let mut labels = IdVec::default();
        for ThreadFile { label, name, tid, pid, idle } in file.threads {
            names.threads.push(Thread { name, tid, pid, idle, ..Thread::default() });
            labels.push(label);
        }
        let mut diags = DiagLog::default();
        for diagnostic in file.diagnostics {
            let code = code(&diagnostic.code)
                .ok_or_else(|| format!("unknown diagnostic {}", diagnostic.code))?;
            diags.count(code, diagnostic.count);
            for sample in diagnostic.samples {
                diags.add(code, 0, || sample.into());
            }
        }
        let resolution = Ticks(file.resolution.max(1));
        let tick = unit.of_ticks(scale);
        Ok(Self {
            run: file.run,
            source: Source { path: file.path, format: file.format, bytes: file.bytes },
            facts: file.facts,
            names,
            labels,
            scale,
            meta: TraceMeta {
                timebase: Timebase { unit: tick, resolution, timeline },
                first: Tick(file.first),
                last: Tick(file.last.max(file.first)),
                events: file.events,
                knows_off_cpu: file.knows_off_cpu,
                diags,
            },
        })
    }
}
