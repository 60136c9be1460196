//! The files of a trace on disk or from standard input, as importers ask for them.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use profctl_import::Files;
use profctl_import::decompress::{MAX_EXPANSION, OpenFile, is_too_large};
use profctl_import::files::{
    Entry, FileId, Head, InOrder, ReadAt, head_size, read_head, with_head,
};

use super::live::{Live, Stoppable};

/// A file, standard input, or the files below a directory.
pub(crate) struct DiskFiles {
    name: String,
    entries: Vec<Entry>,
    files: Vec<DiskFile>,
    max_expansion: u64,
}

/// Whether an input is complete or still being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    /// A report is made at its end.
    None,
    /// Output is written while it is read: a pipe pauses while nothing comes, once its head is
    /// complete. How fast it comes changes nothing of the output.
    Streamed,
    /// It is shown while it grows, also a file on disk. It pauses within its head as well.
    Watched,
}

/// A file.
struct DiskFile {
    /// Nothing: standard input.
    path: Option<PathBuf>,
    /// Whether it can be read again, and at any place; a named pipe cannot.
    is_regular: bool,
    growth: Growth,
    /// Whether it may pause now.
    pauses: Arc<AtomicBool>,
    /// Bytes of its head that are kept.
    head_size: usize,
    state: Mutex<FileState>,
}

#[derive(Default)]
struct FileState {
    head: Option<Head>,
    /// The file after its head, until it is opened.
    rest: Option<OpenFile<'static>>,
    /// What was read for access at any place.
    copy: Option<Arc<dyn ReadAt>>,
    /// Why the copy ends early.
    broken: Option<String>,
    /// What can be read only once was.
    is_taken: bool,
}

impl DiskFiles {
    /// Standard input.
    pub(crate) fn stdin() -> Self {
        Self::of("-".into(), vec![(Entry { name: "-".into(), size: None }, None)])
    }

    /// One file; without a size it is a pipe.
    pub(crate) fn file(path: &Path, size: Option<u64>) -> Self {
        let name = path.display().to_string();
        Self::of(name.clone(), vec![(Entry { name, size }, Some(path.to_owned()))])
    }

    /// All regular files below a directory, ordered by name.
    pub(crate) fn directory(path: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        list(path, "", &mut files)?;
        files.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        Ok(Self::of(path.display().to_string(), files))
    }

    fn of(name: String, files: Vec<(Entry, Option<PathBuf>)>) -> Self {
        let (entries, paths): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        let regular = entries.iter().map(|entry| entry.size.is_some());
        let head_size = head_size(paths.len());
        let file = |(path, is_regular)| DiskFile {
            path,
            is_regular,
            growth: Growth::None,
            pauses: Arc::default(),
            head_size,
            state: Mutex::default(),
        };
        let files = paths.into_iter().zip(regular).map(file).collect();
        Self { name, entries, files, max_expansion: MAX_EXPANSION }
    }

    /// The same, where a file may grow by so much when all of it is decompressed.
    pub(crate) fn with_max_expansion(mut self, times: u64) -> Self {
        self.max_expansion = times;
        self
    }

    /// The same, of that kind.
    pub(crate) fn with_growth(mut self, growth: Growth) -> Self {
        for file in &mut self.files {
            file.growth = growth;
        }
        self
    }

    fn get(&self, file: FileId) -> io::Result<&DiskFile> {
        self.files.get(file.0).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Links to directories are not followed: they may lead back.
fn list(
    directory: &Path,
    prefix: &str,
    files: &mut Vec<(Entry, Option<PathBuf>)>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            list(&path, &format!("{name}/"), files)?;
        } else if let Ok(metadata) = fs::metadata(&path)
            && metadata.is_file()
        {
            files.push((Entry { name, size: Some(metadata.len()) }, Some(path)));
        }
    }
    Ok(())
}

impl DiskFile {
    fn state(&self) -> MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file from its beginning, decompressed.
    fn start(&self, state: &mut FileState) -> io::Result<OpenFile<'static>> {
        if !self.is_regular && std::mem::replace(&mut state.is_taken, true) {
            return Err(io::Error::other("a pipe can be read only once"));
        }
        let is_watched = self.growth == Growth::Watched;
        let pauses = || Arc::clone(&self.pauses);
        self.pauses.store(is_watched, Ordering::Relaxed);
        let bytes: Box<dyn Read + Send> = match &self.path {
            Some(path) if is_watched || self.growth == Growth::Streamed && !self.is_regular => {
                Box::new(Live::growing(File::open(path)?, self.is_regular, pauses()))
            }
            Some(path) => Box::new(Stoppable(File::open(path)?)),
            None if is_watched => Box::new(Live::growing(io::stdin(), false, pauses())),
            None => Box::new(Live::stdin(pauses())),
        };
        OpenFile::new(bytes)
    }

    fn head(&self, state: &mut FileState) -> io::Result<Head> {
        if let Some(head) = &state.head {
            return Ok(head.clone());
        }
        let mut file = self.start(state)?;
        let head = read_head(&mut file, self.head_size)?;
        self.pauses.store(self.growth != Growth::None, Ordering::Relaxed);
        state.head = Some(head.clone());
        state.rest = Some(file);
        Ok(head)
    }

    fn open(&self, state: &mut FileState) -> io::Result<OpenFile<'static>> {
        let head = self.head(state)?;
        if let Some(rest) = state.rest.take() {
            return Ok(with_head(&head, rest));
        }
        if let Some(copy) = &state.copy {
            // The copy is not compressed.
            let bytes = Box::new(InOrder::new(Arc::clone(copy)));
            return Ok(OpenFile { bytes, compression: None, taken: Arc::default() });
        }
        if head.whole {
            let bytes = Box::new(Cursor::new(head.bytes));
            return Ok(OpenFile { bytes, compression: head.compression, taken: Arc::default() });
        }
        self.start(state)
    }

    fn open_at(&self, state: &mut FileState, max_expansion: u64) -> io::Result<Arc<dyn ReadAt>> {
        if let Some(copy) = &state.copy {
            return Ok(Arc::clone(copy));
        }
        let head = self.head(state)?;
        let copy: Arc<dyn ReadAt> = match &self.path {
            Some(path) if self.is_regular && head.compression.is_none() => {
                let file = File::open(path)?;
                let length = file.metadata()?.len();
                Arc::new(Plain { file, length })
            }
            _ if head.whole => Arc::new(head.bytes),
            _ => {
                if !self.is_regular {
                    // A copy has to be complete.
                    self.pauses.store(false, Ordering::Relaxed);
                }
                let mut copy = tempfile::tempfile()?;
                let mut file = self.open(state)?.limited(max_expansion);
                // The readable part of a damaged file is returned with the reason why it ends.
                match io::copy(&mut file.bytes, &mut copy) {
                    Err(error) if is_too_large(&error) => return Err(error),
                    Err(error) => state.broken = Some(error.to_string()),
                    Ok(_) => {}
                }
                let length = copy.metadata()?.len();
                Arc::new(Plain { file: copy, length })
            }
        };
        state.copy = Some(Arc::clone(&copy));
        Ok(copy)
    }
}

impl Files for DiskFiles {
    fn name(&self) -> &str {
        &self.name
    }
    fn entries(&self) -> &[Entry] {
        &self.entries
    }
    fn head(&self, file: FileId) -> io::Result<Head> {
        let file = self.get(file)?;
        file.head(&mut file.state())
    }
    fn open(&self, file: FileId) -> io::Result<OpenFile<'_>> {
        let file = self.get(file)?;
        file.open(&mut file.state())
    }
    fn open_at(&self, file: FileId) -> io::Result<Arc<dyn ReadAt>> {
        let file = self.get(file)?;
        file.open_at(&mut file.state(), self.max_expansion)
    }
    fn max_expansion(&self) -> u64 {
        self.max_expansion
    }
    fn broken(&self, file: FileId) -> Option<String> {
        self.get(file).ok()?.state().broken.clone()
    }
}

/// A file that is not compressed.
struct Plain {
    file: File,
    length: u64,
}

impl ReadAt for Plain {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }
    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }
    fn len(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Every way to read a file gives the same bytes, in any order, compressed or not.
    #[test]
    fn a_file_can_be_read_in_any_way() {
        let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, &content).unwrap();
        let packed = folder.path().join("packed.zst");
        fs::write(&packed, zstd::encode_all(&content[..], 1).unwrap()).unwrap();
        for path in [plain, packed] {
            let size = fs::metadata(&path).unwrap().len();
            let files = DiskFiles::file(&path, Some(size));
            let all = |files: &DiskFiles| {
                let mut bytes = Vec::new();
                files.open(FileId(0)).unwrap().bytes.read_to_end(&mut bytes).unwrap();
                bytes
            };
            assert_eq!(files.head(FileId(0)).unwrap().bytes[..], content[..1 << 20]);
            assert!(all(&files) == content);
            assert!(all(&files) == content);
            let at = files.open_at(FileId(0)).unwrap();
            assert_eq!(at.len(), content.len() as u64);
            assert_eq!(at.bytes_at(2_000_000, 7).unwrap(), content[2_000_000..2_000_007]);
            assert!(all(&files) == content);
            assert_eq!(files.broken(FileId(0)), None);
        }
    }

    #[test]
    fn a_compressed_file_that_is_cut_says_so() {
        let mut noise = Vec::new();
        for n in 0..600_000_u64 {
            noise.extend((n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n << 7).to_le_bytes());
        }
        let packed = zstd::encode_all(&noise[..], 1).unwrap();
        let mut cut = tempfile::NamedTempFile::new().unwrap();
        cut.write_all(&packed[..packed.len() / 2]).unwrap();
        let files = DiskFiles::file(cut.path(), Some(1));
        let at = files.open_at(FileId(0)).unwrap();
        let n = usize::try_from(at.len()).unwrap();
        assert!(n > 1 << 20 && n < noise.len());
        assert!(at.bytes_at(0, n).unwrap() == noise[..n]);
        assert!(files.broken(FileId(0)).is_some());
    }

    #[test]
    fn a_directory_lists_its_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["b/2", "b/1", "c", "a"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let files = DiskFiles::directory(folder.path()).unwrap();
        let names: Vec<&str> = files.entries().iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["a", "b/1", "b/2", "c"]);
        let id = files.find("b/2").unwrap();
        assert_eq!(&files.head(id).unwrap().bytes[..], b"b/2");
    }
}
