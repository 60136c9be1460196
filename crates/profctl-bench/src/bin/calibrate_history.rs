//! `calibrate_history [--write] [REPEATS [LINE]]`: which steps planted in series of builds `history`
//! finds, beside a gate that compares each build with the one before, and beside E-divisive alone, as
//! MongoDB looks at its benchmarks; in all lines, or in those whose name contains LINE. `--write` puts
//! the table into `docs/statistics.md`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use profctl_analyze::diff::{self, Run, Side, Verdict, compare};
use profctl_analyze::history::{Build, History, Options};
use profctl_bench::made::{empty, number, row};
use profctl_bench::page::HISTORY;
use profctl_testkit::generate::{Noise, Random, Runs, Series};

fn main() -> ExitCode {
    HISTORY.main(5, |repeats, only, out| table(repeats, only, out))
}

const FUNCTIONS: usize = 200;
const RUNS: usize = 5;
/// What counts as a change, for all methods.
const MARGIN: f64 = 0.02;
/// Sizes of steps, each planted in one function of twenty, up or down.
const SIZES: [f64; 4] = [0.03, 0.05, 0.10, 0.50];
/// Builds before the first step and after the last at least.
const EDGE: usize = 5;
/// A change that is found so many builds from a step is that step.
const NEAR: usize = 3;

struct Line {
    name: String,
    noise: Noise,
    /// How far builds vary, in units of how far runs do.
    builds_vary: f64,
    n_builds: usize,
}

fn lines() -> Vec<Line> {
    let kinds = [
        (Noise::Normal, 0.0, "normal"),
        (Noise::Normal, 0.5, "builds half as noisy as runs"),
        (Noise::HeavyTails, 0.0, "heavy tails"),
        (Noise::SlowState, 0.0, "slow state"),
        (Noise::TwoStates, 0.0, "two states"),
        (Noise::Drift, 0.0, "run-wide 3 %"),
    ];
    let mut lines = Vec::new();
    for (noise, builds_vary, name) in kinds {
        // Long series take long: of one kind only.
        let longest = if name == "normal" { 200 } else { 100 };
        for n_builds in [30, 100, 200].into_iter().filter(|&n| n <= longest) {
            lines.push(Line { name: format!("{name}, {n_builds}"), noise, builds_vary, n_builds });
        }
    }
    lines
}

/// A step of a function.
#[derive(Clone, Copy)]
struct Step {
    size: usize,
    /// The first build after it.
    build: usize,
    up: bool,
}

/// A series of builds, and what was planted in it.
struct Made {
    line: Line,
    series: Vec<Series>,
    steps: Vec<Option<Step>>,
}

impl Made {
    fn new(line: &Line, seed: u64) -> Self {
        let runs = Runs {
            noise: line.noise,
            n_functions: FUNCTIONS,
            n_boots: line.n_builds,
            n_runs: RUNS,
            boots: line.builds_vary,
            changed_percent: 0,
            ratio: 1.0,
        };
        let mut random = Random::new(seed ^ 0x5eed);
        let steps = (0..FUNCTIONS)
            .map(|_| {
                let size = random.below(20) as usize;
                let between = (line.n_builds - 2 * EDGE) as u64;
                let build = EDGE + random.below(between + 1) as usize;
                let up = random.percent(50);
                (size < SIZES.len()).then_some(Step { size, build, up })
            })
            .collect();
        let line = Line { name: line.name.clone(), ..*line };
        Self { line, series: runs.make(seed), steps }
    }

    /// The binary logarithm of a function's time in a run of a build.
    fn value(&self, function: usize, build: usize, run: usize) -> f64 {
        let value = self.series[function].before[build * RUNS + run];
        match self.steps[function] {
            Some(step) if build >= step.build => {
                let change = (1.0 + SIZES[step.size]).log2();
                value + if step.up { change } else { -change }
            }
            _ => value,
        }
    }

    fn side(&self, build: usize) -> Side {
        let runs = (0..RUNS).map(|run| {
            let mut profile = empty();
            let rows = (0..FUNCTIONS).map(|function| {
                let calls = self.series[function].intensity.exp2() as u64 + 10;
                let net = (1e6 * self.value(function, build, run).exp2() * calls as f64) as u64;
                row(function, calls, net, net)
            });
            profile.rows = rows.collect();
            let sum: u64 = profile.rows.iter().map(|row| row.stats.net).sum();
            (profile.real, profile.capacity) = (sum, sum);
            profile.events = 2 * profile.rows.iter().map(|row| row.stats.calls).sum::<u64>();
            Run {
                name: format!("{build}/{run}"),
                block: None,
                profile,
                facts: Vec::new(),
                series: None,
                paths: None,
            }
        });
        Side { name: format!("build {build}"), runs: runs.collect(), skipped: 0 }
    }
}

/// A change that a method reports: the function, the first build after it, and whether it is a rise.
type Claim = (usize, usize, bool);

fn by_history(made: &Made) -> Vec<Claim> {
    let mut history = History::default();
    for build in 0..made.line.n_builds {
        history.add(Build { name: build.to_string(), ..Build::default() }, made.side(build));
    }
    let mut options = Options::default();
    options.stats.margin = MARGIN;
    let found = history.find(&options);
    let claims: BTreeSet<Claim> = found
        .changes
        .iter()
        .filter_map(|change| {
            Some((number(change.function.as_deref()?)?, change.build, change.ratio > 1.0))
        })
        .collect();
    claims.into_iter().collect()
}

fn by_pairs(made: &Made) -> Vec<Claim> {
    let mut options = diff::Options::default();
    options.stats.margin = MARGIN;
    let mut claims = Vec::new();
    let mut before = made.side(0);
    for build in 1..made.line.n_builds {
        let after = made.side(build);
        let found = compare(before, after.clone(), &options).expect("sides of equal functions");
        for function in &found.functions {
            let up = function.verdict == Verdict::Regressed;
            if let (true, Some(at)) =
                (up || function.verdict == Verdict::Improved, number(&function.name))
            {
                claims.push((at, build, up));
            }
        }
        before = after;
    }
    claims
}

/// E-divisive with a permutation test at 5 %, function by function, on means of builds.
fn by_divisive(made: &Made) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut random = Random::new(7);
    for function in 0..FUNCTIONS {
        let of_build = |build| {
            (0..RUNS).map(|run| made.value(function, build, run)).sum::<f64>() / RUNS as f64
        };
        let means: Vec<f64> = (0..made.line.n_builds).map(of_build).collect();
        let mut cuts = vec![0, means.len()];
        let mut open = vec![(0, means.len())];
        while let Some((from, to)) = open.pop() {
            let part = &means[from..to];
            let Some((at, strength)) = divide(part) else { continue };
            if chance(part, strength, &mut random) <= 0.05 {
                cuts.push(from + at);
                open.extend([(from, from + at), (from + at, to)]);
            }
        }
        cuts.sort_unstable();
        let mean = |from: usize, to: usize| {
            means[from..to].iter().sum::<f64>() / (to - from).max(1) as f64
        };
        for around in cuts.windows(3) {
            let step = mean(around[1], around[2]) - mean(around[0], around[1]);
            if step.abs() >= (1.0 + MARGIN).log2() {
                claims.push((function, around[1], step > 0.0));
            }
        }
    }
    claims
}

/// The cut of the largest energy distance: twice the mean distance between the parts, less those
/// within them, scaled by their sizes.
fn divide(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    let mut best: Option<(usize, f64)> = None;
    let row = |at: usize, range: std::ops::Range<usize>| -> f64 {
        values[range].iter().map(|other| (values[at] - other).abs()).sum()
    };
    let (mut within, mut across) = ([0.0, 0.0], 0.0);
    within[1] = (0..n).map(|at| row(at, at + 1..n)).sum();
    for at in 0..n {
        let (below, above) = (row(at, 0..at), row(at, at + 1..n));
        within[0] += below;
        within[1] -= above;
        across += above - below;
        let (left, right) = (at + 1, n - at - 1);
        if left < 2 || right < 2 {
            continue;
        }
        let pairs = |n: usize| (n * (n - 1)) as f64 / 2.0;
        let (a, b) = (left as f64, right as f64);
        let energy = 2.0 * across / (a * b) - within[0] / pairs(left) - within[1] / pairs(right);
        let strength = energy * a * b / (a + b);
        if best.is_none_or(|(_, most)| strength > most) {
            best = Some((left, strength));
        }
    }
    best
}

/// The share of 99 shuffled series, and of itself, that are divided as well.
fn chance(values: &[f64], strength: f64, random: &mut Random) -> f64 {
    let mut shuffled = values.to_vec();
    let mut as_well = 1;
    for _ in 0..99 {
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, random.below(at as u64 + 1) as usize);
        }
        as_well += u32::from(divide(&shuffled).is_some_and(|(_, other)| other >= strength));
    }
    f64::from(as_well) / 100.0
}

/// What a method found of all series of a line.
#[derive(Default)]
struct Score {
    planted: [u64; SIZES.len()],
    found: [u64; SIZES.len()],
    right: u64,
    claims: u64,
    distance: u64,
    looked_at: u64,
}

impl Score {
    fn add(&mut self, made: &Made, claims: &[Claim]) {
        self.looked_at += (FUNCTIONS * made.line.n_builds) as u64;
        self.claims += claims.len() as u64;
        for (function, step) in made.steps.iter().enumerate() {
            let Some(step) = step else { continue };
            self.planted[step.size] += 1;
            let near = claims
                .iter()
                .filter(|(of, _, up)| (*of, *up) == (function, step.up))
                .map(|(_, build, _)| build.abs_diff(step.build))
                .filter(|distance| *distance <= NEAR)
                .min();
            if let Some(distance) = near {
                self.found[step.size] += 1;
                self.right += 1;
                self.distance += distance as u64;
            }
        }
    }

    fn cells(&self) -> String {
        let percent = |n: u64, of: u64| 100.0 * n as f64 / of.max(1) as f64;
        let found: Vec<String> = self
            .found
            .iter()
            .zip(self.planted)
            .map(|(&found, planted)| format!("{:.0}", percent(found, planted)))
            .collect();
        format!(
            "{} | {:.0} | {:.2} | {:.3}",
            found.join(" | "),
            percent(self.right, self.claims),
            self.distance as f64 / self.right.max(1) as f64,
            1000.0 * (self.claims - self.right) as f64 / self.looked_at.max(1) as f64
        )
    }
}

type Method = (&'static str, fn(&Made) -> Vec<Claim>);

fn table(repeats: u64, only: &str, out: &mut impl Write) -> io::Result<String> {
    const METHODS: [Method; 3] =
        [("`history`", by_history), ("pairs", by_pairs), ("E-divisive", by_divisive)];
    let mut text = format!(
        "{FUNCTIONS} functions, {RUNS} runs a build, {repeats} series a line (seeds 0 to {}); a step of each size in \
         one function of twenty.\n\n{}\n| --- | --- | --: | --: | --: | --: | --: | --: | --: |\n",
        repeats.saturating_sub(1),
        HISTORY.columns
    );
    out.write_all(text.as_bytes())?;
    for line in lines().into_iter().filter(|line| line.name.contains(only)) {
        let mut scores: [Score; METHODS.len()] = Default::default();
        for seed in 0..repeats {
            let made = Made::new(&line, seed);
            for (score, (_, method)) in scores.iter_mut().zip(METHODS) {
                score.add(&made, &method(&made));
            }
        }
        for (score, (method, _)) in scores.iter().zip(METHODS) {
            let row = format!("| {} | {method} | {} |\n", line.name, score.cells());
            out.write_all(row.as_bytes())?;
            text.push_str(&row);
        }
        out.flush()?;
    }
    Ok(text)
}
