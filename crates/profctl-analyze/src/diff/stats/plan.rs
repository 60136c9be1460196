//! What more measurements would show: the advice of a gate that cannot tell.

use super::design::Contrast;
use super::order::{median, sorted};
use super::special::Quantiles;
use super::verdict::{POWER, Replication};
use super::{Options, Variance, replication};

/// How many more measurements to take, and what they would show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Measurements more, on each side.
    pub more: u32,
    /// The change that would then be found in half of the functions, 8 times in 10, as a ratio less
    /// 1.
    pub found: f64,
}

/// Measurements that no one adds at once.
const MORE_MAX: u32 = 20;

/// The fewest more measurements with which half of the functions show a change of twice the margin;
/// none if they do already, or if no number that any user takes will do.
pub(super) fn plan(
    contrasts: &[Option<Contrast>],
    variances: &[Option<Variance>],
    level: f64,
    options: &Options,
) -> Option<Plan> {
    let known: Vec<Replication> = contrasts
        .iter()
        .zip(variances)
        .filter_map(|(contrast, variance)| {
            Some(replication(contrast.as_ref()?, variance.as_ref()?))
        })
        .collect();
    let first = known.first()?;
    let middle = |of: fn(&Replication) -> f64| median(&sorted(known.iter().map(of).collect()));
    // A function in the middle stands for all: half of them are less noisy.
    let (variance, d0, now) =
        (middle(|one| one.variance), middle(|one| one.d0), middle(|one| f64::from(one.n)));
    let (margin, wanted) = ((1.0 + options.margin).log2(), (1.0 + 2.0 * options.margin).log2());
    let mut quantiles = Quantiles::default();
    let mut found = |more: u32| {
        let n = now + f64::from(more);
        let df = d0 + first.sides * (n - 1.0);
        let se = (variance * first.sides / n).sqrt();
        margin + se * (quantiles.t(level, df) + quantiles.t(1.0 - POWER, df))
    };
    if found(0) <= wanted {
        return None;
    }
    let more = (1..=MORE_MAX).find(|&more| found(more) <= wanted)?;
    Some(Plan { more, found: found(more).exp2() - 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many more as scipy's quantiles of Student's t ask for, and what they show.
    #[test]
    fn as_many_more_are_advised_as_are_needed() {
        for (post, expected) in [
            (0.0004, None),
            (0.0009, Some((1, 0.098_224_917_468_940_02))),
            (0.0016, Some((4, 0.099_897_913_198_281_34))),
            (1.0, None),
        ] {
            let contrast = Contrast {
                before: vec![0.0; 4],
                after: vec![0.0; 5],
                df: 6.0,
                ..Contrast::default()
            };
            let variance = Variance {
                post,
                df: 16.0,
                df_dealt: 0.0,
                expected: 0.0,
                d0_dealt: 0.0,
                least: 0.0,
            };
            let plan =
                plan(&[None, Some(contrast)], &[None, Some(variance)], 0.01, &Options::default());
            let found = plan.map(|plan| plan.more);
            assert_eq!(found, expected.map(|(more, _)| more), "{post}");
            if let (Some(plan), Some((_, expected))) = (plan, expected) {
                assert!((plan.found - expected).abs() < 1e-9, "{plan:?}");
            }
        }
    }
}
