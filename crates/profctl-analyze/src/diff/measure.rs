//! The measures that are tested: one number per function and run.

use std::f64::consts::LN_2;

use crate::summarize::{FuncStats, Lengths};

/// One number that a run gives for a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Measure {
    /// Net time of a call: whether the function itself became slower.
    Net,
    /// Net time of a run: whether it costs more altogether, be it through more calls.
    Total,
    /// Elapsed time of a call without the interrupts in it: whether it takes longer
    /// including callees.
    Elapsed,
}

impl Measure {
    /// Every measure; where two say the same of a function, the first is shown.
    pub const ALL: [Self; 3] = [Self::Net, Self::Total, Self::Elapsed];

    /// What is tested unless asked otherwise.
    pub const DEFAULT: [Self; 3] = Self::ALL;

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Total => "total",
            Self::Elapsed => "elapsed",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Where it is kept in a list of one each.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Net => 0,
            Self::Total => 1,
            Self::Elapsed => 2,
        }
    }

    /// How many times the least number of calls a function needs to be tested by it. The time of
    /// what is called, and how often, is a mixture: of few calls, one that takes another way is a
    /// difference of its own.
    pub(super) fn calls_factor(self) -> f64 {
        match self {
            Self::Net => 1.0,
            Self::Total | Self::Elapsed => 3.0,
        }
    }

    /// What readers see: the time that is compared.
    pub fn about(self) -> &'static str {
        match self {
            Self::Net => "net time per call",
            Self::Total => "net time per run",
            Self::Elapsed => "elapsed time per call without interrupts",
        }
    }

    /// Variance of its binary logarithm in a run, as far as it comes from how much these calls differ;
    /// NaN where it is not known. How often a function is called is not a matter of single calls.
    pub(super) fn variance_within(self, stats: &FuncStats) -> f64 {
        let lengths = match self {
            Self::Net => &stats.net_of_calls,
            Self::Elapsed => &stats.elapsed_of_calls,
            Self::Total => return f64::NAN,
        };
        let n = stats.measured() as f64;
        let mean = lengths.sum as f64 / n;
        let variance = (lengths.squares as f64 / n - mean * mean).max(0.0) / n;
        variance / (mean * LN_2).powi(2)
    }

    /// Its binary logarithm in a run without the largest of these calls; NaN where it is not known. How
    /// much of the longest call went to interrupts is not: as much as there was of them, as it is mostly
    /// an interrupt that makes a call the longest, but no more than leaves it the mean.
    pub(super) fn without_largest(self, stats: &FuncStats) -> f64 {
        let n = stats.measured() as f64;
        let (sum, largest) = match self {
            Self::Net | Self::Total => (stats.net_of_calls.sum, stats.net_of_calls.max),
            Self::Elapsed => {
                let Lengths { sum, max, .. } = stats.elapsed_of_calls;
                let sum = sum.saturating_sub(stats.interrupted);
                let mean = sum.checked_div(stats.measured()).unwrap_or(0);
                (sum, max.saturating_sub(stats.interrupted).max(mean))
            }
        };
        let rest = sum.saturating_sub(largest) as f64;
        // A mean of the rest that is zero is not known: its logarithm is not finite.
        let left = self.of(stats) + (rest / (n - 1.0) / (sum as f64 / n)).log2();
        if left.is_finite() { left } else { f64::NAN }
    }

    /// Its binary logarithm in a run with these calls; NaN where there is none.
    pub(crate) fn of(self, stats: &FuncStats) -> f64 {
        let measured = stats.measured();
        let per_call = |of_calls: u64, of_all: u64| match (measured, stats.calls) {
            (0, 0) => f64::NAN,
            (0, calls) => of_all as f64 / calls as f64,
            (calls, _) => of_calls as f64 / calls as f64,
        };
        let value = match self {
            Self::Net => per_call(stats.net_of_calls.sum, stats.net),
            Self::Elapsed => per_call(
                // Never less than its own time, however coarse the clock.
                stats
                    .elapsed_of_calls
                    .sum
                    .saturating_sub(stats.interrupted)
                    .max(stats.net_of_calls.sum),
                stats.elapsed,
            ),
            Self::Total => stats.net as f64,
        };
        if value > 0.0 { value.log2() } else { f64::NAN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_per_call_is_that_of_measured_calls_or_else_of_all() {
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        // Of three calls that are only counted, the sums are known.
        let mut stats =
            FuncStats { calls: 3, counted: 3, net: 12, elapsed: 24, ..FuncStats::default() };
        assert!(near(Measure::Net.of(&stats), 2.0));
        assert!(near(Measure::Elapsed.of(&stats), 3.0));
        assert!(near(Measure::Total.of(&stats), 12_f64.log2()));
        // Two more took 16 and 48; an incomplete one is in the sum only.
        (stats.calls, stats.partial, stats.net) = (5, 1, 100);
        (stats.net_of_calls.sum, stats.elapsed_of_calls.sum) = (64, 128);
        assert!(near(Measure::Net.of(&stats), 5.0));
        assert!(near(Measure::Elapsed.of(&stats), 6.0));
        assert!(Measure::Net.of(&FuncStats::default()).is_nan());
    }

    /// Calls of so many ticks each.
    fn lengths(of: &[u64]) -> Lengths {
        Lengths {
            sum: of.iter().sum(),
            squares: of.iter().map(|&length| u128::from(length).pow(2)).sum(),
            min: of.iter().copied().min().unwrap_or(u64::MAX),
            max: of.iter().copied().max().unwrap_or(0),
            ..Lengths::default()
        }
    }

    fn of_calls(net: &[u64], elapsed: &[u64]) -> FuncStats {
        let (net_of_calls, elapsed_of_calls) = (lengths(net), lengths(elapsed));
        let calls = net.len() as u64;
        FuncStats {
            calls,
            net: net_of_calls.sum,
            elapsed: elapsed_of_calls.sum,
            net_of_calls,
            elapsed_of_calls,
            ..FuncStats::default()
        }
    }

    #[test]
    fn the_variance_of_a_mean_is_that_of_its_calls_by_their_number() {
        let stats = of_calls(&[2, 4, 6, 12], &[4, 8, 12, 40]);
        // `np.var(x) / 4 / (np.mean(x) * np.log(2)) ** 2`
        for (measure, expected) in
            [(Measure::Net, 0.202_355_317_598), (Measure::Elapsed, 0.406_517_379_103)]
        {
            let found = measure.variance_within(&stats);
            assert!((found - expected).abs() < 1e-10, "{measure:?}: {found}");
        }
        assert!(Measure::Total.variance_within(&stats).is_nan());
    }

    #[test]
    fn without_the_largest_call_is_the_mean_of_the_others() {
        let mut stats = of_calls(&[2, 4, 6, 12], &[4, 8, 12, 40]);
        let near = |measure: Measure, stats: &FuncStats, expected: f64| {
            let found = measure.without_largest(stats).exp2();
            assert!((found - expected).abs() < 1e-10, "{measure:?}: {found}, {expected}");
        };
        near(Measure::Net, &stats, 4.0);
        near(Measure::Elapsed, &stats, 8.0);
        // As many calls as there were, each of 4.
        near(Measure::Total, &stats, 16.0);
        // What takes no time in every other call is not known.
        stats = of_calls(&[0, 0, 9], &[1, 1, 9]);
        assert!(Measure::Net.without_largest(&stats).is_nan());
        near(Measure::Elapsed, &stats, 1.0);
    }

    #[test]
    fn what_takes_no_time_has_no_logarithm() {
        let stats = of_calls(&[0, 0], &[0, 0]);
        assert!(Measure::ALL.iter().all(|measure| measure.of(&stats).is_nan()));
    }

    #[test]
    fn a_measure_is_found_by_its_name_only() {
        for measure in Measure::ALL {
            assert_eq!(Measure::from_name(measure.name()), Some(measure));
        }
        assert_eq!(Measure::from_name("Net"), None);
    }

    #[test]
    fn an_interrupt_in_the_longest_call_is_not_part_of_what_is_left_without_it() {
        // Ten calls of 100, one of which an interrupt of 400 hit: without it, nine of 100 are left.
        let mut elapsed = [100; 10];
        elapsed[3] = 500;
        let mut stats = FuncStats { interrupted: 400, ..of_calls(&[50; 10], &elapsed) };
        let near = |stats: &FuncStats, expected: f64| {
            let found = Measure::Elapsed.without_largest(stats).exp2();
            assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
        };
        near(&stats, 100.0);
        // It takes 300 without that.
        elapsed[3] = 700;
        stats = FuncStats { interrupted: 400, ..of_calls(&[50; 10], &elapsed) };
        near(&stats, 100.0);
        // Interrupts of 80 in every call leave no call longer than the mean.
        stats = FuncStats { interrupted: 800, ..of_calls(&[50; 10], &[180; 10]) };
        near(&stats, 100.0);
    }
}
