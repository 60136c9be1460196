//! Rules of the source tree that a compiler does not check: who may depend on whom, what belongs to
//! a format, how long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures::{of_format, root};

/// Crates that use the hub and nothing else of ours.
const SPOKES: [&str; 4] = ["profctl-import", "profctl-analyze", "profctl-render", "profctl-frame"];

/// Dependencies that live in one crate only.
const KEPT_IN: [(&str, &str); 10] = [
    ("polars", "profctl-frame"),
    ("polars-io", "profctl-frame"),
    ("polars-lazy", "profctl-frame"),
    ("polars-parquet", "profctl-frame"),
    ("polars-plan", "profctl-frame"),
    ("plotters", "profctl-render"),
    ("clap", "profctl"),
    ("indicatif", "profctl"),
    ("ratatui", "profctl"),
    ("crossterm", "profctl"),
];

/// Folders of fixtures that are no format: saved profiles to compare, recordings with answers.
const OTHER_FIXTURES: [&str; 3] = ["diff", "minix-quantum", "sched"];

const LINES_MAX: usize = 600;

/// Files that are one long list, and so may be longer.
const LONG_LISTS: [&str; 0] = [];

/// The names in `[dependencies]` of each crate.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let mut manifests = BTreeMap::new();
    for folder in folders(&root().join("crates")) {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a crate has a manifest");
        let name = folder.file_name().expect("a folder has a name").display().to_string();
        assert!(text.contains(&format!("name = \"{name}\"")), "crates/{name} is named otherwise");
        manifests.insert(name, dependencies(&text));
    }
    manifests
}

fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section == "dependencies" || section.ends_with(".dependencies");
            if let Some(name) = section.strip_prefix("dependencies.") {
                names.insert(name.to_owned());
            }
        } else if counts && !line.is_empty() && !line.starts_with('#') {
            let end = line.find(['.', '=', ' ']).unwrap_or(line.len());
            names.insert(line[..end].trim_matches('"').to_owned());
        }
    }
    names
}

#[test]
fn a_manifest_is_read_right() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n# b = 1\n\
                    c = { version = \"1\" }\n[dependencies.d]\nversion = \"1\"\n\
                    [target.'cfg(unix)'.dependencies]\ne = \"1\"\n[dev-dependencies]\nf = \"1\"\n";
    assert_eq!(dependencies(manifest), ["a", "c", "d", "e"].map(String::from).into());
}

#[test]
fn the_crates_form_a_star() {
    let manifests = manifests();
    let of_ours: BTreeSet<&String> = manifests.keys().collect();
    for (name, dependencies) in &manifests {
        let used: BTreeSet<&str> = dependencies
            .iter()
            .filter(|dependency| of_ours.contains(dependency))
            .map(String::as_str)
            .collect();
        if name == "profctl-model" {
            assert!(dependencies.is_empty(), "the hub depends on {dependencies:?}");
        } else if SPOKES.contains(&name.as_str()) {
            assert_eq!(used, BTreeSet::from(["profctl-model"]), "{name} is a spoke");
        } else {
            assert!(!used.contains("profctl"), "{name} depends on the rim");
        }
        if name == "profctl" {
            assert!(!used.contains("profctl-testkit"), "the program ships its test kit");
        }
    }
    for (dependency, home) in KEPT_IN {
        for (name, dependencies) in &manifests {
            assert!(
                name == home || !dependencies.contains(dependency),
                "{name} uses {dependency}, which belongs in {home}"
            );
        }
    }
}

#[test]
fn a_format_has_a_folder_a_page_and_fixtures() {
    let listed: BTreeSet<String> =
        profctl_import::FORMATS.iter().map(|format| format.descriptor().name.to_owned()).collect();
    assert_eq!(listed.len(), profctl_import::FORMATS.len(), "two formats of one name");
    let root = root();
    let of_folders = |folder: &str| -> BTreeSet<String> {
        let folders = folders(&root.join(folder));
        folders.iter().map(|path| path.file_name().unwrap().display().to_string()).collect()
    };
    let pages: BTreeSet<String> = files_of(&root.join("docs/formats"), "md")
        .iter()
        .map(|path| path.file_stem().unwrap().display().to_string())
        .collect();
    assert_eq!(of_folders("crates/profctl-import/src/formats"), listed, "folders of readers");
    assert_eq!(pages, listed, "pages in docs/formats");
    let mut fixtures = of_folders("fixtures");
    fixtures.retain(|folder| !OTHER_FIXTURES.contains(&folder.as_str()));
    assert_eq!(fixtures, listed, "folders of fixtures");
    for name in &listed {
        let folder = root.join("fixtures").join(name);
        assert!(
            folder.join("README.md").is_file(),
            "fixtures/{name} does not say where it is from"
        );
        assert!(!of_format(name).is_empty(), "fixtures/{name} holds no trace");
    }
}

#[test]
fn no_source_is_too_long() {
    for source in sources() {
        let lines = fs::read_to_string(&source).unwrap().lines().count();
        let shown = source.strip_prefix(root()).unwrap().display().to_string();
        assert!(
            lines <= LINES_MAX || LONG_LISTS.contains(&shown.as_str()),
            "{shown} has {lines} lines: split it along meaning"
        );
    }
}

/// Every Rust source of the workspace, tests included.
pub(crate) fn sources() -> Vec<PathBuf> {
    let mut sources = Vec::new();
    let mut waiting = vec![root().join("crates")];
    while let Some(folder) = waiting.pop() {
        waiting.extend(folders(&folder));
        sources.extend(files_of(&folder, "rs"));
    }
    assert!(sources.iter().any(|source| source.ends_with("tests/it/tidy.rs")));
    sources
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let fits = |path: &PathBuf| path.is_file() && path.extension().is_some_and(|e| e == extension);
    entries(folder).into_iter().filter(fits).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
}

/// CI builds with the lowest supported version, so that it is known to do.
#[test]
fn the_compiler_is_the_lowest_supported_one() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect("it is there");
    let stated = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let lowest = stated(&read("Cargo.toml"), "rust-version").expect("it is stated");
    let pinned = stated(&read("rust-toolchain.toml"), "channel").expect("it is stated");
    assert_eq!(pinned, format!("{lowest}.0"));
}
