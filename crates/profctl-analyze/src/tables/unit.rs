//! In what the times of tables are counted: one unit for all the runs in them.

use profctl_model::{SpanRow, Tick, TickUnit, Ticks, Timebase};

/// The longest unit, a nanosecond at most, in which the ticks of every run are whole; or cycles, or
/// instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    kind: TickUnit,
}

/// The largest value in a table: all engines support signed 64-bit integers.
pub const LARGEST: u64 = i64::MAX as u64;

impl Unit {
    /// That of runs with these clocks. Fails if they do not all count the same, or if their clocks
    /// have no unit in common.
    pub fn common<'a>(clocks: impl Iterator<Item = &'a Timebase>) -> Result<Self, String> {
        let mut unit: Option<Self> = None;
        for clock in clocks {
            let (known, next) = (unit.map(|unit| unit.kind), clock.unit);
            let kind = match (known, next) {
                (Some(TickUnit::Seconds { denominator, .. }), TickUnit::Seconds { .. }) => {
                    seconds(least_common_multiple(denominator, per_second(clock)))?
                }
                (None, TickUnit::Seconds { .. }) => seconds(per_second(clock))?,
                (None, count) => count,
                (Some(known), next) if known == next => known,
                (Some(known), _) => {
                    let known = Timebase { unit: known, ..Timebase::NANOSECONDS };
                    let (found, expected) = (clock.unit_name(), known.unit_name());
                    return Err(format!("the trace counts {found}, earlier ones {expected}"));
                }
            };
            unit = Some(Self { kind });
        }
        Ok(unit.unwrap_or(Self { kind: Timebase::NANOSECONDS.unit }))
    }

    /// `ns`, `ps`, `fs`, `1/3 ns`, `cycles` or `instructions`.
    pub fn name(self) -> String {
        match self.kind {
            TickUnit::Cycles => "cycles".into(),
            TickUnit::Instructions => "instructions".into(),
            TickUnit::Seconds { denominator, .. } => match denominator / 1_000_000_000 {
                1 => "ns".into(),
                1_000 => "ps".into(),
                1_000_000 => "fs".into(),
                parts => format!("1/{parts} ns"),
            },
        }
    }

    /// The unit of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let parts = match name {
            "cycles" => return Some(Self { kind: TickUnit::Cycles }),
            "instructions" => return Some(Self { kind: TickUnit::Instructions }),
            "ns" => 1,
            "ps" => 1_000,
            "fs" => 1_000_000,
            other => other.strip_prefix("1/")?.strip_suffix(" ns")?.parse().ok()?,
        };
        seconds(1_000_000_000_u64.checked_mul(parts).filter(|&n| n > 0))
            .ok()
            .map(|kind| Self { kind })
    }

    /// What a clock counts whose ticks this scale turns into the unit.
    pub fn of_ticks(self, scale: Scale) -> TickUnit {
        match self.kind {
            TickUnit::Seconds { denominator, .. } => {
                TickUnit::Seconds { numerator: scale.factor, denominator }
            }
            count => count,
        }
    }

    /// How times of a run with this clock become times of its tables.
    pub fn of(self, clock: &Timebase) -> Scale {
        let factor = match (self.kind, clock.unit) {
            (
                TickUnit::Seconds { denominator: parts, .. },
                TickUnit::Seconds { numerator, denominator },
            ) => u128::from(numerator) * u128::from(parts) / u128::from(denominator.max(1)),
            _ => 1,
        };
        Scale { factor: u64::try_from(factor).unwrap_or(u64::MAX) }
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self { factor: 1 }
    }
}

/// Ticks of one run to the unit of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    factor: u64,
}

impl Scale {
    /// So many units in a tick; nothing for none.
    pub fn by(factor: u64) -> Option<Self> {
        (factor > 0).then_some(Self { factor })
    }

    /// The units in a tick.
    pub fn factor(self) -> u64 {
        self.factor
    }

    /// A length or a point; clamped to [`LARGEST`].
    pub fn apply(self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.factor).min(LARGEST)
    }

    /// All times of these calls.
    pub fn apply_to(self, rows: &mut [SpanRow]) {
        for SpanRow { span, .. } in rows {
            for point in [&mut span.start, &mut span.end] {
                *point = Tick(self.apply(point.0));
            }
            for length in [&mut span.wall, &mut span.off_cpu, &mut span.net, &mut span.stolen] {
                *length = Ticks(self.apply(length.0));
            }
        }
    }
}

/// The smallest number of equal parts of a second that makes both a nanosecond and a tick whole.
fn per_second(clock: &Timebase) -> Option<u64> {
    let (_, parts_of_a_nano) = clock.ratio();
    u64::try_from(parts_of_a_nano).ok()?.checked_mul(1_000_000_000)
}

fn least_common_multiple(a: u64, b: Option<u64>) -> Option<u64> {
    let b = b?;
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

fn seconds(per_second: Option<u64>) -> Result<TickUnit, String> {
    let denominator = per_second.ok_or("the clocks of the traces have no unit in common")?;
    Ok(TickUnit::Seconds { numerator: 1, denominator })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(numerator: u64, denominator: u64) -> Timebase {
        Timebase { unit: TickUnit::Seconds { numerator, denominator }, ..Timebase::NANOSECONDS }
    }

    #[test]
    fn the_unit_is_the_longest_that_makes_all_ticks_whole() {
        // Clocks, the unit, and what a tick of each is in it.
        let cases: [(&[Timebase], &str, &[u64]); 6] = [
            (&[Timebase::NANOSECONDS], "ns", &[1]),
            (&[Timebase::MICROSECONDS, Timebase::NANOSECONDS], "ns", &[1000, 1]),
            (&[clock(1, 1_000_000_000_000_000)], "fs", &[1]),
            (&[clock(1, 16_000_000)], "1/2 ns", &[125]),
            (&[clock(1, 24_000_000), clock(1, 16_000_000)], "1/6 ns", &[250, 375]),
            (&[], "ns", &[]),
        ];
        for (clocks, name, factors) in cases {
            let unit = Unit::common(clocks.iter()).unwrap();
            let found: Vec<u64> = clocks.iter().map(|clock| unit.of(clock).apply(1)).collect();
            assert_eq!((unit.name().as_str(), found.as_slice()), (name, factors));
            assert_eq!(Unit::from_name(name), Some(unit));
            for clock in clocks {
                let again = Timebase { unit: unit.of_ticks(unit.of(clock)), ..*clock };
                assert_eq!(again.ratio(), clock.ratio());
            }
        }
    }

    #[test]
    fn times_and_counts_do_not_mix() {
        let cycles = Timebase { unit: TickUnit::Cycles, ..Timebase::NANOSECONDS };
        let error = Unit::common([cycles, Timebase::NANOSECONDS].iter()).unwrap_err();
        assert_eq!(error, "the trace counts ns, earlier ones cycles");
        let unit = Unit::common([cycles].iter()).unwrap();
        assert_eq!((unit.name().as_str(), unit.of(&cycles).apply(7)), ("cycles", 7));
        assert_eq!(
            Unit::common([Timebase::NANOSECONDS].iter()).unwrap().of(&clock(1, 1)).apply(u64::MAX),
            LARGEST
        );
    }
}
