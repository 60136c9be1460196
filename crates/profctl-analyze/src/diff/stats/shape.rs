//! Warnings that a mean and a variance do not describe the runs.

use super::order::{mean, median, sorted, squares};
use super::special::f_tails;

/// Whether one side is more than twice as noisy, and that is neither chance (5 %) nor due to a
/// single run. Both are sorted; a deviation below `floor` is none.
pub(super) fn unequal_variance(before: &[f64], after: &[f64], floor: f64) -> bool {
    if before.len() < 2 || after.len() < 2 {
        return false;
    }
    let of = |side: &[f64]| {
        let df = (side.len() - 1) as f64;
        let middle = median(side);
        let distances = sorted(side.iter().map(|value| (value - middle).abs()).collect());
        ((squares(side) / df).max(floor * floor), df, median(&distances).max(floor))
    };
    let (a, b) = (of(before), of(after));
    let (noisy, quiet) = if a.0 > b.0 { (a, b) } else { (b, a) };
    noisy.0 > 4.0 * quiet.0
        && noisy.2 > 2.0 * quiet.2
        && f_tails(noisy.0 / quiet.0, noisy.1, quiet.1).upper < 0.025
}

/// Whether sorted values are bimodal: two clusters of at least two values, farther apart than
/// chance explains and than the `margin`.
pub(super) fn bimodal(values: &[f64], floor: f64, margin: f64) -> bool {
    let n = values.len();
    if n < 6 {
        return false;
    }
    let gap = |split: usize| values[split] - values[split - 1];
    let Some(split) = (2..n - 1).max_by(|&a, &b| gap(a).total_cmp(&gap(b))) else {
        return false;
    };
    let (low, high) = values.split_at(split);
    let within = ((squares(low) + squares(high)) / (n - 2) as f64).sqrt().max(floor);
    // Distance of the best two clusters in standard deviations, exceeded by one in a hundred
    // samples of normal numbers (from simulation: by 0.8 to 1.1, for 6 to 60 numbers).
    let of = n as f64;
    let apart = 3.24 + 23.5 / of + 440.0 / of.powi(3);
    mean(high) - mean(low) > (apart * within).max(margin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_side_is_noisier_only_if_every_sign_says_so() {
        // Variances of 65 / 14 and of 1, medians of the distances from the middle of 1.75 and 1.
        let eight = [-3.0, -2.0, -1.5, -1.0, 1.0, 1.5, 2.0, 3.0];
        let five = [-1.0, -1.0, 0.0, 1.0, 1.0];
        let times = |factor: f64, values: &[f64]| -> Vec<f64> {
            values.iter().map(|value| 10.0 + factor * value).collect()
        };
        let of_quotient = |quotient: f64| times(quotient.sqrt() / 100.0, &eight);
        let five_of = |quotient: f64| times((quotient * 65.0 / 14.0).sqrt() / 100.0, &five);
        let eight_of = |quotient: f64| times((quotient * 14.0 / 65.0).sqrt() / 100.0, &eight);
        let calm = of_quotient(1.0);
        let (near, far) =
            ([-7.0, -1.0, 1.0, 7.0].repeat(10), [-10.0, -10.0, 10.0, 10.0].repeat(10));
        for (quiet, noisy, floor, expected) in [
            // `scipy.stats.f.isf(0.025, 7, 7)` is 4.995; of 4, 7 it is 5.523; of 7, 4 it is 9.074.
            (&calm, of_quotient(4.99), 0.001, false),
            (&calm, of_quotient(5.0), 0.001, true),
            (&calm, five_of(5.5), 0.001, false),
            (&calm, five_of(5.6), 0.001, true),
            (&times(0.01, &five), eight_of(9.0), 0.001, false),
            (&times(0.01, &five), eight_of(9.1), 0.001, true),
            // The clock is as coarse as the noisy side.
            (&calm, of_quotient(9.0), 0.07, false),
            // Twice as much is not more than twice: of the variance, and of the distance.
            (&sorted(near.clone()), sorted(far), 0.001, false),
            (&sorted(near), sorted([-15.0, -1.0, 1.0, 15.0].repeat(10)), 0.001, false),
            // One run has no variance, two have.
            (&vec![10.0], of_quotient(9.0), 0.001, false),
            (&calm, vec![10.0, 11.0], 0.001, true),
        ] {
            let what = format!("{quiet:?} and {noisy:?}");
            assert_eq!(unequal_variance(quiet, &noisy, floor), expected, "{what}");
            assert_eq!(unequal_variance(&noisy, quiet, floor), expected, "{what}, mirrored");
        }
    }

    #[test]
    fn two_clusters_are_told_from_one() {
        // The deviation within clusters is 1, and 6 values have to be 3.24 + 23.5 / 6 + 440 / 216, or
        // 9.19 apart.
        let by = |distance: f64| [0.0, 1.0, 2.0, distance, distance + 1.0, distance + 2.0];
        assert!(!bimodal(&by(9.18), 0.001, 0.07) && bimodal(&by(9.21), 0.001, 0.07));
        assert!(!bimodal(&by(11.0)[..5], 0.001, 0.07), "five are too few");
        assert!(!bimodal(&by(18.0), 2.0, 0.07), "the clock is coarse");
        assert!(!bimodal(&by(20.0), 0.001, 21.0), "the margin is wide");
        // The widest gap counts, whatever the quotient of its ends.
        assert!(bimodal(&[1e-6, 2e-6, 0.01, 1.0, 1.001, 1.002], 0.0, 0.07));
        let sharp = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        assert!(
            bimodal(&sharp, 0.0, 0.99) && !bimodal(&sharp, 0.0, 1.0),
            "no more than the margin"
        );
    }

    #[test]
    fn one_normal_sample_in_a_hundred_is_bimodal() {
        let mut random = Random(1);
        for n in [6, 8, 12, 20, 40] {
            let mut sample = || sorted((0..n).map(|_| random.normal()).collect());
            let found = (0..5000).filter(|_| bimodal(&sample(), 0.0, 0.0)).count();
            // Of 50, the standard error is 7.
            assert!((35..=68).contains(&found), "{found} of 5000 samples of {n}");
        }
    }
}
