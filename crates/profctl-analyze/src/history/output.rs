//! What was found, as a table and as `profctl.history/1`.

use profctl_model::{Cell, Column, Role, Table, Timebase};
use serde::Serialize;

use super::{Change, Found};
use crate::diff::WHOLE_RUN;
use crate::summarize::count;

const SCHEMA: &str = "profctl.history/1";
const TABLE: &str = "profctl.history-table/1";

/// The columns that leave a narrow table before the others.
const LEFT_OUT_FIRST: [&str; 5] = ["p", "ci_low", "ci_high", "before", "after"];

/// How many flaky functions a note lists.
const NAMED: usize = 5;

#[derive(Serialize)]
struct HistoryFile<'a> {
    schema: &'static str,
    builds: Vec<BuildFile<'a>>,
    functions: usize,
    margin: f64,
    between_share: Option<f64>,
    change_points: Vec<ChangeFile<'a>>,
    flaky: Vec<FlakyFile<'a>>,
}

#[derive(Serialize)]
struct BuildFile<'a> {
    name: &'a str,
    runs: usize,
    commit: Option<&'a str>,
    date: Option<&'a str>,
    config: Option<&'a str>,
}

#[derive(Serialize)]
struct ChangeFile<'a> {
    function: Option<&'a str>,
    build: &'a str,
    previous_build: &'a str,
    measure: &'static str,
    before: u64,
    after: u64,
    ratio: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    p: f64,
    persistent: bool,
}

#[derive(Serialize)]
struct FlakyFile<'a> {
    function: &'a str,
    score: f64,
}

impl Found {
    /// As JSON, on one line.
    pub fn to_json(&self) -> String {
        let finite = |number: f64| number.is_finite().then_some(number);
        let file = HistoryFile {
            schema: SCHEMA,
            builds: self
                .builds
                .iter()
                .map(|build| BuildFile {
                    name: &build.name,
                    runs: build.runs,
                    commit: build.commit.as_deref(),
                    date: build.date.as_deref(),
                    config: build.config.as_deref(),
                })
                .collect(),
            functions: self.functions,
            margin: self.margin,
            between_share: self.between_share,
            change_points: self
                .changes
                .iter()
                .map(|change| ChangeFile {
                    function: change.function.as_deref(),
                    build: &self.builds[change.build].name,
                    previous_build: &self.builds[change.previous].name,
                    measure: change.measure.name(),
                    before: change.before.0,
                    after: change.after.0,
                    ratio: change.ratio,
                    ci_low: finite(change.interval.0),
                    ci_high: finite(change.interval.1),
                    p: change.p,
                    persistent: change.persistent,
                })
                .collect(),
            flaky: self
                .flaky
                .iter()
                .map(|flaky| FlakyFile { function: &flaky.function, score: flaky.score })
                .collect(),
        };
        serde_json::to_string(&file).expect("only strings and finite numbers") + "\n"
    }

    /// One row per change, the latest build first; `top` of them.
    pub fn table(&self, timebase: Timebase, top: Option<usize>) -> Table {
        let text = |name: &str, heading: &str| Column::new(name, heading, Role::Text);
        let columns = vec![
            text("build", "build"),
            text("previous_build", "after build"),
            text("measure", "of"),
            Column::new("before", "Before", Role::Time),
            Column::new("after", "After", Role::Time),
            Column::new("ratio", "ratio", Role::Ratio),
            Column::new("ci_low", "95% low", Role::Ratio).in_group("95%"),
            Column::new("ci_high", "high", Role::Ratio).in_group("95%"),
            Column::new("p", "p", Role::Ratio),
            text("persistent", "stayed"),
            Column::new("name", "name", Role::Name),
        ];
        let mut table = Table::new(TABLE, timebase, columns);
        table.left_out_first = &LEFT_OUT_FIRST;
        for change in self.changes.iter().take(top.unwrap_or(usize::MAX)) {
            table.push(self.cells(change));
        }
        table.notes = self.notes(top);
        table
    }

    /// One row per build, in their order.
    pub fn table_of_builds(&self) -> Table {
        let columns = vec![
            Column::new("name", "build", Role::Name),
            Column::new("runs", "runs", Role::Count),
            Column::new("commit", "commit", Role::Text),
            Column::new("date", "date", Role::Text),
            Column::new("config", "config", Role::Text),
        ];
        let mut table = Table::new("profctl.builds/1", Timebase::NANOSECONDS, columns);
        for build in &self.builds {
            let text = |text: &Option<String>| text.clone().map_or(Cell::Null, Cell::Text);
            table.push(vec![
                build.name.as_str().into(),
                Cell::Count(build.runs as u64),
                text(&build.commit),
                text(&build.date),
                text(&build.config),
            ]);
        }
        table
    }

    fn cells(&self, change: &Change) -> Vec<Cell> {
        vec![
            self.builds[change.build].name.as_str().into(),
            self.builds[change.previous].name.as_str().into(),
            change.measure.name().into(),
            Cell::Time(change.before),
            Cell::Time(change.after),
            Cell::Ratio(change.ratio),
            Cell::Ratio(change.interval.0),
            Cell::Ratio(change.interval.1),
            Cell::Number(change.p),
            if change.persistent { "yes" } else { "no" }.into(),
            change.function.as_deref().unwrap_or(WHOLE_RUN).into(),
        ]
    }

    fn notes(&self, top: Option<usize>) -> Vec<String> {
        let mut notes = Vec::new();
        let builds = count(self.builds.len() as u64, "build", "builds");
        let functions = count(self.functions as u64, "function", "functions");
        let changes = count(self.changes.len() as u64, "change", "changes");
        if self.builds.len() < self.builds_min {
            let least = self.builds_min;
            notes.push(format!(
                "{builds}, {functions}: at least {least} builds are needed to find a change; \
                 `profctl diff` compares two"
            ));
            return notes;
        }
        let margin = self.margin * 100.0;
        notes.push(format!("{builds}, {functions}: {changes} of more than {margin}%"));
        let hidden = self.changes.len().saturating_sub(top.unwrap_or(usize::MAX));
        if hidden > 0 {
            notes.push(format!("not shown: {}", count(hidden as u64, "change", "changes")));
        }
        if let Some(share) = self.between_share {
            notes.push(format!(
                "{:.0}% of the variance of a run is between builds of the same level",
                share * 100.0
            ));
        }
        if !self.flaky.is_empty() {
            let names: Vec<&str> =
                self.flaky.iter().take(NAMED).map(|flaky| flaky.function.as_str()).collect();
            let more = self.flaky.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            notes.push(format!(
                "runs take one of two states, for quarantine: {}{more}",
                names.join(", ")
            ));
        }
        notes
    }
}
