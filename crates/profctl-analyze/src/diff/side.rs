//! What is compared: two sides, each of one run or of many.

use profctl_model::FuncKind;

use super::series::Series;
use crate::summarize::{FuncStats, Profile, RunPaths};

/// One run: one measurement, however many calls it holds.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it is from.
    pub name: String,
    /// The block it belongs to (a boot, a host, a day); runs without one are blocks of their own.
    pub block: Option<String>,
    /// What was measured.
    pub profile: Profile,
    /// What else the head of the input says: columns, kernel, clock.
    pub facts: Vec<(String, String)>,
    /// How the calls of each function came one after the other, where the run is a trace and it
    /// was asked for.
    pub series: Option<Series>,
    /// The paths of its calls, likewise.
    pub paths: Option<RunPaths>,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// What the user called it.
    pub name: String,
    /// Its runs, at least one.
    pub runs: Vec<Run>,
    /// Files of it that are no trace.
    pub skipped: u64,
}

impl Side {
    /// Puts the runs into an order that does not depend on how they came, and makes nanoseconds
    /// (or counts) the tick of all of them.
    pub(crate) fn settle(&mut self) {
        for run in &mut self.runs {
            run.profile.convert_to_reported_unit();
        }
        self.runs.sort_by(|a, b| {
            let key = |run: &Run| {
                let profile = &run.profile;
                (profile.real, profile.busy(), profile.calls(), profile.events)
            };
            (&a.block, key(a), &a.name).cmp(&(&b.block, key(b), &b.name))
        });
    }

    /// The block of each run by number, and how many there are.
    pub(super) fn blocks(&self) -> (Vec<u32>, u32) {
        let mut known: Vec<&str> = Vec::new();
        let mut numbers = Vec::with_capacity(self.runs.len());
        let mut next = 0;
        for run in &self.runs {
            let Some(block) = run.block.as_deref() else {
                // Counted down from the top, out of the way of the named ones.
                next += 1;
                numbers.push(u32::MAX - next);
                continue;
            };
            let number = known.iter().position(|&name| name == block).unwrap_or_else(|| {
                known.push(block);
                known.len() - 1
            });
            numbers.push(number as u32);
        }
        (numbers, known.len() as u32 + next)
    }

    /// All runs as one profile.
    pub(super) fn merged(&self) -> Result<Profile, String> {
        let mut runs = self.runs.iter();
        let first = runs.next().ok_or_else(|| format!("{}: no run, expected one", self.name))?;
        let mut merged = first.profile.clone();
        for run in runs {
            merged.merge(run.profile.clone()).map_err(|error| format!("{}: {error}", run.name))?;
        }
        Ok(merged)
    }
}

/// What is known of one function on one side.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SideStats {
    /// Runs of the side.
    pub of_runs: u32,
    /// Runs in which it was called.
    pub runs: u32,
    /// Everything, summed over the runs.
    pub total: FuncStats,
    /// Complete calls in a run: the mean over runs, rounded.
    pub calls: u64,
    /// Net time of a run, likewise.
    pub net: u64,
    /// Elapsed time of a run, likewise.
    pub elapsed: u64,
}

impl SideStats {
    /// The means that follow from the sums.
    pub(super) fn new(of_runs: u32, runs: u32, total: FuncStats) -> Self {
        let mean = |sum: u64| rounded(sum, u64::from(of_runs));
        let (calls, net, elapsed) = (mean(total.calls), mean(total.net), mean(total.elapsed));
        Self { of_runs, runs, total, calls, net, elapsed }
    }

    /// Whether it was called at all.
    pub fn is_there(&self) -> bool {
        !self.total.is_empty()
    }

    /// Net time of a call: the mean over all calls of all runs, rounded down.
    pub fn net_avg(&self) -> Option<u64> {
        let measured = self.total.net_of_calls.avg(self.total.measured());
        measured.or_else(|| self.total.net.checked_div(self.total.calls))
    }

    /// Elapsed time of a call, likewise.
    pub fn elapsed_avg(&self) -> Option<u64> {
        let measured = self.total.elapsed_of_calls.avg(self.total.measured());
        measured.or_else(|| self.total.elapsed.checked_div(self.total.calls))
    }

    /// Elapsed time of a call without the interrupts in it, likewise.
    pub fn inclusive_avg(&self) -> Option<u64> {
        let sum = self.total.elapsed_of_calls.sum.saturating_sub(self.total.interrupted);
        let measured = sum.checked_div(self.total.measured());
        measured.or_else(|| self.total.elapsed.checked_div(self.total.calls))
    }

    /// Calls in a run, incomplete ones included, as a number that need not be whole.
    pub(super) fn calls_per_run(&self) -> f64 {
        let all = self.total.calls.saturating_add(self.total.partial);
        all as f64 / f64::from(self.of_runs.max(1))
    }
}

/// `sum / n`, rounded to the nearest.
pub(super) fn rounded(sum: u64, n: u64) -> u64 {
    let n = n.max(1);
    sum / n + u64::from(sum % n >= n.div_ceil(2))
}

/// Whether the time of functions of this kind is anybody's cost.
pub(crate) fn counts(kind: Option<FuncKind>) -> bool {
    match kind {
        None | Some(FuncKind::Function | FuncKind::Syscall | FuncKind::Interrupt) => true,
        Some(FuncKind::Idle | FuncKind::Switch | FuncKind::Mark) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::fixture::run;

    fn in_blocks(blocks: &[Option<&str>]) -> (Vec<u32>, u32) {
        let run = |block: Option<&str>| Run { block: block.map(str::to_owned), ..run("r", "") };
        let runs = blocks.iter().copied().map(run).collect();
        Side { name: String::new(), runs, skipped: 0 }.blocks()
    }

    #[test]
    fn runs_of_one_name_of_a_block_are_one_and_others_are_alone() {
        let (found, n) = in_blocks(&[Some("a"), None, Some("b"), Some("a"), None, Some("b")]);
        let top = u32::MAX;
        assert_eq!((found, n), (vec![0, top - 1, 1, 0, top - 2, 1], 4));
    }

    #[test]
    fn means_of_calls_are_those_of_measured_calls_or_else_of_all() {
        // Two calls, 3 to 10 and 12 to 30, the second with an interrupt of 4; an incomplete one.
        let line = "3 f( 5 g( 8 ) 10 ) 12 f( 14 irq( 18 ) 30 ) 40 ~f( 45 )";
        let profile = run("r", line).profile;
        let row = profile.rows.iter().find(|row| row.name == "f").unwrap();
        let of = |stats: FuncStats| {
            let side = SideStats::new(2, 1, stats);
            let calls = side.calls_per_run();
            (side.net_avg(), side.elapsed_avg(), side.inclusive_avg(), calls)
        };
        // 4 + 14, 7 + 18 and 25 - 4 of two calls, rounded down.
        let measured = (Some(9), Some(12), Some(10), 1.5);
        assert_eq!(of(row.stats.clone()), measured);
        let counted =
            FuncStats { calls: 3, counted: 3, net: 12, elapsed: 25, ..FuncStats::default() };
        assert_eq!(of(counted), (Some(4), Some(8), Some(8), 1.5));
    }

    #[test]
    fn the_time_of_idle_loops_and_marks_is_no_cost() {
        let all = [
            FuncKind::Function,
            FuncKind::Syscall,
            FuncKind::Interrupt,
            FuncKind::Idle,
            FuncKind::Switch,
            FuncKind::Mark,
        ];
        assert_eq!(all.map(|kind| counts(Some(kind))), [true, true, true, false, false, false]);
        assert!(counts(None));
    }
}
