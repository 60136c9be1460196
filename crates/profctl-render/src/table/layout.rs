//! How a table is made to fit a number of columns.
//!
//! Decimals are rounded off first, so that names up to [`LONG_NAME`] characters stay whole. Then
//! names are cut, but never below [`NAME`] characters; text is broken between words, the
//! indentation of a tree is halved, and columns are omitted.

use profctl_model::Table;

use crate::escape::{self, width};
use crate::table::Style;
use crate::table::grid::{Grid, Kind, Shown, indentation};

/// Characters of a name that are never cut.
const NAME: usize = 24;
/// Characters of a name that are worth more than decimals.
const LONG_NAME: usize = 40;
/// Characters of a column of text below which it is not broken.
const TEXT: usize = 24;
/// The numbers of significant digits tried, from the most.
const DIGITS: [usize; 4] = [7, 6, 5, 4];

/// A table with the width of each of its columns.
pub(super) struct Layout {
    /// The columns and the text of each cell.
    pub(super) grid: Grid,
    /// The columns of the terminal that each column occupies, the space before it included.
    pub(super) widths: Vec<usize>,
    /// What is left of the indentation of names.
    pub(super) indent: Indent,
    /// What was omitted to fit the width.
    pub(super) notes: Vec<String>,
}

/// What is left of the indentation of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Indent {
    /// By how much it is divided.
    divisor: usize,
    /// The most that is left.
    most: usize,
}

impl Indent {
    const FULL: Self = Self { divisor: 1, most: usize::MAX };
    const HALF: Self = Self { divisor: 2, most: usize::MAX };

    /// What is left of `spaces`.
    pub(super) fn of(self, spaces: usize) -> usize {
        (spaces / self.divisor).min(self.most)
    }
}

impl Layout {
    /// Lays `table` out for `style`.
    pub(super) fn new(table: &Table, style: &Style) -> Self {
        let exact = Grid::new(table, style, None);
        let Some(limit) = style.width else {
            let widths = natural(&exact);
            return Self { grid: exact, widths, indent: Indent::FULL, notes: Vec::new() };
        };
        if let Some(widths) = fitted(&exact, limit, Indent::FULL, LONG_NAME) {
            return Self { grid: exact, widths, indent: Indent::FULL, notes: Vec::new() };
        }
        let [.., least] = DIGITS;
        let coarsest = Grid::new(table, style, Some(least));
        let fits = fitted(&coarsest, limit, Indent::FULL, NAME).is_some();
        let indent = if fits { Indent::FULL } else { Indent::HALF };
        let (hidden, indent) = hidden(&coarsest, table, limit, indent);
        let exact = exact.without(&hidden);
        let finer = DIGITS.into_iter().map(|digits| Grid::new(table, style, Some(digits)));
        let grid = std::iter::once(exact.clone())
            .chain(finer.map(|grid| grid.without(&hidden)))
            .find(|grid| fitted(grid, limit, indent, LONG_NAME).is_some())
            .unwrap_or_else(|| coarsest.clone().without(&hidden));
        let widths = fitted(&grid, limit, indent, NAME).unwrap_or_else(|| narrowest(&grid, indent));
        let mut notes = Vec::new();
        if grid.rows != exact.rows {
            notes.push(format!("decimals reduced to fit {limit} columns"));
        }
        if !hidden.is_empty() {
            let names: Vec<&str> =
                hidden.iter().map(|&column| coarsest.columns[column].heading.as_str()).collect();
            notes.push(format!("omitted to fit {limit} columns: {}", names.join(", ")));
        }
        Self { grid, widths, indent, notes }
    }
}

/// The columns to omit of `grid`, and what is left of the indentation, so that the rest fits as
/// well as it can.
fn hidden(grid: &Grid, table: &Table, limit: usize, indent: Indent) -> (Vec<usize>, Indent) {
    let mut hidden = Vec::new();
    // One column stays beside the name.
    let kept = 1 + usize::from(grid.name().is_some());
    let mut order = leaving(grid, table).into_iter().take(grid.columns.len().saturating_sub(kept));
    loop {
        if fitted(&grid.clone().without(&hidden), limit, indent, NAME).is_some() {
            return (hidden, indent);
        }
        match order.next() {
            Some(column) => hidden.push(column),
            None => break,
        }
    }
    let rest = grid.clone().without(&hidden);
    let flat = narrowest(&rest, Indent { most: 0, ..indent }).iter().sum();
    (hidden, Indent { most: limit.saturating_sub(flat), ..indent })
}

/// The columns that may be omitted, in the order in which they leave.
fn leaving(grid: &Grid, table: &Table) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    for name in table.left_out_first {
        let shows = |column: &Shown| {
            column.sources.iter().any(|&source| table.columns[source].name == *name)
        };
        order.extend(grid.columns.iter().position(shows).filter(|place| !order.contains(place)));
    }
    for (place, column) in grid.columns.iter().enumerate().rev() {
        if column.kind != Kind::Name && !order.contains(&place) {
            order.push(place);
        }
    }
    order
}

/// The widths with which `grid` fits `limit` columns, names cut to no less than `kept` characters;
/// nothing if it does not.
fn fitted(grid: &Grid, limit: usize, indent: Indent, kept: usize) -> Option<Vec<usize>> {
    let mut widths = natural(grid);
    if let Some(name) = grid.name() {
        let others = widths.iter().sum::<usize>() - widths[name];
        let least = least_name(grid, indent, kept);
        let wanted = name_of(grid, |spaces, rest| indent.of(spaces) + rest) + gap(grid, name);
        widths[name] = limit.saturating_sub(others).clamp(least, wanted.max(least));
    }
    let all = widths.iter().sum::<usize>();
    if all <= limit {
        return Some(widths);
    }
    // Columns of text give way, the widest first.
    let texts: Vec<usize> =
        (0..widths.len()).filter(|&place| grid.columns[place].kind == Kind::Text).collect();
    let least = |place: usize| {
        let heading = width(&grid.columns[place].heading);
        widths[place].min(TEXT.max(heading) + gap(grid, place))
    };
    let sum_at = |most: usize| -> usize {
        texts.iter().map(|&place| widths[place].min(most.max(least(place)))).sum()
    };
    let room = (limit + sum_at(usize::MAX)).checked_sub(all)?;
    if sum_at(0) > room {
        return None;
    }
    let (mut fits, mut too_wide) = (0, limit + 1);
    while too_wide - fits > 1 {
        let middle = usize::midpoint(fits, too_wide);
        if sum_at(middle) <= room { fits = middle } else { too_wide = middle }
    }
    let narrowed: Vec<usize> =
        texts.iter().map(|&place| widths[place].min(fits.max(least(place)))).collect();
    for (place, narrowed) in texts.into_iter().zip(narrowed) {
        widths[place] = narrowed;
    }
    Some(widths)
}

/// The widths where nothing fits: every name as short as it may be.
fn narrowest(grid: &Grid, indent: Indent) -> Vec<usize> {
    let mut widths = natural(grid);
    if let Some(name) = grid.name() {
        widths[name] = least_name(grid, indent, NAME);
    }
    widths
}

/// The width of the name column with names cut to `kept` characters, the space before it included;
/// 0 without one.
fn least_name(grid: &Grid, indent: Indent, kept: usize) -> usize {
    let shortest = |spaces, rest: usize| indent.of(spaces) + rest.min(kept);
    grid.name().map_or(0, |name| name_of(grid, shortest) + gap(grid, name))
}

/// The largest of what `of` makes of the indentation of a name and of the rest of it; at least the
/// width of the heading.
fn name_of(grid: &Grid, of: impl Fn(usize, usize) -> usize) -> usize {
    let Some(name) = grid.name() else { return 0 };
    let rows = grid.rows.iter().map(|row| {
        let spaces = indentation(&row[name]);
        of(spaces, width(&row[name]) - spaces)
    });
    rows.max().unwrap_or(0).max(width(&grid.columns[name].heading))
}

/// The least space before a heading and before a cell. Numbers may come closer to one another than
/// their headings, as in the original.
fn gaps(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Number => (2, 1),
        Kind::Text => (2, 2),
        Kind::Group => (3, 2),
        Kind::Name => (3, 3),
    }
}

/// The space before the text of a left-aligned column.
pub(super) fn gap(grid: &Grid, place: usize) -> usize {
    if place == 0 { 0 } else { gaps(grid.columns[place].kind).0 }
}

/// The widths of the columns with every cell as it is, the space before each included.
fn natural(grid: &Grid) -> Vec<usize> {
    let mut widths = Vec::with_capacity(grid.columns.len());
    for (place, column) in grid.columns.iter().enumerate() {
        let (before_heading, before_cell) = match (place, column.kind) {
            (0, Kind::Text | Kind::Name) => (0, 0),
            (0, Kind::Number | Kind::Group) => (1, 1),
            (_, kind) => gaps(kind),
        };
        let heading = width(&column.heading) + before_heading;
        let cells = grid.rows.iter().map(|row| width(&row[place]) + before_cell);
        widths.push(cells.max().unwrap_or(0).max(heading));
    }
    widths
}

/// `text` broken between words into lines of at most `limit` columns. A longer word is broken too
/// if `within_words` says so, after a comma if it has one.
pub(super) fn wrapped(text: &str, limit: usize, within_words: bool) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines = vec![String::new()];
    // Columns of the last line so far: it may be as long as the text.
    let mut taken = 0;
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        let wide = width(word);
        if !last.is_empty() && taken + 1 + wide <= limit {
            last.push(' ');
            last.push_str(word);
            taken += 1 + wide;
            continue;
        }
        if !last.is_empty() {
            lines.push(String::new());
            taken = 0;
        }
        if !within_words || wide <= limit {
            lines.last_mut().expect("there is a line").push_str(word);
            taken = wide;
            continue;
        }
        for c in word.chars() {
            let last = lines.last_mut().expect("there is a line");
            let one = width(c.encode_utf8(&mut [0; 4]));
            if !last.is_empty() && taken + one > limit {
                // After a comma, if there is one.
                let rest = last.rfind(',').map_or_else(String::new, |at| last.split_off(at + 1));
                taken = width(&rest);
                lines.push(rest);
            }
            lines.last_mut().expect("there is a line").push(c);
            taken += one;
        }
    }
    lines
}

/// `name` with its indentation reduced, truncated to `width` columns.
pub(super) fn shortened(name: &str, indent: Indent, room: usize) -> String {
    let spaces = indentation(name);
    let kept = " ".repeat(indent.of(spaces)) + &name[spaces..];
    escape::shortened(&kept, room).into_owned()
}
