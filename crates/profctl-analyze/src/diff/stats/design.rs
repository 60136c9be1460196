//! The experimental design: from runs to observations, and the observations of each function.

use std::collections::BTreeMap;

use super::order::{mean, sorted, squares};
use super::{Design, Options, Replicate, Row};

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
        let (before, n_before) = numbered(&design.before, 0);
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
        let (after, n_after) = numbered(&design.after, 0);
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

/// Labels to numbers from `first`, in the order of the labels.
fn numbered(labels: &[u32], first: usize) -> (Vec<usize>, usize) {
    let mut distinct = labels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let number = |label: &u32| first + distinct.partition_point(|known| known < label);
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
}

/// The measurements of `row`, if there are enough runs and blocks to compare.
pub(super) fn contrast(row: &Row, layout: &Layout, options: &Options) -> Option<Contrast> {
    let seen = |values: &[f64]| values.iter().filter(|value| value.is_finite()).count();
    if seen(&row.before).min(seen(&row.after)) < options.runs_min.max(1) {
        return None;
    }
    let mut within = (0.0, 0.0);
    let before = measurements(&row.before, &layout.before, layout.n_before, &mut within);
    let after = measurements(&row.after, &layout.after, layout.n_after, &mut within);
    let paired = layout.replicate == Replicate::Pairs;
    let named: Vec<Option<f64>> = if paired {
        before.iter().zip(&after).map(|(before, after)| Some((*after)? - (*before)?)).collect()
    } else {
        before.iter().chain(&after).copied().collect()
    };
    let pairs = paired.then(|| sorted(named.iter().copied().flatten().collect()));
    let before = sorted(before.into_iter().flatten().collect());
    let after = sorted(after.into_iter().flatten().collect());
    let (estimate, sum, df, unit) = if let Some(pairs) = &pairs {
        let n = pairs.len() as f64;
        (mean(pairs), squares(pairs), n - 1.0, n.recip())
    } else {
        let (n_before, n_after) = (before.len() as f64, after.len() as f64);
        let unit = n_before.recip() + n_after.recip();
        let sum = squares(&before) + squares(&after);
        (mean(&after) - mean(&before), sum, n_before + n_after - 2.0, unit)
    };
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
        n_before: layout.n_before,
        before,
        after,
        pairs,
        margin: row.margin(options),
    })
}

/// The mean of the runs of each measurement; what they vary is added to `within` as a sum of
/// squares and its degrees of freedom.
fn measurements(
    values: &[f64],
    of_run: &[usize],
    n: usize,
    within: &mut (f64, f64),
) -> Vec<Option<f64>> {
    let mut groups = vec![Vec::new(); n];
    for (value, group) in values.iter().zip(of_run) {
        if value.is_finite() {
            groups[*group].push(*value);
        }
    }
    let mut means = Vec::with_capacity(n);
    let mut spread = Vec::new();
    for group in groups {
        let group = sorted(group);
        means.push((!group.is_empty()).then(|| mean(&group)));
        if group.len() > 1 {
            within.1 += (group.len() - 1) as f64;
            spread.push(squares(&group));
        }
    }
    within.0 += sorted(spread).iter().sum::<f64>();
    means
}
