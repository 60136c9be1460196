//! Formatting of numbers: times, shares, ratios, sizes and counts.
//!
//! A time is printed with as many decimals as the resolution of the trace's clock justifies, so a
//! microsecond trace prints whole microseconds, as the 1993 tables did. Where decimals are omitted,
//! the number is rounded half up.

use std::fmt::{self, Display};
use std::str::FromStr;

use profctl_model::{Tick, TickUnit, Ticks, Timebase};

/// The unit of times in tables and messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeUnit {
    /// The unit that suits the largest number, see [`TimeUnit::resolved`]; where no numbers are
    /// known in advance, microseconds. The plain count where the trace counts cycles or
    /// instructions.
    #[default]
    Auto,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Ticks of the trace's own clock, whatever they are.
    Ticks,
}

impl TimeUnit {
    /// Every unit, in the order in which help lists them.
    pub const ALL: [Self; 6] = [Self::Auto, Self::Ns, Self::Us, Self::Ms, Self::S, Self::Ticks];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
            Self::Ticks => "ticks",
        }
    }

    /// The unit that stands for `Auto` where the largest number is `largest`: microseconds if it
    /// has at most seven digits before the decimal point, else milliseconds, else seconds;
    /// nanoseconds if it is below one microsecond. Any other unit stays what it is.
    #[must_use]
    pub fn resolved(self, timebase: &Timebase, largest: Ticks) -> Self {
        const DIGITS: usize = 7;
        if self != Self::Auto || !timebase.is_time() || largest == Ticks(0) {
            return self;
        }
        if whole_digits(largest, timebase, Self::Us) == 0 {
            return Self::Ns;
        }
        let fits = |unit: &Self| whole_digits(largest, timebase, *unit) <= DIGITS;
        [Self::Us, Self::Ms].into_iter().find(fits).unwrap_or(Self::S)
    }

    /// The line above a table that states the unit of its times.
    pub fn caption(self, timebase: &Timebase) -> String {
        match timebase.unit {
            TickUnit::Instructions => format!("Cost in {}", self.label(timebase)),
            TickUnit::Seconds { .. } | TickUnit::Cycles => {
                format!("Times in {}", self.label(timebase))
            }
        }
    }

    /// The name of the unit of a number printed by [`length`].
    pub fn label(self, timebase: &Timebase) -> &'static str {
        match self.scale(timebase) {
            Scale::Count if timebase.is_time() => "ticks",
            Scale::Count => timebase.unit_name(),
            Scale::Nanos(1) => "ns",
            Scale::Nanos(1_000) => "us",
            Scale::Nanos(1_000_000) => "ms",
            Scale::Nanos(_) => "s",
        }
    }

    fn scale(self, timebase: &Timebase) -> Scale {
        match self {
            _ if !timebase.is_time() => Scale::Count,
            Self::Ticks => Scale::Count,
            Self::Ns => Scale::Nanos(1),
            Self::Auto | Self::Us => Scale::Nanos(1_000),
            Self::Ms => Scale::Nanos(1_000_000),
            Self::S => Scale::Nanos(1_000_000_000),
        }
    }
}

impl Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.name() == text)
            .ok_or_else(|| format!("unknown unit '{text}', expected auto, ns, us, ms, s or ticks"))
    }
}

/// What one whole unit of the output is.
enum Scale {
    /// One tick.
    Count,
    /// That many nanoseconds.
    Nanos(u128),
}

/// `ticks` in `unit`, without the unit's name.
pub fn length(ticks: Ticks, timebase: &Timebase, unit: TimeUnit) -> String {
    length_rounded(ticks, timebase, unit, usize::MAX)
}

/// `ticks` in `unit`, rounded to at most `decimals` decimals.
pub fn length_rounded(
    ticks: Ticks,
    timebase: &Timebase,
    unit: TimeUnit,
    decimals: usize,
) -> String {
    match unit.scale(timebase) {
        Scale::Count => ticks.0.to_string(),
        Scale::Nanos(nanos) => {
            let decimals = self::decimals(timebase, nanos).min(decimals);
            fixed(u128::from(ticks.0), timebase, nanos, decimals)
        }
    }
}

/// The number of digits of `ticks` in `unit` before the decimal point; 0 if it is below 1.
pub fn whole_digits(ticks: Ticks, timebase: &Timebase, unit: TimeUnit) -> usize {
    let whole = match unit.scale(timebase) {
        Scale::Count => u128::from(ticks.0),
        Scale::Nanos(nanos) => {
            let (numerator, denominator) = timebase.ratio();
            u128::from(ticks.0).saturating_mul(numerator) / denominator.saturating_mul(nanos)
        }
    };
    whole.checked_ilog10().map_or(0, |log| log as usize + 1)
}

/// `ticks` followed by the name of the unit, as in running text.
pub fn length_with_unit(ticks: Ticks, timebase: &Timebase, unit: TimeUnit) -> String {
    let unit = unit.resolved(timebase, ticks);
    format!("{} {}", length(ticks, timebase, unit), unit.label(timebase))
}

/// A timestamp as the 1993 code trace shows it: seconds, milliseconds and
/// microseconds in columns, with decimals where the clock is finer. A clock that counts, or ticks
/// asked for, gives the count in the same width.
pub fn clock(time: Tick, timebase: &Timebase, unit: TimeUnit) -> String {
    const MICROSECOND: u128 = 1_000;
    if matches!(unit.scale(timebase), Scale::Count) {
        return format!("{:>12}", time.0);
    }
    let micros = fixed(u128::from(time.0), timebase, MICROSECOND, decimals(timebase, MICROSECOND));
    let (whole, fraction) = match micros.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (micros.as_str(), String::new()),
    };
    let digits = format!("{whole:0>7}");
    let (seconds, rest) = digits.split_at(digits.len() - 6);
    let (millis, micros) = rest.split_at(3);
    format!("{seconds:>4}:{millis} {micros}{fraction}")
}

/// How many decimals a unit of `nanos` needs: as many as represent every multiple of the resolution
/// exactly, if a few do; else so many that the last digit is not a coarser than the resolution.
fn decimals(timebase: &Timebase, nanos: u128) -> usize {
    /// Attoseconds below a nanosecond: finer than any recorder's clock.
    const MOST: usize = 18;
    /// Digits that exactness may cost: a tick of 62.5 ns is worth two, a third of one is not.
    const FOR_EXACTNESS: usize = 3;
    let (numerator, denominator) = timebase.ratio();
    let mut resolution = numerator.saturating_mul(u128::from(timebase.resolution.0.max(1)));
    let wanted = denominator.saturating_mul(nanos);
    let mut fine_enough = None;
    for decimals in 0..MOST {
        if resolution >= wanted {
            if resolution % wanted == 0 {
                return decimals;
            }
            let least = *fine_enough.get_or_insert(decimals);
            if decimals - least == FOR_EXACTNESS {
                return least;
            }
        }
        resolution = resolution.saturating_mul(10);
    }
    fine_enough.unwrap_or(MOST)
}

/// `ticks` in units of `nanos` nanoseconds, rounded half up to `decimals` decimals.
fn fixed(ticks: u128, timebase: &Timebase, nanos: u128, decimals: usize) -> String {
    let (numerator, denominator) = timebase.ratio();
    let above = ticks.saturating_mul(numerator);
    let below = denominator.saturating_mul(nanos);
    let mut whole = above / below;
    let mut rest = above % below;
    let mut fraction = Vec::with_capacity(decimals);
    // Long division: the remainder stays below the divisor, so ten times it fits.
    for _ in 0..decimals {
        rest = rest.saturating_mul(10);
        fraction.push((rest / below) as u8);
        rest %= below;
    }
    if rest >= below - rest {
        let nines = fraction.iter().rev().take_while(|&&digit| digit == 9).count();
        let kept = fraction.len() - nines;
        fraction[kept..].fill(0);
        match fraction[..kept].last_mut() {
            Some(digit) => *digit += 1,
            None => whole += 1,
        }
    }
    let mut digits = whole.to_string();
    if decimals > 0 {
        digits.push('.');
    }
    digits.extend(fraction.iter().map(|digit| char::from(b'0' + digit)));
    digits
}

/// The arithmetic of [`length`] for writers in another language: a length of `n` ticks is
/// `n · above / below`, rounded half up to `decimals` decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digits {
    /// The numerator.
    pub above: u128,
    /// The denominator, above 0.
    pub below: u128,
    /// The number of decimals.
    pub decimals: usize,
    /// Whether the unit is one of time.
    pub is_time: bool,
}

/// How lengths of this clock are printed in `unit`.
pub fn digits(timebase: &Timebase, unit: TimeUnit) -> Digits {
    match unit.scale(timebase) {
        Scale::Count => Digits { above: 1, below: 1, decimals: 0, is_time: false },
        Scale::Nanos(nanos) => {
            let (above, below) = timebase.ratio();
            let below = below.saturating_mul(nanos);
            Digits { above, below, decimals: decimals(timebase, nanos), is_time: true }
        }
    }
}

/// A difference of lengths in `unit`, with its sign.
pub fn change(ticks: i64, timebase: &Timebase, unit: TimeUnit) -> String {
    change_rounded(ticks, timebase, unit, usize::MAX)
}

/// A difference of lengths in `unit`, with its sign, rounded to at most `decimals` decimals.
pub fn change_rounded(ticks: i64, timebase: &Timebase, unit: TimeUnit, decimals: usize) -> String {
    let sign = match ticks {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", length_rounded(Ticks(ticks.unsigned_abs()), timebase, unit, decimals))
}

/// A difference of lengths with its sign, followed by the name of the unit.
pub fn change_with_unit(ticks: i64, timebase: &Timebase, unit: TimeUnit) -> String {
    let unit = unit.resolved(timebase, Ticks(ticks.unsigned_abs()));
    format!("{} {}", change(ticks, timebase, unit), unit.label(timebase))
}

/// How much one thing is of another, as `1.05x`: three digits, or all of them before the point.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        _ if !ratio.is_finite() => "-".into(),
        0.0 => "0x".into(),
        _ if ratio < 0.01 => format!("{ratio:.1e}x"),
        _ if ratio < 0.1 => format!("{ratio:.3}x"),
        _ if ratio < 99.95 => format!("{ratio:.2}x"),
        _ => format!("{ratio:.0}x"),
    }
}

/// A share with two decimals and its sign.
pub fn percent(share: f64) -> String {
    format!("{share:.2}%")
}

/// A number with at most three decimals, without zeros at its end; small ones with three digits.
pub fn decimal(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.001 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes in the largest binary unit of which there is at least one.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let power = (bytes.ilog2() / 10) as usize;
    let tenths = (u128::from(bytes) * 10) >> (10 * power);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[power - 1])
}

/// A number of things, with the noun in the form that goes with it.
pub fn count(n: u64, singular: &str, plural: &str) -> String {
    match n {
        1 => format!("1 {singular}"),
        _ => format!("{n} {plural}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profctl_model::TickUnit;
    use proptest::prelude::*;

    fn seconds(numerator: u64, denominator: u64, resolution: u64) -> Timebase {
        Timebase {
            unit: TickUnit::Seconds { numerator, denominator },
            resolution: Ticks(resolution),
            ..Timebase::NANOSECONDS
        }
    }

    #[test]
    fn decimals_end_with_a_digit_that_says_something() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-2.0, "-2"),
            (1_234.567_89, "1234.568"),
            (0.000_123_4, "1.23e-4"),
        ] {
            assert_eq!(decimal(value), text);
        }
    }

    #[test]
    fn decimals_follow_the_resolution() {
        let ns = Timebase::NANOSECONDS;
        let us = Timebase::MICROSECONDS;
        let coarse_ns = seconds(1, 1_000_000_000, 1_000);
        let tens = seconds(1, 1_000_000_000, 10);
        let fs = seconds(1, 1_000_000_000_000_000, 1);
        let mhz24 = seconds(1, 24_000_000, 1);
        let mhz16 = seconds(1, 16_000_000, 1);
        let quarter = seconds(1, 4_000_000, 1);
        let minute = seconds(60, 1, 1);
        let cycles = Timebase { unit: TickUnit::Cycles, ..ns };
        for (ticks, timebase, unit, expected) in [
            (1_234_567, ns, TimeUnit::Auto, "1234.567"),
            (1_234_567, ns, TimeUnit::Us, "1234.567"),
            (1_234_567, ns, TimeUnit::Ns, "1234567"),
            (1_234_567, ns, TimeUnit::Ms, "1.234567"),
            (1_234_567, ns, TimeUnit::S, "0.001234567"),
            (1_234_567, ns, TimeUnit::Ticks, "1234567"),
            (1_499, coarse_ns, TimeUnit::Auto, "1"),
            (1_500, coarse_ns, TimeUnit::Auto, "2"),
            (1_994, tens, TimeUnit::Auto, "1.99"),
            (1_996, tens, TimeUnit::Auto, "2.00"),
            (9_999_999, tens, TimeUnit::Ms, "10.00000"),
            (165_519, us, TimeUnit::Auto, "165519"),
            (165_519, us, TimeUnit::Ns, "165519000"),
            (165_519, us, TimeUnit::Ms, "165.519"),
            (1, fs, TimeUnit::Us, "0.000000001"),
            (u64::MAX, fs, TimeUnit::S, "18446.744073709551615"),
            (1, mhz24, TimeUnit::Us, "0.04"),
            (24_000_001, mhz24, TimeUnit::Us, "1000000.04"),
            (2, mhz24, TimeUnit::Us, "0.08"),
            (3, mhz24, TimeUnit::Us, "0.13"),
            (3, mhz16, TimeUnit::Us, "0.1875"),
            (3, quarter, TimeUnit::Us, "0.75"),
            (2, minute, TimeUnit::S, "120"),
            (7, cycles, TimeUnit::Auto, "7"),
            (7, cycles, TimeUnit::Ms, "7"),
        ] {
            assert_eq!(length(Ticks(ticks), &timebase, unit), expected, "{ticks} in {unit}");
        }
    }

    #[test]
    fn auto_is_the_unit_in_which_the_largest_number_has_seven_digits() {
        let ns = Timebase::NANOSECONDS;
        let us = Timebase::MICROSECONDS;
        let fs = seconds(1, 1_000_000_000_000_000, 1);
        let cycles = Timebase { unit: TickUnit::Cycles, ..ns };
        for (largest, timebase, expected) in [
            (0, ns, "0.000 us"),
            (999, ns, "999 ns"),
            (1_000, ns, "1.000 us"),
            (9_999_999_999, ns, "9999999.999 us"),
            (10_000_000_000, ns, "10000.000000 ms"),
            (9_999_999_999_999, ns, "9999999.999999 ms"),
            (10_000_000_000_000, ns, "10000.000000000 s"),
            (10_000_000, us, "10000.000 ms"),
            (1_500, fs, "0.001500 ns"),
            (u64::MAX, cycles, "18446744073709551615 cycles"),
        ] {
            let text = length_with_unit(Ticks(largest), &timebase, TimeUnit::Auto);
            assert_eq!(text, expected);
            let text = length_with_unit(Ticks(largest), &timebase, TimeUnit::Ticks);
            assert!(text.starts_with(&format!("{largest} ")), "{text}");
        }
    }

    #[test]
    fn the_unit_is_named_as_it_was_printed() {
        let cycles = Timebase { unit: TickUnit::Cycles, ..Timebase::NANOSECONDS };
        for (timebase, unit, expected) in [
            (Timebase::NANOSECONDS, TimeUnit::Auto, "us"),
            (Timebase::NANOSECONDS, TimeUnit::S, "s"),
            (Timebase::NANOSECONDS, TimeUnit::Ticks, "ticks"),
            (cycles, TimeUnit::Auto, "cycles"),
            (cycles, TimeUnit::Ms, "cycles"),
        ] {
            assert_eq!(unit.label(&timebase), expected);
        }
    }

    #[test]
    fn the_clock_has_seconds_in_four_columns() {
        let us = Timebase::MICROSECONDS;
        let cycles = Timebase { unit: TickUnit::Cycles, ..us };
        for (time, timebase, expected) in [
            (2_394_270, us, "   2:394 270"),
            (7, us, "   0:000 007"),
            (1_234_567_000_089, us, "1234567:000 089"),
            (2_394_270_061, Timebase::NANOSECONDS, "   2:394 270.061"),
            (90, cycles, "          90"),
        ] {
            assert_eq!(clock(Tick(time), &timebase, TimeUnit::Auto), expected);
        }
    }

    #[test]
    fn units_are_parsed_by_the_name_they_print() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        assert!("hours".parse::<TimeUnit>().is_err());
    }

    #[test]
    fn changes_have_a_sign_and_ratios_three_digits() {
        for (ticks, expected) in [(0, "0.000"), (1500, "+1.500"), (-1500, "-1.500")] {
            assert_eq!(change(ticks, &Timebase::NANOSECONDS, TimeUnit::Us), expected);
        }
        for (value, expected) in [
            (1.0, "1.00x"),
            (0.344, "0.34x"),
            (0.0213, "0.021x"),
            (0.0, "0x"),
            (0.000_42, "4.2e-4x"),
            (240.4, "240x"),
            (99.96, "100x"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(ratio(value), expected);
        }
    }

    #[test]
    fn bytes_take_the_largest_unit() {
        for (n, expected) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1_048_575, "1023.9 KiB"),
            (5_767_168, "5.5 MiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(bytes(n), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_when_the_last_digit_is_the_resolution(ticks: u64) {
            let text = length(Ticks(ticks), &Timebase::NANOSECONDS, TimeUnit::Us);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            prop_assert_eq!(digits.parse::<u64>().ok(), Some(ticks));
        }

        #[test]
        fn any_clock_prints(ticks: u64, numerator in 1u64.., denominator in 1u64.., resolution: u64) {
            let timebase = seconds(numerator, denominator, resolution);
            for unit in TimeUnit::ALL {
                let text = length(Ticks(ticks), &timebase, unit);
                prop_assert!(text.chars().all(|c| c.is_ascii_digit() || c == '.'), "{}", text);
                clock(Tick(ticks), &timebase, unit);
            }
        }
    }
}
