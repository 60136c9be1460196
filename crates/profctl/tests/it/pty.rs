//! The program in a terminal: keys in, screens out. The terminal is a pseudo-terminal; what is
//! written to it, a terminal emulator turns into a screen.

use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

/// How long a screen may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long nothing must be written until a screen counts as finished.
const SILENCE: Duration = Duration::from_millis(250);

/// A program that runs in a terminal.
pub(crate) struct InTerminal {
    pty: Arc<Pty>,
    pub(crate) child: Child,
    emulator: Arc<Mutex<Emulator>>,
    /// Hands what is written to the emulator, until no program has the terminal open.
    reader: JoinHandle<()>,
}

struct Emulator {
    parser: vt100::Parser,
    changed: Instant,
}

fn size(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("terminals have columns and rows")
}

impl InTerminal {
    /// Starts the program with `arguments` in a window of so many columns and rows.
    pub(crate) fn start(arguments: &[&str], window: (u16, u16), folder: &Path) -> Self {
        Self::run(
            &[&[env!("CARGO_BIN_EXE_profctl")], arguments].concat(),
            window,
            folder,
            None,
            &[],
        )
    }

    /// Starts any program, with another standard input and variables if some are given.
    pub(crate) fn run(
        words: &[&str],
        (columns, rows): (u16, u16),
        folder: &Path,
        stdin: Option<Stdio>,
        variables: &[(&str, &str)],
    ) -> Self {
        let (pty, pts) = open().expect("the system has pseudo-terminals");
        pty.resize(Size::new(rows, columns)).expect("it can be resized");
        let mut command = Command::new(words[0]).args(&words[1..]).current_dir(folder);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"] {
            command = command.env_remove(name);
        }
        command = command.env("XDG_CONFIG_HOME", "/nowhere").env("TERM", "xterm-256color");
        command = command.envs(variables.iter().copied());
        if let Some(stdin) = stdin {
            command = command.stdin(stdin);
        }
        let child = command.spawn(pts).expect("the program starts");
        let (pty, parser) = (Arc::new(pty), vt100::Parser::new(size(rows), size(columns), 0));
        let emulator = Arc::new(Mutex::new(Emulator { parser, changed: Instant::now() }));
        let (output, screen) = (Arc::clone(&pty), Arc::clone(&emulator));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // An error is how a pseudo-terminal says that no program has it open.
            while let Ok(n @ 1..) = (&*output).read(&mut bytes) {
                let mut emulator = screen.lock().expect("no thread panics with it");
                emulator.parser.process(&bytes[..n]);
                emulator.changed = Instant::now();
            }
        });
        Self { pty, child, emulator, reader }
    }

    fn emulator(&self) -> MutexGuard<'_, Emulator> {
        self.emulator.lock().expect("no thread panics with it")
    }

    /// Types `keys`, with the names of keys that are no letters in braces.
    pub(crate) fn press(&mut self, keys: &str) {
        let mut bytes = keys.to_owned();
        for (name, code) in [
            ("{enter}", "\r"),
            ("{esc}", "\x1b"),
            ("{up}", "\x1b[A"),
            ("{down}", "\x1b[B"),
            ("{right}", "\x1b[C"),
            ("{left}", "\x1b[D"),
            ("{^c}", "\x03"),
            ("{^z}", "\x1a"),
        ] {
            bytes = bytes.replace(name, code);
        }
        (&*self.pty).write_all(bytes.as_bytes()).expect("the program reads keys");
    }

    /// Gives the window another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.emulator().parser.screen_mut().set_size(size(rows), size(columns));
        self.pty.resize(Size::new(rows, columns)).expect("it can be resized");
    }

    /// The lines of the screen.
    pub(crate) fn screen(&self) -> String {
        let emulator = self.emulator();
        let columns = emulator.parser.screen().size().1.get();
        let rows = emulator.parser.screen().rows(0, columns);
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }

    /// What holds of the screen.
    pub(crate) fn of_screen<T>(&self, of: impl FnOnce(&vt100::Screen) -> T) -> T {
        of(self.emulator().parser.screen())
    }

    /// Waits until `text` is on the screen and nothing changes any more. Returns the screen.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted and nothing changes any more.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let is_silent = self.emulator().changed.elapsed() > SILENCE;
            let screen = self.screen();
            if is_silent && wanted(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "no `{what}` on\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the program has ended. Returns its exit code, nothing if a signal ended it.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            // What it wrote last is on the screen.
            if self.reader.is_finished()
                && let Some(status) = self.child.try_wait().expect("it was started")
            {
                return status.code();
            }
            assert!(began.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// An input that ends with an error of the system after `content`, which is short: that is how a
/// pseudo-terminal says that no program has it open.
pub(crate) fn failing_after(content: &[u8]) -> Stdio {
    let (pty, pts) = open().expect("the system has pseudo-terminals");
    let terminal = pts.as_fd().try_clone_to_owned().expect("it is open");
    std::fs::File::from(terminal).write_all(content).expect("it holds a page");
    drop(pts);
    Stdio::from(OwnedFd::from(pty))
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
