//! Paths of the sample traces.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("this crate lies two levels below the root").to_owned()
}

/// A directory of captures that are too large, or not licensed, to commit: `PROFCTL_SHARED`, or
/// `shared` beside the checkout. Tests that use it are skipped without it.
pub fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("PROFCTL_SHARED").map(PathBuf::from);
    let beside = || root().parent().map(|parent| parent.join("shared"));
    named.or_else(beside).filter(|shared| shared.is_dir())
}

/// The traces in `fixtures/FORMAT/`, by name: its files except READMEs and goldens (`*.golden`), or
/// its folders if it has no such files.
///
/// # Panics
/// If the folder has none: a test over no files cannot fail.
pub fn of_format(format: &str) -> Vec<PathBuf> {
    let folder = root().join("fixtures").join(format);
    let mut traces = files(&folder);
    if traces.is_empty() {
        traces = entries(&folder).into_iter().filter(|path| path.is_dir()).collect();
    }
    assert!(!traces.is_empty(), "no traces in fixtures/{format}");
    traces
}

/// The files directly in `folder`, by name, except READMEs and goldens. Empty if there is no such
/// folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let is_trace = |path: &PathBuf| path.is_file() && !is_about_traces(path);
    entries(folder).into_iter().filter(is_trace).collect()
}

/// The entries of `folder`, by name. Empty if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.expect("a folder can be listed to its end").path());
    let mut entries: Vec<PathBuf> = entries.collect();
    entries.sort();
    entries
}

/// The files that a trace consists of, with their names in it: one, or those below a directory.
pub fn parts(trace: &Path) -> Vec<(String, Vec<u8>)> {
    if !trace.is_dir() {
        return vec![(trace.display().to_string(), read(trace))];
    }
    let mut parts = Vec::new();
    let mut waiting = entries(trace);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(entries(&path));
        } else {
            let name = path.strip_prefix(trace).unwrap_or(&path);
            parts.push((name.display().to_string().replace('\\', "/"), read(&path)));
        }
    }
    parts.sort();
    parts
}

fn is_about_traces(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("md" | "golden" | "meta"))
}

/// The bytes of a trace.
///
/// # Panics
/// If it cannot be read, naming it.
#[expect(clippy::disallowed_methods, reason = "tests read files")]
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a tar archive. Only what those of the captures have: plain files with short names.
///
/// # Panics
/// If it is no such archive.
pub fn unpack(archive: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    let mut rest = archive;
    while let Some((head, body)) = rest.split_at_checked(512)
        && head[0] != 0
    {
        let text = |range: std::ops::Range<usize>| {
            let field =
                head[range].split(|byte| *byte == 0).next().expect("a part before the first NUL");
            str::from_utf8(field).expect("a header of ASCII").trim().to_owned()
        };
        let size = usize::from_str_radix(&text(124..136), 8).expect("an octal size");
        files.push((text(0..100), &body[..size]));
        rest = &body[size.next_multiple_of(512).min(body.len())..];
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_one_with_the_lock_file() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn readmes_and_goldens_are_no_traces() {
        let traces = of_format("function_graph");
        assert!(traces.iter().all(|path| !is_about_traces(path)));
        assert!(traces.is_sorted());
    }
}
