//! Changes of known size, planted in a generated program: each ends with the right answer and names its
//! cause first. `just calibrate-real` does the same with recordings.

use profctl_model::report::Answer;
use profctl_testkit::plant::{Calls, Change, NEW, made_up, renamed};

use super::gate::{Judgement, Policy, judge};
use super::{Comparison, Options, Run, Side, Verdict, compare};
use crate::summarize::{self, Source, Summary};

const RUNS: u64 = 5;

fn side(name: &str, calls: impl IntoIterator<Item = Calls>) -> Side {
    let run = |(number, calls): (usize, Calls)| {
        let mut summary =
            Summary::new(summarize::Options { call_graph: true, ..summarize::Options::default() });
        calls.tell(&mut summary);
        let source = Source { path: "-".into(), format: "plain".into(), bytes: 0 };
        Run {
            name: format!("{name}/run{number}"),
            block: None,
            profile: summary.finish(&calls.names, &calls.meta, source),
            facts: Vec::new(),
            series: None,
            paths: None,
        }
    };
    let runs = calls.into_iter().enumerate().map(run).collect();
    Side { name: name.into(), runs, skipped: 0 }
}

fn gate(change: Option<&Change>, options: &Options<'_>) -> (Comparison, Judgement) {
    let before = side("before", (0..RUNS).map(made_up));
    let after = (RUNS..2 * RUNS).map(made_up);
    let after = side("after", after.map(|run| change.map_or_else(|| run.clone(), |c| run.with(c))));
    let comparison = compare(before, after, options).unwrap();
    let judgement = judge(&comparison, &Policy::default());
    (comparison, judgement)
}

/// A function of the middle of the program, one that it alone calls, and that one's name.
fn pair() -> (String, String) {
    let calls = made_up(0);
    let edges = calls.edges();
    let calls_much = |name: &String| edges.keys().any(|(caller, _)| caller == name);
    let edge = edges.keys().find(|(caller, callee)| {
        caller != "request" && !callee.starts_with("timer") && calls_much(callee)
    });
    edge.cloned().unwrap()
}

#[test]
fn nothing_planted_is_nothing_found() {
    let (comparison, judgement) = gate(None, &Options::default());
    assert_eq!(judgement.answer, Answer::Pass, "{:?}", judgement.reasons);
    assert_eq!(comparison.whole.verdict, Verdict::Equivalent);
}

#[test]
fn what_is_planted_is_found_and_named_first() {
    let (caller, callee) = pair();
    let red = |first: &str| (Answer::Regressed, Some(first.to_owned()));
    let pass = (Answer::Pass, None);
    for (change, expected) in [
        (Change::Slower(callee.clone(), 1.04), pass.clone()),
        (Change::Slower(callee.clone(), 1.15), red(&callee)),
        (Change::Slower(callee.clone(), 1.5), red(&callee)),
        (Change::CalledTwice(callee.clone()), red(&callee)),
        (Change::New(caller.clone(), 1.0), red(NEW)),
        (Change::Inlined(callee.clone(), caller.clone()), pass.clone()),
        (Change::MovedDown(caller.clone(), callee.clone()), pass.clone()),
        (Change::MovedUp(caller.clone(), callee.clone()), pass),
        (Change::RenamedAndSlower(callee.clone(), 1.5), red(&renamed(&callee))),
    ] {
        let (comparison, judgement) = gate(Some(&change), &Options::default());
        let first = judgement.in_order(&comparison).into_iter().next();
        let first = first.map(|one| comparison.functions[one.at].name.clone());
        assert_eq!((judgement.answer, first), expected, "{change:?}: {:?}", judgement.reasons);
    }
}

/// However little of a run it takes, it is why its caller takes longer.
#[test]
fn a_small_new_function_is_named_before_its_caller() {
    let (unchanged, _) = gate(None, &Options::default());
    let tested = unchanged.functions.iter().filter(|function| function.tested().is_some());
    let smallest = tested.min_by_key(|function| function.before.net).unwrap();
    let change = Change::New(smallest.name.clone(), 1.0);
    let (comparison, judgement) = gate(Some(&change), &Options::default());
    assert_eq!(judgement.answer, Answer::Regressed, "{:?}", judgement.reasons);
    let first = judgement.in_order(&comparison)[0];
    let new = &comparison.functions[first.at];
    assert_eq!(new.name, NEW);
    assert!(new.after.net * 200 < comparison.whole.busy[1], "{}", new.after.net);
}

#[test]
fn what_is_everywhere_is_found_in_the_whole_run() {
    for change in [Change::EverythingTwice, Change::EverythingSlower(1.1)] {
        for normalize in [false, true] {
            let mut options = Options::default();
            options.stats.normalize = normalize;
            let (comparison, judgement) = gate(Some(&change), &options);
            assert_eq!(judgement.answer, Answer::Regressed, "{change:?}");
            assert!(judgement.whole, "{change:?}: {:?}", judgement.reasons);
            assert!(judgement.reasons[0].starts_with("whole run: "), "{:?}", judgement.reasons);
            assert_eq!(comparison.whole.verdict, Verdict::Regressed);
        }
    }
}
