//! Means and medians that do not depend on the order of the values.

/// Sorts; there is no NaN among them.
pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The mean of sorted values: floating-point sums depend on their order, so it is fixed.
pub(super) fn mean(sorted: &[f64]) -> f64 {
    sorted.iter().sum::<f64>() / sorted.len() as f64
}

/// The sum of squared deviations from the mean of sorted values.
pub(super) fn squares(sorted: &[f64]) -> f64 {
    let mean = mean(sorted);
    sorted.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Weighted values, taken together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighted {
    /// How many they are.
    pub(super) n: usize,
    /// The sum of their weights.
    pub(super) weight: f64,
    /// Their mean.
    pub(super) mean: f64,
    /// The sum of their squared deviations from it, each as its weight counts.
    pub(super) squares: f64,
}

impl Weighted {
    /// Of pairs of value and weight, in any order.
    pub(super) fn of(mut values: Vec<(f64, f64)>) -> Self {
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
        let mean = values.iter().map(|(value, weight)| weight * value).sum::<f64>() / weight;
        let squares =
            values.iter().map(|(value, weight)| weight * (value - mean) * (value - mean)).sum();
        Self { n: values.len(), weight, mean, squares }
    }
}

/// The median of sorted values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The value below which a share of sorted values lies, interpolated between neighbors (Hyndman and
/// Fan's seventh definition).
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_middles_are_those_worked_out_by_hand() {
        assert_eq!((mean(&[1.0, 2.0, 6.0]), squares(&[1.0, 2.0, 6.0])), (3.0, 14.0));
        let weighted = Weighted::of(vec![(4.0, 2.0), (1.0, 1.0)]);
        let found = (weighted.n, weighted.weight, weighted.mean, weighted.squares);
        assert_eq!(found, (2, 3.0, 3.0, 6.0));
        let doubling = [1.0, 2.0, 4.0, 8.0];
        assert_eq!((median(&doubling), median(&doubling[..3])), (3.0, 2.0));
        let at = |share| quantile(&doubling, share);
        assert_eq!((at(0.0), at(0.5), at(0.75), at(1.0)), (1.0, 3.0, 5.0, 8.0));
    }
}
