//! Points and lengths of a trace's own clock, and what one tick of it is.
//!
//! Ticks stay integers until they are printed. Not every trace measures time: an emulator may
//! count instructions, and then there is no nanosecond to convert to.

use std::ops::{Add, AddAssign, Sub};

/// A point on the clock of one trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Tick(pub u64);

/// A length on the clock of one trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Ticks(pub u64);

impl Sub for Tick {
    type Output = Ticks;
    /// The length from `earlier` to `self`; 0 if `earlier` is later; it never wraps.
    #[inline]
    fn sub(self, earlier: Tick) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Ticks> for Tick {
    type Output = Tick;
    #[inline]
    fn add(self, length: Ticks) -> Tick {
        Tick(self.0.saturating_add(length.0))
    }
}

impl Sub<Ticks> for Tick {
    type Output = Tick;
    #[inline]
    fn sub(self, length: Ticks) -> Tick {
        Tick(self.0.saturating_sub(length.0))
    }
}

impl Add for Ticks {
    type Output = Ticks;
    #[inline]
    fn add(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Ticks {
    #[inline]
    fn add_assign(&mut self, other: Ticks) {
        *self = *self + other;
    }
}

impl Sub for Ticks {
    type Output = Ticks;
    /// Never below zero.
    #[inline]
    fn sub(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(other.0))
    }
}

/// What one tick counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TickUnit {
    /// `numerator / denominator` seconds; both above zero.
    Seconds {
        /// Above the line.
        numerator: u64,
        /// Below the line.
        denominator: u64,
    },
    /// Processor cycles of unknown length.
    Cycles,
    /// Executed instructions.
    Instructions,
}

/// Whether the times of events were recorded, or laid end to end from durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeline {
    /// The input has a timestamp for its events.
    Recorded,
    /// The input has durations only; see SPEC §1.
    Synthetic,
}

impl Timeline {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Synthetic => "synthetic",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Recorded, Self::Synthetic].into_iter().find(|timeline| timeline.name() == name)
    }
}

/// The clock of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timebase {
    /// What one tick counts.
    pub unit: TickUnit,
    /// The smallest step in which the input states *durations*, in ticks; at least 1.
    pub resolution: Ticks,
    /// Recorded or synthetic.
    pub timeline: Timeline,
}

impl Timebase {
    /// A recorded clock of one tick a nanosecond.
    pub const NANOSECONDS: Self = Self {
        unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
        resolution: Ticks(1),
        timeline: Timeline::Recorded,
    };
    /// A recorded clock of one tick a microsecond.
    pub const MICROSECONDS: Self = Self {
        unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000 },
        resolution: Ticks(1),
        timeline: Timeline::Recorded,
    };

    /// A microsecond of this clock; nothing if it counts something else.
    pub fn microsecond(&self) -> Ticks {
        self.ticks_of_nanos(1_000).unwrap_or_default()
    }

    /// The name of the unit in which this clock is reported: `ns`, `cycles` or `instructions`.
    pub fn unit_name(&self) -> &'static str {
        match self.unit {
            TickUnit::Seconds { .. } => "ns",
            TickUnit::Cycles => "cycles",
            TickUnit::Instructions => "instructions",
        }
    }

    /// Whether ticks can be converted to seconds.
    pub fn is_time(&self) -> bool {
        matches!(self.unit, TickUnit::Seconds { .. })
    }

    /// `ticks` in the unit that reports carry ([`Self::unit_name`]), rounded to the nearest and
    /// clamped to `u64::MAX`.
    pub fn reported(&self, ticks: Ticks) -> u64 {
        u64::try_from(self.reported_wide(u128::from(ticks.0))).unwrap_or(u64::MAX)
    }

    /// Like [`Self::reported`], for a difference of lengths.
    pub fn reported_change(&self, ticks: i64) -> i64 {
        let size = i64::try_from(self.reported(Ticks(ticks.unsigned_abs()))).unwrap_or(i64::MAX);
        if ticks < 0 { -size } else { size }
    }

    /// Like [`Self::reported`], for sums that may be past 64 bits.
    pub fn reported_wide(&self, ticks: u128) -> u128 {
        let (numerator, denominator) = self.ratio();
        if (numerator, denominator) == (1, 1) {
            return ticks;
        }
        match ticks.checked_mul(numerator) {
            Some(product) => product.saturating_add(denominator / 2) / denominator,
            None => u128::MAX / denominator,
        }
    }

    /// Nanoseconds (or counts) per tick, as a reduced fraction.
    pub fn ratio(&self) -> (u128, u128) {
        match self.unit {
            TickUnit::Seconds { numerator, denominator } => {
                let (a, b) = (u128::from(numerator) * 1_000_000_000, u128::from(denominator));
                let divisor = gcd(a, b).max(1);
                (a / divisor, (b / divisor).max(1))
            }
            TickUnit::Cycles | TickUnit::Instructions => (1, 1),
        }
    }

    /// The number of ticks nearest to `nanos` nanoseconds; nothing if this clock is no time.
    pub fn ticks_of_nanos(&self, nanos: u128) -> Option<Ticks> {
        if !self.is_time() {
            return None;
        }
        let (numerator, denominator) = self.ratio();
        let ticks = nanos.checked_mul(denominator)?.checked_add(numerator / 2)? / numerator.max(1);
        u64::try_from(ticks).ok().map(Ticks)
    }
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
    fn a_length_never_wraps() {
        assert_eq!(Tick(3) - Tick(5), Ticks(0));
        assert_eq!(Ticks(u64::MAX) + Ticks(1), Ticks(u64::MAX));
    }

    #[test]
    fn femtoseconds_and_microseconds_are_exact() {
        let fs = Timebase {
            unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000_000_000 },
            ..Timebase::NANOSECONDS
        };
        assert_eq!(fs.reported(Ticks(2_500_000)), 3);
        assert_eq!(Timebase::MICROSECONDS.reported(Ticks(7)), 7_000);
        assert_eq!(Timebase::MICROSECONDS.ticks_of_nanos(7_400), Some(Ticks(7)));
    }
}
