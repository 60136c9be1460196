//! The page of a comparison.

use std::path::{Path, PathBuf};

use profctl_analyze::diff::gate::{Policy, judge};
use profctl_analyze::diff::{
    Comparison, Function, PathComparison, Rule, Shown, SideStats, SideSummary, compare,
    compare_with_paths,
};
use profctl_analyze::summarize::Profile;
use profctl_model::{Column, Table};
use profctl_render::page::{
    self, Begin, HistogramRow, HistogramText, Histograms, Kind, Page, Picture, Section,
};
use profctl_render::plot::Plot;

use super::{Args, single};
use crate::args::{Global, Reading};
use crate::commands::diff;
use crate::commands::diff::settings::Settings;
use crate::commands::diff::sides::{self, Keep};
use crate::commands::flame::{html, sentence};
use crate::commands::gate;
use crate::commands::plot::levels::Levels;
use crate::commands::plot::{self, Length, changes, lengths};
use crate::exit::{Exit, Failure};
use crate::input::{Content, Inputs};
use crate::output;

/// The columns of the table of changes, and what to call them.
const COLUMNS: [(&str, &str); 16] = [
    ("verdict", "verdict"),
    ("delta_net", "net Δ"),
    ("measure", "of"),
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
    ("matched_as", "was"),
    ("name", "name"),
];

pub(super) fn run(args: &Args, after: &PathBuf, global: &Global) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.comparing)?;
    let sides = [&args.trace, after];
    let keep = Keep { histograms: true, ..Keep::default() };
    let keep = Keep { paths: !lacks_paths(sides, &args.reading, global)?, ..keep };
    let rules = settings.rules();
    let rules: Vec<&Rule<'_>> = rules.iter().map(|rule| rule as &Rule<'_>).collect();
    let [one, other] = sides::read(sides, &args.reading, &args.selection, keep, global)?;
    let has_runs = one.runs.len() > 1 || other.runs.len() > 1;
    let levels =
        has_runs.then(|| Levels::of([&one, &other].map(|side| (side.clone(), side.name.clone()))));
    let options = settings.options(rules);
    let failed = |message| Failure::input(after.display().to_string(), message);
    let (comparison, paths) = if keep.paths {
        let both = compare_with_paths(one, other, &options).map_err(failed)?;
        (both.0, Some(both.1))
    } else {
        (compare(one, other, &options).map_err(failed)?, None)
    };
    let plots = Plots { levels, names: plot::names_of(sides) };
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
    let page = written(&comparison, paths.as_ref(), &plots, &policy, global);
    output::write_bytes(page.as_bytes(), global)?;
    Ok(diff::verdict(&comparison, &args.reading, global))
}

/// What plots need besides the comparison.
struct Plots {
    /// Each run; nothing if each side has one.
    levels: Option<Levels>,
    /// What to call the sides where there is little space.
    names: Vec<String>,
}

/// Whether there is a saved profile without call paths among the runs.
fn lacks_paths(sides: [&PathBuf; 2], reading: &Reading, global: &Global) -> Result<bool, Failure> {
    let is_file = |path: &&&PathBuf| path.as_path() != Path::new("-");
    let files: Vec<PathBuf> = sides.iter().filter(is_file).map(|&path| path.clone()).collect();
    for argument in Inputs::of(&files, global)?.arguments {
        for file in argument.files {
            if let Content::Profile(bytes) = file.open(reading.expansion)?
                && !Profile::from_json(&bytes).is_ok_and(|profile| profile.has_paths())
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn written(
    comparison: &Comparison,
    paths: Option<&PathComparison>,
    plots: &Plots,
    policy: &Policy,
    global: &Global,
) -> String {
    let judgement = judge(comparison, policy);
    let top = sentence::top(comparison, &judgement, global.unit);
    let changed = changed(comparison);
    let plotted = sentence::most_changed(comparison, &judgement);
    let quality = [&comparison.before, &comparison.after]
        .map(|side| single::diagnostics(&side.profile.quality, comparison.timebase));
    let mut sections =
        vec![Section::Verdict { answer: judgement.answer.name(), reasons: judgement.reasons, top }];
    let title = format!("{} → {}", name(&comparison.before), name(&comparison.after));
    if let Some(forest) =
        changes::forest_of(comparison, changes::FUNCTIONS, plots.names.join(" → "))
    {
        sections.push(Section::Plots { heading: "Largest changes".into(), plots: vec![forest] });
    }
    sections.push(Section::Text { heading: "Notes".into(), lines: comparison.notes() });
    match paths {
        Some(_) => sections.push(Section::Picture { heading: "Differential flame graph".into() }),
        None => sections.push(Section::Text {
            heading: "Differential flame graph".into(),
            lines: vec![
                "a saved profile has no call paths: the differential flame graph is omitted \
                 (`profctl summarize --paths` keeps them)"
                    .into(),
            ],
        }),
    }
    sections.push(Section::Table {
        heading: "Functions that differ".into(),
        table: &changed,
        sorted_by: None,
        names_functions: true,
    });
    sections.extend(plots_of_functions(comparison, &plotted, plots));
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
    let facts = profctl_render::comparison::rounded_facts(
        &comparison.report(&Shown { top: Some(0), ..Shown::default() }),
        global.unit,
    );
    page::write(&Page {
        title,
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
fn changed(comparison: &Comparison) -> Table {
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

/// How long the calls of some functions took on both sides, and what each run measured of them.
fn plots_of_functions(
    comparison: &Comparison,
    functions: &[&Function],
    plots: &Plots,
) -> Vec<Section<'static>> {
    let ecdf = |function: &&Function| {
        let totals = [&function.before.total, &function.after.total];
        let sides = totals.into_iter().zip(plots.names.iter().cloned());
        lengths::ecdf_of(&function.name, sides, Length::Elapsed, &comparison.timebase)
    };
    let runs = |function: &&Function| plots.levels.as_ref()?.plot(&function.name, Length::Net).ok();
    let section = |heading: &str, plots: Vec<Plot>| {
        (!plots.is_empty()).then(|| Section::Plots { heading: heading.into(), plots })
    };
    [
        section(
            "Share of calls no longer than a time",
            functions.iter().filter_map(ecdf).collect(),
        ),
        section("Each run", functions.iter().filter_map(runs).collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
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
