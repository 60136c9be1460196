//! Where a report goes: standard output, or a file that is written atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use profctl_model::Table;
use profctl_render::table::Format;
use profctl_render::{Style, code_trace, table};
use tempfile::NamedTempFile;

use crate::args::Global;
use crate::exit::Failure;
use crate::interrupt::Registered;
use crate::pager::{self, Stdout};
use crate::style;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Writes `report` as the user asked.
pub(crate) fn write_table(report: &Table, global: &Global) -> Result<(), Failure> {
    if global.format() == Format::Parquet {
        return write_parquet(report, global);
    }
    let mut bytes = Vec::new();
    table::write(report, global.format(), &style::of(global), &mut bytes)
        .expect("memory takes what is written to it");
    write_bytes(&bytes, global)
}

#[cfg(feature = "tables")]
fn write_parquet(report: &Table, global: &Global) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    profctl_frame::store_report(report, &mut bytes)
        .map_err(|error| Failure::usage(format!("cannot be written: {error}")))?;
    write_bytes(&bytes, global)
}

#[cfg(not(feature = "tables"))]
fn write_parquet(_: &Table, _: &Global) -> Result<(), Failure> {
    Err(Failure::without_tables("Parquet"))
}

/// Writes a replay: for terminals as a code trace, else as a table.
pub(crate) fn write_replay(report: &Table, global: &Global) -> Result<(), Failure> {
    if global.format() != Format::Table {
        return write_table(report, global);
    }
    let mut bytes = Vec::new();
    code_trace::write(report, &style::of(global), &mut bytes)
        .expect("memory takes what is written to it");
    write_bytes(&bytes, global)
}

/// A table as text, without color and at any width.
pub(crate) fn table_text(report: &Table, format: Format) -> String {
    let mut bytes = Vec::new();
    table::write(report, format, &Style::default(), &mut bytes)
        .expect("memory takes what is written to it");
    String::from_utf8(bytes).expect("tables are text")
}

/// Writes a finished report to a file of its own; `-` is standard output.
pub(crate) fn write_to(path: &Path, bytes: &[u8], global: &Global) -> Result<(), Failure> {
    let mut out =
        if path.as_os_str() == "-" { NewFile::stdout(global) } else { NewFile::at(path)? };
    let written = out.write_all(bytes);
    out.close(written)
}

/// Writes what `fill` writes to where the user wants the output. It need not fit in memory; a file
/// is still written atomically.
pub(crate) fn write_streamed(
    global: &Global,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = NewFile::of(global)?;
    let written = fill(&mut out);
    out.close(written)
}

/// Writes a finished report.
pub(crate) fn write_bytes(bytes: &[u8], global: &Global) -> Result<(), Failure> {
    write_streamed(global, |out| out.write_all(bytes))
}

/// A file, or standard output, that is written as it comes. A file appears once it is closed.
pub(crate) struct NewFile {
    out: BufWriter<Destination>,
    name: String,
}

enum Destination {
    Stdout(Stdout),
    /// What cannot be replaced: a device, a pipe.
    Direct(File),
    Replacing(Replacement),
}

/// A file that is written completely, then renamed to its final name.
struct Replacement {
    temporary: NamedTempFile,
    target: PathBuf,
    /// The permissions that it should have.
    permissions: fs::Permissions,
    /// Removes the temporary file on signals.
    _registered: Registered,
}

impl NewFile {
    /// Where the user wants the output.
    pub(crate) fn of(global: &Global) -> Result<Self, Failure> {
        global.out_file.as_deref().map_or_else(|| Ok(Self::stdout(global)), Self::at)
    }

    fn stdout(global: &Global) -> Self {
        Self::new(Destination::Stdout(Stdout::new(global)), "standard output".into())
    }

    /// That file. A device or a pipe cannot be replaced: it is written to. A link stays a link, and
    /// the file it points to is replaced, with its mode and owner kept.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let failed = |error: io::Error| Failure::output(name.clone(), &error);
        let target = followed(path);
        let found = target.metadata().ok();
        if let Some(found) = &found
            && !found.is_file()
        {
            let out = OpenOptions::new().write(true).open(&target).map_err(failed)?;
            return Ok(Self::new(Destination::Direct(out), name));
        }
        if found.as_ref().is_some_and(|found| found.permissions().readonly()) {
            return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, "is read-only")));
        }
        let replacement = Replacement::new(target, found.as_ref()).map_err(failed)?;
        Ok(Self::new(Destination::Replacing(replacement), name))
    }

    fn new(destination: Destination, name: String) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER, destination), name }
    }

    /// Ends it, if all was `written`.
    pub(crate) fn close(mut self, written: io::Result<()>) -> Result<(), Failure> {
        let ended = written.and_then(|()| self.out.flush());
        // What is still held after a failure is not worth a second one.
        let (destination, _) = self.out.into_parts();
        let is_stdout = matches!(destination, Destination::Stdout(_));
        match ended.and_then(|()| destination.close()) {
            Ok(()) => Ok(()),
            // The reader has seen enough.
            Err(error) if is_stdout && pager::is_closed(&error) => Ok(()),
            Err(error) => Err(Failure::output(self.name, &error)),
        }
    }
}

impl Destination {
    fn close(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.close(),
            Self::Direct(_) => Ok(()),
            Self::Replacing(replacement) => replacement.close(),
        }
    }
}

impl Replacement {
    fn new(target: PathBuf, found: Option<&fs::Metadata>) -> io::Result<Self> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if target.file_name().is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".profctl-");
        let permissions = match found {
            Some(found) => found.permissions(),
            None => usual_permissions(&mut builder, folder)?,
        };
        let temporary = builder.tempfile_in(folder).map_err(|error| plain(&error))?;
        #[cfg(unix)]
        fs::set_permissions(temporary.path(), private())?;
        #[cfg(unix)]
        if let Some(found) = found {
            use std::os::unix::fs::{MetadataExt as _, chown};
            // Only a superuser may change the owner of a file.
            let _ = chown(temporary.path(), Some(found.uid()), Some(found.gid()));
        }
        let registered = Registered::new(temporary.path());
        Ok(Self { temporary, target, permissions, _registered: registered })
    }

    fn close(self) -> io::Result<()> {
        fs::set_permissions(self.temporary.path(), self.permissions)?;
        self.temporary.persist(self.target).map_err(|error| error.error)?;
        Ok(())
    }
}

/// An error without the path of the temporary file.
fn plain(error: &io::Error) -> io::Error {
    let source = error.get_ref().and_then(|error| error.source());
    let code = source.and_then(|source| source.downcast_ref::<io::Error>()?.raw_os_error());
    code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Permissions of a temporary file while it is written.
#[cfg(unix)]
fn private() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o600)
}

/// The permissions of new files, taken from an empty one.
fn usual_permissions(
    builder: &mut tempfile::Builder<'_, '_>,
    folder: &Path,
) -> io::Result<fs::Permissions> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let probe = builder.tempfile_in(folder).map_err(|error| plain(&error))?;
    let permissions = probe.as_file().metadata()?.permissions();
    Ok(permissions)
}

/// Where a path leads: through links, also where the last of them leads to nothing yet.
fn followed(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let mut target = path.to_owned();
    // As many links as systems follow.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    target
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Direct(out) => out.write(bytes),
            Self::Replacing(out) => out.temporary.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Direct(out) => out.flush(),
            Self::Replacing(out) => out.temporary.flush(),
        }
    }
}

/// Refuses to replace one of the inputs.
pub(crate) fn refuse_input(path: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let Ok(found) = fs::canonicalize(path) else { return Ok(()) };
    let is_file = found.metadata().is_ok_and(|found| found.is_file());
    let is_input = |input: &&&Path| {
        fs::canonicalize(input).is_ok_and(|input| found == input || found.starts_with(&input))
    };
    match inputs.iter().find(is_input).filter(|_| is_file) {
        Some(_) => {
            let message = format!("{}: is an input; write to another file", path.display());
            Err(Failure::usage(message))
        }
        None => Ok(()),
    }
}
