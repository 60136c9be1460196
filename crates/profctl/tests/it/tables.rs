//! `convert` to text, which every build can do.

use std::fmt::Write as _;
use std::fs;

use profctl_model::tables::ALL;
use profctl_testkit::fixtures;
use serde_json::Value;

use crate::program::{CUT, Scratch, WHOLE, run, run_with_input};

/// The rows of a CSV without quoted fields.
fn csv_rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn csv_and_json_lines_hold_the_same_rows_of_every_table() {
    let scratch = Scratch::new("tables_text");
    let trace = scratch.file("cut.txt", CUT);
    let said = run(&["convert", "--format", "csv", &trace]).stderr;
    assert!(said.contains("cut.txt: repaired: 3 unclosed entries"), "{said}");
    for table in ALL {
        let csv = run(&["convert", "-q", "--format", "csv", "--table", table.name, &trace])
            .quiet_success();
        let lines = run(&["convert", "-q", "--format", "jsonl", "--table", table.name, &trace])
            .quiet_success();
        let rows = csv_rows(&csv);
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(rows[0], names, "{}", table.name);
        let mut count = 0;
        for (row, line) in rows[1..].iter().zip(lines.lines()) {
            let object: Value = serde_json::from_str(line).unwrap();
            let object = object.as_object().unwrap();
            assert_eq!(
                object.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>().len(),
                names.len()
            );
            for (name, text) in names.iter().zip(row) {
                let value = match &object[*name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                assert_eq!(&value, text, "{}.{name}", table.name);
            }
            count += 1;
        }
        assert_eq!((rows.len() - 1, lines.lines().count()), (count, count), "{}", table.name);
    }
}

#[test]
fn the_rows_of_calls_say_who_called_whom() {
    let scratch = Scratch::new("tables_calls");
    let trace = scratch.file("whole.txt", WHOLE);
    let csv = run(&["convert", "--format", "csv", &trace]).quiet_success();
    // In the order in which they ended; times in nanoseconds.
    let expected = "\
        run,id,parent,name,module,kind,thread,cpu,depth,start,end,wall,off_cpu,elapsed,net,stolen,partial,outermost,in_interrupt\r\n\
        whole.txt,3,2,hardclock,,function,all,,3,1200030000,1200080000,50000,,50000,50000,0,0,1,0\r\n\
        whole.txt,2,1,clkintr,,function,all,,2,1200020000,1200110000,90000,,90000,40000,0,0,1,0\r\n\
        whole.txt,1,0,read,,function,all,,1,1200010000,1200130000,120000,,120000,30000,0,0,1,0\r\n\
        whole.txt,4,0,splx,,function,all,,1,1200140000,1200160000,20000,,20000,20000,0,0,1,0\r\n\
        whole.txt,0,,syscall,,function,all,,0,1200000000,1200200000,200000,,200000,60000,0,0,1,0\r\n";
    assert_eq!(csv, expected);
}

#[test]
fn calls_that_were_spilled_are_the_same() {
    let scratch = Scratch::new("tables_spilled");
    let busy = fixtures::of_format("function_graph");
    let busy = busy[0].display().to_string();
    let whole = scratch.file("whole.txt", WHOLE);
    let spilled = ["convert", "-q", "--format", "jsonl", "--spill-above", "0", &busy, &whole];
    let in_memory = ["convert", "-q", "--format", "jsonl", &busy, &whole];
    let text = run(&in_memory).quiet_success();
    assert!(text.lines().count() > 10);
    assert_eq!(run(&spilled).quiet_success(), text);
}

#[test]
fn what_to_write_is_told_by_the_ending_or_asked_for() {
    let scratch = Scratch::new("tables_target");
    let trace = scratch.file("whole.txt", WHOLE);
    let out = scratch.path("calls.csv");
    assert_eq!(run(&["convert", &trace, "-o", &out]).quiet_success(), "");
    assert!(fs::read_to_string(&out).unwrap().starts_with("run,id,"));
    assert_eq!(scratch.names(), ["calls.csv", "whole.txt"]);
    let from_pipe = run_with_input(&["convert", "--format", "jsonl", "-"], WHOLE.as_bytes());
    assert!(from_pipe.quiet_success().starts_with("{\"run\":\"-\",\"id\":3,"));

    let message = run(&["convert", &trace, "-o", &scratch.path("calls")]).failure(2);
    assert!(message.contains("--format"), "{message}");
    let message = run(&["convert", "--partition", "--format", "csv", &trace]).failure(2);
    assert!(message.contains("Parquet"), "{message}");
    let nowhere = scratch.path("no/such/place.csv");
    run(&["convert", &trace, "-o", &nowhere]).failure(2);
    run(&["convert", "--format", "csv", &scratch.path("absent")]).failure(3);
}

#[test]
fn strict_objects_to_a_cut_trace_after_writing_it() {
    let scratch = Scratch::new("tables_strict");
    let trace = scratch.file("cut.txt", CUT);
    let run = run(&["convert", "--strict", "--format", "csv", &trace]);
    assert_eq!(run.code, Some(5));
    assert!(run.stdout.lines().count() > 3);
}

#[test]
fn the_page_of_the_tables_names_every_column() {
    let page = fs::read_to_string(fixtures::root().join("docs/schemas/tables.md")).unwrap();
    let mut expected = String::new();
    for table in ALL {
        writeln!(
            expected,
            "\n## `{}`: `{}`\n\nA row is {}.\n",
            table.name, table.version, table.about
        )
        .unwrap();
        expected += "| column | type | meaning |\n| --- | --- | --- |\n";
        for column in table.columns {
            let kind = match column.kind {
                profctl_model::tables::ColumnKind::Time => "BIGINT, time",
                other => other.sql(),
            };
            writeln!(expected, "| `{}` | {kind} | {} |", column.name, column.about).unwrap();
        }
    }
    let shown = page.find("\n## `spans`").map_or("", |begin| &page[begin..]);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let head = &page[..page.len() - shown.len()];
        fs::write(fixtures::root().join("docs/schemas/tables.md"), format!("{head}{expected}"))
            .unwrap();
    } else {
        assert!(shown == expected, "docs/schemas/tables.md is stale: UPDATE_EXPECT=1 rewrites it");
    }
}

#[cfg(feature = "tables")]
mod parquet {
    //! Calls in Parquet files are the trace that they are of.

    use std::fmt::Write as _;

    use super::{CUT, Scratch, Value, WHOLE, fixtures, fs, run};

    /// `convert` of traces to a file of `scratch`.
    fn converted(scratch: &Scratch, name: &str, arguments: &[&str]) -> String {
        let out = scratch.path(name);
        let arguments = [&["convert", "-q", "-o", &out], arguments].concat();
        let converted = run(&arguments);
        assert_eq!(converted.code, Some(0), "{arguments:?}: {}", converted.stderr);
        out
    }

    /// What a command reports of a file, without what depends on its name and, in JSON, on start times:
    /// a table has these as they fit stated durations.
    fn reported(command: &[&str], file: &str, names: [&str; 2]) -> (Option<i32>, String) {
        let run = run(&[command, &[file]].concat());
        let text =
            names.iter().fold(run.stdout + &run.stderr, |text, name| text.replace(name, "TRACE"));
        (run.code, if command.contains(&"json") { without_interrupted(&text) } else { text })
    }

    /// JSON without the values of `interrupted`.
    fn without_interrupted(json: &str) -> String {
        const KEY: &str = "\"interrupted\":";
        let mut parts = json.split(KEY);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text += part.trim_start().trim_start_matches(|digit: char| digit.is_ascii_digit());
        }
        text
    }

    #[test]
    fn every_fixture_reads_back_with_the_same_figures() {
        let scratch = Scratch::new("parquet_back");
        let mut n_traces = 0;
        for format in profctl_import::FORMATS {
            let name = format.descriptor().name;
            let traces = fixtures::of_format(name);
            // What holds sums only has no calls.
            for trace in traces.iter().filter(|_| name != "callgrind").take(2) {
                let trace = trace.display().to_string();
                if run(&["summarize", "-q", &trace]).code != Some(0) {
                    continue;
                }
                let parquet = converted(&scratch, "calls.parquet", &[&trace]);
                let mut commands = vec![
                    vec!["summarize", "-q", "--format", "json", "--percentiles", "50,99"],
                    vec!["tree", "-q", "--format", "json"],
                    vec!["convert", "-q", "--format", "jsonl"],
                ];
                for by in ["module", "kind", "thread", "cpu"] {
                    commands.push(vec!["summarize", "-q", "--format", "csv", "--by", by]);
                }
                for command in commands {
                    let names = [trace.rsplit('/').next().unwrap(), "calls.parquet"];
                    let reported = |file| reported(&command, file, names);
                    let (expected, found) = (reported(&trace), reported(&parquet));
                    assert!(found == expected, "{trace}: {command:?}\n{found:?}\n{expected:?}");
                }
                n_traces += 1;
            }
        }
        assert!(n_traces > 60, "only {n_traces} traces were compared");
    }

    /// More calls than a row group holds.
    #[test]
    fn calls_of_several_row_groups_read_back() {
        let scratch = Scratch::new("parquet_groups");
        let mut text = "# profctl plain 1\n".to_owned();
        for n in 0..50_000 {
            let (t, thread) = (n * 10, n % 7);
            writeln!(text, "{t} cpu0 t-{thread} > f{}\n{} cpu0 t-{thread} > g", n % 30, t + 2)
                .unwrap();
            writeln!(text, "{} cpu0 t-{thread} > h\n{} cpu0 t-{thread} < h", t + 3, t + 5).unwrap();
            writeln!(
                text,
                "{} cpu0 t-{thread} < g\n{} cpu0 t-{thread} < f{}",
                t + 6,
                t + 9,
                n % 30
            )
            .unwrap();
        }
        let trace = scratch.file("many.plain", text);
        let parquet = converted(&scratch, "many.parquet", &[&trace]);
        for by in ["function", "kind"] {
            let summary = ["summarize", "-q", "--format", "json", "--by", by];
            let of = |file: &str| run(&[&summary[..], &[file]].concat()).quiet_success();
            let found = of(&parquet);
            assert!(found.contains("\"calls\":150000,"), "{found}");
            assert!(found == of(&trace), "{found}");
        }
    }

    #[test]
    fn what_was_lost_is_still_said_and_a_window_is_refused() {
        let scratch = Scratch::new("parquet_quality");
        let trace = scratch.file("cut.txt", CUT);
        let parquet = converted(&scratch, "cut.parquet", &[&trace]);
        let strict = |file: &str| run(&["summarize", "--strict", file]);
        assert_eq!((strict(&trace).code, strict(&parquet).code), (Some(5), Some(5)));
        assert_eq!(strict(&trace).stdout, strict(&parquet).stdout);

        let message = run(&["summarize", "--from", "1us", &parquet]).failure(2);
        assert!(message.contains("--from has no effect"), "{message}");
        let message = run(&["summarize", "--thread", "absent", &parquet]).failure(2);
        assert!(message.contains("no thread `absent`"), "{message}");
    }

    #[test]
    fn a_file_of_several_runs_or_of_another_table_is_refused() {
        let scratch = Scratch::new("parquet_runs");
        let (whole, cut) = (scratch.file("a.txt", WHOLE), scratch.file("b.txt", CUT));
        let both = converted(&scratch, "both.parquet", &[&whole, &cut]);
        let message = run(&["summarize", &both]).failure(3);
        assert!(
            message.contains("calls of 2 runs") && message.contains("--partition"),
            "{message}"
        );
        let gaps = converted(&scratch, "gaps.parquet", &["--table", "gaps", &whole]);
        let message = run(&["summarize", &gaps]).failure(3);
        assert!(message.contains("table gaps"), "{message}");
    }

    #[test]
    fn parts_of_a_dataset_are_runs() {
        let scratch = Scratch::new("parquet_parts");
        fs::create_dir_all(scratch.path("runs/boot 1")).unwrap();
        for (n, trace) in
            ["runs/boot 1/a.txt", "runs/boot 1/b.txt", "runs/c.txt"].iter().enumerate()
        {
            scratch.file(trace, WHOLE.replace("200 <-", &format!("20{n} <-")));
        }
        let runs = scratch.path("runs");
        let parts = converted(&scratch, "calls", &["--format", "parquet", "--partition", &runs]);
        let json = |side: &str| {
            let text = run(&["summarize", "-q", "--format", "json", side]).quiet_success();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let (mut expected, found) = (json(&runs), json(&parts));
        for (run, found) in expected["runs"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .zip(found["runs"].as_array().unwrap())
        {
            run["name"] = found["name"].clone();
        }
        assert_eq!(found, expected);
        assert_eq!(found["runs"].as_array().unwrap().len(), 3);
        assert_eq!(found["runs"][0]["block"], "boot 1");
    }

    #[test]
    fn damaged_files_are_refused() {
        let scratch = Scratch::new("parquet_damaged");
        let trace = fixtures::of_format("function_graph")[0].display().to_string();
        let parquet = converted(&scratch, "calls.parquet", &[&trace]);
        let bytes = fs::read(&parquet).unwrap();
        let mut refused = 0;
        for n in 0..40 {
            let mut damaged = bytes.clone();
            let at = (n * 7919) % damaged.len();
            damaged[at] ^= 1 << (n % 8);
            damaged[(at + 1) % bytes.len()] ^= 0x55;
            fs::write(scratch.path("damaged.parquet"), &damaged).unwrap();
            let read = run(&["summarize", &scratch.path("damaged.parquet")]);
            assert!(matches!(read.code, Some(0 | 3)), "{n}: {:?} {}", read.code, read.stderr);
            refused += usize::from(read.code == Some(3));
        }
        assert!(refused > 10, "only {refused} of 40 were refused");
        for length in [0, 3, 4, 100, bytes.len() - 1] {
            fs::write(scratch.path("cut.parquet"), &bytes[..length]).unwrap();
            run(&["summarize", &scratch.path("cut.parquet")]).failure(3);
        }
    }
}

#[cfg(not(feature = "tables"))]
#[test]
fn a_lean_build_says_how_to_get_sql_and_parquet() {
    let scratch = Scratch::new("tables_lean");
    let trace = scratch.file("whole.txt", WHOLE);
    for arguments in
        [&["query", &trace, "SELECT 1"][..], &["convert", "--format", "parquet", &trace]]
    {
        let message = run(arguments).failure(2);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains("--features tables"), "{message}");
    }
    let message = run(&["summarize", "--format", "parquet", &trace]).failure(2);
    assert!(message.contains("needs a build with SQL"), "{message}");
}
