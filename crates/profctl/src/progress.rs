//! The progress bar: on a terminal only, and only once the work has taken half a second.
//!
//! Readers store a number; a thread of its own looks at it ten times per second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;

const PATIENCE: Duration = Duration::from_millis(500);
const FRAME: Duration = Duration::from_millis(100);

/// How far reading has come, over all inputs.
pub(crate) struct Progress {
    read: Arc<AtomicU64>,
    /// Bytes of the inputs that are done.
    before: u64,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to watch. `total` is the number of bytes of all inputs, if it is known.
    pub(crate) fn start(total: Option<u64>, shown: bool) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        let painter = shown.then(|| {
            let (stop, stopped) = channel();
            let read = Arc::clone(&read);
            let painter = std::thread::spawn(move || {
                if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let bar = bar(total);
                while stopped.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                    bar.set_position(read.load(Ordering::Relaxed));
                }
                bar.finish_and_clear();
            });
            (stop, painter)
        });
        Self { read, before: 0, painter }
    }

    /// Counts in `read`, for who shows it in another way.
    pub(crate) fn counting(read: Arc<AtomicU64>) -> Self {
        Self { read, before: 0, painter: None }
    }

    /// Takes the number of bytes read from the current input so far.
    pub(crate) fn at(&self, bytes: u64) {
        self.read.fetch_max(self.before + bytes, Ordering::Relaxed);
    }

    /// The current input is done; it had that many bytes.
    pub(crate) fn next_input(&mut self, bytes: u64) {
        self.before += bytes;
        self.at(0);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, painter)) = self.painter.take() {
            drop(stop);
            // A panic of the progress thread does not affect the report.
            let _ = painter.join();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{bytes} of {total_bytes} [{bar:30}] {bytes_per_sec}, {eta} left",
        None => "{spinner} {bytes} read, {bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(template).expect("the templates above are valid");
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr())
        .with_style(style.progress_chars("=> "))
        .with_elapsed(PATIENCE)
}
