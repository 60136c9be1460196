//! `calibrate_gate [--write] [REPEATS [LINE]]`: how often the whole gate (all measures and the whole run
//! together) is red where nothing changed, and what it finds of functions that became 15 % slower;
//! in all lines, or in those whose name contains LINE. `--write` puts the table into
//! `docs/statistics.md`.

use std::io::{self, Write};
use std::process::ExitCode;

use profctl_analyze::diff::gate::{Policy, judge};
use profctl_analyze::diff::{Options, Run, Side, Verdict, compare};
use profctl_bench::made::{empty, number, row};
use profctl_bench::page::{SIMULATED, error_percent};
use profctl_model::report::Answer;
use profctl_testkit::generate::{Noise, Random, Runs};

fn main() -> ExitCode {
    SIMULATED.main(100, |repeats, only, out| table(repeats, only, out))
}

const FUNCTIONS: usize = 200;

/// What is wrong with the runs besides their noise.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Trouble {
    None,
    /// So many functions in a hundred take one of two sharp states, 30 % apart, in each run.
    States(u64),
    /// One function in twenty is laid out anew in each boot, by 10 %.
    Layout,
    /// One run after is 30 % slower in everything.
    Outlier,
    /// Runs are of unequal lengths, by 10 %.
    Lengths,
    /// Every run lost some events.
    Losses,
}

struct Line {
    name: String,
    runs: Runs,
    trouble: Trouble,
}

const PLAIN: Runs = Runs {
    noise: Noise::Normal,
    n_functions: FUNCTIONS,
    n_boots: 5,
    n_runs: 1,
    boots: 0.0,
    changed_percent: 0,
    ratio: 1.15,
};

fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    let names = [
        (Noise::Normal, "normal"),
        (Noise::HeavyTails, "heavy tails"),
        (Noise::SlowState, "slow state"),
        (Noise::TwoStates, "two states"),
        (Noise::TwiceAfter, "twice as noisy after"),
        (Noise::Drift, "drift of 3 % a run"),
    ];
    for (noise, name) in names {
        for n_boots in [2, 3, 5, 10] {
            let name = format!("{name}, {n_boots} runs");
            let runs = Runs { noise, n_boots, ..PLAIN };
            lines.push(Line { name, runs, trouble: Trouble::None });
        }
    }
    let troubles = [
        (Trouble::States(2), "two sharp states in 2 %"),
        (Trouble::States(5), "two sharp states in 5 %"),
        (Trouble::States(30), "two sharp states in 30 %"),
        (Trouble::Outlier, "an outlier run"),
        (Trouble::Lengths, "unequal lengths"),
        (Trouble::Losses, "losses"),
    ];
    for (trouble, name) in troubles {
        for n_boots in [3, 4, 5, 10] {
            let name = format!("{name}, {n_boots} runs");
            lines.push(Line { name, runs: Runs { n_boots, ..PLAIN }, trouble });
        }
    }
    for n_boots in [1, 2, 3, 4] {
        let runs = Runs { n_boots, n_runs: 3, boots: 1.0, ..PLAIN };
        let name = format!("{n_boots} boots of 3, as noisy as runs");
        lines.push(Line { name, runs, trouble: Trouble::None });
        let runs = Runs { n_boots, n_runs: 3, ..PLAIN };
        let name = format!("layout of 5 % per boot, {n_boots} boots of 3");
        lines.push(Line { name, runs, trouble: Trouble::Layout });
    }
    lines
}

/// Of so many comparisons of equals, one is repeated with changes.
const FEWER: u64 = 5;

/// The first seed of comparisons with changes.
const CHANGED_SEED: u64 = 1_000_000;

fn table(repeats: u64, only: &str, out: &mut impl Write) -> io::Result<String> {
    let fewer = repeats.div_ceil(FEWER);
    let mut text = format!(
        "{FUNCTIONS} functions; {repeats} comparisons of equals (seeds 0 to {}), {fewer} with 5 % of the \
         functions 15 % slower (seeds from {CHANGED_SEED}).\n\n\
         {}\n| --- | --: | --: | --: | --: | --: |\n",
        repeats.saturating_sub(1),
        SIMULATED.columns
    );
    out.write_all(text.as_bytes())?;
    for line in lines().into_iter().filter(|line| line.name.contains(only)) {
        let (mut red, mut strict, mut inconclusive) = (0_u64, 0_u64, 0_u64);
        for seed in 0..repeats {
            let (sides, _) = sides(&line, seed, false);
            let ([answer, strictly], _) = answer(sides)?;
            red += u64::from(answer == Answer::Regressed);
            strict += u64::from(strictly == Answer::Regressed);
            inconclusive += u64::from(answer == Answer::Inconclusive);
        }
        let (mut found, mut changed, mut false_alarms) = (0_u64, 0_u64, 0_u64);
        for seed in 0..fewer {
            let (sides, is_changed) = sides(&line, CHANGED_SEED + seed, true);
            let (_, regressed) = answer(sides)?;
            changed += is_changed.iter().filter(|changed| **changed).count() as u64;
            for at in regressed {
                if is_changed[at] { found += 1 } else { false_alarms += 1 }
            }
        }
        let percent = |n: u64, of: u64| 100.0 * n as f64 / of.max(1) as f64;
        let row = format!(
            "| {} | {:.1} ± {:.1} | {:.1} | {:.0} | {:.0} ± {:.0} | {:.2} |\n",
            line.name,
            percent(red, repeats),
            error_percent(red, repeats),
            percent(strict, repeats),
            percent(inconclusive, repeats),
            percent(found, changed),
            error_percent(found, changed),
            false_alarms as f64 / fewer.max(1) as f64
        );
        out.write_all(row.as_bytes())?;
        out.flush()?;
        text.push_str(&row);
    }
    Ok(text)
}

/// The answer, that of `--strict`, and the functions whose own time regressed.
fn answer([before, after]: [Side; 2]) -> io::Result<([Answer; 2], Vec<usize>)> {
    let comparison = compare(before, after, &Options::default()).map_err(io::Error::other)?;
    let answers = [false, true]
        .map(|strict| judge(&comparison, &Policy { strict, ..Policy::default() }).answer);
    let own = comparison.functions.iter().filter(|function| {
        function.verdict == Verdict::Regressed
            && function.tests[0].is_some_and(|tested| {
                tested.verdict == profctl_analyze::diff::stats::Verdict::Regressed
            })
    });
    let regressed = own.filter_map(|function| number(&function.name));
    Ok((answers, regressed.collect()))
}

fn uniform(random: &mut Random) -> f64 {
    (random.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64
}

fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Two sides, and which functions changed.
fn sides(line: &Line, seed: u64, with_changes: bool) -> ([Side; 2], Vec<bool>) {
    let changed_percent = if with_changes { 5 } else { 0 };
    let series = Runs { changed_percent, ..line.runs }.make(seed);
    let changed = series.iter().map(|one| one.changed).collect();
    let mut random = Random::new(seed ^ 0x5eed);
    let n = line.runs.n_boots * line.runs.n_runs;
    let odd = random.below(n as u64) as usize;
    let stateful: Vec<bool> = series
        .iter()
        .map(|_| matches!(line.trouble, Trouble::States(share) if random.percent(share)))
        .collect();
    let laid_out: Vec<bool> =
        series.iter().map(|_| line.trouble == Trouble::Layout && random.percent(5)).collect();
    let parents: Vec<Option<usize>> =
        (0..series.len()).map(|at| (at > 0).then(|| random.below(at as u64) as usize)).collect();
    let base: Vec<u64> = series.iter().map(|one| one.intensity.exp2() as u64 + 10).collect();
    let sides = [false, true].map(|after| {
        let boots: Vec<Vec<f64>> = (0..line.runs.n_boots)
            .map(|_| series.iter().map(|_| 0.1 * normal(&mut random)).collect())
            .collect();
        let runs = (0..n).map(|run| {
            let boot = run / line.runs.n_runs;
            let length = match line.trouble {
                Trouble::Lengths => (0.1 * normal(&mut random)).exp(),
                _ => 1.0,
            };
            let mut net = Vec::new();
            let mut calls = Vec::new();
            for (at, one) in series.iter().enumerate() {
                let values = if after { &one.after } else { &one.before };
                let mut ln = values[run] * std::f64::consts::LN_2;
                if stateful[at] {
                    // Sharp: the noise of the function is all in its states.
                    let middle = one.before[0] * std::f64::consts::LN_2;
                    let state = if random.percent(50) { 0.26 } else { 0.0 };
                    ln = middle + state + 0.002 * normal(&mut random);
                }
                if laid_out[at] {
                    ln += boots[boot][at];
                }
                if line.trouble == Trouble::Outlier && after && run == odd {
                    ln += 0.26;
                }
                // One function in ten is called by chance, the others by what is asked of them.
                let count = base[at] as f64 * length;
                let spread = if at % 10 == 0 { count.sqrt() } else { 0.001 * count };
                let count = (count + spread * normal(&mut random)).round().max(1.0) as u64;
                calls.push(count);
                net.push((1000.0 * ln.exp() * count as f64) as u64);
            }
            let mut elapsed = net.clone();
            for at in (1..elapsed.len()).rev() {
                if let Some(parent) = parents[at] {
                    elapsed[parent] += elapsed[at];
                }
            }
            let rows = (0..series.len()).map(|at| row(at, calls[at], net[at], elapsed[at]));
            let mut profile = empty();
            profile.rows = rows.collect();
            profile.real = elapsed[0];
            profile.capacity = elapsed[0];
            profile.events = 2 * calls.iter().sum::<u64>();
            if line.trouble == Trouble::Losses {
                profile.quality.lost_events = Some(random.below(profile.events / 200));
            }
            let side = if after { "after" } else { "before" };
            Run {
                name: format!("{side}/run{run}"),
                block: (line.runs.n_runs > 1).then(|| format!("boot{boot}")),
                profile,
                facts: Vec::new(),
                series: None,
                paths: None,
            }
        });
        let name = if after { "after" } else { "before" };
        Side { name: name.into(), runs: runs.collect(), skipped: 0 }
    });
    (sides, changed)
}
