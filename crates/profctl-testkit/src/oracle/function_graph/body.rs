//! What stands to the right of the columns.

use super::Function;

/// One record, without where it stood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// `name() {`.
    Enter(Function),
    /// `name();`.
    Leaf {
        /// What was called.
        name: Function,
        /// How long it took, if stated.
        wall: Option<u64>,
    },
    /// `}`, maybe with the name in a comment.
    Exit {
        /// What was left, if stated.
        name: Option<Function>,
        /// How long it took, if stated.
        wall: Option<u64>,
    },
    /// A sched_switch event: who left the CPU and who got it.
    Switch {
        /// The pid that left.
        from: u64,
        /// The pid that came.
        to: u64,
    },
    /// A banner: the same, without a time.
    Banner {
        /// The pid that left.
        from: u64,
        /// The pid that came.
        to: u64,
    },
    /// The recorder lost events on the CPU of the record, as many if it says.
    Lost(Option<u64>),
    /// An interrupt begins, or has ended.
    Arrow(bool),
    /// Anything else that is not a call: an event, an overrun count.
    Other,
}

/// Reads `body`, the text after the last column, with the duration that stood in its column.
/// Returns the number of callers that the indentation shows.
pub(super) fn read(body: &str, wall: Option<u64>) -> Option<(usize, What)> {
    let text = body.trim_start_matches(' ');
    let depth = (body.len() - text.len()) / 2;
    let text = text.trim_end();
    if text.starts_with("/*") {
        return Some((depth, event(text)));
    }
    if let Some(rest) = text.strip_prefix('}') {
        let comment =
            rest.trim().strip_prefix("/*").map(|rest| rest.strip_suffix("*/").map(str::trim));
        let name = match comment {
            // Cut off in the middle of the name.
            Some(None) => return None,
            None => None,
            Some(comment) => comment,
        };
        let name = match name {
            Some(comment) if !comment.starts_with(['=', '<']) && !comment.starts_with("ret=") => {
                Some(function(comment)?)
            }
            Some(_) => None,
            None if rest.trim().is_empty() => None,
            None => return None,
        };
        return Some((depth, What::Exit { name, wall }));
    }
    let open = text.find('(')?;
    let name = function(&text[..open])?;
    // A return value or the caller's address may follow the call in a comment.
    let call = match (text.ends_with("*/"), text.rfind(" /*")) {
        (true, Some(comment)) => text[..comment].trim_end(),
        _ => text,
    };
    if call.ends_with('{') {
        Some((depth, What::Enter(name)))
    } else if call.ends_with(';') {
        Some((depth, What::Leaf { name, wall }))
    } else {
        None
    }
}

/// `name` or `name [module]`, whatever follows.
fn function(text: &str) -> Option<Function> {
    let name = text.split([' ', '(']).next().filter(|name| !name.is_empty())?;
    let rest = text[name.len()..].trim_start();
    let module =
        rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(m, _)| m.to_owned());
    Some((name.to_owned(), module))
}

/// An event comment; only switches matter.
fn event(text: &str) -> What {
    switch(text).unwrap_or(What::Other)
}

/// Names in a switch record are free text: its numbers are looked for from the side on which no
/// free text can follow them.
fn switch(text: &str) -> Option<What> {
    let fields = text.strip_prefix("/* sched_switch: prev_comm=")?;
    let (_, to) = fields.rsplit_once(" next_pid=")?;
    let arrow = fields.match_indices(" ==> next_comm=").find_map(|(at, _)| {
        let left = &fields[..at];
        let (_, left) = left.rsplit_once(" prev_pid=")?;
        let mut words = left.split(' ');
        let from = words.next()?.parse().ok()?;
        let prio = words.next()?.strip_prefix("prev_prio=")?;
        let state = words.next()?.strip_prefix("prev_state=")?;
        let plain = words.next().is_none() && !prio.is_empty() && !state.is_empty();
        plain.then_some(from)
    })?;
    let to = to.split(' ').next()?.parse().ok()?;
    Some(What::Switch { from: arrow, to })
}

/// A duration column: an overhead mark, a decimal number of microseconds, its unit.
pub(super) fn duration(column: &str) -> Option<u64> {
    let number = column.trim().trim_start_matches(['+', '!', '#', '*', '@', '$']).trim_start();
    let number = number.strip_suffix("us")?.trim_end();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 3 {
        return None;
    }
    // "4.5" is 4500: the fraction is a number of nanoseconds once it has three digits.
    format!("{whole}{fraction:0<3}").parse().ok()
}
