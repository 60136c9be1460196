use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::formats::plain::show::{check_cuts, example, read};
use crate::testing::ImporterOfBytes;
use crate::testing::{show, spans, told, trace};

fn options() -> ImportOptions {
    ImportOptions::default()
}

fn order_of(text: &str) -> Order {
    let opened = TraceEvents.open_bytes(text.as_bytes(), &options()).unwrap();
    opened.reader.order()
}

#[test]
fn the_page_shows_a_trace_that_is_read() {
    let page = include_str!("../../../../../docs/formats/chrome.md");
    assert_eq!(
        spans("chrome", example(page), options()),
        "main-7 0 read 10000+9500 net 5250\n\
         main-7 1 copy 12250+3500 net 3500\n\
         main-7 1 check 16000+750 net 750\n\
         main-7 mark woken 16500\n"
    );
}

/// A group of events, and the calls that it makes: the shapes that other readers stumble over.
#[test]
fn every_order_of_events_makes_the_calls_that_were_meant() {
    let b =
        |name: &str, ts: u64| format!(r#"{{"ph":"B","ts":{ts},"pid":1,"tid":1,"name":"{name}"}}"#);
    let e =
        |name: &str, ts: u64| format!(r#"{{"ph":"E","ts":{ts},"pid":1,"tid":1,"name":"{name}"}}"#);
    let x = |name: &str, ts: u64, dur: u64| {
        format!(r#"{{"ph":"X","ts":{ts},"dur":{dur},"pid":1,"tid":1,"name":"{name}"}}"#)
    };
    let cases: Vec<(&str, Vec<String>, &str)> = vec![
        (
            "an exit first at one time",
            vec![b("a", 0), e("c", 2), b("c", 2), e("a", 9)],
            "0 a 0+9; 1 c 2+0",
        ),
        (
            "exits of one time swapped",
            vec![b("a", 1), b("b", 1), e("a", 2), e("b", 2)],
            "0 a 1+1; 1 b 1+1",
        ),
        (
            "an entry before the exit of one time",
            vec![b("a", 0), b("b", 5), e("a", 5), e("b", 6)],
            "0 a 0+5; 0 b 5+1",
        ),
        (
            "an exit of a caller before a call of one time",
            vec![b("a", 0), b("b", 1), e("a", 9), x("z", 9, 2)],
            "0 a 0+9; 1 b 1+8 open; 0 z 9+2",
        ),
        ("the shorter call first", vec![x("s", 3, 1), x("l", 3, 4)], "0 l 3+4; 1 s 3+1"),
        ("the caller last", vec![x("i", 3, 1), x("o", 2, 4)], "0 o 2+4; 1 i 3+1"),
        (
            "a complete call in a longer one",
            vec![x("x", 0, 1), b("b", 0), e("b", 2)],
            "0 b 0+2; 1 x 0+1",
        ),
        (
            "a complete call around a shorter one",
            vec![b("b", 0), e("b", 2), x("x", 0, 3)],
            "0 x 0+3; 1 b 0+2",
        ),
        ("both of one length", vec![b("b", 0), e("b", 2), x("x", 0, 2)], "0 b 0+2; 1 x 0+2"),
        (
            "backwards altogether",
            vec![e("a", 9), e("b", 8), b("b", 3), b("a", 1)],
            "0 a 1+8; 1 b 3+5",
        ),
        ("calls that cross", vec![x("a", 0, 10), x("b", 5, 10)], "0 a 0+10; 1 b 5+5 open"),
        (
            "an entry and an exit across the end of a complete call",
            vec![x("a", 0, 10), b("b", 5), e("b", 12)],
            "0 a 0+10; 1 b 5+5 open",
        ),
        (
            "neighbors",
            vec![x("a", 0, 5), x("b", 5, 5), b("c", 10), e("c", 11)],
            "0 a 0+5; 0 b 5+5; 0 c 10+1",
        ),
        (
            "recursion at one time",
            vec![b("a", 0), b("a", 1), b("a", 1), e("a", 1), e("a", 3), e("a", 4)],
            "0 a 0+4; 1 a 1+2; 2 a 1+0",
        ),
    ];
    for (what, events, expected) in cases {
        let text = format!("[{}]", events.join(",\n"));
        let trace = trace("chrome", text.as_bytes(), options(), 0, 1);
        let spans = &trace.spans;
        let calls: Vec<String> = spans
            .ids()
            .map(|id| {
                let row = id.index();
                let (start, length) = (spans.start[row].0, (spans.end[row] - spans.start[row]).0);
                let fidelity = spans.fidelity[row];
                let unseen = match (fidelity.start_inferred, fidelity.end_inferred) {
                    (true, _) => " headless",
                    (_, true) => " open",
                    _ => "",
                };
                let name = &trace.names.funcs[spans.func[id]].name;
                format!("{} {name} {}+{}{unseen}", spans.depth[row], start / 1000, length / 1000)
            })
            .collect();
        assert_eq!(calls.join("; "), expected, "{what}");
        let has_partial = spans.fidelity.iter().any(|fidelity| fidelity.is_partial());
        let is_told =
            trace.meta.diags.sorted().iter().any(|e| e.code.severity >= Severity::Warning);
        assert_eq!(has_partial, is_told, "{what}: incomplete calls are counted, and nothing else");
    }
}

#[test]
fn misfits_are_counted() {
    let text = include_str!("../../../../../fixtures/chrome/misfits.json");
    let (calls, codes) = told("chrome", text, options());
    assert_eq!(
        codes,
        [
            "input/skipped-record 4",
            "chrome/no-duration 1",
            "stitch/forced-exit 2",
            "stitch/unclosed-entry 2",
            "stitch/unmatched-exit 3",
            "chrome/other-events 4",
        ]
    );
    for call in [
        "1 0 long 10000+3000 net 2000",
        "1 1 short 10000+1000",
        "gpu/queue 0 words 50000+1000",
        "1 0 thread_time_only 40000+2000",
        "1 0 strings 43000+2000",
        "1 mark instant 52000",
    ] {
        assert!(calls.contains(call), "{call} in\n{calls}");
    }
}

/// `uftrace report` on the same recording. Functions unwound by `longjmp` are omitted: uftrace does
/// not list what never returned, and counts the second return of `_setjmp`.
#[test]
fn the_sums_of_uftrace_are_those_of_its_own_report() {
    // Nanoseconds: total, average, shortest, longest; self; calls.
    let report: [(&str, [u64; 6]); 14] = [
        ("ISAINTR", [6_179, 2_059, 1_352, 3_425, 361, 3]),
        ("weget", [3_565, 1_188, 501, 2_543, 420, 3]),
        ("bcopy_", [2_305, 768, 151, 1_983, 362, 3]),
        ("ipintr", [2_253, 751, 741, 761, 790, 3]),
        ("memcpy", [1_943, 647, 51, 1_832, 1_943, 3]),
        ("__monstartup", [1_152, 1_152, 1_152, 1_152, 1_152, 1]),
        ("tcp_input", [1_103, 367, 351, 381, 652, 3]),
        ("malloc_", [840, 280, 210, 390, 650, 3]),
        ("__cxa_atexit", [811, 811, 811, 811, 811, 1]),
        ("strtol", [681, 681, 681, 681, 681, 1]),
        ("recurse", [501, 289, 30, 501, 501, 6]),
        ("in_cksum", [450, 75, 40, 110, 450, 6]),
        ("splnet", [281, 31, 30, 40, 281, 9]),
        ("splx", [270, 30, 30, 30, 270, 9]),
    ];
    let text = include_str!("../../../../../fixtures/chrome/uftrace.json");
    let trace = trace("chrome", text.as_bytes(), options(), 0, 1);
    let mut sums: BTreeMap<&str, ([u64; 2], Vec<u64>)> = BTreeMap::new();
    for id in trace.spans.ids() {
        let (row, elapsed) = (id.index(), trace.spans.elapsed(id).0);
        let (sums, calls) = sums.entry(&trace.names.funcs[trace.spans.func[id]].name).or_default();
        sums[0] += if trace.spans.outermost[row] { elapsed } else { 0 };
        sums[1] += trace.spans.net[row].0;
        calls.push(elapsed);
    }
    for (name, expected) in report {
        let ([total, own], calls) = &sums[name];
        let n = calls.len() as u64;
        let average = calls.iter().sum::<u64>() / n;
        let (min, max) = (*calls.iter().min().unwrap(), *calls.iter().max().unwrap());
        assert_eq!([*total, average, min, max, *own, n], expected, "{name}");
    }
    assert_eq!(sums["main"].0[0], 12_018);
}

#[test]
fn threads_of_two_processes_are_two_threads() {
    let text = include_str!("../../../../../fixtures/chrome/by-end.json");
    let trace = trace("chrome", text.as_bytes(), options(), 0, 1);
    let threads: Vec<_> = trace.names.threads.iter().map(|t| (t.pid, t.tid, &*t.name)).collect();
    assert_eq!(
        threads,
        [(Some(100), Some(1), "worker"), (Some(200), Some(1), "other"), (Some(100), Some(2), "")]
    );
    assert!(trace.meta.diags.sorted().is_empty());
    assert_eq!(order_of(text), Order::Any);
    assert_eq!(
        order_of(include_str!("../../../../../fixtures/chrome/uftrace.json")),
        Order::Nearly
    );
}

#[test]
fn what_is_late_is_counted_unless_all_is_held() {
    // The caller is after more calls than are buffered, and the head gives no hint.
    let call = |n: usize| {
        format!("{{\"ph\":\"X\",\"ts\":{n},\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"f\"}},\n")
    };
    let n = 2 * crate::sort::HELD;
    let mut text = String::from("[\n");
    text.extend((0..n).map(call));
    let last =
        format!("{{\"ph\":\"X\",\"ts\":0,\"dur\":{n},\"pid\":1,\"tid\":1,\"name\":\"main\"}}]");
    text += &last;
    let outermost = |options: ImportOptions| {
        let trace = trace("chrome", text.as_bytes(), options, 0, 1);
        let late = trace.meta.diags.count_of(&crate::sort::LATE_EVENT);
        (trace.spans.parent.iter().filter(|parent| parent.is_none()).count(), late)
    };
    let (n_outermost, late) = outermost(options());
    assert!(n_outermost > 1, "nothing was passed on before the caller came");
    assert_eq!(late, 1);
    let unsorted = ImportOptions { dialect: Some("unsorted".into()), ..options() };
    assert_eq!(outermost(unsorted), (1, 0));
    let wrong = ImportOptions { dialect: Some("random".into()), ..options() };
    assert!(TraceEvents.open_bytes(b"[", &wrong).is_err());
}

#[test]
fn cuts_change_nothing_before_them() {
    for text in [
        include_str!("../../../../../fixtures/chrome/misfits.json"),
        include_str!("../../../../../fixtures/chrome/by-end.json"),
    ] {
        check_cuts(&TraceEvents, text.as_bytes(), &options());
    }
}

#[test]
fn a_file_that_is_cut_still_counts() {
    let text = include_str!("../../../../../fixtures/chrome/by-end.json");
    for cut in 0..text.len() {
        let said = read(&TraceEvents, &text.as_bytes()[..cut], &options());
        // Truncated after an event it is an array without its closing bracket, as crashed programs
        // leave it.
        let n = |brace: char| text[..cut].matches(brace).count();
        let whole = n('{') == n('}');
        assert_eq!(said.diags.is_empty(), whole, "cut at {cut}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let event = prop_oneof![
        (0..50_u64, 0..20_u64, 0..3_u64, "[a-c]").prop_map(|(ts, dur, tid, name)| format!(
            r#"{{"ph":"X","ts":{ts},"dur":{dur},"pid":1,"tid":{tid},"name":"{name}"}}"#
        )),
        (0..50_u64, 0..3_u64, "[BE]", "[a-c]").prop_map(|(ts, tid, ph, name)| format!(
            r#"{{"name":"{name}","ph":"{ph}","pid":1,"tid":{tid},"ts":{ts}}}"#
        )),
        Just(
            r#"{"ph":"i","ts":3,"args":{"list":[{"ph":"a }, {\"ph\""},{"ts":1},
                {"name":"x"}]},"pid":1,"tid":0,"name":"\u00e9\n"}"#
                .to_owned()
        ),
        Just("{\"broken\": }".to_owned()),
        Just("17".to_owned()),
    ];
    let events = prop::collection::vec(event, 0..40);
    (events, any::<bool>(), "[ ,}\\]]{0,3}").prop_map(|(events, is_object, tail)| {
        let events = events.join(" ,\n ");
        if is_object {
            format!(
                "{{\"a\":[{{\"ph\":1}},{{\"ts\":[]}}],\"traceEvents\": [{events}],\"b\":\"]\"{tail}"
            )
        } else {
            format!(" [{events}{tail}")
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Blocks are cut where the next event seems to begin, which may be the inside of one.
    #[test]
    fn any_blocks_give_the_same(text in any_text(), block_size in 1_usize..400, workers in 1_usize..4) {
        let whole = trace("chrome", text.as_bytes(), options(), 0, 1);
        let cut = trace("chrome", text.as_bytes(), options(), block_size, workers);
        prop_assert_eq!(show(&cut), show(&whole));
        let codes = |trace: &profctl_model::Trace| {
            let codes = trace.meta.diags.sorted();
            codes.iter().map(|e| format!("{} {}", e.code.name, e.count)).collect::<Vec<_>>()
        };
        prop_assert_eq!(codes(&cut), codes(&whole));
        prop_assert_eq!(cut.meta.events, whole.meta.events);
    }
}

/// Events of the kernel beside the slices: both are about the same threads. The times off the CPU
/// were added up from the lines of `sched_switch`.
#[test]
fn kernel_events_say_when_threads_were_off_the_cpu() {
    let text = include_str!("../../../../../fixtures/chrome/system-trace.json");
    let shown = spans("chrome", text, options());
    let of = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap().to_owned();
    // In `futex` from 48.707384 to 48.738224, and off the CPU from 48.707772 to 48.738080.
    assert_eq!(
        of(" start_A "),
        "chain-main-146 0 start_A 48707300000+31000000 off 30308000 net 160000"
    );
    assert_eq!(
        of("main-146 1 futex 48707384000"),
        "chain-main-146 1 futex 48707384000+30840000 off 30308000 net 532000"
    );
    // Preempted from 48.760892 to 48.761098.
    assert_eq!(of(" run_C "), "chain-C-149 0 run_C 48760880000+260000 off 206000 net 54000");
}

/// The same lines as text, and as a string of JSON.
#[test]
fn kernel_events_say_in_json_what_they_say_as_text() {
    let text = include_bytes!("../../../../../fixtures/sched/chain.trace.txt.zst");
    let text = zstd::decode_all(&text[..]).unwrap();
    let string = serde_json::to_string(&String::from_utf8(text.clone()).unwrap()).unwrap();
    let json = format!("{{\"traceEvents\":[{{\"ph\":\"i\"}}],\"systemTraceEvents\":{string}}}");
    let shown = |trace: &profctl_model::Trace| -> Vec<String> {
        let mut states: Vec<String> = trace
            .states
            .iter()
            .map(|state| {
                let thread = trace.names.threads[state.thread].label();
                let cpu = state.cpu.map(|cpu| trace.names.cpus[cpu]);
                let waker = state.waker.and_then(|waker| waker.thread);
                let waker = waker.map(|waker| trace.names.threads[waker].label());
                format!(
                    "{} {} {thread} {:?} {cpu:?} {waker:?}",
                    state.start.0, state.end.0, state.state
                )
            })
            .collect();
        states.sort();
        states
    };
    let expected = shown(&trace("ftrace", &text, options(), 0, 1));
    assert!(expected.len() > 200, "{}", expected.len());
    for (block_size, workers) in [(0, 1), (1_000, 1), (4_096, 3)] {
        assert_eq!(
            shown(&trace("chrome", json.as_bytes(), options(), block_size, workers)),
            expected
        );
    }
}

/// How uftrace writes that a thread is off the CPU: as a function.
#[test]
fn the_scheduler_of_uftrace_is_no_function() {
    let event = |ph: &str, ts: u64, name: &str| {
        format!(r#"{{"ph":"{ph}","ts":{ts},"pid":7,"tid":7,"name":"{name}"}}"#)
    };
    let events = [
        event("B", 10, "work"),
        event("B", 12, "linux:schedule"),
        event("E", 15, "linux:schedule"),
        event("E", 20, "work"),
    ];
    assert_eq!(
        spans("chrome", &format!("[{}]", events.join(",")), options()),
        "7 0 work 10000+10000 off 3000 net 7000\n"
    );
}

#[test]
fn a_number_of_two_processes_is_a_third_thread() {
    // The kernel's events do not say of which process thread 7 is, and come first in time.
    let json = r#"{"traceEvents":[
        {"ph":"X","ts":2000,"dur":100,"pid":1,"tid":7,"name":"first"},
        {"ph":"X","ts":3000,"dur":100,"pid":2,"tid":7,"name":"second"}],
        "systemTraceEvents":"       t-7     [000] .....  0.001000: sys_enter: NR 0 (0)\n       t-7     [000] .....  0.002050: sys_exit: NR 0 = 0\n"}"#;
    let trace = trace("chrome", json.as_bytes(), options(), 0, 1);
    let spans = &trace.spans;
    let calls: Vec<_> = spans
        .ids()
        .map(|id| {
            let thread = &trace.names.threads[spans.thread[id.index()]];
            let name = &*trace.names.funcs[spans.func[id]].name;
            (name, thread.pid, spans.start[id.index()].0, spans.end[id.index()].0)
        })
        .collect();
    let expected = [
        ("read", None, 1_000_000, 2_050_000),
        ("first", Some(1), 2_000_000, 2_100_000),
        ("second", Some(2), 3_000_000, 3_100_000),
    ];
    assert_eq!(calls, expected);
}
