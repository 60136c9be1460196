//! `summarize --batch`: another program names one trace after the other, and each is answered. So a
//! task of a cluster starts one process for all of its traces, which writes one profile, and the task
//! still knows which of the traces are missing in it.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;

use profctl_analyze::summarize::{Profile, SavedRun, Summary};
use serde::{Deserialize, Serialize};

use super::{Args, options, runs_of, write_profile};
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::input::session::Session;

/// What the profile keeps of each trace.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(super) enum Batch {
    /// Its sums, as `summarize` of several traces does.
    Runs,
    /// Nothing, as `merge` does.
    Total,
}

/// A line of standard input.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Read a trace.
    Read { path: String, block: Option<String> },
    /// Leave the trace before out: the other program found that it was not all of it.
    Drop {},
}

/// The line that answers [`Request::Read`].
#[derive(Serialize)]
struct Answer {
    exit_code: u8,
    message: String,
}

pub(super) fn run(
    batch: Batch,
    args: &Args,
    session: &mut Session<'_>,
    global: &Global,
) -> Result<Exit, Failure> {
    let mut sum = Sum { batch, last: Vec::new(), runs: Vec::new(), total: None };
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::input("-", error.to_string()))?;
        let request = serde_json::from_str(&line)
            .map_err(|error| Failure::usage(format!("--batch: {line}: {error}")))?;
        let (path, block) = match request {
            Request::Read { path, block } => (path, block),
            Request::Drop {} => {
                sum.last.clear();
                continue;
            }
        };
        sum.take_last()?;
        let answer = match one(&path, block.as_deref(), args, session, global) {
            Ok(runs) => {
                sum.last = runs;
                Answer { exit_code: Exit::Done as u8, message: String::new() }
            }
            Err(failure) => Answer { exit_code: failure.exit as u8, message: failure.to_string() },
        };
        tell(&answer).map_err(|error| Failure::output("standard output", &error))?;
    }
    sum.take_last()?;
    if let Some(mut profile) = sum.finish()? {
        write_profile(&mut profile, args, global)?;
    }
    Ok(Exit::Done)
}

/// The runs of one input.
fn one(
    path: &str,
    block: Option<&str>,
    args: &Args,
    session: &mut Session<'_>,
    global: &Global,
) -> Result<Vec<SavedRun>, Failure> {
    if path == "-" {
        return Err(Failure::usage("--batch cannot read a trace from standard input"));
    }
    let options = options(args, global);
    let mut runs = Vec::new();
    session.each_of_some(
        &[PathBuf::from(path)],
        || (Summary::new(options), None),
        |item| {
            let given = block.map(str::to_owned);
            runs.extend(runs_of(item, |_| given.clone())?);
            Ok(())
        },
    )?;
    Ok(runs)
}

fn tell(answer: &Answer) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The traces that were read.
struct Sum {
    batch: Batch,
    /// The runs of the last, which may still be dropped.
    last: Vec<SavedRun>,
    runs: Vec<SavedRun>,
    total: Option<Profile>,
}

impl Sum {
    /// Takes in the last trace.
    fn take_last(&mut self) -> Result<(), Failure> {
        let last = std::mem::take(&mut self.last);
        match self.batch {
            Batch::Runs => self.runs.extend(last),
            Batch::Total if last.is_empty() => {}
            Batch::Total => {
                let name = last[0].name.clone();
                let one = Profile::of_runs(last).map_err(Failure::usage)?.without_single_run();
                match &mut self.total {
                    None => self.total = Some(one),
                    Some(total) => {
                        total.merge(one).map_err(|message| Failure::input(name, message))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The profile of all, if there are any.
    fn finish(self) -> Result<Option<Profile>, Failure> {
        if self.runs.is_empty() {
            return Ok(self.total);
        }
        Profile::of_runs(self.runs).map(Some).map_err(Failure::usage)
    }
}
