use super::super::fixture::{Sums, comparison, function, tested};
use super::super::stats::{Global, Verdict as Of};
use super::super::{Cause, Parts};
use super::*;

/// A function of that verdict by its elapsed time, which grew from one to the other.
fn slower(name: &str, verdict: Verdict, elapsed: [u64; 2]) -> Function {
    let sides = elapsed.map(|elapsed| (1, [10, 100, elapsed]));
    Function { verdict, measure: Measure::Elapsed, ..function(name, sides) }
}

/// Nothing that moved all functions alike.
fn global() -> Global {
    Global {
        factor: 0.0,
        ci_low: 0.0,
        ci_high: 0.0,
        p: 1.0,
        p_regressed: 1.0,
        verdict: Of::Equivalent,
        normalized: false,
    }
}

fn accepted(names: &[&str]) -> Policy {
    let standing = Standing { excuse: Some(Excuse::Accepted("known".into())), owner: None };
    let standings = names.iter().map(|&name| (name.to_owned(), standing.clone())).collect();
    Policy { standings, ..Policy::default() }
}

#[test]
fn accepted_functions_excuse_a_caller_if_they_grew_by_four_fifths_of_its_growth() {
    let cause = |caller: Function, grown: [u64; 2]| {
        // What became faster takes nothing away.
        let of = |name, more| slower(name, Verdict::Regressed, [1000, 1000 + more]);
        let functions = vec![
            of("a", grown[0]),
            of("b", grown[1]),
            slower("faster", Verdict::Regressed, [1000, 500]),
            caller,
        ];
        let judgement = judge(&comparison(functions), &accepted(&["a", "b", "faster"]));
        judgement.excused.into_iter().find(|(at, _)| *at == 3).map(|(_, excuse)| excuse)
    };
    let caller = || slower("f", Verdict::Regressed, [5000, 6000]);
    let by = |name: &str| Some(Excuse::Calls(name.into()));
    assert_eq!(cause(caller(), [300, 500]), by("b"));
    assert_eq!(cause(caller(), [500, 300]), by("a"));
    assert_eq!(cause(caller(), [400, 400]), by("a"));
    assert_eq!(cause(caller(), [300, 499]), None);
    // Its own time is not theirs.
    assert_eq!(cause(Function { measure: Measure::Net, ..caller() }, [900, 900]), None);
}

#[test]
fn the_whole_run_is_excused_by_what_is_accepted_of_it() {
    let whole = |busy: [u64; 2], verdict, policy: &Policy| {
        let of = |name, delta_net| Function {
            parts: Parts { delta_net, from_calls: 0, from_cost: delta_net },
            ..slower(name, verdict, [100, 100])
        };
        let mut known = comparison(vec![of("a", 300), of("less", -50), of("quarantined", 500)]);
        (known.whole.busy, known.whole.verdict) = (busy, Verdict::Regressed);
        judge(&known, policy).whole
    };
    let red = |busy: [u64; 2]| {
        let mut policy = accepted(&["a", "less"]);
        let quarantined = Standing { excuse: Some(Excuse::Quarantined), owner: None };
        policy.standings.insert("quarantined".into(), quarantined);
        whole(busy, Verdict::Regressed, &policy)
    };
    // 300 of it are accepted, and 5 % of 1000 is the margin.
    assert!(!red([1000, 1350]));
    assert!(red([1000, 1351]));
    // Accepted by name, and not accepted at all.
    assert!(!whole([1000, 9000], Verdict::Equivalent, &accepted(&[WHOLE_RUN])));
    assert!(whole([1000, 1000], Verdict::Equivalent, &accepted(&["a"])));
    let only = Policy { only: Some("a".into()), ..Policy::default() };
    assert!(!whole([1000, 9000], Verdict::Equivalent, &only));
}

#[test]
fn a_new_function_is_named_if_it_is_large_or_as_long_as_what_a_caller_grew() {
    let new = |net: u64, elapsed: u64, caller: Function| {
        let new = |name, sums: Sums| function(name, [(1, [0, 0, 0]), sums]);
        let functions =
            vec![caller, new("new", (1, [5, net, elapsed])), new("tiny", (1, [5, 1, 1]))];
        let mut known = comparison(functions);
        known.whole.busy = [2000, 2000];
        judge(&known, &Policy::default()).new
    };
    let caller = || slower("f", Verdict::Regressed, [5000, 5200]);
    // A two hundredth of 2000 is 10.
    assert!(new(9, 9, caller()).is_empty());
    assert_eq!(new(10, 10, caller()), [1]);
    // Of 200, a half to five quarters.
    for (elapsed, expected) in [(99, 0), (100, 1), (250, 1), (251, 0)] {
        assert_eq!(new(9, elapsed, caller()).len(), expected, "{elapsed}");
    }
    assert!(new(9, 100, Function { measure: Measure::Net, ..caller() }).is_empty());
    // A caller that takes no longer says nothing.
    assert!(new(9, 100, slower("f", Verdict::Regressed, [5000, 5000])).is_empty());
    assert!(new(9, 100, slower("f", Verdict::Regressed, [5200, 5000])).is_empty());
    // Neither is anything named where nothing fails.
    assert!(new(900, 900, slower("f", Verdict::Equivalent, [5000, 5200])).is_empty());
}

#[test]
fn what_moves_all_functions_alike_fails_the_gate_unless_it_cannot_be_told() {
    let red = |interval, veto, verdict| {
        let mut known = comparison(Vec::new());
        let global = Global { verdict, ..global() };
        (known.interval, known.global) = (interval, Some(global));
        let warning =
            super::super::Warning { code: "unit", message: String::new(), veto, confounds: false };
        known.warnings = vec![warning];
        known.whole.verdict = Verdict::Equivalent;
        let judgement = judge(&known, &Policy::default());
        (judgement.whole, judgement.answer)
    };
    let between = Interval::BetweenRuns;
    assert_eq!(red(between, false, Of::Regressed), (true, Answer::Regressed));
    assert_eq!(red(between, true, Of::Regressed), (false, Answer::Inconclusive));
    assert!(!red(between, false, Of::Suspect).0);
    assert!(!red(Interval::Calibrated, false, Of::Regressed).0);
}

#[test]
fn the_whole_run_says_by_how_much_and_why() {
    let reason = |verdict, busy: [u64; 2], calls: [u64; 2]| {
        let mut known = comparison(Vec::new());
        known.whole.busy_tested = None;
        known.whole.calls_tested = None;
        (known.whole.busy, known.whole.calls, known.whole.verdict) = (busy, calls, verdict);
        known.global = Some(Global { factor: 1.0, verdict: Of::Regressed, ..global() });
        judge(&known, &Policy { strict: true, ..Policy::default() }).reasons[0].clone()
    };
    let busy = "whole run: busy time +50.0%";
    assert_eq!(reason(Verdict::Regressed, [100, 150], [200, 209]), busy);
    assert_eq!(reason(Verdict::Suspect, [100, 150], [200, 191]), busy);
    assert_eq!(reason(Verdict::Suspect, [100, 150], [20, 22]), format!("{busy}, calls +10.0%"));
    assert_eq!(reason(Verdict::Regressed, [100, 150], [20, 18]), format!("{busy}, calls -10.0%"));
    assert_eq!(reason(Verdict::Regressed, [100, 150], [0, 18]), busy);
    // Without times, the calls are what was tested.
    assert_eq!(reason(Verdict::Regressed, [0, 0], [20, 30]), "whole run: calls +50.0%");
    let wide = "run-wide: net time per call of the median function +100.0%";
    assert_eq!(reason(Verdict::Equivalent, [100, 150], [20, 20]), wide);
}

#[test]
fn the_largest_cause_is_named_with_its_caller() {
    let cause = |why, caller: Option<&str>| {
        let caller = caller.map(str::to_owned);
        let mut known = comparison(Vec::new());
        known.whole.verdict = Verdict::Regressed;
        known.whole.causes = ["f", "g"]
            .map(|name| Cause { name: name.into(), why, delta: 1, caller: caller.clone() })
            .into();
        let reasons = judge(&known, &Policy::default()).reasons;
        reasons[0].split_once("; most of it: ").unwrap().1.to_owned()
    };
    assert_eq!(cause(Why::MoreCalls, None), "f (called more often)");
    assert_eq!(cause(Why::New, Some("main")), "f (new, called by main)");
}

#[test]
fn a_budget_holds_a_figure_of_the_side_after() {
    let mut f = function("f", [(2, [20, 300, 500]), (2, [20, 400, 900])]);
    f.after.total.counted = 0;
    f.after.total.net_of_calls.max = 70;
    f.after.total.elapsed_of_calls.max = 80;
    // Complete calls are 10 of 20.
    let sides = [(2, [20, 0, 0]), (2, [20, 400, 0])];
    let mut partial = function("partial", sides);
    partial.after.total.counted = 20;
    let gone = function("gone", [(2, [20, 300, 500]), (2, [0, 0, 0])]);
    let known = comparison(vec![f, partial, gone]);
    let state = |function: &str, what, limit| {
        let budgets = vec![Budget { function: function.into(), what, limit }];
        let judgement = judge(&known, &Policy { budgets, ..Policy::default() });
        let answer = match judgement.budgets[0].state {
            State::Exceeded => Answer::Regressed,
            State::Kept => Answer::Pass,
            State::Unknown => Answer::Inconclusive,
        };
        assert_eq!(judgement.answer, answer);
        judgement.budgets[0].state
    };
    let (kept, exceeded, unknown) = (State::Kept, State::Exceeded, State::Unknown);
    // In a run: 200 net, after 150.
    for (what, most) in [
        (What::Net, 200),
        (What::Elapsed, 450),
        (What::NetMax, 70),
        (What::ElapsedMax, 80),
        (What::Calls, 10),
    ] {
        assert_eq!(state("f", what, Limit::Time(most)), kept, "{what:?}");
        assert_eq!(state("f", what, Limit::Time(most - 1)), exceeded, "{what:?}");
    }
    assert_eq!(state("f", What::Net, Limit::Ratio(1.34)), kept);
    assert_eq!(state("f", What::Net, Limit::Ratio(1.33)), exceeded);
    // Of no complete call, the longest is not known. Nothing has no multiple.
    assert_eq!(state("partial", What::NetMax, Limit::Time(1000)), unknown);
    assert_eq!(state("partial", What::Net, Limit::Ratio(1000.0)), unknown);
    assert_eq!(state("gone", What::Net, Limit::Time(1000)), unknown);
    assert_eq!(state("misspelled", What::Net, Limit::Time(1000)), unknown);
}

#[test]
fn figures_are_known_by_their_names() {
    let names = What::ALL.map(What::name);
    assert_eq!(
        names,
        [
            "elapsed_avg",
            "elapsed_max",
            "elapsed",
            "net_avg",
            "net_max",
            "net_p50",
            "net_p90",
            "net_p99",
            "elapsed_p50",
            "elapsed_p90",
            "elapsed_p99",
            "net",
            "calls"
        ]
    );
    for what in What::ALL {
        assert_eq!(What::from_name(what.name()), Some(what));
        assert_eq!(what.is_percentile(), what.name().contains("_p"));
    }
    assert_eq!(What::from_name("net_p95"), None);
}

#[test]
fn a_single_function_passes_if_it_is_known_not_to_be_slower() {
    let answer = |verdict, after: [u64; 3]| {
        let f = Function { verdict, ..function("f", [(1, [10, 100, 100]), (1, after)]) };
        let policy = Policy { only: Some("f".into()), ..Policy::default() };
        let judgement = judge(&comparison(vec![function("g", [(1, [1, 1, 1]); 2]), f]), &policy);
        (judgement.answer, judgement.reasons[0].clone())
    };
    let other = [10, 101, 101];
    for verdict in [Verdict::Equivalent, Verdict::Improved, Verdict::Gone] {
        assert_eq!(answer(verdict, other), (Answer::Pass, format!("f: {}", verdict.name())));
    }
    for verdict in [Verdict::Inconclusive, Verdict::NotTested, Verdict::Suspect, Verdict::New] {
        let expected = (Answer::Inconclusive, format!("f: {}", verdict.name()));
        assert_eq!(answer(verdict, other), expected);
    }
    assert_eq!(
        answer(Verdict::NotTested, [10, 100, 100]),
        (Answer::Pass, "f: unchanged".to_owned())
    );
    assert_eq!(answer(Verdict::Regressed, other).0, Answer::Regressed);
}

#[test]
fn what_is_called_more_often_weighs_as_much_as_all_below_it() {
    let weight = |calls: [u64; 2], net: [u64; 2], elapsed: [u64; 2]| {
        let sides = [0, 1].map(|side| (1, [calls[side], net[side], elapsed[side]]));
        function("f", sides).weight()
    };
    assert_eq!(weight([10, 20], [100, 200], [1000, 2000]), 1000);
    assert_eq!(weight([20, 10], [200, 100], [2000, 1000]), 1000);
    assert_eq!(weight([0, 20], [0, 200], [0, 2000]), 2000);
    assert_eq!(weight([10, 10], [100, 200], [1000, 2000]), 100);
    assert_eq!(weight([10, 20], [100, 200], [1000, 1001]), 100);
}

#[test]
fn runs_that_are_too_few_are_said() {
    let why = |runs: [usize; 2], interval| {
        let mut known = comparison(Vec::new());
        (known.tested, known.interval) = (0, interval);
        let run = ("run".to_owned(), None);
        known.before.runs = vec![run.clone(); runs[0]];
        known.after.runs = vec![run; runs[1]];
        let judgement = judge(&known, &Policy::default());
        assert_eq!(judgement.answer, Answer::Inconclusive);
        judgement.reasons[0].clone()
    };
    let few = why([3, 2], Interval::BetweenRuns);
    assert!(few.starts_with("3 runs before and 2 after cannot"), "{few}");
    let calls = why([3, 3], Interval::BetweenRuns);
    assert!(calls.starts_with("no function is called often enough"), "{calls}");
    let one = why([3, 3], Interval::WithinTrace);
    assert!(one.starts_with("one run per side cannot"), "{one}");
}

#[test]
fn reasons_count_what_fails_the_build_and_how_it_was_found() {
    let reasons = |functions: Vec<Function>, policy: &Policy| {
        let mut known = comparison(functions);
        (known.whole.verdict, known.tested) = (Verdict::Equivalent, 9);
        let judgement = judge(&known, policy);
        (judgement.answer, judgement.reasons.join(", "))
    };
    let red = |functions| {
        let (answer, reasons) = reasons(functions, &Policy::default());
        assert_eq!(answer, Answer::Regressed);
        reasons
    };
    let own = || {
        let sides = [(1, [10, 100, 100]), (1, [10, 200, 200])];
        Function { verdict: Verdict::Regressed, ..function("own", sides) }
    };
    let caller = || slower("caller", Verdict::Regressed, [100, 200]);
    let new = || Function {
        charged: Some(Charged { caller: "f".into(), tested: tested(Of::Regressed, 0.5, 0.1) }),
        ..function("new", [(1, [0, 0, 0]), (1, [10, 100, 100])])
    };
    let tail = "slower by more than the margin";
    assert_eq!(red(vec![own()]), format!("1 function {tail}"));
    assert_eq!(
        red(vec![own(), caller(), own()]),
        format!("3 functions {tail} (1 of them including callees)")
    );
    assert_eq!(red(vec![new()]), format!("1 new function makes its caller {tail}"));
    assert_eq!(
        red(vec![new(), new(), own()]),
        format!("2 new functions make their callers {tail}, 1 function {tail}")
    );
    let budget = Budget { function: "own".into(), what: What::Net, limit: Limit::Time(9) };
    let policy = Policy { budgets: vec![budget], ..accepted(&["own"]) };
    let expected = (Answer::Regressed, "1 budget exceeded".to_owned());
    assert_eq!(reasons(vec![own()], &policy), expected);
    let excused = "9 functions tested, 1 function slower and excused by the policy".to_owned();
    assert_eq!(reasons(vec![own()], &accepted(&["own"])), (Answer::Pass, excused));
    let none = "9 functions tested, none slower by more than the margin".to_owned();
    assert_eq!(reasons(Vec::new(), &Policy::default()), (Answer::Pass, none));
}

#[test]
fn sides_that_differ_in_more_than_the_build_are_judged_if_that_is_allowed() {
    let answer = |veto, confounds, allow_confounded| {
        let message = "the clocks differ".to_owned();
        let mut known = comparison(Vec::new());
        known.warnings = vec![super::super::Warning { code: "unit", message, veto, confounds }];
        known.tested = 1;
        judge(&known, &Policy { allow_confounded, ..Policy::default() }).answer
    };
    assert_eq!(answer(false, false, false), Answer::Pass);
    assert_eq!(answer(false, true, false), Answer::Inconclusive);
    assert_eq!(answer(false, true, true), Answer::Pass);
    assert_eq!(answer(true, false, true), Answer::Inconclusive);
}

#[test]
fn a_misspelled_budget_is_named() {
    let budget = |function: &str| Budget {
        function: function.into(),
        what: What::Net,
        limit: Limit::Time(1000),
    };
    let f = function("f", [(1, [10, 100, 100]); 2]);
    let policy = Policy { budgets: vec![budget("f"), budget("g")], ..Policy::default() };
    let reasons = judge(&comparison(vec![f]), &policy).reasons;
    assert_eq!(reasons, ["budget: no function `g` in the trace"]);
}

#[test]
fn excuses_and_budgets_have_names_that_stay() {
    let excuses =
        [Excuse::Accepted("known".into()), Excuse::Quarantined, Excuse::Calls("f".into())];
    let texts = ["accepted: known", "in quarantine", "because of f, which is accepted"];
    assert_eq!(excuses.each_ref().map(Excuse::name), ["accepted", "quarantined", "calls-accepted"]);
    assert_eq!(excuses.each_ref().map(Excuse::text), texts);
    let states = [State::Kept, State::Exceeded, State::Unknown].map(State::name);
    assert_eq!(states, ["kept", "exceeded", "unknown"]);
}
