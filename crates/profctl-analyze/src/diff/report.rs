//! A comparison and a judgement as reports without digits: what to say, in which order. How it is
//! written, the writers know.

use profctl_model::Ticks;
use profctl_model::report::{
    Answer, BudgetLine, Case, Compared, Finding, Judged, Outcome, Part, Phrase, Rule,
};

use super::gate::{Excuse, Judgement, Limit, Policy, Spent, State, What};
use super::side::rounded;
use super::types::Why;
use super::types::{Comparison, Function, Interval, SideSummary};
use super::whole::WHOLE_RUN;
use super::{Charged, Measure, PathComparison, Shown, Verdict};
use crate::summarize::count;

impl Comparison {
    /// The comparison, to write.
    pub fn report(&self, shown: &Shown<'_>) -> Compared {
        let mut facts = self.about();
        facts.push(("functions", Phrase::text(self.verdicts())));
        Compared {
            timebase: self.timebase,
            before: self.before.name.clone(),
            after: self.after.name.clone(),
            facts,
            sections: self.sections(shown),
            notes: self.notes(),
        }
    }

    /// The comparison by path, to write: without sections, as all paths are one table.
    pub fn report_on_paths(&self, paths: &PathComparison) -> Compared {
        let mut facts = self.about();
        facts.push(("paths", Phrase::text(verdicts_on_paths(paths))));
        Compared {
            timebase: self.timebase,
            before: self.before.name.clone(),
            after: self.after.name.clone(),
            facts,
            sections: Vec::new(),
            notes: self.notes_for_paths(),
        }
    }

    /// What is compared, what all of it costs, and what moved everything alike.
    fn about(&self) -> Vec<(&'static str, Phrase)> {
        let mut about = vec![("before", side(&self.before)), ("after", side(&self.after))];
        about.push(("whole run", self.whole_run()));
        if let Some(causes) = self.causes() {
            about.push(("causes", causes));
        }
        about.extend(self.run_wide().map(|phrase| ("run-wide", phrase)));
        about
    }

    fn whole_run(&self) -> Phrase {
        let whole = &self.whole;
        let mut phrase = Phrase::text("busy ")
            .with(Part::Time(Ticks(whole.busy[0])))
            .then(" to ")
            .with(Part::Time(Ticks(whole.busy[1])));
        if let Some(ratio) = whole.ratio() {
            phrase = phrase.then(" (").with(Part::Change(ratio));
            if let Some(tested) = &whole.busy_tested {
                phrase = phrase
                    .then("; 95%: ")
                    .with(Part::Change(tested.ci_low.exp2()))
                    .then(" to ")
                    .with(Part::Change(tested.ci_high.exp2()));
            }
            phrase = phrase.then(")");
        }
        let [before, after] = whole.calls;
        if before == after {
            phrase = phrase.then(format!(", {before} calls"));
        } else {
            phrase = phrase.then(format!(", {before} to {after} calls"));
            if before > 0 {
                let ratio = after as f64 / before as f64;
                phrase = phrase.then(" (").with(Part::Change(ratio)).then(")");
            }
        }
        match whole.verdict {
            Verdict::NotTested => phrase,
            verdict => phrase.then(format!(": {}", verdict.name())),
        }
    }

    /// Why the whole run changed, where it did.
    fn causes(&self) -> Option<Phrase> {
        let changed = [Verdict::Regressed, Verdict::Suspect, Verdict::Improved];
        if !changed.contains(&self.whole.verdict) || self.whole.causes.is_empty() {
            return None;
        }
        let mut phrase = Phrase::default();
        for (at, cause) in self.whole.causes.iter().enumerate() {
            let (comma, sign) =
                (if at > 0 { "; " } else { "" }, if cause.delta < 0 { "-" } else { "+" });
            phrase = phrase
                .then(format!("{comma}{} {sign}", cause.text()))
                .with(Part::Time(Ticks(cause.delta.unsigned_abs())));
        }
        Some(phrase)
    }

    /// The common factor of all functions.
    fn run_wide(&self) -> Option<Phrase> {
        let global = self.global?;
        let mut phrase = Phrase::default()
            .with(Part::Change(global.factor.exp2()))
            .then(" (net time per call, median function");
        if global.ci_low.is_finite() && global.ci_high.is_finite() {
            phrase = phrase
                .then("; 95%: ")
                .with(Part::Change(global.ci_low.exp2()))
                .then(" to ")
                .with(Part::Change(global.ci_high.exp2()));
        }
        if global.p.is_finite() && self.interval == Interval::BetweenRuns {
            phrase = phrase.then(format!("; p {:.3}", global.p));
        }
        let taken = if global.normalized { "), removed before the tests" } else { ")" };
        Some(phrase.then(taken))
    }

    fn verdicts(&self) -> String {
        let mut parts: Vec<String> = Verdict::ALL
            .into_iter()
            .map(|verdict| (self.count(verdict), verdict.name()))
            .filter(|&(n, _)| n > 0)
            .map(|(n, name)| format!("{n} {name}"))
            .collect();
        if self.unchanged > 0 || parts.is_empty() {
            parts.push(format!("{} identical", self.unchanged));
        }
        if parts.len() == 1 && self.unchanged > 0 {
            return format!("no function changed: {}", parts[0]);
        }
        let all = parts.join(", ");
        let margin = self.margin * 100.0;
        let seen: Vec<String> = Measure::ALL
            .into_iter()
            .zip(self.sensitivities)
            .filter_map(|(measure, seen)| Some(format!("{} {:.1}%", measure.name(), seen? * 100.0)))
            .collect();
        if self.tested == 0 {
            all
        } else if seen.is_empty() {
            format!("{all} (margin {margin}%)")
        } else {
            let seen = seen.join(", ");
            format!("{all} (margin {margin}%; minimum detectable change, median function: {seen})")
        }
    }

    /// The judgement on this comparison, to write. `record` is the policy as it goes on record,
    /// `let_pass` whether it lets pass what is inconclusive.
    pub fn gate_report(
        &self,
        judgement: &Judgement,
        policy: &Policy,
        record: &serde_json::Value,
        let_pass: bool,
        shown: &Shown<'_>,
    ) -> Judged {
        Judged {
            compared: self.report(shown),
            answer: judgement.answer,
            let_pass,
            reasons: judgement.reasons.clone(),
            policy: record.to_string(),
            findings: self.findings(judgement, policy),
            budgets: judgement.budgets.iter().map(budget_line).collect(),
            cases: self.cases(judgement, policy),
        }
    }

    fn findings(&self, judgement: &Judgement, policy: &Policy) -> Vec<Finding> {
        let owner =
            |name: &str| policy.standings.get(name).and_then(|standing| standing.owner.clone());
        let mut findings = Vec::new();
        let mut add = |rule: Rule, name: &str, what: Phrase, stands: bool| {
            findings.push(Finding { rule, name: name.into(), what, owner: owner(name), stands });
        };
        if judgement.answer == Answer::Inconclusive {
            let reasons = Phrase::text(judgement.reasons.join("; "));
            add(Rule::Inconclusive, &self.after.name, reasons, false);
        }
        let stands = judgement.answer == Answer::Regressed;
        if judgement.whole && stands {
            let mut what = self.whole_run();
            if let Some(causes) = self.causes() {
                what = what.then("; because of ").and(causes);
            }
            add(Rule::WholeRun, WHOLE_RUN, what, true);
        }
        for spent in judgement.budgets.iter().filter(|spent| spent.state != State::Kept) {
            add(Rule::Budget, &spent.budget.function, spending(spent), true);
        }
        for one in judgement.in_order(self) {
            let function = &self.functions[one.at];
            let rule = match function.verdict {
                Verdict::New => Rule::New,
                Verdict::Suspect => Rule::Suspect,
                _ => Rule::Regressed,
            };
            let fails = judgement.offending.contains(&one.at);
            add(rule, &function.name, finding(function), stands && fails);
        }
        for (at, function) in self.functions.iter().enumerate() {
            if function.verdict == Verdict::Suspect && !judgement.offending.contains(&at) {
                add(Rule::Suspect, &function.name, finding(function), false);
            }
        }
        for (at, excuse) in &judgement.excused {
            let function = &self.functions[*at];
            let what = finding(function).then(format!(" ({})", excuse.text()));
            add(Rule::Excused, &function.name, what, false);
        }
        findings
    }

    fn cases(&self, judgement: &Judgement, policy: &Policy) -> Vec<Case> {
        let gate = match judgement.answer {
            Answer::Inconclusive => Outcome::Broken(Phrase::text(judgement.reasons.join("; "))),
            Answer::Pass | Answer::Regressed => Outcome::Passed,
        };
        let name = "the sides can be compared".to_owned();
        let mut cases = vec![Case { class: "gate", name, outcome: gate }];
        let whole = match (judgement.whole, self.whole.verdict) {
            (true, _) => {
                let mut what = self.whole_run();
                if let Some(causes) = self.causes() {
                    what = what.then("; because of ").and(causes);
                }
                Some(Outcome::Failed(what))
            }
            (false, Verdict::NotTested) => None,
            (false, Verdict::Inconclusive) => Some(Outcome::Skipped(self.whole_run())),
            (false, _) => Some(Outcome::Passed),
        };
        if let Some(outcome) = whole.filter(|_| policy.only.is_none()) {
            cases.push(Case { class: "gate", name: WHOLE_RUN.into(), outcome });
        }
        for spent in &judgement.budgets {
            let outcome = match spent.state {
                State::Kept => Outcome::Passed,
                State::Exceeded | State::Unknown => Outcome::Failed(spending(spent)),
            };
            let name = format!("{} of {}", spent.budget.what.name(), spent.budget.function);
            cases.push(Case { class: "budget", name, outcome });
        }
        for (at, function) in self.functions.iter().enumerate() {
            let excuse = judgement.excused.iter().find(|(other, _)| *other == at);
            let outcome = match (function.verdict, excuse) {
                _ if judgement.offending.contains(&at) => Outcome::Failed(finding(function)),
                (_, Some((_, excuse))) => {
                    Outcome::Skipped(finding(function).then(format!(" ({})", excuse.text())))
                }
                (Verdict::NotTested | Verdict::New | Verdict::Gone, _) => continue,
                (Verdict::Inconclusive, _) => Outcome::Skipped(finding(function)),
                _ => Outcome::Passed,
            };
            cases.push(Case { class: "function", name: function.name.clone(), outcome });
        }
        cases
    }
}

impl Excuse {
    /// Whether a user accepted it by name.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }
}

fn verdicts_on_paths(paths: &PathComparison) -> String {
    let mut parts: Vec<String> = Verdict::ALL
        .into_iter()
        .map(|verdict| (paths.count(verdict), verdict.name()))
        .filter(|&(n, _)| n > 0)
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    let unchanged = paths.unchanged();
    if unchanged > 0 || parts.is_empty() {
        parts.push(format!("{unchanged} identical"));
    }
    parts.join(", ")
}

/// What a side is, in a line.
fn side(side: &SideSummary) -> Phrase {
    let runs = side.runs.len() as u64;
    let mut of_runs = count(runs, "run", "runs");
    if u64::from(side.n_blocks) < runs {
        let blocks = count(u64::from(side.n_blocks), "block", "blocks");
        of_runs = format!("{of_runs} in {blocks}");
    }
    let profile = &side.profile;
    let mut formats: Vec<&str> = profile.sources.iter().map(|s| s.format.as_str()).collect();
    formats.sort_unstable();
    formats.dedup();
    let formats = formats.into_iter().fold(String::new(), |all, one| all + ", " + one);
    Phrase::text(format!("{}: {of_runs}, ", side.name))
        .with(Part::Time(Ticks(rounded(profile.busy(), runs.max(1)))))
        .then(format!(" busy{}{formats}", if runs == 1 { "" } else { " per run" }))
}

/// What was found of a function, in a line without its name.
fn finding(function: &Function) -> Phrase {
    let (before, after) = (&function.before, &function.after);
    if function.verdict == Verdict::New {
        let phrase = Phrase::text("new: net ")
            .with(Part::Time(Ticks(after.net)))
            .then(format!(" in {} calls of a run", after.calls));
        let Some(Charged { caller, tested }) =
            function.charged.as_ref().filter(|charged| charged.is_regressed())
        else {
            return phrase;
        };
        return phrase
            .then(format!(", {caller} with its new callees takes "))
            .with(Part::Ratio(tested.estimate.exp2()))
            .then(" its net time per call (95%: ")
            .with(Part::Ratio(tested.ci_low.exp2()))
            .then(" to ")
            .with(Part::Ratio(tested.ci_high.exp2()))
            .then(")");
    }
    let times = match function.measure {
        Measure::Net => (before.net_avg(), after.net_avg()),
        Measure::Total => (Some(before.net), Some(after.net)),
        Measure::Elapsed => (before.inclusive_avg(), after.inclusive_avg()),
    };
    let mut phrase = Phrase::text(function.measure.about());
    if function.why() == Why::MoreCalls && function.measure == Measure::Total {
        phrase = Phrase::text(format!(
            "called more often ({} to {} calls): {}",
            before.calls,
            after.calls,
            function.measure.about()
        ));
    }
    if let (Some(before), Some(after)) = times {
        phrase = phrase
            .then(" ")
            .with(Part::Time(Ticks(after)))
            .then(", was ")
            .with(Part::Time(Ticks(before)))
            .then(":");
    }
    if let Some(ratio) = function.ratio {
        phrase = phrase.then(" ").with(Part::Ratio(ratio));
    }
    if let Some((low, high)) = function.interval {
        phrase = phrase
            .then(" (95%: ")
            .with(Part::Ratio(low))
            .then(" to ")
            .with(Part::Ratio(high))
            .then(")");
    }
    phrase
}

fn budget_line(spent: &Spent) -> BudgetLine {
    BudgetLine {
        state: spent.state.name(),
        what: spent.budget.what.name(),
        before: spent.before.map(|before| figure(spent, before)),
        after: spent.after.map(|after| figure(spent, after)),
        limit: limit(spent),
        function: spent.budget.function.clone(),
    }
}

fn figure(spent: &Spent, figure: u64) -> Phrase {
    match spent.budget.what {
        What::Calls => Phrase::text(figure.to_string()),
        _ => Phrase::default().with(Part::Time(Ticks(figure))),
    }
}

fn limit(spent: &Spent) -> Phrase {
    match spent.budget.limit {
        Limit::Time(most) => Phrase::default().with(Part::Time(Ticks(most))),
        Limit::Calls(most) => Phrase::text(most.to_string()),
        Limit::Ratio(most) => Phrase::default().with(Part::Ratio(most)),
    }
}

/// What became of a budget, in a line without the function's name.
fn spending(spent: &Spent) -> Phrase {
    let what = spent.budget.what.name();
    let budget = Phrase::text("; the budget is ").and(limit(spent));
    match (spent.state, spent.after) {
        (State::Unknown, None) => {
            Phrase::text(format!("{what}: no such function in the trace")).and(budget)
        }
        (_, Some(after)) => {
            let mut phrase = Phrase::text(format!("{what} ")).and(figure(spent, after));
            if let Some(before) = spent.before {
                phrase = phrase.then(", was ").and(figure(spent, before));
            }
            phrase.and(budget)
        }
        (_, None) => Phrase::text(format!("{what}: not measured")).and(budget),
    }
}
