use std::fmt::Write as _;

use proptest::prelude::*;

use profctl_model::Cell;
use profctl_model::report::Answer;

use super::gate::{Budget, Excuse, Limit, Policy, Standing, State, What, judge};
use super::self_test::{Injection, inject, victim};
use super::stats::Verdict as Of;
use super::*;
use crate::testing::{Calls, random_calls};

/// A run in which each function is called so often, each call taking so long, `c(…)` below `p(`
/// with a name such as `p/c`.
fn run(name: &str, functions: &[(&str, u64, u64)]) -> Run {
    let (mut line, mut now) = (String::new(), 0);
    for &(path, calls, cost) in functions {
        let (caller, callee) = path.split_once('/').map_or((None, path), |(a, b)| (Some(a), b));
        for _ in 0..calls {
            let (open, close) = caller.map_or((String::new(), ""), |c| (format!("{c}("), ")"));
            write!(line, "{now} {open} {callee}( {} ) {close} ", now + cost).unwrap();
            now += cost;
        }
    }
    of_line(name, &line)
}

fn of_line(name: &str, line: &str) -> Run {
    let profile = Calls::parse(line).profile();
    Run { name: name.into(), block: None, profile, facts: Vec::new(), series: None, paths: None }
}

fn side(name: &str, runs: Vec<Run>) -> Side {
    Side { name: name.into(), runs, skipped: 0 }
}

/// Six runs whose costs vary by a percent or two; `of` says what run number n is made of.
fn runs(name: &str, of: impl Fn(u64) -> Vec<(&'static str, u64, u64)>) -> Side {
    let wander = [0, 7, 3, 9, 5, 1];
    side(
        name,
        wander.iter().enumerate().map(|(n, &by)| run(&format!("{name}{n}"), &of(by))).collect(),
    )
}

fn before() -> Side {
    runs("before", |by| {
        vec![("f", 20, 1000 + by), ("g", 20, 500 + by), ("h.isra.0", 10, 200 + by), ("old", 9, 10)]
    })
}

fn after() -> Side {
    runs("after", |by| {
        vec![("f", 20, 1300 + by), ("g", 20, 400 + by), ("h", 30, 200 + by), ("new", 9, 10)]
    })
}

fn verdicts(comparison: &Comparison) -> String {
    let row = |function: &Function| {
        let Parts { delta_net, from_calls, from_cost } = function.parts;
        let name = function.name.as_str();
        format!("{name} {}: {delta_net} = {from_calls} + {from_cost}", function.verdict.name())
    };
    comparison.changed().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn functions_get_verdicts_and_reasons() {
    let found = compare(before(), after(), &Options::default()).unwrap();
    expect_test::expect![[r"
        f regressed: 6000000 = 0 + 6000000
        g improved: -2000000 = 0 + -2000000
        new new: 90000 = 90000 + 0
        old gone: -90000 = -90000 + 0
        h equivalent: 4083333 = 4083333 + 0"]]
    .assert_eq(&verdicts(&found));
    let of = |name: &str| found.functions.iter().find(|one| one.name == name).unwrap();
    assert_eq!(
        of("h").matched.as_ref().map(|m| m.before.as_slice()),
        Some(&["h.isra.0".into()][..])
    );
    let f = of("f");
    assert!((f.ratio.unwrap() - 1.3).abs() < 0.01 && f.interval.unwrap().0 > 1.25, "{f:?}");
    assert_eq!((found.n_matched(MatchedBy::Suffix), found.tested), ((1, 2), 3));
}

/// With as few calls as the runs of these tests have.
fn lenient() -> Options<'static> {
    Options { calls_min: 3.0, ..Options::default() }
}

#[test]
fn more_calls_are_held_against_a_function_unless_told_not_to() {
    let found = compare(before(), after(), &lenient()).unwrap();
    let h = found.functions.iter().find(|one| one.name == "h").unwrap();
    assert_eq!((h.verdict, h.measure), (Verdict::Regressed, Measure::Total));
    assert!((h.ratio.unwrap() - 3.0).abs() < 0.1);
    let measures = vec![Measure::Net, Measure::Elapsed];
    let plain = compare(before(), after(), &Options { measures, ..lenient() }).unwrap();
    assert!(
        plain
            .notes()
            .iter()
            .any(|note| note.contains("more calls (not gated") && note.contains('h'))
    );
}

#[test]
fn a_caller_of_something_slow_is_told_apart() {
    let with = |name, cost: u64| {
        runs(name, move |by| {
            vec![("p/c", 20, cost + by), ("q", 20, 5000 + by), ("r", 20, 777 + by)]
        })
    };
    let found = compare(with("a", 1000), with("b", 1500), &lenient()).unwrap();
    let of = |name: &str| found.functions.iter().find(|one| one.name == name).unwrap();
    assert_eq!((of("c").verdict, of("c").measure), (Verdict::Regressed, Measure::Net));
    assert_eq!((of("p").verdict, of("p").measure), (Verdict::Regressed, Measure::Elapsed));
    let titles: Vec<String> =
        found.sections(&Shown::default()).into_iter().map(|section| section.title).collect();
    assert_eq!(titles, ["slower", "slower including callees"]);
}

#[test]
fn inlining_is_no_regression() {
    // Each call of `f` is 100 of its own and 60 in `inner`; then all 150 are its own.
    let of = |name: &str, inlined: bool| {
        let one = |n: u64| {
            let mut line = String::new();
            for call in 0..30 {
                let at = call * 1000;
                let own = 100 + n % 3;
                let text = if inlined {
                    format!("{at} f( {} ) ", at + own + 50)
                } else {
                    format!("{at} f( {at} inner( {} ) {} ) ", at + 60, at + 60 + own)
                };
                write!(line, "{text}{} other( {} ) ", at + 300, at + 400 + n % 2).unwrap();
            }
            of_line(&format!("{name}{n}"), &line)
        };
        side(name, (0..6).map(one).collect())
    };
    let found = compare(of("a", false), of("b", true), &Options::default()).unwrap();
    let f = found.functions.iter().find(|one| one.name == "f").unwrap();
    assert_eq!((f.verdict, f.moved.as_deref()), (Verdict::Inconclusive, Some("inner")));
    assert_eq!(judge(&found, &Policy::default()).answer, Answer::Pass);
    let back = compare(of("a", true), of("b", false), &Options::default()).unwrap();
    assert_eq!(back.moved.len(), 1);
    assert!(!back.moved[0].inlined);
}

/// Six runs of forty calls of `f`: its own time, a function that it calls, by name and time, and another
/// callee that takes longer in some runs than in others, so that whole calls tell nothing.
fn calls_of_f(name: &str, own: u64, callee: Option<(&str, u64)>) -> Side {
    let one = |n: u64| {
        let mut line = String::new();
        for call in 0..40 {
            let mut now = call * 10_000;
            write!(line, "{now} f( ").unwrap();
            if let Some((callee, cost)) = callee {
                write!(line, "{now} {callee}( {} ) ", now + cost).unwrap();
                now += cost;
            }
            write!(line, "{now} wait( {} ) ", now + 900 + n * n % 7 * 300).unwrap();
            now += 900 + n * n % 7 * 300 + own + (n * 3 + call) % 4;
            write!(line, "{now} ) {now} other( {} ) ", now + 400 + n % 3).unwrap();
        }
        of_line(&format!("{name}{n}"), &line)
    };
    side(name, (0..6).map(one).collect())
}

/// The answer on `before` and `after`, the verdict on `f`, and what is named first.
fn judged(before: Side, after: Side) -> (Answer, Verdict, Option<String>) {
    let found = compare(before, after, &Options::default()).unwrap();
    let judgement = judge(&found, &Policy::default());
    let first = judgement.in_order(&found).first().map(|one| found.functions[one.at].name.clone());
    let f = found.functions.iter().find(|one| one.name == "f").unwrap();
    (judgement.answer, f.verdict, first)
}

#[test]
fn what_moved_is_not_slower_unless_there_is_more_of_it() {
    let of = calls_of_f;
    let pass = |verdict| (Answer::Pass, verdict, None);
    let red = |name: &str, verdict| (Answer::Regressed, verdict, Some(name.to_owned()));
    let with = || of("a", 200, Some(("inner", 100)));
    // Taken in as it was, or with a fifth more.
    assert_eq!(judged(with(), of("b", 300, None)), pass(Verdict::Inconclusive));
    assert_eq!(judged(with(), of("b", 360, None)), red("f", Verdict::Regressed));
    // Up from the callee and down into it; whole calls vary too much to tell. Or with a tenth more.
    assert_eq!(judged(with(), of("b", 250, Some(("inner", 50)))), pass(Verdict::Inconclusive));
    assert_eq!(judged(with(), of("b", 120, Some(("inner", 180)))), pass(Verdict::Improved));
    assert_eq!(judged(with(), of("b", 280, Some(("inner", 50)))), red("f", Verdict::Regressed));
}

#[test]
fn a_new_function_is_charged_to_its_caller() {
    let of = calls_of_f;
    let without = || of("a", 300, None);
    let charged = |after: Side| {
        let found = compare(without(), after, &Options::default()).unwrap();
        let new = found.functions.iter().find(|one| one.verdict == Verdict::New).unwrap();
        new.charged.clone().map(|charged| {
            assert_eq!(charged.caller, "f");
            (charged.tested.verdict, (charged.tested.estimate.exp2() * 100.0).round())
        })
    };
    assert_eq!(charged(of("b", 300, Some(("added", 60)))), Some((Of::Regressed, 120.0)));
    assert_eq!(charged(of("b", 300, Some(("added", 9)))), Some((Of::Equivalent, 103.0)));
    // What was only cut out of its caller costs nothing.
    assert_eq!(charged(of("b", 240, Some(("added", 60)))), Some((Of::Equivalent, 100.0)));
    let (answer, f, first) = judged(without(), of("b", 300, Some(("added", 60))));
    assert_eq!(
        (answer, f, first.as_deref()),
        (Answer::Regressed, Verdict::Inconclusive, Some("added"))
    );
    // The margin is that of the new function, not of its caller.
    let margins = |name: &str| (name == "added").then_some(0.5);
    let options = Options { margins: Some(&margins), ..Options::default() };
    let found = compare(without(), of("b", 300, Some(("added", 60))), &options).unwrap();
    let new = found.functions.iter().find(|one| one.verdict == Verdict::New).unwrap();
    assert_eq!(new.charged.as_ref().unwrap().tested.verdict, Of::Equivalent);
    let accepted = Standing { excuse: Some(Excuse::Accepted("checks more".into())), owner: None };
    let policy = Policy { standings: [("added".into(), accepted)].into(), ..Policy::default() };
    let found = compare(without(), of("b", 300, Some(("added", 60))), &Options::default()).unwrap();
    assert_eq!(judge(&found, &policy).answer, Answer::Pass);
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    let new = json["functions"].as_array().unwrap().iter().find(|one| one["name"] == "added");
    assert_eq!(new.unwrap()["charged"]["caller"], "f");
    assert_eq!(new.unwrap()["charged"]["verdict"], "regressed");
}

#[test]
fn what_cannot_be_compared_gets_no_verdict() {
    let mut lossy = after();
    lossy.runs[2].profile.quality.lost_events = Some(1_000_000);
    let mut cycles = after();
    for run in &mut cycles.runs {
        run.profile.timebase.unit = profctl_model::TickUnit::Cycles;
    }
    let mut off_cpu = after();
    off_cpu.runs.iter_mut().for_each(|run| run.profile.knows_off_cpu = true);
    let mut unknown = after();
    unknown.runs[0].profile.quality.lost_events = None;
    for (side, code) in [(lossy, "loss"), (cycles, "unit"), (off_cpu, "events"), (unknown, "loss")]
    {
        let found = compare(before(), side, &Options::default()).unwrap();
        let vetoes: Vec<_> = found.warnings.iter().filter(|warning| warning.veto).collect();
        assert_eq!(vetoes.iter().map(|veto| veto.code).collect::<Vec<_>>(), [code]);
        assert_eq!(found.count(Verdict::Regressed) + found.count(Verdict::Improved), 0);
        assert_eq!(judge(&found, &Policy::default()).answer, Answer::Inconclusive);
    }
}

#[test]
fn one_run_a_side_has_no_verdict() {
    let one = |side: Side| Side { runs: side.runs.into_iter().take(1).collect(), ..side };
    let found = compare(one(before()), one(after()), &Options::default()).unwrap();
    assert_eq!(found.interval, Interval::WithinTrace);
    assert_eq!(found.count(Verdict::Inconclusive), 3);
    let titles: Vec<_> =
        found.sections(&Shown::default()).into_iter().map(|section| section.title).collect();
    assert_eq!(titles, ["changed", "new", "gone"]);
    assert_eq!(judge(&found, &Policy::default()).answer, Answer::Inconclusive);
    let budget =
        |function: &str, limit| Budget { function: function.into(), what: What::NetAvg, limit };
    for (budget, answer, state) in [
        (budget("f", Limit::Time(1_400_000)), Answer::Pass, State::Kept),
        (budget("f", Limit::Time(1_200_000)), Answer::Regressed, State::Exceeded),
        (budget("f", Limit::Ratio(1.2)), Answer::Regressed, State::Exceeded),
        (budget("g", Limit::Ratio(1.2)), Answer::Pass, State::Kept),
        (budget("typo", Limit::Ratio(1.2)), Answer::Inconclusive, State::Unknown),
        (budget("old", Limit::Ratio(1.2)), Answer::Inconclusive, State::Unknown),
    ] {
        let policy = Policy { budgets: vec![budget], ..Policy::default() };
        let judgement = judge(&found, &policy);
        assert_eq!((judgement.answer, judgement.budgets[0].state), (answer, state), "{policy:?}");
    }
}

#[test]
fn a_baseline_that_ran_often_judges_single_runs() {
    let calibration = Calibration::learn(before(), &Options::default()).unwrap();
    let again = Calibration::from_json(calibration.to_json().as_bytes()).unwrap();
    assert_eq!(calibration, again);
    let options = Options { calibration: Some(&again), ..Options::default() };
    let one = |side: Side| Side { runs: side.runs.into_iter().skip(1).take(1).collect(), ..side };
    let found = compare(one(before()), one(after()), &options).unwrap();
    assert_eq!(found.interval, Interval::Calibrated);
    let f = found.functions.iter().find(|one| one.name == "f").unwrap();
    assert_eq!(f.verdict, Verdict::Regressed);
    let few = Side { runs: before().runs.into_iter().take(4).collect(), ..before() };
    let refused = Calibration::learn(few, &Options::default()).unwrap_err();
    assert_eq!(refused, "before: 4 runs of the baseline, expected 5 or more");
}

#[test]
fn an_injected_slow_down_is_found() {
    let same = compare(before(), before(), &Options::default()).unwrap();
    let policy = Policy::default();
    let name = victim(&same, &policy).unwrap().name.clone();
    assert_eq!(name, "f");
    let mut slower = before();
    inject(&mut slower, &[&name], None, Injection::Slower(4.0));
    let found = compare(before(), slower, &Options::default()).unwrap();
    let judgement = judge(&found, &policy);
    assert_eq!(judgement.answer, Answer::Regressed);
    assert_eq!(found.functions[judgement.offending[0]].name, name);
}

/// Everything that a comparison says, but for what the runs are called.
fn said(comparison: &Comparison) -> String {
    let mut json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    for side in ["before", "after"] {
        json[side]["sources"].take();
        json[side]["runs"].take();
    }
    json.to_string()
}

#[test]
fn the_order_of_runs_changes_nothing() {
    let straight = compare(before(), after(), &Options::default()).unwrap();
    let (mut b, mut a) = (before(), after());
    b.runs.reverse();
    a.runs.rotate_left(2);
    let turned = compare(b, a, &Options::default()).unwrap();
    assert_eq!(said(&straight), said(&turned));
}

#[test]
fn calls_are_not_counted_as_evidence() {
    let doubled = |mut side: Side| {
        for run in &mut side.runs {
            for row in &mut run.profile.rows {
                let copy = row.stats.clone();
                row.stats.merge(&copy);
            }
        }
        side
    };
    // A change that six runs of this noise just do not settle.
    let noisy = |name: &'static str, more: u64| {
        runs(name, move |by| vec![("f", 20, 1000 + more + 20 * by), ("g", 20, 700 + 3 * by)])
    };
    for more in [0, 50, 80, 120, 200] {
        let once = compare(noisy("a", 0), noisy("b", more), &Options::default()).unwrap();
        let twice = compare(doubled(noisy("a", 0)), doubled(noisy("b", more)), &Options::default());
        let of = |comparison: &Comparison| -> Vec<(String, Verdict)> {
            let mut all: Vec<_> =
                comparison.functions.iter().map(|one| (one.name.clone(), one.verdict)).collect();
            all.sort();
            all
        };
        assert_eq!(of(&once), of(&twice.unwrap()), "{more}");
    }
}

#[test]
fn a_red_gate_names_what_is_new_and_a_green_one_does_not() {
    let names = |before: Side, after: Side| {
        let found = compare(before, after, &Options::default()).unwrap();
        let judgement = judge(&found, &Policy::default());
        let new: Vec<_> =
            judgement.new.iter().map(|&at| found.functions[at].name.clone()).collect();
        (judgement.answer, new)
    };
    let slower = runs("b", |by| {
        vec![("f", 20, 1300 + by), ("g", 20, 500 + by), ("p/added", 40, 300 + by), ("old", 9, 10)]
    });
    let (answer, new) = names(before(), slower);
    assert_eq!(answer, Answer::Regressed);
    assert!(new.contains(&"added".to_owned()), "{new:?}");
    // It takes more than the share from which a new function is named.
    let with_new = runs("b", |by| {
        vec![
            ("f", 20, 1000 + by),
            ("g", 20, 500 + by),
            ("h.isra.0", 10, 200 + by),
            ("added", 20, 25),
        ]
    });
    assert_eq!(names(before(), with_new), (Answer::Pass, Vec::new()));
}

#[test]
fn calls_are_named_as_a_reason_only_if_there_are_more_of_them() {
    let of = |name, calls: u64, cost: u64| {
        runs(name, move |by| vec![("f", calls, cost + by), ("g", calls, cost + 2 * by)])
    };
    let reason = |after: Side| {
        let found = compare(of("a", 40, 1000), after, &Options::default()).unwrap();
        let judgement = judge(&found, &Policy::default());
        assert!(judgement.whole, "{judgement:?}");
        let reason = judgement.reasons.into_iter().find(|reason| reason.starts_with("whole run"));
        reason.unwrap()
    };
    let slower = reason(of("b", 40, 1500));
    assert!(!slower.contains("calls"), "{slower}");
    let more = reason(of("b", 80, 1000));
    assert!(more.contains(", calls +100.0%"), "{more}");
}

#[test]
fn sums_are_compared_by_run_where_one_side_has_more_runs() {
    let twice = |side: Side| {
        let mut runs = side.runs.clone();
        runs.extend(side.runs.into_iter().map(|run| Run { name: run.name + " again", ..run }));
        Side { runs, ..side }
    };
    let found = compare(before(), twice(after()), &lenient()).unwrap();
    let h = found.functions.iter().find(|one| one.name == "h").unwrap();
    assert_eq!((h.verdict, h.measure), (Verdict::Regressed, Measure::Total));
    assert!((h.ratio.unwrap() - 3.0).abs() < 0.1, "{:?}", h.ratio);
    // Also if there is only a ratio and no test.
    let measures = vec![Measure::Total];
    let options = Options { calls_min: 1e9, measures, ..Options::default() };
    let found = compare(before(), twice(after()), &options).unwrap();
    let h = found.functions.iter().find(|one| one.name == "h").unwrap();
    assert_eq!(h.verdict, Verdict::NotTested);
    assert!((h.ratio.unwrap() - 3.0).abs() < 0.1, "{:?}", h.ratio);
}

/// The sides and names of the runs that are odd.
fn odd_runs(before: Side, after: Side) -> Vec<(bool, String)> {
    let found = compare(before, after, &lenient()).unwrap();
    found.odd.into_iter().map(|odd| (odd.after, odd.run)).collect()
}

#[test]
fn a_run_is_odd_if_its_functions_go_apart() {
    // In one run half of the functions take twice as long, the others half as long.
    let at = |name, odd: Option<u64>| {
        runs(name, move |by| {
            let (up, down) = if odd == Some(by) { (2000, 500) } else { (1000, 1000) };
            vec![("a", 20, up + by), ("b", 20, down + by), ("c", 20, up + by), ("d", 20, down + by)]
        })
    };
    assert_eq!(odd_runs(at("x", None), at("y", Some(3))), [(true, "y2".to_owned())]);
    assert_eq!(odd_runs(at("x", None), at("y", None)), []);
}

#[test]
fn a_run_is_odd_if_all_of_it_is_slower() {
    // From run to run each function varies by 3 %, all of them together by less: 4 % more is usual for
    // a function, but not for a run.
    let names: Vec<String> = (0..40).map(|function| format!("f{function}")).collect();
    let at = |name: &'static str, odd: Option<u64>| {
        let one = |n: u64| {
            let cost = |function: u64| {
                let usual = 10_000 + (n * 7_919 + function * 10_473) % 301;
                if odd == Some(n) { usual * 104 / 100 } else { usual }
            };
            let calls = names.iter().zip(0..).map(|(name, at)| (name.as_str(), 5, cost(at)));
            run(&format!("{name}{n}"), &calls.collect::<Vec<_>>())
        };
        side(name, (0..8).map(one).collect())
    };
    assert_eq!(odd_runs(at("x", None), at("y", Some(4))), [(true, "y4".to_owned())]);
}

#[test]
fn the_main_caller_is_the_one_that_calls_most_and_never_the_function_itself() {
    let run = of_line(
        "a",
        "0 a( 1 f( 2 ) 3 f( 4 ) 5 ) 6 b( 7 f( 8 f( 9 f( 10 f( 11 ) ) ) ) 12 f( 13 ) 14 f( 15 ) ) \
         16 c( 17 g( 18 ) ) 19 d( 20 g( 21 ) ) 22 e( 23 e( 24 ) )",
    );
    let callers = callers::main_callers(&run.profile);
    let of = |name: &'static str| callers.get(&(name, None)).copied();
    assert_eq!(of("f"), Some("b"));
    // Of two that call equally often, the first by name.
    assert_eq!(of("g"), Some("c"));
    assert_eq!((of("a"), of("e")), (None, None));
}

#[test]
fn compact_rows_say_what_is_new_and_what_is_gone() {
    let found = compare(before(), after(), &Options::default()).unwrap();
    let table = compact(&[found], Measure::Net, &Shown::default());
    let text = format!("{:?}", table.rows);
    assert!(text.contains("\"new\"") && text.contains("\"gone\""), "{text}");
}

#[test]
fn a_function_keeps_its_key_from_build_to_build() {
    assert_eq!(function_key("h.isra.0"), function_key("h"));
    assert_ne!(function_key("h"), function_key("g"));
    assert_ne!(function_key("h.cold"), function_key("h"));
}

#[test]
fn of_an_even_number_of_runs_the_lower_middle_one_gives_the_percentile() {
    let of = |name: &'static str, runs: u64, cost: u64| {
        let one = |n: u64| run(&format!("{name}{n}"), &[("f", 120, cost + 64 * n)]);
        side(name, (0..runs).map(one).collect())
    };
    let found = compare(of("a", 6, 1024), of("b", 5, 2048), &Options::default()).unwrap();
    let sections = found.sections(&Shown { tails: true, ..Shown::default() });
    let tails = sections.into_iter().find(|section| section.title.starts_with("99th")).unwrap();
    let steps = |cell: &Cell| match cell {
        Cell::Time(ticks) => Some(ticks.0 / 64_000),
        _ => None,
    };
    let row: Vec<u64> = tails.table.rows[0].iter().filter_map(steps).collect();
    // The middle, the lowest and the highest run, before and after, in steps of 64 us.
    assert_eq!(row, [18, 16, 21, 34, 32, 36]);
}

fn random_side(name: &'static str) -> impl Strategy<Value = Side> {
    prop::collection::vec(random_calls(), 1..5).prop_map(move |calls| {
        let runs = calls.iter().enumerate().map(|(n, calls)| Run {
            name: format!("{name}{n}"),
            block: (n % 2 == 0).then(|| "boot".to_owned()),
            profile: calls.profile(),
            facts: Vec::new(),
            series: None,
            paths: None,
        });
        side(name, runs.collect())
    })
}

proptest! {
    #[test]
    fn a_side_and_itself_differ_in_nothing(one in random_side("a")) {
        let found = compare(one.clone(), one, &Options::default()).unwrap();
        prop_assert_eq!(found.changed().count(), 0);
        prop_assert!(found.functions.iter().all(|function| function.parts == Parts::default()));
        let everything = Shown { all: true, ..Shown::default() };
        prop_assert!(found.sections(&everything).is_empty());
        prop_assert!(judge(&found, &Policy::default()).offending.is_empty());
    }

    #[test]
    fn the_mirror_turns_every_sign(a in random_side("a"), b in random_side("b")) {
        let there = compare(a.clone(), b.clone(), &Options::default()).unwrap();
        let back = compare(b, a, &Options::default()).unwrap();
        prop_assert_eq!(there.functions.len(), back.functions.len());
        prop_assert_eq!(there.unchanged, back.unchanged);
        for function in &there.functions {
            let same = |other: &&Function| (&other.name, &other.module) == (&function.name, &function.module);
            let other = back.functions.iter().find(same).unwrap();
            prop_assert_eq!(function.parts.delta_net, -other.parts.delta_net);
            prop_assert_eq!(function.parts.from_calls, -other.parts.from_calls);
            prop_assert_eq!(function.parts.from_cost, -other.parts.from_cost);
            for (test, mirrored) in function.tests.iter().zip(&other.tests) {
                let (Some(test), Some(mirrored)) = (test, mirrored) else { continue };
                if test.estimate.is_finite() {
                    prop_assert!((test.estimate + mirrored.estimate).abs() < 1e-9);
                    prop_assert!((test.p - mirrored.p).abs() < 1e-9);
                }
                let is = |test: &stats::Tested, verdict| test.verdict == verdict;
                prop_assert_eq!(is(test, Of::Regressed), is(mirrored, Of::Improved));
                prop_assert_eq!(is(test, Of::Equivalent), is(mirrored, Of::Equivalent));
                prop_assert_eq!(is(test, Of::NotTested), is(mirrored, Of::NotTested));
            }
        }
    }
}
