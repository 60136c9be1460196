use expect_test::expect;
use profctl_model::Trace;
use profctl_testkit::fixtures;

use super::*;
use crate::testing::{ImporterOfBytes as _, show, told, trace};
use crate::{Memory, ReadOptions, load};

fn fixture(name: &str) -> Vec<u8> {
    fixtures::read(&fixtures::root().join("fixtures/babeltrace").join(name))
}

/// The calls of a trace, with times from its first event on.
fn calls(trace: &Trace) -> Vec<String> {
    let (first, spans) = (trace.meta.first.0, &trace.spans);
    let call = |id: profctl_model::SpanId| {
        let row = id.index();
        let name = &trace.names.funcs[spans.func[id]].name;
        let thread = trace.names.threads[spans.thread[row]].label();
        let (start, wall) = (spans.start[row].0 - first, spans.wall[row].0);
        format!("{thread} {} {name} {start}+{wall} {:?}", spans.depth[row], spans.fidelity[row])
    };
    spans.ids().map(call).collect()
}

#[test]
fn the_text_of_a_trace_tells_what_the_trace_tells() {
    for (name, n_calls) in [("calls-ust-2.13", 39), ("barectf-3.1", 36)] {
        let bytes = fixture(&format!("{name}.txt"));
        let text = trace("babeltrace", &bytes, ImportOptions::default(), 0, 1);
        let parts = fixtures::parts(&fixtures::root().join("fixtures/ctf").join(name));
        let (packets, _) =
            load(&Memory::new("test", parts), &ReadOptions::default(), &|_| ()).unwrap();
        assert_eq!(calls(&text).len(), n_calls, "{name}");
        assert_eq!(calls(&text), calls(&packets), "{name}");
        assert_eq!(text.marks.len(), packets.marks.len(), "{name}");
        let length = |trace: &Trace| trace.meta.last - trace.meta.first;
        assert_eq!(length(&text), length(&packets), "{name}");
    }
}

#[test]
fn symbols_name_the_functions_of_the_program() {
    let nm = fixtures::read(&fixtures::root().join("fixtures/ctf/calls.nm.meta"));
    let options = ImportOptions { symbols: Some(nm), ..ImportOptions::default() };
    let text = trace("babeltrace", &fixture("calls-ust-2.13.txt"), options, 0, 1);
    let names: Vec<&str> =
        text.names.funcs.as_slice().iter().map(|func| func.name.as_str()).collect();
    assert!(names.contains(&"main") && names.contains(&"bail"), "{names:?}");
}

/// Events of LTTng's kernel tracer, past midnight.
#[test]
fn events_of_the_kernel_are_switches_wakings_and_calls() {
    let text = "\
[23:59:59.999999000] (+?.?????????) h sched_switch: { cpu_id = 0 }, { prev_comm = \"swapper/0\", prev_tid = 0, prev_prio = 20, prev_state = 0, next_comm = \"cat\", next_tid = 7, next_prio = 20 }
[23:59:59.999999100] (+0.000000100) h syscall_entry_read: { cpu_id = 0 }, { fd = 3, count = 64 }
[23:59:59.999999200] (+0.000000100) h irq_handler_entry: { cpu_id = 0 }, { irq = 4, name = \"ttyS0\" }
[23:59:59.999999300] (+0.000000100) h irq_handler_exit: { cpu_id = 0 }, { irq = 4, ret = ( \"handled\" : container = 1 ) }
[23:59:59.999999400] (+0.000000100) h irq_softirq_entry: { cpu_id = 0 }, { vec = 1 }
[23:59:59.999999500] (+0.000000100) h irq_softirq_exit: { cpu_id = 0 }, { vec = 1 }
[00:00:00.000000000] (+0.000000500) h sched_switch: { cpu_id = 0 }, { prev_comm = \"cat\", prev_tid = 7, prev_prio = 20, prev_state = 1, next_comm = \"sh\", next_tid = 8, next_prio = 20 }
[00:00:00.000000300] (+0.000000300) h sched_waking: { cpu_id = 0 }, { comm = \"cat\", tid = 7, prio = 20, target_cpu = 0 }
[00:00:00.000001000] (+0.000000700) h sched_switch: { cpu_id = 0 }, { prev_comm = \"sh\", prev_tid = 8, prev_prio = 20, prev_state = 0, next_comm = \"cat\", next_tid = 7, next_prio = 20 }
[00:00:00.000001500] (+0.000000500) h syscall_exit_read: { cpu_id = 0 }, { ret = 64, buf = 139782 }
";
    let (calls, codes) = told("babeltrace", text, ImportOptions::default());
    expect![[r"
        cat-7 0 read 86399999999100+2400 off 1000 net 1200
        cat-7 1 irq:ttyS0 86399999999200+100 net 100
        cat-7 1 softirq:TIMER 86399999999400+100 net 100
    "]]
    .assert_eq(&calls);
    assert_eq!(codes, Vec::<String>::new());
    let whole = trace("babeltrace", text.as_bytes(), ImportOptions::default(), 0, 1);
    assert_eq!(whole.wakes.len(), 1);
}

#[test]
fn what_is_lost_or_damaged_is_told() {
    let text = "\
[1.5] (+0.5) app:work_begin: { cpu_id = 0 }, { tid = 1 }, { n = 1 }
WARNING: Tracer discarded 12 events between [1.5] and [1.7] in trace \"x\"
what is this
[1.7] (+0.2) app:work_end: { cpu_id = 0 }, { tid = 1 }, { n = 1 }
[1.8] (+0.1) app:work_begin: { cpu_id = 0 }, { tid = 1 }, { n";
    let (_, codes) = told("babeltrace", text, ImportOptions::default());
    expect![[r#"
        [
            "input/skipped-record 1",
            "stitch/gap 1",
            "stitch/lost-events 12",
            "input/cut-record 1",
            "stitch/unmatched-exit 1",
        ]"#]]
    .assert_eq(&format!("{codes:#?}"));
}

#[test]
fn what_is_no_text_of_babeltrace_is_not_taken() {
    for other in ["", "[1.5] usb 1-1: new device\n", "[00:00:01.0] (+0.1) a { }\n"] {
        assert_eq!(Babeltrace.recognize_bytes(other.as_bytes(), true), Recognition::No, "{other}");
    }
    let one = b"[00:00:01.0] (+0.1) a: { x = 1 }\n";
    assert!(matches!(Babeltrace.recognize_bytes(one, true), Recognition::Maybe(_)));
    assert!(Babeltrace.open_bytes(b"nothing\n", &ImportOptions::default()).is_err());
}

#[test]
fn blocks_and_workers_change_nothing() {
    let text = fixture("calls-ust-2.13.txt");
    let whole = show(&trace("babeltrace", &text, ImportOptions::default(), 0, 1));
    for (size, workers) in [(200, 1), (4_000, 3)] {
        let parts = trace("babeltrace", &text, ImportOptions::default(), size, workers);
        assert_eq!(show(&parts), whole);
    }
}
