//! Compression of the input: gzip, zstd and xz, recognized by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liblzma::stream::{Action, Status, Stream};

use crate::pause::is_pause;

/// A compressed trace may be inside a compressed archive.
const LAYERS_MAX: usize = 2;
const BUFFER: usize = 64 << 10;

/// By how much an input may grow when it is decompressed into memory or a temporary file, if the
/// user says nothing else. Traces shrink to a tenth or a thirtieth.
pub const MAX_EXPANSION: u64 = 100;
/// What even the smallest input may grow to.
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// The most bytes that `packed` bytes may become.
pub fn expansion_limit(packed: u64, max_expansion: u64) -> u64 {
    packed.saturating_mul(max_expansion).max(ALWAYS_ALLOWED)
}

/// How the message of [`too_large`] begins.
pub const GROWS_TOO_MUCH: &str = "it grows too much when it is decompressed";

/// What to say of an input that becomes larger than it may.
pub fn too_large(max_expansion: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!(
            "{GROWS_TOO_MUCH}: to more than {} MiB and more than {max_expansion} times its size",
            ALWAYS_ALLOWED >> 20
        ),
    )
}

/// Whether an error is [`too_large`].
pub fn is_too_large(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}

/// A file that is open for reading from its beginning to its end.
pub struct OpenFile<'a> {
    /// The bytes, decompressed.
    pub bytes: Box<dyn Read + Send + 'a>,
    /// The outermost compression, if there is one.
    pub compression: Option<&'static str>,
    /// Bytes read so far, before decompression.
    pub taken: Arc<AtomicU64>,
}

struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl<'a> OpenFile<'a> {
    /// Looks at the first bytes and decompresses up to two layers of compression. Fails if the
    /// first bytes of the file cannot be read; that they cannot be decompressed is an error of the
    /// first read.
    pub fn new(bytes: Box<dyn Read + Send + 'a>) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: bytes, taken: Arc::clone(&taken) };
        let mut bytes: Box<dyn Read + Send + 'a> = Box::new(counted);
        let mut compression = None;
        for _ in 0..LAYERS_MAX {
            let mut magic = Vec::with_capacity(6);
            let read = loop {
                let missing = 6 - magic.len() as u64;
                match bytes.by_ref().take(missing).read_to_end(&mut magic) {
                    Err(error) if is_pause(&error) => {}
                    read => break read,
                }
            };
            if let Err(error) = read {
                if compression.is_none() {
                    return Err(error);
                }
                bytes = Box::new(Cursor::new(magic).chain(Failing(Some(error))));
                break;
            }
            let kind = compression_of(&magic);
            let whole = Cursor::new(magic).chain(bytes);
            bytes = match kind {
                None => {
                    bytes = Box::new(whole);
                    break;
                }
                Some("gzip") => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
                Some("xz") => Box::new(XzStreams::new(buffered(whole))?),
                Some(_) => Box::new(zstd::stream::read::Decoder::with_buffer(buffered(whole))?),
            };
            compression = compression.or(kind);
            bytes = Box::new(InPieces { inner: bytes, piece: vec![0; PIECE], at: 0, filled: 0 });
        }
        Ok(Self { bytes, compression, taken })
    }
}

/// Bytes that are decompressed at once.
const PIECE: usize = 64 << 10;

/// Decompresses in pieces of one size, however much the caller asks for. A decoder that meets damage
/// returns none of what it has decoded since the call began, so where damage ends the input must not
/// depend on the size of blocks.
struct InPieces<'a> {
    inner: Box<dyn Read + Send + 'a>,
    piece: Vec<u8>,
    /// How many of its bytes were passed on, and how many there are.
    at: usize,
    filled: usize,
}

impl Read for InPieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.filled {
            (self.at, self.filled) = (0, 0);
            self.filled = self.inner.read(&mut self.piece)?;
        }
        let n = buffer.len().min(self.filled - self.at);
        buffer[..n].copy_from_slice(&self.piece[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// A reader that fails.
pub(crate) struct Failing(pub(crate) Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// One xz stream after the other. What is not a stream after one is an error once all before it was
/// returned.
struct XzStreams<R> {
    inner: R,
    stream: Stream,
    is_between: bool,
}

/// Memory that a decoder may take: `xz -9` needs 65 MB.
const XZ_MEMORY: u64 = 512 << 20;

impl<R: BufRead> XzStreams<R> {
    fn new(inner: R) -> io::Result<Self> {
        Ok(Self { inner, stream: Self::stream()?, is_between: false })
    }

    fn stream() -> io::Result<Stream> {
        Ok(Stream::new_stream_decoder(XZ_MEMORY, 0)?)
    }

    /// Goes to the next stream; says whether there is one.
    fn next_stream(&mut self) -> io::Result<bool> {
        loop {
            let Some(&first) = self.inner.fill_buf()?.first() else { return Ok(false) };
            match first {
                // Streams are padded with zeros.
                0 => self.inner.consume(1),
                0xfd => break,
                _ => {
                    let message = "bytes behind the xz stream that are not compressed";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
            }
        }
        self.stream = Self::stream()?;
        self.is_between = false;
        Ok(true)
    }
}

impl<R: BufRead> Read for XzStreams<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if self.is_between && !self.next_stream()? {
                return Ok(0);
            }
            let input = self.inner.fill_buf()?;
            let is_end = input.is_empty();
            let action = if is_end { Action::Finish } else { Action::Run };
            let before = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.process(input, buffer, action)?;
            let taken = (self.stream.total_in() - before.0) as usize;
            let made = (self.stream.total_out() - before.1) as usize;
            self.inner.consume(taken);
            self.is_between = status == Status::StreamEnd;
            if made > 0 {
                return Ok(made);
            }
            if is_end && !self.is_between {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if taken == 0 && !self.is_between {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "corrupt xz stream"));
            }
        }
        Ok(0)
    }
}

impl<'a> OpenFile<'a> {
    /// The same file, which ends with an error ([`too_large`]) where it has grown too much. For a
    /// caller that keeps all of it.
    #[must_use]
    pub fn limited(self, max_expansion: u64) -> Self {
        let Self { bytes, compression, taken } = self;
        let limited = Limited { bytes, given: 0, taken: Arc::clone(&taken), max_expansion };
        let bytes: Box<dyn Read + Send + 'a> =
            if compression.is_some() { Box::new(limited) } else { limited.bytes };
        Self { bytes, compression, taken }
    }
}

struct Limited<'a> {
    bytes: Box<dyn Read + Send + 'a>,
    given: u64,
    taken: Arc<AtomicU64>,
    max_expansion: u64,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.read(buffer)?;
        self.given += n as u64;
        if self.given > expansion_limit(self.taken.load(Ordering::Relaxed), self.max_expansion) {
            return Err(too_large(self.max_expansion));
        }
        Ok(n)
    }
}

fn buffered<R: Read>(bytes: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER, bytes)
}

/// The compression of a file that begins like this.
pub fn compression_of(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x1f, 0x8b, 0x08, ..] => Some("gzip"),
        // A zstd frame, or a skippable frame before one.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zstd"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        _ => None,
    }
}
