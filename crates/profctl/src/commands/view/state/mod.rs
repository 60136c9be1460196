//! What the view shows, and how it changes with keys, sizes and what is read. Nothing here
//! uses a terminal or a file.

mod search;
mod shown;

use profctl_analyze::neighbors::Function;
use profctl_analyze::replay::Found;
use profctl_analyze::slowest::Call;
use profctl_analyze::summarize::By;
use profctl_render::Style;

use search::{Pattern, Prompt};

use super::data::{Opened, Snapshot};
use super::keys::Key;
use super::page::{self, Item, Page, Target};
use crate::args::Selection;

/// Columns that `s` goes through, the usual ones of the table.
const SORTS: [&str; 7] = ["net", "elapsed", "calls", "net_max", "net_avg", "net_min", "name"];
/// More calls than this are not shown below one.
const BELOW_MAX: u64 = 200_000;
/// By how many columns `<` and `>` move.
const SHIFT: usize = 8;
/// The least window that is drawn in.
pub(super) const LEAST: (u16, u16) = (40, 8);

/// What the view was started with.
pub(super) struct About {
    /// What the title calls the trace.
    pub(super) name: String,
    /// What a row is.
    pub(super) by: By,
    /// The column to sort by at first.
    pub(super) sort: String,
    /// Bytes to read, if that is known.
    pub(super) total: Option<u64>,
    /// Whether it grows while it is read.
    pub(super) is_live: bool,
    /// Whether it can be read again, to show single calls.
    pub(super) can_open: bool,
    /// Units and colors.
    pub(super) style: Style,
    /// The columns of tables, if not those of the window.
    pub(super) width: Option<usize>,
    /// Which functions are rows.
    pub(super) selection: Selection,
}

/// Everything that can happen.
pub(super) enum Event {
    Key(Key),
    /// The window has so many columns and rows.
    Size(u16, u16),
    /// So many bytes were read.
    Bytes(u64),
    /// What was read so far.
    SoFar(Box<Snapshot>),
    /// All was read.
    Read(Box<Snapshot>),
    /// A call was read again.
    Opened(Call, Opened),
}

/// What the world is to do.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Effect {
    Nothing,
    Quit,
    Suspend,
    /// Read a call again.
    Open(Call),
    /// End with a usage error.
    Fail(String),
}

/// A screen; the last of the stack is shown.
struct Screen {
    kind: Kind,
    page: Page,
    cursor: usize,
    top: usize,
    shift: usize,
}

#[derive(Clone, Debug)]
enum Kind {
    Functions,
    Neighbors(Function),
    Slowest(Function),
    Call(Call, Option<Box<Found>>),
    Notes,
    Help,
}

/// What is shown.
pub(super) struct State {
    about: About,
    size: (u16, u16),
    data: Option<Box<Snapshot>>,
    /// What was read after the numbers were stopped.
    newer: Option<Box<Snapshot>>,
    is_stopped: bool,
    bytes: u64,
    is_read: bool,
    screens: Vec<Screen>,
    sorts: Vec<String>,
    sort: usize,
    search: Option<Pattern>,
    filter: Option<Pattern>,
    prompt: Option<Prompt>,
    message: Option<String>,
}

impl Screen {
    fn new(kind: Kind) -> Self {
        Self { kind, page: Page::default(), cursor: 0, top: 0, shift: 0 }
    }

    fn item(&self) -> Option<&Item> {
        self.page.items.get(self.cursor)
    }

    fn can_select(&self, place: usize) -> bool {
        self.page.items.get(place).is_some_and(|item| item.target != Target::Heading)
    }

    /// Moves the selection by so many rows that can be selected, or as far as there are some.
    fn select(&mut self, by: isize) {
        let mut place = self.cursor;
        let mut left = by.unsigned_abs();
        while left > 0 {
            let Some(next) = place.checked_add_signed(by.signum()) else { break };
            if next >= self.page.items.len() {
                break;
            }
            place = next;
            if self.can_select(place) {
                self.cursor = place;
                left -= 1;
            }
        }
    }

    /// Selects the nearest row that can be, and scrolls to it.
    fn settle(&mut self, rows: usize) {
        self.cursor = self.cursor.min(self.page.items.len().saturating_sub(1));
        if !self.can_select(self.cursor) {
            self.select(1);
        }
        // The heading of the first row is worth a line.
        let wanted = if self.cursor == 1 { 0 } else { self.cursor };
        self.top = self.top.min(wanted).max((self.cursor + 1).saturating_sub(rows));
        self.top = self.top.min(self.page.items.len().saturating_sub(rows));
    }
}

impl State {
    /// Nothing is read yet.
    pub(super) fn new(about: About, size: (u16, u16)) -> Self {
        let mut sorts = SORTS.map(str::to_owned).to_vec();
        if !sorts.contains(&about.sort) {
            sorts.insert(0, about.sort.clone());
        }
        let sort = sorts.iter().position(|sort| *sort == about.sort).unwrap_or(0);
        let mut state = Self {
            about,
            size,
            data: None,
            newer: None,
            is_stopped: false,
            bytes: 0,
            is_read: false,
            screens: vec![Screen::new(Kind::Functions)],
            sorts,
            sort,
            search: None,
            filter: None,
            prompt: None,
            message: None,
        };
        state.resize(size);
        state
    }

    /// Does what follows from an event.
    pub(super) fn update(&mut self, event: Event) -> Effect {
        match event {
            Event::Key(key) => return self.key(key),
            Event::Bytes(bytes) => {
                self.bytes = bytes;
                return Effect::Nothing;
            }
            Event::Size(columns, rows) => {
                self.resize((columns, rows));
            }
            Event::SoFar(data) if self.is_stopped => {
                self.newer = Some(data);
                return Effect::Nothing;
            }
            Event::SoFar(data) => self.data = Some(data),
            Event::Read(data) => {
                self.is_read = true;
                if self.is_stopped && self.data.is_some() {
                    self.newer = Some(data);
                    return Effect::Nothing;
                }
                self.data = Some(data);
            }
            Event::Opened(call, opened) => self.opened(&call, opened),
        }
        self.refresh()
    }

    fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.about.style.width = self.about.width.or(Some(usize::from(size.0)));
    }

    fn opened(&mut self, call: &Call, opened: Opened) {
        let is_it =
            |screen: &Screen| matches!(&screen.kind, Kind::Call(other, None) if other == call);
        // Nothing, if the user has gone back.
        let Some(place) = self.screens.iter().position(is_it) else { return };
        match opened {
            Ok(Some(found)) => self.screens[place].kind = Kind::Call(*call, Some(found)),
            Ok(None) => {
                self.screens.truncate(place);
                self.message = Some("the input has changed since it was read".into());
            }
            Err(failure) => {
                self.screens.truncate(place);
                let text = failure.to_string();
                let line = text.lines().next().unwrap_or_default();
                self.message = Some(line.trim_start_matches("profctl: ").to_owned());
            }
        }
    }

    fn screen(&mut self) -> &mut Screen {
        self.screens.last_mut().expect("the first screen stays")
    }

    fn shown(&self) -> &Screen {
        self.screens.last().expect("the first screen stays")
    }

    /// Lays the shown screen out again.
    fn refresh(&mut self) -> Effect {
        let Some(data) = &self.data else { return Effect::Nothing };
        let style = &self.about.style;
        let screen = self.screens.last().expect("the first screen stays");
        let page = match &screen.kind {
            Kind::Functions => {
                let selection = &self.about.selection;
                let selects = data.profile.by == By::Function;
                let filter = self.filter.as_ref();
                let takes = |name: &str, module: Option<&str>| {
                    (!selects || selection.takes_function(name, module))
                        && filter.is_none_or(|filter| filter.regex.is_match(name))
                };
                let shown = page::Shown { sort: &self.sorts[self.sort], takes: &takes };
                match page::functions(data, &shown, style) {
                    Ok(page) => Some(page),
                    Err(message) => return Effect::Fail(message),
                }
            }
            Kind::Neighbors(function) => page::neighbors(data, function, style),
            Kind::Slowest(function) => page::slowest(data, function, style),
            Kind::Call(call, found) => Some(page::call(data, call, found.as_deref(), style)),
            Kind::Notes => {
                let below = self.screens.len().checked_sub(2).map(|below| &self.screens[below]);
                let of_layout = below.map_or(&[][..], |screen| &screen.page.notes);
                Some(page::notes(data, of_layout, style))
            }
            Kind::Help => Some(page::help()),
        };
        let rows = self.rows_of(page.as_ref());
        let screen = self.screen();
        // The selection stays on what it is about, unless it is at the top.
        let target = screen.item().map(|item| item.target.clone());
        let was_first =
            screen.top == 0 && !(0..screen.cursor).any(|place| screen.can_select(place));
        screen.page = page.unwrap_or_default();
        if let Some(target) = target.filter(|target| *target != Target::Text && !was_first)
            && let Some(place) = screen.page.items.iter().position(|item| item.target == target)
        {
            screen.cursor = place;
        }
        screen.settle(rows);
        Effect::Nothing
    }

    fn key(&mut self, key: Key) -> Effect {
        self.message = None;
        if key == Key::Ctrl('c') {
            return Effect::Quit;
        }
        if key == Key::Ctrl('z') {
            return Effect::Suspend;
        }
        if self.prompt.is_some() {
            return self.prompt_key(key);
        }
        let rows = self.rows() as isize;
        match key {
            Key::Up | Key::Char('k') => self.select(-1),
            Key::Down | Key::Char('j') => self.select(1),
            Key::PageUp | Key::Ctrl('b' | 'u') => self.select(-rows),
            Key::PageDown | Key::Ctrl('f' | 'd') | Key::Char(' ') => self.select(rows),
            Key::Home | Key::Char('g') => self.select(isize::MIN + 1),
            Key::End | Key::Char('G') => self.select(isize::MAX),
            Key::Enter => return self.enter(),
            Key::Right | Key::Char('l') => return self.descend(),
            Key::Char('q') if self.screens.len() == 1 => return Effect::Quit,
            Key::Left | Key::Backspace | Key::Char('h' | 'q') => return self.back(),
            Key::Escape => return self.escape(),
            Key::Char('/') => self.ask(false),
            Key::Char('f') if matches!(self.shown().kind, Kind::Functions) => self.ask(true),
            Key::Char('n') => self.next_match(true),
            Key::Char('N') => self.next_match(false),
            Key::Char('s') if matches!(self.shown().kind, Kind::Functions) => return self.sort(1),
            Key::Char('S') if matches!(self.shown().kind, Kind::Functions) => {
                return self.sort(self.sorts.len() - 1);
            }
            Key::Char('f' | 's' | 'S') => {
                self.message = Some("only on the first screen".into());
            }
            Key::Char('<') => {
                let screen = self.screen();
                screen.shift = screen.shift.saturating_sub(SHIFT);
            }
            Key::Char('>') => self.shift(),
            Key::Char('p') => return self.stop(),
            Key::Char('i') if self.data.is_some() => return self.push(Kind::Notes),
            Key::Char('?') => return self.push(Kind::Help),
            Key::Char('u') => return self.up(),
            Key::Char(_) | Key::Ctrl(_) => {
                self.message = Some("unknown key: press ? for help".into());
            }
        }
        Effect::Nothing
    }

    fn select(&mut self, by: isize) {
        let rows = self.rows();
        let screen = self.screen();
        screen.select(by);
        if by < 0 && screen.cursor < rows && !(0..screen.cursor).any(|at| screen.can_select(at)) {
            screen.top = 0;
        }
        screen.settle(rows);
    }

    /// Selects a row that may be far away, which is then in the middle.
    fn jump(&mut self, place: usize) {
        let rows = self.rows();
        let screen = self.screen();
        screen.cursor = place;
        if !(screen.top..screen.top + rows).contains(&place) {
            screen.top = place.saturating_sub(rows / 2);
        }
        screen.settle(rows);
    }

    fn push(&mut self, kind: Kind) -> Effect {
        let is_same = std::mem::discriminant(&self.shown().kind) == std::mem::discriminant(&kind);
        if is_same && matches!(kind, Kind::Help | Kind::Notes) {
            return Effect::Nothing;
        }
        let starts_at = match &kind {
            Kind::Neighbors(function) => Some(Target::Function(function.clone())),
            _ => None,
        };
        self.screens.push(Screen::new(kind));
        let effect = self.refresh();
        if let Some(target) = starts_at {
            // The function itself is after its callers.
            let rows = self.rows();
            let screen = self.screen();
            let heading = screen
                .page
                .items
                .iter()
                .position(|item| item.target == Target::Heading && item.text == "function");
            let own = heading.map(|heading| heading + 1);
            if let Some(own) = own.filter(|own| screen.page.items[*own].target == target) {
                screen.cursor = own;
            }
            screen.settle(rows);
        }
        effect
    }

    fn back(&mut self) -> Effect {
        if self.screens.len() == 1 {
            return Effect::Nothing;
        }
        self.screens.pop();
        self.refresh()
    }

    fn escape(&mut self) -> Effect {
        if self.screens.len() > 1 {
            return self.back();
        }
        if self.search.take().is_none() && self.filter.take().is_none() {
            self.message = Some("press q to quit".into());
        }
        self.refresh()
    }

    /// The callers and callees of the selected function, or what the selected call did.
    fn enter(&mut self) -> Effect {
        let Some(target) = self.shown().item().map(|item| item.target.clone()) else {
            return Effect::Nothing;
        };
        match target {
            Target::Function(function) => {
                if matches!(&self.shown().kind, Kind::Neighbors(shown) if *shown == function) {
                    self.message = Some("its callers and callees are shown".into());
                    return Effect::Nothing;
                }
                if self.has_calls() {
                    self.push(Kind::Neighbors(function))
                } else {
                    Effect::Nothing
                }
            }
            Target::Call(call) => self.open(call),
            Target::Row(name) => self.is_no_function(&name),
            Target::Text | Target::Heading => Effect::Nothing,
        }
    }

    /// The slowest calls of the selected function, or what the selected call did.
    fn descend(&mut self) -> Effect {
        let Some(target) = self.shown().item().map(|item| item.target.clone()) else {
            return Effect::Nothing;
        };
        match target {
            Target::Function(function) => {
                if !self.has_calls() {
                    return Effect::Nothing;
                }
                let calls = self.data.as_ref().and_then(|data| data.slowest(&function));
                if calls.is_none_or(|calls| calls.is_empty()) {
                    self.message = Some(format!("no complete call of {}", function.name));
                    return Effect::Nothing;
                }
                self.push(Kind::Slowest(function))
            }
            Target::Call(call) => self.open(call),
            Target::Row(name) => self.is_no_function(&name),
            Target::Text | Target::Heading => Effect::Nothing,
        }
    }

    fn has_calls(&mut self) -> bool {
        let has = self.data.as_ref().is_some_and(|data| data.calls.is_some());
        if !has {
            let why = "a saved profile has no callers or single calls";
            self.message = Some(why.into());
        }
        has
    }

    fn is_no_function(&mut self, name: &str) -> Effect {
        let flag = match self.about.by {
            By::Thread => Some("--thread"),
            By::Cpu => Some("--cpu"),
            By::Module => Some("--module"),
            By::Kind | By::Function => None,
        };
        let name = name.strip_prefix("cpu ").unwrap_or(name);
        self.message = Some(match flag {
            Some(flag) => format!("for its functions: profctl view {flag} {name}"),
            None => "only functions have callers and calls".to_owned(),
        });
        Effect::Nothing
    }

    fn open(&mut self, call: Call) -> Effect {
        if !self.about.can_open {
            let why = "single calls are not available: a live input cannot be read again";
            self.message = Some(why.into());
            return Effect::Nothing;
        }
        if call.descendants > BELOW_MAX {
            let n = call.descendants;
            self.message = Some(format!("{n} calls below, too many to show: use `profctl replay`"));
            return Effect::Nothing;
        }
        self.push(Kind::Call(call, None));
        Effect::Open(call)
    }

    /// The call that made the shown one.
    fn up(&mut self) -> Effect {
        let Kind::Call(_, found) = &self.shown().kind else {
            self.message = Some("only where a call is shown".into());
            return Effect::Nothing;
        };
        match found.as_ref().map(|found| found.callers.first().copied()) {
            Some(Some(caller)) => self.open(caller),
            Some(None) => {
                self.message = Some("no caller recorded".into());
                Effect::Nothing
            }
            None => Effect::Nothing,
        }
    }

    fn sort(&mut self, by: usize) -> Effect {
        self.sort = (self.sort + by) % self.sorts.len();
        let screen = self.screen();
        (screen.cursor, screen.top) = (0, 0);
        self.refresh()
    }

    fn shift(&mut self) {
        let columns = usize::from(self.size.0);
        let screen = self.screen();
        let items = screen.page.items.iter().map(|item| item.text.chars().count());
        let widest = items.max().unwrap_or(0);
        if widest > screen.shift + columns {
            screen.shift += SHIFT;
        }
    }

    fn stop(&mut self) -> Effect {
        if self.is_read && self.newer.is_none() {
            self.is_stopped = false;
            self.message = Some("already at the end of input".into());
            return Effect::Nothing;
        }
        self.is_stopped = !self.is_stopped;
        if let Some(newer) = self.newer.take() {
            self.data = Some(newer);
        }
        self.refresh()
    }

    /// Lines of the window that rows take.
    fn rows(&self) -> usize {
        self.rows_of(Some(&self.shown().page))
    }

    fn rows_of(&self, page: Option<&Page>) -> usize {
        let header = page.map_or(0, |page| page.header.len());
        // Title, caption, rule, status and keys.
        let others = 4 + header + usize::from(header > 0);
        usize::from(self.size.1).saturating_sub(others).max(1)
    }
}
