//! Rank tests and intervals, exact for few runs.

use super::order::{median, sorted};
use super::special::t_upper;

/// A shift, its interval, and the p-value of the rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Hodges and Lehmann's estimate.
    pub shift: f64,
    /// Lower end of the interval of at least 95 %.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Number of values above which the normal approximation is used, for p and for intervals: the exact
/// distribution takes cubic time.
const EXACT_MAX: usize = 50;

/// Rank of each value from 1; equal ones share theirs.
pub(super) fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let equal = order[from..]
            .iter()
            .take_while(|&&idx| values[idx].to_bits() == values[order[from]].to_bits())
            .count();
        let rank = from as f64 + (equal + 1) as f64 / 2.0;
        order[from..from + equal].iter().for_each(|&idx| ranks[idx] = rank);
        from += equal;
    }
    ranks
}

/// Two-sided p of Mann and Whitney's test: the share of assignments of the ranks to sides of these
/// sizes that are at least as extreme. Equal values share their ranks, and p stays exact.
pub fn mann_whitney_exact(before: &[f64], after: &[f64]) -> f64 {
    let all: Vec<f64> = before.iter().chain(after).copied().collect();
    let ranks = midranks(&all);
    let n = all.len();
    let dealt = after.len();
    let sum: f64 = ranks[before.len()..].iter().sum();
    let expected = dealt as f64 * (n + 1) as f64 / 2.0;
    if n > EXACT_MAX {
        let spread: f64 =
            ranks.iter().map(|rank| (rank - (n + 1) as f64 / 2.0).powi(2)).sum::<f64>();
        let variance = (dealt * before.len()) as f64 * spread / (n * (n - 1)) as f64;
        return normal_p(sum - expected, variance);
    }
    if distinct(&ranks) {
        let ways = two_sided_counts(before.len(), dealt);
        return uneven(&ways, (before.len() * dealt) as f64 / 2.0, sum - expected);
    }
    // ways[k][s]: number of assignments of k ranks with twice the sum s.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank) as usize).collect();
    let total: usize = doubled.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; dealt + 1];
    ways[0][0] = 1.0;
    for rank in doubled {
        for k in (1..=dealt).rev() {
            let (fewer, these) = ways.split_at_mut(k);
            for s in rank..=total {
                these[0][s] += fewer[k - 1][s - rank];
            }
        }
    }
    uneven(&ways[dealt], 2.0 * expected, 2.0 * (sum - expected))
}

/// Whether no values were equal: equal ones have equal ranks, of which the whole part is enough.
fn distinct(ranks: &[f64]) -> bool {
    let mut seen = vec![false; ranks.len() + 1];
    ranks.iter().all(|rank| !std::mem::replace(&mut seen[*rank as usize], true))
}

/// The share of `ways` that lie as far from `expected` as `distance`.
fn uneven(ways: &[f64], expected: f64, distance: f64) -> f64 {
    let all: f64 = ways.iter().sum();
    let as_far: f64 = ways
        .iter()
        .enumerate()
        .filter(|(sum, _)| (*sum as f64 - expected).abs() >= distance.abs() - 1e-9)
        .map(|(_, ways)| ways)
        .sum();
    (as_far / all).min(1.0)
}

/// Two-sided p of a normal distance, corrected for the steps of one that ranks take.
fn normal_p(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance.abs() - 0.5).max(0.0) / variance.sqrt();
    (2.0 * t_upper(z, f64::INFINITY)).min(1.0)
}

/// Hodges and Lehmann's shift: the median of all differences between an after and a before, with
/// the interval that holds the shifts which Mann and Whitney would not reject (Moses).
pub fn hodges_lehmann(before: &[f64], after: &[f64]) -> Shift {
    let differences =
        after.iter().flat_map(|after| before.iter().map(move |before| after - before)).collect();
    let (m, n) = (before.len(), after.len());
    let cut = if m + n > EXACT_MAX {
        let pairs = (m * n) as f64;
        lower(pairs / 2.0, pairs * (m + n + 1) as f64 / 12.0)
    } else {
        exact_lower(&two_sided_counts(m, n))
    };
    shift(&sorted(differences), cut, mann_whitney_exact(before, after))
}

/// The same for pairs: the median of the means of any two differences, and Wilcoxon's signed ranks.
pub(super) fn hodges_lehmann_of_pairs(differences: &[f64]) -> Shift {
    let n = differences.len();
    let means = (0..n)
        .flat_map(|a| (a..n).map(move |b| f64::midpoint(differences[a], differences[b])))
        .collect();
    shift(&sorted(means), exact_lower(&signed_counts(n)), signed_rank_exact(differences))
}

/// The value of a statistic below which it lies with a chance of less than 2.5 %, from the ways to each
/// value.
fn exact_lower(counts: &[f64]) -> usize {
    let all: f64 = counts.iter().sum();
    let mut below = 0.0;
    let is_above = |ways: &f64| {
        below += ways / all;
        below >= 0.025 * (1.0 - 1e-12)
    };
    counts.iter().position(is_above).unwrap_or(0)
}

/// The same of one that is nearly normal.
fn lower(mean: f64, variance: f64) -> usize {
    const QUANTILE: f64 = 1.959_963_984_540_054;
    (mean - QUANTILE * variance.sqrt()).max(0.0) as usize
}

/// The estimate and its interval, of which `cut` candidates on each side are no part.
fn shift(candidates: &[f64], cut: usize, p: f64) -> Shift {
    let n = candidates.len();
    let cut = cut.max(1).min(n);
    Shift { shift: median(candidates), low: candidates[cut - 1], high: candidates[n - cut], p }
}

/// Ways to each value of Mann and Whitney's U without equal values.
fn two_sided_counts(m: usize, n: usize) -> Vec<f64> {
    // The coefficients of Gauss's binomial: a product of (1 - x^(m+i)) ÷ (1 - x^i).
    let mut ways = vec![0.0; m * n + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..ways.len()).rev() {
            ways[at] -= ways[at - m - i];
        }
        for at in i..ways.len() {
            ways[at] += ways[at - i];
        }
    }
    ways
}

/// Ways to each value of Wilcoxon's V without equal values.
fn signed_counts(n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * (n + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for at in (rank..ways.len()).rev() {
            ways[at] += ways[at - rank];
        }
    }
    ways
}

/// Two-sided p of Wilcoxon's signed ranks; differences of zero say nothing and are omitted.
fn signed_rank_exact(differences: &[f64]) -> f64 {
    let changed: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = changed.iter().map(|d| d.abs()).collect();
    let ranks = midranks(&sizes);
    let positive: f64 =
        ranks.iter().zip(&changed).filter(|(_, d)| **d > 0.0).map(|(rank, _)| rank).sum();
    let expected = ranks.iter().sum::<f64>() / 2.0;
    if ranks.len() > EXACT_MAX {
        let variance = ranks.iter().map(|rank| rank * rank).sum::<f64>() / 4.0;
        return normal_p(positive - expected, variance);
    }
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank) as usize).collect();
    let mut ways = vec![0.0; doubled.iter().sum::<usize>() + 1];
    ways[0] = 1.0;
    for rank in doubled {
        for at in (rank..ways.len()).rev() {
            ways[at] += ways[at - rank];
        }
    }
    uneven(&ways, 2.0 * expected, 2.0 * (positive - expected))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_normal_interval_continues_the_exact_one() {
        for (m, n) in [(25, 25), (10, 40), (30, 21), (60, 40)] {
            let pairs = (m * n) as f64;
            let normal = lower(pairs / 2.0, pairs * (m + n + 1) as f64 / 12.0);
            let exact = exact_lower(&two_sided_counts(m, n));
            assert!(normal.abs_diff(exact) <= 1, "{m} and {n}: {normal}, not {exact}");
        }
    }

    fn values(n: u32, factor: u32, more: u32, modulus: u32, unit: f64) -> Vec<f64> {
        (0..n).map(|k| f64::from((k * k * factor + k * more) % modulus) / unit).collect()
    }

    /// `scipy.stats.mannwhitneyu` (1.17), exact and asymptotic, and the differences whose places are the
    /// exact ones, or `norm.isf(0.025)` standard deviations from the middle.
    #[test]
    fn many_values_are_compared_by_the_normal_distribution() {
        let after: Vec<f64> =
            values(25, 53, 10, 103, 7.1).iter().map(|value| value + 2.0).collect();
        // Of 50 values the 212th difference is exact, of 51 the 220th is (the exact one is the 221st).
        for (n, p, shift, low, high) in [
            (
                25,
                0.441_038_139_391_331_2,
                0.953_722_334_004_024_4,
                -1.414_486_921_529_174_9,
                3.386_317_907_444_668_8,
            ),
            (
                26,
                0.565_502_339_417_350_2,
                0.811_871_227_364_185_4,
                -1.661_971_830_985_916,
                3.158_953_722_334_003_6,
            ),
        ] {
            let found = hodges_lehmann(&values(n, 37, 0, 101, 7.0), &after);
            for (found, expected) in
                [(found.p, p), (found.shift, shift), (found.low, low), (found.high, high)]
            {
                assert!((found - expected).abs() < 1e-12, "{n}: {found}, not {expected}");
            }
        }
    }

    /// `scipy.stats.wilcoxon`, exact and with the correction of the normal distribution.
    #[test]
    fn many_pairs_are_compared_by_the_normal_distribution() {
        for (n, expected) in [(50, 0.055_465_717_070_337_206), (51, 0.042_422_086_338_244_985)] {
            let pairs: Vec<f64> = values(n, 37, 5, 211, 1.0)
                .iter()
                .enumerate()
                .map(|(k, value)| (value - 80.0) / 7.0 + k as f64 * 0.01)
                .collect();
            let found = signed_rank_exact(&pairs);
            assert!((found - expected).abs() < 1e-12, "{n}: {found}");
        }
    }

    #[test]
    fn intervals_of_few_values_are_exact() {
        // The 6th of 36 differences: of 924 assignments, 19 have a U of at most 5, 30 of at most 6, and
        // 2.5 % of them are 23.1.
        let before: Vec<f64> = (0..6).map(f64::from).collect();
        let after: Vec<f64> = (0..6).map(|k| 100.0 + 7.0 * f64::from(k)).collect();
        let mut differences: Vec<f64> = after
            .iter()
            .flat_map(|after| before.iter().map(move |before| after - before))
            .collect();
        differences.sort_by(f64::total_cmp);
        let found = hodges_lehmann(&before, &after);
        assert_eq!((found.low, found.high), (differences[5], differences[30]));
        // Five equal values have rank 3; the 8 is on either side as often as on the other.
        assert_eq!(mann_whitney_exact(&[7.0, 7.0, 7.0], &[7.0, 7.0, 8.0]), 1.0);
    }
}
