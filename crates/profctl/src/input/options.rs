//! From flags to the options of the importers.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use profctl_analyze::summarize::By;
use profctl_import::capture::CaptureOptions;
use profctl_import::formats::rule::{self, RuleText};
use profctl_import::{Grouping, ReadOptions};

use crate::args::{Reading, Selection};
use crate::exit::Failure;

/// The options of the importers.
pub(crate) fn options(
    reading: &Reading,
    selection: &Selection,
    by: By,
) -> Result<ReadOptions, Failure> {
    let side = |path: &Option<PathBuf>| path.as_deref().map(super::read_side_file).transpose();
    let (names, symbols) = (side(&reading.names)?, side(&reading.symbols)?);
    let (rule, section) = match rule(reading)? {
        Some(Rule::Lines(rule)) => (Some(rule), None),
        Some(Rule::Signals(section)) => (None, Some(section)),
        None => (None, None),
    };
    // Flags override the entire section, because mixing both would name signals twice.
    let flags = reading.capture.options();
    let capture = if flags.is_empty() { section.unwrap_or_default() } else { flags };
    let [from, until] = selection.window();
    let workers = reading
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    Ok(ReadOptions {
        format: rule.as_ref().map(|_| RULE.to_owned()).or_else(|| reading.input_format.clone()),
        import: profctl_import::ImportOptions {
            names,
            symbols,
            no_demangle: reading.no_demangle,
            dialect: reading.dialect.clone(),
            rule,
            capture,
            probe: reading.probe.options(),
        },
        from,
        until,
        workers,
        block_size: reading.block_size,
        grouping: match by {
            By::Function => Grouping::Function,
            By::Module => Grouping::Module,
            By::Kind => Grouping::Kind,
            By::Thread | By::Cpu => Grouping::Stack,
        },
        asked: None,
    })
}

/// The format that reads by a rule.
const RULE: &str = "rule";

/// What a rule file is about.
enum Rule {
    /// The lines of a log.
    Lines(RuleText),
    /// The signals of a capture: its `[capture]` section.
    Signals(CaptureOptions),
}

/// What `--rule` names: a preset, or a file, which must be a rule.
fn rule(reading: &Reading) -> Result<Option<Rule>, Failure> {
    let Some(path) = &reading.rule else { return Ok(None) };
    let (name, text) = rule_text(path)?;
    if let Some(section) = CaptureOptions::from_rule(&text) {
        return section
            .map(|section| Some(Rule::Signals(section)))
            .map_err(|message| Failure::input(name, message));
    }
    if let Some(format) = reading.input_format.as_ref().filter(|format| *format != RULE) {
        let message = format!("--rule reads the input as format {RULE}, not as {format}");
        return Err(Failure::usage(message));
    }
    rule::check(&text).map_err(|error| Failure::import(&name, &error))?;
    Ok(Some(Rule::Lines(RuleText { name, text })))
}

/// The name and the text of a preset or a file.
fn rule_text(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    if let Some(preset) = rule::preset(&name) {
        return Ok((name, preset.text.to_owned()));
    }
    let presets: Vec<_> = rule::PRESETS.iter().map(|preset| preset.name).collect();
    let bytes = super::read_side_file(path).map_err(|failure| {
        failure.hint(format!("it is not a preset either: {}", presets.join(", ")))
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(_) => Err(Failure::input(name, "is not UTF-8 text, expected a rule file")),
    }
}
