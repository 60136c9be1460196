//! The flat profile of one or more traces, known by names so that it outlives them.

use std::cmp::{Ordering, Reverse};
use std::path::Path;

use profctl_model::hash::{FastMap, FastSet};
use profctl_model::{FuncKind, TickUnit, Ticks, Timebase, Timeline};

use super::call_graph::CallGraph;
use super::run_paths::RunPaths;
use super::stats::{FuncStats, Lengths};
use super::{By, PAIRS_MAX, Quality};

/// Where a trace came from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Source {
    /// The path, or `-`.
    pub path: String,
    /// The name of the format.
    pub format: String,
    /// Size after decompression, bytes.
    pub bytes: u64,
}

/// A flat profile. Times are ticks of `timebase`.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The traces in it, each as often as it was added; by path once there are several.
    pub sources: Vec<Source>,
    /// The clock.
    pub timebase: Timebase,
    /// What a row is.
    pub by: By,
    /// Last timestamp minus first, summed over the traces.
    pub real: u64,
    /// CPUs seen, at least 1; the most of any of the traces.
    pub lanes: u64,
    /// `real` times `lanes`, summed over the traces: what `% real` is a share of.
    pub capacity: u64,
    /// Records read.
    pub events: u64,
    /// Functions called.
    pub n_functions: u64,
    /// Threads that made calls; each trace has its own.
    pub n_threads: u64,
    /// Whether every trace could say when threads were switched out.
    pub knows_off_cpu: bool,
    /// Whether the histograms were kept in every trace.
    pub has_percentiles: bool,
    /// What was repaired, lost and skipped.
    pub quality: Quality,
    /// The rows, by net descending, then by name and module; no two have the same.
    pub rows: Vec<Row>,
    /// The runs that it is the sum of, each with its own sums, where it is of several runs; nothing
    /// where that is not known.
    pub runs: Option<Vec<SavedRun>>,
    /// The call paths, if they were kept; where it is of several runs, each of those has its own.
    pub paths: Option<RunPaths>,
    /// Who calls whom, if that was kept in every trace.
    pub call_graph: Option<CallGraph>,
}

/// One of the runs that a profile is the sum of.
#[derive(Clone, PartialEq, Debug)]
pub struct SavedRun {
    /// Where it is from.
    pub name: String,
    /// The block it belongs to: a boot, a host, a day.
    pub block: Option<String>,
    /// What else the head of the input says: columns, kernel, clock.
    pub facts: Vec<(String, String)>,
    /// Its sums; it has no runs of its own.
    pub profile: Profile,
}

impl SavedRun {
    /// By name as a directory lists its files, then by content.
    fn order(&self, other: &Self) -> Ordering {
        let place = |run: &Self| (Path::new(&run.name).to_owned(), run.name.clone());
        place(self)
            .cmp(&place(other))
            .then_with(|| (&self.block, &self.facts).cmp(&(&other.block, &other.facts)))
            .then_with(|| self.profile.to_json().cmp(&other.profile.to_json()))
    }
}

/// One row of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The function, or whatever the profile is by.
    pub name: String,
    /// The module of the function.
    pub module: Option<String>,
    /// What kind of function; nothing for a group of several kinds.
    pub kind: Option<FuncKind>,
    /// Its calls.
    pub stats: FuncStats,
}

/// One row a name and module, in the order of a profile.
pub(super) fn collapse(rows: Vec<Row>) -> Vec<Row> {
    let mut merged = Vec::new();
    add_rows(&mut merged, rows);
    sort(&mut merged);
    merged
}

/// Adds rows to those of the same name and module, of which `known` has one each; in no order.
fn add_rows(known: &mut Vec<Row>, rows: Vec<Row>) {
    // Names are borrowed while places are looked up: copying them costs more than adding.
    let mut places: FastMap<(&str, Option<&str>), usize> = FastMap::default();
    places.reserve(known.len() + rows.len());
    for (place, row) in known.iter().enumerate() {
        places.insert((&row.name, row.module.as_deref()), place);
    }
    let mut next = known.len();
    let place_of = rows.iter().map(|row| {
        let place = *places.entry((&row.name, row.module.as_deref())).or_insert(next);
        next = next.max(place + 1);
        place
    });
    let place_of: Vec<usize> = place_of.collect();
    for (row, place) in rows.into_iter().zip(place_of) {
        match known.get_mut(place) {
            Some(known) => {
                known.stats.merge(&row.stats);
                // Whichever is the more special, so that the order of merging cannot show.
                known.kind = known.kind.max(row.kind);
            }
            None => known.push(row),
        }
    }
}

fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let key = |row: &Row| Reverse(row.stats.net);
        key(a).cmp(&key(b)).then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module)))
    });
}

impl Profile {
    /// Net time of everything that is not idle.
    pub fn busy(&self) -> u64 {
        self.sum(|stats| stats.net.saturating_sub(stats.idle))
    }

    /// What of the capacity was not busy.
    pub fn idle(&self) -> u64 {
        self.capacity.saturating_sub(self.busy())
    }

    /// Whether it is known how long calls took. A synthetic timeline of no length is one of calls
    /// that were only counted.
    pub fn knows_lengths(&self) -> bool {
        self.timebase.timeline == Timeline::Recorded || self.real > 0
    }

    /// Complete calls.
    pub fn calls(&self) -> u64 {
        self.sum(|stats| stats.calls)
    }

    /// Calls whose entry or exit was not recorded.
    pub fn partial(&self) -> u64 {
        self.sum(|stats| stats.partial)
    }

    fn sum(&self, of: impl Fn(&FuncStats) -> u64) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(of(&row.stats)))
    }

    /// Net time of `row` in percent of the capacity; nothing if there is none.
    pub fn real_pct(&self, row: &Row) -> Option<f64> {
        share(row.stats.net, self.capacity)
    }

    /// Net time of `row` in percent of `busy`, which is [`Self::busy`]; nothing for an idle row,
    /// which has no part in it. Over all rows this sums to 100.
    pub fn net_pct(&self, row: &Row, busy: u64) -> Option<f64> {
        if row.kind == Some(FuncKind::Idle) {
            return None;
        }
        share(row.stats.net.saturating_sub(row.stats.idle), busy)
    }

    /// The sum of several runs, each of which is remembered, in the order of their names. The same
    /// whatever the order they are given in, and whether or not some of them were saved before.
    pub fn of_runs(mut runs: Vec<SavedRun>) -> Result<Self, String> {
        runs.sort_by(SavedRun::order);
        let mut parts = runs.iter().map(|run| {
            let mut part = run.profile.in_ticks_of_a_file();
            // Each of several runs has its own paths.
            part.paths = part.paths.filter(|_| runs.len() == 1);
            (run, part)
        });
        let (_, mut sum) = parts.next().ok_or("no run, expected one")?;
        for (run, part) in parts {
            sum.merge(part).map_err(|error| format!("{}: {error}", run.name))?;
        }
        sum.runs = Some(runs);
        Ok(sum)
    }

    /// The same without its runs if there is only one, which is then the profile itself.
    #[must_use]
    pub fn without_single_run(mut self) -> Self {
        self.runs = self.runs.take().filter(|runs| runs.len() > 1);
        self
    }

    /// The same with the tick that it has after it was saved.
    fn in_ticks_of_a_file(&self) -> Self {
        let mut copy = self.clone();
        if copy.units_per_tick().is_none() {
            copy.convert_to_reported_unit();
        }
        copy
    }

    /// The runs that it is the sum of: itself, called `name`, if it is not known to be of several.
    pub fn into_runs(mut self, name: &str) -> Vec<SavedRun> {
        match self.runs.take() {
            Some(runs) => runs,
            None => vec![SavedRun {
                name: name.to_owned(),
                block: None,
                facts: Vec::new(),
                profile: self,
            }],
        }
    }

    /// Whether the call paths of every run were kept.
    pub fn has_paths(&self) -> bool {
        match &self.runs {
            Some(runs) => runs.iter().all(|run| run.profile.paths.is_some()),
            None => self.paths.is_some(),
        }
    }

    /// Removes the rows that `keep` rejects, in the runs as well.
    pub fn retain(&mut self, keep: &dyn Fn(&Row) -> bool) {
        self.rows.retain(keep);
        if let Some(graph) = &mut self.call_graph {
            let kept: FastSet<(&str, Option<&str>)> =
                self.rows.iter().map(|row| (row.name.as_str(), row.module.as_deref())).collect();
            *graph = graph.of_those(&|function| kept.contains(&function));
        }
        for run in self.runs.iter_mut().flatten() {
            run.profile.retain(keep);
        }
    }

    /// Drops the histograms, as if they had never been kept, in the runs as well.
    pub fn drop_histograms(&mut self) {
        self.has_percentiles = false;
        for row in &mut self.rows {
            row.stats.drop_histograms();
        }
        for run in self.runs.iter_mut().flatten() {
            run.profile.drop_histograms();
        }
    }

    /// Adds another profile: rows of one name and module become one. Fails, and changes nothing,
    /// if the two do not count the same thing.
    ///
    /// Whatever the order and the grouping in which profiles are added, the result is the same: all
    /// of it is sums, maxima and sorted lists.
    pub fn merge(&mut self, mut other: Self) -> Result<(), String> {
        let units = (self.timebase.unit_name(), other.timebase.unit_name());
        if units.0 != units.1 {
            return Err(format!("the profile counts {}, earlier ones {}", units.1, units.0));
        }
        if self.by != other.by {
            let (ours, theirs) = (self.by.name(), other.by.name());
            return Err(format!("the profile is grouped by {theirs}, earlier ones by {ours}"));
        }
        if self.timebase.ratio() != other.timebase.ratio() {
            self.convert_to_reported_unit();
            other.convert_to_reported_unit();
        }
        self.timebase.resolution = self.timebase.resolution.max(other.timebase.resolution);
        if other.timebase.timeline == Timeline::Synthetic {
            self.timebase.timeline = Timeline::Synthetic;
        }
        self.sources.append(&mut other.sources);
        self.sources.sort();
        self.merge_paths(&mut other);
        self.merge_call_graphs(&mut other);
        self.lanes = self.lanes.max(other.lanes);
        for (ours, theirs) in [
            (&mut self.real, other.real),
            (&mut self.capacity, other.capacity),
            (&mut self.events, other.events),
            (&mut self.n_threads, other.n_threads),
        ] {
            *ours = ours.saturating_add(theirs);
        }
        // In a trace without calls, neither is known.
        let [is_empty, adds_nothing] = [self.rows.is_empty(), other.rows.is_empty()];
        let both = |ours, theirs| (ours || is_empty) && (theirs || adds_nothing);
        self.knows_off_cpu = both(self.knows_off_cpu, other.knows_off_cpu);
        self.has_percentiles = both(self.has_percentiles, other.has_percentiles);
        self.quality.merge(other.quality);
        // Shards are parts of runs: whose run a part belongs to is not known.
        self.runs = None;
        add_rows(&mut self.rows, std::mem::take(&mut other.rows));
        sort(&mut self.rows);
        self.n_functions = match self.by {
            By::Function => self.rows.len() as u64,
            // Which functions are in the groups is not kept.
            By::Module | By::Thread | By::Cpu | By::Kind => self.n_functions.max(other.n_functions),
        };
        Ok(())
    }

    /// Adds the call paths of another profile, if those of both are known, be it run by run.
    fn merge_paths(&mut self, other: &mut Self) {
        let ours = self.take_paths();
        let theirs = other.take_paths();
        self.paths = match (ours, theirs) {
            (Some(mut ours), Some(theirs)) => {
                ours.merge(&theirs);
                Some(ours)
            }
            // A trace without calls has no paths.
            (Some(ours), None) if other.rows.is_empty() => Some(ours),
            (None, Some(theirs)) if self.rows.is_empty() => Some(theirs),
            _ => None,
        };
    }

    /// Adds who calls whom in another profile, if that is known of both.
    fn merge_call_graphs(&mut self, other: &mut Self) {
        self.call_graph = match (self.call_graph.take(), other.call_graph.take()) {
            (Some(mut ours), Some(theirs)) => {
                ours.merge(&theirs);
                Some(ours).filter(|graph| graph.edges.len() <= PAIRS_MAX)
            }
            // A trace without calls has no callers.
            (Some(ours), None) if other.rows.is_empty() => Some(ours),
            (None, Some(theirs)) if self.rows.is_empty() => Some(theirs),
            _ => None,
        };
    }

    /// The call paths, of all runs together if there are several.
    fn take_paths(&mut self) -> Option<RunPaths> {
        let Some(runs) = &mut self.runs else { return self.paths.take() };
        let mut sum = RunPaths::default();
        for run in runs {
            sum.merge(&run.profile.paths.take()?);
        }
        Some(sum)
    }

    /// The whole number of reported units (nanoseconds, cycles, instructions) in a tick, if it is
    /// one and no time of this profile is past 64 bits in them. Ticks then go to a file and come
    /// back as they were.
    pub(super) fn units_per_tick(&self) -> Option<u64> {
        let (numerator, 1) = self.timebase.ratio() else {
            return None;
        };
        let tick = u64::try_from(numerator).ok()?;
        let rows = self.rows.iter().map(|row| {
            let stats = &row.stats;
            let lengths = [&stats.net_of_calls, &stats.elapsed_of_calls];
            let of_calls = lengths.map(|lengths| lengths.sum.max(lengths.max));
            stats.wall.max(stats.net).max(stats.stolen).max(of_calls[0]).max(of_calls[1])
        });
        let largest = rows.chain([self.real, self.capacity, self.timebase.resolution.0]).max();
        largest.unwrap_or(0).checked_mul(tick).map(|_| tick)
    }

    /// Makes the reported unit the tick. Sums are rounded to the nearest.
    pub(crate) fn convert_to_reported_unit(&mut self) {
        let timebase = self.timebase;
        let reported = |ticks: u64| timebase.reported(Ticks(ticks));
        let unit = match timebase.unit {
            TickUnit::Seconds { .. } => Timebase::NANOSECONDS.unit,
            count @ (TickUnit::Cycles | TickUnit::Instructions) => count,
        };
        let resolution = Ticks(reported(timebase.resolution.0).max(1));
        self.timebase = Timebase { unit, resolution, timeline: timebase.timeline };
        self.real = reported(self.real);
        self.capacity = reported(self.capacity);
        for row in &mut self.rows {
            let stats = &mut row.stats;
            for time in [
                &mut stats.wall,
                &mut stats.off_cpu,
                &mut stats.elapsed,
                &mut stats.net,
                &mut stats.stolen,
                &mut stats.interrupted,
                &mut stats.idle,
            ] {
                *time = reported(*time);
            }
            if stats.measured() > 0 {
                scale(&mut stats.net_of_calls, &timebase);
                scale(&mut stats.elapsed_of_calls, &timebase);
            }
        }
        if let Some(graph) = &mut self.call_graph {
            graph.convert(&reported);
        }
        for run in self.runs.iter_mut().flatten() {
            run.profile.convert_to_reported_unit();
        }
        // Rounding may have brought two sums level, or a tie apart.
        self.rows = collapse(std::mem::take(&mut self.rows));
    }
}

/// `part` in percent of `whole`; nothing if there is no whole.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

fn scale(lengths: &mut Lengths, timebase: &Timebase) {
    let reported = |ticks: u64| timebase.reported(Ticks(ticks));
    lengths.sum = reported(lengths.sum);
    lengths.min = reported(lengths.min);
    lengths.max = reported(lengths.max);
    lengths.squares = timebase.reported_wide(timebase.reported_wide(lengths.squares));
    lengths.histogram = lengths.histogram.scaled(timebase.ratio());
}
