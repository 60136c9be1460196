//! Interactive pages: the calls of a trace, or two sides merged.

use profctl_analyze::critpath;
use profctl_analyze::critpath::chain::{Link, Wait};
use profctl_analyze::diff::{Comparison, PathComparison, Shown};
use profctl_analyze::summarize::{Options, Profile, Source, TableOptions, is_percentile};
use profctl_analyze::tree;
use profctl_model::{Table, Ticks, Trace};
use profctl_render::chart::picture::{PathPlace, PathStep};
use profctl_render::number::{self, TimeUnit};
use profctl_render::page::{self, Begin, CALLS_MAX, Calls, Kind, Page, Paired, Picture};

use super::{Args, sentence};
use crate::args::Global;
use crate::commands::diff;
use crate::commands::diff::settings::Settings;
use crate::commands::diff::sides::Keep;
use crate::exit::{Exit, Failure};
use crate::{input, read};

/// What a tip says of all calls of a function, `module` and `name` besides.
const FIGURES: [&str; 17] = [
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
    "elapsed_p50",
    "elapsed_p90",
    "elapsed_p99",
    "module",
    "name",
];

/// The page that was asked for, and how to end.
pub(super) fn page(args: &Args, global: &Global) -> Result<(String, Exit), Failure> {
    let begin =
        Begin { callers: args.reverse, upwards: args.flame, path: args.critical_path.is_some() };
    if let Some(sides) = &args.diff {
        let settings = Settings::of(&args.comparing)?;
        let (reading, selection) = (&args.reading, &args.selection);
        let keep = Keep::default();
        let sides = [&sides[0], &sides[1]];
        let (comparison, paths) =
            diff::with_paths(sides, &settings, reading, selection, keep, global)?;
        let title = args.title.clone();
        let page = of_comparison(&comparison, &paths, title, begin, global);
        return Ok((page, diff::verdict(&comparison, &args.reading, global)));
    }
    let Some(path) = &args.trace else { return Err(Failure::usage("no trace given")) };
    let trace = read::load(path, &args.reading, &args.selection, global)?;
    super::fits_trace(&trace.meta)?;
    let steps = match &args.critical_path {
        Some(_) => super::steps(&trace, args)?,
        None => path_of(&trace),
    };
    let title = args.title.clone().unwrap_or_else(|| input::short_name(path));
    let first = match args.kind()? {
        super::Kind::Chart => Kind::Chart,
        super::Kind::Graph => Kind::Graph,
    };
    let page = of_trace(&trace, title, first, &steps, begin, global);
    Ok((page, read::verdict_of(&trace.meta.diags, &args.reading, global)))
}

fn of_trace(
    trace: &Trace,
    title: String,
    first: Kind,
    path: &[PathStep],
    begin: Begin,
    global: &Global,
) -> String {
    let source = Source { path: title.clone(), format: String::new(), bytes: 0 };
    let options = Options { percentiles: true, ..Options::default() };
    let profile = Profile::of_trace(trace, options, source);
    let trees = tree::by_thread(trace);
    let calls =
        Calls { trace, trees: &trees, functions: &figures(&profile), path, calls_max: CALLS_MAX };
    page::write(&Page {
        title,
        sentence: sentence::of_profile(&profile),
        facts: facts(&profile, global),
        notes: notes(&profile),
        unit: unit_of(&profile, global),
        picture: Some(Picture { calls: Some(calls), paired: None, first, begin }),
        sections: Vec::new(),
    })
}

fn of_comparison(
    comparison: &Comparison,
    paths: &PathComparison,
    title: Option<String>,
    begin: Begin,
    global: &Global,
) -> String {
    let (before, after) = (&comparison.before.name, &comparison.after.name);
    let facts = profctl_render::comparison::rounded_facts(
        &comparison.report(&Shown { top: Some(0), ..Shown::default() }),
        global.unit,
    );
    page::write(&Page {
        title: title.unwrap_or_else(|| format!("{before} → {after}")),
        sentence: sentence::of_comparison(comparison),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        notes: comparison.notes_for_paths(),
        unit: global.unit,
        picture: Some(Picture {
            calls: None,
            paired: Some(paired(comparison, paths)),
            first: Kind::Diff,
            begin,
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

/// Functions of which a page has figures, those of the largest net time: a browser cannot hold
/// those of a million.
pub(crate) const FUNCTIONS_MAX: usize = 20_000;

/// What a reader of a page must know.
pub(crate) fn notes(profile: &Profile) -> Vec<String> {
    let mut notes = profile.notes();
    if profile.rows.len() > FUNCTIONS_MAX {
        let all = profile.rows.len();
        notes.push(format!(
            "figures: of {FUNCTIONS_MAX} of {all} functions, those of the largest net time"
        ));
    }
    notes
}

/// What tips say of functions.
pub(crate) fn figures(profile: &Profile) -> Table {
    let columns = Some(known(profile, &FIGURES));
    let options = TableOptions { columns, top: Some(FUNCTIONS_MAX), ..TableOptions::default() };
    profile.table(&options).expect("the columns are known")
}

/// Those of `columns` that a profile has: percentiles are there if histograms were kept.
pub(crate) fn known(profile: &Profile, columns: &[&str]) -> Vec<String> {
    let known = columns.iter().filter(|column| profile.has_percentiles || !is_percentile(column));
    known.map(|&column| column.to_owned()).collect()
}

/// The critical path that a page shows unasked; empty if there is none.
pub(crate) fn path_of(trace: &Trace) -> Vec<PathStep> {
    path(trace, None, None).unwrap_or_default()
}

/// The critical path of the slowest call of a function; else of a thread, across threads where the
/// trace says what they did; else of the longest call.
pub(super) fn path(
    trace: &Trace,
    of: Option<String>,
    thread: Option<String>,
) -> Result<Vec<PathStep>, String> {
    let options = critpath::Options { of, thread, ..critpath::Options::default() };
    let chain = match options.of {
        None => critpath::chain_of(trace, &options)?,
        Some(_) => None,
    };
    if let Some(chain) = chain {
        let step = |link: &Link| PathStep {
            place: PathPlace::Thread(link.thread),
            start: link.start,
            end: link.end,
            waits: link.wait != Wait::Running,
        };
        return Ok(chain.links.iter().map(step).collect());
    }
    let step = |step: critpath::Step| PathStep {
        place: PathPlace::Call(step.call),
        start: step.start,
        end: step.end,
        waits: false,
    };
    Ok(critpath::steps(trace, &options)?.into_iter().map(step).collect())
}

/// Digits of times in text: what is finer does not matter beside the whole.
const DIGITS: usize = 7;

/// The one unit of a page: the one that suits the length of the trace.
pub(crate) fn unit_of(profile: &Profile, global: &Global) -> TimeUnit {
    global.unit.resolved(&profile.timebase, Ticks(profile.real))
}

/// What is known of a profile as a whole.
pub(crate) fn facts(profile: &Profile, global: &Global) -> Vec<(String, String)> {
    let (timebase, unit) = (&profile.timebase, unit_of(profile, global));
    let digits = number::whole_digits(Ticks(profile.real), timebase, unit);
    let decimals = DIGITS.saturating_sub(digits);
    let length = |ticks: u64| {
        let length = number::length_rounded(Ticks(ticks), timebase, unit, decimals);
        format!("{length} {}", unit.label(timebase))
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
        ("incomplete", profile.partial().to_string()),
        ("functions", profile.n_functions.to_string()),
        ("threads", profile.n_threads.to_string()),
    ];
    facts.retain(|(name, value)| !value.is_empty() && (*name != "incomplete" || value != "0"));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
