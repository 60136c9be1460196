//! Exit codes and errors.

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use profctl_import::ImportError;
use profctl_import::decompress::GROWS_TOO_MUCH;
use profctl_render::table::visible;

/// The exit codes, as the help of the program lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// `gate`: a regression, or a budget exceeded; `gate --self-test`: the injected regression was
    /// missed.
    Regressed = 1,
    /// A usage error, or the output cannot be written.
    Usage = 2,
    /// An input could not be read or is not a trace; nothing was written.
    Input = 3,
    /// `gate`: inconclusive.
    Inconclusive = 4,
    /// `--strict` was given and the input was incomplete.
    Incomplete = 5,
    /// `gate --bisect`: this build cannot be judged.
    Untestable = 125,
    /// A live stream was interrupted, and what was read of it was reported.
    Interrupted = 130,
}

impl Exit {
    /// The same for `git bisect run`, which skips what it cannot judge at 125.
    pub(crate) fn of_bisect(self) -> Self {
        match self {
            Self::Done | Self::Regressed => self,
            _ => Self::Untestable,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why nothing was written.
#[derive(Debug)]
pub(crate) struct Failure {
    /// With which code to end.
    pub(crate) exit: Exit,
    /// The input or output that it is about, with a line if there is one.
    place: Option<String>,
    /// What was found, then what was expected.
    message: String,
    /// What to try, one line each.
    hints: Vec<String>,
    /// Whether the input is not a trace, as opposed to a damaged trace.
    pub(crate) is_no_trace: bool,
}

impl Failure {
    /// A usage error.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            place: None,
            message: message.into(),
            hints: Vec::new(),
            is_no_trace: false,
        }
    }

    /// An input that cannot be read.
    pub(crate) fn input(name: impl Into<String>, message: impl Into<String>) -> Self {
        let failure = Self { exit: Exit::Input, place: Some(name.into()), ..Self::usage(message) };
        if failure.message.contains(GROWS_TOO_MUCH) {
            return failure.hint("raise --max-expansion if the file is from a source you trust");
        }
        failure
    }

    /// An input that was opened and cannot be read.
    pub(crate) fn import(name: &str, error: &ImportError) -> Self {
        let place = match error.line {
            Some(line) => format!("{name}:{line}"),
            None => name.to_owned(),
        };
        let message = match (error.line, error.offset) {
            (None, Some(offset)) => format!("byte {offset}: {}", error.message),
            _ => error.message.clone(),
        };
        let is_about_a_place = error.line.is_some() || error.offset.is_some();
        let is_no_trace = !is_about_a_place && !message.contains(GROWS_TOO_MUCH);
        Self { is_no_trace, ..Self::input(place, message) }
    }

    /// An input that holds no single call.
    pub(crate) fn of_sums(trace: &Path) -> Self {
        let message = "holds sums of functions, not single calls; expected a trace of calls";
        Self::input(trace.display().to_string(), message).hint("`profctl summarize` shows the sums")
    }

    /// The output cannot be written there.
    pub(crate) fn output(name: impl Into<String>, error: &std::io::Error) -> Self {
        let message = format!("cannot be written: {}", reason(error));
        Self { place: Some(name.into()), ..Self::usage(message) }
    }

    /// This build cannot do it.
    #[cfg(not(feature = "tables"))]
    pub(crate) fn without_tables(what: &str) -> Self {
        Self::usage(format!(
            "{what} needs a build with SQL: cargo install --path crates/profctl --features tables"
        ))
    }

    /// Adds something to try.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints it on standard error.
    pub(crate) fn report(&self) {
        // If standard error is closed, the exit code has to do.
        let _ = write!(std::io::stderr().lock(), "{self}");
    }
}

/// An error of the system, without its number.
pub(crate) fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    // An error of our own says more.
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".into(),
        _ if error.raw_os_error().is_none() => error.to_string(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "is a directory".into(),
        _ => error.to_string(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names and messages may hold what an input says: nothing of it may steer a terminal.
        write!(f, "profctl: ")?;
        if let Some(place) = &self.place {
            write!(f, "{}: ", visible(place))?;
        }
        writeln!(f, "{}", visible(&self.message))?;
        self.hints.iter().try_for_each(|hint| writeln!(f, "hint: {}", visible(hint)))
    }
}
