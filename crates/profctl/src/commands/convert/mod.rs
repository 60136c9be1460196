//! `profctl convert`: a trace in somebody else's form, as a table, or summed up in ours.

mod lines;
mod tables;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use profctl_analyze::summarize::{By, Options, Source, Summary};
use profctl_render::export::{TARGETS, Target};

use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

/// Write a trace in another form, for other programs to read
///
/// The form is told by how the name of the `-o` file ends, or by `--to`; `profctl formats` lists
/// them. With `--to` and without `-o` (or with `-o -`) it goes to standard output. Tables
/// (`parquet`, `csv`, `jsonl`) have a row a call, or what `--table` names, and take several traces;
/// their times are integers in one unit: nanoseconds unless a clock is finer or counts.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A trace, or `-`; for tables also several, directories of runs, saved profiles
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// The form, whatever the file is called
    #[arg(long, value_name = "NAME", value_parser = names())]
    to: Option<String>,
    #[command(flatten)]
    tables: tables::TableArgs,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

/// A form, for lists.
pub(crate) struct Form {
    /// The name for `--to`.
    pub(crate) name: &'static str,
    /// One line.
    pub(crate) about: &'static str,
    /// How names of its files end.
    pub(crate) endings: &'static [&'static str],
    to: To,
}

/// Who writes a form.
#[derive(Clone, Copy)]
enum To {
    /// An exporter of whole traces.
    Viewer(&'static Target),
    /// Rows and columns.
    Table(tables::Target),
    /// The profile that other commands read back.
    Profile,
}

/// Every form.
pub(crate) fn forms() -> impl Iterator<Item = Form> {
    let viewers = TARGETS.iter().map(|target| Form {
        name: target.name,
        about: target.about,
        endings: target.endings,
        to: To::Viewer(target),
    });
    let form = |name, about, endings, target| Form { name, about, endings, to: To::Table(target) };
    let tables = [
        form("parquet", "Apache Parquet: a table for SQL", &[".parquet"], tables::Target::Parquet),
        form("csv", "comma-separated values with a heading line", &[".csv"], tables::Target::Csv),
        form("jsonl", "a JSON object a line", &[".jsonl", ".ndjson"], tables::Target::Jsonl),
    ];
    viewers.chain(tables).chain([Form {
        name: "profile",
        about: "saved profile: what `summarize --format json` writes and other commands read back",
        endings: &[".profile.json"],
        to: To::Profile,
    }])
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(forms().map(|form| PossibleValue::new(form.name).help(form.about)))
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let file = global.out_file.as_deref().filter(|path| *path != Path::new("-"));
    let Args { reading, selection, .. } = args;
    match form(args, file)?.to {
        To::Viewer(target) => {
            let trace = read::load(single(args)?, reading, selection, global)?;
            output::write_streamed(file, |out| (target.write)(&trace, out))?;
            Ok(read::verdict_of(&trace.meta.diags, reading, global))
        }
        To::Table(target) => {
            tables::run(target, &args.tables, &args.traces, reading, selection, global)
        }
        To::Profile => {
            let options = read::options(reading, selection, By::Function)?;
            let sink = Summary::new(Options { percentiles: true, by: By::Function });
            let read = read::one(single(args)?, &options, selection, sink, global)?;
            let source = Source {
                path: read.origin.name,
                format: read.origin.format.name.into(),
                bytes: read.origin.bytes,
            };
            let profile = read.sink.finish(&read.names, &read.meta, source);
            output::write_streamed(file, |out| out.write_all(profile.to_json().as_bytes()))?;
            Ok(read::verdict(&profile.quality, reading, global))
        }
    }
}

/// The trace, where a form holds only one.
fn single(args: &Args) -> Result<&Path, Failure> {
    match args.traces.as_slice() {
        [trace] => Ok(trace),
        traces => Err(Failure::usage(format!(
            "this form holds one trace, found {}; tables take several",
            traces.len()
        ))),
    }
}

/// The form that was asked for.
fn form(args: &Args, file: Option<&Path>) -> Result<Form, Failure> {
    if let Some(name) = &args.to {
        let named = forms().find(|form| form.name == name);
        return Ok(named.expect("clap takes no other name"));
    }
    let Some(file) = file else {
        return Err(list(Failure::usage(
            "nothing says which form to write, expected `-o FILE` or `--to NAME`",
        )));
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    // `x.speedscope.json` ends in `.json`, too: the longest ending tells.
    let length = |form: &Form| {
        let endings = form.endings.iter().filter(|ending| name.ends_with(**ending));
        endings.map(|ending| ending.len()).max().unwrap_or(0)
    };
    let best = forms().max_by_key(length).filter(|form| length(form) > 0);
    best.ok_or_else(|| {
        let message = "no form has files that end like this one, expected one below or `--to NAME`";
        list(Failure::usage(format!("{}: {message}", file.display())))
    })
}

/// Adds every form to an error.
fn list(failure: Failure) -> Failure {
    forms().fold(failure, |failure, form| {
        failure.hint(format!("{} ({}): {}", form.name, form.endings.join(", "), form.about))
    })
}
