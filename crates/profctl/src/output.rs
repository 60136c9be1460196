//! Where a report goes: standard output at once, or a file that appears only when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use profctl_model::Table;
use profctl_render::{code_trace, table};

use crate::args::Global;
use crate::exit::Failure;
use crate::style;

/// Writes `report` as the user asked.
pub(crate) fn write_table(report: &Table, global: &Global) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    table::write(report, global.output, &style::of(global), &mut bytes)
        .expect("memory takes what is written to it");
    write_bytes(&bytes, global)
}

/// Writes a replay: for people as a code trace, else as a table.
pub(crate) fn write_replay(report: &Table, global: &Global) -> Result<(), Failure> {
    if global.output != table::Format::Table {
        return write_table(report, global);
    }
    let mut bytes = Vec::new();
    code_trace::write(report, &style::of(global), &mut bytes)
        .expect("memory takes what is written to it");
    write_bytes(&bytes, global)
}

/// Writes a finished report to a file of its own.
pub(crate) fn write_to(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_file(path, bytes).map_err(|error| Failure::output(path.display().to_string(), &error))
}

/// Writes a finished report.
pub(crate) fn write_bytes(bytes: &[u8], global: &Global) -> Result<(), Failure> {
    match &global.out_file {
        Some(path) => write_to(path, bytes),
        None => write_stdout(bytes).map_err(|error| Failure::output("standard output", &error)),
    }
}

fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // Whoever reads has seen enough: `profctl … | head` is no error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Replaces the file at `path` in one step. A device or a pipe cannot be replaced: it is written to.
fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link, and the file it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.metadata().is_ok_and(|found| !found.is_file()) {
        return OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let temporary = neighbour(&target)?;
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // Whatever went wrong is reported; a file that is not there need not be removed.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn neighbour(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    Ok(target.with_file_name(hidden))
}
