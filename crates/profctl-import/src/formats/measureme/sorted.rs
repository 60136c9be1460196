//! The steps of a part whose events stand in any order.

use std::cmp::Reverse;

use profctl_model::hash::FastMap;

use super::steps::{Piece, Step, ThreadSteps, What};
use crate::emit::NameRef;

/// A call that is open.
#[derive(Clone, Copy)]
struct Open {
    end: u64,
    name: NameRef,
    row: u32,
}

/// The steps of all threads with `pieces`, in the order in which they are met. `before` says the
/// latest end of a thread in the parts before.
pub(super) fn steps(
    pieces: impl Iterator<Item = Piece>,
    before: impl Fn(u32) -> Option<u64>,
    mut name: impl FnMut(&Piece) -> NameRef,
) -> Vec<ThreadSteps> {
    let mut threads: Vec<(u32, Vec<Piece>)> = Vec::new();
    let mut rows: FastMap<u32, usize> = FastMap::default();
    for piece in pieces {
        let row = *rows.entry(piece.thread).or_insert_with(|| {
            threads.push((piece.thread, Vec::new()));
            threads.len() - 1
        });
        threads[row].1.push(piece);
    }
    let of = |(thread, pieces): (u32, Vec<Piece>)| {
        let steps = of_thread(pieces, before(thread), &mut name);
        ThreadSteps { thread, steps }
    };
    threads.into_iter().map(of).collect()
}

fn of_thread(
    mut pieces: Vec<Piece>,
    before: Option<u64>,
    name: &mut impl FnMut(&Piece) -> NameRef,
) -> Vec<Step> {
    // Whether it began in an earlier part.
    let has_begun = |piece: &Piece| {
        piece.is_call && !piece.goes_on && before.is_some_and(|before| piece.start < before)
    };
    // Callers before what they call: the longer ones first, and of equals the one that ended last.
    pieces.sort_by_key(|piece| {
        (!has_begun(piece), piece.start, Reverse(piece.end), Reverse(piece.row))
    });
    let mut steps = Vec::with_capacity(2 * pieces.len());
    let mut open: Vec<Open> = Vec::new();
    for piece in &pieces {
        let begins = !has_begun(piece);
        if begins {
            while let Some(ended) = open.pop_if(|open| open.end <= piece.start) {
                exit(ended, &mut steps);
            }
        }
        let Piece { start, end, row, .. } = *piece;
        let name = name(piece);
        if begins {
            let what = if piece.is_call { What::Enter } else { What::Instant };
            steps.push(Step { time: start, row, name, what });
        }
        if piece.is_call && !piece.goes_on {
            open.push(Open { end: end.max(start), name, row });
        }
    }
    for ended in open.into_iter().rev() {
        exit(ended, &mut steps);
    }
    steps
}

/// Adds the end of a call. With its entry just before it, it is a leaf.
fn exit(Open { end, name, row }: Open, steps: &mut Vec<Step>) {
    match steps.last_mut() {
        Some(enter) if enter.what == What::Enter && enter.name == name && enter.time <= end => {
            enter.what = What::Leaf(end - enter.time);
        }
        _ => steps.push(Step { time: end, row, name, what: What::Exit }),
    }
}
