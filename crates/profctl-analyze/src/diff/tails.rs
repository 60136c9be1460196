//! 99th percentiles per run, shown with the verdicts without affecting them.

use profctl_model::report::Section;
use profctl_model::{Cell, Column, Role, Table, Ticks};

use super::stats::{Distribution, TAIL_PERCENT, TAIL_RUNS_MIN, tail_interval};
use super::table::{SCHEMA, Shown, label};
use super::types::{Comparison, Function, Tail};
use crate::summarize::FuncStats;

/// Complete calls that each run must have.
const CALLS_MIN: u64 = 100;

/// Any number does; the same one makes the same report.
const SEED: u64 = 1990;

impl Tail {
    /// Of the runs of both sides; `None` unless each of them has enough calls and a histogram.
    /// `independent`: whether runs are independent observations.
    pub(super) fn of(sides: [Vec<FuncStats>; 2], independent: bool) -> Option<Self> {
        let p99 = |run: &FuncStats| {
            let known = run.measured() >= CALLS_MIN && run.net_of_calls.histogram.count() > 0;
            run.net_of_calls.percentile_middle(TAIL_PERCENT).filter(|_| known)
        };
        let points = |side: &[FuncStats]| side.iter().map(p99).collect::<Option<Vec<u64>>>();
        let (before, after) = (points(&sides[0])?, points(&sides[1])?);
        let mean = |side: &[u64]| {
            let logs = side.iter().map(|&p99| (p99.max(1) as f64).log2());
            logs.sum::<f64>() / side.len() as f64
        };
        let ratio = (mean(&after) - mean(&before)).exp2();
        let enough = independent && before.len().min(after.len()) >= TAIL_RUNS_MIN;
        let interval = enough.then(|| {
            let [before, after] = sides.map(|side| -> Vec<Distribution> {
                let of = |run: &FuncStats| Distribution::new(run.net_of_calls.histogram.buckets());
                side.iter().map(of).collect()
            });
            tail_interval(&before, &after, SEED)
        });
        Some(Self { before, after, ratio, interval: interval.flatten() })
    }
}

impl Comparison {
    /// The functions whose P99 changed the most.
    pub(super) fn tails(&self, shown: &Shown<'_>) -> Section {
        let mut rows: Vec<(&Function, &Tail)> = self
            .changed()
            .filter_map(|function| Some((function, function.tail.as_ref()?)))
            .filter(|(function, _)| shown.matching.is_none_or(|matches| matches(&function.name)))
            .collect();
        let size = |tail: &Tail| tail.ratio.log2().abs();
        rows.sort_by(|(a, of_a), (b, of_b)| {
            size(of_b).total_cmp(&size(of_a)).then_with(|| a.name.cmp(&b.name))
        });
        let time = |name: &str, heading: &str| Column::new(name, heading, Role::Time);
        let ratio = |name: &str, heading: &str| Column::new(name, heading, Role::Ratio);
        let mut columns = Vec::new();
        for (side, heading) in [("before", "P99 before"), ("after", "P99 after")] {
            columns.push(time(&format!("p99_{side}"), heading));
            columns.push(time(&format!("p99_{side}_min"), "lowest").in_group(side));
            columns.push(time(&format!("p99_{side}_max"), "highest run").in_group(side));
        }
        columns.push(ratio("p99_ratio", "ratio"));
        columns.push(ratio("p99_ci_low", "95% low").in_group("95%"));
        columns.push(ratio("p99_ci_high", "high").in_group("95%"));
        columns.push(Column::new("name", "name", Role::Name));
        let mut table = Table::new(SCHEMA, self.timebase, columns);
        table.left_out_first = &["p99_before_min", "p99_after_min"];
        for (function, tail) in rows.iter().take(shown.top.unwrap_or(usize::MAX)) {
            let mut cells = Vec::new();
            for side in [&tail.before, &tail.after] {
                let mut runs = side.clone();
                runs.sort_unstable();
                let middle = runs[(runs.len() - 1) / 2].midpoint(runs[runs.len() / 2]);
                for p99 in [middle, runs[0], runs[runs.len() - 1]] {
                    cells.push(Cell::Time(Ticks(p99)));
                }
            }
            cells.push(Cell::Ratio(tail.ratio));
            for end in [tail.interval.map(|ends| ends.0), tail.interval.map(|ends| ends.1)] {
                cells.push(end.map_or(Cell::Null, Cell::Ratio));
            }
            cells.push(Cell::Text(label(function)));
            table.push(cells);
        }
        Section {
            title: "99th percentile of net time per call".into(),
            count: rows.len(),
            sum: None,
            table,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::diff::fixture::run;
    use crate::diff::{Options, Side, compare};

    /// A run of so many calls, each of so many microseconds.
    fn calls(n: u64, length: u64) -> FuncStats {
        let mut line = String::new();
        for call in 0..n {
            write!(line, "{} f( {} ) ", call * length, (call + 1) * length).unwrap();
        }
        run("r", &line).profile.rows[0].stats.clone()
    }

    #[test]
    fn the_ratio_is_that_of_the_geometric_means_of_runs() {
        let sides = [vec![calls(100, 1), calls(120, 4)], vec![calls(100, 8), calls(100, 2)]];
        let tail = Tail::of(sides, true).unwrap();
        assert_eq!((tail.before, tail.after), (vec![1, 4], vec![8, 2]));
        // √(8 × 2) / √(1 × 4)
        assert!((tail.ratio - 2.0).abs() < 1e-12, "{}", tail.ratio);
    }

    #[test]
    fn every_run_needs_a_hundred_calls() {
        let of = |n| Tail::of([vec![calls(100, 3), calls(n, 3)], vec![calls(100, 3)]], true);
        assert!(of(99).is_none());
        assert!(of(100).is_some());
    }

    #[test]
    fn eight_independent_runs_per_side_have_an_interval() {
        let runs =
            |n: u64| -> Vec<FuncStats> { (0..n).map(|run| calls(100, 5 + run % 3)).collect() };
        let has = |before, after, independent| {
            Tail::of([runs(before), runs(after)], independent).unwrap().interval.is_some()
        };
        assert!(has(8, 8, true));
        assert!(!has(8, 8, false) && !has(7, 8, true) && !has(8, 7, true));
    }

    #[test]
    fn what_is_shown_of_a_side_is_the_median_of_its_runs() {
        let side = |lengths: &[u64]| {
            let one = |(at, &length): (usize, &u64)| {
                let call = |n: u64| format!("{} f( {} ) ", n * 100, n * 100 + length);
                run(&format!("r{at}"), &(0..100).map(call).collect::<String>())
            };
            let runs = lengths.iter().enumerate().map(one).collect();
            Side { name: String::new(), runs, skipped: 0 }
        };
        let (before, after) = (side(&[40, 10, 14, 9]), side(&[80, 81, 90]));
        let found = compare(before, after, &Options::default()).unwrap();
        let table = found.tails(&Shown::default()).table;
        let of = |name: &str| {
            let at = table.columns.iter().position(|column| column.name == name).unwrap();
            table.rows[0][at].clone()
        };
        let time = |micros: u64| Cell::Time(Ticks(micros * 1000));
        assert_eq!([of("p99_before"), of("p99_after")], [time(12), time(81)]);
    }
}
