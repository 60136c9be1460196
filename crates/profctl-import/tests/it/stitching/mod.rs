//! What the stitcher makes of events: text in, sums and calls out. The properties that hold for every
//! stream of events are in [`super::properties`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_import::{Bound, Grouping, ReadOptions};
use profctl_model::{FuncKind, Span};
use profctl_testkit::fixtures;

use crate::recorder::{Outcome, read};

mod clocks;
mod late;
mod orphans;
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
    plain_with("", events)
}

/// The same with fields in the first line.
fn plain_with(header: &str, events: &str) -> String {
    let lines = events.split(';').map(str::trim).filter(|line| !line.is_empty());
    lines.fold(format!("# profctl plain 1 {header}\n"), |text, line| text + line + "\n")
}

/// Reads a text with the default options.
fn read_text(text: &str) -> Outcome {
    read(text.as_bytes(), &ReadOptions::default()).unwrap()
}

pub(crate) fn options(window: [Option<u64>; 2]) -> ReadOptions {
    let [from, until] = window.map(|edge| edge.map(Bound::After));
    ReadOptions { from, until, ..ReadOptions::default() }
}

fn told(events: &str, header: &str, options: &ReadOptions) -> String {
    let text = plain_with(header, events);
    let outcome = read(text.as_bytes(), options).unwrap();
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
    expected.assert_eq(&told(events, "", &ReadOptions::default()));
}

fn check_window(events: &str, window: [Option<u64>; 2], expected: &Expect) {
    expected.assert_eq(&told(events, "", &options(window)));
}

#[test]
fn a_callee_that_took_no_time_at_the_end_of_a_window_is_not_counted() {
    for (events, callees) in [
        ("0 > a; 3 . b 2; 10 . c 0; 10 < a", [0, 1]),
        ("0 > a; 3 . b 2; 10 > c; 10 . d 0; 10 < c; 10 < a", [0, 1]),
    ] {
        let options = options([None, Some(10)]);
        let outcome = read(plain(events).as_bytes(), &options).unwrap();
        let spans = &outcome.recorded.spans;
        let found: Vec<_> = spans.iter().map(|span| (span.callees, span.descendants)).collect();
        assert_eq!(found, callees.map(|n| (n, u64::from(n))), "{events}");
    }
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
    let outcome = read_text(text);
    let spans = outcome.recorded.spans.iter();
    let told = spans.map(|span| {
        let name = outcome.func(span.func).name.as_str();
        (name, span.interrupt, span.start.0, span.end.0, span.net.0)
    });
    let expected = [("f", false, 2, 5, 3), ("irq", true, 2, 9, 4), ("main", false, 0, 10, 3)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn calls_that_were_entered_at_once_keep_what_is_said_of_them() {
    let text = plain_with(
        "entries=tied",
        "0 > main; 2 > f; 2 > g; 2 incomplete seen=entry; 5 < f; 9 < g; 10 < main",
    );
    let outcome = read_text(&text);
    let partial = ["f", "g"].map(|name| sums(&outcome)[name].partial);
    assert_eq!(partial, [0, 1]);
}

#[test]
fn calls_are_tied_only_where_entries_may_be_and_came_at_once() {
    let events = ["0 > a; 0 > b; 5 < a; 9 < b", "0 > a; 3 > b; 5 < a; 9 < b"];
    for (header, events) in [("", events[0]), ("entries=tied", events[1])] {
        let text = plain_with(header, events);
        let outcome = read_text(&text);
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
        let outcome = read_text(&text);
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
        let outcome = read_text(&plain(events));
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
fn a_call_whose_end_was_not_seen_ends_no_earlier_than_what_was_seen_of_it() {
    check(
        "0 > f; 10 . x 1; 5 ~ f seen=entry",
        &expect![[r"
            f: 0 calls, 1 partial, 10 9
            x: 1 calls, 0 partial, 1 1
            stitch/backwards 1
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
fn the_table_of_the_readme_has_no_interrupt_in_vfs_write() {
    let traces = fixtures::of_format("function_graph");
    let path = traces.iter().find(|path| path.ends_with("sched-events-abstime-proc-tail-7.3.txt"));
    let outcome = read(&fixtures::read(path.unwrap()), &ReadOptions::default()).unwrap();
    assert_eq!(sums(&outcome)["vfs_write"].net, 182_373);
    assert_eq!(outcome.count("stitch/clamped"), 0);
}

#[test]
fn an_interrupt_is_a_call_and_not_a_function() {
    let read = |events: &str| read_text(&plain(events));
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
fn what_is_called_straight_from_an_entry_is_an_interrupt_whatever_was_before() {
    // The end of the inner interrupt comes behind calls that are none.
    let text = plain(
        "0 > a; 1 irq>; 2 > h; 3 irq>; 4 < h; 4 . x 1; 5 > y; 6 irq<; 7 . z 1; 8 < y; 9 > x; \
         10 < x; 12 < a",
    );
    let outcome = read_text(&text);
    let interrupts = outcome.recorded.spans.iter().filter(|span| span.interrupt);
    let told = interrupts.map(|span| (outcome.func(span.func).name.as_str(), span.start.0));
    assert_eq!(told.collect::<Vec<_>>(), [("h", 2), ("x", 9)]);
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
    let outcome = read_text(text);
    let call = |span: &Span| {
        let name = &outcome.func(span.func).name;
        format!("{name} {}..{} {}", span.start.0, span.end.0, span.net.0)
    };
    outcome.recorded.spans.iter().map(call).collect()
}

#[test]
fn a_line_that_is_too_long_is_counted() {
    let text = plain(&format!("0 > f; 5 # {}; 9 < f", "x".repeat(17 << 20)));
    let outcome = read_text(&text);
    let found = outcome.diags.iter().map(|entry| (entry.code.name, entry.count));
    assert_eq!(found.collect::<Vec<_>>(), [("input/line-too-long", 1)]);
    assert_eq!(sums(&outcome)["f"].net, 9);
}
