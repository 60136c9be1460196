//! Numbers and texts at any place of a file, in its byte order.

use std::io::Read as _;

use crate::bytes::{self, Endian};
use crate::files::ReadAt;
use crate::formats::ImportError;

/// No part of a file but the records themselves is read if it is larger than this: kallsyms of a
/// kernel with every module takes about 20 MB.
const PART_MAX: u64 = 256 << 20;

/// A place in a file.
pub(super) struct Cursor<'a> {
    source: &'a dyn ReadAt,
    pub(super) at: u64,
    pub(super) endian: Endian,
}

/// An error about the bytes at a place.
pub(super) fn at(offset: u64, message: impl Into<String>) -> ImportError {
    ImportError { offset: Some(offset), line: None, message: message.into() }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a dyn ReadAt, at: u64, endian: Endian) -> Self {
        Self { source, at, endian }
    }

    /// The bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.source.len()
    }

    /// The next `n` bytes; fewer are an error.
    pub(super) fn bytes(&mut self, n: u64) -> Result<Vec<u8>, ImportError> {
        let left = self.source.len().saturating_sub(self.at);
        if n > left || n > PART_MAX {
            return Err(at(self.at, format!("ends early: {n} bytes expected, {left} left")));
        }
        let bytes = self
            .source
            .bytes_at(self.at, n as usize)
            .map_err(|error| at(self.at, format!("cannot be read: {error}")))?;
        if bytes.len() as u64 != n {
            return Err(at(self.at, format!("ends early: {n} bytes expected")));
        }
        self.at += n;
        Ok(bytes)
    }

    fn integer(&mut self, width: usize) -> Result<u64, ImportError> {
        let bytes = self.bytes(width as u64)?;
        Ok(match self.endian {
            Endian::Little => bytes::little(&bytes),
            Endian::Big => bytes::big(&bytes),
        })
    }

    pub(super) fn u16(&mut self) -> Result<u16, ImportError> {
        self.integer(2).map(|value| value as u16)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ImportError> {
        self.integer(4).map(|value| value as u32)
    }

    pub(super) fn u64(&mut self) -> Result<u64, ImportError> {
        self.integer(8)
    }

    /// A text that ends with a NUL.
    pub(super) fn text(&mut self) -> Result<String, ImportError> {
        const LONGEST: usize = 4096;
        let bytes = self
            .source
            .bytes_at(self.at, LONGEST)
            .map_err(|error| at(self.at, format!("cannot be read: {error}")))?;
        let Some(end) = memchr::memchr(0, &bytes) else {
            return Err(at(self.at, "an unterminated string"));
        };
        self.at += end as u64 + 1;
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// How sections and records are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Compression {
    #[default]
    None,
    Zlib,
    Zstd,
}

impl Compression {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "zlib" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// What `bytes` were before they were compressed, `length` bytes long.
    pub(super) fn decompressed(self, bytes: &[u8], length: u64) -> Result<Vec<u8>, String> {
        if length > PART_MAX {
            return Err(format!("a section of {length} bytes is too large"));
        }
        let mut found = Vec::new();
        let read = match self {
            Self::None => return Err("a section is compressed in a file that is not".into()),
            Self::Zlib => {
                flate2::read::ZlibDecoder::new(bytes).take(length).read_to_end(&mut found)
            }
            Self::Zstd => zstd::stream::read::Decoder::new(bytes)
                .and_then(|decoder| decoder.take(length).read_to_end(&mut found)),
        };
        read.map_err(|error| format!("a compressed section is damaged: {error}"))?;
        Ok(found)
    }
}

/// Decompresses the chunks of the records of one worker, in one buffer.
pub(super) enum Chunks {
    None,
    Zlib(Box<flate2::Decompress>),
    Zstd(Box<zstd::bulk::Decompressor<'static>>),
}

/// No chunk is larger: trace-cmd compresses ten pages at a time.
const CHUNK_MAX: usize = 16 << 20;

impl Chunks {
    pub(super) fn new(compression: Compression) -> Self {
        match compression {
            Compression::None => Self::None,
            Compression::Zlib => Self::Zlib(Box::new(flate2::Decompress::new(true))),
            Compression::Zstd => zstd::bulk::Decompressor::new()
                .map_or(Self::None, |zstd| Self::Zstd(Box::new(zstd))),
        }
    }

    /// Puts what `bytes` were into `out`, whose old content is forgotten.
    pub(super) fn decompress(
        &mut self,
        bytes: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        out.clear();
        if length > CHUNK_MAX {
            return Err(format!("a chunk of {length} bytes is too large"));
        }
        out.reserve(length);
        match self {
            Self::None => Err("the records have an unknown compression".into()),
            Self::Zlib(zlib) => {
                zlib.reset(true);
                let status = zlib.decompress_vec(bytes, out, flate2::FlushDecompress::Finish);
                match status {
                    Ok(flate2::Status::StreamEnd) => Ok(()),
                    Ok(_) => Err("a chunk of records ends early".into()),
                    Err(error) => Err(format!("a chunk of records is damaged: {error}")),
                }
            }
            Self::Zstd(zstd) => zstd
                .decompress_to_buffer(bytes, out)
                .map(|_| ())
                .map_err(|error| format!("a chunk of records is damaged: {error}")),
        }
    }
}
