//! What of the state is drawn.

use profctl_render::number;
use regex::Regex;

use super::super::page::{Item, Page};
use super::{Kind, LEAST, State};

/// For who draws it.
impl State {
    pub(in super::super) fn color(&self) -> bool {
        self.about.style.color
    }

    pub(in super::super) fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    pub(in super::super) fn page(&self) -> &Page {
        &self.shown().page
    }

    /// The rows in the window, with their places.
    pub(in super::super) fn visible(&self) -> impl Iterator<Item = (usize, &Item)> {
        let screen = self.shown();
        screen.page.items.iter().enumerate().skip(screen.top).take(self.rows())
    }

    pub(in super::super) fn cursor(&self) -> usize {
        self.shown().cursor
    }

    /// Columns that lines are moved to the left.
    pub(in super::super) fn shift_of_lines(&self) -> usize {
        self.shown().shift
    }

    pub(in super::super) fn search(&self) -> Option<&Regex> {
        self.search.as_ref().map(|search| &search.regex)
    }

    pub(in super::super) fn title(&self) -> String {
        let screen = self.shown();
        match &screen.kind {
            Kind::Functions if self.data.is_none() => self.about.name.clone(),
            Kind::Functions => {
                let filter = self.filter.as_ref();
                let filter = filter.map_or_else(String::new, |f| format!(" matching {}", f.text));
                format!("{}: {}{filter}", self.about.name, screen.page.title)
            }
            _ => screen.page.title.clone(),
        }
    }

    /// Where in the list the selection is.
    pub(in super::super) fn position(&self) -> String {
        let screen = self.shown();
        let selectable = |n: usize| (0..n).filter(|&place| screen.can_select(place)).count();
        match selectable(screen.page.items.len()) {
            0 => String::new(),
            n => format!("{}/{n}", selectable(screen.cursor) + 1),
        }
    }

    /// What is being typed, with what it is.
    pub(in super::super) fn prompt(&self) -> Option<String> {
        let prompt = self.prompt.as_ref()?;
        let what = if prompt.is_filter { "filter: " } else { "/" };
        Some(format!("{what}{}", prompt.text))
    }

    /// What is to be said: of the last key, else of reading.
    pub(in super::super) fn status(&self) -> String {
        if let Some(message) = &self.message {
            return message.clone();
        }
        let read = number::bytes(self.bytes);
        match (self.about.is_live, self.is_read, self.about.total) {
            _ if self.is_stopped => format!("paused (p resumes), {read} read"),
            (true, false, _) if self.data.is_none() => format!("waiting for input, {read} read"),
            (true, false, _) => format!("live: {read} read"),
            (true, true, _) => format!("end of input, {read} read"),
            (false, true, _) => String::new(),
            (false, false, Some(total)) if total > 0 => {
                let percent = u128::from(self.bytes.min(total)) * 100 / u128::from(total);
                format!("reading: {read} of {} ({percent}%)", number::bytes(total))
            }
            (false, false, _) => format!("reading: {read}"),
        }
    }

    /// What a reader of the numbers must know.
    pub(in super::super) fn notes(&self) -> Vec<String> {
        self.data.as_ref().map_or_else(Vec::new, |data| data.profile.notes())
    }

    /// Keys that are of use here.
    pub(in super::super) fn keys(&self) -> &'static [(&'static str, &'static str)] {
        match &self.shown().kind {
            Kind::Functions => &[
                ("Enter", "callers, callees"),
                ("→", "slowest"),
                ("/", "search"),
                ("f", "filter"),
                ("s", "sort"),
                ("?", "help"),
                ("q", "quit"),
            ],
            Kind::Neighbors(_) => &[
                ("Enter", "its callers, callees"),
                ("→", "slowest calls"),
                ("←", "back"),
                ("/", "search"),
                ("?", "help"),
            ],
            Kind::Slowest(_) => {
                &[("→", "what the call did"), ("←", "back"), ("/", "search"), ("?", "help")]
            }
            Kind::Call(..) => &[
                ("←", "back"),
                ("u", "its caller"),
                ("< >", "scroll sideways"),
                ("/", "search"),
                ("?", "help"),
            ],
            Kind::Notes | Kind::Help => &[("←", "back"), ("↑ ↓", "scroll")],
        }
    }
}
