//! Pages that come out of the program are what the program says now.

use std::collections::BTreeSet;
use std::fs;

use profctl_testkit::fixtures;
use serde_json::Value;

use crate::program::{Scratch, WHOLE, run};

#[test]
fn generated_pages_are_fresh() {
    for page in ["cli", "diagnostics"] {
        let path = fixtures::root().join("docs").join(page).with_extension("md");
        let found = fs::read_to_string(&path).unwrap_or_default().replace('\r', "");
        let expected = run(&["generate", page]).quiet_success();
        assert!(found == expected, "docs/{page}.md is stale: run `cargo xtask docs`");
    }
}

/// The table of benchmarks is that of the latest record.
#[test]
fn benchmarks_are_those_of_the_latest_record() {
    let history = fixtures::root().join("bench/history");
    let records = fs::read_dir(history).unwrap().map(|entry| entry.unwrap().path());
    let latest = records.max().expect("there is a record");
    let record: Value = serde_json::from_str(&fs::read_to_string(latest).unwrap()).unwrap();
    let page = fs::read_to_string(fixtures::root().join("docs/performance.md")).unwrap();
    let commit = record["commit"].as_str().unwrap();
    assert!(page.contains(&format!("commit {commit},")), "run `scripts/compare/record.py --page`");
    let rows = record["rows"].as_array().unwrap();
    assert!(rows.len() > 5, "{}", rows.len());
    for row in rows {
        let times = |side: &str| -> Vec<f64> {
            row[side].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect()
        };
        let (ours, theirs) = (times("ours"), times("theirs"));
        let mut ratios: Vec<f64> =
            ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs.max(1e-3)).collect();
        ratios.sort_by(f64::total_cmp);
        assert!(ratios.len() % 2 == 1, "a median of an odd number of pairs");
        let ratio = ratios[ratios.len() / 2];
        let label = row["label"].as_str().unwrap();
        let line = page.lines().find(|line| line.starts_with(&format!("| {label} |")));
        let line = line.unwrap_or_else(|| panic!("{label} is missing"));
        assert!(line.contains(&format!(" s | {ratio:.2} |")), "{line}: {ratio:.2}");
    }
}

/// A page that is in no list is not found by anyone.
#[test]
fn the_book_has_every_page_once_by_its_heading() {
    let docs = fixtures::root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<(&str, &str)> = summary
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix('['))
        .filter_map(|line| line.strip_suffix(')')?.rsplit_once("]("))
        .filter(|(_, page)| !page.is_empty())
        .collect();
    let mut pages = BTreeSet::new();
    for folder in ["", "formats", "schemas", "decisions"] {
        for entry in fs::read_dir(docs.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.strip_prefix(&docs).unwrap().to_str().unwrap().replace('\\', "/");
                pages.insert(name);
            }
        }
    }
    pages.remove("SUMMARY.md");
    let hint = "run `cargo xtask docs`, and list new pages in docs/README.md";
    assert_eq!(listed.len(), pages.len(), "{hint}");
    for (title, page) in listed {
        assert!(pages.remove(page), "{page}: {hint}");
        let text = fs::read_to_string(docs.join(page)).unwrap();
        let heading = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap();
        assert_eq!(heading, title, "{page}: {hint}");
    }
}

/// Not written as one word, so that this file declares none.
const DECLARATION: &str = concat!(": Code", " = Code {");

#[test]
fn every_code_in_the_sources_is_documented() {
    let page = run(&["generate", "diagnostics"]).quiet_success();
    let documented: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).collect();
    let mut declared = BTreeSet::new();
    for source in super::tidy::sources() {
        let text = fs::read_to_string(&source).unwrap();
        for declaration in text.split(DECLARATION).skip(1) {
            let name = declaration.split('"').nth(1).expect("a code begins with its name");
            declared.insert(name.to_owned());
        }
    }
    let declared: BTreeSet<&str> = declared.iter().map(String::as_str).collect();
    assert!(declared.len() > 5, "{declared:?}");
    assert_eq!(documented, declared);
}

/// The sections of a page in `docs/formats`, in order.
const SECTIONS: [&str; 6] = [
    "How to record",
    "What is read",
    "What is not read",
    "Times and ids",
    "How it is recognized",
    "Diagnostics",
];
/// What may follow them.
const MORE_SECTIONS: [&str; 2] = ["Verification", "What profctl writes"];

#[test]
fn pages_of_formats_have_the_same_sections() {
    let codes = run(&["generate", "diagnostics"]).quiet_success();
    let is_code = |text: &str| codes.contains(&format!("\n## `{text}`\n"));
    for format in profctl_import::FORMATS {
        let format = format.descriptor();
        let path = fixtures::root().join("docs/formats").join(format.name).with_extension("md");
        let page = fs::read_to_string(path).unwrap().replace('\r', "");
        let name = format.name;
        assert!(page.starts_with(&format!("# `{name}`: ")), "{name}: {:?}", page.lines().next());
        let parts: Vec<&str> = page.split("\n## ").collect();
        let heading = |part: &&str| part.lines().next().unwrap_or_default().to_owned();
        let headings: Vec<String> = parts[1..].iter().map(heading).collect();
        let (first, more) = headings.split_at(SECTIONS.len().min(headings.len()));
        assert_eq!(first, SECTIONS, "{name}");
        assert!(more.iter().all(|one| MORE_SECTIONS.contains(&one.as_str())), "{name}: {more:?}");
        assert!(parts[1..].iter().all(|part| part.trim().lines().count() > 2), "{name}: empty");
        let diagnostics = parts[SECTIONS.len()];
        for code in format.codes {
            assert!(diagnostics.contains(&format!("`{}`", code.name)), "{name}: {}", code.name);
        }
        let named = diagnostics.split('`').skip(1).step_by(2).filter(|text| text.contains('/'));
        named.for_each(|code| assert!(is_code(code), "{name}: no code `{code}`"));
    }
}

#[test]
fn the_schema_of_info_names_every_field() {
    let scratch = Scratch::new("schema_info");
    let plain = "# profctl plain 1\n10 cpu0 sh-7 > main\n?\n30 cpu0 sh-7 < main\n";
    let mut fields = BTreeSet::new();
    // One has threads, CPUs and a diagnostic with its place, the other has facts.
    for trace in [scratch.file("plain.txt", plain), scratch.file("mcrae.txt", WHOLE)] {
        let json = run(&["info", "--format", "json", &trace]).quiet_success();
        collect(&serde_json::from_str(&json).unwrap(), &mut fields);
    }
    let page = fs::read_to_string(fixtures::root().join("docs/schemas/info-1.md")).unwrap();
    let documented: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect();
    assert_eq!(documented, fields);
}

/// The path of every value below `value` that is not an object or a list of them.
fn collect(value: &Value, fields: &mut BTreeSet<String>) {
    fn walk(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let dot = if path.is_empty() { "" } else { "." };
                    walk(value, &format!("{path}{dot}{name}"), fields);
                }
            }
            Value::Array(items) if !items.iter().any(Value::is_number) => {
                for item in items {
                    walk(item, &format!("{path}[]"), fields);
                }
            }
            _ => {
                fields.insert(path.to_owned());
            }
        }
    }
    walk(value, "", fields);
}
