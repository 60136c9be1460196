//! Finds probable renames among gone and new functions.

use super::canonical::canonical;
use super::types::{Entry, Pairing};
use crate::find::edits;

/// How alike two names must be at least, from 0 to 1.
const LIKENESS_MIN: f64 = 0.6;
/// How far calls may differ, as a factor: the number of calls of a function follows from the
/// workload, not from its name.
const CALLS_MAX: f64 = 1.25;
/// How far the cost of a call may differ for a rename to be taken as certain.
const COST_MAX: f64 = 2.0;
/// How far calls may differ for two functions of like names to be one: runs of a kernel differ by a
/// few percent.
const CALLS_SAME: f64 = 1.05;
/// Names shorter than this are alike by chance.
const LETTERS_MIN: usize = 6;
/// How many pairs are looked at: builds that share nothing are no case of renaming.
const PAIRS_MAX: usize = 4_000_000;

/// A row that went and one that came.
struct Candidate {
    gone: usize,
    new: usize,
    likeness: f64,
    sure: bool,
}

/// Rows left over before and after that may be one: their indices, and whether the match is
/// certain. Each is in one pair at most.
pub(super) fn find(
    pairings: &[Pairing],
    before: &[Entry],
    after: &[Entry],
) -> Vec<(usize, usize, bool)> {
    let left = |side: fn(&Pairing) -> (&[usize], &[usize])| -> Vec<usize> {
        let is_left = |pairing: &Pairing| {
            let (here, there) = side(pairing);
            here.len() == 1 && there.is_empty()
        };
        (0..pairings.len()).filter(|&index| is_left(&pairings[index])).collect()
    };
    let gone = left(|pairing| (&pairing.before, &pairing.after));
    let new = left(|pairing| (&pairing.after, &pairing.before));
    if gone.len().saturating_mul(new.len()) > PAIRS_MAX {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for &gone in &gone {
        for &new in &new {
            let (old, young) = (&before[pairings[gone].before[0]], &after[pairings[new].after[0]]);
            if let Some((likeness, sure)) = compare(old, young) {
                candidates.push(Candidate { gone, new, likeness, sure });
            }
        }
    }
    choose(candidates)
}

/// The best partner of each, if they are best for each other; certain only if no other was
/// possible.
fn choose(mut candidates: Vec<Candidate>) -> Vec<(usize, usize, bool)> {
    candidates.sort_by(|a, b| {
        b.likeness.total_cmp(&a.likeness).then((a.gone, a.new).cmp(&(b.gone, b.new)))
    });
    let rivals = |one: &Candidate| {
        let same = |other: &&Candidate| {
            (other.gone == one.gone) != (other.new == one.new)
                && (other.sure || other.likeness >= one.likeness)
        };
        candidates.iter().filter(same).count()
    };
    let mut chosen: Vec<(usize, usize, bool)> = Vec::new();
    for one in &candidates {
        if chosen.iter().all(|&(gone, new, _)| gone != one.gone && new != one.new) {
            chosen.push((one.gone, one.new, one.sure && rivals(one) == 0));
        }
    }
    chosen
}

/// The similarity of two functions, and whether they are certainly the same; nothing if they are
/// not alike.
fn compare(old: &Entry, new: &Entry) -> Option<(f64, bool)> {
    if !within(old.calls, new.calls, CALLS_MAX) || (old.callees < 0.5) != (new.callees < 0.5) {
        return None;
    }
    let underscores = |name: &str| name.trim_matches('_').len() >= LETTERS_MIN;
    if !underscores(&old.name) || !underscores(&new.name) {
        return None;
    }
    let same_cost = within(old.cost, new.cost, COST_MAX);
    let base = |name: &'_ str| canonical(name).base.trim_start_matches('_').to_owned();
    if base(&old.name) == base(&new.name) {
        // Of several such names, the nearest.
        let further = old.name.len().abs_diff(new.name.len()).min(100) as f64;
        return Some((1.0 - further / 1000.0, same_cost && old.module == new.module));
    }
    let likeness = letters(&old.name, &new.name).max(words(&old.name, &new.name));
    if likeness < LIKENESS_MIN {
        return None;
    }
    // What is called as often by a name as like, is the same, even if it became slower.
    if within(old.calls, new.calls, CALLS_SAME)
        && within(old.cost, new.cost, COST_MAX * COST_MAX)
        && old.module == new.module
    {
        return Some((likeness, true));
    }
    // What has the same caller is called as often as that, which differs more between runs.
    if old.caller.is_some() && old.caller == new.caller && old.module == new.module {
        return Some((likeness, within(old.cost, new.cost, COST_MAX * COST_MAX)));
    }
    let close = within(old.calls, new.calls, 1.1) && same_cost && old.module == new.module;
    let distance = edits(old.name.as_bytes(), new.name.as_bytes());
    Some((likeness, close && distance <= 2 && distance * 6 <= old.name.len()))
}

fn within(a: f64, b: f64, factor: f64) -> bool {
    a.max(b) <= factor * a.min(b)
}

/// Share of the letters that stay.
fn letters(a: &str, b: &str) -> f64 {
    let longest = a.len().max(b.len());
    if (a.len().abs_diff(b.len()) as f64) > (1.0 - LIKENESS_MIN) * longest as f64 {
        return 0.0;
    }
    1.0 - edits(a.as_bytes(), b.as_bytes()) as f64 / longest as f64
}

/// Share of the words between underscores that both have.
fn words(a: &str, b: &str) -> f64 {
    let split = |name: &str| -> Vec<String> {
        let words = name.split(['_', ':', '.']).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let (a, mut b) = (split(a), split(b));
    let longest = a.len().max(b.len());
    if longest < 3 {
        return 0.0;
    }
    let mut common = 0;
    for word in &a {
        if let Some(place) = b.iter().position(|other| other == word) {
            b.remove(place);
            common += 1;
        }
    }
    f64::from(common) / longest as f64
}
