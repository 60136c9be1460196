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

#[cfg(test)]
mod tests {
    use super::*;

    /// A function as `name calls cost`, which calls something, in no module and of no caller.
    fn entry(text: &str) -> Entry {
        let parts: Vec<&str> = text.split(' ').collect();
        let number = |at: usize| parts[at].parse().unwrap();
        let name = parts[0].into();
        Entry { name, module: None, calls: number(1), cost: number(2), callees: 1.0, caller: None }
    }

    fn of(old: &str, new: &str) -> Option<(i64, bool)> {
        shown(compare(&entry(old), &entry(new)))
    }

    /// The likeness in thousandths.
    fn shown(found: Option<(f64, bool)>) -> Option<(i64, bool)> {
        found.map(|(likeness, sure)| ((likeness * 1000.0).round() as i64, sure))
    }

    #[test]
    fn names_that_differ_by_underscores_are_one_at_the_same_cost() {
        for (old, new, expected) in [
            ("_frob_all 100 10", "___frob_all 100 20", Some((998, true))),
            ("_frob_all 100 10", "___frob_all 125 20", Some((998, true))),
            ("_frob_all 100 10", "___frob_all 100 21", Some((998, false))),
            ("_frob_all 100 10", "___frob_all 126 10", None),
            // Five letters are alike by chance.
            ("_frob_a 100 10", "__frob_a 100 10", Some((999, true))),
            ("_frob_ 100 10", "__frob_ 100 10", None),
            ("frobbb 100 10", "___frob 100 10", None),
        ] {
            assert_eq!(of(old, new), expected, "{old}, {new}");
        }
    }

    #[test]
    fn similar_names_are_one_at_the_same_calls_or_a_letter_apart() {
        for (old, new, expected) in [
            // 5 of 19 letters differ, and 1 of 4 words: the likeness is the larger share.
            ("page_add_file_rmap 100 10", "folio_add_file_rmap 105 40", Some((750, true))),
            ("page_add_file_rmap 100 10", "folio_add_file_rmap 106 10", Some((750, false))),
            ("page_add_file_rmap 100 10", "folio_add_file_rmap 105 41", Some((750, false))),
            // Three words of four, in another order.
            ("ext4_map_blocks_now 100 10", "now_map_blocks_xfs 100 10", Some((750, true))),
            // Beyond 5 % of the calls, two letters of twelve may differ, and the cost by half.
            ("frobnicate12 100 10", "frobnicate34 110 20", Some((833, true))),
            ("frobnicate12 100 10", "frobnicate34 111 20", Some((833, false))),
            ("frobnicate12 100 10", "frobnicate34 110 21", Some((833, false))),
            ("frobnicate1 100 10", "frobnicate23 110 20", Some((833, false))),
            ("frobnicate123 100 10", "frobnicate456 110 20", Some((769, false))),
            ("abcdefghij 100 10", "abcdef 100 10", Some((600, true))),
            ("read_block 100 10", "vfs_fsync 100 10", None),
            ("frobb 100 10", "frobb1 100 10", None),
            ("frobb1 100 10", "frobb 100 10", None),
        ] {
            assert_eq!(of(old, new), expected, "{old}, {new}");
        }
    }

    #[test]
    fn a_caller_of_both_excuses_a_quarter_of_the_calls() {
        let with = |caller: Option<&str>, module: Option<&str>, text: &str| Entry {
            caller: caller.map(str::to_owned),
            module: module.map(str::to_owned),
            ..entry(text)
        };
        let old = with(Some("c"), None, "page_add_file_rmap 100 10");
        let new = |caller, module, cost: u32| {
            let text = format!("folio_add_file_rmap 125 {cost}");
            shown(compare(&old, &with(caller, module, &text)))
        };
        assert_eq!(new(Some("c"), None, 40), Some((750, true)));
        assert_eq!(new(Some("c"), None, 41), Some((750, false)));
        assert_eq!(new(Some("d"), None, 10), Some((750, false)));
        assert_eq!(new(None, None, 10), Some((750, false)));
        assert_eq!(new(Some("c"), Some("m"), 10), Some((750, false)));
        let of_no_caller = with(None, None, "page_add_file_rmap 100 10");
        let young = with(None, None, "folio_add_file_rmap 125 10");
        assert_eq!(shown(compare(&of_no_caller, &young)), Some((750, false)));
    }

    #[test]
    fn functions_in_other_modules_or_without_callees_are_not_certain() {
        let of = |module: &str, callees: f64, text: &str| {
            let module = Some(module.to_owned());
            let old = Entry { module: Some("m".into()), ..entry("page_add_file_rmap 100 10") };
            shown(compare(&old, &Entry { module, callees, ..entry(text) }))
        };
        assert_eq!(of("m", 0.5, "folio_add_file_rmap 100 10"), Some((750, true)));
        assert_eq!(of("n", 0.5, "folio_add_file_rmap 100 10"), Some((750, false)));
        assert_eq!(of("n", 1.0, "_page_add_file_rmap 100 10"), Some((999, false)));
        assert_eq!(of("n", 1.0, "page_add_file_rmax 100 10"), Some((944, false)));
        assert_eq!(of("m", 0.4, "folio_add_file_rmap 100 10"), None);
        let [half, less] = [0.5, 0.4].map(|callees| Entry { callees, ..entry("abcdefghij 9 9") });
        assert!(compare(&half, &entry("abcdefghik 9 9")).is_some());
        assert!(compare(&less, &entry("abcdefghik 9 9")).is_none());
    }

    #[test]
    fn letters_and_words_are_shares_of_the_longer_name() {
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(near(letters("abcdefghij", "abcdefgh"), 0.8));
        assert!(near(letters("abcdefghij", "abcdef"), 0.6), "four of ten are missing");
        assert!(near(letters("abcdefghij", "abcde"), 0.0));
        assert!(near(words("a_b.c", "c:b__x_y"), 0.5));
        assert!(near(words("a_a_a", "a_b_c"), 1.0 / 3.0), "a word counts once");
        assert!(near(words("a_b", "b_a"), 0.0) && near(words("a_b_c", "c_a"), 2.0 / 3.0));
    }

    #[test]
    fn builds_of_four_million_pairs_are_compared_and_no_larger_ones() {
        // All but one pair differ too much in their calls to be compared by name.
        let found = |gone: usize, new: usize| {
            let side = |n: usize, calls: f64| -> Vec<Entry> {
                let other = (1..n).map(|at| Entry { calls, ..entry(&format!("other{at} 1 1")) });
                std::iter::once(entry("page_add_file_rmap 100 10")).chain(other).collect()
            };
            let (before, mut after) = (side(gone, 1.0), side(new, 9.0));
            after[0].name = "folio_add_file_rmap".into();
            let pairing = |name: &str, before: Vec<usize>, after: Vec<usize>| Pairing {
                name: name.into(),
                module: None,
                by: None,
                before,
                after,
            };
            let gone =
                before.iter().enumerate().map(|(at, of)| pairing(&of.name, vec![at], vec![]));
            let new = after.iter().enumerate().map(|(at, of)| pairing(&of.name, vec![], vec![at]));
            find(&gone.chain(new).collect::<Vec<_>>(), &before, &after)
        };
        assert_eq!(found(2000, 2000), [(0, 2000, true)]);
        assert_eq!(found(2001, 2000), []);
    }

    #[test]
    fn each_function_is_in_one_pair_and_certain_only_without_a_rival() {
        let chosen = |of: &[(usize, usize, f64, bool)]| {
            let candidate = |&(gone, new, likeness, sure)| Candidate { gone, new, likeness, sure };
            choose(of.iter().map(candidate).collect())
        };
        assert_eq!(chosen(&[(1, 5, 0.7, true), (2, 6, 0.9, true)]), [(2, 6, true), (1, 5, true)]);
        // The same function is a rival, with another partner that is as like or certain.
        for (rival, sure) in [
            ((1, 6, 0.8, false), false),
            ((2, 5, 0.8, false), false),
            ((1, 6, 0.7, false), true),
            ((1, 6, 0.7, true), false),
            ((2, 5, 0.7, true), false),
        ] {
            assert_eq!(chosen(&[(1, 5, 0.8, true), rival]), [(1, 5, sure)], "{rival:?}");
        }
    }
}
