//! The order of what happened to one thread at one instant.

use super::{Held, Open, UNTIL_EXIT};
use crate::emit::{EventKind, NO_DEPTH, NameRef};

/// Groups larger than this stay as they were written: the work grows with the square.
const ARRANGED: usize = 64;

/// Puts `group`, the events of one time in the order in which they were written, into one that
/// nests, if there is one. `open` are the calls that were open before, `next` is what follows.
pub(super) fn arrange(group: &mut Vec<Held>, open: &[Open], next: Option<&Held>) {
    if group.iter().any(|held| held.event.depth != NO_DEPTH) {
        // Inputs with depths have callers before their callees.
        return;
    }
    if group.iter().all(|held| held.event.kind == EventKind::Complete) {
        group.sort_by_key(|held| std::cmp::Reverse(held.event.duration));
        return;
    }
    if group.len() > ARRANGED {
        return;
    }
    let skipped = open.len().saturating_sub(ARRANGED);
    let waiting = open[skipped..].iter().filter(|open| open.end == UNTIL_EXIT);
    let waiting = waiting.map(|open| open.name);
    if !nests(group, waiting.clone().rev()) {
        *group = nested(std::mem::take(group), waiting.collect());
    }
    arrange_entries(group, next);
}

/// Whether an event ends a call.
fn is_exit(held: &Held) -> bool {
    held.event.kind == EventKind::Exit
}

fn ends(held: &Held, name: NameRef) -> bool {
    is_exit(held) && (held.event.name == name || held.event.name == NameRef::ANONYMOUS)
}

/// Whether every exit ends the call that is innermost when it comes. `waiting` are the calls that
/// are open, the innermost first.
fn nests(group: &[Held], mut waiting: impl Iterator<Item = NameRef>) -> bool {
    // The calls that begin and end within the group; most groups have none.
    let mut entered = Vec::new();
    group.iter().all(|held| match held.event.kind {
        EventKind::Enter => {
            entered.push(held.event.name);
            true
        }
        EventKind::Exit => {
            entered.pop().or_else(|| waiting.next()).is_some_and(|top| ends(held, top))
        }
        _ => true,
    })
}

/// Exits of the innermost call first, then entries, then what ends nothing that is innermost.
fn nested(mut rest: Vec<Held>, mut stack: Vec<NameRef>) -> Vec<Held> {
    let mut arranged = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let exit = stack.last().and_then(|&top| rest.iter().position(|held| ends(held, top)));
        let entry = || rest.iter().position(|held| !is_exit(held));
        let next = exit.or_else(|| if ends_deeper(&rest, &stack) { Some(0) } else { entry() });
        let held = rest.remove(next.unwrap_or(0));
        match held.event.kind {
            EventKind::Enter => stack.push(held.event.name),
            EventKind::Exit => {
                if let Some(level) = stack.iter().rposition(|&name| ends(&held, name)) {
                    stack.truncate(level);
                }
            }
            _ => {}
        }
        arranged.push(held);
    }
    arranged
}

/// Whether the first of `rest` ends a call that is not innermost, and none of its name is about to
/// begin.
fn ends_deeper(rest: &[Held], stack: &[NameRef]) -> bool {
    let Some(first) = rest.first() else { return false };
    let begins =
        |held: &Held| held.event.kind == EventKind::Enter && held.event.name == first.event.name;
    stack.iter().any(|&name| ends(first, name)) && !rest.iter().any(begins)
}

/// Entries that stand together: the longer call first. The duration of one without a stated length
/// may follow from the next exit; if it does not, they stay as written.
fn arrange_entries(group: &mut [Held], next: Option<&Held>) {
    let n = group.len();
    let mut from = 0;
    while from < n {
        let to = group[from..].iter().position(is_exit).map_or(n, |at| from + at);
        let run = &mut group[from..to];
        let has_entry = run.iter().any(|held| held.event.kind == EventKind::Enter);
        let open_for = match next {
            _ if !has_entry => Some(0),
            Some(next) if to == n && is_exit(next) => Some(next.event.time - run[0].event.time),
            _ => None,
        };
        if let Some(open_for) = open_for {
            run.sort_by_key(|held| match held.event.kind {
                EventKind::Complete if held.event.duration > open_for => {
                    (0, std::cmp::Reverse(held.event.duration))
                }
                EventKind::Complete => (2, std::cmp::Reverse(held.event.duration)),
                _ => (1, std::cmp::Reverse(0)),
            });
        }
        from = to + 1;
    }
}
