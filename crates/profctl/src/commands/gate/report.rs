//! The gate report for a terminal, and sentences that all reports share.

use profctl_analyze::diff::gate::{Answer, Judgement, Limit, Spent, State, What};
use profctl_analyze::diff::{Comparison, Function, Measure, Shown, Verdict};
use profctl_model::{Cell, Column, Role, Table, Ticks};
use profctl_render::number;
use profctl_render::table::{Format, write_hanging};

use crate::args::Global;
use crate::commands::diff::text;
use crate::exit::Exit;
use crate::style;

/// Everything that a report may say.
pub(super) struct Report<'a> {
    pub(super) comparison: Comparison,
    pub(super) judgement: Judgement,
    /// The policy, as it goes on record.
    pub(super) record: serde_json::Value,
    pub(super) exit: Exit,
    pub(super) global: &'a Global,
}

impl Report<'_> {
    /// What the sides were called.
    pub(super) fn baseline(&self) -> &str {
        &self.comparison.before.name
    }

    pub(super) fn candidate(&self) -> &str {
        &self.comparison.after.name
    }

    /// The functions that fail the gate, the worst first.
    pub(super) fn offending(&self) -> impl Iterator<Item = &Function> {
        self.judgement.offending.iter().map(|&at| &self.comparison.functions[at])
    }

    /// The top `n`: two thirds by net time, the rest by elapsed time.
    pub(super) fn first(&self, n: usize) -> Vec<&Function> {
        let of = |elapsed: bool| {
            self.offending().filter(move |one| (one.measure == Measure::Elapsed) == elapsed)
        };
        let callers = of(true).count().min((n / 3).max(n.saturating_sub(of(false).count())));
        of(false).take(n - callers).chain(of(true).take(callers)).collect()
    }

    /// Functions that may have become slower and do not fail it.
    pub(super) fn suspects(&self) -> impl Iterator<Item = &Function> {
        let offending = &self.judgement.offending;
        let functions = self.comparison.functions.iter().enumerate();
        functions
            .filter(|(at, function)| {
                function.verdict == Verdict::Suspect && !offending.contains(at)
            })
            .map(|(_, function)| function)
    }

    /// The budgets that were not kept.
    pub(super) fn unkept(&self) -> impl Iterator<Item = &Spent> {
        self.judgement.budgets.iter().filter(|spent| spent.state != State::Kept)
    }

    /// The answer and its reasons in a line.
    pub(super) fn summary(&self) -> String {
        let reasons = self.judgement.reasons.join("; ");
        let waved = self.judgement.answer == Answer::Inconclusive && self.exit == Exit::Done;
        let waved = if waved { " (the policy lets it pass)" } else { "" };
        format!("{}: {reasons}{waved}", self.judgement.answer.name())
    }

    /// The report for a terminal.
    pub(super) fn for_people(&self, shown: &Shown<'_>) -> String {
        let mut text = text::table(&self.comparison, shown, self.global);
        if !self.judgement.budgets.is_empty() {
            text += "\nbudgets\n";
            text += &text::written(&self.budgets(), Format::Table, &style::of(self.global));
        }
        text::line(&mut text, "");
        let mut last = Vec::new();
        write_hanging("gate: ", &self.summary(), &style::of(self.global), &mut last)
            .expect("memory takes what is written to it");
        text + &String::from_utf8_lossy(&last)
    }

    /// The budgets as a table.
    pub(super) fn budgets(&self) -> Table {
        let text = |name: &str| Column::new(name, name, Role::Text);
        let columns = vec![
            text("state"),
            text("what"),
            text("before"),
            text("after"),
            text("limit"),
            Column::new("function", "function", Role::Name),
        ];
        let mut table = Table::new("profctl.budgets/1", self.comparison.timebase, columns);
        for spent in &self.judgement.budgets {
            let figure = |figure: Option<u64>| {
                figure.map_or(Cell::Null, |figure| Cell::Text(self.figure(spent, figure)))
            };
            table.push(vec![
                spent.state.name().into(),
                spent.budget.what.name().into(),
                figure(spent.before),
                figure(spent.after),
                Cell::Text(self.limit(spent)),
                spent.budget.function.as_str().into(),
            ]);
        }
        table
    }

    fn figure(&self, spent: &Spent, figure: u64) -> String {
        if spent.budget.what == What::Calls { figure.to_string() } else { self.time(figure) }
    }

    fn limit(&self, spent: &Spent) -> String {
        match spent.budget.limit {
            Limit::Time(most) => self.time(most),
            Limit::Calls(most) => most.to_string(),
            Limit::Ratio(most) => number::ratio(most),
        }
    }

    fn time(&self, ticks: u64) -> String {
        number::length_with_unit(Ticks(ticks), &self.comparison.timebase, self.global.unit)
    }

    /// What was found of a function, in a line without its name.
    pub(super) fn finding(&self, function: &Function) -> String {
        let (before, after) = (&function.before, &function.after);
        let times = match function.measure {
            Measure::Net => (before.net_avg(), after.net_avg()),
            Measure::Total => (Some(before.net), Some(after.net)),
            Measure::Elapsed => (before.elapsed_avg(), after.elapsed_avg()),
        };
        let mut parts = vec![function.measure.about().to_owned()];
        if let (Some(before), Some(after)) = times {
            parts.push(format!("{}, was {}:", self.time(after), self.time(before)));
        }
        parts.extend(function.ratio.map(number::ratio));
        if let Some((low, high)) = function.interval {
            parts.push(format!("(95%: {} to {})", number::ratio(low), number::ratio(high)));
        }
        parts.join(" ")
    }

    /// What became of a budget, in a line without the function's name.
    pub(super) fn spending(&self, spent: &Spent) -> String {
        let what = spent.budget.what.name();
        let limit = self.limit(spent);
        match (spent.state, spent.after) {
            (State::Unknown, None) => {
                format!("{what}: no such function in the trace; the budget is {limit}")
            }
            (_, Some(after)) => {
                let after = self.figure(spent, after);
                let was = spent.before.map(|before| self.figure(spent, before));
                let was = was.map_or_else(String::new, |was| format!(", was {was}"));
                format!("{what} {after}{was}; the budget is {limit}")
            }
            (_, None) => format!("{what}: not measured; the budget is {limit}"),
        }
    }
}
