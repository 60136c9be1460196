//! A rule line by line: which pattern matched, what its groups held, what event that makes.

use std::cell::OnceCell;
use std::sync::Arc;

use super::compile::GROUPS;
use super::line::{Found, Matcher};
use super::near::Near;
use super::{Midnights, Survey, rule_for, symbols};
use crate::emit::Emitter;
use crate::files::Files;
use crate::formats::{ImportError, ImportOptions, plain};
use crate::text;

/// What a rule makes of one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// Its number, from 1.
    pub number: u64,
    /// Its beginning.
    pub text: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// See [`Explained`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A pattern matched.
    Matched {
        /// Which, from 1.
        pattern: usize,
        /// The line of the rule file on which it stands, from 1.
        rule_line: u64,
        /// The groups that held something, in alphabetical order.
        groups: Vec<(&'static str, String)>,
        /// The event as the `plain` format writes it, or why there is none.
        event: Result<String, String>,
    },
    /// It says nothing.
    Ignored,
    /// No pattern matched; how far the nearest came.
    Missed(String),
}

/// Explains the first `n` lines of an input that are not empty.
pub fn explain(
    files: &dyn Files,
    options: &ImportOptions,
    n: usize,
) -> Result<Vec<Explained>, ImportError> {
    let head = crate::formats::head(files)?;
    let head = &*head.bytes;
    let rule = rule_for(head, options)?;
    let survey = Survey::of(&rule, head)?;
    let timebase = rule.times.timebase(survey.resolution);
    let mut matcher = Matcher::new(Arc::clone(&rule), symbols(options)?, survey.step);
    let mut midnights = Midnights::default();
    let near = OnceCell::new();
    let numbered = (1..).zip(text::lines(head));
    let told = numbered.filter(|(_, line)| !line.text.trim_ascii().is_empty()).take(n);
    let explained = told.map(|(number, line)| {
        let outcome = match matcher.find(line.text) {
            Found::Ignored => Outcome::Ignored,
            Found::Nothing => Outcome::Missed(near.get_or_init(|| Near::of(&rule)).miss(line.text)),
            Found::Pattern(row) => {
                let pattern = &rule.patterns[row];
                let mut said = Emitter::default();
                let event = matcher.emit(row, line.text, 0, &mut midnights, &mut said).map(|()| {
                    let written = plain::write(&said, &timebase);
                    let events: Vec<_> = written.lines().skip(1).collect();
                    events.join("; ")
                });
                let named = pattern.regex.capture_names().flatten();
                let groups = named.filter_map(|name| {
                    let known = GROUPS.iter().find(|known| **known == name)?;
                    let found = pattern.regex.captures(line.text)?;
                    let text = found.name(name)?.as_bytes();
                    Some((*known, String::from_utf8_lossy(text).into_owned()))
                });
                let mut groups: Vec<_> = groups.collect();
                groups.sort_unstable();
                Outcome::Matched { pattern: row + 1, rule_line: pattern.line, groups, event }
            }
        };
        Explained { number, text: text::excerpt(line.text), outcome }
    });
    Ok(explained.collect())
}
