//! `profctl gate`: a comparison, a policy, an exit code.

use std::path::PathBuf;

use profctl_analyze::diff::gate::{
    Answer, Budget, Judgement, Limit, Policy, inject, judge, victim,
};
use profctl_analyze::diff::{Calibration, Comparison, Rule, Shown, Side, compare};
use profctl_model::Timebase;
use profctl_render::table::Format;

use super::diff::settings::{self, BudgetText, Comparing, LimitText, Settings};
use super::diff::sides::{self, Keep};
use super::diff::{ROWS_SHOWN, text};
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::outputs::What;
use crate::{output, read};

mod github;
mod junit;
mod markdown;
mod report;
mod sarif;

use report::Report;

const EXAMPLES: &str = "\
Examples:
  profctl gate before/ after/                      exit 1 on a regression
  profctl gate --budget 'tcp_ack<=5us' --junit gate.xml base.json after/
  profctl gate --self-test before/ after/          does the gate catch anything?";

/// Compare two builds and exit with 1 on a regression, 4 if inconclusive
///
/// The policy comes from profctl.toml and from flags. With one run per side there is no verdict
/// without `--budget` or `--calibration`. With `--self-test`, the exit code says whether the gate
/// works: 0 the injected regression was caught, 1 it was missed, 4 nothing could be injected.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("strict", |arg| arg.help("Fail on suspect functions too")))]
pub(crate) struct Args {
    /// Baseline: a trace, a saved profile, or a directory of runs
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Candidate
    #[arg(value_name = "AFTER", required_unless_present = "calibrate")]
    after: Option<PathBuf>,
    /// Limit of a function: `FUNC<=5us` (elapsed time per call), `net_avg(FUNC)<=1.1x`,
    /// `calls(FUNC)<=100`; repeatable
    #[arg(long, value_name = "BUDGET", value_parser = settings::budget)]
    budget: Vec<BudgetText>,
    /// What an inconclusive comparison does [default: fail]
    #[arg(long, value_name = "WHAT")]
    inconclusive: Option<Inconclusive>,
    /// Inject a regression into AFTER and fail unless it is caught
    #[arg(long)]
    self_test: bool,
    /// Measure run-to-run noise from 5 or more runs of BEFORE; write the --calibration file to -o
    #[arg(long, conflicts_with_all = ["after", "self_test"])]
    calibrate: bool,
    /// Show at most N rows per section
    #[arg(long, value_name = "N", default_value_t = ROWS_SHOWN)]
    top: usize,
    /// Write the verdict and its reasons as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    json: Option<PathBuf>,
    /// Write a review comment as Markdown; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    markdown: Option<PathBuf>,
    /// Write a test case per function as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    junit: Option<PathBuf>,
    /// Write findings for code scanning as SARIF
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    sarif: Option<PathBuf>,
    /// Print annotations for GitHub after the table
    #[arg(long, help_heading = "Reports")]
    github: bool,
    #[command(flatten)]
    comparing: Comparing,
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
    let options = settings.options(rules);
    let Some(after) = &args.after else {
        return calibrate(args, &options, global);
    };
    let budgets: Vec<&BudgetText> = settings.budgets.iter().chain(&args.budget).collect();
    let histograms = budgets.iter().any(|budget| budget.what.is_percentile());
    let keep = Keep { histograms, ..Keep::default() };
    let sides = [&args.before, after];
    args.refuse_inputs(sides)?;
    let [before, after] = sides::read(sides, &args.reading, &args.selection, keep, global)?;
    let name = after.name.clone();
    let compare = |before: Side, after: Side| {
        compare(before, after, &options).map_err(|message| Failure::input(name.clone(), message))
    };
    let original = args.self_test.then(|| (before.clone(), after.clone()));
    let comparison = compare(before, after)?;
    let policy = Policy {
        strict: settings.strict || args.reading.strict,
        budgets: budgets
            .into_iter()
            .map(|budget| resolve(budget, &comparison.timebase))
            .collect::<Result<_, _>>()?,
    };
    if let Some((before, mut after)) = original {
        return self_test(&comparison, &policy, global, |names, module, factor| {
            inject(&mut after, names, module, factor);
            compare(before, after)
        });
    }
    let judgement = judge(&comparison, &policy);
    let passes = args.inconclusive.map(|what| what == Inconclusive::Pass);
    let passes = passes.or(settings.inconclusive_passes).unwrap_or(false);
    let exit = match judgement.answer {
        Answer::Pass => Exit::Done,
        Answer::Regressed => Exit::Regressed,
        Answer::Inconclusive if passes => Exit::Done,
        Answer::Inconclusive => Exit::Inconclusive,
    };
    let mut record = settings.record();
    record["strict"] = policy.strict.into();
    record["inconclusive"] = if passes { "pass" } else { "fail" }.into();
    write(args, &Report { comparison, judgement, record, exit, global })?;
    Ok(exit)
}

impl Args {
    /// What is written: a report, or the file of a calibration.
    pub(super) fn what(&self) -> What {
        if self.calibrate || self.self_test { What::Calibration } else { What::Report }
    }

    /// No report may replace a side.
    fn refuse_inputs(&self, sides: [&PathBuf; 2]) -> Result<(), Failure> {
        let sides = sides.map(PathBuf::as_path);
        let files = [&self.json, &self.markdown, &self.junit, &self.sarif];
        files.into_iter().flatten().try_for_each(|file| output::refuse_input(file, &sides))
    }
}

/// Writes everything that was asked for, after all of it is made.
fn write(args: &Args, report: &Report<'_>) -> Result<(), Failure> {
    let Report { comparison, judgement, record, exit, global } = report;
    let shown = Shown { top: Some(args.top), ..Shown::default() };
    let json = comparison.to_gate_json(judgement, record, *exit as u8);
    let markdown = markdown::page(report, &shown);
    let mut out = match global.format() {
        Format::Table => report.for_people(&shown),
        Format::Json => json.clone(),
        Format::Markdown => markdown.clone(),
        Format::Csv => text::written(
            &comparison.table(&Shown::default()),
            Format::Csv,
            &profctl_render::Style::default(),
        ),
        Format::Parquet => {
            return Err(Failure::usage("gate writes no Parquet; `profctl diff` does"));
        }
    };
    if args.github {
        out += &github::annotations(report);
    }
    let is_stdout = |path: &&PathBuf| path.as_os_str() == "-";
    let files = [&args.json, &args.markdown, &args.junit, &args.sarif];
    let to_stdout = match files.iter().filter_map(|path| path.as_ref()).filter(is_stdout).count() {
        0 => false,
        1 if global.out_file.is_some() || !args.github => true,
        _ => return Err(Failure::usage("only one report can go to standard output")),
    };
    let made: Vec<(&PathBuf, Vec<u8>)> = [
        (&args.json, json.into_bytes()),
        (&args.markdown, markdown.into_bytes()),
        (&args.junit, junit::document(report).into_bytes()),
        (&args.sarif, sarif::document(report).into_bytes()),
    ]
    .into_iter()
    .filter_map(|(path, bytes)| Some((path.as_ref()?, bytes)))
    .collect();
    for (path, bytes) in made {
        output::write_to(path, &bytes, global)?;
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

fn calibrate(
    args: &Args,
    options: &profctl_analyze::diff::Options<'_>,
    global: &Global,
) -> Result<Exit, Failure> {
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

/// Injects a slowdown into one function and checks that the gate detects it.
fn self_test(
    comparison: &Comparison,
    policy: &Policy,
    global: &Global,
    slowed: impl FnOnce(&[&str], Option<&str>, u64) -> Result<Comparison, Failure>,
) -> Result<Exit, Failure> {
    let Some(function) = victim(comparison, policy) else {
        let judgement = judge(comparison, policy);
        let why = judgement.reasons.join("; ");
        let said = format!("self-test: inconclusive: no function can be made slower: {why}\n");
        output::write_bytes(said.as_bytes(), global)?;
        return Ok(Exit::Inconclusive);
    };
    // The next integer factor beyond the margin.
    let factor = (1.0 + comparison.margin).floor() as u64 + 1;
    let names: Vec<&str> = match &function.matched {
        Some(matched) => matched.after.iter().map(String::as_str).collect(),
        None => vec![&function.name],
    };
    let slower = slowed(&names, function.module.as_deref(), factor)?;
    let judgement: Judgement = judge(&slower, policy);
    let found = judgement.offending.iter().any(|&at| slower.functions[at].name == function.name)
        || judgement.budgets.iter().any(|spent| {
            spent.budget.function == function.name && spent.state.name() == "exceeded"
        });
    let caught = found && judgement.answer == Answer::Regressed;
    let name = &function.name;
    let said = if caught {
        format!("self-test: passed: {name}, made {factor} times slower, was caught\n")
    } else {
        let why = judgement.reasons.join("; ");
        let answer = judgement.answer.name();
        format!(
            "self-test: failed: {name}, made {factor} times slower, was missed: {answer}: {why}\n"
        )
    };
    output::write_bytes(said.as_bytes(), global)?;
    Ok(if caught { Exit::Done } else { Exit::Regressed })
}
