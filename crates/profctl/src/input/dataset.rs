//! Calls that `convert` wrote as Parquet, read as the trace that they are of.

use std::fs::File;
use std::path::Path;

use profctl_analyze::tables::{RunHead, Unit};
use profctl_frame::{ReadSpans, Stored};
use profctl_import::{FORMATS, Grouping, Origin, Streamed};
use profctl_model::hash::FastMap;
use profctl_model::tables::SPANS;
use profctl_model::{Func, FuncKind, SpanSink};

use crate::exit::{Failure, reason};

/// Reads the calls in the file at `path` into `sink`; `at` receives how many there were so far.
pub(super) fn read<S: SpanSink>(
    path: &Path,
    grouping: Grouping,
    mut sink: S,
    at: &dyn Fn(u64),
) -> Result<Streamed<S>, Failure> {
    let failed = |message: String| Failure::input(path.display().to_string(), message);
    let file = File::open(path).map_err(|error| failed(reason(&error)))?;
    let stored = Stored::of(file, path, true).map_err(|error| failed(error.to_string()))?;
    let stored = stored.ok_or_else(|| failed("is no Parquet file any more".into()))?;
    if stored.table.name != SPANS.name {
        let message = format!("holds the table {}, expected spans", stored.table.name);
        return Err(failed(message).hint("`profctl query` reads it"));
    }
    let [head] = &stored.runs[..] else {
        let message = format!("holds the calls of {} runs, expected one", stored.runs.len());
        return Err(failed(message)
            .hint("`profctl convert --partition` writes a file for each run, and `profctl query` reads all"));
    };
    let unit = Unit::from_name(&stored.unit)
        .ok_or_else(|| failed(format!("unknown unit {:?}", stored.unit)))?;
    let code = |name: &str| profctl_import::codes().find(|code| code.name == name);
    let head = RunHead::from_json(head, unit, &code)
        .map_err(|error| failed(format!("says of its run: {error}")))?;
    let RunHead { source, facts, mut names, labels, meta, scale, .. } = head;
    let format = FORMATS.iter().map(|format| format.descriptor());
    let format = format
        .into_iter()
        .find(|format| format.name == source.format)
        .ok_or_else(|| failed(format!("is of an unknown format, {:?}", source.format)))?;
    let threads: FastMap<_, _> = labels.pairs().map(|(id, label)| (label.clone(), id)).collect();
    let mut groups = Groups::default();
    let mut group_of = |func: &Func, interrupt: bool| groups.of(grouping, func, interrupt);
    let how = ReadSpans {
        threads: &threads,
        tick: scale.factor(),
        group_of: (grouping != Grouping::Function).then_some(&mut group_of),
        progress: at,
    };
    how.read(&stored, &mut names, &mut sink).map_err(|error| failed(error.to_string()))?;
    let bounds = (meta.first, meta.last);
    let origin = Origin {
        name: source.path,
        format,
        reason: format!("calls in {}", path.display()),
        bytes: source.bytes,
        compression: None,
        facts: facts.into_iter().map(|(name, value)| (name.into(), value)).collect(),
    };
    Ok(Streamed { sink, names, meta, origin, bounds })
}

/// Groups of functions, numbered as they are met.
#[derive(Default)]
struct Groups {
    modules: FastMap<Option<String>, u32>,
}

impl Groups {
    fn of(&mut self, grouping: Grouping, func: &Func, interrupt: bool) -> u32 {
        match grouping {
            Grouping::Module => {
                let next = self.modules.len() as u32;
                *self.modules.entry(func.module.clone()).or_insert(next)
            }
            Grouping::Kind if interrupt => FuncKind::Interrupt as u32,
            Grouping::Kind => func.kind as u32,
            Grouping::Stack | Grouping::Function => 0,
        }
    }
}
