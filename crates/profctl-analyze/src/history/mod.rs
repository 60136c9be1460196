//! What became of every function over many builds: where its level changed, whether it stayed, and
//! which functions flip between states whatever the build.
//!
//! Pairs of builds see jumps and call them one at a time; a series sees which of them are there to
//! stay. Each build is a block of runs: builds of the same code differ, if only by where a linker put
//! things, and that difference is the noise against which a change is held.

mod divisive;
mod output;
mod two_states;

use std::collections::BTreeMap;

use profctl_model::Ticks;

use crate::diff::stats::{self, Design, Row, test_together};
use crate::diff::{Measure, Side, WHOLE_RUN, function_key, natural_order};
use crate::find;

/// How to look for changes.
#[derive(Clone, Debug)]
pub struct Options {
    /// What counts as a change, and how sure one has to be.
    pub stats: stats::Options,
    /// What is looked at of a function.
    pub measures: Vec<Measure>,
    /// Calls in a run, on average, below which a function is not looked at.
    pub calls_min: f64,
}

impl Default for Options {
    fn default() -> Self {
        let stats =
            stats::Options { margin: 0.02, runs_min: 1, blocks_min: 1, ..Default::default() };
        Self { stats, measures: Measure::DEFAULT.into(), calls_min: 5.0 }
    }
}

/// The chance above which a cut is treated as chance, function by function. Whether it is one among
/// many is asked afterwards.
const LEVEL: f64 = 0.05;

/// A build of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// Its name.
    pub name: String,
    /// The commit that it was made of.
    pub commit: Option<String>,
    /// When it was made.
    pub date: Option<String>,
    /// What else is known of how it was made.
    pub config: Option<String>,
    /// Its runs.
    pub runs: usize,
}

/// A function, or the whole run, over all runs of all builds.
#[derive(Clone, Debug, Default)]
struct Series {
    /// Binary logarithms by measure, a value a run, in the order of the builds; NaN where absent.
    values: [Vec<f64>; 3],
    /// Its calls in all runs.
    calls: u64,
}

/// Builds in the order in which they were made, and what was measured of each.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The builds.
    pub builds: Vec<Build>,
    functions: BTreeMap<String, Series>,
    runs: usize,
}

impl History {
    /// Adds the next build. Only a number a function and run is kept of it.
    pub fn add(&mut self, mut build: Build, mut side: Side) {
        side.settle();
        // As they were made, as far as their names tell: a drift is to be seen.
        side.runs.sort_by(|a, b| natural_order(&a.name, &b.name));
        build.runs = side.runs.len();
        self.builds.push(build);
        for run in side.runs {
            let (mut busy, mut calls) = (0_u64, 0_u64);
            let mut of_run: BTreeMap<String, crate::summarize::FuncStats> = BTreeMap::new();
            for row in run.profile.rows {
                if !crate::diff::counts(row.kind) {
                    continue;
                }
                busy = busy.saturating_add(row.stats.net);
                calls = calls.saturating_add(row.stats.calls);
                of_run.entry(function_key(&row.name)).or_default().merge(&row.stats);
            }
            for (name, stats) in of_run {
                let values = Measure::ALL.map(|measure| measure.of(&stats));
                self.push(name, values, stats.calls);
            }
            let log = |sum: u64| if sum > 0 { (sum as f64).log2() } else { f64::NAN };
            self.push(WHOLE_RUN.into(), [f64::NAN, log(busy), f64::NAN], calls);
            self.runs += 1;
        }
    }

    /// What was measured of a function, a list of runs by build: ticks. Fails, naming similar
    /// functions, if no build has it.
    pub fn levels(&self, function: &str, measure: Measure) -> Result<Vec<Vec<f64>>, String> {
        let key = function_key(function);
        let Some(series) = self.functions.get(&key) else {
            return Err(find::unknown(
                "function",
                function,
                self.functions.keys().map(String::as_str),
            ));
        };
        let mut values = series.values[measure.index()].iter();
        let of_build = |build: &Build| {
            let runs = values.by_ref().take(build.runs);
            runs.filter(|log| log.is_finite()).map(|log| log.exp2()).collect()
        };
        Ok(self.builds.iter().map(of_build).collect())
    }

    fn push(&mut self, name: String, values: [f64; 3], calls: u64) {
        let series = self.functions.entry(name).or_default();
        series.calls = series.calls.saturating_add(calls);
        for (of_measure, value) in series.values.iter_mut().zip(values) {
            of_measure.resize(self.runs, f64::NAN);
            of_measure.push(value);
        }
    }

    /// Finds the changes.
    pub fn find(&self, options: &Options) -> Found {
        let of_run: Vec<usize> = self
            .builds
            .iter()
            .enumerate()
            .flat_map(|(at, build)| std::iter::repeat_n(at, build.runs))
            .collect();
        let looked_at: Vec<(&String, &Series)> = self
            .functions
            .iter()
            .filter(|(_, series)| {
                series.calls as f64 / self.runs.max(1) as f64 >= options.calls_min
            })
            .collect();
        let least = (1.0 + options.stats.margin).log2();
        let mut candidates = Vec::new();
        for &measure in &options.measures {
            for (function, (_, series)) in looked_at.iter().enumerate() {
                let values = &series.values[measure as usize];
                let (places, means) = self.means(values, &of_run);
                let cuts = divisive::cuts(&means, least, LEVEL);
                for (number, cut) in cuts.iter().enumerate() {
                    let from = number.checked_sub(1).map_or(0, |before| cuts[before].at);
                    let to = cuts.get(number + 1).map_or(means.len(), |next| next.at);
                    candidates.push(Candidate {
                        function,
                        measure,
                        build: places[cut.at],
                        previous: places[cut.at - 1],
                        from: places[from],
                        to: places[to - 1] + 1,
                        p: cut.p,
                    });
                }
            }
        }
        let changes = self.confirm(&candidates, &looked_at, &of_run, options);
        // Where changes cannot be found, they look like states, and like a difference between builds.
        let builds_min = divisive::shortest(LEVEL);
        let is_long = self.builds.len() >= builds_min;
        let flaky = looked_at.iter().filter(|_| is_long).filter_map(|(name, series)| {
            let cuts: Vec<usize> = changes
                .iter()
                .filter(|change| change.function.as_deref() == Some(name.as_str()))
                .map(|change| change.build)
                .collect();
            let values = &series.values[options.measures[0] as usize];
            let score = two_states::score(values, &of_run, &cuts, least)?;
            Some(Flaky { function: (*name).clone(), score })
        });
        Found {
            builds: self.builds.clone(),
            flaky: flaky.collect(),
            functions: looked_at.iter().filter(|(name, _)| *name != WHOLE_RUN).count(),
            between_share: self.between_share(&looked_at, &of_run, options).filter(|_| is_long),
            builds_min,
            margin: options.stats.margin,
            changes,
        }
    }

    /// The mean of each build that has the function, and the builds' places.
    fn means(&self, values: &[f64], of_run: &[usize]) -> (Vec<usize>, Vec<f64>) {
        let mut sums = vec![(0.0, 0_u32); self.builds.len()];
        for (value, &build) in values.iter().zip(of_run).filter(|(value, _)| value.is_finite()) {
            let (sum, n) = &mut sums[build];
            (*sum, *n) = (*sum + value, *n + 1);
        }
        let there = sums.iter().enumerate().filter(|(_, (_, n))| *n > 0);
        there.map(|(at, (sum, n))| (at, sum / f64::from(*n))).unzip()
    }

    /// Tests each candidate between the intervals of builds before and after it, all of them and
    /// every other function together.
    fn confirm(
        &self,
        candidates: &[Candidate],
        looked_at: &[(&String, &Series)],
        of_run: &[usize],
        options: &Options,
    ) -> Vec<Change> {
        if candidates.is_empty() {
            return Vec::new();
        }
        let blocks: Vec<u32> = of_run.iter().map(|&build| build as u32).collect();
        let design = Design { before: blocks.clone(), after: blocks, paired: false };
        let n = self.builds.len();
        let row = |series: &Series, measure: Measure, from: usize, at: usize, to: usize| {
            let values = &series.values[measure as usize];
            let within = |low: usize, high: usize| -> Vec<f64> {
                let value = |(run, &build): (usize, &usize)| {
                    let known = values.get(run).copied().unwrap_or(f64::NAN);
                    if (low..high).contains(&build) { known } else { f64::NAN }
                };
                of_run.iter().enumerate().map(value).collect()
            };
            let calls = series.calls.max(1) as f64 / self.runs.max(1) as f64;
            Row {
                before: within(from, at),
                after: within(at, to),
                intensity: calls.log2(),
                margin: None,
                ..Row::default()
            }
        };
        // Functions without a candidate are cut in the middle: that is what noise looks like.
        let rows: Vec<Vec<Row>> = options
            .measures
            .iter()
            .map(|&measure| {
                let mut rows: Vec<Row> = candidates
                    .iter()
                    .filter(|candidate| candidate.measure == measure)
                    .map(|one| row(looked_at[one.function].1, measure, one.from, one.build, one.to))
                    .collect();
                let mut has_one = vec![false; looked_at.len()];
                for one in candidates.iter().filter(|one| one.measure == measure) {
                    has_one[one.function] = true;
                }
                let others = looked_at.iter().zip(has_one).filter(|(_, has_one)| !has_one);
                rows.extend(others.map(|((_, series), _)| row(series, measure, 0, n / 2, n)));
                rows
            })
            .collect();
        let outcomes = test_together(&design, &rows, &options.stats);
        let mut changes = Vec::new();
        for (&measure, outcome) in options.measures.iter().zip(&outcomes) {
            let of_measure = candidates.iter().filter(|one| one.measure == measure);
            for (one, tested) in of_measure.zip(&outcome.rows) {
                let claimed =
                    matches!(tested.verdict, stats::Verdict::Regressed | stats::Verdict::Improved);
                if !claimed {
                    continue;
                }
                let name = looked_at[one.function].0;
                let level = stats::selected_level(&outcome.rows);
                let (low, high) = tested.interval(level);
                changes.push(Change {
                    function: (name != WHOLE_RUN).then(|| name.clone()),
                    build: one.build,
                    previous: one.previous,
                    measure,
                    ratio: tested.estimate.exp2(),
                    interval: (low.exp2(), high.exp2()),
                    before: Ticks(tested.sides[0].mean.exp2().round() as u64),
                    after: Ticks(tested.sides[1].mean.exp2().round() as u64),
                    p: one.p,
                    persistent: true,
                });
            }
        }
        settle(changes, options)
    }

    /// The share of a run's variance that is between builds, in the middle of the functions.
    fn between_share(
        &self,
        looked_at: &[(&String, &Series)],
        of_run: &[usize],
        options: &Options,
    ) -> Option<f64> {
        let mut shares: Vec<f64> = looked_at
            .iter()
            .filter_map(|(_, series)| {
                let values = &series.values[options.measures[0] as usize];
                share_between(values, of_run, self.builds.len())
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        (!shares.is_empty()).then(|| stats::median(&shares))
    }

    /// What a function is known by in a history: compilers append to names what changes from build
    /// to build.
    pub fn key(function: &str) -> String {
        function_key(function)
    }

    /// The last change of each function and of the whole run: builds before it are another level.
    pub fn last_changes(found: &Found) -> BTreeMap<String, usize> {
        let mut last = BTreeMap::new();
        for change in &found.changes {
            let name = change.function.clone().unwrap_or_else(|| WHOLE_RUN.into());
            let entry = last.entry(name).or_insert(change.build);
            *entry = (*entry).max(change.build);
        }
        last
    }
}

/// One change a function and place, those that were reverted marked, the latest first and of one
/// build the largest.
fn settle(mut changes: Vec<Change>, options: &Options) -> Vec<Change> {
    let order = |measure: Measure| options.measures.iter().position(|one| *one == measure);
    changes.sort_by(|a, b| {
        (&a.function, order(a.measure), a.build).cmp(&(&b.function, order(b.measure), b.build))
    });
    let mut kept: Vec<Change> = Vec::new();
    for change in changes {
        let same = |other: &Change| {
            other.function == change.function
                && other.measure != change.measure
                && other.build.abs_diff(change.build) <= 1
                && (other.ratio > 1.0) == (change.ratio > 1.0)
        };
        if !kept.iter().any(same) {
            kept.push(change);
        }
    }
    let margin = (1.0 + options.stats.margin).log2();
    for at in 0..kept.len() {
        let mut level = kept[at].ratio.log2();
        for later in at + 1..kept.len() {
            let (one, other) = (&kept[at], &kept[later]);
            if one.function != other.function || one.measure != other.measure {
                continue;
            }
            level += other.ratio.log2();
            if level.abs() <= margin {
                kept[at].persistent = false;
                break;
            }
        }
    }
    kept.sort_by(|a, b| {
        let size = |change: &Change| change.ratio.log2().abs();
        b.build
            .cmp(&a.build)
            .then(a.function.is_some().cmp(&b.function.is_some()))
            .then(size(b).total_cmp(&size(a)))
            .then_with(|| a.function.cmp(&b.function))
    });
    kept
}

/// One-way analysis of variance: what differences of neighboring builds leave to builds.
fn share_between(values: &[f64], of_run: &[usize], builds: usize) -> Option<f64> {
    let mut groups = vec![Vec::new(); builds];
    for (value, &build) in values.iter().zip(of_run).filter(|(value, _)| value.is_finite()) {
        groups[build].push(*value);
    }
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| group.len() > 1).collect();
    if groups.len() < 3 {
        return None;
    }
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    let within: f64 = groups
        .iter()
        .map(|group| {
            let middle = mean(group);
            group.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
                / (group.len() - 1) as f64
        })
        .sum::<f64>()
        / groups.len() as f64;
    // Neighbors, so that a change of level counts once and not in every pair.
    let mut between: Vec<f64> =
        groups.windows(2).map(|pair| (mean(pair[0]) - mean(pair[1])).powi(2) / 2.0).collect();
    between.sort_by(f64::total_cmp);
    // The median of a squared normal difference is 0.455 of its mean.
    let between = stats::median(&between) / 0.455;
    // Of a build with few runs, more is left by them.
    let by_runs = groups.iter().map(|group| within / group.len() as f64).sum::<f64>();
    let of_builds = (between - by_runs / groups.len() as f64).max(0.0);
    let all = of_builds + within;
    (all > 0.0).then(|| of_builds / all)
}

/// A place where a function may have changed.
struct Candidate {
    function: usize,
    measure: Measure,
    /// The first build after, and the last before.
    build: usize,
    previous: usize,
    /// The stretch of builds around it in which nothing else changes.
    from: usize,
    to: usize,
    p: f64,
}

/// A change that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The function; nothing for the whole run.
    pub function: Option<String>,
    /// The first build after the change.
    pub build: usize,
    /// The last build before it: what lies between the two is to be searched.
    pub previous: usize,
    /// What changed.
    pub measure: Measure,
    /// After ÷ before.
    pub ratio: f64,
    /// Its interval, wide enough for having been picked out of all functions.
    pub interval: (f64, f64),
    /// The level before, and after.
    pub before: Ticks,
    /// See `before`.
    pub after: Ticks,
    /// The share of shuffled series that are cut as well.
    pub p: f64,
    /// Whether the level stayed.
    pub persistent: bool,
}

/// A function whose runs take one of two states.
#[derive(Clone, PartialEq, Debug)]
pub struct Flaky {
    /// The function.
    pub function: String,
    /// The part of its variance that the two states explain: 0.64 for a bell, 1 for two sharp
    /// states.
    pub score: f64,
}

/// What was found in a history.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The builds.
    pub builds: Vec<Build>,
    /// The changes, the latest first.
    pub changes: Vec<Change>,
    /// Functions to put under quarantine, by name.
    pub flaky: Vec<Flaky>,
    /// How many functions were looked at.
    pub functions: usize,
    /// The share of a run's variance that is between builds of the same level, in the middle of the
    /// functions; nothing where builds have one run each or are too few.
    pub between_share: Option<f64>,
    /// So many builds are needed to find a change.
    pub builds_min: usize,
    /// The change that does not matter, as a ratio less 1.
    pub margin: f64,
}

#[cfg(test)]
mod tests;
