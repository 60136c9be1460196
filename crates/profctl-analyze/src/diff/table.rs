//! A comparison as tables: sections of slower and faster functions for readers, one row per
//! function for programs.

use std::cmp::Reverse;

use profctl_model::report::Section;
use profctl_model::{Cell, Column, Role, Table, Ticks};

use super::stats::Replicate;
use super::types::{Comparison, Function, Interval, MatchedBy};
use super::{Measure, SideStats, Verdict};

pub(super) const SCHEMA: &str = "profctl.diff-table/1";

/// The columns that leave a narrow table before the others.
const LEFT_OUT_FIRST: [&str; 7] = [
    "delta_from_calls",
    "delta_from_cost",
    "delta_net",
    "calls_before",
    "calls_after",
    "runs",
    "ci_low",
];

/// What of a comparison to show.
#[derive(Clone, Copy, Default)]
pub struct Shown<'a> {
    /// Maximum number of rows per section.
    pub top: Option<usize>,
    /// Which names to show.
    pub matching: Option<&'a dyn Fn(&str) -> bool>,
    /// Whether to show what did not change, or could not be judged, too.
    pub all: bool,
    /// Whether to show 99th percentiles.
    pub tails: bool,
}

/// How the rows of a section are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Net time of a run, and why it changed.
    Net,
    /// Elapsed time of a call.
    Elapsed,
    /// Functions of one side only.
    OneSide,
    /// As [`Self::Net`], of functions without a verdict: how many runs would give one.
    Undecided,
    /// Elapsed and net time of one run per side, by what changed most.
    Single,
}

/// How much more elapsed time a run takes after.
fn delta_elapsed(function: &Function) -> i64 {
    let difference = i128::from(function.after.elapsed) - i128::from(function.before.elapsed);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

impl Comparison {
    /// The rows by section; a section without rows is omitted.
    pub fn sections(&self, shown: &Shown<'_>) -> Vec<Section> {
        let changed = |function: &Function, verdicts: &[Verdict], elapsed: bool| {
            verdicts.contains(&function.verdict)
                && (function.measure == Measure::Elapsed) == elapsed
        };
        let slower = [Verdict::Regressed, Verdict::Suspect];
        let undecided = |function: &Function| {
            matches!(function.verdict, Verdict::Inconclusive | Verdict::NotTested)
        };
        let mut sections = vec![
            self.section("slower", Layout::Net, shown, |f| changed(f, &slower, false)),
            self.section("slower including callees", Layout::Elapsed, shown, |f| {
                changed(f, &slower, true)
            }),
            self.section("faster", Layout::Net, shown, |f| changed(f, &[Verdict::Improved], false)),
            self.section("faster including callees", Layout::Elapsed, shown, |f| {
                changed(f, &[Verdict::Improved], true)
            }),
        ];
        // Without verdicts, rows are ordered by their sums.
        if self.interval == Interval::WithinTrace && self.tested == 0 {
            let beyond = |function: &Function| function.is_beyond(self.margin);
            sections.push(self.section(
                "beyond the margin within these traces (look here; nothing is proven)",
                Layout::Single,
                shown,
                |f| undecided(f) && beyond(f),
            ));
            sections.push(
                self.section("changed", Layout::Single, shown, |f| undecided(f) && !beyond(f)),
            );
        } else if shown.all || self.tested == 0 || self.has_veto() {
            sections.push(self.section(
                "more net time, inconclusive",
                Layout::Undecided,
                shown,
                |f| undecided(f) && f.parts.delta_net > 0,
            ));
            sections.push(self.section(
                "less net time, inconclusive",
                Layout::Undecided,
                shown,
                |f| undecided(f) && f.parts.delta_net <= 0,
            ));
        }
        sections.push(self.section("new", Layout::OneSide, shown, |f| f.verdict == Verdict::New));
        sections.push(self.section("gone", Layout::OneSide, shown, |f| f.verdict == Verdict::Gone));
        if shown.all {
            let same = |f: &Function| f.verdict == Verdict::Equivalent;
            sections.push(self.section("within the margin", Layout::Net, shown, same));
        }
        if shown.tails {
            sections.push(self.tails(shown));
        }
        sections.retain(|section| section.count > 0);
        sections
    }

    fn section(
        &self,
        title: &str,
        layout: Layout,
        shown: &Shown<'_>,
        belongs: impl Fn(&Function) -> bool,
    ) -> Section {
        let mut rows: Vec<&Function> = self
            .changed()
            .filter(|function| belongs(function))
            .filter(|function| shown.matching.is_none_or(|matching| matching(&function.name)))
            .collect();
        if layout == Layout::Single {
            let most = |function: &Function| {
                delta_elapsed(function).unsigned_abs().max(function.parts.delta_net.unsigned_abs())
            };
            rows.sort_by_key(|function| Reverse(most(function)));
        }
        let part = |function: &&Function| match layout {
            Layout::Net if self.tested > 0 => Some(("from cost", function.parts.from_cost)),
            Layout::Net | Layout::OneSide | Layout::Undecided | Layout::Single => {
                Some(("net", function.parts.delta_net))
            }
            Layout::Elapsed => None,
        };
        let sum = rows
            .iter()
            .filter_map(part)
            .reduce(|(what, all), (_, one)| (what, all.saturating_add(one)));
        let rows_shown = &rows[..rows.len().min(shown.top.unwrap_or(usize::MAX))];
        // A column with the same value in every row is omitted.
        let differs = |of: fn(&Function) -> &'static str| {
            rows_shown.iter().any(|function| of(function) != of(rows_shown[0]))
        };
        let extra: Vec<Extra> = [
            ("measure", "of", of_what as fn(&Function) -> &'static str),
            ("verdict", "verdict", |function| function.verdict.name()),
        ]
        .into_iter()
        .filter(|&(_, _, of)| !matches!(layout, Layout::OneSide | Layout::Single) && differs(of))
        .collect();
        let mut table = Table::new(SCHEMA, self.timebase, self.columns(layout, &extra));
        table.left_out_first = &LEFT_OUT_FIRST;
        for function in rows_shown {
            table.push(self.cells(layout, &extra, function));
        }
        Section { title: title.into(), count: rows.len(), sum, table }
    }

    fn columns(&self, layout: Layout, extra: &[Extra]) -> Vec<Column> {
        let time = |name: &str, heading: &str| Column::new(name, heading, Role::Time);
        // Within single traces, the ends are of another kind, and the heading says so.
        let (group, low, high) = match self.interval {
            Interval::BetweenRuns | Interval::Calibrated => ("95%", "95% low", "high"),
            Interval::WithinTrace => ("within", "in-trace low", "high"),
        };
        let end =
            |name: &str, heading: &str| Column::new(name, heading, Role::Ratio).in_group(group);
        let mut columns = match layout {
            Layout::Net | Layout::Undecided => vec![
                time("net_before", "Before"),
                time("net_after", "After"),
                time("delta_net", "Delta"),
                time("delta_from_calls", "from calls"),
                time("delta_from_cost", "from cost"),
            ],
            Layout::Elapsed => vec![
                time("elapsed_avg_before", "Before/call"),
                time("elapsed_avg_after", "After/call"),
                Column::new("calls_before", "# before", Role::Count),
                Column::new("calls_after", "# after", Role::Count),
            ],
            Layout::Single => vec![
                time("elapsed_before", "Elapsed before"),
                time("elapsed_after", "after"),
                time("delta_elapsed", "Delta"),
                time("net_before", "Net before"),
                time("net_after", "after"),
                time("delta_net", "Delta"),
                Column::new("calls_before", "# before", Role::Count),
                Column::new("calls_after", "# after", Role::Count),
            ],
            Layout::OneSide => vec![
                time("net", "Net"),
                time("net_avg", "Net/call"),
                Column::new("calls", "# calls", Role::Count),
                Column::new("runs", "in runs", Role::Text),
            ],
        };
        if !matches!(layout, Layout::OneSide | Layout::Single) {
            columns.push(Column::new("ratio", "ratio", Role::Ratio));
            columns.extend([end("ci_low", low), end("ci_high", high)]);
        }
        if layout == Layout::Undecided && self.interval == Interval::BetweenRuns {
            columns.push(Column::new("runs_needed", self.needed(), Role::Count));
        }
        let text = |&(name, heading, _): &Extra| Column::new(name, heading, Role::Text);
        columns.extend(extra.iter().map(text));
        columns.push(Column::new("name", "name", Role::Name));
        columns
    }

    /// What is needed more of, for a heading.
    fn needed(&self) -> &'static str {
        match self.replicate {
            Replicate::Runs => "runs needed",
            Replicate::Blocks => "blocks needed",
            Replicate::Pairs => "pairs needed",
        }
    }

    fn cells(&self, layout: Layout, extra: &[Extra], function: &Function) -> Vec<Cell> {
        let (before, after) = (&function.before, &function.after);
        let parts = &function.parts;
        let mut cells = match layout {
            Layout::Net | Layout::Undecided => vec![
                time_cell(before.net),
                time_cell(after.net),
                Cell::Change(parts.delta_net),
                Cell::Change(parts.from_calls),
                Cell::Change(parts.from_cost),
            ],
            Layout::Elapsed => vec![
                optional_time(before.inclusive_avg()),
                optional_time(after.inclusive_avg()),
                Cell::Count(before.calls),
                Cell::Count(after.calls),
            ],
            Layout::Single => vec![
                time_cell(before.elapsed),
                time_cell(after.elapsed),
                Cell::Change(delta_elapsed(function)),
                time_cell(before.net),
                time_cell(after.net),
                Cell::Change(parts.delta_net),
                Cell::Count(before.calls),
                Cell::Count(after.calls),
            ],
            Layout::OneSide => {
                let side = if after.is_there() { after } else { before };
                vec![
                    time_cell(side.net),
                    optional_time(side.net_avg()),
                    Cell::Count(side.total.calls),
                    seen(side),
                ]
            }
        };
        if !matches!(layout, Layout::OneSide | Layout::Single) {
            cells.push(ratio(function.ratio));
            cells.push(ratio(function.interval.map(|ends| ends.0)));
            cells.push(ratio(function.interval.map(|ends| ends.1)));
        }
        if layout == Layout::Undecided && self.interval == Interval::BetweenRuns {
            let needed = function.tested().and_then(|tested| tested.runs_needed);
            cells.push(needed.map_or(Cell::Null, |runs| Cell::Count(u64::from(runs))));
        }
        cells.extend(extra.iter().map(|(_, _, of)| of(function).into()));
        cells.push(Cell::Text(label(function)));
        cells
    }

    /// Every function that differs, a row each, in the columns of `profctl.diff/1`.
    pub fn table(&self, shown: &Shown<'_>) -> Table {
        let time = |name: &str| Column::new(name, name, Role::Time);
        let count = |name: &str| Column::new(name, name, Role::Count);
        let number = |name: &str| Column::new(name, name, Role::Ratio);
        let text = |name: &str| Column::new(name, name, Role::Text);
        let columns = vec![
            text("verdict"),
            text("measure"),
            count("calls_before"),
            count("calls_after"),
            time("net_before"),
            time("net_after"),
            time("delta_net"),
            time("delta_from_calls"),
            time("delta_from_cost"),
            time("net_avg_before"),
            time("net_avg_after"),
            time("elapsed_before"),
            time("elapsed_after"),
            number("ratio"),
            number("ci_low"),
            number("ci_high"),
            number("p"),
            number("q"),
            text("module"),
            text("matched_as"),
            Column::new("name", "name", Role::Name),
        ];
        let mut table = Table::new(SCHEMA, self.timebase, columns);
        table.left_out_first = &LEFT_OUT_FIRST;
        let matches =
            |function: &&Function| shown.matching.is_none_or(|matching| matching(&function.name));
        let rows = self.changed().filter(matches);
        for function in rows.take(shown.top.unwrap_or(usize::MAX)) {
            let (p, q) = chances(function);
            let optional = |text: Option<String>| text.map_or(Cell::Null, Cell::Text);
            table.push(vec![
                function.verdict.name().into(),
                function.measure.name().into(),
                Cell::Count(function.before.calls),
                Cell::Count(function.after.calls),
                time_cell(function.before.net),
                time_cell(function.after.net),
                Cell::Change(function.parts.delta_net),
                Cell::Change(function.parts.from_calls),
                Cell::Change(function.parts.from_cost),
                optional_time(function.before.net_avg()),
                optional_time(function.after.net_avg()),
                time_cell(function.before.elapsed),
                time_cell(function.after.elapsed),
                ratio(function.ratio),
                ratio(function.interval.map(|ends| ends.0)),
                ratio(function.interval.map(|ends| ends.1)),
                ratio(p),
                ratio(q),
                optional(function.module.clone()),
                optional(matched_as(function)),
                function.name.as_str().into(),
            ]);
        }
        table
    }
}

/// A column that is shown where rows differ in it: its name, its heading, what it says.
type Extra = (&'static str, &'static str, fn(&Function) -> &'static str);

/// Of what the ratio is.
fn of_what(function: &Function) -> &'static str {
    match function.measure {
        Measure::Net => "net/call",
        Measure::Total => "net/run",
        Measure::Elapsed => "elapsed/call",
    }
}

fn time_cell(ticks: u64) -> Cell {
    Cell::Time(Ticks(ticks))
}

fn optional_time(ticks: Option<u64>) -> Cell {
    ticks.map_or(Cell::Null, time_cell)
}

fn ratio(ratio: Option<f64>) -> Cell {
    ratio.map_or(Cell::Null, Cell::Ratio)
}

fn seen(side: &SideStats) -> Cell {
    Cell::Text(format!("{} of {}", side.runs, side.of_runs))
}

/// The chance of such a change where nothing changed, and the same corrected for the number of
/// functions: by the deciding measure, against the margin where it was beyond it.
pub(super) fn chances(function: &Function) -> (Option<f64>, Option<f64>) {
    let Some(tested) = function.tested() else { return (None, None) };
    let (p, q) = match function.verdict {
        Verdict::Regressed => (tested.p_regressed, tested.q_regressed),
        Verdict::Improved => (tested.p_improved, tested.q_improved),
        Verdict::Equivalent => (tested.p_equivalent, tested.q_equivalent),
        Verdict::Suspect
        | Verdict::Inconclusive
        | Verdict::NotTested
        | Verdict::New
        | Verdict::Gone => (tested.p, tested.q),
    };
    let known = |chance: f64| chance.is_finite().then_some(chance);
    (known(p), known(q))
}

/// What the function was called before, if it was not the same.
pub(super) fn matched_as(function: &Function) -> Option<String> {
    let matched = function.matched.as_ref()?;
    Some(match matched.by {
        MatchedBy::Module => function.name.clone(),
        _ if matched.before.is_empty() => matched.after.join(", "),
        _ => matched.before.join(", "),
    })
}

/// The name, and what was made one with it.
pub(super) fn label(function: &Function) -> String {
    let name = &function.name;
    let Some(matched) = &function.matched else {
        return name.clone();
    };
    let old = &matched.before;
    match matched.by {
        MatchedBy::Module => name.clone(),
        _ if old.is_empty() || old.len() == 1 && old[0] == *name => name.clone(),
        _ => format!("{name} (was {})", old.join(" + ")),
    }
}
