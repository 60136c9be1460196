//! Pictures as a page to move about in: the calls of a trace, or two sides joined.

use profctl_analyze::critpath;
use profctl_analyze::diff::{Comparison, PathComparison};
use profctl_analyze::summarize::{By, Options, Profile, Quality, Source, TableOptions};
use profctl_analyze::tree;
use profctl_model::{SpanId, Table, Tick, Timeline, Trace};
use profctl_render::number;
use profctl_render::page::{self, CALLS_MAX, Calls, Kind, Page, Paired, Picture};

use crate::args::Global;
use crate::commands::diff::text;

/// What a tip says of all calls of a function, `module` and `name` besides.
const FIGURES: [&str; 14] = [
    "calls",
    "elapsed",
    "net",
    "net_min",
    "net_avg",
    "net_max",
    "net_p50",
    "net_p90",
    "net_p99",
    "elapsed_min",
    "elapsed_avg",
    "elapsed_max",
    "module",
    "name",
];

/// A page of one trace, called `name`.
pub(crate) fn of_trace(trace: &Trace, name: &str, first: Kind, global: &Global) -> String {
    let source = Source { path: name.into(), format: String::new(), bytes: 0 };
    let options = Options { percentiles: true, by: By::Function };
    let profile = Profile::of_trace(trace, options, source);
    let figures = figures(&profile);
    let trees = tree::by_thread(trace);
    let path = path(trace);
    let calls =
        Calls { trace, trees: &trees, functions: &figures, path: &path, calls_max: CALLS_MAX };
    page::write(&Page {
        title: name.into(),
        facts: facts(&profile, global),
        notes: notes(&profile, trace),
        unit: global.unit,
        picture: Some(Picture { calls: Some(calls), paired: None, first }),
        sections: Vec::new(),
    })
}

/// A page of two sides.
pub(crate) fn of_comparison(
    comparison: &Comparison,
    paths: &PathComparison,
    global: &Global,
) -> String {
    let (before, after) = (&comparison.before.name, &comparison.after.name);
    let facts = text::head(comparison, global);
    page::write(&Page {
        title: format!("{before} → {after}"),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        notes: comparison.notes(),
        unit: global.unit,
        picture: Some(Picture {
            calls: None,
            paired: Some(paired(comparison, paths)),
            first: Kind::Diff,
        }),
        sections: Vec::new(),
    })
}

/// The paths of both sides for a page.
pub(crate) fn paired<'a>(comparison: &'a Comparison, paths: &'a PathComparison) -> Paired<'a> {
    Paired {
        tree: &paths.tree,
        timebase: paths.timebase,
        before: &comparison.before.name,
        after: &comparison.after.name,
    }
}

/// What tips say of functions.
pub(crate) fn figures(profile: &Profile) -> Table {
    let options =
        TableOptions { columns: Some(known(profile, &FIGURES)), ..TableOptions::default() };
    profile.table(&options).expect("the columns are known")
}

/// Those of `columns` that a profile has: percentiles are there if histograms were kept.
pub(crate) fn known(profile: &Profile, columns: &[&str]) -> Vec<String> {
    let is_percentile = |column: &str| column.starts_with("net_p") && column != "net_pct";
    let known = columns.iter().filter(|column| profile.has_percentiles || !is_percentile(column));
    known.map(|&column| column.to_owned()).collect()
}

/// The critical path of the longest call; empty if there is no call.
pub(crate) fn path(trace: &Trace) -> Vec<(SpanId, Tick, Tick)> {
    critpath::steps(trace, &critpath::Options::default()).unwrap_or_default()
}

/// What is known of a profile as a whole.
pub(crate) fn facts(profile: &Profile, global: &Global) -> Vec<(String, String)> {
    let length = |ticks: u64| {
        number::length_with_unit(profctl_model::Ticks(ticks), &profile.timebase, global.unit)
    };
    let mut formats: Vec<&str> =
        profile.sources.iter().map(|source| source.format.as_str()).collect();
    formats.sort_unstable();
    formats.dedup();
    let mut facts = vec![
        ("format", formats.join(", ")),
        ("real", length(profile.real)),
        ("CPUs", profile.lanes.to_string()),
        ("busy", length(profile.busy())),
        ("idle", length(profile.idle())),
        ("calls", profile.calls().to_string()),
        ("seen in part", profile.partial().to_string()),
        ("functions", profile.n_functions.to_string()),
        ("threads", profile.n_threads.to_string()),
    ];
    facts.retain(|(name, value)| !value.is_empty() && (*name != "seen in part" || value != "0"));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What a reader must know: those notes that stand below every table.
fn notes(profile: &Profile, trace: &Trace) -> Vec<String> {
    let is_plain = Quality::of(&trace.meta.diags).diagnostics.is_empty()
        && trace.meta.timebase.timeline == Timeline::Recorded;
    if is_plain && profile.partial() == 0 {
        return Vec::new();
    }
    profile.table(&TableOptions::default()).expect("the columns are known").notes
}
