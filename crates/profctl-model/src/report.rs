//! A comparison of two builds, and what a gate makes of it, on the way from the analysis to a caller that
//! writes it: sentences with times in them that are not digits yet, and tables.

use crate::table::Table;
use crate::time::{Ticks, Timebase};

/// Words of which some are quantities: how those are written is known to the writer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Phrase(pub Vec<Part>);

/// A part of a phrase.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Words, with the blanks around them.
    Text(String),
    /// A length.
    Time(Ticks),
    /// After ÷ before, written as a factor.
    Ratio(f64),
    /// After ÷ before, written as a change in percent.
    Change(f64),
}

impl Phrase {
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// The same and more words.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// The same and a quantity.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.0.push(part);
        self
    }

    /// The same and another phrase.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }
}

/// Rows with one cause.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// What they have in common: `slower`, `faster` …
    pub title: String,
    /// How many there are, shown or not.
    pub count: usize,
    /// The change of the time of a run that they make together, where it can be added up, and what
    /// of them is added up.
    pub sum: Option<(&'static str, i64)>,
    /// Those to show, the largest change first.
    pub table: Table,
}

/// A comparison to write.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The clock of all times in it.
    pub timebase: Timebase,
    /// What the sides were called.
    pub before: String,
    /// See `before`.
    pub after: String,
    /// What is compared and what came of it, a line each: a name and a value.
    pub facts: Vec<(&'static str, Phrase)>,
    /// The functions.
    pub sections: Vec<Section>,
    /// What to know besides, the gravest first.
    pub notes: Vec<String>,
}

/// The answer of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing fails the build.
    Pass,
    /// Something became slower, or a budget was exceeded.
    Regressed,
    /// There is not enough to say.
    Inconclusive,
}

impl Answer {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// What kind of thing was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The whole run costs more.
    WholeRun,
    /// A function became slower by more than the margin.
    Regressed,
    /// A function seems to have become slower by more than the margin.
    Suspect,
    /// A function that was not there costs time.
    New,
    /// A function costs more than its budget.
    Budget,
    /// A function became slower, and the policy excuses it.
    Excused,
    /// There is not enough to say whether anything became slower.
    Inconclusive,
}

impl Rule {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::WholeRun,
        Self::Regressed,
        Self::Suspect,
        Self::New,
        Self::Budget,
        Self::Excused,
        Self::Inconclusive,
    ];

    /// The name in reports for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::WholeRun => "whole-run",
            Self::Regressed => "regressed",
            Self::Suspect => "suspect",
            Self::New => "new",
            Self::Budget => "budget",
            Self::Excused => "excused",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// What it means.
    pub fn about(self) -> &'static str {
        match self {
            Self::WholeRun => "The whole run costs more by more than the margin",
            Self::Regressed => "A function became slower by more than the margin",
            Self::Suspect => "A function seems to have become slower by more than the margin",
            Self::New => "A new function takes time",
            Self::Budget => "A function costs more than its budget",
            Self::Excused => "A function became slower, and the policy excuses it",
            Self::Inconclusive => "There is not enough to say whether anything became slower",
        }
    }
}

/// Something that a gate found.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What kind of thing.
    pub rule: Rule,
    /// The function, or the whole run.
    pub name: String,
    /// What was measured.
    pub what: Phrase,
    /// Who answers for the function.
    pub owner: Option<String>,
    /// Whether it fails the build.
    pub stands: bool,
}

/// What became of a budget.
#[derive(Clone, PartialEq, Debug)]
pub struct BudgetLine {
    /// Whether it was kept.
    pub state: &'static str,
    /// Of which figure it is.
    pub what: &'static str,
    /// The figure before; nothing if there was none.
    pub before: Option<Phrase>,
    /// The figure after.
    pub after: Option<Phrase>,
    /// The most that it may be.
    pub limit: Phrase,
    /// The function.
    pub function: String,
}

/// What became of something that was tested.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Nothing fails it.
    Passed,
    /// Something does.
    Failed(Phrase),
    /// There is not enough to say.
    Skipped(Phrase),
    /// The test itself could not be made.
    Broken(Phrase),
}

/// Something that was tested.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// What kind of thing: `gate`, `budget`, `function`.
    pub class: &'static str,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// The answer of a gate, to write.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// What it rests on.
    pub compared: Compared,
    /// The answer.
    pub answer: Answer,
    /// Whether the policy lets it pass although there is not enough to say.
    pub let_pass: bool,
    /// Why, a sentence each, without a full stop.
    pub reasons: Vec<String>,
    /// The policy, as JSON.
    pub policy: String,
    /// What was found: the whole run, then causes before their callers.
    pub findings: Vec<Finding>,
    /// What became of the budgets.
    pub budgets: Vec<BudgetLine>,
    /// Everything that was tested.
    pub cases: Vec<Case>,
}

impl Judged {
    /// The answer and its reasons in a line.
    pub fn summary(&self) -> String {
        let reasons = self.reasons.join("; ");
        let waved = if self.let_pass { " (the policy lets it pass)" } else { "" };
        format!("{}: {reasons}{waved}", self.answer.name())
    }

    /// What fails the build.
    pub fn standing(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.stands)
    }
}
