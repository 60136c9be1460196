//! Live inputs, which have nothing more at the moment and will have more later.

use std::io;

/// What a reader of a live input returns instead of waiting any longer.
pub fn pause() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

/// Whether an error is such a pause: it ends nothing.
pub fn is_pause(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
