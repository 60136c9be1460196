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
    // samples of normal numbers (from simulation, for 6 to 40 numbers).
    let apart = 3.6 + 270.0 / (n * n) as f64;
    mean(high) - mean(low) > (apart * within).max(margin)
}
