//! One run per side: within-trace intervals, and the calibration by a baseline.

use profctl_testkit::generate::{Noise, Random, Runs};

use crate::diff::stats::{
    Block, Calibration, Change, Options, Verdict, block_bootstrap_ratio, effective_sample_size,
};

/// Durations of calls, each of which repeats `memory` of the last one.
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

/// One block per call.
fn each(calls: &[f64]) -> Vec<Block> {
    calls.iter().map(|&sum| Block { calls: 1.0, sum }).collect()
}

#[test]
fn intervals_hold_the_ratio_as_often_as_they_say() {
    for (memory, n) in [(0.0, 200), (0.6, 600), (0.6, 3000)] {
        let mut random = Random::new(1);
        let held = (0..100)
            .filter(|&seed| {
                let (before, after) =
                    (calls(n, memory, &mut random), calls(n, memory, &mut random));
                let interval = block_bootstrap_ratio(&each(&before), &each(&after), seed).unwrap();
                assert!(interval.low <= interval.ratio && interval.ratio <= interval.high);
                interval.low <= 1.0 && 1.0 <= interval.high
            })
            .count();
        assert!((87..=99).contains(&held), "memory {memory}, {n} calls: {held} of 100");
    }
}

/// Calls of a run: the logarithm of each is that of the run, repeats `memory` of the last one, and
/// one call in a hundred meets something seven times as long.
fn trace(run: f64, memory: f64, random: &mut Random) -> Vec<Block> {
    let (mut last, mut sum_of_six) = (0.0, || {
        // Six uniform numbers make a bell of variance 1/2.
        let six: f64 = (0..6).map(|_| random.below(1000) as f64 / 1000.0 - 0.4995).sum();
        (six * std::f64::consts::SQRT_2, random.below(100) == 0)
    });
    (0..2000)
        .map(|_| {
            let (fresh, hit) = sum_of_six();
            last = memory * last + (1.0 - memory * memory).sqrt() * fresh;
            let length = (run + 0.4 * last).exp() * if hit { 7.0 } else { 1.0 };
            Block { calls: 1.0, sum: length }
        })
        .collect()
}

/// Within-trace intervals cover the correlation of consecutive calls and not the variation of runs:
/// the share of comparisons of equal builds in which they exclude ± 5 %.
#[test]
fn intervals_inside_traces_know_nothing_of_runs() {
    // The deviation of runs, the memory of calls, and the bounds of the share of a hundred.
    for (runs, memory, bounds) in
        [(0.0, 0.0, 0..=2), (0.0, 0.5, 0..=2), (0.03, 0.5, 0..=12), (0.1, 0.5, 30..=65)]
    {
        let mut random = Random::new(11);
        let called = (0..100)
            .filter(|&seed| {
                let [before, after] = [0, 1].map(|_| {
                    let six: f64 =
                        (0..6).map(|_| random.below(1000) as f64 / 1000.0 - 0.4995).sum();
                    trace(runs * six * std::f64::consts::SQRT_2, memory, &mut random)
                });
                let interval = block_bootstrap_ratio(&before, &after, seed).unwrap();
                interval.low > 1.05 || interval.high < 1.0 / 1.05
            })
            .count();
        assert!(bounds.contains(&called), "{runs}, {memory}: {called} of 100");
    }
}

/// Calls of one activation share what it is like: resampling them one by one underestimates the
/// variance.
#[test]
fn activations_are_what_is_drawn() {
    let mut random = Random::new(5);
    let (mut held, mut held_by_calls) = (0, 0);
    for seed in 0..100 {
        let sides = [0, 1].map(|_| -> Vec<Block> {
            let activation = |_| {
                // Two kinds of request, one long and with many calls, at random.
                let long = random.below(4) == 0;
                let calls = if long { 40.0 } else { 5.0 };
                let cost = if long { 300.0 } else { 100.0 } + random.below(20) as f64;
                Block { calls, sum: calls * cost }
            };
            (0..120).map(activation).collect()
        });
        let by_call = sides.each_ref().map(|side| -> Vec<Block> {
            let single = |block: &Block| Block { calls: 1.0, sum: block.sum / block.calls };
            // In an order that keeps nothing together.
            let all: Vec<Block> =
                side.iter().flat_map(|block| vec![single(block); block.calls as usize]).collect();
            (0..all.len()).map(|at| all[at * 7919 % all.len()]).collect()
        });
        let holds = |sides: &[Vec<Block>; 2]| {
            let interval = block_bootstrap_ratio(&sides[0], &sides[1], seed).unwrap();
            u32::from(interval.low <= 1.0 && 1.0 <= interval.high)
        };
        held += holds(&sides);
        held_by_calls += holds(&by_call);
    }
    assert!((87..=100).contains(&held) && held_by_calls < 80, "{held}, {held_by_calls} by calls");
}

#[test]
fn nothing_to_compare_has_no_interval() {
    let ratio =
        |before: &[f64], after: &[f64]| block_bootstrap_ratio(&each(before), &each(after), 1);
    assert_eq!(ratio(&[], &[1.0]), None);
    assert_eq!(ratio(&[1.0], &[]), None);
    assert_eq!(ratio(&[0.0; 9], &[1.0; 9]), None);
    let same = ratio(&[2.0; 9], &[3.0; 9]).unwrap();
    assert_eq!((same.ratio, same.low, same.high), (1.5, 1.5, 1.5));
}

#[test]
fn neighbors_that_repeat_each_other_count_less() {
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
        let learned = Calibration::new(blocks, &rows, &intensities, &Options::default()).unwrap();
        let mut sds: Vec<f64> = learned.rows.iter().flatten().map(|noise| noise.sd).collect();
        sds.sort_by(f64::total_cmp);
        sds[sds.len() / 2]
    };
    // Half of the functions vary by more than 5 % from run to run, and by √5 as much from boot to
    // boot.
    let expected = 0.05 * 5.0_f64.sqrt() / std::f64::consts::LN_2;
    let found = mean_variance(&blocks);
    assert!((found / expected - 1.0).abs() < 0.2, "found {found}, expected {expected}");
}
