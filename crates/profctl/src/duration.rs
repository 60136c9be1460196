//! Durations on the command line: a number with a unit, without rounding.

use profctl_model::{TickUnit, Ticks, Timebase};

use crate::exit::Failure;

/// A length as it was typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    /// So many nanoseconds.
    Nanos(u64),
    /// So many ticks of a clock that counts cycles or instructions.
    Counts(u64),
}

impl Length {
    /// The number, whatever it counts.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Nanos(number) | Self::Counts(number) => number,
        }
    }

    /// The same in ticks of a trace; `flag` is what it was typed behind.
    pub(crate) fn ticks(self, timebase: &Timebase, flag: &str) -> Result<Ticks, Failure> {
        let ticks = match self {
            Self::Nanos(nanos) => timebase.ticks_of_nanos(u128::from(nanos)),
            Self::Counts(counts) => (!timebase.is_time()).then_some(Ticks(counts)),
        };
        ticks.ok_or_else(|| {
            let expected = match timebase.unit_name() {
                "ns" => "has times, expected a duration such as 500us".to_owned(),
                unit => format!("counts {unit}, expected a number of them such as 500{unit}"),
            };
            Failure::usage(format!("{flag}: this trace {expected}"))
        })
    }
}

/// The units, in nanoseconds. `µ` is typed in two ways: as the sign and as the letter.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];

/// The units of a rate, in events per second.
const RATES: [(&str, u64); 4] =
    [("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

/// What a clock may count instead of time.
const COUNTS: [&str; 2] = ["cycles", "instructions"];

/// Parses `500us`, `1.5ms`, `2s`, `5000cycles`.
pub(crate) fn parse(text: &str) -> Result<Length, String> {
    let (number, unit) = split(text, ["us", "ms"])?;
    if COUNTS.contains(&unit) {
        let whole = u64::try_from(number.digits).ok().filter(|_| number.decimals == 0);
        return whole
            .map(Length::Counts)
            .ok_or_else(|| format!("expected a whole number of {unit}"));
    }
    let nanos = lookup(&UNITS, unit).ok_or_else(|| unknown_unit(unit))?;
    let above = number.digits.checked_mul(u128::from(nanos)).ok_or_else(too_long)?;
    let below = 10u128.pow(number.decimals);
    if above % below != 0 {
        return Err("finer than a nanosecond".into());
    }
    u64::try_from(above / below).map(Length::Nanos).map_err(|_| too_long())
}

/// Parses the length of a tick, `1us` or `62.5ns`, how many there are a second, `24MHz`, or what a
/// counter without a known rate counts, `cycles` or `instructions`.
pub(crate) fn parse_tick(text: &str) -> Result<TickUnit, String> {
    match text.trim() {
        "cycles" => return Ok(TickUnit::Cycles),
        "instructions" => return Ok(TickUnit::Instructions),
        _ => {}
    }
    let (number, unit) = split(text, ["Hz", "us"])?;
    let scale = 10u128.pow(number.decimals);
    let (numerator, denominator) = match (lookup(&UNITS, unit), lookup(&RATES, unit)) {
        (Some(nanos), _) => {
            (number.digits.checked_mul(u128::from(nanos)), scale.checked_mul(1_000_000_000))
        }
        (None, Some(hertz)) => (Some(scale), number.digits.checked_mul(u128::from(hertz))),
        (None, None) => return Err(unknown_unit(unit)),
    };
    let (numerator, denominator) = numerator.zip(denominator).ok_or_else(too_long)?;
    if numerator == 0 || denominator == 0 {
        return Err("expected a tick longer than 0, such as 1us".into());
    }
    let divisor = gcd(numerator, denominator);
    let fit = |n: u128| u64::try_from(n / divisor).map_err(|_| too_long());
    Ok(TickUnit::Seconds { numerator: fit(numerator)?, denominator: fit(denominator)? })
}

/// `digits / 10^decimals`.
struct Decimal {
    digits: u128,
    decimals: u32,
}

/// More digits than any clock has.
const DIGITS_MOST: usize = 20;

/// A number and its unit; two of the units there are, to name where it is missing.
fn split<'a>(text: &'a str, units: [&str; 2]) -> Result<(Decimal, &'a str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.len() > DIGITS_MOST {
        return Err(too_long());
    }
    let digits =
        digits.parse().map_err(|_| "expected a number and a unit, such as 1.5ms".to_owned())?;
    match unit.trim() {
        "" => {
            let [one, other] = units;
            Err(format!("missing unit in `{text}`: write `{text}{one}` or `{text}{other}`"))
        }
        unit => Ok((Decimal { digits, decimals: fraction.len() as u32 }, unit)),
    }
}

fn lookup(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

fn unknown_unit(unit: &str) -> String {
    format!("unknown unit `{unit}`, expected ns, us, ms, s or min")
}

fn too_long() -> String {
    "exceeds 64 bits of nanoseconds".into()
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        for (text, expected) in [
            ("500us", Ok(500_000)),
            ("1.5ms", Ok(1_500_000)),
            ("2s", Ok(2_000_000_000)),
            ("0.25 µs", Ok(250)),
            ("7 μs", Ok(7_000)),
            ("3min", Ok(180_000_000_000)),
            ("18446744073709551615ns", Ok(u64::MAX)),
            ("18446744073709551616ns", Err("64 bits")),
            ("99999999999999999999999s", Err("64 bits")),
            ("0.5ns", Err("finer than")),
            ("300", Err("missing unit in `300`: write `300us` or `300ms`")),
            ("", Err("expected a number")),
            (".", Err("expected a number")),
            ("1.2.3s", Err("expected a number")),
            ("-1s", Err("expected a number")),
            ("5 parsecs", Err("unknown unit `parsecs`")),
        ] {
            match (parse(text), expected) {
                (Ok(Length::Nanos(found)), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn a_count_is_for_clocks_that_count() {
        let cycles = Timebase { unit: TickUnit::Cycles, ..Timebase::NANOSECONDS };
        for (text, timebase, expected) in [
            ("7us", Timebase::MICROSECONDS, Ok(Ticks(7))),
            ("7cycles", cycles, Ok(Ticks(7))),
            ("7us", cycles, Err("--from: this trace counts cycles, expected a number of them")),
            ("7cycles", Timebase::MICROSECONDS, Err("--from: this trace has times, expected")),
        ] {
            let found = parse(text).unwrap().ticks(&timebase, "--from");
            match (found, expected) {
                (Err(found), Err(expected)) => assert!(found.to_string().contains(expected)),
                (found, expected) => assert_eq!(found.ok(), expected.ok(), "{text}"),
            }
        }
        assert!(parse("1.5cycles").is_err());
    }

    #[test]
    fn a_tick_is_a_length_or_a_rate() {
        for (text, expected) in [
            ("1us", Some((1, 1_000_000))),
            ("62.5ns", Some((1, 16_000_000))),
            ("24MHz", Some((1, 24_000_000))),
            ("32.768kHz", Some((1, 32_768))),
            ("1.5Hz", Some((2, 3))),
            ("0us", None),
            ("0Hz", None),
            ("1", None),
        ] {
            let expected = expected
                .map(|(numerator, denominator)| TickUnit::Seconds { numerator, denominator });
            assert_eq!(parse_tick(text).ok(), expected, "{text}");
        }
        let unit_missing = parse_tick("250").unwrap_err();
        assert!(unit_missing.contains("`250Hz` or `250us`"), "{unit_missing}");
        assert_eq!(parse_tick("cycles"), Ok(TickUnit::Cycles));
        assert_eq!(parse_tick("instructions"), Ok(TickUnit::Instructions));
    }
}
