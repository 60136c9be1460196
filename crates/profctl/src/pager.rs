//! Standard output, through a pager if there is a terminal and more to print than fits on it.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use crate::args::Global;

/// What pages unless the environment or the configuration names another.
const DEFAULT: &str = "less -FRX";

/// Standard output.
pub(crate) struct Stdout {
    /// The pager to start, if output may be paged.
    command: Option<String>,
    /// Lines that fit on the screen.
    rows: usize,
    /// Written, but not yet passed on.
    held: Vec<u8>,
    lines: usize,
    pager: Option<Child>,
}

impl Stdout {
    /// Standard output of a command.
    pub(crate) fn new(global: &Global) -> Self {
        let is_wanted = !global.no_pager && io::stdout().is_terminal();
        let command = is_wanted.then(|| command(global)).flatten();
        let rows = terminal_size::terminal_size().map_or(24, |(_, rows)| usize::from(rows.0));
        Self { command, rows, held: Vec::new(), lines: 0, pager: None }
    }

    /// Passes on what is held, and waits until the pager is closed.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.command = None;
        if let Some(mut pager) = self.pager.take() {
            // Closes its input; if the pager has quit, the rest is dropped.
            drop(pager.stdin.take());
            pager.wait()?;
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(&held)?;
        stdout.flush()
    }

    fn start(&mut self) -> io::Result<()> {
        let Some(command) = self.command.take() else { return Ok(()) };
        let started = Command::new("sh").arg("-c").arg(&command).stdin(Stdio::piped()).spawn();
        let held = std::mem::take(&mut self.held);
        match started {
            Ok(pager) => {
                self.pager = Some(pager);
                self.pass(&held)
            }
            Err(_) => io::stdout().lock().write_all(&held),
        }
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            Some(stdin) => stdin.write_all(bytes),
            None => io::stdout().lock().write_all(bytes),
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.command.is_none() {
            self.pass(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        self.lines += bytes.split(|&byte| byte == b'\n').count() - 1;
        if self.lines >= self.rows {
            self.start()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.command.is_some() || self.pager.is_some() {
            return Ok(());
        }
        io::stdout().lock().flush()
    }
}

/// The command of the pager; nothing if there should be none.
fn command(global: &Global) -> Option<String> {
    let from = |name: &str| std::env::var(name).ok();
    let chosen = from("PROFCTL_PAGER")
        .or_else(|| global.configured_pager.clone())
        .or_else(|| from("PAGER"))
        .unwrap_or_else(|| DEFAULT.to_owned());
    let chosen = match chosen.trim() {
        "" | "cat" if global.pager => DEFAULT.to_owned(),
        chosen => chosen.to_owned(),
    };
    // A dumb terminal cannot page.
    let is_dumb = from("TERM").is_none_or(|term| term == "dumb");
    (!is_dumb && chosen != "cat" && !chosen.is_empty()).then_some(chosen)
}

/// Whether an error is a broken pipe.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}
