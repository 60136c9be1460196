use profctl_model::Trace;
use proptest::prelude::*;

use super::*;
use crate::testing::{self, ImporterOfBytes, show, told, trace};

fn fixture(name: &str) -> Vec<u8> {
    let folder = profctl_testkit::fixtures::root().join("fixtures/systrace");
    profctl_testkit::fixtures::read(&folder.join(name))
}

fn read(name: &str) -> Trace {
    trace("systrace", &fixture(name), ImportOptions::default(), 0, 1)
}

/// The program of the fixture spins for so long: 300 and 100 us in each frame that it draws,
/// 50, 100 and 150 us of measuring, 20 us of layout.
#[test]
fn slices_last_as_long_as_the_program_spun() {
    let trace = read("atrace.txt");
    let walls = testing::walls(&trace);
    let least = |name: &str, least: &[u64]| {
        let walls = &walls[name];
        assert_eq!(walls.len(), least.len(), "{name}");
        for (wall, least) in walls.iter().map(|wall| wall / 1_000).zip(least) {
            // Stamps are cut to a microsecond.
            assert!(wall + 1 >= *least && wall < least + 5_000, "{name}: {wall} {least}");
        }
    };
    least("DrawFrame", &[400; 4]);
    least("flush|commands", &[100; 4]);
    least("Choreographer#doFrame", &[70, 120, 170]);
    least("measure", &[50, 100, 150]);
    least("layout", &[20; 3]);
    assert_eq!(walls.len(), 5);
}

#[test]
fn what_is_no_slice_is_a_mark_or_counted() {
    let trace = read("atrace.txt");
    let codes: Vec<_> = trace.meta.diags.sorted().iter().map(|e| (e.code.name, e.count)).collect();
    // One thread ends a slice that never began, the other never ends its last one.
    assert_eq!(codes, [("stitch/unclosed-entry", 1), ("stitch/unmatched-exit", 1)]);
    let names: Vec<_> =
        trace.marks.iter().map(|mark| trace.names.funcs[mark.func].name.as_str()).collect();
    for name in ["begin animation", "end animation", "vsync", "tracing_mark_write"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    let processes: Vec<_> = trace.names.threads.iter().filter_map(|thread| thread.pid).collect();
    assert_eq!(processes.len(), 2);
    assert_eq!(processes[0], processes[1]);
}

#[test]
fn a_page_says_what_its_text_says() {
    assert_eq!(show(&read("systrace.html")), show(&read("atrace.txt")));
    for name in ["systrace.html", "atrace.txt"] {
        let recognition = Systrace.recognize_bytes(&fixture(name), true);
        assert!(matches!(recognition, Recognition::Yes(_)), "{name}");
    }
}

#[test]
fn old_pages_have_a_string_of_javascript_marks_without_a_name_and_the_time_of_another_clock() {
    let (text, codes) = told(
        "systrace",
        "<html><script>\n  var linuxPerfData = \"\\\n\
         # tracer: nop\\n\\\n#\\n\\\n\
         \x20          ui-7     [001] ...1  50.000010: 0: B|7|frame\\n\\\n\
         \x20          ui-7     [001] ...1  50.000020: 0: E\\n\\\n\
         \x20          dummy-0000 [000] 0.0: 0: trace_event_clock_sync: parent_ts=0.0\\n\\\n\
         \";\n</script></html>\n",
        ImportOptions::default(),
    );
    assert_eq!(text.trim(), "ui-7 0 frame 50000010000+10000 net 10000");
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn scheduler_events_among_slices_take_threads_off_their_cpu() {
    let (text, codes) = told(
        "systrace",
        "           <...>-7     (      7) [001] ...1.  1.000010: tracing_mark_write: B|7|frame\n\
         \x20          <...>-7     (      7) [001] d..2.  1.000020: sched_switch: prev_comm=ui prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
         \x20         <idle>-0     (-------) [001] d..2.  1.000050: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=ui next_pid=7 next_prio=120\n\
         \x20             ui-7     (      7) [001] ...1.  1.000060: tracing_mark_write: E|7\n",
        ImportOptions::default(),
    );
    assert!(text.contains("ui-7 0 frame 1000010000+50000 off 30000 net 20000"), "{text}");
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn compressed_output_is_named() {
    let Recognition::Neighbor(advice) = Systrace.recognize_bytes(b"TRACE:\n\x78\x9c\0\0", true)
    else {
        panic!("not named")
    };
    assert!(advice.contains("atrace -z"), "{advice}");
    let other = b"# tracer: nop\n  a-1 [000] ...1. 1.000001: sched_waking: comm=b pid=2 prio=1 target_cpu=000\n";
    assert_eq!(Systrace.recognize_bytes(other, true), Recognition::No);
    assert_eq!(Systrace.recognize_bytes(b"<html><body>404</body></html>", true), Recognition::No);
}

#[test]
fn the_documented_example_is_recognized() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/systrace.md"));
    let example = crate::formats::plain::show::example(page);
    assert!(matches!(Systrace.recognize_bytes(example.as_bytes(), true), Recognition::Yes(_)));
    assert!(told("systrace", example, ImportOptions::default()).1.is_empty());
}

#[test]
fn a_text_cut_anywhere_is_read_up_to_the_cut() {
    let text = fixture("atrace.txt");
    for cut in 1_500..text.len() {
        let trace = trace("systrace", &text[..cut], ImportOptions::default(), 0, 1);
        let whole = memchr::memrchr(b'\n', &text[..cut]).map_or(0, |at| at + 1);
        let begun = memchr::memmem::find_iter(&text[..whole], b": B|").count();
        let ended_unseen = trace.meta.diags.sorted();
        let ended_unseen =
            ended_unseen.iter().filter(|e| e.code.name == "stitch/unmatched-exit").count();
        let calls = trace.spans.ids().count();
        assert!(calls >= begun && calls <= begun + ended_unseen, "cut at {cut}: {calls} {begun}");
    }
}

proptest! {
    #[test]
    fn blocks_of_any_size_tell_the_same(block in 1_usize..2_000, workers in 1_usize..4) {
        let text = fixture("systrace.html");
        let blocks = trace("systrace", &text, ImportOptions::default(), block, workers);
        prop_assert_eq!(show(&blocks), show(&read("systrace.html")));
    }

    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>) {
        Systrace.recognize_bytes(&bytes, true);
        if !bytes.is_empty() {
            trace("systrace", &bytes, ImportOptions::default(), 0, 1);
        }
    }
}
