//! The page of a comparison.

use std::path::{Path, PathBuf};

use profctl_analyze::diff::gate::{Policy, judge};
use profctl_analyze::diff::{
    Comparison, Function, PathComparison, Rule, Shown, SideStats, SideSummary, compare,
};
use profctl_model::{Column, Table};
use profctl_render::page::{
    self, Begin, HistogramRow, HistogramText, Histograms, Kind, Page, Picture, Section,
};

use super::{Args, single};
use crate::args::{Global, Reading};
use crate::commands::diff;
use crate::commands::diff::settings::Settings;
use crate::commands::diff::sides::{self, Keep};
use crate::commands::flame::{html, sentence};
use crate::commands::gate;
use crate::exit::{Exit, Failure};
use crate::input::{Content, Inputs};
use crate::{output, read};

/// The columns of the table of changes, and what to call them.
const COLUMNS: [(&str, &str); 16] = [
    ("verdict", "verdict"),
    ("delta_net", "net Δ"),
    ("ratio", "ratio"),
    ("ci_low", "95% low"),
    ("ci_high", "95% high"),
    ("delta_from_calls", "Δ by calls"),
    ("delta_from_cost", "Δ by cost"),
    ("net_before", "net before"),
    ("net_after", "net after"),
    ("calls_before", "# before"),
    ("calls_after", "# after"),
    ("net_avg_before", "net/call before"),
    ("net_avg_after", "net/call after"),
    ("measure", "of"),
    ("matched_as", "was"),
    ("name", "name"),
];

pub(super) fn run(args: &Args, after: &PathBuf, global: &Global) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.comparing)?;
    let sides = [&args.trace, after];
    let keep = Keep { histograms: true, ..Keep::default() };
    let (comparison, paths) = if holds_profiles(sides, &args.reading, global)? {
        let rules = settings.rules();
        let rules: Vec<&Rule<'_>> = rules.iter().map(|rule| rule as &Rule<'_>).collect();
        let [one, other] = sides::read(sides, &args.reading, &args.selection, keep, global)?;
        let comparison = compare(one, other, &settings.options(rules))
            .map_err(|message| Failure::input(after.display().to_string(), message))?;
        (comparison, None)
    } else {
        let reading = &args.reading;
        let both = diff::with_paths(sides, &settings, reading, &args.selection, keep, global)?;
        (both.0, Some(both.1))
    };
    let policy = Policy {
        strict: settings.strict || args.reading.strict,
        budgets: settings
            .budgets
            .iter()
            .map(|budget| gate::resolve(budget, &comparison.timebase))
            .collect::<Result<_, _>>()?,
        allow_confounded: settings.allow_confounded,
        only: None,
        standings: settings.standings(&comparison, None),
    };
    let page = written(&comparison, paths.as_ref(), &policy, global);
    output::write_bytes(page.as_bytes(), global)?;
    let sides = [&comparison.before, &comparison.after];
    let incomplete = sides.into_iter().find(|side| !side.profile.quality.is_complete());
    Ok(incomplete
        .map_or(Exit::Done, |side| read::verdict(&side.profile.quality, &args.reading, global)))
}

/// Whether there is a saved profile among the runs: then no paths are known of them.
fn holds_profiles(
    sides: [&PathBuf; 2],
    reading: &Reading,
    global: &Global,
) -> Result<bool, Failure> {
    let is_file = |path: &&&PathBuf| path.as_path() != Path::new("-");
    let files: Vec<PathBuf> = sides.iter().filter(is_file).map(|&path| path.clone()).collect();
    for argument in Inputs::of(&files, global)?.arguments {
        for file in argument.files {
            if matches!(file.open(reading.expansion)?, Content::Profile(_)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn written(
    comparison: &Comparison,
    paths: Option<&PathComparison>,
    policy: &Policy,
    global: &Global,
) -> String {
    let judgement = judge(comparison, policy);
    let top = sentence::top(comparison, &judgement, global.unit);
    let changes = changes(comparison);
    let quality = [&comparison.before, &comparison.after]
        .map(|side| single::diagnostics(&side.profile.quality, comparison.timebase));
    let mut sections =
        vec![Section::Verdict { answer: judgement.answer.name(), reasons: judgement.reasons, top }];
    sections.push(Section::Text { heading: "Notes".into(), lines: comparison.notes() });
    match paths {
        Some(_) => sections.push(Section::Picture { heading: "Differential flame graph".into() }),
        None => sections.push(Section::Text {
            heading: "Differential flame graph".into(),
            lines: vec![
                "a saved profile has no call paths: the differential flame graph is omitted".into(),
            ],
        }),
    }
    sections.push(Section::Table {
        heading: "Functions that differ".into(),
        table: &changes,
        sorted_by: None,
        names_functions: true,
    });
    match histograms(comparison) {
        Some(histograms) => sections.push(Section::Histograms(histograms)),
        None => sections.push(Section::Text {
            heading: "Call times".into(),
            lines: vec!["there are no histograms of call times of both sides".into()],
        }),
    }
    for (table, side) in quality.iter().zip(["before", "after"]) {
        if !table.rows.is_empty() {
            let heading = format!("Quality of {side}");
            sections.push(Section::Table {
                heading,
                table,
                sorted_by: None,
                names_functions: false,
            });
        }
    }
    let facts = profctl_render::comparison::facts(
        &comparison.report(&Shown { top: Some(0), ..Shown::default() }),
        global.unit,
    );
    page::write(&Page {
        title: format!("{} → {}", name(&comparison.before), name(&comparison.after)),
        sentence: sentence::of_comparison(comparison),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        notes: Vec::new(),
        unit: global.unit,
        picture: paths.map(|paths| Picture {
            calls: None,
            paired: Some(html::paired(comparison, paths)),
            first: Kind::Diff,
            begin: Begin::default(),
        }),
        sections,
    })
}

fn name(side: &SideSummary) -> &str {
    &side.name
}

/// The functions that differ, in the order of the comparison, with headings for readers.
fn changes(comparison: &Comparison) -> Table {
    let all = comparison.table(&Shown::default());
    let places: Vec<(usize, &str)> = COLUMNS
        .iter()
        .filter_map(|&(name, heading)| {
            let place = all.columns.iter().position(|column| column.name == name)?;
            Some((place, heading))
        })
        .collect();
    let columns = places
        .iter()
        .map(|&(place, heading)| Column { heading: heading.into(), ..all.columns[place].clone() });
    let mut table = Table::new(all.schema, all.timebase, columns.collect());
    for row in &all.rows {
        table.push(places.iter().map(|&(place, _)| row[place].clone()).collect());
    }
    table
}

/// Lengths before and after of functions that differ; nothing if none is known.
fn histograms(comparison: &Comparison) -> Option<Histograms> {
    let side = |side: &SideStats| {
        let text = HistogramText {
            net: side.total.net_of_calls.histogram.encode(),
            elapsed: side.total.elapsed_of_calls.histogram.encode(),
        };
        (!text.net.is_empty()).then_some(text)
    };
    let row = |function: &Function| HistogramRow {
        name: function.name.clone(),
        sides: vec![side(&function.before), side(&function.after)],
    };
    let mut functions: Vec<HistogramRow> =
        comparison.changed().map(row).filter(|row| row.sides.iter().any(Option::is_some)).collect();
    // Where there is something to compare comes first.
    functions.sort_by_key(|row| row.sides.iter().any(Option::is_none));
    (!functions.is_empty()).then(|| Histograms {
        timebase: comparison.timebase,
        sides: vec![name(&comparison.before).into(), name(&comparison.after).into()],
        functions,
    })
}
