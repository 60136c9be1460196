//! Permutation tests.

use crate::random::Random;

/// Permutations up to which all are tried: 8 runs per side.
const ALL_WAYS_MAX: f64 = 12_870.0;

/// Random permutations that are tried if there are more.
const TRIALS: usize = 19_999;

/// A fixed seed, so that reports are reproducible.
const SEED: u64 = 1;

/// The share of assignments of the values to sides of these sizes in which the means differ at
/// least as much.
pub fn permutation_p(before: &[f64], after: &[f64]) -> f64 {
    if before.is_empty() || after.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = before.iter().chain(after).copied().collect();
    let (n, dealt) = (all.len(), after.len());
    let total: f64 = all.iter().sum();
    let scale = all.iter().fold(0.0_f64, |most, value| most.max(value.abs())) * n as f64;
    let expected = total * dealt as f64 / n as f64;
    let distance = (after.iter().sum::<f64>() - expected).abs() - 1e-12 * scale;
    let ways = (1..=dealt).map(|k| (n - dealt + k) as f64 / k as f64).product::<f64>().round();
    if ways <= ALL_WAYS_MAX {
        let as_far = deal(&all, dealt, 0.0, &|sum| (sum - expected).abs() >= distance);
        return as_far as f64 / ways;
    }
    let mut random = Random(SEED);
    let mut values = all;
    // The result must not depend on the order of the runs.
    values.sort_by(f64::total_cmp);
    let as_far = (0..TRIALS)
        .filter(|_| {
            for position in 0..dealt {
                let other = position + random.below(n - position);
                values.swap(position, other);
            }
            (values[..dealt].iter().sum::<f64>() - expected).abs() >= distance
        })
        .count();
    (as_far + 1) as f64 / (TRIALS + 1) as f64
}

/// The number of subsets of `values`, of that size, whose sum satisfies `counts`.
fn deal(values: &[f64], dealt: usize, sum: f64, counts: &impl Fn(f64) -> bool) -> usize {
    if dealt == 0 {
        return usize::from(counts(sum));
    }
    (0..=values.len() - dealt)
        .map(|first| deal(&values[first + 1..], dealt - 1, sum + values[first], counts))
        .sum()
}

/// The share of swaps of pairs in which the mean difference is at least as large.
pub(super) fn sign_flip_p(differences: &[f64]) -> f64 {
    let n = differences.len();
    let scale: f64 = differences.iter().map(|d| d.abs()).sum();
    let distance = differences.iter().sum::<f64>().abs() - 1e-12 * scale;
    if n <= 13 {
        let as_far = (0..1_u32 << n)
            .filter(|swapped| {
                let sum: f64 =
                    (0..n)
                        .map(|idx| {
                            if swapped >> idx & 1 == 1 {
                                -differences[idx]
                            } else {
                                differences[idx]
                            }
                        })
                        .sum();
                sum.abs() >= distance
            })
            .count();
        return as_far as f64 / f64::from(1_u32 << n);
    }
    let mut random = Random(SEED);
    let as_far = (0..TRIALS)
        .filter(|_| {
            let sum: f64 = differences
                .iter()
                .map(|d| if random.next_u64() >> 63 == 1 { -d } else { *d })
                .sum();
            sum.abs() >= distance
        })
        .count();
    (as_far + 1) as f64 / (TRIALS + 1) as f64
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;

    #[test]
    fn swaps_are_counted_exactly() {
        // All or none of 3, and 2 of them where it is the smallest that has the other sign.
        assert_eq!(sign_flip_p(&[1.0, 2.0, 3.0]), 2.0 / 8.0);
        assert_eq!(sign_flip_p(&[-1.0, 2.0, 3.0]), 4.0 / 8.0);
        assert_eq!(sign_flip_p(&[0.0; 4]), 1.0);
        assert_eq!(sign_flip_p(&[1.0; 13]), 2.0 / 8192.0);
        // With 14, swaps are drawn: both ends are rare, and half of all is usual.
        assert!(sign_flip_p(&[1.0; 14]) < 0.001);
        let balanced: Vec<f64> = (0..14).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(sign_flip_p(&balanced), 1.0);
    }

    #[test]
    fn sums_that_differ_by_rounding_are_equal() {
        for unit in [1.0, 1e6 / 7.0] {
            let of = |values: &[i32]| -> Vec<f64> {
                values.iter().map(|value| f64::from(*value) / 10.0 * unit).collect()
            };
            // 8 of the 20 sums of 3 are at most 69 or at least 123; 12 of 16 sums of signs are as far
            // from 0 as 87.
            assert_eq!(permutation_p(&of(&[65, 2, 2]), &of(&[39, 55, 29])), 8.0 / 20.0);
            assert_eq!(sign_flip_p(&of(&[87, -92, 39, 53])), 12.0 / 16.0);
        }
    }

    #[test]
    fn a_sample_of_deals_gives_the_share_of_all() {
        // 8 722 of the 48 620 permutations of 18 values, counted with `itertools.combinations`.
        let before: Vec<f64> = (0..9).map(|k| f64::from((7 * k * k + 3 * k) % 23) / 10.0).collect();
        let after: Vec<f64> =
            (0..9).map(|k| f64::from((5 * k * k + 11 * k) % 29) / 10.0 + 0.5).collect();
        let found = permutation_p(&before, &after);
        assert!((found - 0.1794).abs() < 0.01, "{found}");
    }
}
