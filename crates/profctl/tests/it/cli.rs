//! Arguments in; messages, exit code and the place of the output out.

use std::fs;
use std::io;

use profctl_testkit::fixtures;

use crate::program::{CUT, Scratch, WHOLE, command, finish, run};

#[test]
fn help_and_version_are_data() {
    assert!(run(&["--version"]).quiet_success().starts_with("profctl 0."));
    for arguments in [&["--help"][..], &["-h"], &["summarize", "--help"], &["info", "-h"]] {
        assert!(run(arguments).quiet_success().contains("Usage: profctl"), "{arguments:?}");
    }
}

#[test]
fn arguments_that_make_no_sense_end_with_2() {
    let scratch = Scratch::new("usage");
    let trace = scratch.file("trace.txt", WHOLE);
    let trace = trace.as_str();
    for (arguments, message) in [
        (&[][..], "Usage: profctl"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["summarize"], "<TRACE>"),
        (&["summarize", "--frobnicate", trace], "unexpected argument '--frobnicate'"),
        (
            &["summarize", "--format", "xml", trace],
            "[possible values: table, json, csv, markdown, parquet, ",
        ),
        (&["summarize", "--unit", "h", trace], "possible values: auto, ns, us, ms, s, ticks]"),
        (&["summarize", "--width", "0", trace], "expected at least 1"),
        (&["summarize", "--from", "300", trace], "missing unit in `300`: write `300us` or `300ms`"),
        (&["summarize", "--match", "(", trace], "unclosed group"),
        (&["summarize", "--percentiles", "50,0", trace], "`0` is not a percentile"),
        (&["summarize", "--input-format", "jpeg", trace], "possible values: "),
        (&["summarize", "--columns", "name,frobs", trace], "frobs"),
        (&["summarize", "--sort", "frobs", trace], "frobs"),
        (&["summarize", "--time-step", "0us", trace], "expected a tick longer than 0"),
        (&["summarize", "-", "-"], "standard input can be read only once"),
        (&["tree", "--min-share", "101", trace], "expected a share from 0 to 100 percent"),
        (&["formats", "-q", "-v"], "cannot be used with"),
        (&["man", "frobnicate"], "no command `frobnicate`"),
        (&["completions", "cmd.exe"], "possible values: bash"),
    ] {
        let said = run(arguments).failure(2);
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn inputs_that_are_no_trace_end_with_3() {
    let scratch = Scratch::new("no_trace");
    let missing = scratch.path("missing.txt");
    let empty = scratch.file("empty.txt", "");
    let jpeg = scratch.file("holiday.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01");
    let damaged = scratch.file("damaged.json", "{\"schema\":\"profctl.summary/1\",\"sou");
    scratch.file("runs/boot1/notes.meta", "uptime 12 s, quiet\n");
    let runs = scratch.path("runs");
    fs::create_dir(scratch.path("nothing")).unwrap();
    let nothing = scratch.path("nothing");
    for (input, messages) in [
        (&missing, &["missing.txt: no such file or directory"][..]),
        (&empty, &["empty.txt: is empty"]),
        (&jpeg, &["holiday.jpg: ", "is a JPEG image", "`profctl formats`"]),
        (&damaged, &["damaged.json: "]),
        (&runs, &["runs: is a directory of 1 file, which is not a trace", "\nhint: "]),
        (&nothing, &["nothing: is a directory without files"]),
    ] {
        let said = run(&["summarize", input]).failure(3);
        assert!(said.starts_with("profctl: "), "{said}");
        for message in messages {
            assert!(said.contains(message), "{said}\nlacks {message}");
        }
    }
    let names = run(&["summarize", "--names", &missing, &empty]).failure(3);
    assert!(names.contains("missing.txt: no such file"), "{names}");
    for command in ["replay", "tree", "critical-path", "info"] {
        let said = run(&[command, &runs]).failure(3);
        assert!(said.contains("is a directory, expected one trace"), "{command}: {said}");
    }
}

#[test]
fn an_input_of_sums_has_no_calls_to_show() {
    let sums = fixtures::root().join("fixtures/callgrind/calls.out").display().to_string();
    assert!(run(&["summarize", &sums]).quiet_success().contains("# calls"));
    for command in ["replay", "tree", "critical-path"] {
        let said = run(&[command, &sums]).failure(3);
        assert!(said.contains("holds sums of functions, not single calls"), "{command}: {said}");
    }
}

#[test]
fn a_bad_input_among_good_ones_leaves_nothing_behind() {
    let scratch = Scratch::new("nothing_written");
    let good = scratch.file("good.txt", WHOLE);
    let bad = scratch.file("bad.txt", "dear diary\n");
    let out = scratch.file("out.txt", "kept");
    run(&["summarize", "-o", &out, &good, &bad]).failure(3);
    assert_eq!(fs::read_to_string(&out).unwrap(), "kept");
    assert_eq!(scratch.names(), ["bad.txt", "good.txt", "out.txt"]);
}

/// A named pipe has the name of a file and can be read only once and in order, whatever the format.
#[test]
#[cfg(unix)]
fn a_named_pipe_is_read_like_the_file() {
    let scratch = Scratch::new("pipe");
    let pipe = scratch.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let root = fixtures::root().join("fixtures");
    for name in ["trace_dat/function-6.1-v7-zstd.dat", "function_graph/default-6.1.txt"] {
        let file = root.join(name).display().to_string();
        let json = ["summarize", "--quiet", "--format", "json"];
        let expected = run(&[&json[..], &[&file]].concat()).stdout.replace(&file, &pipe);
        let writer = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut pipe = fs::OpenOptions::new().write(true).open(pipe).unwrap();
                io::copy(&mut fs::File::open(file).unwrap(), &mut pipe).unwrap();
            })
        };
        let found = run(&[&json[..], &[&pipe]].concat());
        writer.join().unwrap();
        assert_eq!((found.code, found.stdout), (Some(0), expected), "{name}");
    }
}

#[test]
fn a_directory_of_runs_is_read_as_one() {
    let scratch = Scratch::new("runs");
    scratch.file("runs/boot1/run1.txt", WHOLE);
    scratch.file("runs/boot1/run1.txt.meta", "not a trace\n");
    scratch.file("runs/boot2/run1.txt.zst", zstd::encode_all(WHOLE.as_bytes(), 3).unwrap());
    let runs = scratch.path("runs");
    let arguments = ["summarize", "--columns", "calls,name", "--top", "1", &runs];
    let both = run(&arguments);
    assert_eq!(both.code, Some(0));
    assert!(both.stdout.contains("      2   syscall\n"), "{}", both.stdout);
    let said = format!("profctl: {runs}: skipped 1 of 3 files that are not traces\n");
    assert_eq!(both.stderr, said);
    let quiet = run(&[&["-q"], &arguments[..]].concat()).quiet_success();
    assert_eq!(quiet, both.stdout);
    let verbose = run(&[&["-v"], &arguments[..]].concat());
    for part in
        ["run1.txt: mcrae: ", "run1.txt.zst: mcrae: ", "run1.txt.meta: unrecognized trace format"]
    {
        assert!(verbose.stderr.contains(part), "{}", verbose.stderr);
    }
}

#[test]
fn strict_objects_to_an_incomplete_input_after_the_report() {
    let scratch = Scratch::new("strict");
    let whole = scratch.file("whole.txt", WHOLE);
    let cut = scratch.file("cut.txt", CUT);
    for command in ["summarize", "info"] {
        run(&[command, "--strict", &whole]).quiet_success();
        let easy = run(&[command, &cut]).quiet_success();
        let strict = run(&[command, "--strict", &cut]);
        assert_eq!((strict.code, strict.stdout), (Some(5), easy));
        assert_eq!(strict.stderr, "profctl: the input was incomplete (--strict)\n");
    }
}

#[test]
fn formats_lists_what_is_read_and_written() {
    let json = run(&["formats", "--format", "json"]).quiet_success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names = |direction: &str| -> Vec<&str> {
        let of_direction = rows.iter().filter(|row| row["direction"] == direction);
        of_direction.map(|row| row["name"].as_str().unwrap()).collect()
    };
    let read: Vec<&str> = profctl_import::FORMATS.iter().map(|f| f.descriptor().name).collect();
    assert_eq!(names("read"), read);
    assert_eq!(
        names("written"),
        [
            "table",
            "json",
            "csv",
            "markdown",
            "parquet",
            "jsonl",
            "chrome",
            "perfetto",
            "speedscope",
            "folded",
            "pprof",
            "plain",
            "profile",
            "html",
            "svg",
            "png",
        ]
    );
}

#[test]
fn narrow_output_breaks_between_words() {
    let wide = run(&["formats"]).quiet_success();
    assert!(wide.lines().any(|line| line.chars().count() > 80));
    for width in [40, 80, 120] {
        let narrow = run(&["formats", "--width", &width.to_string()]).quiet_success();
        assert!(narrow.lines().all(|line| line.chars().count() <= width), "{narrow}");
        assert!(narrow.contains("function_graph"), "{narrow}");
    }
}

#[test]
fn colors_follow_flag_and_environment() {
    for (flag, variables, colored) in [
        ("auto", &[][..], false),
        ("always", &[], true),
        ("never", &[("CLICOLOR_FORCE", "1")], false),
        ("auto", &[("CLICOLOR_FORCE", "1")], true),
        ("auto", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ("always", &[("NO_COLOR", "1"), ("TERM", "dumb")], true),
    ] {
        let mut command = command(&["formats", "--color", flag]);
        let out = finish(command.envs(variables.iter().copied())).quiet_success();
        assert_eq!(out.contains('\x1b'), colored, "{flag} {variables:?}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for arguments in [&["formats"][..], &["completions", "bash"], &["--help"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let run = finish(command(arguments).stdout(writer));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let run = finish(command(&["formats"]).stdout(full));
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("standard output: cannot be written: "), "{}", run.stderr);
}

#[test]
fn a_report_goes_to_a_file_in_one_piece() {
    let scratch = Scratch::new("file");
    let out = scratch.file("out.txt", "an older and much longer report".repeat(500));
    let expected = run(&["formats"]).quiet_success();
    assert_eq!(run(&["formats", "-o", &out]).quiet_success(), "");
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    assert_eq!(scratch.names(), ["out.txt"]);
}

#[test]
fn a_place_that_cannot_be_written_ends_with_2() {
    let scratch = Scratch::new("unwritable");
    let blocker = scratch.file("blocker", "a file, not a directory");
    let directory = scratch.path("");
    for out in [scratch.path("missing/out.txt"), format!("{blocker}/out.txt"), directory] {
        let said = run(&["formats", "-o", &out]).failure(2);
        assert!(said.starts_with(&format!("profctl: {out}: cannot be written: ")), "{said}");
    }
    assert_eq!(scratch.names(), ["blocker"]);
}

#[test]
fn completions_and_manual_pages_come_from_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).quiet_success();
        assert!(script.contains("critical-path"), "{shell}");
    }
    let page = run(&["man"]).quiet_success();
    assert!(page.contains(".TH profctl 1") && page.contains("profctl\\-summarize"), "{page}");
    let page = run(&["man", "summarize"]).quiet_success();
    assert!(page.contains(".TH profctl-summarize 1") && page.contains("\\-\\-percentiles"));
}
