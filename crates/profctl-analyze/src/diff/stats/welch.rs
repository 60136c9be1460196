//! The ratio of two means with its interval, where all that is known of each side is its runs.

use super::bootstrap::Interval;
use super::order::mean;
use super::special::t_quantile;

/// The ratio of the geometric means, after ÷ before, with its 95 % interval by Welch's test on
/// logarithms. Nothing where a side has fewer than two runs, or one that is not above 0.
pub fn ratio_of_runs(before: &[f64], after: &[f64]) -> Option<Interval> {
    let sides = [before, after];
    if sides.iter().any(|side| side.len() < 2 || side.iter().any(|value| *value <= 0.0)) {
        return None;
    }
    let logs = sides.map(|side| side.iter().map(|value| value.ln()).collect::<Vec<f64>>());
    let means = logs.each_ref().map(|logs| mean(logs));
    let variances = [0, 1].map(|side| {
        let n = logs[side].len() as f64;
        let squares: f64 = logs[side].iter().map(|log| (log - means[side]).powi(2)).sum();
        squares / (n - 1.0) / n
    });
    let variance = variances[0] + variances[1];
    let difference = means[1] - means[0];
    if variance == 0.0 {
        let ratio = difference.exp();
        return Some(Interval { ratio, low: ratio, high: ratio });
    }
    // Welch and Satterthwaite.
    let parts = [0, 1].map(|side| variances[side].powi(2) / (logs[side].len() as f64 - 1.0));
    let df = variance.powi(2) / (parts[0] + parts[1]);
    let half = t_quantile(0.025, df) * variance.sqrt();
    Some(Interval {
        ratio: difference.exp(),
        low: (difference - half).exp(),
        high: (difference + half).exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_welch() {
        // Computed in Python with `statistics` and a t quantile by numerical integration.
        let found = ratio_of_runs(&[30.0, 31.0, 30.5, 32.0], &[60.0, 62.0, 61.0]).unwrap();
        let expected = (1.976_095, 1.892_406, 2.063_484);
        for (found, expected) in
            [(found.ratio, expected.0), (found.low, expected.1), (found.high, expected.2)]
        {
            assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
        }
        assert_eq!(ratio_of_runs(&[30.0], &[60.0, 62.0]), None);
        assert_eq!(ratio_of_runs(&[30.0, 0.0], &[60.0, 62.0]), None);
    }
}
