//! The two sides of a comparison: traces, saved profiles, directories of runs.

use std::path::{Path, PathBuf};

use profctl_analyze::diff::{Run, RunPaths, SeriesSink, Side};
use profctl_analyze::summarize::{By, Options, Profile, Source, Summary};
use profctl_import::{Only, ReadOptions, Streamed};
use profctl_model::TraceBuilder;

use crate::args::{Global, Reading, Selection};
use crate::exit::Failure;
use crate::input::{Content, Inputs};
use crate::read;

/// What is kept of a run besides its profile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keep {
    /// Percentiles.
    pub(crate) histograms: bool,
    /// The paths of its calls.
    pub(crate) paths: bool,
}

/// How to read both sides.
pub(crate) struct Reader<'a> {
    options: ReadOptions,
    selection: &'a Selection,
    global: &'a Global,
    keep: Keep,
    /// Whether each side is one trace, so that what varies inside it is all there is to know.
    single: bool,
}

/// Reads both sides.
pub(crate) fn read(
    paths: [&PathBuf; 2],
    reading: &Reading,
    selection: &Selection,
    keep: Keep,
    global: &Global,
) -> Result<[Side; 2], Failure> {
    let both = Inputs::of(&paths.map(Clone::clone))?;
    let single = both.arguments.iter().all(|argument| argument.files.len() == 1);
    let options = read::options(reading, selection, By::Function)?;
    let reader = Reader { options, selection, global, keep, single };
    Ok([reader.side(paths[0])?, reader.side(paths[1])?])
}

/// Reads one side alone.
pub(crate) fn one(
    path: &PathBuf,
    reading: &Reading,
    selection: &Selection,
    global: &Global,
) -> Result<Side, Failure> {
    let options = read::options(reading, selection, By::Function)?;
    let keep = Keep::default();
    let reader = Reader { options, selection, global, keep, single: false };
    reader.side(path)
}

impl Reader<'_> {
    fn side(&self, path: &PathBuf) -> Result<Side, Failure> {
        let inputs = Inputs::of(std::slice::from_ref(path))?;
        let files = inputs.arguments[0].files.len();
        let is_directory = inputs.arguments[0].is_directory;
        let mut side = Side { name: path.display().to_string(), runs: Vec::new(), passed_over: 0 };
        read::each(&inputs, self.global, |name, content, progress| {
            let mut run = match content {
                Content::Profile(bytes) => self.saved(name, &bytes)?,
                Content::Trace(input) => {
                    let only = self.selection.only(self.sink(), &[]);
                    let progress = |bytes| progress.at(bytes);
                    let read = profctl_import::stream(&input, &self.options, only, &progress)
                        .map_err(|error| Failure::import(name, &error))?;
                    self.selection.fits(&read.meta.timebase)?;
                    read::say_origin(&read.origin, read.meta.events, self.global);
                    traced(read)
                }
            };
            run.block = is_directory.then(|| block(path, Path::new(name))).flatten();
            side.runs.push(run);
            Ok(())
        })?;
        side.passed_over = (files - side.runs.len()) as u64;
        Ok(side)
    }

    fn sink(&self) -> RunSink {
        let options = Options { percentiles: self.keep.histograms, by: By::Function };
        let series = self.single.then(SeriesSink::default);
        let trace = self.keep.paths.then(TraceBuilder::default);
        (Summary::new(options), (series, trace))
    }

    fn saved(&self, name: &str, bytes: &[u8]) -> Result<Run, Failure> {
        let profile = Profile::from_json(bytes).map_err(|error| Failure::input(name, error))?;
        if self.keep.paths {
            return Err(Failure::input(name, "is a saved profile, expected a trace")
                .hint("a profile holds sums by function, not the paths of its calls"));
        }
        if profile.by != By::Function {
            let by = profile.by.name();
            let message = format!("is a profile by {by}, expected one by function");
            return Err(Failure::input(name, message));
        }
        let facts = Vec::new();
        Ok(Run { name: name.into(), block: None, profile, facts, series: None, paths: None })
    }
}

fn traced(read: Streamed<Only<RunSink>>) -> Run {
    let Streamed { sink, names, meta, origin } = read;
    let (summary, (series, trace)) = sink.inner;
    let source = Source {
        path: origin.name.clone(),
        format: origin.format.name.into(),
        bytes: origin.bytes,
    };
    let profile = summary.finish(&names, &meta, source);
    let series = series.map(|series| series.finish(&names, &meta.timebase));
    let paths = trace.map(|trace| RunPaths::of(&trace.finish(meta, names)));
    let facts = origin.facts.into_iter().map(|(name, value)| (name.to_owned(), value));
    Run { name: origin.name, block: None, profile, facts: facts.collect(), series, paths }
}

/// The folder below `side` that a run lies in, if it does not lie in `side` itself.
fn block(side: &Path, run: &Path) -> Option<String> {
    let below = run.strip_prefix(side).ok()?.parent()?;
    Some(below.display().to_string()).filter(|block| !block.is_empty())
}

/// Everything that is kept of a run, in one pass: its sums, and what else was asked for.
type RunSink = (Summary, (Option<SeriesSink>, Option<TraceBuilder>));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_the_side_is_a_block() {
        for (side, run, expected) in [
            ("before", "before/boot1/run1.txt.zst", Some("boot1")),
            ("before/", "before/boot1/day2/run1.txt", Some("boot1/day2")),
            ("before", "before/run1.txt", None),
            ("run1.txt", "run1.txt", None),
        ] {
            assert_eq!(block(Path::new(side), Path::new(run)).as_deref(), expected, "{run}");
        }
    }
}
