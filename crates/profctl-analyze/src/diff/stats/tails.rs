//! Bootstrap intervals of the change of a percentile, from the histograms of many runs.

use super::order::quantile;
use super::order::sorted;
use crate::random::Random;

/// How long the calls of one run were: lengths in ascending order, each with the number of calls
/// that were no longer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    lengths: Vec<(f64, u64)>,
}

/// Runs per side from which on a percentile has an interval: resampling fewer runs makes it too
/// narrow.
pub const TAIL_RUNS_MIN: usize = 8;

const RESAMPLES: usize = 999;

/// The percentile of the tail.
pub const TAIL_PERCENT: f64 = 99.0;

impl Distribution {
    /// From lengths above 0 and how many calls took each, in ascending order.
    pub fn new(counts: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut all = 0;
        let lengths = counts.map(|(length, count)| {
            all += count;
            ((length.max(1) as f64).log2(), all)
        });
        Self { lengths: lengths.collect() }
    }

    fn n(&self) -> u64 {
        self.lengths.last().map_or(0, |last| last.1)
    }

    fn rank(&self) -> u64 {
        (TAIL_PERCENT / 100.0 * self.n() as f64).ceil() as u64
    }

    /// The length at a rank, as a binary logarithm.
    fn at(&self, rank: u64) -> f64 {
        let place = self.lengths.partition_point(|&(_, below)| below < rank);
        self.lengths[place.min(self.lengths.len() - 1)].0
    }

    /// The percentile of as many calls drawn from these. That of n draws lies where the k-th of n
    /// uniform numbers does, which is a number of the beta distribution.
    fn drawn(&self, random: &mut Random) -> f64 {
        let (n, rank) = (self.n(), self.rank());
        let below = random.gamma(rank as f64);
        let above = random.gamma((n + 1 - rank) as f64);
        self.at((below / (below + above) * n as f64).ceil() as u64)
    }
}

/// The 95 % interval of the ratio of the 99th percentiles (geometric means over runs), by a
/// studentized bootstrap that draws runs first and then calls within each (Davison and Hinkley
/// 1997). None with fewer than [`TAIL_RUNS_MIN`] runs on a side, or with a run without calls.
pub fn tail_interval(
    before: &[Distribution],
    after: &[Distribution],
    seed: u64,
) -> Option<(f64, f64)> {
    let sides = [before, after];
    let too_few = |side: &[Distribution]| {
        side.len() < TAIL_RUNS_MIN || side.iter().any(|run| run.lengths.is_empty())
    };
    if sides.iter().any(|side| too_few(side)) {
        return None;
    }
    let (change, se) = estimate(sides.map(|side| side.iter().map(|run| run.at(run.rank()))));
    let mut random = Random(seed);
    let mut off: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let drawn = sides.map(|side| -> Vec<f64> {
            (0..side.len()).map(|_| side[random.below(side.len())].drawn(&mut random)).collect()
        });
        let (again, se) = estimate(drawn.map(Vec::into_iter));
        // Without variation between runs there is no standard error.
        if se > 0.0 {
            off.push((again - change) / se);
        }
    }
    if se == 0.0 || off.is_empty() {
        return Some((change.exp2(), change.exp2()));
    }
    let off = sorted(off);
    let end = |share| (change - quantile(&off, share) * se).exp2();
    Some((end(0.975), end(0.025)))
}

/// The difference of means, and its standard error.
fn estimate(sides: [impl Iterator<Item = f64>; 2]) -> (f64, f64) {
    let of = sides.map(|side| {
        let values = sorted(side.collect());
        let n = values.len() as f64;
        (super::order::mean(&values), super::order::squares(&values) / (n - 1.0) / n)
    });
    (of[1].0 - of[0].0, (of[0].1 + of[1].1).sqrt())
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;

    /// Runs of 400 calls with a log-normal spread; runs vary by 10 %, calls by 40 %.
    fn side(n: usize, level: f64, random: &mut Random) -> Vec<Distribution> {
        let run = |_| {
            let own = level + 0.1 * random.normal();
            let calls = (0..400).map(|_| (10_000.0 * (own + 0.4 * random.normal()).exp()) as u64);
            let mut calls: Vec<u64> = calls.collect();
            calls.sort_unstable();
            Distribution::new(calls.into_iter().map(|call| (call, 1)))
        };
        (0..n).map(run).collect()
    }

    #[test]
    fn a_percentile_is_the_call_at_its_rank() {
        let calls = Distribution::new([(4, 50), (8, 49), (16, 1)].into_iter());
        assert_eq!((calls.n(), calls.rank()), (100, 99));
        assert_eq!([1, 50, 51, 99, 100, 101].map(|rank| calls.at(rank)), [2., 2., 3., 3., 4., 4.]);
        // The 99th of a hundred draws lies above the 99th hundredth with chance 0.2642 (beta
        // distribution of 99 and 2, by scipy), and hardly ever below the middle.
        let mut random = Random(3);
        let drawn: Vec<f64> = (0..10_000).map(|_| calls.drawn(&mut random)).collect();
        let share = drawn.iter().filter(|&&length| length == 4.0).count() as f64 / 1e4;
        assert!((share - 0.2642).abs() < 0.018, "{share}");
        assert!(drawn.iter().all(|&length| length >= 3.0));
    }

    #[test]
    fn a_difference_has_the_error_of_both_means() {
        // Variances of the means: 14 ÷ 2 ÷ 3, and 2 ÷ 1 ÷ 2.
        let (change, se) = estimate([vec![1.0, 2.0, 6.0].into_iter(), vec![9.0, 11.0].into_iter()]);
        assert_eq!(change, 7.0);
        assert!((se - (7.0_f64 / 3.0 + 1.0).sqrt()).abs() < 1e-15, "{se}");
    }

    #[test]
    fn intervals_hold_the_ratio_as_often_as_they_say() {
        let mut random = Random(1);
        let held = (0..100).filter(|&seed| {
            let (before, after) = (side(8, 0.0, &mut random), side(8, 0.2, &mut random));
            let (low, high) = tail_interval(&before, &after, seed).unwrap();
            (low..=high).contains(&0.2_f64.exp())
        });
        let held = held.count();
        assert!((88..=99).contains(&held), "{held} of 100");
    }

    /// The quantiles of the studentized means of a million resamples by `numpy.random` are 1.174 and
    /// 1.762; those of 999 resamples are up to 0.005 and 0.05 off.
    #[test]
    fn intervals_are_as_skewed_as_runs_are() {
        let side = |lengths: [u64; 8]| -> Vec<Distribution> {
            lengths.map(|length| Distribution::new([(length, 50)].into_iter())).to_vec()
        };
        let before = side([1000, 1020, 1050, 1100, 1130, 1150, 1200, 1210]);
        let after = side([1300, 1305, 1310, 1320, 1350, 1400, 1600, 2200]);
        let (low, high) = tail_interval(&before, &after, 1).unwrap();
        assert!((low - 1.174).abs() < 0.015 && (high - 1.762).abs() < 0.12, "{low} to {high}");
    }

    #[test]
    fn few_runs_have_no_interval() {
        let mut random = Random(2);
        let (few, many) = (side(7, 0.0, &mut random), side(9, 0.0, &mut random));
        assert_eq!(tail_interval(&few, &many, 1), None);
        assert_eq!(tail_interval(&many, &few, 1), None);
        assert_eq!(tail_interval(&few, &few, 1), None);
        let alike = vec![few[0].clone(); 8];
        assert!(
            tail_interval(&alike, &alike, 1).is_some_and(|(low, high)| (low, high) == (1.0, 1.0))
        );
    }
}
