//! The notes of a comparison.

use super::stats::{Components, Replicate};
use super::types::{Comparison, Function, Interval, MatchedBy, SideSummary};
use super::{Measure, Verdict};
use crate::summarize::count;

/// How many names a note lists.
const NAMED: usize = 5;

impl Comparison {
    /// Notes, the gravest first, one line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        self.comparability(&mut notes);
        self.measurements(&mut notes);
        self.drift(&mut notes);
        self.retractions(&mut notes);
        self.single_calls(&mut notes);
        self.undecided(&mut notes);
        self.more_calls(&mut notes);
        self.matches(&mut notes);
        self.moves(&mut notes);
        self.cautions(&mut notes);
        self.qualities(&mut notes);
        notes
    }

    /// The notes that go with paths of calls: those that are not of single functions.
    pub fn notes_for_paths(&self) -> Vec<String> {
        let mut notes = Vec::new();
        self.comparability(&mut notes);
        if self.interval == Interval::Calibrated {
            notes.push("a calibration has functions, not paths: paths get no verdict".into());
        } else {
            self.measurements(&mut notes);
        }
        self.matches(&mut notes);
        self.qualities(&mut notes);
        notes
    }

    fn comparability(&self, notes: &mut Vec<String>) {
        for warning in &self.warnings {
            let what = match (warning.veto, warning.confounds) {
                (true, _) => "not comparable",
                (false, true) => "confounded",
                (false, false) => "differs",
            };
            notes.push(format!("{what}: {}", warning.message));
        }
        let odd = self.odd.iter().map(|odd| {
            let side = if odd.after { "after" } else { "before" };
            let change = (odd.ratio - 1.0) * 100.0;
            format!("{} ({side}, {change:+.1}% in the median function)", odd.run)
        });
        if let Some(list) = list(odd.collect()) {
            notes.push(format!(
                "unlike the other runs of its side: {list}: one such run makes functions \
                 inconclusive; --exclude-run NAME leaves it out"
            ));
        }
    }

    fn qualities(&self, notes: &mut Vec<String>) {
        for (name, side) in [("before", &self.before), ("after", &self.after)] {
            notes.extend(quality(side).into_iter().map(|note| format!("{name}: {note}")));
        }
    }

    /// What was counted as one measurement.
    fn measurements(&self, notes: &mut Vec<String>) {
        match self.interval {
            Interval::WithinTrace => notes.push(
                "one run per side cannot show run-to-run noise: record at least 3 per side; \
                 intervals cover variation within these two traces only"
                    .into(),
            ),
            Interval::Calibrated => {
                notes.push(
                    "one run per side: judged by the run-to-run noise of the calibration".into(),
                );
            }
            Interval::BetweenRuns => {}
        }
        let (before, after) = (self.before.n_blocks, self.after.n_blocks);
        match self.replicate {
            Replicate::Blocks => notes.push(format!(
                "compared {before} blocks with {after}: runs within a block are not independent"
            )),
            Replicate::Pairs => notes.push("paired: differences within pairs were tested".into()),
            Replicate::Runs => {}
        }
        if let Some(components) = &self.components {
            notes.push(variance(components));
        }
    }

    /// A change of nearly all functions.
    fn drift(&self, notes: &mut Vec<String>) {
        let Some(global) = self.global.filter(|global| !global.normalized) else { return };
        if global.factor.abs() > (1.0 + self.margin).log2() {
            notes.push(
                "nearly every function changed by the same factor (compiler, clock, tracer?): --normalize removes it"
                    .into(),
            );
        }
    }

    /// What was taken back, and why.
    fn retractions(&self, notes: &mut Vec<String>) {
        let names: Vec<String> = self
            .retracted()
            .map(|function| {
                let tested = function.tests.iter().flatten().filter(|tested| tested.retracted);
                let share = tested.map(|tested| tested.q_dealt).fold(f64::NAN, f64::min);
                format!("{} (q {share:.2})", function.name)
            })
            .collect();
        if let Some(list) = list(names) {
            notes.push(format!("withdrawn: permuting the runs gives such changes, too: {list}"));
        }
    }

    /// What was withdrawn because of single calls.
    fn single_calls(&self, notes: &mut Vec<String>) {
        let names = self.functions.iter().filter(|function| {
            let withdrawn = function.tests.iter().flatten().any(|tested| tested.single_call);
            withdrawn && function.verdict == Verdict::Inconclusive
        });
        if let Some(list) = list(names.map(|one| one.name.clone()).collect()) {
            notes.push(format!("withdrawn: single calls of each run explain the change: {list}"));
        }
    }

    /// How many more measurements would help.
    fn undecided(&self, notes: &mut Vec<String>) {
        if let Some(plan) = &self.plan {
            let of = self.replicate.name();
            notes.push(format!(
                "record {} more {of} of each side, interleaved: a change of {:.0}% would then be \
                 found in half of the functions",
                plan.more,
                plan.found * 100.0
            ));
        }
        let open = self.changed().filter(|function| {
            matches!(function.verdict, Verdict::Inconclusive | Verdict::Suspect)
        });
        let mut needed: Vec<u32> = open
            .filter_map(Function::tested)
            .map(|tested| tested.runs_needed.unwrap_or(u32::MAX))
            .collect();
        needed.sort_unstable();
        let half = needed.len().div_ceil(2);
        let Some(&runs) = needed.get(half.saturating_sub(1)).filter(|&&runs| runs < u32::MAX)
        else {
            return;
        };
        let of = self.replicate.name();
        let functions = count(needed.len() as u64, "function", "functions");
        notes.push(format!(
            "inconclusive: {functions}; about {runs} {of} per side would decide half of them"
        ));
    }

    /// Functions that cost more only because they are called more often, where that is not tested.
    fn more_calls(&self, notes: &mut Vec<String>) {
        let more = |function: &&Function| {
            let (before, after) = (function.before.calls, function.after.calls);
            matches!(function.verdict, Verdict::Equivalent | Verdict::Inconclusive)
                && function.tests[Measure::Total.index()].is_none()
                && after as f64 > before as f64 * (1.0 + self.margin)
        };
        let mut found: Vec<&Function> = self.changed().filter(more).collect();
        found.sort_by_key(|function| std::cmp::Reverse(function.parts.from_calls));
        if let Some(list) = list(found.iter().map(|function| function.name.clone()).collect()) {
            notes.push(format!("more calls (not gated; see `--measure total`): {list}"));
        }
    }

    fn matches(&self, notes: &mut Vec<String>) {
        let counts: Vec<String> = MatchedBy::ALL
            .into_iter()
            .filter_map(|by| {
                let (rows, names) = self.n_matched(by);
                let rows = (rows > 0).then(|| count(rows, "function", "functions"))?;
                Some(format!("{rows} by {} ({names} names)", by.name()))
            })
            .collect();
        if !counts.is_empty() {
            notes.push(format!("matched: {}", counts.join(", ")));
        }
        let renamed = self.functions.iter().filter_map(|function| {
            let matched = function.matched.as_ref()?;
            let old = matched.before.first().filter(|_| matched.by == MatchedBy::Rename)?;
            Some(format!("{old} to {}", function.name))
        });
        if let Some(list) = list(renamed.collect()) {
            notes.push(format!("matched as renamed: {list}"));
        }
        let maybe = self.renames.iter().map(|one| format!("{} to {}", one.before, one.after));
        if let Some(list) = list(maybe.collect()) {
            notes.push(format!("possibly renamed: {list}"));
        }
    }

    fn moves(&self, notes: &mut Vec<String>) {
        for inlined in [true, false] {
            let moves = self.moved.iter().filter(|moved| moved.inlined == inlined);
            let word = if inlined { "into" } else { "out of" };
            let moves = moves.map(|moved| format!("{} {word} {}", moved.callee, moved.caller));
            if let Some(list) = list(moves.collect()) {
                let what = if inlined { "inlined" } else { "outlined" };
                notes
                    .push(format!("possibly {what}: {list} (net time moved, the sum is the same)"));
            }
        }
    }

    /// Warnings about verdicts.
    fn cautions(&self, notes: &mut Vec<String>) {
        let claimed = |function: &&Function| {
            matches!(function.verdict, Verdict::Regressed | Verdict::Suspect | Verdict::Improved)
        };
        let of = |is: fn(&super::stats::Tested) -> bool| -> Vec<String> {
            let claimed = self.changed().filter(claimed);
            let found = claimed.filter(|function| function.tested().is_some_and(is));
            found.map(|function| function.name.clone()).collect()
        };
        if let Some(list) = list(of(|tested| tested.bimodal)) {
            notes.push(format!("bimodal across runs: {list}"));
        }
        if let Some(list) = list(of(|tested| tested.disagrees)) {
            notes.push(format!("rank test disagrees: {list}"));
        }
        let batched = self.changed().filter(|function| {
            function.verdict == Verdict::Regressed
                && function.measure == Measure::Net
                && function.parts.delta_net < 0
        });
        if let Some(list) = list(batched.map(|function| function.name.clone()).collect()) {
            notes.push(format!("more time per call, but less per run: {list}"));
        }
        let seldom = |function: &&Function| match function.verdict {
            Verdict::New => function.after.runs < function.after.of_runs,
            Verdict::Gone => function.before.runs < function.before.of_runs,
            _ => false,
        };
        let seldom = self.functions.iter().filter(seldom).count() as u64;
        if seldom > 0 {
            let functions = count(seldom, "new or gone function was", "new or gone functions were");
            notes.push(format!("{functions} called in some runs only"));
        }
    }
}

/// What a block is taken to cost, in runs: a boot, against another pass of the workload.
pub(super) const BLOCK_COST: f64 = 10.0;

/// Where the variance is, and what to repeat.
fn variance(components: &Components) -> String {
    let Some(runs) = components.runs_advised(BLOCK_COST) else {
        return "variance: blocks differ no more than runs within a block".into();
    };
    let share = components.between_share() * 100.0;
    let runs = count(u64::from(runs), "run", "runs");
    format!(
        "variance: {share:.0}% is between blocks; if a block costs {BLOCK_COST} runs to set up, \
         {runs} per block is optimal"
    )
}

/// What was repaired or lost on one side.
fn quality(side: &SideSummary) -> Vec<String> {
    let mut notes = side.profile.quality.notes(side.profile.timebase.timeline);
    if side.skipped > 0 {
        notes
            .push(format!("skipped: {} that are not traces", count(side.skipped, "file", "files")));
    }
    notes
}

/// The first few, and how many more there are; nothing if there is none.
fn list(names: Vec<String>) -> Option<String> {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<String> = names.into_iter().take(NAMED).collect();
    let shown = (!shown.is_empty()).then(|| shown.join(", "))?;
    Some(if more > 0 { format!("{shown} and {more} more") } else { shown })
}
