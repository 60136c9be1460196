//! Timestamps and durations in text, as integer ticks.

use profctl_model::TickUnit;

use crate::text;

/// How group `ts` is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// A number, with or without decimals.
    Decimal,
    /// `HH:MM:SS`, with or without decimals; starts again at midnight.
    Clock,
    /// `YYYY-MM-DD HH:MM:SS`, with or without decimals.
    Datetime,
}

impl Format {
    /// The names in a rule file.
    pub(super) const NAMES: [(&str, Format); 3] =
        [("decimal", Self::Decimal), ("clock", Self::Clock), ("datetime", Self::Datetime)];
}

/// The units of a rule file that are time: the ticks of a trace are then nanoseconds, and the
/// number is by how many digits the unit is longer.
pub(super) const UNITS: [(&str, u32); 4] = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0)];

/// By how many digits a second is longer than a nanosecond.
pub(super) const SECOND_DIGITS: u32 = 9;
const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// A day has this many parts; a time that is further back than half of them belongs to the next
/// day.
const PARTS: u64 = 6;

/// By how many digits `unit` is longer than a nanosecond.
pub(super) fn digits_of(unit: &[u8]) -> Option<u32> {
    let unit = if unit == "µs".as_bytes() { b"us" } else { unit };
    UNITS.iter().find(|(name, _)| name.as_bytes() == unit).map(|(_, digits)| *digits)
}

/// What ticks if a rule names `unit`, and how many digits a number in it is to be moved.
pub(super) fn unit(name: &str) -> Option<(TickUnit, u32)> {
    if let Some(digits) = digits_of(name.as_bytes()) {
        return Some((NANOSECOND, digits));
    }
    text::tick_unit(name).map(|unit| (unit, 0))
}

pub(super) const NANOSECOND: TickUnit = TickUnit::Seconds { numerator: 1, denominator: SECOND };

/// The nanoseconds of `12:34:56.789` since midnight.
pub(super) fn clock(text: &[u8]) -> Option<u64> {
    let mut parts = text.splitn(3, |&byte| byte == b':');
    let hours = small(parts.next()?, 24)?;
    let minutes = small(parts.next()?, 60)?;
    let seconds = parts.next()?;
    let (whole, fraction) = match seconds.iter().position(|byte| b".,".contains(byte)) {
        Some(at) => (&seconds[..at], &seconds[at + 1..]),
        None => (seconds, &b"0"[..]),
    };
    // 60 is a leap second.
    let whole = small(whole, 61)?;
    let missing = 9_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    let fraction = text::decimal(fraction, 0)? * 10_u64.pow(missing);
    Some((hours * 3_600 + minutes * 60 + whole) * SECOND + fraction)
}

/// The nanoseconds of `2026-11-22 12:34:56.789` since 1970, taken as if it were universal time.
pub(super) fn datetime(text: &[u8]) -> Option<u64> {
    let (date, time) = text.split_at_checked(10)?;
    let (separator, time) = time.split_first()?;
    if !b" T_".contains(separator) || date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let year = text::decimal(&date[..4], 0).filter(|year| (1970..2500).contains(year))?;
    let month = text::decimal(&date[5..7], 0).filter(|month| (1..=12).contains(month))?;
    let day = text::decimal(&date[8..], 0).filter(|day| (1..=31).contains(day))?;
    days(year, month, day).checked_mul(DAY)?.checked_add(clock(time)?)
}

/// Days from 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

fn small(text: &[u8], below: u64) -> Option<u64> {
    let fits = (1..=2).contains(&text.len());
    text::decimal(text, 0).filter(|&number| fits && number < below)
}

/// Which day it is, for clocks that start again at midnight. It changes six times a day, so that
/// blocks can be read in parallel in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Midnights {
    days: u64,
    /// In which part of the day the latest time lay; nothing before the first.
    part: Option<u64>,
}

impl Midnights {
    /// The time since the first midnight of the trace, for a time of day.
    pub(super) fn unfold(&mut self, time_of_day: u64) -> u64 {
        let part = time_of_day * PARTS / DAY;
        if let Some(before) = self.part {
            if part + PARTS / 2 < before {
                self.days += 1;
            } else if before + PARTS / 2 < part && self.days > 0 {
                // A line that was late for midnight.
                self.days -= 1;
            }
        }
        self.part = Some(part);
        self.days.saturating_mul(DAY).saturating_add(time_of_day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day() {
        assert_eq!(clock(b"00:00:01"), Some(SECOND));
        assert_eq!(clock(b"11:55:59.2861"), Some(42_959_286_100_000));
        assert_eq!(clock(b"1:02:03,5"), Some(3_723_500_000_000));
        for wrong in [
            "",
            "12:00",
            "24:00:00",
            "12:60:00",
            "12:00:61",
            "12:00:00.",
            "12:00:00.1234567890",
            "-1:00:00",
            "12:00:0x",
            "123:00:00",
        ] {
            assert_eq!(clock(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn dates() {
        // `date -u -d … +%s` says these.
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29T12:00:00", 951_825_600),
            ("2023-11-14 22:13:20", 1_700_000_000),
            ("2026-12-31 23:59:59", 1_798_761_599),
        ] {
            assert_eq!(datetime(text.as_bytes()), Some(seconds * SECOND), "{text}");
        }
        for wrong in
            ["2023-11-14", "1969-12-31 00:00:00", "2023/11/14 00:00:00", "2023-13-01 1:1:1"]
        {
            assert_eq!(datetime(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn midnight_is_a_large_step_back() {
        let mut days = Midnights::default();
        let hour = 3_600 * SECOND;
        assert_eq!(days.unfold(23 * hour), 23 * hour);
        assert_eq!(days.unfold(22 * hour), 22 * hour);
        assert_eq!(days.unfold(hour), 25 * hour);
        assert_eq!(days.unfold(23 * hour + 1), 23 * hour + 1);
        assert_eq!(days.unfold(2 * hour), 26 * hour);
    }

    #[test]
    fn units() {
        assert_eq!(unit("us"), Some((NANOSECOND, 3)));
        assert_eq!(unit("cycles"), Some((TickUnit::Cycles, 0)));
        assert_eq!(
            unit("MHz"),
            Some((TickUnit::Seconds { numerator: 1, denominator: 1_000_000 }, 0))
        );
        assert_eq!(digits_of("µs".as_bytes()), Some(3));
        assert_eq!(unit("fortnight"), None);
    }
}
