//! Draws the state into a buffer: the title, a table, a status line, the keys.

use profctl_render::escape::visible;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::{Color, Modifier, Style};

use super::page::Target;
use super::state::{LEAST, State};

/// Without color, what stands out is bold, underlined or reversed.
struct Palette {
    title: Style,
    heading: Style,
    sorted: Style,
    selected: Style,
    found: Style,
    note: Style,
    key: Style,
}

impl Palette {
    fn of(state: &State) -> Self {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        let with = |style: Style, color: Color| if state.color() { style.fg(color) } else { style };
        Self {
            title: bold,
            heading: bold,
            sorted: with(bold.add_modifier(Modifier::UNDERLINED), Color::Cyan),
            selected: reversed,
            found: with(bold.add_modifier(Modifier::UNDERLINED), Color::Yellow),
            note: with(Style::new(), Color::Yellow),
            key: bold,
        }
    }
}

/// Draws into all of `buffer`. Says where the cursor of the terminal is, if text is being typed.
pub(super) fn draw(state: &State, buffer: &mut Buffer) -> Option<Position> {
    let palette = Palette::of(state);
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    if state.is_too_small() {
        let text = format!("at least {} x {}", LEAST.0, LEAST.1);
        put(buffer, 0, 0, "window too small:", Style::new());
        put(buffer, 0, 1, &text, Style::new());
        return None;
    }
    let page = state.page();
    let position = state.position();
    let room = columns.saturating_sub(position.len() as u16 + 2);
    line(buffer, 0, 0, room, &visible(&state.title()), palette.title);
    put(buffer, columns.saturating_sub(position.len() as u16), 0, &position, Style::new());
    line(buffer, 0, 1, columns, &page.caption, Style::new());
    let mut y = 2;
    for text in &page.header {
        let text = moved(text, state.shift_of_lines());
        line(buffer, 0, y, columns, &text, palette.heading);
        if let Some(sorted) = &page.sorted_by
            && let Some(at) = text.find(sorted.as_str())
        {
            let before = width(&text[..at]);
            put(buffer, before, y, sorted, palette.sorted);
        }
        y += 1;
    }
    if !page.header.is_empty() {
        put(buffer, 0, y, &"-".repeat(usize::from(columns)), Style::new());
        y += 1;
    }
    for (place, item) in state.visible() {
        if y + 2 > rows {
            break;
        }
        let text = moved(&item.text, state.shift_of_lines());
        let style = if item.target == Target::Heading { palette.heading } else { Style::new() };
        line(buffer, 0, y, columns, &text, style);
        for found in state.search().into_iter().flat_map(|search| search.find_iter(&text)) {
            let at = width(&text[..found.start()]);
            put(buffer, at, y, found.as_str(), palette.found);
        }
        if place == state.cursor() && item.target != Target::Heading {
            for x in 0..columns {
                buffer[(x, y)].set_style(palette.selected);
            }
        }
        y += 1;
    }
    status(state, buffer, rows - 2, &palette);
    if let Some(prompt) = state.prompt() {
        let end = put(buffer, 0, rows - 1, &visible(&prompt), Style::new());
        return Some(Position::new(end.min(columns - 1), rows - 1));
    }
    keys(state, buffer, rows - 1, &palette);
    None
}

/// What is to be said, then the first note, or how many there are.
fn status(state: &State, buffer: &mut Buffer, y: u16, palette: &Palette) {
    let columns = buffer.area.width;
    let said = state.status();
    let notes = state.notes();
    let mut x = 0;
    if !said.is_empty() {
        x = line(buffer, 0, y, columns, &visible(&said), Style::new()) + 2;
        // What was said last matters more.
        if x + 14 > columns {
            return;
        }
    }
    let text = match &notes[..] {
        [] => return,
        [note] => format!("note: {note}"),
        [first, rest @ ..] => format!("note: {first} (i: {} more)", rest.len()),
    };
    let room = columns.saturating_sub(x);
    let text = if width(&text) <= room {
        text
    } else {
        match (&notes[..], room > 30) {
            ([first], true) => format!("note (i): {first}"),
            ([first, ..], true) => format!("{} notes (i): {first}", notes.len()),
            _ => format!("notes: {} (i)", notes.len()),
        }
    };
    line(buffer, x, y, columns, &visible(&text), palette.note);
}

/// The keys, as many as fit; those to the right matter less, but for the last two.
fn keys(state: &State, buffer: &mut Buffer, y: u16, palette: &Palette) {
    let columns = buffer.area.width;
    let keys = state.keys();
    let wide = |(key, what): &(&str, &str)| width(key) + 1 + width(what) + 2;
    let mut dropped = 0;
    let (first, last) = keys.split_at(keys.len().saturating_sub(2));
    let kept = |dropped: usize| first[..first.len() - dropped].iter().chain(last);
    let sum = |dropped| kept(dropped).map(wide).sum::<u16>().saturating_sub(2);
    while sum(dropped) > columns && dropped < first.len() {
        dropped += 1;
    }
    let mut x = 0;
    for (key, what) in kept(dropped) {
        x = put(buffer, x, y, key, palette.key) + 1;
        x = put(buffer, x, y, what, Style::new()) + 2;
    }
}

/// `text` without what was moved out of the window.
fn moved(text: &str, shift: usize) -> String {
    text.chars().skip(shift).collect()
}

fn width(text: &str) -> u16 {
    ratatui::text::Span::raw(text).width() as u16
}

/// Puts `text` at a place, as far as the buffer goes. Says where it ends.
fn put(buffer: &mut Buffer, x: u16, y: u16, text: &str, style: Style) -> u16 {
    if x >= buffer.area.width || y >= buffer.area.height {
        return x;
    }
    buffer.set_stringn(x, y, text, usize::from(buffer.area.width - x), style).0
}

/// The same up to column `end`, with a mark if something is cut.
fn line(buffer: &mut Buffer, x: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
    let end = end.min(buffer.area.width);
    if x >= end || y >= buffer.area.height {
        return x;
    }
    let room = end - x;
    let is_cut = width(text) > room;
    let at = buffer.set_stringn(x, y, text, usize::from(room), style).0;
    if is_cut {
        buffer.set_stringn(end - 1, y, "…", 1, style);
    }
    at
}
