//! Variance components: between blocks and between the runs of a block.

use super::Replicate;
use super::design::{Contrast, Layout};
use super::order::{median, sorted};
use super::special::{Tails, f_quantile};

/// The two levels of a measurement, in the middle of all functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Variance between blocks ÷ variance between the runs of one; 0 where runs explain it all.
    pub ratio: f64,
    /// Runs in a block, on average.
    pub runs: f64,
}

impl Components {
    /// The share of the variance of a run that is between blocks.
    pub fn between_share(&self) -> f64 {
        self.ratio / (1.0 + self.ratio)
    }

    /// The optimal number of runs per block, if setting up a block costs that many runs: with more,
    /// the time were better spent on another block (Kalibera and Jones 2013). None if blocks do not
    /// differ.
    pub fn runs_advised(&self, cost: f64) -> Option<u32> {
        let best = (cost / self.ratio).sqrt();
        best.is_finite().then(|| best.round().max(1.0) as u32)
    }
}

/// Functions needed for a meaningful median.
const FUNCTIONS_MIN: usize = 20;

/// With `n` runs per block, the variance of block means times `n` is 1 + `n` · ratio times that of
/// runs, and their quotient is F so many times over. The middle of the quotients of all functions
/// against the middle of F gives the ratio, whatever single functions do.
pub(super) fn components(
    contrasts: &[Option<Contrast>],
    layout: &Layout,
    floor: f64,
) -> Option<Components> {
    if layout.replicate != Replicate::Blocks {
        return None;
    }
    let runs = layout.before.len() + layout.after.len();
    let runs = runs as f64 / (layout.n_before + layout.n_after) as f64;
    // Below the floor it is the clock that varies, not the function.
    let known = contrasts.iter().flatten().filter(|one| one.within.0 > floor * floor);
    let quotients: Vec<f64> = known
        .map(|one| {
            let expected = f_quantile(Tails { lower: 0.5, upper: 0.5 }, one.df, one.within.1);
            runs * one.variance / one.within.0 / expected
        })
        .collect();
    if quotients.len() < FUNCTIONS_MIN {
        return None;
    }
    let ratio = ((median(&sorted(quotients)) - 1.0) / runs).max(0.0);
    Some(Components { ratio, runs })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use profctl_testkit::generate::{Noise, Runs};

    use super::*;
    use crate::diff::stats::{Design, Options, Row, test};

    #[test]
    fn the_ratio_is_that_of_the_middle_quotient() {
        let labels = vec![0, 0, 0, 1, 1, 1];
        let layout =
            |paired| Layout::new(&Design { before: labels.clone(), after: labels.clone(), paired });
        // The median of F with 6 and 16 degrees of freedom, by scipy: 0.930 009 560 075 447 7.
        let of = |quotient: f64| {
            let variance = quotient * 0.930_009_560_075_447_7 * 4.0 / 3.0;
            Some(Contrast { variance, df: 6.0, within: (4.0, 16.0), ..Contrast::default() })
        };
        let around = |n: u32| -> Vec<_> {
            (0..n).map(|at| of(7.0 + f64::from(at) - f64::from(n - 1) / 2.0)).collect()
        };
        let found = |contrasts: Vec<_>, floor| components(&contrasts, &layout(false), floor);
        let components_of = found(around(20), 0.1).expect("20 are enough");
        assert!((components_of.ratio - 2.0).abs() < 1e-9 && components_of.runs == 3.0);
        assert_eq!(found(around(19), 0.1), None);
        assert_eq!(found(around(20), 2.0), None, "the clock is as coarse");
        let calm = found(vec![of(0.5); 20], 0.1).expect("20 are enough");
        assert_eq!(calm.ratio, 0.0);
        assert_eq!(components(&vec![of(7.0); 20], &layout(true), 0.1), None, "of pairs");
        let calm = |variance| {
            let within = (variance, 16.0);
            Some(Contrast { variance, df: 6.0, within, ..Contrast::default() })
        };
        assert!(found(vec![calm(0.011); 20], 0.1).is_some(), "a deviation of 0.105");
        assert_eq!(found(vec![calm(0.009); 20], 0.1), None, "a deviation of 0.095");
        let boots = Design { before: vec![0, 0, 1, 1, 2, 2], after: vec![0, 0], paired: false };
        let uneven = components(&vec![of(7.0); 20], &Layout::new(&boots), 0.1);
        assert_eq!(uneven.map(|uneven| uneven.runs), Some(2.0), "8 runs of 4 boots");
    }

    #[test]
    fn advice_is_that_of_the_ratio() {
        let known = Components { ratio: 3.0, runs: 2.0 };
        assert_eq!((known.between_share(), known.runs_advised(12.0)), (0.75, Some(2)));
        assert_eq!(known.runs_advised(0.1), Some(1));
        assert_eq!(Components { ratio: 0.0, runs: 2.0 }.runs_advised(12.0), None);
    }

    #[test]
    fn the_variance_is_found_where_it_is() {
        for (boots, bounds) in [(0.0, 0.0..0.1), (1.0, 0.7..1.4), (3.0, 7.0..11.0)] {
            let runs = Runs {
                noise: Noise::Normal,
                n_functions: 1000,
                n_boots: 4,
                n_runs: 3,
                boots,
                changed_percent: 5,
                ratio: 1.5,
            };
            let rows: Vec<Row> = runs
                .make(4)
                .into_iter()
                .map(|one| Row {
                    before: one.before,
                    after: one.after,
                    intensity: one.intensity,
                    margin: None,
                    ..Row::default()
                })
                .collect();
            let side: Vec<u32> = (0..12).map(|run| run / 3).collect();
            let design = Design { before: side.clone(), after: side, paired: false };
            let found = test(&design, &rows, &Options::default()).components.unwrap();
            assert!(bounds.contains(&found.ratio), "{boots}: {found:?}");
            assert!((found.runs - 3.0).abs() < 1e-12);
        }
    }
}
