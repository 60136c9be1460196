//! How often noise alone fails the gate. `just calibrate` runs more of the same.

use profctl_testkit::generate::{Noise, Runs};

use crate::diff::stats::{Design, Options, Row, Verdict, test};

/// Comparisons of each kind.
const REPEATS: u64 = 30;

/// Red ones that a chance of 5 % exceeds once in three hundred times.
const RED_MAX: usize = 5;

/// The verdicts on each of the functions, and whether it changed.
fn verdicts(runs: &Runs, seed: u64, options: &Options) -> Vec<(Verdict, bool)> {
    let side: Vec<u32> =
        (0..runs.n_boots * runs.n_runs).map(|run| (run / runs.n_runs) as u32).collect();
    let design = Design { before: side.clone(), after: side, paired: false };
    let series = runs.make(seed);
    let rows: Vec<Row> = series
        .iter()
        .map(|series| Row {
            before: series.before.clone(),
            after: series.after.clone(),
            intensity: series.intensity,
            margin: None,
            ..Row::default()
        })
        .collect();
    let outcome = test(&design, &rows, options);
    outcome.rows.iter().zip(series).map(|(row, series)| (row.verdict, series.changed)).collect()
}

fn red(runs: &Runs) -> usize {
    (0..REPEATS)
        .filter(|&seed| {
            let verdicts = verdicts(runs, seed, &Options::default());
            verdicts.iter().any(|(verdict, _)| *verdict == Verdict::Regressed)
        })
        .count()
}

const UNCHANGED: Runs = Runs {
    noise: Noise::Normal,
    n_functions: 150,
    n_boots: 5,
    n_runs: 1,
    boots: 0.0,
    changed_percent: 0,
    ratio: 1.0,
};

#[test]
fn noise_is_not_called_a_regression() {
    for noise in Noise::ALL {
        for n_boots in [3, 5, 10] {
            let red = red(&Runs { noise, n_boots, ..UNCHANGED });
            assert!(red <= RED_MAX, "{noise:?}, {n_boots} runs per side: {red} of {REPEATS} fail");
        }
    }
}

#[test]
fn what_boots_differ_in_is_not_called_a_regression() {
    for (n_boots, n_runs) in [(2, 3), (3, 4)] {
        for boots in [0.0, 1.0, 3.0] {
            let red = red(&Runs { n_boots, n_runs, boots, ..UNCHANGED });
            assert!(
                red <= RED_MAX,
                "{n_boots} boots of {n_runs}, {boots} times as noisy as runs: {red} of {REPEATS}"
            );
        }
    }
}

/// Runs of one boot are not independent: treating them so gives false alarms.
#[test]
fn boots_matter() {
    let runs = Runs { n_boots: 2, n_runs: 4, boots: 3.0, ..UNCHANGED };
    let wrong = (0..REPEATS)
        .filter(|&seed| {
            let series = runs.make(seed);
            let rows: Vec<Row> = series
                .into_iter()
                .map(|series| Row {
                    before: series.before,
                    after: series.after,
                    intensity: series.intensity,
                    margin: None,
                    ..Row::default()
                })
                .collect();
            let outcome = test(&Design::of_runs(8, 8), &rows, &Options::default());
            outcome.rows.iter().any(|row| row.verdict == Verdict::Regressed)
        })
        .count();
    assert!(wrong > REPEATS as usize / 2, "{wrong} of {REPEATS}");
}

#[test]
fn what_changed_is_found() {
    // Noise, runs per side, and the share of functions which became 30 % slower that must be found.
    let cases = [
        (Noise::Normal, 5, 0.75),
        (Noise::Normal, 10, 0.9),
        (Noise::HeavyTails, 5, 0.8),
        (Noise::SlowState, 5, 0.8),
        (Noise::TwoStates, 10, 0.85),
        (Noise::TwiceAfter, 10, 0.7),
    ];
    for (noise, n_boots, least) in cases {
        let runs = Runs { noise, n_boots, changed_percent: 5, ratio: 1.3, ..UNCHANGED };
        let all: Vec<_> =
            (0..10).flat_map(|seed| verdicts(&runs, seed, &Options::default())).collect();
        let changed = all.iter().filter(|(_, changed)| *changed).count();
        let reported: Vec<_> =
            all.iter().filter(|(verdict, _)| *verdict == Verdict::Regressed).collect();
        let found = reported.iter().filter(|(_, changed)| *changed).count();
        assert!(
            found as f64 >= least * changed as f64,
            "{noise:?}, {n_boots} runs per side: {found} of {changed}"
        );
        let wrong = reported.len() - found;
        assert!(wrong as f64 <= 0.05 * reported.len() as f64, "{noise:?}: {wrong} are wrong");
    }
}

#[test]
fn drift_is_taken_out_and_reported() {
    let runs = Runs { noise: Noise::Drift, n_boots: 8, ratio: 1.15, ..UNCHANGED };
    let runs = Runs { changed_percent: 5, ..runs };
    let found = |normalize: bool| {
        let options = Options { normalize, ..Options::default() };
        let verdicts = (0..10).flat_map(|seed| verdicts(&runs, seed, &options));
        verdicts.filter(|found| *found == (Verdict::Regressed, true)).count()
    };
    let (raw, normalized) = (found(false), found(true));
    assert!(normalized > raw, "{normalized} with, {raw} without");
}
