//! The number of findings under permutation of the runs between the sides.
//!
//! A p-value depends on its model: runs that flip between two states, all on one side by chance,
//! look certain to it. Permuting the measurements again (Tusher, Tibshirani and Chu 2001) keeps
//! whatever noise they have, and what functions have in common, and so tells how many alarms such
//! noise raises by itself.
//!
//! A function that the true sides show as unusually noisy leans less on the prior. In another deal
//! the same runs may look calm, and a caller that tested that deal would let it lean on the prior like any
//! other: so the weight of the prior in permutations is that of a usual function.

use std::cmp::Ordering;

use super::design::Contrast;
use super::special::{Quantiles, t_upper};
use super::{Options, Tested, Variance, single_calls};
use crate::random::Random;

/// Permutations up to which all are tried: 5 runs per side.
const ALL_DEALS_MAX: f64 = 252.0;

/// Observations up to which all permutations are enumerated.
const ALL_MEASUREMENTS_MAX: usize = 16;

/// Random permutations that are tried if there are more.
const TRIALS: usize = 250;

const SEED: u64 = 1;

/// The part of the permutations that may be omitted, those with the most alarms.
const LEFT_OUT: f64 = 0.1;

/// How many alarms such a deal exceeds, and how many times as many as usual.
const STANDS_OUT: (usize, usize) = (10, 5);

/// How much chances may differ and be equal: runs that measure the same make permutations that differ in
/// nothing but the order of sums, and that must not decide.
const TIE: f64 = 1.0 + 1e-9;

/// What counts as a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Beyond the margin, as certain as that.
    BeyondMargin,
    /// Not zero, and estimated to be beyond the margin.
    NotZero,
}

impl Rule {
    /// Directions in which it looks at once.
    fn sides(self) -> f64 {
        match self {
            Self::BeyondMargin => 1.0,
            Self::NotZero => 2.0,
        }
    }

    /// Number of directions searched per direction counted. Changes beyond the margin are reported
    /// in both directions, and a comparison of equal builds should report none; suspects are
    /// slowdowns only.
    fn directions(self) -> f64 {
        match self {
            Self::BeyondMargin => 1.0,
            Self::NotZero => 2.0,
        }
    }

    /// The chance, as its weight makes it compare with that of others.
    fn p(self, row: &Tested) -> f64 {
        let p = match self {
            Self::BeyondMargin => row.p_regressed.min(row.p_improved),
            Self::NotZero => row.p,
        };
        p / row.weight
    }

    fn q(self, row: &Tested) -> f64 {
        match self {
            Self::BeyondMargin => row.q_regressed.min(row.q_improved),
            Self::NotZero => row.q,
        }
    }
}

/// For each function that `rule` makes an alarm: the estimated share of false ones among the
/// findings that are at least as significant. NaN for the others.
pub(super) fn false_share(
    rule: Rule,
    rows: &[Tested],
    contrasts: &[Option<&Contrast>],
    variances: &[Option<&Variance>],
    options: &Options,
) -> Vec<f64> {
    let mut shares = vec![f64::NAN; rows.len()];
    let mut alarms: Vec<usize> = (0..rows.len())
        .filter(|&idx| {
            rule.q(&rows[idx]) <= options.fdr && rows[idx].estimate.abs() > rows[idx].margin
        })
        .collect();
    alarms.sort_by(|&a, &b| rule.p(&rows[a]).total_cmp(&rule.p(&rows[b])));
    let Some(&last) = alarms.last() else { return shares };
    let level = rule.p(&rows[last]);
    // A single finding would be reported up to here: what permutations give of other functions up to
    // here is reported as often, however much more significant this one is by chance. A function that
    // changed is no noise under permutation, and counts only as far as it is as significant.
    let tested = contrasts.iter().flatten().count().max(1);
    let alone = options.fdr / tested as f64;
    let is_alarm: Vec<bool> = (0..rows.len()).map(|idx| alarms.contains(&idx)).collect();
    let known: Vec<(&Contrast, &Variance)> = contrasts
        .iter()
        .zip(variances)
        .filter_map(|(contrast, variance)| Some(((*contrast)?, (*variance)?)))
        .collect();
    let of_known = (0..rows.len()).filter(|&at| contrasts[at].is_some() && variances[at].is_some());
    let weights: Vec<(f64, bool)> = of_known.map(|at| (rows[at].weight, is_alarm[at])).collect();
    let deals = deals(&known);
    if deals.is_empty() {
        return shares;
    }
    // The chances, in both directions, of all alarms that reach as far as the last, deal by deal.
    let mut of_deals: Vec<Vec<(f64, bool)>> = vec![Vec::new(); deals.len()];
    let mut quantiles = Quantiles::default();
    for ((contrast, variance), (weight, is_alarm)) in known.into_iter().zip(weights) {
        let level = if is_alarm { level } else { level.max(alone) };
        let margin = contrast.margin;
        let df = variance.df_dealt;
        let critical = quantiles.t((TIE * level * weight / rule.sides()).min(0.5), df);
        for (deal, by_luck) in deals.iter().zip(&mut of_deals) {
            let Some((change, se)) = dealt(contrast, variance, deal) else { continue };
            let distance = match rule {
                Rule::BeyondMargin => change.abs() - margin,
                Rule::NotZero if change.abs() <= margin => continue,
                Rule::NotZero => change.abs(),
            };
            // What would be withdrawn is no alarm.
            if distance >= critical * se && !single_calls::account_for(contrast, change, deal) {
                by_luck.push((rule.sides() * t_upper(distance / se, df) / weight, is_alarm));
            }
        }
    }
    // Where half of the runs share what the others have not (a boot, an hour), the deal that tells
    // the halves apart changes many functions at once, and tells nothing of the chance of one.
    of_deals.sort_by_key(Vec::len);
    let usual = of_deals[of_deals.len() / 2].len();
    let most = STANDS_OUT.0.max(STANDS_OUT.1 * usual);
    let least_kept = of_deals.len() - (LEFT_OUT * of_deals.len() as f64).ceil() as usize;
    let n_deals = of_deals.partition_point(|of| of.len() <= most).max(least_kept);
    of_deals.truncate(n_deals);
    let by_luck: Vec<(f64, bool)> = of_deals.into_iter().flatten().collect();
    let of_kind = |kind: bool| -> Vec<f64> {
        let of_kind = by_luck.iter().filter(|(_, is_alarm)| *is_alarm == kind);
        let mut chances: Vec<f64> = of_kind.map(|(chance, _)| *chance).collect();
        chances.sort_by(f64::total_cmp);
        chances
    };
    let (of_alarms, of_others) = (of_kind(true), of_kind(false));
    let n_deals = n_deals.max(1);
    let mut least = 1.0_f64;
    for &idx in alarms.iter().rev() {
        let p = TIE * rule.p(&rows[idx]);
        let up = rows[idx].estimate > 0.0;
        let as_striking = alarms
            .iter()
            .filter(|&&other| rule.p(&rows[other]) <= p && (rows[other].estimate > 0.0) == up)
            .count();
        let up_to = |chances: &[f64], p: f64| chances.partition_point(|chance| *chance <= p) as f64;
        let lucky = up_to(&of_alarms, p) + up_to(&of_others, p.max(TIE * alone));
        let lucky = lucky / rule.directions();
        least = least.min(lucky / n_deals as f64 / as_striking as f64);
        shares[idx] = least;
    }
    shares
}

/// Which observations are assigned to one side, or which pairs are swapped.
type Deal = Vec<bool>;

/// All permutations, or a random sample, without the true one and its mirror image.
fn deals(known: &[(&Contrast, &Variance)]) -> Vec<Deal> {
    let Some((first, _)) = known.first() else { return Vec::new() };
    let n = first.named.len();
    let paired = first.pairs.is_some();
    // Permutations differ in the observations of the smaller side.
    let chosen = first.n_before.min(n - first.n_before);
    let truth: Deal = (0..n).map(|at| !paired && at >= first.n_before).collect();
    let ways = if paired {
        (n as f64).exp2()
    } else {
        (1..=chosen).map(|k| (n - chosen + k) as f64 / k as f64).product()
    };
    let deals: Vec<Deal> = if ways <= ALL_DEALS_MAX && n <= ALL_MEASUREMENTS_MAX {
        (0..1_u32 << n)
            .filter(|bits| paired || bits.count_ones() as usize == chosen)
            .map(|bits| (0..n).map(|at| bits >> at & 1 == 1).collect())
            .collect()
    } else {
        let order = canonical(known, n, paired);
        let mut random = Random(SEED);
        (0..TRIALS).map(|_| one_deal(&order, (!paired).then_some(chosen), &mut random)).collect()
    };
    let mirror = |deal: &Deal| deal.iter().zip(&truth).all(|(dealt, truth)| dealt != truth);
    deals.into_iter().filter(|deal| *deal != truth && !mirror(deal)).collect()
}

/// A random permutation: of `chosen` observations, or of any number of pairs.
fn one_deal(order: &[usize], chosen: Option<usize>, random: &mut Random) -> Deal {
    let mut deal = vec![false; order.len()];
    let Some(chosen) = chosen else {
        for &at in order {
            deal[at] = random.next_u64() >> 63 == 1;
        }
        return deal;
    };
    let mut left = order.to_vec();
    for _ in 0..chosen {
        deal[left.swap_remove(random.below(left.len()))] = true;
    }
    deal
}

/// The observations in the order of their values, so that permutations do not depend on their order
/// or side.
fn canonical(known: &[(&Contrast, &Variance)], n: usize, paired: bool) -> Vec<usize> {
    let value = |contrast: &Contrast, at: usize| {
        let value = contrast.named[at].unwrap_or(f64::NAN);
        if paired { value.abs() } else { value }
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| {
        let unlike = |(contrast, _): &(&Contrast, &Variance)| {
            value(contrast, a).total_cmp(&value(contrast, b))
        };
        known.iter().map(unlike).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    order
}

/// The change under a permutation, and its standard error.
fn dealt(contrast: &Contrast, variance: &Variance, deal: &Deal) -> Option<(f64, f64)> {
    let mut sums = [(0.0, 0.0); 2];
    let mut squares = 0.0;
    for ((value, weight), &side) in contrast.named.iter().zip(&contrast.weights).zip(deal) {
        let Some(value) = value else { continue };
        // Around the middle, where squares lose no digits.
        let value = if contrast.pairs.is_some() { *value } else { value - contrast.middle };
        squares += weight * value * value;
        let sum = &mut sums[usize::from(side)];
        *sum = (sum.0 + weight * value, sum.1 + weight);
    }
    let [(off, n_off), (on, n_on)] = sums;
    let (change, unit, rest) = if contrast.pairs.is_some() {
        let n = n_off + n_on;
        let change = (off - on) / n;
        (change, n.recip(), squares - n * change * change)
    } else {
        if n_off == 0.0 || n_on == 0.0 {
            return None;
        }
        let change = on / n_on - off / n_off;
        (change, n_on.recip() + n_off.recip(), squares - on * on / n_on - off * off / n_off)
    };
    Some((change, (variance.pulled(rest.max(0.0), contrast.df) * unit).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::stats::design::{Layout, contrast};
    use crate::diff::stats::verdict::{Estimate, judge};
    use crate::diff::stats::{Design, Row, WithinRuns};

    /// A contrast of so many measurements, or pairs, all of them known.
    fn of_size(n_before: usize, n_after: usize) -> Contrast {
        let named = vec![Some(0.0); n_before + n_after];
        let pairs = (n_after == 0).then(Vec::new);
        Contrast { weights: vec![1.0; named.len()], named, n_before, pairs, ..Contrast::default() }
    }

    fn prior(df: f64) -> Variance {
        let (expected, d0_dealt, least) = (1e-4, 12.0, 4e-6);
        Variance { post: 0.0, df: 0.0, df_dealt: df + d0_dealt, expected, d0_dealt, least }
    }

    #[test]
    fn all_deals_are_tried_where_they_are_few() {
        // The ways to choose the smaller side, without the true one and its mirror image.
        for (n_before, n_after, chosen, expected) in [
            (2, 3, 2, 9),
            (3, 2, 2, 9),
            (3, 3, 3, 18),
            (5, 5, 5, 250),
            (2, 12, 2, 90),
            (1, 15, 1, 15),
        ] {
            let (contrast, variance) = (of_size(n_before, n_after), prior(4.0));
            let mut found = deals(&[(&contrast, &variance)]);
            let what = format!("{n_before} and {n_after}");
            let truth: Deal = (0..n_before + n_after).map(|at| at >= n_before).collect();
            let mirror: Deal = truth.iter().map(|side| !side).collect();
            assert!(!found.contains(&truth) && !found.contains(&mirror), "{what}");
            let sizes = found.iter().map(|deal| deal.iter().filter(|&&side| side).count());
            assert!(sizes.into_iter().all(|size| size == chosen), "{what}");
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), expected, "{what}");
        }
        for (n_pairs, expected) in [(3, 6), (7, 126)] {
            let (contrast, variance) = (of_size(n_pairs, 0), prior(4.0));
            let mut found = deals(&[(&contrast, &variance)]);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), expected, "{n_pairs} pairs");
        }
    }

    #[test]
    fn some_deals_are_tried_where_they_are_many() {
        for (n_before, n_after) in [(6, 6), (1, 16), (8, 0), (20, 0)] {
            let (contrast, variance) = (of_size(n_before, n_after), prior(4.0));
            let found = deals(&[(&contrast, &variance)]);
            let n = n_before + n_after;
            let what = format!("{n_before} and {n_after}");
            assert!((200..=TRIALS).contains(&found.len()), "{what}: {}", found.len());
            // Each is on either side as often as on the other, or as sides are large.
            let share = if n_after == 0 { 0.5 } else { n_before as f64 / n as f64 };
            for at in 0..n {
                let on = found.iter().filter(|deal| deal[at]).count() as f64;
                let mean = found.len() as f64 * share;
                let sd = (mean * (1.0 - share)).sqrt();
                assert!((on - mean).abs() < 4.0 * sd, "{what}: {on} of {at}");
            }
        }
    }

    const CHANGES: [f64; 4] = [0.34, 0.16, -0.25, 0.12];

    /// The functions of `tests/golden/permutations.py`.
    fn rows(n: usize, n_functions: usize, kind: &str) -> Vec<Row> {
        let value = |function: usize, run: usize| {
            let random = function * function * 7919 + run * 104_729 + function * run * run * 31;
            let random = (random % 101) as f64 / 101.0 - 0.5;
            let change = CHANGES.get(function).filter(|_| run >= n).unwrap_or(&0.0);
            let (size, pattern) = match kind {
                _ if function < 4 => (0.02, 0),
                "noisy" => (0.25, 0),
                "both" if function >= 16 => (0.25, 0),
                "many" => (0.02, 0b1001_0110_1100 >> (function % 5)),
                _ => (0.02, 0b0101_1010),
            };
            let is_slow = pattern >> (run % 8) & 1 == 1;
            let is_known = (function, run) != (7, 2);
            let value = size * random + change + if is_slow { 0.2 } else { 0.0 };
            if is_known { value } else { f64::NAN }
        };
        let row = |function: usize| {
            let of = |from: usize| (from..from + n).map(|run| value(function, run)).collect();
            let is_vague = |run: usize| function % 5 == 1 && run == function % 8;
            let variance = [0, n]
                .map(|from| (from..from + n).map(|run| if is_vague(run) { 4.0 } else { 1.0 }));
            Row {
                before: of(0),
                after: of(n),
                within: WithinRuns {
                    variance: variance.map(Iterator::collect),
                    ..WithinRuns::default()
                },
                ..Row::default()
            }
        };
        (0..n_functions).map(row).collect()
    }

    fn contrasts(rows: &[Row], n: usize, paired: bool) -> Vec<Contrast> {
        let layout = Layout::new(&Design { paired, ..Design::of_runs(n, n) });
        let options = Options { runs_min: 2, ..Options::default() };
        rows.iter().map(|row| contrast(row, &layout, &options).unwrap()).collect()
    }

    #[test]
    fn changes_of_a_deal_are_those_of_numpy() {
        for (function, on, paired, change, se) in [
            (
                6,
                [0, 1, 4, 5].as_slice(),
                false,
                -0.041_936_405_178_979_43,
                0.028_845_653_468_407_75,
            ),
            (7, &[0, 3, 4], false, 0.076_938_943_894_389_43, 0.026_567_218_371_033_773),
            (6, &[0, 3], true, 0.017_035_527_082_119_97, 0.025_395_009_628_199_943),
            (7, &[0, 3], true, -0.036_303_630_363_036_3, 0.031_510_604_831_660_19),
        ] {
            let contrast = &contrasts(&rows(4, 8, "noisy"), 4, paired)[function];
            let deal: Deal = (0..contrast.named.len()).map(|at| on.contains(&at)).collect();
            let found = dealt(contrast, &prior(contrast.df), &deal).unwrap();
            let what = format!("{function}, {on:?}: {found:?}");
            assert!((found.0 - change).abs() < 1e-14 && (found.1 - se).abs() < 1e-14, "{what}");
        }
        let mut one_sided = of_size(2, 2);
        one_sided.named[..2].fill(None);
        let deal = [false, false, true, true];
        assert_eq!(dealt(&one_sided, &prior(1.0), &deal.to_vec()), None);
        assert_eq!(dealt(&one_sided, &prior(1.0), &deal.map(|side| !side).to_vec()), None);
    }

    /// The shares expected are those of `tests/golden/permutations.py`.
    #[test]
    fn shares_of_false_ones_are_those_of_scipy() {
        let (beyond, zero) = (Rule::BeyondMargin, Rule::NotZero);
        let changed = |share: f64| [0, 1, 2, 3].map(|function| (function, share)).to_vec();
        let and = |share: f64, others: &[(usize, f64)]| [&changed(share), others].concat();
        for (paired, n, n_functions, kind, rule, expected) in [
            (false, 4, 90, "noisy", beyond, and(0.095_588_235, &[(36, 0.095_588_235)])),
            // Two assignments have more findings than others, and are as good as these.
            (
                false,
                4,
                44,
                "both",
                zero,
                and(
                    0.235_294_118,
                    &[
                        (16, 0.255_882_353),
                        (17, 0.325_980_392),
                        (26, 0.255_882_353),
                        (36, 0.235_294_118),
                        (40, 0.325_980_392),
                    ],
                ),
            ),
            (false, 3, 20, "noisy", beyond, changed(0.037_037_037)),
            (
                false,
                3,
                20,
                "noisy",
                zero,
                and(0.259_259_259, &[(14, 0.351_851_852), (18, 0.351_851_852)]),
            ),
            (true, 5, 24, "noisy", beyond, changed(0.022_222_222)),
            (
                true,
                5,
                24,
                "noisy",
                zero,
                and(0.188_888_889, &[(6, 0.211_111_111), (7, 0.211_111_111), (14, 0.225)]),
            ),
            // Two assignments have many findings and are omitted, then more than may be.
            (false, 4, 24, "few", beyond, changed(0.0)),
            (false, 4, 24, "few", zero, changed(0.060_606_061)),
            (false, 4, 60, "many", beyond, changed(0.043_010_753)),
            (false, 4, 60, "many", zero, changed(0.357_923_497)),
        ] {
            let options = Options::default();
            let contrasts = contrasts(&rows(n, n_functions, kind), n, paired);
            let variances: Vec<Variance> =
                contrasts.iter().map(|contrast| prior(contrast.df)).collect();
            let estimate = |(at, (contrast, variance)): (usize, (&Contrast, &Variance))| {
                let post = variance.pulled(contrast.variance * contrast.df, contrast.df);
                Some(Estimate {
                    change: contrast.estimate,
                    se: (post * contrast.unit).sqrt(),
                    df: variance.df_dealt,
                    margin: contrast.margin,
                    weight: [1.8, 0.2][at % 2],
                })
            };
            let estimates: Vec<Option<Estimate>> =
                contrasts.iter().zip(&variances).enumerate().map(estimate).collect();
            let judged = judge(&estimates, &options);
            let contrasts: Vec<Option<&Contrast>> = contrasts.iter().map(Some).collect();
            let variances: Vec<Option<&Variance>> = variances.iter().map(Some).collect();
            let shares = false_share(rule, &judged, &contrasts, &variances, &options);
            let what = format!("{paired}, {n}, {kind}, {rule:?}");
            for (function, share) in shares.into_iter().enumerate() {
                match expected.iter().find(|(expected, _)| *expected == function) {
                    Some((_, expected)) => {
                        let found = (share - expected).abs() < 1e-9;
                        assert!(found, "{what}: {share} of {function}, not {expected}");
                    }
                    None => assert!(share.is_nan(), "{what}: {share} of {function}"),
                }
            }
        }
    }
}
