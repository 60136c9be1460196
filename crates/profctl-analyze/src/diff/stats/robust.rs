//! The robust fit of the prior, for outlier variances.
//!
//! A few outliers would make the non-robust prior uninformative. Here the extremes are winsorized
//! to the 5th and the 90th percentile before moments are computed, and outliers get fewer prior
//! degrees of freedom (Phipson and others 2016).

use super::order::{mean, median, quantile, sorted};
use super::prior::{Fitted, fit as fit_plainly};
use super::smooth::lowess;
use super::special::{Tails, f_ln_density, f_quantile, f_tails, quadrature, solve};

/// The share of functions that is winsorized at the lower and at the upper end.
const MOVED_IN: (f64, f64) = (0.05, 0.1);

/// The share of functions that the trend looks at around each.
const SPAN: f64 = 0.4;

const NODES: usize = 128;

/// Fits a scaled F distribution; plainly where variances are too few for a tenth of them to be one.
pub(super) fn fit(x: &[f64], df1: &[f64], covariate: Option<&[f64]>) -> Fitted {
    let n = x.len();
    let middle = median(&sorted(x.to_vec()));
    if middle <= 0.0 || MOVED_IN.1 * (n as f64) < 1.0 {
        return fit_plainly(x, df1, covariate);
    }
    let mut x: Vec<f64> = x.iter().map(|x| x.max(middle * 1e-12)).collect();
    let plain = fit_plainly(&x, df1, covariate);
    let df = df1.iter().copied().fold(0.0, f64::max);
    for idx in 0..n {
        if df1[idx] < df {
            let tails = f_tails(x[idx] / plain.scale[idx], df1[idx], plain.d0);
            x[idx] = plain.scale[idx] * f_quantile(tails, df, plain.d0);
        }
    }
    let z: Vec<f64> = x.iter().map(|x| x.ln()).collect();
    // A level trend cancels out below, whatever its height.
    let trend = covariate.map_or_else(|| vec![0.0; n], |at| lowess(at, &z, SPAN));
    let moved = moved_in(z.iter().zip(&trend).map(|(z, trend)| z - trend).collect());
    let center = mean(&moved);
    let spread = moved.iter().map(|z| (z - center) * (z - center)).sum::<f64>() / (n - 1) as f64;

    let nodes = quadrature(NODES);
    let excess = |d0: f64| (spread / moments(df, d0, &nodes).1).ln();
    let d0 = if excess(f64::INFINITY) <= 0.0 {
        f64::INFINITY
    } else if plain.d0.is_infinite() {
        return plain;
    } else if excess(plain.d0) >= 0.0 {
        plain.d0
    } else {
        let share = solve(plain.d0 / (1.0 + plain.d0), 1.0, |share| {
            excess(if share < 1.0 { share / (1.0 - share) } else { f64::INFINITY })
        });
        share / (1.0 - share)
    };
    let correction = center - moments(df, d0, &nodes).0;
    let scale: Vec<f64> = trend.iter().map(|trend| (trend + correction).exp()).collect();
    let ratios: Vec<f64> = x.iter().zip(&scale).map(|(x, scale)| x / scale).collect();
    Fitted { scale, d0, d0_each: lean(&ratios, df, d0) }
}

fn moved_in(residuals: Vec<f64>) -> Vec<f64> {
    let residuals = sorted(residuals);
    let low = quantile(&residuals, MOVED_IN.0);
    let high = quantile(&residuals, 1.0 - MOVED_IN.1);
    residuals.iter().map(|z| z.clamp(low, high)).collect()
}

/// Mean and variance of the logarithm of the winsorized F distribution.
fn moments(df1: f64, df2: f64, nodes: &[(f64, f64)]) -> (f64, f64) {
    let (low, high) = MOVED_IN;
    let ends = [
        f_quantile(Tails { lower: low, upper: 1.0 - low }, df1, df2),
        f_quantile(Tails { lower: 1.0 - high, upper: high }, df1, df2),
    ];
    // F ÷ (1 + F) lies between 0 and 1, where a polynomial can follow its density.
    let [from, to] = ends.map(|f| f / (1.0 + f));
    let points: Vec<(f64, f64)> = nodes
        .iter()
        .map(|(node, weight)| {
            let share = from + (to - from) * node;
            let f = share / (1.0 - share);
            let density = f_ln_density(f, df1, df2).exp() / ((1.0 - share) * (1.0 - share));
            (f.ln(), (to - from) * weight * density)
        })
        .collect();
    let ends = [(ends[0].ln(), low), (ends[1].ln(), high)];
    let over = |function: &dyn Fn(f64) -> f64| -> f64 {
        points.iter().chain(&ends).map(|&(z, weight)| weight * function(z)).sum()
    };
    let mean = over(&|z| z);
    (mean, over(&|z| (z - mean) * (z - mean)))
}

/// The prior degrees of freedom of each function: fewer for outlier variances, and monotone in the
/// variance.
fn lean(ratios: &[f64], df: f64, d0: f64) -> Vec<f64> {
    let n = ratios.len();
    let tails: Vec<f64> = ratios.iter().map(|ratio| f_tails(*ratio, df, d0).upper).collect();
    let ranks = super::ranks::midranks(ratios);
    let usual: Vec<f64> = tails
        .iter()
        .zip(ranks)
        .map(|(tail, rank)| (tail / ((n as f64 - rank + 0.5) / n as f64)).min(1.0))
        .collect();
    if usual.iter().all(|usual| *usual >= 1.0) {
        return vec![d0; n];
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| tails[a].total_cmp(&tails[b]).then(ratios[b].total_cmp(&ratios[a])));
    let mut each: Vec<f64> = if d0.is_infinite() {
        let pooled = n as f64 * df;
        usual.iter().map(|usual| if *usual < 1.0 { usual * pooled } else { d0 }).collect()
    } else {
        let wild = wildest(ratios, tails[order[0]], df, d0);
        usual.iter().map(|usual| usual * d0 + (1.0 - usual) * wild).collect()
    };
    let mut so_far = 0.0;
    if d0.is_finite() {
        let mut sum = 0.0;
        let (mut least, mut least_at) = (f64::INFINITY, 0);
        for (position, &idx) in order.iter().enumerate() {
            sum += each[idx];
            let average = sum / (position + 1) as f64;
            if average < least {
                (least, least_at) = (average, position);
            }
        }
        order[..=least_at].iter().for_each(|&idx| each[idx] = least);
    }
    for &idx in &order {
        so_far = each[idx].max(so_far);
        each[idx] = so_far;
    }
    each
}

/// The prior degrees of freedom at which the largest variance is not an outlier, in two steps.
fn wildest(ratios: &[f64], smallest_tail: f64, df: f64, d0: f64) -> f64 {
    if smallest_tail <= 0.0 {
        return 0.0;
    }
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    let first = 0.5_f64.ln() / smallest_tail.ln() * d0;
    0.5_f64.ln() / f_tails(largest, df, first).upper.ln() * first
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;

    #[test]
    fn ten_variances_have_extremes() {
        let variances = [1.0, 1.1, 0.9, 1.2, 1.3, 0.8, 1.0, 1.4, 0.7, 9.0];
        let df = [4.0; 10];
        let (robust, plain) =
            (fit(&variances[1..], &df[1..], None), fit_plainly(&variances[1..], &df[1..], None));
        assert_eq!((robust.scale, robust.d0), (plain.scale, plain.d0), "of 9");
        let (robust, plain) = (fit(&variances, &df, None), fit_plainly(&variances, &df, None));
        assert!(robust.scale[0] < 0.9 * plain.scale[0], "{robust:?} and {plain:?}");
    }

    /// The moments of the winsorized logarithm of chi squared by `scipy.integrate.quad`, its tail by
    /// `scipy.stats.chi2`.
    #[test]
    fn an_outlier_among_equals_is_on_its_own() {
        let mut variances: Vec<f64> = (0..20).map(|k| 1.0 + f64::from(k) / 40.0).collect();
        variances[3] = 12.0;
        let found = fit(&variances, &[6.0; 20], None);
        assert_eq!(found.d0, f64::INFINITY);
        assert!((found.scale[0] - 1.490_548_879_436_596_6).abs() < 1e-9, "{}", found.scale[0]);
        let outlier = found.d0_each[3];
        assert!((outlier / 4.930_503_25e-5 - 1.0).abs() < 1e-6, "{outlier:e}");
        assert!(found.d0_each.iter().enumerate().all(|(at, d0)| at == 3 || *d0 == f64::INFINITY));
    }

    #[test]
    fn two_states_are_fitted_plainly() {
        // The logarithms vary by less than those of chi squared do (0.592, not 0.645), but by more
        // than those do without their ends (0.481).
        let variances: Vec<f64> = (0..20).map(|k| (0.75 - f64::from(k % 2) * 1.5).exp()).collect();
        let found = fit(&variances, &[4.0; 20], None);
        assert_eq!(found.d0, f64::INFINITY);
        assert!((found.scale[0] - 1.294_683_284_676_844_8).abs() < 1e-12, "{}", found.scale[0]);
    }
}
