//! The wording of help, messages, comments and documentation.
//!
//! `words.txt` lists phrases and names that are not used, each with its replacement. Phrases are
//! searched in comments, string literals, pages and scripts, names in code.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use profctl_testkit::fixtures::root;

use crate::program::run;

/// A phrase or a name that is not used.
#[derive(Debug, PartialEq)]
struct Rule {
    /// Its words; `*` at the start or end of a word stands for any characters.
    words: Vec<String>,
    replacement: String,
    /// Files in which it is allowed.
    allowed: Vec<String>,
}

#[derive(Debug, Default)]
struct Rules {
    phrases: Vec<Rule>,
    names: Vec<Rule>,
}

/// Reads lines `PHRASE => REPLACEMENT`, perhaps with `@ FILE…` after it, in sections.
fn parse(list: &str) -> Rules {
    let mut rules = Rules::default();
    let mut is_names = false;
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line {
            "[phrases]" => is_names = false,
            "[names]" => is_names = true,
            _ => {
                let (phrase, rest) = line.split_once(" => ").expect("`PHRASE => REPLACEMENT`");
                let (replacement, allowed) = rest.split_once(" @ ").unwrap_or((rest, ""));
                let rule = Rule {
                    words: phrase.split(' ').map(str::to_owned).collect(),
                    replacement: replacement.to_owned(),
                    allowed: allowed.split_whitespace().map(str::to_owned).collect(),
                };
                if is_names { rules.names.push(rule) } else { rules.phrases.push(rule) }
            }
        }
    }
    rules
}

fn rules() -> Rules {
    let list = root().join("crates/profctl/tests/it/words.txt");
    let rules = parse(&fs::read_to_string(list).expect("the list is there"));
    assert!(rules.phrases.len() > 100 && rules.names.len() > 10, "the list is short");
    rules
}

fn fits(pattern: &str, word: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(end), Some(_)) => word.contains(&end[..end.len() - 1]),
        (Some(end), None) => word.ends_with(end),
        (None, Some(start)) => word.starts_with(start),
        (None, None) => pattern == word,
    }
}

/// The words of `text`, each with its offset.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'');
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match start {
            None if is_word(c) => start = Some(at),
            Some(from) if !is_word(c) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Where a rule is broken in `text`: the offset, and the rule.
fn broken<'a>(rules: &'a [Rule], text: &str, name: &str) -> Vec<(usize, &'a Rule)> {
    let words = words(text);
    let (any, exact): (Vec<&Rule>, Vec<&Rule>) =
        rules.iter().partition(|rule| rule.words[0].contains('*'));
    let mut by_first: HashMap<&str, Vec<&Rule>> = HashMap::new();
    for rule in exact {
        by_first.entry(&rule.words[0]).or_default().push(rule);
    }
    let mut found = Vec::new();
    for at in 0..words.len() {
        for &rule in by_first.get(words[at].1).into_iter().flatten().chain(&any) {
            let Some(run) = words.get(at..at + rule.words.len()) else { continue };
            let is_hit = rule.words.iter().zip(run).all(|(pattern, (_, word))| fits(pattern, word))
                && run.windows(2).all(|pair| {
                    let [(first, word), (second, _)] = pair else { return true };
                    text[first + word.len()..*second].chars().all(char::is_whitespace)
                });
            if is_hit && !rule.allowed.iter().any(|file| name.starts_with(file.as_str())) {
                found.push((words[at].0, rule));
            }
        }
    }
    found
}

/// What a byte of a Rust source belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    /// A comment or a string literal.
    Prose,
    /// The slashes of a comment, or an escape in a string.
    Blank,
}

/// The comments and string literals of a Rust source, and the rest of it, as texts in which the
/// other is masked.
fn split_rust(source: &str) -> (String, String) {
    let bytes = source.as_bytes();
    let mut parts = vec![Part::Code; bytes.len()];
    let mut at = 0;
    let find = |from: usize, what: &str| {
        source.get(from..).and_then(|rest| rest.find(what)).map_or(bytes.len(), |n| from + n)
    };
    while at < bytes.len() {
        let rest = &bytes[at..];
        let raw =
            rest.strip_prefix(b"r").map(|rest| rest.iter().take_while(|b| **b == b'#').count());
        let is_start = at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() && bytes[at - 1] != b'b');
        if rest.starts_with(b"//") {
            let end = find(at, "\n");
            let skipped = 2 + usize::from(matches!(bytes.get(at + 2), Some(b'/' | b'!')));
            parts[at..end].fill(Part::Prose);
            parts[at..(at + skipped).min(end)].fill(Part::Blank);
            at = end;
        } else if let Some(hashes) = raw
            && is_start
            && bytes.get(at + 1 + hashes) == Some(&b'"')
        {
            let end = find(at + 2 + hashes, &format!("\"{}", "#".repeat(hashes)));
            parts[at + 2 + hashes..end].fill(Part::Prose);
            at = end + 1 + hashes;
        } else if rest[0] == b'"' {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != b'"' {
                let escaped = usize::from(bytes[end] == b'\\');
                let next = (end + 1 + escaped).min(bytes.len());
                parts[end..next].fill(if escaped == 0 { Part::Prose } else { Part::Blank });
                end = next;
            }
            at = end + 1;
        } else if rest[0] == b'\'' {
            // A character, or a lifetime.
            at += match rest {
                [_, b'\\', _, rest @ ..] => {
                    4 + rest.iter().take(8).position(|b| *b == b'\'').unwrap_or(0)
                }
                [_, _, b'\'', ..] => 3,
                _ => 1,
            };
        } else {
            at += 1;
        }
    }
    let mask = |part: Part| {
        let kept = source.char_indices().map(|(at, c)| match parts[at] {
            Part::Blank => ' ',
            _ if c.is_whitespace() || parts[at] == part => c,
            _ => '.',
        });
        kept.collect::<String>()
    };
    (mask(Part::Prose), mask(Part::Code))
}

/// A page without its fenced blocks.
fn split_page(page: &str) -> String {
    let mut text = String::new();
    let mut fenced = false;
    for line in page.split_inclusive('\n') {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        text.push_str(if fenced || line.starts_with("```") { "\n" } else { line });
    }
    text
}

/// The comments and string literals of a script in JavaScript, line by line.
fn split_script(script: &str) -> String {
    let mut text = String::new();
    for line in script.split_inclusive('\n') {
        if ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start)) {
            text.push_str(line);
            continue;
        }
        let mut quote = None;
        for c in line.chars() {
            let is_quote = matches!(c, '\'' | '"' | '`');
            match quote {
                None if is_quote => quote = Some(c),
                Some(open) if c == open => quote = None,
                _ => {}
            }
            let is_kept = c == '\n' || (quote.is_some() && !is_quote);
            text.push(if is_kept { c } else { ' ' });
        }
    }
    text
}

/// What is wrong in the file called `name`, one line each.
fn findings(rules: &Rules, name: &str, text: &str) -> String {
    let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default();
    let (prose, code) = match extension {
        "rs" => split_rust(text),
        "md" => (split_page(text), String::new()),
        "js" | "mjs" => (split_script(text), String::new()),
        _ => (text.to_owned(), String::new()),
    };
    let mut out = String::new();
    for (text, rules, lower) in [(prose, &rules.phrases, true), (code, &rules.names, false)] {
        let text = if lower { text.to_ascii_lowercase() } else { text };
        for (at, rule) in broken(rules, &text, name) {
            let line = 1 + text[..at].matches('\n').count();
            let phrase = rule.words.join(" ");
            writeln!(out, "{name}:{line}: `{phrase}`: write {}", rule.replacement)
                .expect("a string takes what is written to it");
        }
    }
    out
}

/// Sources, pages and scripts of the project.
fn files() -> Vec<PathBuf> {
    const TEXTS: [&str; 11] =
        ["rs", "md", "js", "mjs", "css", "py", "sh", "toml", "yml", "R", "html"];
    let mut files = Vec::new();
    let mut waiting = vec![root()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            let is_skipped = matches!(&*name, "target" | "fixtures" | "node_modules" | "corpus");
            if path.is_dir() && !is_skipped && (!name.starts_with('.') || name == ".ci") {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| TEXTS.iter().any(|text| e == *text))
                || matches!(&*name, "justfile" | "run" | "install")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn sources_and_pages_use_the_words_of_the_list() {
    let rules = rules();
    let mut all = String::new();
    let files = files();
    assert!(files.len() > 500, "{}", files.len());
    for file in files {
        let name = file.strip_prefix(root()).expect("it is in the workspace").display().to_string();
        let text = fs::read_to_string(&file).unwrap_or_default();
        all.push_str(&findings(&rules, &name.replace('\\', "/"), &text));
    }
    assert!(all.is_empty(), "{} words to replace:\n{all}", all.lines().count());
}

#[test]
fn help_uses_the_words_of_the_list() {
    let rules = rules();
    let help = run(&["--help"]).quiet_success();
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    let mut all = findings(&rules, "profctl --help", &help);
    for command in commands {
        let text = run(&[command, "--help"]).quiet_success();
        all.push_str(&findings(&rules, &format!("profctl {command} --help"), &text));
    }
    let input = run(&["help", "input"]).quiet_success();
    all.push_str(&findings(&rules, "profctl help input", &input));
    assert!(all.is_empty(), "{all}");
}

#[test]
fn words_of_the_list_are_found() {
    let list = "[phrases]\npassed by => skipped\ncolor* => hue @ docs/\n[names]\nFloor => Level\n";
    let rules = parse(list);
    let of = |name: &str, text: &str| findings(&rules, name, text);
    assert_eq!(
        of("a.rs", "// It is passed\n    // by here.\n"),
        "a.rs:1: `passed by`: write skipped\n"
    );
    assert_eq!(of("a.rs", "let x = \"Passed by\";\n"), "a.rs:1: `passed by`: write skipped\n");
    assert_eq!(
        of("a.rs", "f(r#\"\n\" passed by\"#, '\"', \"\")"),
        "a.rs:2: `passed by`: write skipped\n"
    );
    assert_eq!(of("a.rs", "let passed = by; struct Floor;"), "a.rs:1: `Floor`: write Level\n");
    assert_eq!(of("a.rs", "// The Floor, passed. By `passed_by`.\n"), "");
    assert_eq!(
        of("a.md", "Many colors\n\n```\nmany colors\n```\n"),
        "a.md:1: `color*`: write hue\n"
    );
    assert_eq!(of("docs/a.md", "Many colors\n"), "");
    assert_eq!(of("a.js", "color = 'a color';\n// color\n").lines().count(), 2);
}

/// The targets of links and pictures in a page.
fn links(page: &str) -> Vec<&str> {
    page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut n_checked = 0;
    for file in files().into_iter().filter(|file| file.extension().is_some_and(|e| e == "md")) {
        let page = split_page(&fs::read_to_string(&file).expect("a page can be read"));
        for link in links(&page).into_iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                _ => file.parent().expect("a page has a folder").join(path),
            };
            assert!(target.exists(), "{}: no `{link}`", file.display());
            if !heading.is_empty() {
                let page = split_page(&fs::read_to_string(&target).expect("it can be read"));
                let mut headings = page.lines().filter_map(|line| line.strip_prefix('#'));
                let is_there =
                    headings.any(|l| anchor(l.trim_start_matches('#').trim()) == heading);
                assert!(is_there, "{}: no heading for `{link}`", file.display());
            }
            n_checked += 1;
        }
    }
    assert!(n_checked > 50, "{n_checked}");
    assert_eq!(links("a [b](c.md#d), ![e](f.svg)"), ["c.md#d", "f.svg"]);
    assert_eq!(anchor("How calls are found"), "how-calls-are-found");
}
