//! What functions have in common: how noisy one is expected to be before its runs are looked at.
//!
//! With a handful of runs the variance of one function is known badly, that of a thousand together
//! well. Each is pulled towards what is usual for functions that run as often (Smyth 2004); the
//! spread of the variances themselves says how far.

use super::order::{median, sorted};
use super::robust;
use super::smooth::{Curve, spline};
use super::special::{digamma, trigamma, trigamma_inverse};

/// Variances after they were pulled.
#[derive(Clone, Debug)]
pub(super) struct Squeezed {
    /// What was expected of each.
    pub(super) expected: Vec<f64>,
    /// Weight of what was expected, in degrees of freedom.
    pub(super) d0: Vec<f64>,
    /// The same of a function that is nothing special.
    pub(super) d0_usual: f64,
    /// The pulled variances.
    pub(super) post: Vec<f64>,
    /// Their degrees of freedom: own and expected, but no more than all functions have together.
    pub(super) df: Vec<f64>,
    pooled: f64,
}

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

/// Pulls `variances`, each with its `df`, towards what is usual at its `covariate`. A function
/// without degrees of freedom gets what is expected of it.
pub(super) fn squeeze(
    variances: &[f64],
    df: &[f64],
    covariate: Option<&[f64]>,
    robust: bool,
) -> Squeezed {
    let known: Vec<usize> =
        (0..df.len()).filter(|&idx| df[idx] > 0.0 && variances[idx].is_finite()).collect();
    let pick = |values: &[f64]| -> Vec<f64> { known.iter().map(|&idx| values[idx]).collect() };
    let covariate = covariate.filter(|values| values.iter().all(|value| value.is_finite()));
    let (x, df1, at) = (pick(variances), pick(df), covariate.map(pick));
    let fitted = if robust && x.len() > 2 {
        robust::fit(&x, &df1, at.as_deref())
    } else {
        fit(&x, &df1, at.as_deref())
    };
    let pooled: f64 = df1.iter().sum();
    let logs: Vec<f64> = fitted.scale.iter().map(|scale| scale.ln()).collect();
    let usual = median(&sorted(logs.clone()));
    let curve = at.map(|at| Curve::through(&at, &logs));
    let n = df.len();
    let mut squeezed = Squeezed {
        expected: (0..n)
            .map(|idx| match (&curve, covariate) {
                (Some(curve), Some(values)) => curve.at(values[idx]).exp(),
                _ => usual.exp(),
            })
            .collect(),
        d0: vec![fitted.d0; n],
        d0_usual: fitted.d0,
        post: Vec::new(),
        df: Vec::new(),
        pooled,
    };
    for (position, &idx) in known.iter().enumerate() {
        squeezed.expected[idx] = fitted.scale[position];
        squeezed.d0[idx] = fitted.d0_each[position];
    }
    squeezed.pull(variances, df);
    squeezed
}

impl Squeezed {
    /// Gives what is expected of each function no more than these weights.
    pub(super) fn weigh_at_most(&mut self, weights: &[f64], variances: &[f64], df: &[f64]) {
        for (d0, most) in self.d0.iter_mut().zip(weights) {
            *d0 = d0.min(*most);
        }
        self.d0_usual = self.d0_usual.min(median(&sorted(weights.to_vec())));
        self.pull(variances, df);
    }

    fn pull(&mut self, variances: &[f64], df: &[f64]) {
        let parts = self.d0.iter().zip(&self.expected).zip(variances.iter().zip(df));
        (self.post, self.df) = parts
            .map(|((&d0, &expected), (variance, own))| {
                let own = own.max(0.0);
                let post = if own == 0.0 || d0.is_infinite() {
                    expected
                } else {
                    (own * variance + d0 * expected) / (own + d0)
                };
                (post, (own + d0).min(self.pooled))
            })
            .unzip();
    }
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
