//! Streams that have no end of their own: standard input that ends when the user interrupts, and
//! inputs that are looked at while they grow.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use profctl_import::pause::pause;

use crate::interrupt;

const CHUNK: usize = 256 << 10;
/// Chunks that wait to be taken.
const WAITING: usize = 4;
/// How long a read waits until it looks whether the user interrupted.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long an input must be silent until that is a pause: at first, and later.
const SILENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_millis(250)];

/// An input that may have nothing at the moment. A thread reads it, because a read that waits for
/// more cannot be interrupted.
pub(crate) struct Live {
    chunks: Receiver<io::Result<Vec<u8>>>,
    current: Cursor<Vec<u8>>,
    /// Whether a read returns when the input is silent.
    pauses: Arc<AtomicBool>,
    has_begun: bool,
    has_paused: bool,
    /// How long it has been silent.
    silent: Duration,
    /// Whether the user may interrupt it.
    is_interruptible: bool,
}

impl Live {
    /// Starts reading standard input, which the user may interrupt. A read returns with a pause
    /// while the input is silent and `pauses` is set.
    pub(crate) fn stdin(pauses: Arc<AtomicBool>) -> Self {
        interrupt::live(true);
        let mut input = Self::growing(io::stdin(), false, pauses);
        input.is_interruptible = true;
        input
    }

    /// Starts reading an input that may grow; `goes_on` if it is a file whose end may move.
    pub(crate) fn growing(
        input: impl Read + Send + 'static,
        goes_on: bool,
        pauses: Arc<AtomicBool>,
    ) -> Self {
        let chunks = chunks(input, move || goes_on);
        Self {
            chunks,
            current: Cursor::default(),
            pauses,
            has_begun: false,
            has_paused: false,
            silent: Duration::ZERO,
            is_interruptible: false,
        }
    }
}

impl Read for Live {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                self.has_begun = true;
                return Ok(n);
            }
            if interrupt::happened() || interrupt::is_reading_stopped() {
                return Ok(0);
            }
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => {
                    self.current = Cursor::new(chunk?);
                    self.silent = Duration::ZERO;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.silent += PATIENCE;
                    let enough = SILENCE[usize::from(self.has_paused)];
                    let pauses = self.has_begun && self.pauses.load(Ordering::Relaxed);
                    if pauses && self.silent >= enough {
                        self.has_paused = true;
                        self.silent = Duration::ZERO;
                        return Err(pause());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.is_interruptible {
            interrupt::live(false);
        }
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

/// A file that ends early once the rest of the input is not needed.
pub(crate) struct Stoppable(pub(crate) File);

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if interrupt::is_reading_stopped() { Ok(0) } else { self.0.read(buffer) }
    }
}
