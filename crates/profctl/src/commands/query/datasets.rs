//! Tables that `convert` wrote as Parquet, queried in place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use profctl_frame::{Database, Stored};
use profctl_model::tables::TableSchema;

use super::Args;
use crate::exit::{Failure, reason};
use crate::input::PARTITION;

/// Files of tables, all in one unit.
pub(super) struct Datasets {
    files: Vec<Stored>,
    /// The unit of their times.
    pub(super) unit: String,
}

impl Datasets {
    /// The datasets that were named; nothing if the inputs are traces.
    pub(super) fn of(inputs: &[PathBuf], args: &Args) -> Result<Option<Self>, Failure> {
        let mut files: Vec<(String, Stored)> = Vec::new();
        let mut trace = None;
        for input in inputs {
            let found = stored(input)?;
            if found.is_empty() {
                trace = trace.or(Some(input));
            }
            files.extend(found);
        }
        let Some((first, unit)) = files.first().map(|(name, file)| (name, file.unit.clone()))
        else {
            return Ok(None);
        };
        if let Some(trace) = trace {
            let message = format!("{} is a trace, {first} is Parquet", trace.display());
            return Err(Failure::usage(message).hint("query traces or Parquet files, not both"));
        }
        let flag = args.selection.first_flag().or_else(|| args.reading.beyond_profiles());
        if let Some(flag) = flag {
            return Err(Failure::usage(format!("{flag} has no effect: {first} is Parquet"))
                .hint("select with WHERE, or apply the flag in `profctl convert`"));
        }
        let of_table = |table: &TableSchema| {
            let of_table = files.iter().filter(|(_, file)| file.table.name == table.name);
            let (parts, whole): (Vec<_>, Vec<_>) = of_table.partition(|(_, file)| file.is_part);
            parts.is_empty() || (whole.is_empty() && inputs.len() == 1)
        };
        if !files.iter().all(|(_, file)| of_table(file.table)) {
            return Err(Failure::usage(
                "a partitioned directory cannot be combined with other files",
            )
            .hint("convert the traces together, with --partition or without"));
        }
        if let Some((name, other)) = files.iter().find(|(_, file)| file.unit != unit) {
            let message = format!("times are in {}, in {first} in {unit}", other.unit);
            return Err(Failure::input(name.clone(), message)
                .hint("convert the traces together: they then have one unit"));
        }
        Ok(Some(Self { unit, files: files.into_iter().map(|(_, file)| file).collect() }))
    }

    /// The files of the tables that a query names. Fails if there are none of one.
    pub(super) fn database(self, tables: &[&'static TableSchema]) -> Result<Database, Failure> {
        for wanted in tables {
            if !self.files.iter().any(|file| file.table.name == wanted.name) {
                let mut held: Vec<&str> = self.files.iter().map(|file| file.table.name).collect();
                held.sort_unstable();
                held.dedup();
                let (held, name) = (held.join(", "), wanted.name);
                return Err(Failure::usage(format!(
                    "no table {name}: the Parquet files have {held}"
                ))
                .hint(format!(
                    "`profctl convert --table {name} TRACE -o FILE.parquet` writes it"
                )));
            }
        }
        let mut database = Database::default();
        for file in self.files {
            database.add_stored(file);
        }
        Ok(database)
    }
}

/// The tables in a file, or in a directory with one part per run; none if it is something else.
fn stored(input: &Path) -> Result<Vec<(String, Stored)>, Failure> {
    if input.is_dir() {
        let mut parts = Vec::new();
        for directory in sorted(input)? {
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !(name.starts_with(PARTITION) && directory.is_dir()) {
                continue;
            }
            for part in sorted(&directory)? {
                parts.extend(open(&part, true)?);
            }
        }
        return Ok(parts);
    }
    // What cannot be read is said by those who read traces.
    if !input.is_file() {
        return Ok(Vec::new());
    }
    Ok(open(input, false)?.into_iter().collect())
}

fn open(path: &Path, is_part: bool) -> Result<Option<(String, Stored)>, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::input(name.as_str(), reason(&error)))?;
    match Stored::of(file, path, is_part) {
        Ok(found) => Ok(found.map(|file| (name, file))),
        Err(error) => Err(Failure::input(name, error.to_string())),
    }
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| Failure::input(directory.display().to_string(), reason(&error));
    let entries = fs::read_dir(directory).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}
