//! Streams that have no end of their own: standard input that ends when the user interrupts, and
//! inputs that are looked at while they grow.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use profctl_import::pause::pause;

use crate::interrupt;

const CHUNK: usize = 256 << 10;
/// Chunks that wait to be taken.
const WAITING: usize = 4;
/// How long a read waits until it looks whether the user interrupted.
const PATIENCE: Duration = Duration::from_millis(50);

/// Standard input. A thread reads it, because a read that waits for more cannot be interrupted.
pub(crate) struct Stdin {
    chunks: Receiver<io::Result<Vec<u8>>>,
    current: Cursor<Vec<u8>>,
}

impl Stdin {
    /// Begins to read.
    pub(crate) fn new() -> Self {
        interrupt::live(true);
        let chunks = chunks(io::stdin(), || false);
        Self { chunks, current: Cursor::default() }
    }
}

/// What `input` gives. It ends with the program, or when the receiver is dropped; at the end of the
/// input as well, unless `goes_on` says that there may be more later.
fn chunks(
    mut input: impl Read + Send + 'static,
    goes_on: impl Fn() -> bool + Send + 'static,
) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, chunks) = sync_channel(WAITING);
    std::thread::spawn(move || {
        loop {
            let mut chunk = vec![0; CHUNK];
            let read = match input.read(&mut chunk) {
                Ok(0) if goes_on() => {
                    std::thread::sleep(PATIENCE);
                    continue;
                }
                Ok(0) => return,
                Ok(n) => {
                    chunk.truncate(n);
                    Ok(chunk)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A pipe that another program made non-blocking: it has nothing yet.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(PATIENCE);
                    continue;
                }
                Err(error) => Err(error),
            };
            if sender.send(read).is_err() {
                return;
            }
        }
    });
    chunks
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            if interrupt::happened() {
                return Ok(0);
            }
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => self.current = Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        interrupt::live(false);
    }
}

/// How long a growing input must be silent until that is a pause: at its beginning, where the format
/// is to be recognized from what came so far, and later.
const SILENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_millis(250)];

/// An input that grows while it is read. It pauses while nothing comes.
pub(crate) struct Growing {
    chunks: Receiver<io::Result<Vec<u8>>>,
    current: Cursor<Vec<u8>>,
    has_begun: bool,
    has_paused: bool,
}

impl Growing {
    /// Begins to read; `goes_on` if the input is a file whose end may move.
    pub(crate) fn new(input: impl Read + Send + 'static, goes_on: bool) -> Self {
        let chunks = chunks(input, move || goes_on);
        Self { chunks, current: Cursor::default(), has_begun: false, has_paused: false }
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                self.has_begun = true;
                return Ok(n);
            }
            match self.chunks.recv_timeout(SILENCE[usize::from(self.has_paused)]) {
                Ok(chunk) => self.current = Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) if self.has_begun => {
                    self.has_paused = true;
                    return Err(pause());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
