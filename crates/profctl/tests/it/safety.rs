//! What a hostile or damaged input, a signal and a full disk may not do: steer a terminal, put a
//! picture into a review, leave files behind, or go unmentioned.

use std::fs;
use std::io::Write as _;

use crate::program::{Scratch, WHOLE, command, finish, run};

/// Steers a terminal, turns text around, and is an image, a tag and a table cell in Markdown.
const HOSTILE: &str = "a\u{1b}[2J\u{7}\u{9b}1m\u{202e}\u{61c}\u{2066}![x](http://evil.example/i.png)<img src=x>|`b\r\n# c";

/// A trace in which everything has that name.
fn hostile(scale: u64) -> String {
    let events: Vec<_> = (0..40_u64)
        .map(|n| {
            serde_json::json!({
                "ph": "X", "ts": n * 100 * scale, "dur": 50 * scale, "pid": 1, "tid": 1,
                "name": if n % 2 == 0 { HOSTILE } else { "plain" }, "cat": HOSTILE,
            })
        })
        .chain([serde_json::json!({
            "ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": { "name": HOSTILE },
        })])
        .collect();
    serde_json::json!({ "traceEvents": events }).to_string()
}

/// Characters that no report and no message may hold.
fn steering(text: &str) -> Option<char> {
    text.chars().find(|&c| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

#[test]
fn names_do_not_steer_a_terminal() {
    let scratch = Scratch::new("safety_names");
    // As far as a file may be called: no separator, no NUL.
    let name = HOSTILE.replace('/', "_");
    let before = scratch.file(&format!("before {name}.json"), hostile(1));
    let after = scratch.file(&format!("after {name}.json"), hostile(2));
    let absent = scratch.path(&format!("absent {name}"));
    let runs: [&[&str]; 18] = [
        &["summarize", &before],
        &["summarize", "--by", "thread", &before],
        &["summarize", "--format", "markdown", &before],
        &["summarize", "-v", &before, &after],
        &["tree", &before],
        &["replay", &before],
        &["replay", "--width", "80", &before],
        &["critical-path", &before],
        &["sched", &before],
        &["info", "-v", &before],
        &["diff", &before, &after],
        &["diff", "--paths", &before, &after],
        &["gate", &before, &after],
        &["gate", "--github", &before, &after],
        &["gate", "--markdown", "-", &before, &after],
        &["summarize", &absent],
        &["summarize", "--thread", "x", &before],
        &["summarize", "-o", &format!("{absent}/x.csv"), &before],
    ];
    for arguments in runs {
        let found = run(arguments);
        for text in [&found.stdout, &found.stderr] {
            assert_eq!(steering(text), None, "{arguments:?}:\n{text:?}");
        }
    }
}

/// What is left of Markdown without its code spans and what is escaped.
fn markup(text: &str) -> String {
    let mut left = String::new();
    let text = without_code(text);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c == '\\' {
            characters.next();
        } else {
            left.push(c);
        }
    }
    left
}

fn without_code(text: &str) -> String {
    let mut rest = text;
    let mut left = String::new();
    while let Some(at) = rest.find('`') {
        left.push_str(&rest[..at]);
        rest = &rest[at..];
        if left.ends_with('\\') {
            left.push('`');
            rest = &rest[1..];
            continue;
        }
        let run = rest.len() - rest.trim_start_matches('`').len();
        // A code span ends at a run of as many.
        let mut close = None;
        let mut from = run;
        while let Some(next) = rest[from..].find('`') {
            let begin = from + next;
            let length = rest[begin..].len() - rest[begin..].trim_start_matches('`').len();
            if length == run {
                close = Some(begin + length);
                break;
            }
            from = begin + length;
        }
        match close {
            Some(end) => rest = &rest[end..],
            None => {
                left.push_str(&rest[..run]);
                rest = &rest[run..];
            }
        }
    }
    left + rest
}

#[test]
fn names_are_no_markup_in_a_review() {
    let scratch = Scratch::new("safety_markdown");
    let name = "![x](http:__evil) <img src=x> | `b";
    let before = scratch.file(&format!("before {name}.json"), hostile(1));
    let after = scratch.file(&format!("after {name}.json"), hostile(3));
    let runs: [&[&str]; 6] = [
        &["summarize", "--format", "markdown", &before],
        &["tree", "--format", "markdown", &before],
        &["info", "--format", "markdown", &before],
        &["diff", "--format", "markdown", &before, &after],
        &["gate", "--format", "markdown", &before, &after],
        &["gate", "--markdown", "-", &before, &after],
    ];
    for arguments in runs {
        let found = run(arguments);
        assert!(found.stdout.contains("| "), "{arguments:?}: {}", found.stderr);
        let markup = markup(&found.stdout);
        for live in ["![x]", "](http", "<img"] {
            assert!(!markup.contains(live), "{arguments:?}: {live} in\n{}", found.stdout);
        }
        // Rows of a table have as many cells as its heading.
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut heading = None;
        for line in found.stdout.lines() {
            match heading.filter(|_| line.starts_with('|')) {
                Some(count) => assert_eq!(cells(line), count, "{arguments:?}: {line}"),
                None => heading = line.starts_with('|').then(|| cells(line)),
            }
        }
    }
}

#[test]
fn spreadsheets_do_not_run_names() {
    let scratch = Scratch::new("safety_csv");
    let trace =
        scratch.file("t.plain", "# profctl plain 1\n0 > \"=1+2\"\n5 . \"@a,b\" 2\n9 < \"=1+2\"\n");
    let table = run(&["summarize", "--format", "csv", "--columns", "name", &trace]).quiet_success();
    assert_eq!(table, "name\r\n=1+2\r\n\"@a,b\"\r\n");
    let csv = |arguments: &[&str]| {
        run(&[arguments, &["--format", "csv", "--csv-safe", &trace]].concat()).quiet_success()
    };
    assert_eq!(csv(&["summarize", "--columns", "name"]), "name\r\n'=1+2\r\n\"'@a,b\"\r\n");
    for arguments in [&["convert"][..], &["convert", "--table", "functions"]] {
        let rows = csv(arguments);
        assert!(rows.contains(",'=1+2,") && rows.contains(",\"'@a,b\","), "{rows}");
    }
    let said = run(&["summarize", "--csv-safe", &trace]).failure(2);
    assert!(said.contains("--csv-safe has no effect"), "{said}");
    let said = run(&["convert", "--unit", "us", "--format", "csv", &trace]).failure(2);
    assert!(said.contains("--unit has no effect"), "{said}");
}

/// Many lines that read well, as gzip.
fn packed(content: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content.as_bytes()).expect("memory takes what is written to it");
    encoder.finish().expect("memory takes what is written to it")
}

/// The same with a wrong checksum: one bit in the last bytes is flipped.
fn flipped(mut packed: Vec<u8>, from_end: usize) -> Vec<u8> {
    let at = packed.len() - from_end;
    packed[at] ^= 1;
    packed
}

/// Every report in every format that has no binary reader here, and every picture.
fn reports<'a>(file: &'a str, good: &'a str) -> Vec<Vec<&'a str>> {
    let mut reports = Vec::new();
    for format in ["table", "json", "csv", "markdown"] {
        for command in ["summarize", "tree", "replay", "critical-path", "info"] {
            reports.push(vec![command, file, "--format", format]);
        }
        reports.push(vec!["diff", good, file, "--format", format]);
        reports.push(vec!["diff", file, good, "--format", format]);
        reports.push(vec!["diff", "--paths", good, file, "--format", format]);
        reports.push(vec!["gate", good, file, "--format", format]);
        reports.push(vec!["gate", file, good, "--inconclusive", "pass", "--format", format]);
        reports.push(vec!["history", good, file, "--format", format]);
    }
    // Neither the first side after nor the last is the only one that counts.
    reports.push(vec!["diff", good, file, good]);
    reports.push(vec!["diff", good, good, file]);
    reports.push(vec!["summarize", good, file]);
    let written = |words: &[&'a str]| [&["-o", "out"], words].concat();
    for format in ["chrome", "perfetto", "speedscope", "folded", "pprof", "plain", "csv", "profile"]
    {
        reports.push(written(&["convert", file, "--format", format]));
    }
    for format in ["svg", "html", "folded", "png"] {
        reports.push(written(&["flame", file, "--format", format]));
    }
    reports.push(written(&["flame", "--kind", "chart", file, "--format", "svg"]));
    reports.push(written(&["flame", "--diff", good, file, "--format", "svg"]));
    reports.push(written(&["report", file, "--format", "html"]));
    reports.push(written(&["report", good, file, "--format", "html"]));
    for kind in ["hist", "ecdf", "scatter"] {
        reports.push(written(&["plot", kind, "splx", file, "--format", "svg"]));
    }
    for kind in ["runs", "history"] {
        reports.push(written(&["plot", kind, "splx", good, file, "--format", "svg"]));
    }
    reports
}

/// A file that cannot be read to its end is an error that each command says, and fails with 5 if it
/// is to be strict.
#[test]
fn damage_is_said_by_every_command() {
    let scratch = Scratch::new("safety_damage");
    let content = WHOLE.repeat(600);
    let good = scratch.file("good.txt", &content);
    let whole = packed(&content);
    let mut zst = zstd::Encoder::new(Vec::new(), 3).unwrap();
    zst.include_checksum(true).unwrap();
    zst.write_all(content.as_bytes()).unwrap();
    let zst = zst.finish().unwrap();
    let xz = include_bytes!("safety/whole.txt.xz").to_vec();
    let files = [
        scratch.file("cut.txt.gz", &whole[..whole.len() / 2]),
        scratch.file("checksum.txt.gz", flipped(whole, 6)),
        scratch.file("checksum.txt.zst", flipped(zst, 2)),
        scratch.file("cut.txt.xz", &xz[..xz.len() - 40]),
    ];
    let out = scratch.path("written");
    let sweep = |file: &str| {
        let cell = |condition: &str, file: &str| {
            format!("[[cell]]\nvariant = \"a\"\ncondition = \"{condition}\"\ntraces = [{file:?}]\n")
        };
        let head = "title = \"t\"\nmeasure = \"real\"\nreference = \"x\"\n";
        scratch.file("sweep.toml", format!("{head}{}{}", cell("x", &good), cell("y", file)))
    };
    for (n, file) in files.iter().enumerate() {
        let manifest = sweep(file);
        let sweeps = [
            vec!["sweep", &manifest],
            vec!["sweep", &manifest, "--format", "csv"],
            vec!["plot", "sweep", &manifest, "--format", "svg", "-o", "out"],
        ];
        // All are read by the same code: each report of the first, each command of the others.
        let is_tried = |words: &Vec<&str>| {
            n == 0 || !words.iter().any(|word| matches!(*word, "csv" | "markdown" | "json" | "-o"))
        };
        for words in reports(file, &good).into_iter().chain(sweeps).filter(is_tried) {
            let words: Vec<&str> =
                words.into_iter().map(|word| if word == "out" { &out } else { word }).collect();
            let found = run(&[&words[..], &["--strict"]].concat());
            assert_eq!(found.code, Some(5), "{words:?}: {}", found.stderr);
            let written = fs::read(&out).unwrap_or_default();
            let all =
                format!("{}{}{}", found.stdout, found.stderr, String::from_utf8_lossy(&written));
            let is_said = all.contains("damaged: ") || all.contains("input/damaged");
            assert!(is_said, "{words:?}: {}{}", found.stdout, found.stderr);
            let _ = fs::remove_file(&out);
        }
    }
}

/// One damaged run among good ones rules out a verdict: what was read of it may be wrong.
#[test]
fn a_gate_does_not_rest_on_a_damaged_run() {
    let scratch = Scratch::new("safety_gate");
    let content = WHOLE.repeat(300);
    for run in ["before/1.txt", "before/2.txt", "before/3.txt", "after/1.txt", "after/2.txt"] {
        scratch.file(run, &content);
    }
    let last = scratch.file("after/3.txt", &content);
    let [before, after] = ["before", "after"].map(|side| scratch.path(side));
    assert_eq!(run(&["gate", "--strict", &before, &after]).code, Some(0));
    fs::remove_file(last).unwrap();
    scratch.file("after/3.txt.gz", flipped(packed(&content), 6));
    for (flags, code) in [
        (&[][..], 4),
        (&["--inconclusive", "pass"], 0),
        (&["--strict"], 5),
        (&["--strict", "--inconclusive", "pass"], 5),
        (&["--strict", "--bisect", "--function", "splx"], 125),
        (&["--strict", "--max-loss", "100%"], 0),
        (&["--strict", "--budget", "splx<=1us"], 5),
    ] {
        let found = run(&[&["gate", &before, &after], flags].concat());
        assert_eq!(found.code, Some(code), "{flags:?}: {}{}", found.stdout, found.stderr);
        assert!(found.stdout.contains("damaged: "), "{flags:?}: {}", found.stdout);
    }
    let found = run(&["gate", "--strict", "--format", "json", &before, &after]);
    let verdict: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&verdict["verdict"], &verdict["exit_code"]), (&"inconclusive".into(), &5.into()));
    let why = &verdict["reasons"][0];
    assert_eq!(why, "after: 1 run could not be read to the end");
}

/// A disk that fails, here a terminal whose other end is closed, ends the input, and is said.
#[test]
#[cfg(target_os = "linux")]
fn a_read_error_is_said_by_every_command() {
    let scratch = Scratch::new("safety_error");
    let out = scratch.path("calls.plain");
    for words in [
        &["summarize", "-"][..],
        &["summarize", "--format", "json", "-"],
        &["tree", "-"],
        &["replay", "-"],
        &["info", "-"],
        &["convert", "-", "-o", &out],
    ] {
        let failing = crate::pty::failing_after(WHOLE.repeat(4).as_bytes());
        let found = finish(command(&[words, &["--strict"]].concat()).stdin(failing));
        let said = format!("{}{}", found.stdout, found.stderr);
        assert_eq!(found.code, Some(5), "{words:?}: {said}");
        assert!(said.contains("Input/output error"), "{words:?}: {said}");
    }
}

/// What is after a compressed file costs only itself.
#[test]
fn garbage_behind_a_compressed_file_is_left_out() {
    let scratch = Scratch::new("safety_garbage");
    let whole = scratch.file("whole.txt", WHOLE.repeat(300));
    let columns = ["--format", "csv", "--columns", "calls,net,name"];
    let expected = run(&[&["summarize", &whole][..], &columns].concat()).quiet_success();
    let content = WHOLE.repeat(300);
    let xz = include_bytes!("safety/whole.txt.xz").to_vec();
    let zst = zstd::encode_all(content.as_bytes(), 3).unwrap();
    for (name, bytes) in [("t.gz", packed(&content)), ("t.zst", zst), ("t.xz", xz)] {
        let file = scratch.file(name, [&bytes[..], b"garbage behind the end"].concat());
        let found = run(&[&["summarize", "--strict", &file][..], &columns].concat());
        assert_eq!(found.code, Some(5), "{name}");
        assert_eq!(found.stdout, expected, "{name}: {}", found.stderr);
    }
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_nowhere_is_skipped_and_said() {
    let scratch = Scratch::new("safety_link");
    scratch.file("runs/1.txt", WHOLE);
    std::os::unix::fs::symlink("gone.txt", scratch.path("runs/2.txt")).unwrap();
    let runs = scratch.path("runs");
    let found = run(&["summarize", &runs]);
    assert_eq!(found.code, Some(0));
    assert!(found.stderr.contains("skipped 1 of 2 files"), "{}", found.stderr);
    let found = run(&["summarize", "-v", &runs]);
    assert!(found.stderr.contains("2.txt: no such file or directory"), "{}", found.stderr);
}

/// Files that are being written are private, and a signal removes them.
#[test]
#[cfg(unix)]
fn a_signal_leaves_no_temporary_file() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let scratch = Scratch::new(&format!("safety_signal_{name}"));
        let [out, temporary] = ["out", "tmp"].map(|name| scratch.path(name));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(&temporary).unwrap();
        let pipe = scratch.path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // More calls than are kept in memory.
        let many = "   1:200 200 -> f (20 us)\n".repeat(4 << 20);
        for (arguments, text) in [
            (["convert", &pipe, "-o", &format!("{out}/calls.plain")], WHOLE),
            (["convert", &pipe, "-o", &format!("{out}/calls.folded")], &many),
        ] {
            let mut child = command(&arguments)
                .env("TMPDIR", &temporary)
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Stays open, so that the program waits for more.
            let mut input = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
            input.write_all(text.as_bytes()).unwrap();
            let listed = |folder: &str| -> Vec<fs::DirEntry> {
                fs::read_dir(folder).unwrap().map(Result::unwrap).collect()
            };
            let begun = Instant::now();
            while listed(&out).is_empty() && listed(&temporary).is_empty() {
                assert!(begun.elapsed() < Duration::from_secs(20), "{arguments:?}: nothing begun");
                std::thread::sleep(Duration::from_millis(20));
            }
            // A file is created before its mode is set.
            std::thread::sleep(Duration::from_millis(200));
            for entry in listed(&out).iter().chain(&listed(&temporary)) {
                let mode = entry.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o077, 0, "{:?} is private", entry.path());
            }
            let id = child.id().to_string();
            let killed = Command::new("kill").args([&format!("-{name}"), &id]).status();
            assert!(killed.unwrap().success());
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), Some(number), "{arguments:?}");
            for folder in [&out, &temporary] {
                let left: Vec<_> = listed(folder).iter().map(fs::DirEntry::path).collect();
                assert!(left.is_empty(), "{name}: {left:?}");
            }
        }
    }
}

/// A pager on a terminal: what fits on the screen is not paged, what does not is; a pager that is
/// quit, and one that cannot be started, are not errors.
#[test]
#[cfg(target_os = "linux")]
fn long_output_is_paged_on_a_terminal() {
    let scratch = Scratch::new("safety_pager");
    let trace = scratch.file("t.txt", WHOLE);
    let long = scratch.file("long.txt", WHOLE.repeat(40));
    let pty = |pager: &str, rows: u32, arguments: &str| {
        let program = env!("CARGO_BIN_EXE_profctl");
        let line = format!("stty rows {rows} cols 80; {program} {arguments}; echo code $?");
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]);
        script.env("PROFCTL_PAGER", pager).env("TERM", "xterm").env("XDG_CONFIG_HOME", "/nowhere");
        script.stdin(std::process::Stdio::null());
        finish(&mut script)
    };
    if std::process::Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let paged = |found: &str| found.contains("paged");
    let found = pty("sed s/^/paged:/", 50, &format!("summarize {trace}"));
    assert!(!paged(&found.stdout) && found.stdout.contains("syscall"), "{}", found.stdout);
    let found = pty("sed s/^/paged:/", 10, &format!("replay {long}"));
    assert!(paged(&found.stdout) && found.stdout.contains("code 0"), "{}", found.stdout);
    let found = pty("sed s/^/paged:/", 10, &format!("replay --no-pager {long}"));
    assert!(!paged(&found.stdout) && found.stdout.contains("code 0"), "{}", found.stdout);
    let found = pty("head -1", 10, &format!("replay {long}"));
    assert!(found.stdout.contains("code 0"), "{}", found.stdout);
    let found = pty("/nowhere/pager", 10, &format!("replay {long}"));
    assert!(found.stdout.contains("code "), "{}", found.stdout);
}
