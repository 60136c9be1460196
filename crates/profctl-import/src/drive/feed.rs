//! The blocks of one stream, whether it is a whole file, parts of one, or one block.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use super::End;
use crate::blocks::{BLOCK, BlockSource, CutBlock};
use crate::decompress::OpenFile;
use crate::files::{FileId, Files, ReadAt};
use crate::importer::{Extents, Stream};

pub(super) struct Feed<'a> {
    file: FileId,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Stream {
        source: BlockSource<'a>,
        in_one_block: bool,
    },
    Blocks {
        file: Arc<dyn ReadAt>,
        ranges: Vec<Range<u64>>,
        next: usize,
        broken: Option<io::Error>,
    },
}

impl<'a> Feed<'a> {
    pub(super) fn new(files: &'a dyn Files, stream: &Stream) -> io::Result<Self> {
        let whole = |in_one_block| {
            let file = files.open(stream.file)?;
            let file = if in_one_block { file.limited(files.max_expansion()) } else { file };
            Ok::<_, io::Error>(Kind::Stream { source: BlockSource::new(file), in_one_block })
        };
        let kind = match &stream.extents {
            Extents::Whole => whole(false)?,
            Extents::InOneBlock => whole(true)?,
            Extents::Bytes(ranges) => {
                let file = files.open_at(stream.file)?;
                let bytes = Box::new(Ranges { file, parts: ranges.clone(), next: 0, at: 0 });
                let file = OpenFile { bytes, compression: None, taken: Arc::default() };
                Kind::Stream { source: BlockSource::new(file), in_one_block: false }
            }
            Extents::Blocks(ranges) => {
                let file = files.open_at(stream.file)?;
                Kind::Blocks { file, ranges: ranges.clone(), next: 0, broken: None }
            }
        };
        Ok(Self { file: stream.file, kind })
    }

    /// The next block, number `number`, of about `size` bytes (0: the default).
    pub(super) fn next(
        &mut self,
        number: u64,
        size: usize,
        spare: Vec<u8>,
        boundary: &mut dyn FnMut(&[u8]) -> usize,
    ) -> Option<CutBlock> {
        match &mut self.kind {
            Kind::Stream { source, in_one_block } => {
                let size = match size {
                    _ if *in_one_block => usize::MAX - 1,
                    0 => BLOCK,
                    size => size,
                };
                source.next(number, size, spare, boundary)
            }
            Kind::Blocks { file, ranges, next, broken } => {
                let range = ranges.get(*next)?.clone();
                let length = usize::try_from(range.end.saturating_sub(range.start));
                match file.bytes_at(range.start, length.unwrap_or(usize::MAX)) {
                    Ok(bytes) => {
                        *next += 1;
                        let at_end = *next == ranges.len();
                        Some(CutBlock::new(number, range.start, at_end, bytes))
                    }
                    Err(error) => {
                        *next = ranges.len();
                        *broken = Some(error);
                        None
                    }
                }
            }
        }
    }

    /// Bytes read so far, before decompression.
    pub(super) fn taken(&self) -> u64 {
        match &self.kind {
            Kind::Stream { source, .. } => source.taken(),
            Kind::Blocks { .. } => self.handed_out(),
        }
    }

    /// Bytes returned so far.
    fn handed_out(&self) -> u64 {
        match &self.kind {
            Kind::Stream { source, .. } => source.handed_out(),
            Kind::Blocks { ranges, next, .. } => {
                ranges[..*next].iter().map(|range| range.end - range.start).sum()
            }
        }
    }

    /// How it ended.
    pub(super) fn end(self) -> End {
        let (file, bytes) = (self.file, self.handed_out());
        let broken = match self.kind {
            Kind::Stream { source, .. } => source.broken,
            Kind::Blocks { broken, .. } => broken,
        };
        End { file, bytes, broken }
    }
}

/// Ranges of a file, read one after the other.
struct Ranges {
    file: Arc<dyn ReadAt>,
    parts: Vec<Range<u64>>,
    next: usize,
    /// Bytes of the next range that were read.
    at: u64,
}

impl Read for Ranges {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(range) = self.parts.get(self.next) {
            let from = range.start.saturating_add(self.at);
            let left = usize::try_from(range.end.saturating_sub(from)).unwrap_or(usize::MAX);
            let wanted = buffer.len().min(left);
            let n = match wanted {
                0 => 0,
                wanted => self.file.read_at(from, &mut buffer[..wanted])?,
            };
            if n > 0 || buffer.is_empty() {
                self.at += n as u64;
                return Ok(n);
            }
            (self.next, self.at) = (self.next + 1, 0);
        }
        Ok(0)
    }
}
