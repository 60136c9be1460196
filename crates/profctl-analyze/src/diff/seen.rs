//! The way from a row of a comparison into the runs of both sides.

use profctl_model::hash::FastMap;

use super::side::{Run, Side, SideStats};
use super::stats::{self, block_bootstrap_ratio};
use super::types::{Function, Matched, MatchedBy, Pairing};
use super::{Measure, Options, Parts, Verdict};
use crate::summarize::{FuncStats, Profile};

/// Where a function is in the profile of a run.
type Places<'a> = FastMap<(&'a str, Option<&'a str>), usize>;

fn index_of_runs(side: &Side) -> Vec<Places<'_>> {
    side.runs.iter().map(places).collect()
}

fn places(run: &Run) -> Places<'_> {
    let rows = run.profile.rows.iter().enumerate();
    rows.map(|(place, row)| ((row.name.as_str(), row.module.as_deref()), place)).collect()
}

/// Both sides and the way into them.
pub(super) struct RunRows<'a> {
    sides: [&'a Side; 2],
    merged: &'a [Profile; 2],
    runs: [Vec<Places<'a>>; 2],
}

impl<'a> RunRows<'a> {
    /// Looks up where each function is in each run.
    pub(super) fn new(sides: [&'a Side; 2], merged: &'a [Profile; 2]) -> Self {
        Self { sides, merged, runs: sides.map(index_of_runs) }
    }

    /// The calls of a row in one run.
    fn in_run(&self, pairing: &Pairing, side: usize, run: usize) -> FuncStats {
        let mut stats = FuncStats::default();
        for &member in members(pairing, side) {
            let row = &self.merged[side].rows[member];
            let key = (row.name.as_str(), row.module.as_deref());
            if let Some(&place) = self.runs[side][run].get(&key) {
                stats.merge(&self.sides[side].runs[run].profile.rows[place].stats);
            }
        }
        stats
    }

    /// The same in each run of a side.
    pub(super) fn in_runs(&self, pairing: &Pairing, side: usize) -> Vec<FuncStats> {
        (0..self.sides[side].runs.len()).map(|run| self.in_run(pairing, side, run)).collect()
    }

    fn side_stats(&self, pairing: &Pairing, side: usize) -> SideStats {
        let mut total = FuncStats::default();
        for &member in members(pairing, side) {
            total.merge(&self.merged[side].rows[member].stats);
        }
        let of_runs = self.sides[side].runs.len();
        let there = |&run: &usize| {
            members(pairing, side).iter().any(|&member| {
                let row = &self.merged[side].rows[member];
                self.runs[side][run].contains_key(&(row.name.as_str(), row.module.as_deref()))
            })
        };
        let runs = (0..of_runs).filter(there).count();
        SideStats::new(of_runs as u32, runs as u32, total)
    }

    pub(super) fn function(&self, pairing: &Pairing) -> Function {
        let [before, after] = [0, 1].map(|side| self.side_stats(pairing, side));
        let names = [0, 1].map(|side| -> Vec<String> {
            let rows = &self.merged[side].rows;
            let members = members(pairing, side);
            let mut names: Vec<String> =
                members.iter().map(|&member| rows[member].name.clone()).collect();
            names.sort_unstable();
            names
        });
        let kind = [1, 0].into_iter().find_map(|side| {
            let members = members(pairing, side);
            members.iter().filter_map(|&member| self.merged[side].rows[member].kind).max()
        });
        let name = match (names[1].as_slice(), pairing.by) {
            (_, None | Some(MatchedBy::Rule)) => pairing.name.clone(),
            ([only], Some(_)) => only.clone(),
            _ => pairing.name.clone(),
        };
        let [old, new] = names;
        let matched = pairing.by.map(|by| Matched { by, before: old, after: new });
        let parts = Parts::of(&before, &after);
        Function {
            name,
            module: pairing.module.clone(),
            kind,
            matched,
            parts,
            tests: [None, None, None],
            measure: Measure::Net,
            ratio: None,
            interval: None,
            verdict: Verdict::NotTested,
            moved: None,
            charged: None,
            tail: None,
            before,
            after,
        }
    }

    /// What the test is given: a number a run.
    pub(super) fn values(
        &self,
        pairing: &Pairing,
        name: &str,
        measures: &[Measure],
        options: &Options<'_>,
    ) -> Vec<stats::Row> {
        let runs = [0, 1].map(|side| self.in_runs(pairing, side));
        let calls: Vec<f64> = runs
            .iter()
            .flatten()
            .filter(|run| run.calls > 0)
            .map(|run| (run.calls as f64).log2())
            .collect();
        let intensity = calls.iter().sum::<f64>() / calls.len().max(1) as f64;
        let margin = options.margin_of(name);
        let mean = |side: &Vec<FuncStats>| {
            let calls: u64 = side.iter().map(|run| run.calls.saturating_add(run.partial)).sum();
            calls as f64 / side.len().max(1) as f64
        };
        let calls = f64::midpoint(mean(&runs[0]), mean(&runs[1]));
        let of = |measure: Measure, side: usize| -> Vec<f64> {
            let value = |(at, run): (usize, &FuncStats)| {
                let enough = calls >= measure.calls_factor() * options.calls_min;
                let counts = side == 1 || options.counts(name, &self.sides[0].runs[at]);
                let counts = counts && enough;
                if counts { measure.of(run) } else { f64::NAN }
            };
            runs[side].iter().enumerate().map(value).collect()
        };
        let row = |&measure: &Measure| stats::Row {
            before: of(measure, 0),
            after: of(measure, 1),
            intensity,
            margin,
            within: stats::WithinRuns {
                variance: [0, 1].map(|side| {
                    runs[side].iter().map(|run| measure.variance_within(run)).collect()
                }),
                without_largest: [0, 1].map(|side| {
                    runs[side].iter().map(|run| measure.without_largest(run)).collect()
                }),
                is_mixture: measure == Measure::Elapsed,
            },
        };
        measures.iter().map(row).collect()
    }

    /// The within-trace standard error of the binary logarithm of a ratio of two single traces: a
    /// call that an interrupt hit is nothing that the build has done.
    pub(super) fn se_within(
        &self,
        pairing: &Pairing,
        function: &Function,
        measure: Measure,
    ) -> f64 {
        let of_calls = [&function.before.total, &function.after.total].map(|total| {
            let lengths = match measure {
                Measure::Net | Measure::Total => &total.net_of_calls,
                Measure::Elapsed => &total.elapsed_of_calls,
            };
            let n = total.measured() as f64;
            let mean = lengths.sum as f64 / n;
            let variance = (lengths.squares as f64 / n - mean * mean).max(0.0);
            if mean > 0.0 { (variance / n).sqrt() / mean / std::f64::consts::LN_2 } else { 0.0 }
        });
        let independent = of_calls[0].hypot(of_calls[1]);
        if measure != Measure::Net {
            return independent;
        }
        let in_blocks = self.within(pairing).map_or(0.0, |within| {
            // An interval of 95 % is 2 × 1.96 standard errors wide.
            (within.high / within.low).log2() / 3.92
        });
        if in_blocks.is_finite() { independent.max(in_blocks) } else { independent }
    }

    /// The interval of the ratio inside two single traces.
    pub(super) fn within(&self, pairing: &Pairing) -> Option<stats::Interval> {
        /// Any number does; the same one makes the same report.
        const SEED: u64 = 1993;
        let series = [0, 1].map(|side| {
            let [run] = self.sides[side].runs.as_slice() else { return None };
            let [member] = members(pairing, side) else { return None };
            let row = &self.merged[side].rows[*member];
            Some(run.series.as_ref()?.of(&row.name, row.module.as_deref()))
        });
        let [Some(before), Some(after)] = series else { return None };
        block_bootstrap_ratio(before, after, SEED)
    }
}

/// Which rows of a side a row of the comparison is about.
fn members(pairing: &Pairing, side: usize) -> &[usize] {
    if side == 0 { &pairing.before } else { &pairing.after }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::diff::fixture::{Rows, series};

    /// Calls of `f`, of so many ticks each.
    fn calls(of: &[u64]) -> String {
        let (mut line, mut now) = (String::new(), 0);
        for length in of {
            write!(line, "{now} f( {} ) ", now + length).unwrap();
            now += length;
        }
        line
    }

    #[test]
    fn the_error_of_a_ratio_is_that_of_both_means() {
        let rows = Rows::of(&[&calls(&[2, 4, 6, 12])], &[&calls(&[4, 8, 12, 40])]);
        let seen = rows.seen();
        for measure in Measure::ALL {
            let found = seen.se_within(&rows.pairings[0], &rows.functions[0], measure);
            // `np.hypot(*(np.std(x) / 2 / np.mean(x) / np.log(2) for x in (before, after)))`
            assert!((found - 0.780_302_951_9).abs() < 1e-9, "{measure:?}: {found}");
        }
        let nothing = Rows::of(&["0 f( 0 )"], &["0 f( 0 )"]);
        let found =
            nothing.seen().se_within(&nothing.pairings[0], &nothing.functions[0], Measure::Elapsed);
        assert!(found.abs() < 1e-12, "{found}");
    }

    #[test]
    fn correlated_calls_widen_the_error_of_net_time() {
        // By turns 25 slow and 25 fast calls: they vary like a few.
        let lengths: Vec<u64> = (0..400).map(|call| 100 + 100 * (call / 25 % 2)).collect();
        let mut rows = Rows::of(&[&calls(&lengths)], &[&calls(&lengths)]);
        let seen = rows.seen();
        let of = |seen: &RunRows<'_>, measure| {
            seen.se_within(&rows.pairings[0], &rows.functions[0], measure)
        };
        let independent = of(&seen, Measure::Net);
        assert!(seen.within(&rows.pairings[0]).is_none());
        for side in &mut rows.sides {
            side.runs[0].series = Some(series(&calls(&lengths)));
        }
        let seen = rows.seen();
        let of = |measure| seen.se_within(&rows.pairings[0], &rows.functions[0], measure);
        let within = seen.within(&rows.pairings[0]).unwrap();
        let expected = (within.high.log2() - within.low.log2()) / (2.0 * 1.96);
        assert!(expected > 1.1 * independent, "{expected}, {independent}");
        assert!((of(Measure::Net) - expected).abs() < 1e-12);
        assert!((of(Measure::Elapsed) - independent).abs() < 1e-12);
    }

    #[test]
    fn a_row_has_the_mean_logarithm_of_calls_and_what_counts() {
        let of = |n: usize| calls(&vec![4; n]);
        let rows = Rows::of(&[&of(8), &of(32)], &[&of(16), "0 g( 9 )"]);
        let (seen, at) = (rows.seen(), rows.at("f"));
        let value = |calls_min: f64, measure: Measure| {
            let options = Options { calls_min, ..Options::default() };
            let row = seen.values(&rows.pairings[at], "f", &[measure], &options).remove(0);
            // Of 8, 16 and 32 calls; a run without it has none.
            assert!((row.intensity - 4.0).abs() < 1e-12, "{}", row.intensity);
            assert_eq!(row.within.is_mixture, measure == Measure::Elapsed);
            row.before[0].is_finite()
        };
        // 20 calls in a run before and 8 after are 14.
        assert!(value(14.0, Measure::Net) && !value(14.01, Measure::Net));
        assert!(value(4.66, Measure::Elapsed) && !value(4.67, Measure::Elapsed));
    }

    #[test]
    fn a_function_goes_by_its_name_after_unless_there_are_several() {
        let name = |before: &str, after: &str, by: Option<MatchedBy>| {
            let rows = Rows::of(&[before], &[after]);
            let all = |side: usize| (0..rows.merged[side].rows.len()).collect();
            let pairing =
                Pairing { name: "by rule".into(), module: None, before: all(0), after: all(1), by };
            rows.seen().function(&pairing).name
        };
        let (old, new) = ("0 old( 1 )", "0 new( 1 )");
        assert_eq!(name(old, new, Some(MatchedBy::Rename)), "new");
        assert_eq!(name(old, "0 x( 1 ) y( 2 )", Some(MatchedBy::Suffix)), "by rule");
        assert_eq!(name(old, new, Some(MatchedBy::Rule)), "by rule");
        assert_eq!(name(old, new, None), "by rule");
    }
}
