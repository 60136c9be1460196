//! Where the sample traces are.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("this crate lies two levels below the root").to_owned()
}

/// A directory of captures beside the checkout, too large or not ours to commit. Tests use it
/// where it is and do without it where it is not.
pub fn shared() -> Option<PathBuf> {
    root().parent().map(|parent| parent.join("shared")).filter(|shared| shared.is_dir())
}

/// The traces in `fixtures/FORMAT/`, by name; READMEs and goldens (`*.golden`) are none.
///
/// # Panics
/// If there is no trace: a test over no files cannot fail.
pub fn of_format(format: &str) -> Vec<PathBuf> {
    let traces = files(&root().join("fixtures").join(format));
    assert!(!traces.is_empty(), "no traces in fixtures/{format}");
    traces
}

/// The files directly in `folder`, by name, that are neither a README nor a golden. None if there
/// is no such folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder can be listed to its end").path())
        .filter(|path| path.is_file() && !is_about_traces(path))
        .collect();
    files.sort();
    files
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
