//! Runs the program: arguments in, output and exit code out.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Standard output of a run that must have gone well and said nothing else.
    #[track_caller]
    pub(crate) fn quiet_success(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// Standard error of a run that must have failed with `code` and written nothing.
    #[track_caller]
    pub(crate) fn failure(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        self.stderr
    }
}

/// The program, with nothing in its environment that could change what it says.
pub(crate) fn command<A: AsRef<OsStr>>(arguments: &[A]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profctl"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "PROFCTL_PAGER", "PAGER"] {
        command.env_remove(name);
    }
    command.env("XDG_CONFIG_HOME", "/nowhere");
    command.env("TERM", "xterm").args(arguments).stdin(Stdio::null());
    command
}

/// Runs `command` to its end.
pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("the program starts");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("reports are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Runs the program with `arguments`.
pub(crate) fn run<A: AsRef<OsStr>>(arguments: &[A]) -> Run {
    finish(&mut command(arguments))
}

/// Runs the program with `input` on its standard input.
pub(crate) fn run_with_input<A: AsRef<OsStr>>(arguments: &[A], input: &[u8]) -> Run {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("it was piped").write_all(input).expect("the program reads it all");
    let output = child.wait_with_output().expect("the program ends");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("reports are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// A fresh directory of one test.
pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes it, empty.
    pub(crate) fn new(test: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).expect("the target directory can be written");
        Self { root }
    }

    /// Writes a file into it and says where it is.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.root.join(name);
        let parent = path.parent().expect("it lies in the scratch directory");
        fs::create_dir_all(parent).expect("the target directory can be written");
        fs::write(&path, content).expect("the target directory can be written");
        path.display().to_string()
    }

    /// The path of something in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// The names of what is in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).expect("it was made above");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be listed").file_name().display().to_string())
            .collect();
        names.sort();
        names
    }
}

/// A code trace of one interrupt that interrupted a system call, every call whole.
pub(crate) const WHOLE: &str = "   \
   1:200 000 -> syscall (60 us, 200 total)
   1:200 010     -> read (30 us, 120 total)
   1:200 020         -> clkintr (40 us, 90 total)
   1:200 030             -> hardclock (50 us)
   1:200 110         <- \n   1:200 130     <- \n   1:200 140     -> splx (20 us)
   1:200 200 <- \n";

/// The same, cut before its end: three calls stay open.
pub(crate) const CUT: &str = "   \
   1:200 000 -> syscall (60 us, 200 total)
   1:200 010     -> read (30 us, 120 total)
   1:200 020         -> clkintr (40 us, 90 total)
   1:200 030             -> hardclock (50 us)\n";
