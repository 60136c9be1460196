//! What the stitcher makes of events: text in, sums out. One test for each way in which a number was
//! once wrong; the properties that hold for every stream of events are in [`super::properties`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_import::{Bound, Grouping, ReadOptions};
use profctl_model::{FuncKind, Span};
use profctl_testkit::fixtures;

use crate::recorder::{Outcome, read};

mod clocks;
mod threads;

/// The sums of one function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) calls: u64,
    pub(crate) partial: u64,
    pub(crate) elapsed: u64,
    pub(crate) net: u64,
}

/// The sums of every function, as a report would show them.
pub(crate) fn sums(outcome: &Outcome) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for span in &outcome.recorded.spans {
        let of = sums.entry(outcome.func(span.func).name.clone()).or_default();
        of.calls += u64::from(!span.fidelity.is_partial());
        of.partial += u64::from(span.fidelity.is_partial());
        of.net += span.net.0;
        if span.outermost {
            of.elapsed += span.elapsed().0;
        }
    }
    for calls in &outcome.recorded.enclosed {
        let of = sums.get_mut(&outcome.func(calls.func).name).unwrap();
        of.elapsed -= (calls.wall - calls.off_cpu).0;
    }
    for calls in &outcome.recorded.outermost {
        let of = sums.get_mut(&outcome.func(calls.func).name).unwrap();
        of.elapsed += (calls.wall - calls.off_cpu).0;
    }
    sums
}

/// When the first call of a function began and ended.
fn times(outcome: &Outcome, name: &str) -> (u64, u64) {
    let found = outcome.recorded.spans.iter().find(|it| outcome.func(it.func).name == name);
    found.map(|span| (span.start.0, span.end.0)).unwrap()
}

/// Events in the plain format as a whole text.
pub(crate) fn plain(events: &str) -> String {
    let lines = events.split(';').map(str::trim).filter(|line| !line.is_empty());
    lines.fold("# profctl plain 1\n".to_owned(), |text, line| text + line + "\n")
}

pub(crate) fn options(window: [Option<u64>; 2]) -> ReadOptions {
    let [from, until] = window.map(|edge| edge.map(Bound::After));
    ReadOptions { from, until, ..ReadOptions::default() }
}

fn told(events: &str, options: &ReadOptions) -> String {
    let outcome = read(plain(events).as_bytes(), options).unwrap();
    let mut text = String::new();
    for (name, sums) in sums(&outcome) {
        let Sums { calls, partial, elapsed, net } = sums;
        writeln!(text, "{name}: {calls} calls, {partial} partial, {elapsed} {net}").unwrap();
    }
    for entry in &outcome.diags {
        writeln!(text, "{} {}", entry.code.name, entry.count).unwrap();
    }
    text
}

/// Each function with its complete and incomplete calls, elapsed and net; then the diagnostics.
fn check(events: &str, expected: &Expect) {
    expected.assert_eq(&told(events, &ReadOptions::default()));
}

fn check_window(events: &str, window: [Option<u64>; 2], expected: &Expect) {
    expected.assert_eq(&told(events, &options(window)));
}

#[test]
fn the_exit_of_a_call_that_was_ended_by_force_is_its_own() {
    check(
        "0 > a; 10 > b; 20 < a; 30 < b",
        &expect![[r"
            a: 1 calls, 0 partial, 20 10
            b: 0 calls, 1 partial, 10 10
            stitch/forced-exit 1
            stitch/late-exit 1
        "]],
    );
}

#[test]
fn the_exits_of_calls_that_were_entered_at_once_say_which_is_the_interrupt() {
    let text = "# profctl plain 1 entries=tied\n\
                0 > main\n2 > f\n2 > irq^\n5 < f\n9 < irq^\n10 < main\n";
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let spans = outcome.recorded.spans.iter();
    let told = spans.map(|span| {
        let name = outcome.func(span.func).name.as_str();
        (name, span.interrupt, span.start.0, span.end.0, span.net.0)
    });
    let expected = [("f", false, 2, 5, 3), ("irq", true, 2, 9, 4), ("main", false, 0, 10, 3)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn calls_are_tied_only_where_entries_may_be_and_came_at_once() {
    let events = ["0 > a; 0 > b; 5 < a; 9 < b", "0 > a; 3 > b; 5 < a; 9 < b"];
    for (header, events) in [("", events[0]), ("entries=tied", events[1])] {
        let text = plain(events).replace("plain 1", &format!("plain 1 {header}"));
        let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(outcome.count("stitch/forced-exit"), 1, "{events}");
        assert_eq!(outcome.count("stitch/late-exit"), 1, "{events}");
    }
}

#[test]
fn a_second_exit_is_of_a_call_that_was_not_seen() {
    check(
        "0 > a; 10 > b; 20 < a; 30 < b; 40 < b",
        &expect![[r"
            a: 1 calls, 0 partial, 20 10
            b: 0 calls, 2 partial, 40 30
            stitch/forced-exit 1
            stitch/late-exit 1
            stitch/unmatched-exit 1
        "]],
    );
}

#[test]
fn an_entry_states_either_length_or_both() {
    for (stated, expected) in [("wall=5", [5, 5]), ("net=3", [10, 3]), ("wall=5 net=3", [5, 3])] {
        let text = plain(&format!("0 > f {stated}; 10 < f"));
        let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        let f = sums(&outcome)["f"];
        assert_eq!([f.elapsed, f.net], expected, "{stated}");
    }
}

#[test]
fn a_call_that_is_said_to_be_incomplete_is_no_call() {
    check(
        "0 > a; 0 > b; 0 incomplete seen=exit; 10 < b; 20 > c; 20 incomplete seen=entry; 30 < c; 40 < a",
        &expect![[r"
            a: 1 calls, 0 partial, 40 20
            b: 0 calls, 1 partial, 10 10
            c: 0 calls, 1 partial, 10 10
        "]],
    );
}

#[test]
fn an_incomplete_call_lasts_as_it_was_seen_unless_its_record_says_how_long() {
    let seen = |events: &str| {
        let outcome = read(plain(events).as_bytes(), &ReadOptions::default()).unwrap();
        (calls(&plain(events)), outcome.count("stitch/stated-mismatch"))
    };
    let cut = seen("0 > f wall=50 net=40; 30 . g 1");
    assert_eq!(cut, (vec!["g 30..31 1".to_owned(), "f 0..31 30".to_owned()], 0));
    let said = seen("0 > f wall=50 net=20; 0 incomplete seen=entry; 10 . g 1; 30 < f");
    assert_eq!(said, (vec!["g 10..11 1".to_owned(), "f 0..50 20".to_owned()], 0));
    for (net, mismatches) in [(20, 0), (19, 1)] {
        let whole = seen(&format!("0 > f wall=50 net={net}; 10 . g 30; 50 < f"));
        let expected = vec!["g 10..40 30".to_owned(), format!("f 0..50 {net}")];
        assert_eq!(whole, (expected, mismatches));
    }
}

#[test]
fn exits_at_the_start_nest_in_one_another() {
    check(
        "0 > a; 100 < a; 200 < b; 300 < c; 400 < d",
        &expect![[r"
            a: 1 calls, 0 partial, 100 100
            b: 0 calls, 1 partial, 200 100
            c: 0 calls, 1 partial, 300 100
            d: 0 calls, 1 partial, 400 100
            stitch/unmatched-exit 3
        "]],
    );
}

#[test]
fn exits_at_the_start_that_show_their_depths_nest_as_well() {
    // The second exit at depth 1 cannot have been open from the start.
    check(
        "0 > a depth=2; 100 < a depth=2; 200 < b depth=1; 300 < e depth=1; 400 < d depth=0",
        &expect![[r"
            a: 1 calls, 0 partial, 100 100
            b: 0 calls, 1 partial, 200 100
            d: 0 calls, 1 partial, 400 200
            e: 0 calls, 1 partial, 0 0
            stitch/unmatched-exit 3
        "]],
    );
}

#[test]
fn recursion_below_an_exit_without_entry_counts_once() {
    check(
        "0 > f; 10 > f; 15 < f; 20 < f; 30 < f; 50 < g; 60 < f",
        &expect![[r"
            f: 2 calls, 2 partial, 60 40
            g: 0 calls, 1 partial, 50 20
            stitch/unmatched-exit 3
        "]],
    );
    let outcome = read(plain("0 > f; 10 < f; 30 < f").as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(sums(&outcome)["f"], Sums { calls: 1, partial: 1, elapsed: 30, net: 30 });
}

#[test]
fn recursion_of_calls_that_are_known_when_they_return_counts_once() {
    check(
        "5 = f 2 depth=3; 10 = g 6 depth=2; 20 = f 15 depth=1; 30 = f 5 depth=1",
        &expect![[r"
            f: 3 calls, 0 partial, 20 16
            g: 1 calls, 0 partial, 6 4
        "]],
    );
}

#[test]
fn a_call_around_the_window_is_in_it() {
    for events in ["0 > a; 100 < a", "0 . a 100; 100 ! m", "0 > b; 1 > a; 99 < a; 100 < b"] {
        let outcome = read(plain(events).as_bytes(), &options([Some(40), Some(60)])).unwrap();
        assert_eq!(sums(&outcome)["a"], Sums { calls: 0, partial: 1, elapsed: 20, net: 20 });
        assert_eq!(outcome.span_of_time.0.0 + 20, outcome.span_of_time.1.0);
    }
}

#[test]
fn calls_are_clipped_at_both_edges() {
    check_window(
        "0 > a; 10 . leaf 20; 40 > b; 50 . leaf 30; 80 < b; 100 < a; 100 > c; 110 < c",
        [Some(20), Some(60)],
        &expect![[r"
            a: 0 calls, 1 partial, 40 10
            b: 0 calls, 1 partial, 20 10
            leaf: 0 calls, 2 partial, 20 20
        "]],
    );
}

#[test]
fn callees_that_came_late_are_those_of_the_caller() {
    // By their timestamps.
    check(
        "0 > a depth=0; 5000 > b depth=1; 5001 . c 5 depth=2; 9000 . d 40 depth=2;
         9500 . e 60 depth=2; 9999 < b depth=1 wall=10; 20000 < a depth=0 wall=20000",
        &expect![[r"
            a: 1 calls, 0 partial, 20000 19890
            b: 1 calls, 0 partial, 10 5
            c: 1 calls, 0 partial, 5 5
            d: 1 calls, 0 partial, 40 40
            e: 1 calls, 0 partial, 60 60
        "]],
    );
    // What fits belongs where it is shown.
    check(
        "0 > a depth=0; 5000 > b depth=1; 5001 . c 5 depth=2; 9000 . d 40 depth=2;
         9999 < b depth=1 wall=4900; 20000 < a depth=0 wall=20000",
        &expect![[r"
            a: 1 calls, 0 partial, 20000 15100
            b: 1 calls, 0 partial, 4900 4855
            c: 1 calls, 0 partial, 5 5
            d: 1 calls, 0 partial, 40 40
        "]],
    );
}

#[test]
fn what_follows_a_late_call_is_late() {
    // `irq` is shown at the depth of `b`, which had returned: so had it when `c` began.
    let text = "# tracer: function_graph\n\
                 1)               |  a() {\n\
                 1)               |    b() {\n\
                 1)   0.972 us    |      early();\n\
                 1)   1.093 us    |    irq();\n\
                 1)   0.841 us    |      c();\n\
                 1)   2.535 us    |    }\n\
                 1)   9.000 us    |  }\n";
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let net = |name: &str| sums(&outcome)[name].net;
    assert_eq!([net("a"), net("b"), net("irq"), net("c")], [4531, 1563, 1093, 841]);
    let found = outcome.recorded.spans.iter().find(|span| outcome.func(span.func).name == "b");
    assert_eq!(found.unwrap().late.roots, 2);
}

#[test]
fn what_follows_a_late_call_and_those_that_were_late_to_it_is_late() {
    // `irq` is shown at the depth of `b`, and `other` came late to it in turn.
    let text = "# tracer: function_graph\n\
                 1)               |  a() {\n\
                 1)               |    b() {\n\
                 1)               |    irq() {\n\
                 1) + 15.684 us   |    other();\n\
                 1)   4.319 us    |    }\n\
                 1)   0.952 us    |      c();\n\
                 1)   4.319 us    |    }\n\
                 1) + 90.000 us   |  }\n";
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let net = |name: &str| sums(&outcome)[name].net;
    let nets = ["a", "b", "irq", "other", "c"].map(net);
    assert_eq!((nets, nets.iter().sum::<u64>()), ([64_726, 4319, 4319, 15_684, 952], 90_000));
    let found = outcome.recorded.spans.iter().find(|span| outcome.func(span.func).name == "b");
    assert_eq!(found.unwrap().late.roots, 3);
}

#[test]
fn the_table_of_the_readme_has_no_interrupt_in_vfs_write() {
    let traces = fixtures::of_format("function_graph");
    let path = traces.iter().find(|path| path.ends_with("sched-events-abstime-proc-tail-7.3.txt"));
    let outcome = read(&fixtures::read(path.unwrap()), &ReadOptions::default()).unwrap();
    assert_eq!(sums(&outcome)["vfs_write"].net, 182_373);
    assert_eq!(outcome.count("stitch/clamped"), 0);
}

#[test]
fn an_interrupt_is_a_call_and_not_a_function() {
    let read = |events: &str| read(plain(events).as_bytes(), &ReadOptions::default()).unwrap();
    let stolen = |outcome: &Outcome| -> u64 {
        outcome.recorded.spans.iter().map(|span| span.stolen.0).sum()
    };
    let kind =
        |outcome: &Outcome| outcome.funcs.iter().find(|func| func.name == "handler").unwrap().kind;
    let mixed = read(
        "0 > a; 10 irq>; 10 > handler; 15 < handler; 15 irq<; 20 > handler; 50 < handler; 60 < a",
    );
    assert_eq!((stolen(&mixed), kind(&mixed)), (5, FuncKind::Function));
    let before = read(
        "0 > a; 5 > handler; 8 < handler; 10 irq>; 10 > handler; 15 < handler; 15 irq<; 60 < a",
    );
    assert_eq!((stolen(&before), kind(&before)), (5, FuncKind::Function));
    let only = read("0 > a; 10 irq>; 10 > handler; 15 < handler; 15 irq<; 60 < a");
    assert_eq!((stolen(&only), kind(&only)), (5, FuncKind::Interrupt));
}

#[test]
fn the_grouping_changes_no_call() {
    let events = "0 > a[m]; 10 > b[n]; 20 < a[m]; 30 < b[n]; 40 < c[m]; 50 < d[n]; 60 > a[m]";
    let nets = |grouping| {
        let options = ReadOptions { grouping, ..ReadOptions::default() };
        let outcome = read(plain(events).as_bytes(), &options).unwrap();
        let nets: Vec<_> = outcome.recorded.spans.iter().map(|s| (s.func, s.net, s.wall)).collect();
        let counts: Vec<_> = outcome.diags.iter().map(|d| (d.code.name, d.count)).collect();
        (nets, counts)
    };
    let by_function = nets(Grouping::Function);
    for grouping in [Grouping::Module, Grouping::Kind, Grouping::Stack] {
        assert_eq!(nets(grouping), by_function, "{grouping:?}");
    }
}

#[test]
fn a_call_is_outermost_if_no_other_of_its_group_is_open() {
    let events = "0 > a[m]; 1 > b[n]; 2 > c[m]; 3 . d[k] 1; 5 . e[n] 1; 7 <; 8 <; 9 <; \
                  10 > a[m]; 11 irq>; 11 > h[n]; 12 > b[n]; 13 . x^ 1; 15 <; 16 <; 16 irq<; \
                  17 . h[n] 1; 19 <";
    for (grouping, expected) in [
        (Grouping::Function, "d e c b a x b h h a"),
        (Grouping::Module, "d b a x h h a"),
        (Grouping::Kind, "a h a"),
        (Grouping::Stack, "a a"),
    ] {
        let options = ReadOptions { grouping, ..ReadOptions::default() };
        let outcome = read(plain(events).as_bytes(), &options).unwrap();
        let spans = outcome.recorded.spans.iter().filter(|span| span.outermost);
        let names: Vec<&str> = spans.map(|span| &*outcome.func(span.func).name).collect();
        assert_eq!(names.join(" "), expected, "{grouping:?}");
    }
}

/// Every call as `NAME START..END NET`, in the order in which they ended.
fn calls(text: &str) -> Vec<String> {
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let call = |span: &Span| {
        let name = &outcome.func(span.func).name;
        format!("{name} {}..{} {}", span.start.0, span.end.0, span.net.0)
    };
    outcome.recorded.spans.iter().map(call).collect()
}

#[test]
fn a_return_adopts_what_is_deeper_and_nothing_else() {
    let events = "0 > f depth=0; 1 . x 4 depth=2; 5 . y 5 depth=4; 10 = r 9 depth=3; \
                  20 = q 18 depth=1; 30 < f depth=0";
    // r is around y only, q around x and r.
    let expected = ["x 1..5 4", "y 5..10 5", "r 1..10 4", "q 2..20 5", "f 0..30 12"];
    assert_eq!(calls(&plain(events)), expected);
}

#[test]
fn orphans_of_a_call_that_has_ended_are_not_adopted_in_the_next() {
    let events = "0 > f depth=0; 1 . x 4 depth=3; 10 < f depth=0; \
                  10 > g depth=0; 30 = r 15 depth=2; 40 < g depth=0";
    assert_eq!(calls(&plain(events)), ["x 1..5 4", "f 0..10 6", "r 15..30 15", "g 10..40 15"]);
}

#[test]
fn a_call_above_orphans_shows_that_their_callers_have_ended() {
    let events = "0 > f depth=0; 1 . x 4 depth=3; 6 . a 2 depth=1; 20 = r 10 depth=2; \
                  30 < f depth=0";
    let expected = ["x 1..5 4", "a 6..8 2", "r 10..20 10", "f 0..30 14"];
    assert_eq!(calls(&plain(events)), expected);
}

#[test]
fn orphans_are_forgotten_with_the_call_that_they_lie_in_and_no_others() {
    let events = "0 > m depth=0; 0 > f depth=1; 1 . x 4 depth=4; 10 < f depth=1; \
                  10 > g depth=1; 30 = r 15 depth=3; 40 < g depth=1; 50 < m depth=0";
    let expected = ["x 1..5 4", "f 0..10 6", "r 15..30 15", "g 10..40 15", "m 0..50 10"];
    assert_eq!(calls(&plain(events)), expected);
    let events = "0 > m depth=0; 1 . x 4 depth=2; 6 > f depth=3; 7 . y 1 depth=5; 9 < f depth=3; \
                  20 = r 19 depth=1; 30 < m depth=0";
    let expected = ["x 1..5 4", "y 7..8 1", "f 6..9 2", "r 1..20 12", "m 0..30 11"];
    assert_eq!(calls(&plain(events)), expected);
}

#[test]
fn a_caller_that_is_seen_at_its_end_may_recurse_in_calls_of_a_caller_that_is_missing() {
    check(
        "0 > g depth=2; 1 . f 4 depth=5; 20 = f 19 depth=4; 30 < g depth=2",
        &expect![[r"
            f: 2 calls, 0 partial, 19 19
            g: 1 calls, 0 partial, 30 11
        "]],
    );
}

#[test]
fn a_caller_that_is_seen_at_its_end_may_recurse_through_calls_whose_callers_are_missing() {
    check(
        "0 > f depth=2; 1 . x 4 depth=5; 10 < f depth=2; 20 = x 18 depth=1",
        &expect![[r"
            f: 1 calls, 0 partial, 10 6
            x: 2 calls, 0 partial, 18 12
        "]],
    );
}

#[test]
fn a_line_that_is_too_long_is_counted() {
    let text = plain(&format!("0 > f; 5 # {}; 9 < f", "x".repeat(17 << 20)));
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let found = outcome.diags.iter().map(|entry| (entry.code.name, entry.count));
    assert_eq!(found.collect::<Vec<_>>(), [("input/line-too-long", 1)]);
    assert_eq!(sums(&outcome)["f"].net, 9);
}
