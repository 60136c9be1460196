//! The results of R on the same numbers; `tests/golden/limma.R` wrote the files.

use std::collections::HashMap;

use crate::diff::stats::ranks::{hodges_lehmann, hodges_lehmann_of_pairs};
use crate::diff::stats::special::{
    Tails, digamma, f_ln_density, f_quantile, f_tails, ln_gamma, t_quantile, t_upper, trigamma,
    trigamma_inverse,
};
use crate::diff::stats::squeeze::squeeze;
use crate::diff::stats::{Design, Options, Row, adjust_bh, adjust_by, smooth, test};

const INPUT: &str = include_str!("../../../../tests/golden/input.csv");
const MODERATED: &str = include_str!("../../../../tests/golden/moderated.csv");
const RANKS: &str = include_str!("../../../../tests/golden/ranks.csv");
const SMOOTH: &str = include_str!("../../../../tests/golden/smooth.csv");
const SPECIAL: &str = include_str!("../../../../tests/golden/special.csv");

/// The columns of a file, cell by cell.
fn columns(text: &'static str) -> HashMap<&'static str, Vec<&'static str>> {
    let mut lines = text.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let mut columns: HashMap<_, Vec<&str>> = HashMap::new();
    for line in lines {
        for (name, cell) in names.iter().zip(line) {
            columns.entry(*name).or_default().push(cell);
        }
    }
    columns
}

fn number(cell: &str) -> f64 {
    match cell {
        "NA" => f64::NAN,
        cell => cell.parse().unwrap(),
    }
}

/// The numbers of a column.
fn numbers(text: &'static str, column: &str) -> Vec<f64> {
    columns(text)[column].iter().map(|cell| number(cell)).collect()
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let same = found.to_bits() == expected.to_bits()
        || (found - expected).abs() <= tolerance * expected.abs();
    assert!(same, "{what}: found {found:e}, expected {expected:e}");
}

#[track_caller]
fn all_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (idx, (found, expected)) in found.iter().zip(expected).enumerate() {
        close(&format!("{what} of row {idx}"), *found, *expected, tolerance);
    }
}

/// The rows of the R input, with the mean logarithm of their calls.
fn input() -> Vec<Row> {
    let intensities = numbers(INPUT, "intensity");
    let side = |side: &str| -> Vec<Vec<f64>> {
        (1..=7).map(|run| numbers(INPUT, &format!("{side}.{run}"))).collect()
    };
    let (before, after) = (side("before"), side("after"));
    let of = |side: &[Vec<f64>], idx: usize| side.iter().map(|run| run[idx]).collect();
    intensities
        .into_iter()
        .enumerate()
        .map(|(idx, intensity)| Row {
            before: of(&before, idx),
            after: of(&after, idx),
            intensity,
            margin: None,
            ..Row::default()
        })
        .collect()
}

/// A column of `moderated.csv` for one way to fit the prior.
fn moderated(trend: bool, robust: bool, column: &str) -> Vec<f64> {
    let columns = columns(MODERATED);
    let flag = |flag: bool| if flag { "TRUE" } else { "FALSE" };
    (0..columns["trend"].len())
        .filter(|&idx| columns["trend"][idx] == flag(trend))
        .filter(|&idx| columns["robust"][idx] == flag(robust))
        .map(|idx| number(columns[column][idx]))
        .collect()
}

#[test]
fn special_functions_are_those_of_r() {
    let columns = columns(SPECIAL);
    for (idx, name) in columns["name"].iter().enumerate() {
        let [a, b, c, value] = ["a", "b", "c", "value"].map(|name| number(columns[name][idx]));
        let found = match *name {
            "ln_gamma" => ln_gamma(a),
            "digamma" => digamma(a),
            "trigamma" => trigamma(a),
            "trigamma_inverse" => trigamma_inverse(a),
            "t_upper" => t_upper(a, b),
            "t_quantile" => t_quantile(a, b),
            "f_lower" => f_tails(a, b, c).lower,
            "f_upper" => f_tails(a, b, c).upper,
            "f_density" => f_ln_density(a, b, c).exp(),
            "f_quantile" => f_quantile(Tails { lower: a, upper: 1.0 - a }, b, c),
            name => panic!("{name} is not known"),
        };
        let what = format!("{name}({a}, {b}, {c})");
        if value.abs() < 1e-15 && name.ends_with("gamma") || a == 0.5 && *name == "t_quantile" {
            assert!(found.abs() < 1e-14, "{what}: found {found:e}, expected {value:e}");
        } else {
            let many = b > 1e6 && b.is_finite();
            close(&what, found, value, if many { 1e-9 } else { 1e-10 });
        }
    }
}

#[test]
fn curves_are_those_of_r() {
    let (x, y) = (numbers(SMOOTH, "x"), numbers(SMOOTH, "y"));
    all_close("spline", &smooth::spline(&x, &y, 4).0, &numbers(SMOOTH, "spline"), 1e-9);
    all_close("lowess", &smooth::lowess(&x, &y, 0.4), &numbers(SMOOTH, "lowess"), 1e-9);
}

#[test]
fn pulled_variances_are_those_of_limma() {
    let intensities = numbers(INPUT, "intensity");
    for (trend, robust) in [(false, false), (true, false), (false, true), (true, true)] {
        let of = |column: &str| moderated(trend, robust, column);
        let covariate = trend.then_some(intensities.as_slice());
        let squeezed = squeeze(&of("variance"), &of("df"), covariate, robust);
        let what = |name: &str| format!("{name} (trend {trend}, robust {robust})");
        // What limma stops searching at 1e-8 of d0 / (1 + d0) is known to about 1e-6.
        let tolerance = if robust { 1e-6 } else { 1e-9 };
        let expected = match of("s2.prior") {
            one if one.is_empty() => panic!("no golden for trend {trend}, robust {robust}"),
            each => each,
        };
        all_close(&what("expected"), &squeezed.expected, &expected, tolerance);
        all_close(&what("d0"), &squeezed.d0, &of("d0"), tolerance);
        all_close(&what("post"), &squeezed.post, &of("s2.post"), tolerance);
        all_close(&what("df"), &squeezed.df, &of("df.total"), tolerance);
    }
}

#[test]
fn verdicts_rest_on_the_numbers_of_limma() {
    let rows = input();
    let options = Options { resolution_floor: 0.0, ..Options::default() };
    let outcome = test(&Design::of_runs(7, 7), &rows, &options);
    let of = |column: &str| moderated(true, true, column);
    let found = |value: fn(&super::super::Tested) -> f64| -> Vec<f64> {
        outcome.rows.iter().map(value).collect()
    };
    all_close("estimate", &found(|row| row.estimate), &of("estimate"), 1e-9);
    all_close("t", &found(|row| row.t), &of("t"), 1e-6);
    all_close("df", &found(|row| row.df), &of("df.total"), 1e-6);
    all_close("p", &found(|row| row.p), &of("p"), 1e-6);
    all_close("q", &found(|row| row.q), &of("bh"), 1e-6);
    // TREAT asks on both sides at once: the nearer side has its p, and the farther one a little.
    let treat: Vec<f64> = outcome
        .rows
        .iter()
        .map(|row| {
            let (near, far) = if row.estimate > 0.0 {
                (row.p_regressed, row.p_improved)
            } else {
                (row.p_improved, row.p_regressed)
            };
            near + (1.0 - far)
        })
        .collect();
    for (idx, (found, expected)) in treat.iter().zip(of("treat")).enumerate() {
        // 1 - far has no digits below 1e-16.
        assert!(
            (found - expected).abs() <= 1e-6 * expected + 1e-15,
            "treat of row {idx}: found {found:e}, expected {expected:e}"
        );
    }
    let by = Options { correction: super::super::Correction::BenjaminiYekutieli, ..options };
    let by = test(&Design::of_runs(7, 7), &rows, &by);
    let q: Vec<f64> = by.rows.iter().map(|row| row.q).collect();
    all_close("q by", &q, &of("by"), 1e-6);
}

#[test]
fn corrected_chances_are_those_of_r() {
    for (trend, robust) in [(false, false), (true, true)] {
        let p = moderated(trend, robust, "p");
        all_close("bh", &adjust_bh(&p), &moderated(trend, robust, "bh"), 1e-12);
        all_close("by", &adjust_by(&p), &moderated(trend, robust, "by"), 1e-12);
    }
    let q = adjust_bh(&[0.01, f64::NAN, 0.02]);
    assert_eq!((q[0], q[2]), (0.02, 0.02));
    assert!(q[1].is_nan());
}

#[test]
fn ranks_are_those_of_r() {
    let rows = input();
    let of = |column: &str| numbers(RANKS, column);
    let expected = ["p", "shift", "low", "high"].map(of);
    let paired = ["paired.p", "paired.shift", "paired.low", "paired.high"].map(of);
    for (at, idx) in of("row").into_iter().enumerate() {
        let row = &rows[idx as usize];
        let seen = |side: &[f64]| -> Vec<f64> {
            side.iter().copied().filter(|value| value.is_finite()).collect()
        };
        let found = hodges_lehmann(&seen(&row.before), &seen(&row.after));
        for (value, expected) in
            [found.p, found.shift, found.low, found.high].into_iter().zip(&expected)
        {
            close(&format!("ranks of row {idx}"), value, expected[at], 1e-9);
        }
        let differences: Vec<f64> = row
            .after
            .iter()
            .zip(&row.before)
            .map(|(after, before)| after - before)
            .filter(|value| value.is_finite())
            .collect();
        let found = hodges_lehmann_of_pairs(&differences);
        // R says that 3 pairs have no interval of 95 %, and gives the widest that they have.
        for (value, expected) in
            [found.p, found.shift, found.low, found.high].into_iter().zip(&paired)
        {
            close(&format!("signed ranks of row {idx}"), value, expected[at], 1e-9);
        }
    }
}
