//! Inputs of which every part says how to read the next, or that are read at many places: one
//! reader goes through them from beginning to end and passes on what it found in batches, so that
//! neither the input nor its records are ever in memory as a whole.

use std::io::{self, Read};

use crate::blocks::{BLOCK, RECORD_MAX};
use crate::emit::Emitter;
use crate::pause::is_pause;
use crate::text::Line;

/// Approximate number of records passed on together.
const BATCH: usize = 1 << 14;

/// Reads an input from beginning to end.
pub trait InTurn: Send {
    /// Another one that has read nothing.
    fn fork(&self) -> Box<dyn InTurn>;
    /// The bytes that it reads, made of those of the file.
    fn wrap<'a>(&self, file: Box<dyn Read + Send + 'a>) -> Box<dyn Read + Send + 'a> {
        file
    }
    /// Reads everything. Calls [`Input::hand_on`] wherever what was said may be taken away.
    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter);
}

/// Takes the records of a batch, the bytes that they stand in and the offset of those.
pub(crate) type TakeBatch<'a> = &'a mut dyn FnMut(&mut Emitter, &[u8], u64);

/// The bytes of an input, as far as they are wanted.
pub struct Input<'a> {
    source: Box<dyn Read + Send + 'a>,
    held: Vec<u8>,
    /// How many of the bytes held were consumed since the last batch.
    consumed: usize,
    /// The place of the next byte in the input, and that at which the batch began.
    place: u64,
    base: u64,
    at_end: bool,
    /// The error that ended reading early, if one did.
    pub(crate) broken: Option<io::Error>,
    /// Nothing: all is one batch.
    take: Option<TakeBatch<'a>>,
}

impl<'a> Input<'a> {
    /// The bytes that `source` gives.
    pub(crate) fn new(source: Box<dyn Read + Send + 'a>, take: Option<TakeBatch<'a>>) -> Self {
        let (held, broken) = (Vec::new(), None);
        Self { source, held, consumed: 0, place: 0, base: 0, at_end: false, broken, take }
    }

    /// The bytes not consumed yet, at least `wanted` of them if there are so many.
    pub fn fill(&mut self, wanted: usize) -> &[u8] {
        let missing = |held: &[u8], consumed| wanted.saturating_sub(held.len() - consumed);
        while missing(&self.held, self.consumed) > 0 && !self.at_end {
            let n = missing(&self.held, self.consumed).max(BLOCK) as u64;
            match self.source.by_ref().take(n).read_to_end(&mut self.held) {
                Ok(0) => self.at_end = true,
                Ok(_) => {}
                Err(error) if is_pause(&error) => {}
                Err(error) => {
                    self.at_end = true;
                    self.broken = Some(error);
                }
            }
        }
        &self.held[self.consumed..]
    }

    /// Whether all bytes there are have been read from the file; some may not be consumed yet.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// The next line. What is longer than any line may be is cut.
    pub fn line(&mut self) -> Option<Line<'_>> {
        let mut looked_at = 0;
        let end = loop {
            let rest = self.fill(looked_at + 1);
            if let Some(end) = memchr::memchr(b'\n', &rest[looked_at..]) {
                break Some(looked_at + end);
            }
            let is_last = rest.len() == looked_at;
            looked_at = rest.len();
            if is_last || looked_at > RECORD_MAX {
                break None;
            }
        };
        let (offset, at) = (self.offset(), self.consumed);
        let length = end.unwrap_or(looked_at);
        self.consume(length + usize::from(end.is_some()));
        let text = &self.held[at..at + length];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        (self.consumed > at).then_some(Line { offset, text, ended: end.is_some() })
    }

    /// Goes on behind the next `n` bytes.
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.held.len() - self.consumed);
        self.consumed += n;
        self.place += n as u64;
    }

    /// Goes on where `pattern` stands next, or at the end. Says how many bytes that skips.
    pub fn skip_to(&mut self, pattern: &[u8], out: &mut Emitter) -> usize {
        let mut skipped = 0;
        loop {
            let rest = self.fill(BLOCK);
            let found = memchr::memmem::find(rest, pattern);
            let is_last = rest.len() < BLOCK;
            let n = match found {
                Some(at) => at,
                None if is_last => rest.len(),
                None => rest.len() + 1 - pattern.len(),
            };
            self.consume(n);
            skipped += n;
            if found.is_some() || is_last {
                return skipped;
            }
            self.hand_on(out);
        }
    }

    /// The place of the next byte, as an offset in the batch.
    pub fn offset(&self) -> usize {
        usize::try_from(self.place - self.base).unwrap_or(usize::MAX)
    }

    /// Goes on at a place of the input whose bytes come from elsewhere.
    pub fn move_to(&mut self, place: u64, out: &mut Emitter) {
        self.place = self.place.max(place);
        self.flush(out);
    }

    /// Passes on the records so far, if there are enough. Returns whether it did.
    pub fn hand_on(&mut self, out: &mut Emitter) -> bool {
        let is_due = self.consumed >= BLOCK || out.said().len() >= BATCH;
        if is_due {
            self.flush(out);
        }
        is_due
    }

    /// The input cannot be read on.
    pub(crate) fn fail(&mut self, error: io::Error) {
        self.broken = Some(error);
    }

    /// Passes on all records so far.
    pub(crate) fn flush(&mut self, out: &mut Emitter) {
        if let Some(take) = &mut self.take {
            take(out, &self.held[..self.consumed], self.base);
            self.base = self.place;
            self.held.drain(..std::mem::take(&mut self.consumed));
        }
    }

    /// Bytes of the input that were read.
    pub(crate) fn dealt_with(&self) -> u64 {
        self.place
    }
}
