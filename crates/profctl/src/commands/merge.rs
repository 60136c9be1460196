//! `profctl merge`: saved profiles added up; with `--align`, recordings of one run put together.

use std::path::PathBuf;

use profctl_analyze::summarize::{Profile, Quality, SavedRun};
use profctl_import::{Files, ReadOptions};
use profctl_model::TraceBuilder;
use profctl_render::table::Format;

use crate::args::{Expansion, Global};
use crate::exit::{Exit, Failure};
use crate::input::{Content, Inputs, session};
use crate::{output, read};

const EXAMPLES: &str = "\
Examples:
  profctl merge shard*.profile.json -o all.profile.json
  profctl merge profiles/ > all.profile.json
  profctl merge --runs run*.profile.json -o base.profile.json
  profctl merge --align graph.txt sched.txt -o run.txt    one run by two tools";

/// Merge saved profiles of shards into one
///
/// The result is the same byte for byte in any order and grouping, so partial results can be merged
/// again. `real` is summed; `lanes` is the maximum.
///
/// With --runs each profile is a run, and the result keeps every run's sums apart, as `summarize`
/// of several traces does: for `diff` and `gate`. A profile of several runs adds them all; one of a
/// single trace is named after the trace.
///
/// With --align the inputs are traces of one run, by several tools or one file per CPU. Their
/// records are merged in time order and written as one trace in the plain format. All must use the
/// same clock.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Saved profiles, or directories of them; with --align, traces
    #[arg(value_name = "PROFILE", required = true)]
    profiles: Vec<PathBuf>,
    /// Keep each profile as a run of its own
    #[arg(long, conflicts_with = "align")]
    runs: bool,
    /// Write traces of one run, by one clock, as one trace
    #[arg(long)]
    align: bool,
    /// Exit with 5 if a part is incomplete: lost, unmatched or skipped records
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    expansion: Expansion,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    if args.align {
        return align(args, global);
    }
    if global.format() != Format::Json {
        let asked = global.format().name();
        return Err(Failure::usage(format!("merge writes a saved profile, not {asked}"))
            .hint(format!("`profctl summarize --format {asked} PROFILE…` shows profiles as one")));
    }
    let inputs = Inputs::of(&args.profiles, global)?;
    let mut merged: Option<Profile> = None;
    let mut runs: Vec<SavedRun> = Vec::new();
    session::each_file(&inputs, global, |file, _| {
        let name = file.name.as_str();
        let Content::Profile(bytes) = file.open(args.expansion)? else {
            return Err(no_profile(name));
        };
        let one = Profile::from_json(&bytes).map_err(|message| Failure::input(name, message))?;
        if args.runs {
            let name = match one.sources.as_slice() {
                [source] => source.path.clone(),
                _ => name.to_owned(),
            };
            runs.extend(one.into_runs(&name));
            return Ok(());
        }
        match &mut merged {
            None => merged = Some(one),
            Some(sum) => sum.merge(one).map_err(|message| Failure::input(name, message))?,
        }
        Ok(())
    })?;
    let sum = if args.runs {
        Profile::of_runs(runs).map_err(|message| Failure::input("merge --runs", message))?
    } else {
        merged.expect("clap asks for a profile, and each input gave one or an error")
    };
    for twice in repeated(&sum) {
        read::say(&format!("{twice}: is in more than one of the profiles"), global);
    }
    output::write_bytes(sum.to_json().as_bytes(), global)?;
    Ok(read::strict_verdict(&sum.quality, args.strict, global))
}

/// Puts traces of one run together.
fn align(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let (mut traces, mut bytes) = (Vec::new(), 0);
    for path in &args.profiles {
        let file = Inputs::single(path, global)?;
        bytes += file.bytes.unwrap_or(0);
        traces.push(file.open(args.expansion)?.trace(&file.name)?);
    }
    let progress = session::progress((bytes > 0).then_some(bytes), global);
    let parts: Vec<&dyn Files> = traces.iter().map(|trace| trace as &dyn Files).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let options = ReadOptions { workers, ..ReadOptions::default() };
    let mut out = output::NewFile::of(global)?;
    let nothing: Option<TraceBuilder> = None;
    let at = |n| progress.at(n);
    let read = profctl_import::write_plain_together(&parts, &options, nothing, &mut out, &at);
    let (read, written) = read.map_err(|error| Failure::import("merge --align", &error))?;
    drop(progress);
    out.close(written)?;
    let quality = Quality::of(&read.meta.diags);
    for note in quality.notes(read.meta.timebase.timeline) {
        read::say(&note, global);
    }
    Ok(read::strict_verdict(&quality, args.strict, global))
}

/// In a directory, files that are not profiles are skipped.
fn no_profile(name: &str) -> Failure {
    let mut failure = Failure::input(name, "is not a saved profile")
        .hint("`profctl summarize --format json TRACE` writes one");
    failure.is_no_trace = true;
    failure
}

/// Sources that were added more than once, as happens when a part is given twice. Standard input
/// has no name to be identified by.
fn repeated(profile: &Profile) -> Vec<&str> {
    let pairs = profile.sources.windows(2);
    let mut found: Vec<&str> = pairs
        .filter(|pair| pair[0] == pair[1] && pair[0].path != "-")
        .map(|pair| pair[0].path.as_str())
        .collect();
    found.dedup();
    found
}
