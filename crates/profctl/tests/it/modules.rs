//! The graph of modules: within a folder, siblings do not use each other in a cycle, and only the
//! emitter and what reads from it sees the packed form of a record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use profctl_testkit::fixtures::root;

use crate::tidy::sources;

/// Modules of a crate by their path, with their text, without tests.
type Modules = BTreeMap<Vec<String>, String>;

/// The modules of the crate whose sources are in `folder`.
fn modules(folder: &Path) -> Modules {
    let mut modules = Modules::new();
    let mut tests = BTreeSet::new();
    for source in sources().iter().filter(|source| source.starts_with(folder)) {
        let shown = source.strip_prefix(folder).expect("it is below").with_extension("");
        let mut path: Vec<String> =
            shown.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            path.pop();
        }
        let text = fs::read_to_string(source).expect("a source");
        let text: String = text.lines().map(without_comment).collect::<Vec<_>>().join("\n");
        let mut code = String::new();
        let mut parts = text.split("#[cfg(test)]\n");
        code.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (line, rest) = part.split_once('\n').unwrap_or((part, ""));
            let name = line.split_once("mod ").map(|(_, name)| name);
            match name.and_then(|name| name.strip_suffix(';')) {
                Some(name) => {
                    tests.insert([&path[..], &[name.trim().to_owned()]].concat());
                    code.push_str(rest);
                }
                // A module of tests in the file: it is at the end.
                None if name.is_some() => {}
                None => code.push_str(rest),
            }
        }
        modules.insert(path, code);
    }
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    modules
}

fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

/// The paths that begin with `crate` or `super` in `text`, each as far as the first name after a
/// brace.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut paths = Vec::new();
    for (at, start) in [text.match_indices("crate::"), text.match_indices("super::")]
        .into_iter()
        .flatten()
        .filter(|(at, _)| !text[..*at].ends_with(|c| is_word(c) || c == ':'))
    {
        let mut path = vec![start.trim_end_matches(':')];
        let mut rest = &text[at + start.len()..];
        loop {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if end == 0 {
                break;
            }
            path.push(&rest[..end]);
            let Some(more) = rest[end..].strip_prefix("::") else { break };
            rest = more;
        }
        let Some(inner) = rest.strip_prefix('{') else {
            paths.push(path);
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (at, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                _ if begins && depth == 0 && is_word(c) => {
                    let end = inner[at..].find(|c| !is_word(c)).unwrap_or(inner.len() - at);
                    paths.push([&path[..], &[&inner[at..at + end]]].concat());
                    begins = false;
                }
                _ => {}
            }
        }
    }
    paths
}

/// Who uses whom among the files and folders of one folder.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graphs(modules: &Modules) -> BTreeMap<Vec<String>, Graph> {
    let mut graphs: BTreeMap<Vec<String>, Graph> = BTreeMap::new();
    for (module, text) in modules {
        for path in paths(text) {
            let ups = path.iter().take_while(|part| **part == "super").count();
            let Some(base) = module.len().checked_sub(ups) else { continue };
            let base = if path[0] == "crate" { &[][..] } else { &module[..base] };
            let names = path.iter().skip(ups.max(1)).map(|name| (*name).to_owned());
            let used: Vec<String> = base.iter().cloned().chain(names).collect();
            let same = module.iter().zip(&used).take_while(|(a, b)| a == b).count();
            if same < module.len() && same < used.len() && modules.contains_key(&used[..=same]) {
                let graph = graphs.entry(module[..same].to_vec()).or_default();
                graph.entry(module[same].clone()).or_default().insert(used[same].clone());
            }
        }
    }
    graphs
}

/// What is left of a graph after repeatedly removing modules without outgoing edges: the cycles and
/// those that lead to them.
fn cycles(mut graph: Graph) -> Graph {
    loop {
        let before = graph.len();
        let left: BTreeSet<String> = graph.keys().cloned().collect();
        graph.retain(|_, used| used.iter().any(|used| left.contains(used)));
        for used in graph.values_mut() {
            used.retain(|used| left.contains(used));
        }
        if graph.len() == before {
            return graph;
        }
    }
}

#[test]
fn no_files_of_a_folder_use_each_other_in_a_circle() {
    let mut n_edges = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path().join("src");
        for (within, graph) in graphs(&modules(&folder)) {
            n_edges += graph.values().map(BTreeSet::len).sum::<usize>();
            let cycles = cycles(graph);
            let shown = folder.join(within.join("/"));
            assert!(cycles.is_empty(), "{}: {cycles:#?}", shown.display());
        }
    }
    assert!(n_edges > 300, "only {n_edges} uses were found: the parser misses them");
}

#[test]
fn circles_are_found() {
    let module = |path: &str, text: &str| (vec!["x".to_owned(), path.to_owned()], text.to_owned());
    let modules = Modules::from([
        (vec!["x".to_owned()], String::new()),
        module("a", "use super::{b::{self, C}, d};\n"),
        module("b", "fn f() { crate::x::c::g(); }"),
        module("c", "use crate::x::{a, e};"),
        module("d", "use super::CODE;"),
        module("e", "use super::d;"),
    ]);
    let graph = graphs(&modules).remove(&vec!["x".to_owned()]).unwrap();
    assert_eq!(graph["a"], ["b", "d"].map(String::from).into());
    assert_eq!(cycles(graph).into_keys().collect::<Vec<_>>(), ["a", "b", "c"]);
}

/// Formats say what a record is with the verbs of the emitter; how it is packed is not theirs to
/// know.
#[test]
fn no_format_packs_records_itself() {
    let folder = root().join("crates/profctl-import/src");
    let modules = modules(&folder);
    let mut n = 0;
    for (module, text) in &modules {
        let knows = ["emit", "sort", "stitch", "drive"].map(String::from);
        if module.first().is_none_or(|first| knows.contains(first)) {
            continue;
        }
        n += 1;
        for path in paths(text) {
            let packed = ["Event", "EventKind", "UNSTATED", "NO_DEPTH"];
            let is_packed = path.contains(&"emit") && packed.contains(path.last().unwrap());
            assert!(!is_packed, "{} uses {}", module.join("/"), path.join("::"));
        }
    }
    assert!(n > 150, "{n} modules");
}
