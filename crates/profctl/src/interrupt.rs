//! Signals: a live stream that is interrupted ends, so that what was read of it is reported;
//! otherwise the program ends as the signal asks, without leaving temporary files behind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether standard input is being read.
static LIVE: AtomicBool = AtomicBool::new(false);
/// Whether the live stream was interrupted.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Whether the rest of the input is not needed.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// What to do with the terminal if the program ends early.
static RESTORE: Mutex<Option<fn()>> = Mutex::new(None);
/// What to remove if the program ends early.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Listens for signals from now on.
#[cfg(unix)]
pub(crate) fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Without signal handlers, the default action of the system applies.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let is_first = !INTERRUPTED.swap(true, Ordering::SeqCst);
            if signal == SIGINT && is_first && LIVE.load(Ordering::SeqCst) {
                continue;
            }
            let restore = *RESTORE.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(restore) = restore {
                restore();
            }
            for path in &*temporary() {
                let _ = std::fs::remove_file(path);
                let _ = std::fs::remove_dir_all(path);
            }
            // Ends the program as if the signal had not been caught, so that a shell sees which.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// Other systems end the program.
#[cfg(not(unix))]
pub(crate) fn listen() {}

/// Standard input is read, or no longer read.
pub(crate) fn live(is: bool) {
    LIVE.store(is, Ordering::SeqCst);
}

/// Sets what gives the terminal back if the program ends early.
pub(crate) fn restore_with(restore: Option<fn()>) {
    *RESTORE.lock().unwrap_or_else(PoisonError::into_inner) = restore;
}

/// Whether a live stream was interrupted.
pub(crate) fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Stops reading: inputs end where they are, because the rest is not needed.
pub(crate) fn stop_reading() {
    STOPPED.store(true, Ordering::SeqCst);
}

/// Whether reading was stopped.
pub(crate) fn is_reading_stopped() -> bool {
    STOPPED.load(Ordering::SeqCst)
}

/// Something to remove if the program ends early, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Registered(PathBuf);

impl Registered {
    /// Registers a file or a directory.
    pub(crate) fn new(path: &Path) -> Self {
        temporary().insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        temporary().remove(&self.0);
    }
}

fn temporary() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}
