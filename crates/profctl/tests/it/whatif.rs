//! What another quantum would do: the figures of 1990 with workloads and manifests of the fixtures,
//! recordings under another policy, and sweeps of any runs.

use profctl_testkit::fixtures;
use serde_json::Value;

use crate::program::{Scratch, run};
use crate::sched::{json, number, recording};

fn minix(name: &str) -> String {
    fixtures::root().join("fixtures/minix-quantum").join(name).display().to_string()
}

#[test]
fn workloads_of_1990_come_out_as_they_were_measured() {
    // Seconds of the first thread, and what was measured.
    for (file, rows) in [
        (
            "ls.toml",
            &[("100ms,wake=tail", 53.0), ("17ms,wake=tail", 9.0), ("17ms,wake=head", 2.0)][..],
        ),
        ("bunnell.toml", &[("100ms", 85.0), ("50ms", 45.0), ("36ms", 33.0), ("18ms", 30.0)]),
    ] {
        let workload = minix(file);
        for (policy, measured) in rows {
            let policy = format!("quantum={policy}");
            let found = json(&["sched", "--workload", &workload, "--whatif", &policy]);
            assert_eq!(found["calibration"], Value::Null);
            let finish = number(&found["scenarios"][0]["threads"][0], "finish") as f64 / 1e9;
            println!("{file} {policy}: {measured} s measured, {finish:.2} s in the model");
            assert!((finish / measured - 1.0).abs() <= 0.1, "{file} {policy}: {finish} s");
        }
    }
}

/// The I/O job by itself was measured as 15 and as 16 s.
#[test]
fn the_io_job_of_1990_comes_out_alone_with_the_same_parameters() {
    let scratch = Scratch::new("alone");
    let both = std::fs::read_to_string(minix("bunnell.toml")).unwrap();
    let (alone, hog) = both.rsplit_once("[[thread]]").unwrap();
    assert!(hog.contains("hog") && alone.matches("[[thread]]").count() == 1, "{both}");
    let workload = scratch.file("alone.toml", alone);
    let found = json(&["sched", "--workload", &workload, "--whatif", "quantum=100ms"]);
    let finish = number(&found["scenarios"][0]["threads"][0], "finish") as f64 / 1e9;
    println!("alone: 15 and 16 s measured, {finish:.2} s in the model");
    assert!((15.0..=16.0).contains(&finish), "{finish} s");
}

#[test]
fn sweeps_of_1990_have_the_factors_that_are_quoted() {
    let factors = |file: &str| -> Vec<f64> {
        let sweep = json(&["sweep", &minix(file)]);
        for claim in sweep["claims"].as_array().unwrap() {
            assert_eq!(claim["holds"], true, "{claim}");
        }
        sweep["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|cell| cell["factor"].as_f64())
            .collect()
    };
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 0.005, "{found} for {expected}");
        }
    };
    near(factors("io.toml"), &[5.67, 1.875]);
    near(factors("cpu.toml"), &[1.23, 1.67]);
    let table = run(&["sweep", "--format", "markdown", &minix("cpu.toml")]).quiet_success();
    assert!(table.contains("holds: CPU job 30 → 50 s (factor 1.667)"), "{table}");
}

#[test]
fn a_sweep_reads_traces_and_says_what_is_wrong_with_a_manifest() {
    let scratch = Scratch::new("sweep");
    scratch.file("idle/a.txt", crate::program::WHOLE);
    scratch.file("idle/b.txt", crate::program::WHOLE);
    scratch.file("loaded.txt", crate::program::WHOLE);
    let cells = "[[cell]]\nvariant = \"v\"\ncondition = \"idle\"\ntraces = [\"idle\"]\n\
                 [[cell]]\nvariant = \"v\"\ncondition = \"loaded\"\ntraces = [\"loaded.txt\", \"idle/a.txt\"]\n";
    for (measure, value) in [("net(read)", 30_000.0), ("calls(read)", 1.0), ("real", 200_000.0)] {
        let manifest = format!("measure = \"{measure}\"\nreference = \"idle\"\n{cells}");
        let manifest = scratch.file("sweep.toml", manifest);
        let found = json(&["sweep", &manifest]);
        for cell in found["cells"].as_array().unwrap() {
            assert_eq!((cell["runs"].as_u64(), cell["mean"].as_f64()), (Some(2), Some(value)));
        }
        assert_eq!(found["cells"][1]["factor"], 1.0);
        assert_eq!(found["cells"][1]["ci_low"], 1.0);
    }
    for (manifest, expected) in [
        (
            "reference = \"x\"\n[[cell]]\nvariant = \"v\"\ncondition = \"c\"\nreal = [1]",
            "no cell of condition `x`",
        ),
        ("reference = \"c\"\nmeasure = \"wall\"", "measure = \"wall\""),
        ("reference = \"c\"\n[[cell]]\nvariant = \"v\"\ncondition = \"c\"", "no real"),
        ("reference = \"c\"\n\ncolumns = 3", "wrong.toml:3: unknown field"),
    ] {
        let path = scratch.file("wrong.toml", manifest);
        let message = run(&["sweep", &path]).failure(3);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_if_says_first_how_far_off_the_model_is() {
    let trace = recording("pingpong");
    let found = json(&["sched", "--whatif", "quantum=1ms", "--whatif", "cpus=1,cost=5us", &trace]);
    let calibration = &found["calibration"];
    let error = calibration["error_pct"].as_f64().unwrap();
    println!("pingpong: the model is {error:+.1} % off");
    assert!(error.abs() < 10.0, "{error} %");
    assert_eq!(found["scenarios"].as_array().unwrap().len(), 2);
    assert_eq!(found["scenarios"][0]["quantum"], 1_000_000);
    assert_eq!(found["scenarios"][1]["cost"], 5_000);
    let table = run(&["sched", "--whatif", "quantum=1ms", &trace]).quiet_success();
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("(all)")).collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert!(rows[0].contains("recorded") && rows[1].contains("model of it"), "{table}");
    // A thread that never blocks is CPU-bound, a child that is waited for is not.
    let hogs =
        run(&["sched", "--whatif", "wake=head", &recording("evans_pipe_hog")]).quiet_success();
    assert!(hogs.contains("modeled as CPU-bound: ev-hog-297"), "{hogs}");
}
