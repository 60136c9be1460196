//! `profctl flame`: files of every kind, and what cannot be drawn.

use std::fs;

use crate::program::{Scratch, command, finish};

const MCRAE: &str = "fixtures/mcrae/trace.txt";
const EVENTS: &str = "fixtures/function_graph/sched-events-abstime-proc-tail-7.3.txt";

/// Runs `profctl flame` and returns its exit code and standard error.
fn flame(arguments: &[&str]) -> (Option<i32>, String) {
    let all = [&["flame"], arguments].concat();
    let run = finish(command(&all).current_dir(profctl_testkit::fixtures::root()));
    assert_eq!(run.stdout, "", "a picture goes to its file");
    (run.code, run.stderr)
}

/// What is written for these arguments.
fn drawn(arguments: &[&str], name: &str) -> Vec<u8> {
    let scratch = Scratch::new(&format!("flame-{name}"));
    let file = scratch.path(name);
    let (code, stderr) = flame(&[arguments, &["-o", &file]].concat());
    assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
    fs::read(file).expect("it was written")
}

#[test]
fn the_same_trace_gives_the_same_picture() {
    for (arguments, name) in [
        (&[MCRAE, "--critical-path"][..], "chart.svg"),
        (&[MCRAE, "--kind", "chart", "--critical-path=ipintr", "--flame"], "path.png"),
        (&[EVENTS, "--kind", "chart", "--width", "600"], "events.svg"),
        (&[EVENTS, "--per-thread", "--reverse"], "threads.svg"),
        (&[EVENTS, "--from", "1us", "--title", "a title"], "window.png"),
        (&["--diff", EVENTS, EVENTS], "diff.svg"),
        (&["--diff", MCRAE, MCRAE, "--flame"], "diff.png"),
    ] {
        let once = drawn(arguments, name);
        let again = drawn(&[arguments, &["--jobs", "1"]].concat(), &format!("again-{name}"));
        assert!(once == again, "{arguments:?} differs");
        let magic: &[u8] = if name.ends_with("svg") { b"<?xml version" } else { b"\x89PNG\r\n" };
        assert!(once.starts_with(magic), "{name}");
    }
}

#[test]
fn a_chart_of_the_1993_trace_shows_its_calls() {
    let svg = String::from_utf8(drawn(&[MCRAE, "--kind", "chart"], "m.svg")).unwrap();
    assert!(svg.contains("78 calls on 1 thread"));
    for name in ["ISAINTR", "weintr", "werint", "bcopy", "tcp_input", "in_cksum"] {
        assert!(svg.contains(&format!("<title>{name}\n")), "{name}");
    }
}

#[test]
fn folded_stacks_have_the_net_time_of_every_path() {
    let text = String::from_utf8(drawn(&[MCRAE], "m.folded")).unwrap();
    assert!(text.contains("ISAINTR;weintr;werint;weread;weget;bcopy "), "{text}");
    let sum: u64 =
        text.lines().map(|l| l.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    let svg = String::from_utf8(drawn(&[MCRAE, "--unit", "ns"], "ns.svg")).unwrap();
    assert!(svg.contains(&format!(", {sum} ns in all")), "{sum}");
}

#[test]
fn losses_and_repairs_stand_below_the_picture() {
    let lost = "fixtures/function_graph/lost-trace-pipe-abstime-6.12.txt";
    for kind in ["chart", "graph"] {
        let svg = String::from_utf8(drawn(&[lost, "--kind", kind], "lost.svg")).unwrap();
        assert!(svg.contains("class=\"note\"") && svg.contains(">lost: "), "{kind}");
        assert_eq!(svg.contains("class=\"gap\""), kind == "chart");
    }
}

#[test]
fn what_cannot_be_drawn_is_told() {
    for (arguments, expected) in [
        (&[MCRAE][..], "no output format given: use `-o FILE`"),
        (
            &[MCRAE, "-o", "x.gif"],
            "unknown output extension `.gif`\nhint: this command writes folded (.folded), html",
        ),
        (&[MCRAE, "-o", "x"], "no output format given"),
        (&[MCRAE, "-o", "x.folded", "--reverse"], "a .folded file holds merged paths"),
        (&[MCRAE, "-o", "x.folded", "--critical-path"], "a .folded file holds merged paths"),
        (&[MCRAE, "-o", "x.svg", "--width", "10"], "--width 10, expected from 300 to 20000 pixels"),
        (
            &[MCRAE, "-o", "x.svg", "--kind", "graph", "--critical-path"],
            "--critical-path is for --kind chart",
        ),
        (
            &[MCRAE, "-o", "x.svg", "--kind", "chart", "--reverse"],
            "--reverse and --per-thread are for --kind graph",
        ),
        (&[MCRAE, "-o", "x.svg", "--critical-path", "--reverse"], "cannot be used with"),
        (&[MCRAE, "-o", "x.svg", "--max-regression", "5%"], "cannot be used with"),
        (
            &[MCRAE, "-o", "x.svg", "--kind", "chart", "--critical-path=bcpy"],
            "did you mean `bcopy`",
        ),
        (&["--diff", MCRAE, MCRAE, "-o", "x.svg", "--per-thread"], "cannot be used with"),
        (&["--diff", MCRAE, "-o", "x.svg"], "--diff"),
        (&[MCRAE, "-o", "x.svg", "--min-width", "0"], "expected from 1 to 1000 pixels"),
        (&["-o", "x.svg"], "TRACE"),
    ] {
        let (code, stderr) = flame(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    let (code, _) = flame(&["Cargo.toml", "-o", "x.svg"]);
    assert_eq!(code, Some(3));
}
