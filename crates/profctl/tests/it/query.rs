//! SQL over traces: what it answers is what `summarize` says, in memory and streamed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use profctl_testkit::fixtures;
use serde_json::Value;

use crate::program::{CUT, Run, Scratch, WHOLE, run};

/// Function for function what `summarize` counts and sums.
const SUMMARY: &str = "\
    SELECT name, module, \
      COUNT(*) - SUM(partial) AS calls, SUM(partial) AS partial, \
      SUM(net) AS net, SUM(stolen) AS stolen, \
      SUM(CASE WHEN outermost = 1 THEN wall ELSE 0 END) AS wall, \
      SUM(CASE WHEN outermost = 1 THEN elapsed ELSE 0 END) AS elapsed, \
      SUM(CASE WHEN outermost = 1 THEN off_cpu ELSE 0 END) AS off_cpu, \
      MIN(CASE WHEN partial = 0 THEN net END) AS net_min, \
      MAX(CASE WHEN partial = 0 THEN net END) AS net_max, \
      MIN(CASE WHEN partial = 0 THEN elapsed END) AS elapsed_min, \
      MAX(CASE WHEN partial = 0 THEN elapsed END) AS elapsed_max \
    FROM spans GROUP BY name, module";

const TIMES: [&str; 9] = [
    "net",
    "stolen",
    "wall",
    "elapsed",
    "off_cpu",
    "net_min",
    "net_max",
    "elapsed_min",
    "elapsed_max",
];

fn rows(run: &Run) -> Vec<Value> {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("an array of rows")
}

fn ask(trace: &str, sql: &str) -> Vec<Value> {
    rows(&run(&["query", "--format", "json", trace, sql]))
}

fn by_name(rows: &[Value]) -> BTreeMap<(String, String), &Value> {
    rows.iter().map(|row| ((row["name"].to_string(), row["module"].to_string()), row)).collect()
}

/// Parts of a nanosecond in a unit of the tables; nothing if it is no time.
fn parts(unit: &str) -> Option<u64> {
    match unit {
        "ns" => Some(1),
        "ps" => Some(1_000),
        "fs" => Some(1_000_000),
        "cycles" | "instructions" => None,
        other => other.strip_prefix("1/")?.strip_suffix(" ns")?.parse().ok(),
    }
}

#[test]
fn sums_of_calls_are_those_of_summarize_for_every_fixture() {
    let mut functions = 0;
    for format in profctl_import::FORMATS {
        let name = format.descriptor().name;
        let traces: Vec<PathBuf> = fixtures::of_format(name);
        // What holds sums only has no calls to add up.
        for trace in traces.iter().filter(|_| name != "callgrind").take(6) {
            let trace = trace.display().to_string();
            let summary = run(&["summarize", "--format", "json", &trace]);
            if summary.code != Some(0) {
                continue;
            }
            functions += compare(&trace, &serde_json::from_str(&summary.stdout).unwrap());
        }
    }
    assert!(functions > 300, "only {functions} functions were compared");
}

fn compare(trace: &str, summary: &Value) -> usize {
    let found = ask(trace, SUMMARY);
    let unit = ask(trace, "SELECT unit FROM runs");
    let unit = unit[0]["unit"].as_str().expect("a text").to_owned();
    let parts = parts(&unit).unwrap_or(1);
    let found = by_name(&found);
    let functions = summary["functions"].as_array().expect("a list");
    let expected = by_name(functions);
    let names = |map: &BTreeMap<(String, String), &Value>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "{trace}");
    for (key, row) in &found {
        let expected = expected[key];
        for field in ["calls", "partial"] {
            assert_eq!(row[field], expected[field], "{trace}: {key:?} {field}");
        }
        for field in TIMES {
            if field == "off_cpu" && expected[field].is_null() {
                continue;
            }
            let rounded = row[field].as_u64().map(|value| (value + parts / 2) / parts);
            assert_eq!(rounded, expected[field].as_u64(), "{trace}: {key:?} {field}");
        }
    }
    // The table of functions is the summary itself.
    let table = ask(trace, "SELECT * FROM functions");
    assert_eq!(table.len(), functions.len(), "{trace}");
    for (row, expected) in table.iter().zip(functions).filter(|_| parts == 1) {
        for (field, value) in row.as_object().expect("an object") {
            if field != "run" {
                assert_eq!(value, &expected[field], "{trace}: {} {field}", expected["name"]);
            }
        }
    }
    found.len()
}

#[test]
fn what_is_streamed_from_disk_is_what_memory_holds() {
    let trace = fixtures::of_format("function_graph")[0].display().to_string();
    for sql in [
        SUMMARY,
        "SELECT * FROM spans",
        "SELECT name FROM spans LIMIT 7",
        "SELECT DISTINCT thread, cpu FROM spans",
        "SELECT COUNT(*) AS n FROM spans",
        "SELECT MAX(net * 2) AS most FROM (SELECT * FROM spans WHERE depth > 0)",
        "SELECT name, \"end\" - start AS length, end FROM (SELECT name, start, end FROM spans)",
        "SELECT s.* FROM spans s WHERE s.outermost = 1 ORDER BY s.elapsed DESC LIMIT 5",
        "SELECT run, COUNT(DISTINCT module) AS n, SUM(off_cpu) AS off FROM spans GROUP BY run",
        "FROM spans",
        "SELECT p.name AS caller, c.name AS callee, COUNT(*) AS n FROM spans c \
         JOIN spans p ON c.parent = p.id GROUP BY caller, callee ORDER BY n DESC LIMIT 9",
        "SELECT name, net, RANK() OVER (PARTITION BY thread ORDER BY net DESC) AS r FROM spans",
        "SELECT name, AVG(net) AS a, STDDEV(net) AS s, MEDIAN(net) AS m FROM spans GROUP BY name",
        "SELECT COUNT(*) AS n FROM spans s JOIN functions f ON s.name = f.name WHERE s.net > f.net_avg",
        "SELECT name FROM spans WHERE name LIKE 's%' AND start >= 0 ORDER BY start LIMIT 3",
    ] {
        let in_memory = run(&["-q", "query", "--format", "csv", &trace, sql]).quiet_success();
        assert!(in_memory.lines().count() > 1, "{sql}");
        let spilled = ["-q", "query", "--memory", "0", "--format", "csv", &trace, sql];
        assert_eq!(run(&spilled).quiet_success(), in_memory, "{sql}");
    }
}

#[test]
fn calls_are_the_same_whichever_columns_are_read() {
    let trace = fixtures::of_format("function_graph")[0].display().to_string();
    let all = ask(&trace, "SELECT * FROM spans");
    // No numbers are given to calls for the first; the second takes its columns by no name.
    let unnumbered =
        "run, name, module, kind, thread, cpu, wall, off_cpu, elapsed, net, stolen, partial";
    let some = ask(&trace, &format!("SELECT {unnumbered} FROM spans"));
    assert_eq!(some.len(), all.len());
    for (some, all) in some.iter().zip(&all) {
        for (column, value) in some.as_object().expect("an object") {
            assert_eq!(value, &all[column], "{column} of {all}");
        }
    }
    // Threads can be selected without a column for them in the query.
    let thread = all[all.len() / 2]["thread"].as_str().expect("a label");
    let selected = ["-q", "query", "--format", "json", "--thread", thread, &trace];
    for memory in ["1G", "0"] {
        let nets = |sql: &str| -> Vec<u64> {
            let answer = run(&[&selected[..], &["--memory", memory, sql]].concat());
            let rows: Vec<Value> = serde_json::from_str(&answer.quiet_success()).expect("JSON");
            rows.iter().filter_map(|row| row["net"].as_u64()).collect()
        };
        let expected = nets("SELECT start, net FROM spans");
        assert!(!expected.is_empty() && expected.len() < all.len());
        assert_eq!(nets("SELECT net FROM spans"), expected, "{memory}");
    }
    // This takes columns in a way that its words do not show.
    let distinct = ask(&trace, "SELECT DISTINCT ON (name) * FROM spans");
    assert!(distinct.iter().all(|row| row.as_object().map(serde_json::Map::len) == Some(19)));
}

/// The engine need not hold a table that is joined with itself, if the rows are only summed.
#[test]
fn callers_and_callees_are_counted_in_the_order_of_their_names() {
    let trace = fixtures::of_format("function_graph")[0].display().to_string();
    let sql = "SELECT p.name AS caller, c.name AS callee, COUNT(*) AS calls, SUM(c.net) AS net \
               FROM spans c JOIN spans p ON c.parent = p.id GROUP BY caller, callee";
    let pairs = ask(&trace, sql);
    let names =
        |row: &Value| [&row["caller"], &row["callee"]].map(|name| name.as_str().map(str::to_owned));
    assert!(pairs.len() > 20 && pairs.is_sorted_by_key(names), "{pairs:?}");
    let sum = |column: &str| pairs.iter().filter_map(|row| row[column].as_u64()).sum::<u64>();
    let below = ask(&trace, "SELECT COUNT(*) AS calls, SUM(net) AS net FROM spans WHERE depth > 0");
    assert_eq!(
        [sum("calls"), sum("net")].map(Value::from),
        ["calls", "net"].map(|name| below[0][name].clone())
    );

    let explained = |sql: &str| run(&["query", "-q", "--explain", &trace, sql]).stdout;
    assert!(!explained(sql).contains("CACHE"), "{}", explained(sql));
    // What is not summed comes in the order of the calls.
    let listed = "SELECT c.id, p.id AS caller FROM spans c JOIN spans p ON c.parent = p.id";
    let ids = |sql: &str| ask(&trace, sql).iter().map(|row| row["id"].as_u64()).collect::<Vec<_>>();
    assert_eq!(ids(listed), ids("SELECT id FROM spans WHERE depth > 0"));
}

#[test]
fn several_traces_are_told_apart_by_their_run() {
    let scratch = Scratch::new("query_runs");
    let before = scratch.file("before/1.txt", WHOLE);
    let after = scratch.file("after/1.txt", CUT);
    let sql = "SELECT run, COUNT(*) AS calls, SUM(partial) AS cut FROM spans GROUP BY run";
    let csv = run(&["-q", "query", "--format", "csv", &before, &after, sql]).quiet_success();
    assert_eq!(csv, "run,calls,cut\r\nbefore/1.txt,5,0\r\nafter/1.txt,4,3\r\n");
    // A clock of microseconds and one of nanoseconds meet in nanoseconds.
    let plain =
        scratch.file("plain.txt", "# profctl plain 1\n10 cpu0 sh-7 > f\n30 cpu0 sh-7 < f\n");
    let sql = "SELECT run, unit, real FROM runs";
    let csv = run(&["-q", "query", "--format", "csv", &before, &plain, sql]).quiet_success();
    assert_eq!(csv, "run,unit,real\r\nbefore/1.txt,ns,200000\r\nplain.txt,ns,20\r\n");
}

#[test]
fn a_saved_profile_has_functions_but_no_calls() {
    let scratch = Scratch::new("query_profile");
    let trace = scratch.file("whole.txt", WHOLE);
    let json = run(&["summarize", "--format", "json", &trace]).quiet_success();
    let profile = scratch.file("whole.json", json);
    let sql = "SELECT name, net FROM functions ORDER BY net DESC LIMIT 1";
    assert_eq!(ask(&profile, sql)[0]["net"], 60_000);
    let spans = run(&["query", &profile, "SELECT COUNT(*) AS n FROM spans"]);
    assert_eq!(spans.code, Some(0));
    assert!(spans.stderr.contains("holds sums"), "{}", spans.stderr);
}

#[test]
fn what_is_wrong_with_a_query_is_said() {
    let scratch = Scratch::new("query_wrong");
    let trace = scratch.file("whole.txt", WHOLE);
    for (sql, expected) in [
        ("SELECT nett FROM spans", "no column 'nett'"),
        ("SELECT nett FROM spans", "spans has run, id"),
        ("SELECT net FROM span", "'span'"),
        ("SELECT net FROM span", "the tables are spans, functions"),
        ("SELEC net FROM spans", "found: SELEC"),
        ("SELECT net FROM spans WHERE name LIKE 3", "profctl: "),
        ("SELECT * FROM read_csv('/etc/passwd')", "profctl: "),
        ("SELECT 1; SELECT 2", "profctl: "),
        ("SELECT net AS a, wall AS a FROM spans", "two columns are called 'a'"),
        ("SELECT DISTINCT net, net FROM spans", "'net'"),
        ("DROP TABLE spans", "DROP is refused: a query only reads"),
        ("CREATE TABLE x AS SELECT 1", "CREATE is refused"),
        ("INSERT INTO spans VALUES (1)", "INSERT is refused"),
        ("COPY spans TO 'x.csv'", "COPY is refused"),
        ("DELETE FROM spans", "DELETE is refused"),
        ("TRUNCATE TABLE spans", "TRUNCATE is refused"),
    ] {
        let message = run(&["query", &trace, sql]).failure(2);
        assert!(message.contains(expected), "{sql}: {message}");
        assert!(message.lines().count() <= 3, "{sql}: {message}");
    }
    run(&["query", &trace]).failure(2);
    run(&["query", &scratch.path("absent"), "SELECT 1 FROM spans"]).failure(3);
    assert_eq!(
        run(&["query", "--strict", &scratch.file("cut.txt", CUT), "SELECT * FROM gaps"]).code,
        Some(5)
    );
}

#[test]
fn end_needs_no_quotes() {
    let scratch = Scratch::new("query_end");
    let trace = scratch.file("whole.txt", WHOLE);
    for [bare, quoted] in [
        ["SELECT start, end FROM spans", "SELECT start, \"end\" FROM spans"],
        [
            "SELECT CASE WHEN end > start THEN end - start ELSE 0 END AS t FROM spans ORDER BY end",
            "SELECT \"end\" - start AS t FROM spans ORDER BY \"end\"",
        ],
    ] {
        assert_eq!(ask(&trace, bare), ask(&trace, quoted), "{bare}");
    }
    let said = run(&["query", "--unit", "us", &trace, "SELECT net FROM spans"]).failure(2);
    assert!(said.contains("--unit has no effect"), "{said}");
}

/// What is deep goes down the stack, what is only long does not.
#[test]
fn a_very_long_query_does_not_overflow_the_stack() {
    let scratch = Scratch::new("query_long");
    let trace = scratch.file("whole.txt", WHOLE);
    let terms = |n: usize, between: &str| vec!["1"; n].join(between);
    let sql = format!("SELECT {} AS n FROM spans LIMIT 1", terms(30_000, "+"));
    let said = run(&["query", &trace, &sql]).failure(2);
    assert!(said.contains("29999 operators, expected at most 500"), "{said}");
    let sql = format!("SELECT {} AS n FROM spans LIMIT 1", terms(450, "+"));
    assert_eq!(ask(&trace, &sql)[0]["n"], 450);
    let deep = format!("SELECT {}1{} FROM spans", "(".repeat(30_000), ")".repeat(30_000));
    run(&["query", &trace, &deep]).failure(2);
    let list = format!("SELECT COUNT(*) AS n FROM spans WHERE id IN ({})", terms(30_000, ","));
    assert_eq!(ask(&trace, &list)[0]["n"], 1);
}

#[test]
fn the_schema_and_the_plan_are_shown() {
    let scratch = Scratch::new("query_schema");
    let trace = scratch.file("whole.txt", WHOLE);
    let schema = rows(&run(&["query", "--schema", "--format", "json", &trace]));
    let start = schema.iter().find(|row| row["table"] == "spans" && row["column"] == "start");
    assert_eq!(start.unwrap()["unit"], "ns");
    let shown = run(&["query", "--schema"]).quiet_success();
    assert_eq!(shown.lines().count(), schema.len() + 2);
    let plan = run(&["query", "--explain", &trace, "SELECT SUM(net) FROM spans WHERE start > 5"]);
    let plan = plan.quiet_success();
    assert!(plan.contains("FILTER") && plan.contains("net"), "{plan}");
}

#[test]
fn parquet_is_written_whole_or_not_at_all() {
    let scratch = Scratch::new("query_parquet");
    let trace = scratch.file("whole.txt", WHOLE);
    let is_parquet = |path: &str| {
        let bytes = fs::read(path).unwrap();
        bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1")
    };
    let calls = scratch.path("calls.parquet");
    run(&["convert", &trace, "-o", &calls]).quiet_success();
    assert!(is_parquet(&calls));
    let bytes = fs::read(&calls).unwrap();
    for text in ["profctl.spans/1", "profctl.unit"] {
        let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(found, "{text} is not in the file");
    }
    let answer = scratch.path("answer.parquet");
    let sql = "SELECT name, net FROM spans";
    run(&["query", "--format", "parquet", "-o", &answer, &trace, sql]).quiet_success();
    assert!(is_parquet(&answer));
    let report = scratch.path("report.parquet");
    run(&["summarize", "--format", "parquet", "-o", &report, &trace]).quiet_success();
    assert!(is_parquet(&report));

    let cut = scratch.file("cut.txt", CUT);
    let dataset = scratch.path("dataset");
    run(&["-q", "convert", "--format", "parquet", "--partition", "-o", &dataset, &trace, &cut])
        .quiet_success();
    for run in ["whole.txt", "cut.txt"] {
        assert!(is_parquet(&format!("{dataset}/run={run}/part-0.parquet")));
    }
    let message =
        run(&["convert", "--format", "parquet", "--partition", "-o", &dataset, &trace]).failure(2);
    assert!(message.contains("already exists"), "{message}");
}

/// A table in Parquet gives the answers that the traces give which it was converted from.
#[test]
fn parquet_is_queried_in_place() {
    let scratch = Scratch::new("query_stored");
    let kernel =
        fixtures::root().join("fixtures/function_graph/default-7.3.txt").display().to_string();
    let cut = scratch.file("runs/a b=ä.txt", CUT);
    let whole = scratch.file("runs/whole.txt", WHOLE);
    let (one, parts) = (scratch.path("one.parquet"), scratch.path("parts"));
    run(&["convert", "-q", &kernel, &cut, &whole, "-o", &one]);
    run(&[
        "convert",
        "-q",
        "--partition",
        &kernel,
        &cut,
        &whole,
        "--format",
        "parquet",
        "-o",
        &parts,
    ]);
    let queries = [
        SUMMARY.to_owned() + " ORDER BY name, module",
        "SELECT * FROM spans ORDER BY run, id".into(),
        "SELECT run, thread, MAX(\"end\") AS last FROM spans GROUP BY run, thread ORDER BY run, thread".into(),
        "SELECT c.name AS callee, p.name AS caller, COUNT(*) AS n FROM spans c JOIN spans p \
         ON c.parent = p.id AND c.run = p.run GROUP BY callee, caller ORDER BY n DESC, callee, caller"
            .into(),
        "SELECT COUNT(*) AS n FROM spans WHERE run LIKE '%ä.txt' AND start > 5".into(),
    ];
    for query in &queries {
        let of_traces =
            rows(&run(&["query", "-q", "--format", "json", &kernel, &cut, &whole, query]));
        assert!(!of_traces.is_empty(), "{query}");
        assert_eq!(ask(&one, query), of_traces, "{query}");
        assert_eq!(ask(&parts, query), of_traces, "{query}");
    }
    // Twice the file, twice the calls; a part of the dataset is one of its runs.
    let n = |inputs: &[&str]| {
        let sql = "SELECT COUNT(*) AS n FROM spans";
        let found = run(&[&["query", "--format", "json"], inputs, &[sql]].concat());
        rows(&found)[0]["n"].as_u64().unwrap()
    };
    assert_eq!(n(&[&one, &one]), 2 * n(&[&one]));
    assert_eq!(n(&[&parts]), n(&[&one]));
    let functions = scratch.path("functions.parquet");
    run(&["convert", "-q", "--table", "functions", &kernel, &cut, &whole, "-o", &functions]);
    let sql = "SELECT f.run, f.name, f.calls, f.partial, COUNT(s.id) AS n \
               FROM functions f JOIN spans s ON f.name = s.name AND f.run = s.run \
               GROUP BY f.run, f.name, f.calls, f.partial";
    let joined = rows(&run(&["query", "--format", "json", &functions, &one, sql]));
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let is_whole = |row: &Value| number(row, "calls") + number(row, "partial") == number(row, "n");
    assert!(joined.len() > 300 && joined.iter().all(is_whole), "{joined:?}");
    let shown = run(&["query", "--schema", &one]).quiet_success();
    assert_eq!(shown, run(&["query", "--schema", &kernel]).quiet_success());
    for (arguments, said) in [
        (&[one.as_str(), &whole, "SELECT 1 FROM spans"][..], "is a trace"),
        (&[&one, &parts, "SELECT 1 FROM spans"], "cannot be combined"),
        (&[&one, "SELECT * FROM functions"], "no table functions: the Parquet files have spans"),
        (&["--from", "1us", &one, "SELECT 1 FROM spans"], "--from has no effect"),
        (&["--exclude", "f", &one, "SELECT 1 FROM spans"], "--exclude has no effect"),
    ] {
        let found = run(&[&["query"], arguments].concat()).failure(2);
        assert!(found.contains(said), "{found}");
    }
    let bytes = fs::read(&one).unwrap();
    for (name, wrong) in [
        ("cut.parquet", &bytes[..bytes.len() / 2]),
        ("head.parquet", &bytes[..4]),
        ("tail.parquet", &[&bytes[..4], &bytes[bytes.len() - 40..]].concat()),
    ] {
        let wrong = scratch.file(name, wrong);
        let found = run(&["query", &wrong, "SELECT 1 FROM spans"]).failure(3);
        assert!(found.contains(name) && found.contains("damaged or cut Parquet"), "{found}");
    }
    let report = scratch.path("report.parquet");
    run(&["summarize", "-q", "-o", &report, &whole]).quiet_success();
    let found = run(&["query", &report, "SELECT 1 FROM spans"]).failure(3);
    assert!(found.contains("a Parquet file of profctl."), "{found}");
}

#[test]
fn states_and_wakes_sum_to_what_sched_says() {
    let trace = fixtures::root().join("fixtures/sched/blkio.trace.txt.zst").display().to_string();
    let states = ask(
        &trace,
        "SELECT thread, state, SUM(\"end\" - start) AS length, COUNT(*) AS n FROM states \
         GROUP BY thread, state",
    );
    let wakes = ask(
        &trace,
        "SELECT woken, SUM(CASE WHEN effect = 'woke' THEN 1 ELSE 0 END) AS n, \
           SUM(CASE WHEN effect = 'redundant' THEN 1 ELSE 0 END) AS redundant \
         FROM wakes GROUP BY woken",
    );
    let sched = run(&["sched", "-q", "--format", "json", &trace]).quiet_success();
    let sched: Value = serde_json::from_str(&sched).unwrap();
    let threads = sched["threads"].as_array().unwrap();
    assert!(threads.len() > 5);
    for thread in threads {
        let label = format!("{}-{}", thread["name"].as_str().unwrap(), thread["tid"]);
        let of = |state: &str| {
            let row = states.iter().find(|row| row["thread"] == label && row["state"] == state);
            row.map_or(0, |row| row["length"].as_u64().unwrap())
        };
        for (field, state) in [
            ("run", "running"),
            ("runnable_woken", "runnable-woken"),
            ("runnable_preempted", "runnable-preempted"),
            ("runnable_new", "runnable-new"),
            ("sleeping", "sleeping"),
            ("uninterruptible", "uninterruptible"),
            ("unknown", "unknown"),
        ] {
            assert_eq!(thread[field], of(state), "{label} {field}");
        }
        let woken = wakes.iter().find(|row| row["woken"] == label);
        for (field, column) in [("wakeups", "n"), ("redundant_wakings", "redundant")] {
            let n = woken.map_or(0, |row| row[column].as_u64().unwrap());
            assert_eq!(thread[field], n, "{label} {field}");
        }
    }
    // Who ended the waits for the disk.
    let disk = ask(
        &trace,
        "SELECT source, COUNT(*) AS n FROM states WHERE state = 'runnable-woken' \
           AND thread LIKE 'blkio-%' GROUP BY source ORDER BY n DESC LIMIT 1",
    );
    let source = disk[0]["source"].as_str().unwrap();
    assert!(source.starts_with("irq:virtio0-req."), "{disk:?}");
}

/// Columns are omitted, and said to be, before a line is wider than the terminal.
#[test]
fn rows_fit_the_terminal() {
    let trace = fixtures::root().join("fixtures/function_graph/default-6.1.txt");
    let trace = trace.display().to_string();
    for width in ["80", "120"] {
        let sql = "SELECT * FROM spans LIMIT 5";
        let run = run(&["query", "--width", width, &trace, sql]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let most: usize = width.parse().unwrap();
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= most, "{line}");
        }
        assert!(run.stdout.contains(&format!("omitted to fit {width} columns")), "{}", run.stdout);
        assert!(run.stdout.contains("mutex_unlock"), "{}", run.stdout);
    }
}
