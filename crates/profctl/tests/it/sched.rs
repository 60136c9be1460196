//! Schedules and paths of recorded programs: against an evaluator that shares no code with the
//! program, against answers that were computed elsewhere, and against what the programs do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures;
use profctl_testkit::generate::write_large;
use profctl_testkit::oracle::sched::{Doing, Life, Report, Segment, evaluate};
use serde_json::Value;

use crate::program::{Scratch, run};

const RECORDINGS: [&str; 6] =
    ["blkio", "chain", "evans_pipe_hog", "fgraph_chain", "nano_spin", "pingpong"];
const BY_HAND: [&str; 3] = ["chain3", "irq-waker", "preempted"];

fn folder() -> PathBuf {
    fixtures::root().join("fixtures/sched")
}

pub(crate) fn recording(name: &str) -> String {
    folder().join(format!("{name}.trace.txt.zst")).display().to_string()
}

fn by_hand(name: &str) -> String {
    folder().join(format!("hand/{name}.trace.txt")).display().to_string()
}

fn unpacked(path: &Path) -> String {
    let bytes = fixtures::read(path);
    let is_packed = path.extension().is_some_and(|extension| extension == "zst");
    let bytes = if is_packed { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes };
    String::from_utf8(bytes).unwrap()
}

fn answers(name: &str) -> Value {
    serde_json::from_str(&unpacked(&folder().join(format!("answers/{name}.json.zst")))).unwrap()
}

pub(crate) fn json(arguments: &[&str]) -> Value {
    let run = run(&[arguments, &["-q", "--format", "json"]].concat());
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

pub(crate) fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// Rows of a list by a number in them.
fn by<'a>(list: &'a Value, field: &str) -> BTreeMap<u64, &'a Value> {
    let rows = list.as_array().unwrap().iter();
    let rows: BTreeMap<u64, &Value> = rows.map(|row| (number(row, field), row)).collect();
    assert_eq!(rows.len(), list.as_array().unwrap().len(), "{field} is not unique");
    rows
}

/// The segments of a path as the evaluator joins them.
fn segments(path: &Value) -> Vec<Segment> {
    const STATES: [&str; 5] = ["running", "runnable", "interrupt", "blocked", "unknown"];
    let mut joined: Vec<Segment> = Vec::new();
    for segment in path["segments"].as_array().unwrap() {
        let state = segment["state"].as_str().unwrap();
        let state = STATES.into_iter().find(|known| *known == state).unwrap();
        let (from, to) = (number(segment, "start"), number(segment, "end"));
        let segment = Segment { from, to, tid: number(segment, "tid"), state };
        match joined.last_mut() {
            Some(last) if (last.tid, last.state) == (segment.tid, segment.state) => {
                assert_eq!(last.to, segment.from);
                last.to = segment.to;
            }
            _ => joined.push(segment),
        }
    }
    joined
}

/// Sentences about what the program says and the evaluator does not.
fn differences(trace: &str, report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: String, got: u64, expected: u64| {
        if got != expected {
            found.push(format!("{what}: {got}, expected {expected}"));
        }
    };
    let sched = json(&["sched", trace]);
    let threads = by(&sched["threads"], "tid");
    let cpus = by(&sched["cpus"], "cpu");
    let window = &sched["window"];
    differ("window start".into(), number(window, "start"), report.first);
    differ("window end".into(), number(window, "end"), report.last);
    let listed: Vec<&u64> = threads.keys().collect();
    let expected: Vec<&u64> = report
        .threads
        .iter()
        .filter(|(_, life)| !life.pieces.is_empty())
        .map(|(tid, _)| tid)
        .collect();
    assert_eq!(listed, expected, "{trace}: threads");
    for (tid, row) in &threads {
        let life = &report.threads[tid];
        let mut check = |field: &str, expected: u64| {
            differ(format!("thread {tid} {field}"), number(row, field), expected);
        };
        let parts = [
            ("run", Doing::Running),
            ("runnable_woken", Doing::Woken),
            ("runnable_preempted", Doing::Preempted),
            ("runnable_new", Doing::New),
            ("sleeping", Doing::Sleeping),
            ("uninterruptible", Doing::Uninterruptible),
            ("stopped", Doing::Stopped),
            ("unknown", Doing::Unknown),
        ];
        for (field, doing) in parts {
            check(field, life.sum(doing));
        }
        let sum: u64 = parts.iter().map(|(field, _)| number(row, field)).sum();
        let lifetime = number(row, "end") - number(row, "start");
        differ(format!("thread {tid}: sum of states"), sum, lifetime);
        let latencies = life.latencies();
        let latency = &row["latency"];
        differ(
            format!("thread {tid}: latencies"),
            number(latency, "count"),
            latencies.len() as u64,
        );
        differ(
            format!("thread {tid}: latency sum"),
            number(latency, "sum"),
            latencies.iter().sum(),
        );
        let longest = latency["max"].as_u64().unwrap_or(0);
        let expected = latencies.iter().max().copied().unwrap_or(0);
        differ(format!("thread {tid}: longest latency"), longest, expected);
    }
    assert_eq!(cpus.len(), report.cpus.len());
    for (cpu, row) in cpus {
        let expected = report.cpus[&u32::try_from(cpu).unwrap()];
        differ(format!("CPU {cpu} busy"), number(row, "busy"), expected.busy);
        differ(format!("CPU {cpu} idle"), number(row, "idle"), expected.idle);
        let sum = number(row, "busy") + number(row, "idle") + number(row, "unknown");
        differ(format!("CPU {cpu}: sum"), sum, report.last - report.first);
    }
    for tid in report.threads.iter().filter(|(_, life)| lived(life)).map(|(tid, _)| tid) {
        let path = json(&["critical-path", "--thread", &tid.to_string(), trace]);
        let (got, expected) = (segments(&path), report.path(*tid));
        for (n, (got, expected)) in got.iter().zip(&expected).enumerate() {
            if got != expected {
                found.push(format!("path of {tid}, {n}: {got:?}, expected {expected:?}"));
                break;
            }
        }
        if got.len() != expected.len() {
            found.push(format!(
                "path of {tid}: {} segments, expected {}",
                got.len(),
                expected.len()
            ));
        }
    }
    found
}

/// Whether there is a path to ask for.
fn lived(life: &Life) -> bool {
    life.window().is_some_and(|(from, to)| from < to)
}

#[test]
fn every_state_latency_and_path_is_that_of_the_evaluator() {
    let mut all = Vec::new();
    let recordings = RECORDINGS.map(recording).into_iter().chain(BY_HAND.map(by_hand));
    for trace in recordings {
        let report = evaluate(&unpacked(Path::new(&trace)));
        assert!(report.threads.len() >= 3, "{trace}: {} threads", report.threads.len());
        let found = differences(&trace, &report);
        if !found.is_empty() {
            all.push(format!("{trace}: {} differ\n  {}", found.len(), found.join("\n  ")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn made_up_schedules_are_those_of_the_evaluator() {
    let scratch = Scratch::new("sched_made");
    for seed in 0..4 {
        let mut bytes = Vec::new();
        write_large("ftrace-sched", 60_000, seed, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let trace = scratch.file("made.txt", &text);
        let found = differences(&trace, &evaluate(&text));
        assert!(found.is_empty(), "seed {seed}: {}", found.join("\n"));
    }
}

#[test]
fn states_come_back_from_an_export_for_perfetto() {
    let scratch = Scratch::new("sched_perfetto");
    let export = scratch.path("trace.pftrace");
    for name in RECORDINGS {
        let trace = recording(name);
        assert_eq!(run(&["convert", "-q", &trace, "-o", &export]).code, Some(0));
        let (told, back) = (json(&["sched", &trace]), json(&["sched", &export]));
        let (told, back) = (by(&told["threads"], "tid"), by(&back["threads"], "tid"));
        let mut whole = 0;
        for (tid, row) in told.iter().filter(|(_, row)| row["complete"] == true) {
            whole += 1;
            let same = back[tid];
            for field in [
                "name",
                "run",
                "runnable_woken",
                "runnable_preempted",
                "sleeping",
                "uninterruptible",
                "switches_voluntary",
                "switches_involuntary",
                "migrations",
                "wakeups",
                "latency",
            ] {
                assert_eq!(same[field], row[field], "{name}: {field} of {tid}");
            }
        }
        assert!(whole >= 1, "{name}");
        for (tid, row) in &told {
            assert_eq!(back[tid]["name"], row["name"], "{name}: name of {tid}");
        }
        let contexts = [&trace, &export].map(|trace| wakings_by_context(trace));
        assert_eq!(contexts[1], contexts[0], "{name}");
        let (tid, _) = told.iter().find(|(_, row)| row["complete"] == true).unwrap();
        let paths = [&trace, &export]
            .map(|trace| segments(&json(&["critical-path", "--thread", &tid.to_string(), trace])));
        // The export does not say when a thread was created, nor when it asked to exit.
        let from = paths.iter().filter_map(|path| Some(path.first()?.from)).max().unwrap();
        let to = paths.iter().filter_map(|path| Some(path.last()?.to)).min().unwrap();
        let total = |path: &[Segment], state: &str| -> u64 {
            let parts = path.iter().filter(|part| part.state == state);
            parts.map(|part| part.to.min(to).saturating_sub(part.from.max(from))).sum()
        };
        for state in ["running", "runnable", "interrupt", "blocked"] {
            assert_eq!(total(&paths[1], state), total(&paths[0], state), "{name}: {state}");
        }
    }
}

/// Wakings by woken thread and whether an interrupt woke it; the export has no names of interrupts.
fn wakings_by_context(trace: &str) -> BTreeMap<(String, bool), u64> {
    let table = run(&["sched", "-q", "--by", "waker", "--format", "csv", trace]).quiet_success();
    let mut sums = BTreeMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let waker = cells[0].split(':').next().unwrap();
        let by_interrupt = ["hardirq", "softirq", "irq", "timer"].contains(&waker);
        *sums.entry((cells[1].to_owned(), by_interrupt)).or_default() +=
            cells[2].parse::<u64>().unwrap();
    }
    sums
}

/// How many intervals a thread may have had: each may be off by a microsecond in the text.
fn intervals(row: &Value) -> u64 {
    2 * (number(row, "switches_in") + number(row, "switches_out")) + 4
}

#[test]
fn threads_and_paths_are_those_of_the_answers() {
    for name in RECORDINGS {
        let (answers, trace) = (answers(name), recording(name));
        let sched = json(&["sched", &trace]);
        let threads = by(&sched["threads"], "tid");
        let mut complete = 0;
        for (tid, expected) in by(&answers["threads"], "tid") {
            let row = threads[&tid];
            let near = |what: &str, got: u64, expected_ns: u64| {
                let allowed = 1000 * intervals(expected);
                assert!(
                    got.abs_diff(expected_ns) <= allowed,
                    "{name}: {what} of {tid}: {got}, expected {expected_ns}"
                );
            };
            // The state at the end is a part of the sums here, and apart there.
            let tail = |state: &str| match expected["tail"]["state"].as_str() {
                Some(last) if last == state => number(&expected["tail"], "ns"),
                _ => 0,
            };
            // What ran before its first record is unknown here, and known there.
            let run = number(expected, "running") + tail("running");
            let unknown = if number(row, "run") < run { number(row, "unknown") } else { 0 };
            near("run", run.clamp(number(row, "run"), number(row, "run") + unknown), run);
            let uninterruptible = number(expected, "uninterruptible") + tail("uninterruptible");
            near("uninterruptible", number(row, "uninterruptible"), uninterruptible);
            let latency = &expected["latency"];
            near("latency", number(&row["latency"], "sum"), number(latency, "sum"));
            if expected["complete"] == true {
                complete += 1;
                assert_eq!(row["complete"], true, "{name}: {tid}");
                let count = |row: &Value| row["latency"]["count"].clone();
                assert_eq!(count(row), count(expected), "{name}: latencies of {tid}");
                for (ours, theirs) in [
                    ("sleeping", "sleeping"),
                    ("runnable_preempted", "runnable_preempted"),
                    ("runnable_woken", "runnable_wakeup"),
                ] {
                    near(ours, number(row, ours), number(expected, theirs) + tail(theirs));
                }
                // Between the fork and the first wakeup it is `new` there, and runnable here.
                let new = number(expected, "runnable_new") + number(expected, "new");
                near("runnable_new", number(row, "runnable_new"), new);
                assert_eq!(row["switches_voluntary"], expected["voluntary"], "{name}: {tid}");
                assert_eq!(row["switches_involuntary"], expected["preempted"], "{name}: {tid}");
            }
        }
        assert!(complete >= 1, "{name}: no thread was recorded whole");
        let share = same_path(name, &answers, &trace);
        println!("{name}: {share:.4} % of the path agree");
    }
}

/// Whether the path covers what the answer covers, by the same threads in the same states; for how
/// much of it, in percent.
fn same_path(name: &str, answers: &Value, trace: &str) -> f64 {
    let paths = answers["paths"].as_array().unwrap();
    let expected = paths.iter().find(|path| path["rule"] == "own").unwrap();
    let tid = number(expected, "tid").to_string();
    let got = segments(&json(&["critical-path", "--thread", &tid, trace]));
    let wanted = expected["segments"].as_array().unwrap();
    let mut same = 0;
    for segment in wanted {
        let (start, end) = (number(segment, "start"), number(segment, "end"));
        let is_same = |part: &&Segment| {
            part.tid == number(segment, "tid") && Some(part.state) == segment["state"].as_str()
        };
        let parts = got.iter().filter(is_same);
        same +=
            parts.map(|part| part.to.min(end).saturating_sub(part.from.max(start))).sum::<u64>();
    }
    let window = number(expected, "window");
    // Each border may be off by a microsecond.
    let allowed = 1000 * (wanted.len() as u64 + 1);
    assert!(same + allowed >= window, "{name}: {same} of {window} ns agree, {allowed} may differ");
    same as f64 / window as f64 * 100.0
}

#[test]
fn traces_made_by_hand_have_the_answers_written_by_hand() {
    for name in BY_HAND {
        let expected = unpacked(&folder().join(format!("hand/{name}.expect.json")));
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let trace = by_hand(name);
        let tid = number(&expected, "tid").to_string();
        let path = json(&["critical-path", "--thread", &tid, &trace]);
        let got: Vec<(u64, u64, u64, &str)> = segments(&path)
            .iter()
            .map(|segment| (segment.from, segment.to, segment.tid, segment.state))
            .collect();
        let wanted: Vec<(u64, u64, u64, &str)> = expected["segments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|segment| {
                let field = |field| number(segment, field);
                (field("start"), field("end"), field("tid"), segment["state"].as_str().unwrap())
            })
            .collect();
        assert_eq!(got, wanted, "{name}");
        let sched = json(&["sched", &trace]);
        let threads = by(&sched["threads"], "tid");
        for row in expected["threads"].as_array().unwrap() {
            let got = threads[&number(row, "tid")];
            for (ours, theirs) in [
                ("run", "running"),
                ("runnable", "runnable"),
                ("sleeping", "sleeping"),
                ("uninterruptible", "uninterruptible"),
            ] {
                assert_eq!(got[ours], row[theirs], "{name}: {theirs} of {}", row["tid"]);
            }
        }
    }
}

/// Running time on the path of threads of these names, in the order in which the path first comes
/// to each with at least `least` nanoseconds in one piece.
fn order_of(path: &Value, least: u64) -> Vec<String> {
    let names: BTreeMap<u64, &str> = path["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| (number(segment, "tid"), segment["thread"].as_str().unwrap()))
        .collect();
    let mut order: Vec<String> = Vec::new();
    for segment in segments(path) {
        let name = names[&segment.tid];
        let is_new = order.last().is_none_or(|last| last != name);
        if segment.state == "running" && segment.to - segment.from >= least && is_new {
            order.push(name.to_owned());
        }
    }
    order
}

#[test]
fn a_chain_of_locks_comes_out_in_its_order() {
    for (name, least) in [("chain", 20_000_000), ("fgraph_chain", 10_000_000)] {
        let path = json(&["critical-path", "--thread", "chain-main", &recording(name)]);
        let order = order_of(&path, 1);
        let last: Vec<&str> = order.iter().rev().take(4).rev().map(String::as_str).collect();
        assert_eq!(last, ["chain-A", "chain-B", "chain-C", "chain-main"], "{name}: {order:?}");
        for thread in ["chain-A", "chain-B", "chain-C"] {
            let rows = path["by_thread"].as_array().unwrap();
            let row = rows.iter().find(|row| row["thread"] == thread).unwrap();
            assert!(number(row, "running") >= least, "{name}: {row}");
        }
        let timer = path["interrupts"].as_array().unwrap().iter().find(|w| w["source"] == "timer");
        assert!(timer.is_some_and(|wait| number(wait, "ns") >= 20_000_000), "{name}");
        // A sleeps 60 ms while all wait for it.
        let sleep = path["by_thread"].as_array().unwrap();
        let row = sleep.iter().find(|row| row["thread"] == "chain-A").unwrap();
        assert!(number(row, "interrupt") >= 20_000_000, "{name}: {row}");
    }
}

#[test]
fn a_ping_pong_alternates() {
    let path = json(&["critical-path", "--thread", "pp-ping", &recording("pingpong")]);
    let order = order_of(&path, 1);
    let changes = order.windows(2).filter(|pair| {
        matches!(
            (pair[0].as_str(), pair[1].as_str()),
            ("pp-ping", "pp-pong") | ("pp-pong", "pp-ping")
        )
    });
    assert!(changes.count() >= 50, "{order:?}");
    let sched = json(&["sched", &recording("pingpong")]);
    for row in sched["threads"].as_array().unwrap() {
        if row["name"].as_str().unwrap().starts_with("pp-") {
            let out = number(row, "switches_voluntary") + number(row, "switches_involuntary");
            assert!(out >= 50, "{row}");
        }
    }
}

#[test]
fn waits_name_the_timer_and_the_device() {
    let path = json(&["critical-path", "--thread", "nano", &recording("nano_spin")]);
    let waits = path["interrupts"].as_array().unwrap();
    // The flags say that it was an interrupt; without system calls nothing says which.
    assert_eq!(waits[0]["source"], "hardirq", "{waits:?}");
    assert!(number(&waits[0], "ns") >= 60_000_000 && number(&waits[0], "count") >= 30, "{waits:?}");
    let wakers =
        run(&["sched", "--by", "waker", "--format", "csv", &recording("nano_spin")]).stdout;
    // The spinner wakes its parent once: when it has been killed.
    assert!(wakers.contains("hardirq,nano-242,30,"), "{wakers}");
    assert!(wakers.contains("spinner-243,nano-242,1,"), "{wakers}");

    let path = json(&["critical-path", "--thread", "blkio", &recording("blkio")]);
    let waits = path["interrupts"].as_array().unwrap();
    let devices: Vec<&str> = waits.iter().map(|wait| wait["source"].as_str().unwrap()).collect();
    assert!(devices.iter().any(|source| source.starts_with("irq:virtio0-req.")), "{devices:?}");
    assert!(devices.iter().any(|source| source.starts_with("irq:virtio1-req.")), "{devices:?}");
    let threads = path["by_thread"].as_array().unwrap();
    assert!(threads.iter().any(|row| row["thread"].as_str().unwrap().starts_with("jbd2/")));
}

#[test]
fn a_hog_holds_the_cpu_for_which_a_client_waits() {
    let path = json(&["critical-path", "--thread", "ev-client", &recording("evans_pipe_hog")]);
    let held = path["runnable_held_by"].as_array().unwrap();
    assert_eq!(held[0]["thread"], "ev-hog", "{held:?}");
    let runnable = number(&path["by_state"], "runnable");
    // 300 messages, more than half of whose wait for the CPU is the hog's.
    assert!(number(&held[0], "ns") * 2 > runnable, "{held:?} of {runnable}");
    assert!(runnable > number(&path["by_state"], "running"), "{}", path["by_state"]);
}

#[test]
fn a_parent_waits_for_one_child_after_the_other() {
    let dat = fixtures::root().join("fixtures/trace_dat/forkwait-6.1-v7-none.dat");
    let path = json(&["critical-path", "--thread", "wl", &dat.display().to_string()]);
    let mut order: Vec<&str> = Vec::new();
    for segment in path["segments"].as_array().unwrap() {
        let thread = segment["thread"].as_str().unwrap();
        if order.last() != Some(&thread) {
            order.push(thread);
        }
    }
    let expected = ["wl", "fw-child1", "wl", "fw-child2", "wl", "fw-child3", "wl"];
    assert_eq!(order, expected);
    // They compute for 5, 10 and 15 ms.
    for (child, least) in expected.iter().skip(1).step_by(2).zip([5, 10, 15]) {
        let rows = path["by_thread"].as_array().unwrap();
        let row = rows.iter().find(|row| row["thread"] == *child).unwrap();
        assert!(number(row, "running") >= least * 1_000_000, "{row}");
    }
}

#[test]
fn an_interrupted_thread_wakes_nobody() {
    // function_graph text has no flags: softirq events and handlers tell.
    let wakers = run(&["sched", "--by", "waker", "--format", "csv", &recording("fgraph_chain")]);
    let of_rcu: Vec<&str> =
        wakers.stdout.lines().filter(|line| line.contains(",rcu_preempt-15,")).collect();
    assert!(!of_rcu.is_empty(), "{}", wakers.stdout);
    for line in of_rcu {
        assert!(!line.starts_with("chain-main"), "{line}");
    }
}

#[test]
fn the_same_recording_gives_the_same_path_at_any_block_size() {
    let trace = recording("evans_pipe_hog");
    let text = unpacked(Path::new(&trace));
    let scratch = Scratch::new("sched_jobs");
    let plain = scratch.file("evans.trace.txt", &text);
    let of = |jobs: &str| run(&["sched", "--format", "json", "-j", jobs, &plain]).quiet_success();
    assert_eq!(of("1"), of("4"));
}

#[test]
fn selections_without_effect_are_refused() {
    let trace = recording("chain");
    for arguments in [
        &["--by", "cpu", "--thread", "chain-A"][..],
        &["--queue", "4", "--pid", "146"],
        &["--by", "waker", "--cpu", "0"],
        &["--off-cpu", "--cpu", "0"],
    ] {
        let message = run(&[&["sched"], arguments, &[trace.as_str()]].concat()).failure(2);
        assert!(message.contains("no effect"), "{message}");
    }
}
