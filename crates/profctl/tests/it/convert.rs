//! `profctl convert` from outside.

use std::fs;

use crate::program::{CUT, Scratch, WHOLE, command, run, run_with_input};

/// The saved profile of a trace, less what names the file.
fn profile(trace: &str) -> serde_json::Value {
    let text = run(&["summarize", "--quiet", "--format", "json", trace]).quiet_success();
    let mut profile: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let members = profile.as_object_mut().expect("a profile is an object");
    members.remove("sources");
    members.remove("quality");
    members["totals"].as_object_mut().expect("so are its totals").remove("events");
    profile
}

#[test]
fn the_name_of_the_file_says_the_form() {
    let scratch = Scratch::new("convert-names");
    for (text, name) in [(WHOLE, "whole"), (CUT, "cut")] {
        let trace = scratch.file(&format!("{name}.txt"), text);
        let file = scratch.path(&format!("{name}.plain"));
        run(&["convert", "--quiet", &trace, "-o", &file]).quiet_success();
        assert_eq!(profile(&file), profile(&trace), "{file}");
        for ending in ["pftrace", "perfetto-trace", "json", "speedscope.json"] {
            let file = scratch.path(&format!("{name}.{ending}"));
            run(&["convert", "--quiet", &trace, "-o", &file]).quiet_success();
            let elapsed = |trace: &str| {
                let profile = profile(trace);
                let functions = profile["functions"].as_array().expect("functions").clone();
                let of = |row: &serde_json::Value| format!("{} {}", row["name"], row["elapsed"]);
                let mut rows: Vec<String> = functions.iter().map(of).collect();
                rows.sort();
                rows
            };
            assert_eq!(elapsed(&file), elapsed(&trace), "{file}");
        }
    }
    let trace = scratch.path("whole.txt");
    let saved = scratch.path("whole.profile.json");
    run(&["convert", &trace, "-o", &saved]).quiet_success();
    let expected = run(&["summarize", "--format", "json", &trace]).quiet_success();
    assert_eq!(fs::read_to_string(&saved).unwrap(), expected);
    let folded = scratch.path("whole.FOLDED");
    run(&["convert", &trace, "-o", &folded]).quiet_success();
    assert!(fs::read_to_string(&folded).unwrap().starts_with("syscall "));
    for ending in ["pb.gz", "pprof"] {
        let file = scratch.path(&format!("whole.{ending}"));
        run(&["convert", &trace, "-o", &file]).quiet_success();
        assert_eq!(fs::read(&file).unwrap()[..2], [0x1f, 0x8b], "{file} is gzip");
    }
}

#[test]
fn a_form_by_name_goes_anywhere() {
    let scratch = Scratch::new("convert-to");
    let trace = scratch.file("trace.txt", WHOLE);
    let printed = run(&["convert", "--format", "folded", &trace]).quiet_success();
    let dash = run(&["convert", "--format", "folded", "-o", "-", &trace]).quiet_success();
    assert_eq!(printed, dash);
    let piped = run_with_input(&["convert", "--format", "folded", "-"], WHOLE.as_bytes());
    assert_eq!(piped.quiet_success(), printed);
    let file = scratch.path("whatever.dat");
    run(&["convert", "--format", "folded", "-o", &file, &trace]).quiet_success();
    assert_eq!(fs::read_to_string(&file).unwrap(), printed);
}

#[test]
fn a_form_that_is_not_there_lists_those_that_are() {
    let scratch = Scratch::new("convert-unknown");
    let trace = scratch.file("trace.txt", WHOLE);
    let file = scratch.path("trace.docx");
    let said = run(&["convert", &trace, "-o", &file]).failure(2);
    assert!(said.contains("unknown output extension `.docx`"), "{said}");
    for form in ["perfetto (.pftrace", "chrome (.json)", "pprof (.pb.gz", "profile (.profile.json)"]
    {
        assert!(said.contains(form), "{said}");
    }
    let said = run(&["convert", &trace]).failure(2);
    assert!(said.contains("use `-o FILE` or `--format NAME`"), "{said}");
    let said = run(&["convert", "--format", "docx", &trace]).failure(2);
    assert!(said.contains("possible values") && said.contains("speedscope"), "{said}");
}

#[test]
fn what_cannot_be_converted_leaves_no_file() {
    let scratch = Scratch::new("convert-refused");
    let file = scratch.path("out.pftrace");
    let sums = scratch.file(
        "callgrind.out",
        "# callgrind format\nversion: 1\npositions: line\nevents: Ir\nfn=main\n1 5\n",
    );
    let said = run(&["convert", &sums, "-o", &file]).failure(3);
    assert!(said.contains("holds sums of functions, not single calls"), "{said}");
    let prose = scratch.file("prose.txt", "Dear Sir,\n");
    run(&["convert", &prose, "-o", &file]).failure(3);
    assert!(fs::metadata(&file).is_err(), "nothing was written");
    let nowhere = scratch.path("nowhere/out.pftrace");
    let trace = scratch.file("trace.txt", WHOLE);
    let said = run(&["convert", &trace, "-o", &nowhere]).failure(2);
    assert!(said.contains("cannot be written"), "{said}");
}

#[test]
fn an_incomplete_trace_is_converted_and_said_to_be() {
    let scratch = Scratch::new("convert-strict");
    let trace = scratch.file("trace.txt", CUT);
    let file = scratch.path("trace.plain");
    let run_of = run(&["convert", "--strict", &trace, "-o", &file]);
    assert_eq!(run_of.code, Some(5), "{}", run_of.stderr);
    // So is what reads back.
    assert_eq!(run(&["summarize", "--strict", &file]).code, Some(5));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let scratch = Scratch::new("convert-pipe");
    let trace = scratch.file("trace.txt", WHOLE.repeat(2000));
    let mut child = command(&["convert", "--quiet", "--format", "perfetto", &trace])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn plain_takes_all_or_nothing() {
    let scratch = Scratch::new("convert-plain");
    let trace = scratch.file("trace.txt", WHOLE);
    let said = run(&["convert", "--format", "plain", "--thread", "1", &trace]).failure(2);
    assert!(said.contains("--thread has no effect"), "{said}");
    let text = run(&["convert", "--format", "plain", &trace]).quiet_success();
    assert!(text.starts_with("# profctl plain 1 unit=us\n"), "{text}");
    // What is plain already stays as it is.
    let plain = scratch.file("trace.plain", &text);
    assert_eq!(run(&["convert", "--format", "plain", &plain]).quiet_success(), text);
}
