//! Traces as runs of the tables: each read once, its calls numbered and waiting, its other tables
//! small enough to hold.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use profctl_analyze::summarize::{By, Options, Profile, Row, Summary};
use profctl_analyze::tables::{self, RunHead, RunName, Scale, Unit};
#[cfg(feature = "tables")]
use profctl_frame::SpanBatch;
#[cfg(feature = "tables")]
use profctl_model::spool::FigureBlock;
use profctl_model::spool::{Figure, FigureBlocks, FigureSpool, Others, Rows};
use profctl_model::tables::{
    EVENTS, FUNCTIONS, GAPS, QUALITY, RUNS, SPANS, STATES, THREADS, TableSchema, WAKES,
};
use profctl_model::{SpanRow, Spool, Table};

use crate::exit::Failure;
use crate::input::session::{ItemContent, Read, Session};
use crate::spill::{Spill, Temporary};

/// What of the traces will be asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Whether the calls are: else they are only counted.
    pub(crate) calls: bool,
    /// The figures of calls to collect instead of calls, if the caller needs no more.
    pub(crate) figures: Option<&'a [Figure]>,
    /// Whether the figures of functions are, with percentiles.
    pub(crate) functions: bool,
    /// So many bytes of calls stay in memory, more go to disk.
    pub(crate) in_memory: u64,
}

impl Wanted<'_> {
    /// What `tables` are made from.
    pub(crate) fn of(tables: &[&TableSchema], in_memory: u64) -> Self {
        let named = |table: &TableSchema| tables.iter().any(|wanted| wanted.name == table.name);
        Self { calls: named(&SPANS), figures: None, functions: named(&FUNCTIONS), in_memory }
    }
}

/// What a call takes in a block, about.
pub(crate) const BYTES_A_CALL: u64 = 20;
/// Default number of bytes of calls in memory.
pub(crate) const IN_MEMORY: u64 = BYTES_A_CALL << 22;

/// Traces, read.
pub(crate) struct Runs<'a> {
    /// In the order in which they were given.
    pub(crate) all: Vec<Run>,
    /// Of all times in their tables.
    pub(crate) unit: Unit,
    /// What read them.
    pub(crate) session: Session<'a>,
    /// Where what does not fit memory is.
    #[cfg(feature = "tables")]
    pub(crate) temporary: Arc<Temporary>,
}

/// One of them.
pub(crate) struct Run {
    /// What it is called in the column `run`.
    pub(crate) name: String,
    /// Its sums.
    pub(crate) profile: Profile,
    /// The rest; a saved profile has only sums.
    pub(crate) trace: Option<Traced>,
    scale: Scale,
}

/// What a trace has and a saved profile has not.
pub(crate) struct Traced {
    /// Functions, threads, CPUs, clock and quality.
    pub(crate) head: RunHead,
    rows: Rows<Spill>,
    #[cfg_attr(not(feature = "tables"), expect(dead_code, reason = "queries ask for figures"))]
    figures: Option<FigureBlocks<Spill>>,
    others: Others,
}

impl<'a> Runs<'a> {
    /// Reads them all.
    pub(crate) fn read(
        traces: &[PathBuf],
        mut session: Session<'a>,
        wanted: Wanted<'_>,
    ) -> Result<Self, Failure> {
        let temporary = Arc::new(Temporary::default());
        let budget = usize::try_from(wanted.in_memory).unwrap_or(usize::MAX);
        let spill = || Spill::new(budget, Arc::clone(&temporary));
        let sink = || {
            let figures = wanted.figures.map(|figures| FigureSpool::new(figures, spill()));
            let spool = Spool::new(spill());
            let has_rows = wanted.calls && figures.is_none();
            let spool = if has_rows { spool } else { spool.without_calls() };
            (
                (spool, figures),
                Summary::new(Options { percentiles: wanted.functions, ..Options::default() }),
            )
        };
        let selection = session.selection;
        let mut read: Vec<(String, Profile, Option<Traced>)> = Vec::new();
        session.each(traces, sink, |item| {
            let one = match item.content {
                ItemContent::Trace(one) => one,
                ItemContent::Profile(profile) => {
                    let mut profile = by_function(*profile)
                        .map_err(|message| Failure::input(item.name.as_str(), message))?;
                    let takes =
                        |row: &Row| selection.takes_function(&row.name, row.module.as_deref());
                    profile.retain(&takes);
                    read.push((item.name, profile, None));
                    return Ok(());
                }
            };
            let (source, facts) = (one.source(), one.facts());
            let Read { sink: ((spool, figures), summary), names, meta, .. } = *one;
            let profile = summary.finish(&names, &meta, source.clone());
            let full = |error| no_room(&error);
            let step = meta.timebase.microsecond();
            let (rows, mut others) = spool.finish(spill(), step).map_err(full)?;
            let figures =
                figures.map(|figures| figures.finish(spill())).transpose().map_err(full)?;
            selection.keep_states(&mut others.states, &names);
            selection.keep_lives(&mut others.lives, &names);
            selection.keep_marks(&mut others.marks, &names);
            selection.keep_wakes(&mut others.wakes, &names);
            selection.keep_gaps(&mut others.gaps, &names);
            let labels = tables::thread_labels(&names);
            let (run, scale) = (item.name.clone(), Scale::default());
            let head = RunHead { run, source, facts, names, labels, meta, scale };
            read.push((item.name, profile, Some(Traced { head, rows, figures, others })));
            Ok(())
        })?;
        let unit = Unit::common(read.iter().map(|(_, profile, _)| &profile.timebase))
            .map_err(Failure::usage)?;
        let names = run_names(&read.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>());
        let runs = read.into_iter().zip(names).map(|((_, profile, mut trace), name)| {
            let scale = unit.of(&profile.timebase);
            if let Some(Traced { head, .. }) = &mut trace {
                (head.run, head.scale) = (name.clone(), scale);
            }
            Run { name, profile, trace, scale }
        });
        Ok(Self {
            all: runs.collect(),
            unit,
            session,
            #[cfg(feature = "tables")]
            temporary,
        })
    }

    /// All calls of all runs.
    #[cfg(feature = "tables")]
    pub(crate) fn calls(&self) -> u64 {
        let traces = self.all.iter().filter_map(|run| run.trace.as_ref());
        traces.map(|trace| trace.rows.calls()).sum()
    }
}

impl Run {
    /// One of its tables other than `spans`.
    pub(crate) fn table(&self, schema: &TableSchema, unit: Unit) -> Table {
        let run = RunName { name: &self.name, scale: self.scale };
        let of_trace = |table: fn(&Traced, RunName<'_>) -> Table| {
            self.trace.as_ref().map_or_else(|| schema.empty(), |trace| table(trace, run))
        };
        match schema.name {
            name if name == FUNCTIONS.name => tables::functions(&self.profile, run),
            name if name == THREADS.name => {
                of_trace(|trace, run| tables::threads(&trace.head.names, &trace.others.calls, run))
            }
            name if name == EVENTS.name => {
                of_trace(|trace, run| tables::events(&trace.others, &trace.head.names, run))
            }
            name if name == STATES.name => {
                of_trace(|trace, run| tables::states(&trace.others, &trace.head.names, run))
            }
            name if name == WAKES.name => {
                of_trace(|trace, run| tables::wakes(&trace.others, &trace.head.names, run))
            }
            name if name == GAPS.name => {
                of_trace(|trace, run| tables::gaps(&trace.others, &trace.head.names, run))
            }
            name if name == QUALITY.name => tables::quality(&self.profile, run),
            name if name == RUNS.name => tables::run(&self.profile, unit, run),
            _ => schema.empty(),
        }
    }

    /// Passes its calls to `take`, a block at a time, in the unit of the tables.
    pub(crate) fn each_block(
        &mut self,
        mut take: impl FnMut(&[SpanRow]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        while let Some(rows) = trace.rows.next_block().map_err(|error| no_room(&error))? {
            self.scale.apply_to(rows);
            take(rows)?;
        }
        Ok(())
    }

    /// Passes its calls to `take` in `batch`, as many at a time as make a part of a table.
    #[cfg(feature = "tables")]
    pub(crate) fn each_batch(
        &mut self,
        mut batch: SpanBatch<'_>,
        mut take: impl FnMut(&mut SpanBatch<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.each_block(|rows| {
            batch.push(rows);
            if batch.is_full() { take(&mut batch) } else { Ok(()) }
        })?;
        take(&mut batch)
    }

    /// Passes the figures of its calls to `take`, if these were collected instead of calls.
    #[cfg(feature = "tables")]
    pub(crate) fn each_block_of_figures(
        &mut self,
        mut take: impl FnMut(&FigureBlock) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let figures = self.trace.as_mut().and_then(|trace| trace.figures.as_mut());
        let Some(figures) = figures else { return Ok(()) };
        while let Some(mut block) = figures.next_block().map_err(|error| no_room(&error))? {
            block.map_times(|ticks| self.scale.apply(ticks));
            take(&block)?;
        }
        Ok(())
    }
}

fn by_function(profile: Profile) -> Result<Profile, String> {
    match profile.by {
        By::Function => Ok(profile),
        other => Err(format!("the profile is by {}, expected by function", other.name())),
    }
}

/// Calls that do not fit memory wait on disk, and the disk had no space or failed.
pub(crate) fn no_room(error: &io::Error) -> Failure {
    let place = std::env::temp_dir().display().to_string();
    Failure::output(place, error).hint("set TMPDIR to a writable directory with enough space")
}

/// What runs are called: the path without the directories that all have in common; with a number
/// after it if it was given before.
fn run_names(paths: &[&str]) -> Vec<String> {
    let parts: Vec<Vec<_>> =
        paths.iter().map(|path| Path::new(path).components().collect()).collect();
    let shared = match parts.as_slice() {
        [] => 0,
        [first, rest @ ..] => (0..first.len().saturating_sub(1))
            .take_while(|&n| {
                rest.iter().all(|other| other.get(n) == first.get(n) && n + 1 < other.len())
            })
            .count(),
    };
    let mut names: Vec<String> = Vec::new();
    for parts in &parts {
        let path: PathBuf = parts[shared..].iter().collect();
        let name = path.display().to_string();
        let mut free = name.clone();
        let mut times = 1;
        while names.contains(&free) {
            times += 1;
            free = format!("{name}#{times}");
        }
        names.push(free);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::run_names;

    #[test]
    fn runs_are_named_by_what_tells_them_apart() {
        let cases: [(&[&str], &[&str]); 5] = [
            (&["a/b/trace.txt"], &["trace.txt"]),
            (&["a/before/1.txt", "a/after/1.txt"], &["before/1.txt", "after/1.txt"]),
            (&["x.txt", "dir/x.txt"], &["x.txt", "dir/x.txt"]),
            (&["d/x.txt", "d/x.txt", "d/y.txt"], &["x.txt", "x.txt#2", "y.txt"]),
            (&["-"], &["-"]),
        ];
        for (paths, names) in cases {
            assert_eq!(run_names(paths), names);
        }
    }
}
