//! The files of one trace, as the program provides them: a file, standard input, a directory whose
//! files belong together, or bytes in memory.

use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::decompress::{Failing, MAX_EXPANSION, OpenFile};
use crate::pause::is_pause;

/// Bytes that are looked at before anything is decided: recognizing the format, reading its
/// header, finding who runs where at the start.
pub const HEAD: usize = 1 << 20;
const HEAD_MIN: usize = 64 << 10;

/// One of the files of a trace: an index of [`Files::entries`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileId(pub usize);

/// A file of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What messages call it. In a directory: its path below the directory, with `/`.
    pub name: String,
    /// Its size before decompression, bytes, if that is known.
    pub size: Option<u64>,
}

/// The beginning of a file, decompressed.
#[derive(Clone, Debug)]
pub struct Head {
    /// The first bytes, [`HEAD`] at most.
    pub bytes: Arc<[u8]>,
    /// Whether there are no more.
    pub whole: bool,
    /// The compression that was removed, if any.
    pub compression: Option<&'static str>,
}

/// Bytes that can be read at any place.
pub trait ReadAt: Send + Sync {
    /// Reads bytes from `offset` on; fewer than asked only at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// How many bytes there are.
    fn len(&self) -> u64;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes from `offset` on, `length` or as many as there are.
    fn bytes_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let there = self.len().saturating_sub(offset);
        let mut bytes = vec![0; length.min(usize::try_from(there).unwrap_or(usize::MAX))];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(offset + filled as u64, &mut bytes[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// Such bytes, read from the first to the last.
pub struct InOrder {
    file: Arc<dyn ReadAt>,
    at: u64,
    end: u64,
}

impl InOrder {
    /// All bytes of a file.
    pub fn new(file: Arc<dyn ReadAt>) -> Self {
        let end = file.len();
        Self { file, at: 0, end }
    }

    /// Some bytes of a file.
    pub(crate) fn within(file: Arc<dyn ReadAt>, range: Range<u64>) -> Self {
        Self { file, at: range.start, end: range.end }
    }
}

impl Read for InOrder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let n = self.file.read_at(self.at, &mut buffer[..wanted])?;
        self.at += n as u64;
        Ok(n)
    }
}

impl ReadAt for Arc<[u8]> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min((**self).len());
        let n = buffer.len().min((**self).len() - from);
        buffer[..n].copy_from_slice(&self[from..from + n]);
        Ok(n)
    }
    fn len(&self) -> u64 {
        (**self).len() as u64
    }
}

/// The files of one trace. The program implements it over the file system and standard input.
pub trait Files: Sync {
    /// The name of the trace: the path that was given, or `-`.
    fn name(&self) -> &str;
    /// The files: one, or those of a directory, ordered by name.
    fn entries(&self) -> &[Entry];
    /// The beginning of a file. It is read and decompressed once.
    fn head(&self, file: FileId) -> io::Result<Head>;
    /// Opens a file from its beginning. A pipe can be opened once.
    fn open(&self, file: FileId) -> io::Result<OpenFile<'_>>;
    /// Opens a file for reading at any place. What is compressed or piped is copied somewhere
    /// first.
    fn open_at(&self, file: FileId) -> io::Result<Arc<dyn ReadAt>>;

    /// By how much a file may grow when all of it is decompressed.
    fn max_expansion(&self) -> u64 {
        MAX_EXPANSION
    }

    /// Why what [`Self::open_at`] gave ends early, if it does: a compressed file that was cut, a disk
    /// that failed.
    fn broken(&self, _file: FileId) -> Option<String> {
        None
    }

    /// The file of that name, if there is one.
    fn find(&self, name: &str) -> Option<FileId> {
        self.entries().iter().position(|entry| entry.name == name).map(FileId)
    }
}

/// One file that can be read once, such as a pipe.
pub struct Single<'a> {
    entry: [Entry; 1],
    state: Mutex<SingleState<'a>>,
}

enum SingleState<'a> {
    Unread(Option<Box<dyn Read + Send + 'a>>),
    /// The head was read; what follows it is here until it is opened.
    Begun(Head, Option<OpenFile<'a>>),
}

impl<'a> Single<'a> {
    /// A file of that name with these bytes, which may be compressed.
    pub fn new(name: impl Into<String>, bytes: Box<dyn Read + Send + 'a>) -> Self {
        Self::with_size(name, bytes, None)
    }

    /// The same where the size before decompression is known.
    pub fn with_size(
        name: impl Into<String>,
        bytes: Box<dyn Read + Send + 'a>,
        size: Option<u64>,
    ) -> Self {
        Self {
            entry: [Entry { name: name.into(), size }],
            state: Mutex::new(SingleState::Unread(Some(bytes))),
        }
    }

    /// Passes the head, and what follows it, to `use_it`.
    fn begun<T>(
        &self,
        use_it: impl FnOnce(&Head, &mut Option<OpenFile<'a>>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let SingleState::Unread(bytes) = &mut *state {
            let bytes = bytes.take().ok_or_else(read_already)?;
            let mut file = OpenFile::new(bytes)?;
            let head = read_head(&mut file, HEAD)?;
            *state = SingleState::Begun(head, Some(file));
        }
        match &mut *state {
            SingleState::Begun(head, rest) => use_it(head, rest),
            SingleState::Unread(_) => Err(read_already()),
        }
    }
}

fn read_already() -> io::Error {
    io::Error::other("a stream can be read only once")
}

/// How much of each of so many files is kept as its head.
pub fn head_size(files: usize) -> usize {
    (HEAD / files.max(1)).max(HEAD_MIN)
}

/// Reads the head of a file that was just opened, `size` bytes at most; of an input that pauses, what
/// came before the pause. Its first error is one only if nothing could be read before it; else it
/// comes again when the file is read.
pub fn read_head(file: &mut OpenFile<'_>, size: usize) -> io::Result<Head> {
    let mut bytes = Vec::new();
    let result = loop {
        let missing = (size - bytes.len()) as u64;
        match file.bytes.by_ref().take(missing).read_to_end(&mut bytes) {
            Err(error) if is_pause(&error) && bytes.is_empty() => {}
            result => break result,
        }
    };
    let whole = match result {
        Ok(_) => bytes.len() < size,
        Err(error) if is_pause(&error) => false,
        Err(error) if bytes.is_empty() => return Err(error),
        Err(error) => {
            // What is after the head is an error that the reader of the file must see.
            file.bytes = Box::new(Failing(Some(error)));
            false
        }
    };
    Ok(Head { bytes: bytes.into(), whole, compression: file.compression })
}

/// What remains of a file after its head, with the head in front again.
pub fn with_head<'a>(head: &Head, rest: OpenFile<'a>) -> OpenFile<'a> {
    let bytes = Box::new(Cursor::new(Arc::clone(&head.bytes)).chain(rest.bytes));
    OpenFile { bytes, ..rest }
}

impl Files for Single<'_> {
    fn name(&self) -> &str {
        &self.entry[0].name
    }
    fn entries(&self) -> &[Entry] {
        &self.entry
    }
    fn head(&self, _file: FileId) -> io::Result<Head> {
        self.begun(|head, _| Ok(head.clone()))
    }
    fn open(&self, _file: FileId) -> io::Result<OpenFile<'_>> {
        self.begun(|head, rest| match rest.take() {
            Some(rest) => Ok(with_head(head, rest)),
            None if head.whole => {
                let bytes = Box::new(Cursor::new(Arc::clone(&head.bytes)));
                Ok(OpenFile { bytes, compression: head.compression, taken: Arc::default() })
            }
            None => Err(read_already()),
        })
    }
    fn open_at(&self, file: FileId) -> io::Result<Arc<dyn ReadAt>> {
        let head = self.head(file)?;
        if head.whole {
            return Ok(Arc::new(head.bytes));
        }
        // Kept, so that it can still be opened.
        self.begun(|head, rest| {
            let Some(mut file) = rest.take() else { return Err(read_already()) };
            let mut bytes = head.bytes.to_vec();
            file = file.limited(self.max_expansion());
            file.bytes.read_to_end(&mut bytes)?;
            Ok((bytes.into(), file.compression))
        })
        .map(|(bytes, compression): (Arc<[u8]>, _)| {
            let head = Head { bytes: Arc::clone(&bytes), whole: true, compression };
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) =
                SingleState::Begun(head, None);
            Arc::new(bytes) as Arc<dyn ReadAt>
        })
    }
}

/// Files in memory: a directory for tests and fuzz targets.
pub struct Memory {
    name: String,
    entries: Vec<Entry>,
    contents: Vec<Arc<[u8]>>,
}

impl Memory {
    /// A directory of that name with these files; order them by name.
    pub fn new(name: impl Into<String>, files: Vec<(String, Vec<u8>)>) -> Self {
        let (entries, contents) = files
            .into_iter()
            .map(|(name, bytes)| {
                (Entry { name, size: Some(bytes.len() as u64) }, Arc::<[u8]>::from(bytes))
            })
            .unzip();
        Self { name: name.into(), entries, contents }
    }

    fn content(&self, file: FileId) -> io::Result<Arc<[u8]>> {
        self.contents.get(file.0).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Files for Memory {
    fn name(&self) -> &str {
        &self.name
    }
    fn entries(&self) -> &[Entry] {
        &self.entries
    }
    fn head(&self, file: FileId) -> io::Result<Head> {
        read_head(&mut self.open(file)?, head_size(self.entries.len()))
    }
    fn open(&self, file: FileId) -> io::Result<OpenFile<'_>> {
        OpenFile::new(Box::new(Cursor::new(self.content(file)?)))
    }
    fn open_at(&self, file: FileId) -> io::Result<Arc<dyn ReadAt>> {
        let content = self.content(file)?;
        if crate::decompress::compression_of(&content).is_none() {
            return Ok(Arc::new(content));
        }
        let mut bytes = Vec::new();
        self.open(file)?.limited(self.max_expansion()).bytes.read_to_end(&mut bytes)?;
        Ok(Arc::new(Arc::<[u8]>::from(bytes)))
    }
}
