//! From inputs to libraries: options, progress, and what is said about each input on the way.

use std::io::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use profctl_analyze::summarize::{By, Quality};
use profctl_import::capture::CaptureOptions;
use profctl_import::formats::rule::{self, RuleText};
use profctl_import::{Grouping, Origin, ReadOptions, Streamed};
use profctl_model::{DiagLog, SpanSink, Trace, TraceBuilder};

use crate::args::{Global, Reading, Selection};
use crate::duration::Length;
use crate::exit::{Exit, Failure};
use crate::input::{self, Content, Inputs};
use crate::progress::Progress;
use crate::style;

/// The options of the importers.
pub(crate) fn options(
    reading: &Reading,
    selection: &Selection,
    by: By,
) -> Result<ReadOptions, Failure> {
    let side = |path: &Option<PathBuf>| path.as_deref().map(input::read_side_file).transpose();
    let (names, symbols) = (side(&reading.names)?, side(&reading.symbols)?);
    let (rule, section) = match rule(reading)? {
        Some(Rule::Lines(rule)) => (Some(rule), None),
        Some(Rule::Signals(section)) => (None, Some(section)),
        None => (None, None),
    };
    // Flags win over the section as a whole: half of each would name signals twice.
    let flags = reading.capture.options();
    let capture = if flags.is_empty() { section.unwrap_or_default() } else { flags };
    let workers = reading
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    Ok(ReadOptions {
        format: rule.as_ref().map(|_| RULE.to_owned()).or_else(|| reading.input_format.clone()),
        import: profctl_import::ImportOptions {
            names,
            symbols,
            dialect: reading.dialect.clone(),
            rule,
            capture,
            probe: reading.probe.options(),
        },
        from: selection.from.map(Length::number),
        until: selection.until.map(Length::number),
        workers,
        block_size: reading.block_size,
        grouping: match by {
            By::Function => Grouping::Function,
            By::Module => Grouping::Module,
            By::Kind => Grouping::Kind,
            By::Thread | By::Cpu => Grouping::Stack,
        },
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
    let bytes = input::read_side_file(path).map_err(|failure| {
        failure.hint(format!("it is no preset either; these are {}", presets.join(", ")))
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(_) => Err(Failure::input(name, "is no UTF-8 text, expected a rule file")),
    }
}

/// Reads one trace through `sink`, letting only the selected threads through.
pub(crate) fn one<S: SpanSink + Send>(
    trace: &Path,
    options: &ReadOptions,
    selection: &Selection,
    sink: S,
    global: &Global,
) -> Result<Streamed<S>, Failure> {
    let file = Inputs::single(trace)?;
    let progress = progress(file.bytes, global);
    let Content::Trace(input) = file.open()? else {
        return Err(Failure::input(file.name, "is a saved profile, expected a trace")
            .hint("a profile holds sums, not calls: `profctl summarize` shows them"));
    };
    let only = selection.only(sink, &[]);
    let read = profctl_import::stream(&input, options, only, &|bytes| progress.at(bytes))
        .map_err(|error| Failure::import(&file.name, &error))?;
    let Streamed { sink, names, meta, origin } = read;
    selection.fits(&meta.timebase)?;
    say_origin(&origin, meta.events, global);
    Ok(Streamed { sink: sink.inner, names, meta, origin })
}

/// Reads one trace into memory.
pub(crate) fn load(
    trace: &Path,
    reading: &Reading,
    selection: &Selection,
    global: &Global,
) -> Result<Trace, Failure> {
    let options = options(reading, selection, By::Function)?;
    let read = one(trace, &options, selection, TraceBuilder::default(), global)?;
    if read.sink.holds_only_sums() {
        let message = "holds sums of functions and no single call, expected a trace of calls";
        return Err(Failure::input(trace.display().to_string(), message)
            .hint("`profctl summarize` shows the sums"));
    }
    Ok(read.sink.finish(read.meta, read.names))
}

/// Hands the content of each input to `take`, in order. In a directory, files that are no trace are
/// passed over and counted, as long as there is one that is.
pub(crate) fn each(
    inputs: &Inputs,
    global: &Global,
    mut take: impl FnMut(&str, Content, &Progress) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = progress(inputs.bytes(), global);
    let mut notes = Vec::new();
    for argument in &inputs.arguments {
        let mut passed_over = Vec::new();
        for file in &argument.files {
            match file.open().and_then(|content| take(&file.name, content, &progress)) {
                Err(failure) if argument.is_directory && failure.is_no_trace => {
                    passed_over.push(failure);
                }
                result => result?,
            }
            progress.next_input(file.bytes.unwrap_or(0));
        }
        let (n, all) = (passed_over.len(), argument.files.len());
        if n == all {
            return Err(Failure::input(
                argument.name.clone(),
                format!("is a directory of {all} files, and none of them is a trace"),
            )
            .hint("`profctl formats` lists what is read"));
        }
        if n > 0 {
            notes.push(format!("{}: passed over {n} of {all} files: no traces", argument.name));
        }
        if global.verbose {
            notes.extend(passed_over.iter().map(|failure| failure.to_string().trim_end().into()));
        }
    }
    drop(progress);
    for note in &notes {
        say(note, global);
    }
    Ok(())
}

fn progress(total: Option<u64>, global: &Global) -> Progress {
    Progress::start(total, style::is_watched() && !global.quiet)
}

/// What `-v` says of an input.
pub(crate) fn say_origin(origin: &Origin, events: u64, global: &Global) {
    if global.verbose {
        let Origin { name, format, reason, bytes, .. } = origin;
        say(&format!("{name}: {}: {reason}; {bytes} bytes, {events} events", format.name), global);
    }
}

/// A line of talk on standard error.
pub(crate) fn say(line: &str, global: &Global) {
    if !global.quiet {
        let line = line.strip_prefix("profctl: ").unwrap_or(line);
        // Talk that nobody can hear is no reason to stop.
        let _ = writeln!(std::io::stderr().lock(), "profctl: {line}");
    }
}

/// How to end after a report that was written: `--strict` objects to an incomplete input.
pub(crate) fn verdict(quality: &Quality, reading: &Reading, global: &Global) -> Exit {
    strict_verdict(quality, reading.strict, global)
}

/// The same for a command that reads no traces.
pub(crate) fn strict_verdict(quality: &Quality, strict: bool, global: &Global) -> Exit {
    if !strict || quality.is_complete() {
        return Exit::Done;
    }
    say("the input was incomplete", global);
    Exit::Incomplete
}

/// The same for a trace.
pub(crate) fn verdict_of(diags: &DiagLog, reading: &Reading, global: &Global) -> Exit {
    verdict(&Quality::of(diags), reading, global)
}
