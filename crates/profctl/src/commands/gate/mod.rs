//! `profctl gate`: may this build ship? A comparison, a policy, an exit code.

use std::path::PathBuf;

use profctl_analyze::diff::gate::{
    Answer, Budget, Judgement, Limit, Policy, What, inject, judge, victim,
};
use profctl_analyze::diff::{Calibration, Comparison, Rule, Shown, Side, compare};
use profctl_model::Timebase;
use profctl_render::table::Format;

use super::diff::settings::{self, BudgetText, Comparing, LimitText, Settings};
use super::diff::sides::{self, Keep};
use super::diff::{ROWS_SHOWN, text};
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read};

mod github;
mod junit;
mod markdown;
mod report;
mod sarif;

use report::Report;

/// Say whether a build may ship: 0 nothing became slower, 1 something did, 4 not enough to say
///
/// The policy comes from profctl.toml and from flags. With one run a side there is no verdict
/// without `--budget` or `--calibration`.
#[derive(clap::Args, Debug)]
#[command(mut_arg("strict", |arg| arg.help("Fail on functions that are only suspect, too")))]
pub(crate) struct Args {
    /// The baseline: a trace, a saved profile, or a directory of runs
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// What is to ship
    #[arg(value_name = "AFTER", required_unless_present = "calibrate")]
    after: Option<PathBuf>,
    /// What a function may cost at most: `FUNC<=5us` (elapsed time per call), `net_avg(FUNC)<=1.1x`,
    /// `calls(FUNC)<=100`; may be repeated
    #[arg(long, value_name = "BUDGET", value_parser = settings::budget)]
    budget: Vec<BudgetText>,
    /// What to do if there is not enough to say [default: fail]
    #[arg(long, value_name = "WHAT")]
    inconclusive: Option<Inconclusive>,
    /// Put a slow-down into AFTER and fail unless it is found
    #[arg(long)]
    self_test: bool,
    /// Learn from 5 or more runs of BEFORE how much runs vary, for sides of one run; writes the file
    /// for --calibration to -o
    #[arg(long, conflicts_with_all = ["after", "self_test"])]
    calibrate: bool,
    /// At most that many rows of each kind
    #[arg(long, value_name = "N", default_value_t = ROWS_SHOWN)]
    top: usize,
    /// Write the verdict and the functions that stand against it as JSON
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    json: Option<PathBuf>,
    /// Write a comment for a review
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    markdown: Option<PathBuf>,
    /// Write a test case for each function
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    junit: Option<PathBuf>,
    /// Write findings for code scanning
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
    let histograms = budgets.iter().any(|budget| budget.what == What::NetP99);
    let keep = Keep { histograms, ..Keep::default() };
    let sides = [&args.before, after];
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

/// Writes everything that was asked for, after all of it is made.
fn write(args: &Args, report: &Report<'_>) -> Result<(), Failure> {
    let Report { comparison, judgement, record, exit, global } = report;
    let shown = Shown { top: Some(args.top), ..Shown::default() };
    let json = comparison.to_gate_json(judgement, record, *exit as u8);
    let markdown = markdown::page(report, &shown);
    let mut out = match global.format {
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
        output::write_to(path, &bytes)?;
    }
    output::write_bytes(out.as_bytes(), global)
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
        format!(", whose net time per call varies by {:.2}% from run to run", noise * 100.0)
    });
    let functions = calibration.n_functions();
    read::say(
        &format!("learnt from {} runs: {functions} functions{noise}", calibration.runs),
        global,
    );
    Ok(Exit::Done)
}

/// Puts a slow-down into one function and looks whether the gate finds it there.
fn self_test(
    comparison: &Comparison,
    policy: &Policy,
    global: &Global,
    slowed: impl FnOnce(&[&str], Option<&str>, u64) -> Result<Comparison, Failure>,
) -> Result<Exit, Failure> {
    let Some(function) = victim(comparison, policy) else {
        let judgement = judge(comparison, policy);
        let why = judgement.reasons.join("; ");
        let said =
            format!("self-test: failed: there is nothing that could be slowed down: {why}\n");
        output::write_bytes(said.as_bytes(), global)?;
        return Ok(Exit::Regressed);
    };
    // The next whole factor beyond what the margin lets pass.
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
        format!("self-test: passed: {name}, made {factor} times as slow, was found\n")
    } else {
        let why = judgement.reasons.join("; ");
        let answer = judgement.answer.name();
        format!(
            "self-test: failed: {name}, made {factor} times as slow, was not found: {answer}: {why}\n"
        )
    };
    output::write_bytes(said.as_bytes(), global)?;
    Ok(if caught { Exit::Done } else { Exit::Regressed })
}
