//! Where a report goes: standard output at once, or a file that appears only when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use profctl_model::Table;
use profctl_render::{code_trace, table};

use crate::args::Global;
use crate::exit::Failure;
use crate::style;

/// Bytes that are gathered before they are written to a file.
const BUFFER: usize = 256 << 10;

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
    write_streamed(Some(path), |out| out.write_all(bytes))
}

/// Writes what `fill` writes to the file, or to standard output without one. It need not fit in
/// memory; the file still appears only when it is whole.
pub(crate) fn write_streamed(
    path: Option<&Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match path {
        Some(path) => write_file(path, fill)
            .map_err(|error| Failure::output(path.display().to_string(), &error)),
        None => write_stdout(fill).map_err(|error| Failure::output("standard output", &error)),
    }
}

/// Writes a finished report.
pub(crate) fn write_bytes(bytes: &[u8], global: &Global) -> Result<(), Failure> {
    write_streamed(global.out_file.as_deref(), |out| out.write_all(bytes))
}

fn write_stdout(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match fill(&mut out).and_then(|()| out.flush()) {
        // Whoever reads has seen enough: `profctl … | head` is no error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Replaces the file at `path` in one step. A device or a pipe cannot be replaced: it is written to.
fn write_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A link stays a link, and the file it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.metadata().is_ok_and(|found| !found.is_file()) {
        return fill_file(OpenOptions::new().write(true).open(&target)?, fill);
    }
    let temporary = neighbour(&target)?;
    let written = File::create_new(&temporary)
        .and_then(|file| fill_file(file, fill))
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // Whatever went wrong is reported; a file that is not there need not be removed.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn fill_file(file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    fill(&mut out)?;
    out.flush()
}

fn neighbour(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    Ok(target.with_file_name(hidden))
}
