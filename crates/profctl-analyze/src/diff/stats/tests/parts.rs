//! The parts of a comparison, with numbers worked out by hand.

use crate::diff::stats::design::{Contrast, Layout, contrast};
use crate::diff::stats::{
    Design, Options, Row, Tested, Variance, Verdict, describe, hodges_lehmann, moderate, test,
    test_together,
};

#[test]
#[should_panic(expected = "a row has one value for each run of the design")]
fn rows_have_the_runs_of_the_design() {
    let row = Row { before: vec![1.0; 3], after: vec![1.0; 4], ..Row::default() };
    test(&Design::of_runs(3, 3), &[row], &Options::default());
}

#[test]
fn the_first_measure_has_most_of_the_error_rate() {
    let (known, few) = (vec![1.0, 2.0, 3.0], vec![1.0, f64::NAN, f64::NAN]);
    let row =
        |before: &[f64]| Row { before: before.to_vec(), after: known.clone(), ..Row::default() };
    let rows = |tested: usize| -> Vec<Row> {
        (0..4).map(|at| row(if at < tested { &known } else { &few })).collect()
    };
    let weights = |measures: &[Vec<Row>]| -> Vec<Vec<f64>> {
        let found = test_together(&Design::of_runs(3, 3), measures, &Options::default());
        let of = |rows: &[Tested]| {
            let tested = rows.iter().filter(|row| row.verdict != Verdict::NotTested);
            tested.map(|row| row.weight).collect()
        };
        found.iter().map(|one| of(&one.rows)).collect()
    };
    // Of 9 tests, 4 share nine tenths, and 5 the rest.
    let found = weights(&[rows(4), rows(3), rows(2)]).concat();
    let expected = [0.9 * 9.0 / 4.0; 4].into_iter().chain([0.1 * 9.0 / 5.0; 5]);
    assert_eq!(found.len(), 9);
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }
    assert_eq!(weights(&[rows(3)]), [vec![1.0; 3]]);
    assert_eq!(weights(&[rows(3), rows(0)]), [vec![1.0; 3], vec![]]);
    assert_eq!(weights(&[rows(0), rows(3)]), [vec![], vec![1.0; 3]]);
}

#[test]
fn a_rank_test_disagrees_with_what_it_does_not_show() {
    let even: Vec<f64> = (0..6).map(f64::from).collect();
    let (near, far) = (even.clone(), even.iter().map(|value| value + 100.0).collect());
    let disagrees = |after: &Vec<f64>, verdict, off: fn(f64, f64) -> f64| {
        let (before, after) = (even.clone(), after.clone());
        let ranks = hodges_lehmann(&before, &after);
        let contrast = Contrast { before, after, ..Contrast::default() };
        let estimate = off(ranks.low, ranks.high);
        let mut row = Tested { estimate, verdict, ..Tested::not_tested() };
        describe(&mut row, &contrast, 0.5);
        assert_eq!(row.hodges_lehmann, Some((ranks.shift, ranks.low, ranks.high)));
        row.disagrees
    };
    let (called, open) = (Verdict::Regressed, Verdict::Inconclusive);
    let middle = |low: f64, high: f64| f64::midpoint(low, high);
    assert!(!disagrees(&far, called, middle));
    // Both sides are the same.
    assert!(disagrees(&near, called, middle) && !disagrees(&near, open, middle));
    // A mean that is outside of the interval by no more than the clock is inside.
    assert!(!disagrees(&far, called, |low, _| low - 0.5));
    assert!(disagrees(&far, open, |low, _| low - 0.6));
    assert!(!disagrees(&far, called, |_, high| high + 0.5));
    assert!(disagrees(&far, open, |_, high| high + 0.6));
}

#[test]
fn a_dealt_variance_is_pulled_by_its_weight() {
    let of = |d0_dealt: f64| Variance {
        post: 0.0,
        df: 0.0,
        df_dealt: 0.0,
        expected: 2.0,
        d0_dealt,
        least: 0.5,
    };
    assert_eq!(of(3.0).pulled(22.0, 4.0), 4.0);
    assert_eq!(of(3.0).pulled(0.1, 4.0), 8.0 / 7.0, "no less than 0.5 by 4 degrees of freedom");
    assert_eq!(of(f64::INFINITY).pulled(22.0, 4.0), 2.0);
    assert_eq!(Variance { expected: 0.1, ..of(f64::INFINITY) }.pulled(22.0, 4.0), 0.5);
    assert_eq!(Variance { expected: 0.1, ..of(3.0) }.pulled(0.1, 4.0), 0.5);
}

/// As noisy as a function is between the runs of a boot, so noisy it is expected to be between boots,
/// however often it is called.
#[test]
fn noise_between_blocks_is_expected_to_follow_that_within() {
    let labels = vec![0, 0, 1, 1, 2, 2];
    let layout = Layout::new(&Design { before: labels.clone(), after: labels, paired: false });
    let row = |function: usize| {
        let size = 0.01 * 1.2_f64.powi(function as i32);
        let run = |run: usize| size * ((function * 7 + run * run * 5 + run * 3) % 11) as f64;
        Row {
            before: (0..6).map(run).collect(),
            after: (6..12).map(run).collect(),
            ..Row::default()
        }
    };
    let contrasts: Vec<Option<Contrast>> =
        (0..30).map(|function| contrast(&row(function), &layout, &Options::default())).collect();
    let trend = moderate(&contrasts, &[5.0; 30], 1e-6).prior.trend;
    // 1.2 to the 20th is 38.
    let grown = trend[25] / trend[5];
    assert!((20.0..70.0).contains(&grown), "{grown}: {trend:?}");
}
