//! Time and memory per byte, however an input is large: deep, with many names, threads, wires or
//! levels of nesting, or compressed. The system holds the program to its budget, in CPU time, so that
//! a busy machine changes nothing.
//!
//! `PROFCTL_BUDGET=1000000` sets the size of the largest inputs; `just budget` does, with a release
//! build.

#![expect(clippy::disallowed_methods, reason = "runs longer when asked")]

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::program::{Scratch, command, finish};

/// What an input may take: a start, and so much for each of its megabytes.
const SECONDS: u64 = 4;
const SECONDS_PER_MB: u64 = 12;
const MEMORY_MB: u64 = 400;
const MEMORY_PER_MB: u64 = 250;

/// How large inputs are: in CI, a build without optimization reads them.
fn sizes() -> Vec<usize> {
    let largest = std::env::var("PROFCTL_BUDGET").ok().and_then(|size| size.parse().ok());
    let sizes = [1_000, 20_000, 100_000, 1_000_000];
    sizes.into_iter().filter(|&size| size <= largest.unwrap_or(20_000)).collect()
}

/// A generator of inputs, and what reads them.
struct Dimension {
    name: &'static str,
    /// The ending of its files.
    ending: &'static str,
    make: fn(usize) -> Vec<u8>,
    flags: &'static [&'static str],
}

fn plain(lines: impl Iterator<Item = String>) -> Vec<u8> {
    let mut text = "# profctl plain 1 unit=us\n".to_owned();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text.into_bytes()
}

/// Calls in calls.
fn depth(n: usize) -> Vec<u8> {
    let enter = (0..n).map(|at| format!("{at} a-1 > f{}", at % 7));
    let exit = (0..n).map(move |at| format!("{} a-1 < f{}", n + at, (n - 1 - at) % 7));
    plain(enter.chain(exit))
}

fn names(n: usize) -> Vec<u8> {
    plain((0..n).map(|at| format!("{} a-1 > function_{at}\n{} a-1 <", 2 * at, 2 * at + 1)))
}

/// Functions of many names within one another.
fn paths(n: usize) -> Vec<u8> {
    let enter = (0..n).map(|at| format!("{at} a-1 > f{at}"));
    let exit = (0..n).map(move |at| format!("{} a-1 < f{}", n + at, n - 1 - at));
    plain(enter.chain(exit))
}

/// Calls of one caller.
fn siblings(n: usize) -> Vec<u8> {
    let calls = (0..n).map(|at| format!("{} a-1 > g\n{} a-1 < g", 2 * at + 1, 2 * at + 2));
    let whole = ["0 a-1 > main".to_owned()].into_iter().chain(calls);
    plain(whole.chain([format!("{} a-1 < main", 2 * n + 2)]))
}

fn threads(n: usize) -> Vec<u8> {
    let call = |at| format!("{} t{at}-{} > f\n{} t{at}-{} < f", 2 * at, at + 1, 2 * at + 1, at + 1);
    plain((0..n).map(call))
}

/// Threads that take one CPU from one another.
fn switches(n: usize) -> Vec<u8> {
    let mut text = "# tracer: nop\n#\n".to_owned();
    for at in 0..n {
        let (tid, next) = (at + 1, at + 2);
        let _ = writeln!(
            text,
            "     t{tid}-{tid}  [000] d..2. {}.{:06}: sched_switch: prev_comm=t{tid} \
             prev_pid={tid} prev_prio=120 prev_state=S ==> next_comm=t{next} next_pid={next} \
             next_prio=120",
            100 + at / 100_000,
            at % 100_000 * 10,
        );
    }
    text.into_bytes()
}

fn wires(n: usize) -> Vec<u8> {
    let mut text = "$timescale 1us $end\n$scope module top $end\n".to_owned();
    for wire in 0..n {
        let _ = writeln!(text, "$var wire 1 {wire} w{wire} $end");
    }
    text += "$upscope $end\n$enddefinitions $end\n#0\n";
    for wire in 0..n {
        let _ = write!(text, "#{}\n1{wire}\n#{}\n0{wire}\n", 2 * wire + 1, 2 * wire + 2);
    }
    text.into_bytes()
}

/// Brackets within brackets.
fn nesting(n: usize) -> Vec<u8> {
    let event = |args: &str| {
        format!(r#"{{"name":"f","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"args":{{"a":{args}}}}}"#)
    };
    let nested = event(&("[".repeat(n) + &"]".repeat(n)));
    format!("[{nested},\n{}]\n", event("1")).into_bytes()
}

/// Lines that compress to next to nothing. What counts is what they decompress to.
fn expansion(n: usize) -> Vec<u8> {
    let text = plain((0..n).map(|_| "1 a-1 > f\n1 a-1 < f".to_owned()));
    zstd::encode_all(&text[..], 3).expect("memory")
}

/// Stacks that share their beginning: a tenth as many, as each has 25 frames on average.
fn stacks(n: usize) -> Vec<u8> {
    let beginning: Vec<String> = (0..50).map(|at| format!("f{at}")).collect();
    let line = |at: usize| format!("{};g{at} {}\n", beginning[..at % 50].join(";"), at + 1);
    (0..n / 10).map(line).collect::<String>().replace("\n;", "\n").into_bytes()
}

const NONE: &[&str] = &[];
const DIMENSIONS: [Dimension; 10] = [
    Dimension { name: "depth", ending: "txt", make: depth, flags: NONE },
    Dimension { name: "names", ending: "txt", make: names, flags: NONE },
    Dimension { name: "paths", ending: "txt", make: paths, flags: NONE },
    Dimension { name: "siblings", ending: "txt", make: siblings, flags: NONE },
    Dimension { name: "threads", ending: "txt", make: threads, flags: NONE },
    Dimension { name: "switches", ending: "txt", make: switches, flags: NONE },
    Dimension { name: "wires", ending: "vcd", make: wires, flags: &["--gpio", "*"] },
    Dimension { name: "nesting", ending: "json", make: nesting, flags: NONE },
    Dimension { name: "expansion", ending: "txt.zst", make: expansion, flags: NONE },
    Dimension { name: "stacks", ending: "folded", make: stacks, flags: NONE },
];

/// Commands with the file that they write. Pages and pictures are drawn without optimization in CI.
const COMMANDS: [(&[&str], &str); 11] = [
    (&["summarize"], "table.txt"),
    (&["summarize", "--by", "thread"], "table.md"),
    (&["replay"], "replay.txt"),
    (&["tree"], "tree.txt"),
    (&["info", "-v"], "info.txt"),
    (&["critical-path"], "path.txt"),
    (&["sched"], "sched.txt"),
    (&["convert"], "stacks.folded"),
    (&["convert"], "profile.pb.gz"),
    (&["convert"], "events.json"),
    (&["flame"], "page.html"),
];

#[test]
fn time_and_memory_grow_with_the_input_only() {
    let scratch = Scratch::new("budget");
    let mut failed = String::new();
    let mut n_done = 0;
    for Dimension { name, ending, make, flags } in DIMENSIONS {
        for size in sizes() {
            let input = make(size);
            let whole = if ending.ends_with("zst") { 22 * size } else { input.len() };
            let megabytes = whole.div_ceil(1 << 20) as u64;
            let trace = scratch.path(&format!("{name}-{size}.{ending}"));
            fs::write(&trace, input).expect("a fresh file");
            for (words, output) in COMMANDS {
                let output = scratch.path(output);
                let arguments = [words, &["-o", &output], flags, &[&trace]].concat();
                let seconds = SECONDS + SECONDS_PER_MB * megabytes;
                let memory = (MEMORY_MB + MEMORY_PER_MB * megabytes) << 10;
                let program = command(&arguments);
                let mut limited = Command::new("sh");
                let limits = format!("ulimit -t {seconds}; ulimit -v {memory}; exec \"$0\" \"$@\"");
                limited.arg("-c").arg(limits).arg(program.get_program()).args(program.get_args());
                let run = finish(&mut limited);
                // What has no calls, or no switches, is refused.
                if !matches!(run.code, Some(0 | 2 | 3)) {
                    let end = run.stderr.chars().take(200).collect::<String>();
                    let _ = writeln!(failed, "{words:?} {output} of {size} {name}: {end}");
                }
                n_done += usize::from(run.code == Some(0));
                let written = fs::metadata(&output).map_or(0, |file| file.len());
                let most = 3_000_000 + 100 * whole as u64;
                if written > most {
                    let _ = writeln!(failed, "{output} of {size} {name}: {written} bytes");
                }
                let _ = fs::remove_file(&output);
            }
            fs::remove_file(&trace).expect("it was written");
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(n_done > 90 * sizes().len(), "only {n_done} commands found something");
}
