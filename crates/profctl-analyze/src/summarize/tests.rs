//! The flat profile of hand-written calls, and its invariants on random ones.

use std::fmt::Write;

use expect_test::{Expect, expect};
use profctl_model::diag::codes;
use profctl_model::{TickUnit, Ticks, Timebase, Timeline};
use proptest::prelude::*;

use super::*;
use crate::testing::{Calls, random_calls, show};

/// Recursion, an interrupt, an idle interval and a call that is cut short.
const MIXED: &str = "0 main( 10 f( 14 f( 20 ) 21 irq( 25 ) 30 ) 40 g( 41 off6 50 ) 55 f( 57 ) \
                     60 ) 60 idle( 90 ) 90 main( 100 ~)";

fn check(line: &str, options: &TableOptions<'_>, expected: &Expect) {
    expected.assert_eq(&show(&Calls::parse(line).profile().table(options).unwrap()));
}

#[test]
fn mcraes_columns() {
    let expected = expect![[r"
        elapsed|net|calls|net_max|net_avg|net_min|real_pct|net_pct|name
        64|38|1|28|28|28|38.0%|59.4%|main
        30|30|1|30|30|30|30.0%|-|idle
        22|18|3|10|6|2|18.0%|28.1%|f
        4|4|1|4|4|4|4.0%|6.2%|g
        4|4|1|4|4|4|4.0%|6.2%|irq
        # 1 incomplete call: in totals, not in calls or max/avg/min
    "]];
    check(MIXED, &TableOptions::default(), &expected);
}

#[test]
fn chosen_columns_and_order() {
    let columns = "name,module,kind,wall,off_cpu,stolen,net_stddev,elapsed_min,elapsed_max";
    let options = TableOptions {
        sort: "name".into(),
        top: Some(3),
        matching: Some(&|name, _| name != "g"),
        columns: Some(columns.split(',').map(Into::into).collect()),
        ..TableOptions::default()
    };
    check(
        MIXED,
        &options,
        &expect![[r"
            name|module|kind|wall|off_cpu|stolen|net_stddev|elapsed_min|elapsed_max
            f|-|function|22|0|4|3|2|20
            idle|-|idle|30|0|0|0|30|30
            irq|-|interrupt|4|0|0|0|4|4
            # 1 incomplete call: in totals, not in calls or max/avg/min
        "]],
    );
}

#[test]
fn percentiles_and_corrected_times() {
    let options = TableOptions {
        sort: "net_p50".into(),
        percentiles: vec![50.0, 99.9],
        overhead: Some(Ticks(1)),
        ..TableOptions::default()
    };
    check(
        MIXED,
        &options,
        &expect![[r"
            elapsed|elapsed_corrected|net|net_corrected|calls|net_max|net_avg|net_min|net_p50|net_p99.9|elapsed_p50|elapsed_p99.9|real_pct|net_pct|name
            30|29|30|29|1|30|30|30|30|30|30|30|30.0%|-|idle
            64|52|38|33|1|28|28|28|28|28|54|54|38.0%|59.4%|main
            22|16|18|13|3|10|6|2|6|10|6|20|18.0%|28.1%|f
            4|3|4|3|1|4|4|4|4|4|4|4|4.0%|6.2%|g
            4|3|4|3|1|4|4|4|4|4|4|4|4.0%|6.2%|irq
            # 1 incomplete call: in totals, not in calls or max/avg/min
        "]],
    );
}

#[test]
fn groups_add_up_to_the_same_totals() {
    let line = "0 @a #0 main( 2 k:x( 5 k:y( 7 ) 9 ) 10 ) 3 @b #1 idle( 8 irq( 9 ) 20 )";
    let mut text = String::new();
    for by in By::ALL {
        let profile = Calls::parse_by(line, by).profile();
        let (busy, calls) = (profile.busy(), profile.calls());
        let columns = ["name", "kind", "elapsed", "net", "calls", "net_pct"];
        let columns = Some(columns.map(Into::into).into());
        let table = profile.table(&TableOptions { columns, ..TableOptions::default() }).unwrap();
        writeln!(
            text,
            "{}: busy {busy} calls {calls} functions {}",
            by.name(),
            profile.n_functions
        )
        .unwrap();
        text.push_str(&show(&table));
    }
    expect![[r"
        function: busy 11 calls 5 functions 5
        name|kind|elapsed|net|calls|net_pct
        idle|idle|17|16|1|-
        x|function|7|5|1|45.5%
        main|function|10|3|1|27.3%
        y|function|2|2|1|18.2%
        irq|interrupt|1|1|1|9.1%
        module: busy 11 calls 5 functions 5
        name|kind|elapsed|net|calls|net_pct
        (no module)|-|27|20|3|36.4%
        k|-|7|7|2|63.6%
        thread: busy 11 calls 5 functions 5
        name|kind|elapsed|net|calls|net_pct
        b|-|17|17|2|9.1%
        a|-|10|10|3|90.9%
        cpu: busy 11 calls 5 functions 5
        name|kind|elapsed|net|calls|net_pct
        cpu 1|-|17|17|2|9.1%
        cpu 0|-|10|10|3|90.9%
        kind: busy 11 calls 5 functions 5
        name|kind|elapsed|net|calls|net_pct
        idle|idle|17|16|1|-
        function|function|10|10|3|90.9%
        interrupt|interrupt|1|1|1|9.1%
    "]]
    .assert_eq(&text);
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let refused =
        |options: &TableOptions<'_>| Calls::parse(MIXED).profile().table(options).unwrap_err();
    let columns = |name: &str| Some(vec![name.to_owned()]);
    let of = |columns| refused(&TableOptions { columns, ..TableOptions::default() });
    let text = [
        of(columns("nett")),
        of(columns("net_corrected")),
        of(columns("net_p0")),
        refused(&TableOptions { percentiles: vec![101.0], ..TableOptions::default() }),
    ];
    expect![[r#"
        unknown column `nett`; did you mean `net`? (columns: elapsed, elapsed_corrected, net, net_corrected, calls, partial, net_max, net_avg, net_min, net_stddev, elapsed_max, elapsed_avg, elapsed_min, wall, off_cpu, stolen, interrupted, real_pct, net_pct, module, kind, name, net_p50 and elapsed_p50 for any percentile)
        column `net_corrected` needs `--overhead`, the cost of an event
        unknown column `net_p0`; did you mean `net_pct`? (columns: elapsed, elapsed_corrected, net, net_corrected, calls, partial, net_max, net_avg, net_min, net_stddev, elapsed_max, elapsed_avg, elapsed_min, wall, off_cpu, stolen, interrupted, real_pct, net_pct, module, kind, name, net_p50 and elapsed_p50 for any percentile)
        percentile 101, expected one above 0 and at most 100"#]].assert_eq(&text.join("\n"));
}

#[test]
fn notes_tell_what_was_lost_and_repaired() {
    let mut calls = Calls::parse("0 ~f( 5 )");
    calls.meta.timebase.timeline = Timeline::Synthetic;
    for (code, n) in [
        (&codes::LOST_EVENTS, 12),
        (&codes::GAP, 2),
        (&codes::UNMATCHED_EXIT, 1),
        (&codes::CLAMPED, 3),
        (&codes::STATED_MISMATCH, 2),
        (&codes::SKIPPED_RECORD, 4),
        (&codes::SKIPPED_LINE_TOO_LONG, 1),
        (&codes::CUT_RECORD, 1),
    ] {
        calls.meta.diags.count(code, n);
    }
    check_notes(
        &calls,
        &expect![[r"
            timeline: synthetic
            lost: 12 events in 2 gaps
            repaired: 1 unmatched exit, 3 negative net times clamped to 0
            2 stated net times disagree with their callees (see `profctl info`)
            skipped: 5 records
            truncated: the input ends within a record
            1 incomplete call: in totals, not in calls or max/avg/min"]],
    );
    calls.meta.diags.count(&codes::LOST_UNKNOWN, 1);
    let quality = calls.profile().quality;
    assert_eq!((quality.lost_events, quality.skipped_records), (None, 5));
    assert!(!quality.is_complete());
    assert!(Calls::parse("0 f( 5 )").profile().quality.is_complete());
}

fn check_notes(calls: &Calls, expected: &Expect) {
    let table = calls.profile().table(&TableOptions::default()).unwrap();
    expected.assert_eq(&table.notes.join("\n"));
}

#[test]
fn the_file_has_every_field_in_order() {
    let json = Calls::parse("0 f( 2 k:g( 3 ) 9 ) 10 f( 12 )").profile().to_json();
    expect![[r#"
        {"schema":"profctl.summary/1",
        "sources":[{"path":"t",
        "format":"test",
        "bytes":1}],
        "timebase":{"unit":"ns",
        "resolution":1000,
        "timeline":"recorded",
        "tick":1000},
        "totals":{"real":12000,
        "lanes":1,
        "busy":11000,
        "idle":1000,
        "calls":3,
        "partial":0,
        "events":6,
        "functions":2,
        "threads":1,
        "capacity":12000},
        "quality":{"complete":true,
        "lost_events":0,
        "gaps":0,
        "unmatched_exits":0,
        "unclosed_entries":0,
        "forced_exits":0,
        "skipped_records":0,
        "backwards":0,
        "clamped":0,
        "diagnostics":[],
        "cut_records":0,
        "damaged":0},
        "functions":[{"name":"f",
        "module":null,
        "kind":"function",
        "calls":2,
        "partial":0,
        "wall":11000,
        "off_cpu":null,
        "elapsed":11000,
        "net":10000,
        "stolen":0,
        "interrupted":0,
        "net_min":2000,
        "net_avg":5000,
        "net_max":8000,
        "net_stddev":3000,
        "net_p50":2000,
        "net_p90":8000,
        "net_p99":8000,
        "elapsed_min":2000,
        "elapsed_avg":5000,
        "elapsed_max":9000,
        "elapsed_p50":2000,
        "elapsed_p90":9000,
        "elapsed_p99":9000,
        "real_pct":83.333333,
        "net_pct":90.909091,
        "histogram":"2,6",
        "elapsed_histogram":"2,7",
        "net_sum":10000,
        "net_squares":"68",
        "elapsed_sum":11000,
        "elapsed_squares":"85",
        "counted":0,
        "idle":0,
        "outermost":2,
        "callees":1,
        "descendants":1},{"name":"g",
        "module":"k",
        "kind":"function",
        "calls":1,
        "partial":0,
        "wall":1000,
        "off_cpu":null,
        "elapsed":1000,
        "net":1000,
        "stolen":0,
        "interrupted":0,
        "net_min":1000,
        "net_avg":1000,
        "net_max":1000,
        "net_stddev":0,
        "net_p50":1000,
        "net_p90":1000,
        "net_p99":1000,
        "elapsed_min":1000,
        "elapsed_avg":1000,
        "elapsed_max":1000,
        "elapsed_p50":1000,
        "elapsed_p90":1000,
        "elapsed_p99":1000,
        "real_pct":8.333333,
        "net_pct":9.090909,
        "histogram":"1",
        "elapsed_histogram":"=",
        "net_sum":1000,
        "net_squares":"1",
        "elapsed_sum":1000,
        "elapsed_squares":"1",
        "counted":0,
        "idle":0,
        "outermost":1,
        "callees":0,
        "descendants":0}],
        "call_graph":[[0,1,1,1000]],
        "by":"function"}"#]]
    .assert_eq(&json.replace(",\"", ",\n\""));
}

#[test]
fn a_file_by_another_hand_is_read() {
    let json = r#"{"schema":"profctl.summary/1",
        "timebase":{"unit":"ns","resolution":1,"timeline":"recorded"},
        "totals":{"real":100,"lanes":1,"busy":0,"idle":0,"calls":0,"partial":0,"events":0,"functions":1,"threads":1},
        "functions":[{"name":"f","module":null,"kind":"function","calls":2,"partial":0,"wall":20,
            "off_cpu":null,"elapsed":20,"net":20,"stolen":0,"net_min":8,"net_avg":10,"net_max":12,
            "net_stddev":2,"elapsed_min":8,"elapsed_avg":10,"elapsed_max":12}]}"#;
    let profile = Profile::from_json(json.as_bytes()).unwrap();
    let options = TableOptions {
        columns: Some(["net_stddev", "net_avg", "real_pct", "name"].map(Into::into).into()),
        ..TableOptions::default()
    };
    expect![[r"
        net_stddev|net_avg|real_pct|name
        2|10|20.0%|f
    "]]
    .assert_eq(&show(&profile.table(&options).unwrap()));
}

#[test]
fn what_is_no_profile_is_refused() {
    let good = Calls::parse("0 f( 2 )").profile().to_json();
    assert!(Profile::from_json(good.as_bytes()).is_ok());
    let errors: Vec<_> = [
        ("profctl.summary/1", "profctl.summary/9"),
        ("\"unit\":\"ns\"", "\"unit\":\"h\""),
        ("\"tick\":1000", "\"tick\":0"),
        ("\"net\":2000", "\"net\":2001"),
        ("\"net_min\":2000", "\"net_min\":3000"),
        ("\"histogram\":\"2\"", "\"histogram\":\"x\""),
        ("\"kind\":\"function\"", "\"kind\":\"?\""),
        ("{", "["),
    ]
    .into_iter()
    .map(|(from, to)| {
        assert!(good.contains(from), "{from}");
        Profile::from_json(good.replace(from, to).as_bytes()).unwrap_err()
    })
    .collect();
    expect![[r#"
        schema is "profctl.summary/9", expected a saved profile (profctl.summary/1)
        unit is "h", expected ns, cycles or instructions
        a tick of 0, expected 1 or more
        f: net is 2001, expected a multiple of the tick, 1000
        f: net_min is 3000, expected at most 2000, the longest
        f: net_histogram: histogram item "x", expected STEP or STEP:COUNT
        f: kind is "?", expected a known one
        trailing characters at line 1 column 10, expected a saved profile (profctl.summary/1)"#]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn clocks_that_differ_meet_in_nanoseconds() {
    let micro = Calls::parse("0 f( 2 )").profile();
    let mut calls = Calls::parse("0 f( 2000 ) 2000 g( 2001 )");
    calls.meta.timebase = Timebase::NANOSECONDS;
    let nano = calls.profile();
    let mut both = micro.clone();
    both.merge(nano.clone()).unwrap();
    let mut reverse = nano;
    reverse.merge(micro.clone()).unwrap();
    assert_eq!(both, Profile { sources: both.sources.clone(), ..reverse });
    assert_eq!((both.real, both.rows[0].stats.net), (4001, 4000));

    let mut calls = Calls::parse("0 f( 2 )");
    calls.meta.timebase.unit = TickUnit::Cycles;
    let error = both.merge(calls.profile()).unwrap_err();
    assert_eq!(error, "the profile counts cycles, earlier ones ns");
}

#[test]
fn lengths_at_the_end_of_the_range_do_no_harm() {
    let line = format!("0 f( {} ) 0 f( {} )", u64::MAX, u64::MAX);
    let profile = Calls::parse(&line).profile();
    let json = profile.to_json();
    assert_eq!(Profile::from_json(json.as_bytes()).unwrap().to_json(), json);
    let mut fine = profile;
    fine.timebase.unit = TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000_000_000 };
    let json = fine.to_json();
    assert_eq!(Profile::from_json(json.as_bytes()).unwrap().to_json(), json);
}

/// What must hold of any profile of whole stacks.
fn invariants(calls: &Calls) {
    let profile = calls.profile();
    let roots = calls.trace().spans;
    let outermost: u64 =
        roots.ids().filter(|id| roots.depth[id.index()] == 0).map(|id| roots.elapsed(id).0).sum();
    let net: u64 = profile.rows.iter().map(|row| row.stats.net).sum();
    assert_eq!(net, outermost, "net sums to the elapsed time of outermost calls");
    for row in &profile.rows {
        let stats = &row.stats;
        assert!(stats.net <= net && stats.off_cpu <= stats.wall);
        for lengths in [&stats.net_of_calls, &stats.elapsed_of_calls] {
            assert_eq!(lengths.histogram.count(), stats.calls);
            let Some(avg) = lengths.avg(stats.calls) else {
                continue;
            };
            assert!(lengths.min <= avg && avg <= lengths.max);
        }
    }
    let busy = profile.busy();
    let shares: f64 = profile.rows.iter().filter_map(|row| profile.net_pct(row, busy)).sum();
    assert!(busy == 0 || (shares - 100.0).abs() < 1e-6, "{shares}");
}

proptest! {
    #[test]
    fn invariants_hold(calls in random_calls()) {
        invariants(&calls);
    }

    #[test]
    fn a_profile_survives_the_file(calls in random_calls(), picoseconds in 1..2000_u64) {
        let mut calls = calls;
        calls.meta.timebase.unit =
            TickUnit::Seconds { numerator: picoseconds, denominator: 1_000_000_000_000 };
        let profile = calls.profile();
        let json = profile.to_json();
        let back = Profile::from_json(json.as_bytes()).unwrap();
        prop_assert_eq!(back.to_json(), json);
        if picoseconds == 1000 {
            prop_assert_eq!(back.rows, profile.rows);
        }
    }

    #[test]
    fn a_clock_of_microseconds_comes_back(calls in random_calls()) {
        let profile = calls.profile();
        let back = Profile::from_json(profile.to_json().as_bytes()).unwrap();
        let options = TableOptions { percentiles: vec![50.0], ..TableOptions::default() };
        let rows = |profile: &Profile| profile.table(&options).unwrap().rows;
        prop_assert_eq!(&back.rows, &profile.rows);
        prop_assert_eq!(rows(&back), rows(&profile));
    }

    #[test]
    fn merging_is_associative_and_commutative(
        a in random_calls(), b in random_calls(), c in random_calls()
    ) {
        let mut sum = a.profile();
        sum.merge(b.profile()).unwrap();
        sum.merge(c.profile()).unwrap();
        let mut right = b.profile();
        right.merge(c.profile()).unwrap();
        let mut nested = a.profile();
        nested.merge(right).unwrap();
        prop_assert_eq!(sum.to_json(), nested.to_json());
        let mut reverse = c.profile();
        reverse.merge(b.profile()).unwrap();
        reverse.merge(a.profile()).unwrap();
        prop_assert_eq!(sum.rows, reverse.rows);
    }
}

/// Sums of an input without single calls: `main`, which has no caller, and four calls of `work`.
fn totals(by: By) -> Profile {
    let calls = Calls::parse("0 main( 10 work( 100 ) 100 )");
    let mut summary = Summary::new(Options { percentiles: true, by, ..Options::default() });
    for (func, n, elapsed, net) in [(0, 0, 100, 10), (1, 4, 90, 90)] {
        let totals = FuncTotals {
            func: FuncId::from_index(func),
            thread: calls.spans[0].thread,
            calls: n,
            elapsed: Ticks(elapsed),
            net: Ticks(net),
        };
        summary.record(Record::Total(&totals), &calls.names);
    }
    let source = Source { path: "sums".into(), format: "callgrind".into(), bytes: 0 };
    summary.finish(&calls.names, &calls.meta, source)
}

#[test]
fn sums_without_single_calls_have_no_shortest_and_no_average() {
    let table = totals(By::Function).table(&TableOptions::default()).unwrap();
    expect![[r"
        elapsed|net|calls|net_max|net_avg|net_min|real_pct|net_pct|name
        90|90|4|-|-|-|90.0%|90.0%|work
        100|10|0|-|-|-|10.0%|10.0%|main
        # 1 incomplete call: in totals, not in calls or max/avg/min
    "]]
    .assert_eq(&show(&table));
}

#[test]
fn by_anything_but_functions_sums_add_up_to_their_own_time() {
    for by in [By::Module, By::Kind, By::Thread, By::Cpu] {
        let profile = totals(by);
        let stats = &profile.rows[0].stats;
        assert_eq!((profile.rows.len(), stats.calls, stats.partial), (1, 4, 1), "{by:?}");
        assert_eq!((stats.elapsed, stats.net, profile.n_functions), (100, 100, 2), "{by:?}");
    }
}

/// Averages are over the calls that have a length, also after the two kinds were added and saved.
#[test]
fn sums_and_single_calls_can_be_added_and_saved() {
    let mut profile = totals(By::Function);
    let back = |profile: &Profile| Profile::from_json(profile.to_json().as_bytes()).unwrap();
    assert_eq!(back(&profile).rows, profile.rows);
    profile.merge(Calls::parse("0 main( 10 work( 15 ) 20 work( 27 ) 100 )").profile()).unwrap();
    assert_eq!(back(&profile).rows, profile.rows);
    let work = profile.rows.iter().find(|row| row.name == "work").unwrap();
    let (calls, measured) = (work.stats.calls, work.stats.measured());
    assert_eq!((calls, measured, work.stats.net_of_calls.avg(measured)), (6, 2, Some(6)));
}

#[test]
fn without_durations_only_calls_are_known() {
    let mut calls = Calls::parse("0 main( 0 f( 0 ) 0 f( 0 ) 0 )");
    calls.meta.timebase.timeline = Timeline::Synthetic;
    let profile = calls.profile();
    assert!(!profile.knows_lengths());
    expect![[r#"
        elapsed|net|calls|net_max|net_avg|net_min|real_pct|net_pct|name
        -|-|2|-|-|-|-|-|f
        -|-|1|-|-|-|-|-|main
        # timeline: synthetic
        # no durations in this trace: only the numbers of calls are known
    "#]]
    .assert_eq(&show(&profile.table(&TableOptions::default()).unwrap()));
    // What is saved keeps its numbers.
    assert_eq!(Profile::from_json(profile.to_json().as_bytes()).unwrap().rows, profile.rows);
}

/// The profile of what of `calls` is on threads whose name `keep` takes, selected at the end.
fn selected(calls: &Calls, by: By, keep: &str) -> Profile {
    let mut summary = Summary::new(Options { percentiles: true, by, ..Options::default() });
    summary.separate_threads();
    for span in &calls.spans {
        summary.span(span, &calls.names);
    }
    summary.keep_threads(&|thread| calls.names.threads[thread].name == keep);
    let source = Source { path: "-".into(), format: "plain".into(), bytes: 0 };
    summary.finish(&calls.names, &calls.meta, source)
}

#[test]
fn threads_can_be_selected_once_their_names_are_known() {
    let both = "@a 0 f( 5 g( 9 ) 10 ) @b 10 g( 12 ) 12 h( 20 ) @a 20 f( 30 )";
    for by in By::ALL {
        let all = Calls::parse_by(both, by);
        let profile = selected(&all, by, "a");
        let alone = Calls::parse_by("@a 0 f( 5 g( 9 ) 10 ) 20 f( 30 )", by).profile();
        assert_eq!(profile.rows, alone.rows, "{by:?}");
        assert_eq!((profile.n_threads, profile.n_functions), (1, 2), "{by:?}");
    }
    assert!(selected(&Calls::parse(both), By::Function, "nobody").rows.is_empty());
}

#[test]
fn parts_of_threads_add_up_to_what_all_say() {
    let both = "@a 0 f( 5 irq( 7 ) 9 g( 9 ) 10 ) @b 10 g( 12 ) 12 h( 20 ) @a 20 f( 30 )";
    for by in By::ALL {
        let calls = Calls::parse_by(both, by);
        let mut summary = Summary::new(Options { percentiles: true, by, ..Options::default() });
        summary.separate_threads();
        let mut names = Names::default();
        for (thread, _) in calls.names.threads.pairs() {
            let mut part = SpanSink::part(&summary).unwrap();
            for span in calls.spans.iter().filter(|span| span.thread == thread) {
                part.span(span, &calls.names);
            }
            let ids = names.merge(calls.names.clone());
            summary.join(part, &ids, &names);
        }
        summary.keep_threads(&|thread| names.threads[thread].name == "a");
        let source = Source { path: "-".into(), format: "plain".into(), bytes: 0 };
        let profile = summary.finish(&names, &calls.meta, source);
        assert_eq!(profile.rows, selected(&calls, by, "a").rows, "{by:?}");
    }
}

#[test]
fn what_turns_out_to_lie_in_another_call_counts_once() {
    let calls = Calls::parse("0 f( 10 ) 10 f( 30 )");
    let mut summary = Summary::new(Options::default());
    for span in &calls.spans {
        summary.span(span, &calls.names);
    }
    let Span { func, thread, cpu, wall, .. } = calls.spans[0];
    let (interrupt, off_cpu) = (false, Ticks(0));
    let enclosed =
        Enclosed { func, thread, cpu, interrupt, calls: 1, wall, off_cpu, descendants: 0 };
    summary.record(Record::Enclosed(&enclosed), &calls.names);
    let source = Source { path: "-".into(), format: "plain".into(), bytes: 0 };
    let profile = summary.finish(&calls.names, &calls.meta, source);
    let stats = &profile.rows[0].stats;
    assert_eq!((stats.elapsed, stats.net, stats.calls, stats.outermost), (20, 30, 2, 1));
}
