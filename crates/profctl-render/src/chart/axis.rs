//! Where the scale of a picture has its ticks, and what is at them.

use profctl_model::{Ticks, Timebase};

use crate::number::TimeUnit;

/// A line of the scale.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AxisTick {
    /// How far from the left, in hundredths of a pixel.
    pub x: u64,
    /// What is there: a number and its unit.
    pub label: String,
}

/// A unit of the scale: so many nanoseconds, or counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AxisUnit {
    /// Nanoseconds, or counts, in one.
    pub size: u64,
    /// What is after a number.
    pub label: &'static str,
}

const TIMES: [AxisUnit; 4] = [
    AxisUnit { size: 1_000_000_000, label: "s" },
    AxisUnit { size: 1_000_000, label: "ms" },
    AxisUnit { size: 1_000, label: "us" },
    AxisUnit { size: 1, label: "ns" },
];
const COUNTS: [AxisUnit; 4] = [
    AxisUnit { size: 1_000_000_000, label: "G" },
    AxisUnit { size: 1_000_000, label: "M" },
    AxisUnit { size: 1_000, label: "k" },
    AxisUnit { size: 1, label: "" },
];

/// Units that a scale over any interval of this clock may use, the largest first: all of them, or
/// the one that was asked for.
pub fn units(timebase: &Timebase, asked: TimeUnit) -> Vec<AxisUnit> {
    if !timebase.is_time() {
        return COUNTS.to_vec();
    }
    match asked {
        // A picture has no use for ticks that are no round times.
        TimeUnit::Auto | TimeUnit::Ticks => TIMES.to_vec(),
        one => TIMES.iter().filter(|unit| unit.label == one.name()).copied().collect(),
    }
}

/// At most one tick every `apart` hundredths of a pixel, at round numbers, over `total` drawn
/// `width` wide.
pub fn ticks(
    total: Ticks,
    width: u64,
    apart: u64,
    timebase: &Timebase,
    asked: TimeUnit,
) -> Vec<AxisTick> {
    let (numerator, denominator) = timebase.ratio();
    let whole = u128::from(total.0).saturating_mul(numerator) / denominator;
    let most = (width / apart.max(1)).max(1);
    let step = round_step(whole.div_ceil(u128::from(most)).max(1));
    let units = units(timebase, asked);
    let fits = |unit: &&AxisUnit| u128::from(unit.size) <= whole;
    let unit = units.iter().find(fits).or(units.last()).expect("there is a unit");
    let place = |value: u128| {
        let above = value.saturating_mul(u128::from(width)).saturating_mul(denominator);
        let below = u128::from(total.0).saturating_mul(numerator).max(1);
        u64::try_from(above / below).unwrap_or(u64::MAX)
    };
    (0..=u128::from(most))
        .map(|n| n * step)
        .take_while(|&value| value <= whole)
        .map(|value| AxisTick { x: place(value), label: label(value, *unit) })
        .collect()
}

/// The least of 1, 2, 5, 10, 20, … that is not below `least`.
fn round_step(least: u128) -> u128 {
    let mut power = 1_u128;
    loop {
        for digit in [1, 2, 5] {
            if power * digit >= least {
                return power * digit;
            }
        }
        let Some(next) = power.checked_mul(10).filter(|next| next.checked_mul(5).is_some()) else {
            return least;
        };
        power = next;
    }
}

/// `1.5 ms`: no more digits than the number has.
fn label(value: u128, unit: AxisUnit) -> String {
    let size = u128::from(unit.size);
    let whole = value / size;
    let digits = size.ilog10() as usize;
    let fraction = format!("{:0digits$}", value % size);
    let number = match fraction.trim_end_matches('0') {
        "" => whole.to_string(),
        fraction => format!("{whole}.{fraction}"),
    };
    format!("{number} {}", unit.label).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use profctl_model::TickUnit;

    use super::*;

    fn shown(total: u64, width: u64, timebase: &Timebase, unit: TimeUnit) -> String {
        let ticks = ticks(Ticks(total), width * 100, 8_000, timebase, unit);
        let shown: Vec<_> =
            ticks.iter().map(|tick| format!("{}@{}", tick.label, tick.x / 100)).collect();
        shown.join(" ")
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        let (ns, us) = (Timebase::NANOSECONDS, Timebase::MICROSECONDS);
        let cycles = Timebase { unit: TickUnit::Cycles, ..ns };
        let auto = TimeUnit::Auto;
        for (total, width, timebase, unit, expected) in [
            (
                1_000_000,
                500,
                ns,
                auto,
                "0 ms@0 0.2 ms@100 0.4 ms@200 0.6 ms@300 0.8 ms@400 1 ms@500",
            ),
            (165_519, 400, us, auto, "0 ms@0 50 ms@120 100 ms@241 150 ms@362"),
            (165_519, 400, us, TimeUnit::S, "0 s@0 0.05 s@120 0.1 s@241 0.15 s@362"),
            (3, 400, ns, auto, "0 ns@0 1 ns@133 2 ns@266 3 ns@400"),
            (2_500_000, 300, cycles, auto, "0 M@0 1 M@120 2 M@240"),
            (0, 300, ns, auto, "0 ns@0"),
        ] {
            assert_eq!(shown(total, width, &timebase, unit), expected);
        }
    }

    #[test]
    fn any_length_has_a_scale() {
        for total in [1, 7, 1 << 40, u64::MAX] {
            let ticks = ticks(
                Ticks(total),
                100_000,
                8_000,
                &Timebase {
                    unit: TickUnit::Seconds { numerator: 60, denominator: 1 },
                    ..Timebase::NANOSECONDS
                },
                TimeUnit::Auto,
            );
            assert!((1..14).contains(&ticks.len()), "{total}: {ticks:?}");
            assert!(ticks.iter().all(|tick| tick.x <= 100_000));
        }
    }
}
