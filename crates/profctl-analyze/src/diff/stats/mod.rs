//! Tests which functions changed by more than the noise: two groups of runs in, a verdict per
//! function out.
//!
//! A run is one measurement, however many calls it holds: calls of one run share its caches, its
//! memory layout and its clock, so counting each call would underestimate the variance. Runs of one
//! boot are correlated too, so blocks of runs are the observations if there are any.
//! `docs/statistics.md` has the formulas, their sources and how often they are wrong.

mod adjust;
mod bootstrap;
mod calibration;
mod dealt;
mod design;
mod global;
mod order;
mod permute;
mod plan;
mod prior;
mod ranks;
mod robust;
mod shape;
mod single_calls;
mod smooth;
mod special;
mod squeeze;
mod tails;
mod variance;
mod verdict;
mod welch;

#[cfg(test)]
mod tests;

use std::f64::consts::LN_2;

pub use adjust::{adjust_bh, adjust_by};
pub use bootstrap::{Block, Interval, block_bootstrap_ratio, effective_sample_size};
pub use calibration::{Calibration, Change, Noise};
pub(crate) use order::median;
pub use permute::permutation_p;
pub use plan::Plan;
pub use ranks::{Shift, hodges_lehmann, mann_whitney_exact};
pub use tails::{Distribution, TAIL_PERCENT, TAIL_RUNS_MIN, tail_interval};
pub use variance::Components;
pub use verdict::selected_level;
pub use welch::ratio_of_runs;

use dealt::Rule;
use design::{Contrast, Layout};
use order::Weighted;
use special::Quantiles;
use verdict::{Estimate, Replication};

/// Which run belongs to which block, on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Design {
    /// The block (boot, host, day) of each run before, numbered within its side.
    pub before: Vec<u32>,
    /// The same of each run after.
    pub after: Vec<u32>,
    /// Whether block *i* of both sides was measured together, as interleaved runs are: then their
    /// difference is one measurement, and what they have in common cancels.
    pub paired: bool,
}

/// The correction for multiple tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Correction {
    /// Benjamini and Hochberg (1995): functions are independent, or vary together.
    #[default]
    BenjaminiHochberg,
    /// Benjamini and Yekutieli (2001): any dependence, at the price of a factor of about ln n.
    BenjaminiYekutieli,
}

/// Margin, error rates and correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The margin of equivalence, as a ratio minus 1.
    pub margin: f64,
    /// The false discovery rate.
    pub fdr: f64,
    /// The correction for multiple tests.
    pub correction: Correction,
    /// Whether the run-wide change is removed first.
    pub normalize: bool,
    /// The relative resolution of the clock: no smaller deviation is meaningful.
    pub resolution_floor: f64,
    /// Runs per side that a function must be seen in.
    pub runs_min: usize,
    /// Blocks per side that a function must be seen in, where blocks are what is compared.
    pub blocks_min: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            margin: 0.05,
            fdr: 0.05,
            correction: Correction::BenjaminiHochberg,
            normalize: false,
            resolution_floor: 0.001,
            runs_min: 3,
            blocks_min: 2,
        }
    }
}

/// One function: a number for each run of either side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Binary logarithm of what was measured in each run before; NaN where the function is absent.
    pub before: Vec<f64>,
    /// The same for each run after.
    pub after: Vec<f64>,
    /// Mean binary logarithm of its calls in a run: rare functions are noisier.
    pub intensity: f64,
    /// The change of it that does not matter, as a ratio less 1, unless it is that of the options.
    pub margin: Option<f64>,
    /// What its single calls say of those numbers.
    pub within: WithinRuns,
}

/// What the calls within each run say of the number that the run gives: before, and after. Empty
/// where single calls are not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WithinRuns {
    /// Variance of the number as the mean of its calls: a run with a call that something else
    /// interrupted says less of the function than the others do.
    pub variance: [Vec<f64>; 2],
    /// The number without the largest call of the run.
    pub without_largest: [Vec<f64>; 2],
    /// Whether the calls are a sample of what may be called, some of which takes much longer.
    pub is_mixture: bool,
}

impl Row {
    /// Its margin, as a binary logarithm.
    fn margin(&self, options: &Options) -> f64 {
        (1.0 + self.margin.unwrap_or(options.margin)).log2()
    }
}

/// The verdict on a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Slower by more than the margin.
    Regressed,
    /// Slower, with an estimate beyond the margin.
    Suspect,
    /// Faster by more than the margin.
    Improved,
    /// Not changed by more than the margin.
    Equivalent,
    /// Too much noise.
    Inconclusive,
    /// Too few runs to test.
    #[default]
    NotTested,
}

/// The measurements of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Their mean, a binary logarithm.
    pub mean: f64,
    /// Half the width of its 95 % interval, from these measurements alone.
    pub reach: f64,
    /// How many they are.
    pub n: u32,
}

impl Level {
    /// No measurement.
    const NONE: Self = Self { mean: f64::NAN, reach: f64::NAN, n: 0 };

    fn of(side: Weighted, quantiles: &mut Quantiles) -> Self {
        let n = side.n;
        if n == 0 {
            return Self::NONE;
        }
        let df = (n - 1) as f64;
        let reach = match n {
            1 => f64::NAN,
            _ => (side.squares / df / side.weight).sqrt() * quantiles.t(0.025, df),
        };
        Self { mean: side.mean, reach, n: n as u32 }
    }
}

/// What is known of the change of one function. Changes are binary logarithms of after ÷ before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// The change.
    pub estimate: f64,
    /// Its standard error, from the moderated variance.
    pub se: f64,
    /// Degrees of freedom of `se`.
    pub df: f64,
    /// `estimate` ÷ `se`.
    pub t: f64,
    /// Two-sided p-value of `t`.
    pub p: f64,
    /// `p`, corrected for the number of functions.
    pub q: f64,
    /// Chance of such an estimate where the function is slower by no more than the margin.
    pub p_regressed: f64,
    /// `p_regressed`, corrected for the number of functions.
    pub q_regressed: f64,
    /// Chance of such an estimate where the function is faster by no more than the margin.
    pub p_improved: f64,
    /// `p_improved`, corrected for the number of functions.
    pub q_improved: f64,
    /// Chance of such an estimate where the function changed by more than the margin.
    pub p_equivalent: f64,
    /// `p_equivalent`, corrected for the number of functions.
    pub q_equivalent: f64,
    /// Estimated share of false discoveries among the changes at least as significant, by
    /// permutation; NaN if no test reports it as changed.
    pub q_dealt: f64,
    /// How much of the error rate is for it, among all measures: 1 on average.
    pub weight: f64,
    /// Whether it would have been called changed, had not the permutations shown such changes by chance.
    pub retracted: bool,
    /// Whether it would have been called changed, but for what single calls account for.
    pub single_call: bool,
    /// The change that does not matter.
    pub margin: f64,
    /// What the measurements of either side say on their own.
    pub sides: [Level; 2],
    /// Lower end of the 95 % interval of the change.
    pub ci_low: f64,
    /// Upper end of it.
    pub ci_high: f64,
    /// Hodges and Lehmann's shift with its exact 95 % interval, which assume no distribution; given
    /// from 6 measurements per side.
    pub hodges_lehmann: Option<(f64, f64, f64)>,
    /// The exact p of Mann and Whitney (of Wilcoxon's signed ranks where runs are paired).
    pub p_ranks: Option<f64>,
    /// Whether the rank test disagrees with the means: inspect the runs.
    pub disagrees: bool,
    /// Whether one side is clearly more than twice as noisy as the other.
    pub unequal_variance: bool,
    /// Whether the runs of a side are bimodal: the mean then describes neither mode.
    pub bimodal: bool,
    /// The minimum detectable change at a power of 80 %.
    pub mde: f64,
    /// Measurements per side (runs, or blocks where there are blocks) that would probably decide
    /// it, if a thousand would.
    pub runs_needed: Option<u32>,
    /// What is said of it.
    pub verdict: Verdict,
}

/// The run-wide change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Global {
    /// Median over functions of the change, as a binary logarithm.
    pub factor: f64,
    /// Lower end of its 95 % interval.
    pub ci_low: f64,
    /// Upper end of it.
    pub ci_high: f64,
    /// The p-value of the permutation test.
    pub p: f64,
    /// Chance of such a factor where it is no larger than the margin.
    pub p_regressed: f64,
    /// What is said of it; it is judged whether or not it was taken out.
    pub verdict: Verdict,
    /// Whether it was taken out before functions were tested.
    pub normalized: bool,
}

/// The prior of the variances of all functions.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Weight of it, in degrees of freedom; infinite where all functions are equally noisy.
    pub d0: f64,
    /// Its standard deviation (median over functions, where it has a trend).
    pub s0: f64,
    /// The standard deviation expected of each function that was tested; NaN for the others.
    pub trend: Vec<f64>,
}

/// What was counted as one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicate {
    /// Each run.
    Runs,
    /// Each block of runs.
    Blocks,
    /// Each pair of runs, or of blocks.
    Pairs,
}

impl Replicate {
    /// The name of several.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Blocks => "blocks",
            Self::Pairs => "pairs",
        }
    }
}

/// The verdicts on all functions.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One for each row, in their order.
    pub rows: Vec<Tested>,
    /// The run-wide change.
    pub global: Global,
    /// What their variances have in common.
    pub prior: Prior,
    /// What was counted as one measurement.
    pub replicate: Replicate,
    /// Whether each side has all its runs in one block, so that what the blocks differ in cannot be
    /// distinguished from what the builds differ in.
    pub confounded: bool,
    /// Where the variance is, where blocks hold several runs.
    pub components: Option<Components>,
    /// What more measurements would show, if there is anything to see.
    pub plan: Option<Plan>,
}

/// Chance that Student's t with `df` degrees of freedom exceeds `t`.
pub(super) fn t_upper(t: f64, df: f64) -> f64 {
    special::t_upper(t, df)
}

/// The part of an error rate for one of several looks at a growing sample, so that all of them
/// together spend no more than the rate (Lan and DeMets 1983, with Pocock's function).
pub fn spent(rate: f64, look: u32, looks: u32) -> f64 {
    let until = |look: u32| {
        let share = f64::from(look) / f64::from(looks.max(1));
        rate * (1.0 + (std::f64::consts::E - 1.0) * share).ln()
    };
    until(look) - until(look.saturating_sub(1))
}

/// Compares the two sides of every row.
///
/// # Panics
/// If a row has another number of runs than the design.
pub fn test(design: &Design, rows: &[Row], options: &Options) -> Outcome {
    let one = test_together(design, &[rows.to_vec()], options).pop();
    one.expect("there is an outcome for each measure")
}

/// What one measure says before anything is judged.
struct Measured {
    contrasts: Vec<Option<Contrast>>,
    variances: Vec<Option<Variance>>,
    global: Global,
    prior: Prior,
}

/// Compares the two sides of every row by several measures, an outcome each. What is usual is
/// learned for each measure; corrections and permutations are of all of them together, so that the shares of
/// false ones are those of everything that is reported.
///
/// # Panics
/// If a row has another number of runs than the design.
pub fn test_together(design: &Design, measures: &[Vec<Row>], options: &Options) -> Vec<Outcome> {
    let fits = |row: &Row| {
        row.before.len() == design.before.len() && row.after.len() == design.after.len()
    };
    assert!(measures.iter().flatten().all(fits), "a row has one value for each run of the design");
    let layout = Layout::new(design);
    let floor = options.resolution_floor / LN_2;
    let all: Vec<Measured> =
        measures.iter().map(|rows| measured(rows, &layout, floor, options)).collect();
    let contrasts: Vec<Option<&Contrast>> =
        all.iter().flat_map(|one| &one.contrasts).map(Option::as_ref).collect();
    let variances: Vec<Option<&Variance>> =
        all.iter().flat_map(|one| &one.variances).map(Option::as_ref).collect();
    let weights = weights(&all);
    let estimates: Vec<Option<Estimate>> = contrasts
        .iter()
        .zip(&variances)
        .zip(weights)
        .map(|((contrast, variance), weight)| {
            let (contrast, variance) = ((*contrast)?, (*variance)?);
            let se = (variance.post * contrast.unit).sqrt();
            let (change, margin) = (contrast.estimate, contrast.margin);
            Some(Estimate { change, se, df: variance.df, margin, weight })
        })
        .collect();
    let mut tested = verdict::judge(&estimates, options);
    let by_luck = |rule| dealt::false_share(rule, &tested, &contrasts, &variances, options);
    let by_luck = (by_luck(Rule::BeyondMargin), by_luck(Rule::NotZero));
    for (idx, row) in tested.iter_mut().enumerate() {
        verdict::reconsider(row, by_luck.0[idx], by_luck.1[idx], options);
        if let Some(contrast) = contrasts[idx] {
            verdict::without_single_calls(row, contrast);
        }
    }
    let level = verdict::level_in_force(&tested, options);
    let mut quantiles = Quantiles::default();
    for (idx, row) in tested.iter_mut().enumerate() {
        let (Some(contrast), Some(variance)) = (contrasts[idx], variances[idx]) else { continue };
        describe(row, contrast, floor);
        row.sides = contrast.levels.map(|side| Level::of(side, &mut quantiles));
        if matches!(row.verdict, Verdict::Inconclusive | Verdict::Suspect) {
            let now = replication(contrast, variance);
            row.runs_needed = verdict::runs_needed(row, &now, level, options, &mut quantiles);
        }
    }
    let mut rest = tested.into_iter();
    let outcome = |one: Measured| {
        let plan = plan::plan(&one.contrasts, &one.variances, level, options);
        Outcome {
            rows: rest.by_ref().take(one.contrasts.len()).collect(),
            global: one.global,
            prior: one.prior,
            replicate: layout.replicate,
            confounded: layout.confounded,
            components: variance::components(&one.contrasts, &layout, floor),
            plan,
        }
    };
    all.into_iter().map(outcome).collect()
}

/// The part of the error rate that is for the first measure, the others sharing the rest: what says
/// most of a function, and where a change is its own, is not to be hidden by what repeats it.
const FIRST_SHARE: f64 = 0.9;

/// The weight of each row of each measure.
fn weights(all: &[Measured]) -> Vec<f64> {
    let tested = |one: &Measured| one.contrasts.iter().flatten().count() as f64;
    let counts: Vec<f64> = all.iter().map(tested).collect();
    let (sum, others) = (counts.iter().sum::<f64>(), counts.iter().skip(1).sum::<f64>());
    let one = |at: usize| {
        let (share, n) =
            if at == 0 { (FIRST_SHARE, counts[0]) } else { (1.0 - FIRST_SHARE, others) };
        if counts[0] == 0.0 || others == 0.0 { 1.0 } else { share * sum / n }
    };
    let rows = all.iter().enumerate();
    rows.flat_map(|(at, measured)| std::iter::repeat_n(one(at), measured.contrasts.len())).collect()
}

fn measured(rows: &[Row], layout: &Layout, floor: f64, options: &Options) -> Measured {
    let contrasts_of = |rows: &[Row]| -> Vec<Option<Contrast>> {
        rows.iter().map(|row| design::contrast(row, layout, options)).collect()
    };
    let mut contrasts = contrasts_of(rows);
    let shifts = global::shifts(rows);
    let mut global = global::global(&contrasts, shifts.as_ref(), layout, options);
    if options.normalize
        && let Some(shifts) = &shifts
    {
        let mut level = rows.to_vec();
        global.normalized = global::normalize(&mut level, shifts);
        contrasts = contrasts_of(&level);
    }
    let intensities: Vec<f64> = rows.iter().map(|row| row.intensity).collect();
    let Moderated { rows: variances, prior } = moderate(&contrasts, &intensities, floor);
    Measured { contrasts, variances, global, prior }
}

/// How a function was measured, for what another number of measurements would change.
fn replication(contrast: &Contrast, variance: &Variance) -> Replication {
    let smaller = contrast.before.len().min(contrast.after.len());
    Replication {
        variance: variance.post,
        d0: variance.df - contrast.df,
        sides: if contrast.pairs.is_some() { 1.0 } else { 2.0 },
        n: smaller as u32,
    }
}

/// What assumes less than the verdict does, beside it.
fn describe(row: &mut Tested, contrast: &Contrast, floor: f64) {
    let margin = contrast.margin;
    let (before, after) = (&contrast.before, &contrast.after);
    row.unequal_variance = shape::unequal_variance(before, after, floor);
    row.bimodal = [before, after].iter().any(|side| shape::bimodal(side, floor, margin));
    let shift = match &contrast.pairs {
        Some(pairs) if pairs.len() >= RANKS_MIN => ranks::hodges_lehmann_of_pairs(pairs),
        None if before.len().min(after.len()) >= RANKS_MIN => hodges_lehmann(before, after),
        Some(_) | None => return,
    };
    row.hodges_lehmann = Some((shift.shift, shift.low, shift.high));
    row.p_ranks = Some(shift.p);
    let apart = row.estimate < shift.low - floor || row.estimate > shift.high + floor;
    let claimed = matches!(row.verdict, Verdict::Regressed | Verdict::Suspect | Verdict::Improved);
    row.disagrees = apart || claimed && shift.p > 0.05;
}

/// Observations per side required for rank tests.
const RANKS_MIN: usize = 6;

/// The moderated variance of one function.
struct Variance {
    post: f64,
    df: f64,
    /// The same where runs are permuted again.
    df_dealt: f64,
    /// What it was pulled towards, and with which weight.
    expected: f64,
    /// The weight where runs are permuted again.
    d0_dealt: f64,
    /// No variance is below this.
    least: f64,
}

impl Variance {
    /// The moderated variance for another sum of squares with `df` degrees of freedom.
    fn pulled(&self, squares: f64, df: f64) -> f64 {
        let d0 = self.d0_dealt;
        if d0.is_infinite() {
            return self.expected.max(self.least);
        }
        let squares = squares.max(self.least * df);
        ((squares + d0 * self.expected) / (df + d0)).max(self.least)
    }
}

struct Moderated {
    rows: Vec<Option<Variance>>,
    prior: Prior,
}

/// Moderates the variances of all functions.
///
/// The prior depends on the number of calls. With blocks of several runs, the covariate is the
/// within-block variance, which predicts the variance between blocks and is estimated from more
/// runs than there are blocks.
fn moderate(contrasts: &[Option<Contrast>], intensities: &[f64], floor: f64) -> Moderated {
    let tested: Vec<usize> = (0..contrasts.len()).filter(|&idx| contrasts[idx].is_some()).collect();
    let of = |value: &dyn Fn(&Contrast) -> f64| -> Vec<f64> {
        contrasts.iter().flatten().map(value).collect()
    };
    let least = floor * floor;
    let mut covariate: Vec<f64> = tested.iter().map(|&idx| intensities[idx]).collect();
    // Functions that vary within blocks are expected to vary between them, so few are outliers, and
    // winsorizing would underestimate the variance of the rest.
    let mut robust = true;
    let mut weight_max = None;
    let within_df = of(&|contrast| contrast.within.1);
    if within_df.iter().any(|df| *df > 0.0) {
        let within = of(&|contrast| contrast.within.0.max(least));
        let usual = squeeze::squeeze(&within, &within_df, Some(&covariate), false);
        covariate = usual.post.iter().map(|post| post.ln()).collect();
        robust = false;
        weight_max = Some(usual.df);
    }
    let variances = of(&|contrast| contrast.variance.max(least));
    let df = of(&|contrast| contrast.df);
    let mut squeezed = squeeze::squeeze(&variances, &df, Some(&covariate), robust);
    if let Some(weights) = weight_max {
        // The prior has at most the degrees of freedom of its covariate.
        squeezed.weigh_at_most(&weights, &variances, &df);
    }
    let mut rows: Vec<Option<Variance>> = contrasts.iter().map(|_| None).collect();
    let mut trend = vec![f64::NAN; contrasts.len()];
    for (position, &idx) in tested.iter().enumerate() {
        let d0_dealt = if robust { squeezed.d0_usual } else { squeezed.d0[position] };
        rows[idx] = Some(Variance {
            post: squeezed.post[position].max(least),
            df: squeezed.df[position],
            df_dealt: (df[position] + d0_dealt).min(squeezed.pooled),
            expected: squeezed.expected[position],
            d0_dealt,
            least,
        });
        trend[idx] = squeezed.expected[position].sqrt();
    }
    let s0 = median(&order::sorted(squeezed.expected.clone())).sqrt();
    Moderated { rows, prior: Prior { d0: squeezed.d0_usual, s0, trend } }
}
