//! Every command in the README, in `docs/` and in `examples/` is executed and prints what the page
//! shows.
//!
//! A page shows sessions in fences marked `console`: a line `$ command`, then what it prints. A line
//! `…` stands for any number of lines. The command must exit with 0, or with N in a fence marked
//! `console exit=N`. In a fence marked `console COLUMNSxROWS KEYS` it runs in a terminal of that size, and
//! the page shows the screen after these keys, empty lines omitted. `UPDATE_EXPECT=1` writes what is printed into the page, up to the `…` if there
//! is one.

use std::fs;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures;

use crate::program::{Scratch, command, finish};
#[cfg(feature = "view")]
use crate::pty::InTerminal;

/// The command of a page, and what it is said to print.
struct Session {
    command: String,
    output: Vec<String>,
    /// The code with which it exits.
    exit: i32,
    /// The columns and rows of the terminal that it needs, and the keys that are pressed.
    screen: Option<(u16, u16, String)>,
    /// The lines of the page that `output` takes up.
    lines: std::ops::Range<usize>,
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let readme = fixtures::root().join("README.md");
    check_page(&readme, 8);
    let lines = fs::read_to_string(readme).expect("it can be read").lines().count();
    assert!(lines <= 150, "the README has {lines} lines: move some to docs/");
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

#[test]
fn the_examples_do_what_they_say() {
    let mut pages = Vec::new();
    collect(&fixtures::root().join("examples"), &mut pages);
    assert_eq!(pages.len(), 4, "{pages:?}");
    for page in pages {
        check_page(&page, if page.ends_with("examples/README.md") { 0 } else { 3 });
    }
}

#[test]
fn the_picture_of_the_readme_is_what_flame_draws() {
    let scratch = Scratch::new("pages-picture");
    let drawn = scratch.path("drawn.svg");
    let arguments = ["flame", "fixtures/mcrae/trace.txt", "--width", "1000", "-o", &drawn];
    finish(command(&arguments).current_dir(fixtures::root())).quiet_success();
    let drawn = fs::read_to_string(drawn).expect("flame writes it");
    let shown = fixtures::root().join("docs/images/tcp-receive.svg");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&shown, drawn).expect("the picture can be written");
    } else {
        let found = fs::read_to_string(&shown).expect("the picture is there");
        assert!(found == drawn, "{} is stale: UPDATE_EXPECT=1 rewrites it", shown.display());
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
    let place = page.strip_prefix(fixtures::root()).expect("a page of this repository");
    let scratch = Scratch::new(&format!("pages-{}", place.display().to_string().replace('/', "-")));
    let link = |from: PathBuf, name: &str| {
        std::os::unix::fs::symlink(from, scratch.path(name))
            .expect("the scratch directory takes links");
    };
    let mut updated: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let is_example = page.ancestors().nth(2) == Some(&fixtures::root().join("examples"));
    if is_example {
        // Commands run beside the inputs.
        let folder = page.parent().expect("a page has a folder");
        for entry in fs::read_dir(folder).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            let name = path.file_name().expect("it has a name").display().to_string();
            link(path, &name);
        }
    } else {
        for name in ["LICENSE-MIT", "docs", "fixtures", "crates"] {
            link(fixtures::root().join(name), name);
        }
    }
    // In the order of the page: a command may read what one before it wrote.
    let printed: Vec<_> =
        sessions.iter().map(|session| run(session, &scratch.path(""), page)).collect();
    for (session, printed) in sessions.iter().zip(printed).rev() {
        let Some(printed) = printed else { continue };
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
    let mut exit = 0;
    let mut screen = None;
    for (number, line) in lines.iter().enumerate() {
        if let Some(fence) = line.strip_prefix("```") {
            let code = fence.strip_prefix("console exit=");
            screen = fence.strip_prefix("console ").and_then(size_and_keys);
            inside = fence == "console" || code.is_some() || screen.is_some();
            exit = code.map_or(0, |code| code.parse().expect("an exit code"));
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let lines = number + 1..number + 1;
            let (command, screen) = (command.to_owned(), screen.clone());
            sessions.push(Session { command, output: Vec::new(), exit, screen, lines });
        } else if inside && let Some(session) = sessions.last_mut() {
            session.output.push((*line).to_owned());
            session.lines.end = number + 1;
        }
    }
    sessions
}

/// What a fence says of the terminal: `80x24 {down}{enter}`.
fn size_and_keys(text: &str) -> Option<(u16, u16, String)> {
    let (size, keys) = text.split_once(' ').unwrap_or((text, ""));
    let (columns, rows) = size.split_once('x')?;
    Some((columns.parse().ok()?, rows.parse().ok()?, keys.to_owned()))
}

/// The screen of a command that was started in a terminal.
#[cfg(feature = "view")]
fn screen(arguments: &[&str], size: (u16, u16), keys: &str, folder: &str) -> String {
    let is_done = |screen: &str| {
        !screen.contains("reading") && !screen.contains("waiting") && screen.contains("----")
    };
    let mut program = InTerminal::start(arguments, size, Path::new(folder));
    let mut shown = program.until("all is read", is_done);
    if !keys.is_empty() {
        program.press(keys);
        let before = std::mem::take(&mut shown);
        let is_answer = |screen: &str| screen != before && !screen.contains("reading");
        shown = program.until("answer to keys", is_answer);
    }
    shown.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(not(feature = "view"))]
fn screen(_: &[&str], _: (u16, u16), _: &str, _: &str) -> String {
    unreachable!("pages with screens are skipped")
}

/// What a command prints in the scratch directory, where the fixtures are linked to; nothing if it
/// is one that runs this test, or installs the program.
fn run(session: &Session, scratch: &str, page: &Path) -> Option<String> {
    let line = session.command.replace("/tmp/", scratch);
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
    if let Some((columns, rows, keys)) = &session.screen {
        let shows = cfg!(feature = "view");
        return shows.then(|| screen(arguments, (*columns, *rows), keys, scratch));
    }
    let run = finish(command(arguments).current_dir(scratch));
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, Some(session.exit), "{}: {line}: {}", page.display(), run.stderr);
    let lines: Vec<&str> = printed.lines().take(head.unwrap_or(usize::MAX)).collect();
    Some(lines.join("\n"))
}

/// Whether it needs a build with SQL.
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
