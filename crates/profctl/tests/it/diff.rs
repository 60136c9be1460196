//! `profctl diff`: two sides in, what changed out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use expect_test::expect;
use profctl_testkit::fixtures;
use serde_json::Value;

use crate::program::{Run, Scratch, run};

/// A run of the plain format: functions one after the other, each called ten times.
pub(crate) fn trace(functions: &[(&str, u64)]) -> String {
    let mut text = String::from("# profctl plain 1\n");
    let mut now = 1000;
    for call in 0..10 {
        for (name, cost) in functions {
            let cost = cost + call % 3;
            writeln!(text, "{now} cpu0 sh-7 . {name} {cost}").expect("a string takes all");
            now += cost + 5;
        }
    }
    text + &format!("{now} cpu0 sh-7 . end 1\n")
}

/// A directory of six runs that differ by chance.
pub(crate) fn runs(scratch: &Scratch, name: &str, functions: &[(&str, u64)]) -> String {
    for (n, by) in [0, 7, 3, 9, 5, 1].into_iter().enumerate() {
        let functions: Vec<(&str, u64)> =
            functions.iter().map(|&(name, cost)| (name, cost + by)).collect();
        scratch.file(&format!("{name}/run{n}.txt"), trace(&functions));
    }
    scratch.path(name)
}

/// A side of the kernels that were recorded for this.
pub(crate) fn kernel(name: &str) -> String {
    fixtures::root().join("fixtures/diff").join(name).display().to_string()
}

fn json(run: &Run) -> Value {
    assert!(matches!(run.code, Some(0 | 1 | 4)), "{run:?}");
    serde_json::from_str(&run.stdout).expect("the output is JSON")
}

/// The verdict of each function that differs.
fn verdicts(comparison: &Value) -> BTreeMap<String, String> {
    let functions = comparison["functions"].as_array().expect("a list");
    let text = |function: &Value, field: &str| function[field].as_str().map(str::to_owned);
    let pairs = functions.iter().map(|one| Some((text(one, "name")?, text(one, "verdict")?)));
    pairs.collect::<Option<_>>().expect("each has a name and a verdict")
}

#[test]
fn slower_and_faster_stand_apart() {
    let scratch = Scratch::new("diff_table");
    let before =
        runs(&scratch, "before", &[("f", 1000), ("g", 2000), ("h.isra.0", 700), ("old", 9)]);
    let after = runs(&scratch, "after", &[("f", 1300), ("g", 1500), ("h", 700), ("new", 90)]);
    let found = run(&["diff", &before, &after]).quiet_success();
    let found = found.replace(&scratch.path(""), "");
    expect![[r"
        before     before: 6 runs, 37.294 us busy per run, plain
        after      after: 6 runs, 36.104 us busy per run, plain
        whole run  busy 37.294 us to 36.104 us (-3.19%; 95%: -3.66% to -2.72%), 41 calls: equivalent
        run-wide   0.00% (net time per call, median function; 95%: -0.63% to +0.64%; p 1.000)
        functions  1 regressed, 1 improved, 1 new, 1 gone, 2 identical (margin 5%; minimum detectable change, median function: net 5.6%)

        slower: 1; from cost +3.000 us per run
        Times in us
         Before  After  Delta  from calls  from cost  ratio   (95% low/high)   name
        ---------------------------------------------------------------------------
         10.051 13.051 +3.000       0.000     +3.000  1.30x    (1.29x/1.30x)   f

        faster: 1; from cost -5.000 us per run
        Times in us
         Before  After  Delta  from calls  from cost  ratio   (95% low/high)   name
        ---------------------------------------------------------------------------
         20.051 15.051 -5.000       0.000     -5.000  0.75x    (0.75x/0.75x)   g

        new: 1; net +0.951 us per run
        Times in us
           Net  Net/call  # calls  in runs   name
        -----------------------------------------
         0.951     0.095       60  6 of 6    new

        gone: 1; net -0.141 us per run
        Times in us
           Net  Net/call  # calls  in runs   name
        -----------------------------------------
         0.141     0.014       60  6 of 6    old

        note: matched: 1 function by suffix (2 names)
    "]]
    .assert_eq(&found);
    let markdown = run(&["diff", "--format", "markdown", &before, &after]).quiet_success();
    assert!(markdown.contains("### slower: 1") && markdown.contains("| `f` "), "{markdown}");
    let csv = run(&["diff", "--format", "csv", &before, &after]).quiet_success();
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.lines().nth(1).unwrap().starts_with("regressed,net,10,10,"), "{csv}");
}

#[test]
fn sides_may_be_named() {
    let scratch = Scratch::new("diff_names");
    let [before, after] = ["before", "after"].map(|name| runs(&scratch, name, &[("f", 100)]));
    let names = ["--name-before", "v41", "--name-after", "v42"];
    let named = json(&run(&[&["diff", "--format", "json", &before, &after], &names[..]].concat()));
    assert_eq!((&named["before"]["name"], &named["after"]["name"]), (&"v41".into(), &"v42".into()));
    let table = run(&[&["diff", "--compact", &before, &after], &names[..]].concat());
    assert!(table.quiet_success().contains("v42"));
}

#[test]
fn a_side_and_itself_are_the_same() {
    let side = kernel("6.1.170");
    let found = run(&["diff", &side, &side]).quiet_success();
    assert!(found.contains("functions  no function changed: 1413 identical"), "{found}");
    let found = json(&run(&["diff", "--format", "json", &side, &side]));
    assert_eq!(found["functions"].as_array().map(Vec::len), Some(0));
    assert_eq!(found["counts"]["unchanged"], 1413);
}

#[test]
fn a_stable_update_of_a_kernel_reads_as_it_was() {
    let sides = [kernel("6.1.170"), kernel("6.1.192")];
    let found = json(&run(&["diff", "--format", "json", &sides[0], &sides[1]]));
    let verdicts = verdicts(&found);
    // It is called less often than a test needs.
    assert_eq!(verdicts["apparmor_file_alloc_security"], "not-tested");
    assert_eq!(verdicts["ipv4_mtu"], "regressed");
    assert_eq!(verdicts["__ip_finish_output"], "regressed");
    let functions = found["functions"].as_array().unwrap();
    let renamed = functions.iter().find(|one| one["name"] == "__cgroup_rstat_updated").unwrap();
    assert_eq!(renamed["matched_as"], "cgroup_rstat_updated");
    assert_eq!(
        (&renamed["matched_by"], &renamed["verdict"]),
        (&"rename".into(), &"inconclusive".into())
    );
    for function in functions {
        let part = |name: &str| function[name].as_i64().unwrap();
        assert_eq!(part("delta_net"), part("delta_from_calls") + part("delta_from_cost"));
        let net = |side: &str| function[side]["net"].as_i64().unwrap();
        assert_eq!(part("delta_net"), net("after") - net("before"));
    }
    assert_eq!((&found["replicate"], &found["before"]["blocks"]), (&"blocks".into(), &2.into()));
    let apart = json(&run(&["diff", "--format", "json", "--no-renames", &sides[0], &sides[1]]));
    let gone = &apart["renames"][0];
    assert_eq!(
        (&gone["before"], &gone["after"]),
        (&"cgroup_rstat_updated".into(), &"__cgroup_rstat_updated".into())
    );
}

#[test]
fn names_are_rewritten_by_rules() {
    let scratch = Scratch::new("diff_rules");
    let before = runs(&scratch, "before", &[("req_17", 1000), ("req_18", 1000), ("g", 2000)]);
    let after = runs(&scratch, "after", &[("req_99", 2000), ("g", 2000)]);
    scratch.file("policy.toml", "[[rename]]\npattern = '^req_\\d+$'\nreplace = 'req'\n");
    let policy = scratch.path("policy.toml");
    for flags in [["--rename", "^req_[0-9]+$=req"], ["--config", &policy]] {
        let arguments = [&["diff", "--format", "json"], &flags[..], &[&before, &after]].concat();
        let found = json(&run(&arguments));
        let functions = found["functions"].as_array().unwrap();
        assert_eq!((functions.len(), &functions[0]["name"]), (1, &"req".into()));
        assert_eq!(functions[0]["names_before"], serde_json::json!(["req_17", "req_18"]));
        assert_eq!(functions[0]["after"]["calls"], 10);
    }
}

#[test]
fn one_trace_a_side_says_what_it_cannot_say() {
    let scratch = Scratch::new("diff_single");
    let before = scratch.file("before.txt", trace(&[("f", 1000), ("g", 300)]));
    let after = scratch.file("after.txt", trace(&[("f", 1500), ("g", 300)]));
    let found = json(&run(&["diff", "--format", "json", &before, &after]));
    let f = &found["functions"][0];
    assert_eq!(
        (&f["name"], &f["verdict"], &f["p"]),
        (&"f".into(), &"inconclusive".into(), &Value::Null)
    );
    assert_eq!((&f["before"]["net"], &f["delta_net"]), (&10_009.into(), &5000.into()));
    assert_eq!(found["interval"], "within-trace");
    let interval = [&f["ci_low"], &f["ci_high"]].map(|end| end.as_f64().unwrap());
    assert!(1.49 < interval[0] && interval[0] < interval[1] && interval[1] < 1.51, "{interval:?}");
    let text = run(&["diff", &before, &after]).quiet_success();
    assert!(text.contains("nothing is proven): 1; net +5.000 us per run"), "{text}");
    assert!(text.contains("Elapsed before") && text.contains("Net before"), "{text}");
    assert!(text.contains("note: one run per side cannot show run-to-run noise"), "{text}");
}

#[test]
fn paths_of_calls_are_compared() {
    let scratch = Scratch::new("diff_paths");
    let trace = |cost: u64| {
        format!(
            "# profctl plain 1\n10 cpu0 sh-7 > main\n20 cpu0 sh-7 . f {cost}\n\
             {0} cpu0 sh-7 . g 7\n{1} cpu0 sh-7 < main\n",
            30 + cost,
            50 + cost
        )
    };
    let (before, after) = (scratch.file("b.txt", trace(100)), scratch.file("a.txt", trace(150)));
    let found = run(&["diff", "--paths", &before, &after]).quiet_success();
    let found = found.replace(&scratch.path(""), "");
    expect![[r"
        before     b.txt: 1 run, 140 ns busy, plain
        after      a.txt: 1 run, 190 ns busy, plain
        whole run  busy 140 ns to 190 ns (+35.71%), 3 calls: inconclusive
        run-wide   0.00% (net time per call, median function)
        paths      2 not-tested, 1 identical

        Times in ns
         Before  After  Delta  Delta net  from calls  from cost  # before  # after  ratio   (95% low/high)  verdict     depth   name
        ----------------------------------------------------------------------------------------------------------------------------
            140    190    +50          0           0          0         1        1  1.00x                -  not-tested      0   main
            100    150    +50        +50           0        +50         1        1  1.50x                -  not-tested      1     f
        note: not shown: 1 path below the limits of depth and change
        note: differs: runs after last 1.36 times longer, and make about as many calls
        note: one run per side cannot show run-to-run noise: record at least 3 per side; intervals cover variation within these two traces only
    "]]
    .assert_eq(&found);
    let same = run(&["diff", "--paths", &before, &before]).quiet_success();
    assert!(same.contains("note: no path changed: 3 paths in both"), "{same}");
    let profile = scratch.path("b.profile.json");
    run(&["summarize", "--format", "json", "-o", &profile, &before]).quiet_success();
    let said = run(&["diff", "--paths", &profile, &after]).failure(3);
    assert!(said.contains("is a saved profile without call paths"), "{said}");
    assert!(said.contains("profctl summarize --paths"), "{said}");
}

#[test]
fn profiles_with_call_paths_compare_like_their_traces() {
    let scratch = Scratch::new("diff_saved_paths");
    let traces = ["6.1", "7.3"].map(|kernel| {
        let name = format!("fixtures/function_graph/default-{kernel}.txt");
        fixtures::root().join(name).display().to_string()
    });
    let [summarized, converted] = [scratch.path("b.profile.json"), scratch.path("a.profile.json")];
    run(&["summarize", "-q", "--paths", "-o", &summarized, &traces[0]]).quiet_success();
    run(&["convert", "-q", "--paths", "-o", &converted, &traces[1]]).quiet_success();
    let paths = |before: &str, after: &str| {
        let found = json(&run(&[
            "diff",
            "-q",
            "--paths",
            "--no-renames",
            "--format",
            "json",
            before,
            after,
        ]));
        found["rows"].clone()
    };
    let saved = paths(&summarized, &converted);
    assert!(saved.as_array().is_some_and(|rows| rows.len() > 300), "{saved}");
    assert_eq!(saved, paths(&traces[0], &traces[1]));
    // Runs keep their paths, each its own.
    let several = scratch.path("runs.profile.json");
    run(&["summarize", "-q", "--paths", "-o", &several, &traces[0], &traces[0]]).quiet_success();
    let of_runs = paths(&several, &converted);
    assert_eq!(of_runs.as_array().map(Vec::len), saved.as_array().map(Vec::len));
    // A sum of parts has the paths of all, and of several runs those of each.
    let merged = scratch.path("merged.profile.json");
    for parts in [[&summarized, &summarized], [&several, &summarized]] {
        run(&["merge", "-q", parts[0], parts[1], "-o", &merged]).quiet_success();
        let of_parts = paths(&merged, &converted);
        assert_eq!(of_parts.as_array().map(Vec::len), saved.as_array().map(Vec::len));
    }
    let page = scratch.path("page.html");
    run(&["report", "-q", &summarized, &converted, "-o", &page]);
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("id=\"data-diff\""), "the differential flame graph");
    // A path must come after that of its caller.
    let text = fs::read_to_string(&summarized).expect("a profile");
    for (node, why) in [
        ("[1000000,0,0,0,0,0,0,0,0]", "not listed"),
        ("[0,5,0,0,0,0,0,0,0]", "a caller that is not before it"),
    ] {
        let wrong = text.replacen("\"nodes\":[", &format!("\"nodes\":[{node},"), 1);
        assert_ne!(wrong, text);
        let broken = scratch.file("broken.profile.json", wrong);
        let said = run(&["diff", "--paths", &broken, &converted]).failure(3);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn saved_profiles_are_as_good_as_their_traces() {
    let scratch = Scratch::new("diff_saved");
    let trace = scratch.file("t.txt", trace(&[("f", 1000), ("g", 300)]));
    let json = run(&["summarize", "--format", "json", &trace]).quiet_success();
    let plain = scratch.file("t.profile.json", &json);
    let zstd = scratch.file("t.profile.json.zst", zstd::encode_all(json.as_bytes(), 19).unwrap());
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, json.as_bytes()).unwrap();
    let gzip = scratch.file("t.profile.json.gz", encoder.finish().unwrap());
    for saved in [&plain, &zstd, &gzip] {
        let found = run(&["diff", &trace, saved]).quiet_success();
        assert!(found.contains("no function changed: 3 identical"), "{saved}: {found}");
    }
    let cut = scratch.file("cut.json.zst", &fs::read(&zstd).unwrap()[..100]);
    assert_eq!(run(&["diff", &trace, &cut]).code, Some(3));
}

#[test]
fn a_kernel_with_three_thousand_functions_takes_300_kilobytes() {
    let profile = |name: &str| -> Value {
        let saved = fixtures::read(&PathBuf::from(kernel(name)));
        serde_json::from_slice(&zstd::decode_all(saved.as_slice()).unwrap()).unwrap()
    };
    let list = |profile: &Value| profile["functions"].as_array().unwrap().clone();
    let mut whole = profile("6.1.170/boot1/run1.profile.json.zst");
    let mut functions = list(&whole);
    // Other builds under other names: words of a kernel in another order.
    for (n, other) in
        ["6.1.192/boot2/run1.profile.json.zst", "6.1.192-slub-debug/boot1/run1.profile.json.zst"]
            .into_iter()
            .enumerate()
    {
        for mut function in list(&profile(other)) {
            let mut words: Vec<&str> = function["name"].as_str().unwrap().split('_').collect();
            words.rotate_left(1);
            words.insert(n % words.len(), ["on", "by"][n]);
            function["name"] = words.join("_").into();
            functions.push(function);
        }
    }
    assert!(functions.len() >= 3000, "{}", functions.len());
    functions.truncate(3000);
    whole["functions"] = functions.into();
    // The schema comes first, by which a profile is known.
    let schema = whole.as_object_mut().unwrap().remove("schema").unwrap();
    let json = format!("{{\"schema\":{schema},{}", &whole.to_string()[1..]);
    let saved = zstd::encode_all(json.as_bytes(), 19).unwrap();
    assert!(saved.len() < 300_000, "{} bytes", saved.len());
    let scratch = Scratch::new("diff_three_thousand");
    let file = scratch.file("whole.profile.json.zst", &saved);
    let same = run(&["diff", &file, &file]).quiet_success();
    assert!(same.contains("3000 identical"), "{same}");
}

#[test]
fn the_99th_percentile_is_shown_run_by_run() {
    let scratch = Scratch::new("diff_tails");
    // 200 calls per run; the slowest of twenty are in the tail.
    let side = |name: &str, slow: u64| {
        for run in 0..8 {
            let mut text = String::from("# profctl plain 1\n");
            for call in 0..200 {
                let cost = if call % 20 == 7 { slow + call % 3 * 40 } else { 1000 + call % 5 };
                let at = call * 10_000 + run;
                writeln!(text, "{at} cpu0 sh-7 . f {}", cost + run).unwrap();
            }
            scratch.file(&format!("{name}/run{run}.txt"), text);
        }
        scratch.path(name)
    };
    let (before, after) = (side("before", 2000), side("after", 3000));
    let found = run(&["diff", "--tails", &before, &after]).quiet_success();
    assert!(found.contains("99th percentile of net time per call: 1\n"), "{found}");
    let found = json(&run(&["diff", "--tails", "--format", "json", &before, &after]));
    let p99 = &found["functions"][0]["p99"];
    let points = |side: &str| p99[side].as_array().unwrap().len();
    assert_eq!((points("before"), points("after")), (8, 8));
    let number = |field: &str| p99[field].as_f64().unwrap();
    assert!(number("ci_low") > 1.4 && number("ci_high") < 1.55, "{p99}");
    assert!((number("ratio") - 1.49).abs() < 0.03, "{p99}");
    let plain = json(&run(&["diff", "--format", "json", &before, &after]));
    assert!(plain["functions"][0]["p99"].is_null());
    // Saved profiles have histograms in any case.
    let saved = [&before, &after].map(|side| {
        let file = format!("{side}.profile.json");
        run(&["summarize", "-o", &file, side]).quiet_success();
        file
    });
    for (flags, expected) in [(&[][..], plain), (&["--tails"][..], found)] {
        let names = ["--name-before", &before, "--name-after", &after];
        let sides = [saved[0].as_str(), &saved[1]];
        let of_saved = [&["diff", "--format", "json"][..], flags, &names, &sides].concat();
        assert_eq!(json(&run(&of_saved))["functions"], expected["functions"], "{flags:?}");
    }
}

#[test]
fn the_schema_of_diff_names_every_field() {
    let scratch = Scratch::new("schema_diff");
    let mut fields = BTreeSet::new();
    for sides in [
        [
            runs(&scratch, "b", &[("f", 1000), ("h.isra.0", 9)]),
            runs(&scratch, "a", &[("f", 1400), ("h", 9)]),
        ],
        [kernel("6.1.170"), kernel("6.1.192-slub-debug")],
    ] {
        let found = json(&run(&["diff", "--format", "json", "--no-renames", &sides[0], &sides[1]]));
        collect(&found, "", &mut fields);
    }
    let page = fs::read_to_string(fixtures::root().join("docs/schemas/diff-1.md")).unwrap();
    let undocumented: Vec<&String> =
        fields.iter().filter(|field| !documents(&page, field)).collect();
    assert_eq!(undocumented, Vec::<&String>::new());
    let missing: Vec<String> =
        named(&page).filter(|name| !name.ends_with(".*") && !fields.contains(name)).collect();
    // Nothing seems to have been inlined between these builds, and no run is unlike the others.
    assert!(
        missing.iter().all(|name| {
            let is_optional =
                ["moved[]", "odd_runs[]", "plan."].iter().any(|of| name.starts_with(of));
            is_optional || fields.iter().any(|field| field.starts_with(&format!("{name}.")))
        }),
        "{missing:?}"
    );
}

/// The names in the first cell of the rows of a page.
pub(crate) fn named(page: &str) -> impl Iterator<Item = String> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names =
        cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned());
    names.filter(|name| name.contains('.') || name == "schema").collect::<Vec<_>>().into_iter()
}

/// Whether a page names a field: itself, by a wildcard, or by the same field of the other side.
pub(crate) fn documents(page: &str, field: &str) -> bool {
    let field = field.replacen("functions[].after.", "functions[].before.", 1);
    let field = match field.strip_prefix("after.") {
        Some(rest) => format!("before.{rest}"),
        None => field,
    };
    let known = |name: &str| page.contains(&format!("`{name}`"));
    let parents = field.match_indices('.').map(|(at, _)| &field[..at]);
    known(&field)
        || parents.into_iter().any(|parent| {
            known(&format!("{parent}.*")) || parent.contains(".tests.") && known(parent)
        })
}

/// The path of every value below `value` that is not an object or a list of objects.
pub(crate) fn collect(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                collect(value, &format!("{path}{dot}{name}"), fields);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                collect(item, &format!("{path}[]"), fields);
            }
        }
        // Nothing in it to name, and what it holds where it is not empty is named elsewhere.
        Value::Null if path.split('.').any(|part| part == "tests") => {}
        Value::Array(items) if items.is_empty() => {}
        _ => {
            fields.insert(path.to_owned());
        }
    }
}
