//! Every command in the README and under `docs/` is run, and prints what the page says.
//!
//! A page shows sessions in fences marked `console`: a line `$ command`, then what it prints. A line
//! `…` stands for any number of lines. `UPDATE_EXPECT=1` writes what is printed into the page, down
//! to the `…` if there is one.

use std::fs;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures;

use crate::program::{Scratch, command, finish};

/// The command of a page, and what it is said to print.
struct Session {
    command: String,
    output: Vec<String>,
    /// The lines of the page that `output` takes up.
    lines: std::ops::Range<usize>,
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    check_page(&fixtures::root().join("README.md"), 8);
}

#[test]
fn the_commands_of_the_docs_do_what_they_say() {
    let mut pages = Vec::new();
    collect(&fixtures::root().join("docs"), &mut pages);
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        check_page(&page, 0);
    }
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("docs/ is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[track_caller]
fn check_page(page: &Path, at_least: usize) {
    let text = fs::read_to_string(page).expect("the page can be read");
    let lines: Vec<&str> = text.lines().collect();
    let sessions = sessions(&lines);
    assert!(sessions.len() >= at_least, "{} shows few commands", page.display());
    let name = page.file_stem().and_then(|stem| stem.to_str()).unwrap_or("page");
    let scratch = Scratch::new(&format!("pages-{name}"));
    let mut updated: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    for session in sessions.iter().rev() {
        let Some(printed) = run(&session.command, &scratch.path("")) else { continue };
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if update {
            let shown = cut_like(&session.output, &printed);
            updated.splice(session.lines.clone(), shown);
        } else {
            assert!(
                matches(&session.output, &printed),
                "{}: `{}` prints\n{}\nand not\n{}",
                page.display(),
                session.command,
                printed.join("\n"),
                session.output.join("\n"),
            );
        }
    }
    if update {
        fs::write(page, updated.join("\n") + "\n").expect("the page can be written");
    }
}

fn sessions(lines: &[&str]) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut inside = false;
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("```") {
            inside = *line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let lines = number + 1..number + 1;
            sessions.push(Session { command: command.to_owned(), output: Vec::new(), lines });
        } else if inside && let Some(session) = sessions.last_mut() {
            session.output.push((*line).to_owned());
            session.lines.end = number + 1;
        }
    }
    sessions
}

/// What a command prints; nothing if it is one that runs this test, or installs the program.
fn run(line: &str, scratch: &str) -> Option<String> {
    let line = line.replace("/tmp/", scratch);
    let (line, head) = match line.split_once(" | head -") {
        Some((line, n)) => (line.to_owned(), Some(n.parse::<usize>().expect("`head -N`"))),
        None => (line, None),
    };
    let words = split(&line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let arguments = match words.as_slice() {
        ["profctl", arguments @ ..]
        | ["cargo", "run", "--release", "-p", "profctl", "--", arguments @ ..] => arguments,
        ["cargo", "test", "--workspace"]
        | ["cargo", "install", "--path", "crates/profctl"]
        | ["just", ..] => return None,
        other => panic!("no test knows how to run {other:?}"),
    };
    if !cfg!(feature = "tables") && needs_tables(arguments) {
        return None;
    }
    let run = finish(command(arguments).current_dir(fixtures::root()));
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert!(matches!(run.code, Some(0..=5)), "{line} ends with {:?}: {}", run.code, run.stderr);
    let lines: Vec<&str> = printed.lines().take(head.unwrap_or(usize::MAX)).collect();
    Some(lines.join("\n"))
}

/// Whether only a build with tables can do it; it then says so, which is tested elsewhere.
fn needs_tables(arguments: &[&str]) -> bool {
    let is_parquet = |argument: &&str| *argument == "parquet" || argument.ends_with(".parquet");
    arguments.first() == Some(&"query") || arguments.iter().any(is_parquet)
}

/// Words as a shell splits them, as far as pages need it: blanks and double quotes.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("there is one").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.iter().position(|line| line == "…") {
        None => shown.iter().map(|line| line.trim_end()).eq(printed.iter().copied()),
        Some(cut) => {
            let (before, after) = (&shown[..cut], &shown[cut + 1..]);
            printed.len() >= before.len() + after.len()
                && before.iter().map(|line| line.trim_end()).eq(printed[..cut].iter().copied())
                && after
                    .iter()
                    .map(|line| line.trim_end())
                    .eq(printed[printed.len() - after.len()..].iter().copied())
        }
    }
}

fn cut_like(shown: &[String], printed: &[&str]) -> Vec<String> {
    let own = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    match shown.iter().position(|line| line == "…") {
        None => own(printed),
        Some(cut) => {
            let after = (shown.len() - cut - 1).min(printed.len());
            let before = cut.min(printed.len() - after);
            let mut lines = own(&printed[..before]);
            lines.push("…".into());
            lines.extend(own(&printed[printed.len() - after..]));
            lines
        }
    }
}
