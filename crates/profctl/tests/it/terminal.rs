//! What every command prints on terminals of 80 and 120 columns, on a dumb terminal and into a pipe.

use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::expect_file;
use profctl_testkit::fixtures::{files, root};

use crate::program::{Scratch, command, finish};

/// Commands whose output is kept in `terminal/`.
const SESSIONS: &[&str] = &[
    "summarize --top 8 fixtures/mcrae/trace.txt",
    "summarize --top 8 fixtures/function_graph/abstime-proc-tail-6.12.txt",
    "summarize --top 5 --percentiles 50,90,99 fixtures/function_graph/default-rt-6.1.txt",
    "summarize --top 5 --by thread fixtures/function_graph/sched-events-abstime-proc-tail-7.3.txt",
    "tree --min-share 3 fixtures/function_graph/abstime-proc-tail-6.12.txt",
    "critical-path --of tcp_input --slowest fixtures/mcrae/trace.txt",
    "replay --around tcp_input --highlight 500us fixtures/mcrae/trace.txt",
    "replay --slowest vfs_read fixtures/function_graph/abstime-proc-tail-6.12.txt",
    "info fixtures/function_graph/lost-trace-pipe-6.1.txt",
    "diff --top 4 fixtures/diff/6.1.170 fixtures/diff/6.1.192",
    "diff --top 4 --compact fixtures/diff/6.1.170 fixtures/diff/6.1.192",
    "diff --top 6 --paths fixtures/function_graph/default-6.1.txt fixtures/function_graph/default-7.3.txt",
    "gate --top 2 fixtures/diff/6.1.192 fixtures/diff/6.1.192-slub-debug",
    "history --top 4 fixtures/diff/6.1.170 fixtures/diff/6.1.192 fixtures/diff/6.1.192-slub-debug",
    "sched --by cpu fixtures/function_graph/sched-events-abstime-proc-tail-7.3.txt",
    "sweep fixtures/minix-quantum/cpu.toml",
    "formats",
];

fn run(line: &str, extra: &[&str]) -> String {
    let words: Vec<&str> = line.split(' ').chain(extra.iter().copied()).collect();
    let run = finish(command(&words).current_dir(root()));
    assert!(matches!(run.code, Some(0 | 1)), "{line}: {}", run.stderr);
    run.stdout
}

fn width(line: &str) -> usize {
    line.chars().count()
}

#[test]
fn commands_print_what_is_expected_at_80_and_120_columns() {
    for columns in ["80", "120"] {
        let mut all = String::new();
        for line in SESSIONS {
            let out = run(line, &["--width", columns]);
            writeln!(all, "$ profctl {line} --width {columns}\n{out}").expect("a string takes it");
        }
        expect_file![format!("terminal/{columns}.txt")].assert_eq(&all);
    }
}

/// A trace of each format that needs no flag, and every one of function_graph.
fn traces() -> Vec<PathBuf> {
    let mut traces = Vec::new();
    for format in profctl_import::FORMATS {
        let name = format.descriptor().name;
        let most = if name == "function_graph" { usize::MAX } else { 1 };
        let all = files(&root().join("fixtures").join(name));
        let readable = |path: &PathBuf| {
            let words = ["info", "-q", &path.display().to_string()];
            finish(&mut command(&words)).code == Some(0)
        };
        traces.extend(all.into_iter().filter(readable).take(most));
    }
    assert!(traces.len() > 20, "{traces:?}");
    traces
}

/// Every command that prints a table, without its trace.
const COMMANDS: [&[&str]; 12] = [
    &["summarize", "--top", "30"],
    &["tree"],
    &["critical-path"],
    &["replay"],
    &["summarize", "--top", "30", "--by", "thread"],
    &["summarize", "--top", "5", "--percentiles", "50,99"],
    &["critical-path", "--by", "function"],
    &["sched"],
    &["info", "-v"],
    &["diff"],
    &["diff", "--paths"],
    &["gate"],
];

#[test]
fn no_line_is_wider_than_the_terminal_and_names_keep_24_characters() {
    let mut n_reports = 0;
    for (index, trace) in traces().iter().enumerate() {
        let trace = trace.strip_prefix(root()).expect("it is a fixture").display().to_string();
        // Four commands on every trace, the others on some.
        let commands = if index % 6 == 0 { &COMMANDS[..] } else { &COMMANDS[..4] };
        for words in commands {
            let sides = if matches!(words[0], "diff" | "gate") { 2 } else { 1 };
            let traces = std::iter::repeat_n(trace.as_str(), sides);
            let words: Vec<&str> =
                words.iter().copied().chain(["-q", "--width", "80"]).chain(traces).collect();
            let run = finish(command(&words).current_dir(root()));
            // Some traces have no threads to schedule, or no single calls.
            if !matches!(run.code, Some(0 | 1 | 4)) {
                assert!(matches!(run.code, Some(2 | 3)), "{words:?}: {}", run.stderr);
                continue;
            }
            n_reports += 1;
            for line in run.stdout.lines() {
                // A path is not broken.
                assert!(width(line) <= 80 || line.contains("fixtures/"), "{words:?}: {line}");
                if let Some((name, _)) = line.split_once('…') {
                    let name = name.rsplit(' ').next().expect("there is a last word");
                    assert!(width(name) >= 23 || name.is_empty(), "{words:?}: {line}");
                }
            }
        }
    }
    assert!(n_reports > 200, "only {n_reports} reports");
    for line in SESSIONS {
        for line in run(line, &["--width", "80"]).lines() {
            // A path is not broken.
            assert!(width(line) <= 80 || line.contains("fixtures/"), "{line}");
        }
    }
}

#[test]
fn a_pipe_and_a_dumb_terminal_get_plain_text_of_any_width() {
    for line in SESSIONS {
        let words: Vec<&str> = line.split(' ').collect();
        let piped = finish(command(&words).current_dir(root())).stdout;
        let dumb = finish(command(&words).current_dir(root()).env("TERM", "dumb")).stdout;
        assert_eq!(piped, dumb, "{line}");
        assert!(!piped.contains('\x1b') && !piped.contains("to fit"), "{line}: {piped}");
    }
}

/// The main column is the last to be omitted.
#[test]
fn a_narrow_summary_shows_shares() {
    for line in &SESSIONS[..3] {
        let heading = run(line, &["--width", "80"]);
        assert!(heading.contains("% net"), "{line}: {heading}");
    }
}

/// What can be known only from other events is said once, with the remedy.
#[test]
fn without_switches_every_report_says_once_what_that_means() {
    let trace = "fixtures/function_graph/default-6.1.txt";
    let said = |text: &str| text.matches("no sched_switch in this trace").count();
    for (words, times) in [
        ("summarize", 1),
        ("summarize --by thread", 1),
        ("tree", 1),
        ("critical-path", 1),
        ("replay", 1),
        ("info", 1),
        ("flame --format svg", 1),
        ("flame --format html", 1),
        ("report", 1),
    ] {
        let out = run(&format!("{words} {trace}"), &[]);
        assert_eq!(said(&out), times, "{words}");
    }
    // Each side says what it is like.
    for words in ["diff", "diff --paths", "gate"] {
        let words: Vec<&str> = words.split(' ').chain([trace, trace]).collect();
        let out = finish(command(&words).current_dir(root())).stdout;
        assert_eq!(said(&out), 2, "{words:?}: {out}");
    }
    let with = "fixtures/function_graph/sched-events-abstime-proc-tail-7.3.txt";
    assert_eq!(said(&run(&format!("summarize {with}"), &[])), 0);
}

/// A baseline that was saved of a directory of runs is those runs.
#[test]
fn a_saved_baseline_is_the_runs_that_it_was_made_of() {
    let scratch = Scratch::new("terminal_baseline");
    let baseline = scratch.path("base.profile.json");
    run("summarize fixtures/diff/6.1.170", &["-q", "--format", "json", "-o", &baseline]);
    let gate = |before: &str| {
        let words = ["gate", "-q", "--format", "csv", before, "fixtures/diff/6.1.192"];
        finish(command(&words).current_dir(root()))
    };
    let (saved, runs) = (gate(&baseline), gate("fixtures/diff/6.1.170"));
    assert_eq!(saved.code, Some(1), "{}", saved.stderr);
    assert_eq!((saved.code, saved.stdout), (runs.code, runs.stdout));
}

/// One run per side: what changed most comes first, by elapsed or net, whichever changed more.
#[test]
fn one_run_per_side_lists_what_changed_most() {
    let [before, after] = ["default-6.1.txt", "default-7.3.txt"]
        .map(|name| format!("fixtures/function_graph/{name}"));
    let out = run(&format!("diff --top 1000 --unit ns {before} {after}"), &["--width", "400"]);
    let lines = out.lines().skip_while(|line| !line.starts_with("beyond the margin"));
    let rows = lines.skip(4).take_while(|line| !line.is_empty() && !line.starts_with("note: "));
    let change = |line: &str| -> u64 {
        let deltas = line.split_whitespace().filter(|cell| cell.starts_with(['+', '-']));
        let number = |cell: &str| cell[1..].parse::<u64>().unwrap_or(0);
        deltas.map(number).max().unwrap_or(0)
    };
    let changes: Vec<u64> = rows.map(change).collect();
    assert!(changes.len() > 50, "{out}");
    assert!(changes.is_sorted_by(|a, b| a >= b), "{changes:?}\n{out}");
}
