//! The page of a history: its changes, and a plot of each function that changed.

use std::collections::BTreeSet;

use profctl_analyze::diff::{Measure, WHOLE_RUN};
use profctl_analyze::history::{Change, Found, History};
use profctl_model::Timebase;
use profctl_render::number::{self, count};
use profctl_render::page::{self, Page, Section};
use profctl_render::plot::Plot;

use crate::args::Global;
use crate::commands::plot::levels::Levels;

/// Functions of which there is a plot, besides the whole run.
const PLOTTED_MAX: usize = 24;

/// The page, with at most `top` changes in its table.
pub(super) fn written(
    history: History,
    found: &Found,
    timebase: Timebase,
    top: Option<usize>,
    global: &Global,
) -> String {
    let changes = found.table(timebase, top);
    let builds = found.table_of_builds();
    let levels = Levels::over_builds(history, &timebase);
    let table = |heading: &str, table| Section::Table {
        heading: heading.to_owned(),
        table,
        sorted_by: None,
        names_functions: false,
    };
    let mut sections = vec![Section::Plots {
        heading: "The whole run".to_owned(),
        plots: levels.with_changes(WHOLE_RUN, Measure::Total, found).into_iter().collect(),
    }];
    if !found.changes.is_empty() {
        sections.push(table("Changes", &changes));
        sections.extend(plots_of_functions(&levels, found));
    }
    sections.push(table("Builds", &builds));
    page::write(&Page {
        title: title(found),
        sentence: Some(sentence(found)),
        facts: facts(found),
        notes: changes.notes.clone(),
        unit: global.unit,
        picture: None,
        sections,
    })
}

/// A plot of each function that changed, those first that changed last, and then most.
fn plots_of_functions(levels: &Levels, found: &Found) -> Option<Section<'static>> {
    let mut seen = BTreeSet::new();
    let changed: Vec<(&str, Measure)> = found
        .changes
        .iter()
        .filter_map(|change| Some((change.function.as_deref()?, change.measure)))
        .filter(|one| seen.insert((one.0, one.1.name())))
        .collect();
    let plots: Vec<Plot> = changed
        .iter()
        .take(PLOTTED_MAX)
        .filter_map(|(function, measure)| levels.with_changes(function, *measure, found).ok())
        .collect();
    let left_out = changed.len().saturating_sub(plots.len());
    let heading = match left_out {
        0 => "Functions that changed".to_owned(),
        _ => format!("Functions that changed: the first {} of {}", plots.len(), changed.len()),
    };
    (!plots.is_empty()).then_some(Section::Plots { heading, plots })
}

fn title(found: &Found) -> String {
    match found.builds.as_slice() {
        [] => "no builds".to_owned(),
        [one] => one.name.clone(),
        [first, .., last] => format!("{} … {}", first.name, last.name),
    }
}

/// What matters most: the latest change, and what it did to the whole run.
fn sentence(found: &Found) -> String {
    let builds = count(found.builds.len() as u64, "build", "builds");
    if found.builds.len() < found.builds_min {
        return format!("{builds}: at least {} are needed to find a change", found.builds_min);
    }
    let Some(latest) = found.changes.first() else {
        return format!("No change of more than {}% in {builds}", found.margin * 100.0);
    };
    let of_build: Vec<&Change> =
        found.changes.iter().filter(|change| change.build == latest.build).collect();
    let largest = of_build.iter().find(|change| change.function.is_some());
    let whole = of_build.iter().find(|change| change.function.is_none());
    let mut said = Vec::new();
    if let Some(whole) = whole {
        said.push(format!("a run takes {} the busy time", number::ratio(whole.ratio)));
    }
    if let Some(Change { function: Some(function), ratio, .. }) = largest {
        let functions = of_build.iter().filter(|change| change.function.is_some()).count();
        let more = match functions - 1 {
            0 => String::new(),
            n => format!(", and {} more", count(n as u64, "change", "changes")),
        };
        said.push(format!("{function} {}{more}", number::ratio(*ratio)));
    }
    format!("Latest change: {}, {}", found.builds[latest.build].name, said.join("; "))
}

fn facts(found: &Found) -> Vec<(String, String)> {
    let runs: usize = found.builds.iter().map(|build| build.runs).sum();
    let fact = |name: &str, n: usize| (name.to_owned(), n.to_string());
    vec![
        fact("builds", found.builds.len()),
        fact("runs", runs),
        fact("functions", found.functions),
        fact("changes", found.changes.len()),
    ]
}
