//! One run a side: intervals inside two traces, and what a baseline adds.

use profctl_testkit::generate::{Noise, Random, Runs};

use crate::diff::stats::{
    Calibration, Change, Options, Verdict, block_bootstrap_ratio, effective_sample_size,
};

/// Lengths of calls, each of which repeats `memory` of the last one.
fn calls(n: usize, memory: f64, random: &mut Random) -> Vec<f64> {
    let mut last = 0.0;
    (0..n)
        .map(|_| {
            let fresh: f64 = (0..6).map(|_| random.below(1000) as f64 / 1000.0 - 0.4995).sum();
            last = memory * last + (1.0 - memory * memory).sqrt() * fresh;
            100.0 + 10.0 * last
        })
        .collect()
}

#[test]
fn intervals_hold_the_ratio_as_often_as_they_say() {
    for (memory, n) in [(0.0, 200), (0.6, 600), (0.6, 3000)] {
        let mut random = Random::new(1);
        let held = (0..100)
            .filter(|&seed| {
                let (before, after) =
                    (calls(n, memory, &mut random), calls(n, memory, &mut random));
                let interval = block_bootstrap_ratio(&before, &after, seed).unwrap();
                assert!(interval.low <= interval.ratio && interval.ratio <= interval.high);
                interval.low <= 1.0 && 1.0 <= interval.high
            })
            .count();
        assert!((87..=99).contains(&held), "memory {memory}, {n} calls: {held} of 100");
    }
}

#[test]
fn nothing_to_compare_has_no_interval() {
    assert_eq!(block_bootstrap_ratio(&[], &[1.0], 1), None);
    assert_eq!(block_bootstrap_ratio(&[1.0], &[], 1), None);
    assert_eq!(block_bootstrap_ratio(&[0.0; 9], &[1.0; 9], 1), None);
    let same = block_bootstrap_ratio(&[2.0; 9], &[3.0; 9], 1).unwrap();
    assert_eq!((same.ratio, same.low, same.high), (1.5, 1.5, 1.5));
}

#[test]
fn neighbours_that_repeat_each_other_count_less() {
    let mut random = Random::new(2);
    let free = effective_sample_size(&calls(4000, 0.0, &mut random));
    assert!((3000.0..=4000.0).contains(&free), "{free}");
    // n (1 - memory) / (1 + memory) is 1000.
    let bound = effective_sample_size(&calls(4000, 0.6, &mut random));
    assert!((700.0..=1300.0).contains(&bound), "{bound}");
    assert_eq!(effective_sample_size(&[1.0; 50]), 50.0);
}

/// A baseline of eight runs, and two further runs in which one in twenty functions changed.
struct Baseline {
    rows: Vec<Vec<f64>>,
    intensities: Vec<f64>,
    changes: Vec<Option<Change>>,
    is_changed: Vec<bool>,
}

impl Baseline {
    fn learn(&self) -> Option<Calibration> {
        let blocks: Vec<u32> = (0..8).collect();
        Calibration::new(&blocks, &self.rows, &self.intensities, &Options::default())
    }
}

fn baseline(seed: u64, ratio: f64) -> Baseline {
    let runs = Runs {
        noise: Noise::Normal,
        n_functions: 300,
        n_boots: 9,
        n_runs: 1,
        boots: 0.0,
        changed_percent: 5,
        ratio,
    };
    let series = runs.make(seed);
    let change = |before: f64, after: f64| Change { estimate: after - before, se_within: 0.0 };
    Baseline {
        rows: series.iter().map(|series| series.before[..8].to_vec()).collect(),
        intensities: series.iter().map(|series| series.intensity).collect(),
        changes: series
            .iter()
            .map(|series| Some(change(series.before[8], series.after[0])))
            .collect(),
        is_changed: series.iter().map(|series| series.changed).collect(),
    }
}

#[test]
fn a_baseline_tells_noise_from_change() {
    let options = Options::default();
    let (mut red, mut found, mut changed) = (0, 0, 0);
    for seed in 0..40 {
        let same = baseline(seed, 1.0);
        let judged = same.learn().unwrap().judge(&same.changes, &options);
        red += u32::from(judged.iter().any(|row| row.verdict == Verdict::Regressed));
        let other = baseline(seed, 2.0);
        let judged = other.learn().unwrap().judge(&other.changes, &options);
        for (row, is_changed) in judged.iter().zip(&other.is_changed) {
            changed += u32::from(*is_changed);
            found += u32::from(*is_changed && row.verdict == Verdict::Regressed);
        }
    }
    assert!(red <= 6, "{red} of 40 are red");
    assert!(f64::from(found) > 0.8 * f64::from(changed), "{found} of {changed}");
}

#[test]
fn thresholds_add_up_what_is_not_known() {
    let baseline = baseline(1, 1.0);
    let noise = baseline.learn().unwrap().rows[0].unwrap();
    let alone = noise.threshold(0.0, 0.05);
    assert!(alone > 1.959 * std::f64::consts::SQRT_2 * noise.sd);
    let both = noise.threshold(noise.sd, 0.05);
    assert!((both / alone - 1.5_f64.sqrt()).abs() < 1e-12);
    let too_few =
        Calibration::new(&[0; 4], &baseline.rows, &baseline.intensities, &Options::default());
    assert_eq!(too_few, None);
}

#[test]
fn a_run_of_a_new_boot_varies_as_boots_do() {
    let runs = Runs {
        noise: Noise::Normal,
        n_functions: 400,
        n_boots: 5,
        n_runs: 4,
        boots: 2.0,
        changed_percent: 0,
        ratio: 1.0,
    };
    let series = runs.make(3);
    let rows: Vec<Vec<f64>> = series.iter().map(|series| series.before.clone()).collect();
    let intensities: Vec<f64> = series.iter().map(|series| series.intensity).collect();
    let blocks: Vec<u32> = (0..20).map(|run| run / 4).collect();
    let mean_variance = |blocks: &[u32]| {
        let learnt = Calibration::new(blocks, &rows, &intensities, &Options::default()).unwrap();
        let mut sds: Vec<f64> = learnt.rows.iter().flatten().map(|noise| noise.sd).collect();
        sds.sort_by(f64::total_cmp);
        sds[sds.len() / 2]
    };
    // Half of the functions vary by more than 5 % from run to run, and by √5 as much from boot to
    // boot.
    let expected = 0.05 * 5.0_f64.sqrt() / std::f64::consts::LN_2;
    let found = mean_variance(&blocks);
    assert!((found / expected - 1.0).abs() < 0.2, "found {found}, expected {expected}");
}
