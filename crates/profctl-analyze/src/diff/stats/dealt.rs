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
