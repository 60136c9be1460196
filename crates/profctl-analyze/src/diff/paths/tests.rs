use std::fmt::Write as _;

use proptest::prelude::*;

use super::super::{Options, Run, Side, compare_with_paths};
use profctl_model::Cell;

use super::*;
use crate::testing::{Calls, random_calls, show};

fn run(name: String, calls: &Calls) -> Run {
    let (profile, paths) = (calls.profile(), Some(calls.run_paths()));
    Run { name, block: None, profile, facts: Vec::new(), series: None, paths }
}

fn side(name: &str, lines: &[String]) -> Side {
    let runs = lines.iter().enumerate();
    let runs = runs.map(|(n, line)| run(format!("{name}{n}"), &Calls::parse(line)));
    Side { name: name.into(), runs: runs.collect(), skipped: 0 }
}

fn compared(before: &Side, after: &Side) -> PathComparison {
    compare_with_paths(before.clone(), after.clone(), &Options::default()).unwrap().1
}

fn only(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[test]
fn paths_are_joined_at_every_level() {
    let before = side("b", &only(&["0 m( 1 f.isra.0( 2 g( 5 ) 6 ) 7 g( 9 ) 10 )"]));
    let after = side("a", &only(&["0 m( 1 f( 2 g( 8 ) 9 ) 10 h( 14 ) 14 )"]));
    let found = compared(&before, &after);
    expect_test::expect![[r#"
        before|after|delta|delta_net|delta_from_calls|delta_from_cost|calls_before|calls_after|ratio|ci_low|ci_high|verdict|depth|name
        10000|14000|+4000|-1000|+0|-1000|1|1|0.67x|-|-|not-tested|0|m
        0|4000|+4000|+4000|+4000|+0|0|1|-|-|-|new|1|  h
        5000|8000|+3000|+0|+0|+0|1|1|1.00x|-|-|not-tested|1|  f (was f.isra.0)
        3000|6000|+3000|+3000|+0|+3000|1|1|2.00x|-|-|not-tested|2|    g
        2000|0|-2000|-2000|-2000|+0|1|0|-|-|-|gone|1|  g
    "#]].assert_eq(&show(&found.table(&Shown::default())));
    let shown = Shown { chances: true, matching: Some(&|name| name == "f"), ..Shown::default() };
    expect_test::expect![[r#"
        before|after|delta|delta_net|delta_from_calls|delta_from_cost|calls_before|calls_after|ratio|ci_low|ci_high|p|q|renamed_from|measure|verdict|depth|name
        5000|8000|+3000|+0|+0|+0|1|1|1.00x|-|-|-|-|f.isra.0|net|not-tested|1|  f
    "#]].assert_eq(&show(&found.table(&shown)));
    let same = compared(&before, &before).table(&Shown::default());
    assert_eq!(
        (same.rows.len(), same.notes.as_slice()),
        (0, &["no path changed: 4 paths in both".to_owned()][..])
    );
}

/// Six runs in which `f` is called from `p` and from `q`, 20 times each; `from_q` is what it costs
/// there.
fn callers(name: &str, from_q: u64, calls_from_q: u64) -> Side {
    let lines: Vec<String> = [0, 7, 3, 9, 5, 1]
        .into_iter()
        .map(|by| {
            let (mut line, mut now) = (String::new(), 0);
            let mut call = |caller: &str, cost: u64| {
                let (own, cost) = (100 + by % 2, cost + by);
                let (left, back) = (now + cost, now + cost + own);
                write!(line, "{now} {caller}( f( {left} ) {back} ) ").unwrap();
                now += cost + own;
            };
            (0..20).for_each(|_| call("p", 1000));
            (0..calls_from_q).for_each(|_| call("q", from_q));
            line
        })
        .collect();
    side(name, &lines)
}

fn verdict_of(found: &PathComparison, path: &[&str]) -> Found {
    let mut parent = None;
    for name in path {
        let mut nodes = found.tree.nodes();
        let at = nodes.find(|(_, node)| node.parent == parent && node.name == *name);
        parent = Some(at.expect("the path is there").0);
    }
    found.found[parent.unwrap().index()].clone()
}

#[test]
fn a_function_is_slower_on_one_path_only() {
    let (before, after) = (callers("b", 1000, 20), callers("a", 1400, 20));
    let found = compared(&before, &after);
    let (from_p, from_q) = (verdict_of(&found, &["p", "f"]), verdict_of(&found, &["q", "f"]));
    assert_eq!((from_p.verdict, from_q.verdict), (Verdict::Equivalent, Verdict::Regressed));
    let (low, high) = from_q.interval.unwrap();
    assert!(low > 1.35 && high < 1.45 && from_q.q.unwrap() < 0.001, "{from_q:?}");
    assert_eq!(from_q.parts, Parts { delta_net: 8_000_000, from_calls: 0, from_cost: 8_000_000 });
    let q = verdict_of(&found, &["q"]);
    assert_eq!((q.verdict, q.measure), (Verdict::Regressed, Measure::Elapsed));
    assert_eq!(found.count(Verdict::Regressed), 2);
    // All of the change is calls, where they are twice as many at the old price.
    let more = compared(&before, &callers("a", 1000, 40));
    let from_q = verdict_of(&more, &["q", "f"]);
    assert_eq!((from_q.verdict, from_q.measure), (Verdict::Regressed, Measure::Total));
    assert_eq!(from_q.parts.from_calls, from_q.parts.delta_net);
}

#[test]
fn what_is_called_changed_is_shown_however_small() {
    let found = compared(&callers("b", 1000, 20), &callers("a", 1400, 20));
    let names = |shown: &Shown<'_>| -> Vec<String> {
        let table = found.table(shown);
        let name = |row: &Vec<Cell>| match row.last() {
            Some(Cell::Text(name)) => name.clone(),
            _ => unreachable!("the last column is the name"),
        };
        table.rows.iter().map(name).collect()
    };
    assert_eq!(names(&Shown { share_min: 99.0, ..Shown::default() }), ["q", "  f"]);
    assert_eq!(names(&Shown { share_min: 99.0, depth: Some(1), ..Shown::default() }), ["q"]);
}

#[test]
fn a_run_without_paths_is_an_error() {
    let (before, mut after) = (callers("b", 9, 9), callers("a", 9, 9));
    after.runs[2].paths = None;
    let error = compare_with_paths(before, after, &Options::default()).unwrap_err();
    assert_eq!(error, "a2: no paths of calls");
}

fn random_side(name: &'static str) -> impl Strategy<Value = Side> {
    prop::collection::vec(random_calls(), 1..5).prop_map(move |calls| {
        let runs = calls.iter().enumerate();
        let runs = runs.map(|(n, calls)| run(format!("{name}{n}"), calls)).collect();
        Side { name: name.into(), runs, skipped: 0 }
    })
}

proptest! {
    #[test]
    fn a_side_and_itself_differ_on_no_path(one in random_side("a")) {
        let found = compared(&one, &one);
        prop_assert_eq!(found.unchanged(), found.tree.len() as u64);
        prop_assert!(found.table(&Shown::default()).rows.is_empty());
    }

    #[test]
    fn sides_mirror_one_another(a in random_side("a"), b in random_side("b")) {
        let (there, back) = (compared(&a, &b), compared(&b, &a));
        prop_assert_eq!(there.tree.len(), back.tree.len());
        for (one, other) in there.found.iter().zip(&back.found) {
            prop_assert_eq!(one.parts.delta_net, -other.parts.delta_net);
            prop_assert_eq!(one.parts.from_calls, -other.parts.from_calls);
            prop_assert_eq!(one.parts.from_cost, -other.parts.from_cost);
            prop_assert_eq!(one.parts.from_calls + one.parts.from_cost, one.parts.delta_net);
            let mirrored = match one.verdict {
                Verdict::New => Verdict::Gone,
                Verdict::Gone => Verdict::New,
                Verdict::Regressed => Verdict::Improved,
                Verdict::Improved => Verdict::Regressed,
                same => same,
            };
            prop_assert!(mirrored == other.verdict || one.verdict == Verdict::Suspect
                || other.verdict == Verdict::Suspect);
        }
        for ((_, one), (_, other)) in there.tree.nodes().zip(back.tree.nodes()) {
            prop_assert_eq!((&one.name, one.before, one.after), (&other.name, other.after, other.before));
        }
    }

    #[test]
    fn the_order_of_runs_has_no_say(a in random_side("a"), b in random_side("b")) {
        let mut turned = a.clone();
        turned.runs.reverse();
        let (one, other) = (compared(&a, &b), compared(&turned, &b));
        prop_assert_eq!(one.table(&Shown::default()), other.table(&Shown::default()));
    }

    #[test]
    fn net_of_all_paths_is_that_of_all_functions(a in random_side("a"), b in random_side("b")) {
        let (functions, paths) =
            compare_with_paths(a, b, &Options::default()).unwrap();
        let rows = functions.functions.iter();
        let sum = |at: fn(&Function) -> u64| rows.clone().map(at).sum::<u64>();
        let runs = [functions.before.runs.len(), functions.after.runs.len()];
        // Each mean is rounded by half a unit at most.
        let off = (paths.tree.len() + functions.functions.len()) as u64;
        for (side, of_rows) in [sum(|f| f.before.net), sum(|f| f.after.net)].into_iter().enumerate() {
            let of = |node: &profctl_model::PairedNode| [node.before, node.after][side];
            let nodes = paths.tree.nodes().filter_map(|(_, node)| of(node));
            let of_paths: u64 = nodes.map(|cost| cost.net).sum();
            let most = if runs[side] == 1 { 0 } else { off };
            prop_assert!(of_paths.abs_diff(of_rows) <= most);
        }
    }
}
