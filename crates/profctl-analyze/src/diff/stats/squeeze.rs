//! Moderated variances (Smyth 2004).
//!
//! The variance of one function is estimated poorly from a few runs, that of a thousand functions
//! well. Each is shrunk toward the trend of functions with as many calls; the spread of the
//! variances determines how far.

use super::order::{median, sorted};
use super::smooth::Curve;
use super::{prior, robust};

/// Moderated variances.
#[derive(Clone, Debug)]
pub(super) struct Squeezed {
    /// The prior of each.
    pub(super) expected: Vec<f64>,
    /// Prior degrees of freedom.
    pub(super) d0: Vec<f64>,
    /// The same of a function that is not an outlier.
    pub(super) d0_usual: f64,
    /// The moderated variances.
    pub(super) post: Vec<f64>,
    /// Their degrees of freedom: own and expected, but no more than all functions have together.
    pub(super) df: Vec<f64>,
    /// Degrees of freedom of all functions together.
    pub(super) pooled: f64,
}

/// Moderates `variances`, each with its `df`, by the trend at its `covariate`. A function without
/// degrees of freedom gets the prior variance.
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
    let fitted = if robust {
        robust::fit(&x, &df1, at.as_deref())
    } else {
        prior::fit(&x, &df1, at.as_deref())
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
    /// Limits the prior degrees of freedom of each function.
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

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANCES: [f64; 8] = [1.0, 9.0, 2.0, 30.0, 4.0, 5.0, 60.0, 7.0];
    const AT: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

    #[test]
    fn a_function_without_freedom_has_the_variance_of_its_neighbors() {
        let known = squeeze(&VARIANCES, &[4.0; 8], Some(&AT), false);
        assert!(known.d0_usual.is_finite());
        for (own, freedom) in [(0.5, 0.0), (f64::NAN, 4.0)] {
            let (variances, df) =
                ([&VARIANCES[..], &[own]].concat(), [&[4.0; 8][..], &[freedom]].concat());
            let found = squeeze(&variances, &df, Some(&[&AT[..], &[2.5]].concat()), false);
            assert_eq!(found.expected[..8], known.expected);
            assert_eq!(found.post[..8], known.post);
            assert_eq!((found.d0_usual, found.pooled), (known.d0_usual, 32.0));
            let between = (known.expected[2] * known.expected[3]).sqrt();
            assert!((found.expected[8] / between - 1.0).abs() < 1e-12, "{}", found.expected[8]);
        }
        let found = squeeze(
            &[&VARIANCES[..], &[0.5]].concat(),
            &[&[4.0; 8][..], &[0.0]].concat(),
            None,
            false,
        );
        assert_eq!((found.post[8], found.expected[8]), (found.expected[0], found.expected[0]));
    }

    #[test]
    fn pulled_variances_are_means_by_degrees_of_freedom() {
        let mut squeezed = Squeezed {
            expected: vec![4.0; 3],
            d0: vec![f64::INFINITY, 2.0, 12.0],
            d0_usual: 12.0,
            post: Vec::new(),
            df: Vec::new(),
            pooled: 15.0,
        };
        let (variances, df) = ([10.0, 10.0, 10.0], [4.0, 4.0, 4.0]);
        squeezed.pull(&variances, &df);
        assert_eq!(squeezed.post, [4.0, 8.0, 5.5]);
        assert_eq!(squeezed.df, [15.0, 6.0, 15.0]);
        squeezed.weigh_at_most(&[2.0, 8.0, 8.0], &variances, &df);
        assert_eq!(squeezed.post, [8.0, 8.0, 6.0]);
        assert_eq!(squeezed.df, [6.0, 6.0, 12.0]);
        assert_eq!((squeezed.d0_usual, squeezed.d0), (8.0, vec![2.0, 2.0, 8.0]));
    }
}
