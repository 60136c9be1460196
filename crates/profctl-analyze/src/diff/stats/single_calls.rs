//! Changes that single calls account for.
//!
//! That something took long once in each run after, and in no run before, happens by chance to one of
//! many functions while runs are few: in 1 of 64 comparisons at 3 runs per side, if every other run has
//! such a call. The mean over a run is then a fact about that call. Without it, or by the standard error
//! that it causes, the change is none.

use super::design::Contrast;

/// Standard errors within runs that a change of a mixture has to exceed: one such call in each of 5
/// runs amounts to √5.
const ERRORS_MIN: f64 = 2.5;

/// Whether single calls account for the `change` between the measurements on both sides of a deal.
pub(super) fn account_for(contrast: &Contrast, change: f64, deal: &[bool]) -> bool {
    let Some(calls) = &contrast.single_calls else { return false };
    let paired = contrast.pairs.is_some();
    let mut left = [(0.0, 0.0); 2];
    for (value, &side) in calls.left.iter().zip(deal) {
        if let Some(value) = value {
            let sum = &mut left[usize::from(side)];
            *sum = (sum.0 + value, sum.1 + 1.0);
        }
    }
    let [(off, n_off), (on, n_on)] = left;
    let without = if paired { (off - on) / (n_off + n_on) } else { on / n_on - off / n_off };
    if without * change.signum() < change.abs() / 2.0 {
        return true;
    }
    let mut error = [(0.0, 0.0); 2];
    for (variance, &side) in calls.variance.iter().zip(deal) {
        if let Some(variance) = variance {
            let sum = &mut error[usize::from(side && !paired)];
            *sum = (sum.0 + variance, sum.1 + 1.0);
        }
    }
    let squares = error.iter().filter(|(_, n)| *n > 0.0).map(|(sum, n)| sum / (n * n));
    change.abs() < ERRORS_MIN * squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::account_for;
    use crate::diff::stats::design::{Contrast, SingleCalls};
    use crate::diff::stats::{Design, Options, Row, Tested, Verdict, WithinRuns, test};

    #[test]
    fn what_single_calls_account_for_is_worked_out_by_hand() {
        let of = |left: &[f64], variance: &[f64], paired: bool, change: f64, deal: &[bool]| {
            let known = |value: &f64| Some(*value).filter(|value| value.is_finite());
            let calls = SingleCalls {
                left: left.iter().map(known).collect(),
                variance: variance.iter().map(known).collect(),
            };
            let pairs = paired.then(Vec::new);
            let contrast = Contrast { single_calls: Some(calls), pairs, ..Contrast::default() };
            account_for(&contrast, change, deal)
        };
        // Without the largest calls, 7 less 3 is left.
        let (left, deal) = ([1.0, 5.0, f64::NAN, 7.0], [false, false, true, true]);
        for (change, expected) in [(7.9, false), (8.1, true), (-1.0, true)] {
            assert_eq!(of(&left, &[], false, change, &deal), expected, "{change}");
        }
        let back = deal.map(|side| !side);
        assert!(!of(&left, &[], false, -7.9, &back) && of(&left, &[], false, -8.1, &back));
        // Of pairs, (1 + 5 - 7) / 3.
        assert!(!of(&left, &[], true, -0.66, &deal) && of(&left, &[], true, -0.67, &deal));
        // Variances of (2 + 6) / 4, and of 3: 2.5 standard errors are 5.59. Of pairs, of 11 / 9: 2.76.
        let variance = [2.0, 6.0, f64::NAN, 3.0];
        let left = [0.0, 0.0, 9.0, 9.0];
        assert!(!of(&left, &variance, false, 5.6, &deal));
        assert!(of(&left, &variance, false, 5.58, &deal));
        let left = [9.0; 4];
        assert!(!of(&left, &variance, true, 2.77, &[false; 4]));
        assert!(of(&left, &variance, true, 2.76, &[false; 4]));
        assert!(!account_for(&Contrast::default(), 1.0, &[]), "nothing is known");
    }

    /// Functions whose runs differ by about 0.1 %, the first of which is `odd`.
    fn with_others(odd: Row) -> Tested {
        let n = odd.before.len();
        let calm = |function: usize| {
            let value = |run: usize| ((7 * function + 13 * run) % 10) as f64 * 3e-4;
            let before = (0..n).map(value).collect();
            Row { before, after: (n..2 * n).map(value).collect(), ..Row::default() }
        };
        let rows: Vec<Row> = std::iter::once(odd).chain((1..60).map(calm)).collect();
        test(&Design::of_runs(n, n), &rows, &Options::default()).rows[0]
    }

    #[test]
    fn a_run_that_was_interrupted_counts_less() {
        let (precise, hit) = (1e-6, 0.25);
        let within = WithinRuns {
            variance: [vec![precise; 3], vec![precise, hit, precise]],
            ..WithinRuns::default()
        };
        let before = vec![0.0, 0.001, 0.002];
        let row = |change: f64| Row {
            before: before.clone(),
            after: vec![change, change + 0.8, change + 0.002],
            ..Row::default()
        };
        let (slower, same) = (1.15_f64.log2(), 0.0);
        let known = |change| with_others(Row { within: within.clone(), ..row(change) });
        let tested = known(slower);
        assert_eq!(tested.verdict, Verdict::Regressed);
        assert!((tested.estimate - slower).abs() < 0.01, "{}", tested.estimate);
        assert_eq!(known(same).verdict, Verdict::Equivalent);
    }

    #[test]
    fn a_change_of_one_call_a_run_is_none_while_runs_are_few() {
        let row = |n: usize, without: f64, variance: f64, is_mixture| Row {
            before: (0..n).map(|run| run as f64 * 1e-3).collect(),
            after: (0..n).map(|run| 0.4 + run as f64 * 1e-3).collect(),
            within: WithinRuns {
                variance: [vec![0.0; n], vec![variance; n]],
                without_largest: [vec![0.0; n], vec![without; n]],
                is_mixture,
            },
            ..Row::default()
        };
        let said = |row| {
            let tested = with_others(row);
            (tested.verdict, tested.single_call)
        };
        assert_eq!(said(row(4, 0.4, 0.0, false)), (Verdict::Regressed, false));
        assert_eq!(said(row(4, 0.01, 0.0, false)), (Verdict::Inconclusive, true));
        assert_eq!(said(row(6, 0.01, 0.0, false)), (Verdict::Regressed, false), "runs are many");
        let one_call = 0.4 * 0.4;
        assert_eq!(said(row(4, 0.4, one_call, true)), (Verdict::Inconclusive, true));
        assert_eq!(said(row(4, 0.4, one_call, false)), (Verdict::Regressed, false));
    }
}
