//! Stamps as times on one axis.

use super::leader::Stamp;

/// What the stamps of an input count from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// 1970 (`-ttt`).
    Absolute,
    /// Midnight (`-t`, `-tt`): what steps back by more than six hours is of the next day.
    TimeOfDay,
    /// The record before (`-r`).
    Relative,
}

/// A quarter of a day, nanoseconds.
const QUARTER: u64 = 6 * 3_600 * 1_000_000_000;

/// What has to be remembered from one stamp to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ClockState {
    /// The time of the latest record, where stamps count from the one before.
    sum: u64,
    /// The latest quarter of a day, counted from the midnight before the first record and on
    /// through the days. It changes four times a day, so blocks can be read in parallel.
    quarter: Option<u64>,
}

impl Clock {
    /// The time of a stamp, nanoseconds.
    pub(crate) fn time(self, stamp: Stamp, state: &mut ClockState) -> u64 {
        match self {
            Self::Absolute => stamp.nanos,
            Self::Relative => {
                state.sum = state.sum.saturating_add(stamp.nanos);
                state.sum
            }
            Self::TimeOfDay => {
                // The last quarter takes a leap second in.
                let here = (stamp.nanos / QUARTER).min(3);
                let latest = state.quarter.unwrap_or(here);
                let quarter = match (here + 4 - latest % 4) % 4 {
                    3 if latest > 0 => latest - 1,
                    // Before the first midnight; the clock was set back.
                    3 => return 0,
                    ahead => latest + ahead,
                };
                state.quarter = Some(latest.max(quarter));
                (quarter / 4).saturating_mul(4 * QUARTER).saturating_add(stamp.nanos)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::leader::StampKind;
    use super::*;

    fn of_day(hours: f64) -> Stamp {
        let nanos = (hours * 3.6e12) as u64;
        Stamp { nanos, kind: StampKind::TimeOfDay, decimals: 6 }
    }

    #[test]
    fn midnight_begins_another_day() {
        let mut state = ClockState::default();
        let mut time = |hours| Clock::TimeOfDay.time(of_day(hours), &mut state) as f64 / 3.6e12;
        for (printed, expected) in [
            (22.5, 22.5),
            (23.75, 23.75),
            (0.25, 24.25),
            // Printed late, or the clock was set back.
            (23.875, 23.875),
            (0.5, 24.5),
            (7.0, 31.0),
            (18.5, 42.5),
            (6.5, 54.5),
        ] {
            assert!((time(printed) - expected).abs() < 1e-9, "{printed}");
        }
    }

    #[test]
    fn a_first_step_back_over_midnight_stays_at_zero() {
        let mut state = ClockState::default();
        assert_eq!(Clock::TimeOfDay.time(of_day(0.5), &mut state), 1_800_000_000_000);
        assert_eq!(Clock::TimeOfDay.time(of_day(23.5), &mut state), 0);
    }

    #[test]
    fn relative_times_add_up() {
        let mut state = ClockState::default();
        let stamp = |nanos| Stamp { nanos, kind: StampKind::Seconds, decimals: 6 };
        assert_eq!(Clock::Relative.time(stamp(5), &mut state), 5);
        assert_eq!(Clock::Relative.time(stamp(7), &mut state), 12);
        assert_eq!(Clock::Absolute.time(stamp(7), &mut state), 7);
    }
}
