//! The keys, apart from the terminal that sends them.

/// A key that was pressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
}

/// What `?` shows: keys and what they do.
pub(super) const HELP: &[(&str, &str)] = &[
    ("Up Down k j", "row up, down"),
    ("PgUp PgDn ^B ^F", "screen up, down"),
    ("Home End g G", "first, last row"),
    ("Enter", "callers and callees"),
    ("Right l", "slowest calls; then the trace of a call"),
    ("u", "go to the caller of a call"),
    ("Left Esc Backspace h q", "back; q quits on the first screen"),
    ("/", "search (regular expression)"),
    ("n N", "next, previous match"),
    ("f", "show only functions that match"),
    ("s S", "sort by the next, previous column"),
    ("< >", "scroll sideways"),
    ("p", "pause, resume updates"),
    ("i", "notes on quality, totals"),
    ("?", "this help"),
    ("^Z", "suspend"),
    ("^C", "quit"),
];
