//! Where calls are laid in time, with and without times that are recorded.

use profctl_model::Tick;

use super::{calls, options, plain, plain_with, read_text, sums, times};
use crate::recorder::read;

#[test]
fn calls_before_any_time_are_in_the_span_of_the_trace() {
    for (events, span) in [
        ("- . f 5", (0, 5)),
        ("- lost 3; - . f 5; 40 . g 1", (0, 41)),
        ("- lost 3; 40 . g 1", (40, 41)),
        ("- cpu1 > f; - cpu0 = g 7; 40 cpu1 < f", (0, 40)),
    ] {
        let outcome = read(plain(events).as_bytes(), &options([None; 2])).unwrap();
        let (first, last) = outcome.span_of_time;
        assert_eq!((first.0, last.0), span, "{events}");
    }
}

#[test]
fn without_timestamps_interrupts_at_the_end_are_late_if_they_do_not_fit() {
    let text = "# profctl plain 1 timeline=synthetic\n\
                - > a depth=0\n- > b depth=1\n- . irq_early^ 2 depth=2\n- . c 5 depth=2\n\
                - . irq_enter^ 3 depth=2\n- > irq^ depth=2\n- . rearm 6 depth=3\n\
                - < irq^ depth=2 wall=40\n- < b depth=1 wall=10\n- < a depth=0 wall=100\n";
    let outcome = read_text(text);
    let net = |name: &str| sums(&outcome)[name].net;
    // The early interrupt hit b; the last one, which is two calls, did not.
    assert_eq!([net("a"), net("b"), net("c"), net("irq")], [47, 3, 5, 34]);
    assert_eq!(outcome.count("stitch/clamped"), 0);
}

#[test]
fn without_timestamps_an_interrupt_that_is_followed_by_a_call_is_not_late() {
    for end in ["< irq^ depth=2 wall=40", "~ irq^ seen=entry"] {
        let events = format!(
            "- > a depth=0; - > b depth=1; - > irq^ depth=2; - . c 40 depth=3; - {end}; \
             - . c 5 depth=2; - < b depth=1 wall=10; - < a depth=0 wall=100"
        );
        let outcome = read_text(&plain_with("timeline=synthetic", &events));
        assert_eq!(sums(&outcome)["b"].net, 0, "{end}");
        assert_eq!(outcome.count("stitch/clamped"), 1, "{end}");
    }
}

#[test]
fn without_timestamps_calls_are_laid_end_to_end_on_each_cpu() {
    let text = "# tracer: function_graph\n\
                 0)   2.000 us    |  a();\n\
                 1)   3.000 us    |  b();\n\
                 0)               |  c() {\n\
                 1)   5.000 us    |  d();\n\
                 0)   4.000 us    |  }\n\
                 1)   1.000 us    |  e();\n";
    let outcome = read_text(text);
    let times = |name: &str| times(&outcome, name);
    let expected = [(0, 2000), (0, 3000), (2000, 6000), (3000, 8000), (8000, 9000)];
    assert_eq!(["a", "b", "c", "d", "e"].map(times), expected);
}

#[test]
fn a_trace_begins_with_a_switch_that_has_no_time() {
    let text = plain("- switch> swtch; 10 switch< swtch; 12 > f; 20 < f");
    let outcome = read_text(&text);
    let first = outcome.recorded.spans.iter().map(|span| span.start).min();
    assert_eq!((first, outcome.span_of_time.0), (Some(Tick(0)), Tick(0)));
}

#[test]
fn calls_after_a_loss_come_after_those_before_it() {
    // The switch is the last that is known of `f`; the clock steps back behind the loss.
    let text = plain(
        "0 cpu0 a-1 > f; 1000 cpu0 switch a-1 b-2; 1000 cpu0 lost 3; 20 cpu0 switch b-2 a-1;
         30 cpu0 a-1 > g; 40 cpu0 a-1 < g",
    );
    let outcome = read_text(&text);
    let times = |name: &str| times(&outcome, name);
    assert_eq!([times("f"), times("g")], [(0, 1000), (1000, 1000)]);
    assert_eq!(outcome.count("stitch/backwards"), 2);
}

#[test]
fn a_return_without_a_time_is_laid_behind_the_calls_that_it_adopts() {
    let events = "- . c 5 depth=3; - = b 8 depth=2; - . x 4 depth=2; - . y 6 depth=4; \
                  - = a 20 depth=1; - . z 1 depth=1";
    let text = plain_with("timeline=synthetic", events);
    // b took 3 on its own, and a 20 - (8 + 4 + 6).
    let expected = ["c 0..5 5", "b 0..8 3", "x 8..12 4", "y 12..18 6", "a 0..20 2", "z 20..21 1"];
    assert_eq!(calls(&text), expected);
}

#[test]
fn a_return_without_a_time_is_laid_behind_calls_that_it_does_not_adopt() {
    for depth in [2, 3] {
        let events = format!("- . x 4 depth={depth}; - = r 9 depth=3; - . z 1 depth=1");
        let text = plain_with("timeline=synthetic", &events);
        assert_eq!(calls(&text), ["x 0..4 4", "r 4..13 9", "z 13..14 1"], "{depth}");
    }
}

#[test]
fn the_first_value_of_a_counter_is_where_the_trace_begins() {
    let text = plain_with("counter-bits=8", "5 > f; 250 . x 1; 3 < f");
    assert_eq!(calls(&text), ["x 250..251 1", "f 5..259 253"]);
}

#[test]
fn a_trace_begins_at_its_earliest_time() {
    let events = "9 cpu0 a-1 > f; 5 cpu1 b-2 > g; 12 cpu0 a-1 < f; 11 cpu1 b-2 < g";
    let outcome = read_text(&plain(events));
    assert_eq!(outcome.span_of_time, (Tick(5), Tick(12)));
}

#[test]
fn a_window_begins_after_the_first_record_and_stays_where_it_is() {
    let events = "9 cpu0 a-1 > f; 5 cpu1 b-2 > g; 14 cpu0 a-1 < f; 17 cpu1 b-2 < g";
    for window in [[Some(3), None], [Some(3), Some(6)]] {
        let outcome = read(plain(events).as_bytes(), &options(window)).unwrap();
        assert_eq!([times(&outcome, "f").0, times(&outcome, "g").0], [12, 12], "{window:?}");
    }
    let outcome = read(plain(events).as_bytes(), &options([None, Some(6)])).unwrap();
    assert_eq!([times(&outcome, "f").1, times(&outcome, "g").1], [14, 15]);
}

#[test]
fn a_trace_of_sums_is_as_long_as_their_own_times() {
    let text = plain_with(
        "timeline=synthetic",
        "- sum f calls=3 elapsed=30 net=10; - sum g calls=1 elapsed=12 net=12",
    );
    let outcome = read_text(&text);
    assert_eq!(outcome.span_of_time, (Tick(0), Tick(22)));
    let totals = outcome.recorded.totals.iter();
    let totals =
        totals.map(|sum| (&*outcome.func(sum.func).name, sum.calls, sum.elapsed.0, sum.net.0));
    assert_eq!(totals.collect::<Vec<_>>(), [("f", 3, 30, 10), ("g", 1, 12, 12)]);
}

#[test]
fn a_loss_is_where_its_cpu_was_last_seen_or_where_it_is_recorded() {
    for (header, events, time) in [
        ("", "5 cpu0 a-1 > f; 250 cpu0 a-1 < f; 253 cpu1 lost 3", 253),
        ("", "5 cpu0 a-1 > f; 250 cpu0 a-1 < f; 253 cpu1 b-2 ! mark; 254 cpu1 lost 3", 253),
        // What a counter says is no time.
        ("counter-bits=8", "5 cpu0 a-1 > f; 3 cpu0 a-1 < f; 9 cpu1 lost 3", 259),
    ] {
        let outcome = read_text(&plain_with(header, events));
        assert_eq!(outcome.recorded.gaps[0].time, Tick(time), "{events}");
    }
}

#[test]
fn without_timestamps_what_has_no_cpu_has_a_clock_of_its_own() {
    let text = plain_with("timeline=synthetic", "- . a 5; - cpu0 . b 7; - . c 1; - cpu1 . d 3");
    assert_eq!(calls(&text), ["a 0..5 5", "b 0..7 7", "c 5..6 1", "d 0..3 3"]);
}

#[test]
fn without_timestamps_a_call_is_as_long_as_its_exit_states() {
    for depth in ["", " depth=0"] {
        let events = format!("- > a{depth}; - . c 5; - < a{depth} wall=20; - . d 1");
        let text = plain_with("timeline=synthetic", &events);
        assert_eq!(calls(&text), ["c 0..5 5", "a 0..20 15", "d 20..21 1"], "{depth}");
    }
}

#[test]
fn instants_at_the_end_of_a_window_are_not_in_it() {
    let events = "0 a-1 ! mark; 2 a-1 ! mark; 6 a-1 ! mark; 7 a-1 ! mark; 9 a-1 ! mark";
    let outcome = read(plain(events).as_bytes(), &options([Some(2), Some(7)])).unwrap();
    let times = outcome.recorded.marks.iter().map(|mark| mark.time.0);
    assert_eq!(times.collect::<Vec<_>>(), [2, 6]);
}

#[test]
fn a_call_is_incomplete_at_the_edge_that_cuts_it() {
    let events = "0 a-1 ! mark; 3 a-1 > f; 9 a-1 < f; 20 a-1 ! mark";
    for (window, expected) in [
        ([Some(5), Some(15)], (true, false)),
        ([Some(1), Some(5)], (false, true)),
        ([Some(3), Some(5)], (false, true)),
        ([Some(5), Some(9)], (true, false)),
        ([Some(4), Some(6)], (true, true)),
    ] {
        let outcome = read(plain(events).as_bytes(), &options(window)).unwrap();
        let fidelity = outcome.recorded.spans[0].fidelity;
        let found = (fidelity.start_inferred, fidelity.end_inferred);
        assert_eq!(found, expected, "{window:?}");
    }
}
