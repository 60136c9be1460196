//! `profctl gate`: a comparison, a policy, an exit code.

use std::path::{Path, PathBuf};

use profctl_analyze::diff::gate::{Budget, Judgement, Limit, Policy, judge};
use profctl_analyze::diff::self_test::{Injection, inject, injected, victim};
use profctl_analyze::diff::{
    Calibration, Comparison, Measure, Options, Rule, Run, Shown, Side, compare, stats,
};
use profctl_analyze::history::{self, History};
use profctl_model::Timebase;
use profctl_model::report::Answer;
use profctl_render::comparison;
use profctl_render::table::Format;

use super::builds::{self, Order};
use super::diff::ROWS_SHOWN;
use super::diff::names::SideNames;
use super::diff::settings::{self, BudgetText, Comparing, LimitText, Settings};
use super::diff::sides::{self, Keep};
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::outputs::What;
use crate::{output, read, style};

const EXAMPLES: &str = "\
Examples:
  profctl gate before/ after/                      exit 1 on a regression
  profctl gate --budget 'tcp_ack<=5us' --junit gate.xml base.json after/
  profctl gate --history builds/ after/            against several builds
  profctl gate --self-test before/ after/          does the gate catch anything?";

/// Compare two builds and exit with 1 on a regression, 4 if inconclusive
///
/// The policy comes from profctl.toml and from flags. With one run per side there is no verdict
/// without `--budget` or `--calibration`. With `--self-test`, the exit code says whether the gate
/// works: 0 the injected regression was caught, 1 it was missed, 4 nothing could be injected.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("strict", |arg| arg.help("Also fail on suspect functions; exit with 5 if a side lacks more than --max-loss")))]
pub(crate) struct Args {
    /// Baseline: a trace, a saved profile, or a directory of runs
    ///
    /// With --history, the candidate.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Candidate
    #[arg(
        value_name = "AFTER",
        required_unless_present_any = ["calibrate", "history"],
        conflicts_with = "history"
    )]
    after: Option<PathBuf>,
    /// Judge against the builds in DIR, not one baseline
    ///
    /// The only side given is the candidate; each function is compared with the builds since its
    /// last change.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["self_test", "calibrate"])]
    history: Option<PathBuf>,
    /// Order of the builds in --history
    #[arg(
        long,
        value_name = "ORDER",
        default_value = "name",
        requires = "history",
        hide_short_help = true
    )]
    order: Order,
    /// Read at most the last N builds of --history
    #[arg(long, value_name = "N", default_value_t = BUILDS_READ, requires = "history", hide_short_help = true)]
    builds: usize,
    /// Which look at the same candidate this is, `K/N`: the error rate is spread over N looks with
    /// more runs each
    #[arg(long, value_name = "K/N", value_parser = look, hide_short_help = true)]
    look: Option<(u32, u32)>,
    /// Limit of a function, `FUNC<=5us`; repeatable
    ///
    /// `FUNC<=5us` limits the elapsed time per call; others are `net_avg(FUNC)<=1.1x` and
    /// `calls(FUNC)<=100`.
    #[arg(long, value_name = "BUDGET", value_parser = settings::budget)]
    budget: Vec<BudgetText>,
    /// If inconclusive, `pass` (0) or `fail` (4, default)
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    inconclusive: Option<Inconclusive>,
    /// Inject a regression and fail unless it is caught
    #[arg(long)]
    self_test: bool,
    /// Write the noise of 5 or more runs of BEFORE to -o
    ///
    /// The file is for --calibration.
    #[arg(long, conflicts_with_all = ["after", "self_test", "json", "markdown", "junit", "sarif", "code_quality", "github"])]
    calibrate: bool,
    /// Judge this function alone
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    function: Option<String>,
    /// End as `git bisect run` expects: 0 good, 1 bad, 125 cannot tell
    #[arg(long, requires = "function", hide_short_help = true, conflicts_with_all = ["self_test", "calibrate"])]
    bisect: bool,
    /// Show at most N rows per section
    #[arg(long, value_name = "N", default_value_t = ROWS_SHOWN)]
    top: usize,
    /// Write the verdict as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    json: Option<PathBuf>,
    /// Write a review comment; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    markdown: Option<PathBuf>,
    /// Write a test case per function as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    junit: Option<PathBuf>,
    /// Write findings for code scanning as SARIF
    #[arg(long, value_name = "FILE", help_heading = "Reports", hide_short_help = true)]
    sarif: Option<PathBuf>,
    /// Write a code quality report for GitLab
    #[arg(long, value_name = "FILE", help_heading = "Reports", hide_short_help = true)]
    code_quality: Option<PathBuf>,
    /// Print annotations for GitHub after the table
    #[arg(long, help_heading = "Reports")]
    github: bool,
    #[command(flatten)]
    comparing: Comparing,
    #[command(flatten)]
    names: SideNames,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Inconclusive {
    /// End with code 0
    Pass,
    /// End with code 4
    Fail,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let settings = Settings::of(&args.comparing)?;
    let rules = settings.rules();
    let rules: Vec<&Rule<'_>> = rules.iter().map(|rule| rule as &Rule<'_>).collect();
    let margins = |name: &str| settings.margin_of(name);
    let options = Options { margins: Some(&margins), ..settings.options(rules) };
    let options = match args.look {
        Some((look, looks)) => {
            let stats = &options.stats;
            let fdr = stats::spent(stats.fdr, look, looks);
            Options { stats: stats::Options { fdr, ..*stats }, ..options }
        }
        None => options,
    };
    if let Some(folder) = &args.history {
        args.names.refuse("with --history")?;
        return against_history(args, folder, &settings, &options, global);
    }
    let Some(after) = &args.after else {
        args.names.refuse("with --calibrate")?;
        return calibrate(args, &options, global);
    };
    let budgets: Vec<&BudgetText> = settings.budgets.iter().chain(&args.budget).collect();
    let histograms = budgets.iter().any(|budget| budget.what.is_percentile());
    let keep = Keep { histograms, ..Keep::default() };
    let sides = [&args.before, after];
    args.refuse_inputs(sides)?;
    let mut both = sides::read(sides, &args.reading, &args.selection, keep, global)?;
    sides::exclude(&mut both, &args.comparing.exclude_run)?;
    let [mut before, mut after] = both;
    args.names.apply([&mut before.name, &mut after.name]);
    let name = after.name.clone();
    let compare = |before: Side, after: Side| {
        compare(before, after, &options).map_err(|message| Failure::input(name.clone(), message))
    };
    let original = args.self_test.then(|| (before.clone(), after.clone()));
    let comparison = compare(before, after)?;
    let policy = policy(args, &settings, &comparison, None)?;
    if let Some((before, after)) = original {
        return self_test(&comparison, &policy, global, |names, module, what| {
            let mut after = after.clone();
            inject(&mut after, names, module, what);
            compare(before.clone(), after)
        });
    }
    conclude(args, &settings, comparison, policy, global)
}

/// Judges, writes and says how to end.
fn conclude(
    args: &Args,
    settings: &Settings,
    comparison: Comparison,
    policy: Policy,
    global: &Global,
) -> Result<Exit, Failure> {
    let judgement = judge(&comparison, &policy);
    let passes = args.inconclusive.map(|what| what == Inconclusive::Pass);
    let passes = passes.or(settings.inconclusive_passes).unwrap_or(false);
    let exit = match judgement.answer {
        Answer::Pass => Exit::Done,
        Answer::Regressed => Exit::Regressed,
        Answer::Inconclusive if policy.strict && comparison.is_incomplete() => Exit::Incomplete,
        Answer::Inconclusive if passes => Exit::Done,
        Answer::Inconclusive => Exit::Inconclusive,
    };
    let mut record = settings.record();
    record["strict"] = policy.strict.into();
    record["inconclusive"] = if passes { "pass" } else { "fail" }.into();
    record["allow_confounded"] = policy.allow_confounded.into();
    if read::lacks_notes(global) {
        for side in [&comparison.before, &comparison.after] {
            read::say_damage(&side.profile.quality, global);
        }
    }
    write(args, &Judged { comparison, judgement, policy, record, exit }, global)?;
    if exit == Exit::Incomplete {
        read::say("a side is incomplete (--strict)", global);
    }
    if args.bisect {
        return Ok(Exit::of_bisect(exit));
    }
    Ok(exit)
}

/// Everything that the flags and the policy file ask for. `builds` is the order of the builds of a
/// history, and the build that is judged.
fn policy(
    args: &Args,
    settings: &Settings,
    comparison: &Comparison,
    builds: Option<(&[String], &str)>,
) -> Result<Policy, Failure> {
    Ok(Policy {
        strict: settings.strict || args.reading.strict,
        allow_confounded: settings.allow_confounded,
        only: args.function.clone(),
        budgets: settings
            .budgets
            .iter()
            .chain(&args.budget)
            .map(|budget| resolve(budget, &comparison.timebase))
            .collect::<Result<_, _>>()?,
        standings: settings.standings(comparison, builds),
    })
}

/// Builds of a history that are read: enough to know what is usual, few enough to keep in memory.
const BUILDS_READ: usize = 30;

/// Judges a build, of which there may be few runs, against those before it: each function against
/// the builds since its last change.
fn against_history(
    args: &Args,
    folder: &Path,
    settings: &Settings,
    options: &Options<'_>,
    global: &Global,
) -> Result<Exit, Failure> {
    let mut places = builds::find(&[folder.to_path_buf()], args.order)?;
    let candidate = args.before.canonicalize().ok();
    places.retain(|place| candidate.is_none() || place.path.canonicalize().ok() != candidate);
    places.drain(..places.len().saturating_sub(args.builds));
    let mut history = History::default();
    let mut before = Side { name: folder.display().to_string(), runs: Vec::new(), skipped: 0 };
    for place in places {
        let side = place.read(&args.reading, &args.selection, global)?;
        let block = Some(place.build.name.clone());
        history.add(place.build, side.clone());
        before.skipped += side.skipped;
        before.runs.extend(side.runs.into_iter().map(|run| Run { block: block.clone(), ..run }));
    }
    let mut sides = [before, sides::one(&args.before, &args.reading, &args.selection, global)?];
    sides::exclude(&mut sides, &args.comparing.exclude_run)?;
    let [before, mut after] = sides;
    // All runs of the candidate are of one build.
    let name = Path::new(&after.name)
        .file_name()
        .map_or_else(|| after.name.clone(), |name| name.to_string_lossy().into_owned());
    after.runs.iter_mut().for_each(|run| run.block = Some(format!("candidate {name}")));
    let order: Vec<String> = history.builds.iter().map(|build| build.name.clone()).collect();
    let found = history.find(&history::Options::default());
    let last = History::last_changes(&found);
    let since = |function: &str, block: &str| {
        let at = order.iter().position(|build| build == block).unwrap_or(usize::MAX);
        last.get(&History::key(function)).is_none_or(|&change| at >= change)
    };
    let asked = stats::Options { runs_min: 1, blocks_min: 1, ..options.stats };
    let options = Options {
        stats: asked,
        measures: options.measures.clone(),
        rules: options.rules.clone(),
        since: Some(&since),
        ..*options
    };
    let side = after.name.clone();
    let comparison =
        compare(before, after, &options).map_err(|message| Failure::input(side, message))?;
    let policy = policy(args, settings, &comparison, Some((&order, &name)))?;
    conclude(args, settings, comparison, policy, global)
}

/// `K/N`.
fn look(text: &str) -> Result<(u32, u32), String> {
    let parts = text
        .split_once('/')
        .and_then(|(look, looks)| Some((look.parse().ok()?, looks.parse().ok()?)));
    match parts {
        Some((look, looks)) if 1 <= look && look <= looks => Ok((look, looks)),
        _ => Err("expected K/N, such as 1/3".into()),
    }
}

impl Args {
    /// What is written: a report, or the file of a calibration.
    pub(super) fn what(&self) -> What {
        if self.calibrate || self.self_test { What::Calibration } else { What::Report }
    }

    /// No report may replace a side.
    fn refuse_inputs(&self, sides: [&PathBuf; 2]) -> Result<(), Failure> {
        let sides = sides.map(PathBuf::as_path);
        let files = [&self.json, &self.markdown, &self.junit, &self.sarif, &self.code_quality];
        files.into_iter().flatten().try_for_each(|file| output::refuse_input(file, &sides))
    }
}

/// What came of a gate.
struct Judged {
    comparison: Comparison,
    judgement: Judgement,
    policy: Policy,
    /// The policy, as it goes on record.
    record: serde_json::Value,
    exit: Exit,
}

/// Writes everything that was asked for, after all of it is made.
fn write(args: &Args, judged: &Judged, global: &Global) -> Result<(), Failure> {
    let Judged { comparison, judgement, policy, record, exit } = judged;
    let let_pass = judgement.answer == Answer::Inconclusive && *exit == Exit::Done;
    let shown = Shown { top: Some(args.top), ..Shown::default() };
    let report = comparison.gate_report(judgement, policy, record, let_pass, &shown);
    let (style, unit) = (style::of(global), global.unit);
    let json = comparison.to_gate_json(judgement, policy, record, *exit as u8);
    let markdown = comparison::comment(&report, &style);
    let mut out = match global.format() {
        Format::Table => comparison::gate(&report, &style),
        Format::Json => json.clone(),
        Format::Markdown => markdown.clone(),
        Format::Csv => output::table_text(&comparison.table(&Shown::default()), Format::Csv),
        Format::Parquet => {
            return Err(Failure::usage("gate writes no Parquet; `profctl diff` does"));
        }
    };
    if args.github {
        out += &comparison::annotations(&report, unit);
    }
    let is_stdout = |path: &&PathBuf| path.as_os_str() == "-";
    let files = [&args.json, &args.markdown, &args.junit, &args.sarif, &args.code_quality];
    let to_stdout = match files.iter().filter_map(|path| path.as_ref()).filter(is_stdout).count() {
        0 => false,
        1 if global.out_file.is_some() || !args.github => true,
        _ => return Err(Failure::usage("only one report can go to standard output")),
    };
    let home = env!("CARGO_PKG_REPOSITORY");
    let made: Vec<(&PathBuf, String)> = [
        (&args.json, json),
        (&args.markdown, markdown),
        (&args.junit, comparison::junit(&report, unit)),
        (&args.sarif, comparison::sarif(&report, unit, env!("CARGO_PKG_VERSION"), home)),
        (&args.code_quality, comparison::code_quality(&report, unit)),
    ]
    .into_iter()
    .filter_map(|(path, text)| Some((path.as_ref()?, text)))
    .collect();
    for (path, text) in made {
        output::write_to(path, text.as_bytes(), global)?;
    }
    if to_stdout { Ok(()) } else { output::write_bytes(out.as_bytes(), global) }
}

/// A budget in what the clock counts.
pub(crate) fn resolve(budget: &BudgetText, timebase: &Timebase) -> Result<Budget, Failure> {
    let limit = match budget.limit {
        LimitText::Ratio(ratio) => Limit::Ratio(ratio),
        LimitText::Calls(calls) => Limit::Calls(calls),
        LimitText::Length(length) => {
            let flag = format!("the budget of {}", budget.function);
            Limit::Time(length.ticks(timebase, &flag)?.0)
        }
    };
    Ok(Budget { function: budget.function.clone(), what: budget.what, limit })
}

fn calibrate(args: &Args, options: &Options<'_>, global: &Global) -> Result<Exit, Failure> {
    let baseline = sides::one(&args.before, &args.reading, &args.selection, global)?;
    let name = baseline.name.clone();
    let calibration =
        Calibration::learn(baseline, options).map_err(|message| Failure::input(name, message))?;
    output::write_bytes(calibration.to_json().as_bytes(), global)?;
    let noise = calibration.median_noise().map_or_else(String::new, |noise| {
        format!(", net time per call varies by {:.2}% between runs (median)", noise * 100.0)
    });
    let functions = calibration.n_functions();
    read::say(
        &format!("calibrated from {} runs: {functions} functions{noise}", calibration.runs),
        global,
    );
    Ok(Exit::Done)
}

/// How often the self-test calls a function that was called once.
const CALLS_INJECTED: u64 = 2;

/// Makes one function slower, then calls it more often, and looks whether the gate finds it there.
fn self_test(
    comparison: &Comparison,
    policy: &Policy,
    global: &Global,
    worse: impl Fn(&[&str], Option<&str>, Injection) -> Result<Comparison, Failure>,
) -> Result<Exit, Failure> {
    let Some(function) = victim(comparison, policy) else {
        let judgement = judge(comparison, policy);
        let why = judgement.reasons.join("; ");
        let said = format!("self-test: inconclusive: no function can be made slower: {why}\n");
        output::write_bytes(said.as_bytes(), global)?;
        return Ok(Exit::Inconclusive);
    };
    let factor = injected(function, comparison.margin);
    let names: Vec<&str> = match &function.matched {
        Some(matched) => matched.after.iter().map(String::as_str).collect(),
        None => vec![&function.name],
    };
    let name = &function.name;
    let slower = format!("{name}, made {:.0}% slower", (factor - 1.0) * 100.0);
    let calls = format!("{name}, called {CALLS_INJECTED} times as often");
    let mut exit = Exit::Done;
    let mut said = Vec::new();
    for (what, injection) in
        [(slower, Injection::Slower(factor)), (calls, Injection::Calls(CALLS_INJECTED))]
    {
        let worse = worse(&names, function.module.as_deref(), injection)?;
        let judgement = judge(&worse, policy);
        let found = judgement.offending.iter().any(|&at| worse.functions[at].name == *name)
            || judgement
                .budgets
                .iter()
                .any(|spent| spent.budget.function == *name && spent.state.name() == "exceeded");
        if found && judgement.answer == Answer::Regressed {
            said.push(format!("self-test: passed: {what}, was caught\n"));
        } else {
            let (answer, why) = (judgement.answer.name(), judgement.reasons.join("; "));
            said.push(format!("self-test: failed: {what}, was missed: {answer}: {why}\n"));
            exit = Exit::Regressed;
        }
        // Where calls are too few to be compared, or budgets alone are judged, more calls are no case.
        let total = function.tests[Measure::Total as usize].as_ref();
        if total.is_none_or(|tested| tested.verdict == stats::Verdict::NotTested) {
            break;
        }
    }
    output::write_bytes(said.concat().as_bytes(), global)?;
    Ok(exit)
}
