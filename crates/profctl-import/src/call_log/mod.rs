//! The logs of strace and ltrace, which share their grammar: one line per call, with its result
//! and, if it was asked for, its length.
//!
//! ```text
//! 23687 1795297781.372920 close(3 <unfinished ...>
//! 23689 1795297781.372954 getpid() = 23689 <0.000018>
//! 23687 1795297781.372969 <... close resumed>) = 0 <0.000050>
//! ```

mod clock;
mod leader;
mod line;
mod read;
mod survey;

use std::sync::Arc;

use profctl_model::{Code, Severity, TickUnit, Ticks, Timebase, Timeline};

pub(crate) use clock::Clock;
pub(crate) use read::{Flavor, Lines, Stream};
pub(crate) use survey::{Survey, survey};

use crate::importer::ImportError;
use crate::options::ImportOptions;

/// A call whose length the log does not state.
pub(crate) static NO_LENGTH: Code = Code {
    name: "strace/no-length",
    severity: Severity::Warning,
    help: "the log does not state how long a call took: it counts as incomplete, with no time; \
           record with `strace -T` (`ltrace -T`)",
};

/// The names for `--dialect`.
const CLOCKS: [(&str, Clock); 3] = [
    ("absolute", Clock::Absolute),
    ("time-of-day", Clock::TimeOfDay),
    ("relative", Clock::Relative),
];

/// The clock of a log: the one that was asked for, else what its first stamps look like. Nothing
/// if it has no times.
pub(crate) fn clock(
    survey: &Survey,
    options: &ImportOptions,
) -> Result<Option<Clock>, ImportError> {
    let Some(name) = &options.dialect else { return Ok(survey.clock) };
    match CLOCKS.iter().find(|(known, _)| known == name) {
        Some((_, clock)) => Ok(Some(*clock)),
        None => Err(ImportError::whole(format!(
            "unknown dialect `{name}`, expected absolute, time-of-day or relative"
        ))),
    }
}

/// Nanoseconds, as finely as the stamps were printed. Without stamps calls are laid end to end.
pub(crate) fn timebase(survey: &Survey, clock: Option<Clock>) -> Timebase {
    let decimals = u32::from(survey.decimals.unwrap_or(survey.length_decimals.unwrap_or(6)));
    let timeline = if clock.is_some() { Timeline::Recorded } else { Timeline::Synthetic };
    Timebase {
        unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
        resolution: Ticks(10_u64.pow(9_u32.saturating_sub(decimals))),
        timeline,
    }
}

/// What `info` shows of a log.
pub(crate) fn facts(survey: &Survey, clock: Option<Clock>) -> Vec<(&'static str, String)> {
    let times = match clock {
        Some(Clock::Absolute) => "since 1970 (-ttt)",
        Some(Clock::TimeOfDay) => "time of day (-t, -tt)",
        Some(Clock::Relative) => "since the previous record (-r), summed",
        None => "none: calls are laid end to end",
    };
    let lengths = if survey.has_lengths { "stated (-T)" } else { "not stated" };
    let ids = if survey.has_ids { "of threads (-f)" } else { "none: one thread" };
    vec![("times", times.into()), ("durations", lengths.into()), ("ids", ids.into())]
}

/// A reader of a log whose streams are threads, or of one file with all of them.
pub(crate) fn lines(flavor: Flavor, clock: Option<Clock>, streams: Vec<Stream>) -> Lines {
    Lines { flavor, clock, streams: Arc::from(streams) }
}
