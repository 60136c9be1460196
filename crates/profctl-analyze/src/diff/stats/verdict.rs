//! Changes and their errors to p-values, intervals and verdicts.

use super::adjust::adjust;
use super::design::Contrast;
use super::special::{Quantiles, t_quantile, t_upper};
use super::{Level, Options, Tested, Verdict, single_calls};

/// The chance with which a change of the size of `mde` would have been called.
pub(super) const POWER: f64 = 0.8;

/// Level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Observations per side above which no number is reported.
const RUNS_MAX: u32 = 1000;

/// An estimate to judge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) change: f64,
    pub(super) se: f64,
    pub(super) df: f64,
    /// The change that does not matter.
    pub(super) margin: f64,
    /// How much of the error rate is for it: 1 on average.
    pub(super) weight: f64,
}

impl Tested {
    /// A function about which nothing is known.
    pub(super) fn not_tested() -> Self {
        Self {
            estimate: f64::NAN,
            se: f64::NAN,
            df: f64::NAN,
            t: f64::NAN,
            p: f64::NAN,
            q: f64::NAN,
            p_regressed: f64::NAN,
            q_regressed: f64::NAN,
            p_improved: f64::NAN,
            q_improved: f64::NAN,
            p_equivalent: f64::NAN,
            q_equivalent: f64::NAN,
            q_dealt: f64::NAN,
            margin: f64::NAN,
            weight: 1.0,
            retracted: false,
            single_call: false,
            sides: [Level::NONE; 2],
            ci_low: f64::NAN,
            ci_high: f64::NAN,
            hodges_lehmann: None,
            p_ranks: None,
            disagrees: false,
            unequal_variance: false,
            bimodal: false,
            mde: f64::NAN,
            runs_needed: None,
            verdict: Verdict::NotTested,
        }
    }

    /// The interval that holds the change with chance `level`.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        if self.estimate.is_nan() {
            return (f64::NAN, f64::NAN);
        }
        let reach = self.se * t_quantile((1.0 - level) / 2.0, self.df);
        (self.estimate - reach, self.estimate + reach)
    }
}

/// Whether a function is picked out of the others, so that its interval has to be wider.
fn selected(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Regressed | Verdict::Suspect | Verdict::Improved)
}

/// The level at which the intervals of the selected functions (regressed, suspect, improved) are
/// wrong no more often than 5 in 100 of them: selection favors extreme estimates (Benjamini and
/// Yekutieli 2005).
pub fn selected_level(rows: &[Tested]) -> f64 {
    let tested = rows.iter().filter(|row| row.verdict != Verdict::NotTested).count();
    let picked = rows.iter().filter(|row| selected(row.verdict)).count();
    if picked == 0 {
        return CONFIDENCE;
    }
    1.0 - (1.0 - CONFIDENCE) * picked as f64 / tested as f64
}

/// Judges all estimates together.
pub(super) fn judge(estimates: &[Option<Estimate>], options: &Options) -> Vec<Tested> {
    let mut quantiles = Quantiles::default();
    let mut rows: Vec<Tested> = estimates
        .iter()
        .map(|estimate| match estimate {
            Some(known) => chances(*known, &mut quantiles),
            None => Tested::not_tested(),
        })
        .collect();
    let corrected = |of: fn(&Tested) -> f64| {
        // Weighted (Genovese, Roeder and Wasserman 2006).
        let weighted = rows.iter().map(|row| of(row) / row.weight);
        adjust(&weighted.collect::<Vec<_>>(), options.correction)
    };
    let (q, q_equivalent) = (corrected(|row| row.p), corrected(|row| row.p_equivalent));
    let (q_regressed, q_improved) =
        (corrected(|row| row.p_regressed), corrected(|row| row.p_improved));
    for (idx, row) in rows.iter_mut().enumerate() {
        row.q = q[idx];
        row.q_regressed = q_regressed[idx];
        row.q_improved = q_improved[idx];
        row.q_equivalent = q_equivalent[idx];
        if row.verdict != Verdict::NotTested {
            row.verdict = verdict(row, options.fdr);
        }
    }
    let level = level_in_force(&rows, options);
    for row in &mut rows {
        if row.verdict != Verdict::NotTested {
            let reach = quantiles.t(level, row.df) + quantiles.t(1.0 - POWER, row.df);
            row.mde = row.margin + row.se * reach;
        }
    }
    rows
}

/// The p-values and the interval of one estimate.
fn chances(known: Estimate, quantiles: &mut Quantiles) -> Tested {
    let Estimate { change: estimate, se, df, margin, weight } = known;
    let over = |distance: f64| chance(distance, se, df);
    let mut row = Tested {
        estimate,
        se,
        df,
        t: if estimate == 0.0 { 0.0 } else { estimate / se },
        p: (2.0 * over(estimate.abs())).min(1.0),
        p_regressed: over(estimate - margin),
        p_improved: over(-estimate - margin),
        p_equivalent: over(margin - estimate.abs()),
        margin,
        weight,
        verdict: Verdict::Inconclusive,
        ..Tested::not_tested()
    };
    let reach = se * quantiles.t((1.0 - CONFIDENCE) / 2.0, df);
    (row.ci_low, row.ci_high) = (estimate - reach, estimate + reach);
    row
}

/// The chance of an estimate that far above what is supposed.
pub(super) fn chance(distance: f64, se: f64, df: f64) -> f64 {
    // Without any noise a distance is infinitely many errors long, or none.
    let t = if se > 0.0 {
        distance / se
    } else if distance == 0.0 {
        0.0
    } else {
        f64::INFINITY.copysign(distance)
    };
    t_upper(t, df)
}

/// Takes back what noise like this one's calls changed by itself. The shares of false ones are those
/// among changes beyond the margin, and among those that are not zero.
pub(super) fn reconsider(row: &mut Tested, beyond_margin: f64, not_zero: f64, options: &Options) {
    row.q_dealt = if beyond_margin.is_nan() { not_zero } else { beyond_margin };
    if row.verdict == Verdict::NotTested {
        return;
    }
    let mut cautious = *row;
    // NaN: the rule did not call it changed, so there is nothing to take back.
    if beyond_margin > options.fdr {
        (cautious.q_regressed, cautious.q_improved) = (1.0, 1.0);
    }
    if not_zero > options.fdr {
        cautious.q = 1.0;
    }
    let claimed = row.verdict;
    row.verdict = verdict(&cautious, options.fdr);
    row.retracted = selected(claimed) && !selected(row.verdict);
}

/// Withdraws a change that single calls account for.
pub(super) fn without_single_calls(row: &mut Tested, contrast: &Contrast) {
    let paired = contrast.pairs.is_some();
    let n = contrast.named.len();
    let truth: Vec<bool> = (0..n).map(|at| !paired && at >= contrast.n_before).collect();
    if selected(row.verdict) && single_calls::account_for(contrast, row.estimate, &truth) {
        row.verdict = Verdict::Inconclusive;
        row.single_call = true;
    }
}

fn verdict(row: &Tested, fdr: f64) -> Verdict {
    if row.q_regressed <= fdr {
        Verdict::Regressed
    } else if row.q_improved <= fdr {
        Verdict::Improved
    } else if row.q <= fdr && row.estimate > row.margin {
        Verdict::Suspect
    } else if row.q_equivalent <= fdr {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    }
}

/// The level that one function had to pass among all the others: that of the last one that passed,
/// or of a first one.
pub(super) fn level_in_force(rows: &[Tested], options: &Options) -> f64 {
    let tested = rows.iter().filter(|row| row.verdict != Verdict::NotTested).count().max(1);
    let first = options.fdr / tested as f64;
    rows.iter()
        .filter(|row| row.verdict == Verdict::Regressed)
        .map(|row| row.p_regressed)
        .fold(first, f64::max)
        .min(0.5)
}

/// How many measurements per side would probably settle an open case: show a change that is beyond
/// the margin at the `level` in force, or that one within it is.
pub(super) fn runs_needed(
    row: &Tested,
    now: &Replication,
    level: f64,
    options: &Options,
    quantiles: &mut Quantiles,
) -> Option<u32> {
    let margin = row.margin;
    let size = row.estimate.abs();
    let level = if size > margin { level } else { options.fdr };
    let mut enough = |n: u32| {
        let n = f64::from(n);
        let df = now.d0 + now.sides * (n - 1.0);
        let se = (now.variance * now.sides / n).sqrt();
        se * (quantiles.t(level, df) + quantiles.t(1.0 - POWER, df)) <= (size - margin).abs()
    };
    let (mut low, mut high) = (now.n.max(1), RUNS_MAX);
    if !enough(high) {
        return None;
    }
    while low + 1 < high {
        let middle = u32::midpoint(low, high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// What another number of measurements would change.
pub(super) struct Replication {
    /// Variance of one measurement.
    pub(super) variance: f64,
    /// Degrees of freedom that do not come from measurements.
    pub(super) d0: f64,
    /// 2 where each side has its own measurements, 1 where a measurement is a pair.
    pub(super) sides: f64,
    /// Measurements on the smaller side now.
    pub(super) n: u32,
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;

    /// As many as scipy's quantiles of Student's t ask for.
    #[test]
    fn as_many_runs_are_asked_for_as_are_needed() {
        let options = Options::default();
        let margin = 1.05_f64.log2();
        for (estimate, level, expected) in [
            (0.2, 0.004, Some(16)),
            (0.1, 0.004, Some(281)),
            (-0.2, 0.004, Some(16)),
            // Within the margin, it is the rate itself that counts.
            (0.01, 0.004, Some(35)),
            (0.0703, 0.004, None),
        ] {
            let row = Tested { estimate, margin, ..Tested::not_tested() };
            let now = Replication { variance: 0.01, d0: 6.0, sides: 2.0, n: 3 };
            let found = runs_needed(&row, &now, level, &options, &mut Quantiles::default());
            assert_eq!(found, expected, "{estimate}");
        }
        // Without a prior, the few degrees of freedom of few runs matter.
        for (estimate, sides, expected) in [(0.3, 2.0, 7), (0.5, 2.0, 4), (0.4, 1.0, 5)] {
            let row = Tested { estimate, margin, ..Tested::not_tested() };
            let now = Replication { variance: 0.01, d0: 0.0, sides, n: 1 };
            let found = runs_needed(&row, &now, 0.004, &options, &mut Quantiles::default());
            assert_eq!(found, Some(expected), "{estimate}");
        }
    }

    #[test]
    fn the_level_is_that_of_the_last_that_passed() {
        let row = |verdict, p_regressed| Tested { p_regressed, verdict, ..Tested::not_tested() };
        let level = |rows: &[Tested]| level_in_force(rows, &Options::default());
        let open = row(Verdict::Inconclusive, 0.9);
        assert_eq!(level(&[]), 0.05);
        assert_eq!(level(&[open, open, row(Verdict::NotTested, f64::NAN)]), 0.025);
        assert_eq!(level(&[row(Verdict::Regressed, 0.04), open, open, open]), 0.04);
        assert_eq!(level(&[row(Verdict::Regressed, 0.001), open, open, open]), 0.0125);
    }

    /// The chances of `scipy.stats.t.sf`, divided by the weights and corrected by
    /// `scipy.stats.false_discovery_control`.
    #[test]
    fn chances_and_intervals_are_those_of_scipy() {
        let estimate = |change, se, weight| {
            Some(Estimate { change, se, df: 7.0, margin: 1.05_f64.log2(), weight })
        };
        let rows = judge(
            &[
                estimate(0.30, 0.05, 1.5),
                estimate(0.12, 0.03, 1.5),
                None,
                estimate(0.01, 0.02, 1.5),
                estimate(-0.25, 0.05, 0.25),
                estimate(0.02, 0.04, 0.25),
            ],
            &Options::default(),
        );
        let (first, second, calm, last) = (&rows[0], &rows[1], &rows[3], &rows[5]);
        for (found, expected) in [
            (first.t, 6.0),
            (first.p, 0.000_542_258_342_002_810_7),
            (first.q, 0.001_807_527_806_676_035_6),
            (first.p_regressed, 0.001_253_595_126_424_544_8),
            (first.q_regressed, 0.004_178_650_421_415_149),
            (rows[4].p_improved, 0.004_415_511_621_379_447_5),
            (rows[4].q_improved, 0.088_310_232_427_588_95),
            (second.q_regressed, 0.118_473_153_563_973_2),
            (calm.p_equivalent, 0.009_700_464_572_132_373),
            (calm.q_equivalent, 0.032_334_881_907_107_91),
            (last.q, 1.0),
            (last.q_equivalent, 0.832_288_670_727_979_6),
            // The margin, and `t.isf(0.01, 7) + t.isf(0.2, 7)` standard errors.
            (first.mde, 0.265_088_388_450_512_7),
            (second.mde, 0.187_208_764_226_866_8),
            (first.ci_low, 0.181_768_787_420_360_76),
            (first.ci_high, 0.418_231_212_579_639_24),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        }
        let (low, high) = first.interval(0.95);
        assert!((low - first.ci_low).abs() < 1e-12 && (high - first.ci_high).abs() < 1e-12);
        assert!(rows[2].q.is_nan() && rows[2].mde.is_nan());
        let said: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
        let (suspect, open) = (Verdict::Suspect, Verdict::Inconclusive);
        let expected =
            [Verdict::Regressed, suspect, Verdict::NotTested, Verdict::Equivalent, open, open];
        assert_eq!(said, expected);
        // Two of five are selected.
        assert!((selected_level(&rows) - 0.98).abs() < 1e-12, "{}", selected_level(&rows));
    }

    #[test]
    fn without_noise_a_distance_is_certain() {
        let found = [0.0, 1e-300, -1e-300].map(|distance| chance(distance, 0.0, 5.0));
        assert_eq!(found, [0.5, 0.0, 1.0]);
    }

    #[test]
    fn what_chance_explains_is_taken_back() {
        let found = |row: &Tested, beyond_margin, not_zero| {
            let mut row = *row;
            reconsider(&mut row, beyond_margin, not_zero, &Options::default());
            (row.verdict, row.retracted, row.q_dealt)
        };
        let slow = Tested {
            estimate: 0.2,
            margin: 0.07,
            q: 0.01,
            q_regressed: 0.02,
            q_improved: 1.0,
            q_equivalent: 1.0,
            verdict: Verdict::Regressed,
            ..Tested::not_tested()
        };
        let (regressed, suspect, open) =
            (Verdict::Regressed, Verdict::Suspect, Verdict::Inconclusive);
        // No more than the rate is allowed.
        assert_eq!(found(&slow, 0.05, 0.05), (regressed, false, 0.05));
        assert_eq!(found(&slow, 0.06, 0.05), (suspect, false, 0.06));
        assert_eq!(found(&slow, 0.06, 0.07), (open, true, 0.06));
        assert_eq!(found(&slow, 0.01, 0.07), (regressed, false, 0.01));
        let maybe = Tested { q_regressed: 0.3, verdict: suspect, ..slow };
        assert_eq!(found(&maybe, f64::NAN, 0.05), (suspect, false, 0.05));
        assert_eq!(found(&maybe, f64::NAN, 0.07), (open, true, 0.07));
        let near = Tested { estimate: 0.07, q: 0.01, q_regressed: 0.3, verdict: open, ..slow };
        assert_eq!(found(&near, f64::NAN, 0.01), (open, false, 0.01), "no more than the margin");
    }
}
