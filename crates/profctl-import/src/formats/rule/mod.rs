//! Any text log by a rule: regular expressions with named groups that say which part of a line is
//! the time, the thread, the function, and what it means.
//!
//! A rule states its units; nothing is guessed. Presets are rules that are shipped
//! ([`PRESETS`]); a few of them have a text so distinct that it is recognized.

use std::sync::Arc;

use profctl_model::Ticks;
use profctl_model::diag::codes::SKIPPED_RECORD;

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State,
};
use crate::emit::Emitter;
use crate::files::Files;
pub use crate::options::RuleText;
use crate::symbols::Symbols;
use crate::text;

mod compile;
mod explain;
mod file;
mod line;
mod near;
mod presets;
mod records;
#[cfg(test)]
mod tests;
mod times;

use compile::{Group, Indent, Rule};
pub use explain::{Explained, Outcome, explain};
use line::{Found, Matcher};
use near::Near;
pub use presets::{PRESETS, Preset, preset};
use times::{Format, Midnights};

/// The importer of `rule`.
pub struct ByRule;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "rule",
    about: "any text log with a rule file: named groups of regular expressions",
    recognized: "by --rule FILE or --rule PRESET; some presets by their text",
    ..Descriptor::PLAIN
};

/// Whether `text` is a rule; the error has the line.
pub fn check(text: &str) -> Result<(), ImportError> {
    match records::layout(text)? {
        Some(_) => Ok(()),
        None => Rule::compile("", text).map(|_| ()),
    }
}

impl Importer for ByRule {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        match presets::recognize(head) {
            Some(rule) => Recognition::Maybe(format!("the lines match rule `{}`", rule.name)),
            None => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let symbols = symbols(options)?;
        if let Some(RuleText { name, text }) = &options.rule
            && presets::compiled(name, text).is_none()
            && let Some(layout) = records::layout(text).map_err(|error| in_rule(name, &error))?
        {
            return records::open(layout, files, symbols, name);
        }
        let head = super::head(files)?;
        let head = &*head.bytes;
        let rule = rule_for(head, options)?;
        let survey = Survey::of(&rule, head)?;
        let matcher = Matcher::new(Arc::clone(&rule), symbols, survey.step);
        let mut facts = vec![("rule", rule.name.clone())];
        if !rule.about.is_empty() {
            facts.push(("about", rule.about.clone()));
        }
        if survey.has_addresses {
            let from = match matcher.symbols {
                Some(_) => "named by --symbols",
                None => "not named: no --symbols given",
            };
            facts.push(("addresses", from.into()));
        }
        Ok(Opened::lines(rule.times.timebase(survey.resolution), Box::new(Lines { matcher }))
            .with_facts(facts)
            .with_state(Arc::new(Midnights::default()))
            .with_counter(rule.times.bits))
    }
}

/// The rule that the user gave, or the preset that the text is of.
fn rule_for(head: &[u8], options: &ImportOptions) -> Result<Arc<Rule>, ImportError> {
    if let Some(RuleText { name, text }) = &options.rule {
        if let Some(rule) = presets::compiled(name, text) {
            return Ok(rule);
        }
        return Rule::compile(name, text).map(Arc::new).map_err(|error| in_rule(name, &error));
    }
    presets::recognize(head).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        let names = names.join(", ");
        ImportError::whole(format!(
            "no rule was given and no preset matches; use `--rule FILE` or a preset: {names}"
        ))
    })
}

/// An error in a rule, with the line of the rule.
fn in_rule(name: &str, error: &ImportError) -> ImportError {
    let line = error.line.map(|line| format!(" line {line}")).unwrap_or_default();
    ImportError::whole(format!("rule `{name}`{line}: {}", error.message))
}

fn symbols(options: &ImportOptions) -> Result<Option<Arc<Symbols>>, ImportError> {
    let read = |file| Symbols::read(file, options.no_demangle);
    let parsed = options.symbols.as_deref().map(read).transpose();
    let parsed = parsed.map_err(|error| ImportError::whole(format!("the symbols: {error}")))?;
    Ok(parsed.map(Arc::new))
}

/// Lines among which the one is sought that a rule comes nearest to, if it reads none.
const MISSED_SHOWN: usize = 20;

/// What the head of an input settles.
struct Survey {
    /// Columns of indentation a level.
    step: usize,
    resolution: Ticks,
    has_addresses: bool,
}

impl Survey {
    /// Looks at every whole line of the head; there must be one that the rule reads.
    fn of(rule: &Arc<Rule>, head: &[u8]) -> Result<Self, ImportError> {
        let mut matcher = Matcher::new(Arc::clone(rule), None, 1);
        let (mut step, mut resolution, mut reads) = (0, u64::MAX, false);
        let mut has_addresses = false;
        let mut missed = Vec::new();
        for (number, line) in (1..).zip(text::lines(head)) {
            let row = match matcher.find(line.text) {
                Found::Pattern(row) => row,
                Found::Ignored => continue,
                Found::Nothing => {
                    if missed.len() < MISSED_SHOWN {
                        missed.push((number, line.text));
                    }
                    continue;
                }
            };
            if let Some(refused) = &rule.patterns[row].refuse {
                if reads {
                    continue;
                }
                let message = format!("found `{}`: {refused}", text::excerpt(line.text));
                return Err(ImportError { line: Some(number), ..ImportError::whole(message) });
            }
            reads = true;
            has_addresses |= matcher.group(row, Group::Name, line.text).is_none()
                && matcher.group(row, Group::Addr, line.text).is_some();
            step = common_divisor(matcher.columns(row, line.text), step);
            resolution = resolution.min(matcher.resolution(row, line.text).unwrap_or(u64::MAX));
        }
        if !reads
            && !missed.is_empty()
            && let Some((number, miss)) = Near::of(rule).nearest(&missed)
        {
            let message = format!("no line matches the rule: {miss}");
            return Err(ImportError { line: Some(number), ..ImportError::whole(message) });
        }
        let step = match rule.indent {
            Some(Indent::Columns(columns)) => columns,
            Some(Indent::Auto) | None => step.max(1),
        };
        let resolution = Ticks(if resolution == u64::MAX { 1 } else { resolution });
        Ok(Self { step, resolution, has_addresses })
    }
}

fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

struct Lines {
    matcher: Matcher,
}

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { matcher: self.matcher.fork() })
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let before = state.downcast_ref::<Midnights>().copied().unwrap_or_default();
        let mut midnights = before;
        for line in text::lines(block) {
            out.lines += 1;
            let row = match self.matcher.find(line.text) {
                Found::Ignored => continue,
                Found::Pattern(row) => Some(row),
                Found::Nothing => None,
            };
            out.records += 1;
            let said = match row {
                Some(row) => self.matcher.emit(row, line.text, line.offset, &mut midnights, out),
                None => {
                    out.refuse(&line, "a line that matches a pattern of the rule");
                    continue;
                }
            };
            if let Err(message) = said {
                out.diag(&SKIPPED_RECORD, line.offset, || message);
            }
        }
        let keeps = self.matcher.rule.times.format != Format::Clock || midnights == before;
        if keeps { None } else { Some(Arc::new(midnights)) }
    }
}
