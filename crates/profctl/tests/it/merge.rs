//! `merge`: parts in any order and grouping give the profile of the complete trace.

use serde_json::Value;

use crate::program::{CUT, Scratch, WHOLE, run, run_with_input};

const PLAIN: &str = "# profctl plain 1\n10 cpu0 sh-7 > main\n20 cpu0 sh-7 > f\n35 cpu0 sh-7 < f\n\
                     90 cpu0 sh-7 < main\n";

fn profile(scratch: &Scratch, name: &str, trace: &str) -> String {
    let trace = scratch.file(&format!("{name}.txt"), trace);
    let json = run(&["summarize", "--format", "json", &trace]).quiet_success();
    scratch.file(&format!("{name}.profile.json"), json)
}

#[test]
fn parts_in_any_order_and_grouping_give_the_same_file() {
    let scratch = Scratch::new("merge_parts");
    let (a, b) = (profile(&scratch, "a", WHOLE), profile(&scratch, "b", CUT));
    let c = profile(&scratch, "c", PLAIN);
    let (ab, bc) = (scratch.path("ab.json"), scratch.path("bc.json"));
    run(&["merge", &a, &b, "-o", &ab]).quiet_success();
    run(&["merge", &c, &b, "-o", &bc]).quiet_success();
    let left = run(&["merge", &ab, &c]).quiet_success();
    assert_eq!(left, run(&["merge", &a, &bc]).quiet_success());
    assert_eq!(left, run(&["merge", &c, &b, &a]).quiet_success());

    let sum: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(sum["sources"].as_array().unwrap().len(), 3);
    assert_eq!(sum["quality"]["unclosed_entries"], 3);
    let functions = sum["functions"].as_array().unwrap();
    let read = functions.iter().find(|function| function["name"] == "read").unwrap();
    assert_eq!((read["calls"].as_u64(), read["partial"].as_u64()), (Some(1), Some(1)));
    // 1:200 010 to 200 130 with 90 us of callees, and 10 us before the interrupt and the cut.
    assert_eq!(read["net"].as_u64(), Some(40_000));
}

#[test]
fn what_merge_writes_is_what_summarize_makes_of_the_traces() {
    let scratch = Scratch::new("merge_whole");
    let (a, c) = (profile(&scratch, "a", WHOLE), profile(&scratch, "c", PLAIN));
    let merged = run(&["merge", &a, &c]).quiet_success();
    let (first, second) = (scratch.path("a.txt"), scratch.path("c.txt"));
    let whole = run(&["summarize", "--format", "json", &second, &first]).quiet_success();
    let parsed = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let mut whole = parsed(&whole);
    // Traces are runs; parts of unknown origin are not.
    let runs = whole.as_object_mut().unwrap().remove("runs").unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert_eq!(parsed(&merged), whole);
}

/// Blocks, names and bytes are those of `summarize`, whose arguments may come in any order.
#[test]
fn runs_that_are_merged_are_those_that_summarize_writes() {
    let scratch = Scratch::new("merge_runs");
    let traces = [("boot1/a.txt", WHOLE), ("boot1/b.txt", CUT), ("boot2/a.txt", PLAIN)];
    for (name, trace) in traces {
        scratch.file(&format!("runs/{name}"), trace);
    }
    let whole = run(&["summarize", "--format", "json", &scratch.path("runs")]).quiet_success();
    let parts = traces.map(|(name, _)| {
        let (block, path) = (&name[..5], scratch.path(&format!("runs/{name}")));
        let json = ["summarize", "--format", "json", "--part", "--block", block, &path];
        scratch.file(&format!("{}.json", name.replace('/', "-")), run(&json).quiet_success())
    });
    let [a, b, c] = &parts;
    let all = run(&["merge", "--runs", c, a, b]).quiet_success();
    assert_eq!(all, whole);
    let (one, two) = (scratch.path("one.json"), scratch.path("two.json"));
    run(&["merge", "--runs", c, "-o", &one]).quiet_success();
    run(&["merge", "--runs", b, a, "-o", &two]).quiet_success();
    assert_eq!(run(&["merge", "--runs", &one, &two]).quiet_success(), whole);
    assert_eq!(run(&["summarize", "--format", "json", &two, &one]).quiet_success(), whole);

    let alone =
        run(&["summarize", "--format", "json", &scratch.path("runs/boot2")]).quiet_success();
    assert_eq!(run(&["summarize", "--format", "json", &one]).quiet_success(), alone);
}

/// One process reads what standard input names; one that cannot be read is answered and skipped.
#[test]
fn a_batch_writes_what_merge_makes_of_single_calls() {
    let scratch = Scratch::new("merge_batch");
    let (a, b) = (profile(&scratch, "a", WHOLE), profile(&scratch, "b", CUT));
    let c = profile(&scratch, "c", PLAIN);
    let notes = scratch.file("notes.txt", "dear diary\n");
    let traces = ["a.txt", "c.txt", "b.txt"].map(|name| scratch.path(name));
    let [first, second, last] = &traces;
    let read = |path: &str| format!("{{\"read\":{{\"path\":{path:?},\"block\":null}}}}\n");
    let dropped = || "{\"drop\":{}}\n".to_owned();
    let requests = [
        read(first),
        read("gone.txt"),
        dropped(),
        read(second),
        dropped(),
        read(second),
        read(&notes),
        read("-"),
        read(last),
    ];
    let answered = |what, requests: &[String]| {
        let arguments = ["summarize", "--format", "json", "--batch", what];
        let text = run_with_input(&arguments, requests.concat().as_bytes()).quiet_success();
        let n = requests.iter().filter(|request| request.contains("read")).count();
        let mut lines: Vec<String> = text.splitn(n + 1, '\n').map(str::to_owned).collect();
        let profile = lines.pop().unwrap();
        let answers: Vec<Value> =
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        (answers, profile)
    };
    let (answers, total) = answered("total", &requests);
    let codes: Vec<u64> = answers.iter().map(|one| one["exit_code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [0, 3, 0, 0, 3, 2, 0]);
    assert!(answers[1]["message"].as_str().unwrap().contains("gone.txt: no such file"));
    assert!(answers[4]["message"].as_str().unwrap().contains("unrecognized trace format"));
    assert_eq!(total, run(&["merge", &b, &a, &c]).quiet_success());
    let whole = run(&["summarize", "--format", "json", first, second, last]).quiet_success();
    assert_eq!(answered("runs", &requests).1, whole);
    assert_eq!(answered("total", &[read("gone.txt"), dropped()]).1, "");

    let selected = ["summarize", "--match", "read", "--format", "json"];
    let alone = run(&[&selected[..], &[first]].concat()).quiet_success();
    let batch = [&selected[..], &["--batch", "total"]].concat();
    let text = run_with_input(&batch, read(first).as_bytes()).quiet_success();
    assert_eq!(text.split_once('\n').unwrap().1, alone);

    let arguments = ["summarize", "--format", "json", "--batch", "total"];
    let by_kind = run(&["summarize", "--by", "kind", "--format", "json", first]).quiet_success();
    let by_kind = scratch.file("kind.json", by_kind);
    let ended = run_with_input(&arguments, [read(first), read(&by_kind)].concat().as_bytes());
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("grouped by kind, earlier ones by function"), "{}", ended.stderr);
    let ended = run_with_input(&arguments, b"a.txt\n");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

/// A part has nothing of what another part has: no error, and no trace of it in the sum but its
/// records and its length.
#[test]
fn a_selection_may_match_nothing_in_a_part() {
    let scratch = Scratch::new("merge_selection");
    let (a, c) = (scratch.file("a.txt", WHOLE), scratch.file("c.txt", PLAIN));
    let select = ["summarize", "--format", "json", "--thread", "sh-7"];
    let whole = run(&[&select[..], &[&a, &c]].concat()).quiet_success();
    let message = run(&[&select[..], &[&a]].concat()).failure(2);
    assert!(message.contains("no thread `sh-7`"), "{message}");
    let parts = [&a, &c].map(|trace| {
        let json = run(&[&select[..], &["--part", trace]].concat()).quiet_success();
        scratch.file(&format!("{}.json", trace.rsplit('/').next().unwrap()), json)
    });
    assert_eq!(run(&["merge", "--runs", &parts[1], &parts[0]]).quiet_success(), whole);
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let scratch = Scratch::new("merge_refused");
    let a = profile(&scratch, "a", WHOLE);
    let trace = scratch.path("a.txt");
    let message = run(&["merge", &a, &trace]).failure(3);
    assert!(message.contains("a.txt: is not a saved profile"), "{message}");
    let by_kind = run(&["summarize", "--by", "kind", "--format", "json", &trace]).quiet_success();
    let by_kind = scratch.file("kind.json", by_kind);
    let message = run(&["merge", &a, &by_kind]).failure(3);
    assert!(message.contains("grouped by kind, earlier ones by function"), "{message}");
    let message = run(&["merge", "--format", "csv", &a]).failure(2);
    assert!(message.contains("not csv"), "{message}");
}

#[test]
fn a_part_given_twice_is_mentioned_and_a_cut_one_matters_to_strict() {
    let scratch = Scratch::new("merge_twice");
    let b = profile(&scratch, "b", CUT);
    let twice = run(&["merge", &b, &b]);
    assert_eq!(twice.code, Some(0));
    assert!(
        twice.stderr.contains("b.txt: is in more than one of the profiles"),
        "{}",
        twice.stderr
    );
    assert_eq!(run(&["merge", "--strict", &b]).code, Some(5));
}

/// Kernel functions of one file, context switches of another, both of one run. What a sleep was off
/// the CPU was added up by a script from the two texts.
#[test]
fn recordings_of_one_run_are_put_together_by_time() {
    let scratch = Scratch::new("merge_align");
    let root = profctl_testkit::fixtures::root().join("fixtures");
    let graph = root.join("function_graph/one-run-6.1.txt").display().to_string();
    let sched = root.join("ftrace/one-run-sched-6.1.txt").display().to_string();
    let whole = scratch.path("run.txt");
    let said = run(&["merge", "--align", &graph, &sched, "-o", &whole]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
    let other = scratch.path("other.txt");
    let said = run(&["merge", "--align", &sched, &graph, "-o", &other]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let sleep = |trace: &str| {
        let json = run(&["summarize", "--quiet", "--format", "json", trace]);
        let profile: Value = serde_json::from_str(&json.stdout).unwrap();
        let functions = profile["functions"].as_array().unwrap().clone();
        let name = "__x64_sys_clock_nanosleep";
        functions.into_iter().find(|function| function["name"] == name).unwrap()
    };
    let [alone, both, turned] = [&graph, &whole, &other].map(|trace| sleep(trace));
    assert_eq!((alone["calls"].as_u64(), alone["off_cpu"].as_u64()), (Some(2), None));
    assert_eq!((both["calls"].as_u64(), both["off_cpu"].as_u64()), (Some(2), Some(11_734_000)));
    assert_eq!(both["wall"], alone["wall"]);
    assert_eq!(both, turned);

    let durations = root.join("function_graph/default-6.1.txt").display().to_string();
    let refused = run(&["merge", "--align", &graph, &durations]).failure(3);
    assert!(refused.contains("states durations and no times"), "{refused}");
}
