//! What every command prints on terminals of 80 and 120 columns, on a dumb terminal and into a pipe.

use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::expect_file;
use profctl_testkit::fixtures::{files, root};

use crate::program::{command, finish};

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
    "diff --top 6 --paths fixtures/function_graph/default-6.1.txt fixtures/function_graph/default-7.3.txt",
    "gate --top 2 fixtures/diff/6.1.192 fixtures/diff/6.1.192-slub-debug",
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

#[test]
fn no_line_is_wider_than_the_terminal_and_names_keep_24_characters() {
    let commands: [&[&str]; 4] =
        [&["summarize", "--top", "30"], &["tree"], &["critical-path"], &["replay"]];
    for trace in traces() {
        let trace = trace.display().to_string();
        for command_words in commands {
            let words: Vec<&str> =
                command_words.iter().copied().chain(["--width", "80", &trace]).collect();
            let run = finish(&mut command(&words));
            for line in run.stdout.lines() {
                assert!(width(line) <= 80, "{words:?}: {line}");
                if let Some((name, _)) = line.split_once('…') {
                    let name = name.rsplit(' ').next().expect("there is a last word");
                    assert!(width(name) >= 23, "{words:?}: {line}");
                }
            }
        }
    }
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
