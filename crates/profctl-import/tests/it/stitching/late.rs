//! Calls that came late to the one in which they are shown.

use std::fmt::Write as _;

use expect_test::expect;
use profctl_import::ReadOptions;

use super::{check, options, plain_with, read_text, sums, told};

/// What [`check`] compares, of times in microseconds.
fn in_microseconds(events: &str) -> String {
    told(events, "unit=us", &ReadOptions::default())
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
    check(
        "0 > a depth=0; 5000 > b depth=1; 9000 . d 40 depth=2; 9999 < b depth=1 wall=40;
         20000 < a depth=0 wall=20000",
        &expect![[r"
            a: 1 calls, 0 partial, 20000 19960
            b: 1 calls, 0 partial, 40 0
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
    let outcome = read_text(text);
    let net = |name: &str| sums(&outcome)[name].net;
    assert_eq!([net("a"), net("b"), net("irq"), net("c")], [4531, 1563, 1093, 841]);
    let found = outcome.recorded.spans.iter().find(|span| outcome.func(span.func).name == "b");
    assert_eq!(found.unwrap().late.roots, 2);
}

#[test]
fn what_follows_a_late_call_is_late_whatever_it_calls() {
    // `new` is met for the first time. By its timestamp, `c` is not late.
    for callees in
        ["8 . d 1", "8 . new 1", "8 . d 1 depth=3; 9 . new 1", "8 . new 1 depth=3; 9 . d 1"]
    {
        let events = format!(
            "0 . d 1 depth=0; 1 > a depth=0; 1 > b depth=1; 2 . irq 5 depth=1; 7 > c depth=2; \
             {callees} depth=3; 13 < c depth=2 wall=6; 25 < b depth=1 wall=9; \
             31 < a depth=0 wall=30"
        );
        let outcome = read_text(&plain_with("unit=us exits=late", &events));
        let net = |name: &str| sums(&outcome)[name].net;
        assert_eq!([net("a"), net("b"), net("irq")], [10, 9, 5], "{callees}");
    }
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
    let outcome = read_text(text);
    let net = |name: &str| sums(&outcome)[name].net;
    let nets = ["a", "b", "irq", "other", "c"].map(net);
    assert_eq!((nets, nets.iter().sum::<u64>()), ([64_726, 4319, 4319, 15_684, 952], 90_000));
    let found = outcome.recorded.spans.iter().find(|span| outcome.func(span.func).name == "b");
    assert_eq!(found.unwrap().late.roots, 3);
}

#[test]
fn a_nested_call_that_came_late_is_outermost() {
    let events = "0 > main depth=0; 0 > f depth=1; 1 . f 2 depth=2; 20 . f 8 depth=2; \
                  40 < f depth=1 wall=9; 50 < main depth=0";
    let expected = expect![[r"
        f: 3 calls, 0 partial, 17 17
        main: 1 calls, 0 partial, 50 33
    "]];
    expected.assert_eq(&in_microseconds(events));
}

#[test]
fn without_timestamps_a_nested_call_that_came_late_is_outermost() {
    let events = "- > a depth=0; - > irq^ depth=1; - . irq^ 40 depth=2; - < irq^ depth=1 wall=10; \
                  - < a depth=0 wall=100";
    let expected = expect![[r"
        a: 1 calls, 0 partial, 100 50
        irq: 2 calls, 0 partial, 50 50
    "]];
    expected.assert_eq(&told(events, "timeline=synthetic", &ReadOptions::default()));
}

#[test]
fn what_was_nested_in_a_call_before_does_not_come_late_to_the_next() {
    // The other CPU has come less far, so that it seems to be behind the late call.
    let events = "- cpu0 x-1 . pad 1000 depth=0; - cpu0 x-1 > f depth=0; - cpu0 x-1 > g depth=1; \
                  - cpu0 x-1 . g 7 depth=2; - cpu0 x-1 . f 3 depth=2; \
                  - cpu0 x-1 < g depth=1 wall=12; - cpu1 x-1 > g depth=1; \
                  - cpu1 x-1 . irq^ 40 depth=2; - cpu1 x-1 < g depth=1 wall=5; \
                  - cpu1 x-1 < f depth=0 wall=100";
    let expected = expect![[r"
        f: 2 calls, 0 partial, 100 46
        g: 3 calls, 0 partial, 17 14
        irq: 1 calls, 0 partial, 40 40
        pad: 1 calls, 0 partial, 1000 1000
    "]];
    expected.assert_eq(&told(events, "timeline=synthetic exits=late", &ReadOptions::default()));
}

#[test]
fn a_call_whose_caller_is_missing_in_a_late_one_leaves_others_late() {
    let events = "0 > root depth=0; 0 > main depth=1; 20 . late 8 depth=2; 30 > v depth=2; \
                  31 . o 3 depth=5; 38 < v depth=2 wall=8; 40 < main depth=1 wall=10; \
                  70 < root depth=0";
    let expected = expect![[r"
        late: 1 calls, 0 partial, 8 8
        main: 1 calls, 0 partial, 10 10
        o: 1 calls, 0 partial, 3 3
        root: 1 calls, 0 partial, 70 44
        v: 1 calls, 0 partial, 8 5
    "]];
    expected.assert_eq(&in_microseconds(events));
}

#[test]
fn nothing_before_a_call_whose_caller_is_missing_came_late() {
    let events = "0 > main depth=0; 0 > v depth=1; 20 . late 8 depth=2; 30 . o 3 depth=4; \
                  40 < v depth=1 wall=10; 50 < main depth=0";
    let expected = expect![[r"
        late: 1 calls, 0 partial, 8 8
        main: 1 calls, 0 partial, 50 40
        o: 1 calls, 0 partial, 3 3
        v: 1 calls, 0 partial, 10 0
        stitch/clamped 1
    "]];
    expected.assert_eq(&in_microseconds(events));
}

#[test]
fn old_callees_are_forgotten_and_the_last_may_still_have_come_late() {
    let mut events = "0 > main depth=0; 0 > v depth=1; ".to_owned();
    for n in 1..=300 {
        write!(events, "{} . check 1 depth=2; ", 10 * n).unwrap();
    }
    events += "3050 . irq^ 5 depth=2; ";
    // What they call is not late to the same call.
    for start in [3060, 4060, 5060] {
        write!(events, "{start} > late depth=2; ").unwrap();
        for n in 0..250 {
            write!(events, "{} . leaf 1 depth=3; ", start + n).unwrap();
        }
        write!(events, "{} < late depth=2 wall=1000; ", start + 1000).unwrap();
    }
    events += "6100 < v depth=1 wall=3020; 6200 < main depth=0";
    let expected = expect![[r"
        check: 300 calls, 0 partial, 300 300
        irq: 1 calls, 0 partial, 5 5
        late: 3 calls, 0 partial, 3000 2250
        leaf: 750 calls, 0 partial, 750 750
        main: 1 calls, 0 partial, 6200 175
        v: 1 calls, 0 partial, 3020 2720
    "]];
    expected.assert_eq(&in_microseconds(&events));
}

#[test]
fn a_call_came_late_if_it_began_later_and_the_caller_has_time_for_it() {
    // `v` returned at 39. Where stamps are rougher than durations, by a microsecond at most, so is
    // what they say.
    for (header, start, length, is_late) in [
        ("unit=us", 40, 12, false),
        ("unit=us", 40, 11, true),
        ("unit=us", 39, 11, false),
        ("unit=us leaf-ends=rough", 39, 13, false),
        ("unit=us leaf-ends=rough", 39, 12, true),
        ("unit=us leaf-ends=rough", 38, 12, false),
    ] {
        for before in [
            "0 a-1 > main depth=0; 0 a-1 . s 30 depth=1; 30 a-1 > v depth=1",
            "0 switch b-2 a-1; 0 a-1 > main depth=0; 1 switch a-1 b-2; 31 switch b-2 a-1; \
             30 a-1 > v depth=1",
        ] {
            // With times, an interrupt is not late for what it is.
            for callee in ["late", "late^"] {
                let events = format!(
                    "{before}; {start} a-1 . {callee} {length} depth=2; 50 a-1 < v depth=1 wall=9; \
                     51 a-1 < main depth=0"
                );
                let told = told(&events, header, &ReadOptions::default());
                let net = if is_late { "9 9" } else { "9 0" };
                assert!(told.contains(&format!("v: 1 calls, 0 partial, {net}\n")), "{told}");
                assert_eq!(told.contains("stitch/clamped 1"), !is_late, "{told}");
            }
        }
    }
}

#[test]
fn nothing_comes_late_to_a_call_that_states_no_length() {
    let events = "0 > p depth=0; 1 < p depth=0; 2 > main depth=0; 40 > v depth=1; \
                  50 . c 12 depth=2; 50 < v depth=1; 99 < main depth=0";
    let told = told(events, "unit=us leaf-ends=rough", &ReadOptions::default());
    assert!(told.contains("v: 1 calls, 0 partial, 10 0\n"), "{told}");
    assert!(told.contains("stitch/clamped 1"), "{told}");
}

#[test]
fn of_late_calls_the_last_ones_take_the_time_of_the_caller() {
    let events = "0 > main depth=0; 0 . s 30 depth=1; 30 > v depth=1; 40 . first 6 depth=2; \
                  46 . second 6 depth=2; 50 < v depth=1 wall=9; 51 < main depth=0";
    let expected = expect![[r"
        first: 1 calls, 0 partial, 6 6
        main: 1 calls, 0 partial, 51 6
        s: 1 calls, 0 partial, 30 30
        second: 1 calls, 0 partial, 6 6
        v: 1 calls, 0 partial, 9 3
    "]];
    expected.assert_eq(&in_microseconds(events));
}

#[test]
fn very_many_nested_calls_count_once() {
    let mut events = "0 > f depth=0; ".to_owned();
    for n in 1..=9000 {
        write!(events, "{} . f 1 depth=1; ", 10 * n).unwrap();
    }
    events += "99999 < f depth=0 wall=99999";
    assert_eq!(in_microseconds(&events), "f: 9001 calls, 0 partial, 99999 99999\n");
}

#[test]
fn old_callees_are_forgotten_in_a_window_as_well() {
    let mut events = "0 > main depth=0; 0 > v depth=1; ".to_owned();
    for n in 1..=600 {
        write!(events, "{n} . check 1 depth=2; ").unwrap();
    }
    events += "800 . irq^ 5 depth=2; 900 < v depth=1 wall=604; 1000 < main depth=0";
    let window = options([Some(0), Some(802_000)]);
    let expected = expect![[r"
        check: 600 calls, 0 partial, 600 600
        irq: 0 calls, 1 partial, 2 2
        main: 0 calls, 1 partial, 802 196
        v: 1 calls, 0 partial, 604 4
    "]];
    expected.assert_eq(&told(&events, "unit=us", &window));
}
