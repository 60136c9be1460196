//! Searching and filtering: regular expressions, while they are typed and after.

use regex::{Regex, RegexBuilder};

use super::super::keys::Key;
use super::super::page::{Item, Target};
use super::{Effect, State};

/// A regular expression that is being typed.
pub(super) struct Prompt {
    pub(super) is_filter: bool,
    pub(super) text: String,
    /// What holds again if it is not wanted.
    pub(super) cursor: usize,
    pub(super) before: Option<Pattern>,
}

#[derive(Clone)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) regex: Regex,
}

impl Pattern {
    /// Without upper case letters, case does not matter.
    fn new(text: &str) -> Option<Self> {
        let regex = RegexBuilder::new(text)
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .build()
            .ok()?;
        Some(Self { text: text.to_owned(), regex })
    }
}

impl State {
    pub(super) fn ask(&mut self, is_filter: bool) {
        let before = if is_filter { self.filter.clone() } else { self.search.clone() };
        let text = before.as_ref().filter(|_| is_filter).map(|before| before.text.clone());
        let cursor = self.shown().cursor;
        self.prompt = Some(Prompt { is_filter, text: text.unwrap_or_default(), cursor, before });
    }

    pub(super) fn prompt_key(&mut self, key: Key) -> Effect {
        let Some(prompt) = &mut self.prompt else { return Effect::Nothing };
        match key {
            Key::Char(c) => prompt.text.push(c),
            Key::Backspace if prompt.text.pop().is_some() => {}
            Key::Ctrl('u') => prompt.text.clear(),
            Key::Enter => {
                let Some(prompt) = self.prompt.take() else { return Effect::Nothing };
                if !prompt.text.is_empty() && Pattern::new(&prompt.text).is_none() {
                    let message = format!("not a regular expression: {}", prompt.text);
                    let effect = self.cancel(prompt);
                    self.message = Some(message);
                    return effect;
                }
                if !prompt.is_filter {
                    self.say_match();
                }
                return Effect::Nothing;
            }
            Key::Escape | Key::Backspace => {
                let Some(prompt) = self.prompt.take() else { return Effect::Nothing };
                return self.cancel(prompt);
            }
            _ => return Effect::Nothing,
        }
        // What is being typed may not be a regular expression yet.
        let (is_filter, cursor) = (prompt.is_filter, prompt.cursor);
        let pattern = Pattern::new(&prompt.text);
        let is_empty = prompt.text.is_empty();
        if pattern.is_none() && !is_empty {
            return Effect::Nothing;
        }
        let pattern = pattern.filter(|_| !is_empty);
        if is_filter {
            self.filter = pattern;
            let screen = self.screen();
            (screen.cursor, screen.top) = (0, 0);
            return self.refresh();
        }
        self.search = pattern;
        let matches = self.matches();
        let next = matches.iter().find(|&&place| place >= cursor).or(matches.first());
        self.jump(next.copied().unwrap_or(cursor));
        Effect::Nothing
    }

    /// What held before the prompt holds again.
    fn cancel(&mut self, prompt: Prompt) -> Effect {
        if prompt.is_filter {
            self.filter = prompt.before;
            return self.refresh();
        }
        self.search = prompt.before;
        self.jump(prompt.cursor);
        Effect::Nothing
    }

    /// The rows that the search finds.
    fn matches(&self) -> Vec<usize> {
        let Some(search) = &self.search else { return Vec::new() };
        let items = self.shown().page.items.iter().enumerate();
        let is_match = |(_, item): &(usize, &Item)| match &item.target {
            Target::Heading => false,
            Target::Function(function) => search.regex.is_match(&function.name),
            Target::Row(name) => search.regex.is_match(name),
            Target::Text | Target::Call(_) => search.regex.is_match(&item.text),
        };
        items.filter(is_match).map(|(place, _)| place).collect()
    }

    pub(super) fn next_match(&mut self, forward: bool) {
        if self.search.is_none() {
            self.message = Some("no search yet: press /".into());
            return;
        }
        let matches = self.matches();
        let cursor = self.shown().cursor;
        let next = if forward {
            matches.iter().find(|&&place| place > cursor).or(matches.first())
        } else {
            matches.iter().rfind(|&&place| place < cursor).or(matches.last())
        };
        if let Some(&next) = next {
            self.jump(next);
        }
        self.say_match();
    }

    fn say_match(&mut self) {
        let Some(search) = &self.search else { return };
        let matches = self.matches();
        let place = matches.iter().position(|&place| place == self.shown().cursor);
        self.message = Some(match place {
            Some(place) => format!("match {} of {}: {}", place + 1, matches.len(), search.text),
            None => format!("no match: {}", search.text),
        });
    }
}
