//! `profctl gate`: exit codes, policies, reports.

use std::collections::BTreeSet;
use std::fs;

use profctl_testkit::fixtures;
use serde_json::Value;

use crate::diff::{collect, documents, kernel, runs, trace};
use crate::program::{Scratch, run};

/// The exit code of a gate.
fn code(arguments: &[&str]) -> Option<i32> {
    run(&[&["gate", "-q"], arguments].concat()).code
}

#[test]
fn the_exit_code_is_the_verdict() {
    let scratch = Scratch::new("gate_codes");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow", &[("f", 1300), ("g", 2000)]);
    let one = scratch.file("one.txt", trace(&[("f", 1000), ("g", 2000)]));
    let other = scratch.file("other.txt", trace(&[("f", 1300), ("g", 2000)]));
    let lossy = runs(&scratch, "lossy", &[("f", 1000), ("g", 2000)]);
    let text = trace(&[("f", 1000), ("g", 2000)]) + "99999 cpu0 lost\n";
    scratch.file("lossy/run0.txt", text);
    let base = base.as_str();
    for (arguments, expected) in [
        (&[base, base][..], 0),
        (&[base, &slow], 1),
        (&[&slow, base], 0),
        (&["--max-regression", "40%", base, &slow], 0),
        (&["--measure", "elapsed", "--min-calls", "3", base, &slow], 1),
        (&["--min-calls", "11", base, &slow], 1),
        (&[&one, &other], 4),
        (&["--inconclusive", "pass", &one, &other], 0),
        (&["--budget", "f<=1.2us", &one, &other], 1),
        (&["--budget", "net_avg(f)<=1.2x", &one, &other], 1),
        (&["--budget", "f<=2us", "--budget", "calls(g)<=10", &one, &other], 0),
        (&["--budget", "misspelled<=2us", &one, &other], 4),
        (&[base, &lossy], 4),
        (&["--max-loss", "100%", base, &lossy], 0),
    ] {
        assert_eq!(code(arguments), Some(expected), "{arguments:?}");
    }
    assert_eq!(code(&[base]), Some(2));
    assert_eq!(code(&[base, &scratch.path("missing")]), Some(3));
}

#[test]
fn kernels_of_one_build_pass_and_a_debugging_allocator_does_not() {
    let [boot1, boot2] = ["boot1", "boot2"].map(|boot| kernel(&format!("6.1.192/{boot}")));
    assert_eq!(code(&[&boot1, &boot2]), Some(0));
    assert_eq!(code(&[&boot2, &boot1]), Some(0));
    let [boot1, boot2] = ["boot1", "boot2"].map(|boot| kernel(&format!("6.1.170/{boot}")));
    assert_eq!(code(&["--strict", &boot1, &boot2]), Some(0));
    let debug = kernel("6.1.192-slub-debug");
    let found = run(&["gate", "--format", "json", &kernel("6.1.192"), &debug]);
    assert_eq!(found.code, Some(1));
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let names: BTreeSet<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    for name in
        ["kmem_cache_alloc", "kmem_cache_free", "kmem_cache_alloc_node", "kfree", "___slab_alloc"]
    {
        assert!(names.contains(name), "{name} is not in {names:?}");
    }
}

#[test]
fn the_traces_say_what_their_profiles_say() {
    let Some(shared) = fixtures::shared() else { return };
    let traces = |name: &str| shared.join("kernel/stat").join(name).display().to_string();
    let (before, after) = (traces("A_6.1.0-47"), traces("B_6.1.0-56"));
    let functions = |before: &str, after: &str| -> Vec<Value> {
        let found = run(&["diff", "-q", "--format", "json", before, after]);
        let mut found: Value = serde_json::from_str(&found.stdout).unwrap();
        match found["functions"].take() {
            Value::Array(rows) => rows,
            other => panic!("no rows: {other}"),
        }
    };
    let of_profiles = functions(&kernel("6.1.170"), &kernel("6.1.192"));
    let of_traces = functions(&before, &after);
    for (of_trace, of_profile) in of_traces.iter().zip(&of_profiles) {
        assert_eq!(of_trace, of_profile);
    }
    assert_eq!(of_traces.len(), of_profiles.len());
}

#[test]
fn a_saved_baseline_remembers_its_runs() {
    let scratch = Scratch::new("gate_saved_runs");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow", &[("f", 1300), ("g", 2000)]);
    let saved = scratch.path("base.profile.json");
    run(&["summarize", "-o", &saved, &base]).quiet_success();
    assert_eq!(code(&[&saved, &slow]), Some(1));
    assert_eq!(code(&[&saved, &base]), Some(0));
    let compared = |before: &str| {
        let json = run(&["diff", "--format", "json", before, &slow]).quiet_success();
        let json: Value = serde_json::from_str(&json).unwrap();
        (json["interval"].clone(), json["functions"].clone())
    };
    assert_eq!(compared(&saved), compared(&base), "as with the runs themselves");
    let table = run(&["summarize", "--format", "csv", &saved]).quiet_success();
    assert_eq!(table, run(&["summarize", "--format", "csv", &base]).quiet_success());
}

#[test]
fn a_calibration_judges_single_runs() {
    let scratch = Scratch::new("gate_calibration");
    let file = scratch.path("baseline.json");
    let learned = run(&["gate", "--calibrate", &kernel("6.1.170"), "-o", &file]);
    assert_eq!(learned.code, Some(0));
    assert!(learned.stderr.contains("calibrated from 6 runs: "), "{}", learned.stderr);
    let single = |name: &str| kernel(&format!("{name}/boot1/run1.profile.json.zst"));
    let other = kernel("6.1.170/boot2/run2.profile.json.zst");
    for (after, expected) in [(other, 0), (single("6.1.192"), 1)] {
        let before = single("6.1.170");
        assert_eq!(code(&["--calibration", &file, &before, &after]), Some(expected), "{after}");
    }
    let few = run(&["gate", "--calibrate", &kernel("6.1.170/boot1")]).failure(3);
    assert!(few.contains("3 runs of the baseline, expected 5 or more"), "{few}");
}

#[test]
fn a_gate_that_cannot_fail_is_found_out() {
    let scratch = Scratch::new("gate_self_test");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let passed = run(&["gate", "--self-test", &base, &base]).quiet_success();
    assert_eq!(passed, "self-test: passed: g, made 10% slower, was caught\n");
    let one = scratch.file("one.txt", trace(&[("f", 1000)]));
    for arguments in
        [&[&one, &one][..], &[&base, &base, &"--min-runs".to_owned(), &"99".to_owned()]]
    {
        let arguments: Vec<&str> = arguments.iter().map(|argument| argument.as_str()).collect();
        let failed =
            run(&[&["gate", "--self-test", "--inconclusive", "pass"], &arguments[..]].concat());
        assert_eq!(failed.code, Some(4));
        assert!(failed.stdout.starts_with("self-test: inconclusive: "), "{}", failed.stdout);
    }
}

#[test]
fn a_policy_file_is_obeyed_and_checked() {
    let scratch = Scratch::new("gate_policy");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow", &[("f", 1300), ("g", 2000)]);
    let policy = |text: &str| scratch.file("policy.toml", text);
    let of = |text: &str, more: &[&str]| {
        let policy = policy(text);
        run(&[&["gate", "-q", "--config", &policy], more, &[&base, &slow]].concat())
    };
    for (text, flags, expected) in [
        ("max_regression = \"40%\"", &[][..], 0),
        ("max_regression = \"40%\"", &["--max-regression", "5%"], 1),
        ("max_regression = \"1.5x\"\nfdr = 0.1\nmin_calls = 3", &[], 0),
        ("min_runs = 7\ninconclusive = \"pass\"", &[], 0),
        ("min_runs = 7\ninconclusive = \"pass\"", &["--inconclusive", "fail"], 4),
        ("[[budget]]\nfunction = \"g\"\nwhat = \"calls\"\nlimit = 9\n", &[], 1),
        ("measure = [\"total\"]\nmin_calls = 3\nmax_regression = \"40%\"", &[], 0),
    ] {
        assert_eq!(of(text, flags).code, Some(expected), "{text} {flags:?}");
    }
    for (text, message) in [
        ("fdr = 0.1\nmax_regresion = \"5%\"\n", "policy.toml:2: unknown field `max_regresion`"),
        ("max_regression = 5\n", "max_regression: \"5\", expected a change such as 5% or 1.05x"),
        ("\n[[budget]]\nfunction = \"f\"\n", "policy.toml:2: missing field `limit`"),
        ("[[budget]]\nfunction = \"f\"\nlimit = \"5\"\n", "missing unit"),
        ("inconclusive = \"maybe\"\n", "expected pass or fail"),
        ("measure = []\n", "expected net, total or elapsed"),
        ("fdr = \n", "policy.toml:1: "),
    ] {
        let said = of(text, &[]).failure(2);
        assert!(said.contains(message), "{text}: {said}");
    }
}

/// What a policy says of single functions. Of 100 us of other work, what `f` takes longer is nothing.
#[test]
fn functions_have_owners_margins_and_quarantine() {
    let scratch = Scratch::new("gate_functions");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000), ("work", 100_000)]);
    let slow = runs(&scratch, "slow", &[("f", 1300), ("g", 2000), ("work", 100_000)]);
    let both = runs(&scratch, "both", &[("f", 1300), ("g", 2600), ("work", 100_000)]);
    let of = |text: &str, after: &str| {
        let policy = scratch.file("policy.toml", text);
        let found = run(&["gate", "-q", "--config", &policy, "--json", "-", &base, after]);
        let json: Value = serde_json::from_str(&found.stdout).expect("a report");
        (found.code, json)
    };
    let rule = |pattern: &str, what: &str| format!("[[function]]\npattern = '{pattern}'\n{what}\n");
    let quarantine = rule("^f$", "quarantine = true");
    for (text, after, expected) in [
        (String::new(), &slow, 1),
        (quarantine.clone(), &slow, 0),
        // Only that function, and not what its pattern is a part of.
        (quarantine.clone(), &both, 1),
        (rule("^[fg]$", "quarantine = true"), &both, 0),
        // The last one counts, and another setting of it leaves the first in force.
        (quarantine.clone() + &rule("f", "quarantine = false"), &slow, 1),
        (quarantine.clone() + &rule("f", "max_regression = '10%'"), &slow, 0),
        (rule("^f$", "max_regression = '40%'"), &slow, 0),
        (rule("^f$", "max_regression = '40%'"), &both, 1),
        (rule("^f$", "max_regression = '20%'"), &slow, 1),
        (rule(".", "max_regression = '40%'") + &rule("g", "max_regression = '10%'"), &both, 1),
        (rule("g", "max_regression = '10%'") + &rule(".", "max_regression = '40%'"), &both, 0),
    ] {
        let (code, json) = of(&text, after);
        assert_eq!(code, Some(expected), "{text}: {json}");
    }
    let (_, json) = of(&(quarantine + &rule("f|g", "owner = 'net team'")), &both);
    let excused = json["excused"].as_array().expect("excused");
    assert_eq!(excused.len(), 1, "{excused:?}");
    assert_eq!(excused[0]["function"], "f", "in quarantine it is reported all the same");
    assert_eq!(excused[0]["reason"], "in quarantine");
    assert_eq!(excused[0]["owner"], "net team", "{excused:?}");
}

#[test]
fn reports_name_the_baseline_and_agree() {
    let scratch = Scratch::new("gate_reports");
    let base = runs(&scratch, "base", &[("f<T>", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow", &[("f<T>", 1300), ("g", 2000)]);
    let file = |name: &str| scratch.path(name);
    let (json, markdown) = (file("gate.json"), file("gate.md"));
    let (junit, sarif) = (file("gate.xml"), file("gate.sarif"));
    let gate = run(&[
        "gate",
        "--json",
        &json,
        "--markdown",
        &markdown,
        "--junit",
        &junit,
        "--sarif",
        &sarif,
        "--github",
        "--budget",
        "g<=1us",
        "--budget",
        "calls(g)<=10",
        &base,
        &slow,
    ]);
    assert_eq!((gate.code, gate.stderr.as_str()), (Some(1), ""));
    let last = gate.stdout.lines().last().unwrap();
    assert!(last.starts_with("::error title=profctl gate::") && last.contains(&base), "{last}");
    assert!(gate.stdout.contains("1 function slower by more than the margin; 1 budget exceeded\n"));
    assert!(gate.stdout.contains("::error title=profctl%3A f<T> is slower::net time per call 1.305 us, was 1.005 us: 1.30x"), "{}", gate.stdout);
    let read = |path: &str| fs::read_to_string(path).unwrap();
    let json: Value = serde_json::from_str(&read(&json)).unwrap();
    assert_eq!((&json["verdict"], &json["exit_code"]), (&"regressed".into(), &1.into()));
    assert_eq!(
        (&json["baseline"], &json["rows"][0]["name"]),
        (&base.as_str().into(), &"f<T>".into())
    );
    assert_eq!(
        (&json["budgets"][0]["state"], &json["budgets"][1]["state"]),
        (&"exceeded".into(), &"kept".into())
    );
    let markdown = read(&markdown);
    assert!(markdown.starts_with("### profctl gate: regressed\n"), "{markdown}");
    assert!(markdown.contains("| `f<T>`") && markdown.contains("<details><summary>slower: 1"));
    let junit = read(&junit);
    assert!(junit.contains("tests=\"6\" failures=\"3\" errors=\"0\" skipped=\"0\""), "{junit}");
    assert!(
        junit.contains("<testcase classname=\"function\" name=\"f&lt;T&gt;\"><failure message=\"")
    );
    assert!(junit.contains(&format!("name=\"baseline\" value=\"{base}\"")), "{junit}");
    let sarif: Value = serde_json::from_str(&read(&sarif)).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let rules: Vec<&str> = results.iter().map(|one| one["ruleId"].as_str().unwrap()).collect();
    assert_eq!(
        (&sarif["version"], rules),
        (&"2.1.0".into(), vec!["whole-run", "budget", "regressed"])
    );
    let place = &results[2]["locations"][0];
    assert_eq!(place["logicalLocations"][0]["name"], "f<T>");
    assert!(place["physicalLocation"]["artifactLocation"]["uri"].is_string());
    assert!(results[2]["message"]["text"].as_str().unwrap().contains(&base));
}

#[test]
fn the_schema_of_gate_names_every_field() {
    let scratch = Scratch::new("schema_gate");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow", &[("f", 1300), ("g", 2000)]);
    let budgets = ["--budget", "g<=1us", "--budget", "f<=1.1x"];
    let found = run(&[&["gate", "--format", "json"], &budgets[..], &[&base, &slow]].concat());
    let json: Value = serde_json::from_str(&found.stdout).unwrap();
    let read =
        |name: &str| fs::read_to_string(fixtures::root().join("docs/schemas").join(name)).unwrap();
    let (gate, diff, policy) = (read("gate-1.md"), read("diff-1.md"), read("policy.md"));
    let mut fields = BTreeSet::new();
    collect(&json, "", &mut fields);
    assert!(fields.len() > 80, "{fields:?}");
    for field in &fields {
        let in_rows = field.replacen("rows[]", "functions[]", 1);
        assert!(documents(&gate, field) || documents(&diff, &in_rows), "{field}");
    }
    for key in json["policy"].as_object().unwrap().keys() {
        let known = policy.contains(&format!("| `{key}` |"));
        assert!(known || gate.contains(&format!("`policy.{key}`")), "{key}");
    }
}
