//! Where a report goes: standard output at once, or a file that appears only when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use profctl_model::Table;
use profctl_render::{code_trace, table};

use crate::args::Global;
use crate::exit::Failure;
use crate::style;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Writes `report` as the user asked.
pub(crate) fn write_table(report: &Table, global: &Global) -> Result<(), Failure> {
    if global.format == table::Format::Parquet {
        return write_parquet(report, global);
    }
    let mut bytes = Vec::new();
    table::write(report, global.format, &style::of(global), &mut bytes)
        .expect("memory takes what is written to it");
    write_bytes(&bytes, global)
}

#[cfg(feature = "tables")]
fn write_parquet(report: &Table, global: &Global) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    profctl_frame::store_report(report, &mut bytes)
        .map_err(|error| Failure::usage(format!("not written: {error}")))?;
    write_bytes(&bytes, global)
}

#[cfg(not(feature = "tables"))]
fn write_parquet(_: &Table, _: &Global) -> Result<(), Failure> {
    Err(Failure::without_tables("Parquet"))
}

/// Writes a replay: for people as a code trace, else as a table.
pub(crate) fn write_replay(report: &Table, global: &Global) -> Result<(), Failure> {
    if global.format != table::Format::Table {
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
    let mut out = path.map_or_else(|| Ok(NewFile::stdout()), NewFile::at)?;
    let written = fill(&mut out);
    out.close(written)
}

/// Writes a finished report.
pub(crate) fn write_bytes(bytes: &[u8], global: &Global) -> Result<(), Failure> {
    write_streamed(global.out_file.as_deref(), |out| out.write_all(bytes))
}

/// A file, or standard output, that is written as it comes. A file appears once it is closed.
pub(crate) struct NewFile {
    out: BufWriter<Box<dyn Write + Send>>,
    name: String,
    /// Where it is written and where it shall be; nothing for what cannot be replaced.
    place: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    /// Where the user wants the output.
    pub(crate) fn of(global: &Global) -> Result<Self, Failure> {
        let file = global.out_file.as_deref().filter(|path| *path != Path::new("-"));
        file.map_or_else(|| Ok(Self::stdout()), Self::at)
    }

    /// Standard output.
    fn stdout() -> Self {
        Self::direct(Box::new(io::stdout()), "standard output".into())
    }

    /// That file. A device or a pipe cannot be replaced: it is written to. A link stays a link, and
    /// the file it points to is replaced.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let failed = |error: io::Error| Failure::output(name.clone(), &error);
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if target.metadata().is_ok_and(|found| !found.is_file()) {
            let out = OpenOptions::new().write(true).open(&target).map_err(failed)?;
            return Ok(Self::direct(Box::new(out), name));
        }
        let temporary = neighbour(&target).map_err(failed)?;
        let out = File::create_new(&temporary).map_err(failed)?;
        let mut file = Self::direct(Box::new(out), name);
        file.place = Some((temporary, target));
        Ok(file)
    }

    fn direct(out: Box<dyn Write + Send>, name: String) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER, out), name, place: None }
    }

    /// Ends it, if all was `written`.
    pub(crate) fn close(mut self, written: io::Result<()>) -> Result<(), Failure> {
        let moved = |place: &Option<(PathBuf, PathBuf)>| match place {
            Some((temporary, target)) => fs::rename(temporary, target),
            None => Ok(()),
        };
        match written.and_then(|()| self.out.flush()).and_then(|()| moved(&self.place)) {
            Ok(()) => {
                self.place = None;
                Ok(())
            }
            // Whoever reads has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe && self.place.is_none() => Ok(()),
            Err(error) => Err(Failure::output(self.name.clone(), &error)),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.place {
            // Whatever went wrong is reported; a file that is not there need not be removed.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn neighbour(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    Ok(target.with_file_name(hidden))
}
