//! Reading one input: what may be done on any thread, before the session takes it in.

use profctl_analyze::summarize::Profile;
use profctl_import::files::FileId;
use profctl_import::{Files as _, ImportError, ReadOptions, Streamed};
use profctl_model::SelectThreads;

use super::files::DiskFiles;
use super::selected::Selected;
use super::{Content, TraceFile, foreign};
use crate::args::{Expansion, Selection};
use crate::exit::Failure;

/// An input that was read, but not yet taken in.
pub(crate) enum Opened<S> {
    Trace(Box<Streamed<Selected<S>>>),
    /// Flags that no profile can answer come before what is wrong with this one.
    Profile(Result<Box<Profile>, Failure>),
    /// Likewise.
    #[cfg(feature = "tables")]
    Dataset(Result<Box<Streamed<Selected<S>>>, Failure>),
}

/// Reads an input; `at` receives how many of its bytes were read.
pub(crate) fn opened<S: SelectThreads + Send>(
    file: &TraceFile,
    expansion: Expansion,
    options: &ReadOptions,
    passing: &Selection,
    sink: &impl Fn() -> S,
    at: &(dyn Fn(u64) + Sync),
) -> Result<Opened<S>, Failure> {
    match file.open(expansion)? {
        Content::Trace(input) => {
            let read = |sink| profctl_import::stream(&input, options, sink, at);
            imported(file, &input, passing, sink(), read).map(|read| Opened::Trace(Box::new(read)))
        }
        Content::Profile(bytes) => {
            let profile = Profile::from_json(&bytes).map(Box::new);
            let failed = |error| Failure::input(file.name.clone(), error);
            Ok(Opened::Profile(profile.map_err(failed)))
        }
        #[cfg(feature = "tables")]
        Content::Dataset(path) => {
            let sink = Selected::new(sink(), passing);
            let read = super::dataset::read(&path, options.grouping, sink, at);
            Ok(Opened::Dataset(read.map(Box::new)))
        }
    }
}

pub(crate) fn imported<S: SelectThreads + Send>(
    file: &TraceFile,
    input: &DiskFiles,
    passing: &Selection,
    sink: S,
    read: impl FnOnce(Selected<S>) -> Result<Streamed<Selected<S>>, ImportError>,
) -> Result<Streamed<Selected<S>>, Failure> {
    read(Selected::new(sink, passing)).map_err(|error| not_read(file, &error, input))
}

/// Why an input cannot be read, in terms of what it is.
fn not_read(file: &TraceFile, error: &ImportError, input: &DiskFiles) -> Failure {
    let failure = Failure::import(&file.name, error);
    if let Some((what, remedy)) = error.remedy() {
        let mut failure = Failure::input(file.name.clone(), what);
        failure.is_no_trace = true;
        return failure.hint(remedy.replace("FILE", &file.name));
    }
    if !error.is_unrecognized() {
        return failure;
    }
    // It was read before, and is remembered.
    let Ok(head) = input.head(FileId(0)) else { return failure };
    match foreign::kind(&file.name, &head.bytes) {
        Some(kind) => {
            let mut failure = Failure::input(file.name.clone(), format!("is {}", kind.name));
            failure.is_no_trace = true;
            let route = kind.route.map(|route| route.replace("FILE", &file.name));
            match route {
                Some(route) => failure.hint(route),
                None => failure.hint("`profctl formats` lists what is read"),
            }
        }
        None if std::str::from_utf8(&head.bytes).is_ok() => failure
            .hint("`profctl formats` lists them; a rule reads any text log (`profctl help input`)"),
        None => failure.hint("`profctl formats` lists them; --input-format NAME forces one"),
    }
}
