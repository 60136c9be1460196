//! How to compare: flags, and under them the policy file (`docs/schemas/policy.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use profctl_analyze::diff::gate::{Excuse, Standing, What};
use profctl_analyze::diff::stats::{self, Correction};
use profctl_analyze::diff::{Calibration, Comparison, Measure, Options, Rule, WHOLE_RUN};
use regex::Regex;
use serde::Deserialize;

use crate::duration::{self, Length};
use crate::exit::Failure;
use crate::input;

/// The flags that `diff` and `gate` share.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct Comparing {
    /// Policy file; flags override it [default: profctl.toml, if present]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Margin, `5%` or `1.05x` [default: 5%]
    ///
    /// Changes up to the margin are equivalent.
    #[arg(long, visible_alias = "margin", value_name = "MAX", value_parser = margin)]
    max_regression: Option<f64>,
    /// False discovery rate of the changes reported [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = share, hide_short_help = true)]
    fdr: Option<f64>,
    /// Correction for multiple tests: bh (Benjamini-Hochberg), by (Benjamini-Yekutieli) [default: bh]
    #[arg(long, value_name = "NAME", value_parser = correction, hide_short_help = true)]
    correction: Option<Correction>,
    /// What to test [default: net,total,elapsed]
    ///
    /// Net or elapsed time per call, or total net time per run; the worst verdict counts.
    #[arg(long, value_name = "MEASURES", value_delimiter = ',', value_parser = measure)]
    measure: Option<Vec<Measure>>,
    /// Test only functions with this share of all net time, in percent [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, hide_short_help = true)]
    min_share: Option<f64>,
    /// Test only functions with at least N calls per run [default: 5]
    #[arg(long, value_name = "N", value_parser = calls, hide_short_help = true)]
    min_calls: Option<f64>,
    /// Test only functions seen in at least N runs per side [default: 3]
    #[arg(long, value_name = "N", hide_short_help = true)]
    min_runs: Option<usize>,
    /// Pair run i (or block i, by name) of both sides
    #[arg(long, hide_short_help = true)]
    paired: bool,
    /// Remove the run-wide change of all functions first
    #[arg(long, hide_short_help = true)]
    normalize: bool,
    /// No verdict if a run is damaged or lacks more than this share of its records [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = share, hide_short_help = true)]
    max_loss: Option<f64>,
    /// Treat functions whose name matches REGEX as one named TEXT (`$1` is a group); repeatable
    #[arg(long, value_name = "REGEX=TEXT", value_parser = rename, hide_short_help = true)]
    rename: Vec<Rename>,
    /// Do not match renamed functions
    #[arg(long, hide_short_help = true)]
    no_renames: bool,
    /// Give a verdict although the sides differ in more than the build: one block each, other
    /// lengths, runs that drift
    #[arg(long, hide_short_help = true)]
    allow_confounded: bool,
    /// Omit the run of that name (a path, or its end); repeatable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) exclude_run: Vec<String>,
    /// Run-to-run noise of the baseline, written by `gate --calibrate`
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    calibration: Option<PathBuf>,
}

/// A new name for functions.
#[derive(Clone, Debug)]
pub(crate) struct Rename {
    pattern: Regex,
    replacement: String,
}

/// An upper limit of a function, as written.
#[derive(Clone, Debug)]
pub(crate) struct BudgetText {
    pub(crate) function: String,
    pub(crate) what: What,
    pub(crate) limit: LimitText,
}

/// The most that a figure may be, as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LimitText {
    Length(Length),
    Calls(u64),
    Ratio(f64),
}

/// What the policy file may say. Its keys are the flags' names.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    max_regression: Option<Text>,
    fdr: Option<Text>,
    correction: Option<String>,
    measure: Option<Vec<String>>,
    min_share: Option<Text>,
    min_calls: Option<Text>,
    min_runs: Option<usize>,
    paired: Option<bool>,
    normalize: Option<bool>,
    max_loss: Option<Text>,
    renames: Option<bool>,
    calibration: Option<PathBuf>,
    strict: Option<bool>,
    inconclusive: Option<String>,
    allow_confounded: Option<bool>,
    #[serde(default)]
    budget: Vec<BudgetFile>,
    #[serde(default)]
    accept: Vec<AcceptFile>,
    #[serde(default)]
    function: Vec<FunctionFile>,
    #[serde(default)]
    rename: Vec<RenameFile>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct BudgetFile {
    function: String,
    what: Option<String>,
    limit: Text,
}

/// A change that a user accepted.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptFile {
    pub(crate) function: String,
    pub(crate) since: Option<String>,
    pub(crate) until: Option<String>,
    pub(crate) reason: String,
    pub(crate) owner: Option<String>,
}

/// What holds for the functions of a pattern.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct FunctionFile {
    pattern: String,
    max_regression: Option<Text>,
    owner: Option<String>,
    quarantine: Option<bool>,
}

/// The same, read.
#[derive(Debug)]
struct FunctionRule {
    pattern: Regex,
    margin: Option<f64>,
    owner: Option<String>,
    quarantine: Option<bool>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct RenameFile {
    pattern: String,
    replace: String,
}

/// A number with or without a unit: `"5%"`, `0.05`, `5`.
#[derive(Deserialize, Debug)]
#[serde(untagged)]
enum Text {
    Quoted(String),
    Whole(i64),
    Number(f64),
}

impl Text {
    fn text(&self) -> String {
        match self {
            Self::Quoted(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// The settings, from flags, file and defaults.
pub(crate) struct Settings {
    /// The policy file that was read.
    pub(crate) file: Option<PathBuf>,
    pub(crate) stats: stats::Options,
    measures: Vec<Measure>,
    paired: bool,
    calls_min: f64,
    share_min: f64,
    loss_max: f64,
    pub(crate) renames: bool,
    rules: Vec<Rename>,
    calibration: Option<(PathBuf, Calibration)>,
    pub(crate) strict: bool,
    /// What an inconclusive gate does, if the file says: whether it passes.
    pub(crate) inconclusive_passes: Option<bool>,
    pub(crate) budgets: Vec<BudgetText>,
    /// Whether to judge sides that differ in more than the build.
    pub(crate) allow_confounded: bool,
    /// Changes that were accepted.
    pub(crate) accepted: Vec<AcceptFile>,
    functions: Vec<FunctionRule>,
}

/// The file that is read if it is there and none is named.
const DEFAULT_FILE: &str = "profctl.toml";

impl Settings {
    /// Reads the policy file and applies the flags.
    pub(crate) fn of(flags: &Comparing) -> Result<Self, Failure> {
        let file = match &flags.config {
            Some(path) => Some(path.clone()),
            None => Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.is_file()),
        };
        let policy = file.as_deref().map(read).transpose()?.unwrap_or_default();
        let place = file.as_ref().map_or_else(String::new, |path| path.display().to_string());
        let bad = |key: &str, message: String| Failure::usage(format!("{place}: {key}: {message}"));
        let number = |key: &str, text: &Option<Text>, parse: fn(&str) -> Result<f64, String>| {
            let text = text.as_ref().map(Text::text);
            text.map(|text| parse(&text).map_err(|message| bad(key, message))).transpose()
        };
        let defaults = Options::default();
        let or = |flag: Option<f64>, file: Option<f64>, default| flag.or(file).unwrap_or(default);
        let correction_of = |name: &String| correction(name).map_err(|m| bad("correction", m));
        let stats = stats::Options {
            margin: or(
                flags.max_regression,
                number("max_regression", &policy.max_regression, margin)?,
                defaults.stats.margin,
            ),
            fdr: or(flags.fdr, number("fdr", &policy.fdr, share)?, defaults.stats.fdr),
            correction: flags
                .correction
                .map_or_else(
                    || policy.correction.as_ref().map(correction_of).transpose(),
                    |c| Ok(Some(c)),
                )?
                .unwrap_or(defaults.stats.correction),
            normalize: flags.normalize || policy.normalize.unwrap_or(false),
            runs_min: flags.min_runs.or(policy.min_runs).unwrap_or(defaults.stats.runs_min),
            ..defaults.stats
        };
        let measures = match (&flags.measure, &policy.measure) {
            (Some(measures), _) => measures.clone(),
            (None, Some(names)) => names
                .iter()
                .map(|name| measure(name).map_err(|message| bad("measure", message)))
                .collect::<Result<_, _>>()?,
            (None, None) => defaults.measures,
        };
        if measures.is_empty() {
            return Err(bad("measure", "none, expected net, total or elapsed".into()));
        }
        let calibration = flags.calibration.clone().or(policy.calibration.map(|path| {
            // A path in a file is meant from where the file is.
            file.as_deref().and_then(Path::parent).map_or(path.clone(), |folder| folder.join(&path))
        }));
        let mut rules = Vec::new();
        for RenameFile { pattern, replace } in &policy.rename {
            let pattern = Regex::new(pattern).map_err(|error| bad("rename", error.to_string()))?;
            rules.push(Rename { pattern, replacement: replace.clone() });
        }
        rules.extend(flags.rename.iter().cloned());
        let budgets = policy.budget.iter().map(|budget| {
            let what = match budget.what.as_deref() {
                None => What::default(),
                Some(name) => what(name).map_err(|message| bad("budget", message))?,
            };
            let limit = limit(&budget.limit.text(), what).map_err(|m| bad("budget", m))?;
            Ok(BudgetText { function: budget.function.clone(), what, limit })
        });
        Ok(Self {
            stats,
            measures,
            paired: flags.paired || policy.paired.unwrap_or(false),
            calls_min: or(
                flags.min_calls,
                number("min_calls", &policy.min_calls, calls)?,
                defaults.calls_min,
            ),
            share_min: or(
                flags.min_share,
                number("min_share", &policy.min_share, percent)?,
                defaults.share_min,
            ),
            loss_max: or(
                flags.max_loss,
                number("max_loss", &policy.max_loss, share)?,
                defaults.loss_max,
            ),
            renames: !flags.no_renames && policy.renames.unwrap_or(defaults.renames),
            rules,
            calibration: calibration.map(read_calibration).transpose()?,
            strict: policy.strict.unwrap_or(false),
            inconclusive_passes: match policy.inconclusive.as_deref() {
                None => None,
                Some("pass") => Some(true),
                Some("fail") => Some(false),
                Some(other) => {
                    return Err(bad("inconclusive", format!("{other:?}, expected pass or fail")));
                }
            },
            budgets: budgets.collect::<Result<_, Failure>>()?,
            allow_confounded: flags.allow_confounded || policy.allow_confounded.unwrap_or(false),
            functions: policy
                .function
                .iter()
                .map(|rule| {
                    let pattern = Regex::new(&rule.pattern);
                    Ok(FunctionRule {
                        pattern: pattern.map_err(|error| bad("function", error.to_string()))?,
                        margin: number("function", &rule.max_regression, margin)?,
                        owner: rule.owner.clone(),
                        quarantine: rule.quarantine,
                    })
                })
                .collect::<Result<_, Failure>>()?,
            accepted: policy.accept.clone(),
            file,
        })
    }

    /// The margin of a function, where it has one of its own.
    pub(crate) fn margin_of(&self, name: &str) -> Option<f64> {
        let rules = self.functions.iter().filter(|rule| rule.pattern.is_match(name));
        rules.filter_map(|rule| rule.margin).next_back()
    }

    /// What the policy says of each function of a comparison, and of the whole run. `builds` is the
    /// order of builds, where it is known, and the build that is judged: an acceptance holds from
    /// the build it names on, until the one it names.
    pub(crate) fn standings(
        &self,
        comparison: &Comparison,
        builds: Option<(&[String], &str)>,
    ) -> BTreeMap<String, Standing> {
        let names = comparison.functions.iter().map(|function| function.name.as_str());
        let known: BTreeSet<&str> = names.chain([WHOLE_RUN]).collect();
        let of = |name: &str| {
            let rules = self.functions.iter().filter(|rule| rule.pattern.is_match(name));
            let rules: Vec<&FunctionRule> = rules.collect();
            let accepted =
                self.accepted.iter().find(|one| one.function == name && is_in_force(one, builds));
            let owner = accepted
                .and_then(|accepted| accepted.owner.clone())
                .or_else(|| rules.iter().rev().find_map(|rule| rule.owner.clone()));
            let quarantined = rules.iter().rev().find_map(|rule| rule.quarantine) == Some(true);
            let excuse = accepted
                .map(|accepted| Excuse::Accepted(accepted.reason.clone()))
                .or(quarantined.then_some(Excuse::Quarantined));
            Standing { owner, excuse }
        };
        let pairs = known.into_iter().map(|name| (name.to_owned(), of(name)));
        pairs.filter(|(_, standing)| *standing != Standing::default()).collect()
    }

    /// The measure that is shown where one is.
    pub(crate) fn first_measure(&self) -> Measure {
        self.measures[0]
    }

    /// The rules of renaming as functions.
    pub(crate) fn rules(&self) -> Vec<impl Fn(&str) -> Option<String>> {
        let rule = |rule: &Rename| {
            let Rename { pattern, replacement } = rule.clone();
            move |name: &str| {
                let is_about = pattern.is_match(name);
                is_about.then(|| pattern.replace_all(name, replacement.as_str()).into_owned())
            }
        };
        self.rules.iter().map(rule).collect()
    }

    /// The options of the comparison.
    pub(crate) fn options<'a>(&'a self, rules: Vec<&'a Rule<'a>>) -> Options<'a> {
        Options {
            stats: self.stats,
            measures: self.measures.clone(),
            paired: self.paired,
            calls_min: self.calls_min,
            share_min: self.share_min,
            loss_max: self.loss_max,
            renames: self.renames,
            rules,
            margins: None,
            since: None,
            calibration: self.calibration.as_ref().map(|(_, calibration)| calibration),
        }
    }

    /// The settings for the report.
    pub(crate) fn record(&self) -> serde_json::Value {
        let stats = &self.stats;
        let correction = match stats.correction {
            Correction::BenjaminiHochberg => "bh",
            Correction::BenjaminiYekutieli => "by",
        };
        let measures: Vec<&str> = self.measures.iter().map(|measure| measure.name()).collect();
        serde_json::json!({
            "file": self.file.as_ref().map(|path| path.display().to_string()),
            "max_regression": stats.margin,
            "fdr": stats.fdr,
            "correction": correction,
            "measure": measures,
            "min_share": self.share_min,
            "min_calls": self.calls_min,
            "min_runs": stats.runs_min,
            "max_loss": self.loss_max,
            "paired": self.paired,
            "normalize": stats.normalize,
            "renames": self.renames,
            "rules": self.rules.len(),
            "calibration": self.calibration.as_ref().map(|(path, _)| path.display().to_string()),
            "strict": self.strict,
            "inconclusive": if self.inconclusive_passes == Some(true) { "pass" } else { "fail" },
        })
    }
}

/// Whether an acceptance holds for the build that is judged.
fn is_in_force(accepted: &AcceptFile, builds: Option<(&[String], &str)>) -> bool {
    let Some((order, judged)) = builds else { return true };
    let place = |name: &str| order.iter().position(|build| build == name);
    // The build that is judged comes after all that are known.
    let at = place(judged).unwrap_or(order.len());
    let since = accepted.since.as_ref().and_then(|since| place(since)).unwrap_or(0);
    let until = accepted.until.as_ref().and_then(|until| place(until)).unwrap_or(usize::MAX);
    since <= at && at < until
}

fn read(path: &Path) -> Result<PolicyFile, Failure> {
    let name = path.display().to_string();
    let bytes = input::read_side_file(path)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{name}: is not UTF-8 text, expected a policy")))?;
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        Failure::usage(format!("{name}:{line}: {}", error.message()))
    })
}

fn read_calibration(path: PathBuf) -> Result<(PathBuf, Calibration), Failure> {
    let bytes = input::read_side_file(&path)?;
    match Calibration::from_json(&bytes) {
        Ok(calibration) => Ok((path, calibration)),
        Err(message) => Err(Failure::input(path.display().to_string(), message)),
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// `5%` and `1.05x` are 0.05. A bare number could be either and is refused.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let found = match (text.strip_suffix('%'), text.strip_suffix('x')) {
        (Some(percent), _) => number(percent).map(|percent| percent / 100.0),
        (_, Some(ratio)) => number(ratio).filter(|&ratio| ratio >= 1.0).map(|ratio| ratio - 1.0),
        (None, None) => None,
    };
    found.ok_or_else(|| format!("{text:?}, expected a change such as 5% or 1.05x"))
}

/// `5%` and `0.05` are 0.05.
fn share(text: &str) -> Result<f64, String> {
    let found = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    found
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{text:?}, expected a share such as 5% or 0.05"))
}

/// `0.1` and `0.1%` are 0.1.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    number(text.trim_end_matches('%'))
        .filter(|percent| *percent <= 100.0)
        .ok_or_else(|| format!("{text:?}, expected a share from 0 to 100 percent"))
}

pub(crate) fn calls(text: &str) -> Result<f64, String> {
    number(text).ok_or_else(|| format!("{text:?}, expected a number of calls"))
}

fn correction(text: &str) -> Result<Correction, String> {
    match text {
        "bh" => Ok(Correction::BenjaminiHochberg),
        "by" => Ok(Correction::BenjaminiYekutieli),
        other => Err(format!("{other:?}, expected bh or by")),
    }
}

pub(crate) fn measure(text: &str) -> Result<Measure, String> {
    Measure::from_name(text).ok_or_else(|| format!("{text:?}, expected net, total or elapsed"))
}

fn what(name: &str) -> Result<What, String> {
    What::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = What::ALL.iter().map(|what| what.name()).collect();
        format!("{name:?}, expected one of {}", names.join(", "))
    })
}

fn rename(text: &str) -> Result<Rename, String> {
    let (pattern, replacement) =
        text.split_once('=').ok_or("no replacement, expected REGEX=TEXT")?;
    let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
    Ok(Rename { pattern, replacement: replacement.into() })
}

/// Parses `FUNC<=5us`, `net_avg(FUNC)<=1.1x`, `calls(FUNC)<=100`.
pub(crate) fn budget(text: &str) -> Result<BudgetText, String> {
    let expected = "expected FUNC<=LIMIT or net_avg(FUNC)<=LIMIT";
    let (left, right) = text.rsplit_once("<=").ok_or_else(|| format!("no <=, {expected}"))?;
    let (left, right) = (left.trim(), right.trim());
    let called = left.strip_suffix(')').and_then(|left| left.split_once('('));
    let (what, function) = match called.and_then(|(name, f)| Some((What::from_name(name)?, f))) {
        Some((what, function)) => (what, function),
        None => (What::default(), left),
    };
    if function.is_empty() {
        return Err(format!("no function, {expected}"));
    }
    Ok(BudgetText { function: function.into(), what, limit: limit(right, what)? })
}

fn limit(text: &str, what: What) -> Result<LimitText, String> {
    if let Some(ratio) = text.strip_suffix('x') {
        let ratio = number(ratio).ok_or_else(|| format!("{text:?}, expected such as 1.1x"))?;
        return Ok(LimitText::Ratio(ratio));
    }
    if what == What::Calls {
        let calls = text.parse().map_err(|_| format!("{text:?}, expected a number of calls"))?;
        return Ok(LimitText::Calls(calls));
    }
    if text.ends_with('%') {
        return Err(format!("{text:?} could be a change or a share, expected such as 1.1x"));
    }
    duration::parse(text).map(LimitText::Length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_shares_have_units() {
        for (text, expected) in [
            ("5%", Some(0.05)),
            ("1.5x", Some(0.5)),
            ("0%", Some(0.0)),
            ("5", None),
            ("0.9x", None),
        ] {
            let found = margin(text).ok();
            assert_eq!(
                found.map(|found| (found * 1e6).round()),
                expected.map(|e| e * 1e6),
                "{text}"
            );
        }
        assert_eq!((share("5%"), share("0.05")), (Ok(0.05), Ok(0.05)));
        assert!(share("5").is_err() && share("-1%").is_err() && margin("nan%").is_err());
        assert_eq!((percent("0.1%"), percent("0.1")), (Ok(0.1), Ok(0.1)));
    }

    #[test]
    fn budgets_are_read() {
        let show = |text: &str| match budget(text) {
            Ok(BudgetText { function, what, limit }) => {
                format!("{function} {} {limit:?}", what.name())
            }
            Err(error) => error,
        };
        for (text, expected) in [
            ("tcp_ack<=5us", "tcp_ack elapsed_avg Length(Nanos(5000))"),
            ("net_p99(tcp_ack) <= 1.5x", "tcp_ack net_p99 Ratio(1.5)"),
            ("calls(a<=b)<=7", "a<=b calls Calls(7)"),
            ("f(int)<=9cycles", "f(int) elapsed_avg Length(Counts(9))"),
            ("f<=5%", "\"5%\" could be a change or a share, expected such as 1.1x"),
            ("<=5us", "no function, expected FUNC<=LIMIT or net_avg(FUNC)<=LIMIT"),
            ("f=5us", "no <=, expected FUNC<=LIMIT or net_avg(FUNC)<=LIMIT"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }
}
