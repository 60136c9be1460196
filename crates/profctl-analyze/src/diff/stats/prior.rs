//! The prior of variances: a scaled F distribution fitted to the variances of all functions by
//! moments (Smyth 2004).

use super::order::{median, sorted};
use super::smooth::spline;
use super::special::{digamma, trigamma, trigamma_inverse};

/// A scaled F distribution: what variances follow where their true values do an inverse chi squared.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    /// Scale at each point.
    pub(super) scale: Vec<f64>,
    /// Second degrees of freedom.
    pub(super) d0: f64,
    /// The same for each point, lower where the point lies outside of what is usual.
    pub(super) d0_each: Vec<f64>,
}

/// Fits by the first two moments of the logarithms, whose noise does not depend on their scale.
pub(super) fn fit(x: &[f64], df1: &[f64], covariate: Option<&[f64]>) -> Fitted {
    let n = x.len();
    if n < 2 {
        return Fitted { scale: x.to_vec(), d0: 0.0, d0_each: vec![0.0; n] };
    }
    let middle = median(&sorted(x.to_vec()));
    let least = 1e-5 * if middle > 0.0 { middle } else { 1.0 };
    let x: Vec<f64> = x.iter().map(|x| x.max(least)).collect();
    let e: Vec<f64> =
        x.iter().zip(df1).map(|(x, df1)| x.ln() - digamma(df1 / 2.0) + (df1 / 2.0).ln()).collect();
    let trended = covariate.and_then(|covariate| {
        let df = spline_df(covariate);
        (df > 1).then(|| spline(covariate, &e, df))
    });
    let has_trend = trended.is_some();
    let (means, rank) = trended.unwrap_or_else(|| {
        let mean = e.iter().sum::<f64>() / n as f64;
        (vec![mean; n], 1)
    });
    let squares: f64 = e.iter().zip(&means).map(|(e, mean)| (e - mean) * (e - mean)).sum();
    let own = df1.iter().map(|df1| trigamma(df1 / 2.0)).sum::<f64>() / n as f64;
    let excess = if n > rank { squares / (n - rank) as f64 - own } else { 0.0 };
    let (d0, scale) = if excess > 0.0 {
        let d0 = 2.0 * trigamma_inverse(excess);
        let shift = digamma(d0 / 2.0) - (d0 / 2.0).ln();
        (d0, means.iter().map(|mean| (mean + shift).exp()).collect())
    } else if has_trend {
        (f64::INFINITY, means.iter().map(|mean| mean.exp()).collect())
    } else {
        (f64::INFINITY, vec![x.iter().sum::<f64>() / n as f64; n])
    };
    Fitted { scale, d0, d0_each: vec![d0; n] }
}

/// A few points carry a line, many a curve.
fn spline_df(covariate: &[f64]) -> usize {
    let n = covariate.len();
    let mut distinct = sorted(covariate.to_vec());
    distinct.dedup();
    (1 + usize::from(n >= 3) + usize::from(n >= 6) + usize::from(n >= 30)).min(distinct.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_variances_say_little_of_their_prior() {
        let one = fit(&[3.0], &[4.0], None);
        assert_eq!((one.scale, one.d0, one.d0_each), (vec![3.0], 0.0, vec![0.0]));
        // `scipy.special.polygamma(1, d0 / 2)` is the variance of the logarithms less
        // `polygamma(1, 2)`.
        let two = fit(&[1.0, 100.0], &[4.0; 2], None);
        assert!((two.d0 - 0.671_682_994_405_125_2).abs() < 1e-9, "{two:?}");
        assert!((two.scale[1] - 1.745_741_556_236_562_4).abs() < 1e-9, "{two:?}");
        let none = fit(&[0.0; 3], &[4.0; 3], None);
        assert!(none.d0 == f64::INFINITY && (none.scale[0] / 1e-5 - 1.0).abs() < 1e-12, "{none:?}");
    }
}
