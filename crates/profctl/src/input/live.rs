//! Standard input that ends when the user interrupts: a stream that has no end of its own.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

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
        let (sender, chunks) = sync_channel(WAITING);
        // It ends with the program, or when the receiver is dropped.
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = match stdin.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(n) => {
                        chunk.truncate(n);
                        Ok(chunk)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                if sender.send(read).is_err() {
                    return;
                }
            }
        });
        Self { chunks, current: Cursor::default() }
    }
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
