//! Wrong numbers of earlier versions that no property covers.

use std::io::Write as _;

use profctl_testkit::fixtures::{self, root};
use serde_json::Value;

use crate::program::{Scratch, command, finish, run};

/// A mark belongs to its thread, and is no function.
#[test]
fn marks_are_selected_with_their_threads_and_are_no_functions() {
    let scratch = Scratch::new("marks_of_threads");
    let text = "# profctl plain 1 unit=us\n\
                0 a-1 > f\n1 b-2 ! other\n2 a-1 ! own\n3 a-1 < f\n";
    let trace = scratch.file("marks.txt", text);
    let replay = run(&["replay", "--thread", "a", &trace]).stdout;
    let chrome = run(&["convert", "--thread", "a", "--format", "chrome", &trace]).stdout;
    for shown in [replay, chrome] {
        assert!(shown.contains("own") && !shown.contains("other"), "{shown}");
    }
    let about = run(&["info", &trace]).stdout;
    assert!(about.lines().any(|line| line == "functions    1"), "{about}");
}

/// A call states that it took longer than from its entry to its exit, as calls of function_graph
/// do: the path and the exports end it where it ended.
#[test]
fn a_stated_length_has_one_place() {
    let scratch = Scratch::new("stated_length");
    let text = "# profctl plain 1 unit=us\n\
                0 a-1 > main\n10 a-1 > f\n20 a-1 < f wall=15\n30 a-1 < main\n";
    let trace = scratch.file("stated.txt", text);
    let found = run(&["summarize", "--format", "json", &trace]).stdout;
    let table: Value = serde_json::from_str(&found).expect("JSON");
    let found = run(&["critical-path", "--format", "json", &trace]).stdout;
    let path: Value = serde_json::from_str(&found).expect("JSON");
    let of_path = path["by_function"].as_array().expect("functions");
    for function in table["functions"].as_array().expect("functions") {
        let on_path = of_path.iter().find(|one| one["name"] == function["name"]);
        assert_eq!(on_path.map(|one| &one["ns"]), Some(&Value::from(15_000)), "{function}");
        assert_eq!(function["net"], 15_000, "{function}");
    }
    let chrome = run(&["convert", "--format", "chrome", &trace]).stdout;
    for end in [r#""ph":"B","ts":5.000"#, r#""ph":"E","ts":20.000"#] {
        assert!(chrome.contains(end), "{chrome}");
    }
}

/// Ticks that count something other than time, as `docs/formats/probe.md` says.
#[test]
fn a_probe_may_count_cycles_or_instructions() {
    let names = "fixtures/probe/tcp_rx.names";
    let raw = "fixtures/probe/tcp_rx.raw";
    for unit in ["cycles", "instructions"] {
        let words = ["summarize", "--time-step", unit, "--names", names, raw];
        let run = finish(command(&words).current_dir(root()));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let mut lines = run.stdout.lines();
        let caption = lines.next().unwrap_or_default();
        assert!(caption.ends_with(&format!(" in {unit}")), "{caption}");
        assert!(lines.any(|line| line.ends_with("  in_cksum") && line.contains(" 3516 ")));
    }
}

/// Tracers print `<...>` until they know a name, and viewers' files name threads at their end.
#[test]
fn a_thread_is_selected_by_a_name_that_comes_late() {
    let scratch = Scratch::new("late_names");
    let graph = "# tracer: function_graph\n#\n\
        #     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n\
        #      |          |     |    |           |   |                     |   |   |   |\n  \
          100.000001 |   0)   <...>-12     |   1.000 us    |  f();\n  \
          100.000011 |   0)    bash-12     |   1.000 us    |  f();\n";
    let events = r#"[{"name":"f","ph":"X","ts":1,"dur":1,"pid":1,"tid":2},
        {"name":"f","ph":"X","ts":3,"dur":1,"pid":1,"tid":2},
        {"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"bash"}}]"#;
    for (name, text) in [("graph.txt", graph), ("events.json", events)] {
        let trace = scratch.file(name, text);
        let calls = ["summarize", "--columns", "calls", "--format", "csv"];
        let run = run(&[&calls[..], &["--thread", "bash", &trace]].concat());
        let found = run.stdout.lines().nth(1);
        assert_eq!(found, Some("2"), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_window_that_holds_nothing_is_refused() {
    let scratch = Scratch::new("empty_window");
    let trace = scratch.file("t.txt", "# profctl plain 1 unit=us\n5 a-1 > f\n35 a-1 < f\n");
    for (window, message) in [
        (&["--from", "20us", "--until", "10us"][..], "--from is not before --until"),
        (&["--from", "20us", "--until", "20us"], "--from is not before --until"),
        (&["--from", "2s"], "--from is past the end of the trace, which is 30 us long"),
        (&["--from", "@2s"], "--from is past the end of the trace, which is 30 us long"),
        (&["--until", "0us"], "--until is not after the first timestamp of the trace"),
    ] {
        for command in ["summarize", "replay", "tree"] {
            let said = run(&[&[command, &trace], window].concat()).failure(2);
            assert!(said.contains(message), "{command} {window:?}: {said}");
        }
    }
}

/// Without durations and stamps, only the number of calls is known.
#[test]
fn a_capture_without_times_shows_no_zero() {
    let trace = "fixtures/function_graph/noduration-7.3.txt";
    let run = finish(command(&["summarize", "--top", "3", trace]).current_dir(root()));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let rows: Vec<&str> = run.stdout.lines().filter(|line| line.contains("_raw_spin")).collect();
    assert!(!rows.is_empty(), "{}", run.stdout);
    assert!(rows.iter().all(|row| !row.contains("0.0")), "{}", run.stdout);
}

/// What follows a failed checksum is not known, and every command says so, also where its output is
/// rows of data.
#[test]
fn damage_is_said_in_every_format() {
    let scratch = Scratch::new("said_damage");
    let text = fixtures::read(&root().join("fixtures/ftrace/one-run-sched-6.1.txt"));
    let calls = fixtures::read(&root().join("fixtures/function_graph/default-6.1.txt"));
    let packed = |name: &str, bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).expect("memory");
        let mut gzip = gzip.finish().expect("memory");
        // The checksum and the length are the last eight bytes.
        let at = gzip.len() - 6;
        gzip[at] ^= 1;
        let file = scratch.path(name);
        std::fs::write(&file, gzip).expect("a fresh file");
        file
    };
    let (sched, calls) = (packed("sched.gz", &text), packed("calls.gz", &calls));
    for format in ["table", "csv", "json", "markdown"] {
        for words in [
            &["summarize", &calls][..],
            &["tree", &calls],
            &["replay", &calls],
            &["critical-path", &calls],
            &["diff", &calls, &calls],
            &["sched", &sched],
            &["info", &calls],
        ] {
            let run = run(&[words, &["--format", format]].concat());
            let said = run.stdout + &run.stderr;
            assert!(said.contains("damaged"), "{words:?} --format {format}: {said}");
        }
    }
    for (words, file) in [
        (&["convert", "-o"][..], "o.folded"),
        (&["convert", "-o"], "o.csv"),
        (&["convert", "-o"], "o.json"),
        (&["flame", "-o"], "o.svg"),
        (&["flame", "-o"], "o.png"),
        (&["replay", "-o"], "o.csv"),
    ] {
        let to = scratch.path(file);
        let run = run(&[words, &[&to, &calls]].concat());
        assert_eq!(run.stderr.matches("damaged").count(), 1, "{words:?} {file}: {}", run.stderr);
    }
}
