//! What must hold of any comparison.

use profctl_testkit::generate::{Noise, Random, Runs};

use crate::diff::stats::{
    Design, Level, Options, Outcome, Quantiles, Replicate, Row, Tested, Verdict, Weighted,
    hodges_lehmann, mann_whitney_exact, permutation_p, selected_level, spent, test,
};

fn rows(noise: Noise, n_boots: usize, n_runs: usize, seed: u64) -> Vec<Row> {
    let runs = Runs {
        noise,
        n_functions: 150,
        n_boots,
        n_runs,
        boots: 1.0,
        changed_percent: 10,
        ratio: 1.6,
    };
    let row = |series: profctl_testkit::generate::Series| Row {
        before: series.before,
        after: series.after,
        intensity: series.intensity,
        margin: None,
        ..Row::default()
    };
    runs.make(seed).into_iter().map(row).collect()
}

/// Designs of 6 runs per side.
fn designs() -> [Design; 4] {
    let boots = vec![0, 0, 0, 1, 1, 1];
    [
        Design::of_runs(6, 6),
        Design { paired: true, ..Design::of_runs(6, 6) },
        Design { before: boots.clone(), after: boots.clone(), paired: false },
        Design { before: boots.clone(), after: boots, paired: true },
    ]
}

fn options() -> Options {
    Options::default()
}

fn verdicts(outcome: &Outcome) -> Vec<Verdict> {
    outcome.rows.iter().map(|row| row.verdict).collect()
}

#[test]
fn a_build_does_not_differ_from_itself() {
    for design in designs() {
        let mut rows = rows(Noise::Normal, 2, 3, 1);
        for row in &mut rows {
            row.after.clone_from(&row.before);
        }
        let outcome = test(&design, &rows, &options());
        for row in &outcome.rows {
            assert_eq!((row.estimate, row.t, row.p, row.q), (0.0, 0.0, 1.0, 1.0), "{design:?}");
            assert!(matches!(row.verdict, Verdict::Equivalent | Verdict::Inconclusive));
        }
        assert_eq!((outcome.global.factor, outcome.global.p), (0.0, 1.0));
    }
}

#[test]
fn runs_without_any_noise_are_judged() {
    let flat = |after: f64| Row {
        before: vec![5.0; 5],
        after: vec![after; 5],
        intensity: 3.0,
        margin: None,
        ..Row::default()
    };
    for resolution_floor in [0.0, 0.001] {
        let options = Options { resolution_floor, ..options() };
        let rows = [flat(5.0), flat(6.0), flat(4.0)];
        let outcome = test(&Design::of_runs(5, 5), &rows, &options);
        let expected = [Verdict::Equivalent, Verdict::Regressed, Verdict::Improved];
        assert_eq!(verdicts(&outcome), expected, "floor {resolution_floor}");
    }
}

#[test]
fn the_sides_are_treated_alike() {
    for design in designs() {
        let rows = rows(Noise::Normal, 2, 3, 2);
        let swapped: Vec<Row> = rows
            .iter()
            .map(|row| Row {
                before: row.after.clone(),
                after: row.before.clone(),
                intensity: row.intensity,
                margin: None,
                ..Row::default()
            })
            .collect();
        let there = test(&design, &rows, &options());
        let back = test(&design, &swapped, &options());
        for (there, back) in there.rows.iter().zip(&back.rows) {
            let pairs = [
                (there.estimate, -back.estimate),
                (there.p, back.p),
                (there.q, back.q),
                (there.p_regressed, back.p_improved),
                (there.q_regressed, back.q_improved),
                (there.ci_low, -back.ci_high),
                (there.q_dealt, back.q_dealt),
            ];
            // Sums of the other signs are rounded otherwise.
            for (there, back) in pairs {
                assert!((there - back).abs() < 1e-12 || there.is_nan() && back.is_nan());
            }
            let mirrored = match back.verdict {
                Verdict::Regressed => Verdict::Improved,
                Verdict::Improved => Verdict::Regressed,
                other => other,
            };
            // A slowdown with an estimate beyond the margin is suspect; a speedup is not.
            if there.verdict != Verdict::Suspect && mirrored != Verdict::Suspect {
                assert_eq!(there.verdict, mirrored);
            }
        }
        assert!((there.global.factor + back.global.factor).abs() < 1e-12);
        assert_eq!(there.global.p, back.global.p);
    }
}

#[test]
fn the_order_of_runs_does_not_matter() {
    // More than 5 runs per side, so that permutations are random and not enumerated.
    for n in [6, 9] {
        let rows = rows(Noise::HeavyTails, n, 1, 3);
        let expected = test(&Design::of_runs(n, n), &rows, &options());
        assert!(verdicts(&expected).contains(&Verdict::Regressed));
        let mut random = Random::new(4);
        for _ in 0..4 {
            let mut order: Vec<usize> = (0..n).collect();
            for at in 0..n {
                order.swap(at, at + random.below((n - at) as u64) as usize);
            }
            let shuffled: Vec<Row> = rows
                .iter()
                .map(|row| Row {
                    before: order.iter().map(|&at| row.before[at]).collect(),
                    after: order.iter().rev().map(|&at| row.after[at]).collect(),
                    intensity: row.intensity,
                    margin: None,
                    ..Row::default()
                })
                .collect();
            let found = test(&Design::of_runs(n, n), &shuffled, &options());
            assert_eq!(found.rows.len(), expected.rows.len());
            for (found, expected) in found.rows.iter().zip(&expected.rows) {
                assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            }
        }
    }
}

#[test]
fn runs_of_a_block_are_not_runs_of_their_own() {
    // Repeating the same numbers three times adds no information.
    let rows = rows(Noise::Normal, 4, 1, 5);
    let tripled: Vec<Row> = rows
        .iter()
        .map(|row| Row {
            before: row.before.repeat(3),
            after: row.after.repeat(3),
            intensity: row.intensity,
            margin: None,
            ..Row::default()
        })
        .collect();
    let once = test(&Design::of_runs(4, 4), &rows, &options());
    let labels: Vec<u32> = [0, 1, 2, 3].repeat(3);
    let blocks = Design { before: labels.clone(), after: labels, paired: false };
    let thrice = test(&blocks, &tripled, &options());
    assert_eq!(thrice.replicate, Replicate::Blocks);
    for (once, thrice) in once.rows.iter().zip(&thrice.rows) {
        // Means of three equal numbers may differ from them in the last digit.
        assert!((once.estimate - thrice.estimate).abs() < 1e-12);
    }
    let reported = |outcome: &Outcome| {
        outcome.rows.iter().filter(|row| row.verdict == Verdict::Regressed).count()
    };
    assert!(reported(&thrice) <= reported(&once) + 1);
}

#[test]
fn pairs_cancel_what_they_share() {
    let mut random = Random::new(6);
    let mut noise = |size: f64| size * (random.below(2001) as f64 / 1000.0 - 1.0);
    let rows: Vec<Row> = (0..60)
        .map(|function| {
            let before: Vec<f64> = (0..5).map(|_| noise(1.0)).collect();
            let change = if function == 0 { 0.5 } else { 0.0 };
            let after = before.iter().map(|value| value + change + noise(0.02)).collect();
            Row { before, after, intensity: 8.0, margin: None, ..Row::default() }
        })
        .collect();
    let apart = test(&Design::of_runs(5, 5), &rows, &options());
    assert_eq!(apart.rows[0].verdict, Verdict::Inconclusive);
    let paired = Design { paired: true, ..Design::of_runs(5, 5) };
    let together = test(&paired, &rows, &options());
    assert_eq!(together.replicate, Replicate::Pairs);
    assert_eq!(together.rows[0].verdict, Verdict::Regressed);
    assert!(together.rows[1..].iter().all(|row| row.verdict == Verdict::Equivalent));
}

#[test]
fn the_design_says_what_is_counted() {
    let of = |before: &[u32], after: &[u32], paired: bool| {
        let design = Design { before: before.to_vec(), after: after.to_vec(), paired };
        let row = Row {
            before: (0..before.len()).map(|run| run as f64).collect(),
            after: (0..after.len()).map(|run| run as f64).collect(),
            intensity: 1.0,
            margin: None,
            ..Row::default()
        };
        let outcome = test(&design, &[row], &options());
        (outcome.replicate, outcome.confounded)
    };
    assert_eq!(of(&[0, 1, 2], &[0, 1, 2], false), (Replicate::Runs, false));
    assert_eq!(of(&[0, 0, 0], &[0, 0, 0], false), (Replicate::Runs, true));
    assert_eq!(of(&[0, 0, 0], &[0, 0, 0], true), (Replicate::Runs, false));
    assert_eq!(of(&[0, 0, 1], &[0, 1, 1], false), (Replicate::Blocks, false));
    assert_eq!(of(&[0, 0, 1], &[0, 1, 1], true), (Replicate::Pairs, false));
    assert_eq!(of(&[0, 1, 2], &[0, 1, 2], true), (Replicate::Pairs, false));
}

#[test]
fn functions_seen_too_seldom_are_not_tested() {
    let nan = f64::NAN;
    let row = |before: [f64; 4]| Row {
        before: before.to_vec(),
        after: vec![1.0, 2.0, 3.0, 4.0],
        intensity: 1.0,
        margin: None,
        ..Row::default()
    };
    let rows = [row([1.0, nan, nan, 2.0]), row([1.0, nan, 3.0, 2.0]), row([nan; 4])];
    let outcome = test(&Design::of_runs(4, 4), &rows, &options());
    let tested: Vec<bool> =
        outcome.rows.iter().map(|row| row.verdict != Verdict::NotTested).collect();
    assert_eq!(tested, [false, true, false]);
    assert!(outcome.rows[0].p.is_nan() && outcome.rows[0].estimate.is_nan());
    let two = test(&Design::of_runs(2, 2), &[], &options());
    assert!(two.rows.is_empty());
}

#[test]
fn a_common_factor_is_told_apart() {
    let mut rows = rows(Noise::Normal, 6, 1, 7);
    for row in &mut rows {
        row.after.iter_mut().for_each(|value| *value += 0.4);
    }
    let raw = test(&Design::of_runs(6, 6), &rows, &options());
    assert!((raw.global.factor - 0.4).abs() < 0.05, "{:?}", raw.global);
    assert!(raw.global.ci_low > 0.3 && raw.global.ci_high < 0.5, "{:?}", raw.global);
    // Of the 924 permutations of 12 runs, only the true one and its mirror image are as far apart.
    assert_eq!(raw.global.p, 2.0 / 924.0);
    let of = |outcome: &Outcome| {
        outcome.rows.iter().filter(|row| row.verdict == Verdict::Regressed).count()
    };
    let level = test(&Design::of_runs(6, 6), &rows, &Options { normalize: true, ..options() });
    assert!(level.global.normalized && !raw.global.normalized);
    assert!((level.global.factor - raw.global.factor).abs() < 1e-12);
    assert!(of(&level) * 3 < of(&raw), "{} and {}", of(&level), of(&raw));
    let few = test(&Design::of_runs(6, 6), &rows[..5], &Options { normalize: true, ..options() });
    assert!(!few.global.normalized);
}

#[test]
fn permutations_are_counted_exactly() {
    assert_eq!(permutation_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1);
    assert_eq!(permutation_p(&[1.0, 1.0], &[1.0, 1.0]), 1.0);
    assert_eq!((permutation_p(&[], &[1.0]), permutation_p(&[1.0], &[])), (1.0, 1.0));
    // Sums of 2 of 5 from the mean of 6: as far as 9 lies 9, and 3 on the other side.
    assert_eq!(permutation_p(&[1.0, 2.0, 3.0], &[4.0, 5.0]), 0.2);
    let low: Vec<f64> = (0..12).map(f64::from).collect();
    let high: Vec<f64> = (100..112).map(f64::from).collect();
    assert_eq!(permutation_p(&low, &high), 1.0 / 20_000.0);
}

/// The values are those of scipy's `mannwhitneyu` (1.17, method `asymptotic`).
#[test]
fn many_values_have_the_p_of_a_normal_distribution() {
    let apart =
        |n: u32, shift: f64| -> Vec<f64> { (0..n).map(|i| 2.0 * f64::from(i) + shift).collect() };
    let found = mann_whitney_exact(&apart(90, 0.0), &apart(80, 31.0));
    assert!((found - 0.010_051_574_454_933_553).abs() < 1e-12, "{found}");
    let digits = |n: u32, more: f64| -> Vec<f64> {
        (0..n).map(|i| f64::from(i % 10) + if i % 3 == 0 { more } else { 0.0 }).collect()
    };
    let found = mann_whitney_exact(&digits(80, 0.0), &digits(70, 1.0));
    assert!((found - 0.496_852_660_519_842_56).abs() < 1e-12, "{found}");
}

#[test]
fn equal_values_keep_ranks_exact() {
    // Ranks 1, 2.5, 2.5 and 4, 5, 6: one way of 20 on either side.
    assert_eq!(mann_whitney_exact(&[1.0, 2.0, 2.0], &[3.0, 4.0, 5.0]), 0.1);
    // One 2 on either side, at rank 2.5: sums of 2 ranks of 4 are 3.5, 3.5, 5, 5, 6.5, 6.5.
    assert_eq!(mann_whitney_exact(&[1.0, 2.0], &[2.0, 3.0]), 4.0 / 6.0);
    assert_eq!(mann_whitney_exact(&[7.0; 4], &[7.0; 4]), 1.0);
    let shift = hodges_lehmann(&[7.0; 8], &[9.0; 8]);
    assert_eq!((shift.shift, shift.low, shift.high), (2.0, 2.0, 2.0));
}

#[test]
fn unusual_runs_are_pointed_out() {
    let row = |before: &[f64], after: &[f64]| Row {
        before: before.to_vec(),
        after: after.to_vec(),
        intensity: 1.0,
        margin: None,
        ..Row::default()
    };
    let even = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    let heaps = [0.0, 0.01, 0.02, 0.03, 1.0, 1.01, 1.02, 1.03];
    let wide = even.map(|value| 5.0 * value);
    let outlier = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 40.0];
    let rows = [row(&even, &even), row(&even, &heaps), row(&even, &wide), row(&even, &outlier)];
    let found = test(&Design::of_runs(8, 8), &rows, &options()).rows;
    let flags = |of: fn(&Tested) -> bool| found.iter().map(of).collect::<Vec<_>>();
    assert_eq!(flags(|row| row.bimodal), [false, true, false, false]);
    assert_eq!(flags(|row| row.unequal_variance), [false, false, true, false]);
    assert_eq!(flags(|row| row.disagrees), [false, false, false, true]);
}

#[test]
fn more_runs_are_asked_for_where_they_would_help() {
    let rows = rows(Noise::Normal, 4, 1, 8);
    let outcome = test(&Design::of_runs(4, 4), &rows, &options());
    let mut asked = 0;
    for row in &outcome.rows {
        match row.verdict {
            Verdict::Inconclusive | Verdict::Suspect => {
                asked += usize::from(row.runs_needed.is_some());
                assert!(row.runs_needed.is_none_or(|runs| runs > 4), "{row:?}");
            }
            _ => assert_eq!(row.runs_needed, None),
        }
        assert!(row.mde > options().margin.ln_1p() / std::f64::consts::LN_2);
    }
    assert!(asked > 10, "{asked}");
}

/// The smallest change that is found in 8 of 10 comparisons is found in about 8 of 10.
#[test]
fn the_smallest_change_to_be_found_is_found() {
    let quiet = Runs {
        noise: Noise::Normal,
        n_functions: 100,
        n_boots: 8,
        n_runs: 1,
        boots: 0.0,
        changed_percent: 0,
        ratio: 1.0,
    };
    let (mut found, mut asked) = (0, 0);
    for seed in 0..10 {
        let mut rows: Vec<Row> = quiet
            .make(seed)
            .into_iter()
            .map(|series| Row {
                before: series.before,
                after: series.after,
                intensity: series.intensity,
                margin: None,
                ..Row::default()
            })
            .collect();
        let mde: Vec<f64> = test(&Design::of_runs(8, 8), &rows, &options())
            .rows
            .iter()
            .map(|row| row.mde)
            .collect();
        for idx in (0..100).step_by(20) {
            rows[idx].after.iter_mut().for_each(|value| *value += mde[idx]);
        }
        let after = test(&Design::of_runs(8, 8), &rows, &options());
        for idx in (0..100).step_by(20) {
            found += u32::from(after.rows[idx].verdict == Verdict::Regressed);
            asked += 1;
        }
    }
    assert!((0.65..=0.95).contains(&(f64::from(found) / f64::from(asked))), "{found} of {asked}");
}

#[test]
fn intervals_of_selected_functions_are_wider() {
    let rows = rows(Noise::Normal, 6, 1, 9);
    let outcome = test(&Design::of_runs(6, 6), &rows, &options());
    let level = selected_level(&outcome.rows);
    assert!(level > 0.95 && level < 1.0);
    let row = outcome.rows.iter().find(|row| row.verdict == Verdict::Regressed).unwrap();
    let (low, high) = row.interval(level);
    assert!(low < row.ci_low && high > row.ci_high);
    assert!((row.interval(0.95).0 - row.ci_low).abs() < 1e-12);
}

/// R: `t.test(c(1, 2, 3, 6))$conf.int` is -0.4374 to 6.4374.
#[test]
fn a_level_has_the_interval_of_students_t() {
    let level = |values: &[f64]| {
        let weighted = Weighted::of(values.iter().map(|&value| (value, 1.0)).collect());
        Level::of(weighted, &mut Quantiles::default())
    };
    let four = level(&[1.0, 2.0, 3.0, 6.0]);
    assert_eq!((four.mean, four.n), (3.0, 4));
    assert!((four.reach - 3.437_4).abs() < 1e-4, "{four:?}");
    let one = level(&[5.0]);
    assert!(one.mean == 5.0 && one.reach.is_nan() && one.n == 1, "{one:?}");
    let none = level(&[]);
    assert!(none.mean.is_nan() && none.reach.is_nan() && none.n == 0, "{none:?}");
}

/// The values are those of Pocock's function.
#[test]
fn looks_spend_the_whole_rate() {
    for (look, looks, expected) in
        [(1, 1, 0.05), (1, 2, 0.031_005_725_347_913_876), (1, 4, 0.017_868_700_975_439_42)]
    {
        let found = spent(0.05, look, looks);
        assert!((found - expected).abs() < 1e-15, "{look} of {looks}: {found}");
    }
    let all: f64 = (1..=4).map(|look| spent(0.05, look, 4)).sum();
    assert!((all - 0.05).abs() < 1e-15, "{all}");
}

#[test]
fn ranks_are_tested_from_six_measurements_on() {
    for n in [5, 6] {
        for paired in [false, true] {
            let design = Design { paired, ..Design::of_runs(n, n) };
            let rows = rows(Noise::Normal, n, 1, 10);
            let outcome = test(&design, &rows, &options());
            let has = outcome.rows.iter().all(|row| row.p_ranks.is_some() && n == 6);
            let has_none = outcome.rows.iter().all(|row| row.p_ranks.is_none() && n == 5);
            assert!(has || has_none, "{n}, {paired}");
        }
    }
}
