//! The experimental design: from runs to observations, and the observations of each function.

use std::collections::BTreeMap;

use super::order::{Weighted, mean, median, sorted};
use super::{Design, Options, RANKS_MIN, Replicate, Row};

impl Design {
    /// A design in which every run stands for itself.
    pub fn of_runs(n_before: usize, n_after: usize) -> Self {
        let numbered = |n: usize| (0..n as u32).collect();
        Self { before: numbered(n_before), after: numbered(n_after), paired: false }
    }
}

/// Which runs make up each measurement.
pub(super) struct Layout {
    /// Measurement of each run before.
    pub(super) before: Vec<usize>,
    /// The same of each run after; a pair has the same number on both sides.
    pub(super) after: Vec<usize>,
    pub(super) n_before: usize,
    pub(super) n_after: usize,
    pub(super) replicate: Replicate,
    pub(super) confounded: bool,
}

impl Layout {
    /// Blocks that hold several runs are measurements, else runs are. If each side is a single
    /// block, runs are the observations, and the result is marked as confounded.
    pub(super) fn new(design: &Design) -> Self {
        let (before, n_before) = numbered(&design.before);
        if design.paired {
            let mut both: BTreeMap<u32, usize> = BTreeMap::new();
            for label in design.before.iter().chain(&design.after) {
                let next = both.len();
                both.entry(*label).or_insert(next);
            }
            let in_both =
                |label: &u32| design.before.contains(label) && design.after.contains(label);
            if both.keys().filter(|label| in_both(label)).count() > 1 {
                let of = |side: &[u32]| side.iter().map(|label| both[label]).collect();
                return Self {
                    before: of(&design.before),
                    after: of(&design.after),
                    n_before: both.len(),
                    n_after: both.len(),
                    replicate: Replicate::Pairs,
                    confounded: false,
                };
            }
        }
        let (after, n_after) = numbered(&design.after);
        let (runs_before, runs_after) = (before.len(), after.len());
        if n_before <= 1 && n_after <= 1 || n_before == runs_before && n_after == runs_after {
            return Self {
                before: (0..runs_before).collect(),
                after: (0..runs_after).collect(),
                n_before: runs_before,
                n_after: runs_after,
                replicate: Replicate::Runs,
                // Interleaved runs of one boot differ in nothing but the build.
                confounded: !design.paired && runs_before.max(runs_after) > 1 && n_before <= 1,
            };
        }
        let replicate = Replicate::Blocks;
        Self { before, after, n_before, n_after, replicate, confounded: false }
    }
}

/// Labels to numbers from 0, in the order of the labels.
fn numbered(labels: &[u32]) -> (Vec<usize>, usize) {
    let mut distinct = labels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let number = |label: &u32| distinct.partition_point(|known| known < label);
    (labels.iter().map(number).collect(), distinct.len())
}

/// What the measurements of one function say.
#[derive(Clone, Debug, Default)]
pub(super) struct Contrast {
    /// After less before.
    pub(super) estimate: f64,
    /// Variance of a measurement (of a difference, where they are pairs).
    pub(super) variance: f64,
    /// Its degrees of freedom.
    pub(super) df: f64,
    /// Variance of `estimate` in units of `variance`.
    pub(super) unit: f64,
    /// Variance of a run within its measurement, and its degrees of freedom.
    pub(super) within: (f64, f64),
    /// All measurements in the order of the layout, those before first (the differences, where they
    /// are pairs), and how many are before.
    pub(super) named: Vec<Option<f64>>,
    /// How much each of them counts: 1 unless its run is less precise than usual.
    pub(super) weights: Vec<f64>,
    pub(super) n_before: usize,
    /// The mean of all measurements.
    pub(super) middle: f64,
    /// The measurements of both sides, sorted.
    pub(super) before: Vec<f64>,
    pub(super) after: Vec<f64>,
    /// The differences, where they are pairs, sorted.
    pub(super) pairs: Option<Vec<f64>>,
    /// The change that does not matter, as a binary logarithm.
    pub(super) margin: f64,
    /// Both sides, taken together.
    pub(super) levels: [Weighted; 2],
    /// What single calls say of the measurements, where that matters.
    pub(super) single_calls: Option<SingleCalls>,
}

/// The value and the weight of a measurement, if it was made.
pub(super) type Measurement = Option<(f64, f64)>;

/// The measurements of `row`, if there are enough runs and blocks to compare.
pub(super) fn contrast(row: &Row, layout: &Layout, options: &Options) -> Option<Contrast> {
    let seen = |values: &[f64]| values.iter().filter(|value| value.is_finite()).count();
    if seen(&row.before).min(seen(&row.after)) < options.runs_min.max(1) {
        return None;
    }
    let mut within = (0.0, 0.0);
    let weights = precisions(row, options);
    let [before, after] = [
        measurements(&row.before, &weights[0], &layout.before, layout.n_before, &mut within),
        measurements(&row.after, &weights[1], &layout.after, layout.n_after, &mut within),
    ];
    let paired = layout.replicate == Replicate::Pairs;
    let all: Vec<Measurement> = if paired {
        let pair = |(before, after): (&Measurement, &Measurement)| {
            let ((before, less), (after, more)) = ((*before)?, (*after)?);
            // The variance of a difference is the sum of both.
            Some((after - before, 2.0 / (less.recip() + more.recip())))
        };
        before.iter().zip(&after).map(pair).collect()
    } else {
        before.iter().chain(&after).copied().collect()
    };
    let levels =
        [&before, &after].map(|side| Weighted::of(side.iter().copied().flatten().collect()));
    let values = |side: &[Measurement]| -> Vec<f64> {
        sorted(side.iter().flatten().map(|(value, _)| *value).collect())
    };
    let pairs = paired.then(|| values(&all));
    let (before, after) = (values(&before), values(&after));
    let (estimate, sum, df, unit) = if paired {
        let pairs = Weighted::of(all.iter().copied().flatten().collect());
        (pairs.mean, pairs.squares, pairs.n as f64 - 1.0, pairs.weight.recip())
    } else {
        let [before, after] = &levels;
        let unit = before.weight.recip() + after.weight.recip();
        let df = (before.n + after.n) as f64 - 2.0;
        (after.mean - before.mean, before.squares + after.squares, df, unit)
    };
    let named = all.iter().map(|one| one.map(|(value, _)| value)).collect();
    let weights = all.iter().map(|one| one.map_or(0.0, |(_, weight)| weight)).collect();
    let blocks = if layout.replicate == Replicate::Blocks { options.blocks_min } else { 0 };
    if df < 1.0 || before.len().min(after.len()) < blocks {
        return None;
    }
    within.0 = if within.1 > 0.0 { within.0 / within.1 } else { 0.0 };
    Some(Contrast {
        estimate,
        variance: sum / df,
        df,
        unit,
        within,
        middle: f64::midpoint(mean(&before), mean(&after)),
        named,
        weights,
        levels,
        single_calls: SingleCalls::of(row, layout, [before.len(), after.len()]),
        n_before: layout.n_before,
        before,
        after,
        pairs,
        margin: row.margin(options),
    })
}

/// How much each run counts: as the quotient of the usual variance of the mean of its calls and its
/// own, but no run more than usual. Below the resolution of the clock variances do not differ.
fn precisions(row: &Row, options: &Options) -> [Vec<f64>; 2] {
    let least = (options.resolution_floor / std::f64::consts::LN_2).powi(2);
    let known = |values: &[f64]| -> Vec<f64> {
        let known = values.iter().filter(|variance| variance.is_finite());
        known.map(|variance| variance.max(least)).collect()
    };
    let [before, after] = &row.within.variance;
    let usual = median(&sorted([known(before), known(after)].concat()));
    [(before, row.before.len()), (after, row.after.len())].map(|(variances, n)| {
        let weight = |at: usize| match variances.get(at) {
            Some(variance) if *variance > usual => usual / variance,
            _ => 1.0,
        };
        (0..n).map(weight).collect()
    })
}

/// The mean of the runs of each measurement, and its weight; what they vary is added to `within` as a sum of
/// squares and its degrees of freedom.
pub(super) fn measurements(
    values: &[f64],
    weights: &[f64],
    of_run: &[usize],
    n: usize,
    within: &mut (f64, f64),
) -> Vec<Measurement> {
    let mut groups = vec![Vec::new(); n];
    for ((value, weight), group) in values.iter().zip(weights).zip(of_run) {
        if value.is_finite() {
            groups[*group].push((*value, *weight));
        }
    }
    let mut means = Vec::with_capacity(n);
    let mut spread = Vec::new();
    for group in groups {
        let group = Weighted::of(group);
        // Blocks vary by more than their runs: each counts as much as the others.
        let weight = if group.n > 1 { 1.0 } else { group.weight };
        means.push((group.n > 0).then_some((group.mean, weight)));
        if group.n > 1 {
            within.1 += (group.n - 1) as f64;
            spread.push(group.squares);
        }
    }
    within.0 += sorted(spread).iter().sum::<f64>();
    means
}

/// What single calls say of each measurement, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct SingleCalls {
    /// It, without the largest call of each run.
    pub(super) left: Vec<Option<f64>>,
    /// Its variance, as far as it comes from calls; empty where calls are not a sample.
    pub(super) variance: Vec<Option<f64>>,
}

impl SingleCalls {
    /// Of the measurements of `row`; nothing where single calls are not known, or where there are
    /// enough measurements for chance to be excluded otherwise.
    fn of(row: &Row, layout: &Layout, n: [usize; 2]) -> Option<Self> {
        let within = &row.within;
        if n[0].min(n[1]) >= RANKS_MIN || within.without_largest.iter().any(Vec::is_empty) {
            return None;
        }
        let both = |values: &[Vec<f64>; 2], pair: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
            let side = |values: &[f64], of_run: &[usize], n| -> Vec<Measurement> {
                measurements(values, &vec![1.0; values.len()], of_run, n, &mut (0.0, 0.0))
            };
            let before = side(&values[0], &layout.before, layout.n_before);
            let after = side(&values[1], &layout.after, layout.n_after);
            let value = |one: &Measurement| one.map(|(value, _)| value);
            if layout.replicate == Replicate::Pairs {
                let pair = |(less, more)| Some(pair(value(less)?, value(more)?));
                before.iter().zip(&after).map(pair).collect()
            } else {
                before.iter().chain(&after).map(value).collect()
            }
        };
        let left = both(&within.without_largest, |less, more| more - less);
        let variance = if within.is_mixture {
            both(&within.variance, |less, more| less + more)
        } else {
            Vec::new()
        };
        Some(Self { left, variance })
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;
    use crate::diff::stats::WithinRuns;

    const NAN: f64 = f64::NAN;

    fn layout(before: &[u32], after: &[u32], paired: bool) -> Layout {
        Layout::new(&Design { before: before.to_vec(), after: after.to_vec(), paired })
    }

    fn row(before: &[f64], after: &[f64]) -> Row {
        Row { before: before.to_vec(), after: after.to_vec(), ..Row::default() }
    }

    #[test]
    fn runs_of_a_block_are_one_measurement() {
        let mut within = (0.0, 0.0);
        let values = [1.0, 3.0, 10.0, NAN, NAN, 4.0, 7.0, 13.0];
        let weights = [1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0];
        let found = measurements(&values, &weights, &[0, 0, 1, 1, 2, 3, 3, 3], 4, &mut within);
        // The mean of the last is (4 / 2 + 7 + 13) / 2.5.
        let expected = [Some((2.0, 1.0)), Some((10.0, 0.5)), None, Some((8.8, 1.0))];
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.map(|(_, weight)| weight), expected.map(|(_, weight)| weight));
            let values = (found.map_or(0.0, |one| one.0), expected.map_or(0.0, |one| one.0));
            assert!((values.0 - values.1).abs() < 1e-12, "{values:?}");
        }
        // 2, and 11.52 + 3.24 + 17.64 around 8.8.
        assert!((within.0 - 34.4).abs() < 1e-12 && within.1 == 3.0, "{within:?}");
    }

    #[test]
    fn a_run_counts_by_its_precision() {
        let variance = [vec![1.0, 4.0, NAN], vec![2.0, 0.0, 8.0]];
        let row = Row {
            within: WithinRuns { variance, ..WithinRuns::default() },
            ..row(&[1.0; 4], &[1.0; 3])
        };
        // In the middle of five is 2; of the fourth run nothing is known.
        let [before, after] = precisions(&row, &Options::default());
        assert_eq!((before, after), (vec![1.0, 0.5, 1.0, 1.0], vec![1.0, 1.0, 0.25]));
        // The clock alone makes a variance of (0.001 / ln 2)².
        let variance = [vec![1e-9; 3], vec![1e-9, 1e-7, 4.162_737_962_011_217e-6]];
        let row = Row { within: WithinRuns { variance, ..WithinRuns::default() }, ..row };
        let [_, after] = precisions(&row, &Options::default());
        assert!(after[..2] == [1.0; 2] && (after[2] - 0.5).abs() < 1e-12, "{after:?}");
    }

    #[test]
    fn a_change_of_blocks_is_worked_out_by_hand() {
        let options = Options::default();
        let runs = row(&[1.0, 3.0, 6.0, 8.0], &[9.0, 11.0, 13.0]);
        let found = contrast(&runs, &layout(&[0, 0, 1, 1], &[0, 1, 1], false), &options).unwrap();
        // Blocks of 2 and 7, of 9 and 12: squares of 12.5 and 4.5 by two degrees of freedom.
        assert_eq!((found.estimate, found.variance, found.df, found.unit), (6.0, 8.5, 2.0, 1.0));
        assert_eq!(found.within, (2.0, 3.0));
        assert_eq!((found.middle, found.n_before), (7.5, 2));
        assert_eq!(found.named, [2.0, 7.0, 9.0, 12.0].map(Some));
        let one = layout(&[0, 0, 1, 1], &[0, 0, 0], false);
        assert!(contrast(&runs, &one, &options).is_none(), "one block is too few");
        let found = contrast(&runs, &layout(&[0, 1, 2, 3], &[0, 1, 2], false), &options).unwrap();
        assert_eq!((found.estimate, found.variance, found.df), (6.5, 37.0 / 5.0, 5.0));
        assert_eq!(found.within, (0.0, 0.0));
        let many = Options { blocks_min: 4, ..options };
        assert!(contrast(&runs, &layout(&[0, 1, 2, 3], &[0, 1, 2], false), &many).is_some());
    }

    #[test]
    fn a_change_of_pairs_is_worked_out_by_hand() {
        let pairs = layout(&[0, 1, 2, 3], &[0, 1, 2, 3], true);
        let options = Options::default();
        let mut runs = row(&[1.0, 2.0, 3.0, NAN], &[2.0, 4.0, 6.0, 9.0]);
        let found = contrast(&runs, &pairs, &options).unwrap();
        assert_eq!((found.estimate, found.variance, found.df), (2.0, 1.0, 2.0));
        assert_eq!(found.pairs, Some(vec![1.0, 2.0, 3.0]));
        // A run of three times the variance makes that of its difference twice as large.
        runs.within.variance = [vec![1.0; 4], vec![1.0, 1.0, 3.0, 1.0]];
        let found = contrast(&runs, &pairs, &options).unwrap();
        assert_eq!(found.weights, [1.0, 1.0, 0.5, 0.0]);
        // A mean of 4.5 / 2.5, and squares of 0.64 + 0.04 + 1.44 / 2.
        for (found, expected) in [(found.estimate, 1.8), (found.variance, 0.7), (found.unit, 0.4)] {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
        let apart = row(&[1.0, 2.0, 3.0, NAN, NAN], &[NAN, NAN, 3.0, 4.0, 5.0]);
        let five = layout(&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4], true);
        assert!(contrast(&apart, &five, &options).is_none(), "one pair");
    }

    #[test]
    fn single_calls_are_those_of_the_measurements() {
        let mut runs = row(&[1.0, 2.0, 3.0], &[2.0, 4.0, 7.0]);
        runs.within = WithinRuns {
            variance: [vec![1.0, 2.0, 3.0], vec![10.0, 20.0, 30.0]],
            without_largest: [vec![0.5, 1.5, 2.5], vec![1.0, 3.0, 5.0]],
            is_mixture: true,
        };
        let of = |runs: &Row, paired: bool, n: usize| {
            SingleCalls::of(runs, &layout(&[0, 1, 2], &[0, 1, 2], paired), [n; 2])
        };
        let found = of(&runs, false, 3).unwrap();
        assert_eq!(found.left, [0.5, 1.5, 2.5, 1.0, 3.0, 5.0].map(Some));
        assert_eq!(found.variance, [1.0, 2.0, 3.0, 10.0, 20.0, 30.0].map(Some));
        let found = of(&runs, true, 5).unwrap();
        assert_eq!(found.left, [0.5, 1.5, 2.5].map(Some));
        assert_eq!(found.variance, [11.0, 22.0, 33.0].map(Some));
        assert!(of(&runs, true, 6).is_none(), "chance is excluded otherwise");
        runs.within.is_mixture = false;
        assert!(of(&runs, false, 3).unwrap().variance.is_empty());
        runs.within.without_largest[1].clear();
        assert!(of(&runs, false, 3).is_none(), "nothing is known");
    }
}
