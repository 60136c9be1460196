//! Blocks of an input, aligned to its records, with compression undone on the way.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are looked at before anything is decided: recognising the format, reading its
/// header, finding who runs where at the start.
pub const HEAD: usize = 1 << 20;
/// The default size of a block, chosen to stay in a core's second-level cache.
pub const BLOCK: usize = 128 << 10;
/// A record longer than this is skipped and counted, so that memory stays bounded.
pub const RECORD_MAX: usize = 16 << 20;

/// The input, decompressed.
pub struct Source<'a> {
    bytes: Box<dyn Read + Send + 'a>,
    /// Bytes taken from the input before decompression.
    taken: Arc<AtomicU64>,
    /// Which compression was undone.
    pub compression: Option<&'static str>,
    /// Read, but not handed out yet: the first `filled` bytes. What is behind them was once
    /// initialised and is kept so, because zeroing every block costs as much as counting lines.
    held: Vec<u8>,
    filled: usize,
    at_end: bool,
    /// Bytes handed out so far.
    offset: u64,
    /// The error that ended reading early, if one did.
    pub broken: Option<io::Error>,
}

/// A block as it was handed out.
pub struct Block {
    /// Its position in the order of blocks.
    pub number: u64,
    /// Bytes of the input before it.
    pub offset: u64,
    /// Whether it is the last.
    pub at_end: bool,
    /// Bytes behind it that were dropped as part of an endless record.
    pub skipped: u64,
    buffer: Vec<u8>,
    length: usize,
}

impl Block {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
    /// The buffer, to be used again.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
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

impl<'a> Source<'a> {
    /// Looks at the first bytes and undoes up to two layers of compression.
    pub fn new(bytes: Box<dyn Read + Send + 'a>) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: bytes, taken: Arc::clone(&taken) };
        let mut bytes: Box<dyn Read + Send + 'a> = Box::new(counted);
        let mut compression = None;
        for _ in 0..2 {
            let mut magic = Vec::with_capacity(6);
            bytes.by_ref().take(6).read_to_end(&mut magic)?;
            let kind = compression_of(&magic);
            let whole = Cursor::new(magic).chain(bytes);
            bytes = match kind {
                None => {
                    bytes = Box::new(whole);
                    break;
                }
                Some("gzip") => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
                Some("xz") => {
                    Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(buffered(whole)))
                }
                Some(_) => Box::new(zstd::stream::read::Decoder::with_buffer(buffered(whole))?),
            };
            compression = compression.or(kind);
        }
        Ok(Self {
            bytes,
            taken,
            compression,
            held: Vec::new(),
            filled: 0,
            at_end: false,
            offset: 0,
            broken: None,
        })
    }

    /// Bytes taken from the input so far, before decompression.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The first bytes, and whether there are no more.
    pub fn head(&mut self) -> (&[u8], bool) {
        self.fill(HEAD);
        (&self.held[..self.filled], self.at_end)
    }

    /// Reads until `wanted` bytes are held or the input ends. An error of the input (a cut
    /// compressed stream, a disk that fails) ends it here; what was read before it counts.
    fn fill(&mut self, wanted: usize) {
        if self.held.is_empty() {
            // Zeroed pages straight from the system, which `resize` would write itself.
            self.held = vec![0; wanted];
        } else if self.held.len() < wanted {
            self.held.resize(wanted, 0);
        }
        while self.filled < wanted && !self.at_end {
            match self.bytes.read(&mut self.held[self.filled..wanted]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.at_end = true;
                    self.broken = Some(error);
                }
            }
        }
    }

    /// Reads the whole input into memory: the next block is all of it.
    pub fn read_all(&mut self) {
        while !self.at_end {
            self.fill(self.filled.max(HEAD) * 2);
        }
    }

    /// The next block of about `size` bytes, cut where `boundary` says that a record ends. `spare`
    /// is a buffer to reuse. Nothing after the last block.
    pub fn next(
        &mut self,
        number: u64,
        size: usize,
        spare: Vec<u8>,
        boundary: &mut dyn FnMut(&[u8]) -> usize,
    ) -> Option<Block> {
        let mut wanted = size.max(1);
        loop {
            if self.filled < wanted && !self.at_end {
                self.fill(wanted);
            }
            if self.at_end && self.filled <= wanted {
                return (self.filled > 0).then(|| self.hand_out(number, spare, self.filled, 0));
            }
            let cut = boundary(&self.held[..wanted.min(self.filled)]);
            if cut > 0 {
                return Some(self.hand_out(number, spare, cut, 0));
            }
            if wanted >= RECORD_MAX {
                return Some(self.skip_record(number, spare));
            }
            wanted = (wanted * 2).min(RECORD_MAX);
        }
    }

    /// Drops a record that does not end within [`RECORD_MAX`] bytes, up to the line end behind it.
    #[cold]
    fn skip_record(&mut self, number: u64, spare: Vec<u8>) -> Block {
        let mut skipped = 0;
        loop {
            let line_end = memchr::memchr(b'\n', &self.held[..self.filled]).map(|at| at + 1);
            let drop = line_end.unwrap_or(self.filled);
            self.held.copy_within(drop..self.filled, 0);
            self.filled -= drop;
            skipped += drop as u64;
            if line_end.is_some() || self.at_end {
                return self.hand_out(number, spare, 0, skipped);
            }
            self.fill(BLOCK);
        }
    }

    /// Hands out the first `length` bytes and keeps the rest in `spare`.
    fn hand_out(&mut self, number: u64, mut spare: Vec<u8>, length: usize, skipped: u64) -> Block {
        let rest = self.filled - length;
        if spare.len() < rest {
            spare.resize(self.held.len(), 0);
        }
        spare[..rest].copy_from_slice(&self.held[length..self.filled]);
        std::mem::swap(&mut spare, &mut self.held);
        self.filled = rest;
        let offset = self.offset;
        self.offset += length as u64 + skipped;
        let at_end = self.at_end && rest == 0;
        Block { number, offset, at_end, skipped, buffer: spare, length }
    }

    /// Bytes handed out so far.
    pub fn handed_out(&self) -> u64 {
        self.offset
    }
}

fn buffered<R: Read>(bytes: R) -> BufReader<R> {
    BufReader::with_capacity(BLOCK / 2, bytes)
}

fn compression_of(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x1f, 0x8b, 0x08, ..] => Some("gzip"),
        // A zstd frame, or a skippable frame in front of one.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zstd"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        _ => None,
    }
}
