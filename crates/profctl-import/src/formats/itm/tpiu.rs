//! Frames of a trace port: 16 bytes that interleave several streams. Only that of the ITM is kept.

use std::io::{self, Read};

/// Bytes of a frame.
const FRAME: usize = 16;
/// Between frames, so that a receiver finds where they begin.
const FULL_SYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
/// Within a frame, when there is nothing to send.
const HALF_SYNC: [u8; 2] = [0xff, 0x7f];
/// Bytes of a capture that are taken apart at a time.
const CHUNK: u64 = 64 << 10;
/// The usual id of the ITM.
const ITM: u8 = 1;

/// Whether a capture begins with the synchronization of a trace port.
pub(super) fn is_framed(head: &[u8]) -> bool {
    head.starts_with(&FULL_SYNC)
}

/// The bytes of the ITM in `capture`. Half a frame at the end is omitted.
pub(super) fn unframe(capture: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(capture.len());
    let mut frames = Frames::default();
    frames.take(capture, true, &mut bytes);
    bytes
}

/// How far a capture was taken apart.
#[derive(Default)]
struct Frames {
    frame: [u8; FRAME],
    filled: usize,
    id: u8,
}

impl Frames {
    /// Takes what can be understood without more bytes, or all if there are none; says how much.
    fn take(&mut self, capture: &[u8], at_end: bool, bytes: &mut Vec<u8>) -> usize {
        let mut at = 0;
        while let Some(pair) = capture.get(at..at + 2) {
            let rest = &capture[at..];
            if rest.len() < FULL_SYNC.len() && !at_end {
                break;
            }
            if rest.starts_with(&FULL_SYNC) {
                // What was begun is not the beginning of this frame.
                (self.filled, at) = (0, at + FULL_SYNC.len());
                continue;
            }
            at += 2;
            if pair == HALF_SYNC {
                continue;
            }
            self.frame[self.filled..self.filled + 2].copy_from_slice(pair);
            self.filled += 2;
            if self.filled == FRAME {
                self.filled = 0;
                take(&self.frame, &mut self.id, bytes);
            }
        }
        at
    }
}

/// The bytes of the ITM in a capture, as they come.
pub(super) struct Unframed<R> {
    capture: R,
    frames: Frames,
    /// Bytes of the capture that are not taken yet.
    rest: Vec<u8>,
    /// Bytes of the ITM; those before `given` were returned.
    bytes: Vec<u8>,
    given: usize,
}

impl<R> Unframed<R> {
    pub(super) fn new(capture: R) -> Self {
        let (rest, bytes) = (Vec::new(), Vec::new());
        Self { capture, frames: Frames::default(), rest, bytes, given: 0 }
    }
}

impl<R: Read> Read for Unframed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.bytes.len() {
            self.bytes.clear();
            self.given = 0;
            let n = self.capture.by_ref().take(CHUNK).read_to_end(&mut self.rest)?;
            let taken = self.frames.take(&self.rest, n == 0, &mut self.bytes);
            self.rest.drain(..taken);
            if n == 0 && self.bytes.is_empty() {
                return Ok(0);
            }
        }
        let n = (&self.bytes[self.given..]).read(buffer)?;
        self.given += n;
        Ok(n)
    }
}

/// Takes the bytes of one frame. Every even byte is either a new id or data whose lowest bit is in
/// the last byte; for an id, that bit says whether it holds only after the byte that follows.
fn take(frame: &[u8; FRAME], id: &mut u8, bytes: &mut Vec<u8>) {
    let last = frame[FRAME - 1];
    for pair in 0..FRAME / 2 {
        let (even, odd) = (frame[2 * pair], frame[2 * pair + 1]);
        let bit = last >> pair & 1;
        let mut next = *id;
        if even & 1 == 1 {
            next = even >> 1;
            if bit == 0 {
                *id = next;
            }
        } else if *id == ITM {
            bytes.push(even | bit);
        }
        if 2 * pair + 1 < FRAME - 1 && *id == ITM {
            bytes.push(odd);
        }
        *id = next;
    }
}
