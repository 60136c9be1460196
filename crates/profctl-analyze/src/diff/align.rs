//! Which function of one build is which of the other.
//!
//! Equal names first. Unmatched functions are then compared without compiler suffixes, and the
//! remaining ones as possible renames. [`MatchedBy`] records every match that is not by name.

use std::collections::BTreeMap;

use super::canonical::canonical;
use super::renamed;
use super::types::{Entry, MatchedBy, Pairing, Rename};

/// A rule of the user's: a new name for a function, or nothing if the rule is not about it.
pub type Rule<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The key by which a function is looked for.
type Key = (String, Option<String>);

/// Matches the functions of both sides. `renames`: match probable renames too.
pub(super) fn align(
    before: &[Entry],
    after: &[Entry],
    rules: &[&Rule<'_>],
    renames: bool,
) -> (Vec<Pairing>, Vec<Rename>) {
    let mut pairings = by_name(before, after, rules);
    join_modules(&mut pairings);
    join_clones(&mut pairings);
    join_fragments(&mut pairings);
    let found = renamed::find(&pairings, before, after);
    let mut suggested = Vec::new();
    for (gone, new, sure) in found {
        if sure && renames {
            let went = std::mem::take(&mut pairings[gone].before);
            pairings[new].before = went;
            pairings[new].by = Some(MatchedBy::Rename);
        } else {
            let name = |pairing: usize| pairings[pairing].name.clone();
            suggested.push(Rename { before: name(gone), after: name(new) });
        }
    }
    pairings.retain(|pairing| !pairing.before.is_empty() || !pairing.after.is_empty());
    pairings.sort_by(|a, b| (&a.name, &a.module).cmp(&(&b.name, &b.module)));
    suggested.sort_by(|a, b| (&a.before, &a.after).cmp(&(&b.before, &b.after)));
    (pairings, suggested)
}

/// One row per name and module, as the user's rules rewrite them.
fn by_name(before: &[Entry], after: &[Entry], rules: &[&Rule<'_>]) -> Vec<Pairing> {
    let mut rows: BTreeMap<Key, Pairing> = BTreeMap::new();
    for (is_after, side) in [(false, before), (true, after)] {
        for (index, entry) in side.iter().enumerate() {
            let rewritten = rewrite(&entry.name, rules);
            let by = rewritten.is_some().then_some(MatchedBy::Rule);
            let name = rewritten.unwrap_or_else(|| entry.name.clone());
            let row = rows.entry((name.clone(), entry.module.clone())).or_insert_with(|| Pairing {
                name,
                module: entry.module.clone(),
                before: Vec::new(),
                after: Vec::new(),
                by: None,
            });
            row.by = row.by.or(by);
            if is_after { row.after.push(index) } else { row.before.push(index) }
        }
    }
    rows.into_values().collect()
}

/// What all rules together make of `name`; nothing if it stays.
pub(super) fn rewrite(name: &str, rules: &[&Rule<'_>]) -> Option<String> {
    let mut current = name.to_owned();
    for rule in rules {
        if let Some(rewritten) = rule(&current) {
            current = rewritten;
        }
    }
    (current != name).then_some(current)
}

/// Joins one name in two modules, if it is left over in one of each side.
fn join_modules(pairings: &mut Vec<Pairing>) {
    join(
        pairings,
        MatchedBy::Module,
        |pairing| Some((pairing.name.clone(), None)),
        |members| {
            let left = |side: fn(&Pairing) -> bool| {
                members.iter().filter(|member| side(member)).count() == 1
            };
            if left(only_before) && left(only_after) { Joined::LeftOver } else { Joined::Nothing }
        },
    );
}

/// Joins a function and its clones, where the two sides do not have the same of them.
fn join_clones(pairings: &mut Vec<Pairing>) {
    let key = |pairing: &Pairing| {
        let name = canonical(&pairing.name);
        let piece = name.fragment.map(|fragment| format!("{}.{fragment}", name.base));
        Some((piece.unwrap_or_else(|| name.base.to_owned()), pairing.module.clone()))
    };
    join(pairings, MatchedBy::Suffix, key, |members| {
        if members.iter().any(|member| only_before(member) || only_after(member)) {
            Joined::All
        } else {
            Joined::Nothing
        }
    });
}

/// Joins a piece of a function that is left over on one side with what is left over of the same
/// function on the other.
fn join_fragments(pairings: &mut Vec<Pairing>) {
    let key = |pairing: &Pairing| {
        Some((canonical(&pairing.name).base.to_owned(), pairing.module.clone()))
    };
    join(pairings, MatchedBy::Suffix, key, |_| Joined::LeftOver);
}

fn only_before(pairing: &Pairing) -> bool {
    pairing.after.is_empty()
}

fn only_after(pairing: &Pairing) -> bool {
    pairing.before.is_empty()
}

/// Which rows of one key become one.
enum Joined {
    All,
    LeftOver,
    Nothing,
}

/// Makes one row of those with the same key, as `which` says, as long as it then has both sides.
fn join(
    pairings: &mut Vec<Pairing>,
    by: MatchedBy,
    key: impl Fn(&Pairing) -> Option<Key>,
    which: impl Fn(&[&Pairing]) -> Joined,
) {
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (index, pairing) in pairings.iter().enumerate() {
        if let Some(key) = key(pairing) {
            groups.entry(key).or_default().push(index);
        }
    }
    for ((name, _), mut members) in groups {
        let rows: Vec<&Pairing> = members.iter().map(|&member| &pairings[member]).collect();
        match which(&rows) {
            Joined::All => {}
            Joined::LeftOver => members
                .retain(|&member| only_before(&pairings[member]) || only_after(&pairings[member])),
            Joined::Nothing => continue,
        }
        let any = |is: &dyn Fn(&Pairing) -> bool| members.iter().any(|&m| is(&pairings[m]));
        let both = any(&|one| !one.before.is_empty()) && any(&|one| !one.after.is_empty());
        if members.len() < 2 || !both {
            continue;
        }
        let mut joined = pairings[members[0]].clone();
        for &member in &members[1..] {
            joined.before.append(&mut pairings[member].before);
            joined.after.append(&mut pairings[member].after);
            joined.module = joined.module.or_else(|| pairings[member].module.clone());
        }
        joined.name = name;
        joined.by = Some(by);
        pairings[members[0]] = joined;
    }
    pairings.retain(|pairing| !pairing.before.is_empty() || !pairing.after.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions as `name`, `module:name`, or either with `*calls` after it.
    fn entries(text: &str) -> Vec<Entry> {
        text.split_whitespace()
            .map(|item| {
                let (item, calls) = item.split_once('*').unwrap_or((item, "10"));
                let (module, name) = match item.split_once('/') {
                    Some((module, name)) => (Some(module.to_owned()), name),
                    None => (None, item),
                };
                let calls = calls.parse().unwrap();
                Entry { name: name.into(), module, calls, cost: 100.0, callees: 0.0, caller: None }
            })
            .collect()
    }

    fn show(before: &str, after: &str, rules: &[&Rule<'_>]) -> String {
        let (before, after) = (entries(before), entries(after));
        let (pairings, suggested) = align(&before, &after, rules, true);
        let names = |side: &[Entry], of: &[usize]| {
            let names: Vec<_> = of.iter().map(|&index| side[index].name.clone()).collect();
            names.join("+")
        };
        let mut lines: Vec<String> = pairings
            .iter()
            .map(|pairing| {
                let by = pairing.by.map_or("", MatchedBy::name);
                let (old, new) = (names(&before, &pairing.before), names(&after, &pairing.after));
                format!("{}: {old} = {new} {by}", pairing.name).trim_end().to_owned()
            })
            .collect();
        lines.extend(suggested.iter().map(|one| format!("{} ~ {}", one.before, one.after)));
        lines.join("; ")
    }

    #[test]
    fn functions_find_one_another() {
        for (before, after, expected) in [
            ("a b", "b c", "a: a =; b: b = b; c:  = c"),
            // Equal names stay apart from their clones as long as both sides have the same.
            ("f f.isra.0", "f f.isra.0", "f: f = f; f.isra.0: f.isra.0 = f.isra.0"),
            ("f.isra.0", "f.isra.1", "f: f.isra.0 = f.isra.1 suffix"),
            ("f.constprop.0", "f", "f: f.constprop.0 = f suffix"),
            ("f f.constprop.0", "f", "f: f+f.constprop.0 = f suffix"),
            // A piece is not the function, unless nothing else is left of it.
            ("f f.part.0", "f", "f: f = f; f.part.0: f.part.0 ="),
            ("f.part.0", "f", "f: f.part.0 = f suffix"),
            ("f f.part.0", "f f.part.1", "f: f = f; f.part: f.part.0 = f.part.1 suffix"),
            ("f.cold", "f.isra.0.cold", "f.cold: f.cold = f.isra.0.cold suffix"),
            ("f.isra.0 f.isra.1", "f.isra.2", "f: f.isra.0+f.isra.1 = f.isra.2 suffix"),
            // Pieces of one side only have nothing to be joined with.
            ("f.part.0 f.cold", "b", "b:  = b; f.cold: f.cold =; f.part.0: f.part.0 ="),
            // A module that only one side records does not prevent a match.
            ("f", "ext4/f", "f: f = f module"),
            ("xfs/f ext4/f", "f", "f:  = f; f: f =; f: f ="),
            ("xfs/f ext4/f", "ext4/f", "f: f = f; f: f ="),
        ] {
            assert_eq!(show(before, after, &[]), expected, "{before} against {after}");
        }
    }

    #[test]
    fn renames_are_taken_where_they_are_plain() {
        for (before, after, expected) in [
            (
                "cgroup_rstat_updated*900",
                "__cgroup_rstat_updated*930",
                "__cgroup_rstat_updated: cgroup_rstat_updated = __cgroup_rstat_updated rename",
            ),
            (
                "do_frobnicate*900",
                "do_frobnicate2*900",
                "do_frobnicate2: do_frobnicate = do_frobnicate2 rename",
            ),
            // A different number of calls, or two candidates: reported, not matched.
            (
                "cgroup_rstat_updated*900",
                "__cgroup_rstat_updated*90",
                "__cgroup_rstat_updated:  = __cgroup_rstat_updated; \
                 cgroup_rstat_updated: cgroup_rstat_updated =",
            ),
            (
                "_frob_all*9",
                "__frob_all*9 ___frob_all*9",
                "___frob_all:  = ___frob_all; __frob_all:  = __frob_all; _frob_all: _frob_all =; \
                 _frob_all ~ __frob_all",
            ),
            (
                "page_add_file_rmap*40",
                "folio_add_file_rmap*40",
                "folio_add_file_rmap: page_add_file_rmap = folio_add_file_rmap rename",
            ),
            ("read_block*9", "vfs_fsync*9", "read_block: read_block =; vfs_fsync:  = vfs_fsync"),
        ] {
            assert_eq!(show(before, after, &[]), expected, "{before} against {after}");
        }
    }

    #[test]
    fn rules_of_the_user_come_first() {
        let rule = |name: &str| name.strip_prefix("req_").map(|_| "req_*".to_owned());
        assert_eq!(
            show("req_17 req_18 f", "req_99 f", &[&rule]),
            "f: f = f; req_*: req_17+req_18 = req_99 rule"
        );
    }
}
