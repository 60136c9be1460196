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

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;
    use crate::diff::stats::{Design, WithinRuns};

    /// Functions whose runs shift together, those after by `change` more, and by a little on their own.
    fn rows(n: usize, change: f64) -> Vec<Row> {
        let value = |function: usize, run: usize| {
            let shift = [0.0, 0.02, -0.01, 0.01, 0.0, 0.03, -0.02, 0.01][run];
            let own = ((function * 7 + run * 3) % 5) as f64 - 2.0;
            function as f64 + shift + if run < 4 { 0.0 } else { change } + 0.001 * own
        };
        let row = |function: usize| Row {
            before: (0..4).map(|run| value(function, run)).collect(),
            after: (4..8).map(|run| value(function, run)).collect(),
            ..Row::default()
        };
        (0..n).map(row).collect()
    }

    fn judged(rows: &[Row], paired: bool) -> Global {
        let options = Options::default();
        let layout = Layout::new(&Design { paired, ..Design::of_runs(4, 4) });
        let contrasts: Vec<_> = rows.iter().map(|row| contrast(row, &layout, &options)).collect();
        global(&contrasts, shifts(rows).as_ref(), &layout, &options)
    }

    #[test]
    fn shifts_are_medians_of_deviations() {
        let row = |before: [f64; 2], after: [f64; 2]| Row {
            before: before.to_vec(),
            after: after.to_vec(),
            ..Row::default()
        };
        let rows = [
            row([1.0, 2.0], [3.0, 6.0]),
            row([10.0, 10.0], [14.0, 14.0]),
            row([5.0, 4.0], [5.0, 10.0]),
            row([f64::NAN, 100.0], [100.0, 100.0]),
        ];
        let found = shifts(&rows).expect("three are in all runs");
        assert_eq!((found.before, found.after), (vec![-2.0, -2.0], vec![0.0, 3.0]));
        assert_eq!(shifts(&rows[3..]), None);
        assert_eq!(shifts(&[]), None);
    }

    #[test]
    fn shifts_are_taken_out_where_functions_are_many() {
        let shift = Row { before: vec![0.5, -0.5], after: vec![2.0, 4.0], ..Row::default() };
        let row = Row {
            before: vec![1.0, 2.0],
            after: vec![3.0, 4.0],
            within: WithinRuns {
                without_largest: [vec![0.5, 1.5], vec![2.5, 3.5]],
                ..WithinRuns::default()
            },
            ..Row::default()
        };
        let mut many = vec![row.clone(); 20];
        assert!(normalize(&mut many, &shift));
        assert_eq!((&many[7].before, &many[7].after), (&vec![0.5, 2.5], &vec![1.0, 0.0]));
        assert_eq!(many[7].within.without_largest, [vec![0.0, 2.0], vec![0.5, -0.5]]);
        let mut few = vec![row.clone(); 19];
        few.push(Row { before: vec![f64::NAN; 2], ..row });
        assert!(!normalize(&mut few, &shift));
        assert_eq!(few[7].before, [1.0, 2.0]);
    }

    /// The interval and the chances of Student's t (`scipy.stats.t`) around the median change, by the
    /// pooled variance of the shifts of runs.
    #[test]
    fn the_common_factor_is_judged_by_the_shifts_of_runs() {
        for (change, factor, low, high, p, p_regressed, verdict) in [
            (
                0.2,
                0.1995,
                0.169_509_468_626,
                0.229_490_531_374,
                2.0 / 70.0,
                2.150_916_919_419_11e-5,
                Verdict::Regressed,
            ),
            (
                -0.2,
                -0.2005,
                -0.230_490_531_374,
                -0.170_509_468_626,
                2.0 / 70.0,
                0.999_999_719_587,
                Verdict::Improved,
            ),
            (
                0.03,
                0.0295,
                -0.000_490_531_374,
                0.059_490_531_374,
                4.0 / 70.0,
                0.992_156_657_248,
                Verdict::Equivalent,
            ),
            (
                0.08,
                0.0795,
                0.049_509_468_626,
                0.109_490_531_374,
                2.0 / 70.0,
                0.242_678_031_749,
                Verdict::Inconclusive,
            ),
        ] {
            let found = judged(&rows(20, change), false);
            for (found, expected) in [
                (found.factor, factor),
                (found.ci_low, low),
                (found.ci_high, high),
                (found.p, p),
                (found.p_regressed, p_regressed),
            ] {
                assert!((found - expected).abs() < 1e-10, "{change}: {found}, not {expected}");
            }
            assert_eq!(found.verdict, verdict, "{change}");
        }
        assert_eq!(judged(&rows(19, 0.2), false).verdict, Verdict::NotTested, "too few");
        let none = judged(&[], false);
        assert_eq!(
            (none.factor, none.ci_low, none.ci_high),
            (0.0, f64::NEG_INFINITY, f64::INFINITY)
        );
        assert_eq!((none.p, none.verdict), (1.0, Verdict::NotTested));
        // All four pairs are slower.
        assert_eq!(judged(&rows(20, 0.2), true).p, 2.0 / 16.0);
    }
}
