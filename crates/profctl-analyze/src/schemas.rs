//! The documents have the fields that the pages in `docs/schemas` list.

use std::collections::BTreeSet;

use profctl_model::{Table, Ticks};
use serde_json::Value;

use crate::summarize::TableOptions;
use crate::testing::Calls;
use crate::{critpath, replay, tree};

const SUMMARY: &str = include_str!("../../../docs/schemas/summary-1.md");
const TREE: &str = include_str!("../../../docs/schemas/tree-1.md");
const REPLAY: &str = include_str!("../../../docs/schemas/replay-1.md");
const CRITICAL_PATH: &str = include_str!("../../../docs/schemas/critical-path-1.md");

const LINE: &str = "0 f( 2 ~g( 3 ) 9 )";

/// The names in the first cell of the rows of the page's tables, the ones under `heading`.
fn documented(page: &str, heading: &str) -> BTreeSet<String> {
    let (_, section) = page.split_once(heading).expect("the heading is there");
    let section = section.split("\n#").next().unwrap_or(section);
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names = cells.flat_map(|cell| cell.split(", "));
    names.map(|name| name.trim_matches('`').to_owned()).collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

/// Whether a document has the fields that its page lists, on top and in the first row of each part.
pub(crate) fn check_document(json: &Value, page: &str, parts: &[(&str, &str)]) {
    assert_eq!(keys(json), documented(page, "## Top level"));
    for (part, heading) in parts {
        assert_eq!(keys(&json[*part][0]), documented(page, heading), "{part}");
    }
}

fn columns(table: &Table) -> BTreeSet<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}

#[test]
fn the_saved_profile_is_as_described() {
    let json: Value = serde_json::from_str(&Calls::parse(LINE).profile().to_json()).unwrap();
    let mut expected = documented(SUMMARY, "## Top level");
    assert!(expected.remove("runs"), "only a profile of several runs has them");
    assert_eq!(keys(&json), expected);
    for part in ["timebase", "totals", "quality"] {
        assert_eq!(keys(&json[part]), documented(SUMMARY, &format!("## `{part}`")));
    }
    assert_eq!(keys(&json["functions"][0]), documented(SUMMARY, "## `functions[]`"));
}

#[test]
fn every_described_figure_of_a_function_can_be_a_column() {
    let profile = Calls::parse(LINE).profile();
    let page = &SUMMARY[..SUMMARY.find("| `histogram`").unwrap()];
    let figures = documented(page, "## `functions[]`");
    assert!(figures.contains("net_p90") && !figures.contains("net_sum"));
    let corrected = documented(SUMMARY, "the same as a table");
    let options = TableOptions {
        columns: Some(figures.union(&corrected).cloned().collect()),
        overhead: Some(Ticks(1)),
        ..TableOptions::default()
    };
    assert_eq!(columns(&profile.table(&options).unwrap()).len(), figures.len() + 2);
}

#[test]
fn tables_are_as_described() {
    let trace = Calls::parse(LINE).trace();
    let built = tree::build(&trace);
    let options = tree::Options::default();
    for (table, page) in [
        (tree::table(&built, &trace.names, &trace.meta, &options), TREE),
        (replay::table(&trace, &replay::Options::default()), REPLAY),
        (critpath::table(&trace, &critpath::Options::default()), CRITICAL_PATH),
        (critpath::by_function(&trace, &critpath::Options::default()), CRITICAL_PATH),
    ] {
        let table = table.unwrap();
        assert_eq!(columns(&table), documented(page, &format!("# `{}`", table.schema)));
    }
}
