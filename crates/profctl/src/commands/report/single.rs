//! The page of one trace.

use std::cmp::Reverse;

use profctl_analyze::critpath::{self, PathBy};
use profctl_analyze::points::Points;
use profctl_analyze::summarize::{By, Options, Profile, Quality, Row, Summary, TableOptions};
use profctl_analyze::tree;
use profctl_model::diag::codes;
use profctl_model::{Cell, Column, FuncKind, Role, Table, Ticks, Timebase, Trace, TraceBuilder};
use profctl_render::page::{
    self, Begin, CALLS_MAX, Calls, HistogramRow, HistogramText, Histograms, Kind, Page, Picture,
    Section,
};

use super::Args;
use crate::args::Global;
use crate::commands::flame::{html, sentence};
use crate::commands::plot::{self, Length, calls};
use crate::exit::{Exit, Failure};
use crate::input::Inputs;
use crate::input::session::{ItemContent, Read, Session};
use crate::{output, read};

/// The columns of the table of functions.
const COLUMNS: [&str; 13] = [
    "net", "elapsed", "calls", "net_min", "net_avg", "net_max", "net_p50", "net_p90", "net_p99",
    "real_pct", "net_pct", "kind", "name",
];

pub(super) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let (profile, trace) = read(args, global)?;
    let name = args.trace.display().to_string();
    let page = written(&profile, trace.as_ref(), &name, global)?;
    output::write_bytes(page.as_bytes(), global)?;
    Ok(read::verdict(&profile.quality, &args.reading, global))
}

/// What was given: its profile, and its calls if it is one trace.
fn read(args: &Args, global: &Global) -> Result<(Profile, Option<Trace>), Failure> {
    let traces = std::slice::from_ref(&args.trace);
    let inputs = Inputs::of(traces, global)?;
    let is_single = inputs.arguments[0].files.len() == 1;
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let mut merged: Option<Profile> = None;
    let mut trace = None;
    let sink = || {
        let summary = Summary::new(Options { percentiles: true, ..Options::default() });
        (summary, is_single.then(TraceBuilder::default))
    };
    session.each(traces, sink, |item| {
        let one = match item.content {
            ItemContent::Profile(profile) => *profile,
            ItemContent::Trace(read) => {
                let source = read.source();
                let Read { sink: (summary, calls), names, meta, .. } = *read;
                let profile = summary.finish(&names, &meta, source);
                trace = calls.map(|calls| calls.finish(meta, names));
                profile
            }
        };
        let Some(merged) = &mut merged else {
            merged = Some(one);
            return Ok(());
        };
        merged.merge(one).map_err(|message| Failure::input(item.name, message))
    })?;
    let profile = merged.expect("each input gave a profile or an error");
    Ok((profile, trace))
}

fn written(
    profile: &Profile,
    trace: Option<&Trace>,
    name: &str,
    global: &Global,
) -> Result<String, Failure> {
    let functions = functions(profile)?;
    // A trace of sums only has no calls to draw.
    let drawn = trace.filter(|trace| !(trace.spans.is_empty() && trace.states.is_empty()));
    let figures = html::figures(profile);
    let trees = drawn.map(tree::by_thread).unwrap_or_default();
    let path = drawn.map(html::path_of).unwrap_or_default();
    let critical = drawn.and_then(|trace| {
        let options = critpath::Options::default();
        let report = |by| critpath::report(trace, &options, by).ok();
        Some([longest(report(PathBy::Segment)?), report(PathBy::Function)?])
    });
    let diagnostics = diagnostics(&profile.quality, profile.timebase);
    let table = |heading: &str, table, sorted_by, names_functions| Section::Table {
        heading: heading.into(),
        table,
        sorted_by,
        names_functions,
    };

    let mut sections = Vec::new();
    if drawn.is_some() {
        sections.push(Section::Picture { heading: "Calls".into() });
    } else {
        let why = "the input has sums and no calls: flame graph, flame chart and critical path \
                   are omitted";
        let several = "several inputs are merged: their calls are not drawn";
        let line = if trace.is_none() && profile.sources.len() > 1 { several } else { why };
        sections.push(Section::Text { heading: "Calls".into(), lines: vec![line.into()] });
    }
    sections.push(table("Functions", &functions, Some("net"), true));
    sections.extend(drawn.and_then(|trace| plots(profile, trace)));
    match histograms(profile) {
        Some(histograms) => sections.push(Section::Histograms(histograms)),
        None => sections.push(Section::Text {
            heading: "Call times".into(),
            lines: vec!["there are no histograms of call times".into()],
        }),
    }
    if let Some([segments, by_function]) = &critical {
        sections.push(table("Critical path by function", by_function, Some("length"), false));
        sections.push(table("Critical path in time order", segments, None, false));
    }
    if !diagnostics.rows.is_empty() {
        sections.push(table("Quality", &diagnostics, None, false));
    }
    let calls = drawn.map(|trace| Calls {
        trace,
        trees: &trees,
        functions: &figures,
        path: &path,
        calls_max: CALLS_MAX,
    });
    Ok(page::write(&Page {
        title: name.into(),
        sentence: sentence::of_profile(profile),
        facts: html::facts(profile, global),
        notes: html::notes(profile),
        unit: html::unit_of(profile, global),
        picture: calls.map(|calls| Picture {
            calls: Some(calls),
            paired: None,
            first: Kind::Graph,
            begin: Begin::default(),
        }),
        sections,
    }))
}

/// Functions of which each call is plotted.
const PLOTTED: usize = 3;

/// What the CPUs did over time, and when the calls of the functions with the most net time were how
/// long.
fn plots(profile: &Profile, trace: &Trace) -> Option<Section<'static>> {
    let mut plots = Vec::new();
    if !trace.states.is_empty() {
        plots.extend(calls::utilization_of(trace, "CPU utilization".into()));
    }
    let is_plotted = |row: &&Row| row.kind != Some(FuncKind::Idle) && row.stats.calls > 1;
    for row in profile.rows.iter().filter(is_plotted).take(PLOTTED) {
        let about = (&trace.names, &trace.meta);
        let sample = Points::of(trace, &row.name);
        plots.extend(sample.and_then(|sample| {
            calls::scatter_of(&row.name, &sample, about, plot::By::Thread, Length::Elapsed)
        }));
    }
    (!plots.is_empty()).then(|| Section::Plots { heading: "Over time".into(), plots })
}

/// Segments of a path that a page lists.
const SEGMENTS_MAX: usize = 500;

/// The longest segments of a critical path, still in time order.
fn longest(mut path: Table) -> Table {
    let all = path.rows.len();
    let Some(place) = path.columns.iter().position(|column| column.name == "length") else {
        return path;
    };
    let length = |row: &[Cell]| match row[place] {
        Cell::Time(length) => length,
        _ => Ticks(0),
    };
    let mut lengths: Vec<Ticks> = path.rows.iter().map(|row| length(row)).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(&least) = lengths.get(SEGMENTS_MAX) {
        path.rows.retain(|row| length(row) > least);
        let shown = path.rows.len();
        path.notes.insert(0, format!("the {shown} longest of {all} segments"));
    }
    path
}

fn functions(profile: &Profile) -> Result<Table, Failure> {
    let columns = Some(html::known(profile, &COLUMNS));
    let top = Some(html::FUNCTIONS_MAX);
    let options = TableOptions { columns, top, ..TableOptions::default() };
    profile.table(&options).map_err(Failure::usage)
}

/// How long the calls of each function took; nothing if that is known of none.
fn histograms(profile: &Profile) -> Option<Histograms> {
    let mut rows: Vec<_> = profile.rows.iter().filter(|row| row.stats.measured() > 0).collect();
    if rows.len() > html::FUNCTIONS_MAX {
        rows.sort_by_key(|row| Reverse(row.stats.net));
        rows.truncate(html::FUNCTIONS_MAX);
    }
    let functions: Vec<HistogramRow> = rows
        .into_iter()
        .map(|row| HistogramRow {
            name: row.name.clone(),
            sides: vec![Some(HistogramText {
                net: row.stats.net_of_calls.histogram.encode(),
                elapsed: row.stats.elapsed_of_calls.histogram.encode(),
            })],
        })
        .collect();
    let is_known = profile.has_percentiles && !functions.is_empty();
    is_known.then(|| Histograms {
        timebase: profile.timebase,
        sides: vec!["all".into()],
        functions,
    })
}

/// The diagnostics, one row per code.
pub(super) fn diagnostics(quality: &Quality, timebase: Timebase) -> Table {
    let mut table = Table::new(
        "profctl.diagnostics/1",
        timebase,
        vec![
            Column::new("severity", "severity", Role::Text),
            Column::new("count", "count", Role::Count),
            Column::new("first", "first seen", Role::Text),
            Column::new("code", "code", Role::Name),
        ],
    );
    for diagnostic in &quality.diagnostics {
        // What stands among the notes is not said again.
        let is_note = diagnostic.code == codes::NO_SWITCHES.name;
        let first = diagnostic.samples.first().filter(|_| !is_note);
        table.push(vec![
            diagnostic.severity.name().into(),
            Cell::Count(diagnostic.count),
            first.map_or(Cell::Null, |sample| {
                Cell::Text(format!("{}: {}", sample.place, sample.message))
            }),
            diagnostic.code.as_str().into(),
        ]);
    }
    table
}
