//! Schedules of everything that was recorded: what must hold of any of them, and of the recordings
//! in nanoseconds the answers, to the nanosecond.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures;
use serde_json::Value;

use crate::program::{Scratch, run};
use crate::sched::{json, number};

/// The document that a command prints; nothing if the recording has no schedule.
fn document(arguments: &[&str]) -> Option<Value> {
    let run = run(&[arguments, &["-q", "--format", "json"]].concat());
    (run.code == Some(0)).then(|| serde_json::from_str(&run.stdout).unwrap())
}

fn rows<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().unwrap()
}

fn sum(row: &Value, fields: &[&str]) -> u64 {
    fields.iter().map(|field| number(row, field)).sum()
}

/// Sentences about sums that are not what they should be; nothing if there is no schedule.
fn wrong_sums(trace: &str) -> Option<Vec<String>> {
    let sched = document(&["sched", trace])?;
    if rows(&sched, "threads").is_empty() {
        return None;
    }
    let mut wrong = Vec::new();
    let mut same = |what: String, got: u64, expected: u64| {
        if got != expected {
            wrong.push(format!("{trace}: {what}: {got}, expected {expected}"));
        }
    };
    for row in rows(&sched, "threads") {
        let tid = &row["tid"];
        let states =
            ["run", "runnable", "sleeping", "uninterruptible", "stopped", "unknown"].as_slice();
        let life = number(row, "end") - number(row, "start");
        same(format!("states of {tid}"), sum(row, states), life);
        let runnable = ["runnable_woken", "runnable_preempted", "runnable_new"].as_slice();
        same(format!("runnable of {tid}"), sum(row, runnable), number(row, "runnable"));
    }
    let window = &sched["window"];
    let window = number(window, "end") - number(window, "start");
    for row in rows(&sched, "cpus") {
        let cpu = &row["cpu"];
        same(format!("CPU {cpu}"), sum(row, &["busy", "idle", "unknown"]), window);
    }
    // Of a trace without a thread that ran there is no path.
    if let Some(path) = document(&["critical-path", trace]) {
        let mut now = number(&path["window"], "start");
        for segment in rows(&path, "segments") {
            same("a segment".into(), number(segment, "start"), now);
            assert!(number(segment, "end") > now, "{trace}: {segment}");
            now = number(segment, "end");
        }
        same("end of the path".into(), now, number(&path["window"], "end"));
    }
    Some(wrong)
}

#[test]
fn states_fill_the_lives_of_threads_and_the_time_of_cpus() {
    let mut traces: Vec<PathBuf> = Vec::new();
    for folder in fs::read_dir(fixtures::root().join("fixtures")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            traces.extend(fixtures::files(&folder));
        }
    }
    for format in ["uftrace", "ctf"] {
        traces.extend(fixtures::of_format(format));
    }
    if let Some(shared) = fixtures::shared() {
        for folder in ["small", "dat", "dat/oracle", "sched/report", "sched/hand"] {
            traces.extend(fixtures::files(&shared.join("kernel").join(folder)));
        }
    }
    let found: Vec<Vec<String>> =
        traces.iter().filter_map(|trace| wrong_sums(&trace.display().to_string())).collect();
    println!("{} of {} recordings have schedules", found.len(), traces.len());
    assert!(found.len() >= 30, "{}", found.len());
    let wrong: Vec<String> = found.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Recordings in nanoseconds of which there are answers, by name: one is a fixture, the others are
/// where they can be had.
fn in_nanoseconds(scratch: &Scratch) -> Vec<(String, String)> {
    let fixture = fixtures::root().join("fixtures/trace_dat/nano-spin-6.1-v7-zstd.dat");
    let mut found = vec![("nano_spin".to_owned(), fixture.display().to_string())];
    let packed = fixtures::shared().map(|shared| shared.join("kernel/sched/dat.tar.xz"));
    let Some(packed) = packed.filter(|packed| packed.exists()) else { return found };
    let mut archive = Vec::new();
    let packed = fs::File::open(packed).unwrap();
    liblzma::read::XzDecoder::new(packed).read_to_end(&mut archive).unwrap();
    for (file, bytes) in fixtures::unpack(&archive) {
        let Some(name) = file.strip_suffix(".dat") else { continue };
        if answers_of(name).exists() {
            found.push((name.to_owned(), scratch.file(&file, bytes)));
        }
    }
    assert_eq!(found.len(), 7);
    found
}

fn answers_of(name: &str) -> PathBuf {
    fixtures::root().join(format!("fixtures/sched/answers/{name}.json.zst"))
}

fn answers(path: &Path) -> Value {
    serde_json::from_slice(&zstd::decode_all(fixtures::read(path).as_slice()).unwrap()).unwrap()
}

#[test]
fn nanoseconds_are_those_of_the_answers() {
    let scratch = Scratch::new("nanoseconds");
    for (name, dat) in in_nanoseconds(&scratch) {
        let answers = answers(&answers_of(&name));
        let sched = json(&["sched", &dat]);
        let ours: BTreeMap<u64, &Value> =
            rows(&sched, "threads").iter().map(|row| (number(row, "tid"), row)).collect();
        let mut complete = 0;
        for expected in rows(&answers, "threads") {
            let tid = number(expected, "tid");
            complete += u64::from(same_states(&format!("{name}: {tid}"), ours[&tid], expected));
        }
        assert!(complete >= 1, "{name}");
        let segments = same_path(&name, &dat, &answers);
        println!("{name}: {complete} threads recorded whole, a path of {segments} segments");
    }
}

/// Compares a thread with the answer. Two rules differ: the state at the end (`tail`) is apart there;
/// and before the first record of a thread it is `unknown` here, and what it must have been there.
/// Says whether the thread was recorded whole: then no rule is needed.
fn same_states(what: &str, ours: &Value, expected: &Value) -> bool {
    let tail = |state: &str| match expected["tail"]["state"].as_str() {
        Some(last) if last == state => number(&expected["tail"], "ns"),
        _ => 0,
    };
    let known = |ours_field: &str, expected_ns: u64| {
        let got = number(ours, ours_field);
        let missing = expected_ns.checked_sub(got);
        missing.unwrap_or_else(|| panic!("{what}: {ours_field} {got}, expected {expected_ns}"))
    };
    let runnable = sum(expected, &["runnable", "new"])
        + tail("runnable")
        + tail("runnable_wakeup")
        + tail("runnable_preempted");
    let missing = [
        known("run", number(expected, "running") + tail("running")),
        known("runnable", runnable),
        known("sleeping", number(expected, "sleeping") + tail("sleeping")),
        known("uninterruptible", number(expected, "uninterruptible") + tail("uninterruptible")),
    ];
    assert_eq!(missing.iter().sum::<u64>(), number(ours, "unknown"), "{what}: {missing:?}");
    if expected["complete"] != true {
        return false;
    }
    assert_eq!((&ours["complete"], number(ours, "unknown")), (&Value::Bool(true), 0), "{what}");
    for (field, answer) in [
        ("runnable_woken", "runnable_wakeup"),
        ("runnable_preempted", "runnable_preempted"),
        ("switches_voluntary", "voluntary"),
        ("switches_involuntary", "preempted"),
    ] {
        assert_eq!(ours[field], expected[answer], "{what}: {field}");
    }
    let new = sum(expected, &["runnable_new", "new"]);
    assert_eq!(number(ours, "runnable_new"), new, "{what}: new");
    for field in ["count", "sum"] {
        assert_eq!(ours["latency"][field], expected["latency"][field], "{what}: latency");
    }
    for field in ["min", "max"] {
        let (got, answer) = (&ours["latency"][field], &expected["latency"][field]);
        assert!(got == answer || number(&ours["latency"], "count") == 0, "{what}: {field}");
    }
    true
}

/// Compares the path in the window of the answer, which begins where the program does; says of how
/// many segments it is.
fn same_path(name: &str, dat: &str, answers: &Value) -> usize {
    let expected = rows(answers, "paths").iter().find(|path| path["rule"] == "own").unwrap();
    let path = json(&["critical-path", "--thread", &expected["tid"].to_string(), dat]);
    let start = number(expected, "start");
    let joined = |segments: &[Value]| {
        let mut joined: Vec<(u64, u64, u64, String)> = Vec::new();
        for segment in segments.iter().filter(|segment| number(segment, "end") > start) {
            let (from, to) = (number(segment, "start").max(start), number(segment, "end"));
            let (tid, state) = (number(segment, "tid"), segment["state"].as_str().unwrap());
            match joined.last_mut() {
                Some(last) if (last.2, last.3.as_str()) == (tid, state) => last.1 = to,
                _ => joined.push((from, to, tid, state.to_owned())),
            }
        }
        joined
    };
    let (got, expected) = (joined(rows(&path, "segments")), joined(rows(expected, "segments")));
    assert_eq!(got, expected, "{name}");
    got.len()
}
