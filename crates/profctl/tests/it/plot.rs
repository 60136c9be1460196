//! Plots: every kind in both formats, and that they show what other commands print.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use profctl_testkit::fixtures::root;
use serde_json::Value;

use crate::program::{Scratch, command, finish, run};

const SCHED: &str = "fixtures/sched/chain.trace.txt.zst";
const SIDES: [&str; 2] = ["fixtures/diff/6.1.170", "fixtures/diff/6.1.192"];

/// A plot as SVG.
fn svg(words: &[&str]) -> String {
    static PLOTS: AtomicUsize = AtomicUsize::new(0);
    let n = PLOTS.fetch_add(1, Ordering::Relaxed);
    let scratch = Scratch::new(&format!("plot_{n}"));
    let file = scratch.path("plot.svg");
    let words = [&["plot"], words, &["-o", &file]].concat();
    let run = finish(command(&words).current_dir(root()));
    assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
    fs::read_to_string(&file).expect("the plot that was written")
}

/// What is written in a picture, line by line.
fn texts(svg: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in svg.split("<text").skip(1) {
        let from = part.find('>').expect("an element") + 1;
        let to = part.find("</text>").expect("its end");
        found.push(part[from..to].trim().replace("&amp;", "&"));
    }
    found
}

fn json(words: &[&str]) -> Value {
    let run = finish(command(words).current_dir(root()));
    serde_json::from_str(&run.stdout).expect("JSON")
}

const KINDS: [&[&str]; 8] = [
    &["hist", "in_cksum", "fixtures/mcrae/trace.txt"],
    &["ecdf", "in_cksum", "fixtures/mcrae/trace.txt", "--function", "bcopy"],
    &["scatter", "in_cksum", "fixtures/mcrae/trace.txt"],
    &["util", SCHED],
    &["forest", SIDES[0], SIDES[1]],
    &["runs", "ipv4_mtu", SIDES[0], SIDES[1]],
    &["history", "ipv4_mtu", SIDES[0], SIDES[1], "fixtures/diff/6.1.192-slub-debug"],
    &["sweep", "fixtures/minix-quantum/cpu.toml"],
];

#[test]
fn every_kind_is_drawn_in_both_formats_and_schemes() {
    let scratch = Scratch::new("plot_kinds");
    for words in KINDS {
        let picture = svg(words);
        assert!(picture.starts_with("<svg"), "{words:?}");
        assert!(picture.contains("prefers-color-scheme"), "{words:?}");
        assert!(texts(&picture).len() > 5, "{words:?}: {:?}", texts(&picture));
    }
    let words = [&["plot"], KINDS[0], &["--theme"]].concat();
    let mut sizes = Vec::new();
    for theme in ["light", "dark"] {
        let file = scratch.path(&format!("{theme}.png"));
        let words = [&words[..], &[theme, "-o", &file]].concat();
        assert_eq!(finish(command(&words).current_dir(root())).code, Some(0));
        let bytes = fs::read(&file).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
        sizes.push(bytes);
    }
    assert_ne!(sizes[0], sizes[1]);
}

/// The times of CPUs are those of `sched`, whose busy time includes interrupts.
#[test]
fn the_cpus_did_what_sched_prints() {
    let found = json(&["sched", "--by", "cpu", "--format", "json", SCHED]);
    let sum = |name: &str| -> f64 {
        let cpus = found["cpus"].as_array().unwrap().iter();
        cpus.map(|cpu| cpu[name].as_f64().unwrap()).sum()
    };
    let (busy, idle, unknown) = (sum("busy"), sum("idle"), sum("unknown"));
    let whole = busy + idle + unknown;
    let shown = texts(&svg(&["util", SCHED]));
    let line = shown.iter().find(|line| line.starts_with("busy ") && line.contains("of 2 CPUs"));
    let line = line.unwrap_or_else(|| panic!("{shown:?}"));
    let numbers: Vec<f64> = line.split(['%', ' ']).filter_map(|word| word.parse().ok()).collect();
    let [drawn_busy, interrupts, drawn_idle, 2.0] = numbers[..] else { panic!("{line}") };
    // Interrupts of the idle task are taken from its time.
    let shown_whole = drawn_busy + interrupts + drawn_idle;
    assert!((shown_whole - 100.0 * (busy + idle) / whole).abs() < 0.05, "{line}");
    assert!(drawn_busy <= 100.0 * busy / whole + 0.01, "{line}");
    assert!(drawn_busy + interrupts >= 100.0 * busy / whole - 0.01, "{line}");
}

/// Eight calls in the table of 1993, and as many under the plots.
#[test]
fn captions_count_calls_and_runs() {
    assert!(texts(&svg(KINDS[0])).contains(&"trace.txt: 8 calls".to_owned()));
    assert!(texts(&svg(KINDS[2])).contains(&"8 calls".to_owned()));
    let forest = texts(&svg(KINDS[4]));
    let caption = "6 runs before, 6 runs after; the band is the margin of 5.00%";
    assert!(forest.contains(&caption.to_owned()), "{forest:?}");
    // Known to be slower, and named first: the row at the top.
    let names: Vec<_> = forest.iter().filter(|text| text.ends_with("(net)")).collect();
    assert!(names.iter().any(|name| name.starts_with("ipv4_mtu")), "{names:?}");
    assert!(texts(&svg(KINDS[5])).contains(&"12 runs; the axis does not begin at 0".to_owned()));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let trace = "fixtures/mcrae/trace.txt";
    for (words, expected) in [
        (&["hist", "in_cksum"][..], "takes a function and a trace"),
        (&["hist", "in_chksum", trace], "did you mean `in_cksum`"),
        (&["forest", trace], "takes two traces"),
        (&["hist", "in_cksum", trace, "--by", "cpu"], "--by has no effect"),
        (&["util", trace, "--time", "net"], "--time has no effect"),
        (&["scatter", "bcopy", trace, trace], "scatter takes at most 1 input, found 2"),
        (&["hist", "in_cksum", trace, "--width", "9"], "--width 9, expected 300 to 8000"),
    ] {
        let scratch = Scratch::new("plot_refused");
        let file = scratch.path("plot.svg");
        let words = [&["plot"], words, &["-o", &file]].concat();
        let run = finish(command(&words).current_dir(root()));
        assert_eq!(run.code, Some(2), "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{words:?}: {}", run.stderr);
        assert!(!fs::exists(&file).unwrap(), "{words:?}");
    }
    let folded = run(&["plot", "hist", "f", trace, "--format", "folded"]);
    assert_eq!(folded.code, Some(2), "{}", folded.stderr);
}
