//! The two sides of a comparison: traces, saved profiles, directories of runs.

use std::path::{Path, PathBuf};

use profctl_analyze::diff::{Run, SeriesSink, Side};
use profctl_analyze::summarize::{By, Options, Profile, Quality, SavedRun, Summary};

use crate::args::{Global, Reading, Selection};
use crate::exit::Failure;
use crate::input::session::{ItemContent, Read, Session};
use crate::input::{Inputs, PARTITION};
use crate::spooled::{Calls, Waiting};

/// What is kept of a run besides its profile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keep {
    /// Percentiles.
    pub(crate) histograms: bool,
    /// The paths of its calls.
    pub(crate) paths: bool,
}

/// Reads both sides.
pub(crate) fn read(
    paths: [&PathBuf; 2],
    reading: &Reading,
    selection: &Selection,
    keep: Keep,
    global: &Global,
) -> Result<[Side; 2], Failure> {
    let both = Inputs::of(&paths.map(Clone::clone), global)?;
    // With one trace per side, only within-trace variation is known.
    let single = both.arguments.iter().all(|argument| argument.files.len() == 1);
    let mut session = Session::new(reading, selection, By::Function, global)?;
    let before = side(&mut session, paths[0], keep, single, global)?;
    let after = side(&mut session, paths[1], keep, single, global)?;
    session.check()?;
    Ok([before, after])
}

/// Takes the runs of these names out of the sides. Each name must be one of a run.
pub(crate) fn exclude(sides: &mut [Side], names: &[String]) -> Result<(), Failure> {
    for name in names {
        let is_it = |run: &Run| {
            let rest = run.name.strip_suffix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        if !sides.iter().any(|side| side.runs.iter().any(is_it)) {
            return Err(Failure::usage(format!("--exclude-run {name}: no such run")));
        }
        for side in &mut *sides {
            side.runs.retain(|run| !is_it(run));
            if side.runs.is_empty() {
                let name = &side.name;
                return Err(Failure::usage(format!("--exclude-run: no run of {name} is left")));
            }
        }
    }
    Ok(())
}

/// Reads one side alone.
pub(crate) fn one(
    path: &PathBuf,
    reading: &Reading,
    selection: &Selection,
    global: &Global,
) -> Result<Side, Failure> {
    let mut session = Session::new(reading, selection, By::Function, global)?;
    let one = side(&mut session, path, Keep::default(), false, global)?;
    session.check()?;
    Ok(one)
}

/// How good each run of a side is.
pub(crate) fn qualities(side: &Side) -> impl Iterator<Item = Quality> + '_ {
    side.runs.iter().map(|run| run.profile.quality.clone())
}

fn side(
    session: &mut Session<'_>,
    path: &PathBuf,
    keep: Keep,
    single: bool,
    global: &Global,
) -> Result<Side, Failure> {
    let inputs = Inputs::of(std::slice::from_ref(path), global)?;
    let files = inputs.arguments[0].files.len();
    let is_directory = inputs.arguments[0].is_directory;
    let selection = session.selection;
    let waiting = keep.paths.then(Waiting::default);
    let sink = || -> RunSink {
        let options =
            Options { percentiles: keep.histograms, call_graph: true, ..Options::default() };
        let series = single.then(SeriesSink::default);
        (Summary::new(options), (series, waiting.as_ref().map(Waiting::calls)))
    };
    let mut side = Side { name: path.display().to_string(), runs: Vec::new(), skipped: 0 };
    let mut read = 0;
    session.each_of_some(std::slice::from_ref(path), sink, |item| {
        let block = is_directory.then(|| below(path, Path::new(&item.name))).flatten();
        read += 1;
        match item.content {
            ItemContent::Profile(profile) => {
                let runs = saved(&item.name, *profile, selection, keep)?;
                side.runs.extend(runs.into_iter().map(|run| Run {
                    block: joined(block.as_deref(), run.block.as_deref()),
                    ..run
                }));
            }
            ItemContent::Trace(read) => side.runs.push(Run { block, ..traced(*read)? }),
        }
        Ok(())
    })?;
    side.skipped = (files - read) as u64;
    Ok(side)
}

fn saved(
    name: &str,
    mut profile: Profile,
    selection: &Selection,
    keep: Keep,
) -> Result<Vec<Run>, Failure> {
    if keep.paths && !profile.has_paths() {
        return Err(Failure::input(name, "is a saved profile without call paths")
            .hint("save it again with `profctl summarize --paths`"));
    }
    if profile.by != By::Function {
        let by = profile.by.name();
        let message = format!("is a profile by {by}, expected one by function");
        return Err(Failure::input(name, message));
    }
    // Saved profiles always have histograms; traces have them only if they are asked for.
    if !keep.histograms {
        profile.drop_histograms();
    }
    profile.retain(&|row| selection.takes_function(&row.name, row.module.as_deref()));
    let run = |run: SavedRun| {
        let SavedRun { name, block, facts, mut profile } = run;
        let paths = profile.paths.take();
        Run { name, block, profile, facts, series: None, paths }
    };
    // A profile of several runs stands for them all.
    Ok(profile.into_runs(name).into_iter().map(run).collect())
}

fn traced(read: Read<RunSink>) -> Result<Run, Failure> {
    let (source, facts) = (read.source(), read.facts());
    let Read { sink: (summary, (series, calls)), names, meta, origin } = read;
    let profile = summary.finish(&names, &meta, source);
    let series = series.map(|series| series.finish(&names, &meta.timebase));
    let paths = calls.map(|calls| calls.run_paths(&names, &meta)).transpose()?;
    Ok(Run { name: origin.name, block: None, profile, facts, series, paths })
}

/// The subdirectory of `side` that a run lies in, if it does not lie in `side` itself. A directory
/// that `convert --partition` made has the name of a run, which may have one.
fn below(side: &Path, run: &Path) -> Option<String> {
    let below = run.strip_prefix(side).ok()?.parent()?;
    let name = below.file_name().and_then(|name| name.to_str());
    let block = match name.and_then(|name| name.strip_prefix(PARTITION)) {
        None => below.to_owned(),
        Some(run) => below.with_file_name(percent_decoded(run)).parent()?.to_owned(),
    };
    Some(block.display().to_string()).filter(|block| !block.is_empty())
}

fn percent_decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let code = code.filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The same where a run was found below one of several arguments.
pub(crate) fn block(traces: &[PathBuf], run: &Path) -> Option<String> {
    traces.iter().find_map(|trace| below(trace, run))
}

/// A block of a saved profile in a subdirectory is a block of it.
fn joined(outer: Option<&str>, inner: Option<&str>) -> Option<String> {
    match (outer, inner) {
        (Some(outer), Some(inner)) => Some(format!("{outer}/{inner}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// Everything that is kept of a run, in one pass: its sums, and what else was asked for.
type RunSink = (Summary, (Option<SeriesSink>, Option<Calls>));

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
            ("calls", "calls/run=run1.txt/part-0.parquet", None),
            ("calls", "calls/run=boot%201%2Frun%C3%A4.txt/part-0.parquet", Some("boot 1")),
            ("calls", "calls/run=100%/part-0.parquet", None),
            ("calls", "calls/host1/run=run1.txt/part-0.parquet", Some("host1")),
        ] {
            assert_eq!(below(Path::new(side), Path::new(run)).as_deref(), expected, "{run}");
        }
    }
}
