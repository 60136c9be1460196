//! What a TRACE argument stands for: a file, standard input, a directory of runs, a saved profile.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use profctl_import::files::FileId;
use profctl_import::{Files as _, recognize_directory};

use crate::args::{Expansion, Global};
use crate::exit::{Failure, reason};
use crate::output;

mod ahead;
#[cfg(feature = "tables")]
mod dataset;
mod files;
mod foreign;
mod live;
mod opened;
mod options;
pub(crate) mod selected;
pub(crate) mod session;

use files::DiskFiles;
pub(crate) use files::Growth;

/// The TRACE arguments of a command, each with the files that it stands for.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// In the order in which they were given.
    pub(crate) arguments: Vec<Argument>,
}

/// One TRACE argument.
#[derive(Debug)]
pub(crate) struct Argument {
    /// As it was given.
    pub(crate) name: String,
    /// Whether it is a directory of runs, in which there may be files that are not traces.
    pub(crate) is_directory: bool,
    /// What to read, in order.
    pub(crate) files: Vec<TraceFile>,
}

/// One thing to read.
#[derive(Debug)]
pub(crate) struct TraceFile {
    /// What messages call it.
    pub(crate) name: String,
    /// Where it is; nothing for standard input.
    path: Option<PathBuf>,
    /// Whether it is a directory whose files are one trace.
    is_directory: bool,
    /// Its size, if it has one.
    pub(crate) bytes: Option<u64>,
    /// Whether what is read of it is shown before its end.
    pub(crate) growth: Growth,
}

/// What turned out to be in it.
pub(crate) enum Content {
    /// Something for the importers.
    Trace(DiskFiles),
    /// A profile that `summarize --format json` wrote.
    Profile(Vec<u8>),
    /// A table that `convert` wrote as Parquet, at this path.
    #[cfg(feature = "tables")]
    Dataset(PathBuf),
}

impl Content {
    /// The trace; fails if it is something else.
    pub(crate) fn trace(self, name: &str) -> Result<DiskFiles, Failure> {
        let what = match self {
            Self::Trace(input) => return Ok(input),
            Self::Profile(_) => "a saved profile",
            #[cfg(feature = "tables")]
            Self::Dataset(_) => "a table of calls in Parquet",
        };
        Err(Failure::input(name, format!("is {what}, expected a trace")))
    }
}

impl Inputs {
    /// Finds out what each argument stands for. None of them may be what `global` writes to.
    pub(crate) fn of(traces: &[PathBuf], global: &Global) -> Result<Self, Failure> {
        if let Some(file) = &global.out_file {
            let traces: Vec<&Path> = traces.iter().map(PathBuf::as_path).collect();
            output::refuse_input(file, &traces)?;
        }
        let arguments = traces.iter().map(|path| argument(path)).collect::<Result<Vec<_>, _>>()?;
        let from_stdin = arguments.iter().filter(|argument| argument.name == "-").count();
        if from_stdin > 1 {
            return Err(Failure::usage("standard input can be read only once"));
        }
        Ok(Self { arguments })
    }

    /// The single file that `trace` must be.
    pub(crate) fn single(trace: &Path, global: &Global) -> Result<TraceFile, Failure> {
        if let Some(file) = &global.out_file {
            output::refuse_input(file, &[trace])?;
        }
        let mut argument = argument(trace)?;
        if argument.is_directory {
            return Err(Failure::input(argument.name, "is a directory, expected one trace")
                .hint("`profctl summarize` reads a directory of runs as one"));
        }
        Ok(argument.files.remove(0))
    }

    /// Every file, in order.
    fn files(&self) -> Vec<&TraceFile> {
        self.arguments.iter().flat_map(|argument| &argument.files).collect()
    }

    /// How many files are worth reading at the same time: as many as are of a size. A file that is much
    /// larger than the others is better read by several threads itself.
    fn at_once(&self) -> u64 {
        let largest = self.files().iter().filter_map(|file| file.bytes).max();
        let times = |largest: u64| self.bytes().unwrap_or(0).checked_div(largest);
        largest.and_then(times).unwrap_or(1).max(1)
    }

    /// The size of everything, if all of it is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.arguments.iter().flat_map(|argument| &argument.files).map(|file| file.bytes).sum()
    }
}

fn argument(path: &Path) -> Result<Argument, Failure> {
    let name = path.display().to_string();
    let unreadable = |error: io::Error| Failure::input(name.clone(), what(&error));
    let single = |file| Argument { name: name.clone(), is_directory: false, files: vec![file] };
    if name == "-" {
        return Ok(single(TraceFile::stdin()));
    }
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_dir() {
        return Ok(single(TraceFile::at(path, &metadata)));
    }
    if let Some(trace) = TraceFile::of_directory(path).map_err(unreadable)? {
        return Ok(single(trace));
    }
    let mut files = Vec::new();
    walk(path, &mut files)?;
    if files.is_empty() {
        return Err(Failure::input(name, "is a directory without files"));
    }
    Ok(Argument { name, is_directory: true, files })
}

/// In a directory of runs, what is known of the build; not a run.
pub(crate) const ABOUT_BUILD: &str = "build.toml";

/// Whether a file in a directory of runs or builds describes them: `build.toml`, `README.md`.
pub(crate) fn is_description(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ABOUT_BUILD)
        || path.extension().is_some_and(|extension| extension == "md")
}

/// How the directories of a partitioned dataset begin; the name of the run follows, percent-encoded.
pub(crate) const PARTITION: &str = "run=";

/// All regular files below `directory`, by name. Links to directories are not followed: they may
/// lead back.
fn walk(directory: &Path, files: &mut Vec<TraceFile>) -> Result<(), Failure> {
    let unreadable =
        |error: io::Error| Failure::input(directory.display().to_string(), what(&error));
    let mut entries = fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            // A link that leads nowhere is skipped and counted, like a file that is not a trace.
            Err(error) if is_link && error.kind() == io::ErrorKind::NotFound => {
                files.push(TraceFile {
                    name: path.display().to_string(),
                    path: Some(path),
                    is_directory: false,
                    bytes: Some(0),
                    growth: Growth::None,
                });
                continue;
            }
            Err(error) => {
                return Err(Failure::input(path.display().to_string(), what(&error)));
            }
        };
        if metadata.is_file() && !is_description(&path) {
            files.push(TraceFile::at(&path, &metadata));
        } else if entry.file_type().map_err(unreadable)?.is_dir() {
            match TraceFile::of_directory(&path).map_err(unreadable)? {
                Some(trace) => files.push(trace),
                None => walk(&path, files)?,
            }
        }
    }
    Ok(())
}

impl TraceFile {
    fn at(path: &Path, metadata: &fs::Metadata) -> Self {
        Self {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            is_directory: false,
            bytes: metadata.is_file().then_some(metadata.len()),
            growth: Growth::None,
        }
    }

    fn stdin() -> Self {
        Self {
            name: "-".into(),
            path: None,
            is_directory: false,
            bytes: None,
            growth: Growth::None,
        }
    }

    /// A directory, if its files are one trace.
    fn of_directory(path: &Path) -> io::Result<Option<Self>> {
        let files = DiskFiles::directory(path)?;
        let bytes = files.entries().iter().map(|entry| entry.size).sum();
        let trace = recognize_directory(&files).map(|_| Self {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            is_directory: true,
            bytes,
            growth: Growth::None,
        });
        Ok(trace)
    }

    /// Opens it and looks what it is.
    pub(crate) fn open(&self, Expansion { max_expansion }: Expansion) -> Result<Content, Failure> {
        let unreadable = |error: io::Error| {
            let mut failure = Failure::input(self.name.clone(), what(&error));
            failure.is_no_trace = error.kind() == io::ErrorKind::NotFound;
            failure
        };
        let input = match &self.path {
            None => DiskFiles::stdin(),
            Some(path) if self.is_directory => {
                let files = DiskFiles::directory(path).map_err(unreadable)?;
                return Ok(Content::Trace(files.with_max_expansion(max_expansion)));
            }
            Some(path) => DiskFiles::file(path, self.bytes),
        };
        let input = input.with_max_expansion(max_expansion);
        let input = input.with_growth(self.growth);
        let head = input.head(FileId(0)).map_err(unreadable)?;
        #[cfg(feature = "tables")]
        if let (Some(path), Some(_)) = (&self.path, self.bytes)
            && head.compression.is_none()
            && head.bytes.starts_with(b"PAR1")
        {
            return Ok(Content::Dataset(path.clone()));
        }
        if !is_profile(&head.bytes) {
            return Ok(Content::Trace(input));
        }
        let mut profile = Vec::new();
        let mut file = input.open(FileId(0)).map_err(unreadable)?.limited(max_expansion);
        file.bytes.by_ref().take(PROFILE_MAX).read_to_end(&mut profile).map_err(unreadable)?;
        if profile.len() as u64 == PROFILE_MAX {
            let message = "is larger than any saved profile";
            return Err(Failure::input(self.name.clone(), message));
        }
        Ok(Content::Profile(profile))
    }
}

/// What a saved profile may take, decompressed: ten times what one of a million functions does.
const PROFILE_MAX: u64 = 4 << 30;

/// Whether a file that begins like this is a saved profile.
fn is_profile(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let after_key = text
        .strip_prefix(b"{")
        .and_then(|text| text.trim_ascii_start().strip_prefix(b"\"schema\""))
        .and_then(|text| text.trim_ascii_start().strip_prefix(b":"));
    after_key.is_some_and(|text| text.trim_ascii_start().starts_with(b"\"profctl.summary/"))
}

/// Whether a file begins as Parquet does.
pub(crate) fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read =
        fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && magic == *b"PAR1"
}

/// Reads a file that goes with an input.
pub(crate) fn read_side_file(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::input(path.display().to_string(), what(&error)))
}

/// An error of the system without its number.
fn what(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => reason(error),
        _ => format!("cannot be read: {}", reason(error)),
    }
}

/// What a title calls an input: the last part of its path.
pub(crate) fn short_name(path: &Path) -> String {
    match path.file_name() {
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(name) => name.display().to_string(),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_profile_is_told_by_its_schema() {
        for (head, expected) in [
            ("{\"schema\":\"profctl.summary/1\",", true),
            ("\n { \"schema\" : \"profctl.summary/2\"", true),
            ("{\"schema\":\"profctl.tree/1\"", false),
            ("{\"traceEvents\":[{\"name\":\"profctl.summary/1\"}]}", false),
            ("", false),
        ] {
            assert_eq!(is_profile(head.as_bytes()), expected, "{head}");
        }
    }
}
