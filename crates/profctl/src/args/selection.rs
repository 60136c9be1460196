//! Which part of a trace to look at: a window of time, threads, CPUs, functions.

use profctl_import::Bound;
use profctl_model::{Tick, Timebase};
use profctl_render::{TimeUnit, number};
use regex::Regex;

use crate::duration::{self, Length};
use crate::exit::Failure;

/// What of a trace to look at.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Selection {
    /// Start of the window: a duration after the first timestamp (`1.5s`) or `@TIME`, a time as the
    /// source prints it (`@221.799322`); calls that overlap the window are clipped to it
    #[arg(long, value_name = "T", value_parser = moment, hide_short_help = true)]
    pub(crate) from: Option<Moment>,
    /// End of the window, likewise
    #[arg(long, value_name = "T", value_parser = moment, hide_short_help = true)]
    pub(crate) until: Option<Moment>,
    /// Only this thread: its id, its name, or both as `name-id`; repeatable
    #[arg(long, value_name = "THREAD", hide_short_help = true)]
    pub(crate) thread: Vec<String>,
    /// Only calls that ended on this CPU; repeatable
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) cpu: Vec<u32>,
    /// Only threads of this process (or with this id, where the input has no process ids);
    /// repeatable
    #[arg(long, value_name = "PID", hide_short_help = true)]
    pub(crate) pid: Vec<u64>,
    /// Only functions whose name matches
    #[arg(long = "match", value_name = "REGEX", hide_short_help = true)]
    pub(crate) matching: Option<Regex>,
    /// Not functions whose name matches
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) exclude: Option<Regex>,
    /// Only functions of this module; repeatable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) module: Vec<String>,
}

/// A point in time as it was typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// So long after the first timestamp.
    After(Length),
    /// On the clock of the source: nanoseconds, or a count where the clock counts.
    At { nanos: Option<u64>, count: Option<u64> },
}

/// Parses `1.5s`, `@221.799322`, `@221799322us`, `@1:200 010` and `@5000cycles`.
fn moment(text: &str) -> Result<Moment, String> {
    let Some(time) = text.strip_prefix('@') else {
        return duration::parse(text).map(Moment::After);
    };
    let time = time.trim();
    // McRae's code traces print seconds, a colon, and six digits of microseconds.
    let seconds = time.replacen(':', ".", 1).replace(' ', "");
    if time.ends_with(|c: char| c.is_ascii_digit()) {
        let nanos = duration::parse(&format!("{seconds}s"))?;
        let Length::Nanos(nanos) = nanos else { return Err("not a time".into()) };
        return Ok(Moment::At { nanos: Some(nanos), count: time.parse().ok() });
    }
    Ok(match duration::parse(time)? {
        Length::Nanos(nanos) => Moment::At { nanos: Some(nanos), count: None },
        Length::Counts(count) => Moment::At { nanos: None, count: Some(count) },
    })
}

impl Moment {
    /// The same for the reader.
    fn bound(self) -> Bound {
        match self {
            Self::After(length) => Bound::After(length.number()),
            Self::At { nanos, count } => {
                Bound::At { nanos: nanos.unwrap_or(0), count: count.unwrap_or(0) }
            }
        }
    }

    /// Whether it was given in what the clock of the trace counts.
    fn fits(self, timebase: &Timebase, flag: &str) -> Result<(), Failure> {
        let is_known = match self {
            Self::After(length) => return length.ticks(timebase, flag).map(|_| ()),
            Self::At { nanos, count } => {
                if timebase.is_time() {
                    nanos.is_some()
                } else {
                    count.is_some()
                }
            }
        };
        if is_known {
            return Ok(());
        }
        let expected = if timebase.is_time() {
            "has times, expected one such as @221.799322".to_owned()
        } else {
            format!("counts {}, expected a number such as @5000", timebase.unit_name())
        };
        Err(Failure::usage(format!("{flag}: this trace {expected}")))
    }
}

impl Selection {
    /// The window for the reader: its start and its end.
    pub(crate) fn window(&self) -> [Option<Bound>; 2] {
        [self.from, self.until].map(|moment| moment.map(Moment::bound))
    }

    /// Whether the window was given in what the clock of the trace counts, and is not past the end
    /// of the trace, nor empty. `bounds` are the first and the last time of the trace.
    pub(crate) fn fits(&self, timebase: &Timebase, bounds: (Tick, Tick)) -> Result<(), Failure> {
        for (moment, flag) in [(self.from, "--from"), (self.until, "--until")] {
            moment.map(|moment| moment.fits(timebase, flag)).transpose()?;
        }
        let (first, last) = bounds;
        let [from, until] = self.window().map(|bound| bound.map(|bound| bound.at(timebase, first)));
        if let (Some(from), Some(until)) = (from, until)
            && from >= until
        {
            return Err(Failure::usage("the window is empty: --from is not before --until"));
        }
        let length = || number::length_with_unit(last - first, timebase, TimeUnit::Auto);
        if from.is_some_and(|from| from > last) {
            let message =
                format!("--from is past the end of the trace, which is {} long", length());
            return Err(Failure::usage(message));
        }
        if until.is_some_and(|until| until <= first && first < last) {
            let message = "--until is not after the first timestamp of the trace";
            return Err(Failure::usage(message));
        }
        Ok(())
    }

    /// Everything but which functions.
    pub(crate) fn without_functions(&self) -> Self {
        Self { matching: None, exclude: None, module: Vec::new(), ..self.clone() }
    }

    /// Whether only some functions were asked for.
    pub(crate) fn selects_functions(&self) -> bool {
        self.matching.is_some() || self.exclude.is_some() || !self.module.is_empty()
    }

    /// Whether only some threads were asked for, by themselves or by their process.
    pub(crate) fn selects_threads(&self) -> bool {
        !(self.thread.is_empty() && self.pid.is_empty())
    }

    /// Whether only some threads or CPUs were asked for.
    pub(crate) fn selects_places(&self) -> bool {
        !(self.thread.is_empty() && self.cpu.is_empty() && self.pid.is_empty())
    }

    /// Whether a function is among those that were asked for.
    pub(crate) fn takes_function(&self, name: &str, module: Option<&str>) -> bool {
        self.matching.as_ref().is_none_or(|regex| regex.is_match(name))
            && self.exclude.as_ref().is_none_or(|regex| !regex.is_match(name))
            && (self.module.is_empty()
                || self.module.iter().any(|wanted| module == Some(wanted.as_str())))
    }

    /// The flags that a saved profile cannot answer: it holds sums by function.
    pub(crate) fn beyond_profiles(&self) -> Option<&'static str> {
        let of_places = [
            (!self.thread.is_empty(), "--thread"),
            (!self.cpu.is_empty(), "--cpu"),
            (!self.pid.is_empty(), "--pid"),
        ];
        let given = || of_places.into_iter().find_map(|(given, flag)| given.then_some(flag));
        self.window_flag().or_else(given)
    }

    /// The flag of a window, if one was given.
    pub(crate) fn window_flag(&self) -> Option<&'static str> {
        let until = || self.until.is_some().then_some("--until");
        self.from.is_some().then_some("--from").or_else(until)
    }

    /// The first flag that was given, for inputs that can answer none.
    #[cfg(feature = "tables")]
    pub(crate) fn first_flag(&self) -> Option<&'static str> {
        let of_functions = [
            (self.matching.is_some(), "--match"),
            (self.exclude.is_some(), "--exclude"),
            (!self.module.is_empty(), "--module"),
        ];
        let given = of_functions.into_iter().find_map(|(given, flag)| given.then_some(flag));
        self.beyond_profiles().or(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_duration_or_a_time_of_the_source() {
        let at = |nanos, count| Ok(Moment::At { nanos, count });
        for (text, expected) in [
            ("1.5s", Ok(Moment::After(Length::Nanos(1_500_000_000)))),
            ("@221.799322", at(Some(221_799_322_000), None)),
            ("@221799322us", at(Some(221_799_322_000), None)),
            ("@1:200 010", at(Some(1_200_010_000), None)),
            ("@5000", at(Some(5_000_000_000_000), Some(5000))),
            ("@5000cycles", at(None, Some(5000))),
            ("@", Err(())),
            ("@x", Err(())),
            ("300", Err(())),
        ] {
            assert_eq!(moment(text).map_err(|_| ()), expected, "{text}");
        }
    }

    #[test]
    fn a_window_may_begin_at_the_last_time_and_end_where_a_trace_has_one_time_only() {
        let fits = |from: Option<&str>, until: Option<&str>, bounds: (u64, u64)| {
            let [from, until] = [from, until].map(|text| text.map(|text| moment(text).unwrap()));
            let selection = Selection { from, until, ..Selection::default() };
            let bounds = (Tick(bounds.0), Tick(bounds.1));
            selection.fits(&Timebase::NANOSECONDS, bounds).is_ok()
        };
        assert!(fits(Some("30ns"), None, (5, 35)));
        assert!(!fits(Some("31ns"), None, (5, 35)));
        assert!(fits(None, Some("1ns"), (5, 35)));
        assert!(!fits(None, Some("0ns"), (5, 35)));
        assert!(fits(None, Some("0ns"), (5, 5)));
        assert!(fits(Some("1ns"), Some("2ns"), (5, 35)));
        assert!(!fits(Some("2ns"), Some("2ns"), (5, 35)));
    }

    #[test]
    fn functions_are_taken_by_name_and_module() {
        let regex = |text: &str| Some(Regex::new(text).unwrap());
        let all = Selection::default();
        let named = Selection { matching: regex("^tcp"), exclude: regex("ack$"), ..all.clone() };
        let of_modules = Selection { module: vec!["ext4".into(), "jbd2".into()], ..all.clone() };
        for (name, module, expected) in [
            ("tcp_send", None, [true, true, false]),
            ("tcp_ack", Some("jbd2"), [true, false, true]),
            ("ext4_read", Some("ext4"), [true, false, true]),
            ("xfs_read", Some("xfs"), [true, false, false]),
        ] {
            let taken = [&all, &named, &of_modules].map(|it| it.takes_function(name, module));
            assert_eq!(taken, expected, "{name}");
        }
    }
}
