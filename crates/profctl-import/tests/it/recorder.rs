//! A sink that keeps everything, and the sums over what it kept.

use std::collections::BTreeMap;

use profctl_import::{Files, ImportError, Memory, ReadOptions, Single, Streamed, stream};
use profctl_model::diag::Entry;
use profctl_model::{
    Enclosed, Func, FuncId, FuncTotals, Gap, Mark, Names, Record, Span, SpanSink, Thread,
    ThreadLife, ThreadState, Tick, Ticks, Timebase, Wake,
};
use profctl_testkit::oracle::function_graph::{Function, Totals};

/// Everything that was passed on, in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) spans: Vec<Span>,
    pub(crate) states: Vec<ThreadState>,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) lives: Vec<ThreadLife>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) totals: Vec<FuncTotals>,
    pub(crate) enclosed: Vec<Enclosed>,
    pub(crate) outermost: Vec<Enclosed>,
}

impl SpanSink for Recorder {
    fn span(&mut self, span: &Span, _names: &Names) {
        self.spans.push(*span);
    }
    fn record(&mut self, record: Record<'_>, _names: &Names) {
        match record {
            Record::State(state) => self.states.push(*state),
            Record::Wake(wake) => self.wakes.push(*wake),
            Record::Life(life) => self.lives.push(*life),
            Record::Gap(gap) => self.gaps.push(*gap),
            Record::Mark(mark) => self.marks.push(mark.clone()),
            Record::Enclosed(enclosed) => self.enclosed.push(*enclosed),
            Record::Outermost(calls) => self.outermost.push(*calls),
            Record::Total(totals) => self.totals.push(*totals),
            Record::SoFar(_) => {}
        }
    }
}

/// Everything that reading an input gives and that must not depend on how it was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outcome {
    pub(crate) recorded: Recorder,
    pub(crate) funcs: Vec<Func>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) cpus: Vec<u32>,
    pub(crate) timebase: Timebase,
    pub(crate) span_of_time: (Tick, Tick),
    pub(crate) events: u64,
    pub(crate) knows_off_cpu: bool,
    pub(crate) diags: Vec<Entry>,
    pub(crate) bytes: u64,
}

/// Reads `bytes`.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Outcome, ImportError> {
    read_files(&Single::new("test", Box::new(bytes)), options)
}

/// Reads a trace of one or several files.
pub(crate) fn read_parts(
    parts: &[(String, Vec<u8>)],
    options: &ReadOptions,
) -> Result<Outcome, ImportError> {
    match parts {
        [(_, bytes)] => read(bytes, options),
        _ => read_files(&Memory::new("test", parts.to_vec()), options),
    }
}

pub(crate) fn read_files(input: &dyn Files, options: &ReadOptions) -> Result<Outcome, ImportError> {
    let Streamed { sink, names, meta, origin, .. } =
        stream(input, options, Recorder::default(), &|_| ())?;
    Ok(Outcome {
        recorded: sink,
        funcs: names.funcs.as_slice().to_vec(),
        threads: names.threads.as_slice().to_vec(),
        cpus: names.cpus.as_slice().to_vec(),
        timebase: meta.timebase,
        span_of_time: (meta.first, meta.last),
        events: meta.events,
        knows_off_cpu: meta.knows_off_cpu,
        diags: meta.diags.sorted().into_iter().cloned().collect(),
        bytes: origin.bytes,
    })
}

impl Outcome {
    pub(crate) fn func(&self, id: FuncId) -> &Func {
        &self.funcs[id.index()]
    }

    /// A length in nanoseconds.
    pub(crate) fn nanos(&self, length: Ticks) -> u64 {
        self.timebase.reported(length)
    }

    /// The number of times a diagnostic occurred.
    pub(crate) fn count(&self, code: &str) -> u64 {
        self.diags.iter().find(|entry| entry.code.name == code).map_or(0, |entry| entry.count)
    }

    /// The sums that the oracle makes: all times of complete calls only.
    pub(crate) fn totals(&self) -> BTreeMap<Function, Totals> {
        let mut sums: BTreeMap<Function, Totals> = BTreeMap::new();
        for span in &self.recorded.spans {
            let func = self.func(span.func);
            let totals = sums.entry((func.name.clone(), func.module.clone())).or_default();
            if span.fidelity.is_partial() {
                totals.partial += 1;
                continue;
            }
            totals.calls += 1;
            totals.net += self.nanos(span.net);
            if span.outermost {
                totals.elapsed += self.nanos(span.elapsed());
            }
        }
        sums
    }
}
