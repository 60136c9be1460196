//! Calls whose callers are seen when they return, or never.

use std::fmt::Write as _;

use expect_test::expect;

use super::{Sums, calls, check, plain, read_text, sums};

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
fn a_call_that_was_open_at_the_start_is_seen_from_the_first_record() {
    // Who left first is not known.
    for events in ["5 < depth=3; 20 < b depth=2", "5 <; 20 < b"] {
        assert_eq!(calls(&plain(events)), ["b 5..20 15"], "{events}");
    }
}

#[test]
fn no_call_was_open_at_the_start_below_one_that_was_seen_further_out() {
    // Who left first is not known, and `y` was met before.
    let events = "0 b-2 . y 1 depth=0; 5 a-1 < depth=2; 6 a-1 . y 1 depth=0; 9 a-1 < z depth=1";
    assert_eq!(calls(&plain(events)), ["y 0..1 1", "y 6..7 1", "z 9..9 0"]);
}

#[test]
fn without_depths_an_exit_without_entry_is_of_a_callee_of_the_open_call() {
    let events = "0 > a; 0 > b; 5 < x wall=5; 10 < b wall=2; 20 < a wall=20";
    assert_eq!(calls(&plain(events)), ["x 0..5 5", "b 0..10 0", "a 0..20 18"]);
}

#[test]
fn very_many_calls_below_an_exit_without_entry_count_once() {
    let mut events = "0 > g; ".to_owned();
    for n in 1..=5000 {
        write!(events, "{n} . f 1; ").unwrap();
    }
    let outcome = read_text(&plain(&(events + "6000 < g; 9000 < f")));
    let sums = sums(&outcome);
    assert_eq!(sums["f"], Sums { calls: 5000, partial: 1, elapsed: 9000, net: 8000 });
    assert_eq!(sums["g"], Sums { calls: 1, partial: 0, elapsed: 6000, net: 1000 });
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
    let outcome = read_text(&plain("0 > f; 10 < f; 30 < f"));
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
fn a_return_adopts_what_is_deeper_and_nothing_else() {
    let events = "0 > f depth=0; 1 . x 4 depth=2; 5 . y 5 depth=4; 10 = r 9 depth=3; \
                  20 = q 18 depth=1; 30 < f depth=0";
    // r is around y only, q around x and r.
    let expected = ["x 1..5 4", "y 5..10 5", "r 1..10 4", "q 2..20 5", "f 0..30 12"];
    assert_eq!(calls(&plain(events)), expected);
}

#[test]
fn without_a_depth_a_return_adopts_nothing() {
    assert_eq!(
        calls(&plain("0 > f; 1 . x 4; 20 = r 19; 30 < f")),
        ["x 1..5 4", "r 1..20 19", "f 0..30 7"]
    );
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
fn a_caller_may_recurse_through_others_that_are_missing_too() {
    check(
        "0 > m depth=2; 1 . x 4 depth=6; 10 = g 9 depth=5; 20 = x 19 depth=4; 30 < m depth=2",
        &expect![[r"
            g: 1 calls, 0 partial, 9 5
            m: 1 calls, 0 partial, 30 11
            x: 2 calls, 0 partial, 19 14
        "]],
    );
}

#[test]
fn exits_without_names_behind_a_loss_are_those_of_the_calls_before_it() {
    check(
        "0 > f depth=0; 1 > g depth=1; 4 lost 3; 9 < depth=1; 10 < depth=0",
        &expect![[r"
            f: 0 calls, 2 partial, 2 2
            g: 0 calls, 2 partial, 0 0
            stitch/gap 1
            stitch/lost-events 3
            stitch/unmatched-exit 2
        "]],
    );
    check(
        "0 > f depth=0; 1 > g depth=1; 4 lost 3; 10 < depth=0",
        &expect![[r"
            f: 0 calls, 2 partial, 1 1
            g: 0 calls, 1 partial, 0 0
            stitch/gap 1
            stitch/lost-events 3
            stitch/unmatched-exit 1
        "]],
    );
    check(
        "0 > f; 1 > g; 4 lost 3; 9 <; 10 <",
        &expect![[r"
            f: 0 calls, 2 partial, 2 2
            g: 0 calls, 2 partial, 0 0
            stitch/gap 1
            stitch/lost-events 3
            stitch/unmatched-exit 2
        "]],
    );
}
