//! Automation of the source tree: `cargo xtask docs`.

#![expect(clippy::disallowed_methods, reason = "tasks read and write files")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask docs

docs   writes the pages of docs/ that the program generates: cli.md, diagnostics.md";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["docs"] => docs(),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&error.to_string());
            ExitCode::from(2)
        }
    }
}

/// The program generates the pages; this writes them to `docs/`.
fn docs() -> Result<(), Box<dyn Error>> {
    for page in ["cli", "diagnostics"] {
        let path = root().join("docs").join(page).with_extension("md");
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let output = Command::new(cargo)
            .args(["run", "--quiet", "--package", "profctl", "--", "generate", page])
            .current_dir(root())
            .stderr(std::process::Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{page}: the program did not write it").into());
        }
        if std::fs::read(&path).ok().as_ref() != Some(&output.stdout) {
            std::fs::write(&path, &output.stdout)?;
            tell(&format!("wrote docs/{page}.md"));
        }
    }
    Ok(())
}

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("this crate lies two levels below the root").to_owned()
}

#[expect(clippy::print_stderr, reason = "a task prints to the terminal")]
fn tell(line: &str) {
    eprintln!("{line}");
}
