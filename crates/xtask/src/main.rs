//! Automation of the source tree: `cargo xtask docs`.

#![expect(clippy::disallowed_methods, reason = "tasks read and write files")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask docs

docs   writes the pages of docs/ that are generated: cli.md and diagnostics.md by the program,
       SUMMARY.md, the contents of the book, from README.md";

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
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let output = Command::new(cargo)
            .args(["run", "--quiet", "--package", "profctl", "--", "generate", page])
            .current_dir(root())
            .stderr(std::process::Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{page}: the program did not write it").into());
        }
        update(page, &output.stdout)?;
    }
    update("SUMMARY", summary()?.as_bytes())
}

fn update(page: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let path = root().join("docs").join(page).with_extension("md");
    if std::fs::read(&path).ok().as_deref() != Some(bytes) {
        std::fs::write(&path, bytes)?;
        tell(&format!("wrote docs/{page}.md"));
    }
    Ok(())
}

/// The contents of the book, in the order of `docs/README.md`. A folder stands for its pages.
fn summary() -> Result<String, Box<dyn Error>> {
    let docs = root().join("docs");
    let mut summary = String::from("# Summary\n\n[Documentation](README.md)\n");
    for line in std::fs::read_to_string(docs.join("README.md"))?.lines() {
        if let Some(part) = line.strip_prefix("## ") {
            writeln!(summary, "\n# {part}\n")?;
        }
        let link = line.strip_prefix("- [").and_then(|line| line.split_once("]("));
        let Some((path, _)) = link.and_then(|(_, behind)| behind.split_once(')')) else { continue };
        if docs.join(path).is_file() {
            writeln!(summary, "- [{}]({path})", heading(&docs.join(path))?)?;
            continue;
        }
        let (name, _) = line["- [".len()..].split_once('/').unwrap_or((path, ""));
        let title = name[..1].to_uppercase() + &name[1..];
        writeln!(summary, "- [{title}]()")?;
        let mut pages: Vec<_> = std::fs::read_dir(docs.join(path))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        pages.sort();
        for page in pages {
            let file = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            writeln!(summary, "  - [{}]({path}/{file})", heading(&page)?)?;
        }
    }
    Ok(summary)
}

/// The first heading of a page.
fn heading(page: &Path) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(page)?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.map(str::to_owned).ok_or_else(|| format!("{}: no heading", page.display()).into())
}

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("this crate lies two levels below the root").to_owned()
}

#[expect(clippy::print_stderr, reason = "a task prints to the terminal")]
fn tell(line: &str) {
    eprintln!("{line}");
}
