//! Blocks of one stream of an input, aligned to its records.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::decompress::OpenFile;
use crate::pause::is_pause;

/// The default size of a block, chosen to stay in a core's second-level cache.
pub const BLOCK: usize = 128 << 10;
/// A record longer than this is skipped and counted, so that memory stays bounded.
pub const RECORD_MAX: usize = 16 << 20;

/// The bytes of one stream, cut into blocks.
pub struct BlockSource<'a> {
    bytes: Box<dyn Read + Send + 'a>,
    /// Bytes taken from the input before decompression.
    taken: Arc<AtomicU64>,
    /// Read, but not returned yet: the first `filled` bytes. The rest stays initialized, because
    /// zeroing every block costs as much as counting lines.
    held: Vec<u8>,
    filled: usize,
    at_end: bool,
    /// Whether the input has nothing more at the moment.
    is_paused: bool,
    /// Bytes returned so far.
    offset: u64,
    /// The error that ended reading early, if one did.
    pub broken: Option<io::Error>,
}

/// A block as it was cut, with the buffer that holds it.
pub struct CutBlock {
    /// Its position in the order of blocks.
    pub number: u64,
    /// Bytes of the stream before it.
    pub offset: u64,
    /// Whether it is the last.
    pub at_end: bool,
    /// Bytes after it that were dropped as part of an endless record.
    pub skipped: u64,
    buffer: Vec<u8>,
    length: usize,
}

impl CutBlock {
    /// A block that is all of `buffer`.
    pub fn new(number: u64, offset: u64, at_end: bool, buffer: Vec<u8>) -> Self {
        let length = buffer.len();
        Self { number, offset, at_end, skipped: 0, buffer, length }
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
    /// The buffer, to be used again.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

impl<'a> BlockSource<'a> {
    /// Cuts the bytes of an open file into blocks.
    pub fn new(file: OpenFile<'a>) -> Self {
        Self {
            bytes: file.bytes,
            taken: file.taken,
            held: Vec::new(),
            filled: 0,
            at_end: false,
            is_paused: false,
            offset: 0,
            broken: None,
        }
    }

    /// Bytes taken from the input so far, before decompression.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Reads until `wanted` bytes are held, the input ends, or has nothing more at the moment. An
    /// error of the input (a cut compressed stream, a disk that fails) ends it here; what was read
    /// before it counts.
    fn fill(&mut self, wanted: usize) {
        if self.held.is_empty() {
            // Zeroed pages straight from the system, which `resize` would write itself.
            self.held = vec![0; wanted];
        } else if self.held.len() < wanted {
            self.held.resize(wanted, 0);
        }
        self.is_paused = false;
        while self.filled < wanted && !self.at_end && !self.is_paused {
            match self.bytes.read(&mut self.held[self.filled..wanted]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) => self.is_paused = true,
                Err(error) => {
                    self.at_end = true;
                    self.broken = Some(error);
                }
            }
        }
    }

    /// Reads all that is left.
    fn fill_all(&mut self) {
        while !self.at_end {
            self.fill(self.filled.max(BLOCK) * 2);
        }
    }

    /// The next block of about `size` bytes, cut where `boundary` says that a record ends. `spare`
    /// is a buffer to reuse. An input that pauses is not waited for: the records so far, which may be
    /// none, are a block. Nothing after the last block.
    pub fn next(
        &mut self,
        number: u64,
        size: usize,
        spare: Vec<u8>,
        boundary: &mut dyn FnMut(&[u8]) -> usize,
    ) -> Option<CutBlock> {
        let mut wanted = size.max(1);
        if wanted > RECORD_MAX {
            self.fill_all();
        }
        loop {
            if !self.at_end && self.filled <= wanted {
                // One byte more shows whether this is the last block.
                self.fill(wanted + 1);
            }
            if self.at_end && self.filled <= wanted {
                return (self.filled > 0).then(|| self.hand_out(number, spare, self.filled, 0));
            }
            let cut = boundary(&self.held[..wanted.min(self.filled)]);
            if cut > 0 {
                return Some(self.hand_out(number, spare, cut, 0));
            }
            if self.is_paused && self.filled <= wanted {
                // No record ends here; others may ask for what is known so far.
                return Some(self.hand_out(number, spare, 0, 0));
            }
            if wanted >= RECORD_MAX {
                return Some(self.skip_record(number, spare));
            }
            wanted = (wanted * 2).min(RECORD_MAX);
        }
    }

    /// Drops a record that does not end within [`RECORD_MAX`] bytes, up to the line end after it.
    #[cold]
    fn skip_record(&mut self, number: u64, spare: Vec<u8>) -> CutBlock {
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

    /// Returns the first `length` bytes and keeps the rest in `spare`.
    fn hand_out(
        &mut self,
        number: u64,
        mut spare: Vec<u8>,
        length: usize,
        skipped: u64,
    ) -> CutBlock {
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
        CutBlock { number, offset, at_end, skipped, buffer: spare, length }
    }

    /// Bytes returned so far.
    pub fn handed_out(&self) -> u64 {
        self.offset
    }
}
