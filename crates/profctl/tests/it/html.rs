//! HTML pages of `report` and `flame`, as far as they can be checked without a browser.

use crate::program::{Run, Scratch, command, finish, run};

const MCRAE: &str = "fixtures/mcrae/trace.txt";

fn report(arguments: &[&str]) -> Run {
    let all = [&["report"], arguments].concat();
    finish(command(&all).current_dir(profctl_testkit::fixtures::root()))
}

/// What must be on a page, and what must not.
#[track_caller]
fn check(arguments: &[&str], there: &[&str], absent: &[&str]) {
    let page = report(arguments).quiet_success();
    for wanted in there {
        assert!(page.contains(wanted), "{arguments:?}: no {wanted:?}");
    }
    for unwanted in absent {
        assert!(!page.contains(unwanted), "{arguments:?}: {unwanted:?}");
    }
    assert!(page.ends_with("</html>\n"));
    assert_eq!(page, report(&[arguments, &["--jobs", "1"]].concat()).stdout, "the same again");
}

#[test]
fn a_trace_has_everything() {
    check(
        &[MCRAE],
        &[
            "<dt>real</dt><dd>9086 us</dd>",
            "<li>1 stated net time disagrees with its callees (see `profctl info`)</li>",
            "class=\"pick\">in_cksum</button></td><td class=\"number\">3516</td>",
            "<h2>Critical path by function</h2>",
            "id=\"data-graph\"",
            "id=\"data-calls\"",
            "id=\"data-histograms\"",
        ],
        &["are omitted"],
    );
}

#[test]
fn sums_are_shown_without_what_needs_calls() {
    check(
        &["fixtures/diff/6.1.170"],
        &["several inputs are merged", "there are no histograms of call times", ">schedule<"],
        &["id=\"picture\"", "id=\"data-calls\""],
    );
}

#[test]
fn a_comparison_has_the_verdict_of_the_gate() {
    let sides = ["fixtures/diff/6.1.170", "fixtures/diff/6.1.192-slub-debug"];
    let lost = "the differential flame graph is omitted";
    let regressed = "<div class=\"verdict regressed\" role=\"status\"><strong>regressed</strong>";
    let busy = "<dd>busy 350061 us to 1103506 us (";
    check(&sides, &[regressed, lost, busy], &["id=\"data-diff\""]);
    let lenient = [&sides[..], &["--max-regression", "1000x"]].concat();
    check(&lenient, &["<div class=\"verdict pass\""], &[]);
    check(&[MCRAE, MCRAE], &["<div class=\"verdict inconclusive\"", "id=\"data-diff\""], &[lost]);
}

#[test]
fn what_is_no_trace_leaves_no_page() {
    let run = report(&["Cargo.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""));
    assert!(run.stderr.contains("Cargo.toml"), "{}", run.stderr);
}

/// A page holds figures of as many functions as a browser can.
#[test]
fn a_page_of_very_many_functions_says_which_have_figures() {
    let scratch = Scratch::new("html_names");
    let calls: Vec<String> = (0..21_000).map(|n| format!("{} . function_{n} 3\n", n * 5)).collect();
    let trace = scratch.file("many.plain", format!("# profctl plain 1\n{}", calls.concat()));
    for command in ["flame", "report"] {
        let out = scratch.path(&format!("{command}.html"));
        run(&[command, &trace, "-o", &out]).quiet_success();
        let page = std::fs::read_to_string(&out).unwrap();
        let note = "figures: of 20000 of 21000 functions, those of the largest net time";
        assert!(page.contains(note), "{command}");
    }
}
