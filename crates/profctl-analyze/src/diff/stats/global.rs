//! The run-wide change of all functions: clock, machine, or a change that affects every function.

use super::design::{Contrast, Layout, contrast};
use super::order::{mean, median, sorted};
use super::permute::{permutation_p, sign_flip_p};
use super::special::t_quantile;
use super::verdict::chance;
use super::{Global, Options, Row, Verdict};

/// Functions needed to estimate the shift of a run by their median.
const FUNCTIONS_MIN: usize = 20;

/// How far each run lies from the middle of the runs, as the median over functions.
pub(super) fn shifts(rows: &[Row]) -> Option<Row> {
    let first = rows.first()?;
    let (n_before, n_after) = (first.before.len(), first.after.len());
    let mut of_run = vec![Vec::new(); n_before + n_after];
    for row in rows {
        let values: Vec<f64> = row.before.iter().chain(&row.after).copied().collect();
        if !values.iter().all(|value| value.is_finite()) {
            continue;
        }
        let middle = mean(&sorted(values.clone()));
        of_run.iter_mut().zip(values).for_each(|(run, value)| run.push(value - middle));
    }
    if of_run.first()?.is_empty() {
        return None;
    }
    let mut shifts: Vec<f64> = of_run.into_iter().map(|run| median(&sorted(run))).collect();
    let after = shifts.split_off(n_before);
    Some(Row { before: shifts, after, intensity: 0.0, margin: None, ..Row::default() })
}

/// Takes the shift of its run out of every value; false if there are too few functions.
pub(super) fn normalize(rows: &mut [Row], shifts: &Row) -> bool {
    let complete = rows
        .iter()
        .filter(|row| row.before.iter().chain(&row.after).all(|value| value.is_finite()))
        .count();
    if complete < FUNCTIONS_MIN {
        return false;
    }
    for row in rows {
        row.before.iter_mut().zip(&shifts.before).for_each(|(value, shift)| *value -= shift);
        row.after.iter_mut().zip(&shifts.after).for_each(|(value, shift)| *value -= shift);
        for (values, shifts) in
            row.within.without_largest.iter_mut().zip([&shifts.before, &shifts.after])
        {
            values.iter_mut().zip(shifts).for_each(|(value, shift)| *value -= shift);
        }
    }
    true
}

/// The common factor: the estimate is the median change of functions; its error comes from the
/// shifts of runs.
pub(super) fn global(
    contrasts: &[Option<Contrast>],
    shifts: Option<&Row>,
    layout: &Layout,
    options: &Options,
) -> Global {
    let changes = contrasts.iter().flatten().map(|contrast| contrast.estimate).collect();
    let mut factor = median(&sorted(changes));
    if factor.is_nan() {
        factor = 0.0;
    }
    let nothing = Global {
        factor,
        ci_low: f64::NEG_INFINITY,
        ci_high: f64::INFINITY,
        p: 1.0,
        p_regressed: f64::NAN,
        verdict: Verdict::NotTested,
        normalized: false,
    };
    let Some(shift) = shifts.and_then(|row| contrast(row, layout, options)) else {
        return nothing;
    };
    let reach = (shift.variance * shift.unit).sqrt() * t_quantile(0.025, shift.df);
    let p = match &shift.pairs {
        Some(pairs) => sign_flip_p(pairs),
        None => permutation_p(&shift.before, &shift.after),
    };
    let margin = (1.0 + options.margin).log2();
    let se = (shift.variance * shift.unit).sqrt();
    let beyond = |distance: f64| chance(distance - margin, se, shift.df);
    let (p_regressed, p_improved) = (beyond(factor), beyond(-factor));
    let functions = contrasts.iter().flatten().count();
    let verdict = if functions < FUNCTIONS_MIN {
        Verdict::NotTested
    } else if p_regressed <= options.fdr {
        Verdict::Regressed
    } else if p_improved <= options.fdr {
        Verdict::Improved
    } else if chance(margin - factor.abs(), se, shift.df) <= options.fdr {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    };
    Global { ci_low: factor - reach, ci_high: factor + reach, p, p_regressed, verdict, ..nothing }
}
